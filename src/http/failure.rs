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
    graphql, telemetry,
};

/// An error on its way out.
#[derive(Debug)]
pub(super) struct Failure {
    status: StatusCode,
    code: ErrorCode,
    message: String,
    /// What a refused token is told; without one, which kind of token is wanted.
    challenge: Option<HeaderValue>,
}

impl Failure {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status: status(code), code, message: message.into(), challenge: None }
    }

    pub(super) fn with_challenge(self, challenge: HeaderValue) -> Self {
        Self { challenge: Some(challenge), ..self }
    }

    /// The same with a status that says more than the code's own.
    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    pub(super) fn code(&self) -> ErrorCode {
        self.code
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

impl Failure {
    /// As an answer of the GraphQL face, whose clients read errors as their specification writes them.
    pub(super) fn in_graphql(self, media: &'static str) -> Response {
        let Self { status, code, message, challenge } = self;
        telemetry::count_error("http", code.name());
        let body = graphql::failure(&Error::new(code, message));
        let response = (status, [(header::CONTENT_TYPE, media)], body.to_string()).into_response();
        challenged(response, code, challenge)
    }
}

fn challenged(mut response: Response, code: ErrorCode, challenge: Option<HeaderValue>) -> Response {
    if code == ErrorCode::Unauthenticated {
        let challenge = challenge.unwrap_or(HeaderValue::from_static("Bearer"));
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        telemetry::count_error("http", self.code.name());
        let body = json!({"error": {"code": self.code.name(), "message": self.message,
            "retryable": self.code.retryable(), "trace_id": trace::id()}});
        challenged((self.status, Json(body)).into_response(), self.code, self.challenge)
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
