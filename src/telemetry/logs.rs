//! Log lines, on standard error: standard output belongs to answers.
//!
//! Never memory text, queries, titles or tokens. Our own lines hold to that; those of the crates below do not all, so
//! [`SILENT`] names the worst.

use std::io::{self, IsTerminal};

use serde::{Deserialize, Serialize};
use tracing_subscriber::{EnvFilter, util::SubscriberInitExt};

/// Crates whose lines quote whole messages, and stay off whatever the filter says: the protocol.
const SILENT: [&str; 1] = ["rmcp=off"];

/// See `[log]` in `config.default.toml`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct Log {
    pub level: String,
    pub format: LogFormat,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One object a line.
    Json,
}

/// A filter that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("log.level: {0}")]
pub struct LogError(#[from] tracing_subscriber::filter::ParseError);

impl Log {
    /// Whether the filter can be read.
    pub fn check(&self) -> Result<(), LogError> {
        self.filter().map(drop)
    }

    fn filter(&self) -> Result<EnvFilter, LogError> {
        let filter = EnvFilter::try_new(&self.level)?;
        Ok(SILENT.iter().fold(filter, |filter, line| filter.add_directive(line.parse().expect("a filter directive"))))
    }
}

/// Sends log lines to standard error and panics to the log. A second call changes nothing.
pub fn init(log: &Log) -> Result<(), LogError> {
    let lines = tracing_subscriber::fmt()
        .with_env_filter(log.filter()?)
        .with_ansi(io::stderr().is_terminal())
        // A line that cannot be written, on a full disk, is lost. Saying so to the same place panics, and the panic is
        // a line of the log: the process would abort.
        .log_internal_errors(false)
        .with_writer(io::stderr);
    let started = match log.format {
        LogFormat::Text => lines.finish().try_init(),
        LogFormat::Json => lines.json().flatten_event(true).finish().try_init(),
    };
    if started.is_ok() {
        // The message of a panic can quote what was being worked on; its place is enough to find the fault.
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            tracing::error!(place, "panicked at {place}");
        }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_cannot_be_read_names_its_key() {
        let log = Log { level: "recollect=loud".to_owned(), format: LogFormat::Text };
        assert!(log.check().expect_err("no such level").to_string().contains("log.level"));
    }

    #[test]
    fn lines_that_quote_messages_cannot_be_switched_on() {
        let log = Log { level: "trace,rmcp=trace".to_owned(), format: LogFormat::Text };
        let filter = log.filter().expect("a filter").to_string();
        assert!(filter.contains("rmcp=off") && !filter.contains("rmcp=trace"), "{filter}");
    }
}
