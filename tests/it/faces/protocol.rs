//! The transport as the specification has it: versions, headers that disagree with the body, OAuth discovery, request ids.

use recollect::config::Config;
use reqwest::Response;
use serde_json::{Value, json};

use crate::support::app::{App, Client};

/// What a request of version 2026-07-28 says of itself.
fn meta(version: &str) -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}})
}

/// A call of `memory_get` under `version`, with headers of one's own.
async fn call(client: &Client, version: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let params = json!({"name": "memory_recall", "arguments": {"query": "x"}, "_meta": meta(version)});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let mut request = client
        .http
        .post(format!("{}/mcp", client.url))
        .bearer_auth(&client.token)
        .header("accept", "application/json, text/event-stream")
        .json(&body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    answered(request.send().await.expect("an answer")).await
}

async fn answered(response: Response) -> (u16, Value) {
    (response.status().as_u16(), response.json().await.expect("JSON"))
}

const VERSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
const METHOD: (&str, &str) = ("mcp-method", "tools/call");
const NAME: (&str, &str) = ("mcp-name", "memory_recall");

#[tokio::test]
async fn headers_that_disagree_with_the_body_are_refused() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let (status, answer) = call(&ann, "2026-07-28", &[VERSION, METHOD, NAME]).await;
    assert_eq!((status, &answer["result"]["isError"]), (200, &json!(false)), "{answer}");
    for headers in [
        &[METHOD, NAME] as &[_],
        &[VERSION, NAME],
        &[VERSION, METHOD],
        &[("mcp-protocol-version", "2025-11-25"), METHOD, NAME],
        &[VERSION, ("mcp-method", "tools/list"), NAME],
        &[VERSION, ("mcp-method", "TOOLS/CALL"), NAME],
        &[VERSION, METHOD, ("mcp-name", "memory_get")],
        &[VERSION, METHOD, ("mcp-name", "=?base64?bWVtb3J5X2dldA==?=")],
        &[VERSION, METHOD, NAME, ("mcp-name", "memory_get")],
        &[VERSION, METHOD, ("mcp-method", "tools/list"), NAME],
        &[VERSION, ("mcp-protocol-version", "2025-11-25"), METHOD, NAME],
    ] {
        let (status, answer) = call(&ann, "2026-07-28", headers).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32020)), "{headers:?}: {answer}");
        assert_eq!(answer["id"], 7, "{headers:?}");
    }
    let encoded = [VERSION, METHOD, ("mcp-name", "=?base64?bWVtb3J5X3JlY2FsbA==?=")];
    assert_eq!(call(&ann, "2026-07-28", &encoded).await.0, 200);
}

#[tokio::test]
async fn a_version_that_is_not_offered_is_refused_with_those_that_are() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let headers = [("mcp-protocol-version", "2027-01-01"), METHOD, NAME];
    let (status, answer) = call(&ann, "2027-01-01", &headers).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32022)), "{answer}");
    let supported = answer["error"]["data"]["supported"].as_array().expect("versions");
    assert!(supported.contains(&json!("2026-07-28")) && supported.contains(&json!("2025-11-25")), "{answer}");
    // Without what each request of this version must say of itself.
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"});
    let bare = ann.http.post(format!("{}/mcp", app.url)).bearer_auth(&ann.token).header(VERSION.0, VERSION.1);
    let bare = bare.header("accept", "application/json, text/event-stream").header("mcp-method", "tools/list");
    let (status, answer) = answered(bare.json(&body).send().await.expect("an answer")).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32602)), "{answer}");
}

#[tokio::test]
async fn a_cap_in_the_settings_holds_back_the_newer_version() {
    let app = App::start_configured("[server.mcp]\nmax_protocol_version = \"2025-11-25\"\n").await;
    let ann = app.client("ann", &[], &[]).await;
    let (status, answer) = call(&ann, "2026-07-28", &[VERSION, METHOD, NAME]).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32022)), "{answer}");
    let supported = answer["error"]["data"]["supported"].as_array().expect("versions");
    assert!(!supported.contains(&json!("2026-07-28")) && supported.contains(&json!("2025-11-25")), "{answer}");
    let params =
        json!({"protocolVersion": "2026-07-28", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let request = ann.http.post(format!("{}/mcp", app.url)).bearer_auth(&ann.token).json(&body);
    let request = request.header("accept", "application/json, text/event-stream");
    let (_, answer) = answered(request.send().await.expect("an answer")).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    ann.ok("memory_recall", json!({"query": "x"})).await;
}

const DISCOVERY: [&str; 8] = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/mcp",
    "/mcp/.well-known/openid-configuration",
    "/register",
];

#[tokio::test]
async fn without_an_issuer_every_path_of_oauth_discovery_is_a_plain_404() {
    let app = App::start().await;
    for path in DISCOVERY {
        let response = reqwest::get(format!("{}{path}", app.url)).await.expect("an answer");
        assert!(response.headers().get("www-authenticate").is_none(), "{path}");
        let (status, body) = answered(response).await;
        assert_eq!((status, &body["error"]["code"]), (404, &json!("NOT_FOUND")), "{path}");
    }
    let refused = reqwest::Client::new().post(format!("{}/mcp", app.url)).send().await.expect("an answer");
    assert_eq!(refused.headers()["www-authenticate"], "Bearer");
}

#[tokio::test]
async fn with_an_issuer_clients_are_led_to_it() {
    let settings = "[server.oauth]\nauthorization_servers = [\"https://login.example.org\"]\n\
        resource = \"https://memory.example.org/mcp\"\n";
    let app = App::start_configured(settings).await;
    let ann = app.client("ann", &[], &[]).await;
    let place = "resource_metadata=\"https://memory.example.org/.well-known/oauth-protected-resource/mcp\"";
    for (token, challenge) in
        [(None, format!("Bearer {place}")), (Some("rcl_x"), format!("Bearer error=\"invalid_token\", {place}"))]
    {
        let mut request = ann.http.post(format!("{}/mcp", app.url));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.expect("an answer");
        assert_eq!(
            (response.status().as_u16(), &response.headers()["www-authenticate"]),
            (401, &challenge.parse().expect("a header"))
        );
    }
    for path in &DISCOVERY[..2] {
        let (status, body) = answered(reqwest::get(format!("{}{path}", app.url)).await.expect("an answer")).await;
        assert_eq!(status, 200, "{path}");
        assert_eq!(body["resource"], "https://memory.example.org/mcp");
        assert_eq!(body["authorization_servers"], json!(["https://login.example.org"]));
        assert_eq!(body["bearer_methods_supported"], json!(["header"]));
    }
    for path in &DISCOVERY[2..] {
        assert_eq!(reqwest::get(format!("{}{path}", app.url)).await.expect("an answer").status(), 404, "{path}");
    }
    ann.ok("memory_recall", json!({"query": "x"})).await;
}

#[test]
fn the_settings_of_the_protocol_are_checked() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let file = dir.path().join("c.toml");
    for (text, key) in [
        ("[server.oauth]\nauthorization_servers = [\"https://a b\"]\n", "server.oauth.authorization_servers"),
        (
            "[server.oauth]\nauthorization_servers = [\"https://login.example.org\"]\nresource = \"/mcp\"\n",
            "server.oauth.resource",
        ),
    ] {
        std::fs::write(&file, text).expect("written");
        let message = Config::load(Some(&file)).expect_err(text).to_string();
        assert!(message.contains(key), "{message}");
    }
}

#[tokio::test]
async fn a_well_formed_request_id_is_kept_and_named_by_errors() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let long = "x".repeat(129);
    let header = |id: &str| ann.http.get(format!("{}/nothing", app.url)).header("x-request-id", id).send();
    for (id, kept) in [
        ("abc-1", true),
        ("0af7651916cd43dd_8448:eb21.1", true),
        ("a b", false),
        ("a\"b", false),
        ("", false),
        (&*long, false),
    ] {
        let response = header(id).await.expect("an answer");
        let given = response.headers()["x-request-id"].to_str().expect("text").to_owned();
        assert_eq!(given == id, kept, "{id:?} gave {given:?}");
        let body: Value = response.json().await.expect("JSON");
        assert_eq!(body["error"]["trace_id"], given, "{body}");
    }
    let twice = ann.http.get(format!("{}/healthz", app.url)).header("x-request-id", "a").header("x-request-id", "b");
    let twice = twice.send().await.expect("an answer").headers()["x-request-id"].clone();
    assert!(twice != "a" && twice != "b");
    // Over MCP: a body that is no message.
    let broken = ann.post().header("x-request-id", "r-1").body("{").send().await.expect("an answer");
    let (_, answer) = answered(broken).await;
    assert_eq!(answer["error"]["data"]["trace_id"], "r-1", "{answer}");
}
