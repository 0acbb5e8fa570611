//! The part of the graph around some memories, in one round trip: the statement walks, this file reads what it found.

use std::collections::HashMap;

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
/// Turns of a session on either side of a seed that count as one hop.
const TURNS: i64 = 3;

/// Other end, kind, weight, reason, scope and time of an edge.
type Said = (String, String, f64, Option<String>, String, i64);

/// The one row of the statement.
#[derive(Deserialize)]
struct Walk {
    nodes: Vec<(String, String, Option<String>, Option<i64>)>,
    ends: Vec<i64>,
    edges: Vec<(String, String, String, f64, Option<String>, String, i64)>,
    concepts: Vec<(String, String, String, String, Vec<Said>)>,
    uses: Vec<(String, i64, i64, i64)>,
    total: i64,
    truncated: bool,
}

pub(super) async fn neighbourhood(
    connection: &Connection,
    query: &NeighbourhoodQuery,
    visibility: &Visibility,
) -> Result<Neighbourhood, Neo4jError> {
    let kinds = query.edges.iter().filter(|kind| !kind.to_concept()).map(|kind| kind.name());
    let turns = if query.edges.contains(&EdgeKind::SameSession) { TURNS } else { 0 };
    let asked = map([
        ("seeds", ids(query.seeds.iter().map(|id| id.0))),
        ("depth", i64::from(query.depth).into()),
        ("kinds", texts(kinds)),
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
        let mut known: HashMap<String, Uuid> = HashMap::with_capacity(self.nodes.len());
        for (place, (id, visibility, session, position)) in self.nodes.into_iter().enumerate() {
            let uuid = uuid(&id)?;
            let distance = ends.iter().filter(|end| **end <= place).count();
            nodes.push(NodeRef {
                id: MemoryId(uuid),
                distance: u32::try_from(distance).unwrap_or(u32::MAX),
                session: session.map(|session| (visibility, session)),
                session_position: position.map(i64::cast_unsigned),
            });
            known.insert(id, uuid);
        }
        let mut edges = Vec::with_capacity(self.edges.len());
        for (from, to, kind, weight, reason, visibility, recorded_at) in self.edges {
            if let (Some(from), Some(to)) = (known.get(&from), known.get(&to)) {
                edges.push(edge(*from, *to, (kind, weight, reason, visibility, recorded_at))?);
            }
        }
        let uses: HashMap<&str, &(String, i64, i64, i64)> =
            self.uses.iter().map(|used| (used.0.as_str(), used)).collect();
        let mut concepts = Vec::new();
        for (id, key, label, origin, mentions) in self.concepts {
            let (_, uses, about, hop) = uses.get(id.as_str()).ok_or(Neo4jError::Unreadable("concept"))?;
            // One that only a single memory of this part names leads nowhere; those of the seeds are told all the same.
            if *hop > 1 && mentions.len() < 2 {
                continue;
            }
            let concept = concept(&id, key, label, &origin)?;
            for (memory, kind, weight, reason, visibility, recorded_at) in mentions {
                let from = known.get(&memory).ok_or(Neo4jError::Unreadable("mention"))?;
                edges.push(edge(*from, concept.id.0, (kind, weight, reason, visibility, recorded_at))?);
            }
            concepts.push(ConceptUse { concept, uses: size(*uses), about: size(*about) });
        }
        Ok(Neighbourhood {
            nodes,
            edges,
            concepts,
            total_memories: size(self.total),
            truncated: self.truncated,
        })
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
