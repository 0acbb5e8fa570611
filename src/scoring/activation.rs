//! Bounded activation: what the seeds bring to mind through the graph.
//!
//! From each seed activation passes over typed, weighted edges to its neighbours; going over a shared concept is one hop
//! whose weight depends on the two roles and on how rare the concept is, so that hubs carry nothing. A neighbour's pull is
//! judged against what the seed leaves unanswered (the residual query). A memory takes the largest activation of any path,
//! not the sum, which drowns in hubs; that best product of weights is also the path that explains it.

use std::collections::{HashMap, HashSet};

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
    pub rarity_floor: f32,
    pub same_subject: f32,
    pub described: f32,
    pub both_mention: f32,
    pub hub_share: f32,
    pub hub_floor: usize,
    pub same_session: f32,
    pub session_turns: u64,
    pub same_task: f32,
    pub causes: f32,
    pub supersedes: f32,
    pub supplements: f32,
    pub similar: f32,
    pub derived_from: f32,
    pub broader: f32,
    pub further_hop: f32,
    pub residual: f32,
    pub ask: f32,
    pub pull_floor: f32,
}

impl ActivationWeights {
    /// Uses of a concept above which it is a hub among `total` memories.
    pub fn max_concept_uses(&self, total: usize) -> usize {
        self.hub_floor.max((self.hub_share * total as f32) as usize)
    }
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
    /// Whether turns of a session are reached by their distance.
    pub sessions: bool,
    /// Product of a memory (second) with what a seed (first) leaves unanswered of the query, on any scale; `None` where it
    /// is not known.
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
    /// Strength of the seed times the best path times the pull.
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
        best.remove(start);
        // Scaled among the neighbours of this seed: what matters is which of them answers best what the seed left open.
        let left: HashMap<NodeIndex, f32> =
            best.keys().filter_map(|place| Some((*place, (walk.unanswered)(*seed, graph[*place])?))).collect();
        let (low, high) =
            left.values().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
        for (place, (passed, distance, path)) in best {
            let id = graph[place];
            let answers = match left.get(&place) {
                Some(x) if high > low => (x - low) / (high - low),
                _ => 1.0,
            };
            let activation = strength * passed * (weights.pull_floor + (1.0 - weights.pull_floor) * answers);
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
    let mut joined: HashMap<Uuid, Vec<(&Edge, bool)>> = HashMap::new();
    for edge in &neighbourhood.edges {
        if edge.kind.to_concept() {
            members.entry(edge.to).or_default().push(edge);
            continue;
        }
        if edge.kind.between_concepts() {
            joined.entry(edge.from).or_default().push((edge, false));
            joined.entry(edge.to).or_default().push((edge, true));
            continue;
        }
        let (Some(from), Some(to)) = (places.get(&edge.from), places.get(&edge.to)) else { continue };
        let weight = edge.weight * direct(edge, weights);
        let mut add = |start: NodeIndex, end: NodeIndex, reversed: bool| {
            let (from, to) = if reversed { (edge.to, edge.from) } else { (edge.from, edge.to) };
            graph.add_edge(
                start,
                end,
                Link { weight, steps: vec![Step { from, kind: edge.kind, reversed, to, weight }] },
            );
        };
        if walk.direction != Direction::In {
            add(*from, *to, false);
        }
        if walk.direction != Direction::Out {
            add(*to, *from, true);
        }
    }
    let total = neighbourhood.total_memories;
    let seeds: HashSet<Uuid> = walk.seeds.iter().map(|(seed, _)| seed.0).collect();
    for used in &neighbourhood.concepts {
        let concept = used.concept.id.0;
        let Some(edges) = members.get(&concept) else { continue };
        let hub = used.uses > weights.max_concept_uses(total);
        let passes = |out: EdgeKind, back: EdgeKind| match (out, back) {
            (EdgeKind::Mentions, EdgeKind::About) => {
                weights.defines * rarity(used.uses, total).max(weights.rarity_floor)
            }
            (EdgeKind::About, EdgeKind::About) => weights.same_subject * rarity(used.about, total),
            (EdgeKind::About, EdgeKind::Mentions) if !hub => weights.described * rarity(used.uses, total),
            (EdgeKind::Mentions, EdgeKind::Mentions) if !hub => weights.both_mention * rarity(used.uses, total),
            _ => 0.0,
        };
        for out in edges {
            for back in edges.iter().filter(|back| back.from != out.from) {
                // Beyond the first hop a concept is left by its subject alone, so that the pairs stay few.
                if !seeds.contains(&out.from) && back.kind != EdgeKind::About {
                    continue;
                }
                let weight = passes(out.kind, back.kind) * out.weight * back.weight;
                let (Some(start), Some(end)) = (places.get(&out.from), places.get(&back.from)) else { continue };
                if weight > 0.0 {
                    let steps = vec![
                        Step { from: out.from, kind: out.kind, reversed: false, to: concept, weight },
                        Step { from: concept, kind: back.kind, reversed: true, to: back.from, weight: 1.0 },
                    ];
                    graph.add_edge(*start, *end, Link { weight, steps });
                }
            }
        }
    }
    if !joined.is_empty() {
        concept_links(walk, weights, &mut graph, &places, &members, &joined);
    }
    if walk.sessions {
        session_links(walk, weights, &mut graph, &places);
    }
    graph
}

/// Steps from concept to concept on one way between two memories.
const CONCEPT_STEPS: usize = 2;

/// Ways from a memory over two concepts that an ontology joins: the broader, the narrower, the related, or another below the
/// same. Each step damps; so does how common the second concept is, since a hub leads anywhere.
fn concept_links(
    walk: &Walk<'_>,
    weights: &ActivationWeights,
    graph: &mut DiGraph<MemoryId, Link>,
    places: &HashMap<Uuid, NodeIndex>,
    members: &HashMap<Uuid, Vec<&Edge>>,
    joined: &HashMap<Uuid, Vec<(&Edge, bool)>>,
) {
    let total = walk.graph.total_memories;
    let uses: HashMap<Uuid, usize> = walk.graph.concepts.iter().map(|used| (used.concept.id.0, used.uses)).collect();
    for (concept, out_edges) in members {
        let mut reached: HashMap<Uuid, (f32, Vec<Step>)> = HashMap::from([(*concept, (1.0, Vec::new()))]);
        let mut frontier = vec![*concept];
        for _ in 0..CONCEPT_STEPS {
            let mut next = Vec::new();
            for from in frontier {
                let (carried, path) = reached[&from].clone();
                for (edge, reversed) in joined.get(&from).into_iter().flatten() {
                    let to = if *reversed { edge.from } else { edge.to };
                    let weight = weights.broader * edge.weight;
                    if weight <= 0.0 || reached.contains_key(&to) {
                        continue;
                    }
                    let step = Step { from, kind: edge.kind, reversed: *reversed, to, weight };
                    reached.insert(to, (carried * weight, path.iter().cloned().chain([step]).collect()));
                    next.push(to);
                }
            }
            frontier = next;
        }
        reached.remove(concept);
        for (other, (carried, path)) in &reached {
            let Some(back_edges) = members.get(other) else { continue };
            let used = uses.get(other).copied().unwrap_or(1);
            let carried = carried * rarity(used, total);
            for out in out_edges {
                let from_seed = walk.seeds.iter().any(|(seed, _)| seed.0 == out.from);
                let back_edges = back_edges.iter().filter(|back| back.from != out.from);
                for back in back_edges.filter(|back| from_seed || back.kind == EdgeKind::About) {
                    let weight = carried * out.weight * back.weight;
                    let (Some(start), Some(end)) = (places.get(&out.from), places.get(&back.from)) else { continue };
                    if weight <= 0.0 {
                        continue;
                    }
                    let first = Step { from: out.from, kind: out.kind, reversed: false, to: *concept, weight };
                    let last = Step { from: *other, kind: back.kind, reversed: true, to: back.from, weight: 1.0 };
                    let steps = std::iter::once(first).chain(path.iter().cloned()).chain([last]).collect();
                    graph.add_edge(*start, *end, Link { weight, steps });
                }
            }
        }
    }
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
            if walk.direction == if reversed { Direction::Out } else { Direction::In } {
                continue;
            }
            let steps = vec![Step { from: seed.0, kind: EdgeKind::SameSession, reversed, to: other.0, weight }];
            graph.add_edge(*start, *end, Link { weight, steps });
        }
    }
}

fn direct(edge: &Edge, weights: &ActivationWeights) -> f32 {
    match edge.kind {
        EdgeKind::SameTask => weights.same_task,
        EdgeKind::Causes => weights.causes,
        EdgeKind::Supersedes | EdgeKind::Contradicts => weights.supersedes,
        EdgeKind::Supplements if edge.reason.as_deref() == Some(Edge::SIMILAR) => weights.similar,
        EdgeKind::Supplements => weights.supplements,
        EdgeKind::DerivedFrom => weights.derived_from,
        // Sessions are weighed by distance in turns; concepts by their roles.
        EdgeKind::SameSession | EdgeKind::About | EdgeKind::Mentions | EdgeKind::Broader | EdgeKind::Related => 0.0,
    }
}

/// Inverse document frequency of a concept, scaled to 0..=1: 1 for one that a single memory names, 0 for one that all do.
pub fn rarity(uses: usize, total: usize) -> f32 {
    (1.0 - (uses.max(1) as f32).ln() / (total.max(2) as f32).ln()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{Concept, ConceptKey, Scope},
        ports::{ConceptUse, NodeRef},
    };

    fn weights() -> ActivationWeights {
        ActivationWeights {
            seeds: 5,
            gain: 1.25,
            defines: 1.0,
            rarity_floor: 0.6,
            same_subject: 1.3,
            described: 0.4,
            both_mention: 0.3,
            hub_share: 0.02,
            hub_floor: 5,
            same_session: 0.12,
            session_turns: 3,
            same_task: 0.3,
            causes: 0.6,
            supersedes: 0.3,
            supplements: 0.3,
            similar: 0.0,
            derived_from: 0.3,
            broader: 0.5,
            further_hop: 0.5,
            residual: 0.5,
            ask: 1.0,
            pull_floor: 0.5,
        }
    }

    fn id(n: u128) -> MemoryId {
        MemoryId(Uuid::from_u128(n))
    }

    fn node(n: u128, position: Option<u64>) -> NodeRef {
        let session = position.map(|_| ("private:a".to_owned(), "s".to_owned()));
        NodeRef { id: id(n), distance: 0, session, session_position: position }
    }

    fn edge(from: Uuid, kind: EdgeKind, to: Uuid) -> Edge {
        let recorded_at = jiff::Timestamp::UNIX_EPOCH;
        Edge { from, to, kind, weight: 1.0, reason: None, scope: Scope::Global, recorded_at }
    }

    fn concept(label: &str, uses: usize, about: usize) -> ConceptUse {
        let concept = Concept::from_text(ConceptKey(label.to_owned()), label.to_owned());
        ConceptUse { concept, uses, about }
    }

    fn walk(graph: &Neighbourhood, depth: u32, direction: Direction) -> HashMap<MemoryId, Activated> {
        let seeds = [(id(1), 1.0)];
        let unanswered = |_: MemoryId, _: MemoryId| None;
        activate(&Walk { graph, seeds: &seeds, depth, direction, sessions: true, unanswered: &unanswered }, &weights())
    }

    #[test]
    fn a_mention_leads_to_the_memory_that_is_about_it_and_says_so() {
        let used = concept("stripe", 2, 1);
        let to = used.concept.id.0;
        let graph = Neighbourhood {
            nodes: vec![node(1, None), node(2, None)],
            edges: vec![edge(id(1).0, EdgeKind::Mentions, to), edge(id(2).0, EdgeKind::About, to)],
            concepts: vec![used],
            total_memories: 100,
            truncated: false,
        };
        let reached = &walk(&graph, 1, Direction::Both)[&id(2)];
        assert!((reached.activation - rarity(2, 100)).abs() < 1e-6, "{reached:?}");
        let kinds: Vec<(EdgeKind, bool)> = reached.path.iter().map(|step| (step.kind, step.reversed)).collect();
        assert_eq!(kinds, [(EdgeKind::Mentions, false), (EdgeKind::About, true)]);
    }

    #[test]
    fn a_hub_leads_to_its_subject_and_to_nobody_else() {
        let used = concept("monday", 60, 1);
        let to = used.concept.id.0;
        let graph = Neighbourhood {
            nodes: vec![node(1, None), node(2, None), node(3, None)],
            edges: vec![
                edge(id(1).0, EdgeKind::Mentions, to),
                edge(id(2).0, EdgeKind::Mentions, to),
                edge(id(3).0, EdgeKind::About, to),
            ],
            concepts: vec![used],
            total_memories: 100,
            truncated: false,
        };
        let reached = walk(&graph, 1, Direction::Both);
        assert_eq!(reached.keys().copied().collect::<Vec<_>>(), [id(3)]);
        assert!((reached[&id(3)].activation - 0.6).abs() < 1e-6, "the floor of a definition");
    }

    #[test]
    fn nearer_turns_are_stronger_and_directions_are_kept() {
        let graph = Neighbourhood {
            nodes: vec![node(1, Some(5)), node(2, Some(4)), node(3, Some(7)), node(4, Some(9))],
            total_memories: 4,
            ..Neighbourhood::default()
        };
        let both = walk(&graph, 1, Direction::Both);
        assert!(both[&id(2)].activation > both[&id(3)].activation);
        assert!(!both.contains_key(&id(4)), "four turns away");
        assert_eq!(walk(&graph, 1, Direction::Out).keys().copied().collect::<Vec<_>>(), [id(2)]);
        assert_eq!(walk(&graph, 1, Direction::In).keys().copied().collect::<Vec<_>>(), [id(3)]);
    }

    #[test]
    fn causes_are_followed_hop_by_hop_with_damping() {
        let graph = Neighbourhood {
            nodes: vec![node(1, None), node(2, None), node(3, None)],
            edges: vec![edge(id(1).0, EdgeKind::Causes, id(2).0), edge(id(2).0, EdgeKind::Causes, id(3).0)],
            total_memories: 3,
            ..Neighbourhood::default()
        };
        assert!(!walk(&graph, 1, Direction::Both).contains_key(&id(3)));
        let two = walk(&graph, 2, Direction::Both);
        assert_eq!((two[&id(3)].distance, two[&id(3)].path.len()), (2, 2));
        assert!((two[&id(3)].activation - 0.6 * 0.6 * 0.5).abs() < 1e-6);
        assert!(walk(&graph, 2, Direction::In).is_empty(), "effects are not upstream");
    }

    #[test]
    fn the_neighbour_that_answers_what_is_left_open_pulls_more() {
        let graph = Neighbourhood {
            nodes: vec![node(1, None), node(2, None), node(3, None)],
            edges: vec![edge(id(1).0, EdgeKind::Causes, id(2).0), edge(id(1).0, EdgeKind::Causes, id(3).0)],
            total_memories: 3,
            ..Neighbourhood::default()
        };
        let seeds = [(id(1), 1.0)];
        let unanswered = |_: MemoryId, node: MemoryId| Some(if node == id(3) { 0.9 } else { 0.1 });
        let walk = Walk {
            graph: &graph,
            seeds: &seeds,
            depth: 1,
            direction: Direction::Both,
            sessions: true,
            unanswered: &unanswered,
        };
        let reached = activate(&walk, &weights());
        assert!((reached[&id(3)].activation - 2.0 * reached[&id(2)].activation).abs() < 1e-6, "{reached:?}");
    }
}
