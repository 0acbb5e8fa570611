//! What goes wrong here, and what it is to the port.

use std::{any::Any, io};

use qdrant_edge::{OperationError, external::serde_json};

use crate::{
    backends::exact::SpaceError,
    ports::{PortError, PortErrorKind},
};

#[derive(Debug, thiserror::Error)]
pub(super) enum EdgeError {
    #[error("the engine refused: {0}")]
    Engine(#[from] OperationError),
    #[error("the engine panicked: {0}")]
    Panicked(String),
    #[error("what is stored cannot be loaded: {0}")]
    Unreadable(String),
    #[error("the index holds the spaces {stored}, the settings name {wanted}")]
    Spaces { stored: String, wanted: String },
    #[error(transparent)]
    Space(#[from] SpaceError),
    #[error("another process has the index open")]
    InUse,
    #[error("the shard was lost when it was last loaded again")]
    Closed,
    #[error("the index is being built anew")]
    Withdrawn,
    #[error("another rebuild has begun since")]
    GivenUp,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("filter fields of a point: {0}")]
    Payload(#[from] serde_json::Error),
    #[error("the blocking task ended early: {0}")]
    Task(#[from] tokio::task::JoinError),
}

impl EdgeError {
    /// From what `catch_unwind` gives.
    pub(super) fn panicked(panic: Box<dyn Any + Send>) -> Self {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Self::Panicked(text.unwrap_or_else(|| "without a message".to_owned()))
    }

    /// The port's error for this operation.
    pub(super) fn during(self, operation: &'static str) -> PortError {
        let kind = match &self {
            Self::Unreadable(_) | Self::Closed | Self::Withdrawn => PortErrorKind::Corrupt,
            Self::GivenUp => PortErrorKind::Conflict,
            Self::Spaces { .. } | Self::Space(_) => PortErrorKind::Mismatch,
            Self::InUse => PortErrorKind::Unavailable,
            Self::Engine(_) | Self::Panicked(_) | Self::Io(_) | Self::Payload(_) | Self::Task(_) => {
                PortErrorKind::Internal
            }
        };
        PortError::new(kind, "edge", operation, self)
    }
}
