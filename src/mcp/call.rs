//! What surrounds every call: the span of its request, and for a tool its count, signs of life, and its end if the client
//! goes away.

use std::{convert::Infallible, panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;
use rmcp::{
    RoleServer,
    model::{CallToolResult, MetaObject, ProgressNotificationParam, Tool},
    service::RequestContext,
};
use serde_json::json;
use tracing::Instrument;

use super::server;
use crate::{
    error::{Error, ErrorCode},
    telemetry::{self, RequestId},
};

/// Key of the request id in the `_meta` of a failure.
const TRACE_ID: &str = "recollect/trace_id";

/// Time between two signs of life to a client that asked for them.
const BEAT: Duration = Duration::from_secs(1);

/// Runs `work` in the span of its request: rmcp runs each request in a task of its own, where that would be lost.
pub(super) async fn traced<T>(context: &RequestContext<RoleServer>, work: impl Future<Output = T>) -> T {
    let span = parts(context).and_then(|parts| parts.extensions.get::<tracing::Span>());
    work.instrument(span.cloned().unwrap_or_else(tracing::Span::none)).await
}

/// Runs a call of `tool` until it is done or the client cancels it: then a write that has begun is carried to its end, and
/// nothing else is done.
pub(super) async fn run(
    tool: &Tool,
    context: &RequestContext<RoleServer>,
    work: impl Future<Output = Result<String, Error>>,
) -> CallToolResult {
    let call = async {
        // A panic in that task would leave the client without an answer.
        let work = AssertUnwindSafe(work).catch_unwind();
        tokio::select! {
            answer = work => Some(answer.unwrap_or_else(|_| Err(Error::new(ErrorCode::Internal, "internal fault")))),
            () = context.ct.cancelled() => None,
            never = beat(context) => match never {},
        }
    };
    let answer = traced(context, call).await;
    let outcome = match &answer {
        Some(Ok(_)) => "OK",
        Some(Err(error)) => error.code.name(),
        None => "CANCELLED",
    };
    count(tool.name.to_string(), outcome);
    match answer {
        Some(Ok(json)) => server::success(json),
        Some(Err(error)) => {
            telemetry::count_error("mcp", error.code.name());
            let mut failed = server::failure(&error);
            if in_the_log(error.code)
                && let Some(id) = parts(context).and_then(|parts| parts.extensions.get::<RequestId>())
            {
                failed.meta.get_or_insert_with(MetaObject::default).0.insert(TRACE_ID.to_owned(), json!(&*id.0));
            }
            failed
        }
        // Nobody reads it.
        None => server::failure(&Error::new(ErrorCode::Timeout, "the call was cancelled")),
    }
}

/// Signs of life for a client that gave a progress token: one at once and one a second. How much is left is not known.
async fn beat(context: &RequestContext<RoleServer>) -> Infallible {
    let Some(token) = context.meta.get_progress_token() else { return std::future::pending().await };
    let mut beats = tokio::time::interval(BEAT);
    let mut progress = 0.0;
    loop {
        beats.tick().await;
        // A client that no longer listens will not hear the answer either.
        let _ = context.peer.notify_progress(ProgressNotificationParam::new(token.clone(), progress)).await;
        progress += 1.0;
    }
}

/// The HTTP request behind a call; none over stdio.
fn parts(context: &RequestContext<RoleServer>) -> Option<&axum::http::request::Parts> {
    context.extensions.get()
}

/// Whether the log says more of it: a fault or an outage, not what the caller did.
fn in_the_log(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::Internal | ErrorCode::Unavailable | ErrorCode::Timeout | ErrorCode::Degraded)
}

/// Counts a call of a tool that is not there.
pub(super) fn unknown_tool() {
    count("unknown".to_owned(), ErrorCode::BadUserInput.name());
    telemetry::count_error("mcp", ErrorCode::BadUserInput.name());
}

fn count(tool: String, outcome: &'static str) {
    metrics::counter!(telemetry::MCP_CALLS, "tool" => tool, "outcome" => outcome).increment(1);
}
