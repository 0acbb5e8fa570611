//! Bearer tokens, kept as hashes.

use async_trait::async_trait;
use jiff::Timestamp;

use super::PortError;
use crate::domain::Caller;

/// A token as it is kept: never the secret itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredToken {
    /// Public id, for listing and revoking.
    pub id: String,
    /// SHA-256 of the secret, hexadecimal. The secret has 256 random bits, so no slow hash is needed.
    pub secret_hash: String,
    /// Who it speaks for.
    pub caller: Caller,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Tokens shared by all processes on the same data.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// Adds a token; durable when it returns.
    async fn add_token(&self, token: &StoredToken) -> Result<(), PortError>;
    /// The token with this secret hash.
    async fn token_by_hash(&self, secret_hash: &str) -> Result<Option<StoredToken>, PortError>;
    /// All tokens, oldest first.
    async fn tokens(&self) -> Result<Vec<StoredToken>, PortError>;
    /// Removes a token; whether there was one.
    async fn revoke_token(&self, id: &str) -> Result<bool, PortError>;
}
