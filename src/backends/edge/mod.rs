//! The embedded [`VectorIndex`]: the engine of Qdrant inside this process, in a data directory.
//!
//! The engine blocks, so each call runs on tokio's blocking threads; it never learns of callers or of the graph. It does
//! not replay its own log: what was not flushed is gone after a crash, and the outbox brings it again.
//!
//! `mapping` translates, `files` keeps the directory, this file has the locks and the port.

mod error;
mod files;
mod mapping;

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use qdrant_edge::{
    CountRequest, EdgeShard, NamedQuery, Payload as EnginePayload, PayloadOps, PointInsertOperations, PointOperations,
    QueryEnum, Record, ScrollRequest, SearchParams, SearchRequest, SetPayloadOp, UpdateOperation, VectorInternal,
    VectorOperations, WithPayloadInterface, WithVector,
};
use uuid::Uuid;

use self::{
    error::EdgeError,
    files::{Place, guarded},
};
use crate::{
    backends::{
        conditions,
        exact::{check_ops, space_of},
    },
    domain::{IndexOp, MemoryId, Payload, Point, Visibility},
    ports::{PortError, Rebuild, Scored, SpaceSpec, VectorIndex, VectorQuery},
};

/// Points in one engine call: its log encodes each call whole, and searches wait for its write lock.
const UPSERT_POINTS: usize = 128;
/// Candidates HNSW keeps while it walks (the engine's default is 100): better recall for well under a millisecond.
const SEARCH_EF: usize = 256;
/// Among more equal scores than this the order by id is not promised.
const MAX_TIES: usize = 4096;
/// The engine's log may grow to this before the shard is loaded again, which cuts it.
const MAX_LOG_BYTES: u64 = 256 << 20;

/// See the module. One process at a time has a directory open.
pub struct EdgeIndex {
    home: Arc<Home>,
}

/// The directory and what serves from it.
struct Home {
    dir: PathBuf,
    spaces: Vec<SpaceSpec>,
    /// `None` while the index is withdrawn.
    serving: RwLock<Option<Arc<Inner>>>,
    /// The rebuild that may switch: the last one begun.
    rebuild: AtomicU64,
    lock: Arc<File>,
}

/// One shard.
struct Inner {
    place: Place,
    spaces: Vec<SpaceSpec>,
    /// Read by searches and writes alike (the engine has its own locks); written to put another shard in its place.
    /// `None` when that failed.
    shard: RwLock<Option<EdgeShard>>,
    /// Taken in the order of the fields. The engine's flush panics if a write or a change of segments is going on; and
    /// while segments are rebuilt, deletions in them are in memory alone, so a flush would promise too much.
    building: Mutex<()>,
    writing: Mutex<()>,
    /// Its folder goes when nobody uses it any longer.
    discarded: AtomicBool,
    _lock: Arc<File>,
}

/// A shard that is filled beside the one that serves.
struct Beside {
    home: Arc<Home>,
    number: u64,
    new: Arc<Inner>,
}

impl EdgeIndex {
    /// Loads the index in `dir`, or creates it where there is none.
    ///
    /// `Mismatch` if it was made for other spaces; `Corrupt` if it cannot be loaded, or was never finished: then
    /// [`Self::open_withdrawn`] and a rebuild put it right. `Unavailable` if another process has it open.
    pub async fn open(dir: &Path, spaces: &[SpaceSpec]) -> Result<Self, PortError> {
        let (dir, spaces) = (dir.to_owned(), spaces.to_vec());
        off_thread("open", move || {
            let lock = Arc::new(files::lock(&dir)?);
            let (shard, place) = files::open(&dir, &spaces)?;
            let serving = Inner::of(shard, place, &spaces, &lock);
            Ok(Self::with(dir, spaces, Some(serving), lock))
        })
        .await
    }

    /// Takes `dir` and leaves what is there alone, to build an index for `spaces` beside it.
    pub async fn open_withdrawn(dir: &Path, spaces: &[SpaceSpec]) -> Result<Self, PortError> {
        let (dir, spaces) = (dir.to_owned(), spaces.to_vec());
        off_thread("open", move || {
            let lock = Arc::new(files::lock(&dir)?);
            Ok(Self::with(dir, spaces, None, lock))
        })
        .await
    }

    fn with(dir: PathBuf, spaces: Vec<SpaceSpec>, serving: Option<Arc<Inner>>, lock: Arc<File>) -> Self {
        let home = Home { dir, spaces, serving: RwLock::new(serving), rebuild: AtomicU64::new(0), lock };
        Self { home: Arc::new(home) }
    }

    async fn run<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Inner) -> Result<T, EdgeError> + Send + 'static,
    ) -> Result<T, PortError> {
        let serving = self.home.serving.read().unwrap_or_else(PoisonError::into_inner).clone();
        off_thread(operation, move || work(&*serving.ok_or(EdgeError::Withdrawn)?)).await
    }
}

/// The one async coat.
async fn off_thread<T: Send + 'static>(
    operation: &'static str,
    work: impl FnOnce() -> Result<T, EdgeError> + Send + 'static,
) -> Result<T, PortError> {
    let done = tokio::task::spawn_blocking(move || guarded(work)).await;
    done.map_err(EdgeError::from).flatten().map_err(|error| error.during(operation))
}

#[async_trait]
impl VectorIndex for EdgeIndex {
    async fn apply(&self, ops: &[IndexOp]) -> Result<(), PortError> {
        let ops = ops.to_vec();
        self.run("apply", move |inner| inner.apply(&ops)).await
    }

    async fn search(&self, query: &VectorQuery, visibility: &Visibility) -> Result<Vec<Scored>, PortError> {
        let (query, visibility) = (query.clone(), visibility.clone());
        self.run("search", move |inner| inner.search(query, &visibility)).await
    }

    async fn vectors(
        &self,
        space: &str,
        ids: &[MemoryId],
        visibility: &Visibility,
    ) -> Result<HashMap<MemoryId, Vec<f32>>, PortError> {
        let (space, ids, visibility) = (space.to_owned(), ids.to_vec(), visibility.clone());
        self.run("vectors", move |inner| {
            let records = inner.visible(&ids, WithVector::Selector(vec![space.clone()]), &visibility)?;
            Ok(records.filter_map(|(id, record, _)| Some((id, mapping::vector_back(record.vector, &space)?))).collect())
        })
        .await
    }

    async fn payloads(
        &self,
        ids: &[MemoryId],
        visibility: &Visibility,
    ) -> Result<HashMap<MemoryId, Payload>, PortError> {
        let (ids, visibility) = (ids.to_vec(), visibility.clone());
        self.run("payloads", move |inner| {
            let records = inner.visible(&ids, WithVector::Bool(false), &visibility)?;
            Ok(records.map(|(id, _, payload)| (id, payload)).collect())
        })
        .await
    }

    async fn ids(
        &self,
        after: Option<MemoryId>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<MemoryId>, PortError> {
        let visibility = visibility.clone();
        self.run("ids", move |inner| inner.ids(after, limit, &visibility)).await
    }

    async fn count(&self) -> Result<usize, PortError> {
        self.run("count", |inner| {
            inner.with_shard(|shard| Ok(shard.count(CountRequest { filter: None, exact: true })?))
        })
        .await
    }

    async fn flush(&self) -> Result<(), PortError> {
        self.run("flush", Inner::flush).await
    }

    /// Makes HNSW graphs of what has grown above 10 MB of vectors in a space, and packs what was mostly deleted. A flush
    /// that comes meanwhile waits; writes and searches go on.
    async fn optimize(&self) -> Result<(), PortError> {
        self.run("optimize", Inner::optimize).await
    }

    async fn rebuild(&self) -> Result<Arc<dyn Rebuild>, PortError> {
        let home = Arc::clone(&self.home);
        off_thread("rebuild", move || {
            let number = home.rebuild.fetch_add(1, Ordering::SeqCst) + 1;
            let (shard, place) = files::create(&home.dir, &home.spaces)?;
            let new = Inner::of(shard, place, &home.spaces, &home.lock);
            // Dropped before it is named, it goes.
            new.discarded.store(true, Ordering::SeqCst);
            Ok(Arc::new(Beside { home, number, new }) as Arc<dyn Rebuild>)
        })
        .await
    }

    async fn withdraw(&self) {
        let serving = self.home.serving.write().unwrap_or_else(PoisonError::into_inner).take();
        // Closing a shard flushes it, which blocks.
        let closed = tokio::task::spawn_blocking(move || drop(serving)).await;
        if let Err(error) = closed {
            tracing::warn!(%error, "the vector index could not be closed");
        }
    }
}

#[async_trait]
impl Rebuild for Beside {
    async fn apply(&self, ops: &[IndexOp]) -> Result<(), PortError> {
        let (new, ops) = (Arc::clone(&self.new), ops.to_vec());
        off_thread("apply", move || new.apply(&ops)).await
    }

    async fn optimize(&self) -> Result<(), PortError> {
        let new = Arc::clone(&self.new);
        off_thread("optimize", move || new.optimize()).await
    }

    async fn switch(&self) -> Result<(), PortError> {
        let (home, new, number) = (Arc::clone(&self.home), Arc::clone(&self.new), self.number);
        off_thread("switch", move || {
            new.flush()?;
            let mut serving = home.serving.write().unwrap_or_else(PoisonError::into_inner);
            if home.rebuild.load(Ordering::SeqCst) != number {
                return Err(EdgeError::GivenUp);
            }
            files::name(&new.place, &home.spaces)?;
            new.discarded.store(false, Ordering::SeqCst);
            let old = serving.replace(Arc::clone(&new));
            drop(serving);
            match old {
                Some(old) => old.discarded.store(true, Ordering::SeqCst),
                None => files::tidy(&home.dir, &[&new.place]),
            }
            Ok(())
        })
        .await
    }
}

impl Inner {
    fn of(shard: EdgeShard, place: Place, spaces: &[SpaceSpec], lock: &Arc<File>) -> Arc<Self> {
        Arc::new(Self {
            place,
            spaces: spaces.to_vec(),
            shard: RwLock::new(Some(shard)),
            building: Mutex::default(),
            writing: Mutex::default(),
            discarded: AtomicBool::new(false),
            _lock: Arc::clone(lock),
        })
    }

    fn shard(&self) -> RwLockReadGuard<'_, Option<EdgeShard>> {
        self.shard.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_shard<T>(&self, work: impl FnOnce(&EdgeShard) -> Result<T, EdgeError>) -> Result<T, EdgeError> {
        work(self.shard().as_ref().ok_or(EdgeError::Closed)?)
    }

    /// Closes the shard and loads it again. The caller holds both mutexes.
    fn load_again(&self) -> Result<(), EdgeError> {
        let mut shard = self.shard.write().unwrap_or_else(PoisonError::into_inner);
        shard.take().into_iter().for_each(files::close);
        *shard = Some(files::load(&self.place, &self.spaces)?);
        Ok(())
    }

    fn optimize(&self) -> Result<(), EdgeError> {
        let _building = hold(&self.building);
        self.with_shard(|shard| Ok(shard.optimize().map(drop)?))
    }

    fn flush(&self) -> Result<(), EdgeError> {
        let _building = hold(&self.building);
        let _writing = hold(&self.writing);
        self.with_shard(|shard| {
            shard.flush();
            files::note_points(&self.place, shard, &self.spaces)
        })?;
        if files::log_bytes(&self.place) > MAX_LOG_BYTES { self.load_again() } else { Ok(()) }
    }

    fn apply(&self, ops: &[IndexOp]) -> Result<(), EdgeError> {
        check_ops(&self.spaces, ops)?;
        let _writing = hold(&self.writing);
        self.with_shard(|shard| {
            for run in ops.chunk_by(go_together) {
                match &run[0] {
                    IndexOp::Upsert(_) => {
                        let points: Vec<&Point> = run
                            .iter()
                            .filter_map(|op| if let IndexOp::Upsert(it) = op { Some(it) } else { None })
                            .collect();
                        points.chunks(UPSERT_POINTS).try_for_each(|points| self.upsert(shard, points))?;
                    }
                    IndexOp::Delete { .. } => {
                        let ids =
                            run.iter().filter_map(|op| if let IndexOp::Delete { id } = op { Some(*id) } else { None });
                        let ids = ids.map(mapping::point_id).collect();
                        shard.update(UpdateOperation::PointOperation(PointOperations::DeletePoints { ids }))?;
                    }
                    IndexOp::Retire { status, valid_to, retired_at, .. } => {
                        let payload = EnginePayload(conditions::retirement(*status, *valid_to, *retired_at));
                        let ids = run
                            .iter()
                            .filter_map(|op| if let IndexOp::Retire { id, .. } = op { Some(*id) } else { None });
                        let filter = Some(mapping::active_of(ids));
                        let set = SetPayloadOp { payload, points: None, filter, key: None };
                        shard.update(UpdateOperation::PayloadOperation(PayloadOps::SetPayload(set)))?;
                    }
                    IndexOp::SetPayload { id, payload } => {
                        let filter = Some(mapping::this(*id));
                        let set = SetPayloadOp { payload: mapping::payload(payload)?, points: None, filter, key: None };
                        shard.update(UpdateOperation::PayloadOperation(PayloadOps::OverwritePayload(set)))?;
                    }
                }
            }
            Ok(())
        })
    }

    fn upsert(&self, shard: &EdgeShard, points: &[&Point]) -> Result<(), EdgeError> {
        // A point with HNSW around it is moved, and then keeps old vectors that the new one lacks. Later ones win here too.
        let last: HashMap<MemoryId, &Point> = points.iter().map(|point| (point.id, *point)).collect();
        let lacks = |point: &Point, space: &SpaceSpec| point.vectors.iter().all(|named| named.space != space.name);
        let partial: Vec<_> = last
            .values()
            .filter(|point| self.spaces.iter().any(|space| lacks(point, space)))
            .map(|point| mapping::point_id(point.id))
            .collect();
        let there: HashSet<MemoryId> = shard
            .retrieve(&partial, Some(WithPayloadInterface::Bool(false)), None)?
            .into_iter()
            .filter_map(|record| mapping::memory_id(record.id))
            .collect();

        let list = last.values().map(|point| mapping::point(point)).collect::<Result<_, _>>()?;
        let upsert = PointOperations::UpsertPoints(PointInsertOperations::PointsList(list));
        shard.update(UpdateOperation::PointOperation(upsert))?;
        for space in &self.spaces {
            let ids = there.iter().filter(|id| lacks(last[id], space)).map(|id| mapping::point_id(*id));
            let ids: Vec<_> = ids.collect();
            if !ids.is_empty() {
                let delete = VectorOperations::DeleteVectors(ids.into(), vec![space.name.clone()]);
                shard.update(UpdateOperation::VectorOperation(delete))?;
            }
        }
        Ok(())
    }

    fn search(&self, query: VectorQuery, visibility: &Visibility) -> Result<Vec<Scored>, EdgeError> {
        let VectorQuery { space, vector, filter, limit } = query;
        space_of(&self.spaces, &space, vector.len())?;
        if limit == 0 || visibility.keys().is_some_and(|keys| keys.is_empty()) {
            return Ok(Vec::new());
        }
        let request = |limit| SearchRequest {
            query: QueryEnum::Nearest(NamedQuery {
                query: VectorInternal::Dense(vector.clone()),
                using: Some(space.clone()),
            }),
            filter: Some(mapping::filter(&filter, visibility)),
            params: Some(SearchParams { hnsw_ef: Some(SEARCH_EF), ..SearchParams::default() }),
            limit,
            offset: 0,
            with_payload: None,
            with_vector: None,
            score_threshold: None,
        };
        // The engine cuts equal scores anywhere, so more are asked for until the cut is between two scores.
        let mut wanted = limit.saturating_add(1);
        let mut found = loop {
            let found = self.with_shard(|shard| Ok(shard.search(request(wanted))?))?;
            let cut_in_a_tie = found.len() == wanted && found[limit - 1].score == found[wanted - 1].score;
            if !cut_in_a_tie || wanted - limit >= MAX_TIES {
                break found;
            }
            wanted = wanted.saturating_mul(2);
        };
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
        found.truncate(limit);
        Ok(found
            .into_iter()
            .filter_map(|point| Some(Scored { id: mapping::memory_id(point.id)?, score: point.score }))
            .collect())
    }

    fn visible<'a>(
        &self,
        ids: &[MemoryId],
        with_vector: WithVector,
        visibility: &'a Visibility,
    ) -> Result<impl Iterator<Item = (MemoryId, Record, Payload)> + use<'a>, EdgeError> {
        let ids: Vec<_> = ids.iter().copied().map(mapping::point_id).collect();
        let with_payload = Some(WithPayloadInterface::Bool(true));
        let records = self.with_shard(|shard| Ok(shard.retrieve(&ids, with_payload, Some(with_vector))?))?;
        let records = records.into_iter().filter_map(|mut record| {
            let payload = conditions::payload(record.payload.take()?.0);
            Some(payload.map(|payload| Some((mapping::memory_id(record.id)?, record, payload))))
        });
        let records: Vec<_> = records.collect::<Result<_, _>>()?;
        Ok(records.into_iter().flatten().filter(|(_, _, payload)| visibility.sees(&payload.visibility)))
    }

    fn ids(&self, after: Option<MemoryId>, limit: usize, visibility: &Visibility) -> Result<Vec<MemoryId>, EdgeError> {
        let from = match after.map(|id| id.0.as_u128().checked_add(1)) {
            Some(None) => return Ok(Vec::new()),
            Some(Some(next)) => Some(mapping::point_id(MemoryId(Uuid::from_u128(next)))),
            None => None,
        };
        if limit == 0 || visibility.keys().is_some_and(|keys| keys.is_empty()) {
            return Ok(Vec::new());
        }
        let request = ScrollRequest {
            offset: from,
            limit: Some(limit),
            filter: mapping::seen(visibility),
            with_payload: Some(WithPayloadInterface::Bool(false)),
            with_vector: WithVector::Bool(false),
            order_by: None,
        };
        let (records, _) = self.with_shard(|shard| Ok(shard.scroll(request)?))?;
        Ok(records.into_iter().filter_map(|record| mapping::memory_id(record.id)).collect())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let shard = self.shard.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let whole = shard.is_some();
        shard.into_iter().for_each(files::close);
        if *self.discarded.get_mut() {
            files::remove(&self.place);
        } else if whole {
            files::seal(&self.place);
        }
    }
}

/// Whether two neighbours can be one engine call. Each call costs a log record and a lock, and among upserts the engine
/// keeps the last of an id, as it should.
fn go_together(a: &IndexOp, b: &IndexOp) -> bool {
    match (a, b) {
        (IndexOp::Upsert(_), IndexOp::Upsert(_)) | (IndexOp::Delete { .. }, IndexOp::Delete { .. }) => true,
        (
            IndexOp::Retire { status, valid_to, retired_at, .. },
            IndexOp::Retire { status: other_status, valid_to: other_to, retired_at: other_at, .. },
        ) => (status, valid_to, retired_at) == (other_status, other_to, other_at),
        _ => false,
    }
}

fn hold(mutex: &Mutex<()>) -> MutexGuard<'_, ()> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
