//! What can go wrong in this adapter, and the one way it leaves.
//!
//! Messages name codes and columns of ours, never SQL or values: a driver's text can quote a statement, and a statement
//! may quote a memory.

use rusqlite::{Error as Driver, ffi};

use crate::ports::{PortError, PortErrorKind};

#[derive(Debug, thiserror::Error)]
pub(super) enum SqliteError {
    #[error("{}", describe(.0))]
    Driver(#[from] Driver),
    #[error("{0} was written by another change")]
    Conflict(&'static str),
    #[error("the database is damaged ({0}); restore a backup")]
    Damaged(String),
    #[error(
        "the database has format {found}, this program knows up to {known}; use a newer program or restore a backup"
    )]
    Newer { found: i64, known: i64 },
    #[error("the file is a database of another program; name another file or restore a backup")]
    Foreign,
    #[error("a restore of this file was cut short; run `recollect restore FILE` again")]
    HalfRestored,
    #[error("stored {0} cannot be read")]
    Unreadable(&'static str),
    #[error("{0} cannot be written as JSON")]
    Unwritable(&'static str),
    #[error("{0}: {1}")]
    File(&'static str, std::io::ErrorKind),
    #[error("the worker thread is gone")]
    Worker,
}

impl SqliteError {
    fn kind(&self) -> PortErrorKind {
        match self {
            Self::Driver(error) => driver_kind(error),
            Self::Conflict(_) => PortErrorKind::Conflict,
            Self::Damaged(_) | Self::HalfRestored | Self::Unreadable(_) => PortErrorKind::Corrupt,
            Self::Newer { .. } | Self::Foreign => PortErrorKind::Mismatch,
            Self::File(..) => PortErrorKind::Unavailable,
            Self::Unwritable(_) | Self::Worker => PortErrorKind::Internal,
        }
    }
}

/// From the port method that failed and how.
impl From<(&'static str, SqliteError)> for PortError {
    fn from((operation, error): (&'static str, SqliteError)) -> Self {
        Self::new(error.kind(), "sqlite", operation, error)
    }
}

fn driver_kind(error: &Driver) -> PortErrorKind {
    use rusqlite::ErrorCode as Code;
    match error {
        Driver::SqliteFailure(failure, _) => match failure.code {
            Code::ConstraintViolation
                if matches!(
                    failure.extended_code,
                    ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
                ) =>
            {
                PortErrorKind::Conflict
            }
            Code::DatabaseCorrupt | Code::NotADatabase => PortErrorKind::Corrupt,
            Code::DatabaseBusy
            | Code::DatabaseLocked
            | Code::DiskFull
            | Code::SystemIoFailure
            | Code::CannotOpen
            | Code::ReadOnly
            | Code::PermissionDenied => PortErrorKind::Unavailable,
            _ => PortErrorKind::Internal,
        },
        Driver::InvalidColumnType(..) | Driver::FromSqlConversionFailure(..) | Driver::IntegralValueOutOfRange(..) => {
            PortErrorKind::Corrupt
        }
        _ => PortErrorKind::Internal,
    }
}

fn describe(error: &Driver) -> String {
    match error {
        Driver::SqliteFailure(failure, _) | Driver::SqlInputError { error: failure, .. } => {
            format!("{} (code {})", ffi::code_to_str(failure.extended_code), failure.extended_code)
        }
        Driver::InvalidColumnType(_, name, _) => format!("column {name} has the wrong type"),
        Driver::QueryReturnedNoRows => "no row".to_owned(),
        Driver::InvalidParameterName(name) => format!("unknown parameter {name}"),
        _ => "driver error".to_owned(),
    }
}
