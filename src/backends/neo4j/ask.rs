//! What reading statements are asked with, besides their own: the reader and the filter.
//!
//! Lists go inside maps. The server compiles a statement again for each size of a list that stands alone, which takes it
//! longer than most answers.

use jiff::Timestamp;
use neo4rs::{BoltNull, BoltType, Query};

use super::{
    rows::{SEPARATOR, keys, limited, map, optional_time, texts},
    statements::Statement,
};
use crate::domain::{Filter, Visibility};

/// A call of `statement` for a reader.
pub(super) fn ask(statement: &Statement, visibility: &Visibility) -> Query {
    statement.query().param("reader", map([("keys", keys(visibility))]))
}

/// [`ask`] with a limit.
pub(super) fn ask_some(statement: &Statement, visibility: &Visibility, limit: usize) -> Query {
    ask(statement, visibility).param("limit", limited(limit))
}

/// [`ask`] with a list of its own.
pub(super) fn ask_for(statement: &Statement, visibility: &Visibility, name: &'static str, list: BoltType) -> Query {
    ask(statement, visibility).param("ask", map([(name, list)]))
}

/// The parameter `filter`; the moment looked back to is one of its own.
pub(super) fn filter(filter: &Filter) -> BoltType {
    map([
        ("superseded", (filter.include_superseded || filter.as_of.world.is_some()).into()),
        ("world", optional_time(filter.as_of.world)),
        ("kinds", alternatives(filter.kinds.iter().map(|kind| kind.name()))),
        ("types", alternatives(filter.types.iter().map(|memory_type| memory_type.name()))),
        ("tags", alternatives(filter.tags.iter().cloned())),
        ("session", filter.session_id.clone().into()),
        ("task", filter.task_id.clone().into()),
        ("since", optional_time(filter.since)),
        ("until", optional_time(filter.until)),
        ("language", filter.language.map(|language| language.name().to_owned()).into()),
        ("now", optional_time(filter.now)),
    ])
}

/// The moment looked back to, for the parameter `known`.
pub(super) fn known(at: Timestamp) -> i64 {
    at.as_microsecond()
}

/// Values of a field; an empty list asks nothing.
pub(super) fn alternatives<T: Into<String>>(values: impl Iterator<Item = T>) -> BoltType {
    let mut values = values.peekable();
    if values.peek().is_none() { BoltType::Null(BoltNull) } else { texts(values) }
}

/// What follows the first part of a key.
pub(super) fn suffix(rest: &str) -> String {
    format!("{SEPARATOR}{rest}")
}
