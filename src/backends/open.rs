//! Settings to adapters. `graph.url` and `vectors.url` say which.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{edge::EdgeIndex, exact::ExactIndex, sqlite::SqliteStore};
use crate::ports::{Archive, Browse, GraphStore, Journal, MetaRow, PortError, SpaceSpec, TokenStore, VectorIndex};

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
    /// Bearer tokens.
    pub tokens: Arc<dyn TokenStore>,
    /// Changes that wait for the store.
    pub journal: Arc<dyn Journal>,
}

/// The index behind `vectors.url`.
pub struct Index {
    /// The index.
    pub index: Arc<dyn VectorIndex>,
    /// Whether it is empty by design, so that it is filled from the graph at each start.
    pub volatile: bool,
}

/// Whether to use what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenIndex {
    /// Use it.
    Existing,
    /// Remove it and start empty.
    Anew,
}

/// Opens the graph store; `sqlite:PATH` is relative to `dir`.
pub async fn open_graph(url: &str, dir: &Path) -> Result<Graph, OpenError> {
    let Some(path) = url.strip_prefix("sqlite:") else {
        return Err(OpenError::UnknownUrl { key: "graph.url", url: url.to_owned(), known: "sqlite:PATH" });
    };
    let opened = SqliteStore::open(dir.join(path)).await;
    let store = Arc::new(opened.map_err(|error| OpenError::Port { url: url.to_owned(), error })?);
    Ok(Graph { store: store.clone(), browse: store.clone(), archive: store.clone(), tokens: store.clone(), journal: store })
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

/// Opens the vector index; `edge:PATH` is relative to `dir`.
pub async fn open_index(url: &str, dir: &Path, spaces: &[SpaceSpec], how: OpenIndex) -> Result<Index, OpenError> {
    if url == "memory:" {
        return Ok(Index { index: Arc::new(ExactIndex::new(spaces)), volatile: true });
    }
    let Some(path) = url.strip_prefix("edge:") else {
        return Err(OpenError::UnknownUrl { key: "vectors.url", url: url.to_owned(), known: "edge:PATH, memory:" });
    };
    let opened = match how {
        OpenIndex::Existing => EdgeIndex::open(&dir.join(path), spaces).await,
        OpenIndex::Anew => EdgeIndex::recreate(&dir.join(path), spaces).await,
    };
    let index = opened.map_err(|error| OpenError::Port { url: url.to_owned(), error })?;
    Ok(Index { index: Arc::new(index), volatile: false })
}

/// Adapters explain what to do in their source; the operator reads it, clients never do.
fn reason(error: &PortError) -> String {
    error.source.as_ref().map(|source| format!(": {source}")).unwrap_or_default()
}
