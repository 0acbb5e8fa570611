//! Logs, the one table of metrics, and the id of a request. Never memory text, never tokens.

mod figures;
mod logs;

use std::sync::Arc;

pub use figures::{
    CIRCUIT_OPEN, CONCEPTS, DEAD_LETTERS, EDGES, ERRORS, HTTP_SECONDS, JOURNAL_ENTRIES, MCP_CALLS, MEMORIES,
    MetricsError, OUTBOX_ROWS, PART_SECONDS, PartTimer, Queue, REVIEW_ACCEPTED, REVIEW_AGE, REVIEW_DEPTH,
    REVIEW_SECONDS, USE_CASE_SECONDS, WEBHOOKS, WRITES_WAITING, WaitingWrite, count_delivery, count_error,
    gauge_journal, gauge_reviews, gauge_stores, metric_names, metrics_handle, review_decided, show_circuit, time_part,
    timed, waiting_write,
};
pub use logs::{Log, LogError, LogFormat, init};

/// The id of a request, in the log lines, the answer's header and the body of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(pub Arc<str>);
