//! A graph store that can be away, lose an answer or refuse a text, over one that cannot.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use jiff::Timestamp;
use recollect::{
    domain::{
        AsOf, ChangeSet, ConceptKey, Edge, EdgeKind, Event, EventId, Filter, Memory, MemoryId, Op, Scope, Visibility,
    },
    ports::{
        Applied, ConceptUse, GraphStore, KeywordQuery, Neighbourhood, NeighbourhoodQuery, OutboxRow, PortError,
        PortErrorKind, Recorded, Scored, StoreCounts,
    },
};
use uuid::Uuid;

/// See the module.
pub struct Away {
    graph: Arc<dyn GraphStore>,
    /// Every call is refused as unavailable.
    pub away: AtomicBool,
    /// Changes are written and their answers lost.
    pub loses_answers: AtomicBool,
    /// Changes that hold this text are refused as a fault.
    pub refuses: Mutex<Option<&'static str>>,
    /// Calls of `apply` so far.
    pub applies: AtomicUsize,
}

impl Away {
    pub fn new(graph: Arc<dyn GraphStore>) -> Self {
        let (away, loses_answers) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { graph, away, loses_answers, refuses: Mutex::default(), applies: AtomicUsize::new(0) }
    }

    pub fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }

    fn here(&self, operation: &'static str) -> Result<(), PortError> {
        if self.away.load(Ordering::SeqCst) {
            return Err(PortError::new(PortErrorKind::Unavailable, "test", operation, "away"));
        }
        Ok(())
    }
}

fn says(change: &ChangeSet, text: &str) -> bool {
    change.ops.iter().any(|op| matches!(op, Op::PutMemory { memory, .. } if memory.content.contains(text)))
}

#[async_trait]
impl GraphStore for Away {
    async fn apply(&self, changes: &[ChangeSet]) -> Result<Vec<Applied>, PortError> {
        self.applies.fetch_add(1, Ordering::SeqCst);
        self.here("apply")?;
        let refused = *self.refuses.lock().unwrap();
        if refused.is_some_and(|text| changes.iter().any(|change| says(change, text))) {
            return Err(PortError::new(PortErrorKind::Internal, "test", "apply", "told to refuse"));
        }
        let applied = self.graph.apply(changes).await?;
        if self.loses_answers.load(Ordering::SeqCst) {
            return Err(PortError::new(PortErrorKind::Timeout, "test", "apply", "the answer was lost"));
        }
        Ok(applied)
    }
    async fn memories(&self, ids: &[MemoryId], as_of: AsOf, visibility: &Visibility) -> Result<Vec<Memory>, PortError> {
        self.here("memories")?;
        self.graph.memories(ids, as_of, visibility).await
    }
    async fn by_external_ids(
        &self,
        external_ids: &[String],
        visibility: &Visibility,
    ) -> Result<BTreeMap<String, MemoryId>, PortError> {
        self.here("by_external_ids")?;
        self.graph.by_external_ids(external_ids, visibility).await
    }
    async fn by_content_hashes(
        &self,
        hashes: &[String],
        scope: &Scope,
    ) -> Result<BTreeMap<String, MemoryId>, PortError> {
        self.here("by_content_hashes")?;
        self.graph.by_content_hashes(hashes, scope).await
    }
    async fn last_members(
        &self,
        kind: EdgeKind,
        names: &[String],
        scope: &Scope,
    ) -> Result<BTreeMap<String, MemoryId>, PortError> {
        self.here("last_members")?;
        self.graph.last_members(kind, names, scope).await
    }
    async fn recorded(&self, principal: &str, key: &str) -> Result<Option<Recorded>, PortError> {
        self.here("recorded")?;
        self.graph.recorded(principal, key).await
    }
    async fn keyword(&self, query: &KeywordQuery, visibility: &Visibility) -> Result<Vec<Scored>, PortError> {
        self.here("keyword")?;
        self.graph.keyword(query, visibility).await
    }
    async fn recent(&self, filter: &Filter, limit: usize, visibility: &Visibility) -> Result<Vec<Scored>, PortError> {
        self.here("recent")?;
        self.graph.recent(filter, limit, visibility).await
    }
    async fn neighbourhood(
        &self,
        query: &NeighbourhoodQuery,
        visibility: &Visibility,
    ) -> Result<Neighbourhood, PortError> {
        self.here("neighbourhood")?;
        self.graph.neighbourhood(query, visibility).await
    }
    async fn edges_of(&self, id: Uuid, limit: usize, visibility: &Visibility) -> Result<Vec<Edge>, PortError> {
        self.here("edges_of")?;
        self.graph.edges_of(id, limit, visibility).await
    }
    async fn concepts(
        &self,
        keys: &[ConceptKey],
        known: Option<Timestamp>,
        visibility: &Visibility,
    ) -> Result<Vec<ConceptUse>, PortError> {
        self.here("concepts")?;
        self.graph.concepts(keys, known, visibility).await
    }
    async fn memories_of_concept(
        &self,
        key: &ConceptKey,
        limit: usize,
        known: Option<Timestamp>,
        visibility: &Visibility,
    ) -> Result<Vec<(MemoryId, EdgeKind)>, PortError> {
        self.here("memories_of_concept")?;
        self.graph.memories_of_concept(key, limit, known, visibility).await
    }
    async fn replaced_texts(
        &self,
        filter: &Filter,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError> {
        self.here("replaced_texts")?;
        self.graph.replaced_texts(filter, limit, visibility).await
    }
    async fn members(
        &self,
        kind: EdgeKind,
        name: &str,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<MemoryId>, PortError> {
        self.here("members")?;
        self.graph.members(kind, name, limit, visibility).await
    }
    async fn events(&self, ids: &[EventId], visibility: &Visibility) -> Result<Vec<Event>, PortError> {
        self.here("events")?;
        self.graph.events(ids, visibility).await
    }
    async fn events_of_session(
        &self,
        session: &str,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Event>, PortError> {
        self.here("events_of_session")?;
        self.graph.events_of_session(session, limit, visibility).await
    }
    async fn vote_of(&self, id: MemoryId, principal: &str, visibility: &Visibility) -> Result<Option<bool>, PortError> {
        self.here("vote_of")?;
        self.graph.vote_of(id, principal, visibility).await
    }
    async fn page(
        &self,
        after: Option<MemoryId>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError> {
        self.here("page")?;
        self.graph.page(after, limit, visibility).await
    }
    async fn total_memories(&self, visibility: &Visibility) -> Result<usize, PortError> {
        self.here("total_memories")?;
        self.graph.total_memories(visibility).await
    }
    async fn counts(&self, visibility: &Visibility) -> Result<StoreCounts, PortError> {
        self.here("counts")?;
        self.graph.counts(visibility).await
    }
    async fn outbox(&self, after: u64, limit: usize) -> Result<Vec<OutboxRow>, PortError> {
        self.here("outbox")?;
        self.graph.outbox(after, limit).await
    }
    async fn outbox_done(&self, seq: u64) -> Result<(), PortError> {
        self.here("outbox_done")?;
        self.graph.outbox_done(seq).await
    }
    async fn meta(&self, key: &str) -> Result<Option<String>, PortError> {
        self.here("meta")?;
        self.graph.meta(key).await
    }
    async fn set_meta(&self, key: &str, value: &str) -> Result<(), PortError> {
        self.here("set_meta")?;
        self.graph.set_meta(key, value).await
    }
    async fn swap_meta(&self, key: &str, expected: Option<&str>, value: &str) -> Result<bool, PortError> {
        self.here("swap_meta")?;
        self.graph.swap_meta(key, expected, value).await
    }
    async fn half_links(&self, repair: bool) -> Result<usize, PortError> {
        self.here("half_links")?;
        self.graph.half_links(repair).await
    }
    async fn ping(&self) -> Result<(), PortError> {
        self.here("ping")?;
        self.graph.ping().await
    }
    async fn revisions(
        &self,
        id: MemoryId,
        visibility: &Visibility,
    ) -> Result<Vec<(Timestamp, Option<Timestamp>, Memory)>, PortError> {
        self.here("revisions")?;
        self.graph.revisions(id, visibility).await
    }
}
