//! The real binary as a child process, on a data folder of its own, with the hashing embedder.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

/// Settings of a test service: no model weights.
const CONFIG: &str = r#"
[[models.embedders]]
name = "hashing"
kind = "hashing"
"#;

/// A data folder and the settings to use it with.
pub struct Home {
    dir: tempfile::TempDir,
}

/// A running `recollect serve`. Killed with -9 when dropped.
pub struct Served {
    child: Child,
    pub url: String,
    pub token: String,
    client: reqwest::Client,
}

impl Home {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("temporary folder");
        std::fs::write(dir.path().join("config.toml"), CONFIG).expect("config written");
        Self { dir }
    }

    /// A home that uses the shipped models, where they are; without them the run is skipped, and under CI it fails.
    pub fn with_models() -> Option<Self> {
        let home = Self::new();
        std::fs::write(home.path().join("config.toml"), "").expect("config written");
        let output = home.run(&["recall", "are the models there"]);
        if output.status.success() {
            return Some(home);
        }
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(std::env::var_os("CI").is_none(), "under CI the models must be there: {message}");
        println!("skipped: {message}");
        None
    }

    /// Adds settings to those of the home.
    pub fn configure(&self, settings: &str) {
        let path = self.path().join("config.toml");
        let before = std::fs::read_to_string(&path).expect("settings");
        std::fs::write(path, format!("{before}{settings}")).expect("config written");
    }

    /// What services of this home have logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path().join("stderr.log")).expect("a log")
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_recollect"));
        command.arg("--config").arg(self.dir.path().join("config.toml")).arg("--data").arg(self.data()).args(args);
        command.env_remove("RECOLLECT_TOKEN");
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the binary runs")
    }

    /// Runs a command that must succeed and print JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[args, &["--json"]].concat());
        assert!(output.status.success(), "{args:?}: {output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON on standard output")
    }

    /// Starts `recollect serve` and waits until it says where.
    pub fn serve(&self, args: &[&str]) -> Served {
        self.served(self.command(&[&["serve", "--listen", "127.0.0.1:0"], args].concat()))
    }

    /// [`Self::serve`], started by a line of the shell that gets the command as its arguments.
    pub fn serve_under(&self, line: &str) -> Served {
        let command = self.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).arg(command.get_program()).args(command.get_args()).env_remove("RECOLLECT_TOKEN");
        self.served(shell)
    }

    fn served(&self, mut command: Command) -> Served {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.path().join("stderr.log"));
        let mut child = command.stdout(Stdio::piped()).stderr(log.expect("a log")).spawn().expect("the binary starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let first = lines.next().expect("a first line").expect("text");
        let url = first.split_whitespace().last().expect("the address").trim_end_matches('/').to_owned();
        // Keep reading, or the service would block on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let tokens = std::fs::read_to_string(self.data().join("tokens.json")).expect("tokens.json");
        let tokens: Value = serde_json::from_str(&tokens).expect("JSON");
        let token = tokens["agent"].as_str().expect("an agent token").to_owned();
        let client = reqwest::Client::builder().timeout(Duration::from_secs(20)).build().expect("client");
        Served { child, url, token, client }
    }
}

impl Served {
    /// A POST to `/mcp` with a token, to which headers and a body can be added.
    pub fn post(&self, token: &str) -> reqwest::RequestBuilder {
        self.client
            .post(format!("{}/mcp", self.url))
            .bearer_auth(token)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
    }

    /// The text of a page.
    pub async fn page(&self, path: &str) -> String {
        let answer = self.client.get(format!("{}{path}", self.url)).send().await.expect("an answer");
        answer.text().await.expect("text")
    }

    /// Calls a tool: what it answers, or `None` if the service did not answer.
    pub async fn call(&self, tool: &str, arguments: Value) -> Option<Value> {
        let answer = self.try_call(tool, arguments).await?;
        Some(answer.unwrap_or_else(|refused| panic!("{tool}: {refused}")))
    }

    /// Calls a tool: what it answers or says against it, or `None` if the service did not answer.
    pub async fn try_call(&self, tool: &str, arguments: Value) -> Option<Result<Value, String>> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
        let answer = self
            .client
            .post(format!("{}/mcp", self.url))
            .bearer_auth(&self.token)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .json(&body)
            .send()
            .await
            .ok()?;
        let answer: Value = answer.json().await.ok()?;
        let result = answer["result"].clone();
        assert!(result.is_object(), "{tool}: {answer}");
        if result["isError"] == true {
            return Some(Err(result["content"][0]["text"].as_str().expect("a text").to_owned()));
        }
        Some(Ok(result["structuredContent"].clone()))
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop and waits until it has.
    pub fn stop(mut self) {
        assert!(Command::new("kill").arg(self.pid().to_string()).status().expect("kill runs").success());
        assert!(self.child.wait().expect("ended").success());
    }

    /// Kills the process as a power cut would.
    pub fn kill(mut self) {
        self.child.kill().expect("kill -9");
        self.child.wait().expect("ended");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
