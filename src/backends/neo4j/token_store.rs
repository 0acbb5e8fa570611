//! The `TokenStore` port. Holds hashes only; the secret itself never comes here.

use async_trait::async_trait;
use serde::Deserialize;

use super::{
    Neo4jStore,
    connection::Nothing,
    error::Neo4jError,
    graph_store::named,
    rows::{self, map, time, timestamp},
    statements,
};
use crate::{
    domain::Caller,
    ports::{PortError, StoredToken, TokenStore},
};

#[async_trait]
impl TokenStore for Neo4jStore {
    async fn add_token(&self, token: &StoredToken) -> Result<(), PortError> {
        named("add_token", async {
            let json = |result: serde_json::Result<String>| result.map_err(|_| Neo4jError::Unwritable("token"));
            let properties = map([
                ("id", token.id.as_str().into()),
                ("secret_hash", token.secret_hash.as_str().into()),
                ("principal", token.caller.principal.as_str().into()),
                ("kind", token.caller.kind.name().into()),
                ("groups", json(serde_json::to_string(&token.caller.groups))?.into()),
                ("rights", json(serde_json::to_string(&token.caller.rights))?.into()),
                ("created_at", time(token.created_at)),
                ("owner", token.caller.owner.clone().into()),
            ]);
            let query = statements::ADD_TOKEN.query().param("properties", properties);
            self.connection.write_one::<Nothing>(query).await.map(|_| ())
        })
        .await
    }

    async fn token_by_hash(&self, secret_hash: &str) -> Result<Option<StoredToken>, PortError> {
        named("token_by_hash", async {
            let query = statements::TOKEN_BY_HASH.query().param("secret_hash", secret_hash);
            self.connection.read::<Row>(query).await?.into_iter().next().map(Row::token).transpose()
        })
        .await
    }

    async fn tokens(&self) -> Result<Vec<StoredToken>, PortError> {
        named("tokens", async {
            self.connection.read::<Row>(statements::TOKENS.query()).await?.into_iter().map(Row::token).collect()
        })
        .await
    }

    async fn revoke_token(&self, id: &str) -> Result<bool, PortError> {
        #[derive(Deserialize)]
        struct Removed {
            removed: i64,
        }
        named("revoke_token", async {
            let query = statements::REVOKE_TOKEN.query().param("id", id);
            let removed: Vec<Removed> = self.connection.write_one(query).await?;
            Ok(removed.iter().any(|row| row.removed > 0))
        })
        .await
    }
}

#[derive(Deserialize)]
struct Row {
    id: String,
    secret_hash: String,
    principal: String,
    kind: String,
    groups: String,
    rights: String,
    created_at: i64,
    #[serde(default)]
    owner: Option<String>,
}

impl Row {
    fn token(self) -> Result<StoredToken, Neo4jError> {
        let unreadable = |_| Neo4jError::Unreadable("token");
        Ok(StoredToken {
            id: self.id,
            secret_hash: self.secret_hash,
            caller: Caller {
                principal: self.principal,
                kind: rows::named(&self.kind)?,
                groups: serde_json::from_str(&self.groups).map_err(unreadable)?,
                rights: serde_json::from_str(&self.rights).map_err(unreadable)?,
                owner: self.owner,
            },
            created_at: timestamp(self.created_at)?,
        })
    }
}
