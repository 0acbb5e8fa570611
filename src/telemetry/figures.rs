//! The one table of metrics, and the recorder behind `/metrics`. Labels come from fixed sets: never text of a caller.
//!
//! To add a metric: a name, a row in [`TABLE`], and a step in the flow of `tests/it/telemetry.rs` that moves it.

use std::{
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use metrics::Unit;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Seconds of a use case, by `use_case` and `outcome` (`OK` or an error code).
pub const USE_CASE_SECONDS: &str = "recollect_use_case_seconds";
/// Seconds of one part of a use case, by `part`.
pub const PART_SECONDS: &str = "recollect_part_seconds";
/// Seconds of an HTTP request, by `route` and `status`.
pub const HTTP_SECONDS: &str = "recollect_http_request_seconds";
/// Calls of MCP tools, by `tool` and `outcome` (`OK`, an error code, or `CANCELLED`).
pub const MCP_CALLS: &str = "recollect_mcp_calls_total";
/// Errors that left the service, by `face` and `code`.
pub const ERRORS: &str = "recollect_errors_total";
/// Memories in the graph store, of any status.
pub const MEMORIES: &str = "recollect_memories";
/// Edges in the graph store.
pub const EDGES: &str = "recollect_edges";
/// Concepts in the graph store.
pub const CONCEPTS: &str = "recollect_concepts";
/// Outbox rows that the vector index has still to make durable: how far it is behind.
pub const OUTBOX_ROWS: &str = "recollect_outbox_rows";
/// Writes that wait in the journal for the graph store.
pub const JOURNAL_ENTRIES: &str = "recollect_journal_entries";
/// Writes of the journal that were given up.
pub const DEAD_LETTERS: &str = "recollect_dead_letters";
/// Writes that wait for their turn, or have it.
pub const WRITES_WAITING: &str = "recollect_writes_waiting";
/// Whether a store is left alone because it does not answer (1) or used (0), by `part`. Of stores that are servers.
pub const CIRCUIT_OPEN: &str = "recollect_circuit_open";
/// Proposals that wait in the review queue, by `state`.
pub const REVIEW_DEPTH: &str = "recollect_review_depth";
/// Seconds that proposals of the queue have waited: the median and the 95th percentile, by `quantile`.
pub const REVIEW_AGE: &str = "recollect_review_age_seconds";
/// Seconds from a proposal to its decision, by `kind` and `outcome`.
pub const REVIEW_SECONDS: &str = "recollect_review_decision_seconds";
/// Share of the decided proposals of an agent that were approved, by `agent`: a principal, which tokens name.
pub const REVIEW_ACCEPTED: &str = "recollect_review_accept_rate";
/// Deliveries to webhooks, by `endpoint` (as the settings name it) and `outcome`: delivered, failed (it is tried again) or
/// given_up.
pub const WEBHOOKS: &str = "recollect_webhook_deliveries_total";

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Seconds,
    /// Seconds that people take.
    Days,
    Counter,
    Gauge,
}

/// Every metric with what it says.
const TABLE: [(&str, Kind, &str); 18] = [
    (USE_CASE_SECONDS, Kind::Seconds, "Seconds of a use case, by use_case and outcome (OK or an error code)"),
    (
        PART_SECONDS,
        Kind::Seconds,
        "Seconds of a part of a use case: queue, embed, vector, keyword, concepts, recent, neighbourhood, rank; turn, match, apply, settle",
    ),
    (HTTP_SECONDS, Kind::Seconds, "Seconds of an HTTP request, by route and status"),
    (MCP_CALLS, Kind::Counter, "Calls of MCP tools, by tool and outcome (OK, an error code, or CANCELLED)"),
    (ERRORS, Kind::Counter, "Errors that left the service, by face and code"),
    (MEMORIES, Kind::Gauge, "Memories in the graph store, of any status"),
    (EDGES, Kind::Gauge, "Edges in the graph store"),
    (CONCEPTS, Kind::Gauge, "Concepts in the graph store"),
    (OUTBOX_ROWS, Kind::Gauge, "Outbox rows that the vector index has still to make durable"),
    (JOURNAL_ENTRIES, Kind::Gauge, "Writes that wait in the journal for the graph store"),
    (DEAD_LETTERS, Kind::Gauge, "Writes of the journal that were given up and wait for a person"),
    (WRITES_WAITING, Kind::Gauge, "Writes that wait for their turn, or have it"),
    (CIRCUIT_OPEN, Kind::Gauge, "Whether a store that is a server is left alone because it does not answer, by part"),
    (REVIEW_DEPTH, Kind::Gauge, "Proposals that wait in the review queue, by state"),
    (REVIEW_AGE, Kind::Gauge, "Seconds that proposals of the queue have waited, by quantile (0.5, 0.95)"),
    (REVIEW_SECONDS, Kind::Days, "Seconds from a proposal to its decision, by kind and outcome"),
    (REVIEW_ACCEPTED, Kind::Gauge, "Share of the decided proposals of an agent that were approved, by agent"),
    (WEBHOOKS, Kind::Counter, "Deliveries to webhooks, by endpoint and outcome (delivered, failed, given_up)"),
];

/// From 1 ms to 10 s, dense around the promised latencies: 25, 80 and 120 ms, and 800 ms of deadline.
const SECONDS_BOUNDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.08, 0.12, 0.2, 0.4, 0.8, 2.0, 10.0];

/// From a minute to a month: what people take.
const DAYS_BOUNDS: [f64; 9] = [60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0, 259_200.0, 604_800.0, 2_592_000.0];

/// How often histograms are folded; between two scrapes they would grow with each sample otherwise.
const UPKEEP: Duration = Duration::from_secs(5);

/// Names of all metrics.
pub fn metric_names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, ..)| *name)
}

/// Sets the gauges of the stores.
pub fn gauge_stores(memories: usize, edges: usize, concepts: usize, outbox: usize) {
    for (name, count) in [(MEMORIES, memories), (EDGES, edges), (CONCEPTS, concepts), (OUTBOX_ROWS, outbox)] {
        metrics::gauge!(name).set(count as f64);
    }
}

/// Sets the gauges of the journal.
pub fn gauge_journal(waiting: usize, dead: usize) {
    metrics::gauge!(JOURNAL_ENTRIES).set(waiting as f64);
    metrics::gauge!(DEAD_LETTERS).set(dead as f64);
}

/// Shows whether the store that is `part` of the service is left alone.
pub fn show_circuit(part: &'static str, open: bool) {
    metrics::gauge!(CIRCUIT_OPEN, "part" => part).set(if open { 1.0 } else { 0.0 });
}

/// How the review queue is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Queue<'a> {
    /// Proposals in each state.
    pub depth: Vec<(&'a str, i64)>,
    /// Seconds that half of them have waited at most.
    pub age_p50_secs: f64,
    /// The same of 95 in 100.
    pub age_p95_secs: f64,
    /// Share of each agent's decided proposals that were approved.
    pub accepted: Vec<(&'a str, f64)>,
}

/// Sets the gauges of the review queue.
pub fn gauge_reviews(queue: &Queue<'_>) {
    for (state, count) in &queue.depth {
        metrics::gauge!(REVIEW_DEPTH, "state" => (*state).to_owned()).set(*count as f64);
    }
    metrics::gauge!(REVIEW_AGE, "quantile" => "0.5").set(queue.age_p50_secs);
    metrics::gauge!(REVIEW_AGE, "quantile" => "0.95").set(queue.age_p95_secs);
    for (agent, share) in &queue.accepted {
        metrics::gauge!(REVIEW_ACCEPTED, "agent" => (*agent).to_owned()).set(*share);
    }
}

/// Notes that a proposal was decided, so many seconds after it was made.
pub fn review_decided(kind: &str, outcome: &str, after_secs: f64) {
    metrics::histogram!(REVIEW_SECONDS, "kind" => kind.to_owned(), "outcome" => outcome.to_owned()).record(after_secs);
}

/// Counts a try to deliver to a webhook.
pub fn count_delivery(endpoint: &str, outcome: &'static str) {
    metrics::counter!(WEBHOOKS, "endpoint" => endpoint.to_owned(), "outcome" => outcome).increment(1);
}

/// Counts an error that leaves through a face.
pub fn count_error(face: &'static str, code: &'static str) {
    metrics::counter!(ERRORS, "face" => face, "code" => code).increment(1);
}

/// Measures a part of a use case until it is dropped: at its end, or where a deadline cut it off.
#[must_use]
pub struct PartTimer {
    part: &'static str,
    started: Instant,
}

/// Starts measuring `part`.
pub fn time_part(part: &'static str) -> PartTimer {
    PartTimer { part, started: Instant::now() }
}

/// Runs `work` as `part`.
pub async fn timed<T>(part: &'static str, work: impl Future<Output = T>) -> T {
    let _timer = time_part(part);
    work.await
}

impl Drop for PartTimer {
    fn drop(&mut self) {
        metrics::histogram!(PART_SECONDS, "part" => self.part).record(self.started.elapsed().as_secs_f64());
    }
}

/// One write that waits or runs, as long as it lives.
#[must_use]
pub struct WaitingWrite(());

/// Counts a write in.
pub fn waiting_write() -> WaitingWrite {
    metrics::gauge!(WRITES_WAITING).increment(1.0);
    WaitingWrite(())
}

impl Drop for WaitingWrite {
    fn drop(&mut self) {
        metrics::gauge!(WRITES_WAITING).decrement(1.0);
    }
}

/// A recorder that cannot be installed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MetricsError {
    /// Something else records in this process.
    #[error("another metrics recorder is installed in this process")]
    Taken,
    /// No thread can be started to keep the recorder small.
    #[error("no thread can be started for the metrics")]
    Thread,
}

/// The recorder of this process, installed at the first call.
pub fn metrics_handle() -> Result<PrometheusHandle, MetricsError> {
    static HANDLE: OnceLock<Result<PrometheusHandle, MetricsError>> = OnceLock::new();
    HANDLE.get_or_init(install).clone()
}

fn install() -> Result<PrometheusHandle, MetricsError> {
    let builder = TABLE.iter().fold(PrometheusBuilder::new(), |builder, (name, kind, _)| {
        let bounds: &[f64] = match kind {
            Kind::Seconds => &SECONDS_BOUNDS,
            Kind::Days => &DAYS_BOUNDS,
            Kind::Counter | Kind::Gauge => return builder,
        };
        let metric = Matcher::Full((*name).to_owned());
        builder.set_buckets_for_metric(metric, bounds).expect("there are bounds")
    });
    let handle = builder.install_recorder().map_err(|_| MetricsError::Taken)?;
    for (name, kind, text) in TABLE {
        match kind {
            Kind::Seconds | Kind::Days => metrics::describe_histogram!(name, Unit::Seconds, text),
            Kind::Counter => metrics::describe_counter!(name, Unit::Count, text),
            Kind::Gauge => metrics::describe_gauge!(name, Unit::Count, text),
        }
    }
    let kept = handle.clone();
    let upkeep = move || {
        loop {
            thread::sleep(UPKEEP);
            kept.run_upkeep();
        }
    };
    thread::Builder::new().name("metrics-upkeep".to_owned()).spawn(upkeep).map_err(|_| MetricsError::Thread)?;
    Ok(handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_out_with_their_description_and_buckets() {
        let handle = metrics_handle().expect("the only recorder");
        metrics::histogram!(USE_CASE_SECONDS, "use_case" => "probe", "outcome" => "OK").record(0.03);
        metrics::gauge!(OUTBOX_ROWS).set(7.0);
        drop(time_part("probe"));
        let text = handle.render();
        for line in [
            "# TYPE recollect_use_case_seconds histogram",
            "# HELP recollect_use_case_seconds Seconds of a use case",
            "recollect_use_case_seconds_bucket{use_case=\"probe\",outcome=\"OK\",le=\"0.025\"} 0",
            "recollect_use_case_seconds_bucket{use_case=\"probe\",outcome=\"OK\",le=\"0.05\"} 1",
            "recollect_part_seconds_count{part=\"probe\"} 1",
            "recollect_outbox_rows 7",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
