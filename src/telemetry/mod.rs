//! Logs and the one table of metric names. Never memory text, never tokens.

/// Histogram: seconds of a use case, by `use_case` and `outcome` (`OK` or an error code).
pub const USE_CASE_SECONDS: &str = "recollect_use_case_seconds";
/// Gauge: outbox rows that the vector index has still to make durable.
pub const OUTBOX_ROWS: &str = "recollect_outbox_rows";
