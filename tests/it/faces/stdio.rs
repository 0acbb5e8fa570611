//! MCP over standard input and output: on the data folder, and as a bridge to a running service.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{app::App, process::Home};

/// The real binary with a client at its pipes.
pub(super) struct Piped {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Piped {
    pub(super) fn start(args: &[&str]) -> Self {
        let mut piped = Self::open(args);
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let server = piped.ask("initialize", params);
        assert_eq!(server["result"]["serverInfo"]["name"], "recollect", "{server}");
        piped.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        piped
    }

    /// Starts it and says nothing yet.
    pub(super) fn open(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_recollect"))
            .args(args)
            .env_remove("RECOLLECT_TOKEN")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("piped"));
        Self { child, input, output: BufReader::new(output) }
    }

    pub(super) fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("open");
        writeln!(input, "{message}").and_then(|()| input.flush()).expect("written");
    }

    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        self.read()
    }

    /// The next message.
    pub(super) fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).expect("every line is a message")
    }

    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))["result"].clone()
    }

    /// The end of input is the end of the server.
    pub(super) fn close(mut self) {
        self.input = None;
        assert!(self.child.wait().expect("ended").success());
    }
}

fn all_tools(piped: &mut Piped) {
    let listed = piped.ask("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(18), "{listed}");
    let stored = piped.call("memory_store", json!({"content": "The ferry leaves at seven.", "tags": "ferry"}));
    let id = stored["structuredContent"]["id"].clone();
    assert!(id.is_string(), "{stored}");
    let recalled = piped.call("memory_recall", json!({"query": "ferry", "mode": "keyword"}));
    assert_eq!(recalled["structuredContent"]["items"][0]["id"], id);
    let refused = piped.call("memory_recall", json!({"query": "ferry", "limit": 0}));
    assert_eq!(refused["isError"], true);
    assert!(
        refused["content"][0]["text"].as_str().is_some_and(|text| text.starts_with("BAD_USER_INPUT: limit")),
        "{refused}"
    );
    let unknown = piped.ask("tools/call", json!({"name": "memory_burn"}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[test]
fn a_client_at_the_pipes_uses_the_data_folder() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let config = dir.path().join("config.toml");
    std::fs::write(&config, "[[models.embedders]]\nname = \"hashing\"\nkind = \"hashing\"\n").expect("written");
    let data = dir.path().join("data");
    let args = ["--config", config.to_str().expect("a path"), "--data", data.to_str().expect("a path"), "mcp"];
    let mut piped = Piped::start(&args);
    all_tools(&mut piped);
    piped.close();
    let mut again = Piped::start(&args);
    let recalled = again.call("memory_recall", json!({"query": "ferry"}));
    assert_eq!(recalled["structuredContent"]["items"][0]["content"], "The ferry leaves at seven.");
    again.close();
}

#[test]
fn a_call_that_is_cancelled_stops_and_stores_nothing() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let config = dir.path().join("config.toml");
    std::fs::write(&config, "[[models.embedders]]\nname = \"hashing\"\nkind = \"hashing\"\n").expect("written");
    let data = dir.path().join("data");
    let args = ["--config", config.to_str().expect("a path"), "--data", data.to_str().expect("a path"), "mcp"];
    let mut piped = Piped::start(&args);
    // Long enough to be under way for a while.
    let content = "The ferry leaves at seven, the freighter at nine. ".repeat(18_000);
    let params = json!({"name": "memory_store", "arguments": {"content": content}, "_meta": {"progressToken": 5}});
    piped.send(&json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params}));
    piped.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}));
    let recent = json!({"name": "memory_recall", "arguments": {"query": "", "mode": "recent"}});
    piped.send(&json!({"jsonrpc": "2.0", "id": 78, "method": "tools/call", "params": recent}));
    let answer = loop {
        let mut line = String::new();
        piped.output.read_line(&mut line).expect("a message");
        let message: Value = serde_json::from_str(&line).expect("every line is a message");
        if message["id"] == 78 {
            break message;
        }
        assert!(message.get("result").is_none(), "the cancelled call has no result: {message}");
    };
    assert_eq!(answer["result"]["structuredContent"]["items"], json!([]), "{answer}");
    piped.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_at_the_pipes_reaches_a_running_service_as_its_token_says() {
    let app = App::start().await;
    let (ann, bo) = (app.client("ann", &[], &[]).await, app.client("bo", &[], &[]).await);
    let (url, token) = (app.url.clone(), ann.token.clone());
    tokio::task::spawn_blocking(move || {
        let mut piped = Piped::start(&["mcp", "--url", &url, "--token", &token]);
        all_tools(&mut piped);
        piped.close();
    })
    .await
    .expect("the bridge works");
    let mine = ann.ok("memory_recall", json!({"query": "ferry"})).await;
    assert_eq!(mine["items"][0]["tags"], json!(["ferry"]));
    assert_eq!(bo.ok("memory_recall", json!({"query": "ferry"})).await["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_on_the_folder_says_what_to_do_and_breaks_nothing() {
    let home = Home::new();
    let served = home.serve(&[]);
    served.call("memory_store", json!({"content": "The ferry leaves at seven."})).await.expect("stored");
    // Beside a service: the way through it.
    let second = home.run(&["mcp"]);
    let message = String::from_utf8_lossy(&second.stderr);
    assert_eq!((second.status.code(), second.stdout.len()), (Some(1), 0), "{message}");
    let way = format!("recollect mcp --url {} --token TOKEN", served.url);
    assert!(message.contains("in use by process") && message.contains(&way), "{message}");
    served.call("memory_store", json!({"content": "The ferry carries bicycles."})).await.expect("stored");
    let token = served.token.clone();
    served.kill();
    // Beside another of its kind, which serves nowhere.
    let (config, data) = (home.path().join("config.toml"), home.data());
    tokio::task::spawn_blocking(move || {
        let (config, data) = (config.to_str().expect("a path"), data.to_str().expect("a path"));
        let args = ["--config", config, "--data", data, "mcp", "--token", &token];
        let mut first = Piped::start(&args);
        let second = Command::new(env!("CARGO_BIN_EXE_recollect")).args(args).output().expect("the binary runs");
        let message = String::from_utf8_lossy(&second.stderr);
        assert!(!second.status.success() && message.contains("name another folder with --data"), "{message}");
        let recalled = first.call("memory_recall", json!({"query": "ferry"}));
        assert_eq!(recalled["structuredContent"]["items"].as_array().map(Vec::len), Some(2), "{recalled}");
        first.close();
    })
    .await
    .expect("no panic");
    assert_eq!(home.json(&["doctor"])["ok"], true);
}

#[test]
fn a_bridge_to_nowhere_or_over_an_unknown_scheme_says_so() {
    for (url, named) in [("http://127.0.0.1:1", "http://127.0.0.1:1/mcp"), ("ftp://127.0.0.1", "--url")] {
        let output = Command::new(env!("CARGO_BIN_EXE_recollect"))
            .args(["mcp", "--url", url, "--token", "rcl_x"])
            .stdin(Stdio::null())
            .output()
            .expect("the binary runs");
        assert_eq!(output.status.code(), Some(1), "{url}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(named), "{url}: {message}");
    }
}
