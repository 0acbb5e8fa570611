//! A name, a log line and a sample for each request. Paths of routes, never of requests; no headers, no bodies.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request},
    http::HeaderValue,
    middleware::Next,
    response::Response,
};
use tower_http::request_id::{MakeRequestId, RequestId};
use tracing::Instrument;

use crate::{service::Service, telemetry};

/// Longest request id that a client may bring along.
const ID_BYTES: usize = 128;

/// New request ids, from the clock of the service.
#[derive(Clone)]
pub(super) struct RequestIds(pub Arc<Service>);

impl MakeRequestId for RequestIds {
    fn make_request_id<B>(&mut self, _request: &axum::http::Request<B>) -> Option<RequestId> {
        HeaderValue::try_from(self.0.clock().next_id().to_string()).ok().map(RequestId::new)
    }
}

/// Runs a request in a span with its id and measures it.
pub(super) async fn request(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = request.method().clone();
    let id = request.extensions().get::<RequestId>().and_then(|id| id.header_value().to_str().ok());
    let span = tracing::info_span!("request", id = id.filter(|id| id.len() <= ID_BYTES), %method, route);
    let started = Instant::now();
    let response = next.run(request).instrument(span.clone()).await;
    let (took, status) = (started.elapsed(), response.status().as_u16());
    span.in_scope(|| {
        tracing::debug!(status, took_ms = took.as_secs_f64() * 1000.0, "{method} {route} answered {status}")
    });
    metrics::histogram!(telemetry::HTTP_SECONDS, "route" => route, "status" => status.to_string())
        .record(took.as_secs_f64());
    response
}
