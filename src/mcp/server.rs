//! Between the protocol and the façade: who calls, which tool, and what an error looks like to a model.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
        Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};

use super::tools;
use crate::{
    domain::Caller,
    error::{Error, ErrorCode},
    service::Service,
};

/// What an agent should know before it sees the tools.
const INSTRUCTIONS: &str = "Long-term memory that outlives this conversation. Before you answer or act on something that may \
    have been said, decided or learnt earlier, call memory_recall. To find what belongs to it through causes, sessions and \
    shared subjects, call memory_associate. When you learn something that will matter later (a fact, a preference, a rule, a \
    correction, the outcome of a task), call memory_store at once, one statement per call; give supersedes when it replaces \
    what you recalled.";

/// Longest error text for a model, in characters; what was given may be quoted in it.
const MESSAGE_CHARS: usize = 500;

/// Where the caller of a request comes from.
#[derive(Clone)]
pub(super) enum CallerOf {
    /// From the extensions of the HTTP request, one each.
    Request,
    /// One for the whole connection.
    Connection(Arc<Caller>),
}

/// The protocol handler on a service.
#[derive(Clone)]
pub(super) struct Server {
    service: Arc<Service>,
    caller: CallerOf,
}

impl Server {
    pub(super) fn new(service: Arc<Service>, caller: CallerOf) -> Self {
        Self { service, caller }
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Arc<Caller>, ErrorData> {
        match &self.caller {
            CallerOf::Connection(caller) => Ok(caller.clone()),
            CallerOf::Request => context
                .extensions
                .get::<axum::http::request::Parts>()
                .and_then(|parts| parts.extensions.get::<Arc<Caller>>().cloned())
                .ok_or_else(|| ErrorData::internal_error("internal fault", None)),
        }
    }
}

/// What every server of ours says of itself.
pub(super) fn about() -> ServerConfig {
    ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
        .with_server_info(Implementation::new("recollect", env!("CARGO_PKG_VERSION")).with_title("recollect"))
        .with_instructions(INSTRUCTIONS)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        about()
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::tools().to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::tools().iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context)?;
        let Some(call) = tools::call(&self.service, &caller, &request.name, request.arguments.unwrap_or_default())
        else {
            return Err(ErrorData::invalid_params(unknown_tool(), None));
        };
        // rmcp runs each request in a task of its own; a panic there would leave the client without an answer.
        let answer = AssertUnwindSafe(call)
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(Error::new(ErrorCode::Internal, "internal fault")));
        Ok(result(answer).into())
    }

    /// Requests whose parameters do not have the shape of their method arrive here.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(malformed(&request.method))
    }
}

fn unknown_tool() -> String {
    let names: Vec<&str> = tools::tools().iter().map(|tool| tool.name.as_ref()).collect();
    format!("unknown tool, expected one of {}", names.join(", "))
}

pub(super) fn malformed(method: &str) -> ErrorData {
    match method {
        "tools/call" => ErrorData::invalid_params("params: expected a name and an object of arguments", None),
        "initialize" | "tools/list" => ErrorData::invalid_params("params: malformed", None),
        _ => ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, "unknown method", None),
    }
}

fn result(answer: Result<String, Error>) -> CallToolResult {
    match answer {
        Ok(json) => {
            let mut result = CallToolResult::success(Vec::new());
            result.structured_content = serde_json::from_str(&json).ok();
            result.content.push(ContentBlock::text(json));
            result
        }
        // Structured content must have the shape of the output schema, so an error has none.
        Err(error) => failure(&error),
    }
}

/// `CODE: what. What to do.`
pub(super) fn failure(error: &Error) -> CallToolResult {
    let what: String = error.message.chars().take(MESSAGE_CHARS).collect();
    // A message about a field starts with the field's name, which has no capital.
    let what = if error.field.is_some() { what } else { sentence(&what) };
    let text = format!("{}: {what}. {}.", error.code, sentence(error.advice.unwrap_or(advice(error.code))));
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// Advice for errors that bring none of their own.
fn advice(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Unauthenticated => "give a valid token",
        ErrorCode::Forbidden => "do it without, or ask a person whose token may",
        ErrorCode::BadUserInput => "correct the field and call again",
        ErrorCode::NotFound => "check the id, or recall the memory to find it",
        ErrorCode::Conflict => "read the memory again, then repeat the change on it",
        ErrorCode::StaleBase => "take the latest revision and make the edit on it",
        ErrorCode::RateLimited => "wait a little and call again",
        ErrorCode::PayloadTooLarge => "split it into several shorter memories",
        ErrorCode::IdempotencyKeyReused => "use a new key for a new request",
        ErrorCode::Degraded | ErrorCode::Timeout | ErrorCode::Unavailable => "try again in a moment",
        ErrorCode::Internal => "report it; the log of the service has the details",
    }
}

fn sentence(fragment: &str) -> String {
    let mut letters = fragment.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
