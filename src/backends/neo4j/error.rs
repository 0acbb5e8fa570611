//! What can go wrong in this adapter, and the one way it leaves.
//!
//! Messages name codes of the server and keys of ours, never its texts: those can quote a statement, and a statement may
//! hold a memory.

use neo4rs::{Error as Driver, Neo4jClientErrorKind as Client, Neo4jErrorKind};

use crate::ports::{PortError, PortErrorKind};

#[derive(Debug, thiserror::Error)]
pub(super) enum Neo4jError {
    #[error("{}", describe(.0))]
    Driver(#[from] Driver),
    #[error("no answer within graph.timeout_ms ({0} ms)")]
    Late(u128),
    #[error("graph.url is not an address of the form neo4j://HOST:PORT; user and password have keys of their own")]
    Address,
    #[error("{0} was written by another change")]
    Conflict(&'static str),
    #[error(
        "the server refuses graph.user {0:?} with the password given (graph.password or RECOLLECT_GRAPH__PASSWORD)"
    )]
    Credentials(String),
    #[error("the server is Neo4j {found}, version {needed} or newer is needed")]
    Old { found: String, needed: &'static str },
    #[error(
        "the database has format {found}, this program knows up to {known}; use a newer program or restore a backup"
    )]
    Newer { found: i64, known: i64 },
    #[error("stored {0} cannot be read")]
    Unreadable(&'static str),
    #[error("{0} cannot be written as JSON")]
    Unwritable(&'static str),
    #[error("the writing task is gone")]
    Worker,
}

impl Neo4jError {
    fn kind(&self) -> PortErrorKind {
        match self {
            Self::Driver(error) => driver_kind(error),
            Self::Late(_) => PortErrorKind::Timeout,
            Self::Conflict(_) => PortErrorKind::Conflict,
            Self::Address | Self::Credentials(_) | Self::Old { .. } | Self::Newer { .. } => PortErrorKind::Mismatch,
            Self::Unreadable(_) => PortErrorKind::Corrupt,
            Self::Unwritable(_) | Self::Worker => PortErrorKind::Internal,
        }
    }

    /// Whether the same may well succeed at once, on another connection: a deadlock, a change of leader, a lost connection.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Driver(Driver::Neo4j(error)) => {
                matches!(error.kind(), Neo4jErrorKind::Transient | Neo4jErrorKind::Client(Client::SessionExpired))
            }
            Self::Driver(Driver::IOError { detail }) => detail.kind() != std::io::ErrorKind::ConnectionRefused,
            Self::Driver(Driver::ConnectionError | Driver::IncompleteBoltExchange) => true,
            _ => false,
        }
    }
}

/// From the port method that failed and how.
impl From<(&'static str, Neo4jError)> for PortError {
    fn from((operation, error): (&'static str, Neo4jError)) -> Self {
        Self::new(error.kind(), "neo4j", operation, error)
    }
}

fn driver_kind(error: &Driver) -> PortErrorKind {
    match error {
        Driver::Neo4j(error) => match error.kind() {
            _ if error.code() == "Neo.ClientError.Schema.ConstraintValidationFailed" => PortErrorKind::Conflict,
            // What the deadline of the statement on the server ended.
            _ if error.code().starts_with("Neo.ClientError.Transaction.TransactionTimedOut") => PortErrorKind::Timeout,
            Neo4jErrorKind::Transient | Neo4jErrorKind::Client(Client::SessionExpired) => PortErrorKind::Unavailable,
            Neo4jErrorKind::Client(Client::Security(_) | Client::FatalDiscovery) => PortErrorKind::Mismatch,
            _ => PortErrorKind::Internal,
        },
        Driver::IOError { .. }
        | Driver::ConnectionError
        | Driver::IncompleteBoltExchange
        | Driver::ServerUnavailableError(_)
        | Driver::RequestIgnoredError => PortErrorKind::Unavailable,
        Driver::ConnectionTimedOut => PortErrorKind::Timeout,
        Driver::AuthenticationError(_)
        | Driver::UnsupportedVersion(..)
        | Driver::ProtocolMismatch(_)
        | Driver::UnsupportedScheme(_)
        | Driver::UrlParseError(_)
        | Driver::InvalidDnsName(_) => PortErrorKind::Mismatch,
        Driver::DeserializationError(_) | Driver::ConversionError => PortErrorKind::Corrupt,
        _ => PortErrorKind::Internal,
    }
}

fn describe(error: &Driver) -> String {
    match error {
        Driver::Neo4j(error) if error.code().ends_with("DatabaseNotFound") => {
            "the server has no database of the name in graph.database".to_owned()
        }
        Driver::Neo4j(error) => error.code().to_owned(),
        Driver::IOError { detail } => format!("nobody answers at graph.url ({detail})"),
        Driver::ConnectionError => "no connection to graph.url".to_owned(),
        Driver::ConnectionTimedOut => "graph.url does not answer in time".to_owned(),
        Driver::UnsupportedVersion(..) => "the server speaks another version of Bolt; Neo4j 5 is needed".to_owned(),
        Driver::ProtocolMismatch(_) => {
            "the port in graph.url does not speak Bolt (its default port is 7687)".to_owned()
        }
        Driver::UnsupportedScheme(_) | Driver::UrlParseError(_) | Driver::InvalidDnsName(_) => {
            Neo4jError::Address.to_string()
        }
        Driver::DeserializationError(_) | Driver::ConversionError => "an answer of another shape".to_owned(),
        _ => "unexpected answer of the server".to_owned(),
    }
}
