//! The `Browse` port: lists, page by page.

use async_trait::async_trait;
use jiff::Timestamp;
use neo4rs::BoltType;
use serde::Deserialize;
use uuid::Uuid;

use super::{
    Neo4jStore,
    ask::{alternatives, ask, ask_for, ask_some, suffix},
    connection::Connection,
    error::Neo4jError,
    graph_store::named as named_operation,
    read::{self, BodyRow, ConceptRow, MemoryRow},
    rows::{ids, integer, limited, map, named, optional_time, size, timestamp, uuid},
    statements::{
        AUDIT, CHANGES, CONCEPT_MEMBERS, CONCEPTS_BY_ID, EVENTS, EVENTS_OF_SESSION, EVENTS_OF_TASK, FIND_CONCEPTS,
        LAST_CHANGE, LIST, LIST_TOTAL, MEMBERS_OF_SESSION, MEMBERS_OF_TASK, SESSION, TASK,
    },
};
use crate::{
    domain::{
        ChangeId, ChangeSet, ConceptId, ConceptKey, Edge, EdgeKind, Event, EventId, Memory, MemoryId, Visibility,
    },
    ports::{AuditRow, Browse, ConceptMember, ConceptUse, Group, GroupSummary, Listing, MemoryChange, PortError},
};

/// After every id.
const LAST: &str = "~";

#[async_trait]
impl Browse for Neo4jStore {
    async fn list(
        &self,
        listing: &Listing,
        after: Option<(Timestamp, MemoryId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError> {
        let (at, after) = place(after.map(|(at, id)| (at, id.0)), (i64::MAX, LAST));
        let query = ask_some(&LIST, visibility, limit)
            .param("listing", conditions(listing))
            .param("at", at)
            .param("after", after);
        named_operation("list", async { MemoryRow::read_all(self.connection.read(query).await?) }).await
    }

    async fn list_total(&self, listing: &Listing, visibility: &Visibility) -> Result<usize, PortError> {
        named_operation("list_total", list_total(&self.connection, listing, visibility)).await
    }

    async fn group(&self, group: &Group, visibility: &Visibility) -> Result<Option<GroupSummary>, PortError> {
        named_operation("group", summary(&self.connection, group, visibility)).await
    }

    async fn members(
        &self,
        group: &Group,
        after: Option<MemoryId>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError> {
        let (statement, name) = match group {
            Group::Session(name) => (&MEMBERS_OF_SESSION, name),
            Group::Task(name) => (&MEMBERS_OF_TASK, name),
        };
        let query = ask_some(statement, visibility, limit)
            .param("suffix", suffix(name))
            .param("after", after.map_or(String::new(), |id| id.to_string()));
        named_operation("members", async { MemoryRow::read_all(self.connection.read(query).await?) }).await
    }

    async fn events(
        &self,
        group: Option<&Group>,
        after: Option<(Timestamp, EventId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Event>, PortError> {
        let (at, after) = place(after.map(|(at, id)| (at, id.0)), (i64::MIN, ""));
        let query = match group {
            None => ask_some(&EVENTS, visibility, limit),
            Some(Group::Session(name)) => {
                ask_some(&EVENTS_OF_SESSION, visibility, limit).param("name", name.as_str())
            }
            Some(Group::Task(name)) => ask_some(&EVENTS_OF_TASK, visibility, limit).param("name", name.as_str()),
        };
        let query = query.param("at", at).param("after", after);
        named_operation("events", async { BodyRow::read_events(&self.connection.read::<BodyRow>(query).await?) }).await
    }

    async fn find_concepts(
        &self,
        part: &str,
        after: Option<&ConceptKey>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<ConceptUse>, PortError> {
        let query = ask_some(&FIND_CONCEPTS, visibility, limit)
            .param("part", part)
            .param("after", after.map_or("", |key| key.0.as_str()));
        named_operation("find_concepts", async { ConceptRow::read_all(self.connection.read(query).await?) }).await
    }

    async fn concepts_by_id(&self, ids_asked: &[ConceptId], visibility: &Visibility) -> Result<Vec<ConceptUse>, PortError> {
        let query = ask_for(&CONCEPTS_BY_ID, visibility, "ids", ids(ids_asked.iter().map(|id| id.0)));
        named_operation("concepts_by_id", async { ConceptRow::read_all(self.connection.read(query).await?) }).await
    }

    async fn concept_members(
        &self,
        concept: ConceptId,
        after: Option<(EdgeKind, MemoryId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<ConceptMember>, PortError> {
        named_operation("concept_members", concept_members(&self.connection, concept, after, limit, visibility)).await
    }

    async fn edges_of_all(
        &self,
        nodes: &[Uuid],
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Vec<Edge>>, PortError> {
        named_operation("edges_of_all", read::edges_of_all(&self.connection, nodes, limit, visibility)).await
    }

    async fn audit(
        &self,
        before: Option<u64>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<AuditRow>, PortError> {
        named_operation("audit", audit(&self.connection, before, limit, visibility)).await
    }

    async fn changes(&self, after: u64, limit: usize, visibility: &Visibility) -> Result<Vec<MemoryChange>, PortError> {
        named_operation("changes", changes(&self.connection, after, limit, visibility)).await
    }

    async fn last_change(&self) -> Result<u64, PortError> {
        #[derive(Deserialize)]
        struct Row {
            seq: i64,
        }
        named_operation("last_change", async {
            let rows: Vec<Row> = self.connection.read(LAST_CHANGE.query()).await?;
            Ok(rows.first().map_or(0, |row| row.seq.cast_unsigned()))
        })
        .await
    }
}

/// Time and id of the record before the page, or the bounds that leave none out.
fn place(after: Option<(Timestamp, Uuid)>, bounds: (i64, &str)) -> (i64, String) {
    after.map_or((bounds.0, bounds.1.to_owned()), |(at, id)| (at.as_microsecond(), id.to_string()))
}

fn conditions(listing: &Listing) -> BoltType {
    map([
        ("statuses", alternatives(listing.statuses.iter().map(|status| status.name()))),
        ("kinds", alternatives(listing.kinds.iter().map(|kind| kind.name()))),
        ("types", alternatives(listing.types.iter().map(|memory_type| memory_type.name()))),
        ("tags", alternatives(listing.tags.iter().cloned())),
        ("session", listing.session_id.clone().into()),
        ("task", listing.task_id.clone().into()),
        ("since", optional_time(listing.since)),
        ("until", optional_time(listing.until)),
    ])
}

async fn list_total(
    connection: &Connection,
    listing: &Listing,
    visibility: &Visibility,
) -> Result<usize, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        total: i64,
    }
    if *listing == Listing::default() {
        return read::total_memories(connection, visibility).await;
    }
    let rows: Vec<Row> =
        connection.read(ask(&LIST_TOTAL, visibility).param("listing", conditions(listing))).await?;
    Ok(rows.first().map_or(0, |row| size(row.total)))
}

async fn summary(
    connection: &Connection,
    group: &Group,
    visibility: &Visibility,
) -> Result<Option<GroupSummary>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        memories: i64,
        events: i64,
        first: Option<i64>,
        last: Option<i64>,
    }
    let (statement, name) = match group {
        Group::Session(name) => (&SESSION, name),
        Group::Task(name) => (&TASK, name),
    };
    let query = ask(statement, visibility).param("name", name.as_str()).param("suffix", suffix(name));
    let rows: Vec<Row> = connection.read(query).await?;
    let Some(Row { memories, events, first: Some(first), last: Some(last) }) = rows.first() else { return Ok(None) };
    Ok(Some(GroupSummary {
        memories: size(*memories),
        events: size(*events),
        first: timestamp(*first)?,
        last: timestamp(*last)?,
    }))
}

async fn concept_members(
    connection: &Connection,
    concept: ConceptId,
    after: Option<(EdgeKind, MemoryId)>,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<ConceptMember>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        body: String,
        access_count: i64,
        last_accessed: Option<i64>,
        kind: String,
    }
    let (kind, after) = after.map_or(("", String::new()), |(kind, id)| (kind.name(), id.to_string()));
    let query = ask_some(&CONCEPT_MEMBERS, visibility, limit)
        .param("concept", concept.to_string())
        .param("kind", kind)
        .param("after", after);
    let rows: Vec<Row> = connection.read(query).await?;
    rows.into_iter()
        .map(|row| {
            let memory = super::rows::memory(&row.body, row.access_count, row.last_accessed)?;
            Ok(ConceptMember { memory, kind: named(&row.kind)? })
        })
        .collect()
}

async fn audit(
    connection: &Connection,
    before: Option<u64>,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<AuditRow>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        seq: i64,
        change: String,
        at: i64,
        actor: String,
        use_case: String,
        reason: Option<String>,
        memories: Vec<(String, String)>,
        total: i64,
    }
    let query = ask_some(&AUDIT, visibility, limit)
        .param("before", before.map_or(i64::MAX, integer))
        .param("left_out", ChangeSet::COUNT_USES)
        .param("named", limited(AuditRow::MEMORIES));
    let rows: Vec<Row> = connection.read(query).await?;
    rows.into_iter()
        .map(|row| {
            let memories = row.memories.iter().map(|(id, effect)| Ok((MemoryId(uuid(id)?), named(effect)?)));
            Ok(AuditRow {
                seq: row.seq.cast_unsigned(),
                change: ChangeId(uuid(&row.change)?),
                at: timestamp(row.at)?,
                actor: row.actor,
                use_case: row.use_case,
                reason: row.reason,
                memories: memories.collect::<Result<_, Neo4jError>>()?,
                total: size(row.total),
            })
        })
        .collect()
}

async fn changes(
    connection: &Connection,
    after: u64,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<MemoryChange>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        seq: i64,
        at: i64,
        memory: String,
        effect: String,
    }
    let query = ask(&CHANGES, visibility)
        .param("after", integer(after))
        .param("beyond", limited(limit.saturating_sub(1)))
        .param("most", i64::MAX);
    let rows: Vec<Row> = connection.read(query).await?;
    rows.into_iter()
        .map(|row| {
            Ok(MemoryChange {
                seq: row.seq.cast_unsigned(),
                at: timestamp(row.at)?,
                memory: MemoryId(uuid(&row.memory)?),
                effect: named(&row.effect)?,
            })
        })
        .collect()
}
