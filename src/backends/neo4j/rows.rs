//! Rows to records and back, and the values that statements share.

use jiff::Timestamp;
use neo4rs::{BoltMap, BoltNull, BoltType};
use uuid::Uuid;

use super::error::Neo4jError;
use crate::domain::{Memory, Scope, Visibility};

/// Between the parts of a key. No name holds it: input refuses control characters.
pub(super) const SEPARATOR: char = '\u{1}';

/// A map to bind, for example as a row of `UNWIND`. A property that is null is none.
pub(super) fn map<'a>(fields: impl IntoIterator<Item = (&'a str, BoltType)>) -> BoltType {
    BoltType::Map(fields.into_iter().map(|(name, value)| (name.into(), value)).collect::<BoltMap>())
}

pub(super) fn list(values: impl IntoIterator<Item = BoltType>) -> BoltType {
    values.into_iter().collect()
}

pub(super) fn texts<T: Into<String>>(values: impl IntoIterator<Item = T>) -> BoltType {
    values.into_iter().map(|text| BoltType::from(text.into())).collect()
}

pub(super) fn ids(ids: impl IntoIterator<Item = Uuid>) -> BoltType {
    ids.into_iter().map(|id| BoltType::from(id.to_string())).collect()
}

/// The scope keys a reader sees, as a list; null is everything.
pub(super) fn keys(visibility: &Visibility) -> BoltType {
    visibility.keys().map_or(BoltType::Null(BoltNull), |keys| texts(keys.iter().cloned()))
}

pub(super) fn time(at: Timestamp) -> BoltType {
    at.as_microsecond().into()
}

pub(super) fn optional_time(at: Option<Timestamp>) -> BoltType {
    at.map(Timestamp::as_microsecond).into()
}

/// Numbers of ours never reach half of `u64`; one that did would be kept as the largest.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A limit as Cypher takes it.
pub(super) fn limited(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A count that Cypher gave.
pub(super) fn size(count: i64) -> usize {
    usize::try_from(count).unwrap_or(0)
}

pub(super) fn timestamp(micros: i64) -> Result<Timestamp, Neo4jError> {
    Timestamp::from_microsecond(micros).map_err(|_| Neo4jError::Unreadable("time"))
}

pub(super) fn uuid(text: &str) -> Result<Uuid, Neo4jError> {
    Uuid::try_parse(text).map_err(|_| Neo4jError::Unreadable("id"))
}

/// A value of a closed list from its name.
pub(super) fn named<T: std::str::FromStr>(name: &str) -> Result<T, Neo4jError> {
    name.parse().map_err(|_| Neo4jError::Unreadable("name"))
}

pub(super) fn scope_of_key(key: &str) -> Result<Scope, Neo4jError> {
    match key.split_once(':') {
        Some(("private", user)) => Ok(Scope::Private(user.to_owned())),
        Some(("group", group)) => Ok(Scope::Shared(group.to_owned())),
        _ if key == "global" => Ok(Scope::Global),
        _ => Err(Neo4jError::Unreadable("scope")),
    }
}

/// The scope key as one word of the full-text index.
pub(super) fn scope_term(key: &str) -> String {
    format!("s{}", hex::encode(key))
}

/// A memory from its properties `body`, `access_count` and `last_accessed`; the two counters move without its body.
pub(super) fn memory(body: &str, access_count: i64, last_accessed: Option<i64>) -> Result<Memory, Neo4jError> {
    let mut memory = memory_of_body(body)?;
    memory.access_count = access_count.cast_unsigned();
    memory.last_accessed = last_accessed.map(timestamp).transpose()?;
    Ok(memory)
}

pub(super) fn memory_of_body(body: &str) -> Result<Memory, Neo4jError> {
    serde_json::from_str(body).map_err(|_| Neo4jError::Unreadable("memory"))
}

pub(super) fn body_of_memory(memory: &Memory) -> Result<String, Neo4jError> {
    serde_json::to_string(memory).map_err(|_| Neo4jError::Unwritable("memory"))
}
