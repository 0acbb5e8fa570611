//! Errors as HTTP answers: a status, and a JSON body with the code.

use axum::{
    Json,
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use crate::{
    error::{Error, ErrorCode},
    graphql,
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
        let Self { status, code, message } = self;
        let body = graphql::failure(&Error::new(code, message));
        let mut response = (status, [(header::CONTENT_TYPE, media)], body.to_string()).into_response();
        challenge(&mut response, code);
        response
    }
}

/// A refused token is told what kind is wanted.
fn challenge(response: &mut Response, code: ErrorCode) {
    if code == ErrorCode::Unauthenticated {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = json!({"error": {
            "code": self.code.name(), "message": self.message, "retryable": self.code.retryable()}});
        let mut response = (self.status, Json(body)).into_response();
        challenge(&mut response, self.code);
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
