//! Bounded activation: what the seeds bring to mind through the graph.
//!
//! From each seed activation passes over typed, weighted edges to its neighbours; going over a shared concept is one hop
//! whose weight depends on the two roles and on how rare the concept is, so that hubs carry nothing. A neighbour's pull is
//! judged against what the seed leaves unanswered (the residual query). A memory takes the largest activation of any path,
//! not the sum, which drowns in hubs; that best product of weights is also the path that explains it.

use std::collections::HashMap;

use petgraph::{
    graph::{DiGraph, NodeIndex},
    visit::EdgeRef,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    domain::{Direction, Edge, EdgeKind, MemoryId},
    ports::Neighbourhood,
};

/// Weights of the walk; `[read.activation]` in `config.default.toml` explains each.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each key has its sentence in config.default.toml")]
pub struct ActivationWeights {
    pub seeds: usize,
    pub gain: f32,
    pub defines: f32,
    pub described: f32,
    pub same_subject: f32,
    pub both_mention: f32,
    pub rarity_floor: f32,
    pub hub_share: f32,
    pub same_session: f32,
    pub session_turns: u64,
    pub same_task: f32,
    pub causes: f32,
    pub supersedes: f32,
    pub supplements: f32,
    pub derived_from: f32,
    pub further_hop: f32,
    pub residual: f32,
    pub residual_floor: f32,
}

/// What a walk needs to know.
pub struct Walk<'a> {
    /// The bounded, visible graph around the seeds.
    pub graph: &'a Neighbourhood,
    /// Where activation starts, with its strength 0..=1.
    pub seeds: &'a [(MemoryId, f32)],
    /// Hops between memories.
    pub depth: u32,
    /// Way along directed edges.
    pub direction: Direction,
    /// Similarity, 0..=1, of a memory to what a seed leaves unanswered of the query; `None` where it is not known.
    pub unanswered: &'a (dyn Fn(MemoryId, MemoryId) -> Option<f32> + Sync),
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Node it leaves.
    pub from: Uuid,
    /// Edge it takes.
    pub kind: EdgeKind,
    /// Whether the edge is followed against its direction.
    pub reversed: bool,
    /// Node it reaches.
    pub to: Uuid,
    /// Share of activation that passes.
    pub weight: f32,
}

/// A memory that activation reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Activated {
    /// Strength of the best path times the pull, 0..=1 times the seed's strength.
    pub activation: f32,
    /// Where that path started.
    pub seed: MemoryId,
    /// Hops between memories.
    pub distance: u32,
    /// The path.
    pub path: Vec<Step>,
}

/// A way from one memory to another in one hop.
struct Link {
    weight: f32,
    steps: Vec<Step>,
}

/// Memories beyond the first hop are followed on only from this many, the strongest.
const FRONTIER: usize = 32;

/// Spreads activation from the seeds. Seeds can be reached from other seeds.
pub fn activate(walk: &Walk<'_>, weights: &ActivationWeights) -> HashMap<MemoryId, Activated> {
    let graph = links(walk, weights);
    let places: HashMap<MemoryId, NodeIndex> = graph.node_indices().map(|place| (graph[place], place)).collect();
    let mut reached: HashMap<MemoryId, Activated> = HashMap::new();
    for (seed, strength) in walk.seeds {
        let Some(start) = places.get(seed) else { continue };
        let mut best: HashMap<NodeIndex, (f32, u32, Vec<Step>)> = HashMap::from([(*start, (1.0, 0, Vec::new()))]);
        let mut frontier = vec![*start];
        for hop in 1..=walk.depth {
            let damping = if hop == 1 { 1.0 } else { weights.further_hop };
            let mut next: HashMap<NodeIndex, f32> = HashMap::new();
            for place in frontier {
                let (carried, _, path) = best[&place].clone();
                for edge in graph.edges(place) {
                    let passed = carried * damping * edge.weight().weight;
                    if passed > 0.0 && best.get(&edge.target()).is_none_or(|(known, ..)| passed > *known) {
                        let path = path.iter().chain(&edge.weight().steps).cloned().collect();
                        best.insert(edge.target(), (passed, hop, path));
                        next.insert(edge.target(), passed);
                    }
                }
            }
            let mut strongest: Vec<(NodeIndex, f32)> = next.into_iter().collect();
            strongest.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            strongest.truncate(FRONTIER);
            frontier = strongest.into_iter().map(|(place, _)| place).collect();
        }
        for (place, (passed, distance, path)) in best.into_iter().filter(|(place, _)| place != start) {
            let id = graph[place];
            let pull = (walk.unanswered)(*seed, id)
                .map_or(1.0, |similarity| weights.residual_floor + (1.0 - weights.residual_floor) * similarity);
            let activation = strength * passed * pull;
            if reached.get(&id).is_none_or(|known| activation > known.activation) {
                reached.insert(id, Activated { activation, seed: *seed, distance, path });
            }
        }
    }
    reached
}

/// The graph of memories with one link for each way over an edge or a shared concept.
fn links(walk: &Walk<'_>, weights: &ActivationWeights) -> DiGraph<MemoryId, Link> {
    let neighbourhood = walk.graph;
    let mut graph = DiGraph::new();
    let places: HashMap<Uuid, NodeIndex> =
        neighbourhood.nodes.iter().map(|node| (node.id.0, graph.add_node(node.id))).collect();
    let mut members: HashMap<Uuid, Vec<&Edge>> = HashMap::new();
    for edge in &neighbourhood.edges {
        if edge.kind.to_concept() {
            members.entry(edge.to).or_default().push(edge);
            continue;
        }
        let (Some(from), Some(to)) = (places.get(&edge.from), places.get(&edge.to)) else { continue };
        let weight = edge.weight * direct(edge.kind, weights);
        let mut add = |start: NodeIndex, end: NodeIndex, reversed: bool| {
            let (from, to) = if reversed { (edge.to, edge.from) } else { (edge.from, edge.to) };
            graph.add_edge(start, end, Link { weight, steps: vec![Step { from, kind: edge.kind, reversed, to, weight }] });
        };
        if walk.direction != Direction::In {
            add(*from, *to, false);
        }
        if walk.direction != Direction::Out {
            add(*to, *from, true);
        }
    }
    let uses: HashMap<Uuid, usize> =
        neighbourhood.concepts.iter().map(|used| (used.concept.id.0, used.uses)).collect();
    let seeds: Vec<Uuid> = walk.seeds.iter().map(|(seed, _)| seed.0).collect();
    for (concept, edges) in members {
        let rarity = rarity(uses.get(&concept).copied().unwrap_or(edges.len()), neighbourhood.total_memories);
        let hub = uses.get(&concept).copied().unwrap_or(edges.len()) as f32
            > weights.hub_share * neighbourhood.total_memories as f32;
        // Quadratic only in the seeds; beyond the first hop concepts are left by their subject alone.
        for out in edges.iter().filter(|edge| seeds.contains(&edge.from) || edge.kind == EdgeKind::Mentions) {
            for back in edges.iter().filter(|edge| edge.from != out.from) {
                if !seeds.contains(&out.from) && back.kind != EdgeKind::About {
                    continue;
                }
                let Some(weight) = over_concept(out.kind, back.kind, rarity, hub, weights) else { continue };
                let (Some(start), Some(end)) = (places.get(&out.from), places.get(&back.from)) else { continue };
                let steps = vec![
                    Step { from: out.from, kind: out.kind, reversed: false, to: concept, weight },
                    Step { from: concept, kind: back.kind, reversed: true, to: back.from, weight: 1.0 },
                ];
                graph.add_edge(*start, *end, Link { weight: weight * out.weight * back.weight, steps });
            }
        }
    }
    session_links(walk, weights, &mut graph, &places);
    graph
}

/// Turns of the same session near a seed: the nearer, the stronger.
fn session_links(
    walk: &Walk<'_>,
    weights: &ActivationWeights,
    graph: &mut DiGraph<MemoryId, Link>,
    places: &HashMap<Uuid, NodeIndex>,
) {
    let sessions: HashMap<MemoryId, (&(String, String), u64)> = walk
        .graph
        .nodes
        .iter()
        .filter_map(|node| Some((node.id, (node.session.as_ref()?, node.session_position?))))
        .collect();
    for (seed, _) in walk.seeds {
        let Some((session, position)) = sessions.get(seed) else { continue };
        for (other, (other_session, other_position)) in &sessions {
            let turns = position.abs_diff(*other_position);
            if other_session != session || turns == 0 || turns > weights.session_turns {
                continue;
            }
            let (Some(start), Some(end)) = (places.get(&seed.0), places.get(&other.0)) else { continue };
            let weight = weights.same_session / turns as f32;
            let reversed = other_position > position;
            let steps = vec![Step { from: seed.0, kind: EdgeKind::SameSession, reversed, to: other.0, weight }];
            graph.add_edge(*start, *end, Link { weight, steps });
        }
    }
}

fn direct(kind: EdgeKind, weights: &ActivationWeights) -> f32 {
    match kind {
        EdgeKind::SameTask => weights.same_task,
        EdgeKind::Causes => weights.causes,
        EdgeKind::Supersedes | EdgeKind::Contradicts => weights.supersedes,
        EdgeKind::Supplements => weights.supplements,
        EdgeKind::DerivedFrom => weights.derived_from,
        // Sessions are weighed by distance in turns; concepts by their roles.
        EdgeKind::SameSession | EdgeKind::About | EdgeKind::Mentions | EdgeKind::Broader | EdgeKind::Related => 0.0,
    }
}

/// What passes from a memory over a concept to another: by the roles of both, and by rarity. Hubs pass only to the memory
/// that is about them.
fn over_concept(out: EdgeKind, back: EdgeKind, rarity: f32, hub: bool, weights: &ActivationWeights) -> Option<f32> {
    match (out, back) {
        (EdgeKind::Mentions, EdgeKind::About) => Some(weights.defines * rarity.max(weights.rarity_floor)),
        (EdgeKind::About, EdgeKind::About) => Some(weights.same_subject * rarity.max(weights.rarity_floor)),
        _ if hub => None,
        (EdgeKind::About, EdgeKind::Mentions) => Some(weights.described * rarity),
        (EdgeKind::Mentions, EdgeKind::Mentions) => Some(weights.both_mention * rarity),
        _ => None,
    }
}

/// Inverse document frequency of a concept, scaled to 0..=1: 1 for one that a single memory names, 0 for one that all do.
fn rarity(uses: usize, total: usize) -> f32 {
    let total = total.max(2) as f32;
    (1.0 - (uses.max(1) as f32).ln() / total.ln()).clamp(0.0, 1.0)
}
