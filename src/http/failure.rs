//! Errors as HTTP answers: a status, and a JSON body with the code.

use axum::{
    Json,
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::trace;
use crate::{
    error::{Error, ErrorCode},
    telemetry,
};

/// An error on its way out.
#[derive(Debug)]
pub(super) struct Failure {
    status: StatusCode,
    code: ErrorCode,
    message: String,
}

impl Failure {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status: status(code), code, message: message.into() }
    }

    /// The same with a status that says more than the code's own.
    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    pub(super) fn internal() -> Self {
        Self::new(ErrorCode::Internal, "internal fault")
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(error.code, error.message)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        telemetry::count_error("http", self.code.name());
        let body = json!({"error": {"code": self.code.name(), "message": self.message,
            "retryable": self.code.retryable(), "trace_id": trace::id()}});
        let mut response = (self.status, Json(body)).into_response();
        if self.code == ErrorCode::Unauthenticated {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<Failure> for axum::http::Response<Body> {
    fn from(failure: Failure) -> Self {
        failure.into_response()
    }
}

/// The one mapping of codes to statuses.
fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorCode::Forbidden => StatusCode::FORBIDDEN,
        ErrorCode::BadUserInput => StatusCode::BAD_REQUEST,
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::Conflict | ErrorCode::StaleBase => StatusCode::CONFLICT,
        ErrorCode::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::IdempotencyKeyReused => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::Degraded | ErrorCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// For paths that are none of ours.
pub(super) async fn no_such_page() -> Failure {
    Failure::new(ErrorCode::NotFound, "path: no such page")
}

/// For methods that a path does not take.
pub(super) async fn wrong_method() -> Failure {
    Failure::new(ErrorCode::BadUserInput, "method: not taken by this path").with_status(StatusCode::METHOD_NOT_ALLOWED)
}
