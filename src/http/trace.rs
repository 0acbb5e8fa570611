//! A name, a log line and a sample for each request. Paths of routes, never of requests; no headers, no bodies.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use tracing::Instrument;

use super::AppState;
use crate::telemetry::{self, RequestId};

/// Where a request id comes and goes.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest request id that a client may bring along.
const ID_BYTES: usize = 128;

tokio::task_local! {
    static CURRENT: RequestId;
}

/// The id of the request that is being answered; `None` outside of one.
pub(super) fn id() -> Option<Arc<str>> {
    CURRENT.try_with(|id| id.0.clone()).ok()
}

/// Runs a request in a span with its id and measures it. The id and the span are among the request's extensions, for
/// work that goes on in other tasks.
pub(super) async fn request(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let id = given(request.headers()).unwrap_or_else(|| state.service.clock().next_id().to_string());
    let id = RequestId(id.into());
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = request.method().clone();
    let span = tracing::info_span!("request", id = &*id.0, %method, route);
    request.extensions_mut().insert(id.clone());
    request.extensions_mut().insert(span.clone());
    let started = Instant::now();
    let mut response = CURRENT.scope(id.clone(), next.run(request)).instrument(span.clone()).await;
    let (took, status) = (started.elapsed(), response.status().as_u16());
    span.in_scope(|| {
        tracing::debug!(status, took_ms = took.as_secs_f64() * 1000.0, "{method} {route} answered {status}")
    });
    metrics::histogram!(telemetry::HTTP_SECONDS, "route" => route, "status" => status.to_string())
        .record(took.as_secs_f64());
    let header = HeaderValue::from_str(&id.0).expect("an id of plain characters");
    response.headers_mut().insert(REQUEST_ID, header);
    response
}

/// The id that the client gave, if it is one: one header, plain characters, not too long.
fn given(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(REQUEST_ID).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let id = value.to_str().ok()?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    ((1..=ID_BYTES).contains(&id.len()) && id.bytes().all(plain)).then(|| id.to_owned())
}
