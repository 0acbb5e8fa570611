//! The SQLite store: the suites, and what is its own: opening, damage, backup, the bytes in its file.

use std::{fs, path::Path};

use recollect::{
    backends::sqlite::SqliteStore,
    domain::{AsOf, ConceptKey, EdgeKind, Filter, IndexOp, Memory, NamedVector, Op, Scope, Status, Visibility},
    ports::{Browse, GraphStore, KeywordQuery, PortError, PortErrorKind},
};
use tempfile::TempDir;

use super::{
    archive::archive_suite, browse::browse_suite, graph_store::graph_store_suite, journal::journal_suite,
    ontology_store::ontology_store_suite, review_store::review_store_suite, token_store::token_store_suite,
};
use crate::support::{at, change, id, memory};

async fn open() -> Option<(SqliteStore, TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    Some((SqliteStore::open(folder.path().join("store.db")).await.unwrap(), folder))
}

archive_suite!(crate::contract::sqlite::open);
browse_suite!(crate::contract::sqlite::open);
graph_store_suite!(crate::contract::sqlite::open);
token_store_suite!(crate::contract::sqlite::open);
journal_suite!(crate::contract::sqlite::open);
review_store_suite!(crate::contract::sqlite::open);
ontology_store_suite!(crate::contract::sqlite::open);

fn all() -> Visibility {
    Visibility::system("the tests of the file look at everything")
}

fn put(memory: Memory) -> Op {
    Op::PutMemory { expected_revision: memory.revision - 1, memory: Box::new(memory), vectors: Vec::new() }
}

async fn refused(path: &Path, kind: PortErrorKind, words: &str) {
    let before = fs::read(path).unwrap();
    let error = SqliteStore::open(path).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind, kind);
    assert!(reason(&error).contains(words), "{}", reason(&error));
    assert_eq!(fs::read(path).unwrap(), before, "a refused file is not touched");
}

fn reason(error: &PortError) -> String {
    error.source.as_ref().map(ToString::to_string).unwrap_or_default()
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let kept = memory(1, &Scope::Global, "kept");
    let store = SqliteStore::open(&path).await.unwrap();
    store.apply(&[change(1, vec![put(kept.clone())])]).await.unwrap();
    drop(store);
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.page(None, 10, &all()).await.unwrap(), [kept]);
}

/// A file of the first format, with a memory that was updated once and one that was archived.
fn file_of_the_first_format(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch(include_str!("../../../src/backends/sqlite/migrations/0001_start.sql")).unwrap();
    connection.execute_batch("PRAGMA user_version = 1; PRAGMA application_id = 1919247215;").unwrap();
    connection.execute("INSERT INTO scope (id, key) VALUES (3, 'private:alice')", []).unwrap();
    let scope = Scope::Private("alice".to_owned());
    let old =
        Memory { valid_from: Some("2020-01-02T03:04:05.000678Z".parse().unwrap()), ..memory(10, &scope, "apple") };
    let new = Memory { revision: 2, recorded_at: at(20), ..memory(10, &scope, "pear") };
    let gone = Memory { status: Status::Archived, retired_at: Some(at(30)), ..memory(11, &scope, "plum") };
    let micros = |second| at(second).as_microsecond();
    for (rowid, memory, revised_at) in [(1, &new, micros(20)), (2, &gone, micros(11))] {
        connection
            .execute(
                "INSERT INTO memory (rowid, id, scope, status, kind, type, language, tags, occurred_at, recorded_at,
                    retired_at, revision, revised_at, content_hash, access_count, body)
                 VALUES (?1, ?2, 3, ?3, 'semantic', 'fact', 'en', '[]', ?4, ?5, ?6, ?7, ?8, ?9, 0, ?10)",
                rusqlite::params![
                    rowid,
                    memory.id.0.as_bytes(),
                    memory.status.name(),
                    memory.occurred_at.as_microsecond(),
                    memory.recorded_at.as_microsecond(),
                    memory.retired_at.map(|time| time.as_microsecond()),
                    memory.revision.cast_signed(),
                    revised_at,
                    memory.content_hash,
                    serde_json::to_string(memory).unwrap(),
                ],
            )
            .unwrap();
        let terms = "INSERT INTO memory_terms (rowid, terms, scope) VALUES (?1, ?2, 's3')";
        connection.execute(terms, rusqlite::params![rowid, memory.terms]).unwrap();
    }
    let revision =
        "INSERT INTO memory_revision (memory, revision, believed_from, believed_to, body) VALUES (1, 1, ?1, ?2, ?3)";
    let body = serde_json::to_string(&old).unwrap();
    connection.execute(revision, rusqlite::params![micros(10), micros(20), body]).unwrap();
}

#[tokio::test]
async fn history_of_the_first_format_is_found_by_its_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    file_of_the_first_format(&path);
    let store = SqliteStore::open(&path).await.unwrap();
    let found = async |word: &str, second: i64, world: Option<&str>| {
        let as_of = AsOf { known: Some(at(second)), world: world.map(|world| world.parse().unwrap()) };
        let filter = Filter { as_of, ..Filter::default() };
        let query = KeywordQuery { terms: vec![word.to_owned()], filter, limit: 10 };
        store.keyword(&query, &all()).await.unwrap().len()
    };
    for (word, second, expected) in [
        ("apple", 9, 0),
        ("apple", 10, 1),
        ("apple", 20, 0),
        ("pear", 15, 0),
        ("pear", 20, 1),
        ("plum", 29, 1),
        ("plum", 30, 0),
    ] {
        assert_eq!(found(word, second, None).await, expected, "{word} in second {second}");
    }
    // Times came over to the microsecond.
    assert_eq!(found("apple", 15, Some("2020-01-02T03:04:05.000677Z")).await, 0);
    assert_eq!(found("apple", 15, Some("2020-01-02T03:04:05.000678Z")).await, 1);
    let states = store.revisions(id(10), &all()).await.unwrap();
    assert_eq!(states.iter().map(|(.., memory)| memory.content.as_str()).collect::<Vec<_>>(), ["apple", "pear"]);
    store.apply(&[change(40, vec![Op::Forget { id: id(10) }])]).await.unwrap();
    assert_eq!(found("apple", 15, None).await, 0);
    drop(store);
    SqliteStore::open(&path).await.unwrap();
}

#[tokio::test]
async fn file_of_the_first_format_is_brought_up_to_date_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let first = include_str!("../../../src/backends/sqlite/migrations/0001_start.sql");
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch(first).unwrap();
    raw.execute_batch(
        "INSERT INTO change (id, at, actor, use_case, ops) VALUES (zeroblob(16), 7, 'ann', 'store', 1);
         PRAGMA application_id = 1919247215; PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(raw);
    let store = SqliteStore::open(&path).await.unwrap();
    store.apply(&[change(2, vec![put(memory(1, &Scope::Global, "new"))])]).await.unwrap();
    let log = Browse::audit(&store, None, 10, &all()).await.unwrap();
    assert_eq!(log.iter().map(|row| (row.actor.as_str(), row.total)).collect::<Vec<_>>(), [("alice", 1), ("ann", 0)]);
}

#[tokio::test]
async fn two_processes_may_open_the_same_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (one, two) = tokio::join!(SqliteStore::open(&path), SqliteStore::open(&path));
    let (one, two) = (one.unwrap(), two.unwrap());
    let mut writes = Vec::new();
    for n in 1..=40 {
        let store = if n % 2 == 0 { one.clone() } else { two.clone() };
        writes.push(tokio::spawn(
            async move { store.apply(&[change(n, vec![put(memory(n, &Scope::Global, "x"))])]).await },
        ));
    }
    for write in writes {
        write.await.unwrap().unwrap();
    }
    assert_eq!(one.counts(&all()).await.unwrap().memories, 40);
    assert_eq!(two.counts(&all()).await.unwrap().memories, 40);
}

#[tokio::test]
async fn file_that_is_no_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fs::write(&path, "This is not a database at all, it is a letter to a friend.".repeat(100)).unwrap();
    refused(&path, PortErrorKind::Corrupt, "restore a backup").await;
}

#[tokio::test]
async fn damaged_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let ops = (1..=400).map(|n| put(memory(n, &Scope::Global, &format!("text {n} ").repeat(20)))).collect();
    store.apply(&[change(1, ops)]).await.unwrap();
    let whole = folder.path().join("whole.db");
    store.backup_to(&whole).await.unwrap();
    let mut bytes = fs::read(&whole).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 30_000].fill(0xA5);
    fs::write(&whole, &bytes).unwrap();
    refused(&whole, PortErrorKind::Corrupt, "restore a backup").await;
    fs::write(&whole, &bytes[..middle]).unwrap();
    refused(&whole, PortErrorKind::Corrupt, "restore a backup").await;
}

#[tokio::test]
async fn newer_format_and_foreign_database_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let newer = folder.path().join("newer.db");
    drop(SqliteStore::open(&newer).await.unwrap());
    rusqlite::Connection::open(&newer)
        .unwrap()
        .execute_batch("PRAGMA user_version = 99; PRAGMA journal_mode = DELETE;")
        .unwrap();
    refused(&newer, PortErrorKind::Mismatch, "format 99").await;
    let foreign = folder.path().join("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE songs (name TEXT)").unwrap();
    refused(&foreign, PortErrorKind::Mismatch, "another program").await;
}

#[tokio::test]
async fn empty_file_is_filled_unless_a_log_lies_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fs::write(&path, "").unwrap();
    drop(SqliteStore::open(&path).await.unwrap());
    fs::write(&path, "").unwrap();
    fs::write(folder.path().join("store.db-wal"), "a log that would be thrown away").unwrap();
    refused(&path, PortErrorKind::Corrupt, "restore a backup").await;
}

#[tokio::test]
async fn missing_folder_is_an_error_and_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let error = SqliteStore::open(folder.path().join("none/store.db")).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind, PortErrorKind::Unavailable);
    assert!(!folder.path().join("none").exists());
}

#[tokio::test]
async fn backup_is_one_file_as_of_one_moment() {
    let (store, folder) = open().await.unwrap();
    let ops = (1..=50).map(|n| put(memory(n, &Scope::Global, "before"))).collect();
    store.apply(&[change(1, ops)]).await.unwrap();
    let target = folder.path().join("backup.db");
    store.backup_to(&target).await.unwrap();
    store.apply(&[change(2, vec![put(memory(51, &Scope::Global, "after"))])]).await.unwrap();
    assert_eq!(store.backup_to(&target).await.unwrap_err().kind, PortErrorKind::Unavailable, "no file is replaced");
    let names: Vec<String> =
        fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name.starts_with("backup.db") && name != "backup.db"), "{names:?}");
    let copy = SqliteStore::open(&target).await.unwrap();
    assert_eq!(copy.page(None, 100, &all()).await.unwrap().len(), 50);
    assert_eq!(store.counts(&all()).await.unwrap().memories, 51);
}

#[tokio::test]
async fn forgotten_memory_leaves_no_bytes() {
    let (store, folder) = open().await.unwrap();
    let secret = ["qqxcontent", "qqxtitle", "qqxtag", "qqxterm", "qqxlabel", "qqxsession", "qqxanswer"];
    let mut ops: Vec<Op> = (10..200).map(|n| put(memory(n, &Scope::Global, &format!("common qq{n} other")))).collect();
    let told = Memory {
        title: Some(secret[1].to_owned()),
        tags: vec![secret[2].to_owned()],
        terms: format!("common {} zz", secret[3]),
        session_id: Some(secret[5].to_owned()),
        ..memory(1, &Scope::Global, secret[0])
    };
    let topic = recollect::domain::Concept::from_text(ConceptKey(secret[4].to_owned()), secret[4].to_owned());
    ops.push(Op::PutMemory {
        memory: Box::new(told.clone()),
        expected_revision: 0,
        vectors: vec![NamedVector { space: "e5".to_owned(), vector: vec![1.234_567_8e-20; 64] }],
    });
    ops.push(Op::PutConcept(topic.clone()));
    ops.push(Op::PutEdge(recollect::domain::Edge {
        from: id(1).0,
        to: topic.id.0,
        kind: EdgeKind::Mentions,
        weight: 1.0,
        reason: None,
        scope: Scope::Global,
        recorded_at: told.recorded_at,
    }));
    let mut stored = change(1, ops);
    stored.idempotency = Some(recollect::domain::Idempotency {
        key: "k".to_owned(),
        request_hash: "h".to_owned(),
        answer: serde_json::json!({"summary": secret[6], "id": id(1)}),
    });
    store.apply(&[stored]).await.unwrap();
    store.apply(&[change(3, vec![put(Memory { revision: 2, ..told })])]).await.unwrap();
    let bytes = |folder: &TempDir| -> Vec<u8> {
        fs::read_dir(folder.path()).unwrap().flat_map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
    };
    let holds = |bytes: &[u8], needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
    let vector = [1.234_567_8e-20_f32.to_le_bytes(); 4].concat();
    let before = bytes(&folder);
    // FTS5 keeps only what a term does not share with the one before it.
    let traces: Vec<&[u8]> = secret.iter().map(|word| &word.as_bytes()[2..]).chain([&vector[..]]).collect();
    assert!(traces.iter().all(|trace| holds(&before, trace)), "they were written");

    store.apply(&[change(4, vec![Op::Forget { id: id(1) }])]).await.unwrap();
    let after = bytes(&folder);
    for trace in traces {
        assert!(!holds(&after, trace), "{:?} is still in the files", String::from_utf8_lossy(trace));
    }
    assert!(holds(&after, b"common"));
}

#[tokio::test]
async fn half_links_are_counted_and_repaired() {
    let (store, folder) = open().await.unwrap();
    let link = |a, b| {
        Op::PutEdge(recollect::domain::Edge {
            from: id(a).0,
            to: id(b).0,
            kind: EdgeKind::Causes,
            weight: 1.0,
            reason: None,
            scope: Scope::Global,
            recorded_at: at(1),
        })
    };
    let ops = vec![
        put(memory(1, &Scope::Global, "a")),
        put(memory(2, &Scope::Global, "b")),
        put(memory(3, &Scope::Global, "c")),
    ];
    store.apply(&[change(1, [ops, vec![link(1, 2), link(2, 3), link(3, 1)]].concat())]).await.unwrap();
    rusqlite::Connection::open(folder.path().join("store.db"))
        .unwrap()
        .execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM memory WHERE rowid = 2;")
        .unwrap();
    assert_eq!(store.half_links(false).await.unwrap(), 2);
    assert_eq!(store.half_links(true).await.unwrap(), 2);
    assert_eq!(store.half_links(false).await.unwrap(), 0);
    assert_eq!(store.edges_of(id(3).0, 10, &all()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn outbox_row_that_cannot_be_read_is_corrupt_and_says_nothing_of_its_content() {
    let (store, folder) = open().await.unwrap();
    let vectors = vec![NamedVector { space: "e5".to_owned(), vector: vec![1.0, 2.0] }];
    let op = Op::PutMemory { memory: Box::new(memory(1, &Scope::Global, "x")), expected_revision: 0, vectors };
    store.apply(&[change(1, vec![op])]).await.unwrap();
    assert!(matches!(store.outbox(0, 1).await.unwrap()[0].op, IndexOp::Upsert(_)));
    let raw = rusqlite::Connection::open(folder.path().join("store.db")).unwrap();
    for damage in
        ["UPDATE outbox SET vectors = x'0500'", "UPDATE outbox SET vectors = NULL", "UPDATE outbox SET op = 'hush'"]
    {
        raw.execute_batch(damage).unwrap();
        let error = store.outbox(0, 1).await.unwrap_err();
        assert_eq!(
            (error.kind, reason(&error).as_str()),
            (PortErrorKind::Corrupt, "stored outbox row cannot be read"),
            "{damage}"
        );
    }
}

#[tokio::test]
async fn readers_go_on_while_a_write_is_held_up() {
    let (store, folder) = open().await.unwrap();
    store.apply(&[change(1, vec![put(memory(1, &Scope::Global, "x"))])]).await.unwrap();
    let other = rusqlite::Connection::open(folder.path().join("store.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let held = tokio::spawn({
        let store = store.clone();
        async move { store.apply(&[change(2, vec![put(memory(2, &Scope::Global, "y"))])]).await }
    });
    for _ in 0..20 {
        assert_eq!(store.memories(&[id(1)], AsOf::default(), &all()).await.unwrap().len(), 1);
    }
    assert!(!held.is_finished());
    other.execute_batch("ROLLBACK").unwrap();
    held.await.unwrap().unwrap();
    assert_eq!(store.counts(&all()).await.unwrap().memories, 2);
}
