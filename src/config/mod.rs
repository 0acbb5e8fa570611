//! Settings. Every key is in `config.default.toml`, which is built in; a file and the environment override it.
//!
//! The environment is read here and nowhere else. To add a key: a line with a sentence in `config.default.toml`, a field
//! below; the test checks that neither has one the other lacks.

mod secret;

use std::path::{Path, PathBuf};

use figment::{
    Figment,
    providers::{Env, Format, Toml},
};
use serde::{Deserialize, Serialize};

use crate::{
    mcp::McpSettings, models::EmbedderEntry, ontology::OntologySettings, read::ReadSettings, review::ReviewSettings,
    telemetry::Log, write::WriteSettings,
};

pub use secret::Secret;

/// The defaults, as a documented file.
pub const DEFAULT: &str = include_str!("../../config.default.toml");

/// Keys that are a [`Secret`].
const SECRETS: [&str; 2] = ["graph.password", "vectors.qdrant.api_key"];

/// A setting that cannot be used. The message names the key.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The named file cannot be read.
    #[error("config file {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A value or key is wrong.
    #[error("config key {0}")]
    Key(String),
}

/// All settings.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// HTTP.
    pub server: Server,
    /// Where data lives.
    pub data: Data,
    /// Graph store.
    pub graph: Graph,
    /// Vector index.
    pub vectors: Vectors,
    /// Embedders.
    pub models: Models,
    /// Write path.
    pub write: WriteSettings,
    /// Review queue and wiki.
    pub review: ReviewSettings,
    /// Read path.
    pub read: ReadSettings,
    /// Webhooks.
    pub webhooks: Webhooks,
    /// Ontologies.
    pub ontology: OntologySettings,
    /// Logs.
    pub log: Log,
}

/// See `[server]` in `config.default.toml`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct Server {
    pub listen: std::net::SocketAddr,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub max_body_bytes: usize,
    pub shutdown_secs: u64,
    pub wait_secs: u64,
    pub mcp: McpSettings,
    pub oauth: OAuth,
    pub graphql: Graphql,
}

/// See `[server.oauth]` in `config.default.toml`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct OAuth {
    pub authorization_servers: Vec<String>,
    pub resource: String,
}

/// See `[server.graphql]` in `config.default.toml`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct Graphql {
    pub max_query_bytes: usize,
    pub max_depth: usize,
    pub max_complexity: usize,
    pub max_fields: usize,
    pub max_root_fields: usize,
    pub max_aliases: usize,
    pub max_directives: usize,
    pub poll_ms: u64,
    pub init_timeout_ms: u64,
    pub max_connections: usize,
    pub max_subscriptions: usize,
}

/// See `[data]` in `config.default.toml`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct Data {
    pub dir: PathBuf,
}

/// See `[graph]` in `config.default.toml`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct Graph {
    pub url: String,
    pub user: String,
    pub password: Secret,
    pub database: String,
    pub timeout_ms: u64,
    pub connections: usize,
}

/// See `[vectors]` in `config.default.toml`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct Vectors {
    pub url: String,
    pub flush_rows: usize,
    pub flush_secs: u64,
    pub optimize_points: usize,
    pub qdrant: Qdrant,
}

/// See `[vectors.qdrant]` in `config.default.toml`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct Qdrant {
    pub api_key: Secret,
    pub collection: String,
    pub timeout_ms: u64,
    pub write_timeout_ms: u64,
    pub m: u64,
    pub ef_construct: u64,
    pub quantization: Quantization,
    pub vectors_on_disk: bool,
    pub shards: u32,
    pub replicas: u32,
}

/// Smaller vectors to search by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantization {
    /// None.
    None,
    /// A byte for each number.
    Scalar,
}

/// See `[models]` in `config.default.toml`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct Models {
    pub dir: PathBuf,
    pub runtime: PathBuf,
    pub batch: usize,
    pub threads: usize,
    pub query_cache: usize,
    pub embedders: Vec<EmbedderEntry>,
}

/// See `[webhooks]` in `config.default.toml`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct Webhooks {
    pub allow_private: bool,
    pub timeout_ms: u64,
    pub tries: usize,
    pub retry_first_ms: u64,
    pub retry_longest_ms: u64,
    pub poll_ms: u64,
    pub endpoints: Vec<WebhookEndpoint>,
}

/// Who is told of the review queue.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct WebhookEndpoint {
    pub name: String,
    pub url: String,
    pub secrets: Vec<Secret>,
    #[serde(default)]
    pub events: Vec<String>,
}

impl Config {
    /// The defaults, then `file`, then the environment.
    #[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let mut figment = Figment::from(Toml::string(DEFAULT));
        if let Some(path) = file {
            let text =
                std::fs::read_to_string(path).map_err(|source| ConfigError::File { path: path.to_owned(), source })?;
            figment = figment.merge(Toml::string(&text));
        }
        let environment =
            Env::prefixed("RECOLLECT_").filter(|key| key.as_str().contains("__")).split("__").lowercase(true);
        figment = figment.merge(environment);
        for key in SECRETS {
            // As it stands: another value of the environment is a number if it looks like one.
            let name = format!("RECOLLECT_{}", key.to_uppercase().replace('.', "__"));
            if let Some(secret) = std::env::var_os(&name) {
                let secret =
                    secret.into_string().map_err(|_| ConfigError::Key(format!("{key}: {name} is not UTF-8")))?;
                figment = figment.merge((key, secret));
            }
        }
        let mut config: Self = figment.extract().map_err(|error| {
            let key = error.path.join(".");
            ConfigError::Key(if key.is_empty() { error.to_string() } else { format!("{key}: {}", error.kind) })
        })?;
        if config.models.dir.as_os_str().is_empty() {
            config.models.dir = default_models_dir();
        }
        if config.models.runtime.as_os_str().is_empty() {
            config.models.runtime = std::env::var_os("ORT_DYLIB_PATH").map(PathBuf::from).unwrap_or_default();
        }
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let wrong = |key: &str, what: &str| Err(ConfigError::Key(format!("{key}: {what}")));
        if self.models.embedders.is_empty() {
            return wrong("models.embedders", "at least one entry is needed");
        }
        if self.models.embedders[0].language.is_some() {
            return wrong("models.embedders", "the first entry holds every memory, so it takes no language");
        }
        if self.models.batch == 0 {
            return wrong("models.batch", "must be at least 1");
        }
        if self.graph.timeout_ms == 0 {
            return wrong("graph.timeout_ms", "must be at least 1");
        }
        if self.graph.connections == 0 {
            return wrong("graph.connections", "must be at least 1");
        }
        let qdrant = &self.vectors.qdrant;
        let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        if qdrant.collection.is_empty() || !plain(&qdrant.collection) {
            return wrong("vectors.qdrant.collection", "must be of letters, digits, - and _");
        }
        for (key, value) in [
            ("vectors.qdrant.timeout_ms", qdrant.timeout_ms),
            ("vectors.qdrant.write_timeout_ms", qdrant.write_timeout_ms),
            ("vectors.qdrant.m", qdrant.m),
            ("vectors.qdrant.ef_construct", qdrant.ef_construct),
        ] {
            if value == 0 {
                return wrong(key, "must be at least 1");
            }
        }
        let oauth = &self.server.oauth;
        for server in &oauth.authorization_servers {
            if !is_address(server) {
                return wrong("server.oauth.authorization_servers", "each must be an https:// or http:// address");
            }
        }
        if !oauth.authorization_servers.is_empty() && !is_address(&oauth.resource) {
            let what = "with authorization_servers, the address of /mcp as clients reach it is needed";
            return wrong("server.oauth.resource", what);
        }
        self.log.check().map_err(|error| ConfigError::Key(error.to_string()))?;
        let checked = self.write.check().and_then(|()| self.read.check()).and_then(|()| self.review.check());
        checked.and_then(|()| self.ontology.check()).map_err(ConfigError::Key)
    }
}

/// An address that clients can be sent to: a scheme, a host, and nothing after a path.
fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with('/')
            && rest.bytes().all(|b| b.is_ascii_graphic() && !b"\"\\#?<>".contains(&b))
    })
}

#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
fn default_models_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("RECOLLECT_MODELS").filter(|dir| !dir.is_empty()) {
        return dir.into();
    }
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from)
        .unwrap_or_else(|| std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default().join(".cache"));
    cache.join("recollect/models")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_file_is_complete_and_valid() {
        let config: Config = Figment::from(Toml::string(DEFAULT)).extract().expect("the default file parses");
        config.check().expect("the defaults are valid");
        // Deserialising proves that no field lacks a key; the other way round is `deny_unknown_fields`.
        assert_eq!(config.server.listen.port(), 7979);
        assert_eq!(config.models.embedders.len(), 2);
    }

    #[test]
    fn a_bad_value_names_its_key() {
        let dir = tempfile::tempdir().expect("temporary folder");
        for (text, key) in [
            ("[server]\nlisten = 7", "server.listen"),
            ("[read]\ncandidates = \"many\"", "read.candidates"),
            ("[read]\ncandidates = 0", "read.candidates"),
            ("[reed]\nx = 1", "reed"),
            ("[write]\nsupplements_from = 2.0", "write.supplements"),
            ("[log]\nformat = \"xml\"", "log.format"),
            ("[review]\nclaim_secs = 0", "review.claim_secs"),
            ("[review]\nprotected = [{ pages = \"[\" }]", "review.protected"),
            ("[write]\nquarantine = [\"\"]", "write.quarantine"),
            ("[ontology]\nmax_links = 0", "ontology.max_links"),
            ("[ontology]\nmax_removed_share = 2.0", "ontology.max_removed_share"),
            ("[[ontology.rules]]\nname = \"empty\"\naction = \"warn\"", "ontology.rules"),
            ("[graph]\ntimeout_ms = 0", "graph.timeout_ms"),
            ("[graph]\nconnections = 0", "graph.connections"),
            ("[vectors.qdrant]\ncollection = \"a/b\"", "vectors.qdrant.collection"),
            ("[vectors.qdrant]\nquantization = \"binary\"", "vectors.qdrant.quantization"),
            ("[vectors.qdrant]\ntimeout_ms = 0", "vectors.qdrant.timeout_ms"),
            ("[log]\nlevel = \"recollect=loud\"", "log.level"),
            ("[server.mcp]\nmax_protocol_version = \"2027-01-01\"", "server.mcp.max_protocol_version"),
            ("[server.oauth]\nauthorization_servers = [\"login\"]", "server.oauth.authorization_servers"),
            ("[server.oauth]\nauthorization_servers = [\"https://login.example.org\"]", "server.oauth.resource"),
        ] {
            let file = dir.path().join("c.toml");
            std::fs::write(&file, text).expect("file written");
            let message = Config::load(Some(&file)).expect_err(text).to_string();
            assert!(message.contains(key), "{text:?} gave {message:?}");
        }
    }
}
