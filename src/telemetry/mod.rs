//! Logs and the one table of metric names. Never memory text, never tokens.
//!
//! To add a metric: a name here and a row in [`TABLE`]; `/metrics` shows both.

use std::{
    io::{self, IsTerminal},
    sync::OnceLock,
    thread,
    time::Duration,
};

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::{EnvFilter, util::SubscriberInitExt};

use crate::config::{ConfigError, Log, LogFormat};

/// Histogram: seconds of a use case, by `use_case` and `outcome` (`OK` or an error code).
pub const USE_CASE_SECONDS: &str = "recollect_use_case_seconds";
/// Gauge: outbox rows that the vector index has still to make durable.
pub const OUTBOX_ROWS: &str = "recollect_outbox_rows";
/// Histogram: seconds of an HTTP request, by `route` and `status`.
pub const HTTP_SECONDS: &str = "recollect_http_request_seconds";

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Seconds,
    Gauge,
}

/// Every metric with what it says.
const TABLE: [(&str, Kind, &str); 3] = [
    (USE_CASE_SECONDS, Kind::Seconds, "Seconds of a use case, by use_case and outcome (OK or an error code)"),
    (OUTBOX_ROWS, Kind::Gauge, "Outbox rows that the vector index has still to make durable"),
    (HTTP_SECONDS, Kind::Seconds, "Seconds of an HTTP request, by route and status"),
];

/// Bounds around the promised latencies: 25, 80 and 120 ms, 800 ms of deadline, and what lies far outside.
const SECONDS_BOUNDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.08, 0.12, 0.2, 0.4, 0.8, 2.0, 10.0];

/// How often histograms are folded; between two scrapes they would grow with each sample otherwise.
const UPKEEP: Duration = Duration::from_secs(5);

/// Sends log lines to standard error (standard output belongs to answers) and panics to the log. An error names the
/// config key. A second call changes nothing.
pub fn init(log: &Log) -> Result<(), ConfigError> {
    let filter = EnvFilter::try_new(&log.level)
        .map_err(|error| ConfigError::Key(format!("log.level: {error}")))?
        // Below `warn`, rmcp logs whole messages: memory text.
        .add_directive("rmcp=warn".parse().expect("a filter directive"));
    let lines =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(io::stderr().is_terminal()).with_writer(io::stderr);
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
    let histograms = TABLE.iter().filter(|(_, kind, _)| *kind == Kind::Seconds);
    let builder = histograms.fold(PrometheusBuilder::new(), |builder, (name, ..)| {
        let metric = Matcher::Full((*name).to_owned());
        builder.set_buckets_for_metric(metric, &SECONDS_BOUNDS).expect("there are bounds")
    });
    let handle = builder.install_recorder().map_err(|_| MetricsError::Taken)?;
    for (name, kind, text) in TABLE {
        match kind {
            Kind::Seconds => metrics::describe_histogram!(name, metrics::Unit::Seconds, text),
            Kind::Gauge => metrics::describe_gauge!(name, text),
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
        let text = handle.render();
        for line in [
            "# TYPE recollect_use_case_seconds histogram",
            "# HELP recollect_use_case_seconds Seconds of a use case",
            "recollect_use_case_seconds_bucket{use_case=\"probe\",outcome=\"OK\",le=\"0.025\"} 0",
            "recollect_use_case_seconds_bucket{use_case=\"probe\",outcome=\"OK\",le=\"0.05\"} 1",
            "recollect_outbox_rows 7",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn a_filter_that_cannot_be_read_names_its_key() {
        let log = Log { level: "recollect=loud".to_owned(), format: LogFormat::Text };
        assert!(init(&log).expect_err("no such level").to_string().contains("log.level"));
    }
}
