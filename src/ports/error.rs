//! The one error that every port answers with.

use std::error::Error as StdError;

/// What the caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortErrorKind {
    /// The backend cannot be reached; trying later may help.
    Unavailable,
    /// The deadline passed; whether the work was done is not known.
    Timeout,
    /// Another write came first.
    Conflict,
    /// What is stored cannot be read.
    Corrupt,
    /// Settings and stored data disagree (model, dimension, version).
    Mismatch,
    /// A fault of ours.
    Internal,
}

/// A failure of a backend. `Display` names backend, operation and kind only; the source is for the log.
#[derive(Debug, thiserror::Error)]
#[error("{backend} failed to {operation}: {kind:?}")]
pub struct PortError {
    /// What the caller can do about it.
    pub kind: PortErrorKind,
    /// Adapter, for example `sqlite`.
    pub backend: &'static str,
    /// Port method.
    pub operation: &'static str,
    /// The driver's error.
    #[source]
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}

impl PortError {
    /// An error with the driver's own as its source.
    pub fn new(
        kind: PortErrorKind,
        backend: &'static str,
        operation: &'static str,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self { kind, backend, operation, source: Some(source.into()) }
    }
}
