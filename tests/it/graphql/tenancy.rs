//! Three callers, three scopes, every read of the schema: nothing of another's comes out. A root field without a row here
//! fails; what is asked of each is every field of every type, made from the schema.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use recollect::domain::Right;
use serde_json::{Value, json};

use super::{ask, data, post};
use crate::{
    support::app::{App, Client},
    wiki_visibility,
};

/// Each read, asked as widely as it can be. `$id` and `$event` are the global ids of a memory and an event, `$ids` of all,
/// `$mark` is a word that one memory alone has and that is a concept of its own, `$concept` its id.
const READS: &[(&str, &str)] = &[
    ("explain", "explain(input: {id: $id, query: \"Harbour Gate\"})"),
    ("associate", "associate(input: {query: $mark, depth: 4, limit: 100})"),
    ("associate", "associate(input: {ids: [$id], depth: 4, limit: 100})"),
    ("associate", "associate(input: {ids: [$id], depth: 4, knownAt: \"2027-01-01\"})"),
    ("concept", "concept(label: $mark)"),
    ("concept", "concept(id: $concept)"),
    ("concept", "concept(label: \"Harbour Gate\")"),
    ("concepts", "concepts(first: 100)"),
    ("concepts", "concepts(search: $mark)"),
    ("events", "events(first: 100)"),
    ("events", "events(session: \"s1\")"),
    ("events", "events(task: \"t1\")"),
    ("memories", "memories(first: 100)"),
    ("memories", "memories(filter: {tags: [$mark]})"),
    ("memories", "memories(filter: {sessionId: \"s1\", taskId: \"t1\"}, first: 100)"),
    ("memory", "memory(id: $id)"),
    ("memory", "memory(id: $id, knownAt: \"2027-01-01\")"),
    ("memory", "memory(id: $id, asOf: \"2027-01-01\")"),
    ("node", "node(id: $id)"),
    ("node", "node(id: $event)"),
    ("node", "node(id: $concept)"),
    ("nodes", "nodes(ids: $ids)"),
    ("promptBlock", "promptBlock(input: {query: $mark, limit: 100, includeSuperseded: true})"),
    ("recall", "recall(input: {query: $mark, mode: ASSOCIATIVE, limit: 100, includeSuperseded: true})"),
    ("recall", "recall(input: {query: \"Harbour Gate\", mode: RECENT, limit: 100})"),
    ("recall", "recall(input: {query: \"Harbour Gate\", limit: 100, knownAt: \"2027-01-01\"})"),
    ("session", "session(id: \"s1\")"),
    ("session", "session(id: $own)"),
    ("status", "status"),
    ("task", "task(id: \"t1\")"),
];

/// Reads that show nothing of memories, or nothing at all without the right ADMIN or REVIEW_READ.
const OTHERS: &[&str] = &["auditLog", "conceptTree", "me", "ontologyVersions", "reviewStats", "tokens"];

/// Variables of the reads, with their types.
const VARIABLES: &[(&str, &str)] =
    &[("id", "ID!"), ("event", "ID!"), ("concept", "ID!"), ("own", "ID!"), ("ids", "[ID!]!"), ("mark", "String!")];

/// What one subscriber is told of; `wiki_visibility` has the other.
const CHANGES: &str = "memoryChanged";
/// What says nothing of memories, and nothing at all without the right ONTOLOGY_IMPORT.
const PROGRESS: &str = "importProgress";

struct Stored {
    owner: &'static str,
    scope: &'static str,
    id: String,
    mark: String,
    /// Its event, whose text has the mark, in a session that nobody else names.
    event: String,
    /// Id of the concept that is the mark.
    concept: String,
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
        let before: Vec<String> =
            stored.iter().filter(|earlier| sees(owner, earlier)).map(|earlier| plain(&earlier.id)).collect();
        let mut request = json!({"content": format!("The Harbour Gate was shut because of `{mark}`."),
            "title": "Harbour Gate", "session_id": "s1", "task_id": "t1", "tags": [mark], "scope": scope,
            "caused_by": before, "occurred_at": format!("2026-0{}-01", number + 1)});
        if scope == "shared" {
            request["group"] = "blue".into();
        }
        let id = clients[owner].store(request.clone()).await;
        let mut event = json!({"event": "user_message", "text": format!("about {mark}"), "session_id": "s1",
            "task_id": "t1", "scope": scope, "at": request["occurred_at"]});
        if scope == "shared" {
            event["group"] = "blue".into();
        }
        let kept = clients[owner].ok("memory_observe", event.clone()).await;
        event["session_id"] = format!("own_{mark}").into();
        clients[owner].ok("memory_observe", event).await;
        let named = "query($mark: String!) { concept(label: $mark) { id } }";
        let concept = data(&clients[owner], named, json!({"mark": mark})).await["concept"]["id"].clone();
        stored.push(Stored {
            owner,
            scope,
            id: STANDARD.encode(format!("Memory:{id}")),
            event: STANDARD.encode(format!("Event:{}", kept["event_id"].as_str().expect("an id"))),
            concept: concept.as_str().expect("a concept of its own").to_owned(),
            mark,
        });
    }
    (clients, stored)
}

/// The plain id within a global one.
fn plain(global: &str) -> String {
    let text = String::from_utf8(STANDARD.decode(global).expect("base64")).expect("text");
    text.split_once(':').expect("a type and a key").1.to_owned()
}

/// The schema's types by name, and the names of its root fields with their types.
pub struct Schema {
    types: BTreeMap<String, Value>,
    reads: BTreeMap<String, String>,
    pub subscriptions: BTreeMap<String, String>,
}

impl Schema {
    pub async fn of(client: &Client) -> Self {
        let of_type = "name kind ofType { name kind ofType { name kind ofType { name kind } } }";
        let query = format!(
            "{{ __schema {{ queryType {{ name }} subscriptionType {{ name }} types {{ name kind possibleTypes {{ name }}
                fields {{ name args {{ name defaultValue type {{ kind }} }} type {{ {of_type} }} }} }} }} }}"
        );
        let schema = data(client, &query, json!({})).await["__schema"].clone();
        let types = schema["types"].as_array().expect("types").iter();
        let types: BTreeMap<String, Value> =
            types.map(|kind| (kind["name"].as_str().expect("a name").to_owned(), kind.clone())).collect();
        let root = |name: &str| {
            let fields = types[schema[name]["name"].as_str().expect("a root")]["fields"].as_array().expect("fields");
            fields
                .iter()
                .map(|field| (field["name"].as_str().expect("a name").to_owned(), named(&field["type"])))
                .collect()
        };
        Self { reads: root("queryType"), subscriptions: root("subscriptionType"), types }
    }

    /// Every field of `name`, and of what it leads to; a type that leads back to itself is not entered again.
    pub fn everything(&self, name: &str, within: &[&str]) -> String {
        let kind = &self.types[name];
        if within.contains(&name) {
            return String::new();
        }
        let within = [within, &[name]].concat();
        let parts: Vec<String> = match kind["possibleTypes"].as_array() {
            Some(possible) => possible
                .iter()
                .map(|one| one["name"].as_str().expect("a name"))
                .map(|one| (one, self.everything(one, &within)))
                .filter(|(_, parts)| !parts.is_empty())
                .map(|(one, parts)| format!("... on {one} {parts}"))
                .chain(["__typename".to_owned()])
                .collect(),
            None => kind["fields"]
                .as_array()
                .expect("an object")
                .iter()
                .filter_map(|field| {
                    let needed = |arg: &Value| arg["type"]["kind"] == "NON_NULL" && arg["defaultValue"].is_null();
                    let (of, name) = (named(&field["type"]), field["name"].as_str().expect("a name"));
                    // The nodes of a page stand in its edges once more.
                    if name == "node" && within.iter().any(|name| name.ends_with("Connection")) {
                        return None;
                    }
                    assert!(
                        !field["args"].as_array().expect("arguments").iter().any(needed),
                        "{name} is asked for nowhere"
                    );
                    if matches!(self.types[&of]["kind"].as_str(), Some("SCALAR" | "ENUM")) {
                        return Some(name.to_owned());
                    }
                    let parts = self.everything(&of, &within);
                    (!parts.is_empty()).then(|| format!("{name} {parts}"))
                })
                .collect(),
        };
        if parts.is_empty() { String::new() } else { format!("{{ {} }}", parts.join(" ")) }
    }

    fn document(&self, field: &str, call: &str) -> String {
        self.document_with(field, call, VARIABLES)
    }

    /// A read as a document, with those of `variables` that it uses.
    pub fn document_with(&self, field: &str, call: &str, variables: &[(&str, &str)]) -> String {
        let used = |name: &str| {
            call.split(|letter: char| !letter.is_alphanumeric() && letter != '$').any(|word| word == format!("${name}"))
        };
        let declared: Vec<String> =
            variables.iter().filter(|(name, _)| used(name)).map(|(name, kind)| format!("${name}: {kind}")).collect();
        let declared = if declared.is_empty() { String::new() } else { format!("({})", declared.join(", ")) };
        format!("query{declared} {{ {call} {} }}", self.everything(&self.reads[field], &[]))
    }
}

/// The name of a type without its wrappings.
fn named(of: &Value) -> String {
    of["name"].as_str().map_or_else(|| named(&of["ofType"]), str::to_owned)
}

fn variables(asked: &Stored, ids: &[&str]) -> Value {
    json!({"id": asked.id, "ids": ids, "mark": asked.mark, "event": asked.event, "concept": asked.concept,
        "own": format!("own_{}", asked.mark)})
}

/// Fails if `text` has anything of a record that `viewer` may not see.
fn assert_clean(viewer: &str, stored: &[Stored], text: &str, asked: &str) {
    for hidden in stored.iter().filter(|stored| !sees(viewer, stored)) {
        // Its mark is also the name of its concept and its session, and a part of its texts.
        for part in
            [&hidden.mark, &hidden.id, &plain(&hidden.id), &hidden.event, &plain(&hidden.event), &hidden.concept]
        {
            assert!(!text.contains(part.as_str()), "{viewer} saw {part} through {asked}: {text}");
        }
    }
}

/// A document of every field is larger than what clients may ask.
const LIMITS: &str = "[server.graphql]\nmax_complexity = 1000000000000\nmax_fields = 100000\nmax_depth = 60\n\
    max_query_bytes = 1000000\n";

#[tokio::test]
async fn no_read_shows_anything_of_anothers_to_any_caller() {
    let app = App::start_configured(LIMITS).await;
    let (clients, stored) = world(&app).await;
    let schema = Schema::of(&clients["alice"]).await;
    let rows = READS.iter().chain(wiki_visibility::READS);
    let named: BTreeSet<&str> = rows.map(|(field, _)| *field).chain(OTHERS.iter().copied()).collect();
    let served: BTreeSet<&str> = schema.reads.keys().map(String::as_str).collect();
    assert_eq!(served, named, "each read has its rows, and each row its read");

    let ids: Vec<&str> = stored.iter().flat_map(|stored| [&*stored.id, &*stored.event, &*stored.concept]).collect();
    for (viewer, client) in &clients {
        let visible: Vec<&Stored> = stored.iter().filter(|stored| sees(viewer, stored)).collect();
        for (field, call) in READS {
            let query = schema.document(field, call);
            let varies = call.contains('$') && !call.contains("$ids");
            let each = if varies { &stored[..] } else { &stored[..1] };
            for asked in each {
                let answer = ask(client, &query, variables(asked, &ids)).await;
                let mut shown = answer.clone();
                if let Some(recall) = shown["data"]["recall"].as_object_mut() {
                    // The caller's own words.
                    recall.remove("understood");
                }
                assert_clean(viewer, &stored, &shown.to_string(), call);
                let found = answer["data"][field].to_string();
                if sees(viewer, asked) && ["$id", "$event", "$concept", "$mark"].iter().any(|name| call.contains(name))
                {
                    assert!(answer.get("errors").is_none(), "{viewer}, {call}: {answer}");
                    assert!(
                        found.contains(&asked.mark) || *field == "explain",
                        "{viewer}, {call}, {}: {found}",
                        asked.mark
                    );
                }
            }
        }
        let counted = data(
            client,
            "{ memories { totalCount } session(id: \"s1\") { memoryCount eventCount memories { totalCount } }
               task(id: \"t1\") { memoryCount } concept(label: \"Harbour Gate\") { uses memories { totalCount } }
               status { memories concepts } events(session: \"s1\") { nodes { id } } }",
            json!({}),
        )
        .await;
        let counts = [
            &counted["memories"]["totalCount"],
            &counted["session"]["memoryCount"],
            &counted["session"]["eventCount"],
            &counted["session"]["memories"]["totalCount"],
            &counted["task"]["memoryCount"],
            &counted["concept"]["uses"],
            &counted["concept"]["memories"]["totalCount"],
            &counted["status"]["memories"],
        ];
        assert!(counts.iter().all(|count| **count == json!(visible.len())), "{viewer}: {counted}");
        assert_eq!(counted["events"]["nodes"].as_array().map(Vec::len), Some(visible.len()), "{viewer}");
        // One for the subject of all, one for the mark of each.
        assert_eq!(counted["status"]["concepts"], json!(visible.len() + 1), "{viewer}");
        // The moments of a session are those of what the caller sees.
        let moments = data(client, "{ session(id: \"s1\") { lastAt } }", json!({})).await;
        let last = stored.iter().rposition(|stored| sees(viewer, stored)).expect("something");
        assert_eq!(moments["session"]["lastAt"], Value::from(format!("2026-0{}-01T00:00:00Z", last + 1)), "{viewer}");
        // Pages end where what the caller sees ends.
        let mut pages = (0, Value::Null);
        loop {
            let page = data(
                client,
                "query($after: String) { memories(first: 2, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }",
                json!({"after": pages.1}),
            )
            .await["memories"]
                .clone();
            pages = (pages.0 + page["nodes"].as_array().expect("nodes").len(), page["pageInfo"]["endCursor"].clone());
            if page["pageInfo"]["hasNextPage"] == false {
                break;
            }
        }
        assert_eq!(pages.0, visible.len(), "{viewer}");
    }
}

#[tokio::test]
async fn what_is_anothers_answers_byte_for_byte_as_what_nobody_has() {
    let app = App::start_configured(LIMITS).await;
    let (clients, stored) = world(&app).await;
    let schema = Schema::of(&clients["alice"]).await;
    let nobody = |of: &str, id: &str| STANDARD.encode(format!("{of}:{id}"));
    let unknown = json!({"id": nobody("Memory", "01940000-0000-7000-8000-000000000000"),
        "ids": [nobody("Memory", "01940000-0000-7000-8000-000000000000")],
        "event": nobody("Event", "01940000-0000-7000-8000-000000000000"),
        "concept": nobody("Concept", "01940000-0000-5000-8000-000000000000"),
        "mark": "mark_nobody_private", "own": "own_mark_nobody"});
    for (viewer, client) in &clients {
        for (field, call) in READS {
            // A question is answered with its own words.
            if !call.contains('$') || call.contains("query: $mark") {
                continue;
            }
            let query = schema.document(field, call);
            for hidden in stored.iter().filter(|stored| !sees(viewer, stored)) {
                let answer = async |variables: Value| {
                    let body = json!({"query": query, "variables": variables}).to_string();
                    let response = post(client, &body).await;
                    (response.status(), response.text().await.expect("text"))
                };
                let of_another = answer(variables(hidden, &[&hidden.id])).await;
                assert_eq!(of_another, answer(unknown.clone()).await, "{viewer}, {call}, {}", hidden.mark);
            }
        }
    }
}

#[tokio::test]
async fn subscribers_are_told_of_what_they_see_alone() {
    let app = App::start_configured(LIMITS).await;
    let (clients, stored) = world(&app).await;
    let schema = Schema::of(&clients["alice"]).await;
    let names: Vec<&String> = schema.subscriptions.keys().collect();
    assert_eq!(names, [PROGRESS, CHANGES, "reviewQueueChanged"], "each subscription has its test");
    let everything = schema.everything(&schema.subscriptions[CHANGES], &[]);
    for (viewer, client) in &clients {
        let query = format!("subscription {{ memoryChanged(after: \"0\") {everything} }}");
        let told = super::socket::changes_so_far(client, &query).await;
        assert_clean(viewer, &stored, &json!(told).to_string(), "memoryChanged");
        let created: BTreeSet<&str> = told
            .iter()
            .filter(|change| change["effect"] == "CREATED")
            .filter_map(|change| change["id"].as_str())
            .collect();
        let visible: Vec<&Stored> = stored.iter().filter(|stored| sees(viewer, stored)).collect();
        assert!(visible.iter().all(|stored| created.contains(&*stored.id)), "{viewer}: {told:?}");
    }
}
