//! Wrong input: each a clear coded error that names the field, and nothing stored.

use recollect::ports::StoreCounts;
use serde_json::{Value, json};

use crate::support::app::App;

const NOBODY: &str = "01940000-0000-7000-8000-000000000000";

fn bad(field: &str) -> String {
    format!("BAD_USER_INPUT: {field}")
}

#[tokio::test]
async fn wrong_arguments_name_their_field_and_store_nothing() {
    let app = App::start().await;
    let ann = app.client("ann", &["blue"], &[]).await;
    let known = ann.store(json!({"content": "The harbour opens at nine."})).await;
    let many_ids = vec![NOBODY; 101];
    let many_tags: Vec<String> = (0..65).map(|number| format!("t{number}")).collect();
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let too_deep = "[".repeat(5000);
    let store = |field: &str, value: Value| ("memory_store", json!({"content": "x", field: value}), bad(field));
    let recall = |field: &str, value: Value| ("memory_recall", json!({"query": "x", field: value}), bad(field));
    let associate = |field: &str, value: Value| ("memory_associate", json!({"query": "x", field: value}), bad(field));
    let of = |tool: &'static str, arguments: Value, expected: &str| (tool, arguments, expected.to_owned());
    let cases = [
        of("memory_store", json!({}), "BAD_USER_INPUT: content"),
        store("content", json!("")),
        store("content", json!(" \n\t ")),
        store("content", json!("a\0b")),
        store("content", json!(7)),
        store("content", json!(["x"])),
        store("content", Value::Null),
        of("memory_store", json!({"content": "x".repeat(2_000_000)}), "PAYLOAD_TOO_LARGE: content"),
        store("title", json!("a\0b")),
        of("memory_store", json!({"content": "x", "title": "x".repeat(600)}), "PAYLOAD_TOO_LARGE: title"),
        store("kind", json!("dreamt")),
        store("kind", json!("Semantic")),
        store("type", json!("rumour")),
        store("source", json!("hearsay")),
        store("scope", json!("everyone")),
        store("importance", json!(7)),
        store("importance", json!("7")),
        store("importance", json!(-0.1)),
        store("importance", json!("high")),
        store("importance", json!("NaN")),
        store("importance", json!(true)),
        store("importance", json!([1])),
        store("confidence", json!(1.5)),
        store("occurred_at", json!("yesterday")),
        store("occurred_at", json!("2026-02-30")),
        store("valid_from", json!("30.11.2026")),
        store("valid_to", json!("2026-11-30T25:00:00Z")),
        of(
            "memory_store",
            json!({"content": "x", "valid_from": "2026-02-01", "valid_to": "2026-01-01"}),
            "BAD_USER_INPUT: valid_to",
        ),
        store("ttl_secs", json!(0)),
        store("ttl_secs", json!(i64::MAX)),
        store("tags", json!([""])),
        store("tags", json!(many_tags)),
        store("tags", json!([["x"]])),
        store("tags", json!({"a": 1})),
        store("tags", serde_json::from_str(&deep).expect("JSON")),
        store("tags", json!(deep)),
        of("memory_store", json!({"content": "x", "tags": too_deep}), "PAYLOAD_TOO_LARGE: tags"),
        store("session_id", json!({"a": 1})),
        store("event", json!("a party")),
        store("event", json!(7)),
        of("memory_store", json!({"content": "x", "event": {"mood": "fine"}}), "BAD_USER_INPUT: mood"),
        store("causes", json!(["not-an-id"])),
        store("caused_by", json!(["123"])),
        of("memory_store", json!({"content": "x", "causes": [NOBODY]}), "NOT_FOUND: causes"),
        of("memory_store", json!({"content": "x", "caused_by": [NOBODY]}), "NOT_FOUND: caused_by"),
        of("memory_store", json!({"content": "x", "supersedes": [NOBODY]}), "NOT_FOUND: supersedes"),
        of("memory_store", json!({"content": "x", "scope": "shared"}), "BAD_USER_INPUT: group"),
        of("memory_store", json!({"content": "x", "scope": "private", "group": "blue"}), "BAD_USER_INPUT: group"),
        of("memory_store", json!({"content": "x", "group": "red"}), "FORBIDDEN: group"),
        of(
            "memory_store",
            json!({"content": "x", "scope": "global"}),
            "FORBIDDEN: The token lacks the right memory:global",
        ),
        store("colour", json!("red")),
        store("colour", Value::Null),
        of("memory_recall", json!({}), "BAD_USER_INPUT: query"),
        of("memory_recall", json!({"query": "x".repeat(70_000)}), "PAYLOAD_TOO_LARGE: query"),
        recall("query", json!("")),
        recall("query", json!("a\0b")),
        recall("mode", json!("psychic")),
        recall("limit", json!(0)),
        recall("limit", json!(-1)),
        recall("limit", json!(1_000_000_000)),
        recall("limit", json!(1e300)),
        recall("limit", json!(1.5)),
        recall("limit", json!("many")),
        recall("kinds", json!(["dreamt"])),
        recall("types", json!("rumour")),
        recall("since", json!("last week")),
        recall("until", json!("2026-13-01")),
        recall("as_of", json!("?")),
        recall("known_at", json!("12")),
        recall("min_score", json!(2)),
        recall("min_score", json!("NaN")),
        recall("include_superseded", json!("perhaps")),
        recall("colour", json!("red")),
        of("memory_associate", json!({}), "BAD_USER_INPUT: query"),
        of("memory_associate", json!({"query": "x", "ids": [known]}), "BAD_USER_INPUT: query"),
        associate("query", json!("")),
        associate("depth", json!(0)),
        associate("depth", json!(5)),
        associate("limit", json!(0)),
        associate("limit", json!(-1)),
        associate("limit", json!(1_000_000_000)),
        associate("edges", json!(["KNOWS"])),
        associate("direction", json!("up")),
        associate("as_of", json!("soon")),
        associate("colour", json!("red")),
        of("memory_associate", json!({"ids": ["not-an-id"]}), "BAD_USER_INPUT: ids"),
        of("memory_associate", json!({"ids": [NOBODY]}), "NOT_FOUND: ids"),
        of("memory_get", json!({}), "BAD_USER_INPUT: ids"),
        of("memory_get", json!({"ids": []}), "BAD_USER_INPUT: ids"),
        of("memory_get", json!({"ids": ["not-an-id"]}), "BAD_USER_INPUT: ids"),
        of("memory_get", json!({"ids": [7]}), "BAD_USER_INPUT: ids"),
        of("memory_get", json!({"ids": many_ids}), "BAD_USER_INPUT: ids"),
        of("memory_get", json!({"ids": [known, NOBODY]}), "NOT_FOUND: ids"),
        of("memory_get", json!({"ids": [known], "known_at": "once"}), "BAD_USER_INPUT: known_at"),
        of("memory_get", json!({"ids": [known], "colour": "red"}), "BAD_USER_INPUT: colour"),
        of("memory_forget", json!({}), "BAD_USER_INPUT: ids"),
        of("memory_forget", json!({"ids": [known, NOBODY]}), "NOT_FOUND: ids"),
        of("memory_forget", json!({"ids": [known], "strategy": "burn"}), "BAD_USER_INPUT: strategy"),
        of("memory_forget", json!({"ids": [known], "colour": "red"}), "BAD_USER_INPUT: colour"),
        of("memory_get", json!({"ids": [known], "as_of": "once"}), "BAD_USER_INPUT: as_of"),
        of("memory_get", json!({"ids": [known], "known_at": "2020-01-01"}), "NOT_FOUND: ids"),
        of("memory_update", json!({}), "BAD_USER_INPUT: id"),
        of("memory_update", json!({"id": NOBODY}), "NOT_FOUND: id"),
        of("memory_update", json!({"id": known, "expected_revision": 2}), "CONFLICT: expected_revision"),
        of("memory_update", json!({"id": known, "importance": 7}), "BAD_USER_INPUT: importance"),
        of("memory_update", json!({"id": known, "kind": "dreamt"}), "BAD_USER_INPUT: kind"),
        of("memory_update", json!({"id": known, "valid_to": "soon"}), "BAD_USER_INPUT: valid_to"),
        of("memory_update", json!({"id": known, "colour": "red"}), "BAD_USER_INPUT: colour"),
        of("memory_link", json!({"from": known, "to": known, "edge": "CAUSES"}), "BAD_USER_INPUT: to"),
        of("memory_link", json!({"from": known, "to": NOBODY, "edge": "CAUSES"}), "NOT_FOUND: to"),
        of("memory_link", json!({"from": NOBODY, "to": known, "edge": "CAUSES"}), "NOT_FOUND: from"),
        of("memory_link", json!({"from": known, "to": NOBODY, "edge": "ABOUT"}), "BAD_USER_INPUT: edge"),
        of("memory_link", json!({"from": known, "to": NOBODY, "edge": "KNOWS"}), "BAD_USER_INPUT: edge"),
        of("memory_feedback", json!({"id": known}), "BAD_USER_INPUT: useful"),
        of("memory_feedback", json!({"id": known, "useful": "maybe"}), "BAD_USER_INPUT: useful"),
        of("memory_feedback", json!({"id": NOBODY, "useful": true}), "NOT_FOUND: id"),
        of("memory_feedback", json!({"id": known, "useful": true, "note": "a\0b"}), "BAD_USER_INPUT: note"),
        of("memory_observe", json!({}), "BAD_USER_INPUT: event"),
        of("memory_observe", json!({"event": "party"}), "BAD_USER_INPUT: event"),
        of("memory_observe", json!({"event": "user_message"}), "BAD_USER_INPUT: text"),
        of("memory_observe", json!({"event": "user_correction", "text": " "}), "BAD_USER_INPUT: text"),
        of("memory_observe", json!({"event": "tool_call"}), "BAD_USER_INPUT: tool"),
        of("memory_observe", json!({"event": "session_ended"}), "BAD_USER_INPUT: session_id"),
        of("memory_observe", json!({"event": "task_started", "at": "noon"}), "BAD_USER_INPUT: at"),
        of("memory_observe", json!({"event": "task_started", "feedback": "meh"}), "BAD_USER_INPUT: feedback"),
        of("memory_observe", json!({"event": "task_started", "scope": "everyone"}), "BAD_USER_INPUT: scope"),
        of("memory_observe", json!({"event": "task_started", "group": "red"}), "FORBIDDEN: group"),
        of("memory_observe", json!({"event": "task_failed", "text": "x".repeat(2_000_000)}), "PAYLOAD_TOO_LARGE: text"),
        of("memory_observe", json!({"event": "task_started", "colour": "red"}), "BAD_USER_INPUT: colour"),
        of("memory_summarize", json!({"since": "last week"}), "BAD_USER_INPUT: since"),
        of("memory_summarize", json!({"topic": "a\0b"}), "BAD_USER_INPUT: topic"),
        of("memory_summarize", json!({"colour": "red"}), "BAD_USER_INPUT: colour"),
        of("memory_explain", json!({"id": known}), "BAD_USER_INPUT: query"),
        of("memory_explain", json!({"query": "x"}), "BAD_USER_INPUT: id"),
        of("memory_explain", json!({"id": NOBODY, "query": "x"}), "NOT_FOUND: id"),
        of("memory_explain", json!({"id": known, "query": "x", "known_at": "once"}), "BAD_USER_INPUT: known_at"),
        recall("cursor", json!("x")),
        recall("token_budget", json!(0)),
        recall("format", json!("poem")),
        associate("cursor", json!("x")),
    ];
    // What the index has still to take of the first memory is none of theirs.
    let counted = async || StoreCounts { outbox: 0, ..app.counts().await };
    let before = counted().await;
    for (tool, arguments, expected) in cases {
        let shown: String = arguments.to_string().chars().take(200).collect();
        let text = ann.failed(tool, arguments).await;
        // The field is a whole name, then comes what is wrong with it, then what to do.
        let rest = text.strip_prefix(&expected).unwrap_or_else(|| panic!("{tool} {shown}: {text:?}, not {expected:?}"));
        assert!(rest.starts_with([':', '.', '[']), "{tool} {shown}: {text:?}");
        assert!(text.ends_with('.') && text.len() < 700, "{tool} {shown}: {text:?}");
        assert_eq!(counted().await, before, "{tool} {shown} changed the store");
    }
    assert_eq!(ann.ok("memory_get", json!({"ids": [known]})).await["memories"][0]["revision"], 1);
}

/// A call of `memory_store` whose arguments are this JSON text.
fn stored(arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"memory_store","arguments":{arguments}}}}}"#
    )
}

#[tokio::test]
async fn what_is_no_message_is_refused_as_the_protocol_says() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let deep_lists = stored(&format!(r#"{{"content":"x","tags":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000)));
    let deep_objects = stored(&format!("{}1{}", r#"{"a":"#.repeat(200), "}".repeat(200)));
    let (parse, shape) = (-32700, -32600);
    let cases: [(&str, Vec<u8>, i64); 15] = [
        ("no text", Vec::new(), parse),
        ("no JSON", b"content=x".to_vec(), parse),
        ("half a message", stored(r#"{"content":"x"#).into_bytes(), parse),
        ("a lone leading surrogate", stored(r#"{"content":"a \ud800 b"}"#).into_bytes(), parse),
        ("a lone trailing surrogate", stored(r#"{"content":"\udc00"}"#).into_bytes(), parse),
        ("a broken pair", stored(r#"{"content":"\ud83d\u0041"}"#).into_bytes(), parse),
        ("a lone surrogate in a name", stored(r#"{"content":"x","\ud800":1}"#).into_bytes(), parse),
        ("NaN", stored(r#"{"content":"x","importance":NaN}"#).into_bytes(), parse),
        ("a number beyond all", stored(r#"{"content":"x","importance":1e999}"#).into_bytes(), parse),
        ("deep lists", deep_lists.into_bytes(), parse),
        ("deep objects", deep_objects.into_bytes(), parse),
        ("text that is not UTF-8", [stored("{\"content\":\"").as_bytes(), &[0xff, 0xfe], b"\"}"].concat(), parse),
        ("a list", format!("[{}]", stored(r#"{"content":"x"}"#)).into_bytes(), shape),
        ("a number", b"7".to_vec(), shape),
        ("another object", br#"{"hello":"world"}"#.to_vec(), shape),
    ];
    for (what, body, code) in cases {
        let response = ann.post().body(body).send().await.expect("an answer");
        assert_eq!(response.status(), 400, "{what}");
        let answer: Value = response.json().await.expect("JSON");
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &Value::Null), "{what}: {answer}");
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["data"]["code"]),
            (&json!(code), &json!("BAD_USER_INPUT")),
            "{what}: {answer}"
        );
    }
    assert_eq!(app.counts().await.memories, 0);
}

#[tokio::test]
async fn calls_that_name_no_tool_or_have_no_arguments_object_are_protocol_errors() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    for (params, message) in [
        (json!({"name": "memory_burn", "arguments": {}}), "unknown tool"),
        (json!({"name": "memory_store", "arguments": ["x"]}), "params"),
        (json!({"arguments": {}}), "params"),
    ] {
        let answer = ann.rpc("tools/call", params.clone()).await;
        assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains(message)), "{params}: {answer}");
    }
    let answer = ann.rpc("memories/burn", json!({})).await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    assert!(ann.failed("memory_store", json!({})).await.starts_with("BAD_USER_INPUT: content"));
    assert_eq!(app.counts().await.memories, 0);
}
