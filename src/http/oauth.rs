//! Where clients get their tokens: protected-resource metadata (RFC 9728), if issuers are configured. If not, every OAuth
//! path answers as any unknown one, so that clients stop looking.

use axum::{
    Json,
    extract::State,
    http::HeaderValue,
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{AppState, failure};
use crate::config;

/// The path of the metadata, before that of the resource.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// What clients are told.
#[derive(Debug, Serialize)]
pub(super) struct Metadata {
    resource: String,
    authorization_servers: Vec<String>,
    bearer_methods_supported: [&'static str; 1],
    resource_name: &'static str,
    #[serde(skip)]
    address: String,
}

impl Metadata {
    /// `None` without issuers.
    pub(super) fn new(config: &config::OAuth) -> Option<Self> {
        if config.authorization_servers.is_empty() {
            return None;
        }
        let resource = config.resource.trim_end_matches('/').to_owned();
        // The path of the resource goes behind the well-known one.
        let host = resource.find("://").map_or(0, |at| at + "://".len());
        let path = resource[host..].find('/').map_or(resource.len(), |at| host + at);
        let address = format!("{}{WELL_KNOWN}{}", &resource[..path], &resource[path..]);
        Some(Self {
            authorization_servers: config.authorization_servers.clone(),
            bearer_methods_supported: ["header"],
            resource_name: "recollect",
            resource,
            address,
        })
    }

    /// The challenge of a 401; `error` is one of RFC 6750, or empty where no token was given.
    pub(super) fn challenge(&self, error: &str) -> HeaderValue {
        let comma = if error.is_empty() { "" } else { ", " };
        let text = format!("Bearer {error}{comma}resource_metadata=\"{}\"", self.address);
        HeaderValue::try_from(text).expect("the settings were checked: an address")
    }
}

/// The metadata, or 404.
pub(super) async fn metadata(State(state): State<AppState>) -> Response {
    match &state.oauth {
        Some(metadata) => Json(&**metadata).into_response(),
        None => failure::no_such_page().await.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_resource_stands_behind_the_well_known_one() {
        for (resource, address) in [
            ("https://m.example.org/mcp", "https://m.example.org/.well-known/oauth-protected-resource/mcp"),
            ("https://m.example.org/a/mcp/", "https://m.example.org/.well-known/oauth-protected-resource/a/mcp"),
            ("http://m.example.org:8443", "http://m.example.org:8443/.well-known/oauth-protected-resource"),
        ] {
            let config = config::OAuth {
                authorization_servers: vec!["https://login.example.org".to_owned()],
                resource: resource.to_owned(),
            };
            let metadata = Metadata::new(&config).expect("an issuer is named");
            assert_eq!(metadata.challenge(""), format!("Bearer resource_metadata=\"{address}\""));
        }
    }
}
