//! Exact in-memory [`VectorIndex`]: the reference that says what the others must answer, and the index of tests.
//!
//! Compares with every vector; nothing is kept on disk. [`payload_matches`] is the meaning of a [`Filter`] on index
//! fields; [`space_of`] is the check that every adapter makes before it takes a vector.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use jiff::Timestamp;

use crate::{
    domain::{Filter, IndexOp, MemoryId, Payload, Point, Status, Visibility, cosine},
    ports::{PortError, PortErrorKind, Rebuild, Scored, SpaceSpec, VectorIndex, VectorQuery},
};

/// A vector that no space of the index can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SpaceError {
    #[error("no vector space {0:?}")]
    Unknown(String),
    #[error("vector space {space:?} has dimension {expected}, the vector has {given}")]
    Dimension { space: String, expected: usize, given: usize },
}

/// The space of this name, if a vector of this length fits in it.
pub(super) fn space_of<'a>(spaces: &'a [SpaceSpec], name: &str, length: usize) -> Result<&'a SpaceSpec, SpaceError> {
    let space = spaces.iter().find(|space| space.name == name).ok_or_else(|| SpaceError::Unknown(name.to_owned()))?;
    if space.dimension == length {
        Ok(space)
    } else {
        Err(SpaceError::Dimension { space: name.to_owned(), expected: space.dimension, given: length })
    }
}

/// Checks every vector of `ops`, so that a batch is refused before any of it is applied.
pub(super) fn check_ops(spaces: &[SpaceSpec], ops: &[IndexOp]) -> Result<(), SpaceError> {
    ops.iter()
        .filter_map(|op| if let IndexOp::Upsert(point) = op { Some(&point.vectors) } else { None })
        .flatten()
        .try_for_each(|named| space_of(spaces, &named.space, named.vector.len()).map(drop))
}

/// [`Filter::matches`], on the fields an index holds. Equal to it for times of whole microseconds.
pub fn payload_matches(filter: &Filter, payload: &Payload) -> bool {
    let micros = Timestamp::as_microsecond;
    let (world, known) = (filter.as_of.world.map(micros), filter.as_of.known.map(micros));
    let retired_since = payload.status.is_retired() && known.is_some_and(|at| at < payload.retired_at);
    let status = match payload.status {
        Status::Active => true,
        Status::Superseded => retired_since || filter.include_superseded || world.is_some(),
        Status::Archived => retired_since,
        Status::Quarantined => false,
    };
    let recorded = known.is_none_or(|at| payload.recorded_at <= at);
    let holds = world.is_none_or(|at| payload.valid_from <= at && (retired_since || at < payload.valid_to));
    status
        && recorded
        && holds
        && (filter.kinds.is_empty() || filter.kinds.contains(&payload.kind))
        && (filter.types.is_empty() || filter.types.contains(&payload.memory_type))
        && (filter.tags.is_empty() || filter.tags.iter().any(|tag| payload.tags.contains(tag)))
        && filter.session_id.as_ref().is_none_or(|id| payload.session_id.as_ref() == Some(id))
        && filter.task_id.as_ref().is_none_or(|id| payload.task_id.as_ref() == Some(id))
        && filter.since.map(micros).is_none_or(|since| payload.occurred_at >= since)
        && filter.until.map(micros).is_none_or(|until| payload.occurred_at < until)
        && filter.language.is_none_or(|language| payload.language == language)
        && filter.now.map(micros).is_none_or(|now| now < payload.expires_at)
}

/// See the module.
pub struct ExactIndex {
    spaces: Vec<SpaceSpec>,
    serving: Arc<Serving>,
}

#[derive(Default)]
struct Serving {
    points: RwLock<Points>,
    withdrawn: AtomicBool,
    /// The rebuild that may switch: the last one begun.
    rebuild: AtomicU64,
}

type Points = BTreeMap<MemoryId, Point>;

/// Points beside those that serve.
struct Beside {
    spaces: Vec<SpaceSpec>,
    number: u64,
    points: RwLock<Points>,
    serving: Arc<Serving>,
}

impl ExactIndex {
    /// An empty index with these spaces.
    pub fn new(spaces: &[SpaceSpec]) -> Self {
        Self { spaces: spaces.to_vec(), serving: Arc::default() }
    }

    fn read(&self, operation: &'static str) -> Result<RwLockReadGuard<'_, Points>, PortError> {
        if self.serving.withdrawn.load(Ordering::SeqCst) {
            return Err(PortError::new(PortErrorKind::Corrupt, "exact", operation, "the index is being built anew"));
        }
        // A panic under the lock leaves whole points behind, so a poisoned map is as good as another.
        Ok(self.serving.points.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn apply(ops: &[IndexOp], points: &mut Points) {
    for op in ops {
        match op {
            IndexOp::Upsert(point) => {
                let mut point = point.clone();
                point.vectors.iter_mut().for_each(|named| normalise(&mut named.vector));
                points.insert(point.id, point);
            }
            IndexOp::Retire { id, status, valid_to, retired_at } => {
                if let Some(Point { payload, .. }) = points.get_mut(id)
                    && payload.status == Status::Active
                {
                    payload.status = *status;
                    payload.valid_to = valid_to.unwrap_or(payload.valid_to);
                    payload.retired_at = *retired_at;
                }
            }
            IndexOp::SetPayload { id, payload } => {
                if let Some(point) = points.get_mut(id) {
                    point.payload = payload.clone();
                }
            }
            IndexOp::Delete { id } => {
                points.remove(id);
            }
        }
    }
}

#[async_trait]
impl Rebuild for Beside {
    async fn apply(&self, ops: &[IndexOp]) -> Result<(), PortError> {
        check_ops(&self.spaces, ops).map_err(|error| mismatch("apply", error))?;
        apply(ops, &mut self.points.write().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    /// Every search reads every vector; there is nothing to build.
    async fn optimize(&self) -> Result<(), PortError> {
        Ok(())
    }

    async fn switch(&self) -> Result<(), PortError> {
        let mut serving = self.serving.points.write().unwrap_or_else(PoisonError::into_inner);
        if self.serving.rebuild.load(Ordering::SeqCst) != self.number {
            return Err(PortError::new(PortErrorKind::Conflict, "exact", "switch", "another rebuild has begun since"));
        }
        *serving = std::mem::take(&mut self.points.write().unwrap_or_else(PoisonError::into_inner));
        self.serving.withdrawn.store(false, Ordering::SeqCst);
        Ok(())
    }
}

#[async_trait]
impl VectorIndex for ExactIndex {
    async fn apply(&self, ops: &[IndexOp]) -> Result<(), PortError> {
        drop(self.read("apply")?);
        check_ops(&self.spaces, ops).map_err(|error| mismatch("apply", error))?;
        apply(ops, &mut self.serving.points.write().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    async fn search(&self, query: &VectorQuery, visibility: &Visibility) -> Result<Vec<Scored>, PortError> {
        space_of(&self.spaces, &query.space, query.vector.len()).map_err(|error| mismatch("search", error))?;
        let mut wanted = query.vector.clone();
        normalise(&mut wanted);
        let mut found: Vec<Scored> = self
            .read("search")?
            .values()
            .filter(|point| {
                visibility.sees(&point.payload.visibility) && payload_matches(&query.filter, &point.payload)
            })
            .filter_map(|point| {
                let vector = vector_in(point, &query.space)?;
                Some(Scored { id: point.id, score: cosine(&wanted, vector) })
            })
            .collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
        found.truncate(query.limit);
        Ok(found)
    }

    async fn vectors(
        &self,
        space: &str,
        ids: &[MemoryId],
        visibility: &Visibility,
    ) -> Result<HashMap<MemoryId, Vec<f32>>, PortError> {
        let points = self.read("vectors")?;
        Ok(visible(&points, ids, visibility)
            .filter_map(|point| Some((point.id, vector_in(point, space)?.to_vec())))
            .collect())
    }

    async fn payloads(
        &self,
        ids: &[MemoryId],
        visibility: &Visibility,
    ) -> Result<HashMap<MemoryId, Payload>, PortError> {
        let points = self.read("payloads")?;
        Ok(visible(&points, ids, visibility).map(|point| (point.id, point.payload.clone())).collect())
    }

    async fn ids(
        &self,
        after: Option<MemoryId>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<MemoryId>, PortError> {
        let above = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        Ok(self
            .read("ids")?
            .range(above)
            .filter(|(_, point)| visibility.sees(&point.payload.visibility))
            .map(|(id, _)| *id)
            .take(limit)
            .collect())
    }

    async fn count(&self) -> Result<usize, PortError> {
        Ok(self.read("count")?.len())
    }

    /// Nothing outlives the process, so there is nothing to do.
    async fn flush(&self) -> Result<(), PortError> {
        self.read("flush").map(drop)
    }

    /// Every search reads every vector; there is nothing to build.
    async fn optimize(&self) -> Result<(), PortError> {
        Ok(())
    }

    async fn rebuild(&self) -> Result<Arc<dyn Rebuild>, PortError> {
        let number = self.serving.rebuild.fetch_add(1, Ordering::SeqCst) + 1;
        let (spaces, serving) = (self.spaces.clone(), self.serving.clone());
        Ok(Arc::new(Beside { spaces, number, points: RwLock::default(), serving }))
    }

    async fn withdraw(&self) {
        self.serving.withdrawn.store(true, Ordering::SeqCst);
    }
}

fn mismatch(operation: &'static str, error: SpaceError) -> PortError {
    PortError::new(PortErrorKind::Mismatch, "exact", operation, error)
}

fn visible<'a>(
    points: &'a BTreeMap<MemoryId, Point>,
    ids: &'a [MemoryId],
    visibility: &'a Visibility,
) -> impl Iterator<Item = &'a Point> {
    ids.iter().filter_map(|id| points.get(id)).filter(|point| visibility.sees(&point.payload.visibility))
}

fn vector_in<'a>(point: &'a Point, space: &str) -> Option<&'a [f32]> {
    point.vectors.iter().find(|named| named.space == space).map(|named| named.vector.as_slice())
}

/// To unit length; the zero vector stays, and is at cosine 0 of everything.
fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
}
