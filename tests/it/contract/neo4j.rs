//! The Neo4j store, on a real server: the suites, and what is its own: opening, two processes, plans of its statements.
//!
//! `RECOLLECT_TEST_NEO4J` names the server (`scripts/neo4j` starts one). Its database is emptied before each test, and tests
//! take turns at it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use neo4rs::{Graph, query};
use recollect::{
    backends::neo4j::{Neo4jSettings, Neo4jStore},
    domain::{ChangeSet, Concept, ConceptKey, Edge, EdgeKind, Idempotency, OntologyVersion, Op, Scope, Visibility},
    jobs::{Drain, DrainSettings},
    ports::{Applied, Browse, GraphStore, OntologyStore, PortError, PortErrorKind, StagedTerm, Switch},
};
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use super::{
    archive::archive_suite,
    browse::browse_suite,
    graph_store::graph_store_suite,
    ontology_store::{ontology_store_suite, switch, term},
    review_store::review_store_suite,
    token_store::token_store_suite,
};
use crate::support::{
    app::App,
    at,
    bolt::{self, Bolt, Reply},
    change, id, memory,
    proxy::{Mode, Proxy},
};

static TURN: Mutex<()> = Mutex::const_new(());

/// The address of a server to test on.
pub fn server() -> Option<String> {
    let url = std::env::var("RECOLLECT_TEST_NEO4J").ok().filter(|url| !url.is_empty());
    if url.is_none() {
        let why = "no RECOLLECT_TEST_NEO4J: run the tests by `scripts/neo4j run`";
        assert!(std::env::var_os("CI").is_none(), "under CI a Neo4j server must be there: {why}");
        eprintln!("skipped: {why}");
    }
    url
}

/// An empty store, for as long as the guard is held.
pub async fn open() -> Option<(Neo4jStore, MutexGuard<'static, ()>)> {
    let (url, turn) = emptied().await?;
    Some((Neo4jStore::open(&url, &settings()).await.unwrap(), turn))
}

/// The address of a server without records, for as long as the guard is held.
pub async fn emptied() -> Option<(String, MutexGuard<'static, ()>)> {
    let url = server()?;
    let turn = TURN.lock().await;
    empty(&url).await;
    Some((url, turn))
}

fn settings() -> Neo4jSettings {
    // A loaded machine is slow; nothing here waits for this to pass.
    Neo4jSettings { timeout: Duration::from_secs(60), ..Neo4jSettings::default() }
}

async fn empty(url: &str) {
    let graph = Graph::new(url, "neo4j", "").unwrap();
    graph.run(query("MATCH (n) WHERE NOT n:Store DETACH DELETE n")).await.unwrap();
    graph.run(query("MATCH (n:Store) SET n.change_seq = 0, n.outbox_seq = 0, n.state_seq = 0")).await.unwrap();
}

archive_suite!(crate::contract::neo4j::open);
browse_suite!(crate::contract::neo4j::open);
graph_store_suite!(crate::contract::neo4j::open);
ontology_store_suite!(crate::contract::neo4j::open);
review_store_suite!(crate::contract::neo4j::open);
token_store_suite!(crate::contract::neo4j::open);

fn all() -> Visibility {
    Visibility::system("the tests of the server look at everything")
}

/// A change that stores a memory of its own.
fn plain(n: u64) -> ChangeSet {
    let memory = Box::new(memory(n, &Scope::Global, &format!("plain {n}")));
    change(n, vec![Op::PutMemory { expected_revision: 0, memory, vectors: Vec::new() }])
}

fn reason(error: &PortError) -> String {
    error.source.as_ref().map(ToString::to_string).unwrap_or_default()
}

async fn refused(url: &str, settings: &Neo4jSettings, kind: PortErrorKind, words: &str) {
    let error = Neo4jStore::open(url, settings).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind, kind, "{}", reason(&error));
    assert!(reason(&error).contains(words), "{}", reason(&error));
    assert!(!reason(&error).contains('\n') && !format!("{error:?}").contains("hunter2"), "{error:?}");
}

#[tokio::test]
async fn wrong_address_is_one_clear_line() {
    let settings = settings();
    // Nobody listens on the port of a listener that is gone.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    refused(&format!("bolt://{gone}"), &settings, PortErrorKind::Unavailable, "nobody answers at graph.url").await;
    for url in ["bolt://", "bolt://:7687", "neo4j://ann:hunter2@host:7687", "http://host:7474", "host:7687"] {
        refused(url, &settings, PortErrorKind::Mismatch, "graph.url is not an address").await;
    }
    // Somebody listens and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let hasty = Neo4jSettings { timeout: Duration::from_millis(200), ..settings };
    let url = format!("bolt://{}", silent.local_addr().unwrap());
    refused(&url, &hasty, PortErrorKind::Timeout, "no answer within graph.timeout_ms (200 ms)").await;
}

#[tokio::test]
async fn wrong_password_is_one_clear_line() {
    let refusal = Reply::failure("Neo.ClientError.Security.Unauthorized");
    let url = bolt::serve(vec![refusal]).unwrap();
    let settings = Neo4jSettings { user: "ann".to_owned(), password: "hunter2".to_owned(), ..settings() };
    let words = "the server refuses graph.user \"ann\" with the password given (graph.password or";
    refused(&url, &settings, PortErrorKind::Mismatch, words).await;
}

#[tokio::test]
async fn server_that_is_too_old_is_one_clear_line() {
    let url = bolt::serve(vec![Reply::success(), Reply::fields("version"), Reply::record("4.4.40"), Reply::success()])
        .unwrap();
    let words = "the server is Neo4j 4.4.40, version 5.23 or newer is needed";
    refused(&url, &settings(), PortErrorKind::Mismatch, words).await;
}

#[tokio::test]
async fn database_that_is_not_there_is_one_clear_line() {
    let Some(url) = server() else { return };
    let settings = Neo4jSettings { database: "nowhere".to_owned(), ..settings() };
    refused(&url, &settings, PortErrorKind::Mismatch, "graph.database").await;
}

#[tokio::test]
async fn database_of_a_newer_program_is_refused() {
    let Some((_store, _turn)) = open().await else { return };
    let url = server().unwrap();
    let graph = Graph::new(&url, "neo4j", "").unwrap();
    let mut rows = graph.execute(query("MATCH (n:Store) RETURN n.format AS format")).await.unwrap();
    let format: i64 = rows.next().await.unwrap().unwrap().get("format").unwrap();
    graph.run(query("MATCH (n:Store) SET n.format = 999")).await.unwrap();
    refused(&url, &settings(), PortErrorKind::Mismatch, "the database has format 999").await;
    graph.run(query("MATCH (n:Store) SET n.format = $format").param("format", format)).await.unwrap();
    Neo4jStore::open(&url, &settings()).await.unwrap();
}

#[tokio::test]
async fn two_stores_on_one_server_lose_nothing_and_double_nothing() {
    let Some((one, _turn)) = open().await else { return };
    let two = Neo4jStore::open(&server().unwrap(), &settings()).await.unwrap();
    let subject = Concept::from_text(ConceptKey("subject".to_owned()), "Subject".to_owned());
    let store_about = |n: u64| {
        let about = Edge {
            from: id(n).0,
            to: subject.id.0,
            kind: EdgeKind::About,
            weight: 1.0,
            reason: None,
            scope: Scope::Global,
            recorded_at: at(1),
        };
        let mut memory = memory(n, &Scope::Global, &format!("about the subject, part {n}"));
        memory.session_id = Some("shared".to_owned());
        let put = Op::PutMemory { expected_revision: 0, memory: Box::new(memory), vectors: Vec::new() };
        let mut change = change(n, vec![Op::PutConcept(subject.clone()), put, Op::PutEdge(about)]);
        let answer = json!({"id": id(n).to_string()});
        change.idempotency = Some(Idempotency { key: format!("key {n}"), request_hash: n.to_string(), answer });
        change
    };
    // Each change is sent by both, as by a client that did not hear the first answer.
    let mut writes = Vec::new();
    for n in 1..=20 {
        for store in [&one, &two] {
            let (store, change) = (store.clone(), store_about(n));
            writes.push(tokio::spawn(async move { store.apply(&[change]).await }));
        }
    }
    let mut now = 0;
    for write in writes {
        now += usize::from(write.await.unwrap().unwrap() == [Applied::Now]);
    }
    assert_eq!(now, 20, "of two that apply the same change one does");
    for store in [&one, &two] {
        let counts = store.counts(&all()).await.unwrap();
        assert_eq!((counts.memories, counts.concepts, counts.edges), (20, 1, 20));
        assert_eq!(store.total_memories(&all()).await.unwrap(), 20);
        assert_eq!(store.last_change().await.unwrap(), 20);
        let uses = store.concepts(std::slice::from_ref(&subject.key), None, &all()).await.unwrap();
        assert_eq!((uses[0].uses, uses[0].about), (20, 20));
        assert_eq!(store.changes(0, 100, &all()).await.unwrap().len(), 20);
        assert_eq!(GraphStore::members(store, EdgeKind::SameSession, "shared", 100, &all()).await.unwrap().len(), 20);
    }
}

#[tokio::test]
async fn two_that_store_the_same_make_one_memory() {
    let Some((one, _turn)) = open().await else { return };
    // The scheme of clusters serves for one server too.
    let url = server().unwrap().replacen("bolt://", "neo4j://", 1);
    let two = Neo4jStore::open(&url, &settings()).await.unwrap();
    let same = |n: u64| {
        let mut memory = memory(n, &Scope::Global, "the same");
        memory.content_hash = "same".to_owned();
        change(n, vec![Op::PutMemory { expected_revision: 0, memory: Box::new(memory), vectors: Vec::new() }])
    };
    let mut writes = Vec::new();
    for n in 1..=20 {
        let (store, change) = (if n % 2 == 0 { one.clone() } else { two.clone() }, same(n));
        writes.push(tokio::spawn(async move { store.apply(&[change]).await }));
    }
    let mut written = 0;
    for write in writes {
        match write.await.unwrap() {
            Ok(applied) => written += applied.len(),
            Err(error) => assert_eq!(error.kind, PortErrorKind::Conflict),
        }
    }
    assert_eq!((written, one.total_memories(&all()).await.unwrap()), (1, 1));
}

#[tokio::test]
async fn writer_that_goes_away_holds_nobody_up() {
    let Some((store, _turn)) = open().await else { return };
    let hasty = Neo4jSettings { timeout: Duration::from_secs(3), ..settings() };
    let other = Neo4jStore::open(&server().unwrap(), &hasty).await.unwrap();
    let graph = Graph::new(server().unwrap(), "neo4j", "").unwrap();
    let mut holder = graph.start_txn().await.unwrap();
    holder.run(query("MATCH (n:Store {id: 'store'}) SET n.turn = 'held'")).await.unwrap();
    let error = other.apply(&[plain(1)]).await.unwrap_err();
    assert_eq!(error.kind, PortErrorKind::Timeout, "{}", reason(&error));
    holder.rollback().await.unwrap();
    // What waited was closed with its connection: it neither writes later nor keeps the turn.
    store.apply(&[plain(2)]).await.unwrap();
    assert_eq!(store.total_memories(&all()).await.unwrap(), 1);
}

#[tokio::test]
async fn commit_whose_answer_is_lost_is_not_done_twice() {
    let Some((store, _turn)) = open().await else { return };
    let way = bolt::losing_a_commit(&server().unwrap()).unwrap();
    let far = Neo4jStore::open(&way, &settings()).await.unwrap();
    assert_eq!(far.apply(&[plain(1)]).await.unwrap(), [Applied::Before], "the first try had written it");
    assert_eq!(far.apply(&[plain(2)]).await.unwrap(), [Applied::Now]);
    assert_eq!((store.total_memories(&all()).await.unwrap(), store.last_change().await.unwrap()), (2, 2));
}

#[tokio::test]
async fn call_ends_with_its_deadline_and_the_next_one_works() {
    let Some((_store, _turn)) = open().await else { return };
    let address = server().unwrap().split("://").last().unwrap().parse().unwrap();
    let way = Proxy::before(address).await;
    let hasty = Neo4jSettings { timeout: Duration::from_secs(5), ..settings() };
    let far = Neo4jStore::open(&format!("bolt://{}", way.address), &hasty).await.unwrap();
    far.apply(&[plain(1)]).await.unwrap();
    way.set(Mode::Hang);
    assert_eq!(far.total_memories(&all()).await.unwrap_err().kind, PortErrorKind::Timeout);
    assert_eq!(far.apply(&[plain(2)]).await.unwrap_err().kind, PortErrorKind::Timeout);
    way.set(Mode::Down);
    assert_eq!(far.ping().await.unwrap_err().kind, PortErrorKind::Unavailable);
    assert_eq!(far.apply(&[plain(2)]).await.unwrap_err().kind, PortErrorKind::Unavailable);
    way.set(Mode::Pass);
    assert_eq!(far.apply(&[plain(2)]).await.unwrap(), [Applied::Now]);
    assert_eq!(far.total_memories(&all()).await.unwrap(), 2);
}

#[tokio::test]
async fn service_runs_on_a_server() {
    let Some((store, _turn)) = open().await else { return };
    let graph = Arc::new(store);
    let app = App::start_as("", move |parts| {
        parts.graph = graph.clone();
        parts.browse = graph.clone();
        parts.tokens = graph.clone();
        parts.drain = Arc::new(Drain::new(graph, parts.index.clone(), DrainSettings::default()));
    })
    .await;
    let drain = app.parts.drain.clone();
    let draining = tokio::spawn(async move { drain.run(CancellationToken::new()).await });
    let (ann, bob) = (app.client("ann", &[], &[]).await, app.client("bob", &[], &[]).await);

    let lyon = ann.store(json!({"content": "The office is in Lyon", "title": "Office", "session_id": "move"})).await;
    let paris = ann
        .store(json!({"content": "The office moved to Paris", "title": "Office", "session_id": "move", "supersedes": [lyon]}))
        .await;
    let found = ann.ok("memory_recall", json!({"query": "Where is the office?"})).await;
    assert_eq!(found["items"][0]["id"], json!(paris), "{found}");
    assert_eq!(found["degraded"], json!([]), "{found}");
    assert_eq!(bob.ok("memory_recall", json!({"query": "office"})).await["items"], json!([]));
    let past = json!({"query": "office", "mode": "keyword", "include_superseded": true});
    assert_eq!(ann.ok("memory_recall", past).await["items"].as_array().map(Vec::len), Some(2));

    let cause = ann.store(json!({"content": "The lease in Lyon ended", "causes": [paris], "session_id": "move"})).await;
    let reached = ann.ok("memory_associate", json!({"ids": [paris], "depth": 2})).await;
    let ids: Vec<_> = reached["items"].as_array().unwrap().iter().map(|item| item["id"].clone()).collect();
    assert!(ids.contains(&json!(cause)), "{reached}");

    let voted = ann.ok("memory_feedback", json!({"id": cause, "useful": false})).await;
    assert!(voted["confidence_after"].as_f64() < voted["confidence_before"].as_f64(), "{voted}");
    let text = json!({"id": cause, "content": "The lease in Lyon ended in May", "expected_revision": 1});
    ann.ok("memory_update", text).await;
    assert_eq!(
        ann.ok("memory_recall", json!({"query": "May", "mode": "keyword"})).await["items"][0]["id"],
        json!(cause)
    );
    ann.ok("memory_forget", json!({"ids": [cause], "strategy": "delete", "reason": "told in error"})).await;
    let again = json!({"id": cause, "content": "The lease went on"});
    assert!(ann.failed("memory_update", again).await.starts_with("NOT_FOUND: id"));
    assert_eq!(app.counts().await.memories, 2);
    draining.abort();
}

#[tokio::test]
async fn versions_of_two_processes_take_turns() {
    let Some((one, _turn)) = open().await else { return };
    let two = Neo4jStore::open(&server().unwrap(), &settings()).await.unwrap();
    let graph = Graph::new(server().unwrap(), "neo4j", "").unwrap();
    let terms = |label: &str| [StagedTerm { term: term("a", label, &[]), keys: vec![label.to_lowercase()] }];
    let version = |number, source_hash: &str| OntologyVersion {
        number,
        vocabulary: "v".to_owned(),
        source_hash: source_hash.to_owned(),
        ..OntologyVersion::default()
    };
    assert_eq!(one.begin("v", "file").await.unwrap().number, 1);
    one.stage(1, &terms("Alpha")).await.unwrap();
    assert_eq!(two.begin("v", "other file").await.unwrap_err().kind, PortErrorKind::Conflict);
    assert_eq!(two.stage(1, &terms("Beta")).await.unwrap_err().kind, PortErrorKind::Conflict, "it began none");
    // The same file goes on with what is there, as after a kill.
    assert_eq!(two.begin("v", "file").await.unwrap().staged.len(), 1);
    // One that nothing was heard of gives way, and what it stages later does not mix in.
    graph.run(query("MATCH (n:OntologyStaging) SET n.held_until = timestamp() - 1")).await.unwrap();
    assert_eq!(two.begin("v", "other file").await.unwrap().staged.len(), 0);
    assert_eq!(one.stage(1, &terms("Alpha")).await.unwrap_err().kind, PortErrorKind::Conflict);
    let switch = Switch { version: version(1, "file"), removed: Vec::new() };
    assert_eq!(one.switch(&switch).await.unwrap_err().kind, PortErrorKind::Conflict);
    two.stage(1, &terms("Beta")).await.unwrap();
    let switch = Switch { version: version(1, "other file"), removed: Vec::new() };
    let made = two.switch(&switch).await.unwrap();
    assert_eq!(one.list_terms(None, None, 10).await.unwrap()[0].term.label, "Beta");
    // Of a switch whose answer was lost, the second try finds that it is done.
    assert_eq!(two.switch(&switch).await.unwrap(), made);
    assert_eq!(one.current().await.unwrap(), 1);
}

#[tokio::test]
async fn version_whose_commit_is_lost_is_not_made_twice() {
    let Some((store, _turn)) = open().await else { return };
    let way = bolt::losing_a_commit(&server().unwrap()).unwrap();
    switch(&store, "v", &[term("a", "Alpha", &[])], &[]).await;
    switch(&store, "v", &[term("b", "Beta", &[])], &[]).await;
    let far = Neo4jStore::open(&way, &settings()).await.unwrap();
    let back = far.roll_back(1, &OntologyVersion::default()).await.unwrap().unwrap();
    assert_eq!((back.number, store.current().await.unwrap()), (3, 3), "the first try had made it");
    assert_eq!(store.list_terms(None, None, 10).await.unwrap().len(), 1);
}

/// Operators that read more than they were asked for.
const SCANS: &[&str] = &[
    "AllNodesScan",
    "CartesianProduct",
    "DirectedAllRelationshipsScan",
    "DirectedRelationshipTypeScan",
    "NodeByLabelScan",
    "NodeIndexScan",
    "UndirectedAllRelationshipsScan",
    "UndirectedRelationshipTypeScan",
];
/// Where they may do so, and why.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("NodeIndexScan", ":Token(created_at)", "lists all tokens"),
    ("NodeIndexScan", ":ScopeCount(key)", "the service itself reads scope by scope, and there are few"),
];

#[tokio::test]
async fn no_statement_scans() {
    let Some((_store, _turn)) = open().await else { return };
    let mut bolt = Bolt::connect(&server().unwrap()).unwrap();
    let mut complaints = Vec::new();
    for (file, text) in statements().into_iter().filter(|(file, _)| !is_migration(file)) {
        // The server draws the plan as a table, an operator a line.
        let plan = bolt.explain(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let lines = plan.lines().filter(|line| SCANS.iter().any(|scan| line.contains(&format!("+{scan} "))));
        for line in
            lines.filter(|line| !ALLOWED.iter().any(|(scan, what, _)| line.contains(scan) && line.contains(what)))
        {
            complaints.push(format!("{}: {line}", file.display()));
        }
    }
    assert_eq!(complaints, Vec::<String>::new());
}

#[test]
fn each_statement_says_what_it_is_and_is_used() {
    let source = fs::read_to_string(root().join("src/backends/neo4j/statements.rs")).unwrap();
    let mut complaints = Vec::new();
    for (file, text) in statements() {
        let name = file.strip_prefix("cypher").unwrap().to_str().unwrap();
        if !source.contains(&format!("{name}\"")) {
            complaints.push(format!("{name} is not embedded"));
        }
        let header: Vec<&str> = text.lines().take_while(|line| line.starts_with("// ")).collect();
        for part in ["// Parameters: ", "// Returns: ", "// Index: "] {
            if !header.iter().any(|line| line.starts_with(part)) {
                complaints.push(format!("{name} has no line {part:?} in its header"));
            }
        }
        if header.first().is_none_or(|line| line.starts_with("// Parameters")) {
            complaints.push(format!("{name} does not say what it is for"));
        }
        let said: BTreeSet<String> = parameters(&header.join("\n"));
        let body: String =
            text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        let used = parameters(&body);
        if said != used {
            complaints.push(format!("{name} uses {used:?} and says {said:?}"));
        }
    }
    assert_eq!(complaints, Vec::<String>::new());
}

fn parameters(text: &str) -> BTreeSet<String> {
    regex::Regex::new(r"\$(\w+)").unwrap().captures_iter(text).map(|found| found[1].to_owned()).collect()
}

fn is_migration(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(|c: char| c.is_ascii_digit()))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn statements() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for folder in fs::read_dir(root().join("cypher")).unwrap().map(|entry| entry.unwrap().path()) {
        for file in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            found.push((file.strip_prefix(root()).unwrap().to_owned(), fs::read_to_string(&file).unwrap()));
        }
    }
    found.sort();
    assert!(!found.is_empty(), "there are statements");
    found
}
