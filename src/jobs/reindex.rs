//! Builds the vector index anew from the graph store.
//!
//! A mark in the graph store says that it is not finished; start-up looks for it, since half an index answers like a
//! whole one.

use std::collections::HashMap;

use super::{
    Drain, Revector,
    doctor::{must_have_point, upserts},
};
use crate::{
    domain::{IndexOp, Memory, MemoryId, Visibility},
    ports::{GraphStore, MetaRow, PortError, VectorIndex},
};

/// Memories embedded and written together.
const PAGE: usize = 256;
/// Key of the mark in the graph store's settings.
pub(super) const MARK: &str = "reindex";

/// Empties the index and fills it from every memory that recall can look for; how many that were. `progress` is told
/// memories done and in all. Other writers of the index wait; their rows stay in the outbox and follow.
pub async fn reindex(
    graph: &dyn GraphStore,
    index: &dyn VectorIndex,
    drain: &Drain,
    revector: &dyn Revector,
    mut progress: impl FnMut(usize, usize) + Send,
) -> Result<usize, PortError> {
    let everything = Visibility::system("reindex");
    let total = graph.counts(&everything).await?.memories;
    graph.set_meta(MARK, "running").await?;
    let mut written = 0;
    {
        let mut lock = drain.exclusive().await;
        // Rows written before a change of models hold vectors that the index now refuses; the pages have what they did.
        lock.clear().await?;
        let mut done = 0;
        let mut after: Option<MemoryId> = None;
        loop {
            let mut page = graph.page(after, PAGE, &everything).await?;
            let Some(last) = page.last().map(|memory| memory.id) else { break };
            after = Some(last);
            done += page.len();
            page.retain(must_have_point);
            let ops = upserts(revector, &page).await?;
            written += ops.len();
            revector.note_spaces(changed_spaces(&page, &ops)).await?;
            lock.apply(ops).await?;
            progress(done.min(total), total);
        }
    }
    index.flush().await?;
    graph.set_meta(MARK, "done").await?;
    drain.catch_up().await?;
    index.optimize().await?;
    Ok(written)
}

/// Memories that have vectors in other spaces than when they were stored.
fn changed_spaces(memories: &[Memory], ops: &[IndexOp]) -> Vec<(MemoryId, Vec<String>)> {
    let before: HashMap<MemoryId, &Vec<String>> = memories.iter().map(|memory| (memory.id, &memory.spaces)).collect();
    ops.iter()
        .filter_map(|op| match op {
            IndexOp::Upsert(point) => {
                Some((point.id, point.vectors.iter().map(|vector| vector.space.clone()).collect::<Vec<_>>()))
            }
            _ => None,
        })
        .filter(|(id, spaces)| before.get(id).is_none_or(|before| *before != spaces))
        .collect()
}

/// The setting after which [`reindex_was_interrupted`]: for whoever puts other data below an index.
pub fn reindex_is_due() -> MetaRow {
    MetaRow { key: MARK.to_owned(), value: "running".to_owned() }
}

/// Whether a reindex began and did not end: the index is not to be trusted before another one.
pub async fn reindex_was_interrupted(graph: &dyn GraphStore) -> Result<bool, PortError> {
    Ok(graph.meta(MARK).await?.as_deref() == Some("running"))
}
