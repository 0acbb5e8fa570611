//! Pages: long answers come in parts that neither repeat nor skip, and no part is more than a client can hold.

use std::collections::BTreeSet;

use recollect::{domain::Caller, write::StoreRequest};
use serde_json::{Value, json};

use crate::support::app::{App, Client};

const MODES: [&str; 5] = ["hybrid", "semantic", "keyword", "recent", "associative"];

/// Ids of all pages, each asked for with the cursor of the one before; every page is looked at by `check`.
async fn pages(client: &Client, tool: &str, request: &Value, check: impl Fn(&Value)) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut request = request.clone();
    loop {
        let answer = client.ok(tool, request.clone()).await;
        check(&answer);
        let items = answer["items"].as_array().expect("items");
        pages.push(items.iter().map(|item| item["id"].as_str().expect("an id").to_owned()).collect());
        assert!(pages.len() < 100, "there is an end");
        match answer.get("cursor") {
            Some(cursor) => request["cursor"] = cursor.clone(),
            None => return pages,
        }
    }
}

fn each_once(pages: &[Vec<String>]) -> BTreeSet<String> {
    let all: Vec<&String> = pages.iter().flatten().collect();
    let each: BTreeSet<String> = all.iter().map(|id| (*id).clone()).collect();
    assert_eq!(each.len(), all.len(), "none is repeated: {pages:?}");
    each
}

async fn fleet(client: &Client, size: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for number in 0..size {
        let request = json!({
            "content": format!("Boat {number} lies at the north quay, {}.", "painted ".repeat(number % 7)),
            "title": format!("boat {number}"), "importance": (number % 10) as f64 / 10.0,
            "kind": if number % 3 == 0 { "episodic" } else { "semantic" },
            "occurred_at": format!("2026-{:02}-01", number % 11 + 1), "session_id": "fleet",
        });
        ids.push(client.store(request).await);
    }
    ids
}

#[tokio::test]
async fn pages_neither_repeat_nor_skip_in_any_mode() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let ids = fleet(&ann, 60).await;
    for mode in MODES {
        let request = json!({"query": "boats at the north quay", "mode": mode, "limit": 7});
        let pages = pages(&ann, "memory_recall", &request, |_| {}).await;
        assert!(pages[..pages.len() - 1].iter().all(|page| page.len() == 7), "{mode}: {pages:?}");
        assert_eq!(each_once(&pages), ids.iter().cloned().collect(), "{mode}");
        // The first page is what one gets without pages.
        let first =
            ann.ok("memory_recall", json!({"query": "boats at the north quay", "mode": mode, "limit": 7})).await;
        let first: Vec<&str> =
            first["items"].as_array().expect("items").iter().filter_map(|it| it["id"].as_str()).collect();
        assert_eq!(first, pages[0], "{mode}");
    }
    let request = json!({"ids": [ids[30]], "limit": 2, "depth": 2});
    let small = pages(&ann, "memory_associate", &request, |_| {}).await;
    let request = json!({"ids": [ids[30]], "limit": 100, "depth": 2});
    let whole = pages(&ann, "memory_associate", &request, |_| {}).await;
    assert!(small.len() > 2 && each_once(&small) == each_once(&whole), "{small:?}, {whole:?}");
}

#[tokio::test]
async fn an_answer_stays_under_eight_thousand_tokens_and_the_rest_is_on_later_pages() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let mut ids = BTreeSet::new();
    let start = ann.store(json!({"content": "The shift begins.", "kind": "episodic"})).await;
    for number in 0..30 {
        let content = format!("Log {number} of the quay. {}", format!("The crane moved crate {number}. ").repeat(60));
        ids.insert(ann.store(json!({"content": content, "caused_by": start})).await);
    }
    for number in 0..15 {
        let content = format!("Rule {number} of the quay. {}", "Keep it. ".repeat(200));
        ann.store(json!({"content": content, "type": "constraint"})).await;
    }
    let small = |answer: &Value| {
        let characters = answer.to_string().chars().count();
        assert!(characters / 4 <= 8000, "{} tokens", characters / 4);
        assert!(answer["constraints"].as_array().is_none_or(|rules| rules.len() == 15), "each rule comes along");
    };
    for mode in MODES {
        let request =
            json!({"query": "logs of the quay", "mode": mode, "limit": 100, "kinds": "semantic", "types": "fact"});
        let pages = pages(&ann, "memory_recall", &request, small).await;
        assert!(pages.len() > 1 && each_once(&pages) == ids, "{mode}: {pages:?}");
    }
    let walked =
        pages(&ann, "memory_associate", &json!({"ids": [start], "limit": 100, "edges": "CAUSES"}), small).await;
    assert!(walked.len() > 1 && each_once(&walked) == ids, "{walked:?}");
    // One that is too long alone is cut, says so, and can be read whole.
    let long = "x ".repeat(100_000);
    let id = ann.store(json!({"content": format!("The treaty. {long}"), "title": "treaty"})).await;
    let recalled = ann.ok("memory_recall", json!({"query": "treaty", "mode": "keyword"})).await;
    small(&recalled);
    assert_eq!((&recalled["items"][0]["id"], &recalled["items"][0]["cut"]), (&json!(id), &json!(true)));
    let whole = ann.ok("memory_get", json!({"ids": [id]})).await;
    assert!(whole["memories"][0]["content"].as_str().is_some_and(|text| text.len() > 200_000));
    let budget = json!({"query": "logs of the quay", "limit": 100, "token_budget": 3000});
    let few = ann.ok("memory_recall", budget).await;
    assert!(few["items"].as_array().is_some_and(|items| items.len() < 5) && few["cursor"].is_string(), "{few}");
}

#[tokio::test]
async fn a_cursor_that_is_not_ours_or_of_another_question_is_refused_by_name() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let ids = fleet(&ann, 12).await;
    let request = json!({"query": "boats", "limit": 3});
    let cursor = ann.ok("memory_recall", request).await["cursor"].clone();
    let walked = ann.ok("memory_associate", json!({"ids": [ids[0]], "limit": 2})).await["cursor"].clone();
    for (tool, request) in [
        ("memory_recall", json!({"query": "boats", "limit": 3, "cursor": "x"})),
        ("memory_recall", json!({"query": "boats", "limit": 3, "cursor": "x".repeat(10_000)})),
        ("memory_recall", json!({"query": "ships", "limit": 3, "cursor": cursor})),
        ("memory_recall", json!({"query": "boats", "limit": 4, "cursor": cursor})),
        ("memory_recall", json!({"query": "boats", "limit": 3, "cursor": walked})),
        ("memory_associate", json!({"ids": [ids[1]], "limit": 2, "cursor": walked})),
        ("memory_associate", json!({"ids": [ids[0]], "limit": 2, "cursor": cursor})),
    ] {
        let refused = ann.failed(tool, request.clone()).await;
        assert!(refused.starts_with("BAD_USER_INPUT: cursor"), "{request}: {refused}");
    }
    let bo = app.client("bo", &[], &[]).await;
    let theirs = bo.ok("memory_recall", json!({"query": "boats", "limit": 3, "cursor": cursor})).await;
    assert_eq!(theirs["items"], json!([]), "a cursor carries no rights");
}

#[tokio::test]
async fn constraints_of_then_come_along_when_one_looks_back() {
    let app = App::start().await;
    let ada = Caller::operator("ada");
    let rule = |content: &str| StoreRequest {
        content: content.to_owned(),
        r#type: Some("constraint".to_owned()),
        scope: Some("global".to_owned()),
        ..StoreRequest::default()
    };
    let past = StoreRequest { valid_to: Some("2026-01-01".into()), ..rule("No ships in December.") };
    let future = StoreRequest { valid_from: Some("2027-01-01".into()), ..rule("No ships at night.") };
    for request in [rule("No ships in fog."), past, future] {
        app.service.store(&ada, request).await.expect("stored");
    }
    let ann = app.client("ann", &[], &[]).await;
    let rules = async |request: Value| {
        let answer = ann.ok("memory_recall", request).await;
        answer["constraints"].as_array().expect("rules").iter().map(|rule| rule["content"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(rules(json!({"query": "tea"})).await, ["No ships in fog."]);
    let mut then = rules(json!({"query": "tea", "as_of": "2025-06-01"})).await;
    then.sort_by_key(Value::to_string);
    assert_eq!(then, ["No ships in December.", "No ships in fog."]);
    assert_eq!(rules(json!({"query": "tea", "known_at": "2026-01-01"})).await, [json!(null); 0]);
    let prompt = ann.ok("memory_recall", json!({"query": "tea", "format": "prompt", "token_budget": 100})).await;
    assert!(prompt["prompt"].as_str().is_some_and(|text| text.contains("No ships in fog.")), "{prompt}");
    let tiny = ann.failed("memory_recall", json!({"query": "tea", "format": "prompt", "token_budget": 5})).await;
    assert!(tiny.starts_with("BAD_USER_INPUT: token_budget"), "{tiny}");
}
