//! The pages that need no token: what this is, how it is, and the metrics.

use std::time::Duration;

use axum::{
    Json,
    extract::State,
    http::{HeaderName, StatusCode, header},
    response::{Html, IntoResponse},
};
use serde_json::{Map, Value, json};

use super::AppState;
use crate::service::Readiness;

const FRONT: &str = include_str!("front.html");
const SCRIPT: &str = include_str!("front.js");
/// Less than those who ask for metrics wait for them.
const COUNTED_WITHIN: Duration = Duration::from_secs(3);

/// What this is and where its doors are.
pub(super) async fn front() -> impl IntoResponse {
    let headers = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, Html(FRONT.replace("{version}", env!("CARGO_PKG_VERSION"))))
}

/// Hands a token in the link on to the playground.
pub(super) async fn script() -> impl IntoResponse {
    let headers =
        [(header::CONTENT_TYPE, "text/javascript; charset=utf-8"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (headers, SCRIPT)
}

/// The process is alive.
pub(super) async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// Whether each part answers now; 503 while one does not. One that is being built anew leaves the others to serve.
pub(super) async fn ready(State(state): State<AppState>) -> (StatusCode, Json<Value>) {
    let parts = state.service.ready().await;
    let named = |part: &Readiness| match part {
        Readiness { ready: true, .. } => "ready",
        Readiness { rebuilding: true, .. } => "rebuilding",
        _ => "unavailable",
    };
    let whole = if parts.iter().all(|part| part.ready) {
        "ready"
    } else if parts.iter().all(|part| part.ready || part.rebuilding) {
        "degraded"
    } else {
        "unavailable"
    };
    let code = if whole == "unavailable" { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let parts: Map<String, Value> = parts.iter().map(|part| (part.part.to_owned(), named(part).into())).collect();
    (code, Json(json!({"status": whole, "parts": parts})))
}

/// Everything measured so far, as Prometheus reads it.
pub(super) async fn metrics(State(state): State<AppState>) -> ([(HeaderName, &'static str); 1], String) {
    // Whoever watches still needs the other figures, most of all while a store is down or hangs.
    match tokio::time::timeout(COUNTED_WITHIN, state.service.gauge()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(code = %error.code, "the stores could not be counted; their gauges are as they were");
        }
        Err(_) => tracing::warn!("the stores were not counted in time; their gauges are as they were"),
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], state.metrics.render())
}
