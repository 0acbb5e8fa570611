//! Reads a set: `memories.jsonl`, `queries.jsonl` and, where the source has edges, `edges.jsonl`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, de::DeserializeOwned};

use crate::write::StoreRequest;

/// A file of a set that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is wrong.
    #[error("{path} line {line}: {source}")]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
}

/// A memory of a set. Fields that only describe it are passed over.
#[derive(Debug, Clone, Deserialize)]
pub struct MemoryLine {
    /// Its id in the set.
    pub id: String,
    /// Whose it is.
    pub scope: Option<String>,
    session: Option<String>,
    task: Option<String>,
    timestamp: Option<String>,
    speaker: Option<String>,
    title: Option<String>,
    text: String,
    #[serde(default)]
    tags: Vec<String>,
}

impl MemoryLine {
    pub(super) fn request(&self) -> StoreRequest {
        StoreRequest {
            content: self.text.clone(),
            title: self.title.clone(),
            session_id: self.session.clone(),
            task_id: self.task.clone(),
            occurred_at: self.timestamp.clone(),
            speaker: self.speaker.clone(),
            tags: self.tags.clone(),
            external_id: Some(self.id.clone()),
            ..StoreRequest::default()
        }
    }
}

/// A query of a set.
#[derive(Debug, Clone, Deserialize)]
pub struct Query {
    /// Whose memories it searches.
    pub scope: Option<String>,
    /// What is asked.
    pub text: String,
    /// Kind of question.
    #[serde(default = "uncategorised")]
    pub category: String,
    /// Ids of the memories that answer it.
    pub relevant: Vec<String>,
}

/// An edge of a set.
#[derive(Debug, Clone, Deserialize)]
pub struct EdgeLine {
    /// Memory it leaves.
    pub from: String,
    /// Memory it reaches.
    pub to: String,
    /// What the source calls it.
    #[serde(rename = "type")]
    pub edge_type: String,
}

/// A set with known answers.
#[derive(Debug, Clone)]
pub struct EvalSet {
    /// Name of its folder.
    pub name: String,
    /// What to store.
    pub memories: Vec<MemoryLine>,
    /// What to ask. Queries without an answer in the set are left out.
    pub queries: Vec<Query>,
    /// What to link.
    pub edges: Vec<EdgeLine>,
}

fn uncategorised() -> String {
    "uncategorised".to_owned()
}

/// Reads the set in `dir`.
pub fn load(dir: &Path) -> Result<EvalSet, SetError> {
    let edges = dir.join("edges.jsonl");
    let mut queries: Vec<Query> = lines(&dir.join("queries.jsonl"))?;
    queries.retain(|query| !query.relevant.is_empty());
    Ok(EvalSet {
        name: dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        memories: lines(&dir.join("memories.jsonl"))?,
        queries,
        edges: if edges.exists() { lines(&edges)? } else { Vec::new() },
    })
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, SetError> {
    let text = std::fs::read_to_string(path).map_err(|source| SetError::Read { path: path.to_owned(), source })?;
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|source| SetError::Line { path: path.to_owned(), line: number, source })
        })
        .collect()
}
