//! The tools: what is listed, what is forgiven, and a memory's way through all of them.

use serde_json::{Map, Value, json};

use crate::support::app::{App, Client};

/// What a schema of ours never has, at any depth.
const UNWANTED: [&str; 10] =
    ["$ref", "$defs", "$schema", "anyOf", "oneOf", "allOf", "not", "nullable", "const", "format"];

async fn listed(client: &Client) -> Vec<Value> {
    client.rpc("tools/list", json!({})).await["result"]["tools"].as_array().expect("tools").clone()
}

/// Fails on the first thing that a simple client could not read.
fn assert_flat(place: &str, schema: &Value) {
    let fields = schema.as_object().unwrap_or_else(|| panic!("{place}: not an object"));
    for word in UNWANTED {
        assert!(!fields.contains_key(word), "{place} has {word}");
    }
    let kind = schema["type"].as_str().unwrap_or_else(|| panic!("{place}: type is {}", schema["type"]));
    assert!(["object", "array", "string", "number", "integer", "boolean"].contains(&kind), "{place}: type {kind}");
    match kind {
        "object" => {
            assert_eq!(schema["additionalProperties"], false, "{place}");
            let properties = schema["properties"].as_object().unwrap_or_else(|| panic!("{place}: no properties"));
            for (name, property) in properties {
                assert!(property["description"].is_string(), "{place}.{name} is not described");
                assert_flat(&format!("{place}.{name}"), property);
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(properties.contains_key(name.as_str().expect("a name")), "{place} requires {name}");
            }
        }
        "array" => assert_flat(&format!("{place}[]"), &schema["items"]),
        _ => {}
    }
    if let Some(values) = fields.get("enum") {
        assert!(values.as_array().is_some_and(|values| values.iter().all(Value::is_string)), "{place}: {values}");
    }
}

/// Whether `value` is what `schema` says; only for the flat schemas that [`assert_flat`] admits.
fn assert_conforms(place: &str, schema: &Value, value: &Value) {
    let fits = match schema["type"].as_str().expect("a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => value.is_boolean(),
    };
    assert!(fits, "{place}: {value} is no {}", schema["type"]);
    if let Some(values) = schema["enum"].as_array() {
        assert!(values.contains(value), "{place}: {value} is not one of {values:?}");
    }
    for item in value.as_array().into_iter().flatten() {
        assert_conforms(&format!("{place}[]"), &schema["items"], item);
    }
    let none = Map::new();
    for (name, inner) in value.as_object().unwrap_or(&none) {
        let property = schema["properties"].get(name).unwrap_or_else(|| panic!("{place}.{name} is not in the schema"));
        assert_conforms(&format!("{place}.{name}"), property, inner);
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert!(value.get(name).is_some(), "{place}.{name} is missing");
    }
}

#[tokio::test]
async fn every_tool_has_flat_schemas_all_annotations_and_a_described_input() {
    let app = App::start().await;
    let tools = listed(&app.client("ann", &[], &[]).await).await;
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "memory_store",
            "memory_recall",
            "memory_associate",
            "memory_get",
            "memory_update",
            "memory_forget",
            "memory_link",
            "memory_feedback",
            "memory_observe",
            "memory_summarize",
            "memory_explain",
            "wiki_search",
            "wiki_get",
            "wiki_propose",
            "review_list",
            "review_get",
            "review_revise",
            "review_withdraw"
        ]
    );
    for tool in &tools {
        let name = tool["name"].as_str().expect("a name");
        for side in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[side]["type"], "object", "{name}");
            assert_flat(&format!("{name}.{side}"), &tool[side]);
        }
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name} has no {hint}");
        }
        assert!(
            tool["title"].is_string() && tool["description"].as_str().is_some_and(|text| text.len() > 80),
            "{name}"
        );
    }
    let required =
        |name: &str| tools.iter().find(|tool| tool["name"] == name).expect(name)["inputSchema"]["required"].clone();
    assert_eq!(required("memory_store"), json!(["content"]));
    assert_eq!(required("memory_recall"), json!(["query"]));
    assert_eq!(required("memory_associate"), Value::Null);
    assert_eq!(required("memory_get"), json!(["ids"]));
    assert_eq!(required("memory_forget"), json!(["ids"]));
    assert_eq!(required("memory_feedback"), json!(["id", "useful"]));
    assert_eq!(required("memory_observe"), json!(["event"]));
    assert_eq!(required("memory_summarize"), Value::Null);
    assert_eq!(required("wiki_propose"), json!(["slug"]));
    assert_eq!(required("review_list"), Value::Null);
    assert_eq!(required("review_revise"), json!(["id", "body"]));
}

#[test]
fn the_tool_listing_changes_only_on_purpose() {
    insta::assert_json_snapshot!(recollect::mcp::tool_listing());
}

#[tokio::test]
async fn a_memory_is_stored_recalled_associated_read_and_forgotten() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let tools = listed(&ann).await;
    let checked = async |tool: &str, arguments: Value| {
        let answer = ann.ok(tool, arguments).await;
        let listed = tools.iter().find(|listed| listed["name"] == tool).expect("listed");
        assert_conforms(tool, &listed["outputSchema"], &answer);
        answer
    };
    let cause = checked(
        "memory_store",
        json!({"content": "The certificate of the payment gateway expired on Sunday.", "title": "payment gateway",
            "session_id": "s1", "importance": 0.8, "tags": ["ops"], "event": {"actor": "ann", "result": "outage"}}),
    )
    .await;
    assert_eq!((&cause["outcome"], &cause["state"]), (&json!("stored"), &json!("indexed")));
    let cause = cause["id"].clone();
    let effect = checked(
        "memory_store",
        json!({"content": "Orders stayed unpaid for two hours.", "session_id": "s1", "caused_by": [cause]}),
    )
    .await;
    let linked: Vec<&str> =
        effect["links"].as_array().expect("links").iter().filter_map(|link| link["type"].as_str()).collect();
    assert!(linked.contains(&"CAUSES") && linked.contains(&"SAME_SESSION"), "{effect}");
    let effect = effect["id"].clone();

    let recalled = checked("memory_recall", json!({"query": "payment gateway certificate"})).await;
    assert_eq!(recalled["items"][0]["id"], cause);
    let why = &recalled["items"][0]["why"];
    assert!(why["keyword"].is_number() && why["semantic"].is_number(), "{why}");

    let associated = checked("memory_associate", json!({"ids": [cause]})).await;
    assert_eq!(associated["items"][0]["id"], effect);
    assert!(
        ["CAUSES", "SAME_SESSION", "<SAME_SESSION"]
            .contains(&associated["items"][0]["path"][0]["edge"].as_str().unwrap())
    );
    assert_eq!(associated["items"][0]["path"][0]["to"], effect);

    let read = checked("memory_get", json!({"ids": [effect, cause]})).await;
    assert_eq!((&read["memories"][0]["id"], &read["memories"][1]["id"]), (&effect, &cause));
    assert_eq!(read["memories"][1]["event"], json!({"actor": "ann", "result": "outage"}));
    assert_eq!(read["memories"][1]["importance"], json!(0.8), "numbers are as they were given");

    let forgotten = checked("memory_forget", json!({"ids": [cause], "reason": "a drill"})).await;
    assert_eq!(forgotten["forgotten"], 1);
    assert!(ann.failed("memory_get", json!({"ids": [cause]})).await.starts_with("NOT_FOUND: ids: "));
    for mode in ["hybrid", "semantic", "keyword", "recent", "associative"] {
        let recalled = checked("memory_recall", json!({"query": "payment gateway certificate", "mode": mode})).await;
        assert!(!recalled.to_string().contains("certificate of the payment"), "{mode}: {recalled}");
    }
    assert_eq!(checked("memory_associate", json!({"ids": [effect]})).await["items"], json!([]));
}

#[tokio::test]
async fn the_same_key_stores_once() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let request = json!({"content": "The harbour opens at nine.", "idempotency_key": "k1"});
    let first = ann.ok("memory_store", request.clone()).await;
    assert_eq!(ann.ok("memory_store", request).await, first);
    assert_eq!(app.counts().await.memories, 1);
    let other = ann.failed("memory_store", json!({"content": "Something else.", "idempotency_key": "k1"})).await;
    assert!(other.starts_with("IDEMPOTENCY_KEY_REUSED: idempotency_key"), "{other}");
}

#[tokio::test]
async fn form_is_forgiven() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let lists =
        ann.store(json!({"content": "lists as text", "tags": "[\"a\", \"b\"]", "event": "{\"actor\": \"bo\"}"})).await;
    let single = ann.store(json!({"content": "a list of one", "tags": "solo", "caused_by": lists})).await;
    let numbers = ann.store(json!({"content": "numbers as text", "importance": "0.25", "ttl_secs": "3600"})).await;
    let nulls = ann
        .store(json!({"content": "nothing given", "title": null, "tags": null, "event": null, "importance": null}))
        .await;
    let read = ann.ok("memory_get", json!({"ids": json!([lists, single, numbers, nulls]).to_string()})).await;
    let memories = read["memories"].as_array().expect("memories");
    assert_eq!(memories[0]["tags"], json!(["a", "b"]));
    assert_eq!(memories[0]["event"], json!({"actor": "bo"}));
    assert_eq!(memories[1]["tags"], json!(["solo"]));
    assert_eq!(memories[2]["importance"], json!(0.25));
    assert!(memories[2]["expires_at"].is_string());
    assert_eq!((memories[3].get("title"), &memories[3]["tags"]), (None, &json!([])));
    let recalled =
        ann.ok("memory_recall", json!({"query": "text", "limit": "1", "kinds": "episodic", "since": null})).await;
    assert_eq!(recalled["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(ann.ok("memory_recall", json!({"query": "numbers", "limit": 2.0})).await["items"][0]["id"], numbers);
    let latest = ann.ok("memory_recall", json!({"query": "", "mode": "recent"})).await;
    assert_eq!(latest["items"].as_array().map(Vec::len), Some(4));
    assert_eq!(ann.ok("memory_get", json!({"ids": single})).await["memories"][0]["content"], "a list of one");
}

#[tokio::test]
async fn the_client_of_the_protocol_library_connects_lists_and_calls() {
    use rmcp::{
        ServiceExt,
        model::CallToolRequestParams,
        transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
    };
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let config =
        StreamableHttpClientTransportConfig::with_uri(format!("{}/mcp", app.url)).auth_header(ann.token.clone());
    let client = ().serve(StreamableHttpClientTransport::from_config(config)).await.expect("connected");
    let server = client.peer_info().expect("the server says who it is");
    assert!(server.instructions.as_deref().is_some_and(|text| text.contains("memory_recall")));
    assert_eq!(client.list_all_tools().await.expect("tools").len(), 18);
    let arguments = json!({"content": "The ferry leaves at seven."}).as_object().cloned().expect("an object");
    let mut call = CallToolRequestParams::new("memory_store");
    call.arguments = Some(arguments);
    let stored = client.call_tool(call).await.expect("called");
    assert_eq!(stored.structured_content.expect("content")["outcome"], "stored");
    client.cancel().await.expect("closed");
}

#[tokio::test]
async fn older_and_newer_clients_agree_on_a_version() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    for version in ["2025-06-18", "2025-11-25"] {
        let params =
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let request = ann.http.post(format!("{}/mcp", app.url)).bearer_auth(&ann.token);
        let request = request.header("accept", "application/json, text/event-stream").json(&body);
        let answer: Value = request.send().await.expect("an answer").json().await.expect("JSON");
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"]["name"], "recollect");
    }
}
