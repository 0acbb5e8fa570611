//! The `Journal` port, for a graph store that is not in this process; a change that waits is one row of JSON.

use async_trait::async_trait;
use rusqlite::{Row, params};

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

/// The entry of a row, or the number of one that cannot be read.
fn entry(row: &Row<'_>) -> Result<Result<JournalEntry, i64>, SqliteError> {
    let (seq, change): (i64, String) = (row.get(0)?, row.get(3)?);
    let (attempts, dead) = (row.get(1)?, row.get(2)?);
    let change = serde_json::from_str::<ChangeSet>(&change);
    Ok(change.map(|change| JournalEntry { seq: seq.cast_unsigned(), attempts, dead, change }).map_err(|_| seq))
}

#[async_trait]
impl Journal for SqliteStore {
    async fn append(&self, changes: &[ChangeSet]) -> Result<(), PortError> {
        let rows = changes.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
        self.write("append", move |connection| {
            let transaction = connection.transaction()?;
            for change in rows.map_err(|_| SqliteError::Unwritable("journal entry"))? {
                transaction.prepare_cached("INSERT INTO journal (change) VALUES (?1)")?.execute([change])?;
            }
            Ok(transaction.commit()?)
        })
        .await
    }

    async fn pending(&self, limit: usize) -> Result<Vec<JournalEntry>, PortError> {
        loop {
            let found: Vec<Result<JournalEntry, i64>> = self
                .read("pending", move |connection| {
                    connection
                        .prepare_cached(
                            "SELECT seq, attempts, dead, change FROM journal WHERE dead = 0 ORDER BY seq LIMIT ?1",
                        )?
                        .query_and_then([limited(limit)], entry)?
                        .collect()
                })
                .await?;
            let unreadable: Vec<i64> = found.iter().filter_map(|entry| entry.as_ref().err().copied()).collect();
            if unreadable.is_empty() {
                return Ok(found.into_iter().flatten().collect());
            }
            for seq in unreadable {
                tracing::error!(seq, "an entry of the journal cannot be read; it is a dead letter now");
                self.failed(seq.cast_unsigned(), true).await?;
            }
        }
    }

    async fn entries(&self, after: u64, limit: usize) -> Result<Vec<JournalEntry>, PortError> {
        self.read("entries", move |connection| {
            let found: Vec<Result<JournalEntry, i64>> = connection
                .prepare_cached("SELECT seq, attempts, dead, change FROM journal WHERE seq > ?1 ORDER BY seq LIMIT ?2")?
                .query_and_then(params![integer(after), limited(limit)], entry)?
                .collect::<Result<_, _>>()?;
            Ok(found.into_iter().flatten().collect())
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

    async fn done(&self, seqs: &[u64]) -> Result<(), PortError> {
        let seqs = seqs.to_vec();
        self.write("done", move |connection| {
            let transaction = connection.transaction()?;
            for seq in seqs {
                transaction
                    .prepare_cached("DELETE FROM journal WHERE seq = ?1 AND dead = 0")?
                    .execute([integer(seq)])?;
            }
            Ok(transaction.commit()?)
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

    async fn retry(&self, seq: Option<u64>) -> Result<usize, PortError> {
        self.write("retry", move |connection| {
            let sql = "UPDATE journal SET dead = 0, attempts = 0 WHERE dead <> 0 AND (?1 IS NULL OR seq = ?1)";
            Ok(connection.prepare_cached(sql)?.execute([seq.map(integer)])?)
        })
        .await
    }

    async fn discard(&self, seq: Option<u64>) -> Result<usize, PortError> {
        self.write("discard", move |connection| {
            let sql = "DELETE FROM journal WHERE dead <> 0 AND (?1 IS NULL OR seq = ?1)";
            Ok(connection.prepare_cached(sql)?.execute([seq.map(integer)])?)
        })
        .await
    }
}
