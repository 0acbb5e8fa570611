//! Puts a service together from settings: takes the data folder, opens stores and models, checks that they belong together.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    os::unix::fs::DirBuilderExt as _,
    path::Path,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{
    backends::{
        self, Index, OpenIndex, Remote,
        neo4j::Neo4jSettings,
        qdrant::{QdrantSettings, Quantization},
    },
    config::{self, Config},
    domain::{Caller, Visibility},
    jobs::{self, Drain, DrainSettings},
    models,
    ports::{Embedder, GraphStore, Journal},
    service::{Parts, Service},
    write::spaces,
};

/// Where the graph store keeps which models its vectors come from.
pub(super) const MODELS_KEY: &str = "models";

/// Time between two writes of the uses of memories.
const COUNT_USES_EVERY: Duration = Duration::from_secs(5);

/// What to do when the data was embedded with other models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Models {
    /// Refuse to start.
    MustMatch,
    /// Start with an empty index, to build it anew.
    Replace,
}

/// A service on the data folder, which is locked as long as this lives.
pub(super) struct Opened {
    pub service: Arc<Service>,
    pub journal: Arc<dyn Journal>,
    stop: CancellationToken,
    drain: tokio::task::JoinHandle<()>,
    uses: tokio::task::JoinHandle<()>,
    lock: File,
}

/// Who holds a data folder.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Holder {
    pub pid: u32,
    /// Where it serves, if it does.
    pub url: Option<String>,
}

impl Holder {
    /// The error for a command that needs the folder for itself.
    pub(super) fn in_use(&self, dir: &Path) -> anyhow::Error {
        let place = self.url.as_ref().map(|url| format!(", serving at {url}")).unwrap_or_default();
        anyhow::anyhow!(
            "data folder {} is in use by process {}{place}; stop it, or name another folder with --data",
            dir.display(),
            self.pid
        )
    }
}

/// The person at the command line.
pub(super) fn operator() -> Caller {
    Caller::operator("admin")
}

/// Who holds the folder now, if anyone.
pub(super) fn holder(dir: &Path) -> anyhow::Result<Option<Holder>> {
    let path = dir.join("lock");
    let Ok(mut file) = OpenOptions::new().read(true).open(&path) else { return Ok(None) };
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            Ok(Some(serde_json::from_str(&text).unwrap_or_default()))
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("lock {}", path.display())),
    }
}

/// The data folder, readable by its owner alone where it is new.
fn create_data(dir: &Path) -> anyhow::Result<()> {
    let mut create = std::fs::DirBuilder::new();
    create.recursive(true).mode(0o700);
    create.create(dir).with_context(|| format!("create data folder {}", dir.display()))
}

/// The data folder, for this process alone as long as the file lives.
pub(super) fn lock(dir: &Path) -> anyhow::Result<File> {
    create_data(dir)?;
    let path = dir.join("lock");
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(holder(dir)?.unwrap_or_default().in_use(dir)),
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("lock {}", path.display())),
    }
}

/// Opens everything that the settings name, and catches the index up.
pub(super) async fn open(config: &Config, on_other_models: Models) -> anyhow::Result<Opened> {
    let dir = &config.data.dir;
    let mut lock = lock(dir)?;
    say_holder(&mut lock, None)?;
    let embedders = models::open(&config.models.embedders, &model_options(config)).await?;
    let graph = backends::open_graph(&config.graph.url, dir, &remote(config)).await?;
    refuse_unfinished(&*graph.store, &config.graph.url).await?;
    check_models(&*graph.store, &embedders, on_other_models).await?;
    let how = match on_other_models {
        Models::MustMatch => OpenIndex::Existing,
        Models::Replace => OpenIndex::Replace,
    };
    let Index { index, volatile, damaged } =
        backends::open_index(&config.vectors.url, dir, &spaces(&embedders), how, &remote(config)).await?;
    let drain = Arc::new(Drain::new(
        graph.store.clone(),
        index.clone(),
        DrainSettings {
            flush_rows: config.vectors.flush_rows,
            flush_every: Duration::from_secs(config.vectors.flush_secs),
            optimize_rows: config.vectors.optimize_points,
            jitter_seed: u64::from(std::process::id()),
            ..DrainSettings::default()
        },
    ));
    if how == OpenIndex::Existing {
        // Rows that wait were made by the same models; before a reindex they may not have been, and it passes over them.
        drain.catch_up().await.context("catch the vector index up")?;
    }
    if !volatile && how == OpenIndex::Existing {
        check_index(&*graph.store, index.count().await?, &config.vectors.url).await?;
    }
    let parts = Parts {
        graph: graph.store,
        browse: graph.browse,
        tokens: graph.tokens,
        index,
        embedders,
        clock: Arc::new(backends::SystemClock),
        drain: drain.clone(),
    };
    let service = Arc::new(Service::new(parts, config.read.clone(), config.write.clone()));
    if volatile {
        service.reindex(&operator(), |_, _| {}).await?;
    }
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let running = tokio::spawn(async move { drain.run(stopped).await });
    let (counting, stopped) = (service.uses(), stop.clone());
    let uses = tokio::spawn(async move { counting.run(COUNT_USES_EVERY, stopped).await });
    Ok(Opened { service, journal: graph.journal, stop, drain: running, uses, lock })
}

/// The token store alone, which other processes may use at the same time.
pub(super) async fn open_tokens(config: &Config) -> anyhow::Result<Arc<dyn crate::ports::TokenStore>> {
    create_data(&config.data.dir)?;
    Ok(backends::open_graph(&config.graph.url, &config.data.dir, &remote(config)).await?.tokens)
}

impl Opened {
    /// Tells other processes where this one serves.
    pub(super) fn serves_at(&mut self, url: &str) -> anyhow::Result<()> {
        say_holder(&mut self.lock, Some(url.to_owned()))
    }

    /// Stops background work and makes everything durable.
    pub(super) async fn close(self) -> anyhow::Result<()> {
        self.stop.cancel();
        self.uses.await?;
        // It closes the index itself.
        Ok(self.drain.await?)
    }
}

fn say_holder(lock: &mut File, url: Option<String>) -> anyhow::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    lock.write_all(serde_json::to_string(&Holder { pid: std::process::id(), url })?.as_bytes())?;
    Ok(())
}

/// How models are opened, from the settings.
pub(super) fn model_options(config: &Config) -> models::ModelOptions {
    models::ModelOptions {
        dir: config.models.dir.clone(),
        runtime: config.models.runtime.clone(),
        batch: config.models.batch,
        threads: config.models.threads,
        query_cache: config.models.query_cache,
    }
}

/// How servers are reached, from the settings.
pub(super) fn remote(config: &Config) -> Remote {
    let (graph, qdrant) = (&config.graph, &config.vectors.qdrant);
    Remote {
        wait: Duration::from_secs(config.server.wait_secs),
        neo4j: Neo4jSettings {
            user: graph.user.clone(),
            password: graph.password.reveal().unwrap_or_default().to_owned(),
            database: graph.database.clone(),
            timeout: Duration::from_millis(graph.timeout_ms),
            connections: graph.connections,
        },
        qdrant: QdrantSettings {
            collection: qdrant.collection.clone(),
            api_key: qdrant.api_key.reveal().map(str::to_owned),
            timeout: Duration::from_millis(qdrant.timeout_ms),
            write_timeout: Duration::from_millis(qdrant.write_timeout_ms),
            m: qdrant.m,
            ef_construct: qdrant.ef_construct,
            quantization: match qdrant.quantization {
                config::Quantization::None => Quantization::None,
                config::Quantization::Scalar => Quantization::Scalar,
            },
            on_disk: qdrant.vectors_on_disk,
            shards: qdrant.shards,
            replicas: qdrant.replicas,
        },
    }
}

/// Half of an archive would answer like the whole.
pub(super) async fn refuse_unfinished(graph: &dyn GraphStore, url: &str) -> anyhow::Result<()> {
    anyhow::ensure!(
        !jobs::move_was_interrupted(graph).await?,
        "{url} holds a part of an archive or of another store: an import or migration was cut short; run it again"
    );
    Ok(())
}

/// What the graph store keeps of the models its vectors come from.
pub(super) fn models_named(embedders: &[Arc<dyn Embedder>]) -> String {
    let named: Vec<String> = embedders
        .iter()
        .map(|embedder| embedder.card())
        .map(|card| {
            format!("{} ({} dimensions, {})", card.id, card.dimension, card.hash.get(..12).unwrap_or(&card.hash))
        })
        .collect();
    named.join(", ")
}

/// An error unless data that was embedded with `stored` goes with the models that the settings name.
pub(super) fn same_models(stored: &str, named: &str) -> anyhow::Result<()> {
    anyhow::ensure!(
        stored == named,
        "this data was embedded with {stored}, the settings name {named}; name the first in models.embedders, or run \
         `recollect reindex` to embed everything anew"
    );
    Ok(())
}

pub(super) async fn check_models(
    graph: &dyn GraphStore,
    embedders: &[Arc<dyn Embedder>],
    on_other: Models,
) -> anyhow::Result<()> {
    let named = models_named(embedders);
    match graph.meta(MODELS_KEY).await? {
        Some(stored) if stored == named => Ok(()),
        Some(stored) if on_other == Models::MustMatch => same_models(&stored, &named),
        _ => Ok(graph.set_meta(MODELS_KEY, &named).await?),
    }
}

/// An index that lost its folder would answer with nothing; say so instead.
async fn check_index(graph: &dyn GraphStore, points: usize, url: &str) -> anyhow::Result<()> {
    if jobs::reindex_was_interrupted(graph).await? {
        anyhow::bail!("the vector index {url} is unfinished: the last reindex was cut short; run `recollect reindex`");
    }
    let counts = graph.counts(&Visibility::system("is the index empty while the graph is not")).await?;
    if points == 0 && counts.memories > 0 {
        anyhow::bail!(
            "the vector index {url} is empty, the graph has {} memories; run `recollect reindex`",
            counts.memories
        );
    }
    Ok(())
}
