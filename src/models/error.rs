//! Why a model cannot be opened. Each message says what to do.

use std::path::PathBuf;

/// The command that fetches what is missing.
const FETCH: &str = "`make models` (scripts/fetch-models) fetches it";

/// A model or runtime that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file of the model is not there.
    #[error(
        "model {name}: {} is missing; {FETCH} into the folder that models.dir or RECOLLECT_MODELS names",
        .path.display()
    )]
    MissingFile {
        /// The model.
        name: String,
        /// What was looked for.
        path: PathBuf,
    },
    /// The weights are other bytes than the ones named.
    #[error(
        "model {name}: {} has SHA-256 {found}, expected {expected}; {FETCH} anew, or other weights need a name of their own \
         in models.embedders",
        .path.display()
    )]
    OtherWeights {
        /// The model.
        name: String,
        /// The file.
        path: PathBuf,
        /// What the settings or the table of shipped models say.
        expected: String,
        /// What it is.
        found: String,
    },
    /// ONNX Runtime is not there.
    #[error("ONNX Runtime is missing at {}; {FETCH}, or ORT_DYLIB_PATH names the library", .path.display())]
    MissingRuntime {
        /// What was looked for.
        path: PathBuf,
    },
    /// ONNX Runtime cannot be loaded.
    #[error("ONNX Runtime at {} cannot be used: {reason}; {FETCH}, or ORT_DYLIB_PATH names another library", .path.display())]
    Runtime {
        /// The library.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file that is there cannot be read.
    #[error("model {name}: read {}: {source}", .path.display())]
    Read {
        /// The model.
        name: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The files are no model that can be run.
    #[error("model {name} cannot be loaded: {reason}")]
    Load {
        /// The model.
        name: String,
        /// Why.
        reason: String,
    },
    /// The entry in the settings is wrong.
    #[error("config key models.embedders, entry {name:?}: {reason}")]
    Entry {
        /// The entry.
        name: String,
        /// What is wrong.
        reason: String,
    },
}
