//! Damaged data: the index is built anew while words are searched, a damaged graph is never taken for an empty one, and a
//! full disk refuses writes until there is room.

use std::{
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::process::{Home, Served};

const MEMORIES: usize = 40;

/// A data folder with memories, cleanly closed.
async fn filled() -> Home {
    let home = Home::new();
    let served = home.serve(&[]);
    for n in 0..MEMORIES {
        let content = format!("the harbour has lamp number {n} of {MEMORIES}");
        served.call("memory_store", json!({"content": content})).await.expect("stored");
    }
    served.stop();
    home
}

async fn ready(served: &Served) -> Value {
    serde_json::from_str(&served.page("/readyz").await).expect("JSON")
}

async fn recall(served: &Served, mode: &str) -> Value {
    let asked = json!({"query": "harbour lamp number 7", "mode": mode, "limit": 3});
    served.call("memory_recall", asked).await.expect("an answer")
}

/// The largest files of the index, which hold its vectors.
fn large_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().contains("vector_storage")
                && path.extension().is_some_and(|it| it == "mmap")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no vectors in {}", dir.display());
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_index_is_said_and_built_anew_while_words_are_searched() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("deleted", |dir| fs::remove_dir_all(dir).expect("removed")),
        ("truncated", |dir| {
            let file = &large_files(dir)[0];
            let length = fs::metadata(file).expect("a file").len();
            fs::OpenOptions::new().write(true).open(file).expect("a file").set_len(length / 2).expect("cut");
        }),
        ("a flipped bit", |dir| {
            let path = &large_files(dir)[0];
            let file = fs::OpenOptions::new().read(true).write(true).open(path).expect("a file");
            let mut byte = [0];
            file.read_exact_at(&mut byte, 64).expect("read");
            file.write_all_at(&[byte[0] ^ 4], 64).expect("written");
        }),
        ("the list of spaces cut", |dir| fs::write(dir.join("spaces.json"), "{").expect("written")),
    ];
    for (name, damage) in damages {
        let home = filled().await;
        damage(&home.data().join("vectors"));
        // A command says what to do.
        let output = home.run(&["recall", "harbour"]);
        assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("recollect reindex"), "{name}: {output:?}");
        // A service serves.
        let served = home.serve(&[]);
        let words = recall(&served, "keyword").await;
        assert_eq!(words["items"].as_array().map(Vec::len), Some(3), "{name}");
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let state = ready(&served).await;
            if state["status"] == "ready" {
                break;
            }
            assert_eq!(
                (&state["status"], &state["parts"]["vectors"]),
                (&json!("degraded"), &json!("rebuilding")),
                "{name}"
            );
            let mixed = recall(&served, "hybrid").await;
            assert_eq!(mixed["items"].as_array().map(Vec::len), Some(3), "{name}: words answer meanwhile");
            assert!(Instant::now() < deadline, "{name}: not whole within a minute");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let found = recall(&served, "semantic").await;
        assert_eq!(found["items"].as_array().map(Vec::len), Some(3), "{name}: {found}");
        served.stop();
        assert!(home.log().contains("is built anew while words are searched"), "{name}: {}", home.log());
        assert_eq!(home.json(&["doctor"])["ok"], true, "{name}");
    }
}

#[test]
fn a_damaged_or_lost_graph_is_never_taken_for_an_empty_one() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("overwritten", |file| fs::write(file, "not a database, whatever it was").expect("written")),
        ("a page of noise", |file| {
            let file = fs::OpenOptions::new().write(true).open(file).expect("a file");
            file.write_all_at(&[0x5a; 3000], 4096).expect("written");
        }),
        ("emptied", |file| fs::write(file, "").expect("written")),
        ("deleted", |file| fs::remove_file(file).expect("removed")),
    ];
    let home = Home::new();
    drop(home.serve(&[]));
    home.json(&["store", "the harbour opens at nine"]);
    let graph = home.data().join("graph.db");
    let whole = fs::read(&graph).expect("the graph");
    for (name, damage) in damages {
        damage(&graph);
        for log in ["graph.db-wal", "graph.db-shm"] {
            let _ = fs::remove_file(home.data().join(log));
        }
        for command in [&["serve"][..], &["recall", "harbour"], &["token", "list"]] {
            let output = home.run(command);
            assert_eq!(output.status.code(), Some(1), "{name} {command:?}: {output:?}");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("recollect restore"), "{name} {command:?}: {said}");
        }
        fs::write(&graph, &whole).expect("put back");
    }
    assert_eq!(home.json(&["recall", "harbour"])["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_without_room_refuses_writes_and_recovers_without_a_restart() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "under CI prlimit must be there");
        println!("skipped: prlimit is not there");
        return;
    }
    let home = Home::new();
    // No file may grow beyond the limit, and who tries is told so instead of being ended.
    let served = home.serve_under("trap '' XFSZ; exec \"$0\" \"$@\"");
    let limit = |bytes: &str| {
        let (pid, limit) = (served.pid().to_string(), format!("--fsize={bytes}:unlimited"));
        assert!(Command::new("prlimit").args(["--pid", &pid, &limit]).status().expect("prlimit runs").success());
    };
    let store =
        async |content: &str| served.try_call("memory_store", json!({"content": content})).await.expect("an answer");
    let first = store("the harbour opens at nine").await.expect("stored");
    limit("1");
    for n in 0..3 {
        let refused = store(&format!("the harbour closes at {n}")).await.expect_err("refused");
        assert!(refused.starts_with("UNAVAILABLE"), "{refused}");
        let found = recall(&served, "keyword").await;
        assert_eq!(found["items"][0]["id"], first["id"], "reads go on");
    }
    limit("unlimited");
    store("the harbour closes at ten").await.expect("stored again");
    let found = served.call("memory_recall", json!({"query": "harbour", "mode": "keyword", "limit": 10})).await;
    assert_eq!(found.expect("an answer")["items"].as_array().map(Vec::len), Some(2), "what was refused is not there");
    served.kill();
    assert_eq!(home.json(&["doctor"])["ok"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reindex_through_the_service_leaves_it_serving() {
    let home = filled().await;
    let served = home.serve(&[]);
    let mut command = home.command(&["reindex", "--json"]);
    let asking = tokio::task::spawn_blocking(move || command.output().expect("it runs"));
    while !asking.is_finished() {
        let found = recall(&served, "semantic").await;
        assert_eq!(found["items"].as_array().map(Vec::len), Some(3));
        served
            .call("memory_store", json!({"content": format!("lamp {:?} is lit", Instant::now())}))
            .await
            .expect("stored");
    }
    let output = asking.await.expect("ended");
    assert!(output.status.success(), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(told["indexed"].as_u64().is_some_and(|indexed| indexed >= MEMORIES as u64), "{told}");
    served.stop();
    assert_eq!(home.json(&["doctor"])["ok"], true);
}
