//! kill -9 in the middle of a stream of stores: what was acknowledged is there, once, and searchable.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::json;

use crate::support::process::Home;

const ROUNDS: u32 = 20;
const WRITERS: u32 = 4;

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_memories_survive_twenty_kills() {
    let seed: u64 =
        std::env::var("RECOLLECT_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    println!("crash test seed {seed} (set RECOLLECT_TEST_SEED to repeat)");
    let mut random = StdRng::seed_from_u64(seed);
    let home = Home::new();
    let mut acknowledged: BTreeMap<String, String> = BTreeMap::new();
    for round in 0..ROUNDS {
        let served = Arc::new(home.serve(&[]));
        let stored = Arc::new(Mutex::new(Vec::new()));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (served, stored) = (served.clone(), stored.clone());
                tokio::spawn(async move {
                    for n in 0.. {
                        let word = word(&format!("{round}x{writer}x{n}"));
                        let request = json!({"content": format!("note {word} of writer {writer}"),
                            "title": format!("subject {writer}"), "session_id": format!("s{writer}")});
                        let Some(reply) = served.call("memory_store", request).await else { return };
                        let id = reply["id"].as_str().expect("an id").to_owned();
                        stored.lock().expect("lock").push((word, id));
                    }
                })
            })
            .collect();
        // At any moment of a stream of stores, however slow the machine.
        let deadline = Instant::now() + Duration::from_secs(60);
        while stored.lock().expect("lock").is_empty() {
            assert!(Instant::now() < deadline, "no store was acknowledged within a minute");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(random.random_range(0..500))).await;
        kill(&served);
        for writer in writers {
            writer.await.expect("writer ended");
        }
        drop(served);
        let fresh = std::mem::take(&mut *stored.lock().expect("lock"));
        let report = home.json(&["doctor"]);
        assert_eq!(report["ok"], true, "round {round}: {report}");
        let served = home.serve(&[]);
        for (word, id) in &fresh {
            let found =
                served.call("memory_recall", json!({"query": word, "mode": "keyword"})).await.expect("an answer");
            let ids: Vec<&str> =
                found["items"].as_array().expect("items").iter().filter_map(|item| item["id"].as_str()).collect();
            assert_eq!(ids, [id.as_str()], "round {round}: {word}");
        }
        acknowledged.extend(fresh);
        served.kill();
    }
    let served = home.serve(&[]);
    let ids: Vec<&String> = acknowledged.values().collect();
    for batch in ids.chunks(25) {
        let found = served.call("memory_get", json!({"ids": batch})).await.expect("an answer");
        assert_eq!(found["memories"].as_array().map(Vec::len), Some(batch.len()));
    }
    println!("{} acknowledged memories survived {ROUNDS} kills", acknowledged.len());
    assert!(acknowledged.len() > 100, "too few stores to mean anything: {}", acknowledged.len());
}

/// A word of letters alone, which the tokeniser neither splits nor stems.
fn word(number: &str) -> String {
    let letters = number.bytes().map(|byte| if byte.is_ascii_digit() { char::from(b'k' + byte - b'0') } else { 'v' });
    format!("zq{}z", letters.collect::<String>())
}

/// Kills a service that writers still hold.
fn kill(served: &crate::support::process::Served) {
    let status =
        std::process::Command::new("kill").args(["-9", &served.pid().to_string()]).status().expect("kill runs");
    assert!(status.success());
}
