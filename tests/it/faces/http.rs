//! What every HTTP request passes: token, host, origin, size; and the pages that need no token.

use std::{collections::HashMap, sync::Arc};

use recollect::{
    domain::Right,
    ports::{Embedder, ModelCard, PortError, PortErrorKind, StoredToken, TokenStore},
};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

use crate::support::app::App;

const STORE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_store","arguments":{"content":"x"}}}"#;

async fn coded(response: Response, status: u16, code: &str) -> Value {
    assert_eq!(response.status().as_u16(), status);
    let id = response.headers().get("x-request-id").expect("a request id").to_str().expect("text").to_owned();
    assert!(!id.is_empty());
    let body: Value = response.json().await.expect("JSON");
    assert_eq!(body["error"]["code"], code, "{body}");
    assert!(body["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
    body
}

#[tokio::test]
async fn without_a_valid_token_nothing_is_answered() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let url = format!("{}/mcp", app.url);
    let other = format!("rcl_{}", "0".repeat(64));
    let mut messages = Vec::new();
    for header in [
        None,
        Some(String::new()),
        Some("Bearer".to_owned()),
        Some("Bearer ".to_owned()),
        Some(ann.token.clone()),
        Some(format!("Basic {}", ann.token)),
        Some(format!("Bearer {other}")),
        Some(format!("Bearer {}x", ann.token)),
        Some(format!("Bearer {}", ann.token.to_uppercase())),
        Some(format!("Bearer {}", &ann.token[4..])),
    ] {
        let mut request = ann.http.post(&url).header("content-type", "application/json").body(STORE);
        if let Some(value) = &header {
            request = request.header("authorization", value);
        }
        let response = request.send().await.expect("an answer");
        assert_eq!(response.headers()["www-authenticate"], "Bearer", "{header:?}");
        messages.push(coded(response, 401, "UNAUTHENTICATED").await["error"]["message"].to_string());
    }
    messages.dedup();
    assert_eq!(messages.len(), 2, "a token that is missing, and one that is wrong in any way: {messages:?}");
    assert_eq!(app.counts().await.memories, 0);
    // The right token in any spelling of the scheme, until it is revoked.
    let with = |scheme: &str| {
        let request = ann.http.post(&url).header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        request.header("authorization", format!("{scheme} {}", ann.token)).body(STORE).send()
    };
    assert_eq!(with("bearer").await.expect("an answer").status(), 200);
    assert!(app.service.tokens().revoke_token(&ann.token_id).await.expect("revoked"));
    coded(with("Bearer").await.expect("an answer"), 401, "UNAUTHENTICATED").await;
    assert_eq!(app.counts().await.memories, 1);
}

#[tokio::test]
async fn a_token_without_the_right_is_told_which_one() {
    let app = App::start().await;
    let service = app.service.clone();
    let clock = service.clock();
    let rights = [Right::MemoryRead].into();
    let kind = recollect::domain::PrincipalKind::Agent;
    let (token, secret) =
        recollect::auth::mint("reader", kind, [].into(), rights, clock.now(), clock.next_id()).expect("minted");
    service.tokens().add_token(&token).await.expect("added");
    let mut reader = app.client("ann", &[], &[]).await;
    reader.token = secret;
    assert!(
        reader
            .failed("memory_store", json!({"content": "x"}))
            .await
            .starts_with("FORBIDDEN: The token lacks the right memory:write.")
    );
    let forget = json!({"ids": ["01940000-0000-7000-8000-000000000000"]});
    assert!(reader.failed("memory_forget", forget).await.contains("memory:forget"));
    reader.ok("memory_recall", json!({"query": "x"})).await;
}

#[tokio::test]
async fn requests_under_other_names_are_refused() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    for (host, allowed) in [
        ("localhost", true),
        ("127.0.0.1:1", true),
        ("[::1]:7979", true),
        ("memory.example.org", true),
        ("evil.example.org", false),
        ("localhost.evil.example.org", false),
        ("192.0.2.7", false),
    ] {
        let response = ann.post().header("host", host).body(STORE).send().await.expect("an answer");
        let front = ann.http.get(format!("{}/metrics", app.url)).header("host", host).send().await.expect("an answer");
        if allowed {
            assert_eq!((response.status(), front.status()), (StatusCode::OK, StatusCode::OK), "{host}");
        } else {
            coded(response, 403, "FORBIDDEN").await;
            coded(front, 403, "FORBIDDEN").await;
        }
        // A probe calls a machine by any name and learns nothing.
        let probe = ann.http.get(format!("{}/healthz", app.url)).header("host", host).send().await.expect("an answer");
        assert_eq!(probe.status(), 200, "{host}");
    }
    assert_eq!(app.counts().await.memories, 1, "the same text from the same caller is one memory");
}

#[tokio::test]
async fn pages_of_other_origins_are_refused() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    for (origin, allowed) in [
        (app.url.as_str(), true),
        ("https://console.example.org", true),
        ("http://console.example.org", false),
        ("https://evil.example.org", false),
        ("http://localhost:1", false),
        ("null", false),
    ] {
        let response = ann.post().header("origin", origin).body(STORE).send().await.expect("an answer");
        if allowed {
            assert_eq!(response.status(), 200, "{origin}");
            assert_eq!(response.headers()["access-control-allow-origin"], origin);
        } else {
            assert!(response.headers().get("access-control-allow-origin").is_none(), "{origin}");
            coded(response, 403, "FORBIDDEN").await;
        }
    }
    let preflight = |origin: &'static str, path: &'static str| {
        ann.http
            .request(reqwest::Method::OPTIONS, format!("{}{path}", app.url))
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization, content-type, mcp-protocol-version")
            .send()
    };
    for path in ["/mcp", "/graphql"] {
        let allowed = preflight("https://console.example.org", path).await.expect("an answer");
        assert_eq!(allowed.status(), 200, "{path}");
        assert!(allowed.headers()["access-control-allow-headers"].to_str().expect("text").contains("authorization"));
        assert_eq!(preflight("https://evil.example.org", path).await.expect("an answer").status(), 403, "{path}");
    }
}

#[tokio::test]
async fn every_refusal_is_json_with_a_code() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let get = |path: &str| ann.http.get(format!("{}{path}", app.url)).bearer_auth(&ann.token).send();
    coded(get("/nothing").await.expect("an answer"), 404, "NOT_FOUND").await;
    let response = get("/mcp").await.expect("an answer");
    assert_eq!(response.headers()["allow"], "POST");
    coded(response, 405, "BAD_USER_INPUT").await;
    let response = ann.http.post(format!("{}/healthz", app.url)).send().await.expect("an answer");
    coded(response, 405, "BAD_USER_INPUT").await;
    let mcp = || ann.http.post(format!("{}/mcp", app.url)).bearer_auth(&ann.token);
    let response = mcp().header("content-type", "application/json").body(STORE).send().await.expect("an answer");
    coded(response, 406, "BAD_USER_INPUT").await;
    let both = "application/json, text/event-stream";
    let response =
        mcp().header("accept", both).header("content-type", "text/plain").body(STORE).send().await.expect("an answer");
    coded(response, 415, "BAD_USER_INPUT").await;
    let json = mcp().header("accept", both).header("content-type", "application/json");
    let response = json.header("mcp-protocol-version", "1999-01-01").body(STORE).send().await.expect("an answer");
    coded(response, 400, "BAD_USER_INPUT").await;
    assert_eq!(app.counts().await.memories, 0);
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_with_and_without_its_length() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let large = "x".repeat(3_000_001);
    let announced = ann.post().body(large.clone()).send().await.expect("an answer");
    coded(announced, 413, "PAYLOAD_TOO_LARGE").await;
    let chunks = futures::stream::iter(
        large.into_bytes().chunks(100_000).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect::<Vec<_>>(),
    );
    let streamed = ann.post().body(reqwest::Body::wrap_stream(chunks)).send().await.expect("an answer");
    coded(streamed, 413, "PAYLOAD_TOO_LARGE").await;
    assert_eq!(app.counts().await.memories, 0);
}

#[tokio::test]
async fn request_ids_are_kept_or_made() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let url = format!("{}/healthz", app.url);
    let given = ann.http.get(&url).header("x-request-id", "abc-1").send().await.expect("an answer");
    assert_eq!(given.headers()["x-request-id"], "abc-1");
    let made =
        [ann.http.get(&url).send().await.expect("an answer"), ann.http.get(&url).send().await.expect("an answer")];
    assert_ne!(made[0].headers()["x-request-id"], made[1].headers()["x-request-id"]);
}

#[tokio::test]
async fn probes_and_pages_say_what_is_so() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let get = |path: &str| ann.http.get(format!("{}{path}", app.url)).send();
    let health: Value = get("/healthz").await.expect("an answer").json().await.expect("JSON");
    assert_eq!(health, json!({"status": "ok"}));
    let ready = get("/readyz").await.expect("an answer");
    assert_eq!(ready.status(), 200);
    let ready: Value = ready.json().await.expect("JSON");
    let parts = json!({"graph": "ready", "vectors": "ready", "models": "ready"});
    assert_eq!(ready, json!({"status": "ready", "parts": parts}));
    let front = get("/").await.expect("an answer");
    assert!(front.headers()["content-type"].to_str().is_ok_and(|kind| kind.starts_with("text/html")));
    let front = front.text().await.expect("text");
    for door in ["/mcp", "/healthz", "/readyz", "/metrics"] {
        assert!(front.contains(door), "{door}");
    }
    // Every link on the page leads somewhere.
    for link in front.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert_eq!(get(link).await.expect("an answer").status(), 200, "{link}");
    }
}

#[tokio::test]
async fn a_part_that_does_not_answer_is_named_by_readyz() {
    let app = App::start_with(|parts| parts.embedders.clear()).await;
    let response = reqwest::get(format!("{}/readyz", app.url)).await.expect("an answer");
    assert_eq!(response.status(), 503);
    let body: Value = response.json().await.expect("JSON");
    assert_eq!((&body["status"], &body["parts"]["models"]), (&json!("unavailable"), &json!("unavailable")));
    assert_eq!(body["parts"]["graph"], "ready");
    assert_eq!(reqwest::get(format!("{}/healthz", app.url)).await.expect("an answer").status(), 200);
}

#[tokio::test]
async fn metrics_count_use_cases_and_show_no_memory_and_no_token() {
    let app = App::start().await;
    let ann = app.client("ann-the-secretive", &[], &[]).await;
    ann.store(json!({"content": "the walrus password is quokka"})).await;
    ann.failed("memory_recall", json!({"query": "walrus", "limit": 0})).await;
    let response = ann.http.get(format!("{}/metrics", app.url)).send().await.expect("an answer");
    assert!(
        response.headers()["content-type"].to_str().is_ok_and(|kind| kind.starts_with("text/plain; version=0.0.4"))
    );
    let text = response.text().await.expect("text");
    for line in [
        "# TYPE recollect_use_case_seconds histogram",
        "recollect_use_case_seconds_count{use_case=\"store\",outcome=\"OK\"}",
        "recollect_use_case_seconds_count{use_case=\"recall\",outcome=\"BAD_USER_INPUT\"}",
        "recollect_http_request_seconds_count{route=\"/mcp\",status=\"200\"}",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    for secret in ["walrus", "quokka", "secretive", &ann.token] {
        assert!(!text.contains(secret), "{secret} is in\n{text}");
    }
}

/// Panics on one text, as a fault of ours would.
struct Fragile(Arc<dyn Embedder>);

#[async_trait::async_trait]
impl Embedder for Fragile {
    fn card(&self) -> &ModelCard {
        self.0.card()
    }
    async fn embed_passages(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, PortError> {
        assert!(!texts.iter().any(|text| text.contains("walrus")), "a fault at the walrus");
        self.0.embed_passages(texts).await
    }
    async fn embed_query(&self, text: &str) -> Result<Vec<f32>, PortError> {
        self.0.embed_query(text).await
    }
}

#[tokio::test]
async fn a_fault_of_ours_is_internal_and_the_next_call_works() {
    let app = App::start_with(|parts| {
        for embedder in &mut parts.embedders {
            *embedder = Arc::new(Fragile(embedder.clone()));
        }
    })
    .await;
    let ann = app.client("ann", &[], &[]).await;
    let result = ann.call("memory_store", json!({"content": "the walrus"})).await;
    assert!(result["_meta"]["recollect/trace_id"].is_string(), "where to look in the log: {result}");
    let text = ann.failed("memory_store", json!({"content": "the walrus"})).await;
    assert!(text.starts_with("INTERNAL: Internal fault.") && !text.contains("walrus"), "{text}");
    assert_eq!(app.counts().await.memories, 0);
    ann.store(json!({"content": "the seal"})).await;
}

/// Embeds only while the gate is open; says when it is reached.
struct Gated {
    inner: Arc<dyn Embedder>,
    reached: Arc<Notify>,
    gate: Arc<Semaphore>,
}

#[async_trait::async_trait]
impl Embedder for Gated {
    fn card(&self) -> &ModelCard {
        self.inner.card()
    }
    async fn embed_passages(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, PortError> {
        self.reached.notify_one();
        let _pass = self.gate.acquire().await.expect("never closed");
        self.inner.embed_passages(texts).await
    }
    async fn embed_query(&self, text: &str) -> Result<Vec<f32>, PortError> {
        self.reached.notify_one();
        let _pass = self.gate.acquire().await.expect("never closed");
        self.inner.embed_query(text).await
    }
}

/// A service whose models wait at a gate.
async fn gated() -> (App, Arc<Notify>, Arc<Semaphore>) {
    let (reached, gate) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    let app = App::start_with(|parts| {
        for embedder in &mut parts.embedders {
            let (reached, gate) = (reached.clone(), gate.clone());
            *embedder = Arc::new(Gated { inner: embedder.clone(), reached, gate });
        }
    })
    .await;
    (app, reached, gate)
}

/// Waits for what another task does.
async fn until(condition: impl AsyncFn() -> bool) {
    for _ in 0..1000 {
        if condition().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("it never came");
}

#[tokio::test]
async fn a_call_ends_with_its_client_and_is_counted() {
    let (app, reached, _gate) = gated().await;
    let ann = app.client("ann", &[], &[]).await;
    let cancelled = async || {
        let page = reqwest::get(format!("{}/metrics", app.url)).await.expect("an answer").text().await.expect("text");
        page.contains("recollect_mcp_calls_total{tool=\"memory_recall\",outcome=\"CANCELLED\"}")
    };
    let recall = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "memory_recall", "arguments": {"query": "x"}}});
    let under_way = tokio::spawn(ann.post().body(recall.to_string()).send());
    reached.notified().await;
    under_way.abort();
    until(cancelled).await;
}

#[tokio::test]
async fn a_stop_waits_for_requests_under_way_but_not_for_ever() {
    for opens in [true, false] {
        let (mut app, reached, gate) = gated().await;
        let ann = app.client("ann", &[], &[]).await;
        let under_way = tokio::spawn(ann.post().body(STORE).send());
        reached.notified().await;
        app.stop.cancel();
        if opens {
            gate.add_permits(1);
        }
        (&mut app.served).await.expect("no panic").expect("served to the end");
        if opens {
            let answer: Value = under_way.await.expect("no panic").expect("an answer").json().await.expect("JSON");
            assert_eq!(answer["result"]["structuredContent"]["outcome"], "stored", "{answer}");
        } else {
            under_way.abort();
        }
        assert!(reqwest::get(format!("{}/healthz", app.url)).await.is_err(), "the door is closed");
    }
}

/// Answers for some tokens as a broken store would.
struct Broken(HashMap<&'static str, PortErrorKind>);

#[async_trait::async_trait]
impl TokenStore for Broken {
    async fn add_token(&self, _: &StoredToken) -> Result<(), PortError> {
        unreachable!("nothing is added here")
    }
    async fn token_by_hash(&self, hash: &str) -> Result<Option<StoredToken>, PortError> {
        match self.0.get(hash) {
            Some(kind) => Err(PortError::new(*kind, "sqlite", "find a token", "secret_plans.db is gone")),
            None => panic!("a fault in the token store"),
        }
    }
    async fn tokens(&self) -> Result<Vec<StoredToken>, PortError> {
        Ok(Vec::new())
    }
    async fn revoke_token(&self, _: &str) -> Result<bool, PortError> {
        Ok(false)
    }
}

#[tokio::test]
async fn a_token_store_that_fails_is_not_a_wrong_token() {
    // SHA-256 of `rcl_down`.
    let down = "c957ed95b34ddb9673b369fe221d89d61cd40a6cd8c8efb66edcd29a25c9843b";
    let app =
        App::start_with(|parts| parts.tokens = Arc::new(Broken([(down, PortErrorKind::Unavailable)].into()))).await;
    let client = reqwest::Client::new();
    let call = |token: &'static str| client.post(format!("{}/mcp", app.url)).bearer_auth(token).body(STORE).send();
    let body = coded(call("rcl_down").await.expect("an answer"), 503, "UNAVAILABLE").await;
    assert!(!body.to_string().contains("secret_plans"), "{body}");
    // And a panic outside any tool is an answer, too.
    coded(call("rcl_other").await.expect("an answer"), 500, "INTERNAL").await;
    assert_eq!(reqwest::get(format!("{}/healthz", app.url)).await.expect("an answer").status(), 200);
}
