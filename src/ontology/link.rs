//! Links memories that are there already to the concepts that their texts name. New ones are linked when they are stored.

use std::sync::Arc;

use jiff::Timestamp;

use super::{
    OntologyContext,
    lexicon::{ConceptLink, Vocabulary},
};
use crate::{
    domain::{ChangeId, ChangeSet, Edge, Memory, MemoryId, Op, Scope, Visibility},
    error::{Error, ErrorCode},
    telemetry::timed,
};

/// Memories read and linked at once.
const BATCH: usize = 512;
/// Where the store keeps the version that all memories are linked by.
const LINKED: &str = "ontology.linked";

/// Links all memories by the version in force, unless they are; how many got a link. `progress` is told memories done and in
/// all. Once begun, a version is linked to its end by whoever asks next, so a kill loses nothing.
pub async fn link_behind(ctx: &OntologyContext, progress: impl Fn(usize, usize)) -> Result<usize, Error> {
    loop {
        let vocabulary = ctx.lexicons.refresh().await?;
        let version = vocabulary.version().to_string();
        if ctx.graph.meta(LINKED).await?.unwrap_or_else(|| "0".to_owned()) == version {
            return Ok(0);
        }
        // A version that came meanwhile starts it again.
        if let Some(linked) = link_all(ctx, &vocabulary, &progress).await? {
            ctx.graph.set_meta(LINKED, &version).await?;
            return Ok(linked);
        }
    }
}

/// Links all memories by these names; how many got a link. `None` if another version was put in force before the end.
async fn link_all(
    ctx: &OntologyContext,
    vocabulary: &Arc<Vocabulary>,
    progress: &impl Fn(usize, usize),
) -> Result<Option<usize>, Error> {
    let everything = Visibility::system("ontologies link memories of every scope");
    let total = ctx.graph.total_memories(&everything).await?;
    let (mut after, mut done, mut linked) = (None, 0, 0);
    loop {
        let turn = ctx.turn.lock().await;
        if ctx.store.current().await? != vocabulary.version() {
            return Ok(None);
        }
        let memories = timed("link_read", ctx.graph.page(after, BATCH, &everything)).await?;
        let Some(last) = memories.last() else { return Ok(Some(linked)) };
        after = Some(last.id);
        done += memories.len();
        let (names, at) = (vocabulary.clone(), ctx.clock.now());
        let work = move || links(&names, &memories, at);
        let (ops, with_links) =
            tokio::task::spawn_blocking(work).await.map_err(|_| Error::new(ErrorCode::Internal, "internal fault"))?;
        linked += with_links;
        if !ops.is_empty() {
            let change = ChangeSet {
                id: ChangeId(ctx.clock.next_id()),
                at,
                actor: "system".to_owned(),
                use_case: "link_concepts".to_owned(),
                reason: None,
                ops,
                idempotency: None,
            };
            timed("link_apply", ctx.graph.apply(&[change])).await?;
        }
        drop(turn);
        progress(done, total.max(done));
    }
}

fn links(vocabulary: &Vocabulary, memories: &[Memory], at: Timestamp) -> (Vec<Op>, usize) {
    use rayon::prelude::*;
    let found: Vec<(MemoryId, &Scope, Vec<ConceptLink>)> = memories
        .par_iter()
        .map(|memory| (memory.id, &memory.scope, vocabulary.links(memory.title.as_deref(), &memory.content)))
        .filter(|(.., links)| !links.is_empty())
        .collect();
    let with_links = found.len();
    (found.into_iter().flat_map(|(id, scope, links)| link_ops(id, scope, &links, at)).collect(), with_links)
}

/// The edges from a memory to the concepts that it names.
pub fn link_ops(id: MemoryId, scope: &Scope, links: &[ConceptLink], at: Timestamp) -> Vec<Op> {
    links
        .iter()
        .map(|link| {
            Op::PutEdge(Edge {
                from: id.0,
                to: link.concept.0,
                kind: link.kind,
                weight: link.weight,
                reason: Some(Edge::ONTOLOGY.to_owned()),
                scope: scope.clone(),
                recorded_at: at,
            })
        })
        .collect()
}
