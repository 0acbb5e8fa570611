//! The part of the graph around some memories, in one round trip: the statement walks, this file reads what it found.

use std::{collections::HashSet, iter};

use serde::Deserialize;
use uuid::Uuid;

use super::{
    ask::{ask, filter as filter_of, known as moment},
    connection::Connection,
    error::Neo4jError,
    read::concept,
    rows::{ids, limited, map, named, scope_of_key, size, texts, timestamp, uuid},
    statements::{NEIGHBOURHOOD, NEIGHBOURHOOD_THEN},
};
use crate::{
    domain::{Direction, Edge, EdgeKind, MemoryId, Visibility},
    ports::{ConceptUse, Neighbourhood, NeighbourhoodQuery, NodeRef},
};

/// Edges followed from one memory in one direction, and memories reached over one concept. A hub costs no more.
const FAN_OUT: i64 = 200;
/// Concepts that one hop reaches over edges between concepts.
const JOINED: i64 = 400;
/// Turns of a session on either side of a seed that count as one hop.
const TURNS: i64 = 3;

/// Place of the memory it leaves, kind, weight, reason, scope and time of an edge.
type Said = (i64, String, f64, Option<String>, String, i64);

/// Both ends, kind, weight, reason, scope and time of an edge between concepts.
type Join = (String, String, String, f64, Option<String>, String, i64);

/// The one row of the statement.
#[derive(Deserialize)]
struct Walk {
    nodes: Vec<(String, String, Option<String>, Option<i64>)>,
    ends: Vec<i64>,
    edges: Vec<(String, Vec<Said>)>,
    joined: Vec<Join>,
    concepts: Vec<(String, String, String, String, i64, i64)>,
    total: i64,
    truncated: bool,
}

pub(super) async fn neighbourhood(
    connection: &Connection,
    query: &NeighbourhoodQuery,
    visibility: &Visibility,
) -> Result<Neighbourhood, Neo4jError> {
    let among_memories = |kind: &&EdgeKind| !kind.to_concept() && !kind.between_concepts();
    let kinds = query.edges.iter().filter(among_memories).map(|kind| kind.name());
    let joins = query.edges.iter().filter(|kind| kind.between_concepts()).map(|kind| kind.name());
    let roles = query.edges.iter().filter(|kind| kind.to_concept()).map(|kind| kind.name());
    let turns = if query.edges.contains(&EdgeKind::SameSession) { TURNS } else { 0 };
    let asked = map([
        ("seeds", ids(query.seeds.iter().map(|id| id.0))),
        ("depth", i64::from(query.depth).into()),
        ("kinds", texts(kinds)),
        ("roles", texts(roles)),
        ("joins", texts(joins)),
        ("all", texts(query.edges.iter().filter(|kind| !kind.between_concepts()).map(|kind| kind.name()))),
        ("about", query.edges.contains(&EdgeKind::About).into()),
        ("mentions", query.edges.contains(&EdgeKind::Mentions).into()),
        ("out", (query.direction != Direction::In).into()),
        ("back", (query.direction != Direction::Out).into()),
        ("turns", turns.into()),
        ("max_uses", limited(query.max_concept_uses).into()),
    ]);
    let statement = if query.filter.as_of.known.is_some() { &NEIGHBOURHOOD_THEN } else { &NEIGHBOURHOOD };
    let mut call = ask(statement, visibility)
        .param("ask", asked)
        .param("room", limited(query.max_nodes.saturating_add(1)))
        .param("fan_out", FAN_OUT)
        .param("joined", JOINED)
        .param("filter", filter_of(&query.filter));
    if let Some(known) = query.filter.as_of.known {
        call = call.param("known", moment(known));
    }
    let walk = connection.read::<Walk>(call).await?.pop().ok_or(Neo4jError::Unreadable("walk"))?;
    walk.read()
}

impl Walk {
    fn read(self) -> Result<Neighbourhood, Neo4jError> {
        let ends: Vec<usize> = self.ends.iter().map(|end| size(*end)).collect();
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for (place, (id, visibility, session, position)) in self.nodes.into_iter().enumerate() {
            let distance = ends.iter().filter(|end| **end <= place).count();
            nodes.push(NodeRef {
                id: MemoryId(uuid(&id)?),
                distance: u32::try_from(distance).unwrap_or(u32::MAX),
                session: session.map(|session| (visibility, session)),
                session_position: position.map(i64::cast_unsigned),
            });
        }
        let mut concepts = Vec::with_capacity(self.concepts.len());
        for (id, key, label, origin, uses, about) in self.concepts {
            concepts.push(ConceptUse {
                concept: concept(&id, key, label, &origin)?,
                uses: size(uses),
                about: size(about),
            });
        }
        let told: HashSet<Uuid> =
            iter::chain(nodes.iter().map(|node| node.id.0), concepts.iter().map(|used| used.concept.id.0)).collect();
        let mut edges = Vec::new();
        for (to, said) in self.edges {
            let to = uuid(&to)?;
            // The statement also gives edges to concepts that lead nowhere.
            for (place, kind, weight, reason, visibility, recorded_at) in if told.contains(&to) { said } else { vec![] }
            {
                let from = usize::try_from(place).ok().and_then(|place| nodes.get(place));
                let from = from.ok_or(Neo4jError::Unreadable("place"))?.id.0;
                edges.push(edge(from, to, (kind, weight, reason, visibility, recorded_at))?);
            }
        }
        for (from, to, kind, weight, reason, visibility, recorded_at) in self.joined {
            let (from, to) = (uuid(&from)?, uuid(&to)?);
            if told.contains(&from) && told.contains(&to) {
                edges.push(edge(from, to, (kind, weight, reason, visibility, recorded_at))?);
            }
        }
        Ok(Neighbourhood { nodes, edges, concepts, total_memories: size(self.total), truncated: self.truncated })
    }
}

fn edge(
    from: Uuid,
    to: Uuid,
    (kind, weight, reason, visibility, recorded_at): (String, f64, Option<String>, String, i64),
) -> Result<Edge, Neo4jError> {
    Ok(Edge {
        from,
        to,
        kind: named(&kind)?,
        #[expect(clippy::cast_possible_truncation, reason = "written from an f32")]
        weight: weight as f32,
        reason,
        scope: scope_of_key(&visibility)?,
        recorded_at: timestamp(recorded_at)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cypher has no loop that could carry what was reached, so the hops are written out.
    #[test]
    fn further_hops_are_alike() {
        for statement in [&NEIGHBOURHOOD, &NEIGHBOURHOOD_THEN] {
            let query = statement.query();
            let text = query.query();
            let hop = |n: u32| {
                let from = text.split_once(&format!("// Hop {n}.\n")).expect("a hop").1;
                let hop = from.split("\n// ").next().expect("its text");
                hop.replace(&format!("$ask.depth >= {n}"), "$ask.depth").replace(&format!("hop: {n}"), "hop")
            };
            assert!(hop(2).contains("MATCH") && hop(2) == hop(3) && hop(3) == hop(4));
        }
    }
}
