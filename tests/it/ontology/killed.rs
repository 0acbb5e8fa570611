//! A kill in the middle of an import leaves the version before or the new one, never half, and the next import goes on.

use std::{process::Stdio, time::Duration};

use serde_json::Value;

use super::flows::concepts;
use crate::{
    contract::neo4j,
    support::{app::on_neo4j, process::Home},
};

/// A vocabulary large enough to be killed in.
fn large(marker: &str) -> String {
    let names: Vec<(String, String)> =
        (0..6000).map(|n| (format!("c{n}"), format!("{marker} concept number {n}"))).collect();
    let names: Vec<(&str, &str)> = names.iter().map(|(name, label)| (name.as_str(), label.as_str())).collect();
    concepts(&names)
}

#[tokio::test]
async fn a_kill_during_an_import_leaves_nothing_half() {
    let home = Home::new();
    let mut _turn = None;
    if on_neo4j() {
        let (url, turn) = neo4j::emptied().await.expect("RECOLLECT_TEST_NEO4J names a server");
        home.configure(&format!("[graph]\nurl = {url:?}\ntimeout_ms = 60000\n"));
        _turn = Some(turn);
    }
    let (first, second) = (home.path().join("first.ttl"), home.path().join("second.ttl"));
    std::fs::write(&first, large("first")).expect("written");
    std::fs::write(&second, large("second")).expect("written");
    let import = |file: &std::path::Path| {
        let args = ["ontology", "import", "--vocabulary", "large", file.to_str().expect("UTF-8")];
        home.json(&args)
    };
    let one = import(&first);
    assert_eq!((one["version"].as_i64(), one["new"].as_i64()), (Some(1), Some(6000)));
    let mut killed = 0;
    // From the start of the process to its end: some kills meet the reading, some the staging, some the switch.
    for pause in [40, 120, 200, 280, 360, 440, 520, 600, 700, 800, 1000, 1200, 1500, 2000, 3000, 4500] {
        let args = ["ontology", "import", "--vocabulary", "large", second.to_str().expect("UTF-8")];
        let mut child = home.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        std::thread::sleep(Duration::from_millis(pause));
        if child.try_wait().expect("its state").is_none() {
            child.kill().expect("kill -9");
            killed += 1;
        }
        child.wait().expect("ended");
        let versions = home.json(&["ontology", "versions"]);
        let latest: &Value = &versions["versions"][0];
        let found = home.json(&["ontology", "show", "http://e/c5999"]);
        let label = found["label"].as_str().expect("a label");
        match latest["number"].as_i64() {
            Some(1) => assert!(label.starts_with("first"), "{label}"),
            Some(2) => assert!(label.starts_with("second"), "{label}"),
            other => panic!("version {other:?}"),
        }
        let dry = home.json(&["ontology", "diff", "--vocabulary", "large", first.to_str().expect("UTF-8")]);
        let changed = dry["changed"].as_i64().expect("a count");
        assert!(changed == 0 || changed == 6000, "{changed} of 6000");
        if latest["number"] == 2 {
            break;
        }
    }
    assert!(killed > 0, "the import was too fast to be killed");
    let done = import(&second);
    assert_eq!(done["version"], 2);
    assert_eq!(done["unchanged"].as_i64().unwrap_or(0) + done["changed"].as_i64().unwrap_or(0), 6000);
    let back = home.json(&["ontology", "rollback", "1"]);
    assert_eq!(back["graph_hash"], one["graph_hash"]);
}
