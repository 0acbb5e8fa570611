//! MCP over stdio for clients that know nothing else, forwarded to a running service over HTTP.

use rmcp::{
    ErrorData, RoleClient, RoleServer, ServerHandler, ServiceError, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ListToolsResult, PaginatedRequestParams,
        ServerConfig,
    },
    service::{RequestContext, RunningService},
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};

use super::{StdioError, serve_streams, server};
use crate::error::{Error, ErrorCode};

/// A bridge that cannot be opened, or broke.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// Anything but plain HTTP.
    #[error("--url: {0:?} is not an http:// address")]
    Url(String),
    /// The service does not answer, or refuses the token.
    #[error("the service at {url} does not answer as an MCP server, or refuses the token")]
    Service {
        /// Where it was looked for.
        url: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The client's side.
    #[error(transparent)]
    Stdio(#[from] StdioError),
}

/// Serves the tools of the service at `url` on standard input and output, as the caller behind `token`.
pub async fn bridge(url: &str, token: &str) -> Result<(), BridgeError> {
    if !url.starts_with("http://") {
        return Err(BridgeError::Url(url.to_owned()));
    }
    let endpoint = format!("{}/mcp", url.trim_end_matches('/').trim_end_matches("/mcp"));
    let config = StreamableHttpClientTransportConfig::with_uri(endpoint.clone()).auth_header(token);
    let remote =
        ().serve(StreamableHttpClientTransport::from_config(config))
            .await
            .map_err(|error| BridgeError::Service { url: endpoint, source: Box::new(error) })?;
    Ok(serve_streams(Bridge { remote }).await?)
}

struct Bridge {
    remote: RunningService<RoleClient, ()>,
}

impl ServerHandler for Bridge {
    fn get_info(&self) -> ServerConfig {
        server::about()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.remote.list_tools(request).await.map_err(|error| match error {
            ServiceError::McpError(error) => error,
            _ => ErrorData::internal_error("the service does not answer", None),
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match self.remote.call_tool(request).await {
            Ok(result) => Ok(result.into()),
            Err(ServiceError::McpError(error)) => Err(error),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a forwarded call failed");
                let failed = if error.auth_challenge().is_some() {
                    Error::new(ErrorCode::Unauthenticated, "the service refuses the token")
                } else {
                    Error::new(ErrorCode::Unavailable, "the service does not answer")
                };
                Ok(server::failure(&failed).into())
            }
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(server::malformed(&request.method))
    }
}
