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
    BY_CONTENT_HASHES = "read/by_content_hashes.cypher",
    BY_EXTERNAL_IDS = "read/by_external_ids.cypher",
    LAST_IN_SESSIONS = "read/last_in_sessions.cypher",
    LAST_IN_TASKS = "read/last_in_tasks.cypher",
    META = "read/meta.cypher",
    OUTBOX = "read/outbox.cypher",
    PING = "read/ping.cypher",
    RECORDED = "read/recorded.cypher",
    TOKENS = "read/tokens.cypher",
    TOKEN_BY_HASH = "read/token_by_hash.cypher",
}


// Writing.
statements! {
    ADD_TOKEN = "write/add_token.cypher",
    FORGET = "write/forget.cypher",
    LOAD = "write/load.cypher",
    OUTBOX_DONE = "write/outbox_done.cypher",
    PUT_CONCEPT_EDGES = "write/put_concept_edges.cypher",
    PUT_EDGES = "write/put_edges.cypher",
    PUT_EVENTS = "write/put_events.cypher",
    PUT_LOG = "write/put_log.cypher",
    PUT_MEMORIES = "write/put_memories.cypher",
    PUT_MENTIONS = "write/put_mentions.cypher",
    REMOVE_ORPHANS = "write/remove_orphans.cypher",
    REVOKE_TOKEN = "write/revoke_token.cypher",
    SET_META = "write/set_meta.cypher",
    TAKE_TURN = "write/take_turn.cypher",
}

// Reading (lists, searches, walks).
statements! {
}
