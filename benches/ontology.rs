//! How long ontologies take: each file imported into an empty embedded store, and memories linked to a large vocabulary.
//!
//! `cargo bench --bench ontology -- FILE…`; without files, the linking alone.

// The types of futures of whole use cases nest deeply.
#![recursion_limit = "256"]

use std::{path::PathBuf, sync::Arc, time::Instant};

use anyhow::Context as _;
use clap::Parser;
use recollect::{
    backends::{self, OpenIndex, Remote, SystemClock},
    config::Config,
    domain::Caller,
    jobs::{Drain, DrainSettings},
    models::{self, ModelOptions},
    ontology::{ImportReply, ImportRequest},
    service::{Parts, Service},
    write::{StoreRequest, spaces},
};

const BATCH: usize = 256;

#[derive(Parser)]
struct Options {
    /// Files to import.
    files: Vec<PathBuf>,
    /// Memories to link.
    #[arg(long, default_value_t = 10_000)]
    memories: usize,
    /// Names in the vocabulary that they are linked to.
    #[arg(long, default_value_t = 50_000)]
    labels: usize,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    println!("| what | seconds | terms | resident MB |");
    println!("|---|---|---|---|");
    for file in &options.files {
        let folder = tempfile::tempdir()?;
        let service = open(folder.path()).await?;
        let bytes = std::fs::read(file).with_context(|| format!("read {}", file.display()))?;
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (reply, seconds) = import(&service, &name, bytes).await?;
        row(&name, seconds, reply.new);
    }
    let folder = tempfile::tempdir()?;
    let service = open(folder.path()).await?;
    let caller = Caller::operator("bench");
    let mut made = 0;
    while made < options.memories {
        let until = options.memories.min(made + BATCH);
        let requests = (made..until).map(|n| memory(n, options.labels)).collect();
        for reply in service.store_all(&caller, requests).await.map_err(anyhow::Error::msg)? {
            reply.map_err(anyhow::Error::msg)?;
        }
        made = until;
    }
    let (reply, seconds) = import(&service, "labels.ttl", vocabulary(options.labels).into_bytes()).await?;
    row(&format!("{} names, {} memories linked", options.labels, reply.linked), seconds, reply.new);
    // Once more with one name changed: the import is small, and all memories are linked anew.
    let changed = vocabulary(options.labels).replace("sensor unit 0001", "gauge unit 0001");
    let (reply, seconds) = import(&service, "labels.ttl", changed.into_bytes()).await?;
    row(&format!("one name changed, {} memories linked anew", reply.linked), seconds, reply.changed);
    Ok(())
}

async fn import(service: &Service, name: &str, bytes: Vec<u8>) -> anyhow::Result<(ImportReply, f64)> {
    let request = ImportRequest { name: name.to_owned(), bytes, ..ImportRequest::default() };
    let started = Instant::now();
    let reply = service.import_ontology(&Caller::operator("bench"), request).await.map_err(anyhow::Error::msg)?;
    Ok((reply, started.elapsed().as_secs_f64()))
}

fn row(what: &str, seconds: f64, terms: i64) {
    let resident = std::fs::read_to_string("/proc/self/status").ok().and_then(|status| {
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.to_owned();
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    let resident = resident.map_or_else(|| "-".to_owned(), |kilobytes| (kilobytes / 1024).to_string());
    println!("| {what} | {seconds:.2} | {terms} | {resident} |");
}

/// Concepts with two names each, in trees of a hundred.
fn vocabulary(names: usize) -> String {
    let mut text =
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix : <https://example.org/units/> .\n".to_owned();
    for n in 0..names / 2 {
        text += &format!(
            ":u{n} a skos:Concept ; skos:prefLabel \"sensor unit {n:04}\"@en ; skos:altLabel \"传感器{n:04}号\"@zh"
        );
        if n % 100 != 0 {
            text += &format!(" ; skos:broader :u{}", n - n % 100);
        }
        text += " .\n";
    }
    text
}

fn memory(n: usize, names: usize) -> StoreRequest {
    let (one, other) = (n * 7 % (names / 2), n * 13 % (names / 2));
    StoreRequest {
        content: format!(
            "Reading {n}: sensor unit {one:04} reported a drift of {} percent after the restart in hall {}, while 传感器{other:04}号 \
             stayed within its limits; the night shift wrote it down and asked for a new calibration before the next delivery.",
            n % 9,
            n % 31
        ),
        ..StoreRequest::default()
    }
}

async fn open(dir: &std::path::Path) -> anyhow::Result<Service> {
    let file = dir.join("config.toml");
    std::fs::write(&file, "[[models.embedders]]\nname = \"hashing\"\nkind = \"hashing\"\n")?;
    let config = Config::load(Some(&file))?;
    let options = ModelOptions { dir: dir.to_owned(), runtime: "".into(), batch: BATCH, threads: 1, query_cache: 0 };
    let embedders = models::open(&config.models.embedders, &options).await?;
    let remote = Remote::default();
    let graph = backends::open_graph("sqlite:graph.db", dir, &remote).await?;
    let index = backends::open_index("memory:", dir, &spaces(&embedders), OpenIndex::Existing, &remote).await?.index;
    let drain = Arc::new(Drain::new(graph.store.clone(), index.clone(), DrainSettings::default()));
    let parts = Parts {
        graph: graph.store,
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
    let Config { read, write, review, ontology, .. } = config;
    Ok(Service::new(parts, read, write, review, ontology))
}
