//! Writing change sets.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, named_params, params};
use uuid::Uuid;

use super::{
    error::SqliteError,
    review,
    rows::{body_of_memory, integer, memory, memory_columns},
};
use crate::{
    backends::packed::pack,
    domain::{
        ChangeSet, Concept, Edge, EdgeKind, Effect, Event, Idempotency, IndexOp, Memory, MemoryId, Op, Scope, Status,
    },
    ports::Applied,
};
use jiff::Timestamp;

/// All of `changes` or none.
pub(super) fn apply(connection: &mut Connection, changes: &[ChangeSet]) -> Result<Vec<Applied>, SqliteError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut unwritten = Vec::new();
    let applied =
        changes.iter().map(|change| apply_one(&transaction, change, &mut unwritten)).collect::<Result<Vec<_>, _>>()?;
    write_terms(&transaction, &mut unwritten)?;
    transaction.commit()?;
    if changes.iter().flat_map(|change| &change.ops).any(|op| matches!(op, Op::Forget { .. })) {
        // The log still holds the forgotten text. A reader at work can keep it from being cut now; the next forget or
        // checkpoint cuts it.
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    }
    Ok(applied)
}

/// Terms of a memory that are not in the full-text index yet. They are written together: each other statement in between
/// would make the index write out what it has gathered.
pub(super) struct Terms {
    pub rowid: i64,
    pub scope: i64,
    pub terms: String,
}

fn apply_one(
    transaction: &Transaction<'_>,
    change: &ChangeSet,
    unwritten: &mut Vec<Terms>,
) -> Result<Applied, SqliteError> {
    let seq: Option<i64> = transaction
        .prepare_cached(
            "INSERT INTO change (id, at, actor, use_case, reason, ops) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (id) DO NOTHING RETURNING seq",
        )?
        .query_row(
            params![
                change.id.0.as_bytes(),
                change.at.as_microsecond(),
                change.actor,
                change.use_case,
                change.reason,
                integer(change.ops.len() as u64)
            ],
            |row| row.get(0),
        )
        .optional()?;
    let Some(seq) = seq else { return Ok(Applied::Before) };
    let (mut retired, mut loosened) = (Vec::new(), Vec::new());
    for op in &change.ops {
        match op {
            Op::PutMemory { memory, expected_revision, .. } => {
                put_memory(transaction, memory, *expected_revision, change.at, unwritten)?;
                let effect = if *expected_revision == 0 { Effect::Created } else { Effect::Updated };
                note(transaction, seq, memory.id.0, effect)?;
            }
            Op::Retire { id, status, valid_to } => {
                let ended = retire(transaction, *id, *status, *valid_to, change.at)?;
                retired.push(ended);
                if ended {
                    let effect = if *status == Status::Superseded { Effect::Superseded } else { Effect::Archived };
                    note(transaction, seq, id.0, effect)?;
                }
            }
            Op::Touch { ids } => {
                touch(transaction, ids, change.at)?;
                if change.use_case != ChangeSet::COUNT_USES {
                    for id in ids {
                        note(transaction, seq, id.0, Effect::Refreshed)?;
                    }
                }
            }
            Op::SetSpaces { id, spaces } => set_spaces(transaction, *id, spaces)?,
            Op::PutEdge(edge) => put_edge(transaction, edge, change.at)?,
            Op::DropEdges { from, kinds } => drop_edges(transaction, *from, kinds, change.at, &mut loosened)?,
            Op::PutConcept(concept) => put_concept(transaction, concept)?,
            Op::PutEvent(event) => put_event(transaction, event)?,
            Op::Vote { id, principal, useful, note: why, confidence } => {
                let vote = Vote { principal, useful: *useful, note: why.as_deref() };
                put_vote(transaction, *id, &vote, *confidence, change.at)?;
                note(transaction, seq, id.0, Effect::Voted)?;
            }
            Op::Forget { id } => {
                // Before it is gone: the row needs its scope.
                note(transaction, seq, id.0, Effect::Forgotten)?;
                clear_reasons(transaction, seq, *id)?;
                forget(transaction, *id, &mut loosened, unwritten)?;
            }
            Op::PutRecord { record, text, expected_version } => {
                review::put(transaction, seq, record, text.as_deref(), *expected_version)?;
            }
        }
    }
    note_links(transaction, seq, change)?;
    // Not before: what one operation lets go, a later one may name again.
    remove_orphans(transaction, loosened)?;
    // A memory that was not active has not changed, so its point must not either.
    let mut retired = retired.into_iter();
    for op in change.index_ops() {
        if !matches!(op, IndexOp::Retire { .. }) || retired.next() == Some(true) {
            put_outbox(transaction, op)?;
        }
    }
    // After the operations: the answer to a forget request names what was forgotten and must outlive it.
    if let Some(idempotency) = &change.idempotency {
        put_answer(transaction, change, idempotency)?;
    }
    Ok(Applied::Now)
}

/// What was said of a memory goes with it; why it is forgotten, in change `seq`, stays.
fn clear_reasons(transaction: &Transaction<'_>, seq: i64, id: MemoryId) -> Result<(), SqliteError> {
    transaction
        .prepare_cached(
            "UPDATE change SET reason = NULL WHERE reason IS NOT NULL AND seq < ?1
             AND EXISTS (SELECT 1 FROM change_memory l WHERE l.seq = change.seq AND l.memory = ?2)",
        )?
        .execute(params![seq, id.0.as_bytes()])?;
    Ok(())
}

/// Notes in the change log what became of a memory. The first note of a change stands; an id that is no memory has none.
fn note(transaction: &Transaction<'_>, seq: i64, id: Uuid, effect: Effect) -> Result<(), SqliteError> {
    note_within(transaction, seq, id, effect, None)
}

/// [`note`] for the readers of `scope` alone, who may be fewer than those of the memory.
fn note_within(
    transaction: &Transaction<'_>,
    seq: i64,
    id: Uuid,
    effect: Effect,
    scope: Option<i64>,
) -> Result<(), SqliteError> {
    transaction
        .prepare_cached(
            "INSERT INTO change_memory (seq, memory, effect, scope) SELECT ?1, id, ?3, ifnull(?4, scope) FROM memory
             WHERE id = ?2 ON CONFLICT DO NOTHING",
        )?
        .execute(params![seq, id.as_bytes(), effect.name(), scope])?;
    Ok(())
}

/// Notes the ends of edges that are news. Last of all, since any other effect says more.
fn note_links(transaction: &Transaction<'_>, seq: i64, change: &ChangeSet) -> Result<(), SqliteError> {
    for op in &change.ops {
        if let Op::PutEdge(edge) = op
            && edge.is_news()
        {
            let scope = Some(scope_id(transaction, &edge.scope)?);
            note_within(transaction, seq, edge.from, Effect::Linked, scope)?;
            note_within(transaction, seq, edge.to, Effect::Linked, scope)?;
        }
    }
    Ok(())
}

struct Stored {
    rowid: i64,
    scope: i64,
    session_position: Option<i64>,
    task_position: Option<i64>,
    memory: Memory,
}

fn stored(transaction: &Transaction<'_>, id: MemoryId) -> Result<Option<Stored>, SqliteError> {
    let mut statement = transaction.prepare_cached(concat!(
        "SELECT m.rowid, m.scope, m.session_position, m.task_position, ",
        memory_columns!(),
        " FROM memory m WHERE m.id = ?1"
    ))?;
    let mut rows = statement.query([id.0.as_bytes()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Stored {
        rowid: row.get(0)?,
        scope: row.get(1)?,
        session_position: row.get(2)?,
        task_position: row.get(3)?,
        memory: memory(row, 4)?,
    }))
}

const PUT_MEMORY: &str = "
    INSERT INTO memory (id, scope, external_id, status, kind, type, language, tags, session, session_position, task,
        task_position, occurred_at, valid_from, valid_to, recorded_at, retired_at, expires_at, revision, revised_at,
        content_hash, access_count, last_accessed, body)
    VALUES (:id, :scope, :external_id, :status, :kind, :type, :language, :tags, :session, :session_position, :task,
        :task_position, :occurred_at, :valid_from, :valid_to, :recorded_at, :retired_at, :expires_at, :revision,
        :revised_at, :content_hash, :access_count, :last_accessed, :body)
    ON CONFLICT (id) DO UPDATE SET scope = :scope, external_id = :external_id, status = :status, kind = :kind,
        type = :type, language = :language, tags = :tags, session = :session, session_position = :session_position,
        task = :task, task_position = :task_position, occurred_at = :occurred_at, valid_from = :valid_from,
        valid_to = :valid_to, recorded_at = :recorded_at, retired_at = :retired_at, expires_at = :expires_at,
        revision = :revision, revised_at = :revised_at, content_hash = :content_hash, access_count = :access_count,
        last_accessed = :last_accessed, body = :body
    RETURNING rowid";

fn put_memory(
    transaction: &Transaction<'_>,
    memory: &Memory,
    expected: u64,
    at: Timestamp,
    unwritten: &mut Vec<Terms>,
) -> Result<(), SqliteError> {
    let before = stored(transaction, memory.id)?;
    if before.as_ref().map_or(0, |before| before.memory.revision) != expected {
        return Err(SqliteError::Conflict("memory"));
    }
    if let Some(before) = &before {
        keep_state(transaction, before, at)?;
    }
    let scope = scope_id(transaction, &memory.scope)?;
    let same_scope = before.as_ref().filter(|before| before.scope == scope);
    let session_position = match same_scope.filter(|before| before.memory.session_id == memory.session_id) {
        Some(before) => before.session_position,
        None => next_position(transaction, NEXT_IN_SESSION, scope, memory.session_id.as_deref())?,
    };
    let task_position = match same_scope.filter(|before| before.memory.task_id == memory.task_id) {
        Some(before) => before.task_position,
        None => next_position(transaction, NEXT_IN_TASK, scope, memory.task_id.as_deref())?,
    };
    let place = Place {
        scope,
        session_position,
        task_position,
        revised_at: if before.is_some() { at } else { memory.recorded_at },
        access_count: memory.access_count,
        last_accessed: memory.last_accessed,
    };
    let rowid = write_memory(transaction, memory, &place)?;
    match before {
        Some(before) if before.scope == scope && before.memory.terms == memory.terms => return Ok(()),
        Some(before) => remove_terms(transaction, &before, unwritten)?,
        None => {}
    }
    unwritten.push(Terms { rowid, scope, terms: memory.terms.clone() });
    Ok(())
}

/// What a row of `memory` has beside the record.
pub(super) struct Place {
    pub scope: i64,
    pub session_position: Option<i64>,
    pub task_position: Option<i64>,
    pub revised_at: Timestamp,
    pub access_count: u64,
    pub last_accessed: Option<Timestamp>,
}

/// Writes the row, in place of one with the same id; its rowid.
pub(super) fn write_memory(transaction: &Transaction<'_>, memory: &Memory, place: &Place) -> Result<i64, SqliteError> {
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_microsecond);
    let rowid = transaction.prepare_cached(PUT_MEMORY)?.query_row(
        named_params! {
            ":id": memory.id.0.as_bytes(),
            ":scope": place.scope,
            ":external_id": memory.external_id,
            ":status": memory.status.name(),
            ":kind": memory.kind.name(),
            ":type": memory.memory_type.name(),
            ":language": memory.language.name(),
            ":tags": tags(memory)?,
            ":session": memory.session_id,
            ":session_position": place.session_position,
            ":task": memory.task_id,
            ":task_position": place.task_position,
            ":occurred_at": memory.occurred_at.as_microsecond(),
            ":valid_from": micros(memory.valid_from),
            ":valid_to": micros(memory.valid_to),
            ":recorded_at": memory.recorded_at.as_microsecond(),
            ":retired_at": micros(memory.retired_at),
            ":expires_at": micros(memory.expires_at),
            ":revision": integer(memory.revision),
            ":revised_at": place.revised_at.as_microsecond(),
            ":content_hash": memory.content_hash,
            ":access_count": integer(place.access_count),
            ":last_accessed": micros(place.last_accessed),
            ":body": body_of_memory(memory)?,
        },
        |row| row.get(0),
    )?;
    Ok(rowid)
}

pub(super) fn tags(memory: &Memory) -> Result<String, SqliteError> {
    serde_json::to_string(&memory.tags).map_err(|_| SqliteError::Unwritable("tags"))
}

pub(super) fn write_terms(transaction: &Transaction<'_>, unwritten: &mut Vec<Terms>) -> Result<(), SqliteError> {
    let mut statement =
        transaction.prepare_cached("INSERT INTO memory_terms (rowid, terms, scope) VALUES (?1, ?2, 's' || ?3)")?;
    for Terms { rowid, scope, terms } in unwritten.drain(..) {
        statement.execute(params![rowid, terms, scope])?;
    }
    Ok(())
}

const NEXT_IN_SESSION: &str =
    "SELECT ifnull(max(session_position), 0) + 1 FROM memory WHERE scope = ?1 AND session = ?2";
const NEXT_IN_TASK: &str = "SELECT ifnull(max(task_position), 0) + 1 FROM memory WHERE scope = ?1 AND task = ?2";

fn next_position(
    transaction: &Transaction<'_>,
    statement: &str,
    scope: i64,
    name: Option<&str>,
) -> Result<Option<i64>, SqliteError> {
    let Some(name) = name else { return Ok(None) };
    Ok(Some(transaction.prepare_cached(statement)?.query_row(params![scope, name], |row| row.get(0))?))
}

const KEEP_STATE: &str = "
    INSERT INTO memory_state (memory, scope, status, kind, type, language, tags, session, task, occurred_at, valid_from,
        valid_to, recorded_at, retired_at, expires_at, believed_from, believed_to, body)
    SELECT rowid, scope, status, kind, type, language, tags, session, task, occurred_at, valid_from, valid_to, recorded_at,
        retired_at, expires_at, revised_at, ?2, ?3
    FROM memory WHERE rowid = ?1 RETURNING rowid";

/// Keeps the state that ends now as history.
fn keep_state(transaction: &Transaction<'_>, before: &Stored, at: Timestamp) -> Result<(), SqliteError> {
    let body = body_of_memory(&before.memory)?;
    let state: i64 = transaction
        .prepare_cached(KEEP_STATE)?
        .query_row(params![before.rowid, at.as_microsecond(), body], |row| row.get(0))?;
    transaction
        .prepare_cached("INSERT INTO state_terms (rowid, terms, scope) VALUES (?1, ?2, 's' || ?3)")?
        .execute(params![state, before.memory.terms, before.scope])?;
    Ok(())
}

/// The index keeps no text, so a deletion must name exactly what was indexed.
fn remove_terms(transaction: &Transaction<'_>, stored: &Stored, unwritten: &mut Vec<Terms>) -> Result<(), SqliteError> {
    write_terms(transaction, unwritten)?;
    transaction
        .prepare_cached(
            "INSERT INTO memory_terms (memory_terms, rowid, terms, scope) VALUES ('delete', ?1, ?2, 's' || ?3)",
        )?
        .execute(params![stored.rowid, stored.memory.terms, stored.scope])?;
    Ok(())
}

pub(super) fn scope_id(transaction: &Transaction<'_>, scope: &Scope) -> Result<i64, SqliteError> {
    let key = scope.key();
    let found = transaction
        .prepare_cached("SELECT id FROM scope WHERE key = ?1")?
        .query_row([&key], |row| row.get(0))
        .optional()?;
    match found {
        Some(id) => Ok(id),
        None => Ok(transaction
            .prepare_cached("INSERT INTO scope (key) VALUES (?1) RETURNING id")?
            .query_row([&key], |row| row.get(0))?),
    }
}

/// Whether there was an active memory to retire.
fn retire(
    transaction: &Transaction<'_>,
    id: MemoryId,
    status: Status,
    valid_to: Option<Timestamp>,
    at: Timestamp,
) -> Result<bool, SqliteError> {
    let Some(before) = stored(transaction, id)?.filter(|stored| stored.memory.status == Status::Active) else {
        return Ok(false);
    };
    keep_state(transaction, &before, at)?;
    let Stored { rowid, mut memory, .. } = before;
    memory.status = status;
    memory.valid_to = valid_to.or(memory.valid_to);
    memory.retired_at = Some(at);
    transaction
        .prepare_cached(
            "UPDATE memory SET status = ?2, valid_to = ?3, retired_at = ?4, revised_at = ?4, body = ?5 WHERE rowid = ?1",
        )?
        .execute(params![
            rowid,
            status.name(),
            memory.valid_to.map(Timestamp::as_microsecond),
            at.as_microsecond(),
            body_of_memory(&memory)?
        ])?;
    Ok(true)
}

struct Vote<'a> {
    principal: &'a str,
    useful: bool,
    note: Option<&'a str>,
}

/// A memory that is gone has no votes.
fn put_vote(
    transaction: &Transaction<'_>,
    id: MemoryId,
    vote: &Vote<'_>,
    confidence: f32,
    at: Timestamp,
) -> Result<(), SqliteError> {
    let Some(before) = stored(transaction, id)? else { return Ok(()) };
    keep_state(transaction, &before, at)?;
    let Stored { rowid, mut memory, .. } = before;
    let earlier: Option<bool> = transaction
        .prepare_cached("SELECT useful FROM vote WHERE memory = ?1 AND principal = ?2")?
        .query_row(params![rowid, vote.principal], |row| row.get(0))
        .optional()?;
    memory.count_vote(earlier, vote.useful, confidence);
    transaction
        .prepare_cached(
            "INSERT INTO vote (memory, principal, useful, note, at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET useful = excluded.useful, note = excluded.note, at = excluded.at",
        )?
        .execute(params![rowid, vote.principal, vote.useful, vote.note, at.as_microsecond()])?;
    transaction.prepare_cached("UPDATE memory SET revised_at = ?2, body = ?3 WHERE rowid = ?1")?.execute(params![
        rowid,
        at.as_microsecond(),
        body_of_memory(&memory)?
    ])?;
    Ok(())
}

fn set_spaces(transaction: &Transaction<'_>, id: MemoryId, spaces: &[String]) -> Result<(), SqliteError> {
    let spaces = serde_json::to_string(spaces).map_err(|_| SqliteError::Unwritable("names of spaces"))?;
    transaction
        .prepare_cached("UPDATE memory SET body = json_set(body, '$.spaces', json(?2)) WHERE id = ?1")?
        .execute(params![id.0.as_bytes(), spaces])?;
    Ok(())
}

fn touch(transaction: &Transaction<'_>, ids: &[MemoryId], at: Timestamp) -> Result<(), SqliteError> {
    let mut statement = transaction.prepare_cached(
        "UPDATE memory SET access_count = access_count + 1, last_accessed = max(ifnull(last_accessed, ?2), ?2) WHERE id = ?1",
    )?;
    for id in ids {
        statement.execute(params![id.0.as_bytes(), at.as_microsecond()])?;
    }
    Ok(())
}

const PUT_MENTION: &str = "
    INSERT INTO mention (memory, concept, kind, memory_scope, scope, weight, reason, recorded_at)
    SELECT m.rowid, c.rowid, ?3, m.scope, ?4, ?5, ?6, ?7 FROM memory m JOIN concept c WHERE m.id = ?1 AND c.id = ?2
    ON CONFLICT DO NOTHING";
const REPLACE_MENTION: &str = "
    UPDATE mention SET scope = ?4, weight = ?5, reason = ?6, since = ?7
    WHERE memory = (SELECT rowid FROM memory WHERE id = ?1) AND concept = (SELECT rowid FROM concept WHERE id = ?2)
        AND kind = ?3 AND (scope <> ?4 OR weight <> ?5 OR reason IS NOT ?6)";
const KEEP_MENTION: &str = "
    INSERT INTO mention_state SELECT memory, concept, kind, memory_scope, scope, weight, reason, recorded_at, since, ?7
    FROM mention WHERE memory = (SELECT rowid FROM memory WHERE id = ?1)
        AND concept = (SELECT rowid FROM concept WHERE id = ?2) AND kind = ?3
        AND (scope <> ?4 OR weight <> ?5 OR reason IS NOT ?6)";
const PUT_CONCEPT_EDGE: &str = "
    INSERT INTO concept_edge (source, target, kind, scope, weight, reason, recorded_at)
    SELECT a.rowid, b.rowid, ?3, ?4, ?5, ?6, ?7 FROM concept a JOIN concept b WHERE a.id = ?1 AND b.id = ?2
    ON CONFLICT DO UPDATE SET scope = excluded.scope, weight = excluded.weight, reason = excluded.reason";
const PUT_MEMORY_EDGE: &str = "
    INSERT INTO edge (source, target, kind, scope, weight, reason, recorded_at)
    SELECT a.rowid, b.rowid, ?3, ?4, ?5, ?6, ?7 FROM memory a JOIN memory b WHERE a.id = ?1 AND b.id = ?2
    ON CONFLICT DO NOTHING";
const REPLACE_MEMORY_EDGE: &str = "
    UPDATE edge SET scope = ?4, weight = ?5, reason = ?6, since = ?7
    WHERE source = (SELECT rowid FROM memory WHERE id = ?1) AND target = (SELECT rowid FROM memory WHERE id = ?2)
        AND kind = ?3 AND (scope <> ?4 OR weight <> ?5 OR reason IS NOT ?6)";
const KEEP_MEMORY_EDGE: &str = "
    INSERT INTO edge_state SELECT source, kind, target, scope, weight, reason, recorded_at, since, ?7
    FROM edge WHERE source = (SELECT rowid FROM memory WHERE id = ?1)
        AND target = (SELECT rowid FROM memory WHERE id = ?2) AND kind = ?3
        AND (scope <> ?4 OR weight <> ?5 OR reason IS NOT ?6)";

/// Another process has come between: the newer was decided on a last member that no longer was the last.
const APART_IN_SESSION: &str = "
    SELECT 1 FROM memory newer JOIN memory older ON older.scope = newer.scope AND older.session = newer.session
    WHERE newer.id = ?1 AND older.id = ?2 AND EXISTS (SELECT 1 FROM memory m WHERE m.scope = newer.scope
        AND m.session = newer.session AND m.session_position > older.session_position
        AND m.session_position < newer.session_position)";
const APART_IN_TASK: &str = "
    SELECT 1 FROM memory newer JOIN memory older ON older.scope = newer.scope AND older.task = newer.task
    WHERE newer.id = ?1 AND older.id = ?2 AND EXISTS (SELECT 1 FROM memory m WHERE m.scope = newer.scope
        AND m.task = newer.task AND m.task_position > older.task_position AND m.task_position < newer.task_position)";

/// Written again, an edge keeps the time it was first recorded: it was believed since then. What it said until now is kept
/// as history.
fn put_edge(transaction: &Transaction<'_>, edge: &Edge, at: Timestamp) -> Result<(), SqliteError> {
    let (put, replace): (_, &[&str]) = match edge.kind {
        EdgeKind::About | EdgeKind::Mentions => (PUT_MENTION, &[KEEP_MENTION, REPLACE_MENTION]),
        EdgeKind::Broader | EdgeKind::Related => (PUT_CONCEPT_EDGE, &[]),
        EdgeKind::SameSession
        | EdgeKind::SameTask
        | EdgeKind::Supersedes
        | EdgeKind::Causes
        | EdgeKind::Supplements
        | EdgeKind::DerivedFrom
        | EdgeKind::Contradicts => (PUT_MEMORY_EDGE, &[KEEP_MEMORY_EDGE, REPLACE_MEMORY_EDGE]),
    };
    let (from, to, kind) = (edge.from.as_bytes(), edge.to.as_bytes(), edge.kind.name());
    let apart = match edge.kind {
        EdgeKind::SameSession => Some(APART_IN_SESSION),
        EdgeKind::SameTask => Some(APART_IN_TASK),
        _ => None,
    };
    if let Some(apart) = apart
        && transaction.prepare_cached(apart)?.exists(params![from, to])?
    {
        return Err(SqliteError::Conflict("last member"));
    }
    let (scope, weight, at) = (scope_id(transaction, &edge.scope)?, f64::from(edge.weight), at.as_microsecond());
    let recorded_at = edge.recorded_at.as_microsecond();
    let mut put = transaction.prepare_cached(put)?;
    let new = put.execute(params![from, to, kind, scope, weight, edge.reason, recorded_at])?;
    // Nearly every edge is new, and takes one statement.
    for replace in if new == 0 { replace } else { &[] } {
        transaction.prepare_cached(replace)?.execute(params![from, to, kind, scope, weight, edge.reason, at])?;
    }
    Ok(())
}

fn put_concept(transaction: &Transaction<'_>, concept: &Concept) -> Result<(), SqliteError> {
    transaction
        .prepare_cached("INSERT INTO concept (id, key, label, origin) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING")?
        .execute(params![concept.id.0.as_bytes(), concept.key.0, concept.label, concept.origin.name()])?;
    Ok(())
}

pub(super) fn put_event(transaction: &Transaction<'_>, event: &Event) -> Result<(), SqliteError> {
    transaction
        .prepare_cached(
            "INSERT INTO event (id, scope, session, task, at, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            event.id.0.as_bytes(),
            scope_id(transaction, &event.scope)?,
            event.session_id,
            event.task_id,
            event.at.as_microsecond(),
            serde_json::to_string(event).map_err(|_| SqliteError::Unwritable("event"))?
        ])?;
    let mut made = transaction
        .prepare_cached("INSERT INTO event_memory (memory, event) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    for memory in &event.made {
        made.execute(params![memory.0.as_bytes(), event.id.0.as_bytes()])?;
    }
    Ok(())
}

const NAMED_BY: &str = "
    SELECT concept FROM mention WHERE memory = (SELECT rowid FROM memory WHERE id = ?1)
    UNION SELECT concept FROM mention_state WHERE memory = (SELECT rowid FROM memory WHERE id = ?1)";

/// Notes in `loosened` the concepts that may now be named by nothing.
fn drop_edges(
    transaction: &Transaction<'_>,
    from: Uuid,
    kinds: &[EdgeKind],
    at: Timestamp,
    loosened: &mut Vec<i64>,
) -> Result<(), SqliteError> {
    loosen(transaction, from, loosened)?;
    for statement in [
        "INSERT INTO edge_state SELECT source, kind, target, scope, weight, reason, recorded_at, since, ?3
            FROM edge WHERE kind = ?2 AND source = (SELECT rowid FROM memory WHERE id = ?1)",
        "INSERT INTO mention_state SELECT memory, concept, kind, memory_scope, scope, weight, reason, recorded_at, since, ?3
            FROM mention WHERE kind = ?2 AND memory = (SELECT rowid FROM memory WHERE id = ?1)",
    ] {
        let mut statement = transaction.prepare_cached(statement)?;
        for kind in kinds {
            statement.execute(params![from.as_bytes(), kind.name(), at.as_microsecond()])?;
        }
    }
    for statement in [
        "DELETE FROM edge WHERE kind = ?2 AND source = (SELECT rowid FROM memory WHERE id = ?1)",
        "DELETE FROM mention WHERE kind = ?2 AND memory = (SELECT rowid FROM memory WHERE id = ?1)",
        "DELETE FROM concept_edge WHERE kind = ?2 AND source = (SELECT rowid FROM concept WHERE id = ?1)",
    ] {
        let mut statement = transaction.prepare_cached(statement)?;
        for kind in kinds {
            statement.execute(params![from.as_bytes(), kind.name()])?;
        }
    }
    Ok(())
}

fn loosen(transaction: &Transaction<'_>, from: Uuid, loosened: &mut Vec<i64>) -> Result<(), SqliteError> {
    for concept in transaction.prepare_cached(NAMED_BY)?.query_map([from.as_bytes()], |row| row.get(0))? {
        loosened.push(concept?);
    }
    Ok(())
}

fn remove_orphans(transaction: &Transaction<'_>, loosened: Vec<i64>) -> Result<(), SqliteError> {
    let mut statement = transaction.prepare_cached(
        "DELETE FROM concept WHERE rowid = ?1 AND origin = 'text'
         AND NOT EXISTS (SELECT 1 FROM mention WHERE concept = ?1)
         AND NOT EXISTS (SELECT 1 FROM mention_state WHERE concept = ?1)
         AND NOT EXISTS (SELECT 1 FROM concept_edge WHERE source = ?1 OR target = ?1)",
    )?;
    for concept in loosened {
        statement.execute([concept])?;
    }
    Ok(())
}

/// Removes every copy: the record, its history, edges and votes (by cascade), its terms, the raw events it came from, and
/// answers that tell of it. Concepts that only it named go with `loosened`; vectors that wait, with the outbox row of this forget.
fn forget(
    transaction: &Transaction<'_>,
    id: MemoryId,
    loosened: &mut Vec<i64>,
    unwritten: &mut Vec<Terms>,
) -> Result<(), SqliteError> {
    let key = id.0.as_bytes();
    if let Some(stored) = stored(transaction, id)? {
        loosen(transaction, id.0, loosened)?;
        remove_terms(transaction, &stored, unwritten)?;
        transaction
            .prepare_cached(
                "INSERT INTO state_terms (state_terms, rowid, terms, scope)
                 SELECT 'delete', rowid, body ->> '$.terms', 's' || scope FROM memory_state WHERE memory = ?1",
            )?
            .execute([stored.rowid])?;
        let mut event = transaction.prepare_cached("DELETE FROM event WHERE id = ?1")?;
        for source in &stored.memory.provenance {
            event.execute([source.as_bytes()])?;
        }
        transaction
            .prepare_cached("DELETE FROM event WHERE id IN (SELECT event FROM event_memory WHERE memory = ?1)")?
            .execute([key])?;
        transaction.prepare_cached("DELETE FROM event_memory WHERE memory = ?1")?.execute([key])?;
        transaction.prepare_cached("DELETE FROM memory WHERE rowid = ?1")?.execute([stored.rowid])?;
    }
    transaction
        .prepare_cached("DELETE FROM idempotency WHERE rowid IN (SELECT answer FROM idempotency_names WHERE id = ?1)")?
        .execute([key])?;
    Ok(())
}

fn put_outbox(transaction: &Transaction<'_>, op: IndexOp) -> Result<(), SqliteError> {
    let id = match &op {
        IndexOp::Upsert(point) => point.id,
        IndexOp::Retire { id, .. } | IndexOp::SetPayload { id, .. } => *id,
        IndexOp::Delete { id } => {
            transaction.prepare_cached("DELETE FROM outbox WHERE memory = ?1")?.execute([id.0.as_bytes()])?;
            *id
        }
    };
    let (op, vectors) = pack(op).ok_or(SqliteError::Unwritable("index operation"))?;
    transaction.prepare_cached("INSERT INTO outbox (memory, op, vectors) VALUES (?1, ?2, ?3)")?.execute(params![
        id.0.as_bytes(),
        op,
        vectors
    ])?;
    Ok(())
}

fn put_answer(transaction: &Transaction<'_>, change: &ChangeSet, idempotency: &Idempotency) -> Result<(), SqliteError> {
    let answer: Option<i64> = transaction
        .prepare_cached(
            "INSERT INTO idempotency (principal, key, change, request_hash, answer) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (principal, key) DO NOTHING RETURNING rowid",
        )?
        .query_row(
            params![
                change.actor,
                idempotency.key,
                change.id.0.as_bytes(),
                idempotency.request_hash,
                idempotency.answer.to_string()
            ],
            |row| row.get(0),
        )
        .optional()?;
    let answer = answer.ok_or(SqliteError::Conflict("idempotency key"))?;
    let mut statement = transaction
        .prepare_cached("INSERT INTO idempotency_names (id, answer) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    for id in change.answered_ids() {
        statement.execute(params![id.as_bytes(), answer])?;
    }
    Ok(())
}
