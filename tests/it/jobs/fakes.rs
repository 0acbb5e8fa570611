//! A graph store in memory, as far as the jobs look at it, and an index that fails and counts.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use jiff::Timestamp;
use recollect::{
    backends::exact::ExactIndex,
    domain::{
        AsOf, ChangeSet, ConceptKey, Edge, EdgeKind, Event, EventId, Filter, IndexOp, Kind, Language, Memory, MemoryId,
        MemoryType, NamedVector, Payload, Point, Scope, Source, Status, Visibility,
    },
    jobs::Revector,
    ports::{
        Applied, ConceptUse, GraphStore, KeywordQuery, Neighbourhood, NeighbourhoodQuery, OutboxRow, PortError,
        PortErrorKind, Rebuild, Recorded, Scored, SpaceSpec, StoreCounts, VectorIndex, VectorQuery,
    },
};
use uuid::Uuid;

/// Memories, outbox and settings; every other method answers with an error.
#[derive(Default)]
pub struct FakeGraph {
    pub memories: Mutex<BTreeMap<MemoryId, Memory>>,
    pub outbox: Mutex<BTreeMap<u64, IndexOp>>,
    pub meta: Mutex<HashMap<String, String>>,
    pub half_links: AtomicUsize,
    last: AtomicUsize,
}

impl FakeGraph {
    /// Appends outbox rows.
    pub fn write(&self, ops: impl IntoIterator<Item = IndexOp>) {
        let mut outbox = self.outbox.lock().unwrap();
        for op in ops {
            outbox.insert(self.last.fetch_add(1, Ordering::SeqCst) as u64 + 1, op);
        }
    }

    /// Stores a memory and its outbox row.
    pub fn store(&self, memory: Memory) {
        self.write([IndexOp::Upsert(point_of(&memory))]);
        self.memories.lock().unwrap().insert(memory.id, memory);
    }

    /// Rows that are not durable in the index.
    pub fn pending(&self) -> usize {
        self.outbox.lock().unwrap().len()
    }
}

#[async_trait]
impl GraphStore for FakeGraph {
    async fn memories(&self, ids: &[MemoryId], _: AsOf, _: &Visibility) -> Result<Vec<Memory>, PortError> {
        let memories = self.memories.lock().unwrap();
        Ok(ids.iter().filter_map(|id| memories.get(id).cloned()).collect())
    }

    async fn page(&self, after: Option<MemoryId>, limit: usize, _: &Visibility) -> Result<Vec<Memory>, PortError> {
        let memories = self.memories.lock().unwrap();
        Ok(memories
            .values()
            .filter(|memory| after.is_none_or(|after| memory.id > after))
            .take(limit)
            .cloned()
            .collect())
    }

    async fn total_memories(&self, _: &Visibility) -> Result<usize, PortError> {
        Ok(self.memories.lock().unwrap().len())
    }

    async fn counts(&self, _: &Visibility) -> Result<StoreCounts, PortError> {
        let memories = self.memories.lock().unwrap().len();
        Ok(StoreCounts { memories, outbox: self.pending(), ..StoreCounts::default() })
    }

    async fn outbox(&self, after: u64, limit: usize) -> Result<Vec<OutboxRow>, PortError> {
        let outbox = self.outbox.lock().unwrap();
        Ok(outbox.range(after + 1..).take(limit).map(|(seq, op)| OutboxRow { seq: *seq, op: op.clone() }).collect())
    }

    async fn outbox_done(&self, seq: u64) -> Result<(), PortError> {
        self.outbox.lock().unwrap().retain(|row, _| *row > seq);
        Ok(())
    }

    async fn meta(&self, key: &str) -> Result<Option<String>, PortError> {
        Ok(self.meta.lock().unwrap().get(key).cloned())
    }

    async fn swap_meta(&self, key: &str, expected: Option<&str>, value: &str) -> Result<bool, PortError> {
        let mut meta = self.meta.lock().unwrap();
        let said = meta.get(key).map(String::as_str) == expected;
        if said {
            meta.insert(key.to_owned(), value.to_owned());
        }
        Ok(said)
    }

    async fn set_meta(&self, key: &str, value: &str) -> Result<(), PortError> {
        self.meta.lock().unwrap().insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    async fn half_links(&self, repair: bool) -> Result<usize, PortError> {
        Ok(if repair { self.half_links.swap(0, Ordering::SeqCst) } else { self.half_links.load(Ordering::SeqCst) })
    }

    async fn apply(&self, _: &[ChangeSet]) -> Result<Vec<Applied>, PortError> {
        denied("apply")
    }
    async fn by_external_ids(&self, _: &[String], _: &Visibility) -> Result<BTreeMap<String, MemoryId>, PortError> {
        denied("by_external_ids")
    }
    async fn by_content_hashes(&self, _: &[String], _: &Scope) -> Result<BTreeMap<String, MemoryId>, PortError> {
        denied("by_content_hashes")
    }
    async fn last_members(
        &self,
        _: EdgeKind,
        _: &[String],
        _: &Scope,
    ) -> Result<BTreeMap<String, MemoryId>, PortError> {
        denied("last_members")
    }
    async fn recorded(&self, _: &str, _: &str) -> Result<Option<Recorded>, PortError> {
        denied("recorded")
    }
    async fn keyword(&self, _: &KeywordQuery, _: &Visibility) -> Result<Vec<Scored>, PortError> {
        denied("keyword")
    }
    async fn recent(&self, _: &Filter, _: usize, _: &Visibility) -> Result<Vec<Scored>, PortError> {
        denied("recent")
    }
    async fn neighbourhood(&self, _: &NeighbourhoodQuery, _: &Visibility) -> Result<Neighbourhood, PortError> {
        denied("neighbourhood")
    }
    async fn edges_of(&self, _: Uuid, _: usize, _: &Visibility) -> Result<Vec<Edge>, PortError> {
        denied("edges_of")
    }
    async fn concepts(
        &self,
        _: &[ConceptKey],
        _: Option<Timestamp>,
        _: &Visibility,
    ) -> Result<Vec<ConceptUse>, PortError> {
        denied("concepts")
    }
    async fn memories_of_concept(
        &self,
        _: &ConceptKey,
        _: usize,
        _: Option<Timestamp>,
        _: &Visibility,
    ) -> Result<Vec<(MemoryId, EdgeKind)>, PortError> {
        denied("memories_of_concept")
    }
    async fn replaced_texts(&self, _: &Filter, _: usize, _: &Visibility) -> Result<Vec<Memory>, PortError> {
        denied("replaced_texts")
    }
    async fn members(&self, _: EdgeKind, _: &str, _: usize, _: &Visibility) -> Result<Vec<MemoryId>, PortError> {
        denied("members")
    }
    async fn events(&self, _: &[EventId], _: &Visibility) -> Result<Vec<Event>, PortError> {
        denied("events")
    }
    async fn events_of_session(&self, _: &str, _: usize, _: &Visibility) -> Result<Vec<Event>, PortError> {
        denied("events_of_session")
    }
    async fn vote_of(&self, _: MemoryId, _: &str, _: &Visibility) -> Result<Option<bool>, PortError> {
        denied("vote_of")
    }
    async fn ping(&self) -> Result<(), PortError> {
        denied("ping")
    }
    async fn revisions(
        &self,
        _: MemoryId,
        _: &Visibility,
    ) -> Result<Vec<(Timestamp, Option<Timestamp>, Memory)>, PortError> {
        denied("revisions")
    }
}

fn denied<T>(operation: &'static str) -> Result<T, PortError> {
    Err(PortError::new(PortErrorKind::Internal, "fake", operation, "not part of this fake"))
}

/// An exact index with a durable copy, that fails as often as it is told to and keeps what was asked of it.
pub struct FakeIndex {
    pub live: ExactIndex,
    /// What each flush made durable, in order.
    pub durable: Arc<Mutex<Vec<IndexOp>>>,
    pub applied: Arc<Mutex<Vec<IndexOp>>>,
    pub applies_to_fail: AtomicUsize,
    pub flushes_to_fail: AtomicUsize,
    pub flushes: AtomicUsize,
    pub optimises: AtomicUsize,
}

impl FakeIndex {
    pub fn new() -> Self {
        Self {
            live: ExactIndex::new(&spaces()),
            durable: Arc::default(),
            applied: Arc::default(),
            applies_to_fail: AtomicUsize::new(0),
            flushes_to_fail: AtomicUsize::new(0),
            flushes: AtomicUsize::new(0),
            optimises: AtomicUsize::new(0),
        }
    }

    /// What the next process finds: the flushed operations and no other.
    pub async fn after_a_crash(&self) -> Self {
        let next = Self::new();
        let durable = self.durable.lock().unwrap().clone();
        next.live.apply(&durable).await.unwrap();
        *next.durable.lock().unwrap() = durable;
        next
    }

    /// Every point, by id.
    pub async fn points(&self) -> Vec<(MemoryId, Payload)> {
        let all = Visibility::system("test");
        let ids = self.live.ids(None, usize::MAX, &all).await.unwrap();
        let payloads = self.live.payloads(&ids, &all).await.unwrap();
        ids.into_iter().map(|id| (id, payloads[&id].clone())).collect()
    }
}

fn fails(counter: &AtomicUsize) -> Result<(), PortError> {
    match counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
        Ok(_) => Err(PortError::new(PortErrorKind::Unavailable, "fake", "write", "told to fail")),
        Err(_) => Ok(()),
    }
}

#[async_trait]
impl VectorIndex for FakeIndex {
    async fn apply(&self, ops: &[IndexOp]) -> Result<(), PortError> {
        fails(&self.applies_to_fail)?;
        self.live.apply(ops).await?;
        self.applied.lock().unwrap().extend_from_slice(ops);
        Ok(())
    }
    async fn search(&self, query: &VectorQuery, visibility: &Visibility) -> Result<Vec<Scored>, PortError> {
        self.live.search(query, visibility).await
    }
    async fn vectors(
        &self,
        space: &str,
        ids: &[MemoryId],
        visibility: &Visibility,
    ) -> Result<HashMap<MemoryId, Vec<f32>>, PortError> {
        self.live.vectors(space, ids, visibility).await
    }
    async fn payloads(
        &self,
        ids: &[MemoryId],
        visibility: &Visibility,
    ) -> Result<HashMap<MemoryId, Payload>, PortError> {
        self.live.payloads(ids, visibility).await
    }
    async fn ids(
        &self,
        after: Option<MemoryId>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<MemoryId>, PortError> {
        self.live.ids(after, limit, visibility).await
    }
    async fn count(&self) -> Result<usize, PortError> {
        self.live.count().await
    }
    async fn flush(&self) -> Result<(), PortError> {
        fails(&self.flushes_to_fail)?;
        self.flushes.fetch_add(1, Ordering::SeqCst);
        self.durable.lock().unwrap().extend(self.applied.lock().unwrap().drain(..));
        Ok(())
    }
    async fn optimize(&self) -> Result<(), PortError> {
        self.optimises.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
    async fn rebuild(&self) -> Result<Arc<dyn Rebuild>, PortError> {
        Ok(Arc::new(FakeBeside {
            live: self.live.rebuild().await?,
            ops: Mutex::default(),
            durable: self.durable.clone(),
            applied: self.applied.clone(),
        }))
    }
    async fn withdraw(&self) {
        self.live.withdraw().await;
    }
}

struct FakeBeside {
    live: Arc<dyn Rebuild>,
    ops: Mutex<Vec<IndexOp>>,
    durable: Arc<Mutex<Vec<IndexOp>>>,
    applied: Arc<Mutex<Vec<IndexOp>>>,
}

#[async_trait]
impl Rebuild for FakeBeside {
    async fn apply(&self, ops: &[IndexOp]) -> Result<(), PortError> {
        self.ops.lock().unwrap().extend_from_slice(ops);
        self.live.apply(ops).await
    }
    async fn optimize(&self) -> Result<(), PortError> {
        Ok(())
    }
    async fn switch(&self) -> Result<(), PortError> {
        self.live.switch().await?;
        *self.durable.lock().unwrap() = self.ops.lock().unwrap().clone();
        self.applied.lock().unwrap().clear();
        Ok(())
    }
}

/// Gives every memory the vector that its point had; counts the memories. What happens while a model is at work is
/// `meanwhile`.
#[derive(Default)]
pub struct FakeRevector {
    pub embedded: AtomicUsize,
    pub meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

#[async_trait]
impl Revector for FakeRevector {
    async fn vectors_of(&self, memories: &[Memory]) -> Result<Vec<Vec<NamedVector>>, PortError> {
        self.embedded.fetch_add(memories.len(), Ordering::SeqCst);
        if let Some(happens) = self.meanwhile.lock().unwrap().take() {
            happens();
        }
        Ok(memories.iter().map(|memory| point_of(memory).vectors).collect())
    }

    async fn note_spaces(&self, _: Vec<(MemoryId, Vec<String>)>) -> Result<(), PortError> {
        Ok(())
    }
}

pub fn spaces() -> Vec<SpaceSpec> {
    vec![SpaceSpec { name: "one".into(), dimension: 2 }, SpaceSpec { name: "two".into(), dimension: 2 }]
}

pub fn id(n: u128) -> MemoryId {
    MemoryId(Uuid::from_u128(n))
}

pub fn point_of(memory: &Memory) -> Point {
    let vector = |space: &String| NamedVector { space: space.clone(), vector: vec![1.0, 0.0] };
    Point { id: memory.id, vectors: memory.spaces.iter().map(vector).collect(), payload: Payload::of(memory) }
}

pub fn memory(n: u128) -> Memory {
    Memory {
        id: id(n),
        external_id: None,
        kind: Kind::Semantic,
        memory_type: MemoryType::Fact,
        content: format!("memory {n}"),
        title: None,
        summary: String::new(),
        context: None,
        tags: Vec::new(),
        speaker: None,
        importance: 0.5,
        confidence: 0.5,
        source: Source::Observed,
        provenance: Vec::new(),
        session_id: None,
        task_id: None,
        user_id: "ann".into(),
        agent_id: None,
        scope: Scope::Global,
        status: Status::Active,
        valid_from: None,
        valid_to: None,
        recorded_at: Timestamp::UNIX_EPOCH,
        retired_at: None,
        occurred_at: Timestamp::UNIX_EPOCH,
        expires_at: None,
        access_count: 0,
        last_accessed: None,
        useful: 0,
        not_useful: 0,
        verification: None,
        revision: 1,
        content_hash: String::new(),
        terms: String::new(),
        language: Language::English,
        spaces: vec!["one".into(), "two".into()],
        event: None,
    }
}
