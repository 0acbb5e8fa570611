//! What is stored, page by page, for people who look through it: lists, groups, concepts, the audit log, the change log.
//!
//! Pages are by key, never by offset: `after` is the last record of the page before, and a record that comes or goes in
//! between moves nothing else. Every count is of what the reader sees.

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::{ConceptUse, PortError};
use crate::domain::{
    ChangeId, ConceptId, ConceptKey, Edge, EdgeKind, Effect, Event, EventId, Kind, Memory, MemoryId, MemoryType,
    Status, Visibility,
};

/// Conditions on listed memories; empty fields ask nothing. Values within a field are alternatives, fields are all required.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// Layers.
    pub kinds: Vec<Kind>,
    /// Types.
    pub types: Vec<MemoryType>,
    /// Tags.
    pub tags: Vec<String>,
    /// Session.
    pub session_id: Option<String>,
    /// Task.
    pub task_id: Option<String>,
    /// Statuses; empty is any.
    pub statuses: Vec<Status>,
    /// `occurred_at` from then (inclusive).
    pub since: Option<Timestamp>,
    /// `occurred_at` until then (exclusive).
    pub until: Option<Timestamp>,
}

/// A session or a task, by the name clients give it. The same name in several scopes is one group to a reader of them all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Group {
    /// A session.
    Session(String),
    /// A task.
    Task(String),
}

/// What a reader sees of a session or task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSummary {
    /// Memories in it.
    pub memories: usize,
    /// Events in it.
    pub events: usize,
    /// The earliest moment any of them tells of.
    pub first: Timestamp,
    /// The latest.
    pub last: Timestamp,
}

/// A memory and how it names a concept.
#[derive(Debug, Clone, PartialEq)]
pub struct ConceptMember {
    /// The memory.
    pub memory: Memory,
    /// `About` or `Mentions`; `About` where it does both.
    pub kind: EdgeKind,
}

/// A row of the audit log: who changed what, when and why, never what it contained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Position; grows, never reused.
    pub seq: u64,
    /// The change.
    pub change: ChangeId,
    /// When it was decided.
    pub at: Timestamp,
    /// The principal it was decided for.
    pub actor: String,
    /// The use case.
    pub use_case: String,
    /// Why, if whoever asked for it said so and the reader sees a memory it touched.
    pub reason: Option<String>,
    /// The visible memories it touched, by id, at most [`AuditRow::MEMORIES`].
    pub memories: Vec<(MemoryId, Effect)>,
    /// How many visible memories it touched.
    pub total: usize,
}

impl AuditRow {
    /// Memories named by one row; a large import touches more.
    pub const MEMORIES: usize = 100;
}

/// A row of the change log: what became of one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryChange {
    /// Position of the change; several rows may share it.
    pub seq: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// The memory; gone if it was forgotten.
    pub memory: MemoryId,
    /// What became of it.
    pub effect: Effect,
}

/// Lists what is stored.
#[async_trait]
pub trait Browse: Send + Sync {
    /// Visible memories that meet the conditions, latest `occurred_at` first, ties by larger id.
    async fn list(
        &self,
        listing: &Listing,
        after: Option<(Timestamp, MemoryId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError>;
    /// How many visible memories meet the conditions.
    async fn list_total(&self, listing: &Listing, visibility: &Visibility) -> Result<usize, PortError>;

    /// What a session or task is to the reader; `None` if it sees nothing in it.
    async fn group(&self, group: &Group, visibility: &Visibility) -> Result<Option<GroupSummary>, PortError>;
    /// Visible memories of a session or task in the order of recording, whatever their status.
    async fn members(
        &self,
        group: &Group,
        after: Option<MemoryId>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError>;
    /// Visible events, of one session or task or of all, earliest first, ties by id.
    async fn events(
        &self,
        group: Option<&Group>,
        after: Option<(Timestamp, EventId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Event>, PortError>;

    /// Concepts that a visible memory names and whose key contains `part`, by key.
    async fn find_concepts(
        &self,
        part: &str,
        after: Option<&ConceptKey>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<ConceptUse>, PortError>;
    /// Those of `ids` that are concepts a visible memory names, in any order.
    async fn concepts_by_id(&self, ids: &[ConceptId], visibility: &Visibility) -> Result<Vec<ConceptUse>, PortError>;
    /// Visible memories that name a concept: first those about it, then those that mention it, each newest id first.
    async fn concept_members(
        &self,
        concept: ConceptId,
        after: Option<(EdgeKind, MemoryId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<ConceptMember>, PortError>;
    /// The visible edges of each node, at most `limit` each, in the order asked. One read for all.
    async fn edges_of_all(
        &self,
        nodes: &[Uuid],
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Vec<Edge>>, PortError>;

    /// Rows of the audit log below `before`, latest first, without [`crate::domain::ChangeSet::COUNT_USES`]. Rows are the whole store's; the memories they name, visible ones.
    async fn audit(
        &self,
        before: Option<u64>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<AuditRow>, PortError>;
    /// Rows of the change log above `after` about memories that were visible then, in order. A change is never cut: of the
    /// last one all rows come, even beyond `limit`.
    async fn changes(&self, after: u64, limit: usize, visibility: &Visibility) -> Result<Vec<MemoryChange>, PortError>;
    /// Position of the last change, 0 if there was none.
    async fn last_change(&self) -> Result<u64, PortError>;
}
