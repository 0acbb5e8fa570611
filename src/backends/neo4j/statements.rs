//! Every statement, embedded in this one place.
//!
//! To add one: a file in `cypher/` that starts with the header of the others (purpose, parameters, result columns, index
//! relied on), and a line here. A test on a real server explains each file: none may scan.

use neo4rs::Query;

/// The text of one file.
pub(super) struct Statement(&'static str);

impl Statement {
    /// A call of it; parameters are to be added.
    pub(super) fn query(&self) -> Query {
        Query::new(self.0.to_owned())
    }
}

macro_rules! statements {
    ($($name:ident = $file:literal),* $(,)?) => {
        $(pub(super) const $name: Statement = Statement(include_str!(concat!("../../../cypher/", $file)));)*
    };
}

/// The migrations, in order. Each is several statements, separated by `;`, which change nothing when run again.
pub(super) const MIGRATIONS: &[&str] = &[include_str!("../../../cypher/schema/0001_start.cypher")];

// Opening and settings.
statements! {
    SCHEMA_COMPONENTS = "schema/components.cypher",
    SCHEMA_FORMAT = "schema/format.cypher",
    SCHEMA_SET_FORMAT = "schema/set_format.cypher",
    SCHEMA_AWAIT_INDEXES = "schema/await_indexes.cypher",
    STORE_KEY = "schema/store_key.cypher",
}

// Looking up what a write needs.
statements! {
    META = "read/meta.cypher",
}


// Writing.
statements! {
    SET_META = "write/set_meta.cypher",
}

// Reading (lists, searches, walks).
statements! {
}
