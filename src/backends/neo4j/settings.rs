//! What it takes to speak to a server, beside its address.

use std::{fmt, time::Duration};

/// Keys of `[graph]` in `config.default.toml`.
#[derive(Clone)]
pub struct Neo4jSettings {
    /// User name.
    pub user: String,
    /// Password; never shown.
    pub password: String,
    /// Name of the database; empty is the server's default.
    pub database: String,
    /// Longest time of one call, waiting for a connection and second tries included.
    pub timeout: Duration,
    /// Connections for reading; writers take turns at one more.
    pub connections: usize,
}

impl Neo4jSettings {
    /// Schemes of addresses. Those with `+s` are encrypted; `neo4j` lets the members of a cluster pass writes on.
    pub const SCHEMES: &[&str] = &["neo4j", "neo4j+s", "bolt", "bolt+s"];
}

impl Default for Neo4jSettings {
    fn default() -> Self {
        Self {
            user: "neo4j".to_owned(),
            password: String::new(),
            database: String::new(),
            timeout: Duration::from_secs(10),
            connections: 16,
        }
    }
}

impl fmt::Debug for Neo4jSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Neo4jSettings")
            .field("user", &self.user)
            .field("database", &self.database)
            .field("timeout", &self.timeout)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}
