//! Reading: memories and their history, the latest, concepts, edges, events, counts.

use jiff::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use super::{
    ask::{ask, ask_for, ask_some, filter as filter_of, known as moment, suffix},
    connection::Connection,
    error::Neo4jError,
    rows::{ids as ids_of, memory, memory_of_body, named, scope_of_key, size, texts, timestamp, uuid},
    statements::{
        CONCEPTS, CONCEPTS_THEN, COUNTS, EDGES_OF, EVENTS_BY_ID, LAST_EVENTS_OF_SESSION, LAST_OF_SESSION, LAST_OF_TASK,
        MEMORIES, MEMORIES_OF_CONCEPT, MEMORIES_OF_CONCEPT_THEN, MEMORIES_THEN, PAGE, RECENT, RECENT_OF_TYPES,
        RECENT_THEN, REPLACED_TEXTS, REVISIONS, TOTAL_MEMORIES, VOTE_OF,
    },
};
use crate::{
    domain::{
        AsOf, Concept, ConceptId, ConceptKey, Edge, EdgeKind, Event, EventId, Filter, Memory, MemoryId, Visibility,
    },
    ports::{ConceptUse, Scored, StoreCounts},
};

/// A memory as statements return it.
#[derive(Deserialize)]
pub(super) struct MemoryRow {
    body: String,
    access_count: i64,
    last_accessed: Option<i64>,
}

impl MemoryRow {
    pub(super) fn read(self) -> Result<Memory, Neo4jError> {
        memory(&self.body, self.access_count, self.last_accessed)
    }

    pub(super) fn read_all(rows: Vec<Self>) -> Result<Vec<Memory>, Neo4jError> {
        rows.into_iter().map(Self::read).collect()
    }
}

pub(super) async fn memories(
    connection: &Connection,
    ids: &[MemoryId],
    as_of: AsOf,
    visibility: &Visibility,
) -> Result<Vec<Memory>, Neo4jError> {
    #[derive(Deserialize)]
    struct StateRow {
        present: bool,
        body: String,
    }
    let ids = ids_of(ids.iter().map(|id| id.0));
    let Some(known) = as_of.known else {
        return MemoryRow::read_all(connection.read(ask_for(&MEMORIES, visibility, "ids", ids)).await?);
    };
    let query = ask_for(&MEMORIES_THEN, visibility, "ids", ids).param("known", moment(known));
    let rows: Vec<StateRow> = connection.read(query).await?;
    rows.into_iter()
        .map(|row| {
            // The count of uses is of today; the body has the one that this state began with.
            let memory = memory_of_body(&row.body)?;
            Ok(if row.present { as_of.before_retirement(memory) } else { memory })
        })
        .collect()
}

pub(super) async fn recent(
    connection: &Connection,
    filter: &Filter,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Scored>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        id: String,
        at: i64,
    }
    let statement = match filter.as_of.known {
        Some(_) => &RECENT_THEN,
        None if filter.types.is_empty() => &RECENT,
        None => &RECENT_OF_TYPES,
    };
    let mut query = ask_some(statement, visibility, limit).param("filter", filter_of(filter));
    if let Some(known) = filter.as_of.known {
        query = query.param("known", moment(known));
    }
    let rows: Vec<Row> = connection.read(query).await?;
    rows.into_iter()
        .map(|row| {
            #[expect(clippy::cast_precision_loss, reason = "a score; the order is already settled")]
            let score = row.at.div_euclid(1_000_000) as f32;
            Ok(Scored { id: MemoryId(uuid(&row.id)?), score })
        })
        .collect()
}

/// The edges of each node.
pub(super) async fn edges_of_all(
    connection: &Connection,
    nodes: &[Uuid],
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Vec<Edge>>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        place: i64,
        source: String,
        target: String,
        kind: String,
        weight: f64,
        reason: Option<String>,
        visibility: String,
        recorded_at: i64,
    }
    let nodes_asked = ids_of(nodes.iter().copied());
    let query = ask_for(&EDGES_OF, visibility, "nodes", nodes_asked).param("limit", super::rows::limited(limit));
    let mut edges = vec![Vec::new(); nodes.len()];
    for row in connection.read::<Row>(query).await? {
        let of_node = edges.get_mut(size(row.place)).ok_or(Neo4jError::Unreadable("place"))?;
        of_node.push(Edge {
            from: uuid(&row.source)?,
            to: uuid(&row.target)?,
            kind: named(&row.kind)?,
            #[expect(clippy::cast_possible_truncation, reason = "written from an f32")]
            weight: row.weight as f32,
            reason: row.reason,
            scope: scope_of_key(&row.visibility)?,
            recorded_at: timestamp(row.recorded_at)?,
        });
    }
    Ok(edges)
}

pub(super) async fn edges_of(
    connection: &Connection,
    id: Uuid,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Edge>, Neo4jError> {
    Ok(edges_of_all(connection, &[id], limit, visibility).await?.pop().unwrap_or_default())
}

/// A concept and its uses as statements return them.
#[derive(Deserialize)]
pub(super) struct ConceptRow {
    id: String,
    key: String,
    label: String,
    origin: String,
    uses: i64,
    about: i64,
}

impl ConceptRow {
    /// Those that a memory names.
    pub(super) fn read_all(rows: Vec<Self>) -> Result<Vec<ConceptUse>, Neo4jError> {
        let used = rows.into_iter().filter(|row| row.uses > 0);
        used.map(|row| {
            Ok(ConceptUse {
                concept: concept(&row.id, row.key, row.label, &row.origin)?,
                uses: size(row.uses),
                about: size(row.about),
            })
        })
        .collect()
    }
}

pub(super) fn concept(id: &str, key: String, label: String, origin: &str) -> Result<Concept, Neo4jError> {
    Ok(Concept { id: ConceptId(uuid(id)?), key: ConceptKey(key), label, origin: named(origin)? })
}

pub(super) async fn concepts(
    connection: &Connection,
    keys: &[ConceptKey],
    known: Option<Timestamp>,
    visibility: &Visibility,
) -> Result<Vec<ConceptUse>, Neo4jError> {
    let names = texts(keys.iter().map(|key| key.0.clone()));
    let query = match known {
        None => ask_for(&CONCEPTS, visibility, "names", names),
        Some(known) => ask_for(&CONCEPTS_THEN, visibility, "names", names).param("known", moment(known)),
    };
    ConceptRow::read_all(connection.read(query).await?)
}

pub(super) async fn memories_of_concept(
    connection: &Connection,
    key: &ConceptKey,
    limit: usize,
    known: Option<Timestamp>,
    visibility: &Visibility,
) -> Result<Vec<(MemoryId, EdgeKind)>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        id: String,
        kind: String,
    }
    let query = match known {
        None => ask_some(&MEMORIES_OF_CONCEPT, visibility, limit),
        Some(known) => ask_some(&MEMORIES_OF_CONCEPT_THEN, visibility, limit).param("known", moment(known)),
    };
    let rows: Vec<Row> = connection.read(query.param("name", key.0.as_str())).await?;
    rows.into_iter().map(|row| Ok((MemoryId(uuid(&row.id)?), named(&row.kind)?))).collect()
}

#[derive(Deserialize)]
pub(super) struct BodyRow {
    body: String,
}

pub(super) async fn replaced_texts(
    connection: &Connection,
    filter: &Filter,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Memory>, Neo4jError> {
    let Some(known) = filter.as_of.known else { return Ok(Vec::new()) };
    let query =
        ask_some(&REPLACED_TEXTS, visibility, limit).param("filter", filter_of(filter)).param("known", moment(known));
    let rows: Vec<BodyRow> = connection.read(query).await?;
    rows.iter().map(|row| memory_of_body(&row.body)).collect()
}

pub(super) async fn members(
    connection: &Connection,
    kind: EdgeKind,
    name: &str,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<MemoryId>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        id: String,
    }
    let statement = match kind {
        EdgeKind::SameSession => &LAST_OF_SESSION,
        EdgeKind::SameTask => &LAST_OF_TASK,
        _ => return Ok(Vec::new()),
    };
    let query = ask_some(statement, visibility, limit).param("suffix", suffix(name));
    let latest_first: Vec<Row> = connection.read(query).await?;
    latest_first.iter().rev().map(|row| Ok(MemoryId(uuid(&row.id)?))).collect()
}

impl BodyRow {
    pub(super) fn read_events(rows: &[Self]) -> Result<Vec<Event>, Neo4jError> {
        rows.iter().map(|row| serde_json::from_str(&row.body).map_err(|_| Neo4jError::Unreadable("event"))).collect()
    }
}

pub(super) async fn events(
    connection: &Connection,
    ids: &[EventId],
    visibility: &Visibility,
) -> Result<Vec<Event>, Neo4jError> {
    let query = ask_for(&EVENTS_BY_ID, visibility, "ids", ids_of(ids.iter().map(|id| id.0)));
    BodyRow::read_events(&connection.read::<BodyRow>(query).await?)
}

pub(super) async fn events_of_session(
    connection: &Connection,
    session: &str,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Event>, Neo4jError> {
    let query = ask_some(&LAST_EVENTS_OF_SESSION, visibility, limit).param("name", session);
    let mut events = BodyRow::read_events(&connection.read::<BodyRow>(query).await?)?;
    events.reverse();
    Ok(events)
}

pub(super) async fn vote_of(
    connection: &Connection,
    id: MemoryId,
    principal: &str,
    visibility: &Visibility,
) -> Result<Option<bool>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        useful: bool,
    }
    let query = ask(&VOTE_OF, visibility).param("id", id.to_string()).param("suffix", suffix(principal));
    Ok(connection.read::<Row>(query).await?.first().map(|row| row.useful))
}

pub(super) async fn page(
    connection: &Connection,
    after: Option<MemoryId>,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Memory>, Neo4jError> {
    let after = after.map_or(String::new(), |id| id.to_string());
    MemoryRow::read_all(connection.read(ask_some(&PAGE, visibility, limit).param("after", after)).await?)
}

pub(super) async fn total_memories(connection: &Connection, visibility: &Visibility) -> Result<usize, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        total: i64,
    }
    let rows: Vec<Row> = connection.read(ask(&TOTAL_MEMORIES, visibility)).await?;
    Ok(rows.first().map_or(0, |row| size(row.total)))
}

pub(super) async fn counts(connection: &Connection, visibility: &Visibility) -> Result<StoreCounts, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        memories: i64,
        edges: i64,
        concepts: i64,
        outbox: i64,
    }
    let rows: Vec<Row> = connection.read(ask(&COUNTS, visibility)).await?;
    let row = rows.first().ok_or(Neo4jError::Unreadable("count"))?;
    Ok(StoreCounts {
        memories: size(row.memories),
        edges: size(row.edges),
        concepts: size(row.concepts),
        outbox: size(row.outbox),
    })
}

pub(super) async fn revisions(
    connection: &Connection,
    id: MemoryId,
    visibility: &Visibility,
) -> Result<Vec<(Timestamp, Option<Timestamp>, Memory)>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        believed_from: i64,
        believed_to: Option<i64>,
        body: String,
        access_count: Option<i64>,
        last_accessed: Option<i64>,
    }
    let rows: Vec<Row> = connection.read(ask(&REVISIONS, visibility).param("id", id.to_string())).await?;
    rows.into_iter()
        .map(|row| {
            let state = match row.access_count {
                Some(count) => memory(&row.body, count, row.last_accessed)?,
                None => memory_of_body(&row.body)?,
            };
            Ok((timestamp(row.believed_from)?, row.believed_to.map(timestamp).transpose()?, state))
        })
        .collect()
}
