//! Compares graph store and vector index, and brings the index to what the graph says.
//!
//! Writers go on meanwhile, so a difference counts only if it is still there after the outbox was drained again.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::{Drain, Revector, drain::Exclusive};
use crate::{
    domain::{AsOf, IndexOp, Memory, MemoryId, Payload, Point, Status, Visibility},
    ports::{GraphStore, PortError, PortErrorKind, VectorIndex},
};

/// Memories or points compared together. Writers of the index wait for one page, with its embedding when repairing.
const PAGE: usize = 256;

/// What was found; with repair, what was put right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DoctorReport {
    /// Memories in force, or superseded, that lack their point or one of its vectors.
    pub missing: usize,
    /// Points without a memory, or of a memory that must have none.
    pub orphan: usize,
    /// Points whose filter fields are not the memory's.
    pub stale: usize,
    /// Edges whose end is gone.
    pub half_links: usize,
}

impl DoctorReport {
    /// Whether graph and index agree.
    pub fn ok(&self) -> bool {
        *self == Self::default()
    }
}

/// Compares everything; with `repair`, deletes orphans, sets stale fields again, embeds what is missing again, and then
/// flushes the index.
pub async fn doctor(
    graph: &dyn GraphStore,
    index: &dyn VectorIndex,
    drain: &Drain,
    revector: &dyn Revector,
    repair: bool,
) -> Result<DoctorReport, PortError> {
    let everything = Visibility::system("doctor");
    let mut report = DoctorReport { half_links: graph.half_links(repair).await?, ..DoctorReport::default() };

    let mut after = None;
    loop {
        let page = graph.page(after, PAGE, &everything).await?;
        let ids: Vec<MemoryId> = page.iter().map(|memory| memory.id).collect();
        let Some(last) = ids.last().copied() else { break };
        after = Some(last);
        // Most pages are sound, and looking needs no lock.
        let suspects = differences(index, &ids, page).await?;
        settle(graph, index, drain, revector, suspects, repair, &mut report).await?;
    }
    // Of the other side only those are new that no memory led to.
    let mut after = None;
    loop {
        let ids = index.ids(after, PAGE, &everything).await?;
        let Some(last) = ids.last().copied() else { break };
        after = Some(last);
        let known: HashSet<MemoryId> =
            graph.memories(&ids, AsOf::default(), &everything).await?.iter().map(|memory| memory.id).collect();
        let unknown: Vec<MemoryId> = ids.into_iter().filter(|id| !known.contains(id)).collect();
        let suspects = differences(index, &unknown, Vec::new()).await?;
        settle(graph, index, drain, revector, suspects, repair, &mut report).await?;
    }
    if repair {
        drain.catch_up().await?;
        index.flush().await?;
    }
    Ok(report)
}

/// Looks at the suspects again, counts those that stand, and puts them right.
async fn settle(
    graph: &dyn GraphStore,
    index: &dyn VectorIndex,
    drain: &Drain,
    revector: &dyn Revector,
    suspects: Vec<Difference>,
    repair: bool,
    report: &mut DoctorReport,
) -> Result<(), PortError> {
    if suspects.is_empty() {
        return Ok(());
    }
    let everything = Visibility::system("doctor");
    // While the lock is held only the drain brings anything to the index. A memory that changes between a drain and the
    // look after it is a suspect once more, but hardly twice.
    let mut lock = drain.exclusive().await;
    let mut found = suspects;
    for _ in 0..2 {
        lock.catch_up().await?;
        let ids: Vec<MemoryId> = found.iter().map(|it| it.id).collect();
        let memories = graph.memories(&ids, AsOf::default(), &everything).await?;
        found = differences(index, &ids, memories).await?;
    }
    for difference in &found {
        match difference.kind {
            Kind::Missing(_) => report.missing += 1,
            Kind::Orphan => report.orphan += 1,
            Kind::Stale(_) => report.stale += 1,
        }
    }
    if repair { put_right(&mut lock, revector, found).await } else { Ok(()) }
}

struct Difference {
    id: MemoryId,
    kind: Kind,
}

enum Kind {
    Missing(Box<Memory>),
    Orphan,
    Stale(Box<Payload>),
}

/// Where the points of `ids` are not what `memories`, the records of those ids, ask for.
async fn differences(
    index: &dyn VectorIndex,
    ids: &[MemoryId],
    memories: Vec<Memory>,
) -> Result<Vec<Difference>, PortError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let everything = Visibility::system("doctor");
    let mut memories: HashMap<MemoryId, Memory> = memories.into_iter().map(|memory| (memory.id, memory)).collect();
    let mut payloads = index.payloads(ids, &everything).await?;
    let spaces: HashSet<&String> = memories.values().flat_map(|memory| &memory.spaces).collect();
    let mut there: HashSet<(MemoryId, String)> = HashSet::new();
    for space in spaces {
        let vectors = index.vectors(space, ids, &everything).await?;
        there.extend(vectors.into_keys().map(|id| (id, space.clone())));
    }
    let differences = ids.iter().filter_map(|&id| {
        let kind = match (memories.remove(&id), payloads.remove(&id)) {
            (None, None) => return None,
            (None, Some(_)) => Kind::Orphan,
            (Some(memory), Some(_)) if memory.spaces.is_empty() => Kind::Orphan,
            (Some(memory), payload) => {
                let whole = payload.is_some() && memory.spaces.iter().all(|space| there.contains(&(id, space.clone())));
                if must_have_point(&memory) && !whole {
                    Kind::Missing(Box::new(memory))
                } else if payload.is_some_and(|payload| payload != Payload::of(&memory)) {
                    Kind::Stale(Box::new(Payload::of(&memory)))
                } else {
                    return None;
                }
            }
        };
        Some(Difference { id, kind })
    });
    Ok(differences.collect())
}

/// Whether recall can ever look for it; archived and quarantined memories it does not.
pub(super) fn must_have_point(memory: &Memory) -> bool {
    !memory.spaces.is_empty() && matches!(memory.status, Status::Active | Status::Superseded)
}

async fn put_right(lock: &mut Exclusive, revector: &dyn Revector, found: Vec<Difference>) -> Result<(), PortError> {
    let mut ops = Vec::new();
    let mut missing = Vec::new();
    for Difference { id, kind } in found {
        match kind {
            Kind::Missing(memory) => missing.push(*memory),
            Kind::Orphan => ops.push(IndexOp::Delete { id }),
            Kind::Stale(payload) => ops.push(IndexOp::SetPayload { id, payload: *payload }),
        }
    }
    ops.extend(upserts(revector, &missing).await?);
    if ops.is_empty() { Ok(()) } else { lock.apply(ops).await }
}

/// The points of `memories`, embedded again.
pub(super) async fn upserts(revector: &dyn Revector, memories: &[Memory]) -> Result<Vec<IndexOp>, PortError> {
    if memories.is_empty() {
        return Ok(Vec::new());
    }
    let vectors = revector.vectors_of(memories).await?;
    if vectors.len() != memories.len() {
        let text = format!("{} memories gave {} sets of vectors", memories.len(), vectors.len());
        return Err(PortError::new(PortErrorKind::Internal, "revector", "vectors_of", text));
    }
    let points = memories.iter().zip(vectors).filter(|(_, vectors)| !vectors.is_empty());
    Ok(points
        .map(|(memory, vectors)| IndexOp::Upsert(Point { id: memory.id, vectors, payload: Payload::of(memory) }))
        .collect())
}
