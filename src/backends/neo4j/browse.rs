//! The `Browse` port: lists, page by page.

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::{Neo4jStore, error::Neo4jError, graph_store::named};
use crate::{
    domain::{ConceptId, ConceptKey, Edge, EdgeKind, Event, EventId, Memory, MemoryId, Visibility},
    ports::{AuditRow, Browse, ConceptMember, ConceptUse, Group, GroupSummary, Listing, MemoryChange, PortError},
};

#[async_trait]
impl Browse for Neo4jStore {
    async fn list(
        &self,
        _listing: &Listing,
        _after: Option<(Timestamp, MemoryId)>,
        _limit: usize,
        _visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError> {
        named("list", async { Err(Neo4jError::Unwritable("not built yet")) }).await
    }

    async fn list_total(
        &self,
        _listing: &Listing,
        _visibility: &Visibility,
    ) -> Result<usize, PortError> {
        named("list_total", async { Err(Neo4jError::Unwritable("not built yet")) }).await
    }

    async fn group(
        &self,
        _group: &Group,
        _visibility: &Visibility,
    ) -> Result<Option<GroupSummary>, PortError> {
        named("group", async { Err(Neo4jError::Unwritable("not built yet")) }).await
    }

    async fn members(
        &self,
        _group: &Group,
        _after: Option<MemoryId>,
        _limit: usize,
        _visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError> {
        named("members", async { Err(Neo4jError::Unwritable("not built yet")) }).await
    }

    async fn events(
        &self,
        _group: Option<&Group>,
        _after: Option<(Timestamp, EventId)>,
        _limit: usize,
        _visibility: &Visibility,
    ) -> Result<Vec<Event>, PortError> {
        named("events", async { Err(Neo4jError::Unwritable("not built yet")) }).await
    }

    async fn find_concepts(
        &self,
        _part: &str,
        _after: Option<&ConceptKey>,
        _limit: usize,
        _visibility: &Visibility,
    ) -> Result<Vec<ConceptUse>, PortError> {
        named("find_concepts", async { Err(Neo4jError::Unwritable("not built yet")) }).await
    }

    async fn concepts_by_id(
        &self,
        _ids: &[ConceptId],
        _visibility: &Visibility,
    ) -> Result<Vec<ConceptUse>, PortError> {
        named("concepts_by_id", async { Err(Neo4jError::Unwritable("not built yet")) }).await
    }

    async fn concept_members(
        &self,
        _concept: ConceptId,
        _after: Option<(EdgeKind, MemoryId)>,
        _limit: usize,
        _visibility: &Visibility,
    ) -> Result<Vec<ConceptMember>, PortError> {
        named("concept_members", async { Err(Neo4jError::Unwritable("not built yet")) }).await
    }

    async fn edges_of_all(
        &self,
        _nodes: &[Uuid],
        _limit: usize,
        _visibility: &Visibility,
    ) -> Result<Vec<Vec<Edge>>, PortError> {
        named("edges_of_all", async { Err(Neo4jError::Unwritable("not built yet")) }).await
    }

    async fn audit(
        &self,
        _before: Option<u64>,
        _limit: usize,
        _visibility: &Visibility,
    ) -> Result<Vec<AuditRow>, PortError> {
        named("audit", async { Err(Neo4jError::Unwritable("not built yet")) }).await
    }

    async fn changes(
        &self,
        _after: u64,
        _limit: usize,
        _visibility: &Visibility,
    ) -> Result<Vec<MemoryChange>, PortError> {
        named("changes", async { Err(Neo4jError::Unwritable("not built yet")) }).await
    }

    async fn last_change(
        &self,
    ) -> Result<u64, PortError> {
        named("last_change", async { Err(Neo4jError::Unwritable("not built yet")) }).await
    }
}
