//! Events, votes, summaries, explanations: each use case through MCP, with its effect.

use recollect::domain::Visibility;
use serde_json::{Value, json};

use crate::support::app::{App, Client};

/// Turns stored as memories of one session; their ids.
async fn session(client: &Client, session: &str, contents: &[&str]) -> Vec<String> {
    let mut ids = Vec::new();
    for content in contents {
        ids.push(client.store(json!({"content": content, "session_id": session})).await);
    }
    ids
}

fn made(reply: &Value) -> Option<&str> {
    reply["memories"][0]["id"].as_str()
}

async fn read(client: &Client, id: &str) -> Value {
    client.ok("memory_get", json!({"ids": [id]})).await["memories"][0].clone()
}

async fn trace(client: &Client, id: &str) -> Value {
    let answer = client.rpc("resources/read", json!({"uri": format!("memory://{id}/trace")})).await;
    let text = answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str(text).expect("JSON")
}

#[tokio::test]
async fn every_event_is_kept_and_some_make_a_memory_at_once() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    for (event, expected) in [
        (json!({"event": "task_started", "task_id": "t1", "text": "Move the boats."}), None),
        (json!({"event": "tool_call", "tool": "crane", "text": "lift 3"}), None),
        (json!({"event": "tool_result", "tool": "crane", "status": "ok"}), None),
        (json!({"event": "user_message", "text": "Is it done?", "session_id": "s1"}), None),
        (json!({"event": "task_succeeded", "task_id": "t1"}), None),
        (
            json!({"event": "task_succeeded", "task_id": "t1", "text": "All boats are in the dock.", "status": "done"}),
            Some(("episodic", "event", "observed")),
        ),
        (
            json!({"event": "task_failed", "task_id": "t2", "text": "The crane tripped the fuse.", "tool": "crane"}),
            Some(("warning", "event", "observed")),
        ),
        (
            json!({"event": "user_correction", "text": "The dock opens at eight, not nine."}),
            Some(("semantic", "correction", "user_explicit")),
        ),
    ] {
        let reply = ann.ok("memory_observe", event.clone()).await;
        let kept = reply["event_id"].as_str().expect("kept").parse().expect("an id");
        let all = Visibility::system("a test looks at everything");
        let raw = app.parts.graph.events(&[kept], &all).await.expect("read").pop().expect("kept");
        assert_eq!((raw.kind.name(), raw.user_id.as_str()), (event["event"].as_str().expect("named"), "ann"));
        assert_eq!(raw.text, event["text"].as_str().unwrap_or_default(), "as it came");
        let Some((kind, memory_type, source)) = expected else {
            assert_eq!(reply["memories"], json!([]), "{event}");
            continue;
        };
        let id = made(&reply).expect("a memory");
        let memory = read(&ann, id).await;
        assert_eq!(
            (&memory["kind"], &memory["type"], &memory["source"], &memory["content"]),
            (&json!(kind), &json!(memory_type), &json!(source), &event["text"]),
            "{event}"
        );
        assert_eq!(memory["event"]["action"], event["event"]);
        assert_eq!(trace(&ann, id).await["events"][0]["id"], reply["event_id"], "it says where it came from");
    }
    let recalled = ann.ok("memory_recall", json!({"query": "crane fuse", "kinds": "warning"})).await;
    assert_eq!(recalled["items"][0]["content"], "The crane tripped the fuse.");
}

#[tokio::test]
async fn the_same_event_under_one_key_is_kept_once() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let event =
        json!({"event": "task_failed", "text": "The pump ran dry.", "session_id": "s1", "idempotency_key": "k1"});
    let first = ann.ok("memory_observe", event.clone()).await;
    assert_eq!(ann.ok("memory_observe", event).await, first);
    let all = Visibility::system("a test looks at everything");
    assert_eq!(app.parts.graph.events_of_session("s1", 10, &all).await.expect("read").len(), 1);
    let other = ann.failed("memory_observe", json!({"event": "task_started", "idempotency_key": "k1"})).await;
    assert!(other.starts_with("IDEMPOTENCY_KEY_REUSED: idempotency_key"), "{other}");
    let store = ann.failed("memory_store", json!({"content": "x", "idempotency_key": "k1"})).await;
    assert!(store.starts_with("IDEMPOTENCY_KEY_REUSED: idempotency_key"), "{store}");
    // The same words again, without a key, are another event and the same memory.
    let again = ann
        .ok("memory_observe", json!({"event": "task_failed", "text": "The pump ran dry.", "session_id": "s1"}))
        .await;
    assert_eq!((made(&again), &again["memories"][0]["outcome"]), (made(&first), &json!("refreshed")));
    assert_ne!(again["event_id"], first["event_id"]);
}

#[tokio::test]
async fn a_session_that_ends_is_summed_up_from_its_members() {
    let app = App::start().await;
    let ann = app.client("ann", &["blue"], &[]).await;
    let bo = app.client("bo", &["blue"], &[]).await;
    let ids = session(&ann, "s1", &["The pump failed at noon.", "We replaced the seal of the pump."]).await;
    session(&bo, "s1", &["Bo thinks of lunch."]).await;
    let ended = ann.ok("memory_observe", json!({"event": "session_ended", "session_id": "s1"})).await;
    let summary = read(&ann, made(&ended).expect("a summary")).await;
    assert_eq!(summary["kind"], "episodic");
    assert_eq!(summary["content"], "The pump failed at noon.\nWe replaced the seal of the pump.");
    let derived: Vec<Value> = trace(&ann, made(&ended).expect("a summary")).await["edges"]
        .as_array()
        .expect("edges")
        .iter()
        .filter(|edge| edge["edge"] == "DERIVED_FROM")
        .map(|edge| edge["to"].clone())
        .collect();
    assert!(ids.iter().all(|id| derived.contains(&json!(id))) && derived.len() == 2, "{derived:?}");
    // It goes on and ends again: the new summary takes the place of the old.
    session(&ann, "s1", &["The spare seals are in the blue box."]).await;
    let again = ann.ok("memory_observe", json!({"event": "session_ended", "session_id": "s1"})).await;
    assert_eq!(again["memories"][0]["outcome"], "superseded");
    assert_eq!(read(&ann, made(&ended).expect("a summary")).await["status"], "superseded");
    let text = read(&ann, made(&again).expect("a summary")).await["content"].clone();
    assert!(text.as_str().is_some_and(|text| text.contains("blue box") && !text.contains("lunch")), "{text}");
    // Ended once more without news: the same summary.
    let same = ann.ok("memory_observe", json!({"event": "session_ended", "session_id": "s1"})).await;
    assert_eq!((made(&same), &same["memories"][0]["outcome"]), (made(&again), &json!("refreshed")));
    // What the group reads holds nothing private.
    let shared = ann.ok("memory_observe", json!({"event": "session_ended", "session_id": "s1", "group": "blue"})).await;
    assert_eq!(shared["memories"], json!([]));
    ann.store(json!({"content": "Everyone wears a helmet.", "session_id": "s1", "group": "blue"})).await;
    let shared = ann.ok("memory_observe", json!({"event": "session_ended", "session_id": "s1", "group": "blue"})).await;
    assert_eq!(read(&bo, made(&shared).expect("a summary")).await["content"], "Everyone wears a helmet.");
}

#[tokio::test]
async fn a_session_without_memories_is_summed_up_from_what_was_said() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    for text in ["Please order two new ropes.", "The red one is worn."] {
        ann.ok("memory_observe", json!({"event": "user_message", "session_id": "s9", "text": text})).await;
    }
    let ended = ann.ok("memory_observe", json!({"event": "session_ended", "session_id": "s9"})).await;
    let id = made(&ended).expect("a summary");
    assert_eq!(read(&ann, id).await["content"], "Please order two new ropes.\nThe red one is worn.");
    assert_eq!(trace(&ann, id).await["events"].as_array().map(Vec::len), Some(3));
    let empty = ann.ok("memory_observe", json!({"event": "session_ended", "session_id": "nothing"})).await;
    assert_eq!(empty["memories"], json!([]), "nothing to sum up is no memory");
}

#[tokio::test]
async fn deleting_a_memory_takes_its_raw_event_and_the_summaries_that_quote_it() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let observed = ann
        .ok(
            "memory_observe",
            json!({"event": "task_failed", "session_id": "s1", "text": "The code of the safe is 4711."}),
        )
        .await;
    let id = made(&observed).expect("a warning").to_owned();
    let again = json!({"event": "task_failed", "session_id": "s1", "text": "The code of the safe is 4711."});
    assert_eq!(made(&ann.ok("memory_observe", again).await), Some(&*id), "the same words are the same memory");
    let other = session(&ann, "s1", &["The safe was opened."]).await;
    let ended = ann.ok("memory_observe", json!({"event": "session_ended", "session_id": "s1"})).await;
    ann.ok("memory_forget", json!({"ids": [id]})).await;
    assert!(ann.failed("memory_get", json!({"ids": [made(&ended)]})).await.starts_with("NOT_FOUND"));
    read(&ann, &other[0]).await;
    let all = Visibility::system("a test looks at everything");
    let events = app.parts.graph.events_of_session("s1", 10, &all).await.expect("read");
    assert!(events.iter().all(|event| !event.text.contains("4711")), "{events:?}");
    let recalled = ann.ok("memory_recall", json!({"query": "code of the safe 4711", "include_superseded": true})).await;
    assert!(!recalled["items"].to_string().contains("4711"), "{recalled}");
}

#[tokio::test]
async fn a_vote_moves_confidence_and_a_second_takes_its_place() {
    let app = App::start().await;
    let (ann, bo) = (app.client("ann", &["blue"], &[]).await, app.client("bo", &["blue"], &[]).await);
    let id = ann.store(json!({"content": "The tide turns at six.", "group": "blue"})).await;
    let vote = async |client: &Client, useful: bool| {
        let reply = client.ok("memory_feedback", json!({"id": id, "useful": useful, "note": "seen"})).await;
        let share = |field: &str| (reply[field].as_f64().expect("a number") * 100.0).round() / 100.0;
        (share("confidence_before"), share("confidence_after"), reply["useful"].clone(), reply["not_useful"].clone())
    };
    assert_eq!(vote(&ann, true).await, (0.8, 0.84, json!(1), json!(0)));
    assert_eq!(vote(&ann, true).await, (0.84, 0.84, json!(1), json!(0)), "the same vote again changes nothing");
    assert_eq!(vote(&ann, false).await, (0.84, 0.64, json!(0), json!(1)));
    assert_eq!(vote(&bo, false).await, (0.64, 0.53, json!(0), json!(2)));
    let memory = read(&ann, &id).await;
    assert_eq!((&memory["not_useful"], &memory["revision"]), (&json!(2), &json!(1)), "a vote is no edit");
    let updated = ann.ok("memory_update", json!({"id": id, "expected_revision": 1, "tags": "sea"})).await;
    assert_eq!((&updated["not_useful"], &updated["revision"]), (&json!(2), &json!(2)));
    assert!(ann.failed("memory_feedback", json!({"id": id})).await.starts_with("BAD_USER_INPUT: useful"));
}

#[tokio::test]
async fn a_summary_quotes_its_sources() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let store = async |content: &str, day: &str, session: &str| {
        ann.store(json!({"content": content, "occurred_at": day, "session_id": session})).await
    };
    let march = store("The mast cracked in the storm.", "2026-03-01", "spring").await;
    let april = store("A new mast was ordered from the yard.", "2026-04-01", "spring").await;
    let may = store("Tea was served on deck.", "2026-05-01", "summer").await;
    for (request, expected) in [
        (json!({}), vec![&march, &april, &may]),
        (json!({"since": "2026-03-15"}), vec![&april, &may]),
        (json!({"until": "2026-04-01"}), vec![&march]),
        (json!({"session_id": "spring"}), vec![&march, &april]),
        (json!({"topic": "mast"}), vec![&march, &april]),
        (json!({"topic": "mast", "since": "2026-03-15"}), vec![&april]),
        (json!({"session_id": "winter"}), vec![]),
    ] {
        let reply = ann.ok("memory_summarize", request.clone()).await;
        let ids: Vec<&str> =
            reply["sources"].as_array().expect("sources").iter().filter_map(|it| it["id"].as_str()).collect();
        assert_eq!(ids, expected, "{request}: {reply}");
        let summary = reply["summary"].as_str().expect("a text");
        assert_eq!(summary.lines().count(), expected.len(), "{request}: {summary}");
        assert_eq!(reply["truncated"], false);
    }
    for number in 0..60 {
        store(&format!("Barrel {number} was rolled ashore and counted twice by the mate."), "2026-06-01", "load").await;
    }
    let reply = ann.ok("memory_summarize", json!({"session_id": "load"})).await;
    assert!(reply["summary"].as_str().is_some_and(|text| text.chars().count() <= 2000), "{reply}");
    assert_eq!(reply["considered"], 60);
}

#[tokio::test]
async fn an_explanation_says_where_a_memory_stands_and_what_keeps_it_back() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let query = "when does the Harbour Gate open";
    let cause = ann.store(json!({"content": "The Harbour Gate opens at nine.", "title": "Harbour Gate"})).await;
    let effect = ann.store(json!({"content": "Fish is sold from ten on.", "caused_by": [cause]})).await;
    let old = ann.store(json!({"content": "The Harbour Gate opens at eight."})).await;
    ann.store(json!({"content": "The Harbour Gate opens at half past nine.", "supersedes": [old]})).await;
    let archived = ann.store(json!({"content": "The Harbour Gate is green."})).await;
    ann.ok("memory_forget", json!({"ids": [archived], "strategy": "archive"})).await;
    let past = ann.store(json!({"content": "The Harbour Gate was closed in May.", "valid_to": "2026-06-01"})).await;
    let explain = async |id: &str| ann.ok("memory_explain", json!({"id": id, "query": query})).await;
    let arm = |reply: &Value, name: &str| {
        reply["arms"].as_array().expect("arms").iter().find(|arm| arm["arm"] == name).expect("named").clone()
    };

    let best = explain(&cause).await;
    let recalled = ann.ok("memory_recall", json!({"query": query, "limit": 20})).await;
    let items = recalled["items"].as_array().expect("items");
    let place = items.iter().position(|item| item["id"] == *cause).expect("recalled");
    assert_eq!(best["rank"], json!(place + 1), "the place it has in the answer");
    assert_eq!(best["score"], items[place]["score"]);
    assert_eq!(best["failed"], json!([]));
    assert!(arm(&best, "keyword")["found"] == true && arm(&best, "semantic")["rank"].is_number(), "{best}");
    assert_eq!(arm(&best, "named")["found"], true);

    let reached = explain(&effect).await;
    assert_eq!((&arm(&reached, "keyword")["found"], &arm(&reached, "graph")["found"]), (&json!(false), &json!(true)));
    assert_eq!((&reached["path"][0]["from"], &reached["path"][0]["edge"]), (&json!(cause), &json!("CAUSES")));
    assert!(reached["associative_rank"].is_number() && reached["why"]["activation"].is_number(), "{reached}");

    for (id, filter, word) in [(&old, "status", "superseded"), (&archived, "status", "archived")] {
        let kept_back = explain(id).await;
        assert_eq!((kept_back.get("rank"), &kept_back["failed"][0]["filter"]), (None, &json!(filter)));
        assert!(
            kept_back["failed"][0]["reason"].as_str().is_some_and(|reason| reason.starts_with(word)),
            "{kept_back}"
        );
        assert!(kept_back["why"]["coverage"].as_f64().is_some_and(|coverage| coverage > 0.0), "weighed all the same");
    }
    let then = ann.ok("memory_explain", json!({"id": past, "query": query, "as_of": "2026-07-01"})).await;
    assert_eq!(then["failed"][0]["filter"], "valid");
    let now = ann.ok("memory_explain", json!({"id": past, "query": query, "as_of": "2026-05-01"})).await;
    assert_eq!(now["failed"], json!([]));
    assert!(ann.failed("memory_explain", json!({"id": "x", "query": query})).await.starts_with("BAD_USER_INPUT: id"));
}

#[tokio::test]
async fn a_link_is_followed_and_an_update_keeps_history() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let fuse = ann.store(json!({"content": "The fuse blew."})).await;
    let dark = ann.store(json!({"content": "Nobody could read the charts."})).await;
    let link = json!({"from": fuse, "to": dark, "edge": "CAUSES", "reason": "no light"});
    let first = ann.ok("memory_link", link.clone()).await;
    assert_eq!((&first["from"], &first["to"], &first["edge"]), (&json!(fuse), &json!(dark), &json!("CAUSES")));
    let before = app.counts().await.edges;
    ann.ok("memory_link", link).await;
    assert_eq!(app.counts().await.edges, before, "the same link again changes nothing");
    let reached = ann.ok("memory_associate", json!({"ids": [fuse], "edges": ["CAUSES"]})).await;
    assert_eq!(reached["items"][0]["id"], json!(dark));
    let changed = ann
        .ok(
            "memory_update",
            json!({"id": fuse, "expected_revision": 1, "content": "The main fuse blew.", "importance": 0.9}),
        )
        .await;
    assert_eq!((&changed["content"], &changed["revision"]), (&json!("The main fuse blew."), &json!(2)));
    let stale = ann.failed("memory_update", json!({"id": fuse, "expected_revision": 1, "tags": "x"})).await;
    assert!(stale.starts_with("CONFLICT: expected_revision"), "{stale}");
    let states = trace(&ann, &fuse).await["states"].clone();
    let texts: Vec<&Value> =
        states.as_array().expect("states").iter().map(|state| &state["memory"]["content"]).collect();
    assert_eq!(texts, ["The fuse blew.", "The main fuse blew."]);
    assert!(states[0]["to"].is_string() && states[1].get("to").is_none(), "{states}");
}

#[tokio::test]
async fn a_reader_without_the_right_to_write_changes_nothing() {
    let app = App::start().await;
    let ann = app.client("ann", &["blue"], &[]).await;
    let id = ann.store(json!({"content": "The tide turns at six.", "group": "blue"})).await;
    let reader = app.reader("rob", &["blue"]).await;
    for (tool, request) in [
        ("memory_update", json!({"id": id, "tags": "x"})),
        ("memory_feedback", json!({"id": id, "useful": false})),
        ("memory_link", json!({"from": id, "to": id, "edge": "CAUSES"})),
        ("memory_observe", json!({"event": "task_started"})),
    ] {
        let refused = reader.failed(tool, request).await;
        assert!(refused.starts_with("FORBIDDEN: The token lacks the right memory:write"), "{tool}: {refused}");
    }
    let explained = reader.ok("memory_explain", json!({"id": id, "query": "tide"})).await;
    assert_eq!(explained["rank"], 1);
}
