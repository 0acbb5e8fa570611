//! The playground: GraphiQL as `scripts/build-web` built it, out of this binary. Nothing of it is fetched from elsewhere.

use axum::{
    body::Body,
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use rust_embed::{EmbeddedFile, RustEmbed};

/// What the page may do. The editor (Monaco) and GraphiQL set styles on elements and add style sheets while they run; no
/// script comes from the page itself or is made of text, and nothing leads away from this service. Images and fonts as
/// data are in the editor's style sheet.
const POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; \
    style-src 'self' 'unsafe-inline'; font-src 'self' data:; img-src 'self' data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>recollect playground</title>\
    <h1>No playground in this binary</h1><p>It was built without it. Run <code>make web</code>, then build again; \
    <code>make run</code> does both. GraphQL itself is at <code>/graphql</code>.</p></html>";

#[derive(RustEmbed)]
#[folder = "web/playground/dist"]
#[allow_missing = true]
struct Files;

/// The page.
pub(super) async fn page(headers: HeaderMap) -> Response {
    match Files::get("index.html") {
        Some(page) => file("index.html", page, &headers),
        None => (StatusCode::NOT_FOUND, guarded(), Html(NOT_BUILT)).into_response(),
    }
}

/// A script, style sheet or font of the page.
pub(super) async fn part(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match Files::get(&name) {
        Some(found) => file(&name, found, &headers),
        None => super::failure::no_such_page().await.into_response(),
    }
}

fn guarded() -> [(header::HeaderName, &'static str); 4] {
    [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        // Asked again each time, answered with 304 as long as the binary is the same.
        (header::CACHE_CONTROL, "no-cache"),
    ]
}

fn file(name: &str, file: EmbeddedFile, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", hex::encode(file.metadata.sha256_hash()));
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|given| given.as_bytes() == tag.as_bytes());
    let mut response = match known {
        true => (StatusCode::NOT_MODIFIED, guarded()).into_response(),
        false => (guarded(), [(header::CONTENT_TYPE, media(name))], Body::from(file.data)).into_response(),
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// Only what the build makes.
fn media(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("ttf") => "font/ttf",
        _ => "text/plain; charset=utf-8",
    }
}
