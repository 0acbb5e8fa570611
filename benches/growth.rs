//! How a graph store grows: the time of a store, a keyword question and a walk at several sizes, as a Markdown table.
//!
//! `cargo bench --bench growth -- --memories FILE.jsonl --queries FILE.jsonl [--graph URL] [--sizes 1000,10000,100000]`
//!
//! FILE.jsonl are `memories.jsonl` and `queries.jsonl` as `recollect eval` reads them. When the file is used up it starts
//! again under other titles and sessions, so that subjects grow in number and names that texts mention become hubs.
//! Embedding is by hashing: what is measured is the stores. The graph must be empty; `scripts/neo4j` starts a Neo4j server that
//! asks for no password.

#![recursion_limit = "256"]

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use clap::Parser;
use recollect::{
    backends::{self, OpenIndex, Remote, SystemClock},
    config::Config,
    domain::{Caller, Direction, EdgeKind, Filter, MemoryId, PrincipalKind, Right},
    jobs::{Drain, DrainSettings},
    models::{self, ModelOptions},
    ports::{GraphStore, KeywordQuery, NeighbourhoodQuery},
    service::{Parts, Service},
    text,
    write::{StoreRequest, spaces},
};
use serde::Deserialize;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Memories stored in one transaction while filling.
const BATCH: usize = 256;
/// Single stores measured at each size.
const STORES: usize = 200;
/// Questions and walks measured at each size.
const QUESTIONS: usize = 300;
/// As `read.candidates`, `read.activation.seeds` and `read.max_nodes` are by default.
const CANDIDATES: usize = 200;
const SEEDS: usize = 5;
const MAX_NODES: usize = 2000;

#[derive(Parser)]
struct Options {
    /// Memories to store.
    #[arg(long)]
    memories: PathBuf,
    /// Questions to ask.
    #[arg(long)]
    queries: PathBuf,
    /// Where the graph is; must be empty.
    #[arg(long, default_value = "sqlite:graph.db")]
    graph: String,
    /// Numbers of memories at which to measure, ascending.
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000")]
    sizes: Vec<usize>,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Deserialize)]
struct MemoryLine {
    text: String,
    title: Option<String>,
    session: Option<String>,
    speaker: Option<String>,
}

#[derive(Deserialize)]
struct QueryLine {
    text: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let memories: Vec<MemoryLine> = lines(&options.memories)?;
    let queries: Vec<QueryLine> = lines(&options.queries)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("config.toml");
    let settings =
        format!("[graph]\nurl = {:?}\n[[models.embedders]]\nname = \"hashing\"\nkind = \"hashing\"\n", options.graph);
    std::fs::write(&file, settings)?;
    let config = Config::load(Some(&file))?;
    let Opened { service, graph, drain, stop } = open(&config, folder.path()).await?;
    let caller = Caller {
        principal: "bench".to_owned(),
        kind: PrincipalKind::Service,
        groups: Default::default(),
        rights: [Right::MemoryRead, Right::MemoryWrite].into(),
        owner: None,
    };
    let visibility = caller.visibility();
    anyhow::ensure!(graph.total_memories(&visibility).await? == 0, "{} is not empty", options.graph);

    println!("| memories | fill /s | store p50 ms | p99 | keyword p50 | p99 | walk p50 | p99 | nodes |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut made = 0;
    for size in options.sizes {
        let (started, before) = (Instant::now(), made);
        while made < size {
            let until = size.min(made + BATCH);
            let requests = (made..until).map(|n| request(&memories, n)).collect();
            for reply in service.store_all(&caller, requests).await.map_err(anyhow::Error::msg)? {
                reply.map_err(anyhow::Error::msg)?;
            }
            made = until;
        }
        let a_second = (made - before) as f64 / started.elapsed().as_secs_f64();
        let mut stores = Vec::new();
        for _ in 0..STORES {
            let request = request(&memories, made);
            let started = Instant::now();
            service.store(&caller, request).await.map_err(anyhow::Error::msg)?;
            stores.push(started.elapsed().as_secs_f64() * 1000.0);
            made += 1;
        }
        let (mut keyword, mut walks, mut nodes) = (Vec::new(), Vec::new(), 0);
        for query in queries.iter().cycle().take(QUESTIONS) {
            let started = Instant::now();
            let found = graph.keyword(&words(&query.text), &visibility).await?;
            keyword.push(started.elapsed().as_secs_f64() * 1000.0);
            let seeds = found.iter().take(SEEDS).map(|scored| scored.id).collect();
            let started = Instant::now();
            let met = graph.neighbourhood(&walk(seeds, made), &visibility).await?;
            walks.push(started.elapsed().as_secs_f64() * 1000.0);
            nodes += met.nodes.len();
        }
        println!(
            "| {size} | {a_second:.0} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {} |",
            quantile(&mut stores, 0.5),
            quantile(&mut stores, 0.99),
            quantile(&mut keyword, 0.5),
            quantile(&mut keyword, 0.99),
            quantile(&mut walks, 0.5),
            quantile(&mut walks, 0.99),
            nodes / QUESTIONS
        );
    }
    stop.cancel();
    // It closes the index, which must not outlive its folder.
    Ok(drain.await?)
}

fn lines<T: for<'de> Deserialize<'de>>(path: &std::path::Path) -> anyhow::Result<Vec<T>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

struct Opened {
    service: Service,
    graph: Arc<dyn GraphStore>,
    drain: JoinHandle<()>,
    stop: CancellationToken,
}

async fn open(config: &Config, dir: &std::path::Path) -> anyhow::Result<Opened> {
    let options = ModelOptions { dir: dir.to_owned(), runtime: "".into(), batch: BATCH, threads: 1, query_cache: 0 };
    let embedders = models::open(&config.models.embedders, &options).await?;
    let mut remote = Remote::default();
    // What is slow is to be seen, not cut.
    remote.neo4j.timeout = Duration::from_secs(120);
    let graph = backends::open_graph(&config.graph.url, dir, &remote).await?;
    let index = backends::open_index("edge:index", dir, &spaces(&embedders), OpenIndex::Existing, &remote).await?;
    let index = index.index;
    let drain = Arc::new(Drain::new(graph.store.clone(), index.clone(), DrainSettings::default()));
    let stop = CancellationToken::new();
    let (draining, stopped) = (drain.clone(), stop.clone());
    let draining = tokio::spawn(async move { draining.run(stopped).await });
    let parts = Parts {
        graph: graph.store.clone(),
        browse: graph.browse,
        reviews: graph.reviews,
        index,
        embedders,
        ontology: graph.ontology,
        tokens: graph.tokens,
        clock: Arc::new(SystemClock),
        drain,
        backlog: None,
    };
    let Config { read, write, review, ontology, .. } = config.clone();
    let service = Service::new(parts, read, write, review, ontology);
    Ok(Opened { service, graph: graph.store, drain: draining, stop })
}

/// The `n`th memory: a line of the file, in its `n / lines`th round.
fn request(memories: &[MemoryLine], n: usize) -> StoreRequest {
    let (line, round) = (&memories[n % memories.len()], n / memories.len());
    let of_round = |name: &String| if round == 0 { name.clone() } else { format!("{name} {round}") };
    StoreRequest {
        content: if round == 0 { line.text.clone() } else { format!("{} ({round})", line.text) },
        title: line.title.as_ref().map(of_round),
        session_id: line.session.as_ref().map(of_round),
        speaker: line.speaker.clone(),
        ..StoreRequest::default()
    }
}

fn words(text: &str) -> KeywordQuery {
    KeywordQuery { terms: text::query_terms(text), filter: Filter::default(), limit: CANDIDATES }
}

fn walk(seeds: Vec<MemoryId>, total: usize) -> NeighbourhoodQuery {
    NeighbourhoodQuery {
        seeds,
        depth: 2,
        max_nodes: MAX_NODES,
        edges: EdgeKind::ALL.to_vec(),
        direction: Direction::Both,
        // As `read.activation.hub_share` and `hub_floor` are by default.
        max_concept_uses: (total / 50).max(5),
        filter: Filter::default(),
    }
}

fn quantile(times: &mut [f64], share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times[((times.len() - 1) as f64 * share).round() as usize]
}
