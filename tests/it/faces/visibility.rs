//! Three callers over everything: nothing of another's comes out, by any tool, mode, hop or count.

use std::collections::{BTreeMap, BTreeSet};

use recollect::{auth, domain::Right};
use serde_json::{Value, json};

use crate::{
    support::app::{App, Client},
    wiki_visibility,
};

const MODES: [&str; 5] = ["hybrid", "semantic", "keyword", "recent", "associative"];
const NOBODY: &str = "01940000-0000-7000-8000-000000000000";

/// A stored memory and who may see it.
struct Stored {
    owner: &'static str,
    scope: &'static str,
    id: String,
    /// A word that is only in this memory; also the label of a concept of its own.
    mark: String,
}

struct World {
    app: App,
    clients: BTreeMap<&'static str, Client>,
    stored: Vec<Stored>,
}

fn sees(viewer: &str, stored: &Stored) -> bool {
    match stored.scope {
        "private" => viewer == stored.owner,
        "shared" => viewer != "carol",
        _ => true,
    }
}

/// All memories name the same subject, session and task, and are linked as causes, so that every way through the graph
/// leads from each to the others.
async fn world() -> World {
    let app = App::start().await;
    let mut clients = BTreeMap::new();
    for (name, groups) in [("alice", &["blue"][..]), ("bob", &["blue"]), ("carol", &[])] {
        clients.insert(name, app.client(name, groups, &[Right::MemoryGlobal]).await);
    }
    let mut stored: Vec<Stored> = Vec::new();
    for scope in ["global", "shared", "private"] {
        for owner in ["alice", "bob", "carol"] {
            if scope == "shared" && owner == "carol" {
                continue;
            }
            let mark = format!("mark_{owner}_{scope}");
            let before: Vec<&str> =
                stored.iter().filter(|earlier| sees(owner, earlier)).map(|earlier| earlier.id.as_str()).collect();
            let mut request = json!({
                "content": format!("The Harbour Gate was shut because of `{mark}`."),
                "title": "Harbour Gate", "session_id": "s1", "task_id": "t1", "tags": [mark], "scope": scope,
                "external_id": mark, "caused_by": before,
            });
            if scope == "shared" {
                request["group"] = "blue".into();
            }
            let id = clients[owner].store(request).await;
            let mut event = json!({"event": "user_message", "text": format!("about {mark}"), "scope": scope,
                "session_id": format!("own_{mark}")});
            if scope == "shared" {
                event["group"] = "blue".into();
            }
            clients[owner].ok("memory_observe", event).await;
            stored.push(Stored { owner, scope, id, mark });
        }
    }
    World { app, clients, stored }
}

impl World {
    /// Fails if `answer` has anything of a memory that `viewer` may not see.
    fn assert_clean(&self, viewer: &str, asked: &str, answer: &Value) {
        let mut answer = answer.clone();
        // The caller's own words.
        answer.as_object_mut().expect("an object").remove("understood");
        let text = answer.to_string();
        for hidden in self.stored.iter().filter(|stored| !sees(viewer, stored)) {
            for part in [&hidden.id, &hidden.mark] {
                assert!(!text.contains(part.as_str()), "{viewer} saw {part} through {asked}: {text}");
            }
        }
    }
}

/// Each tool that only reads, asked as widely as it can be; `$id` is a memory, `$mark` a word that it alone has.
const TOOLS: &[(&str, &str)] = &[
    ("memory_associate", r#"{"query": "$mark", "depth": 4, "limit": 100}"#),
    ("memory_associate", r#"{"ids": ["$id"], "depth": 4, "limit": 100}"#),
    ("memory_associate", r#"{"ids": ["$id"], "depth": 4, "known_at": "2027-01-01"}"#),
    ("memory_explain", r#"{"id": "$id", "query": "Harbour Gate"}"#),
    ("memory_explain", r#"{"id": "$id", "query": "Harbour Gate", "known_at": "2027-01-01"}"#),
    ("memory_get", r#"{"ids": ["$id"]}"#),
    ("memory_get", r#"{"ids": ["$id"], "known_at": "2027-01-01"}"#),
    ("memory_recall", r#"{"query": "$mark", "mode": "associative", "limit": 100, "include_superseded": true}"#),
    ("memory_recall", r#"{"query": "Harbour Gate", "format": "prompt", "limit": 100}"#),
    ("memory_recall", r#"{"query": "Harbour Gate", "known_at": "2027-01-01", "limit": 100}"#),
    ("memory_recall", r#"{"query": "", "mode": "recent", "tags": ["$mark"]}"#),
    ("memory_summarize", r#"{"topic": "$mark"}"#),
    ("memory_summarize", r#"{"session_id": "s1"}"#),
    ("memory_summarize", r#"{"session_id": "own_$mark"}"#),
];
/// Each resource, likewise.
const RESOURCES: &[(&str, &str)] = &[
    ("memory://{id}", "memory://$id"),
    ("memory://{id}/trace", "memory://$id/trace"),
    ("concept://{id}", "concept://$mark"),
    ("session://{id}/brief", "session://s1/brief"),
    ("session://{id}/brief", "session://own_$mark/brief"),
];
/// Each prompt; its argument is given back with it, so no mark is asked for.
const PROMPTS: &[(&str, &str)] =
    &[("distil_session", r#"{"session_id": "s1"}"#), ("recall_brief", r#"{"task": "shut the Harbour Gate"}"#)];
/// What can be completed.
const COMPLETED: &[(&str, &str)] = &[
    (r#"{"type": "ref/resource", "uri": "memory://{id}"}"#, "id"),
    (r#"{"type": "ref/resource", "uri": "memory://{id}/trace"}"#, "id"),
    (r#"{"type": "ref/resource", "uri": "concept://{id}"}"#, "id"),
    (r#"{"type": "ref/resource", "uri": "session://{id}/brief"}"#, "id"),
    (r#"{"type": "ref/prompt", "name": "distil_session"}"#, "session_id"),
    (r#"{"type": "ref/prompt", "name": "recall_brief"}"#, "task"),
];

/// Names in a list of the protocol.
async fn names(client: &Client, method: &str, list: &str, name: &str) -> BTreeSet<String> {
    let listed = client.rpc(method, json!({})).await["result"][list].clone();
    let listed = listed.as_array().unwrap_or_else(|| panic!("{method}")).iter();
    let read = listed.filter(|item| item["annotations"]["readOnlyHint"] != false);
    read.map(|item| item[name].as_str().expect("a name").to_owned()).collect()
}

/// A tool, resource or prompt that comes to be without a row above fails.
#[tokio::test]
async fn every_read_of_the_protocol_shows_nothing_of_others() {
    let world = world().await;
    let alice = &world.clients["alice"];
    let rows = |table: &[(&str, &str)], of_pages: &[(&str, &str)]| {
        table.iter().chain(of_pages).map(|(name, _)| (*name).to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!(names(alice, "tools/list", "tools", "name").await, rows(TOOLS, wiki_visibility::TOOLS));
    let templates = names(alice, "resources/templates/list", "resourceTemplates", "uriTemplate").await;
    assert_eq!(templates, rows(RESOURCES, wiki_visibility::RESOURCES));
    let prompts = names(alice, "prompts/list", "prompts", "name").await;
    assert_eq!(prompts, rows(PROMPTS, wiki_visibility::PROMPTS));
    let completed: BTreeSet<String> = COMPLETED
        .iter()
        .chain(wiki_visibility::COMPLETED)
        .map(|(of, _)| serde_json::from_str::<Value>(of).expect("JSON"))
        .map(|of| [&of["uri"], &of["name"]].into_iter().find_map(Value::as_str).expect("a name").to_owned())
        .collect();
    assert_eq!(completed, templates.union(&prompts).cloned().collect());

    for (viewer, client) in &world.clients {
        for asked in &world.stored {
            let filled = |text: &str, id: &str, mark: &str| text.replace("$id", id).replace("$mark", mark);
            for (tool, arguments) in TOOLS {
                let call = async |id: &str, mark: &str| {
                    let arguments: Value = serde_json::from_str(&filled(arguments, id, mark)).expect("JSON");
                    client.call(tool, arguments).await
                };
                let answer = call(&asked.id, &asked.mark).await;
                let told = if answer["isError"] == true { &answer } else { &answer["structuredContent"] };
                world.assert_clean(viewer, &format!("{tool} {arguments}"), told);
                // What is echoed or measured differs; an error must not.
                if !sees(viewer, asked) && answer["isError"] == true {
                    assert_eq!(answer.to_string(), call(NOBODY, "mark_nobody").await.to_string(), "{viewer} {tool}");
                }
                if sees(viewer, asked) {
                    assert_ne!(answer["isError"], true, "{viewer} {tool} {arguments}: {answer}");
                }
            }
            for (_, uri) in RESOURCES {
                let read = async |id: &str, mark: &str| {
                    let uri = filled(uri, id, mark);
                    let mut answer = client.rpc("resources/read", json!({"uri": uri})).await.to_string();
                    if answer.contains("\"error\"") {
                        // The address is given back.
                        answer = answer.replace(&uri, "");
                    }
                    serde_json::from_str::<Value>(&answer).expect("JSON")
                };
                let answer = read(&asked.id, &asked.mark).await;
                world.assert_clean(viewer, uri, &answer);
                if !sees(viewer, asked) && uri.contains('$') {
                    assert_eq!(answer.to_string(), read(NOBODY, "mark_nobody").await.to_string(), "{viewer} {uri}");
                }
            }
            for (of, name) in COMPLETED {
                let of: Value = serde_json::from_str(of).expect("JSON");
                for value in ["", &asked.id[..8], &format!("own_{}", asked.mark)] {
                    let params = json!({"ref": of, "argument": {"name": name, "value": value}});
                    let answer = client.rpc("completion/complete", params).await;
                    assert!(answer["result"].is_object(), "{viewer} {of}: {answer}");
                    world.assert_clean(viewer, &format!("completion of {of}"), &answer);
                }
            }
        }
        for (name, arguments) in PROMPTS {
            let arguments: Value = serde_json::from_str(arguments).expect("JSON");
            let answer = client.rpc("prompts/get", json!({"name": name, "arguments": arguments})).await;
            assert!(answer["result"].is_object(), "{viewer} {name}: {answer}");
            world.assert_clean(viewer, name, &answer);
        }
        world.assert_clean(viewer, "resources/list", &client.rpc("resources/list", json!({})).await);
    }
}

/// What another stored is new to who cannot see it, and is linked to nothing that it cannot see.
#[tokio::test]
async fn the_same_words_in_another_scope_are_another_memory() {
    let world = world().await;
    let carol = &world.clients["carol"];
    for hidden in world.stored.iter().filter(|stored| !sees("carol", stored)) {
        let request = json!({"content": format!("The Harbour Gate was shut because of `{}`.", hidden.mark),
            "title": "Harbour Gate", "external_id": hidden.mark, "session_id": format!("own_{}", hidden.mark)});
        let stored = carol.ok("memory_store", request).await;
        assert!(["stored", "supplemented"].contains(&stored["outcome"].as_str().expect("an outcome")), "{stored}");
        let others: Vec<&Stored> = world.stored.iter().filter(|other| !sees("carol", other)).collect();
        assert!(others.iter().all(|other| !stored.to_string().contains(&other.id)), "{stored}");
    }
}

#[tokio::test]
async fn recall_shows_nothing_of_others_in_any_mode() {
    let world = world().await;
    for (viewer, client) in &world.clients {
        for mode in MODES {
            let mut queries = vec!["Harbour Gate".to_owned(), "why was it shut".to_owned()];
            queries.extend(world.stored.iter().map(|stored| stored.mark.clone()));
            for query in queries {
                let request = json!({"query": query, "mode": mode, "limit": 100, "include_superseded": true});
                let answer = client.ok("memory_recall", request.clone()).await;
                world.assert_clean(viewer, &request.to_string(), &answer);
                let visible = world.stored.iter().filter(|stored| sees(viewer, stored)).count();
                assert!(answer["items"].as_array().expect("items").len() <= visible);
            }
            for field in ["session_id", "task_id"] {
                let name = if field == "session_id" { "s1" } else { "t1" };
                let answer =
                    client.ok("memory_recall", json!({"query": "gate", "mode": mode, field: name, "limit": 100})).await;
                world.assert_clean(viewer, field, &answer);
            }
        }
        // What it may see is found, or the test would prove nothing.
        for stored in &world.stored {
            let answer =
                client.ok("memory_recall", json!({"query": stored.mark, "mode": "keyword", "limit": 100})).await;
            let found = answer["items"].as_array().expect("items").iter().any(|item| item["id"] == *stored.id);
            assert_eq!(found, sees(viewer, stored), "{viewer}, {}", stored.mark);
            let answer =
                client.ok("memory_recall", json!({"query": "gate", "tags": [stored.mark], "limit": 100})).await;
            assert_eq!(
                answer["items"].as_array().expect("items").is_empty(),
                !sees(viewer, stored),
                "{viewer}, {}",
                stored.mark
            );
        }
    }
}

#[tokio::test]
async fn associate_walks_through_nothing_of_others() {
    let world = world().await;
    for (viewer, client) in &world.clients {
        for query in world.stored.iter().map(|stored| stored.mark.as_str()).chain(["Harbour Gate"]) {
            for depth in [1, 4] {
                let request = json!({"query": query, "depth": depth, "limit": 100});
                let answer = client.ok("memory_associate", request.clone()).await;
                world.assert_clean(viewer, &request.to_string(), &answer);
            }
        }
        for start in world.stored.iter().filter(|stored| sees(viewer, stored)) {
            for direction in ["out", "in", "both"] {
                let request = json!({"ids": [start.id], "depth": 4, "limit": 100, "direction": direction});
                let answer = client.ok("memory_associate", request.clone()).await;
                world.assert_clean(viewer, &request.to_string(), &answer);
            }
            let reached = client.ok("memory_associate", json!({"ids": [start.id], "depth": 4, "limit": 100})).await;
            let visible = world.stored.iter().filter(|stored| sees(viewer, stored)).count();
            assert_eq!(reached["items"].as_array().expect("items").len(), visible - 1, "{viewer} from {}", start.mark);
        }
    }
}

#[tokio::test]
async fn summaries_explanations_and_resources_show_nothing_of_others() {
    let world = world().await;
    for (viewer, client) in &world.clients {
        for request in [json!({}), json!({"session_id": "s1"}), json!({"topic": "why was the Harbour Gate shut"})] {
            let answer = client.ok("memory_summarize", request.clone()).await;
            world.assert_clean(viewer, &request.to_string(), &answer);
            let visible = world.stored.iter().filter(|stored| sees(viewer, stored)).count();
            assert_eq!(answer["considered"], json!(visible), "{viewer}: {request}");
        }
        let ended = client.ok("memory_observe", json!({"event": "session_ended", "session_id": "s1"})).await;
        let summary = client.ok("memory_get", json!({"ids": [ended["memories"][0]["id"]]})).await;
        world.assert_clean(viewer, "session_ended", &summary);
        let mut uris = vec!["session://s1/brief".to_owned()];
        for stored in world.stored.iter().filter(|stored| sees(viewer, stored)) {
            let request = json!({"id": stored.id, "query": "Harbour Gate"});
            world.assert_clean(viewer, "explain", &client.ok("memory_explain", request).await);
            uris.push(format!("memory://{}", stored.id));
            uris.push(format!("memory://{}/trace", stored.id));
        }
        for uri in uris {
            let answer = client.rpc("resources/read", json!({"uri": uri})).await;
            assert!(answer["result"].is_object(), "{viewer}, {uri}: {answer}");
            world.assert_clean(viewer, &uri, &answer);
        }
        world.assert_clean(viewer, "resources/list", &client.rpc("resources/list", json!({})).await);
    }
}

#[tokio::test]
async fn ids_of_others_are_answered_as_unknown_ones_byte_for_byte() {
    let world = world().await;
    let before = world.app.counts().await;
    for (viewer, client) in &world.clients {
        let mine = format!("mark_{viewer}_private");
        let own = &world.stored.iter().find(|stored| stored.mark == mine).expect("stored").id;
        for stored in &world.stored {
            for (tool, request) in [
                ("memory_get", json!({"ids": [stored.id]})),
                ("memory_associate", json!({"ids": [stored.id]})),
                ("memory_forget", json!({"ids": [stored.id]})),
                ("memory_update", json!({"id": stored.id, "tags": ["x"]})),
                ("memory_feedback", json!({"id": stored.id, "useful": false})),
                ("memory_link", json!({"from": stored.id, "to": own, "edge": "CAUSES"})),
                ("memory_link", json!({"from": own, "to": stored.id, "edge": "CAUSES"})),
                ("memory_explain", json!({"id": stored.id, "query": "Harbour Gate"})),
                ("memory_get", json!({"ids": [stored.id], "known_at": "2027-01-01"})),
                ("memory_associate", json!({"ids": [stored.id], "known_at": "2027-01-01"})),
                ("memory_forget", json!({"ids": [stored.id], "strategy": "archive"})),
                ("memory_store", json!({"content": "x", "causes": [stored.id]})),
                ("memory_store", json!({"content": "x", "caused_by": [stored.id]})),
                ("memory_store", json!({"content": "x", "supersedes": [stored.id]})),
            ] {
                if sees(viewer, stored) {
                    continue;
                }
                let unknown: Value =
                    serde_json::from_str(&request.to_string().replace(&stored.id, NOBODY)).expect("JSON");
                let (hidden, unknown) = (client.call(tool, request).await, client.call(tool, unknown).await);
                assert_eq!(hidden.to_string(), unknown.to_string(), "{viewer}, {tool}, {}", stored.mark);
                assert!(
                    hidden["content"][0]["text"].as_str().is_some_and(|text| text.starts_with("NOT_FOUND: ")),
                    "{hidden}"
                );
            }
            let read = client.call("memory_get", json!({"ids": [stored.id]})).await;
            assert_eq!(read["isError"] != true, sees(viewer, stored), "{viewer}, {}", stored.mark);
        }
    }
    assert_eq!(world.app.counts().await, before);
}

#[tokio::test]
async fn what_everyone_reads_is_forgotten_only_with_the_right_to_write_there() {
    let world = world().await;
    let of_alice = world.stored.iter().find(|stored| stored.mark == "mark_alice_global").expect("stored");
    let dave = world.app.client("dave", &[], &[]).await;
    let refused = dave.failed("memory_forget", json!({"ids": [of_alice.id]})).await;
    assert!(refused.starts_with("FORBIDDEN: The token lacks the right memory:global."), "{refused}");
    dave.ok("memory_get", json!({"ids": [of_alice.id]})).await;
    assert_eq!(world.clients["alice"].ok("memory_forget", json!({"ids": [of_alice.id]})).await["forgotten"], 1);
}

#[tokio::test]
async fn counts_are_of_what_the_caller_sees() {
    let world = world().await;
    for (viewer, client) in &world.clients {
        let caller =
            auth::authenticate(world.app.service.tokens(), &client.token).await.expect("answered").expect("known");
        let status = world.app.service.status(&caller).await.expect("counted");
        let visible = world.stored.iter().filter(|stored| sees(viewer, stored)).count();
        assert_eq!(usize::try_from(status.memories).expect("fits"), visible, "{viewer}");
        // One concept for the shared subject, one for the mark of each.
        assert_eq!(usize::try_from(status.concepts).expect("fits"), visible + 1, "{viewer}");
    }
}

/// Equal but for scores, which may move a little: the rarity of a word is counted over all scopes (README, limits).
fn assert_alike(one: &Value, other: &Value) {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().expect("a number"), b.as_f64().expect("a number"));
            assert!((a - b).abs() < 0.1, "{a} and {b}");
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{one} and {other}");
            a.iter().zip(b).for_each(|(a, b)| assert_alike(a, b));
        }
        (Value::Object(a), Value::Object(b)) => {
            assert!(a.keys().eq(b.keys()), "{one} and {other}");
            a.values().zip(b.values()).for_each(|(a, b)| assert_alike(a, b));
        }
        _ => assert_eq!(one, other),
    }
}

/// The strongest form: to carol, a world in which others store privately is the same world.
#[tokio::test]
async fn what_others_store_privately_changes_no_answer() {
    let app = App::start().await;
    let carol = app.client("carol", &[], &[]).await;
    let alice = app.client("alice", &["blue"], &[]).await;
    let first = carol
        .store(json!({"content": "The Harbour Gate opens at nine.", "title": "Harbour Gate", "session_id": "s1"}))
        .await;
    carol.store(json!({"content": "Mia keeps the key of the Harbour Gate.", "session_id": "s1"})).await;
    carol.store(json!({"content": "The lighthouse was painted in May.", "session_id": "s1"})).await;
    let answers = async || {
        let mut answers = Vec::new();
        for mode in MODES {
            answers.push(
                carol
                    .ok("memory_recall", json!({"query": "Who keeps the key of the Harbour Gate?", "mode": mode}))
                    .await,
            );
        }
        answers.push(carol.ok("memory_associate", json!({"query": "Harbour Gate", "depth": 4})).await);
        answers.push(carol.ok("memory_associate", json!({"ids": [first], "depth": 4})).await);
        for answer in &mut answers {
            answer.as_object_mut().expect("an object").remove("took_ms");
        }
        answers
    };
    let before = answers().await;
    for number in 0..30 {
        let content = format!("Mia lost the key of the Harbour Gate {number} times.");
        alice.store(json!({"content": content, "title": "Harbour Gate", "session_id": "s1"})).await;
        alice.store(json!({"content": format!("shared {content}"), "group": "blue", "session_id": "s1"})).await;
    }
    for (before, after) in before.into_iter().zip(answers().await) {
        assert_alike(&before, &after);
    }
}
