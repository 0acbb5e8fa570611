//! kill -9 in the middle of concurrent stores, updates, links and forgets: what was acknowledged is there, once and whole.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng, rngs::StdRng};
use recollect::{
    backends::sqlite::SqliteStore,
    domain::{EdgeKind, MemoryId, Visibility},
    ports::GraphStore,
};
use serde_json::json;

use crate::support::process::{Home, Served};

/// Kills; `RECOLLECT_TEST_KILLS` asks for another number.
const KILLS: u64 = 50;
const WRITERS: u32 = 4;
/// Words looked for through the service after each restart.
const SAMPLE: usize = 4;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What may be found of a memory.
struct Expected {
    /// One of these: more than one if an update was not answered.
    contents: BTreeSet<String>,
    /// `None` if a forget was not answered.
    there: Option<bool>,
}

/// What one writer did and heard until the service was killed.
#[derive(Default)]
struct Log {
    memories: BTreeMap<String, Expected>,
    /// Stored, and not answered.
    unanswered: BTreeSet<String>,
    links: Vec<(String, String)>,
    operations: Vec<String>,
    updates: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_kills() {
    let seed = number("RECOLLECT_TEST_SEED").unwrap_or_else(rand::random);
    let kills = number("RECOLLECT_TEST_KILLS").unwrap_or(KILLS);
    println!("crash test seed {seed} (set RECOLLECT_TEST_SEED to repeat)");
    let mut random = StdRng::seed_from_u64(seed);
    let home = Home::new();
    let (mut all, mut updates) = (Log::default(), 0);
    for round in 0..kills {
        let served = Arc::new(home.serve(&[]));
        let sampled: Vec<(&String, &Expected)> =
            all.memories.iter().rev().filter(|(_, it)| it.there == Some(true)).take(SAMPLE).collect();
        for (id, expected) in sampled {
            let content = expected.contents.first().expect("one at least");
            let word = content.split(' ').next_back().expect("a last word");
            let found =
                served.call("memory_recall", json!({"query": word, "mode": "keyword"})).await.expect("an answer");
            let ids: Vec<&str> =
                found["items"].as_array().expect("items").iter().filter_map(|item| item["id"].as_str()).collect();
            assert!(expected.contents.len() > 1 || ids == [id.as_str()], "round {round}: {content}: {found}");
        }
        let acknowledged = Arc::new(AtomicUsize::new(0));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (served, acknowledged, seed) = (served.clone(), acknowledged.clone(), random.random());
                tokio::spawn(async move { write(&served, round, writer, seed, &acknowledged).await })
            })
            .collect();
        // At any moment of a stream of writes, however slow the machine.
        let deadline = Instant::now() + Duration::from_secs(60);
        while acknowledged.load(Ordering::SeqCst) == 0 {
            assert!(Instant::now() < deadline, "nothing was acknowledged within a minute");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(random.random_range(0..400))).await;
        kill(&served);
        let mut fresh = Log::default();
        for writer in writers {
            let log = writer.await.expect("writer ended");
            fresh.memories.extend(log.memories);
            fresh.unanswered.extend(log.unanswered);
            fresh.links.extend(log.links);
            fresh.operations.extend(log.operations);
            fresh.updates += log.updates;
        }
        drop(served);
        updates += fresh.updates;
        // The real start catches the index up; then it must be what the graph says.
        let report = home.json(&["doctor"]);
        assert_eq!(report["ok"], true, "round {round}: {report}");
        check_file(&home, &fresh, updates, round);
        check(&home, &fresh, round).await;
        all.memories.extend(fresh.memories);
        all.unanswered.extend(fresh.unanswered);
        all.links.extend(fresh.links);
    }
    check(&home, &all, kills).await;
    let forgotten = all.memories.values().filter(|it| it.there == Some(false)).count();
    println!(
        "{} memories, {forgotten} of them forgotten, {updates} updates and {} links survived {kills} kills",
        all.memories.len(),
        all.links.len()
    );
    assert!(all.memories.len() as u64 > kills && forgotten > 0 && updates > 0, "too few writes to mean anything");
}

/// Writes until the service no longer answers.
async fn write(served: &Served, round: u64, writer: u32, seed: u64, acknowledged: &AtomicUsize) -> Log {
    let mut random = StdRng::seed_from_u64(seed);
    let mut log = Log::default();
    let mut own: Vec<String> = Vec::new();
    for n in 0.. {
        let content = format!("note of writer {writer} about {}", word(&format!("{round}x{writer}x{n}")));
        let request = json!({"content": content, "title": format!("subject {writer}"),
            "session_id": format!("s{writer}")});
        let Some(reply) = served.call("memory_store", request).await else {
            log.unanswered.insert(content);
            return log;
        };
        acknowledged.fetch_add(1, Ordering::SeqCst);
        let id = reply["id"].as_str().expect("an id").to_owned();
        log.operations.push(reply["operation_id"].as_str().expect("an id").to_owned());
        log.memories.insert(id.clone(), Expected { contents: [content].into(), there: Some(true) });
        if let Some(before) = own.last() {
            let link = json!({"from": before, "to": id, "edge": "CAUSES"});
            let Some(reply) = served.call("memory_link", link).await else { return log };
            log.operations.push(reply["operation_id"].as_str().expect("an id").to_owned());
            log.links.push((before.clone(), id.clone()));
        }
        own.push(id.clone());
        if random.random_bool(0.5) {
            let content = format!("changed by writer {writer} to {}", word(&format!("{round}x{writer}x{n}y")));
            let expected = log.memories.get_mut(&id).expect("just stored");
            expected.contents.insert(content.clone());
            if served.call("memory_update", json!({"id": id, "content": content})).await.is_none() {
                return log;
            }
            expected.contents = [content].into();
            log.updates += 1;
        }
        if own.len() > 1 && random.random_bool(0.6) {
            let gone = own.remove(random.random_range(0..own.len() - 1));
            let expected = log.memories.get_mut(&gone).expect("stored before");
            expected.there = None;
            let Some(reply) = served.call("memory_forget", json!({"ids": [gone]})).await else { return log };
            expected.there = Some(false);
            log.operations.push(reply["operation_id"].as_str().expect("an id").to_owned());
        }
    }
    log
}

/// The file is whole, and each acknowledged change has its row in the audit log, once.
fn check_file(home: &Home, fresh: &Log, updates: usize, round: u64) {
    let file = rusqlite::Connection::open(home.data().join("graph.db")).expect("the file");
    let verdict: String = file.pragma_query_value(None, "integrity_check", |row| row.get(0)).expect("a verdict");
    assert_eq!(verdict, "ok", "round {round}");
    let mut rows = file.prepare("SELECT count(*) FROM change WHERE id = ?1").expect("a statement");
    for operation in &fresh.operations {
        let id: uuid::Uuid = operation.parse().expect("an id");
        let count: i64 = rows.query_row([id.as_bytes()], |row| row.get(0)).expect("a count");
        assert_eq!(count, 1, "round {round}: {operation}");
    }
    let noted: i64 =
        file.query_row("SELECT count(*) FROM change WHERE use_case = 'update'", [], |row| row.get(0)).expect("a count");
    assert!(noted as usize >= updates, "round {round}: {noted} of {updates} updates");
}

async fn check(home: &Home, log: &Log, round: u64) {
    let everything = Visibility::system("a test looks at everything");
    let store = SqliteStore::open(home.data().join("graph.db")).await.expect("the store");
    let ids: Vec<MemoryId> = log.memories.keys().map(|id| id.parse().expect("an id")).collect();
    let found = store.memories(&ids, Default::default(), &everything).await.expect("memories");
    let found: BTreeMap<String, String> =
        found.into_iter().map(|memory| (memory.id.to_string(), memory.content)).collect();
    for (id, Expected { contents, there }) in &log.memories {
        match (found.get(id), there) {
            (Some(content), Some(true) | None) => assert!(contents.contains(content), "round {round}: {id}: {content}"),
            (None, Some(false) | None) => {}
            (found, there) => panic!("round {round}: {id} {contents:?}: found {found:?}, expected {there:?}"),
        }
    }
    let counted = store.page(None, usize::MAX >> 1, &everything).await.expect("memories");
    let mut by_content: BTreeMap<&str, usize> = BTreeMap::new();
    counted.iter().for_each(|memory| *by_content.entry(&memory.content).or_default() += 1);
    assert!(by_content.values().all(|count| *count == 1), "round {round}: {by_content:?}");
    for (from, to) in &log.links {
        if !found.contains_key(from) || !found.contains_key(to) {
            continue;
        }
        let edges = store.edges_of(from.parse().expect("an id"), 1000, &everything).await.expect("edges");
        let there = |edge: &recollect::domain::Edge| edge.kind == EdgeKind::Causes && edge.to.to_string() == *to;
        assert_eq!(edges.iter().filter(|edge| there(edge)).count(), 1, "round {round}: {from} to {to}");
    }
}

/// A word of letters alone, which the tokeniser neither splits nor stems.
fn word(number: &str) -> String {
    let letter = |byte: u8| char::from(if byte.is_ascii_digit() { b'k' + byte - b'0' } else { byte + 1 });
    format!("zq{}z", number.bytes().map(letter).collect::<String>())
}

/// Kills a service that writers still hold.
fn kill(served: &Served) {
    let status =
        std::process::Command::new("kill").args(["-9", &served.pid().to_string()]).status().expect("kill runs");
    assert!(status.success());
}
