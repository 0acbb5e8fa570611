//! The `TokenStore` port. Holds hashes only; the secret itself never comes here.

use async_trait::async_trait;
use rusqlite::{Row, params};

use super::{
    SqliteStore,
    error::SqliteError,
    rows::{named, timestamp},
};
use crate::{
    domain::Caller,
    ports::{PortError, StoredToken, TokenStore},
};

#[async_trait]
impl TokenStore for SqliteStore {
    async fn add_token(&self, token: &StoredToken) -> Result<(), PortError> {
        let token = token.clone();
        self.write("add_token", move |connection| {
            let json = |result: serde_json::Result<String>| result.map_err(|_| SqliteError::Unwritable("token"));
            connection
                .prepare_cached(
                    "INSERT INTO token (id, secret_hash, principal, kind, groups, rights, created_at, owner)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                )?
                .execute(params![
                    token.id,
                    token.secret_hash,
                    token.caller.principal,
                    token.caller.kind.name(),
                    json(serde_json::to_string(&token.caller.groups))?,
                    json(serde_json::to_string(&token.caller.rights))?,
                    token.created_at.as_microsecond(),
                    token.caller.owner
                ])?;
            Ok(())
        })
        .await
    }

    async fn token_by_hash(&self, secret_hash: &str) -> Result<Option<StoredToken>, PortError> {
        let secret_hash = secret_hash.to_owned();
        self.read("token_by_hash", move |connection| {
            connection
                .prepare_cached(
                    "SELECT id, secret_hash, principal, kind, groups, rights, created_at, owner FROM token WHERE secret_hash = ?1",
                )?
                .query_and_then([secret_hash], token)?
                .next()
                .transpose()
        })
        .await
    }

    async fn tokens(&self) -> Result<Vec<StoredToken>, PortError> {
        self.read("tokens", |connection| {
            connection
                .prepare_cached(
                    "SELECT id, secret_hash, principal, kind, groups, rights, created_at, owner FROM token ORDER BY created_at, id",
                )?
                .query_and_then([], token)?
                .collect()
        })
        .await
    }

    async fn revoke_token(&self, id: &str) -> Result<bool, PortError> {
        let id = id.to_owned();
        self.write("revoke_token", move |connection| {
            Ok(connection.prepare_cached("DELETE FROM token WHERE id = ?1")?.execute([id])? > 0)
        })
        .await
    }
}

fn token(row: &Row<'_>) -> Result<StoredToken, SqliteError> {
    let unreadable = |_| SqliteError::Unreadable("token");
    let (groups, rights): (String, String) = (row.get(4)?, row.get(5)?);
    Ok(StoredToken {
        id: row.get(0)?,
        secret_hash: row.get(1)?,
        caller: Caller {
            principal: row.get(2)?,
            kind: named(row, 3)?,
            groups: serde_json::from_str(&groups).map_err(unreadable)?,
            rights: serde_json::from_str(&rights).map_err(unreadable)?,
            owner: row.get(7)?,
        },
        created_at: timestamp(row.get(6)?)?,
    })
}
