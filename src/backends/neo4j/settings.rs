//! What it takes to reach a server.

use std::{fmt, time::Duration};

/// Where the server is and how to speak to it. Keys of `[graph]` in `config.default.toml`.
#[derive(Clone)]
pub struct Neo4jSettings {
    /// `neo4j://`, `neo4j+s://`, `bolt://` or `bolt+s://`, host and port.
    pub url: String,
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

impl fmt::Debug for Neo4jSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Neo4jSettings")
            .field("url", &self.url)
            .field("user", &self.user)
            .field("database", &self.database)
            .field("timeout", &self.timeout)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}
