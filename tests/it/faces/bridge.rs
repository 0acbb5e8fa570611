//! `recollect mcp --url` between a client at its pipes and a service: what passes, and what happens when one goes away.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};

use super::stdio::Piped;
use crate::support::app::App;

/// What the stand-in for a service has seen.
#[derive(Clone, Default)]
struct Seen {
    /// The request that never ends was dropped.
    dropped: Arc<AtomicBool>,
    hanging: Arc<AtomicBool>,
}

struct OnDrop(Arc<AtomicBool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Answers each tool in its own way: with progress first, with an error of the protocol, with a refusal, never.
async fn answer(State(seen): State<Seen>, headers: HeaderMap, Json(message): Json<Value>) -> Response {
    assert_eq!(headers["authorization"], "Bearer rcl_token");
    let id = &message["id"];
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    if message["method"] == "initialize" {
        let server = json!({"name": "recollect", "version": "0"});
        let about = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server});
        return Json(result(about)).into_response();
    }
    if id.is_null() {
        return StatusCode::ACCEPTED.into_response();
    }
    match message["params"]["name"].as_str() {
        Some("slow") => {
            let token = &message["params"]["_meta"]["progressToken"];
            let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": 1, "total": 2}});
            let done = result(json!({"content": [{"type": "text", "text": "done"}]}));
            let events =
                [": keep alive\n\n", &format!("event: message\ndata: {progress}\n\n"), &format!("data:{done}\r\n\r\n")];
            // In pieces that end anywhere.
            let bytes = events.concat().into_bytes();
            let chunks: Vec<_> = bytes.chunks(7).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
            let body = Body::from_stream(futures::stream::iter(chunks));
            ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
        }
        Some("torn") => ([(header::CONTENT_TYPE, "text/event-stream")], "data: {\"jsonrpc\"").into_response(),
        Some("wrong") => {
            let error = json!({"code": -32602, "message": "unknown tool", "data": {"expected": ["slow"]}});
            (StatusCode::BAD_REQUEST, Json(json!({"jsonrpc": "2.0", "id": id, "error": error}))).into_response()
        }
        Some("refused") => {
            let error =
                json!({"code": "UNAUTHENTICATED", "message": "the bearer token is not valid", "retryable": false});
            (StatusCode::UNAUTHORIZED, Json(json!({"error": error}))).into_response()
        }
        Some("endless") => {
            let _dropped = OnDrop(seen.dropped.clone());
            seen.hanging.store(true, Ordering::SeqCst);
            futures::future::pending().await
        }
        _ => {
            let version = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
            Json(result(json!({"method": message["method"], "version": version}))).into_response()
        }
    }
}

async fn stand_in() -> (String, Seen, tokio::task::JoinHandle<()>) {
    let seen = Seen::default();
    let router = Router::new().route("/mcp", post(answer)).with_state(seen.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let served = tokio::spawn(async move { axum::serve(listener, router).await.expect("served") });
    (url, seen, served)
}

fn call(id: i64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "_meta": {"progressToken": "p1"}}})
}

/// Runs blocking work at the pipes beside the server.
async fn at_the_pipes(work: impl FnOnce() + Send + 'static) {
    tokio::task::spawn_blocking(work).await.expect("the bridge does it");
}

fn until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(10), "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_errors_and_unknown_methods_pass_as_they_are() {
    let (url, _, _served) = stand_in().await;
    at_the_pipes(move || {
        let mut piped = Piped::start(&["mcp", "--url", &url, "--token", "rcl_token"]);
        piped.send(&call(5, "slow"));
        let progress = piped.read();
        assert_eq!(progress["params"], json!({"progressToken": "p1", "progress": 1, "total": 2}), "{progress}");
        let done = piped.read();
        assert_eq!((&done["id"], &done["result"]["content"][0]["text"]), (&json!(5), &json!("done")));
        piped.send(&call(6, "wrong"));
        let error = json!({"code": -32602, "message": "unknown tool", "data": {"expected": ["slow"]}});
        assert_eq!(piped.read(), json!({"jsonrpc": "2.0", "id": 6, "error": error}));
        piped.send(&call(7, "refused"));
        let refused = piped.read();
        assert_eq!(refused["error"]["message"], "UNAUTHENTICATED: the bearer token is not valid");
        assert_eq!(refused["error"]["data"]["retryable"], false);
        piped.send(&call(8, "torn"));
        let torn = piped.read();
        assert!(torn["error"]["message"].as_str().is_some_and(|text| text.contains("broke off")), "{torn}");
        // Under the version that `initialize` agreed on.
        let answer = piped.ask("some/thing", json!({}));
        assert_eq!(answer["result"], json!({"method": "some/thing", "version": "2025-11-25"}));
        piped.close();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_is_dropped_at_the_service_and_others_go_on() {
    let (url, seen, _served) = stand_in().await;
    at_the_pipes(move || {
        let mut piped = Piped::start(&["mcp", "--url", &url, "--token", "rcl_token"]);
        piped.send(&call(5, "endless"));
        until(|| seen.hanging.load(Ordering::SeqCst));
        piped.send(&call(6, "wrong"));
        assert_eq!(piped.read()["id"], 6, "a call that hangs holds up no other");
        assert!(!seen.dropped.load(Ordering::SeqCst));
        piped.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}));
        until(|| seen.dropped.load(Ordering::SeqCst));
        piped.close();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_goes_away_is_a_clear_error_at_once() {
    let (url, seen, served) = stand_in().await;
    at_the_pipes(move || {
        let mut piped = Piped::start(&["mcp", "--url", &url, "--token", "rcl_token"]);
        piped.send(&call(5, "endless"));
        until(|| seen.hanging.load(Ordering::SeqCst));
        served.abort();
        until(|| served.is_finished());
        let started = Instant::now();
        piped.send(&call(6, "wrong"));
        let gone = piped.read();
        assert_eq!(gone["error"]["data"], json!({"code": "UNAVAILABLE", "retryable": true}), "{gone}");
        assert!(gone["error"]["message"].as_str().is_some_and(|text| text.contains("recollect serve")), "{gone}");
        assert!(started.elapsed() < Duration::from_secs(5));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_either_version_works_through_the_bridge() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let (url, token) = (app.url.clone(), ann.token.clone());
    at_the_pipes(move || {
        let mut piped = Piped::open(&["mcp", "--url", &url, "--token", &token]);
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}});
        let found = piped.ask("server/discover", json!({"_meta": meta}));
        let versions = found["result"]["supportedVersions"].as_array().expect("versions");
        assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")), "{found}");
        let arguments = json!({"content": "The ferry leaves at seven."});
        let stored = piped.ask("tools/call", json!({"name": "memory_store", "arguments": arguments, "_meta": meta}));
        assert_eq!(stored["result"]["structuredContent"]["outcome"], "stored", "{stored}");
        piped.close();
        let mut piped = Piped::start(&["mcp", "--url", &url, "--token", &token]);
        let recalled = piped.call("memory_recall", json!({"query": "ferry"}));
        assert_eq!(recalled["structuredContent"]["items"][0]["content"], "The ferry leaves at seven.");
        piped.close();
    })
    .await;
    assert_eq!(app.counts().await.memories, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_with_a_wrong_token_says_so_and_opens_nothing() {
    let app = App::start().await;
    let url = app.url.clone();
    at_the_pipes(move || {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_recollect"))
            .args(["mcp", "--url", &url, "--token", "rcl_wrong"])
            .output()
            .expect("the binary runs");
        assert_eq!(output.status.code(), Some(1));
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("refuses: the bearer token is not valid"), "{message}");
        assert!(!message.contains("rcl_wrong"), "{message}");
    })
    .await;
}
