//! GraphQL over HTTP, as its specification has it: POST with JSON, GET for queries, one request at a time.
//!
//! With `application/graphql-response+json` the status says whether the request was run (200) or refused (400); with
//! `application/json`, for older clients, whatever is a request gets 200.

use std::collections::HashMap;

use axum::{
    extract::{
        Query, Request, State,
        ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value};

use super::{AppState, bearer, body, failure::Failure, socket};
use crate::{
    error::ErrorCode,
    graphql::{self, Answer, Operations},
};

/// The media type of the specification.
const RESPONSE: &str = "application/graphql-response+json; charset=utf-8";
/// The media type of older clients.
const JSON: &str = "application/json; charset=utf-8";

/// A query in the address, or a web socket.
pub(super) async fn get(
    State(state): State<AppState>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    request: Request,
) -> Response {
    if request.headers().contains_key(header::UPGRADE) {
        return match upgrade {
            Ok(upgrade) => socket::open(state, upgrade),
            Err(_) => {
                Failure::new(ErrorCode::BadUserInput, "upgrade: not the handshake of a web socket").into_response()
            }
        };
    }
    let headers = request.headers();
    let media = match media(headers) {
        Ok(media) => media,
        Err(refused) => return refused.in_graphql(JSON),
    };
    let caller = match bearer::caller(&state, headers).await {
        Ok(caller) => caller,
        Err(refused) => return refused.in_graphql(media),
    };
    match in_address(&request) {
        Ok(asked) => answer(state.graphql.execute(caller, asked, Operations::Queries).await, media),
        Err(refused) => refused.in_graphql(media),
    }
}

/// A query or a mutation as JSON.
pub(super) async fn post(State(state): State<AppState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let media = match media(&parts.headers) {
        Ok(media) => media,
        Err(refused) => return refused.in_graphql(JSON),
    };
    let caller = match bearer::caller(&state, &parts.headers).await {
        Ok(caller) => caller,
        Err(refused) => return refused.in_graphql(media),
    };
    if !is_json(&parts.headers) {
        return Failure::new(ErrorCode::BadUserInput, "content-type: only application/json is taken")
            .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
            .in_graphql(media);
    }
    let asked = match body::whole(&parts.headers, body, state.max_body_bytes).await {
        Ok(bytes) => in_body(&bytes),
        Err(refused) => Err(refused),
    };
    match asked {
        Ok(asked) => answer(state.graphql.execute(caller, asked, Operations::Single).await, media),
        Err(refused) => refused.in_graphql(media),
    }
}

fn answer(answer: Answer, media: &'static str) -> Response {
    let (status, body) = match answer {
        Answer::Executed(body) => (StatusCode::OK, body),
        Answer::Refused(body) if media == JSON => (StatusCode::OK, body),
        Answer::Refused(body) => (StatusCode::BAD_REQUEST, body),
        Answer::NotHere(body) => (StatusCode::METHOD_NOT_ALLOWED, body),
    };
    let headers = [(header::CONTENT_TYPE, media), (header::CACHE_CONTROL, "no-store")];
    let mut response = (status, headers, body.to_string()).into_response();
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    }
    response
}

/// The better of the two media types that the client accepts.
fn media(headers: &HeaderMap) -> Result<&'static str, Failure> {
    let mut best: Option<(f32, &'static str)> = None;
    let mut asked = false;
    for value in headers.get_all(header::ACCEPT) {
        for range in value.to_str().unwrap_or_default().split(',') {
            asked = true;
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default().to_ascii_lowercase();
            let mut quality = 1.0;
            let mut readable = true;
            for parameter in parts {
                let (key, value) = parameter.split_once('=').unwrap_or_default();
                match key.trim().to_ascii_lowercase().as_str() {
                    "q" => quality = value.trim().parse().unwrap_or(0.0),
                    "charset" => readable = value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8"),
                    _ => {}
                }
            }
            let offered = match name.as_str() {
                "application/graphql-response+json" => RESPONSE,
                // Who does not say which is taken for an older client.
                "application/json" | "application/*" | "*/*" => JSON,
                _ => continue,
            };
            // Of two that are liked alike, the one that is named first.
            if readable && quality > 0.0 && best.is_none_or(|(known, _)| quality > known) {
                best = Some((quality, offered));
            }
        }
    }
    match best {
        Some((_, media)) => Ok(media),
        None if !asked => Ok(JSON),
        None => {
            let message = "accept: only application/graphql-response+json and application/json are given";
            Err(Failure::new(ErrorCode::BadUserInput, message).with_status(StatusCode::NOT_ACCEPTABLE))
        }
    }
}

/// One content type, JSON, in UTF-8, not compressed.
fn is_json(headers: &HeaderMap) -> bool {
    let mut given = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(kind), None) = (given.next(), given.next()) else { return false };
    let mut parts = kind.to_str().unwrap_or_default().split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let utf8 = parts.filter_map(|parameter| parameter.split_once('=')).all(|(key, value)| {
        !key.trim().eq_ignore_ascii_case("charset") || value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
    });
    name.eq_ignore_ascii_case("application/json") && utf8 && !headers.contains_key(header::CONTENT_ENCODING)
}

fn in_body(bytes: &[u8]) -> Result<graphql::Request, Failure> {
    let wrong = |message: String| Failure::new(ErrorCode::BadUserInput, message);
    match serde_json::from_slice(bytes).map_err(|error| wrong(format!("body: not JSON: {error}")))? {
        Value::Object(fields) => asked(fields),
        Value::Array(_) => Err(wrong("body: batches are not taken, one request at a time".to_owned())),
        _ => Err(wrong("body: expected an object".to_owned())),
    }
}

fn in_address(request: &Request) -> Result<graphql::Request, Failure> {
    let wrong = |message: &str| Failure::new(ErrorCode::BadUserInput, message);
    let Query(given) = Query::<HashMap<String, String>>::try_from_uri(request.uri())
        .map_err(|_| wrong("address: its query is malformed"))?;
    let mut fields = Map::new();
    for (name, text) in given {
        let value = match name.as_str() {
            // An empty one is an absent one.
            "variables" | "extensions" if text.is_empty() => Value::Null,
            "variables" | "extensions" => {
                serde_json::from_str(&text).map_err(|_| wrong(&format!("{name}: not JSON")))?
            }
            "operationName" if text.is_empty() => Value::Null,
            _ => Value::String(text),
        };
        fields.insert(name, value);
    }
    asked(fields)
}

/// A request from its fields; others than those of the specification are passed over, as it says.
pub(super) fn asked(mut fields: Map<String, Value>) -> Result<graphql::Request, Failure> {
    let wrong = |name: &str, what: &str| Failure::new(ErrorCode::BadUserInput, format!("{name}: {what}"));
    let query = match fields.remove("query") {
        Some(Value::String(query)) => query,
        None | Some(Value::Null) => return Err(wrong("query", "missing")),
        Some(_) => return Err(wrong("query", "expected a string")),
    };
    let operation_name = match fields.remove("operationName") {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name),
        Some(_) => return Err(wrong("operationName", "expected a string")),
    };
    let variables = match fields.remove("variables") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(variables)) => variables,
        Some(_) => return Err(wrong("variables", "expected an object")),
    };
    match fields.remove("extensions") {
        None | Some(Value::Null | Value::Object(_)) => {}
        Some(_) => return Err(wrong("extensions", "expected an object")),
    }
    Ok(graphql::Request { query, operation_name, variables })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_media_type_is_the_one_the_client_likes_best() {
        for (accept, expected) in [
            (None, Some(JSON)),
            (Some("*/*"), Some(JSON)),
            (Some("application/*"), Some(JSON)),
            (Some("application/json"), Some(JSON)),
            (Some("APPLICATION/JSON; charset=UTF-8"), Some(JSON)),
            (Some("application/graphql-response+json"), Some(RESPONSE)),
            (Some("application/graphql-response+json, application/json;q=0.9"), Some(RESPONSE)),
            (Some("application/json;q=0.9, application/graphql-response+json"), Some(RESPONSE)),
            (Some("application/json, application/graphql-response+json"), Some(JSON)),
            (Some("text/html, */*;q=0.1"), Some(JSON)),
            (Some("application/json; charset=iso-8859-1"), None),
            (Some("application/json;q=0"), None),
            (Some("text/html"), None),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            }
            assert_eq!(media(&headers).ok(), expected, "{accept:?}");
        }
    }

    #[test]
    fn only_json_in_utf8_is_taken() {
        for (kind, taken) in [
            ("application/json", true),
            ("application/json; charset=utf-8", true),
            ("Application/JSON;charset=\"UTF-8\"", true),
            ("application/json; charset=utf-16", false),
            ("application/graphql", false),
            ("application/x-www-form-urlencoded", false),
            ("multipart/form-data; boundary=x", false),
            ("text/plain", false),
            ("application/jsonp", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))]);
            assert_eq!(is_json(&headers), taken, "{kind:?}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
