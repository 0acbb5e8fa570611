//! The same questions on the embedded stores and on servers: the answers must be as good.

use std::{path::Path, sync::Arc, time::Duration};

use recollect::{
    backends::{self, OpenIndex, Remote, SystemClock},
    config::Config,
    eval::{self, EvalSet, Plan, Report},
    jobs::{Drain, DrainSettings},
    models::{self, ModelOptions},
    read::Mode,
    service::{Parts, Service},
    write::spaces,
};
use serde_json::{Value, json};

use crate::{
    contract::neo4j,
    support::qdrant::{QdrantServer, patient},
};

const CONFIG: &str = r#"
[read]
deadline_ms = 120000
profile = "relevance"
[[models.embedders]]
name = "hashing"
kind = "hashing"
"#;

/// The sample as a set: its questions and, for each memory, a question made of its first words.
fn sample(dir: &Path) -> EvalSet {
    let lines = |name: &str| -> Vec<Value> {
        let path = format!("{}/samples/starter/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("the sample");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let (mut memories, mut queries, mut edges) = (String::new(), String::new(), String::new());
    for line in lines("memories.jsonl") {
        let (id, text) = (&line["external_id"], line["content"].as_str().expect("content"));
        let memory = json!({"id": id, "text": text, "title": line["title"], "session": line["session_id"],
            "task": line["task_id"], "timestamp": line["occurred_at"], "speaker": line["speaker"]});
        memories.push_str(&format!("{memory}\n"));
        let beginning: String = text.chars().take(40).collect();
        let query = json!({"id": id, "text": beginning, "category": "beginning", "relevant": [id]});
        queries.push_str(&format!("{query}\n"));
        for effect in line["causes"].as_array().into_iter().flatten() {
            edges.push_str(&format!("{}\n", json!({"from": id, "to": effect, "type": "causes"})));
        }
    }
    for line in lines("questions.jsonl") {
        let query =
            json!({"id": line["query"], "text": line["query"], "category": "question", "relevant": line["expects"]});
        queries.push_str(&format!("{query}\n"));
    }
    for (name, text) in [("memories.jsonl", memories), ("queries.jsonl", queries), ("edges.jsonl", edges)] {
        std::fs::write(dir.join(name), text).expect("written");
    }
    eval::load(dir).expect("a set")
}

async fn measured(set: &EvalSet, graph: &str, vectors: &str, remote: &Remote) -> Report {
    let dir = tempfile::tempdir().expect("temporary folder");
    let file = dir.path().join("config.toml");
    std::fs::write(&file, CONFIG).expect("config written");
    let config = Config::load(Some(&file)).expect("valid settings");
    let options =
        ModelOptions { dir: dir.path().to_owned(), runtime: "".into(), batch: 64, threads: 1, query_cache: 100 };
    let embedders = models::open(&config.models.embedders, &options).await.expect("the hashing embedder");
    let graph = backends::open_graph(graph, dir.path(), remote).await.expect("a graph store");
    let index = backends::open_index(vectors, dir.path(), &spaces(&embedders), OpenIndex::Existing, remote).await;
    let index = index.expect("an index").index;
    let drain = Arc::new(Drain::new(graph.store.clone(), index.clone(), DrainSettings::default()));
    let parts = Parts {
        graph: graph.store,
        browse: graph.browse,
        reviews: graph.reviews,
        ontology: graph.ontology,
        tokens: graph.tokens,
        index,
        embedders,
        clock: Arc::new(SystemClock),
        drain: drain.clone(),
        backlog: None,
    };
    let Config { read, write, review, ontology, .. } = config.clone();
    let service = Service::new(parts, read, write, review, ontology);
    let names = eval::fill(&service, set, &mut |_| {}).await.expect("stored");
    drain.catch_up().await.expect("indexed");
    let modes = vec![Mode::Semantic, Mode::Keyword, Mode::Hybrid, Mode::Associative];
    let plan = Plan { modes, limit: 10, ks: vec![5, 10] };
    eval::ask(&service, set, &names, &plan, &mut |_| {}).await.expect("asked")
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_servers_are_as_good_as_those_of_the_embedded_stores() {
    let Some((neo4j, _turn)) = neo4j::emptied().await else { return };
    let dir = tempfile::tempdir().expect("temporary folder");
    let set = sample(dir.path());
    let embedded = measured(&set, "sqlite:graph.db", "edge:index", &Remote::default()).await;
    let qdrant = QdrantServer::start().await;
    let mut remote = Remote { qdrant: patient(None), ..Remote::default() };
    remote.neo4j.timeout = Duration::from_secs(60);
    let servers = measured(&set, &neo4j, &format!("http://{}", qdrant.address), &remote).await;
    for (mode, categories) in &embedded {
        for (category, figures) in categories {
            for measure in ["recall@5", "recall@10"] {
                let (one, other) = (figures.values[measure], servers[mode][category].values[measure]);
                println!("{mode} {category} {measure}: embedded {one:.3}, servers {other:.3}");
                assert!((one - other).abs() <= 0.005, "{mode} {category} {measure}: {one} and {other}");
            }
        }
    }
    assert!(embedded["hybrid"]["beginning"].values["recall@10"] > 0.9, "the set says something: {embedded:?}");
}
