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
    auth,
    backends::{
        self, Index, OpenError, OpenIndex, Remote,
        neo4j::Neo4jSettings,
        qdrant::{QdrantSettings, Quantization},
    },
    config::{self, Config, ConfigError},
    domain::{Caller, Visibility},
    jobs::{self, Backlog, BacklogSettings, Drain, DrainSettings},
    models,
    ports::{Embedder, GraphStore, PortErrorKind},
    service::{Parts, Service},
    webhooks::{self, Webhooks},
    write::spaces,
};

/// Where the graph store keeps which models its vectors come from.
pub(super) const MODELS_KEY: &str = "models";

/// Time between two writes of the uses of memories.
const COUNT_USES_EVERY: Duration = Duration::from_secs(5);

/// Time between two looks for proposals that expire.
const EXPIRE_EVERY: Duration = Duration::from_secs(3600);

/// What to do when the data was embedded with other models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Models {
    /// Refuse to start.
    MustMatch,
    /// Start, to build the index anew.
    Replace,
}

/// A service on the data folder, which is locked as long as this lives.
pub(super) struct Opened {
    pub service: Arc<Service>,
    graph: Arc<dyn GraphStore>,
    models: String,
    stop: CancellationToken,
    running: Vec<tokio::task::JoinHandle<()>>,
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

/// Opens everything that the settings name, and catches the index up. An index that is damaged is an error.
pub(super) async fn open(config: &Config, on_other_models: Models) -> anyhow::Result<Opened> {
    open_for(config, on_other_models, Damage::IsAnError).await
}

/// [`open`], but a damaged index is built anew in the background, while words are searched.
pub(super) async fn open_to_serve(config: &Config) -> anyhow::Result<Opened> {
    open_for(config, Models::MustMatch, Damage::IsMended).await
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Damage {
    IsAnError,
    IsMended,
}

async fn open_for(config: &Config, on_other_models: Models, damage: Damage) -> anyhow::Result<Opened> {
    let dir = &config.data.dir;
    let mut lock = lock(dir)?;
    say_holder(&mut lock, None)?;
    let embedders = models::open(&config.models.embedders, &model_options(config)).await?;
    refuse_lost_graph(config)?;
    let graph = backends::open_graph(&config.graph.url, dir, &remote(config)).await.map_err(with_restore)?;
    refuse_unfinished(&*graph.store, &config.graph.url).await?;
    let named = models_named(&embedders);
    check_models(&*graph.store, &named, on_other_models).await?;
    let how = match on_other_models {
        Models::MustMatch => OpenIndex::Existing,
        Models::Replace => OpenIndex::Replace,
    };
    let opened = backends::open_index(&config.vectors.url, dir, &spaces(&embedders), how, &remote(config)).await?;
    let Index { index, volatile, damaged } = opened;
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
    let mut mend = false;
    if how == OpenIndex::Existing {
        let due = match damaged {
            None if volatile => None,
            None => rebuild_due(&*graph.store, index.count().await?).await?,
            damaged => damaged,
        };
        match due {
            // Rows that wait were made by the same models; before a reindex they may not have been, and it passes over them.
            None => drop(drain.catch_up().await.context("catch the vector index up")?),
            Some(why) if damage == Damage::IsMended => {
                let url = &config.vectors.url;
                tracing::error!("the vector index {url} is built anew while words are searched: {why}");
                index.withdraw().await;
                mend = true;
            }
            Some(why) => {
                anyhow::bail!("the vector index {} cannot be used: {why}; run `recollect reindex`", config.vectors.url)
            }
        }
    }
    let (mut backlog, mut tokens) = (None, graph.tokens);
    if let Some(journal) = graph.journal {
        let settings = BacklogSettings { jitter_seed: u64::from(std::process::id()), ..BacklogSettings::default() };
        let opened = Backlog::open(journal, graph.store.clone(), settings).await.context("read the journal")?;
        backlog = Some(Arc::new(opened));
        tokens = Arc::new(auth::Remembered::new(tokens));
    }
    let parts = Parts {
        graph: graph.store.clone(),
        browse: graph.browse,
        reviews: graph.reviews,
        ontology: graph.ontology,
        tokens,
        index,
        embedders,
        clock: Arc::new(backends::SystemClock),
        drain: drain.clone(),
        backlog: backlog.clone(),
    };
    let sources = webhooks::Sources {
        graph: parts.graph.clone(),
        browse: parts.browse.clone(),
        reviews: parts.reviews.clone(),
        clock: parts.clock.clone(),
    };
    let webhooks = Webhooks::new(sources, &config.webhooks).map_err(|error| ConfigError::Key(error.to_string()))?;
    let Config { read, write, review, ontology, .. } = config.clone();
    let service = Arc::new(Service::new(parts, read, write, review, ontology));
    if volatile {
        service.reindex(&operator(), |_, _| {}).await?;
    }
    let stop = CancellationToken::new();
    let mut running = Vec::new();
    let stopped = stop.clone();
    running.push(tokio::spawn(async move { drain.run(stopped).await }));
    let (counting, stopped) = (service.uses(), stop.clone());
    running.push(tokio::spawn(async move { counting.run(COUNT_USES_EVERY, stopped).await }));
    let (linking, stopped) = (service.clone(), stop.clone());
    running.push(tokio::spawn(async move {
        // A stop gives it up; the next start goes on.
        tokio::select! { () = stopped.cancelled() => {}, linked = linking.link_concepts() => {
            if let Err(error) = linked {
                tracing::warn!(%error, "memories could not be linked to the concepts of ontologies");
            }
        } }
    }));
    if let Some(backlog) = backlog {
        let (replay, stopped) = (service.clone(), stop.clone());
        running.push(tokio::spawn(async move { backlog.run(replay, stopped).await }));
    }
    // A command changes too little to be listened to; the next service tells of it.
    if damage == Damage::IsMended {
        webhooks.begin().await.context("find out where webhooks begin")?;
        let (changed, stopped) = (service.changed(), stop.clone());
        running.push(tokio::spawn(async move { webhooks.run(changed, stopped).await }));
        let (service, stopped) = (service.clone(), stop.clone());
        running.push(tokio::spawn(async move { expiring(&service, stopped).await }));
    }
    if mend {
        let (service, stopped) = (service.clone(), stop.clone());
        running.push(tokio::spawn(async move {
            // A stop gives it up; the next start begins again.
            tokio::select! { () = stopped.cancelled() => {}, () = mended(&service) => {} }
        }));
    }
    Ok(Opened { service, graph: graph.store, models: named, stop, running, lock })
}

/// Builds the index anew, however often it takes.
async fn mended(service: &Service) {
    const AGAIN: Duration = Duration::from_secs(30);
    loop {
        match service.reindex(&operator(), |_, _| {}).await {
            Ok(memories) => return tracing::info!(memories, "the vector index is whole again"),
            Err(error) => {
                tracing::error!(%error, "the vector index could not be built anew; the next try is in {AGAIN:?}")
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Ends proposals that nobody decided in time, now and then, until stopped.
async fn expiring(service: &Service, stop: CancellationToken) {
    loop {
        match service.expire_proposals(&operator()).await {
            Ok(0) => {}
            Ok(expired) => tracing::info!(expired, "{expired} proposals expired"),
            Err(error) => tracing::warn!(%error, "proposals could not be looked through for those that expire"),
        }
        if tokio::time::timeout(EXPIRE_EVERY, stop.cancelled()).await.is_ok() {
            return;
        }
    }
}

/// A data folder that was in use and has lost its graph would start empty, as if nothing had been stored.
fn refuse_lost_graph(config: &Config) -> anyhow::Result<()> {
    let dir = &config.data.dir;
    let Some(path) = config.graph.url.strip_prefix("sqlite:") else { return Ok(()) };
    let graph = dir.join(path);
    let size = std::fs::metadata(&graph).map_or(0, |meta| meta.len());
    anyhow::ensure!(
        size > 0 || !dir.join("tokens.json").exists(),
        "{} is {}, and this data folder was in use; put a backup in its place with `recollect restore FILE`, or remove the \
         folder to start anew",
        graph.display(),
        if graph.exists() { "empty" } else { "missing" }
    );
    Ok(())
}

/// What to do about a damaged store.
fn with_restore(error: OpenError) -> anyhow::Error {
    match &error {
        OpenError::Port { error: port, .. } if port.kind == PortErrorKind::Corrupt => anyhow::Error::from(error)
            .context("the graph store is damaged; put a backup in its place with `recollect restore FILE`"),
        _ => error.into(),
    }
}

/// The token store alone, which other processes may use at the same time.
pub(super) async fn open_tokens(config: &Config) -> anyhow::Result<Arc<dyn crate::ports::TokenStore>> {
    create_data(&config.data.dir)?;
    refuse_lost_graph(config)?;
    Ok(backends::open_graph(&config.graph.url, &config.data.dir, &remote(config)).await.map_err(with_restore)?.tokens)
}

impl Opened {
    /// Tells other processes where this one serves.
    pub(super) fn serves_at(&mut self, url: &str) -> anyhow::Result<()> {
        say_holder(&mut self.lock, Some(url.to_owned()))
    }

    /// Notes that the index was built by the models of the settings.
    pub(super) async fn note_models(&self) -> anyhow::Result<()> {
        Ok(self.graph.set_meta(MODELS_KEY, &self.models).await?)
    }

    /// Stops background work and makes everything durable.
    pub(super) async fn close(self) -> anyhow::Result<()> {
        self.stop.cancel();
        for task in self.running {
            task.await?;
        }
        Ok(())
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
    let names: Vec<String> = embedders
        .iter()
        .map(|embedder| embedder.card())
        .map(|card| {
            format!("{} ({} dimensions, {})", card.id, card.dimension, card.hash.get(..12).unwrap_or(&card.hash))
        })
        .collect();
    names.join(", ")
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

pub(super) async fn check_models(graph: &dyn GraphStore, named: &str, on_other: Models) -> anyhow::Result<()> {
    match graph.meta(MODELS_KEY).await? {
        Some(stored) if on_other == Models::MustMatch => same_models(&stored, named),
        // Others are noted when the index was built by them.
        Some(_) => Ok(()),
        None => Ok(graph.set_meta(MODELS_KEY, named).await?),
    }
}

/// Why the index must be built anew: it answers like a whole one and is not. Asked before it is caught up, which would
/// hide that all else is missing.
async fn rebuild_due(graph: &dyn GraphStore, points: usize) -> anyhow::Result<Option<String>> {
    if jobs::reindex_was_interrupted(graph).await? {
        return Ok(Some("the last reindex was cut short".to_owned()));
    }
    let counts = graph.counts(&Visibility::system("is the index empty while the graph is not")).await?;
    // What is in the outbox alone was never in the index.
    let lost = points == 0 && counts.memories > counts.outbox;
    Ok(lost.then(|| format!("it is empty, the graph has {} memories", counts.memories)))
}
