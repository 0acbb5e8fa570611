//! The whole service in this process, on a data folder of its own: SQLite, exact index, hashing embedder, a clock that
//! stands still, real HTTP on a free port. And a client that speaks JSON-RPC to it.
//!
//! With `RECOLLECT_TEST_GRAPH=neo4j` the graph is in the Neo4j server of `RECOLLECT_TEST_NEO4J`, and tests take turns:
//! `tests/neo4j/run`.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use recollect::{
    auth,
    backends::{self, OpenIndex, Remote},
    config::Config,
    domain::{PrincipalKind, Right, Visibility},
    http, jobs,
    models::{self, ModelOptions},
    ports::StoreCounts,
    service::{Parts, Service},
    telemetry,
    write::spaces,
};
use serde_json::{Value, json};
use tokio::{sync::MutexGuard, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::clock::FixedClock;
use crate::contract::neo4j;

const CONFIG: &str = r#"
[server]
max_body_bytes = 3000000
allowed_hosts = ["memory.example.org"]
allowed_origins = ["https://console.example.org"]
# Tests run side by side on few cores; what is late there is not what they are about.
[read]
deadline_ms = 20000
[[models.embedders]]
name = "hashing"
kind = "hashing"
"#;

/// Where the clock of each service stands.
const NOON: &str = "2026-11-30T12:00:00Z";

/// Whether the graph is in a Neo4j server.
pub fn on_neo4j() -> bool {
    std::env::var("RECOLLECT_TEST_GRAPH").is_ok_and(|graph| graph == "neo4j")
}

/// A running service. Stopped when dropped.
pub struct App {
    pub url: String,
    pub parts: Parts,
    pub service: Arc<Service>,
    /// Stops the server; requests under way have a second.
    pub stop: CancellationToken,
    pub served: JoinHandle<std::io::Result<()>>,
    drain: JoinHandle<()>,
    _dir: tempfile::TempDir,
    _turn: Option<MutexGuard<'static, ()>>,
}

impl App {
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts on ports that `change` may wrap.
    pub async fn start_with(change: impl FnOnce(&mut Parts)) -> Self {
        Self::start_as("", change).await
    }

    /// Starts with more settings.
    pub async fn start_configured(settings: &str) -> Self {
        Self::start_as(settings, |_| {}).await
    }

    /// Starts with more settings, on ports that `change` may wrap.
    pub async fn start_as(settings: &str, change: impl FnOnce(&mut Parts)) -> Self {
        Self::start_on("memory:", &Remote::default(), settings, change).await
    }

    /// Starts on another vector index.
    pub async fn start_on(vectors: &str, remote: &Remote, settings: &str, change: impl FnOnce(&mut Parts)) -> Self {
        let dir = tempfile::tempdir().expect("temporary folder");
        let file = dir.path().join("config.toml");
        std::fs::write(&file, format!("{CONFIG}{settings}")).expect("config written");
        let config = Config::load(Some(&file)).expect("valid settings");
        let options =
            ModelOptions { dir: dir.path().to_owned(), runtime: "".into(), batch: 16, threads: 1, query_cache: 100 };
        let embedders = models::open(&config.models.embedders, &options).await.expect("the hashing embedder");
        let (spaces, mut remote) = (spaces(&embedders), remote.clone());
        // As the deadline of reads above.
        remote.neo4j.timeout = Duration::from_secs(20);
        let (graph, turn) = if on_neo4j() {
            let (url, turn) = neo4j::emptied().await.expect("RECOLLECT_TEST_NEO4J names a server");
            (url, Some(turn))
        } else {
            ("sqlite:graph.db".to_owned(), None)
        };
        let graph = backends::open_graph(&graph, dir.path(), &remote).await.expect("a graph store");
        let index = backends::open_index(vectors, dir.path(), &spaces, OpenIndex::Existing, &remote).await;
        let index = index.expect("an index").index;
        let drain = Arc::new(jobs::Drain::new(graph.store.clone(), index.clone(), jobs::DrainSettings::default()));
        let mut parts = Parts {
            graph: graph.store,
            browse: graph.browse,
            reviews: graph.reviews,
            index,
            embedders,
            ontology: graph.ontology,
            tokens: graph.tokens,
            clock: Arc::new(FixedClock::at(NOON.parse().expect("a moment"))),
            drain: drain.clone(),
            backlog: None,
        };
        change(&mut parts);
        let drain = tokio::spawn(async move { drain.run(CancellationToken::new()).await });
        let Config { read, write, review, ontology, .. } = config.clone();
        let service = Arc::new(Service::new(parts.clone(), read, write, review, ontology));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let metrics = telemetry::metrics_handle().expect("the only recorder");
        let router = http::router(http::AppState::new(service.clone(), &config.server, address, metrics));
        let stop = CancellationToken::new();
        let served = tokio::spawn(http::serve(listener, router, stop.clone(), Duration::from_secs(1)));
        Self { url: format!("http://{address}"), parts, service, stop, served, drain, _dir: dir, _turn: turn }
    }

    /// A client for a new principal that reads, writes and forgets, and holds `more`.
    pub async fn client(&self, principal: &str, groups: &[&str], more: &[Right]) -> Client {
        let rights = [Right::MemoryRead, Right::MemoryWrite, Right::MemoryForget].iter().chain(more).copied().collect();
        self.client_with(principal, groups, rights).await
    }

    /// A client for a new principal that only reads.
    pub async fn reader(&self, principal: &str, groups: &[&str]) -> Client {
        self.client_with(principal, groups, [Right::MemoryRead].into()).await
    }

    async fn client_with(&self, principal: &str, groups: &[&str], rights: BTreeSet<Right>) -> Client {
        let groups: BTreeSet<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        let clock = self.service.clock();
        let (token, secret) =
            auth::mint(principal, PrincipalKind::Human, groups, rights, clock.now(), clock.next_id()).expect("minted");
        self.service.tokens().add_token(&token).await.expect("added");
        Client { http: reqwest::Client::new(), url: self.url.clone(), token: secret, token_id: token.id }
    }

    /// Everything stored, whoever may see it.
    pub async fn counts(&self) -> StoreCounts {
        self.parts.graph.counts(&Visibility::system("a test looks at everything")).await.expect("counts")
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.stop.cancel();
        self.drain.abort();
    }
}

/// One principal's connection.
pub struct Client {
    pub http: reqwest::Client,
    pub url: String,
    pub token: String,
    pub token_id: String,
}

impl Client {
    /// A POST to `/mcp` that lacks only its body.
    pub fn post(&self) -> reqwest::RequestBuilder {
        self.http
            .post(format!("{}/mcp", self.url))
            .bearer_auth(&self.token)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
    }

    /// One JSON-RPC request; the whole answer.
    pub async fn rpc(&self, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let response = self.post().body(body.to_string()).send().await.expect("an answer");
        response.json().await.expect("JSON")
    }

    /// Calls a tool; the result of the protocol, an error or not.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.rpc("tools/call", json!({"name": tool, "arguments": arguments})).await;
        assert!(answer["result"].is_object(), "{tool} {arguments}: {answer}");
        answer["result"].clone()
    }

    /// Calls a tool that must succeed; its structured content.
    pub async fn ok(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments.clone()).await;
        assert_ne!(result["isError"], true, "{tool} {arguments}: {result}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        let parsed: Value = serde_json::from_str(text).expect("the text is JSON");
        assert_eq!(parsed, result["structuredContent"], "{tool}: both say the same");
        parsed
    }

    /// Calls a tool that must fail; what it says.
    pub async fn failed(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments.clone()).await;
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        assert!(result.get("structuredContent").is_none(), "an error has no content of the output schema");
        result["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    /// Stores a memory; its id.
    pub async fn store(&self, arguments: Value) -> String {
        self.ok("memory_store", arguments).await["id"].as_str().expect("an id").to_owned()
    }
}
