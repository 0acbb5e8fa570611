//! The HTTP face: routes, and what every request passes on its way to one.
//!
//! Outermost first: request id, log line and time (`trace`), panics, host and origin (`guard`), then for `/mcp` the bearer
//! token (`bearer`) and the body (`body`); `/graphql` asks for its token itself, since a web socket brings it later
//! (`socket`). Every error leaves as JSON with a code (`failure`). To add a route: a line in [`router`]; one that shows data
//! goes below `bearer::require`.

mod bearer;
mod body;
mod failure;
mod graphql;
mod guard;
mod oauth;
mod pages;
mod playground;
mod socket;
mod trace;

use std::{future::IntoFuture, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    http::{HeaderName, Method, header},
    middleware::from_fn_with_state,
    routing::get,
};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::sync::CancellationToken;
use tower_http::{
    catch_panic::CatchPanicLayer,
    cors::{AllowOrigin, CorsLayer},
};

use crate::{config, graphql::Graphql, mcp, service::Service};
use failure::Failure;
use guard::Guard;
use oauth::Metadata;

/// What the routes need. Cheap to clone.
#[derive(Clone)]
pub struct AppState {
    service: Arc<Service>,
    metrics: PrometheusHandle,
    guard: Arc<Guard>,
    oauth: Option<Arc<Metadata>>,
    max_body_bytes: usize,
    mcp: mcp::McpSettings,
    graphql: Graphql,
    limits: config::Graphql,
    /// One permit for each web socket.
    sockets: Arc<Semaphore>,
}

impl AppState {
    /// A state for a server that listens on `address`.
    pub fn new(service: Arc<Service>, config: &config::Server, address: SocketAddr, metrics: PrometheusHandle) -> Self {
        let guard = Arc::new(Guard::new(address, &config.allowed_hosts, &config.allowed_origins));
        let oauth = Metadata::new(&config.oauth).map(Arc::new);
        Self {
            graphql: Graphql::new(service.clone(), config.graphql.clone()),
            limits: config.graphql.clone(),
            sockets: Arc::new(Semaphore::new(config.graphql.max_connections)),
            service,
            metrics,
            guard,
            oauth,
            max_body_bytes: config.max_body_bytes,
            mcp: config.mcp,
        }
    }
}

/// All routes.
pub fn router(state: AppState) -> Router {
    let mcp = Router::new()
        .route_service("/mcp", mcp::http(state.service.clone(), state.max_body_bytes, state.mcp))
        .layer(from_fn_with_state(state.clone(), body::check))
        .layer(from_fn_with_state(state.clone(), bearer::require));
    let checked = Router::new()
        .route("/", get(pages::front))
        .route("/front.js", get(pages::script))
        .route("/metrics", get(pages::metrics))
        .route("/.well-known/oauth-protected-resource", get(oauth::metadata))
        .route("/.well-known/oauth-protected-resource/mcp", get(oauth::metadata))
        .route("/graphql", get(graphql::get).post(graphql::post))
        .route("/playground", get(playground::page))
        .route("/playground/{file}", get(playground::part))
        .merge(mcp)
        // Before the layers, which the answer to a preflight must pass.
        .method_not_allowed_fallback(failure::wrong_method)
        .layer(cors(&state.guard))
        .layer(from_fn_with_state(state.clone(), guard::check));
    Router::new()
        // Probes name the machine as they please, and learn nothing.
        .route("/healthz", get(pages::health))
        .route("/readyz", get(pages::ready))
        .merge(checked)
        .fallback(failure::no_such_page)
        .method_not_allowed_fallback(failure::wrong_method)
        .layer(CatchPanicLayer::custom(|_| Failure::internal().into()))
        .layer(from_fn_with_state(state.clone(), trace::request))
        .with_state(state)
}

/// Serves until `stop`, then waits at most `patience` for requests under way.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
    patience: Duration,
) -> io::Result<()> {
    let server = axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned()).into_future();
    tokio::select! {
        served = server => served,
        () = async { stop.cancelled().await; tokio::time::sleep(patience).await } => {
            tracing::warn!("requests still under way after {} s were cut off", patience.as_secs_f32());
            Ok(())
        }
    }
}

/// Browsers of allowed origins may read answers; `guard` has refused the others by then.
fn cors(guard: &Arc<Guard>) -> CorsLayer {
    let guard = guard.clone();
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(move |origin, parts| {
            guard.admits_origin(origin, &parts.headers, &parts.uri)
        }))
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            HeaderName::from_static("mcp-protocol-version"),
            HeaderName::from_static("mcp-method"),
            HeaderName::from_static("mcp-name"),
            trace::REQUEST_ID,
        ])
        .expose_headers([trace::REQUEST_ID, header::WWW_AUTHENTICATE])
}
