//! The graph of memories: the truth, and the keyword arm that answers without the vector index.

use std::collections::{BTreeMap, HashSet};

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::PortError;
use crate::domain::{
    AsOf, ChangeId, ChangeSet, Concept, ConceptKey, Direction, Edge, EdgeKind, Event, EventId, Filter, Idempotency,
    IndexOp, Memory, MemoryId, Scope, Visibility,
};

/// What applying a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// It was written now.
    Now,
    /// It had been applied before; nothing changed.
    Before,
}

/// A memory and how well it answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// The memory.
    pub id: MemoryId,
    /// Larger is better; the scale is the backend's own.
    pub score: f32,
}

/// A keyword question.
#[derive(Debug, Clone, PartialEq)]
pub struct KeywordQuery {
    /// Our tokens, any of which will do; several joined by spaces are one term, and must stand in a row. Whatever they contain
    /// is literal text.
    pub terms: Vec<String>,
    /// Conditions, applied inside the search.
    pub filter: Filter,
    /// At most this many answers.
    pub limit: usize,
}

impl KeywordQuery {
    /// Distinct terms that are looked up; those beyond come from pasted text and cost more than they find. A store may have
    /// a bound of its own above it (Lucene takes 1,024 clauses, scopes included).
    const MAX_TERMS: usize = 256;

    /// The distinct terms to look up. Control characters are borders between tokens, and no memory has a term of spaces.
    pub fn distinct_terms(&self) -> Vec<String> {
        let mut taken = HashSet::new();
        let spaced = |term: &String| term.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
        let terms = self.terms.iter().map(spaced).filter(|term| !term.trim().is_empty());
        terms.filter(|term| taken.insert(term.clone())).take(Self::MAX_TERMS).collect()
    }
}

/// Which part of the graph to fetch.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighbourhoodQuery {
    /// Where to start; unknown and invisible ones are left out.
    pub seeds: Vec<MemoryId>,
    /// Hops between memories, 1..=4. Going over a shared concept is one hop.
    pub depth: u32,
    /// At most this many memories, the seeds included; nearer hops first.
    pub max_nodes: usize,
    /// Kinds of edges to follow; `About` and `Mentions` stand for going over a shared concept, and with `Broader` and `Related`
    /// over two that are joined by up to two of these. With `SameSession`, the three turns on either side of a seed are one hop
    /// away.
    pub edges: Vec<EdgeKind>,
    /// Way along directed edges.
    pub direction: Direction,
    /// A concept named by more visible memories than this is crossed only to the memories that are about it.
    pub max_concept_uses: usize,
    /// Memories must match this.
    pub filter: Filter,
}

/// A memory of a neighbourhood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRef {
    /// The memory.
    pub id: MemoryId,
    /// Hops from the nearest seed.
    pub distance: u32,
    /// Session it belongs to: scope key and client's name.
    pub session: Option<(String, String)>,
    /// Its place in that session, from 1.
    pub session_position: Option<u64>,
}

/// A concept and how many visible memories name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConceptUse {
    /// The concept.
    pub concept: Concept,
    /// Visible memories that are about it or mention it.
    pub uses: usize,
    /// Those of them that are about it.
    pub about: usize,
}

/// A bounded, visible part of the graph.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Neighbourhood {
    /// Memories, nearest first.
    pub nodes: Vec<NodeRef>,
    /// Edges between them, from them to `concepts`, and between those.
    pub edges: Vec<Edge>,
    /// The concepts crossed or named by the seeds, and those between them that no memory need name.
    pub concepts: Vec<ConceptUse>,
    /// Visible memories in the whole store, for rarity.
    pub total_memories: usize,
    /// Whether `max_nodes` cut it.
    pub truncated: bool,
}

/// A row of the outbox: what the vector index has still to make durable.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboxRow {
    /// Position; grows, never reused.
    pub seq: u64,
    /// What to do.
    pub op: IndexOp,
}

/// What was answered under an idempotency key.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The change that was applied.
    pub change: ChangeId,
    /// Key, request and answer.
    pub idempotency: Idempotency,
}

/// Numbers of records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Visible memories of any status.
    pub memories: usize,
    /// Visible edges, those to concepts included.
    pub edges: usize,
    /// Concepts that a visible memory names.
    pub concepts: usize,
    /// Outbox rows (of the whole store).
    pub outbox: usize,
}

/// Memories, edges, concepts, events; changes and their outbox.
#[async_trait]
pub trait GraphStore: Send + Sync {
    /// Applies the change sets in one transaction: all or nothing, durable when it returns. A set whose id was applied
    /// before is skipped. `Conflict` if an expected revision is not the stored one, if another change used the
    /// idempotency key, if a memory with the same external id or (while active) content hash exists in that scope, or if a
    /// `SameSession` or `SameTask` edge passes over a member that came between.
    /// Writes outbox rows for [`ChangeSet::index_ops`] and an audit row per set.
    async fn apply(&self, changes: &[ChangeSet]) -> Result<Vec<Applied>, PortError>;

    /// Those of `ids` that are visible, in the order asked, whatever their status. With `as_of.known`, the state each was
    /// in then, if it was there; uses counted since that state began are not part of it.
    async fn memories(&self, ids: &[MemoryId], as_of: AsOf, visibility: &Visibility) -> Result<Vec<Memory>, PortError>;
    /// The ids of visible memories with these external ids.
    async fn by_external_ids(
        &self,
        external_ids: &[String],
        visibility: &Visibility,
    ) -> Result<BTreeMap<String, MemoryId>, PortError>;
    /// The active memories of exactly this scope with these content hashes.
    async fn by_content_hashes(
        &self,
        hashes: &[String],
        scope: &Scope,
    ) -> Result<BTreeMap<String, MemoryId>, PortError>;
    /// The last members of these sessions or tasks (`SameSession` or `SameTask`) of exactly this scope, by recording order.
    async fn last_members(
        &self,
        kind: EdgeKind,
        names: &[String],
        scope: &Scope,
    ) -> Result<BTreeMap<String, MemoryId>, PortError>;
    /// What was answered to this principal under this key.
    async fn recorded(&self, principal: &str, key: &str) -> Result<Option<Recorded>, PortError>;

    /// Memories whose terms match, best first by BM25 (k1 1.2, b 0.75). Ties by id. No terms, no answers.
    async fn keyword(&self, query: &KeywordQuery, visibility: &Visibility) -> Result<Vec<Scored>, PortError>;
    /// The latest by `occurred_at`, newest first; the score is that moment in seconds.
    async fn recent(&self, filter: &Filter, limit: usize, visibility: &Visibility) -> Result<Vec<Scored>, PortError>;
    /// The part of the graph around the seeds, in one call: at each hop only visible memories that match the filter,
    /// only visible edges.
    async fn neighbourhood(
        &self,
        query: &NeighbourhoodQuery,
        visibility: &Visibility,
    ) -> Result<Neighbourhood, PortError>;
    /// The visible edges that leave or reach `id`, at most `limit`.
    async fn edges_of(&self, id: Uuid, limit: usize, visibility: &Visibility) -> Result<Vec<Edge>, PortError>;
    /// Those of `keys` that are concepts a visible memory names, with their uses; with `known`, as they were named then.
    async fn concepts(
        &self,
        keys: &[ConceptKey],
        known: Option<Timestamp>,
        visibility: &Visibility,
    ) -> Result<Vec<ConceptUse>, PortError>;
    /// Visible memories that are about or mention each concept key, at most `limit` each, `About` first; with `known`,
    /// those that did then.
    async fn memories_of_concept(
        &self,
        key: &ConceptKey,
        limit: usize,
        known: Option<Timestamp>,
        visibility: &Visibility,
    ) -> Result<Vec<(MemoryId, EdgeKind)>, PortError>;
    /// The states at `filter.as_of.known` that match the filter and whose text has been replaced since, the latest
    /// replaced first. The vector index holds only present texts, so a look back must compare these by itself. Without
    /// `known` there are none.
    async fn replaced_texts(
        &self,
        filter: &Filter,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError>;
    /// The last `limit` visible members of a session or task (`SameSession` or `SameTask`), of any status and scope, in
    /// the order they were recorded.
    async fn members(
        &self,
        kind: EdgeKind,
        name: &str,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<MemoryId>, PortError>;
    /// Those of `ids` that are visible raw events, in the order asked.
    async fn events(&self, ids: &[EventId], visibility: &Visibility) -> Result<Vec<Event>, PortError>;
    /// The last `limit` visible raw events of a session, in the order they happened.
    async fn events_of_session(
        &self,
        session: &str,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Event>, PortError>;
    /// The vote of a principal on a memory it sees: whether it found it useful.
    async fn vote_of(&self, id: MemoryId, principal: &str, visibility: &Visibility) -> Result<Option<bool>, PortError>;

    /// Up to `limit` visible memories above `after` by id, ascending.
    async fn page(
        &self,
        after: Option<MemoryId>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError>;
    /// Number of visible memories of any status; cheap enough for each read.
    async fn total_memories(&self, visibility: &Visibility) -> Result<usize, PortError>;
    /// Numbers of visible records.
    async fn counts(&self, visibility: &Visibility) -> Result<StoreCounts, PortError>;

    /// Outbox rows above `after`, in order.
    async fn outbox(&self, after: u64, limit: usize) -> Result<Vec<OutboxRow>, PortError>;
    /// Removes outbox rows up to `seq`, which the index has made durable.
    async fn outbox_done(&self, seq: u64) -> Result<(), PortError>;

    /// A setting kept with the data (for example the models it was embedded with).
    async fn meta(&self, key: &str) -> Result<Option<String>, PortError>;
    /// Sets it.
    async fn set_meta(&self, key: &str, value: &str) -> Result<(), PortError>;
    /// Sets it if it still says `expected`, `None` for a setting that is not there; whether it did. Of several that try at once
    /// one does.
    async fn swap_meta(&self, key: &str, expected: Option<&str>, value: &str) -> Result<bool, PortError>;
    /// Half links: edges whose end is gone (always 0 in a sound store). Returns how many; removes them with `repair`.
    async fn half_links(&self, repair: bool) -> Result<usize, PortError>;
    /// The present moment's last change, for liveness checks.
    async fn ping(&self) -> Result<(), PortError>;
    /// Each state a memory was in with the interval it held, oldest first: replaced texts, retirements, votes, and the
    /// present one, which is open.
    async fn revisions(
        &self,
        id: MemoryId,
        visibility: &Visibility,
    ) -> Result<Vec<(Timestamp, Option<Timestamp>, Memory)>, PortError>;
}
