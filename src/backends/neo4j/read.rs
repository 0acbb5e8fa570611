//! Reading: memories and their history, searches, concepts, edges, events, counts.

use jiff::Timestamp;
use uuid::Uuid;

use super::{connection::Connection, error::Neo4jError};
use crate::{
    domain::{AsOf, ConceptKey, Edge, EdgeKind, Event, EventId, Filter, Memory, MemoryId, Visibility},
    ports::{ConceptUse, KeywordQuery, Scored, StoreCounts},
};

pub(super) async fn memories(
    _connection: &Connection,
    _ids: &[MemoryId],
    _as_of: AsOf,
    _visibility: &Visibility,
) -> Result<Vec<Memory>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn keyword(
    _connection: &Connection,
    _query: &KeywordQuery,
    _visibility: &Visibility,
) -> Result<Vec<Scored>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn recent(
    _connection: &Connection,
    _filter: &Filter,
    _limit: usize,
    _visibility: &Visibility,
) -> Result<Vec<Scored>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn edges_of(
    _connection: &Connection,
    _id: Uuid,
    _limit: usize,
    _visibility: &Visibility,
) -> Result<Vec<Edge>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn concepts(
    _connection: &Connection,
    _keys: &[ConceptKey],
    _known: Option<Timestamp>,
    _visibility: &Visibility,
) -> Result<Vec<ConceptUse>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn memories_of_concept(
    _connection: &Connection,
    _key: &ConceptKey,
    _limit: usize,
    _known: Option<Timestamp>,
    _visibility: &Visibility,
) -> Result<Vec<(MemoryId, EdgeKind)>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn replaced_texts(
    _connection: &Connection,
    _filter: &Filter,
    _limit: usize,
    _visibility: &Visibility,
) -> Result<Vec<Memory>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn members(
    _connection: &Connection,
    _kind: EdgeKind,
    _name: &str,
    _limit: usize,
    _visibility: &Visibility,
) -> Result<Vec<MemoryId>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn events(
    _connection: &Connection,
    _ids: &[EventId],
    _visibility: &Visibility,
) -> Result<Vec<Event>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn events_of_session(
    _connection: &Connection,
    _session: &str,
    _limit: usize,
    _visibility: &Visibility,
) -> Result<Vec<Event>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn vote_of(
    _connection: &Connection,
    _id: MemoryId,
    _principal: &str,
    _visibility: &Visibility,
) -> Result<Option<bool>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn page(
    _connection: &Connection,
    _after: Option<MemoryId>,
    _limit: usize,
    _visibility: &Visibility,
) -> Result<Vec<Memory>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn total_memories(
    _connection: &Connection,
    _visibility: &Visibility,
) -> Result<usize, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn counts(
    _connection: &Connection,
    _visibility: &Visibility,
) -> Result<StoreCounts, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}

pub(super) async fn revisions(
    _connection: &Connection,
    _id: MemoryId,
    _visibility: &Visibility,
) -> Result<Vec<(Timestamp, Option<Timestamp>, Memory)>, Neo4jError> {
    Err(Neo4jError::Unwritable("not built yet"))
}
