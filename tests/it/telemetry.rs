//! Logs and metrics of the real binary: every metric of the table moves, no other does, and nothing that was said to the
//! service comes out of either.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

use recollect::telemetry::{CIRCUIT_OPEN, metric_names};
use serde_json::{Map, Value, json};

use crate::support::process::{Home, Served};

/// The names that a page of metrics has samples of.
fn sampled(page: &str) -> BTreeSet<String> {
    page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next().map(str::to_owned)).collect()
}

#[tokio::test]
async fn every_metric_of_the_table_moves_and_no_other_does() {
    let home = Home::new();
    // Nobody listens there.
    home.configure(
        "[webhooks]\nallow_private = true\ntries = 1\nendpoints = [{ name = \"ops\", url = \"http://127.0.0.1:1/\", \
         secrets = [\"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"] }]\n",
    );
    let served = home.serve(&[]);
    for content in ["The ferry leaves at seven.", "The ferry carries bicycles."] {
        let arguments = json!({"content": content, "title": "ferry", "session_id": "s"});
        served.call("memory_store", arguments).await.expect("stored");
    }
    for mode in ["hybrid", "recent", "associative"] {
        served
            .call("memory_recall", json!({"query": "when does the ferry leave", "mode": mode}))
            .await
            .expect("recalled");
    }
    let wrong = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_get"}});
    served.post(&served.token).body(wrong.to_string()).send().await.expect("an answer");
    served.post("rcl_wrong").body("{}").send().await.expect("an answer");
    let graphql = reqwest::Client::new().post(format!("{}/graphql", served.url)).bearer_auth(&served.token);
    graphql.json(&json!({"query": "{ nothing }"})).send().await.expect("an answer");
    // A proposal that is turned down, and an endpoint that takes nothing: it is given up at once.
    let proposed = json!({"slug": "ops/ferry", "body": "The ferry leaves at seven.\n"});
    let proposed = served.call("wiki_propose", proposed).await.expect("proposed");
    let tokens = std::fs::read_to_string(home.data().join("tokens.json")).expect("tokens.json");
    let tokens: Value = serde_json::from_str(&tokens).expect("JSON");
    let reject = "mutation($id: ID!) { rejectProposal(input: {id: $id, reason: STYLE}) { outcome } }";
    let graphql = reqwest::Client::new()
        .post(format!("{}/graphql", served.url))
        .bearer_auth(tokens["admin"].as_str().expect("an admin token"));
    let body = json!({"query": reject, "variables": {"id": proposed["proposal_id"]}});
    let rejected: Value = graphql.json(&body).send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(rejected["data"]["rejectProposal"]["outcome"], "REJECTED", "{rejected}");
    let mut page = served.page("/metrics").await;
    while !page.contains("outcome=\"given_up\"") {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        page = served.page("/metrics").await;
    }
    // Of stores that are servers, which this service has none of; `index_outage` moves it.
    let table: BTreeSet<String> = metric_names().filter(|name| *name != CIRCUIT_OPEN).map(str::to_owned).collect();
    assert_eq!(sampled(&page), table, "{page}");
    for name in &table {
        assert!(page.contains(&format!("# HELP {name} ")), "{name} is not described");
    }
    for line in [
        "recollect_memories 3",
        "recollect_review_depth{state=\"pending\"} 0",
        "recollect_review_decision_seconds_count{kind=\"wiki_edit\",outcome=\"rejected\"} 1",
        "recollect_review_accept_rate{agent=\"agent\"} 0",
        "recollect_review_age_seconds{quantile=\"0.95\"} 0",
        "recollect_writes_waiting 0",
        "recollect_mcp_calls_total{tool=\"memory_store\",outcome=\"OK\"} 2",
        "recollect_mcp_calls_total{tool=\"memory_get\",outcome=\"BAD_USER_INPUT\"} 1",
        "recollect_errors_total{face=\"http\",code=\"UNAUTHENTICATED\"} 1",
        "recollect_errors_total{face=\"mcp\",code=\"BAD_USER_INPUT\"} 1",
        "recollect_errors_total{face=\"graphql\",code=\"BAD_USER_INPUT\"} 1",
        "recollect_http_request_seconds_count{route=\"/mcp\",status=\"401\"} 1",
    ] {
        assert!(page.contains(line), "{line} is not in\n{page}");
    }
    let parts = [
        "queue",
        "embed",
        "vector",
        "keyword",
        "concepts",
        "recent",
        "neighbourhood",
        "rank",
        "turn",
        "match",
        "apply",
        "settle",
    ];
    for part in parts {
        assert!(page.contains(&format!("recollect_part_seconds_count{{part=\"{part}\"}}")), "{part} is not in\n{page}");
    }
}

/// Stands in everything that is said to the service.
const CANARY: &str = "canary";

/// A value of the type that the schema names, with the canary in every text.
fn filled(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("object") => {
            let fields = schema["properties"].as_object().cloned().unwrap_or_default();
            fields.into_iter().map(|(name, field)| (name, filled(&field))).collect::<Map<_, _>>().into()
        }
        Some("array") => json!([filled(&schema["items"])]),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        _ => schema["enum"].get(0).cloned().unwrap_or_else(|| json!("canary seven")),
    }
}

/// What is asked of each tool: what it takes, that and nothing else wrong, and all that it does not take.
fn calls(tool: &Value) -> Vec<Value> {
    let schema = &tool["inputSchema"];
    let full = filled(schema);
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = full.as_object().expect("an object");
    let least: Map<String, Value> = fields
        .iter()
        .filter(|(name, _)| required.contains(name.as_str()))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect();
    let mut calls = vec![json!(least), full.clone(), json!({"canary_field": "canary"}), json!("canary"), json!({})];
    // One field of the wrong type at a time.
    for name in fields.keys() {
        let mut wrong = least.clone();
        wrong.insert(name.clone(), json!({"canary": ["canary"]}));
        calls.push(wrong.into());
    }
    // And ids that could be.
    let mut ids = least.clone();
    for name in ["id", "ids", "from", "to"].into_iter().filter(|name| fields.contains_key(*name)) {
        ids.insert(name.to_owned(), json!("01940000-0000-7000-8000-000000000000"));
    }
    calls.push(ids.into());
    calls
}

async fn say_everything(served: &Served) {
    let token = served.token.clone();
    let send = async |token: &str, body: String| {
        let answer = served.post(token).header("x-canary", "canary").body(body).send().await.expect("an answer");
        answer.text().await.expect("text")
    };
    let rpc =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": "canary", "method": method, "params": params});
    let listed: Value =
        serde_json::from_str(&send(&token, rpc("tools/list", json!({})).to_string()).await).expect("JSON");
    let tools = listed["result"]["tools"].as_array().expect("tools").clone();
    for content in ["canary seven", "the canary sings at seven", "canary: never at eight"] {
        let arguments = json!({"content": content, "title": "Canary Song", "session_id": "canary", "tags": ["canary"]});
        served.call("memory_store", arguments).await.expect("stored");
    }
    for mode in ["hybrid", "associative", "recent", "keyword", "semantic", "canary"] {
        let arguments = json!({"query": "canary\nwhat does the canary sing", "mode": mode, "format": "prompt"});
        send(&token, rpc("tools/call", json!({"name": "memory_recall", "arguments": arguments})).to_string()).await;
    }
    for tool in &tools {
        for arguments in calls(tool) {
            send(&token, rpc("tools/call", json!({"name": tool["name"], "arguments": arguments})).to_string()).await;
        }
    }
    for (method, params) in [
        ("tools/call", json!({"name": "canary_tool", "arguments": {"canary": 1}})),
        ("tools/call", json!("canary")),
        ("resources/read", json!({"uri": "memory://canary"})),
        ("resources/list", json!({"cursor": "canary"})),
        ("prompts/get", json!({"name": "canary", "arguments": {"canary": "canary"}})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "canary"}, "argument": {"name": "canary", "value": "canary"}}),
        ),
        (
            "initialize",
            json!({"protocolVersion": "canary", "capabilities": {}, "clientInfo": {"name": "canary", "version": "canary"}}),
        ),
        ("canary/canary", json!({"canary": "canary"})),
        ("notifications/cancelled", json!({"requestId": 1, "reason": "canary"})),
    ] {
        send(&token, rpc(method, params).to_string()).await;
    }
    for body in ["{\"canary", "canary", "[\"canary\"]", "{\"jsonrpc\":\"2.0\",\"canary\":1}"] {
        send(&token, body.to_owned()).await;
    }
    for body in [
        json!({"query": "{ canary(text: \"canary\") }", "operationName": "canary", "variables": {"canary": "canary"}}),
        json!({"query": "query($q: String!) { recall(input: {query: $q}) { items { id } } }", "variables": {"q": "canary"}}),
        json!({"canary": "canary"}),
    ] {
        let client = reqwest::Client::new().post(format!("{}/graphql", served.url)).bearer_auth(&token);
        client.json(&body).send().await.expect("an answer");
    }
    // The refusal can come while the body is still on its way, and then the client sees a broken pipe.
    let _ = served.post(&token).body("canary".repeat(1_000_000)).send().await;
    send("rcl_canary", "{}".to_owned()).await;
    send("canary", "{}".to_owned()).await;
    for header in ["mcp-protocol-version", "mcp-method", "mcp-name", "origin", "x-request-id", "content-type"] {
        // As a request id it would be kept, and is meant to be seen: here it is not well formed.
        served.post(&token).header(header, "canary canary").body("{}").send().await.expect("an answer");
    }
    for path in ["/canary", "/mcp/canary?canary=canary", "/metrics?canary", "/.well-known/canary"] {
        served.page(path).await;
    }
}

#[tokio::test]
async fn a_line_about_a_use_case_names_it_and_its_request() {
    let home = Home::new();
    home.configure("\n[log]\nlevel = \"warn,recollect=debug\"\nformat = \"json\"\n");
    let served = home.serve(&[]);
    let arguments = json!({"query": "x", "limit": 0});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_recall", "arguments": arguments}});
    served
        .post(&served.token)
        .header("x-request-id", "trace-7")
        .body(call.to_string())
        .send()
        .await
        .expect("an answer");
    let log = home.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ended = lines.iter().find(|line| line["outcome"] == "BAD_USER_INPUT").expect("a line about the recall");
    let spans: Vec<&Value> = ended["spans"].as_array().expect("spans").iter().map(|span| &span["name"]).collect();
    assert_eq!(spans, ["request", "recall"], "{ended}");
    assert_eq!(ended["spans"][0]["id"], "trace-7", "{ended}");
    assert!(lines.iter().any(|line| line["status"] == 200 && line["span"]["id"] == "trace-7"), "{log}");
}

fn assert_clean(what: &str, text: &str, secrets: &[&str]) {
    for secret in secrets {
        let found = text.lines().find(|line| line.to_lowercase().contains(secret));
        assert!(found.is_none(), "{what} shows {secret}: {}", found.unwrap_or_default());
    }
}

#[tokio::test]
async fn nothing_that_was_said_is_in_the_logs_or_the_metrics() {
    for format in ["text", "json"] {
        let home = Home::new();
        home.configure(&format!("\n[log]\nlevel = \"info,recollect=trace\"\nformat = \"{format}\"\n"));
        let served = home.serve(&[]);
        say_everything(&served).await;
        let tokens = std::fs::read_to_string(home.data().join("tokens.json")).expect("tokens.json");
        let tokens: Value = serde_json::from_str(&tokens).expect("JSON");
        let secrets: Vec<&str> = tokens.as_object().expect("an object").values().filter_map(Value::as_str).collect();
        let secrets = [&[CANARY], &*secrets].concat();
        let (log, page) = (home.log(), served.page("/metrics").await);
        assert!(log.lines().count() > 100 && log.contains("answered 401"), "the flow is in the log:\n{log}");
        if format == "json" {
            for line in log.lines() {
                let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
                assert!(line["level"].is_string() && line["timestamp"].is_string(), "{line}");
            }
        }
        assert!(log.contains("recall ended with OK") && log.contains("store ended with BAD_USER_INPUT"), "{log}");
        assert_clean("the log", &log, &secrets);
        assert_clean("/metrics", &page, &secrets);
    }
}

#[test]
fn nothing_that_was_said_over_stdio_is_on_standard_error() {
    let home = Home::new();
    home.configure("\n[log]\nlevel = \"info,recollect=trace\"\n");
    let mut child = home
        .command(&["mcp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let (mut input, mut output) =
        (child.stdin.take().expect("piped"), BufReader::new(child.stdout.take().expect("piped")));
    let mut ask = |method: &str, params: Value| -> Value {
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": "canary", "method": method, "params": params}))
            .expect("written");
        let mut line = String::new();
        output.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).expect("JSON")
    };
    let client = json!({"name": "canary", "version": "canary"});
    ask("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}));
    let listed = ask("tools/list", json!({}));
    for tool in listed["result"]["tools"].as_array().expect("tools") {
        for arguments in calls(tool) {
            ask("tools/call", json!({"name": tool["name"], "arguments": arguments}));
        }
    }
    ask("tools/call", json!({"name": "canary"}));
    drop(input);
    let ended = child.wait_with_output().expect("ended");
    assert!(ended.status.success());
    assert_clean("standard error", &String::from_utf8_lossy(&ended.stderr), &[CANARY]);
}
