//! The face for agents: the Model Context Protocol, over HTTP (stateless) and over stdio.
//!
//! `tools`, with the rows of `wiki`, is the one table of what there is; `schema` gives each tool its flat schemas, `lenient`
//! forgives the form of arguments, `server` translates between the protocol and the façade, `call` surrounds each call.
//! `bridge` hands messages on to a running service. Nothing is decided here. To add a tool: a row in `tools`.

mod bridge;
mod call;
mod lenient;
mod prompts;
mod resources;
mod schema;
mod server;
mod settings;
mod tools;
mod wiki;

use std::sync::Arc;

use rmcp::{
    ServiceExt,
    transport::{
        stdio as standard_streams,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
        },
    },
};

use crate::{domain::Caller, service::Service};
pub use bridge::{BridgeError, bridge};
use server::{CallerOf, Server};
pub use settings::{McpSettings, Version};
pub use tools::{call_tool, tool_listing};

/// Key of the parts of an error in the `_meta` of a failed call: code, field, message, advice, retryable.
pub const ERROR: &str = "recollect/error";

/// MCP as an HTTP service: no sessions, JSON answers, any instance can answer any request. The [`Caller`] is expected among
/// the extensions of the request; the HTTP face checks token, host, origin and size before.
pub fn http(
    service: Arc<Service>,
    max_body_bytes: usize,
    settings: McpSettings,
) -> StreamableHttpService<impl rmcp::ServerHandler, NeverSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(max_body_bytes)
        .disable_allowed_hosts();
    let server = Server::new(service, CallerOf::Request, settings);
    StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config)
}

/// A connection over stdio that broke.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The client did not open the connection as the protocol wants it.
    #[error("mcp over stdio: the client did not complete the handshake")]
    Handshake(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The serving task ended early.
    #[error("mcp over stdio: the server stopped")]
    Stopped(#[from] tokio::task::JoinError),
}

/// Serves `caller` on standard input and output until the input ends.
pub async fn stdio(service: Arc<Service>, caller: Caller, settings: McpSettings) -> Result<(), StdioError> {
    let server = Server::new(service, CallerOf::Connection(Arc::new(caller)), settings);
    let running = match server.serve(standard_streams()).await {
        Ok(running) => running,
        // A client that leaves before it says anything is no fault.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(StdioError::Handshake(Box::new(error))),
    };
    running.waiting().await?;
    Ok(())
}
