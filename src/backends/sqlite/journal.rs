//! The `Journal` port. With another graph store, a file of its own beside it; a change that waits is one row of JSON.

use async_trait::async_trait;
use rusqlite::params;

use super::{
    SqliteStore,
    error::SqliteError,
    read::{limited, size},
    rows::integer,
};
use crate::{
    domain::ChangeSet,
    ports::{Journal, JournalEntry, PortError},
};

#[async_trait]
impl Journal for SqliteStore {
    async fn append(&self, change: &ChangeSet) -> Result<u64, PortError> {
        let change = change.clone();
        self.write("append", move |connection| {
            let change = serde_json::to_string(&change).map_err(|_| SqliteError::Unwritable("journal entry"))?;
            connection.prepare_cached("INSERT INTO journal (change) VALUES (?1)")?.execute([change])?;
            Ok(connection.last_insert_rowid().cast_unsigned())
        })
        .await
    }

    async fn pending(&self, limit: usize) -> Result<Vec<JournalEntry>, PortError> {
        self.read("pending", move |connection| {
            connection
                .prepare_cached("SELECT seq, attempts, change FROM journal WHERE dead = 0 ORDER BY seq LIMIT ?1")?
                .query_and_then([limited(limit)], |row| {
                    let change: String = row.get(2)?;
                    Ok(JournalEntry {
                        seq: row.get::<_, i64>(0)?.cast_unsigned(),
                        attempts: row.get(1)?,
                        change: serde_json::from_str(&change).map_err(|_| SqliteError::Unreadable("journal entry"))?,
                    })
                })?
                .collect()
        })
        .await
    }

    async fn lengths(&self) -> Result<(usize, usize), PortError> {
        self.read("lengths", move |connection| {
            let sql = "SELECT count(*) FILTER (WHERE dead = 0), count(*) FILTER (WHERE dead <> 0) FROM journal";
            let counted =
                connection.prepare_cached(sql)?.query_row([], |row| Ok((size(row.get(0)?), size(row.get(1)?))))?;
            Ok(counted)
        })
        .await
    }

    async fn done(&self, seq: u64) -> Result<(), PortError> {
        self.write("done", move |connection| {
            connection.prepare_cached("DELETE FROM journal WHERE seq = ?1 AND dead = 0")?.execute([integer(seq)])?;
            Ok(())
        })
        .await
    }

    async fn failed(&self, seq: u64, dead: bool) -> Result<(), PortError> {
        self.write("failed", move |connection| {
            connection
                .prepare_cached("UPDATE journal SET attempts = attempts + 1, dead = max(dead, ?2) WHERE seq = ?1")?
                .execute(params![integer(seq), dead])?;
            Ok(())
        })
        .await
    }
}
