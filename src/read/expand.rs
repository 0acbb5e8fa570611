//! From the best candidates through the graph: fetches the neighbourhood and the vectors of its members, and lets
//! `scoring` spread activation over it.

use std::collections::HashMap;

use super::{
    Degraded, PathStep, ReadContext,
    candidates::{GRAPH, QueryVector, VECTORS, by_deadline, vectors_of},
};
use crate::{
    domain::{Direction, EdgeKind, Filter, MemoryId, Visibility, cosine},
    ports::{Neighbourhood, NeighbourhoodQuery},
    scoring::{Activated, Step, Walk, activate},
    telemetry::timed,
};
use tokio::time::Instant;

/// Where to walk.
pub(super) struct Expansion<'a> {
    /// Seeds with their strength, 0..=1.
    pub seeds: Vec<(MemoryId, f32)>,
    pub depth: u32,
    pub edges: Vec<EdgeKind>,
    pub direction: Direction,
    pub filter: &'a Filter,
    pub visibility: &'a Visibility,
    /// Memories that the caller sees.
    pub total: usize,
    pub deadline: Instant,
}

/// What the walk found.
#[derive(Default)]
pub(super) struct Expanded {
    pub reached: HashMap<MemoryId, Activated>,
    pub neighbourhood: Neighbourhood,
    /// Raw cosine of the query with each member of the neighbourhood, calibrated and not clamped.
    pub similarity: HashMap<MemoryId, f32>,
    pub degraded: Vec<Degraded>,
}

/// Every kind of edge that a walk follows unless told otherwise.
pub(super) const ALL_EDGES: [EdgeKind; 11] = [
    EdgeKind::SameSession,
    EdgeKind::SameTask,
    EdgeKind::Supersedes,
    EdgeKind::Causes,
    EdgeKind::Supplements,
    EdgeKind::DerivedFrom,
    EdgeKind::Contradicts,
    EdgeKind::About,
    EdgeKind::Mentions,
    EdgeKind::Broader,
    EdgeKind::Related,
];

pub(super) async fn expand(ctx: &ReadContext, queries: &[QueryVector<'_>], expansion: &Expansion<'_>) -> Expanded {
    let settings = &ctx.settings;
    let Expansion { seeds, depth, edges, direction, filter, visibility, total, deadline } = expansion;
    let weights = &settings.activation;
    let query = NeighbourhoodQuery {
        seeds: seeds.iter().map(|(id, _)| *id).collect(),
        depth: *depth,
        max_nodes: settings.max_nodes,
        edges: edges.clone(),
        direction: *direction,
        max_concept_uses: weights.max_concept_uses(*total),
        filter: (*filter).clone(),
    };
    let mut expanded = Expanded::default();
    let neighbourhood = timed("neighbourhood", ctx.graph.neighbourhood(&query, visibility));
    expanded.neighbourhood = match by_deadline(*deadline, GRAPH, neighbourhood).await {
        Ok(neighbourhood) => neighbourhood,
        Err(missing) => {
            expanded.degraded.push(missing);
            return expanded;
        }
    };
    let ids: Vec<MemoryId> = expanded.neighbourhood.nodes.iter().map(|node| node.id).collect();
    let vectors = match by_deadline(*deadline, VECTORS, vectors_of(ctx, queries, &ids, visibility)).await {
        Ok(vectors) => vectors,
        Err(missing) => {
            expanded.degraded.push(missing);
            Vec::new()
        }
    };
    for (query, vectors) in queries.iter().zip(&vectors) {
        for (id, vector) in vectors {
            expanded.similarity.entry(*id).or_insert_with(|| query.calibrated(cosine(&query.vector, vector)));
        }
    }
    // What is left of q after a seed p is q - r (q.p) p; its product with t needs three cosines. Both ends must have a
    // vector in one space.
    let unanswered = |seed: MemoryId, node: MemoryId| -> Option<f32> {
        queries.iter().zip(&vectors).find_map(|(query, vectors)| {
            let (start, target) = (vectors.get(&seed)?, vectors.get(&node)?);
            let answered = weights.residual * cosine(&query.vector, start) * cosine(start, target);
            let ask = query.ask.as_ref().map_or(0.0, |ask| weights.ask * cosine(ask, target));
            Some(cosine(&query.vector, target) - answered + ask)
        })
    };
    let walk = Walk {
        graph: &expanded.neighbourhood,
        seeds,
        depth: *depth,
        direction: *direction,
        sessions: edges.contains(&EdgeKind::SameSession),
        unanswered: &unanswered,
    };
    expanded.reached = activate(&walk, weights);
    expanded
}

/// A path as the answer shows it.
pub(super) fn path_steps(steps: &[Step], neighbourhood: &Neighbourhood) -> Vec<PathStep> {
    steps
        .iter()
        .map(|step| PathStep {
            from: step.from.to_string(),
            edge: format!("{}{}", if step.reversed { "<" } else { "" }, step.kind),
            to: step.to.to_string(),
            label: neighbourhood
                .concepts
                .iter()
                .find(|used| used.concept.id.0 == step.to)
                .map(|used| used.concept.label.clone()),
            weight: step.weight,
        })
        .collect()
}
