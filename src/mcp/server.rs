//! Between the protocol and the façade: who calls, which tool, and what an error looks like to a model.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, CompletionInfo,
        ContentBlock, CustomRequest, CustomResult, GetPromptRequestParams, GetPromptResponse, Implementation,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject,
        PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
        ServerConfig, Tool,
    },
    service::RequestContext,
};

use super::{McpSettings, call, prompts, resources, tools};
use crate::{
    domain::Caller,
    error::{Error, ErrorCode},
    service::Service,
    telemetry,
};

/// What an agent should know before it sees the tools.
const INSTRUCTIONS: &str = "Long-term memory that outlives this conversation. Before you answer or act on something that may \
    have been said, decided or learnt earlier, call memory_recall. To find what belongs to it through causes, sessions and \
    shared subjects, call memory_associate. When you learn something that will matter later (a fact, a preference, a rule, a \
    correction, the outcome of a task), call memory_store at once, one statement per call; give supersedes when it replaces \
    what you recalled. Tell with memory_feedback whether a memory helped, and with memory_observe how a task or a session \
    ended. What people have approved stands in the wiki (wiki_search, wiki_get); propose edits of it with wiki_propose and \
    see with review_list what became of them.";

/// Longest error text for a model, in characters; what was given may be quoted in it.
const MESSAGE_CHARS: usize = 500;

/// Completions at most.
const COMPLETIONS: usize = 20;

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
    settings: McpSettings,
}

impl Server {
    pub(super) fn new(service: Arc<Service>, caller: CallerOf, settings: McpSettings) -> Self {
        Self { service, caller, settings }
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
    ServerConfig::new(
        ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().enable_completions().build(),
    )
    .with_server_info(Implementation::new("recollect", env!("CARGO_PKG_VERSION")).with_title("recollect"))
    .with_instructions(INSTRUCTIONS)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        about()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.settings.versions()
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
        let Some(tool) = self.get_tool(&request.name) else {
            call::unknown_tool();
            return Err(ErrorData::invalid_params(unknown_tool(), None));
        };
        let work = tools::call(&self.service, &caller, &request.name, request.arguments.unwrap_or_default())
            .expect("every listed tool can be called");
        Ok(call::run(&tool, &context, work).await.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let caller = self.caller(&context)?;
        let listed = call::traced(&context, resources::list(&self.service, &caller)).await?;
        Ok(ListResourcesResult::with_all_items(listed))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.caller(&context)?;
        Ok(call::traced(&context, resources::read(&self.service, &caller, &request.uri)).await?.into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let caller = self.caller(&context)?;
        let arguments = request.arguments.unwrap_or_default();
        let prompt = prompts::get(&self.service, &caller, &request.name, &arguments);
        Ok(call::traced(&context, prompt).await?.into())
    }

    /// Ids, sessions and addresses that the caller sees and that begin with what was typed.
    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let caller = self.caller(&context)?;
        let (of, argument) = (&request.r#ref, &request.argument);
        let Some(named) = resources::Named::of(of, &argument.name) else { return Ok(CompleteResult::default()) };
        let names = resources::names(&self.service, &caller, named, &argument.value);
        let names = call::traced(&context, names).await.map_err(|error| protocol_error(&error))?;
        let mut seen = BTreeSet::new();
        let begun: Vec<String> = names
            .into_iter()
            .filter(|name| name.starts_with(&argument.value) && seen.insert(name.clone()))
            .take(COMPLETIONS)
            .collect();
        let completion = CompletionInfo::new(begun).map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(completion))
    }

    /// Requests whose parameters do not have the shape of their method arrive here.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // From 2026-07-28 on there is no handshake.
        let gone = context.meta.protocol_version().is_some_and(|version| !version.has_initialize());
        Err(malformed(if gone && request.method == "initialize" { "" } else { &request.method }))
    }
}

fn unknown_tool() -> String {
    let names: Vec<&str> = tools::tools().iter().map(|tool| tool.name.as_ref()).collect();
    format!("unknown tool, expected one of {}", names.join(", "))
}

fn malformed(method: &str) -> ErrorData {
    match method {
        "tools/call" => ErrorData::invalid_params("params: expected a name and an object of arguments", None),
        "resources/read" => ErrorData::invalid_params("params: expected a uri", None),
        "prompts/get" => ErrorData::invalid_params("params: expected a name and an object of arguments", None),
        "initialize"
        | "tools/list"
        | "resources/list"
        | "resources/templates/list"
        | "prompts/list"
        | "completion/complete" => ErrorData::invalid_params("params: malformed", None),
        _ => ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, "unknown method", None),
    }
}

/// An answer as text, and as what the output schema describes.
pub(super) fn success(json: String) -> CallToolResult {
    let mut result = CallToolResult::success(Vec::new());
    result.structured_content = serde_json::from_str(&json).ok();
    result.content.push(ContentBlock::text(json));
    result
}

/// A business failure where the protocol has no result to carry it: in resources, prompts and completions.
pub(super) fn protocol_error(error: &Error) -> ErrorData {
    telemetry::count_error("mcp", error.code.name());
    let text = format!("{}: {}", error.code, error.message.chars().take(MESSAGE_CHARS).collect::<String>());
    let data = Some(serde_json::json!({"code": error.code.name(), "retryable": error.code.retryable()}));
    match error.code {
        ErrorCode::BadUserInput | ErrorCode::PayloadTooLarge | ErrorCode::NotFound => {
            ErrorData::invalid_params(text, data)
        }
        ErrorCode::Unauthenticated | ErrorCode::Forbidden => ErrorData::invalid_request(text, data),
        ErrorCode::Conflict
        | ErrorCode::StaleBase
        | ErrorCode::RateLimited
        | ErrorCode::IdempotencyKeyReused
        | ErrorCode::Degraded
        | ErrorCode::Timeout
        | ErrorCode::Unavailable
        | ErrorCode::Internal => ErrorData::internal_error(text, data),
    }
}

/// `CODE: what. What to do.` Structured content must have the shape of the output schema, so what programs read of an error
/// stands in `_meta`.
pub(super) fn failure(error: &Error) -> CallToolResult {
    let message: String = error.message.chars().take(MESSAGE_CHARS).collect();
    let parts = serde_json::json!({"code": error.code.name(), "field": error.field, "message": message,
        "advice": error.advice, "retryable": error.code.retryable()});
    // A message about a field starts with the field's name, which has no capital.
    let what = if error.field.is_some() { message } else { sentence(&message) };
    let advice = error.advice.as_deref().unwrap_or(advice(error.code));
    let text = format!("{}: {what}. {}.", error.code, sentence(advice));
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.meta.get_or_insert_with(MetaObject::default).0.insert(super::ERROR.to_owned(), parts);
    result
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
