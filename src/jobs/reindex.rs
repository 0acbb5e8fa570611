//! Builds the vector index anew from the graph store, beside the one that serves, and switches when it is whole.
//!
//! Killed at any moment, one of the two is there. What memories say of their spaces is noted after the switch; a mark in
//! the graph store says that this is not finished, and start-up looks for it.

use std::{collections::HashMap, sync::Arc};

use super::{
    Drain, Revector,
    doctor::{must_have_point, upserts},
};
use crate::{
    domain::{AsOf, IndexOp, Memory, MemoryId, Visibility},
    ports::{GraphStore, MetaRow, PortError, Rebuild},
};

/// Memories embedded and written together.
const PAGE: usize = 256;
/// Key of the mark in the graph store's settings.
pub(super) const MARK: &str = "reindex";

/// Fills a new index from every memory that recall can look for, and lets it serve; how many that were. `progress` is told
/// memories done and in all. Writers go on: their rows reach both indexes.
pub async fn reindex(
    graph: &dyn GraphStore,
    drain: &Drain,
    revector: &dyn Revector,
    mut progress: impl FnMut(usize, usize) + Send,
) -> Result<usize, PortError> {
    let everything = Visibility::system("reindex");
    let total = graph.counts(&everything).await?.memories;
    let beside = drain.exclusive().await.begin().await?;
    let (mut written, mut done) = (0, 0);
    let mut noted = Vec::new();
    let mut after: Option<MemoryId> = None;
    loop {
        let mut page = graph.page(after, PAGE, &everything).await?;
        let Some(last) = page.last().map(|memory| memory.id) else { break };
        after = Some(last);
        done += page.len();
        page.retain(must_have_point);
        let mut ops = upserts(revector, &page).await?;
        let mut lock = drain.exclusive().await;
        lock.catch_up().await?;
        // Models are slow: what rows told of meanwhile may be newer than the page, so it is read again, under the lock.
        let touched = lock.touched().await?;
        let again: Vec<MemoryId> = page.iter().map(|memory| memory.id).filter(|id| touched.contains(id)).collect();
        ops.retain(|op| !touched.contains(&op.id()));
        noted.extend(changed_spaces(&page, &ops));
        let mut fresh = graph.memories(&again, AsOf::default(), &everything).await?;
        fresh.retain(must_have_point);
        let fresh_ops = upserts(revector, &fresh).await?;
        noted.extend(changed_spaces(&fresh, &fresh_ops));
        ops.extend(fresh_ops);
        written += ops.len();
        lock.fill(&beside, ops).await?;
        drop(lock);
        progress(done.min(total), total);
    }
    beside.optimize().await?;
    switch(graph, drain, &beside, revector, noted).await?;
    drain.catch_up().await?;
    Ok(written)
}

async fn switch(
    graph: &dyn GraphStore,
    drain: &Drain,
    beside: &Arc<dyn Rebuild>,
    revector: &dyn Revector,
    noted: Vec<(MemoryId, Vec<String>)>,
) -> Result<(), PortError> {
    if noted.is_empty() {
        drain.exclusive().await.switch(beside).await?;
        return finished(graph).await;
    }
    graph.set_meta(MARK, "running").await?;
    drain.exclusive().await.switch(beside).await?;
    for spaces in noted.chunks(PAGE) {
        revector.note_spaces(spaces.to_vec()).await?;
    }
    finished(graph).await
}

async fn finished(graph: &dyn GraphStore) -> Result<(), PortError> {
    if reindex_was_interrupted(graph).await? { graph.set_meta(MARK, "done").await } else { Ok(()) }
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

/// Whether a reindex switched and did not end: what memories say of their spaces is not to be trusted before another one.
pub async fn reindex_was_interrupted(graph: &dyn GraphStore) -> Result<bool, PortError> {
    Ok(graph.meta(MARK).await?.as_deref() == Some("running"))
}
