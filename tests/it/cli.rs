//! The command line as a person uses it: exit codes, messages that name what is wrong, commands beside a running service.

use std::{
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    process::Stdio,
};

use serde_json::{Value, json};

use crate::support::process::Home;

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn stored_memories_are_recalled_associated_and_forgotten() {
    let home = Home::new();
    let cause = home.json(&["store", "the certificate of the gateway expired", "--title", "gateway certificate"]);
    let cause = cause["id"].as_str().expect("an id");
    let effect = home.json(&["store", "orders stayed unpaid for two hours", "--caused-by", cause]);
    let effect = effect["id"].as_str().expect("an id");
    let recalled = home.json(&["recall", "gateway certificate"]);
    assert_eq!(recalled["items"][0]["id"], cause);
    let associated = home.json(&["associate", "--id", cause]);
    assert_eq!(associated["items"][0]["id"], effect);
    assert_eq!(associated["items"][0]["path"][0]["edge"], "CAUSES");
    assert_eq!(home.json(&["forget", cause])["forgotten"], 1);
    let output = home.run(&["get", cause]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("NOT_FOUND"), "{}", stderr(&output));
    assert_eq!(home.json(&["associate", "--id", effect])["items"], json!([]));
    assert_eq!(home.json(&["doctor"])["ok"], true);
}

/// Every use case with its effect, on the data folder itself or through the service that holds it.
fn every_use_case(home: &Home) {
    let id = |reply: &Value| reply["id"].as_str().expect("an id").to_owned();
    let fuse = id(&home.json(&["store", "the fuse of the crane blew", "--session", "s1"]));
    let dark = id(&home.json(&["store", "nobody could read the charts", "--session", "s1"]));
    let linked = home.json(&["link", &fuse, &dark, "--edge", "CAUSES", "--reason", "no light"]);
    assert_eq!(linked["edge"], "CAUSES");
    let reached = home.json(&["associate", "--id", &fuse, "--edges", "CAUSES"]);
    assert_eq!(reached["items"][0]["id"], *dark);
    let changed = home.json(&["update", &fuse, "--expected-revision", "1", "--tags", "crane,power"]);
    assert_eq!((&changed["revision"], &changed["tags"]), (&json!(2), &json!(["crane", "power"])));
    let before = changed["recorded_at"].as_str().expect("a time");
    assert_eq!(home.json(&["get", &fuse, "--known-at", before])["memories"][0]["revision"], 2);
    let vote = home.json(&["feedback", &fuse, "--useful", "false", "--note", "wrong crane"]);
    assert!(vote["confidence_after"].as_f64() < vote["confidence_before"].as_f64(), "{vote}");
    let failed = home.json(&["observe", "task_failed", "--text", "the spare fuse did not fit", "--session", "s1"]);
    assert_eq!(failed["memories"][0]["kind"], "warning");
    let ended = home.json(&["observe", "session_ended", "--session", "s1"]);
    assert_eq!(ended["memories"][0]["kind"], "episodic");
    let summary = home.json(&["summarize", "--session", "s1"]);
    assert_eq!(summary["sources"].as_array().map(Vec::len), Some(3));
    let explained = home.json(&["explain", &fuse, "which fuse of the crane blew"]);
    assert_eq!(explained["rank"], 1);
    let first = home.json(&["recall", "fuse of the crane", "--limit", "1"]);
    let cursor = first["cursor"].as_str().expect("there is more");
    let second = home.json(&["recall", "fuse of the crane", "--limit", "1", "--cursor", cursor]);
    assert_ne!(second["items"][0]["id"], first["items"][0]["id"]);
    let prompt = home.json(&["recall", "fuse", "--format", "prompt"]);
    assert!(prompt["prompt"].as_str().is_some_and(|text| text.starts_with("<memories>")), "{prompt}");
    let output = home.run(&["feedback", &fuse, "--useful", "maybe"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let output = home.run(&["observe", "user_message"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("BAD_USER_INPUT") && stderr(&output).contains("text"), "{}", stderr(&output));
    for (args, words) in [
        (vec!["explain", &fuse, "which fuse"], ", score 0."),
        (vec!["summarize", "--session", "s1"], "the spare fuse did not fit"),
        (vec!["recall", "fuse of the crane", "--limit", "1"], "more: --cursor"),
    ] {
        let output = home.run(&args);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(words), "{args:?}: {text}{}", stderr(&output));
    }
}

#[test]
fn every_use_case_works_on_the_data_folder() {
    every_use_case(&Home::new());
}

#[test]
fn every_use_case_works_through_the_service_that_holds_the_folder() {
    let home = Home::new();
    let served = home.serve(&[]);
    every_use_case(&home);
    drop(served);
}

#[test]
fn an_import_names_bad_lines_keeps_good_ones_and_updates_known_names() {
    let home = Home::new();
    let file = home.path().join("lines.jsonl");
    let lines = [
        r#"{"external_id":"a","content":"the cache is warmed at six","causes":["b"]}"#,
        r#"{"external_id":"b","content":"the first page is fast at seven"}"#,
        "",
        r#"{"external_id":"c","content":""}"#,
        r#"{"content":"x","importance":"high"}"#,
        r#"{"content":"x","colour":"red"}"#,
        r"not json",
        r#"{"content":"x","supersedes":["nobody"]}"#,
    ];
    std::fs::write(&file, lines.join("\n")).expect("file written");
    let path = file.to_str().expect("a path");
    let output = home.run(&["import", "memories", path, "--json"]);
    assert_eq!(output.status.code(), Some(1), "bad lines end in failure");
    let text = String::from_utf8_lossy(&output.stdout);
    let report: Value = serde_json::from_str(text.lines().next().expect("a report")).expect("JSON");
    assert_eq!((&report["stored"], &report["links"]), (&json!(3), &json!(1)), "{report}");
    let named: Vec<(u64, &str)> = report["errors"]
        .as_array()
        .expect("errors")
        .iter()
        .map(|error| (error["line"].as_u64().expect("a number"), error["code"].as_str().expect("a code")))
        .collect();
    let expected =
        [(4, "BAD_USER_INPUT"), (5, "BAD_USER_INPUT"), (6, "BAD_USER_INPUT"), (7, "BAD_USER_INPUT"), (8, "NOT_FOUND")];
    assert_eq!(named, expected);
    assert!(report["errors"][0]["message"].as_str().is_some_and(|message| message.contains("content")));
    assert!(report["errors"][1]["message"].as_str().is_some_and(|message| message.contains("importance")));
    assert!(report["errors"][2]["message"].as_str().is_some_and(|message| message.contains("colour")));

    std::fs::write(&file, r#"{"external_id":"a","content":"the cache is warmed at five"}"#).expect("file written");
    assert_eq!(home.json(&["import", "memories", path])["updated"], 1);
    assert_eq!(home.json(&["import", "memories", path])["unchanged"], 1);
    let found = home.json(&["recall", "cache warmed", "--mode", "keyword"]);
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "an update, not a twin");
    assert_eq!(found["items"][0]["content"], "the cache is warmed at five");
}

#[test]
fn reader_that_goes_away_is_no_panic() {
    let home = Home::new();
    let mut child = home
        .command(&["config", "--default"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("recollect starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(stderr(&output), "");
}

#[test]
fn wrong_usage_and_wrong_settings_exit_with_two_and_name_the_key() {
    let home = Home::new();
    assert_eq!(home.run(&["recall"]).status.code(), Some(2));
    assert_eq!(home.run(&["token", "create", "--principal", "x", "--kind", "robot"]).status.code(), Some(2));
    let output = home.run(&["token", "create", "--principal", "x", "--kind", "agent", "--rights", "review:decide"]);
    assert_eq!(output.status.code(), Some(2), "an agent never decides reviews");
    std::fs::write(home.path().join("config.toml"), "[read]\ncandidates = \"many\"").expect("file written");
    let output = home.run(&["recall", "x"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("read.candidates"), "{}", stderr(&output));
}

#[test]
fn a_missing_model_is_named_with_the_command_that_fetches_it() {
    let home = Home::new();
    let empty = home.path().join("no-models");
    let config = format!("[models]\ndir = {empty:?}\n[[models.embedders]]\nname = \"e5-small-v2\"\nkind = \"local\"\n");
    std::fs::write(home.path().join("config.toml"), config).expect("file written");
    let output = home.run(&["recall", "x"]);
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert!(message.contains("e5-small-v2") && message.contains("make models"), "{message}");
}

#[test]
fn another_model_refuses_to_start_until_everything_is_embedded_anew() {
    let home = Home::new();
    home.json(&["store", "the harbour opens at nine"]);
    let config = "[[models.embedders]]\nname = \"hashing-2\"\nkind = \"hashing\"\n";
    std::fs::write(home.path().join("config.toml"), config).expect("file written");
    let output = home.run(&["recall", "harbour"]);
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    for part in ["hashing (", "hashing-2 (", "recollect reindex"] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert_eq!(home.json(&["reindex"])["indexed"], 1);
    assert_eq!(home.json(&["recall", "harbour", "--mode", "semantic"])["items"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_lost_index_is_said_and_built_anew() {
    let home = Home::new();
    home.json(&["store", "the harbour opens at nine"]);
    std::fs::remove_dir_all(home.data().join("vectors")).expect("the index folder");
    let output = home.run(&["recall", "harbour"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("recollect reindex"), "{}", stderr(&output));
    home.json(&["reindex"]);
    assert_eq!(home.json(&["doctor"])["ok"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_work_beside_a_running_service_or_say_what_to_do() {
    let home = Home::new();
    let served = home.serve(&[]);
    // Memories go through the service that holds the folder.
    let id = home.json(&["store", "the lighthouse is painted in May"])["id"].clone();
    assert_eq!(home.json(&["recall", "lighthouse"])["items"][0]["id"], id);
    // Tokens need no lock, and a revoked one stops working at once.
    let made = home.json(&["token", "create", "--principal", "kai", "--kind", "service", "--rights", "memory:read"]);
    let (token, token_id) = (made["token"].as_str().expect("a token"), made["id"].as_str().expect("an id"));
    let url = &served.url.clone();
    let recall = || home.run(&["recall", "lighthouse", "--url", url, "--token", token, "--json"]);
    let first = recall();
    assert!(first.status.success(), "{first:?}");
    let answer: Value = serde_json::from_slice(&first.stdout).expect("JSON");
    assert_eq!(answer["items"], json!([]), "what admin stored privately is not kai's to see");
    home.json(&["token", "revoke", token_id]);
    assert_eq!(recall().status.code(), Some(1));
    // What needs the folder for itself says who has it.
    for command in [&["doctor"][..], &["serve"]] {
        let output = home.run(command);
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        let message = stderr(&output);
        assert!(message.contains("in use by process") && message.contains(url), "{command:?}: {message}");
    }
    assert!(home.run(&["healthcheck", "--url", url]).status.success());
    served.kill();
    assert_eq!(home.run(&["healthcheck", "--url", url]).status.code(), Some(1));
    assert_eq!(home.json(&["doctor"])["ok"], true);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_writes_tokens_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let served = home.serve(&[]);
    let path = home.data().join("tokens.json");
    let mode = std::fs::metadata(&path).expect("tokens.json").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let tokens: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("text")).expect("JSON");
    for name in ["admin", "reviewer", "agent"] {
        assert!(tokens[name].as_str().is_some_and(|token| token.len() > 40), "{name}");
    }
    served.kill();
    let before = std::fs::read(&path).expect("text");
    home.serve(&[]).kill();
    assert_eq!(std::fs::read(&path).expect("text"), before, "a second start keeps the tokens");
}

#[test]
fn tokens_are_shown_at_the_first_start_alone_and_the_folder_is_its_owners() {
    let home = Home::new();
    let shown = || {
        let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a service");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let line = lines.find(|line| line.contains("playground")).expect("a link");
        child.kill().expect("killed");
        child.wait().expect("gone");
        line
    };
    let (first, second) = (shown(), shown());
    assert!(first.contains("#token=rcl_"), "{first}");
    assert!(!second.contains("rcl_"), "{second}");
    let mode = std::fs::metadata(home.data()).expect("the folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}
