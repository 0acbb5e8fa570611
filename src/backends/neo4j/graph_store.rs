//! The `GraphStore` port: names the operation of each failure, and where its work is done.

use std::{collections::BTreeMap, future::Future};

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::{Neo4jStore, apply, error::Neo4jError, keyword, lookup, neighbourhood, read};
use crate::{
    domain::{
        AsOf, ChangeSet, ConceptKey, Edge, EdgeKind, Event, EventId, Filter, Memory, MemoryId, Scope, Visibility,
    },
    ports::{
        Applied, ConceptUse, GraphStore, KeywordQuery, Neighbourhood, NeighbourhoodQuery, OutboxRow, PortError,
        Recorded, Scored, StoreCounts,
    },
};

/// `work`, with its error as the port's.
pub(super) async fn named<T>(
    operation: &'static str,
    work: impl Future<Output = Result<T, Neo4jError>>,
) -> Result<T, PortError> {
    work.await.map_err(|error| PortError::from((operation, error)))
}

#[async_trait]
impl GraphStore for Neo4jStore {
    async fn apply(&self, changes: &[ChangeSet]) -> Result<Vec<Applied>, PortError> {
        named("apply", apply::apply(&self.connection, changes)).await
    }

    async fn memories(&self, ids: &[MemoryId], as_of: AsOf, visibility: &Visibility) -> Result<Vec<Memory>, PortError> {
        named("memories", read::memories(&self.connection, ids, as_of, visibility)).await
    }

    async fn by_external_ids(
        &self,
        external_ids: &[String],
        visibility: &Visibility,
    ) -> Result<BTreeMap<String, MemoryId>, PortError> {
        named("by_external_ids", lookup::by_external_ids(&self.connection, external_ids, visibility)).await
    }

    async fn by_content_hashes(
        &self,
        hashes: &[String],
        scope: &Scope,
    ) -> Result<BTreeMap<String, MemoryId>, PortError> {
        named("by_content_hashes", lookup::by_content_hashes(&self.connection, hashes, scope)).await
    }

    async fn last_members(
        &self,
        kind: EdgeKind,
        names: &[String],
        scope: &Scope,
    ) -> Result<BTreeMap<String, MemoryId>, PortError> {
        named("last_members", lookup::last_members(&self.connection, kind, names, scope)).await
    }

    async fn recorded(&self, principal: &str, key: &str) -> Result<Option<Recorded>, PortError> {
        named("recorded", lookup::recorded(&self.connection, principal, key)).await
    }

    async fn keyword(&self, query: &KeywordQuery, visibility: &Visibility) -> Result<Vec<Scored>, PortError> {
        named("keyword", keyword::keyword(&self.connection, query, visibility)).await
    }

    async fn recent(&self, filter: &Filter, limit: usize, visibility: &Visibility) -> Result<Vec<Scored>, PortError> {
        named("recent", read::recent(&self.connection, filter, limit, visibility)).await
    }

    async fn neighbourhood(
        &self,
        query: &NeighbourhoodQuery,
        visibility: &Visibility,
    ) -> Result<Neighbourhood, PortError> {
        named("neighbourhood", neighbourhood::neighbourhood(&self.connection, query, visibility)).await
    }

    async fn edges_of(&self, id: Uuid, limit: usize, visibility: &Visibility) -> Result<Vec<Edge>, PortError> {
        named("edges_of", read::edges_of(&self.connection, id, limit, visibility)).await
    }

    async fn concepts(
        &self,
        keys: &[ConceptKey],
        known: Option<Timestamp>,
        visibility: &Visibility,
    ) -> Result<Vec<ConceptUse>, PortError> {
        named("concepts", read::concepts(&self.connection, keys, known, visibility)).await
    }

    async fn memories_of_concept(
        &self,
        key: &ConceptKey,
        limit: usize,
        known: Option<Timestamp>,
        visibility: &Visibility,
    ) -> Result<Vec<(MemoryId, EdgeKind)>, PortError> {
        named("memories_of_concept", read::memories_of_concept(&self.connection, key, limit, known, visibility)).await
    }

    async fn replaced_texts(
        &self,
        filter: &Filter,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError> {
        named("replaced_texts", read::replaced_texts(&self.connection, filter, limit, visibility)).await
    }

    async fn members(
        &self,
        kind: EdgeKind,
        name: &str,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<MemoryId>, PortError> {
        named("members", read::members(&self.connection, kind, name, limit, visibility)).await
    }

    async fn events(&self, ids: &[EventId], visibility: &Visibility) -> Result<Vec<Event>, PortError> {
        named("events", read::events(&self.connection, ids, visibility)).await
    }

    async fn events_of_session(
        &self,
        session: &str,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Event>, PortError> {
        named("events_of_session", read::events_of_session(&self.connection, session, limit, visibility)).await
    }

    async fn vote_of(&self, id: MemoryId, principal: &str, visibility: &Visibility) -> Result<Option<bool>, PortError> {
        named("vote_of", read::vote_of(&self.connection, id, principal, visibility)).await
    }

    async fn page(
        &self,
        after: Option<MemoryId>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError> {
        named("page", read::page(&self.connection, after, limit, visibility)).await
    }

    async fn total_memories(&self, visibility: &Visibility) -> Result<usize, PortError> {
        named("total_memories", read::total_memories(&self.connection, visibility)).await
    }

    async fn counts(&self, visibility: &Visibility) -> Result<StoreCounts, PortError> {
        named("counts", read::counts(&self.connection, visibility)).await
    }

    async fn outbox(&self, after: u64, limit: usize) -> Result<Vec<OutboxRow>, PortError> {
        named("outbox", apply::outbox(&self.connection, after, limit)).await
    }

    async fn outbox_done(&self, seq: u64) -> Result<(), PortError> {
        named("outbox_done", apply::outbox_done(&self.connection, seq)).await
    }

    async fn meta(&self, key: &str) -> Result<Option<String>, PortError> {
        named("meta", lookup::meta(&self.connection, key)).await
    }

    async fn set_meta(&self, key: &str, value: &str) -> Result<(), PortError> {
        named("set_meta", apply::set_meta(&self.connection, key, value)).await
    }

    async fn swap_meta(&self, key: &str, expected: Option<&str>, value: &str) -> Result<bool, PortError> {
        named("swap_meta", apply::swap_meta(&self.connection, key, expected, value)).await
    }

    async fn half_links(&self, repair: bool) -> Result<usize, PortError> {
        named("half_links", apply::half_links(&self.connection, repair)).await
    }

    async fn ping(&self) -> Result<(), PortError> {
        named("ping", lookup::ping(&self.connection)).await
    }

    async fn revisions(
        &self,
        id: MemoryId,
        visibility: &Visibility,
    ) -> Result<Vec<(Timestamp, Option<Timestamp>, Memory)>, PortError> {
        named("revisions", read::revisions(&self.connection, id, visibility)).await
    }
}
