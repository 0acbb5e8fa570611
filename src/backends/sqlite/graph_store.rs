//! The `GraphStore` port over the blocking functions: owns the arguments, picks a connection, names the operation.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};
use uuid::Uuid;

use super::{SqliteStore, apply, neighbourhood, read, rows::integer};
use crate::{
    domain::{
        AsOf, ChangeSet, ConceptKey, Edge, EdgeKind, Event, EventId, Filter, Memory, MemoryId, Scope, Visibility,
    },
    ports::{
        Applied, ConceptUse, GraphStore, KeywordQuery, Neighbourhood, NeighbourhoodQuery, OutboxRow, PortError,
        Recorded, Scored, StoreCounts,
    },
};

#[async_trait]
impl GraphStore for SqliteStore {
    async fn apply(&self, changes: &[ChangeSet]) -> Result<Vec<Applied>, PortError> {
        let changes = changes.to_vec();
        self.write("apply", move |connection| apply::apply(connection, &changes)).await
    }

    async fn memories(&self, ids: &[MemoryId], as_of: AsOf, visibility: &Visibility) -> Result<Vec<Memory>, PortError> {
        let (ids, visibility) = (ids.to_vec(), visibility.clone());
        self.read("memories", move |connection| read::memories(connection, &ids, as_of, &visibility)).await
    }

    async fn by_external_ids(
        &self,
        external_ids: &[String],
        visibility: &Visibility,
    ) -> Result<BTreeMap<String, MemoryId>, PortError> {
        let (external_ids, visibility) = (external_ids.to_vec(), visibility.clone());
        self.read("by_external_ids", move |connection| read::by_external_ids(connection, &external_ids, &visibility))
            .await
    }

    async fn by_content_hashes(
        &self,
        hashes: &[String],
        scope: &Scope,
    ) -> Result<BTreeMap<String, MemoryId>, PortError> {
        let (hashes, scope) = (hashes.to_vec(), scope.clone());
        self.read("by_content_hashes", move |connection| read::by_content_hashes(connection, &hashes, &scope)).await
    }

    async fn last_members(
        &self,
        kind: EdgeKind,
        names: &[String],
        scope: &Scope,
    ) -> Result<BTreeMap<String, MemoryId>, PortError> {
        let (names, scope) = (names.to_vec(), scope.clone());
        self.read("last_members", move |connection| read::last_members(connection, kind, &names, &scope)).await
    }

    async fn recorded(&self, principal: &str, key: &str) -> Result<Option<Recorded>, PortError> {
        let (principal, key) = (principal.to_owned(), key.to_owned());
        self.read("recorded", move |connection| read::recorded(connection, &principal, &key)).await
    }

    async fn keyword(&self, query: &KeywordQuery, visibility: &Visibility) -> Result<Vec<Scored>, PortError> {
        let (query, visibility, frequencies) = (query.clone(), visibility.clone(), self.frequencies.clone());
        self.read("keyword", move |connection| read::keyword(connection, &frequencies, &query, &visibility)).await
    }

    async fn recent(&self, filter: &Filter, limit: usize, visibility: &Visibility) -> Result<Vec<Scored>, PortError> {
        let (filter, visibility) = (filter.clone(), visibility.clone());
        self.read("recent", move |connection| read::recent(connection, &filter, limit, &visibility)).await
    }

    async fn neighbourhood(
        &self,
        query: &NeighbourhoodQuery,
        visibility: &Visibility,
    ) -> Result<Neighbourhood, PortError> {
        let (query, visibility) = (query.clone(), visibility.clone());
        self.read("neighbourhood", move |connection| neighbourhood::neighbourhood(connection, &query, &visibility))
            .await
    }

    async fn edges_of(&self, id: Uuid, limit: usize, visibility: &Visibility) -> Result<Vec<Edge>, PortError> {
        let visibility = visibility.clone();
        self.read("edges_of", move |connection| read::edges_of(connection, id, limit, &visibility)).await
    }

    async fn concepts(
        &self,
        keys: &[ConceptKey],
        known: Option<Timestamp>,
        visibility: &Visibility,
    ) -> Result<Vec<ConceptUse>, PortError> {
        let (keys, visibility) = (keys.to_vec(), visibility.clone());
        self.read("concepts", move |connection| read::concepts(connection, &keys, known, &visibility)).await
    }

    async fn memories_of_concept(
        &self,
        key: &ConceptKey,
        limit: usize,
        known: Option<Timestamp>,
        visibility: &Visibility,
    ) -> Result<Vec<(MemoryId, EdgeKind)>, PortError> {
        let (key, visibility) = (key.clone(), visibility.clone());
        self.read("memories_of_concept", move |connection| {
            read::memories_of_concept(connection, &key, limit, known, &visibility)
        })
        .await
    }

    async fn replaced_texts(
        &self,
        filter: &Filter,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError> {
        let (filter, visibility) = (filter.clone(), visibility.clone());
        self.read("replaced_texts", move |connection| read::replaced_texts(connection, &filter, limit, &visibility))
            .await
    }

    async fn members(
        &self,
        kind: EdgeKind,
        name: &str,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<MemoryId>, PortError> {
        let (name, visibility) = (name.to_owned(), visibility.clone());
        self.read("members", move |connection| read::members(connection, kind, &name, limit, &visibility)).await
    }

    async fn events(&self, ids: &[EventId], visibility: &Visibility) -> Result<Vec<Event>, PortError> {
        let (ids, visibility) = (ids.to_vec(), visibility.clone());
        self.read("events", move |connection| read::events(connection, &ids, &visibility)).await
    }

    async fn events_of_session(
        &self,
        session: &str,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Event>, PortError> {
        let (session, visibility) = (session.to_owned(), visibility.clone());
        self.read("events_of_session", move |connection| {
            read::events_of_session(connection, &session, limit, &visibility)
        })
        .await
    }

    async fn vote_of(&self, id: MemoryId, principal: &str, visibility: &Visibility) -> Result<Option<bool>, PortError> {
        let (principal, visibility) = (principal.to_owned(), visibility.clone());
        self.read("vote_of", move |connection| read::vote_of(connection, id, &principal, &visibility)).await
    }

    async fn page(
        &self,
        after: Option<MemoryId>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError> {
        let visibility = visibility.clone();
        self.read("page", move |connection| read::page(connection, after, limit, &visibility)).await
    }

    async fn total_memories(&self, visibility: &Visibility) -> Result<usize, PortError> {
        let visibility = visibility.clone();
        self.read("total_memories", move |connection| read::total_memories(connection, &visibility)).await
    }

    async fn counts(&self, visibility: &Visibility) -> Result<StoreCounts, PortError> {
        let visibility = visibility.clone();
        self.read("counts", move |connection| read::counts(connection, &visibility)).await
    }

    async fn outbox(&self, after: u64, limit: usize) -> Result<Vec<OutboxRow>, PortError> {
        self.read("outbox", move |connection| read::outbox(connection, after, limit)).await
    }

    async fn outbox_done(&self, seq: u64) -> Result<(), PortError> {
        self.write("outbox_done", move |connection| {
            connection.prepare_cached("DELETE FROM outbox WHERE seq <= ?1")?.execute([integer(seq)])?;
            Ok(())
        })
        .await
    }

    async fn meta(&self, key: &str) -> Result<Option<String>, PortError> {
        let key = key.to_owned();
        self.read("meta", move |connection| {
            let mut statement = connection.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
            Ok(statement.query_row([key], |row| row.get(0)).optional()?)
        })
        .await
    }

    async fn set_meta(&self, key: &str, value: &str) -> Result<(), PortError> {
        let (key, value) = (key.to_owned(), value.to_owned());
        self.write("set_meta", move |connection| {
            connection
                .prepare_cached("INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2")?
                .execute(params![key, value])?;
            Ok(())
        })
        .await
    }

    async fn swap_meta(&self, key: &str, expected: Option<&str>, value: &str) -> Result<bool, PortError> {
        let (key, expected, value) = (key.to_owned(), expected.map(str::to_owned), value.to_owned());
        self.write("swap_meta", move |connection| {
            let changed = match expected {
                None => connection
                    .prepare_cached("INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
                    .execute(params![key, value])?,
                Some(expected) => connection
                    .prepare_cached("UPDATE meta SET value = ?3 WHERE key = ?1 AND value = ?2")?
                    .execute(params![key, expected, value])?,
            };
            Ok(changed == 1)
        })
        .await
    }

    async fn half_links(&self, repair: bool) -> Result<usize, PortError> {
        if !repair {
            return self.read("half_links", read::half_links).await;
        }
        self.write("half_links", |connection| {
            let transaction = connection.transaction()?;
            let found = read::half_links(&transaction)?;
            read::remove_half_links(&transaction)?;
            transaction.commit()?;
            Ok(found)
        })
        .await
    }

    async fn ping(&self) -> Result<(), PortError> {
        self.read("ping", |connection| {
            let mut statement = connection.prepare_cached("SELECT at FROM change ORDER BY seq DESC LIMIT 1")?;
            statement.query_row([], |row| row.get::<_, i64>(0)).optional()?;
            Ok(())
        })
        .await
    }

    async fn revisions(
        &self,
        id: MemoryId,
        visibility: &Visibility,
    ) -> Result<Vec<(Timestamp, Option<Timestamp>, Memory)>, PortError> {
        let visibility = visibility.clone();
        self.read("revisions", move |connection| read::revisions(connection, id, &visibility)).await
    }
}
