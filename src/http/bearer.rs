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
        return Failure::new(ErrorCode::Unauthenticated, "a bearer token is needed").into_response();
    };
    match auth::authenticate(state.service.tokens(), token).await {
        Ok(Some(caller)) => {
            request.extensions_mut().insert(Arc::new(caller));
            next.run(request).await
        }
        Ok(None) => Failure::new(ErrorCode::Unauthenticated, "the bearer token is not valid").into_response(),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "the token store failed");
            Failure::from(Error::from(error)).into_response()
        }
    }
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}
