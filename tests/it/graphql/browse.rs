//! Lists page by page, each caller its own; totals count nothing that is not the caller's.

use recollect::domain::{Event, EventId, EventKind, Op, Right, Scope};
use serde_json::{Value, json};

use super::data;
use crate::support::{
    app::{App, Client},
    at, change,
};

/// All cursors and texts of a connection, page by page.
async fn walk(client: &Client, query: &str, path: &[&str], first: usize) -> Vec<Value> {
    let (mut after, mut found) = (Value::Null, Vec::new());
    loop {
        let mut page = data(client, query, json!({"first": first, "after": after})).await;
        for name in path {
            page = page[*name].take();
        }
        let nodes = page["nodes"].as_array().expect("nodes").clone();
        assert!(nodes.len() <= first);
        found.extend(nodes);
        if page["pageInfo"]["hasNextPage"] == false {
            return found;
        }
        after = page["pageInfo"]["endCursor"].clone();
        assert!(after.is_string() && found.len() < 1000, "{page}");
    }
}

#[tokio::test]
async fn pages_hold_everything_once_latest_first_whatever_is_written_between() {
    let app = App::start().await;
    let ann = app.client("ann", &["blue"], &[]).await;
    for number in 0..23 {
        let scope = if number % 3 == 0 { json!({"scope": "shared", "group": "blue"}) } else { json!({}) };
        let mut input = json!({"content": format!("note {number}"), "occurred_at": format!("2026-05-{:02}", 1 + number / 2),
            "tags": [if number % 2 == 0 { "even" } else { "odd" }], "session_id": "s"});
        input.as_object_mut().expect("an object").extend(scope.as_object().expect("an object").clone());
        ann.store(input).await;
    }
    let query = "query($first: Int, $after: String) { memories(first: $first, after: $after) {
        totalCount nodes { content occurredAt id } pageInfo { hasNextPage endCursor } } }";
    for first in [1, 5, 23, 100] {
        let found = walk(&ann, query, &["memories"], first).await;
        assert_eq!(found.len(), 23);
        let mut texts: Vec<&str> = found.iter().map(|node| node["content"].as_str().expect("text")).collect();
        assert!(found.windows(2).all(|two| two[0]["occurredAt"].as_str() >= two[1]["occurredAt"].as_str()));
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), 23, "{first}");
    }
    // A memory that is written while somebody pages moves nothing.
    let page = data(&ann, query, json!({"first": 5})).await["memories"].clone();
    ann.store(json!({"content": "late news", "occurred_at": "2026-06-01"})).await;
    let next = data(&ann, query, json!({"first": 5, "after": page["pageInfo"]["endCursor"]})).await["memories"].clone();
    let ids = |page: &Value| {
        page["nodes"].as_array().expect("nodes").iter().map(|node| node["id"].clone()).collect::<Vec<_>>()
    };
    assert!(ids(&page).iter().all(|id| !ids(&next).contains(id)));
    let filtered = "query($first: Int, $after: String) { memories(filter: {tags: [\"odd\"], sessionId: \"s\", since: \"2026-05-03\",
        until: \"2026-05-10\", statuses: [ACTIVE]}, first: $first, after: $after) { totalCount nodes { content } pageInfo { hasNextPage endCursor } } }";
    let found = walk(&ann, filtered, &["memories"], 3).await;
    assert_eq!(found.len(), 7);
    assert_eq!(data(&ann, filtered, json!({})).await["memories"]["totalCount"], 7);
}

#[tokio::test]
async fn a_session_a_task_and_a_concept_lead_to_their_memories() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    for number in 0..5 {
        ann.store(json!({"content": format!("Turn {number} about Quill House."), "session_id": "s1", "task_id": "t1",
            "occurred_at": format!("2026-05-{:02}", 9 - number)}))
            .await;
    }
    ann.store(json!({"content": "Where the ink is kept.", "title": "Quill House"})).await;
    for (kind, name) in [("session", "s1"), ("task", "t1")] {
        let query = format!(
            "query($first: Int, $after: String) {{ {kind}(id: \"{name}\") {{ id name memoryCount firstAt lastAt
                memories(first: $first, after: $after) {{ totalCount nodes {{ content session {{ name }} }} pageInfo {{ hasNextPage endCursor }} }} }} }}"
        );
        let found = walk(&ann, &query, &[kind, "memories"], 2).await;
        let texts: Vec<String> = (0..5).map(|number| format!("Turn {number} about Quill House.")).collect();
        assert_eq!(found.iter().map(|node| node["content"].as_str().expect("text")).collect::<Vec<_>>(), texts);
        let one = data(&ann, &query, json!({})).await[kind].clone();
        assert_eq!((&one["memoryCount"], &one["memories"]["totalCount"]), (&json!(5), &json!(5)));
        assert!(one["firstAt"].as_str() < one["lastAt"].as_str());
        let node = data(&ann, "query($id: ID!) { node(id: $id) { id __typename } }", json!({"id": one["id"]})).await;
        assert_eq!(node["node"]["id"], one["id"]);
        let none = data(&ann, &format!("{{ {kind}(id: \"nobody\") {{ id }} }}"), json!({})).await;
        assert_eq!(none[kind], json!(null));
    }
    let query = "query($first: Int, $after: String) { concept(label: \"QUILL  house\") { id label uses about
        memories(first: $first, after: $after) { totalCount nodes { content } edges { naming } pageInfo { hasNextPage endCursor } } } }";
    let found = walk(&ann, query, &["concept", "memories"], 2).await;
    assert_eq!(found.len(), 6);
    assert_eq!(found[0]["content"], "Where the ink is kept.", "the memory about it comes first");
    let concept = data(&ann, query, json!({"first": 6})).await["concept"].clone();
    assert_eq!((&concept["uses"], &concept["about"]), (&json!(6), &json!(1)), "{concept}");
    let by_id =
        data(&ann, "query($id: ID!) { concept(id: $id) { label } node(id: $id) { id } }", json!({"id": concept["id"]}))
            .await;
    assert_eq!(by_id["concept"]["label"], concept["label"]);
    let search = "query($first: Int, $after: String) { concepts(search: \"Ill hou\", first: $first, after: $after) { nodes { label } pageInfo { hasNextPage endCursor } } }";
    assert_eq!(walk(&ann, search, &["concepts"], 10).await.len(), 1);
}

#[tokio::test]
async fn events_come_in_order_and_only_to_those_who_may_see_them() {
    let app = App::start().await;
    let (ann, bob) = (app.client("ann", &[], &[]).await, app.client("bob", &[], &[]).await);
    let event = |number: u128, user: &str| {
        Op::PutEvent(Event {
            id: EventId(uuid::Uuid::from_u128((7_u128 << 76) | number)),
            kind: EventKind::ToolCall,
            at: at(i64::try_from(number / 2).expect("small")),
            recorded_at: at(0),
            session_id: Some("s1".to_owned()),
            task_id: None,
            user_id: user.to_owned(),
            scope: Scope::Private(user.to_owned()),
            text: format!("event {number}"),
            tool: Some("grep".to_owned()),
            status: None,
            feedback: None,
            made: Vec::new(),
        })
    };
    let ops = (1..=7).map(|number| event(number, "ann")).chain([event(8, "bob")]).collect();
    app.parts.graph.apply(&[change(1, ops)]).await.expect("applied");
    for query in [
        "query($first: Int, $after: String) { events(first: $first, after: $after) { nodes { text kind } pageInfo { hasNextPage endCursor } } }",
        "query($first: Int, $after: String) { events(session: \"s1\", first: $first, after: $after) { nodes { text kind } pageInfo { hasNextPage endCursor } } }",
    ] {
        let found = walk(&ann, query, &["events"], 3).await;
        let texts: Vec<&str> = found.iter().map(|node| node["text"].as_str().expect("text")).collect();
        assert_eq!(texts, (1..=7).map(|number| format!("event {number}")).collect::<Vec<_>>());
    }
    // A session of events alone is one, with no memory in it.
    let session = "{ session(id: \"s1\") { memoryCount eventCount events { nodes { id text } } } }";
    let seen = data(&bob, session, json!({})).await["session"].clone();
    assert_eq!((&seen["memoryCount"], &seen["eventCount"]), (&json!(0), &json!(1)));
    assert_eq!(seen["events"]["nodes"][0]["text"], "event 8");
    let id = &seen["events"]["nodes"][0]["id"];
    let node = "query($id: ID!) { node(id: $id) { __typename } }";
    assert_eq!(data(&bob, node, json!({"id": id})).await["node"]["__typename"], "Event");
    assert_eq!(data(&ann, node, json!({"id": id})).await["node"], json!(null));
}

#[tokio::test]
async fn no_list_total_node_or_edge_tells_of_what_is_anothers() {
    let app = App::start().await;
    let (ann, bob) = (app.client("ann", &["blue"], &[]).await, app.client("bob", &[], &[]).await);
    let secret = ann
        .store(json!({"content": "The Vermilion Key lies below `stone_seven`.", "title": "Vermilion Key", "session_id": "s1",
            "task_id": "t1", "tags": ["hidden"]}))
        .await;
    let shared = ann
        .store(json!({"content": "The Vermilion Key is `iron_made`.", "title": "Vermilion Key", "scope": "shared", "group": "blue"}))
        .await;
    let own = bob.store(json!({"content": "The Amber Key is mine.", "title": "Amber Key", "session_id": "s1"})).await;
    let everything = "query($a: ID!, $b: ID!, $own: ID!) {
        memories { totalCount nodes { content } }
        hidden: memories(filter: {tags: [\"hidden\"]}) { totalCount nodes { id } }
        concepts { nodes { label uses about memories { totalCount nodes { content } } } }
        concept(label: \"Vermilion Key\") { id }
        session(id: \"s1\") { memoryCount firstAt lastAt memories { totalCount nodes { content } } }
        task(id: \"t1\") { id }
        a: memory(id: $a) { id } b: memory(id: $b) { id }
        own: memory(id: $own) { edges { kind from { id } to { id } } }
        status { memories edges concepts }
        recall(input: {query: \"Vermilion Key\", mode: RECENT}) { items { content } } }";
    let found = data(&bob, everything, json!({"a": secret, "b": shared, "own": own})).await;
    let text = found.to_string();
    for mark in ["ermilion", "stone_seven", "iron_made", &secret, &shared] {
        assert!(!text.contains(mark), "bob saw {mark}: {text}");
    }
    assert_eq!(found["memories"]["totalCount"], 1);
    assert_eq!(found["hidden"], json!({"totalCount": 0, "nodes": []}));
    assert_eq!(
        (&found["concept"], &found["task"], &found["a"], &found["b"]),
        (&json!(null), &json!(null), &json!(null), &json!(null))
    );
    assert_eq!(found["session"]["memoryCount"], 1);
    assert_eq!(found["status"]["memories"], 1);
    // It is there for those who may see it, or the test would prove nothing.
    let found = data(&ann, everything, json!({"a": secret, "b": shared, "own": own})).await;
    assert_eq!(found["memories"]["totalCount"], 2);
    assert_eq!((&found["hidden"]["totalCount"], &found["own"]), (&json!(1), &json!(null)));
    assert!(found["concept"]["id"].is_string() && found["task"]["id"].is_string());
    // The id of another's memory answers as an unknown one, for every mutation.
    for mutation in [
        "mutation($id: ID!) { a: updateMemory(input: {id: $id, content: \"x\"}) { memory { id } userErrors { code field message } } }",
        "mutation($id: ID!) { a: linkMemories(input: {from: $id, to: $id, edge: CAUSES}) { from { id } userErrors { code field message } } }",
        "mutation($id: ID!) { a: forgetMemories(input: {ids: [$id]}) { forgotten userErrors { code field message } } }",
        "mutation($id: ID!) { a: storeMemory(input: {content: \"x\", causes: [$id]}) { memory { id } userErrors { code field message } } }",
    ] {
        let hidden = data(&bob, mutation, json!({"id": secret})).await;
        let unknown = data(&bob, mutation, json!({"id": "01940000-0000-7000-8000-000000000000"})).await;
        assert_eq!(hidden, unknown, "{mutation}");
    }
}

#[tokio::test]
async fn the_audit_log_says_who_did_what_to_which_memory_and_nothing_of_its_text() {
    let app = App::start().await;
    let (ann, root) = (app.client("ann", &[], &[]).await, app.client("root", &[], &[Right::Admin]).await);
    let first = ann.store(json!({"content": "The lantern is red."})).await;
    let second = ann.store(json!({"content": "The lantern is green.", "supersedes": [first]})).await;
    ann.ok("memory_forget", json!({"ids": [second], "reason": "asked to"})).await;
    let query = "query($first: Int, $after: String) { auditLog(first: $first, after: $after) {
        nodes { position actor useCase reason memoryCount memories { id effect } } pageInfo { hasNextPage endCursor } } }";
    let rows = walk(&root, query, &["auditLog"], 2).await;
    let did: Vec<(&str, Vec<&str>)> = rows
        .iter()
        .map(|row| {
            let effects = row["memories"].as_array().expect("memories").iter();
            (
                row["useCase"].as_str().expect("text"),
                effects.map(|memory| memory["effect"].as_str().expect("text")).collect(),
            )
        })
        .collect();
    assert_eq!(
        did,
        [("forget", vec!["FORGOTTEN"]), ("store", vec!["SUPERSEDED", "CREATED"]), ("store", vec!["CREATED"])]
    );
    assert!(rows.iter().all(|row| row["actor"] == "ann"));
    let reasons: Vec<Option<&str>> = rows.iter().map(|row| row["reason"].as_str()).collect();
    assert_eq!(reasons, [Some("asked to"), None, None]);
    assert!(!json!(rows).to_string().contains("lantern"));
}
