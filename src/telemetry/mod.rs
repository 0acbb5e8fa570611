//! Logs, the one table of metrics, and the id of a request. Never memory text, never tokens.

mod figures;
mod logs;

use std::sync::Arc;

pub use figures::{
    CIRCUIT_OPEN, CONCEPTS, DEAD_LETTERS, EDGES, ERRORS, HTTP_SECONDS, JOURNAL_ENTRIES, MCP_CALLS, MEMORIES,
    MetricsError, OUTBOX_ROWS, PART_SECONDS, PartTimer, USE_CASE_SECONDS, WRITES_WAITING, WaitingWrite, count_error,
    gauge_journal, gauge_stores, metric_names, metrics_handle, show_circuit, time_part, timed, waiting_write,
};
pub use logs::{Log, LogError, LogFormat, init};

/// The id of a request, in the log lines, the answer's header and the body of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(pub Arc<str>);
