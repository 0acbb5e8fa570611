//! Rows to records and back, and the two conditions that every query shares: what the reader may see and what it asked for.

use std::{collections::HashMap, rc::Rc};

use jiff::Timestamp;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, ToSql, types::Value};
use uuid::Uuid;

use super::error::SqliteError;
use crate::domain::{Edge, Filter, Memory, Scope, Visibility};

/// Whether the reader sees the scope in this column. Binds `:system` and `:scopes`.
macro_rules! visible {
    ($($column:literal),+) => {
        concat!("(:system OR ", $($column,)+ " IN (SELECT value FROM rarray(:scopes)))")
    };
}

/// Whether the row under this alias, of `memory` or `memory_state`, is visible and meets the filter, as [`Filter::matches`]
/// has it. Binds [`Conditions::params`].
macro_rules! matching {
    ($row:literal) => {
        concat!(
            visible!($row, ".scope"),
            " AND (",
            $row,
            ".status = 'active' OR (:superseded AND ",
            $row,
            ".status = 'superseded') OR ",
            retired_since!($row),
            ") AND (:known IS NULL OR ",
            $row,
            ".recorded_at <= :known) AND (:world IS NULL OR ((",
            $row,
            ".valid_from IS NULL OR ",
            $row,
            ".valid_from <= :world) AND (",
            $row,
            ".valid_to IS NULL OR :world < ",
            $row,
            ".valid_to OR ",
            retired_since!($row),
            "))) AND (:kinds IS NULL OR ",
            $row,
            ".kind IN (SELECT value FROM json_each(:kinds)))
            AND (:types IS NULL OR ",
            $row,
            ".type IN (SELECT value FROM json_each(:types)))
            AND (:tags IS NULL OR EXISTS (SELECT 1 FROM json_each(",
            $row,
            ".tags) tag WHERE tag.value IN (SELECT value FROM json_each(:tags))))
            AND (:session IS NULL OR ",
            $row,
            ".session = :session) AND (:task IS NULL OR ",
            $row,
            ".task = :task) AND (:since IS NULL OR ",
            $row,
            ".occurred_at >= :since) AND (:until IS NULL OR ",
            $row,
            ".occurred_at < :until) AND (:language IS NULL OR ",
            $row,
            ".language = :language) AND (:now IS NULL OR ",
            $row,
            ".expires_at IS NULL OR :now < ",
            $row,
            ".expires_at)"
        )
    };
}

/// Whether the row was retired after the moment looked back to.
macro_rules! retired_since {
    ($row:literal) => {
        concat!(
            "(:known IS NOT NULL AND ",
            $row,
            ".status IN ('superseded', 'archived') AND (",
            $row,
            ".retired_at IS NULL OR :known < ",
            $row,
            ".retired_at))"
        )
    };
}

/// Whether the state `r` is the one that held at `:known`.
macro_rules! held {
    () => {
        "r.believed_from <= :known AND :known < r.believed_to"
    };
}

/// Whether memory `m`, in the state that the question is about, is visible and meets the filter.
macro_rules! then_matching {
    () => {
        concat!(
            "(CASE WHEN :known IS NULL OR m.revised_at <= :known THEN ",
            matching!("m"),
            " ELSE ",
            visible!("m.scope"),
            " AND EXISTS (SELECT 1 FROM memory_state r WHERE r.memory = m.rowid AND ",
            held!(),
            " AND ",
            matching!("r"),
            ") END)"
        )
    };
}
pub(super) use {held, matching, retired_since, then_matching, visible};

/// The columns that [`memory`] reads.
macro_rules! memory_columns {
    () => {
        "m.body, m.access_count, m.last_accessed"
    };
}
pub(super) use memory_columns;

pub(super) type Params<'a> = Vec<(&'static str, &'a dyn ToSql)>;

/// A list to bind to `rarray(…)`.
pub(super) type List = Rc<Vec<Value>>;

/// A reader's scopes, by their row ids.
pub(super) struct Seen {
    pub(super) system: bool,
    pub(super) scopes: List,
}

impl Seen {
    pub(super) fn of(connection: &Connection, visibility: &Visibility) -> Result<Self, SqliteError> {
        let scopes = match visibility.keys() {
            None => Vec::new(),
            Some(keys) => connection
                .prepare_cached("SELECT id FROM scope WHERE key IN (SELECT value FROM rarray(?1))")?
                .query_map([texts(keys)], |row| row.get(0))?
                .collect::<Result<_, _>>()?,
        };
        Ok(Self { system: visibility.keys().is_none(), scopes: Rc::new(scopes) })
    }

    pub(super) fn params(&self) -> Params<'_> {
        vec![(":system", &self.system), (":scopes", &self.scopes)]
    }
}

/// A filter and a reader, in the form in which `matching!` binds them.
pub(super) struct Conditions {
    pub(super) seen: Seen,
    superseded: bool,
    known: Option<i64>,
    world: Option<i64>,
    kinds: Option<String>,
    types: Option<String>,
    tags: Option<String>,
    session: Option<String>,
    task: Option<String>,
    since: Option<i64>,
    until: Option<i64>,
    language: Option<&'static str>,
    now: Option<i64>,
}

impl Conditions {
    pub(super) fn of(filter: &Filter, seen: Seen) -> Self {
        let time = |at: Option<Timestamp>| at.map(Timestamp::as_microsecond);
        Self {
            seen,
            superseded: filter.include_superseded || filter.as_of.world.is_some(),
            known: time(filter.as_of.known),
            world: time(filter.as_of.world),
            kinds: alternatives(filter.kinds.iter().map(|kind| kind.name())),
            types: alternatives(filter.types.iter().map(|memory_type| memory_type.name())),
            tags: alternatives(filter.tags.iter().map(String::as_str)),
            session: filter.session_id.clone(),
            task: filter.task_id.clone(),
            since: time(filter.since),
            until: time(filter.until),
            language: filter.language.map(|language| language.name()),
            now: time(filter.now),
        }
    }

    pub(super) fn params(&self) -> Params<'_> {
        let mut params = self.seen.params();
        params.extend::<Params<'_>>(vec![
            (":superseded", &self.superseded),
            (":known", &self.known),
            (":world", &self.world),
            (":kinds", &self.kinds),
            (":types", &self.types),
            (":tags", &self.tags),
            (":session", &self.session),
            (":task", &self.task),
            (":since", &self.since),
            (":until", &self.until),
            (":language", &self.language),
            (":now", &self.now),
        ]);
        params
    }
}

/// Values of a field as a JSON list; an empty list asks nothing.
pub(super) fn alternatives<T: Into<serde_json::Value>>(values: impl Iterator<Item = T>) -> Option<String> {
    let values: Vec<serde_json::Value> = values.map(Into::into).collect();
    (!values.is_empty()).then(|| serde_json::Value::from(values).to_string())
}

/// Binds those of `params` that the statement names. They stay bound, so that a loop binds only what changes.
pub(super) fn bind(statement: &mut CachedStatement<'_>, params: &Params<'_>) -> Result<(), SqliteError> {
    for (name, value) in params {
        if let Some(index) = statement.parameter_index(name)? {
            statement.raw_bind_parameter(index, value)?;
        }
    }
    Ok(())
}

pub(super) fn ids(ids: impl IntoIterator<Item = Uuid>) -> List {
    Rc::new(ids.into_iter().map(|id| Value::Blob(id.into_bytes().to_vec())).collect())
}

pub(super) fn texts<'a>(texts: impl IntoIterator<Item = &'a String>) -> List {
    Rc::new(texts.into_iter().map(|text| Value::Text(text.clone())).collect())
}

pub(super) fn rowids(rowids: impl IntoIterator<Item = i64>) -> List {
    Rc::new(rowids.into_iter().map(Value::Integer).collect())
}

pub(super) fn uuid(row: &Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    row.get::<_, [u8; 16]>(column).map(Uuid::from_bytes)
}

/// Numbers of ours never reach half of `u64`; one that did would be kept as the largest.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn timestamp(micros: i64) -> Result<Timestamp, SqliteError> {
    Timestamp::from_microsecond(micros).map_err(|_| SqliteError::Unreadable("time"))
}

/// A memory from `memory_columns!` that start at `first`.
pub(super) fn memory(row: &Row<'_>, first: usize) -> Result<Memory, SqliteError> {
    let mut memory = memory_of_body(row.get_ref(first)?.as_str().map_err(|_| SqliteError::Unreadable("memory"))?)?;
    memory.access_count = row.get::<_, i64>(first + 1)?.cast_unsigned();
    memory.last_accessed = row.get::<_, Option<i64>>(first + 2)?.map(timestamp).transpose()?;
    Ok(memory)
}

pub(super) fn memory_of_body(body: &str) -> Result<Memory, SqliteError> {
    serde_json::from_str(body).map_err(|_| SqliteError::Unreadable("memory"))
}

pub(super) fn body_of_memory(memory: &Memory) -> Result<String, SqliteError> {
    serde_json::to_string(memory).map_err(|_| SqliteError::Unwritable("memory"))
}

/// Scopes by row id, read once each.
pub(super) struct Scopes<'a> {
    connection: &'a Connection,
    known: HashMap<i64, Scope>,
}

impl<'a> Scopes<'a> {
    pub(super) fn of(connection: &'a Connection) -> Self {
        Self { connection, known: HashMap::new() }
    }

    pub(super) fn get(&mut self, id: i64) -> Result<&Scope, SqliteError> {
        use std::collections::hash_map::Entry;
        match self.known.entry(id) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let key: Option<String> = self
                    .connection
                    .prepare_cached("SELECT key FROM scope WHERE id = ?1")?
                    .query_row([id], |row| row.get(0))
                    .optional()?;
                let scope = key.as_deref().and_then(scope_of_key).ok_or(SqliteError::Unreadable("scope"))?;
                Ok(entry.insert(scope))
            }
        }
    }
}

fn scope_of_key(key: &str) -> Option<Scope> {
    match key.split_once(':') {
        Some(("private", user)) => Some(Scope::Private(user.to_owned())),
        Some(("group", group)) => Some(Scope::Shared(group.to_owned())),
        _ => (key == "global").then_some(Scope::Global),
    }
}

/// An edge from columns `kind, weight, reason, scope, recorded_at` that start at `first`.
pub(super) fn edge(
    row: &Row<'_>,
    first: usize,
    from: Uuid,
    to: Uuid,
    scopes: &mut Scopes<'_>,
) -> Result<Edge, SqliteError> {
    Ok(Edge {
        from,
        to,
        kind: named(row, first)?,
        #[expect(clippy::cast_possible_truncation, reason = "written from an f32")]
        weight: row.get::<_, f64>(first + 1)? as f32,
        reason: row.get(first + 2)?,
        scope: scopes.get(row.get(first + 3)?)?.clone(),
        recorded_at: timestamp(row.get(first + 4)?)?,
    })
}

/// A value of a closed list from its name.
pub(super) fn named<T: std::str::FromStr>(row: &Row<'_>, column: usize) -> Result<T, SqliteError> {
    let name = row.get_ref(column)?.as_str().map_err(|_| SqliteError::Unreadable("name"))?;
    name.parse().map_err(|_| SqliteError::Unreadable("name"))
}
