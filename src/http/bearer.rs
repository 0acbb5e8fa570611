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
    error::{Error, ErrorCode},
};

/// Puts an `Arc<Caller>` among the extensions of the request, or refuses it. One answer for every wrong token.
pub(super) async fn require(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let Some(token) = token(request.headers()) else {
        return refuse(&state, "a bearer token is needed", "");
    };
    match auth::authenticate(state.service.tokens(), token).await {
        Ok(Some(caller)) => {
            request.extensions_mut().insert(Arc::new(caller));
            next.run(request).await
        }
        Ok(None) => refuse(&state, "the bearer token is not valid", "error=\"invalid_token\""),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "the token store failed");
            Failure::from(Error::from(error)).into_response()
        }
    }
}

/// 401 with a challenge that says where tokens come from, if an issuer is configured (RFC 9728).
fn refuse(state: &AppState, message: &str, error: &str) -> Response {
    let mut response = Failure::new(ErrorCode::Unauthenticated, message).into_response();
    if let Some(metadata) = &state.oauth {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, metadata.challenge(error));
    }
    response
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}
