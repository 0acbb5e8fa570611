//! Settings to embedders.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{
    CachedEmbedder, HashingEmbedder, calibrate,
    card::{self, Shipped},
    error::ModelError,
    hub, local,
    onnx::{OnnxEmbedder, Prefixes},
    runtime,
};
use crate::{
    domain::Language,
    ports::{Calibration, Embedder, ModelCard, PortError},
};

/// Where a model comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbedderKind {
    /// Files in the models folder.
    Local,
    /// The hub, by name; needs the feature `hub`.
    Hub,
    /// No weights: hashed terms.
    Hashing,
}

/// How token states become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// Their mean (E5, GTE, MiniLM).
    Mean,
    /// The first one (BGE).
    Cls,
}

impl From<Pooling> for fastembed::Pooling {
    fn from(pooling: Pooling) -> Self {
        match pooling {
            Pooling::Mean => Self::Mean,
            Pooling::Cls => Self::Cls,
        }
    }
}

/// See [`Calibration`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields of `Calibration`")]
pub struct CalibrationEntry {
    pub passage_strangers: f32,
    pub passage_paraphrases: f32,
    pub query_strangers: f32,
    pub query_answers: f32,
}

/// One vector space, as the settings name it. What is absent is known of the shipped models, and a plain default for others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbedderEntry {
    /// Name of the model and of its space.
    pub name: String,
    /// Where it comes from.
    pub kind: EmbedderKind,
    /// Only memories in this language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// The ONNX file, from the models folder on; by default `NAME/model.onnx`. The tokenizer files lie beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// SHA-256 that the weights must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Put before each query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_prefix: Option<String>,
    /// Put before each stored text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passage_prefix: Option<String>,
    /// By default the mean. Hub models know theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooling: Option<Pooling>,
    /// Measured at start if it is neither here nor known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<CalibrationEntry>,
}

/// What all models share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelOptions {
    /// Folder of the models.
    pub dir: PathBuf,
    /// ONNX Runtime; empty: the one in the models folder.
    pub runtime: PathBuf,
    /// Texts in one run of a model.
    pub batch: usize,
    /// Threads of one run; 0 is one per core.
    pub threads: usize,
    /// Query vectors kept per model; 0 keeps none.
    pub query_cache: usize,
}

/// Opens the models, all at once, in the order of the settings.
pub async fn open(entries: &[EmbedderEntry], options: &ModelOptions) -> Result<Vec<Arc<dyn Embedder>>, ModelError> {
    for (at, entry) in entries.iter().enumerate() {
        check(entry, &entries[..at])?;
    }
    let opening: Vec<_> = entries
        .iter()
        .map(|entry| {
            let (entry, options) = (entry.clone(), options.clone());
            tokio::task::spawn_blocking(move || open_one(&entry, &options))
        })
        .collect();
    let mut embedders = Vec::with_capacity(entries.len());
    for (entry, opening) in entries.iter().zip(opening) {
        let opened = opening.await.map_err(|error| failed(entry, error))??;
        let embedder = match opened {
            Opened::Ready(embedder) => embedder,
            Opened::Uncalibrated(embedder) => calibrated(entry, embedder).await?,
        };
        embedders.push(match NonZeroUsize::new(options.query_cache) {
            Some(capacity) => Arc::new(CachedEmbedder::new(embedder, capacity)),
            None => embedder,
        });
    }
    Ok(embedders)
}

fn check(entry: &EmbedderEntry, before: &[EmbedderEntry]) -> Result<(), ModelError> {
    let wrong = |reason: &str| Err(ModelError::Entry { name: entry.name.clone(), reason: reason.to_owned() });
    if entry.name.is_empty() || entry.name.contains(char::is_whitespace) {
        return wrong("name must not be empty and has no white space");
    }
    if before.iter().any(|other| other.name == entry.name) {
        return wrong("the name is used twice");
    }
    if entry.kind != EmbedderKind::Local && (entry.file.is_some() || entry.pooling.is_some()) {
        return wrong("file and pooling are for kind local");
    }
    match entry.calibration {
        Some(c) if c.passage_paraphrases <= c.passage_strangers || c.query_answers <= c.query_strangers => {
            wrong("calibration: strangers must be below paraphrases and answers")
        }
        _ => Ok(()),
    }
}

/// An embedder, or one that has still to be measured.
enum Opened {
    Ready(Arc<dyn Embedder>),
    Uncalibrated(OnnxEmbedder),
}

fn open_one(entry: &EmbedderEntry, options: &ModelOptions) -> Result<Opened, ModelError> {
    if entry.kind == EmbedderKind::Hashing {
        return Ok(Opened::Ready(Arc::new(HashingEmbedder::new(&entry.name, entry.language))));
    }
    if entry.kind == EmbedderKind::Local && !local_file(entry, options).exists() {
        return Err(ModelError::MissingFile { name: entry.name.clone(), path: local_file(entry, options) });
    }
    runtime::load(&runtime::runtime_file(&options.runtime, &options.dir))?;
    let shipped = card::shipped(&entry.name).filter(|_| entry.kind == EmbedderKind::Local);
    let (mut model, hash) = match entry.kind {
        EmbedderKind::Hub => hub::load(&entry.name, options)?,
        _ => {
            let file = local_file(entry, options);
            let pooling = entry.pooling.or(shipped.map(|shipped| shipped.pooling)).unwrap_or(Pooling::Mean);
            let expected = entry.sha256.as_deref().or(shipped.map(|shipped| shipped.sha256));
            local::load(&entry.name, &file, pooling, expected, options)?
        }
    };
    let probe = model.embed(["a"], None).map_err(|error| failed(entry, error))?;
    let calibration = entry.calibration.map(Calibration::from).or(shipped.map(|shipped| shipped.calibration));
    let card = ModelCard {
        id: entry.name.clone(),
        hash,
        dimension: probe.first().map_or(0, Vec::len),
        language: entry.language,
        calibration: calibration.unwrap_or(UNCALIBRATED),
    };
    let embedder = OnnxEmbedder::start(model, card, prefixes(entry, shipped), options.batch)?;
    Ok(if calibration.is_some() { Opened::Ready(Arc::new(embedder)) } else { Opened::Uncalibrated(embedder) })
}

fn local_file(entry: &EmbedderEntry, options: &ModelOptions) -> PathBuf {
    let default = Path::new(&entry.name).join("model.onnx");
    options.dir.join(entry.file.as_ref().unwrap_or(&default))
}

/// Stands until [`calibrated`] has measured.
const UNCALIBRATED: Calibration =
    Calibration { passage_strangers: 0.0, passage_paraphrases: 1.0, query_strangers: 0.0, query_answers: 1.0 };

async fn calibrated(entry: &EmbedderEntry, embedder: OnnxEmbedder) -> Result<Arc<dyn Embedder>, ModelError> {
    let calibration =
        calibrate::measure_calibration(&embedder).await.map_err(|error: PortError| failed(entry, error))?;
    tracing::info!(
        model = entry.name,
        ?calibration,
        "measured the calibration of a model; give it in models.embedders to start faster"
    );
    Ok(Arc::new(embedder.with_calibration(calibration)))
}

fn prefixes(entry: &EmbedderEntry, shipped: Option<&Shipped>) -> Prefixes {
    let (query, passage) = shipped.map_or_else(|| card::prefixes(&entry.name), |s| (s.query_prefix, s.passage_prefix));
    Prefixes {
        query: entry.query_prefix.clone().unwrap_or_else(|| query.to_owned()),
        passage: entry.passage_prefix.clone().unwrap_or_else(|| passage.to_owned()),
    }
}

fn failed(entry: &EmbedderEntry, error: impl std::fmt::Display) -> ModelError {
    ModelError::Load { name: entry.name.clone(), reason: error.to_string() }
}

impl From<CalibrationEntry> for Calibration {
    fn from(entry: CalibrationEntry) -> Self {
        let CalibrationEntry { passage_strangers, passage_paraphrases, query_strangers, query_answers } = entry;
        Self { passage_strangers, passage_paraphrases, query_strangers, query_answers }
    }
}
