//! Reading, all but the walk over the graph.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use uuid::Uuid;

use super::{
    error::SqliteError,
    frequency::Frequencies,
    rows::{
        self, Conditions, Scopes, Seen, bind, edge, held, matching, memory, memory_columns, memory_of_body, named,
        retired_since, texts, timestamp, uuid, visible,
    },
};
use crate::{
    backends::packed::unpack,
    domain::{
        AsOf, ChangeId, Concept, ConceptId, ConceptKey, Edge, EdgeKind, Event, EventId, Filter, Idempotency, Memory,
        MemoryId, Scope, Visibility,
    },
    ports::{ConceptUse, KeywordQuery, OutboxRow, Recorded, Scored, StoreCounts},
};

/// So many times the wanted answers are looked at before every memory that shares a word is.
const BEST_WORDS: usize = 4;

pub(super) fn memories(
    connection: &Connection,
    ids: &[MemoryId],
    as_of: AsOf,
    visibility: &Visibility,
) -> Result<Vec<Memory>, SqliteError> {
    let seen = Seen::of(connection, visibility)?;
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        memory_columns!(),
        ", m.rowid, m.revised_at FROM rarray(:ids) asked CROSS JOIN memory m ON m.id = asked.value WHERE ",
        visible!("m.scope")
    ))?;
    bind(&mut statement, &seen.params())?;
    let asked = rows::ids(ids.iter().map(|id| id.0));
    bind(&mut statement, &vec![(":ids", &asked)])?;
    let mut rows = statement.raw_query();
    let mut found = HashMap::with_capacity(ids.len());
    while let Some(row) = rows.next()? {
        let current = memory(row, 0)?;
        let id = current.id;
        let believed = match as_of.known {
            None => Some(current),
            Some(known) if row.get::<_, i64>(4)? <= known.as_microsecond() => {
                // The count of uses is of today; the body has the one that this state began with.
                Some(as_of.before_retirement(memory_of_body(body(row)?)?))
            }
            Some(known) => state_held(connection, row.get(3)?, known)?,
        };
        // An earlier revision may have lived in a narrower scope than the present one.
        if let Some(memory) = believed.filter(|memory| visibility.sees(&memory.scope.key())) {
            found.insert(id, memory);
        }
    }
    Ok(ids.iter().filter_map(|id| found.get(id).cloned()).collect())
}

fn body<'a>(row: &'a rusqlite::Row<'_>) -> Result<&'a str, SqliteError> {
    row.get_ref(0)?.as_str().map_err(|_| SqliteError::Unreadable("memory"))
}

/// The earlier state that held at `known`, if the memory was there.
fn state_held(connection: &Connection, rowid: i64, known: Timestamp) -> Result<Option<Memory>, SqliteError> {
    let body: Option<String> = connection
        .prepare_cached(
            "SELECT body FROM memory_state WHERE memory = ?1 AND believed_from <= ?2 AND ?2 < believed_to
             ORDER BY believed_from DESC LIMIT 1",
        )?
        .query_row(params![rowid, known.as_microsecond()], |row| row.get(0))
        .optional()?;
    body.as_deref().map(memory_of_body).transpose()
}

pub(super) fn by_external_ids(
    connection: &Connection,
    external_ids: &[String],
    visibility: &Visibility,
) -> Result<BTreeMap<String, MemoryId>, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT m.external_id, m.id FROM rarray(:names) asked CROSS JOIN memory m ON m.external_id = asked.value WHERE ",
        visible!("m.scope"),
        " ORDER BY m.id"
    ))?;
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &vec![(":names", &texts(external_ids))])?;
    let ids =
        statement.raw_query().mapped(|row| Ok((row.get(0)?, MemoryId(uuid(row, 1)?)))).collect::<Result<_, _>>()?;
    Ok(ids)
}

pub(super) fn by_content_hashes(
    connection: &Connection,
    hashes: &[String],
    scope: &Scope,
) -> Result<BTreeMap<String, MemoryId>, SqliteError> {
    let ids = connection
        .prepare_cached(
            "SELECT m.content_hash, m.id FROM rarray(?1) asked CROSS JOIN memory m ON m.content_hash = asked.value
             WHERE m.status = 'active' AND m.scope = (SELECT id FROM scope WHERE key = ?2)",
        )?
        .query_map(params![texts(hashes), scope.key()], |row| Ok((row.get(0)?, MemoryId(uuid(row, 1)?))))?
        .collect::<Result<_, _>>()?;
    Ok(ids)
}

pub(super) fn last_members(
    connection: &Connection,
    kind: EdgeKind,
    names: &[String],
    scope: &Scope,
) -> Result<BTreeMap<String, MemoryId>, SqliteError> {
    let statement = match kind {
        EdgeKind::SameSession => {
            "SELECT asked.value, m.id FROM rarray(?1) asked CROSS JOIN memory m
             ON m.rowid = (SELECT rowid FROM memory WHERE scope = (SELECT id FROM scope WHERE key = ?2)
                AND session = asked.value ORDER BY session_position DESC LIMIT 1)"
        }
        EdgeKind::SameTask => {
            "SELECT asked.value, m.id FROM rarray(?1) asked CROSS JOIN memory m
             ON m.rowid = (SELECT rowid FROM memory WHERE scope = (SELECT id FROM scope WHERE key = ?2)
                AND task = asked.value ORDER BY task_position DESC LIMIT 1)"
        }
        _ => return Ok(BTreeMap::new()),
    };
    let ids = connection
        .prepare_cached(statement)?
        .query_map(params![texts(names), scope.key()], |row| Ok((row.get(0)?, MemoryId(uuid(row, 1)?))))?
        .collect::<Result<_, _>>()?;
    Ok(ids)
}

pub(super) fn recorded(connection: &Connection, principal: &str, key: &str) -> Result<Option<Recorded>, SqliteError> {
    let row: Option<(Uuid, String, String)> = connection
        .prepare_cached("SELECT change, request_hash, answer FROM idempotency WHERE principal = ?1 AND key = ?2")?
        .query_row([principal, key], |row| Ok((uuid(row, 0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((change, request_hash, answer)) = row else { return Ok(None) };
    let answer = serde_json::from_str(&answer).map_err(|_| SqliteError::Unreadable("answer"))?;
    Ok(Some(Recorded {
        change: ChangeId(change),
        idempotency: Idempotency { key: key.to_owned(), request_hash, answer },
    }))
}

pub(super) fn keyword(
    connection: &Connection,
    frequencies: &Frequencies,
    query: &KeywordQuery,
    visibility: &Visibility,
) -> Result<Vec<Scored>, SqliteError> {
    let seen = Seen::of(connection, visibility)?;
    let terms = frequencies.telling(connection, query.distinct_terms())?;
    let Some(expression) = match_expression(&terms, &seen) else { return Ok(Vec::new()) };
    let conditions = Conditions::of(&query.filter, seen);
    let limit = limited(query.limit);
    let ask = |sql| {
        let mut statement = connection.prepare_cached(sql)?;
        bind(&mut statement, &conditions.params())?;
        bind(&mut statement, &vec![(":expression", &expression), (":limit", &limit)])?;
        scored(statement.raw_query())
    };
    if query.filter.as_of.known.is_none()
        && let Some(found) = best_words(connection, &expression, &conditions, query.limit)?
    {
        return Ok(found);
    }
    let mut found = ask(concat!(
        "SELECT m.id, -bm25(memory_terms, 1.0, 0.0) AS score FROM memory_terms
         JOIN memory m ON m.rowid = memory_terms.rowid
         WHERE memory_terms MATCH :expression AND (:known IS NULL OR m.revised_at <= :known) AND ",
        matching!("m"),
        " ORDER BY score DESC, m.id LIMIT :limit"
    ))?;
    if query.filter.as_of.known.is_some() {
        found.extend(ask(concat!(
            "SELECT m.id, -bm25(state_terms, 1.0, 0.0) AS score FROM state_terms
             JOIN memory_state r ON r.rowid = state_terms.rowid JOIN memory m ON m.rowid = r.memory
             WHERE state_terms MATCH :expression AND ",
            held!(),
            " AND ",
            visible!("m.scope"),
            " AND ",
            matching!("r"),
            " ORDER BY score DESC, m.id LIMIT :limit"
        ))?);
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
        found.truncate(query.limit);
    }
    Ok(found)
}

/// The answer of [`keyword`] where the words' best few times as many hold it: no other memory that shares a word is read.
/// `None` if they may not.
fn best_words(
    connection: &Connection,
    expression: &str,
    conditions: &Conditions,
    limit: usize,
) -> Result<Option<Vec<Scored>>, SqliteError> {
    let few = limit.saturating_mul(BEST_WORDS);
    let mut statement = connection.prepare_cached(
        "SELECT rowid, -bm25(memory_terms, 1.0, 0.0) AS score FROM memory_terms
         WHERE memory_terms MATCH ?1 ORDER BY score DESC LIMIT ?2",
    )?;
    let best: Vec<(i64, f64)> = statement
        .query_map(params![expression, limited(few)], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let scores: HashMap<i64, f64> = best.iter().copied().collect();
    let mut statement = connection.prepare_cached(concat!(
        "SELECT m.id, m.rowid FROM rarray(:best) best CROSS JOIN memory m ON m.rowid = best.value WHERE ",
        matching!("m")
    ))?;
    bind(&mut statement, &conditions.params())?;
    bind(&mut statement, &vec![(":best", &rows::rowids(best.iter().map(|(rowid, _)| *rowid)))])?;
    let mut rows = statement.raw_query();
    let mut found: Vec<(f64, MemoryId)> = Vec::with_capacity(best.len());
    while let Some(row) = rows.next()? {
        found.push((scores[&row.get(1)?], MemoryId(uuid(row, 0)?)));
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    found.truncate(limit);
    // Those left out score at most as much as the last that was looked at; one that scores the same may come before it.
    let whole = best.len() < few;
    let settled = found.len() == limit && found.last().zip(best.last()).is_some_and(|(last, left)| last.0 > left.1);
    #[expect(clippy::cast_possible_truncation, reason = "a score needs no more digits")]
    let scored = |(score, id)| Scored { id, score: score as f32 };
    Ok((whole || settled).then(|| found.into_iter().map(scored).collect()))
}

/// A term in FTS5's language: a quoted string, in which only the quote has a meaning.
pub(super) fn quoted(term: &str) -> String {
    format!("\"{}\"", term.replace('"', "\"\""))
}

/// The question in FTS5's language, the reader's scopes inside it; `None` if nothing can answer.
fn match_expression(terms: &[String], seen: &Seen) -> Option<String> {
    if terms.is_empty() || !seen.system && seen.scopes.is_empty() {
        return None;
    }
    let terms: Vec<String> = terms.iter().map(|term| quoted(term)).collect();
    let terms = terms.join(" OR ");
    if seen.system {
        return Some(format!("terms : ({terms})"));
    }
    let scopes: Vec<String> = seen
        .scopes
        .iter()
        .filter_map(|scope| match scope {
            rusqlite::types::Value::Integer(id) => Some(format!("\"s{id}\"")),
            _ => None,
        })
        .collect();
    Some(format!("terms : ({terms}) AND scope : ({})", scopes.join(" OR ")))
}

/// The latest of one scope, with a further condition.
macro_rules! recent_of {
    ($further:literal) => {
        concat!(
            "SELECT m.id, m.occurred_at FROM memory m WHERE m.scope = :scope AND ",
            $further,
            "(:known IS NULL OR m.revised_at <= :known) AND ",
            matching!("m"),
            " ORDER BY m.occurred_at DESC, m.id DESC LIMIT :limit"
        )
    };
}

pub(super) fn recent(
    connection: &Connection,
    filter: &Filter,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Scored>, SqliteError> {
    let conditions = Conditions::of(filter, Seen::of(connection, visibility)?);
    let scopes: Vec<i64> = connection
        .prepare_cached(concat!("SELECT id FROM scope WHERE memories > 0 AND ", visible!("id")))?
        .query_map(&*conditions.seen.params(), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    // Scope by scope, and type by type where some are asked for, so that each is read from its index and no further than
    // the limit.
    const OF_SCOPE: &str = recent_of!("");
    const OF_TYPE: &str = recent_of!("m.type = :of_type AND ");
    let mut latest: Vec<(i64, MemoryId)> = Vec::new();
    let types: BTreeSet<&str> = filter.types.iter().map(|of_type| of_type.name()).collect();
    let mut statement = connection.prepare_cached(if types.is_empty() { OF_SCOPE } else { OF_TYPE })?;
    bind(&mut statement, &conditions.params())?;
    bind(&mut statement, &vec![(":limit", &limited(limit))])?;
    let mut read = |statement: &mut CachedStatement<'_>| -> Result<(), SqliteError> {
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            latest.push((row.get(1)?, MemoryId(uuid(row, 0)?)));
        }
        Ok(())
    };
    for scope in scopes {
        bind(&mut statement, &vec![(":scope", &scope)])?;
        if types.is_empty() {
            read(&mut statement)?;
        }
        for of_type in &types {
            bind(&mut statement, &vec![(":of_type", of_type)])?;
            read(&mut statement)?;
        }
    }
    drop(statement);
    if filter.as_of.known.is_some() {
        let mut statement = connection.prepare_cached(concat!(
            "SELECT m.id, r.occurred_at FROM memory_state r JOIN memory m ON m.rowid = r.memory WHERE ",
            held!(),
            " AND ",
            visible!("m.scope"),
            " AND ",
            matching!("r"),
            " ORDER BY r.occurred_at DESC, m.id DESC LIMIT :limit"
        ))?;
        bind(&mut statement, &conditions.params())?;
        bind(&mut statement, &vec![(":limit", &limited(limit))])?;
        read(&mut statement)?;
    }
    latest.sort_unstable_by(|a, b| b.cmp(a));
    latest.truncate(limit);
    #[expect(clippy::cast_precision_loss, reason = "a score; the order is already settled")]
    Ok(latest.into_iter().map(|(at, id)| Scored { id, score: (at / 1_000_000) as f32 }).collect())
}

pub(super) fn edges_of(
    connection: &Connection,
    id: Uuid,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Edge>, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "WITH here AS MATERIALIZED (SELECT rowid AS memory FROM memory m WHERE m.id = :id AND ",
        visible!("m.scope"),
        "), topic AS MATERIALIZED (SELECT rowid AS concept FROM concept c WHERE c.id = :id)
         SELECT a.id, b.id, e.kind, e.weight, e.reason, e.scope, e.recorded_at
         FROM (SELECT e.* FROM here JOIN edge e ON e.source = here.memory
               UNION SELECT e.* FROM here JOIN edge e ON e.target = here.memory) e
         JOIN memory a ON a.rowid = e.source JOIN memory b ON b.rowid = e.target
         WHERE ",
        visible!("e.scope"),
        " AND ",
        visible!("a.scope"),
        " AND ",
        visible!("b.scope"),
        " UNION ALL
         SELECT m.id, c.id, x.kind, x.weight, x.reason, x.scope, x.recorded_at
         FROM (SELECT x.* FROM here JOIN mention x ON x.memory = here.memory
               UNION ALL SELECT x.* FROM topic JOIN mention x ON x.concept = topic.concept) x
         JOIN memory m ON m.rowid = x.memory JOIN concept c ON c.rowid = x.concept
         WHERE ",
        visible!("x.scope"),
        " AND ",
        visible!("x.memory_scope"),
        " UNION ALL
         SELECT a.id, b.id, e.kind, e.weight, e.reason, e.scope, e.recorded_at
         FROM (SELECT e.* FROM topic JOIN concept_edge e ON e.source = topic.concept
               UNION SELECT e.* FROM topic JOIN concept_edge e ON e.target = topic.concept) e
         JOIN concept a ON a.rowid = e.source JOIN concept b ON b.rowid = e.target
         WHERE ",
        visible!("e.scope"),
        " AND ",
        nameable!("a"),
        " AND ",
        nameable!("b"),
        " ORDER BY 7 DESC, 3, 1, 2 LIMIT :limit"
    ))?;
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &vec![(":id", &id.into_bytes()), (":limit", &limited(limit))])?;
    let mut scopes = Scopes::of(connection);
    let mut rows = statement.raw_query();
    let mut edges = Vec::new();
    while let Some(row) = rows.next()? {
        edges.push(edge(row, 2, uuid(row, 0)?, uuid(row, 1)?, &mut scopes)?);
    }
    Ok(edges)
}

/// Whether the reader may know of this concept: it is from an ontology, or a visible memory names it.
macro_rules! nameable {
    ($concept:literal) => {
        concat!(
            "(",
            $concept,
            ".origin = 'ontology' OR EXISTS (SELECT 1 FROM concept_use u WHERE u.concept = ",
            $concept,
            ".rowid AND ",
            visible!("u.memory_scope"),
            " AND ",
            visible!("u.scope"),
            "))"
        )
    };
}
use nameable;

/// Mentions as they were at `:known`.
macro_rules! mentions_then {
    () => {
        "(SELECT memory, concept, kind, memory_scope, scope, weight, reason, recorded_at FROM mention
            WHERE ifnull(since, recorded_at) <= :known
          UNION ALL SELECT memory, concept, kind, memory_scope, scope, weight, reason, recorded_at FROM mention_state
            WHERE ifnull(since, recorded_at) <= :known AND :known < ended_at)"
    };
}
pub(super) use mentions_then;

/// What names the concepts with `:keys` and did at `:known`, from one table of mentions.
macro_rules! named_then {
    ($mentions:literal, $held:literal) => {
        concat!(
            "SELECT asked.rowid AS place, c.id, c.key, c.label, c.origin, e.memory, e.kind
             FROM rarray(:keys) asked CROSS JOIN concept c ON c.key = asked.value CROSS JOIN ",
            $mentions,
            " e ON e.concept = c.rowid WHERE ifnull(e.since, e.recorded_at) <= :known",
            $held,
            " AND ",
            visible!("e.memory_scope"),
            " AND ",
            visible!("e.scope")
        )
    };
}

pub(super) fn concepts(
    connection: &Connection,
    keys: &[ConceptKey],
    known: Option<Timestamp>,
    visibility: &Visibility,
) -> Result<Vec<ConceptUse>, SqliteError> {
    let now = concat!(
        "SELECT c.id, c.key, c.label, c.origin, sum(u.uses), sum(u.about)
         FROM rarray(:keys) asked CROSS JOIN concept c ON c.key = asked.value CROSS JOIN concept_use u ON u.concept = c.rowid
         WHERE ",
        visible!("u.memory_scope"),
        " AND ",
        visible!("u.scope"),
        " GROUP BY c.rowid ORDER BY min(asked.rowid)"
    );
    let then = concat!(
        "SELECT id, key, label, origin, count(DISTINCT memory), count(DISTINCT CASE WHEN kind = 'ABOUT' THEN memory END)
         FROM (",
        named_then!("mention", ""),
        " UNION ALL ",
        named_then!("mention_state", " AND :known < e.ended_at"),
        ") GROUP BY id ORDER BY min(place)"
    );
    let mut statement = connection.prepare_cached(if known.is_some() { then } else { now })?;
    let known = known.map(Timestamp::as_microsecond);
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &vec![(":keys", &texts(keys.iter().map(|key| &key.0))), (":known", &known)])?;
    let mut rows = statement.raw_query();
    let mut uses = Vec::new();
    while let Some(row) = rows.next()? {
        uses.push(ConceptUse { concept: concept(row)?, uses: size(row.get(4)?), about: size(row.get(5)?) });
    }
    Ok(uses)
}

/// A concept from columns `id, key, label, origin`.
pub(super) fn concept(row: &rusqlite::Row<'_>) -> Result<Concept, SqliteError> {
    Ok(Concept {
        id: ConceptId(uuid(row, 0)?),
        key: ConceptKey(row.get(1)?),
        label: row.get(2)?,
        origin: named(row, 3)?,
    })
}

macro_rules! naming {
    ($mentions:expr) => {
        concat!(
            "SELECT m.id, min(x.kind) AS kind FROM ",
            $mentions,
            " x JOIN memory m ON m.rowid = x.memory WHERE x.concept = (SELECT rowid FROM concept WHERE key = :key) AND ",
            visible!("x.scope"),
            " AND ",
            visible!("x.memory_scope"),
            // 'ABOUT' sorts before 'MENTIONS'.
            " GROUP BY x.memory ORDER BY kind, m.id DESC LIMIT :limit"
        )
    };
}

pub(super) fn memories_of_concept(
    connection: &Connection,
    key: &ConceptKey,
    limit: usize,
    known: Option<Timestamp>,
    visibility: &Visibility,
) -> Result<Vec<(MemoryId, EdgeKind)>, SqliteError> {
    let sql = if known.is_some() { naming!(mentions_then!()) } else { naming!("mention") };
    let mut statement = connection.prepare_cached(sql)?;
    let known = known.map(Timestamp::as_microsecond);
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &vec![(":key", &key.0), (":limit", &limited(limit)), (":known", &known)])?;
    let mut rows = statement.raw_query();
    let mut memories = Vec::new();
    while let Some(row) = rows.next()? {
        memories.push((MemoryId(uuid(row, 0)?), named(row, 1)?));
    }
    Ok(memories)
}

pub(super) fn replaced_texts(
    connection: &Connection,
    filter: &Filter,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Memory>, SqliteError> {
    let conditions = Conditions::of(filter, Seen::of(connection, visibility)?);
    let mut statement = connection.prepare_cached(concat!(
        "SELECT r.body FROM memory_state r JOIN memory m ON m.rowid = r.memory WHERE ",
        held!(),
        " AND r.recorded_at < m.recorded_at AND ",
        visible!("m.scope"),
        " AND ",
        matching!("r"),
        " ORDER BY r.believed_to DESC, m.id LIMIT :limit"
    ))?;
    bind(&mut statement, &conditions.params())?;
    bind(&mut statement, &vec![(":limit", &limited(limit))])?;
    let mut rows = statement.raw_query();
    let mut memories = Vec::new();
    while let Some(row) = rows.next()? {
        memories.push(memory_of_body(body(row)?)?);
    }
    Ok(memories)
}

pub(super) fn members(
    connection: &Connection,
    kind: EdgeKind,
    name: &str,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<MemoryId>, SqliteError> {
    // Scope by scope, so that the index of sessions within a scope serves.
    let sql = match kind {
        EdgeKind::SameSession => concat!(
            "SELECT m.id FROM scope s CROSS JOIN memory m ON m.scope = s.id AND m.session = :name WHERE ",
            visible!("s.id"),
            " ORDER BY m.rowid DESC LIMIT :limit"
        ),
        EdgeKind::SameTask => concat!(
            "SELECT m.id FROM scope s CROSS JOIN memory m ON m.scope = s.id AND m.task = :name WHERE ",
            visible!("s.id"),
            " ORDER BY m.rowid DESC LIMIT :limit"
        ),
        _ => return Ok(Vec::new()),
    };
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &vec![(":name", &name), (":limit", &limited(limit))])?;
    let mut last = Vec::new();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        last.push(MemoryId(uuid(row, 0)?));
    }
    last.reverse();
    Ok(last)
}

pub(super) fn events(
    connection: &Connection,
    ids: &[EventId],
    visibility: &Visibility,
) -> Result<Vec<Event>, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT e.body FROM rarray(:ids) asked CROSS JOIN event e ON e.id = asked.value WHERE ",
        visible!("e.scope"),
        " ORDER BY asked.rowid"
    ))?;
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &vec![(":ids", &rows::ids(ids.iter().map(|id| id.0)))])?;
    events_of(statement.raw_query())
}

pub(super) fn events_of_session(
    connection: &Connection,
    session: &str,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Event>, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT e.body FROM scope s CROSS JOIN event e ON e.scope = s.id AND e.session = :session WHERE ",
        visible!("s.id"),
        " ORDER BY e.at DESC, e.id DESC LIMIT :limit"
    ))?;
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &vec![(":session", &session), (":limit", &limited(limit))])?;
    let mut events = events_of(statement.raw_query())?;
    events.reverse();
    Ok(events)
}

fn events_of(mut rows: rusqlite::Rows<'_>) -> Result<Vec<Event>, SqliteError> {
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(serde_json::from_str(body(row)?).map_err(|_| SqliteError::Unreadable("event"))?);
    }
    Ok(events)
}

pub(super) fn vote_of(
    connection: &Connection,
    id: MemoryId,
    principal: &str,
    visibility: &Visibility,
) -> Result<Option<bool>, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT v.useful FROM memory m JOIN vote v ON v.memory = m.rowid WHERE m.id = :id AND v.principal = :principal AND ",
        visible!("m.scope")
    ))?;
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    bind(&mut statement, &vec![(":id", &id.0.into_bytes()), (":principal", &principal)])?;
    let mut rows = statement.raw_query();
    Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
}

pub(super) fn page(
    connection: &Connection,
    after: Option<MemoryId>,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Memory>, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        memory_columns!(),
        " FROM memory m WHERE m.id > :after AND ",
        visible!("m.scope"),
        " ORDER BY m.id LIMIT :limit"
    ))?;
    bind(&mut statement, &Seen::of(connection, visibility)?.params())?;
    let after = after.map_or(Vec::new(), |id| id.0.into_bytes().to_vec());
    bind(&mut statement, &vec![(":after", &after), (":limit", &limited(limit))])?;
    let mut rows = statement.raw_query();
    let mut memories = Vec::new();
    while let Some(row) = rows.next()? {
        memories.push(memory(row, 0)?);
    }
    Ok(memories)
}

pub(super) fn total_memories(connection: &Connection, visibility: &Visibility) -> Result<usize, SqliteError> {
    let mut statement =
        connection.prepare_cached(concat!("SELECT ifnull(sum(memories), 0) FROM scope WHERE ", visible!("id")))?;
    Ok(statement.query_row(&*Seen::of(connection, visibility)?.params(), |row| Ok(size(row.get(0)?)))?)
}

pub(super) fn counts(connection: &Connection, visibility: &Visibility) -> Result<StoreCounts, SqliteError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT (SELECT ifnull(sum(memories), 0) FROM scope WHERE ",
        visible!("id"),
        "), (SELECT count(*) FROM edge e JOIN memory a ON a.rowid = e.source JOIN memory b ON b.rowid = e.target WHERE ",
        visible!("e.scope"),
        " AND ",
        visible!("a.scope"),
        " AND ",
        visible!("b.scope"),
        ") + (SELECT count(*) FROM mention WHERE ",
        visible!("scope"),
        " AND ",
        visible!("memory_scope"),
        ") + (SELECT count(*) FROM concept_edge e JOIN concept a ON a.rowid = e.source JOIN concept b ON b.rowid = e.target
            WHERE ",
        visible!("e.scope"),
        " AND ",
        nameable!("a"),
        " AND ",
        nameable!("b"),
        "), (SELECT count(DISTINCT concept) FROM concept_use WHERE ",
        visible!("memory_scope"),
        " AND ",
        visible!("scope"),
        "), (SELECT count(*) FROM outbox)"
    ))?;
    let counts = statement.query_row(&*Seen::of(connection, visibility)?.params(), |row| {
        Ok(StoreCounts {
            memories: size(row.get(0)?),
            edges: size(row.get(1)?),
            concepts: size(row.get(2)?),
            outbox: size(row.get(3)?),
        })
    })?;
    Ok(counts)
}

pub(super) fn outbox(connection: &Connection, after: u64, limit: usize) -> Result<Vec<OutboxRow>, SqliteError> {
    let mut statement =
        connection.prepare_cached("SELECT seq, op, vectors FROM outbox WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
    let mut rows = statement.query(params![rows::integer(after), limited(limit)])?;
    let mut outbox = Vec::new();
    while let Some(row) = rows.next()? {
        let unreadable = |_| SqliteError::Unreadable("outbox row");
        let op = row.get_ref(1)?.as_str().map_err(unreadable)?;
        let vectors = row.get_ref(2)?.as_blob_or_null().map_err(unreadable)?;
        let op = unpack(op, vectors).ok_or(SqliteError::Unreadable("outbox row"))?;
        outbox.push(OutboxRow { seq: row.get::<_, i64>(0)?.cast_unsigned(), op });
    }
    Ok(outbox)
}

pub(super) fn half_links(connection: &Connection) -> Result<usize, SqliteError> {
    let count = connection.query_row(
        "SELECT (SELECT count(*) FROM edge
            WHERE source NOT IN (SELECT rowid FROM memory) OR target NOT IN (SELECT rowid FROM memory))
         + (SELECT count(*) FROM mention
            WHERE memory NOT IN (SELECT rowid FROM memory) OR concept NOT IN (SELECT rowid FROM concept))
         + (SELECT count(*) FROM concept_edge
            WHERE source NOT IN (SELECT rowid FROM concept) OR target NOT IN (SELECT rowid FROM concept))",
        [],
        |row| row.get(0),
    )?;
    Ok(size(count))
}

/// Removes what [`half_links`] counts.
pub(super) fn remove_half_links(connection: &Connection) -> Result<(), SqliteError> {
    connection.execute_batch(
        "DELETE FROM edge
            WHERE source NOT IN (SELECT rowid FROM memory) OR target NOT IN (SELECT rowid FROM memory);
         DELETE FROM mention
            WHERE memory NOT IN (SELECT rowid FROM memory) OR concept NOT IN (SELECT rowid FROM concept);
         DELETE FROM concept_edge
            WHERE source NOT IN (SELECT rowid FROM concept) OR target NOT IN (SELECT rowid FROM concept);",
    )?;
    Ok(())
}

pub(super) type Revision = (Timestamp, Option<Timestamp>, Memory);

pub(super) fn revisions(
    connection: &Connection,
    id: MemoryId,
    visibility: &Visibility,
) -> Result<Vec<Revision>, SqliteError> {
    let current = connection
        .prepare_cached(concat!("SELECT m.rowid, m.revised_at, ", memory_columns!(), " FROM memory m WHERE m.id = ?1"))?
        .query_and_then([id.0.as_bytes()], |row| {
            Ok::<(i64, i64, Memory), SqliteError>((row.get(0)?, row.get(1)?, memory(row, 2)?))
        })?
        .next()
        .transpose()?
        .filter(|(_, _, memory)| visibility.sees(&memory.scope.key()));
    let Some((rowid, revised_at, current)) = current else { return Ok(Vec::new()) };
    let mut revisions: Vec<Revision> = connection
        .prepare_cached(
            "SELECT believed_from, believed_to, body FROM memory_state WHERE memory = ?1 ORDER BY believed_from, rowid",
        )?
        .query_and_then([rowid], |row| {
            let body: String = row.get(2)?;
            Ok((timestamp(row.get(0)?)?, Some(timestamp(row.get(1)?)?), memory_of_body(&body)?))
        })?
        .collect::<Result<_, SqliteError>>()?;
    revisions.push((timestamp(revised_at)?, None, current));
    revisions.retain(|(_, _, memory)| visibility.sees(&memory.scope.key()));
    Ok(revisions)
}

fn scored(mut rows: rusqlite::Rows<'_>) -> Result<Vec<Scored>, SqliteError> {
    let mut scored = Vec::new();
    while let Some(row) = rows.next()? {
        #[expect(clippy::cast_possible_truncation, reason = "a score needs no more digits")]
        scored.push(Scored { id: MemoryId(uuid(row, 0)?), score: row.get::<_, f64>(1)? as f32 });
    }
    Ok(scored)
}

pub(super) fn limited(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A count that SQLite gave; never negative.
pub(super) fn size(count: i64) -> usize {
    usize::try_from(count).unwrap_or(0)
}
