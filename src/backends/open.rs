//! Settings to adapters. `graph.url` and `vectors.url` say which.
//!
//! A server is waited for, since it may start after us, and is put behind a circuit; what runs in this process is there or
//! is not.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable};

use super::{
    circuit::CircuitSettings,
    edge::EdgeIndex,
    exact::ExactIndex,
    guarded,
    neo4j::{Neo4jSettings, Neo4jStore},
    qdrant::{QdrantIndex, QdrantSettings},
    sqlite::SqliteStore,
};
use crate::ports::{
    Archive, Browse, GraphStore, Journal, MetaRow, OntologyStore, PortError, PortErrorKind, ReviewStore, SpaceSpec,
    TokenStore, VectorIndex,
};

/// File of the journal in the data folder.
const JOURNAL: &str = "journal.db";

/// A setting that names no adapter, or an adapter that cannot open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The setting is not of a form we know.
    #[error("config key {key}: {url:?} is not one of {known}")]
    UnknownUrl {
        /// The setting.
        key: &'static str,
        /// What it says.
        url: String,
        /// What it may say.
        known: &'static str,
    },
    /// What is asked for is a matter of the embedded store.
    #[error("{0} is not the embedded store; keep it with its own tools, or with `recollect export`")]
    NotEmbedded(String),
    /// There is nothing to back up.
    #[error("{0} is not there")]
    Missing(PathBuf),
    /// The adapter's own error.
    #[error("open {url}: {error}{}", reason(.error))]
    Port {
        /// What the setting says.
        url: String,
        /// Why.
        error: PortError,
    },
}

/// The stores behind `graph.url`.
pub struct Graph {
    /// Memories and their edges.
    pub store: Arc<dyn GraphStore>,
    /// The same, page by page.
    pub browse: Arc<dyn Browse>,
    /// The same, row by row, for archives and migrations.
    pub archive: Arc<dyn Archive>,
    /// The wiki and the review queue.
    pub reviews: Arc<dyn ReviewStore>,
    /// Terms of ontologies.
    pub ontology: Arc<dyn OntologyStore>,
    /// Bearer tokens.
    pub tokens: Arc<dyn TokenStore>,
    /// Where changes wait while the store is away. A store in this process needs none: it is there as long as we are.
    pub journal: Option<Arc<dyn Journal>>,
}

/// The index behind `vectors.url`.
pub struct Index {
    /// The index.
    pub index: Arc<dyn VectorIndex>,
    /// Whether it is empty by design, so that it is filled from the graph at each start.
    pub volatile: bool,
    /// Why it cannot be used as it is: it is withdrawn, and a rebuild is due.
    pub damaged: Option<String>,
}

/// What to do with an index that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenIndex {
    /// Use it; one for other spaces is an error.
    Existing,
    /// Use it until a rebuild has replaced it, if it is for the same spaces; else it is withdrawn until then.
    Replace,
}

/// How servers are reached; what runs in this process needs none of it.
#[derive(Clone, Default)]
pub struct Remote {
    /// How long a start waits for a server that does not answer.
    pub wait: Duration,
    /// For `graph.url` with a Neo4j server.
    pub neo4j: Neo4jSettings,
    /// For `vectors.url` with a Qdrant server.
    pub qdrant: QdrantSettings,
}

/// Opens the graph store; `sqlite:PATH` is relative to `dir`. With a server, changes that wait for it are kept in `dir`.
pub async fn open_graph(url: &str, dir: &Path, remote: &Remote) -> Result<Graph, OpenError> {
    if is_neo4j(url) {
        let opened = patiently("graph.url", url, remote.wait, || Neo4jStore::open(url, &remote.neo4j));
        let opened = Arc::new(opened.await?);
        let store = Arc::new(guarded::graph(opened.clone(), CircuitSettings::default()));
        let journal = Some(open_journal(dir).await?);
        return Ok(Graph {
            store: store.clone(),
            browse: store.clone(),
            archive: opened,
            reviews: store.clone(),
            ontology: store.clone(),
            tokens: store,
            journal,
        });
    }
    if !url.starts_with("sqlite:") {
        let known = "sqlite:PATH, neo4j://HOST:PORT, neo4j+s://HOST:PORT, bolt://HOST:PORT, bolt+s://HOST:PORT";
        return Err(OpenError::UnknownUrl { key: "graph.url", url: url.to_owned(), known });
    }
    let store = sqlite(url, dir).await?;
    Ok(Graph {
        store: store.clone(),
        browse: store.clone(),
        archive: store.clone(),
        reviews: store.clone(),
        ontology: store.clone(),
        tokens: store,
        journal: None,
    })
}

/// Where the embedded store of this setting has its file.
pub fn graph_file(url: &str, dir: &Path) -> Option<PathBuf> {
    url.strip_prefix("sqlite:").map(|path| dir.join(path))
}

/// Copies the embedded store to `file`, while others use it. The copy has everything but the vectors.
pub async fn backup_graph(url: &str, dir: &Path, file: &Path) -> Result<(), OpenError> {
    let path = graph_file(url, dir).ok_or_else(|| OpenError::NotEmbedded(url.to_owned()))?;
    if !path.exists() {
        return Err(OpenError::Missing(path));
    }
    let copied = async { SqliteStore::open(path).await?.backup_to(file).await };
    copied.await.map_err(|error| OpenError::Port { url: url.to_owned(), error })
}

/// Puts a backup in the place of the embedded store, which nobody may have open, with `note` among its settings. With `keep`, a
/// file that is there is kept under its name with `keep` added, and this answers where; without, it is an error.
pub async fn restore_graph(
    url: &str,
    dir: &Path,
    backup: &Path,
    keep: Option<String>,
    note: MetaRow,
) -> Result<Option<PathBuf>, OpenError> {
    let path = graph_file(url, dir).ok_or_else(|| OpenError::NotEmbedded(url.to_owned()))?;
    let restored = SqliteStore::restore(backup, path, keep, note).await;
    restored.map_err(|error| OpenError::Port { url: url.to_owned(), error })
}

/// Opens the journal for a graph store that is not in this process: a file in `dir`.
pub async fn open_journal(dir: &Path) -> Result<Arc<dyn Journal>, OpenError> {
    match SqliteStore::open(dir.join(JOURNAL)).await {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => Err(OpenError::Port { url: JOURNAL.to_owned(), error }),
    }
}

async fn sqlite(url: &str, dir: &Path) -> Result<Arc<SqliteStore>, OpenError> {
    let opened = SqliteStore::open(dir.join(url.trim_start_matches("sqlite:"))).await;
    opened.map(Arc::new).map_err(|error| OpenError::Port { url: url.to_owned(), error })
}

fn is_neo4j(url: &str) -> bool {
    url.split_once("://").is_some_and(|(scheme, _)| Neo4jSettings::SCHEMES.contains(&scheme))
}

/// Opens the vector index; `edge:PATH` is relative to `dir`.
pub async fn open_index(
    url: &str,
    dir: &Path,
    spaces: &[SpaceSpec],
    how: OpenIndex,
    remote: &Remote,
) -> Result<Index, OpenError> {
    if url == "memory:" {
        return Ok(Index { index: Arc::new(ExactIndex::new(spaces)), volatile: true, damaged: None });
    }
    let failed = |error| OpenError::Port { url: url.to_owned(), error };
    if is_qdrant(url) {
        let opened =
            patiently("vectors.url", url, remote.wait, || QdrantIndex::open(url, spaces, &remote.qdrant)).await;
        let (index, damaged) = match opened {
            Ok(index) => (index, None),
            Err(OpenError::Port { error, .. })
                if error.kind == PortErrorKind::Mismatch && how == OpenIndex::Replace =>
            {
                let why = format!("{error}{}", reason(&error));
                (QdrantIndex::open_withdrawn(url, spaces, &remote.qdrant).await.map_err(failed)?, Some(why))
            }
            Err(error) => return Err(error),
        };
        let index = guarded::index(Arc::new(index), CircuitSettings::default());
        return Ok(Index { index: Arc::new(index), volatile: false, damaged });
    }
    let Some(path) = url.strip_prefix("edge:") else {
        let known = "edge:PATH, http://HOST:PORT, https://HOST:PORT, memory:";
        return Err(OpenError::UnknownUrl { key: "vectors.url", url: url.to_owned(), known });
    };
    let path = dir.join(path);
    let (index, damaged) = match EdgeIndex::open(&path, spaces).await {
        Ok(index) => (index, None),
        Err(error)
            if error.kind == PortErrorKind::Corrupt
                || error.kind == PortErrorKind::Mismatch && how == OpenIndex::Replace =>
        {
            (
                EdgeIndex::open_withdrawn(&path, spaces).await.map_err(failed)?,
                Some(format!("{error}{}", reason(&error))),
            )
        }
        Err(error) => return Err(failed(error)),
    };
    Ok(Index { index: Arc::new(index), volatile: false, damaged })
}

/// Removes from a server what [`open_index`] made there; what is in this process goes with its folder.
pub async fn remove_index(url: &str, remote: &Remote) -> Result<(), OpenError> {
    if !is_qdrant(url) {
        return Ok(());
    }
    QdrantIndex::remove(url, &remote.qdrant).await.map_err(|error| OpenError::Port { url: url.to_owned(), error })
}

fn is_qdrant(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

/// Opens a server, and tries again for as long as `wait` while it does not answer. Any other failure is final.
async fn patiently<T, F: Future<Output = Result<T, PortError>>>(
    key: &'static str,
    url: &str,
    wait: Duration,
    open: impl FnMut() -> F,
) -> Result<T, OpenError> {
    let tries = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(200))
        .with_max_delay(Duration::from_secs(5))
        .without_max_times()
        .with_total_delay(Some(wait))
        .with_jitter();
    let opened = open
        .retry(tries)
        .when(|error| matches!(error.kind, PortErrorKind::Unavailable | PortErrorKind::Timeout))
        .notify(|error, pause| tracing::warn!(?pause, "waiting for {key} {url}: {error}{}", reason(error)))
        .await;
    opened.map_err(|error| OpenError::Port { url: url.to_owned(), error })
}

/// Adapters explain what to do in their source; the operator reads it, clients never do.
fn reason(error: &PortError) -> String {
    error.source.as_ref().map(|source| format!(": {source}")).unwrap_or_default()
}
