//! What goes wrong here, and what it is to the port. Never holds the API key.

use std::time::Duration;

use qdrant_client::QdrantError;
use tonic::Code;

use crate::{
    backends::exact::SpaceError,
    ports::{PortError, PortErrorKind},
};

#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("{0}")]
    Settings(&'static str),
    #[error("nothing answers there as Qdrant does; the address is that of its gRPC port, usually 6334: {0}")]
    Unreachable(Box<Fault>),
    #[error("the server refuses the key of vectors.qdrant.api_key")]
    KeyRefused,
    #[error("the server asks for a key; set vectors.qdrant.api_key")]
    KeyMissing,
    #[error("the server is Qdrant {0}; at least 1.10 is needed")]
    TooOld(String),
    #[error("collection {collection} holds the spaces {stored}, the settings name {wanted}; run `recollect reindex`")]
    Spaces { collection: String, stored: String, wanted: String },
    #[error("the name {0} is taken by a collection that is not ours; set vectors.qdrant.collection to another one")]
    NameTaken(String),
    #[error("the index is being built anew")]
    Withdrawn,
    #[error("another rebuild has begun since")]
    GivenUp,
    #[error("{}: {message}", .code.description())]
    Server { code: Code, message: String },
    #[error("no answer within {0:?}")]
    Late(Duration),
    #[error("the server took an operation and has not applied it yet")]
    NotApplied,
    #[error("{0}")]
    Client(String),
    #[error(transparent)]
    Space(#[from] SpaceError),
    #[error("filter fields of a point: {0}")]
    Payload(#[from] serde_json::Error),
}

impl From<QdrantError> for Fault {
    fn from(error: QdrantError) -> Self {
        match error {
            QdrantError::ResponseError { status } | QdrantError::ResourceExhaustedError { status, .. } => {
                Self::Server { code: status.code(), message: status.message().to_owned() }
            }
            QdrantError::InvalidUri(_) => Self::Settings("the address is not of the form http://HOST:PORT"),
            other => Self::Client(other.to_string()),
        }
    }
}

impl Fault {
    /// Whether the server asks for another key.
    pub(super) fn is_about_the_key(&self) -> bool {
        matches!(self, Self::Server { code: Code::Unauthenticated | Code::PermissionDenied, .. })
    }

    /// Whether what the call names is not there.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Server { code: Code::NotFound, .. })
    }

    /// Whether what the call would make is there. Older servers say it with a code of wider meaning.
    pub(super) fn is_there_already(&self) -> bool {
        matches!(self, Self::Server { code: Code::AlreadyExists, .. })
            || matches!(self, Self::Server { code: Code::InvalidArgument, message } if message.contains("already exists"))
    }

    /// The port's error for this operation.
    pub(super) fn during(self, operation: &'static str) -> PortError {
        PortError::new(self.kind(), "qdrant", operation, self)
    }

    fn kind(&self) -> PortErrorKind {
        match self {
            Self::Unreachable(why) => why.kind(),
            Self::Settings(_)
            | Self::KeyRefused
            | Self::KeyMissing
            | Self::TooOld(_)
            | Self::Spaces { .. }
            | Self::NameTaken(_)
            | Self::Space(_) => PortErrorKind::Mismatch,
            Self::Withdrawn => PortErrorKind::Corrupt,
            Self::GivenUp => PortErrorKind::Conflict,
            Self::Late(_) | Self::NotApplied => PortErrorKind::Timeout,
            Self::Client(_) | Self::Payload(_) => PortErrorKind::Internal,
            Self::Server { code, .. } => match code {
                Code::DeadlineExceeded | Code::Cancelled => PortErrorKind::Timeout,
                Code::NotFound => PortErrorKind::Corrupt,
                Code::Unauthenticated | Code::PermissionDenied => PortErrorKind::Mismatch,
                // The client reports a connection that cannot be made as an internal fault.
                Code::Unavailable
                | Code::Internal
                | Code::Unknown
                | Code::Aborted
                | Code::DataLoss
                | Code::ResourceExhausted => PortErrorKind::Unavailable,
                Code::Ok
                | Code::InvalidArgument
                | Code::AlreadyExists
                | Code::FailedPrecondition
                | Code::OutOfRange
                | Code::Unimplemented => PortErrorKind::Internal,
            },
        }
    }
}
