//! What the Qdrant adapter promises beyond its port: how collections are made and named, what is said when a server cannot
//! be used, and second tries.

use std::time::{Duration, Instant};

use qdrant_client::qdrant::{quantization_config::Quantization as Quantized, vectors_config::Config};
use recollect::{
    backends::{
        self, OpenIndex, Remote,
        qdrant::{QdrantIndex, QdrantSettings, Quantization},
    },
    domain::{Filter, IndexOp, MemoryId, Point, Status},
    ports::{PortError, PortErrorKind, SpaceSpec, VectorIndex, VectorQuery},
};

use super::vector_index::{self, all, id};
use crate::support::{
    proxy::{Mode, Proxy},
    qdrant::{Nature, QdrantServer, patient},
};

fn spaces() -> Vec<SpaceSpec> {
    vec![SpaceSpec { name: "one".into(), dimension: 3 }, SpaceSpec { name: "two".into(), dimension: 2 }]
}

fn settings() -> QdrantSettings {
    patient(None)
}

fn hasty() -> QdrantSettings {
    let short = Duration::from_millis(300);
    QdrantSettings { timeout: short, write_timeout: short, ..settings() }
}

async fn open(url: &str) -> QdrantIndex {
    QdrantIndex::open(url, &spaces(), &settings()).await.expect("opened")
}

/// What opening says, which is one line.
async fn refusal(url: &str, spaces: &[SpaceSpec], settings: &QdrantSettings) -> (PortErrorKind, String) {
    said(QdrantIndex::open(url, spaces, settings).await.err().expect("an error"))
}

fn said(error: PortError) -> (PortErrorKind, String) {
    let text = error.source.as_ref().expect("a reason").to_string();
    assert!(!text.contains('\n'), "{text}");
    (error.kind, text)
}

fn point(n: u128) -> Point {
    vector_index::point(n, [1.0, n as f32, 0.0])
}

async fn put(index: &dyn VectorIndex, points: impl Iterator<Item = u128>) {
    let ops: Vec<IndexOp> = points.map(|n| IndexOp::Upsert(point(n))).collect();
    index.apply(&ops).await.expect("applied");
}

fn query() -> VectorQuery {
    VectorQuery { space: "one".into(), vector: vec![1.0, 0.0, 0.0], filter: Filter::default(), limit: 5 }
}

#[tokio::test]
async fn a_collection_is_made_as_the_settings_say_with_an_index_for_each_filter_field() {
    let server = QdrantServer::start().await;
    let settings = QdrantSettings {
        m: 24,
        ef_construct: 200,
        quantization: Quantization::Scalar,
        on_disk: true,
        shards: 3,
        replicas: 2,
        ..settings()
    };
    let index = QdrantIndex::open(&server.url(), &spaces(), &settings).await.expect("opened");
    put(&index, 1..=3).await;
    assert_eq!(index.search(&query(), &all()).await.expect("found").len(), 3);
    let names = server.collections();
    let [name] = names.as_slice() else { panic!("one collection: {names:?}") };
    assert!(name.starts_with("recollect-") && name.ends_with("-1"), "{name}");
    let made = server.made_as(name);
    let hnsw = made.hnsw_config.expect("HNSW");
    assert_eq!(
        (hnsw.m, hnsw.ef_construct, made.shard_number, made.replication_factor),
        (Some(24), Some(200), Some(3), Some(2))
    );
    assert!(matches!(made.quantization_config.expect("quantised").quantization, Some(Quantized::Scalar(_))));
    let Some(Config::ParamsMap(vectors)) = made.vectors_config.expect("vectors").config else { panic!("named ones") };
    #[expect(deprecated, reason = "the field that every version of the server reads")]
    let on_disk = vectors.map["one"].on_disk;
    assert_eq!((vectors.map["one"].size, vectors.map["two"].size, on_disk), (3, 2, Some(true)));
    let fields = server.indexed_fields(name);
    assert_eq!(fields.len(), 14, "{fields:?}");
}

#[tokio::test]
async fn what_was_written_is_there_when_it_is_opened_again_also_by_two_at_once() {
    let server = QdrantServer::start().await;
    let url = server.url();
    let (one, two) = tokio::join!(open(&url), open(&url));
    put(&one, 1..=2).await;
    assert_eq!(two.count().await.expect("counted"), 2);
    drop((one, two));
    let mut turned = spaces();
    turned.reverse();
    let again = QdrantIndex::open(&url, &turned, &settings()).await.expect("the order of spaces says nothing");
    assert_eq!(again.count().await.expect("counted"), 2);
    assert_eq!(server.collections().len(), 1);
}

#[tokio::test]
async fn a_batch_goes_in_requests_of_a_few_hundred_points_and_a_search_is_one() {
    let server = QdrantServer::start().await;
    let index = open(&server.url()).await;
    put(&index, 1..=600).await;
    assert_eq!(server.calls("update"), 3);
    index.search(&query(), &all()).await.expect("found");
    assert_eq!(server.calls("query"), 1);
    let mixed: Vec<IndexOp> = (1..=300)
        .flat_map(|n| {
            let retire = IndexOp::Retire { id: id(n), status: Status::Archived, valid_to: None, retired_at: n as i64 };
            [retire, IndexOp::Upsert(point(1000 + n))]
        })
        .collect();
    index.apply(&mixed).await.expect("applied");
    assert_eq!(server.calls("update"), 6);
    assert_eq!(index.count().await.expect("counted"), 900);
}

#[tokio::test]
async fn an_index_for_other_spaces_is_refused_by_name_until_a_rebuild_replaces_it() {
    let server = QdrantServer::start().await;
    let url = server.url();
    put(&open(&url).await, 1..=2).await;
    let other = [SpaceSpec { name: "one".into(), dimension: 4 }];
    let (kind, text) = refusal(&url, &other, &settings()).await;
    assert_eq!(kind, PortErrorKind::Mismatch);
    for part in ["one (3), two (2)", "one (4)", "recollect reindex"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let remote = Remote { qdrant: settings(), ..Remote::default() };
    let folder = std::path::Path::new("unused");
    let opened = backends::open_index(&url, folder, &other, OpenIndex::Replace, &remote).await.expect("opened");
    assert!(opened.damaged.expect("a reason").contains("one (3), two (2)"));
    assert_eq!(opened.index.count().await.expect_err("withdrawn").kind, PortErrorKind::Corrupt);
    let beside = opened.index.rebuild().await.expect("begun");
    assert_eq!(open(&url).await.count().await.expect("the old one serves others"), 2);
    beside.switch().await.expect("switched");
    assert_eq!(opened.index.count().await.expect("counted"), 0);
    assert_eq!(server.collections().len(), 1, "the old one is gone");
    QdrantIndex::open(&url, &other, &settings()).await.expect("opened");
}

#[tokio::test]
async fn what_rebuilds_left_behind_is_removed_and_what_is_of_others_is_not() {
    let server = QdrantServer::start().await;
    let url = server.url();
    let notes = QdrantSettings { collection: "recollect-notes".into(), ..settings() };
    let other = QdrantIndex::open(&url, &spaces(), &notes).await.expect("opened");
    put(&other, 1..=1).await;
    let index = open(&url).await;
    for _ in 0..3 {
        drop(index.rebuild().await.expect("begun"));
    }
    assert_eq!(server.collections().len(), 3, "{:?}", server.collections());
    index.rebuild().await.expect("begun").switch().await.expect("switched");
    assert_eq!(server.collections().len(), 2, "{:?}", server.collections());
    assert_eq!(other.count().await.expect("counted"), 1);
    QdrantIndex::remove(&url, &settings()).await.expect("removed");
    assert_eq!(server.collections().len(), 1, "{:?}", server.collections());
    assert_eq!(other.count().await.expect("counted"), 1);
}

#[tokio::test]
async fn another_process_sees_a_switch_at_once() {
    let server = QdrantServer::start().await;
    let (one, two) = (open(&server.url()).await, open(&server.url()).await);
    put(&one, 1..=3).await;
    let beside = one.rebuild().await.expect("begun");
    beside.apply(&[IndexOp::Upsert(point(9))]).await.expect("applied");
    assert_eq!(two.count().await.expect("counted"), 3);
    beside.switch().await.expect("switched");
    assert_eq!(two.ids(None, 9, &all()).await.expect("ids"), [id(9)]);
}

#[tokio::test]
async fn a_collection_that_vanished_is_corrupt() {
    let server = QdrantServer::start().await;
    let index = open(&server.url()).await;
    server.lose(&server.collections()[0]);
    assert_eq!(index.count().await.expect_err("gone").kind, PortErrorKind::Corrupt);
    assert_eq!(index.apply(&[IndexOp::Upsert(point(1))]).await.expect_err("gone").kind, PortErrorKind::Corrupt);
}

#[tokio::test]
async fn keys_are_sent_and_a_wrong_or_missing_one_is_said_without_being_shown() {
    let server = QdrantServer::start_as(Nature { api_key: Some("sesame-7"), ..Nature::default() }).await;
    let url = server.url();
    let with = |key: Option<&str>| QdrantSettings { api_key: key.map(str::to_owned), ..settings() };
    QdrantIndex::open(&url, &spaces(), &with(Some("sesame-7"))).await.expect("let in");
    for (key, expected) in [
        (Some("barley-9"), "refuses the key of vectors.qdrant.api_key"),
        (None, "set vectors.qdrant.api_key"),
        (Some("barley 9\n"), "config key vectors.qdrant.api_key: "),
    ] {
        let (kind, text) = refusal(&url, &spaces(), &with(key)).await;
        assert_eq!(kind, PortErrorKind::Mismatch);
        assert!(text.contains(expected) && !text.contains("barley"), "{text}");
    }
}

#[tokio::test]
async fn a_server_that_is_too_old_not_there_or_not_qdrant_is_said_in_a_line() {
    let old = QdrantServer::start_as(Nature { version: "1.9.7", ..Nature::default() }).await;
    let (kind, text) = refusal(&old.url(), &spaces(), &settings()).await;
    assert_eq!((kind, text.as_str()), (PortErrorKind::Mismatch, "the server is Qdrant 1.9.7; at least 1.10 is needed"));

    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for url in [format!("http://{closed}"), format!("https://{closed}")] {
        let (kind, text) = refusal(&url, &spaces(), &settings()).await;
        assert!(kind == PortErrorKind::Unavailable && text.contains("6334"), "{kind:?} {text}");
    }
    let app = crate::support::app::App::start().await;
    let (kind, text) = refusal(&app.url, &spaces(), &settings()).await;
    assert!(kind != PortErrorKind::Mismatch && text.contains("6334"), "{kind:?} {text}");
    let tls = old.url().replace("http:", "https:");
    let (kind, text) = refusal(&tls, &spaces(), &settings()).await;
    assert!(kind == PortErrorKind::Unavailable && text.contains("6334"), "{kind:?} {text}");
    let (kind, text) = refusal("http://", &spaces(), &settings()).await;
    assert!(kind == PortErrorKind::Mismatch && text.contains("http://HOST:PORT"), "{kind:?} {text}");

    let server = QdrantServer::start().await;
    let taken = open(&server.url()).await;
    put(&taken, 1..=1).await;
    let name = server.collections()[0].clone();
    let (kind, text) =
        refusal(&server.url(), &spaces(), &QdrantSettings { collection: name.clone(), ..settings() }).await;
    assert!(
        kind == PortErrorKind::Mismatch && text.contains(&name) && text.contains("vectors.qdrant.collection"),
        "{text}"
    );
}

#[tokio::test]
async fn a_call_that_the_network_cut_is_made_once_more() {
    let server = QdrantServer::start().await;
    let proxy = Proxy::before(server.address).await;
    let index = open(&format!("http://{}", proxy.address)).await;
    put(&index, 1..=500).await;
    let ids: Vec<MemoryId> = (1..=500).map(id).collect();
    let cut = |proxy: &Proxy| proxy.set(Mode::CutOnce);
    cut(&proxy);
    assert_eq!(index.vectors("one", &ids, &all()).await.expect("answered").len(), 500);
    let before = server.calls("update");
    // Written, and then the answer is lost: the same again changes nothing.
    put(&index, 501..=501).await;
    assert_eq!((server.calls("update"), index.count().await.expect("counted")), (before + 1, 501));
    // A restart of the server closes every connection.
    proxy.set(Mode::Down);
    tokio::task::yield_now().await;
    proxy.set(Mode::Pass);
    assert_eq!(index.count().await.expect("answered"), 501);
    put(&index, 502..=502).await;
}

#[tokio::test]
async fn a_server_that_hangs_costs_a_call_its_deadline_and_no_more() {
    let server = QdrantServer::start().await;
    let proxy = Proxy::before(server.address).await;
    let index = open(&format!("http://{}", proxy.address)).await;
    drop(index);
    let index = QdrantIndex::open(&format!("http://{}", proxy.address), &spaces(), &hasty()).await.expect("opened");
    proxy.set(Mode::Hang);
    let started = Instant::now();
    assert_eq!(index.search(&query(), &all()).await.expect_err("late").kind, PortErrorKind::Timeout);
    let (kind, text) = said(index.apply(&[IndexOp::Upsert(point(1))]).await.expect_err("late"));
    assert_eq!(kind, PortErrorKind::Timeout, "{text}");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    proxy.set(Mode::Pass);
    let mut tries = 0;
    while index.count().await.is_err() {
        tries += 1;
        assert!(tries < 50, "it answers again");
    }
}

#[tokio::test]
async fn a_server_that_starts_later_is_waited_for_and_one_that_never_does_is_named() {
    let server = QdrantServer::start().await;
    let proxy = Proxy::before(server.address).await;
    proxy.set(Mode::Down);
    let url = format!("http://{}", proxy.address);
    let remote = |wait| Remote { wait, qdrant: settings(), ..Remote::default() };
    let folder = std::path::Path::new("unused");
    let (spaces, short, long) = (spaces(), remote(Duration::from_millis(500)), remote(Duration::from_secs(60)));
    let never = backends::open_index(&url, folder, &spaces, OpenIndex::Existing, &short).await;
    let text = never.err().expect("given up").to_string();
    assert!(text.starts_with(&format!("open {url}: qdrant failed to open")) && !text.contains('\n'), "{text}");
    let tries = proxy.connections();
    assert!((1..=20).contains(&tries), "{tries} tries in half a second");
    let later = backends::open_index(&url, folder, &spaces, OpenIndex::Existing, &long);
    let (opened, ()) = tokio::join!(later, async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        proxy.set(Mode::Pass);
    });
    assert_eq!(opened.expect("it came").index.count().await.expect("counted"), 0);
}
