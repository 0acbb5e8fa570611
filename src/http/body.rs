//! The body of an MCP request: its size, and that it is JSON, before the protocol sees it.
//!
//! rmcp answers both faults, and a few more, with plain text and a status of its own; here they get the answers of the
//! JSON-RPC specification and our codes.

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use rmcp::model::ClientJsonRpcMessage;
use serde_json::{Value, json};

use super::{AppState, failure::Failure, trace};
use crate::{error::ErrorCode, telemetry};

/// Where a request names its version of the protocol, and the code of JSON-RPC for headers that disagree with the body.
const VERSION: &str = "mcp-protocol-version";
const HEADER_MISMATCH: i32 = -32020;

/// Longest refusal of rmcp that is handed on, in bytes.
const REFUSAL_BYTES: usize = 1024;

/// Reads the body, refuses what is too large or not a message, and hands the rest on.
pub(super) async fn check(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let request = match read(request, state.max_body_bytes).await {
        Ok(request) => request,
        Err(refused) => return refused,
    };
    coded(next.run(request).await).await
}

async fn read(request: Request, limit: usize) -> Result<Request, Response> {
    if request.method() != Method::POST {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    let bytes = whole(&parts.headers, body, limit).await.map_err(IntoResponse::into_response)?;
    check_message(&parts.headers, &bytes)?;
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

/// The whole body, unless it is larger than `limit`.
pub(super) async fn whole(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, Failure> {
    let too_large = || Failure::new(ErrorCode::PayloadTooLarge, format!("body: larger than {limit} bytes"));
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: usize| length > limit) {
        return Err(too_large());
    }
    to_bytes(body, limit).await.map_err(|error| {
        let source = std::error::Error::source(&error);
        if source.is_some_and(|source| source.to_string() == "length limit exceeded") {
            return too_large();
        }
        Failure::new(ErrorCode::BadUserInput, "body: broke off")
    })
}

/// JSON that is too deep, or that holds what is no text (lone surrogates) or no number (NaN), is a parse error.
fn check_message(headers: &HeaderMap, bytes: &Bytes) -> Result<(), Response> {
    // rmcp looks at the first alone; what stands in between may look at another.
    let ambiguous = headers.get_all(VERSION).iter().nth(1).is_some();
    if !ambiguous && serde_json::from_slice::<ClientJsonRpcMessage>(bytes).is_ok() {
        return Ok(());
    }
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| refuse(-32700, format!("parse error: {error}"), Value::Null))?;
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or_default();
    Err(if ambiguous {
        refuse(HEADER_MISMATCH, "header mismatch: more than one MCP-Protocol-Version".to_owned(), id)
    } else {
        refuse(-32600, "invalid request: not one JSON-RPC 2.0 message".to_owned(), id)
    })
}

fn refuse(code: i32, message: String, id: Value) -> Response {
    telemetry::count_error("http", ErrorCode::BadUserInput.name());
    let data = json!({"code": ErrorCode::BadUserInput.name(), "retryable": false, "trace_id": trace::id()});
    let body = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": data}});
    (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
}

/// Gives the plain-text refusals of rmcp a code and a JSON body.
async fn coded(response: Response) -> Response {
    let status = response.status();
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    if status.is_server_error() {
        return Failure::internal().into_response();
    }
    let (parts, body) = response.into_parts();
    let text = to_bytes(body, REFUSAL_BYTES).await.unwrap_or_default();
    let message = String::from_utf8_lossy(&text).into_owned();
    let mut coded = Failure::new(ErrorCode::BadUserInput, message).with_status(status).into_response();
    if let Some(allow) = parts.headers.get(header::ALLOW) {
        coded.headers_mut().insert(header::ALLOW, allow.clone());
    }
    coded
}
