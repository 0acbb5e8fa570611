//! The `Browse` port: lists by key.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::{
    SqliteStore,
    error::SqliteError,
    read::{self, concept, limited, size},
    rows::{self, Params, Seen, alternatives, bind, integer, memory, memory_columns, named, timestamp, uuid, visible},
};
use crate::{
    domain::{
        ChangeId, ChangeSet, ConceptId, ConceptKey, Edge, EdgeKind, Effect, Event, EventId, Memory, MemoryId,
        Visibility,
    },
    ports::{AuditRow, Browse, ConceptMember, ConceptUse, Group, GroupSummary, Listing, MemoryChange, PortError},
};

#[async_trait]
impl Browse for SqliteStore {
    async fn list(
        &self,
        listing: &Listing,
        after: Option<(Timestamp, MemoryId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError> {
        let (listing, visibility) = (listing.clone(), visibility.clone());
        self.read("list", move |connection| list(connection, &listing, after, limit, &visibility)).await
    }

    async fn list_total(&self, listing: &Listing, visibility: &Visibility) -> Result<usize, PortError> {
        let (listing, visibility) = (listing.clone(), visibility.clone());
        self.read("list_total", move |connection| list_total(connection, &listing, &visibility)).await
    }

    async fn group(&self, group: &Group, visibility: &Visibility) -> Result<Option<GroupSummary>, PortError> {
        let (group, visibility) = (group.clone(), visibility.clone());
        self.read("group", move |connection| summary(connection, &group, &visibility)).await
    }

    async fn members(
        &self,
        group: &Group,
        after: Option<MemoryId>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Memory>, PortError> {
        let (group, visibility) = (group.clone(), visibility.clone());
        self.read("members", move |connection| members(connection, &group, after, limit, &visibility)).await
    }

    async fn events(
        &self,
        group: Option<&Group>,
        after: Option<(Timestamp, EventId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Event>, PortError> {
        let (group, visibility) = (group.cloned(), visibility.clone());
        self.read("events", move |connection| events(connection, group.as_ref(), after, limit, &visibility)).await
    }

    async fn find_concepts(
        &self,
        part: &str,
        after: Option<&ConceptKey>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<ConceptUse>, PortError> {
        let (part, after, visibility) = (part.to_owned(), after.cloned(), visibility.clone());
        self.read("find_concepts", move |connection| {
            find_concepts(connection, &part, after.as_ref(), limit, &visibility)
        })
        .await
    }

    async fn concepts_by_id(&self, ids: &[ConceptId], visibility: &Visibility) -> Result<Vec<ConceptUse>, PortError> {
        let (ids, visibility) = (ids.to_vec(), visibility.clone());
        self.read("concepts_by_id", move |connection| concepts_by_id(connection, &ids, &visibility)).await
    }

    async fn concept_members(
        &self,
        concept: ConceptId,
        after: Option<(EdgeKind, MemoryId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<ConceptMember>, PortError> {
        let visibility = visibility.clone();
        self.read("concept_members", move |connection| concept_members(connection, concept, after, limit, &visibility))
            .await
    }

    async fn edges_of_all(
        &self,
        nodes: &[Uuid],
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Vec<Edge>>, PortError> {
        let (nodes, visibility) = (nodes.to_vec(), visibility.clone());
        self.read("edges_of_all", move |connection| {
            nodes.iter().map(|node| read::edges_of(connection, *node, limit, &visibility)).collect()
        })
        .await
    }

    async fn audit(
        &self,
        before: Option<u64>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<AuditRow>, PortError> {
        let visibility = visibility.clone();
        self.read("audit", move |connection| audit(connection, before, limit, &visibility)).await
    }

    async fn changes(&self, after: u64, limit: usize, visibility: &Visibility) -> Result<Vec<MemoryChange>, PortError> {
        let visibility = visibility.clone();
        self.read("changes", move |connection| changes(connection, after, limit, &visibility)).await
    }

    async fn last_change(&self) -> Result<u64, PortError> {
        self.read("last_change", |connection| {
            let mut statement = connection.prepare_cached("SELECT ifnull(max(seq), 0) FROM change")?;
            Ok(statement.query_row([], |row| row.get::<_, i64>(0))?.cast_unsigned())
        })
        .await
    }
}

/// Whether memory `m` meets a [`Listing`]. Binds [`Listed::params`].
macro_rules! listed {
    () => {
        "(:statuses IS NULL OR m.status IN (SELECT value FROM json_each(:statuses)))
         AND (:kinds IS NULL OR m.kind IN (SELECT value FROM json_each(:kinds)))
         AND (:types IS NULL OR m.type IN (SELECT value FROM json_each(:types)))
         AND (:tags IS NULL OR EXISTS (SELECT 1 FROM json_each(m.tags) tag
            WHERE tag.value IN (SELECT value FROM json_each(:tags))))
         AND (:session IS NULL OR m.session = :session)
         AND (:task IS NULL OR m.task = :task)
         AND (:since IS NULL OR m.occurred_at >= :since)
         AND (:until IS NULL OR m.occurred_at < :until)"
    };
}

/// A [`Listing`] in the form in which `listed!` binds it.
struct Listed {
    statuses: Option<String>,
    kinds: Option<String>,
    types: Option<String>,
    tags: Option<String>,
    session: Option<String>,
    task: Option<String>,
    since: Option<i64>,
    until: Option<i64>,
}

impl Listed {
    fn of(listing: &Listing) -> Self {
        Self {
            statuses: alternatives(listing.statuses.iter().map(|status| status.name())),
            kinds: alternatives(listing.kinds.iter().map(|kind| kind.name())),
            types: alternatives(listing.types.iter().map(|memory_type| memory_type.name())),
            tags: alternatives(listing.tags.iter().map(String::as_str)),
            session: listing.session_id.clone(),
            task: listing.task_id.clone(),
            since: listing.since.map(Timestamp::as_microsecond),
            until: listing.until.map(Timestamp::as_microsecond),
        }
    }

    fn params(&self) -> Params<'_> {
        vec![
            (":statuses", &self.statuses),
            (":kinds", &self.kinds),
            (":types", &self.types),
            (":tags", &self.tags),
            (":session", &self.session),
            (":task", &self.task),
            (":since", &self.since),
            (":until", &self.until),
        ]
    }
}

fn list(
    connection: &Connection,
    listing: &Listing,
    after: Option<(Timestamp, MemoryId)>,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Memory>, SqliteError> {
    // Scope by scope, so that each is read from its index and no further than the limit.
    let mut statement = connection.prepare_cached(concat!(
        "SELECT m.occurred_at, m.id FROM memory m WHERE m.scope = :scope AND m.occurred_at <= :at
         AND (m.occurred_at < :at OR m.id < :after) AND ",
        listed!(),
        " ORDER BY m.occurred_at DESC, m.id DESC LIMIT :limit"
    ))?;
    let (at, after) =
        after.map_or((i64::MAX, vec![u8::MAX; 17]), |(at, id)| (at.as_microsecond(), id.0.into_bytes().to_vec()));
    bind(&mut statement, &Listed::of(listing).params())?;
    bind(&mut statement, &vec![(":at", &at), (":after", &after), (":limit", &limited(limit))])?;
    let mut found: Vec<(i64, MemoryId)> = Vec::new();
    for scope in scopes(connection, visibility)? {
        bind(&mut statement, &vec![(":scope", &scope)])?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            found.push((row.get(0)?, MemoryId(uuid(row, 1)?)));
        }
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.truncate(limit);
    let ids: Vec<MemoryId> = found.into_iter().map(|(_, id)| id).collect();
    read::memories(connection, &ids, crate::domain::AsOf::default(), visibility)
}

fn scopes(connection: &Connection, visibility: &Visibility) -> Result<Vec<i64>, SqliteError> {
    let scopes = connection
        .prepare_cached(concat!("SELECT id FROM scope WHERE memories > 0 AND ", visible!("id")))?
        .query_map(&*Seen::of(connection, visibility)?.params(), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(scopes)
}

fn list_total(connection: &Connection, listing: &Listing, visibility: &Visibility) -> Result<usize, SqliteError> {
    if *listing == Listing::default() {
        return read::total_memories(connection, visibility);
    }
    let mut statement = connection.prepare_cached(concat!(
        "SELECT count(*) FROM memory m WHERE ",
        visible!("m.scope"),
        " AND ",
        listed!()
    ))?;
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &Listed::of(listing).params())?;
    let mut rows = statement.raw_query();
    let row = rows.next()?.ok_or(SqliteError::Unreadable("count"))?;
    Ok(size(row.get(0)?))
}

fn summary(
    connection: &Connection,
    group: &Group,
    visibility: &Visibility,
) -> Result<Option<GroupSummary>, SqliteError> {
    let (name, memories, events) = match group {
        Group::Session(name) => (
            name,
            concat!(
                "SELECT count(*), min(occurred_at), max(occurred_at) FROM memory WHERE ",
                visible!("scope"),
                " AND session = :name"
            ),
            concat!("SELECT count(*), min(at), max(at) FROM event WHERE ", visible!("scope"), " AND session = :name"),
        ),
        Group::Task(name) => (
            name,
            concat!(
                "SELECT count(*), min(occurred_at), max(occurred_at) FROM memory WHERE ",
                visible!("scope"),
                " AND task = :name"
            ),
            concat!("SELECT count(*), min(at), max(at) FROM event WHERE ", visible!("scope"), " AND task = :name"),
        ),
    };
    let seen = Seen::of(connection, visibility)?;
    let measure = |statement: &str| -> Result<(usize, Option<i64>, Option<i64>), SqliteError> {
        let mut params = seen.params();
        params.push((":name", name));
        let mut statement = connection.prepare_cached(statement)?;
        Ok(statement.query_row(&*params, |row| Ok((size(row.get(0)?), row.get(1)?, row.get(2)?)))?)
    };
    let ((memories, first_memory, last_memory), (events, first_event, last_event)) =
        (measure(memories)?, measure(events)?);
    let first = first_memory.into_iter().chain(first_event).min();
    let last = last_memory.into_iter().chain(last_event).max();
    let (Some(first), Some(last)) = (first, last) else { return Ok(None) };
    Ok(Some(GroupSummary { memories, events, first: timestamp(first)?, last: timestamp(last)? }))
}

fn members(
    connection: &Connection,
    group: &Group,
    after: Option<MemoryId>,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Memory>, SqliteError> {
    let (name, statement) = match group {
        Group::Session(name) => (
            name,
            concat!(
                "SELECT ",
                memory_columns!(),
                " FROM memory m WHERE ",
                visible!("m.scope"),
                " AND m.session = :name AND m.id > :after ORDER BY m.id LIMIT :limit"
            ),
        ),
        Group::Task(name) => (
            name,
            concat!(
                "SELECT ",
                memory_columns!(),
                " FROM memory m WHERE ",
                visible!("m.scope"),
                " AND m.task = :name AND m.id > :after ORDER BY m.id LIMIT :limit"
            ),
        ),
    };
    let mut statement = connection.prepare_cached(statement)?;
    let after = after.map_or(Vec::new(), |id| id.0.into_bytes().to_vec());
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &vec![(":name", name), (":after", &after), (":limit", &limited(limit))])?;
    let mut rows = statement.raw_query();
    let mut members = Vec::new();
    while let Some(row) = rows.next()? {
        members.push(memory(row, 0)?);
    }
    Ok(members)
}

fn events(
    connection: &Connection,
    group: Option<&Group>,
    after: Option<(Timestamp, EventId)>,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Event>, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT e.body FROM event e WHERE ",
        visible!("e.scope"),
        " AND (:session IS NULL OR e.session = :session) AND (:task IS NULL OR e.task = :task)
         AND e.at >= :at AND (e.at > :at OR e.id > :after) ORDER BY e.at, e.id LIMIT :limit"
    ))?;
    let (session, task) = match group {
        None => (None, None),
        Some(Group::Session(name)) => (Some(name), None),
        Some(Group::Task(name)) => (None, Some(name)),
    };
    let (at, after) =
        after.map_or((i64::MIN, Vec::new()), |(at, id)| (at.as_microsecond(), id.0.into_bytes().to_vec()));
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    let limit = limited(limit);
    bind(
        &mut statement,
        &vec![(":session", &session), (":task", &task), (":at", &at), (":after", &after), (":limit", &limit)],
    )?;
    let mut rows = statement.raw_query();
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(event(row)?);
    }
    Ok(events)
}

fn event(row: &rusqlite::Row<'_>) -> Result<Event, SqliteError> {
    let body = row.get_ref(0)?.as_str().map_err(|_| SqliteError::Unreadable("event"))?;
    serde_json::from_str(body).map_err(|_| SqliteError::Unreadable("event"))
}

fn find_concepts(
    connection: &Connection,
    part: &str,
    after: Option<&ConceptKey>,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<ConceptUse>, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT c.id, c.key, c.label, c.origin, sum(u.uses), sum(u.about)
         FROM concept c CROSS JOIN concept_use u ON u.concept = c.rowid
         WHERE c.key > :after AND instr(c.key, :part) AND ",
        visible!("u.memory_scope"),
        " AND ",
        visible!("u.scope"),
        " GROUP BY c.key ORDER BY c.key LIMIT :limit"
    ))?;
    let after = after.map_or("", |key| key.0.as_str());
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &vec![(":after", &after), (":part", &part), (":limit", &limited(limit))])?;
    concept_uses(statement.raw_query())
}

fn concepts_by_id(
    connection: &Connection,
    ids: &[ConceptId],
    visibility: &Visibility,
) -> Result<Vec<ConceptUse>, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT c.id, c.key, c.label, c.origin, sum(u.uses), sum(u.about)
         FROM rarray(:ids) asked CROSS JOIN concept c ON c.id = asked.value CROSS JOIN concept_use u ON u.concept = c.rowid
         WHERE ",
        visible!("u.memory_scope"),
        " AND ",
        visible!("u.scope"),
        " GROUP BY c.rowid"
    ))?;
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &vec![(":ids", &rows::ids(ids.iter().map(|id| id.0)))])?;
    concept_uses(statement.raw_query())
}

fn concept_uses(mut rows: rusqlite::Rows<'_>) -> Result<Vec<ConceptUse>, SqliteError> {
    let mut uses = Vec::new();
    while let Some(row) = rows.next()? {
        uses.push(ConceptUse { concept: concept(row)?, uses: size(row.get(4)?), about: size(row.get(5)?) });
    }
    Ok(uses)
}

fn concept_members(
    connection: &Connection,
    concept: ConceptId,
    after: Option<(EdgeKind, MemoryId)>,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<ConceptMember>, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        memory_columns!(),
        // 'ABOUT' sorts before 'MENTIONS'.
        ", min(x.kind) AS naming FROM mention x JOIN memory m ON m.rowid = x.memory
         WHERE x.concept = (SELECT rowid FROM concept WHERE id = :concept) AND ",
        visible!("x.scope"),
        " AND ",
        visible!("x.memory_scope"),
        " GROUP BY x.memory HAVING naming > :kind OR (naming = :kind AND m.id < :after)
         ORDER BY naming, m.id DESC LIMIT :limit"
    ))?;
    let (kind, after) = after.map_or(("", Vec::new()), |(kind, id)| (kind.name(), id.0.into_bytes().to_vec()));
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    let (concept, limit) = (concept.0.into_bytes(), limited(limit));
    bind(&mut statement, &vec![(":concept", &concept), (":kind", &kind), (":after", &after), (":limit", &limit)])?;
    let mut rows = statement.raw_query();
    let mut members = Vec::new();
    while let Some(row) = rows.next()? {
        members.push(ConceptMember { memory: memory(row, 0)?, kind: named(row, 3)? });
    }
    Ok(members)
}

fn audit(
    connection: &Connection,
    before: Option<u64>,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<AuditRow>, SqliteError> {
    let seen = Seen::of(connection, visibility)?;
    let mut touched = connection.prepare_cached(concat!(
        "SELECT memory, effect, count(*) OVER () FROM change_memory WHERE seq = :seq AND ",
        visible!("scope"),
        " ORDER BY memory LIMIT :limit"
    ))?;
    bind(&mut touched, &seen.params())?;
    bind(&mut touched, &vec![(":limit", &limited(AuditRow::MEMORIES))])?;
    let mut statement = connection.prepare_cached(
        "SELECT seq, id, at, actor, use_case, reason FROM change WHERE seq < ?1 AND use_case <> ?3 ORDER BY seq DESC LIMIT ?2",
    )?;
    let mut rows = statement.query(params![before.map_or(i64::MAX, integer), limited(limit), ChangeSet::COUNT_USES])?;
    let mut log = Vec::new();
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        bind(&mut touched, &vec![(":seq", &seq)])?;
        let (mut memories, mut total) = (Vec::new(), 0);
        let mut named_rows = touched.raw_query();
        while let Some(row) = named_rows.next()? {
            memories.push((MemoryId(uuid(row, 0)?), named::<Effect>(row, 1)?));
            total = size(row.get(2)?);
        }
        log.push(AuditRow {
            seq: seq.cast_unsigned(),
            change: ChangeId(uuid(row, 1)?),
            at: timestamp(row.get(2)?)?,
            actor: row.get(3)?,
            use_case: row.get(4)?,
            reason: if total > 0 { row.get(5)? } else { None },
            memories,
            total,
        });
    }
    Ok(log)
}

fn changes(
    connection: &Connection,
    after: u64,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<MemoryChange>, SqliteError> {
    let seen = Seen::of(connection, visibility)?;
    let mut last = connection.prepare_cached(concat!(
        "SELECT seq FROM change_memory WHERE seq > :after AND ",
        visible!("scope"),
        " ORDER BY seq LIMIT 1 OFFSET :limit"
    ))?;
    let mut params = seen.params();
    let (after, beyond) = (integer(after), limited(limit.saturating_sub(1)));
    params.extend::<Params<'_>>(vec![(":after", &after), (":limit", &beyond)]);
    let last: i64 = last.query_row(&*params, |row| row.get(0)).optional()?.unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(concat!(
        "SELECT l.seq, c.at, l.memory, l.effect FROM change_memory l JOIN change c ON c.seq = l.seq
         WHERE l.seq > :after AND l.seq <= :last AND ",
        visible!("l.scope"),
        " ORDER BY l.seq, l.memory"
    ))?;
    bind(&mut statement, &seen.params())?;
    bind(&mut statement, &vec![(":after", &after), (":last", &last)])?;
    let mut rows = statement.raw_query();
    let mut changes = Vec::new();
    while let Some(row) = rows.next()? {
        changes.push(MemoryChange {
            seq: row.get::<_, i64>(0)?.cast_unsigned(),
            at: timestamp(row.get(1)?)?,
            memory: MemoryId(uuid(row, 2)?),
            effect: named(row, 3)?,
        });
    }
    Ok(changes)
}
