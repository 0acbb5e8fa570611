//! Three callers, three scopes, every read of the schema: nothing of another's comes out. A field that is added to `Query`
//! without a row here fails.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use recollect::domain::Right;
use serde_json::{Value, json};

use super::{ask, data};
use crate::support::app::{App, Client};

/// Each read, asked as widely as it can be. `$id` and `$ids` are the global ids of a memory and of all, `$mark` is a word
/// that one memory alone has and that is a concept of its own.
const READS: &[(&str, &str)] = &[
    ("explain", "explain(input: {id: $id, query: \"Harbour Gate\"}) { id path { from to label } memory { content } }"),
    (
        "associate",
        "associate(input: {query: $mark, depth: 4, limit: 100}) { seeds { id memory { content } }
        items { id content summary tags path { from to label } } subgraph { nodes { id label } edges { from to } } }",
    ),
    (
        "associate",
        "associate(input: {ids: [$id], depth: 4, limit: 100}) { items { id content } subgraph { nodes { id label } } }",
    ),
    ("concept", "concept(label: $mark) { id label uses memories { totalCount nodes { id content } } }"),
    (
        "concept",
        "concept(label: \"Harbour Gate\") { uses about memories(first: 100) { totalCount nodes { id content tags } } }",
    ),
    ("concepts", "concepts(first: 100) { nodes { id label uses about memories(first: 10) { nodes { id content } } } }"),
    ("concepts", "concepts(search: $mark) { nodes { id label } }"),
    ("events", "events(first: 100) { nodes { id text memories { id content } } }"),
    ("events", "events(session: \"s1\") { nodes { id text } }"),
    (
        "memories",
        "memories(first: 100) { totalCount nodes { id content tags session { memoryCount firstAt lastAt } edges { fromId toId } } }",
    ),
    ("memories", "memories(filter: {tags: [$mark]}) { totalCount nodes { id } }"),
    ("memories", "memories(filter: {sessionId: \"s1\", taskId: \"t1\"}, first: 100) { totalCount nodes { id } }"),
    ("memory", "memory(id: $id) { id content edges(first: 100) { from { id } to { id ... on Concept { label } } } }"),
    ("memory", "memory(id: $id, knownAt: \"2027-01-01\") { id content }"),
    ("node", "node(id: $id) { id ... on Memory { content } }"),
    ("nodes", "nodes(ids: $ids) { id ... on Memory { content tags } }"),
    ("promptBlock", "promptBlock(input: {query: $mark, limit: 100, includeSuperseded: true}) { prompt }"),
    (
        "recall",
        "recall(input: {query: $mark, mode: ASSOCIATIVE, limit: 100, includeSuperseded: true}) { items { id content why { path { from to label } } } constraints { id content } }",
    ),
    (
        "recall",
        "recall(input: {query: \"Harbour Gate\", mode: RECENT, limit: 100}) { items { id content memory { id } } }",
    ),
    (
        "session",
        "session(id: \"s1\") { memoryCount firstAt lastAt memories(first: 100) { totalCount nodes { id content } } events { nodes { text } } }",
    ),
    ("status", "status { memories edges concepts }"),
    ("task", "task(id: \"t1\") { memoryCount memories(first: 100) { totalCount nodes { id content } } }"),
];

/// Reads that show nothing of memories, or nothing at all without the right ADMIN.
const OTHERS: &[&str] = &["auditLog", "me", "tokens"];

struct Stored {
    owner: &'static str,
    scope: &'static str,
    id: String,
    mark: String,
}

fn sees(viewer: &str, stored: &Stored) -> bool {
    match stored.scope {
        "private" => viewer == stored.owner,
        "shared" => viewer != "carol",
        _ => true,
    }
}

async fn world(app: &App) -> (BTreeMap<&'static str, Client>, Vec<Stored>) {
    let mut clients = BTreeMap::new();
    for (name, groups) in [("alice", &["blue"][..]), ("bob", &["blue"]), ("carol", &[])] {
        clients.insert(name, app.client(name, groups, &[Right::MemoryGlobal]).await);
    }
    let mut stored: Vec<Stored> = Vec::new();
    for (number, (scope, owner)) in ["global", "shared", "private"]
        .into_iter()
        .flat_map(|scope| ["alice", "bob", "carol"].map(|owner| (scope, owner)))
        .filter(|pair| *pair != ("shared", "carol"))
        .enumerate()
    {
        let mark = format!("mark_{owner}_{scope}");
        let before: Vec<&str> =
            stored.iter().filter(|earlier| sees(owner, earlier)).map(|earlier| earlier.id.as_str()).collect();
        let mut request = json!({"content": format!("The Harbour Gate was shut because of `{mark}`."),
            "title": "Harbour Gate", "session_id": "s1", "task_id": "t1", "tags": [mark], "scope": scope,
            "caused_by": before, "occurred_at": format!("2026-0{}-01", number + 1)});
        if scope == "shared" {
            request["group"] = "blue".into();
        }
        let id = clients[owner].store(request).await;
        stored.push(Stored { owner, scope, id, mark });
    }
    (clients, stored)
}

#[tokio::test]
async fn no_read_shows_anything_of_anothers_to_any_caller() {
    let app = App::start().await;
    let (clients, stored) = world(&app).await;
    let named: BTreeSet<&str> = READS.iter().map(|(field, _)| *field).chain(OTHERS.iter().copied()).collect();
    let fields = data(&clients["alice"], "{ __schema { queryType { fields { name } } } }", json!({})).await;
    let fields = fields["__schema"]["queryType"]["fields"].as_array().expect("fields").clone();
    let served: BTreeSet<&str> = fields.iter().map(|field| field["name"].as_str().expect("a name")).collect();
    assert_eq!(served, named, "each read has its rows, and each row its read");

    let global = |id: &str| STANDARD.encode(format!("Memory:{id}"));
    let ids: Vec<String> = stored.iter().map(|stored| global(&stored.id)).collect();
    for (viewer, client) in &clients {
        let visible: Vec<&Stored> = stored.iter().filter(|stored| sees(viewer, stored)).collect();
        for (field, read) in READS {
            for asked in &stored {
                let variables = json!({"id": global(&asked.id), "ids": ids, "mark": asked.mark});
                let mut declared = vec!["$unused: Int"];
                for (name, kind) in [
                    ("$ids", "$ids: [ID!]!"),
                    ("$mark", "$mark: String!"),
                    ("$id)", "$id: ID!"),
                    ("id: $id,", "$id: ID!"),
                    ("[$id]", "$id: ID!"),
                ] {
                    if read.contains(name) && !declared.contains(&kind) {
                        declared.push(kind);
                    }
                }
                let declared = declared[1..].join(", ");
                let query = if declared.is_empty() {
                    format!("{{ {read} }}")
                } else {
                    format!("query({declared}) {{ {read} }}")
                };
                let answer = ask(client, &query, variables).await;
                let text = answer.to_string();
                for hidden in stored.iter().filter(|stored| !sees(viewer, stored)) {
                    for part in [&hidden.id, &global(&hidden.id)] {
                        assert!(!text.contains(part.as_str()), "{viewer} saw {part} through {query}: {text}");
                    }
                    // A question may be repeated in its answer only as a name that was asked for.
                    assert!(!text.contains(&hidden.mark), "{viewer} saw {} through {query}: {text}", hidden.mark);
                }
                if *field == "memory" {
                    let seen = answer["data"]["memory"]["content"].is_string();
                    assert_eq!(seen, sees(viewer, asked), "{viewer}, {query}, {}", asked.mark);
                }
            }
        }
        let counted = data(
            client,
            "{ memories { totalCount } session(id: \"s1\") { memoryCount memories { totalCount } } task(id: \"t1\") { memoryCount }
               concept(label: \"Harbour Gate\") { uses memories { totalCount } } status { memories } }",
            json!({}),
        )
        .await;
        let counts = [
            &counted["memories"]["totalCount"],
            &counted["session"]["memoryCount"],
            &counted["session"]["memories"]["totalCount"],
            &counted["task"]["memoryCount"],
            &counted["concept"]["uses"],
            &counted["concept"]["memories"]["totalCount"],
            &counted["status"]["memories"],
        ];
        assert!(counts.iter().all(|count| **count == json!(visible.len())), "{viewer}: {counted}");
        // The moments of a session are those of what the caller sees.
        let moments = data(client, "{ session(id: \"s1\") { lastAt } }", json!({})).await;
        let last = stored.iter().rposition(|stored| sees(viewer, stored)).expect("something");
        assert_eq!(moments["session"]["lastAt"], Value::from(format!("2026-0{}-01T00:00:00Z", last + 1)), "{viewer}");
    }
}
