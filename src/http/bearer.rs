//! From the `Authorization` header to the caller of a request.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{AppState, failure::Failure};
use crate::{
    auth,
    domain::Caller,
    error::{Error, ErrorCode},
};

/// Puts an `Arc<Caller>` among the extensions of the request, or refuses it. One answer for every wrong token.
pub(super) async fn require(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    match caller(&state, request.headers()).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refused) => refused.into_response(),
    }
}

/// The caller of a request with these headers.
pub(super) async fn caller(state: &AppState, headers: &HeaderMap) -> Result<Arc<Caller>, Failure> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| token(value.to_str().ok()?));
    let given = given.ok_or_else(|| refused(state, "a bearer token is needed", ""))?;
    owner(state, given).await
}

/// The caller behind a token.
pub(super) async fn owner(state: &AppState, token: &str) -> Result<Arc<Caller>, Failure> {
    match auth::authenticate(state.service.tokens(), token).await {
        Ok(Some(caller)) => Ok(Arc::new(caller)),
        Ok(None) => Err(refused(state, "the bearer token is not valid", "error=\"invalid_token\"")),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "the token store failed");
            Err(Failure::from(Error::from(error)))
        }
    }
}

/// 401 with a challenge that says where tokens come from, if an issuer is configured (RFC 9728).
fn refused(state: &AppState, message: &str, error: &str) -> Failure {
    let failure = Failure::new(ErrorCode::Unauthenticated, message);
    match &state.oauth {
        Some(metadata) => failure.with_challenge(metadata.challenge(error)),
        None => failure,
    }
}

/// The token of a value like `Bearer TOKEN`.
pub(super) fn token(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}
