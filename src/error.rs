//! The one table of error codes that every face maps, and the error the façade answers with.
//!
//! Messages are lowercase fragments that name the input; they never carry a driver message, a query, a path, a secret or
//! memory text. To add a code: a variant, a row in [`ErrorCode::TABLE`], an arm in each face.

use std::{borrow::Cow, fmt};

use crate::ports::{PortError, PortErrorKind};

/// What went wrong, the same through every face.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// No valid token.
    Unauthenticated,
    /// A valid token without the right.
    Forbidden,
    /// The input is wrong; the message names the field.
    BadUserInput,
    /// Unknown, or not the caller's to see.
    NotFound,
    /// Another write came first.
    Conflict,
    /// An edit was made on an older revision.
    StaleBase,
    /// Too many requests.
    RateLimited,
    /// The input is too large.
    PayloadTooLarge,
    /// The key was used for another request.
    IdempotencyKeyReused,
    /// Only a part could be answered.
    Degraded,
    /// The deadline passed.
    Timeout,
    /// A store cannot be reached.
    Unavailable,
    /// A fault of ours.
    Internal,
}

impl ErrorCode {
    /// Code, name in every interface, and whether trying the same again may help.
    pub const TABLE: [(Self, &'static str, bool); 13] = [
        (Self::Unauthenticated, "UNAUTHENTICATED", false),
        (Self::Forbidden, "FORBIDDEN", false),
        (Self::BadUserInput, "BAD_USER_INPUT", false),
        (Self::NotFound, "NOT_FOUND", false),
        (Self::Conflict, "CONFLICT", true),
        (Self::StaleBase, "STALE_BASE", false),
        (Self::RateLimited, "RATE_LIMITED", true),
        (Self::PayloadTooLarge, "PAYLOAD_TOO_LARGE", false),
        (Self::IdempotencyKeyReused, "IDEMPOTENCY_KEY_REUSED", false),
        (Self::Degraded, "DEGRADED", true),
        (Self::Timeout, "TIMEOUT", true),
        (Self::Unavailable, "UNAVAILABLE", true),
        (Self::Internal, "INTERNAL", false),
    ];

    /// The name in every interface.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The code with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::TABLE.iter().find(|(_, known, _)| *known == name).map(|(code, ..)| *code)
    }

    /// Whether trying the same again may help.
    pub fn retryable(self) -> bool {
        self.row().2
    }

    /// Whether the service failed, whatever was asked of it.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Unavailable | Self::Timeout | Self::Internal)
    }

    fn row(self) -> &'static (Self, &'static str, bool) {
        Self::TABLE.iter().find(|(code, ..)| *code == self).expect("every code has a row, the test below says so")
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The façade's error.
#[derive(Debug, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Error {
    /// What went wrong.
    pub code: ErrorCode,
    /// The input field concerned, in the interfaces' snake_case.
    pub field: Option<String>,
    /// A lowercase fragment for the reader, safe to show.
    pub message: String,
    /// Line and column of a file that was given, from 1, where it is about those.
    pub place: Option<(u64, u64)>,
    /// What to do, where there is something to do.
    pub advice: Option<Cow<'static, str>>,
    /// For the log only.
    #[source]
    pub source: Option<PortError>,
}

impl Error {
    /// An error without a field.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, field: None, message: message.into(), place: None, advice: None, source: None }
    }

    /// `BAD_USER_INPUT` for `field`; the message starts with the field's name.
    pub fn bad_input(field: &str, what: impl fmt::Display) -> Self {
        Self { field: Some(field.to_owned()), ..Self::new(ErrorCode::BadUserInput, format!("{field}: {what}")) }
    }

    /// `NOT_FOUND` for an id, the same for unknown ids and for those of others.
    pub fn not_found(field: &str) -> Self {
        Self { field: Some(field.to_owned()), ..Self::new(ErrorCode::NotFound, format!("{field}: no such record")) }
    }

    /// Adds what to do.
    #[must_use]
    pub fn advise(self, advice: &'static str) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

impl From<PortError> for Error {
    fn from(source: PortError) -> Self {
        let (code, message) = match source.kind {
            PortErrorKind::Unavailable => (ErrorCode::Unavailable, "a store cannot be reached"),
            PortErrorKind::Timeout => (ErrorCode::Timeout, "a store did not answer in time"),
            PortErrorKind::Conflict => (ErrorCode::Conflict, "another write came first"),
            PortErrorKind::Corrupt | PortErrorKind::Mismatch | PortErrorKind::Internal => {
                (ErrorCode::Internal, "internal fault")
            }
        };
        Self { source: Some(source), ..Self::new(code, message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_row_and_its_own_name() {
        let names: std::collections::BTreeSet<_> = ErrorCode::TABLE.iter().map(|(_, name, _)| *name).collect();
        assert_eq!(names.len(), ErrorCode::TABLE.len());
        for (code, name, _) in ErrorCode::TABLE {
            assert_eq!((code.name(), ErrorCode::named(name)), (name, Some(code)));
        }
    }

    #[test]
    fn an_internal_error_shows_nothing_of_its_source() {
        let port = PortError::new(PortErrorKind::Internal, "sqlite", "apply", "no such table: secret_plans");
        let shown = Error::from(port).to_string();
        assert_eq!(shown, "INTERNAL: internal fault");
    }
}
