//! Explains where one memory stands for a question: what each arm makes of it, its score in parts, what keeps it back, and
//! the way to it through the graph.
//!
//! Asks what recall asks, so that the places are the real ones. A memory that recall leaves out is weighed all the same.

use std::collections::HashMap;

use super::{
    ArmTrace, ExplainReply, ExplainRequest, FailedFilter, Mode, ReadContext,
    candidates::{Arms, Candidates, VECTORS, by_deadline, candidates, deadline, vectors_of},
    expand::{ALL_EDGES, Expansion, expand, path_steps},
    rank::{Evidence, Order, judged, ranked},
    recall::{DEFAULT_LIMIT, add_reached, fused, seeds},
};
use crate::{
    domain::{AsOf, Caller, Direction, Filter, Memory, MemoryId, Right, Status, Visibility, cosine},
    error::Error,
    input,
    ports::{PortError, Scored},
};

/// Hops that are walked for the path.
const DEPTH: u32 = 2;

/// Holds a memory against a question.
pub async fn explain(ctx: &ReadContext, caller: &Caller, request: ExplainRequest) -> Result<ExplainReply, Error> {
    input::require(caller, Right::MemoryRead)?;
    let id = input::memory_id("id", &request.id)?;
    let query = input::text("query", request.query, ctx.settings.max_query_bytes)?;
    let as_of = AsOf {
        world: input::optional_time("as_of", request.as_of.as_deref())?,
        known: input::optional_time("known_at", request.known_at.as_deref())?,
    };
    let now = as_of.known.unwrap_or_else(|| ctx.clock.now());
    let filter = Filter { as_of, now: Some(now), ..Filter::default() };
    let visibility = caller.visibility();
    let memory = ctx.graph.memories(&[id], as_of, &visibility).await?.pop().ok_or_else(|| Error::not_found("id"))?;
    let deadline = deadline(ctx);
    let arms = Arms::of_a_question(&ctx.settings, true);
    let mut found = candidates(ctx, &query, arms, &filter, &visibility, deadline).await;
    let evidence = fused(ctx, Mode::Hybrid, &found);
    let walk = |depth| Expansion {
        seeds: seeds(&evidence, ctx.settings.activation.seeds),
        depth,
        edges: ALL_EDGES.to_vec(),
        direction: Direction::Both,
        filter: &filter,
        visibility: &visibility,
        total: found.total,
        deadline,
    };
    let (near, far) = (walk(1), walk(DEPTH));
    let (near, far) = tokio::join!(expand(ctx, &found.queries, &near), expand(ctx, &found.queries, &far));
    let graph = by_activation(&far.reached);
    let path = far.reached.get(&id).map_or_else(Vec::new, |reached| path_steps(&reached.path, &far.neighbourhood));
    let own = by_deadline(deadline, VECTORS, own_similarity(ctx, &found, &memory, &visibility)).await;
    let own = own.unwrap_or_else(|missing| {
        found.degraded.push(missing);
        None
    });

    let limit = usize::try_from(DEFAULT_LIMIT).expect("a small number");
    let order = Order { terms: &found.terms, filter: &filter, now, limit, offset: 0, min_score: None };
    let mut weighed = evidence.get(&id).cloned().unwrap_or_default();
    weighed.semantic = weighed.semantic.or(own);
    weighed.activation = far.reached.get(&id).map(|reached| reached.activation);
    weighed.path.clone_from(&path);
    let top = evidence.values().map(|evidence| evidence.relevance).fold(f32::MIN_POSITIVE, f32::max);
    let judged = judged(ctx, &memory, weighed, top, &order);
    let mut associative = evidence.clone();
    add_reached(ctx, &mut associative, near);
    let place = async |evidence: HashMap<MemoryId, Evidence>| {
        let items = ranked(ctx, evidence, &order, &visibility, usize::MAX).await?;
        Ok::<_, Error>(items.iter().position(|item| item.id == judged.id).map(|at| (ordinal(at), items[at].score)))
    };
    let (hybrid, associative) = tokio::try_join!(place(evidence), place(associative))?;
    let named = found.concepts.iter().filter(|concept| concept.memories.contains(&id));
    let named = named.map(|concept| concept.rarity).reduce(f32::max);
    found.degraded.extend(far.degraded);
    Ok(ExplainReply {
        id: id.to_string(),
        rank: hybrid.map(|(rank, _)| rank),
        score: hybrid.map(|(_, score)| score),
        associative_rank: associative.map(|(rank, _)| rank),
        weak: judged.weak,
        arms: vec![
            arm("semantic", &found.semantic, id),
            arm("keyword", &found.keyword, id),
            ArmTrace { arm: "named".to_owned(), found: named.is_some(), rank: None, score: named },
            arm("graph", &graph, id),
        ],
        failed: failed(&filter, &memory),
        why: judged.why.unwrap_or_default(),
        path,
        degraded: found.degraded,
    })
}

fn ordinal(at: usize) -> i64 {
    i64::try_from(at + 1).unwrap_or(i64::MAX)
}

fn arm(name: &str, hits: &[Scored], id: MemoryId) -> ArmTrace {
    let at = hits.iter().position(|hit| hit.id == id);
    ArmTrace { arm: name.to_owned(), found: at.is_some(), rank: at.map(ordinal), score: at.map(|at| hits[at].score) }
}

fn by_activation(reached: &HashMap<MemoryId, crate::scoring::Activated>) -> Vec<Scored> {
    let mut graph: Vec<Scored> =
        reached.iter().map(|(id, reached)| Scored { id: *id, score: reached.activation }).collect();
    graph.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    graph
}

/// How well the memory's own vector answers, whether or not the arm's list is long enough to reach it.
async fn own_similarity(
    ctx: &ReadContext,
    found: &Candidates<'_>,
    memory: &Memory,
    visibility: &Visibility,
) -> Result<Option<f32>, PortError> {
    let vectors = vectors_of(ctx, &found.queries, &[memory.id], visibility).await?;
    Ok(found.queries.iter().zip(vectors).filter(|(query, _)| query.language == memory.language).find_map(
        |(query, vectors)| {
            let vector = vectors.get(&memory.id)?;
            Some(query.calibrated(cosine(&query.vector, vector)))
        },
    ))
}

/// The conditions of recall that the memory does not meet. Its scope is none of them: what one may not see is not found.
fn failed(filter: &Filter, memory: &Memory) -> Vec<FailedFilter> {
    let mut failed = Vec::new();
    let mut say = |filter: &str, reason: String| failed.push(FailedFilter { filter: filter.to_owned(), reason });
    let at_any_time = Filter { now: None, as_of: AsOf { world: None, ..filter.as_of }, ..filter.clone() };
    if !at_any_time.matches(memory) && memory.status != Status::Active {
        let needed = match memory.status {
            Status::Superseded => "a newer one replaces it; include_superseded or as_of finds it",
            Status::Archived => "it was archived; memory_get reads it",
            Status::Quarantined | Status::Active => "it waits for a person",
        };
        say("status", format!("{}: {needed}", memory.status));
    }
    if let (Some(now), Some(end)) = (filter.now, memory.expires_at)
        && end <= now
    {
        say("expired", format!("not recalled since {end}"));
    }
    let asked = AsOf { world: filter.as_of.world.or(filter.now), ..filter.as_of };
    if !asked.holds(memory) {
        let bound = |time: Option<jiff::Timestamp>| time.map_or("always".to_owned(), |time| time.to_string());
        say("valid", format!("true from {} to {}", bound(memory.valid_from), bound(memory.valid_to)));
    }
    failed
}
