//! Embedders: the port's promises, on the one without weights and on the shipped models where they are fetched.

use std::{path::PathBuf, sync::Arc};

use recollect::{
    domain::Language,
    models::{self, EmbedderEntry, ModelOptions},
    ports::Embedder,
};
use tokio::sync::OnceCell;

const BASE: &str = "multilingual-e5-small";
const ENGLISH: &str = "e5-small-v2";

fn entry(json: serde_json::Value) -> EmbedderEntry {
    serde_json::from_value(json).expect("an entry")
}

fn local(name: &str) -> EmbedderEntry {
    entry(serde_json::json!({"name": name, "kind": "local"}))
}

fn models_dir() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    let cache = || std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    std::env::var_os("RECOLLECT_MODELS").map_or_else(|| cache().join("recollect/models"), PathBuf::from)
}

fn options(dir: impl Into<PathBuf>) -> ModelOptions {
    ModelOptions { dir: dir.into(), runtime: PathBuf::new(), batch: 1, threads: 0, query_cache: 0 }
}

/// The shipped models, opened once; `None` with a printed line where they are not fetched. Under CI that fails.
async fn shipped() -> Option<&'static [Arc<dyn Embedder>]> {
    static SHIPPED: OnceCell<Option<Vec<Arc<dyn Embedder>>>> = OnceCell::const_new();
    SHIPPED.get_or_init(open_shipped).await.as_deref()
}

async fn open_shipped() -> Option<Vec<Arc<dyn Embedder>>> {
    let dir = models_dir();
    if !dir.join(BASE).is_dir() {
        assert!(std::env::var_os("CI").is_none(), "no models in {}: run scripts/fetch-models", dir.display());
        println!("skipped: no models in {}", dir.display());
        return None;
    }
    let mut english = local(ENGLISH);
    english.language = Some(Language::English);
    Some(models::open(&[local(BASE), english], &options(dir)).await.expect("the shipped models open"))
}

async fn open_error(entry: EmbedderEntry, options: &ModelOptions) -> String {
    models::open(&[entry], options).await.map(|_| ()).expect_err("must not open").to_string()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// What the port promises of every embedder.
async fn keeps_the_port(embedder: &dyn Embedder) {
    let long = "a long text about many things ".repeat(2_000);
    let texts = strings(&["The backup failed.", "", "故宫在北京。", &long, "\u{0}\u{feff}🎉", "The backup failed."]);
    let vectors = embedder.embed_passages(&texts).await.expect("vectors");
    assert_eq!(vectors.len(), texts.len());
    for (text, vector) in texts.iter().zip(&vectors) {
        assert_eq!(vector.len(), embedder.card().dimension);
        assert!((dot(vector, vector) - 1.0).abs() < 1e-3, "not normalised: {:?}", text.get(..20));
        let alone = embedder.embed_passages(std::slice::from_ref(text)).await.expect("a vector");
        assert_eq!(&alone[0], vector, "a text alone has another vector: {:?}", text.get(..20));
    }
    assert_eq!(vectors[0], vectors[5]);
    assert!(embedder.embed_passages(&[]).await.expect("no vectors").is_empty());
    let query = embedder.embed_query("Why did the backup fail?").await.expect("a vector");
    assert_eq!(query, embedder.embed_query("Why did the backup fail?").await.expect("a vector"));
    assert!(dot(&query, &vectors[0]) > dot(&query, &vectors[2]));
    assert_eq!(embedder.card().hash.len(), 64);
}

/// The constants beside a model are near what the pairs measure.
async fn is_calibrated(embedder: &dyn Embedder, tolerance: f32) {
    let measured = models::measure_calibration(embedder).await.expect("measured");
    let card = embedder.card();
    let kept = card.calibration;
    let off = [
        measured.passage_strangers - kept.passage_strangers,
        measured.passage_paraphrases - kept.passage_paraphrases,
        measured.query_strangers - kept.query_strangers,
        measured.query_answers - kept.query_answers,
    ];
    assert!(off.iter().all(|off| off.abs() <= tolerance), "{}: measured {measured:?}, kept {kept:?}", card.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn hashing_keeps_the_port() {
    let entry = entry(serde_json::json!({"name": "hashing", "kind": "hashing"}));
    let embedders = models::open(&[entry], &options("/nowhere")).await.expect("needs no files");
    keeps_the_port(&*embedders[0]).await;
    is_calibrated(&*embedders[0], 0.03).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shipped_models_keep_the_port() {
    let Some(embedders) = shipped().await else { return };
    for embedder in embedders {
        assert_eq!(embedder.card().dimension, 384);
        keeps_the_port(&**embedder).await;
        is_calibrated(&**embedder, 0.05).await;
    }
    assert_eq!(embedders[0].card().language, None);
    assert_eq!(embedders[1].card().language, Some(Language::English));
}

#[tokio::test(flavor = "multi_thread")]
async fn base_model_finds_across_languages() {
    let Some(embedders) = shipped().await else { return };
    let base = &embedders[0];
    let passages = strings(&[
        "The Forbidden City is in the centre of Beijing and closed on Mondays.",
        "My sister is allergic to peanuts.",
        "The nightly backup failed because the disk was full.",
        "Она живёт в Москве и работает врачом.",
    ]);
    let vectors = base.embed_passages(&passages).await.expect("vectors");
    for (query, answer) in [
        ("故宫星期几闭馆？", 0),
        ("谁对花生过敏？", 1),
        ("备份为什么失败了？", 2),
        ("Where does she work as a doctor?", 3),
    ] {
        let asked = base.embed_query(query).await.expect("a vector");
        let best = (0..vectors.len()).max_by(|a, b| dot(&asked, &vectors[*a]).total_cmp(&dot(&asked, &vectors[*b])));
        assert_eq!(best, Some(answer), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prefixes_are_put_before_texts() {
    let Some(embedders) = shipped().await else { return };
    let mut bare = local(BASE);
    (bare.query_prefix, bare.passage_prefix) = (Some(String::new()), Some(String::new()));
    let bare = models::open(&[bare], &options(models_dir())).await.expect("opens").remove(0);
    let (shipped, text) = (&embedders[0], "the text");
    let prefixed = bare.embed_query(&format!("query: {text}")).await.expect("a vector");
    assert_eq!(shipped.embed_query(text).await.expect("a vector"), prefixed);
    let prefixed = bare.embed_passages(&[format!("passage: {text}")]).await.expect("a vector");
    assert_eq!(shipped.embed_passages(&strings(&[text])).await.expect("a vector"), prefixed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_does_not_wait_for_an_import() {
    let Some(embedders) = shipped().await else { return };
    let import: Vec<String> = (0..200).map(|n| format!("memory number {n} of a large import")).collect();
    let base = embedders[0].clone();
    let import = tokio::spawn(async move { base.embed_passages(&import).await });
    tokio::task::yield_now().await;
    embedders[0].embed_query("a question").await.expect("a vector");
    assert!(!import.is_finished(), "the query waited for 200 passages");
    assert_eq!(import.await.expect("no panic").expect("vectors").len(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_model_is_calibrated_by_measuring() {
    if shipped().await.is_none() {
        return;
    }
    let named = entry(serde_json::json!({
        "name": "my-e5", "kind": "local", "language": "en", "file": "e5-small-v2/model.onnx"
    }));
    let opened = models::open(&[named], &options(models_dir())).await.expect("opens");
    is_calibrated(&*opened[0], 1e-4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_weights_are_refused() {
    if shipped().await.is_none() {
        return;
    }
    let dir = models_dir();
    let mut wrong = local("mine");
    wrong.file = Some(PathBuf::from(ENGLISH).join("model.onnx"));
    wrong.sha256 = Some("00".repeat(32));
    let message = open_error(wrong, &options(&dir)).await;
    assert!(message.contains("SHA-256 7d9092cb") && message.contains("expected 0000"), "{message}");

    let broken = tempfile::tempdir().expect("temporary folder");
    std::fs::create_dir(broken.path().join("mine")).expect("folder");
    for file in ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"] {
        std::fs::copy(dir.join(ENGLISH).join(file), broken.path().join("mine").join(file)).expect("copied");
    }
    std::fs::write(broken.path().join("mine/model.onnx"), "not a model").expect("written");
    let options = ModelOptions { runtime: models::runtime_file(&PathBuf::new(), &dir), ..options(broken.path()) };
    let message = open_error(local("mine"), &options).await;
    assert!(message.contains("model mine cannot be loaded"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_model_names_the_folder_and_the_command() {
    let empty = tempfile::tempdir().expect("temporary folder");
    let message = open_error(local(BASE), &options(empty.path())).await;
    assert!(message.contains(&*empty.path().to_string_lossy()) && message.contains("make models"), "{message}");

    if shipped().await.is_some() {
        let options =
            ModelOptions { runtime: models::runtime_file(&PathBuf::new(), &models_dir()), ..options(empty.path()) };
        let message = open_error(local(BASE), &options).await;
        assert!(
            message.contains("multilingual-e5-small/model.onnx is missing") && message.contains("make models"),
            "{message}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_entry_is_named() {
    for (json, reason) in [
        (serde_json::json!({"name": "a b", "kind": "hashing"}), "white space"),
        (serde_json::json!({"name": "h", "kind": "hashing", "pooling": "cls"}), "kind local"),
        (
            serde_json::json!({"name": "h", "kind": "hashing", "calibration": {
                "passage_strangers": 0.9, "passage_paraphrases": 0.1, "query_strangers": 0.0, "query_answers": 1.0
            }}),
            "calibration",
        ),
    ] {
        let message = open_error(entry(json), &options("/nowhere")).await;
        assert!(message.contains("models.embedders") && message.contains(reason), "{message}");
    }
    let twice = entry(serde_json::json!({"name": "h", "kind": "hashing"}));
    let error = models::open(&[twice.clone(), twice], &options("/nowhere")).await.map(|_| ()).expect_err("twice");
    assert!(error.to_string().contains("used twice"), "{error}");
    let unknown = serde_json::from_value::<EmbedderEntry>(serde_json::json!({"name": "h", "kind": "hashing", "x": 1}));
    assert!(unknown.is_err());
}

#[cfg(not(feature = "hub"))]
#[tokio::test(flavor = "multi_thread")]
async fn a_build_without_the_hub_explains_itself() {
    if shipped().await.is_none() {
        return;
    }
    let message = open_error(entry(serde_json::json!({"name": "bge-m3", "kind": "hub"})), &options(models_dir())).await;
    assert!(message.contains("--features hub"), "{message}");
}
