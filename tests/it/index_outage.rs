//! A vector index that is a server, and that goes away: what is said meanwhile, what it costs, and what is there when it is
//! back. The server is our own (`support::qdrant`), the network before it `support::proxy`.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use recollect::{
    backends::{Remote, qdrant::QdrantIndex},
    config::Config,
    domain::{AsOf, Caller, MemoryId, Visibility},
    ports::{SpaceSpec, VectorIndex},
    read::{RecallReply, RecallRequest},
    service::Service,
    write::{ForgetRequest, StoreRequest, StoreState, UpdateRequest},
};
use serde_json::{Value, json};

use crate::support::{
    app::App,
    process::Home,
    proxy::{Mode, Proxy},
    qdrant::{Certificate, Nature, QdrantServer, patient},
};

/// For what must come in the end, however busy the machine is.
const LONG: Duration = Duration::from_secs(90);

/// A service on a Qdrant server, with a network between them.
struct House {
    server: QdrantServer,
    proxy: Proxy,
    app: App,
}

impl House {
    /// Calls of the index give up after these times.
    async fn new(read_within: Duration, write_within: Duration) -> Self {
        let server = QdrantServer::start().await;
        let proxy = Proxy::before(server.address).await;
        let mut remote = Remote { qdrant: patient(None), ..Remote::default() };
        (remote.qdrant.timeout, remote.qdrant.write_timeout) = (read_within, write_within);
        let app = App::start_on(&format!("http://{}", proxy.address), &remote, "", |_| {}).await;
        Self { server, proxy, app }
    }

    /// The index of the server, past the network between.
    async fn index(&self) -> QdrantIndex {
        let spaces = recollect::write::spaces(&self.app.parts.embedders);
        QdrantIndex::open(&self.server.url(), &spaces, &patient(None)).await.expect("opened")
    }

    async fn store(&self, content: &str, session: &str) -> (MemoryId, StoreState) {
        let request = StoreRequest {
            content: content.to_owned(),
            session_id: Some(session.to_owned()),
            ..StoreRequest::default()
        };
        let reply = self.app.service.store(&caller(), request).await.expect("acknowledged");
        (reply.id.expect("an id").parse().expect("a memory id"), reply.state)
    }

    /// Checks that index and graph are of one mind, and that each memory has the vector of its present text.
    async fn is_whole(&self, memories: &[MemoryId]) {
        let all = Visibility::system("test");
        let index = self.index().await;
        until("every memory has its point", async || index.count().await.expect("counted") == memories.len()).await;
        until("the outbox is empty", async || {
            self.app.parts.drain.catch_up().await.is_ok() && self.app.counts().await.outbox == 0
        })
        .await;
        let report = self.app.service.doctor(&caller(), false).await.expect("looked at");
        assert!(report.ok(), "{report:?}");
        let embedder = &self.app.parts.embedders[0];
        let space = &embedder.card().id;
        let vectors = index.vectors(space, memories, &all).await.expect("vectors");
        let stored = self.app.parts.graph.memories(memories, AsOf::default(), &all).await.expect("memories");
        assert_eq!(stored.len(), memories.len(), "nothing is lost");
        for memory in stored {
            let expected = embedder.embed_passages(&[memory.passage()]).await.expect("embedded").remove(0);
            let found = &vectors[&memory.id];
            let differs = expected.iter().zip(found).any(|(a, b)| (a - b).abs() > 1e-4);
            assert!(!differs, "the vector of {:?} is of an earlier text", memory.content);
        }
    }
}

fn caller() -> Caller {
    Caller::operator("ada")
}

async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let waited = tokio::time::timeout(LONG, async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("never: {what}"));
}

async fn recall(service: &Service, query: &str) -> RecallReply {
    let request = RecallRequest { query: query.to_owned(), limit: Some(10), ..RecallRequest::default() };
    service.recall(&caller(), request).await.expect("an answer")
}

fn missing(reply: &RecallReply) -> Vec<(&str, &str)> {
    reply.degraded.iter().map(|it| (it.part.as_str(), it.reason.as_str())).collect()
}

#[tokio::test]
async fn a_hanging_index_leaves_words_by_the_deadline_and_is_soon_left_alone() {
    // The index would wait far beyond the deadline of a recall.
    let house = House::new(LONG, LONG).await;
    let Config { mut read, write, review, ontology, .. } = Config::load(None).expect("the defaults");
    read.deadline_ms = 4000;
    let service = Service::new(house.app.parts.clone(), read, write, review, ontology);
    house.store("the kestrel nests under the bridge", "s").await;
    until("it is found by meaning", async || missing(&recall(&service, "kestrel").await).is_empty()).await;
    house.proxy.set(Mode::Hang);
    let started = Instant::now();
    let first = recall(&service, "kestrel").await;
    assert_eq!((first.items.len(), missing(&first)), (1, vec![("vectors", "late")]));
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
    // Its four searches were given up; from now on nobody waits.
    let connections = house.proxy.connections();
    for _ in 0..30 {
        let reply = recall(&service, "kestrel").await;
        assert_eq!((reply.items.len(), missing(&reply)), (1, vec![("vectors", "unavailable")]));
    }
    assert!(house.proxy.connections() <= connections + 10, "only looks are made");
    let (_, state) = house.store("the kestrel has three young", "s").await;
    assert_eq!(state, StoreState::PendingIndex, "no false success");
    assert_eq!(recall(&service, "young kestrel").await.items.len(), 2, "words find it at once");
    house.proxy.set(Mode::Pass);
    until("it is found by meaning again", async || missing(&recall(&service, "kestrel").await).is_empty()).await;
}

/// Writers who store, change and forget while the index is away; the memories that are left.
async fn write_meanwhile(house: &House) -> Vec<MemoryId> {
    let writers = (0..6).map(async |writer| {
        let session = format!("session {writer}");
        let mut ids = Vec::new();
        for n in 0..8 {
            let (id, _) = house.store(&format!("note {n} of writer {writer} about kestrels"), &session).await;
            ids.push(id);
        }
        for (place, text) in [(1, "the first version"), (1, "the second version"), (2, "another text")] {
            let content = Some(format!("{text} of writer {writer}"));
            let request = UpdateRequest { id: ids[place].to_string(), content, ..UpdateRequest::default() };
            house.app.service.update(&caller(), request).await.expect("acknowledged");
        }
        let ids_of = vec![ids.remove(5).to_string()];
        let request =
            ForgetRequest { ids: ids_of, strategy: Some("delete".to_owned()), reason: Some("a test".to_owned()) };
        house.app.service.forget(&caller(), request).await.expect("acknowledged");
        ids
    });
    futures::future::join_all(writers).await.concat()
}

#[tokio::test]
async fn an_outage_under_writes_loses_nothing_keeps_the_order_and_makes_no_busy_loop() {
    for away in [Mode::Down, Mode::Hang] {
        let house = House::new(Duration::from_secs(1), Duration::from_secs(2)).await;
        let (before, _) = house.store("stored while all was well", "before").await;
        house.proxy.set(away);
        let (began, connections) = (Instant::now(), house.proxy.connections());
        let mut memories = write_meanwhile(&house).await;
        // The outage lasts a while longer.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let tries = house.proxy.connections() - connections;
        // Some before it is noticed, then looks and the drain: a few a second.
        let most = 40.0 + 10.0 * began.elapsed().as_secs_f64();
        assert!(tries as f64 <= most, "{tries} connections in {:?} of {away:?}", began.elapsed());
        assert!(house.app.counts().await.outbox > 0, "{away:?}");
        let reply = recall(&house.app.service, "note kestrels").await;
        assert!(!reply.items.is_empty() && missing(&reply).iter().all(|(part, _)| *part == "vectors"), "{reply:?}");
        house.proxy.set(Mode::Pass);
        memories.push(before);
        house.is_whole(&memories).await;
    }
}

#[tokio::test]
async fn an_index_that_comes_and_goes_ends_whole() {
    let house = House::new(Duration::from_secs(1), Duration::from_secs(2)).await;
    let flaps = async {
        for _ in 0..10 {
            for mode in
                [Mode::Down, Mode::Pass, Mode::Hang, Mode::Pass, Mode::CutOnce, Mode::Slow(Duration::from_millis(50))]
            {
                house.proxy.set(mode);
                tokio::time::sleep(Duration::from_millis(40)).await;
            }
        }
        house.proxy.set(Mode::Pass);
    };
    let (memories, ()) = tokio::join!(write_meanwhile(&house), flaps);
    house.is_whole(&memories).await;
}

/// A home whose vector index is behind `proxy`.
fn home(proxy: &Proxy, wait_secs: u64) -> Home {
    let home = Home::new();
    home.configure(&format!(
        "[vectors]\nurl = \"http://{}\"\n[vectors.qdrant]\napi_key = \"sesame-7\"\ntimeout_ms = 1000\nwrite_timeout_ms = 2000\n\
         [server]\nwait_secs = {wait_secs}\n",
        proxy.address
    ));
    home
}

#[tokio::test]
async fn a_start_waits_for_the_index_says_so_and_gives_up_with_a_line() {
    let server = QdrantServer::start().await;
    let proxy = Proxy::before(server.address).await;
    proxy.set(Mode::Down);
    let address = format!("vectors.url http://{}", proxy.address);
    let given_up = {
        let home = home(&proxy, 1);
        tokio::task::spawn_blocking(move || home.run(&["serve", "--listen", "127.0.0.1:0"])).await.expect("it ended")
    };
    let said = String::from_utf8_lossy(&given_up.stderr).into_owned();
    assert_eq!(given_up.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("waiting for {address}")), "{said}");
    let last = said.lines().last().expect("a line");
    assert!(last.contains(&format!("open http://{}: qdrant failed to open", proxy.address)), "{said}");
    assert!(!said.contains("sesame"), "{said}");

    let home = Arc::new(home(&proxy, 60));
    let starting = tokio::task::spawn_blocking({
        let home = home.clone();
        move || home.serve(&[])
    });
    let log = home.path().join("stderr.log");
    until("it says that it waits", async || {
        std::fs::read_to_string(&log).is_ok_and(|said| said.contains("waiting for"))
    })
    .await;
    proxy.set(Mode::Pass);
    let served = starting.await.expect("it serves");
    served.call("memory_store", json!({"content": "the heron is back"})).await.expect("stored");
    assert!(!home.log().contains("sesame"));
}

#[tokio::test]
async fn readiness_and_metrics_show_the_outage_and_a_stop_waits_for_nobody() {
    let server = QdrantServer::start().await;
    let proxy = Proxy::before(server.address).await;
    let home = home(&proxy, 60);
    let start = |home: Home| async {
        tokio::task::spawn_blocking(move || {
            let served = home.serve(&[]);
            (home, served)
        })
        .await
        .expect("it serves")
    };
    let (home, served) = start(home).await;
    let vectors = async || {
        let page: Value = serde_json::from_str(&served.page("/readyz").await).expect("JSON");
        page["parts"]["vectors"].as_str().expect("a state").to_owned()
    };
    let open = async |state: u8| {
        let line = format!("recollect_circuit_open{{part=\"vectors\"}} {state}");
        served.page("/metrics").await.contains(&line)
    };
    assert_eq!(vectors().await, "ready");
    assert!(open(0).await);
    proxy.set(Mode::Down);
    until("the outage is shown", async || vectors().await == "unavailable" && open(1).await).await;
    let stored = served.call("memory_store", json!({"content": "the heron is back"})).await.expect("stored");
    assert_eq!(stored["state"], "pending_index");
    proxy.set(Mode::Pass);
    until("its end is shown", async || vectors().await == "ready" && open(0).await).await;
    proxy.set(Mode::Hang);
    let stored = served.call("memory_store", json!({"content": "the heron left again"})).await.expect("stored");
    assert_eq!(stored["state"], "pending_index");
    tokio::task::spawn_blocking(move || served.stop()).await.expect("it ended well");
    proxy.set(Mode::Pass);
    let (home, served) = start(home).await;
    let dimension = dimension(&server);
    let spaces = ["hashing", "hashing.window"].map(|name| SpaceSpec { name: name.to_owned(), dimension });
    let index = QdrantIndex::open(&server.url(), &spaces, &patient(None)).await.expect("opened");
    assert_eq!(index.count().await.expect("counted"), 2, "what waited is there after the start");
    drop((home, served));
}

#[tokio::test]
async fn an_encrypted_connection_is_made_to_servers_whose_authority_is_known_alone() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let Some(certificate) = Certificate::new(dir.path()) else { return };
    let authority = certificate.authority.clone();
    let nature = Nature { tls: Some(certificate), api_key: Some(KEY), ..Nature::default() };
    let server = QdrantServer::start_as(nature).await;
    let home = Home::new();
    home.configure(&format!(
        "[vectors]\nurl = \"https://localhost:{}\"\n[server]\nwait_secs = 1\n",
        server.address.port()
    ));
    // It looks like a number and is none.
    const KEY: &str = "00170";
    let store = |authority: &Path| {
        let mut command = home.command(&["store", "the heron is back", "--json"]);
        command.env("SSL_CERT_FILE", authority).env("RECOLLECT_VECTORS__QDRANT__API_KEY", KEY);
        tokio::task::spawn_blocking(move || command.output().expect("the binary runs"))
    };
    let stored = store(&authority).await.expect("it ended");
    assert!(stored.status.success(), "{stored:?}");
    let reply: Value = serde_json::from_slice(&stored.stdout).expect("JSON");
    assert_eq!((reply["outcome"].as_str(), reply["state"].as_str()), (Some("stored"), Some("indexed")));
    let refused = store(&dir.path().join("names")).await.expect("it ended");
    let said = String::from_utf8_lossy(&[refused.stdout, refused.stderr].concat()).into_owned();
    assert!(refused.status.code() == Some(1) && said.contains("qdrant failed to open"), "{said}");
    assert!(!said.contains(KEY), "{said}");
    let mut command = home.command(&["config"]);
    command.env("RECOLLECT_VECTORS__QDRANT__API_KEY", KEY);
    let settings =
        tokio::task::spawn_blocking(move || command.output().expect("the binary runs")).await.expect("it ended");
    let settings = String::from_utf8_lossy(&settings.stdout).into_owned();
    assert!(settings.contains("api_key = \"***\"") && !settings.contains(KEY), "{settings}");
}

/// Of the space that the service made on the server.
fn dimension(server: &QdrantServer) -> usize {
    use qdrant_client::qdrant::vectors_config::Config;
    let made = server.made_as(&server.collections()[0]);
    match made.vectors_config.expect("vectors").config {
        Some(Config::ParamsMap(vectors)) => vectors.map["hashing"].size as usize,
        _ => panic!("named vectors"),
    }
}
