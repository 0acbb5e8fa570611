//! Associates: what a question, or given memories, bring to mind through the graph, with the path to each.

use std::collections::{BTreeMap, HashMap};

use tokio::time::Instant;

use super::{
    AssociateReply, AssociateRequest, AssociatedItem, Mode, ReadContext, RecallItem, Seed, Subgraph, SubgraphEdge,
    SubgraphNode,
    candidates::{Arms, Candidates, candidates, deadline, in_time, no_arm},
    cursor::Cursor,
    expand::{ALL_EDGES, Expanded, Expansion, expand, path_steps},
    rank::{Order, items},
    recall::{fused, seeds},
    render,
};
use crate::{
    domain::{AsOf, Caller, Direction, EdgeKind, Filter, MemoryId, Right, Visibility},
    error::Error,
    input,
    ports::PortError,
};

/// Items of an answer when no limit is given.
const DEFAULT_LIMIT: i64 = 10;
/// Hops when no depth is given, and at most.
const DEFAULT_DEPTH: i64 = 2;
const MAX_DEPTH: usize = 4;
/// Ids to start from at most.
const MAX_IDS: usize = 20;

/// Walks the graph from what answers the query, or from the given memories, by the deadline. The given memories, and the best
/// match, are not among the items.
pub async fn associate(ctx: &ReadContext, caller: &Caller, request: AssociateRequest) -> Result<AssociateReply, Error> {
    in_time(ctx, answer(ctx, caller, request)).await
}

async fn answer(ctx: &ReadContext, caller: &Caller, request: AssociateRequest) -> Result<AssociateReply, Error> {
    let started = Instant::now();
    input::require(caller, Right::MemoryRead)?;
    let cursor = {
        let question = AssociateRequest { cursor: None, ..request.clone() };
        Cursor::of(request.cursor.as_deref(), &question, ctx.clock.now())?
    };
    let limit = input::count("limit", request.limit.unwrap_or(DEFAULT_LIMIT), ctx.settings.max_limit)?;
    let depth = input::count("depth", request.depth.unwrap_or(DEFAULT_DEPTH), MAX_DEPTH)?;
    let mut edges: Vec<EdgeKind> = input::names("edges", &request.edges)?;
    if edges.is_empty() {
        edges = ALL_EDGES.to_vec();
    }
    let direction = match request.direction.as_deref() {
        None | Some("both") => Direction::Both,
        Some("out") => Direction::Out,
        Some("in") => Direction::In,
        Some(_) => return Err(Error::bad_input("direction", "unknown value, expected one of out, in, both")),
    };
    let as_of = AsOf {
        world: input::optional_time("as_of", request.as_of.as_deref())?,
        known: input::optional_time("known_at", request.known_at.as_deref())?,
    };
    let now = as_of.known.unwrap_or(cursor.now());
    let filter = Filter { as_of, now: Some(now), ..Filter::default() };
    let visibility = caller.visibility();
    let deadline = deadline(ctx);
    let ids = input::memory_ids("ids", &request.ids, MAX_IDS)?;
    let (found, mut evidence, seeds) = match (request.query, ids.is_empty()) {
        (Some(query), true) => {
            let query = input::text("query", query, ctx.settings.max_query_bytes)?;
            let arms = Arms::of_a_question(&ctx.settings, true);
            let found = candidates(ctx, &query, arms, &filter, &visibility, deadline).await;
            if !found.answered {
                return Err(no_arm());
            }
            let evidence = fused(ctx, Mode::Hybrid, &found);
            let seeds = seeds(&evidence, ctx.settings.activation.seeds);
            (found, evidence, seeds)
        }
        (None, false) => {
            let found = from_memories(ctx, &ids, as_of, &visibility).await?;
            (found, HashMap::new(), ids.iter().map(|id| (*id, 1.0)).collect())
        }
        _ => return Err(Error::bad_input("query", "either query or ids is needed, not both")),
    };
    let expansion = Expansion {
        seeds: seeds.clone(),
        depth: u32::try_from(depth).expect("at most four"),
        edges,
        direction,
        filter: &filter,
        visibility: &visibility,
        total: found.total,
        deadline,
    };
    let expanded = expand(ctx, &found.queries, &expansion).await;
    evidence.retain(|id, _| expanded.reached.contains_key(id));
    for (id, reached) in &expanded.reached {
        let entry = evidence.entry(*id).or_default();
        entry.semantic = entry.semantic.or(expanded.similarity.get(id).copied());
        // What the graph brings leads; how well it answers by itself decides among equals.
        entry.relevance += ctx.settings.activation.gain * reached.activation;
        entry.activation = Some(reached.activation);
    }
    // Where one starts is no answer: the memories asked for, or the best match. Another match is one, if a seed leads to it.
    let starts = if ids.is_empty() { &seeds[..seeds.len().min(1)] } else { &seeds[..] };
    for (start, _) in starts {
        evidence.remove(start);
    }
    let order = Order { terms: &found.terms, filter: &filter, now, limit, offset: cursor.offset, min_score: None };
    let (items, mut more) = items(ctx, evidence, &order, &visibility).await?;
    let explain = request.explain.unwrap_or(true);
    let mut items: Vec<AssociatedItem> = items
        .into_iter()
        .map(|item| {
            let reached = &expanded.reached[&input::memory_id("id", &item.id).expect("an id of ours is an id")];
            let item = if explain { item } else { RecallItem { why: None, ..item } };
            let path = if explain { path_steps(&reached.path, &expanded.neighbourhood) } else { Vec::new() };
            AssociatedItem { item, distance: i64::from(reached.distance), path }
        })
        .collect();
    // Another part is for the subgraph, which repeats the paths.
    more |= render::fit(&mut items, ctx.settings.answer_tokens / 3 * 2);
    let subgraph =
        if explain { subgraph(ctx, &items, &seeds, &expanded, as_of, &visibility).await? } else { Subgraph::default() };
    let mut degraded = found.degraded;
    degraded.extend(expanded.degraded);
    Ok(AssociateReply {
        seeds: seeds.iter().map(|(id, score)| Seed { id: id.to_string(), score: *score }).collect(),
        subgraph,
        cursor: more.then(|| cursor.after(items.len())),
        items,
        degraded,
        took_ms: started.elapsed().as_micros() as f64 / 1000.0,
    })
}

/// Checks that the given memories are the caller's to see. There is no query, so nothing is left unanswered either.
async fn from_memories<'a>(
    ctx: &'a ReadContext,
    ids: &[MemoryId],
    as_of: AsOf,
    visibility: &Visibility,
) -> Result<Candidates<'a>, Error> {
    let memories = ctx.graph.memories(ids, as_of, visibility).await?;
    if ids.iter().any(|id| !memories.iter().any(|memory| memory.id == *id)) {
        return Err(Error::not_found("ids"));
    }
    Ok(Candidates { total: ctx.graph.total_memories(visibility).await?, ..Candidates::default() })
}

async fn subgraph(
    ctx: &ReadContext,
    items: &[AssociatedItem],
    seeds: &[(MemoryId, f32)],
    expanded: &Expanded,
    as_of: AsOf,
    visibility: &Visibility,
) -> Result<Subgraph, PortError> {
    let steps = || items.iter().flat_map(|item| &item.path);
    let mut nodes: BTreeMap<String, SubgraphNode> = BTreeMap::new();
    for used in &expanded.neighbourhood.concepts {
        let id = used.concept.id.to_string();
        if steps().any(|step| step.to == id) {
            let node = SubgraphNode { id: id.clone(), r#type: "concept".into(), label: used.concept.label.clone() };
            nodes.insert(id, node);
        }
    }
    let mut memories: Vec<MemoryId> = seeds.iter().map(|(id, _)| *id).collect();
    for step in steps() {
        memories.extend(
            [&step.from, &step.to]
                .into_iter()
                .filter(|id| !nodes.contains_key(*id))
                .filter_map(|id| id.parse::<MemoryId>().ok()),
        );
    }
    memories.sort_unstable();
    memories.dedup();
    for memory in ctx.graph.memories(&memories, as_of, visibility).await? {
        let id = memory.id.to_string();
        nodes.insert(id.clone(), SubgraphNode { id, r#type: "memory".into(), label: memory.summary });
    }
    let mut edges: Vec<SubgraphEdge> = steps()
        .map(|step| match step.edge.strip_prefix('<') {
            Some(edge) => SubgraphEdge { from: step.to.clone(), to: step.from.clone(), edge: edge.to_owned() },
            None => SubgraphEdge { from: step.from.clone(), to: step.to.clone(), edge: step.edge.clone() },
        })
        .collect();
    edges.sort_by(|a, b| (&a.from, &a.to, &a.edge).cmp(&(&b.from, &b.to, &b.edge)));
    edges.dedup();
    Ok(Subgraph { nodes: nodes.into_values().collect(), edges, truncated: expanded.neighbourhood.truncated })
}
