//! Keeps web pages of others out: a name that was rebound to this machine (`Host`), a page that calls across (`Origin`).

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Uri, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{AppState, failure::Failure};
use crate::error::ErrorCode;

/// Which names and origins requests may come under.
#[derive(Debug)]
pub(super) struct Guard {
    listen: IpAddr,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Guard {
    pub(super) fn new(listen: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        let lower =
            |names: &[String]| names.iter().map(|name| name.trim().trim_end_matches('/').to_lowercase()).collect();
        Self { listen: listen.ip(), hosts: lower(hosts), origins: lower(origins) }
    }

    /// A loopback name, the address listened on, or a configured name, there with or without a port.
    fn admits_host(&self, host: &Authority) -> bool {
        let name = host.host().to_lowercase();
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let by_address = bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip == self.listen);
        let whole = host.as_str().to_lowercase();
        // User information has no place in a host.
        !whole.contains('@')
            && (by_address
                || name == "localhost"
                || self.hosts.iter().any(|known| [&*name, bare, &*whole].contains(&&**known)))
    }

    /// The service's own origin, whose authority is that of the request, or a configured one.
    pub(super) fn admits_origin(&self, origin: &HeaderValue, headers: &HeaderMap, uri: &Uri) -> bool {
        let Ok(origin) = origin.to_str().map(str::to_lowercase) else { return false };
        let own = host(headers, uri).is_some_and(|host| {
            let host = host.as_str().to_lowercase();
            origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) == Some(&host)
        });
        own || self.origins.contains(&origin)
    }
}

/// Lets a request pass, or says what was wrong with it.
pub(super) async fn check(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let (headers, uri) = (request.headers(), request.uri());
    let refused = match host(headers, uri) {
        None => Some("host: missing or malformed"),
        Some(host) if !state.guard.admits_host(&host) => {
            Some("host: not a name of this service; see server.allowed_hosts")
        }
        Some(_) => headers
            .get_all(header::ORIGIN)
            .iter()
            .any(|origin| !state.guard.admits_origin(origin, headers, uri))
            .then_some("origin: pages of this origin may not call; see server.allowed_origins"),
    };
    match refused {
        Some(message) => Failure::new(ErrorCode::Forbidden, message).into_response(),
        None => next.run(request).await,
    }
}

/// From the one `Host` header, or from the request line where HTTP/2 has it.
fn host(headers: &HeaderMap, uri: &Uri) -> Option<Authority> {
    let mut given = headers.get_all(header::HOST).iter();
    match (given.next(), given.next()) {
        (Some(host), None) => Authority::try_from(host.as_bytes()).ok(),
        (None, _) => uri.authority().cloned(),
        (Some(_), Some(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_service_are_hosts() {
        let names = ["memory.example.org".to_owned(), "Proxy.example.org:8443".to_owned()];
        let guard = Guard::new(SocketAddr::from(([10, 0, 0, 7], 7979)), &names, &[]);
        for (host, admitted) in [
            ("localhost", true),
            ("LOCALHOST:7979", true),
            ("127.0.0.1:7979", true),
            ("127.8.9.1", true),
            ("[::1]:7979", true),
            ("10.0.0.7:7979", true),
            ("memory.example.org", true),
            ("memory.example.org:443", true),
            ("proxy.example.org:8443", true),
            ("proxy.example.org", false),
            ("10.0.0.8", false),
            ("evil.example.org", false),
            ("localhost.evil.example.org", false),
            ("127.0.0.1.evil.example.org", false),
            ("localhost@evil.example.org", false),
            ("evil.example.org@localhost", false),
        ] {
            let parsed = Authority::try_from(host).expect(host);
            assert_eq!(guard.admits_host(&parsed), admitted, "{host}");
        }
    }

    #[test]
    fn only_the_own_origin_and_configured_ones_may_call() {
        let origins = ["https://console.example.org/".to_owned()];
        let guard = Guard::new(SocketAddr::from(([127, 0, 0, 1], 7979)), &[], &origins);
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("localhost:7979"));
        for (origin, admitted) in [
            ("http://localhost:7979", true),
            ("https://localhost:7979", true),
            ("https://console.example.org", true),
            ("HTTPS://Console.example.org", true),
            ("http://console.example.org", false),
            ("https://console.example.org:8443", false),
            ("http://localhost:8080", false),
            ("http://127.0.0.1:7979", false),
            ("https://evil.example.org", false),
            ("null", false),
            ("", false),
        ] {
            let given = HeaderValue::from_static(origin);
            assert_eq!(guard.admits_origin(&given, &headers, &Uri::from_static("/mcp")), admitted, "{origin}");
        }
    }
}
