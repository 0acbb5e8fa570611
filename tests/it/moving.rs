//! Data that is kept elsewhere, or moves: archives and their format, migrations that are killed, backups and their way back.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
    time::Duration,
};

use recollect::{
    backends::{
        archive::{ArchiveError, ArchiveFolder, ArchiveWriter, FORMAT, Manifest},
        exact::ExactIndex,
        sqlite::SqliteStore,
    },
    jobs::{MoveError, carry, read_all},
    ports::{ArchiveSource, GraphStore, Part, Row, SpaceSpec},
};
use serde_json::{Value, json};

use crate::{
    contract::{
        archive::{file, fill, rows, whole},
        neo4j,
    },
    support::{at, process::Home, qdrant::QdrantServer},
};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

/// Runs a command that must fail with these words.
fn fails(home: &Home, args: &[&str], words: &[&str]) {
    let output = home.run(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}: {output:?}");
    for word in words {
        assert!(stderr(&output).contains(word), "{args:?}: {word:?} is not in {}", stderr(&output));
    }
}

/// A vocabulary, so that memories are linked to it.
const HARBOUR: &str = r#"@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix : <http://e/> .
:mark a skos:Concept ; skos:prefLabel "mark"@en , "标志"@zh .
:buoy a skos:Concept ; skos:prefLabel "buoy"@en ; skos:broader :mark ; skos:exactMatch :elsewhere .
"#;

/// A home with memories, links, votes, events, histories, a forgotten one, and ontologies in two versions.
fn lived_in(memories: usize) -> Home {
    let home = Home::new();
    let lines: Vec<String> = (0..memories)
        .map(|n| {
            json!({"external_id": format!("row {n}"), "content": format!("buoy {n} was painted"), "title": format!("buoy {n}"),
                "session_id": format!("day {}", n % 7), "speaker": "Mia", "causes": [format!("row {}", (n + 1) % memories)]})
            .to_string()
        })
        .collect();
    let path = home.path().join("lines.jsonl");
    fs::write(&path, lines.join("\n")).expect("written");
    home.json(&["import", "memories", text(&path)]);
    let id = |reply: &Value| reply["id"].as_str().expect("an id").to_owned();
    let gate =
        id(&home.json(&["store", "the harbour gate opens at nine", "--title", "harbour gate", "--session", "watch"]));
    home.json(&["update", &gate, "--tags", "gate"]);
    home.json(&["feedback", &gate, "--useful", "true"]);
    home.json(&["observe", "user_correction", "--text", "the gate opens at ten", "--session", "watch"]);
    let gone = id(&home.json(&["store", "a word that nobody keeps"]));
    home.json(&["forget", &gone]);
    home.json(&["token", "create", "--principal", "kai", "--kind", "service", "--rights", "memory:read"]);
    let vocabulary = home.path().join("harbour.ttl");
    fs::write(&vocabulary, HARBOUR).expect("written");
    home.json(&["ontology", "import", text(&vocabulary)]);
    fs::write(&vocabulary, HARBOUR.replace("buoy\"@en", "buoy\"@en , \"浮标\"@zh")).expect("written");
    home.json(&["ontology", "import", text(&vocabulary)]);
    home
}

fn manifest(folder: &Path) -> Manifest {
    serde_json::from_slice(&fs::read(folder.join("manifest.json")).expect("a manifest")).expect("JSON")
}

/// Both archives have the same rows, in whatever order; vectors, which an index may round, the same number.
fn assert_same_rows(one: &Path, other: &Path) {
    let lines = |folder: &Path, part: &Part| {
        let text = fs::read_to_string(folder.join(format!("{part}.jsonl"))).expect("a part");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(manifest(one).parts.keys().collect::<Vec<_>>(), manifest(other).parts.keys().collect::<Vec<_>>());
    for part in Part::ALL {
        let (one, other) = (lines(one, part), lines(other, part));
        assert_eq!(one.len(), other.len(), "{part}");
        assert!(*part == Part::Vectors || one == other, "{part}: {one:?} {other:?}");
    }
}

#[test]
fn an_exported_store_is_the_same_after_its_import() {
    let home = lived_in(20);
    let archive = home.path().join("kept/");
    let told = home.json(&["export", text(&archive)]);
    assert_eq!(told["exported"]["memories"], told["exported"]["vectors"], "{told}");
    for part in [
        "meta",
        "tokens",
        "concepts",
        "concept_edges",
        "ontology_versions",
        "terms",
        "memory_states",
        "edges",
        "mentions",
        "events",
        "votes",
        "changes",
    ] {
        assert!(told["exported"][part].as_u64() > Some(0), "{part}: {told}");
    }
    fails(&home, &["export", text(&archive)], &["kept is there already"]);
    let other = Home::new();
    assert_eq!(other.json(&["import", "archive", text(&archive)])["imported"], told["exported"]);
    // Again, it finds that all is there.
    assert_eq!(other.json(&["import", "archive", text(&archive)])["imported"], told["exported"]);
    let again = other.path().join("again");
    other.json(&["export", text(&again)]);
    assert_same_rows(&archive, &again);
    assert_eq!(other.json(&["doctor"])["ok"], true);
    let asked =
        |home: &Home| home.json(&["recall", "when does the harbour gate open", "--mode", "semantic"])["items"].clone();
    let ids = |items: Value| -> Vec<Value> {
        items.as_array().expect("items").iter().map(|item| item["id"].clone()).collect()
    };
    assert_eq!(ids(asked(&home)), ids(asked(&other)));
    assert!(!ids(asked(&other)).is_empty());
    other.json(&["store", "something of its own"]);
    fails(&other, &["import", "archive", text(&archive)], &["not empty"]);
}

#[test]
fn an_archive_may_leave_tokens_out_and_an_import_vectors() {
    let home = lived_in(3);
    let archive = home.path().join("kept");
    home.json(&["export", text(&archive), "--without-tokens"]);
    assert!(!archive.join("tokens.jsonl").exists());
    let other = Home::new();
    let told = other.json(&["import", "archive", text(&archive), "--without-vectors"]);
    assert!(told["imported"].get("tokens").is_none() && told["imported"].get("vectors").is_none(), "{told}");
    fails(&other, &["recall", "harbour"], &["recollect reindex"]);
    other.json(&["reindex"]);
    assert_eq!(other.json(&["doctor"])["ok"], true);
}

#[test]
fn an_archive_of_other_models_is_refused_by_name() {
    let home = lived_in(2);
    let archive = home.path().join("kept");
    home.json(&["export", text(&archive)]);
    let other = Home::new();
    other.configure("[[models.embedders]]\nname = \"hashing-2\"\nkind = \"hashing\"\n");
    fails(
        &other,
        &["import", "archive", text(&archive)],
        &["embedded with hashing (", "hashing-2 (", "--without-vectors"],
    );
}

/// The folder with this sample, made by whoever wrote the format.
fn sample(format: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/data/archive-v{format}"))
}

fn small_index() -> ExactIndex {
    ExactIndex::new(&["small", "small.window"].map(|name| SpaceSpec { name: name.to_owned(), dimension: 4 }))
}

async fn write_archive(source: &dyn ArchiveSource, folder: &Path) -> Manifest {
    let mut writer = ArchiveWriter::create(folder, Part::ALL).await.unwrap();
    read_all::<anyhow::Error>(source, Part::ALL, async |part, rows: Vec<Row>| Ok(writer.add(part, &rows).await?))
        .await
        .unwrap();
    writer.finish(source.identity().await.unwrap(), at(100)).await.unwrap()
}

#[tokio::test]
async fn the_archive_of_the_sample_changes_only_with_its_format() {
    let ((store, _keep), index) = (file().await, small_index());
    fill(&store, &index).await;
    let folder = tempfile::tempdir().unwrap();
    let written = write_archive(&whole(&store, &index), &folder.path().join("now")).await;
    let kept = sample(FORMAT);
    if !kept.exists() {
        write_archive(&whole(&store, &index), &kept).await;
        panic!("{} was written; look at it and keep it", kept.display());
    }
    assert_eq!(written, manifest(&kept), "what is written changed: raise FORMAT, and keep the old sample");
}

#[tokio::test]
async fn archives_of_every_format_so_far_are_read() {
    let newest = ArchiveFolder::open(&sample(FORMAT), |_, _| {}).await.unwrap();
    for format in 1..=FORMAT {
        let archive = ArchiveFolder::open(&sample(format), |_, _| {}).await.unwrap();
        let ((store, _keep), index) = (file().await, small_index());
        carry(&archive, &whole(&store, &index), Part::ALL, |_, _| {}).await.unwrap();
        let (read, newest) = (rows(&whole(&store, &index)).await, rows(&newest).await);
        // An older format lacks what there was not yet.
        assert!(read.iter().all(|row| newest.contains(row)), "format {format}");
        assert!(format < FORMAT || read.len() == newest.len(), "format {format}");
    }
}

#[tokio::test]
async fn a_damaged_archive_is_refused_and_its_file_named() {
    let folder = tempfile::tempdir().unwrap();
    let change = |file: &str, from: &str, to: &str| {
        let (file, from, to) = (file.to_owned(), from.to_owned(), to.to_owned());
        move |dir: &Path| {
            let path = dir.join(&file);
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains(&from));
            fs::write(path, text.replacen(&from, &to, 1)).unwrap();
        }
    };
    let cases: Vec<(Box<dyn Fn(&Path)>, &[&str])> = vec![
        (Box::new(change("memories.jsonl", "ten", "six")), &["memories.jsonl is damaged", "SHA-256"]),
        (Box::new(change("events.jsonl", "\n", "")), &["events.jsonl is damaged", "bytes"]),
        (Box::new(|dir| fs::remove_file(dir.join("votes.jsonl")).unwrap()), &["votes.jsonl is damaged", "missing"]),
        (Box::new(change("manifest.json", "\"edges\"", "\"hedges\"")), &["manifest.json is damaged", "hedges"]),
        (Box::new(change("manifest.json", "\"rows\"", "\"lines\"")), &["manifest.json is damaged", "lines"]),
        (
            Box::new(change("manifest.json", "\"format\": 1", "\"format\": 99")),
            &["format 99", "up to 3", "newer program"],
        ),
        (Box::new(|dir| fs::remove_file(dir.join("manifest.json")).unwrap()), &["is not an archive", "manifest.json"]),
    ];
    for (number, (damage, words)) in cases.into_iter().enumerate() {
        let dir = folder.path().join(number.to_string());
        fs::create_dir(&dir).unwrap();
        for entry in fs::read_dir(sample(1)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), dir.join(entry.file_name())).unwrap();
        }
        damage(&dir);
        let refused: ArchiveError = ArchiveFolder::open(&dir, |_, _| {}).await.unwrap_err();
        for word in words {
            assert!(refused.to_string().contains(word), "{number}: {word:?} is not in {refused}");
        }
    }
}

#[tokio::test]
async fn an_archive_has_its_name_only_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("kept");
    drop(ArchiveWriter::create(&dir, Part::ALL).await.unwrap());
    assert!(!dir.exists());
    let ((store, _keep), index) = (file().await, small_index());
    write_archive(&whole(&store, &index), &dir).await;
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "what the first one left is gone");
    ArchiveFolder::open(&dir, |_, _| {}).await.unwrap();
}

#[tokio::test]
async fn a_store_that_is_written_to_meanwhile_is_no_archive() {
    let ((store, _keep), index) = (file().await, small_index());
    fill(&store, &index).await;
    let later = crate::support::change(50, Vec::new());
    let refused = read_all::<MoveError>(&whole(&store, &index), Part::ALL, async |part, _| {
        if part == Part::Votes {
            store.apply(std::slice::from_ref(&later)).await?;
        }
        Ok(())
    })
    .await
    .unwrap_err();
    assert!(matches!(refused, MoveError::Changed), "{refused}");
}

#[tokio::test]
async fn half_a_store_is_not_served() {
    let home = lived_in(2);
    let store = SqliteStore::open(home.data().join("graph.db")).await.unwrap();
    store.set_meta("moving", "{}").await.unwrap();
    drop(store);
    fails(&home, &["recall", "harbour"], &["cut short; run it again"]);
    fails(&home, &["export", text(&home.path().join("kept"))], &["cut short; run it again"]);
}

#[test]
fn a_migration_that_is_killed_goes_on_and_loses_nothing() {
    let home = lived_in(150);
    let before = home.path().join("before");
    home.json(&["export", text(&before)]);
    let target = Home::new();
    let to = format!("sqlite:{}", target.data().join("graph.db").display());
    let args = ["migrate", "--from", "sqlite:graph.db", "--to", &to];
    let mut killed = 0;
    // A start alone takes some of this, on a loaded machine most of it; each try lives longer than the one before.
    for wait in (0..).map(|tries| Duration::from_millis(50).mul_f64(1.3_f64.powi(tries))) {
        let mut child = home.command(&args).spawn().expect("a migration");
        std::thread::sleep(wait);
        if let Some(ended) = child.try_wait().expect("a child") {
            assert!(ended.success());
            break;
        }
        child.kill().expect("kill -9");
        child.wait().expect("gone");
        killed += 1;
    }
    assert!(killed > 0);
    let after = target.path().join("after");
    target.json(&["export", text(&after)]);
    assert_same_rows(&before, &after);
    assert_eq!(target.json(&["doctor"])["ok"], true);
    target.json(&["store", "something of its own"]);
    fails(&home, &args, &["the target is not empty"]);
}

#[test]
fn a_migration_says_what_it_cannot_do() {
    let home = lived_in(2);
    let elsewhere = home.path().join("elsewhere");
    let to = format!("sqlite:{}", elsewhere.join("graph.db").display());
    let told = home.json(&["migrate", "--from", "sqlite:graph.db", "--to", &to, "--to-vectors", "memory:"]);
    assert!(told["migrated"].get("vectors").is_none(), "an index in memory keeps none: {told}");
    for (args, words) in [
        (["--from", "sqlite:graph.db", "--to", "sqlite:graph.db"], "--to: is what the data comes from"),
        (["--from", "sqlite:none.db", "--to", "sqlite:other.db"], "--from: sqlite:none.db is not there"),
        (["--from", "sqlite:graph.db", "--to", "sqlite:other.db"], "--to-vectors: is what the data comes from"),
        (["--from", "sqlite:graph.db", "--to", "neo4j://db:7687"], "--to-vectors: must be given"),
    ] {
        let output = home.run(&[&["migrate"], &args[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
        assert!(stderr(&output).contains(words), "{args:?}: {}", stderr(&output));
    }
    assert!(!home.data().join("other.db").exists() && !home.data().join("none.db").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_taken_while_the_service_writes_and_brings_back_that_moment() {
    let home = Home::new();
    let served = home.serve(&[]);
    let stored = served.call("memory_store", json!({"content": "the lighthouse is red"})).await.expect("stored");
    let backup = home.path().join("backup.db");
    home.json(&["backup", text(&backup)]);
    fails(&home, &["backup", text(&backup)], &["already exists"]);
    served.call("memory_store", json!({"content": "the lighthouse is white now"})).await.expect("stored");
    fails(&home, &["restore", text(&backup), "--force"], &["in use by process"]);
    served.kill();
    fails(&home, &["restore", text(&backup)], &["graph.db is there", "--force"]);
    // A file that is no backup changes nothing.
    let bad = home.path().join("bad.db");
    let mut bytes = fs::read(&backup).expect("a backup");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].fill(0xaa);
    fs::write(&bad, bytes).expect("written");
    fails(&home, &["restore", text(&bad), "--force"], &["damaged"]);
    fs::write(&bad, "").expect("written");
    fails(&home, &["restore", text(&bad), "--force"], &["empty"]);
    let told = home.json(&["restore", text(&backup), "--force"]);
    assert_eq!(told["indexed"], 1, "{told}");
    assert_eq!(home.json(&["doctor"])["ok"], true);
    let served = home.serve(&[]);
    let found = served.call("memory_recall", json!({"query": "lighthouse"})).await.expect("an answer");
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(found["items"][0]["id"], stored["id"], "tokens and memories are those of the backup");
    let kept =
        fs::read_dir(home.data()).expect("the folder").filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    assert_eq!(kept.filter(|name| name.contains("graph.db.before-") && !name.ends_with("-wal")).count(), 1);
}

#[test]
fn a_restore_that_was_cut_short_is_said_and_done_again() {
    let home = lived_in(2);
    let backup = home.path().join("backup.db");
    home.json(&["backup", text(&backup)]);
    // As a kill leaves it before the last step.
    fs::rename(home.data().join("graph.db"), home.data().join("graph.db.restoring")).expect("renamed");
    fails(&home, &["recall", "harbour"], &["cut short; run `recollect restore FILE` again"]);
    home.json(&["restore", text(&backup)]);
    assert_eq!(home.json(&["doctor"])["ok"], true);
    let empty = Home::new();
    fails(&empty, &["backup", text(&empty.path().join("none"))], &["graph.db is not there"]);
}

/// Embedded, then servers, then embedded again: the same memories, and the same answers on the way.
#[tokio::test(flavor = "multi_thread")]
async fn a_migration_to_servers_and_back_loses_nothing() {
    let Some((_store, _turn)) = neo4j::open().await else { return };
    let (graph, qdrant) = (neo4j::server().expect("it is open"), QdrantServer::start().await);
    let home = lived_in(40);
    let before = home.path().join("before");
    home.json(&["export", text(&before)]);
    let to_servers = ["migrate", "--from", "sqlite:graph.db", "--to", &graph, "--to-vectors", &qdrant.url()];
    let moved = home.json(&to_servers)["migrated"].clone();
    assert_eq!(moved["vectors"], moved["memories"], "{moved}");
    let straight_back = Home::new();
    let to = format!("sqlite:{}", straight_back.data().join("graph.db").display());
    home.json(&["migrate", "--from", &graph, "--from-vectors", &qdrant.url(), "--to", &to]);
    let after = straight_back.path().join("after");
    straight_back.json(&["export", text(&after)]);
    assert_same_rows(&before, &after);
    assert_eq!(straight_back.json(&["doctor"])["ok"], true);
    let on_servers = Home::new();
    // A loaded machine is slow; nothing here waits for this to pass.
    on_servers.configure(&format!(
        "[read]\ndeadline_ms = 60000\n[graph]\nurl = {graph:?}\ntimeout_ms = 60000\n[vectors]\nurl = {:?}\n\
         [vectors.qdrant]\ntimeout_ms = 60000\n",
        qdrant.url()
    ));
    let found = |home: &Home, mode: &str| -> Vec<String> {
        let answer = home.json(&["recall", "who painted buoy 7", "--mode", mode]);
        let items = answer["items"].as_array().expect("items").iter();
        items.map(|item| item["id"].as_str().expect("an id").to_owned()).collect()
    };
    for mode in ["semantic", "keyword", "hybrid"] {
        let (embedded, served) = (found(&home, mode), found(&on_servers, mode));
        assert_eq!(embedded.first(), served.first(), "{mode}");
        assert_eq!(embedded.len(), served.len(), "{mode}");
    }
    assert_eq!(on_servers.json(&["doctor"])["ok"], true);
    let (versions, shown) = (home.json(&["ontology", "versions"]), home.json(&["ontology", "show", "浮标"]));
    assert!(shown["memories"].as_u64() >= Some(40), "{shown}");
    for there in [&on_servers, &straight_back] {
        assert_eq!(there.json(&["ontology", "versions"]), versions);
        assert_eq!(there.json(&["ontology", "show", "浮标"]), shown);
        let back = there.json(&["ontology", "rollback", "1"]);
        assert_eq!((&back["number"], &back["graph_hash"]), (&json!(3), &versions["versions"][1]["graph_hash"]));
        assert!(there.json(&["ontology", "show", "buoy"])["memories"].as_u64() >= Some(40));
    }
}
