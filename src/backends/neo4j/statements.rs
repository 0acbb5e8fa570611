//! Every statement, embedded in this one place.
//!
//! To add one: a file in `cypher/` that starts with the header of the others (purpose, parameters, result columns, index
//! relied on), and a line here. A test on a real server explains each file: none may scan.

use neo4rs::{BoltType, Query};

use super::rows::map;

/// The text of one file.
pub(super) struct Statement(&'static str);

impl Statement {
    /// A call of it; parameters are to be added.
    pub(super) fn query(&self) -> Query {
        Query::new(self.0.to_owned())
    }

    /// A call of a statement that takes all it needs as the one map `$batch`. The server keeps a plan for each combination of
    /// types and lengths of parameters; of a map it looks at neither, so there is one.
    pub(super) fn batch<'a>(&self, fields: impl IntoIterator<Item = (&'a str, BoltType)>) -> Query {
        self.query().param("batch", map(fields))
    }
}

macro_rules! statements {
    ($($name:ident = $file:literal),* $(,)?) => {
        $(pub(super) const $name: Statement = Statement(include_str!(concat!("../../../cypher/", $file)));)*
    };
}

/// The migrations, in order. Each is several statements, separated by `;`, which change nothing when run again.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("../../../cypher/schema/0001_start.cypher"),
    include_str!("../../../cypher/schema/0002_review.cypher"),
    include_str!("../../../cypher/schema/0003_ontology.cypher"),
];

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
    ADD_META = "write/add_meta.cypher",
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
    PUT_RECORDS = "write/put_records.cypher",
    REMOVE_ORPHANS = "write/remove_orphans.cypher",
    REVOKE_TOKEN = "write/revoke_token.cypher",
    SET_META = "write/set_meta.cypher",
    SWAP_META = "write/swap_meta.cypher",
    TAKE_TURN = "write/take_turn.cypher",
}

// The wiki and the review queue.
statements! {
    HISTORY = "review/history.cypher",
    PAGES = "review/pages.cypher",
    PAGES_NAMED = "review/pages_named.cypher",
    PAGES_POINTING = "review/pages_pointing.cypher",
    PROPOSAL_CHANGES = "review/proposal_changes.cypher",
    QUEUE = "review/queue.cypher",
    QUEUE_TOTAL = "review/queue_total.cypher",
    QUEUE_TOTAL_WITHIN = "review/queue_total_within.cypher",
    QUEUE_WITHIN = "review/queue_within.cypher",
    RECORDS = "review/records.cypher",
    TALLIES = "review/tallies.cypher",
    TEXT = "review/text.cypher",
    WAITING = "review/waiting.cypher",
}

// Ontologies.
statements! {
    ADD_TERMS = "ontology/add_terms.cypher",
    ADMIT_STAGED = "ontology/admit_staged.cypher",
    BRING_BACK = "ontology/bring_back.cypher",
    CHILDREN = "ontology/children.cypher",
    CLEAR_STAGING = "ontology/clear_staging.cypher",
    CONCEPT_KEYS = "ontology/concept_keys.cypher",
    DROP_RELATIONS = "ontology/drop_relations.cypher",
    ENDED_SINCE = "ontology/ended_since.cypher",
    END_LINKS = "ontology/end_links.cypher",
    END_TERMS = "ontology/end_terms.cypher",
    HELD_THEN = "ontology/held_then.cypher",
    HOLD_STAGING = "ontology/hold_staging.cypher",
    JOIN_CONCEPTS = "ontology/join_concepts.cypher",
    LET_GO = "ontology/let_go.cypher",
    LIST_TERMS = "ontology/list_terms.cypher",
    ONTOLOGY_VERSION = "ontology/current.cypher",
    ONTOLOGY_VERSIONS = "ontology/versions.cypher",
    PART_CONCEPTS = "ontology/part_concepts.cypher",
    PUT_ONTOLOGY_VERSIONS = "ontology/put_versions.cypher",
    PUT_RELATIONS = "ontology/put_relations.cypher",
    PUT_RESOURCES = "ontology/put_resources.cypher",
    REMOVE_RESOURCES = "ontology/remove_resources.cypher",
    ROOTS = "ontology/roots.cypher",
    SEARCH_TERMS = "ontology/search.cypher",
    STAGE = "ontology/stage.cypher",
    STAGED = "ontology/staged.cypher",
    STAGING = "ontology/staging.cypher",
    TERMS = "ontology/terms.cypher",
    TERM_HASHES = "ontology/hashes.cypher",
    VOCABULARIES = "ontology/vocabularies.cypher",
}

// Reading (searches, walks, records by id).
statements! {
    CONCEPTS = "read/concepts.cypher",
    CONCEPTS_THEN = "read/concepts_then.cypher",
    COUNTS = "read/counts.cypher",
    EDGES_OF = "read/edges_of.cypher",
    EVENTS_BY_ID = "read/events.cypher",
    KEYWORD = "read/keyword.cypher",
    KEYWORD_THEN = "read/keyword_then.cypher",
    LAST_EVENTS_OF_SESSION = "read/last_events_of_session.cypher",
    LAST_OF_SESSION = "read/last_of_session.cypher",
    LAST_OF_TASK = "read/last_of_task.cypher",
    MEMORIES = "read/memories.cypher",
    MEMORIES_OF_CONCEPT = "read/memories_of_concept.cypher",
    MEMORIES_OF_CONCEPT_THEN = "read/memories_of_concept_then.cypher",
    MEMORIES_THEN = "read/memories_then.cypher",
    NEIGHBOURHOOD = "read/neighbourhood.cypher",
    NEIGHBOURHOOD_THEN = "read/neighbourhood_then.cypher",
    PAGE = "read/page.cypher",
    RECENT = "read/recent.cypher",
    RECENT_OF_TYPES = "read/recent_of_types.cypher",
    RECENT_THEN = "read/recent_then.cypher",
    REPLACED_TEXTS = "read/replaced_texts.cypher",
    REVISIONS = "read/revisions.cypher",
    TOTAL_MEMORIES = "read/total_memories.cypher",
    VOTE_OF = "read/vote_of.cypher",
}

// Looking through what is stored.
statements! {
    AUDIT = "browse/audit.cypher",
    CHANGES = "browse/changes.cypher",
    CONCEPT_MEMBERS = "browse/concept_members.cypher",
    CONCEPTS_BY_ID = "browse/concepts_by_id.cypher",
    EVENTS = "browse/events.cypher",
    EVENTS_OF_SESSION = "browse/events_of_session.cypher",
    EVENTS_OF_TASK = "browse/events_of_task.cypher",
    FIND_CONCEPTS = "browse/find_concepts.cypher",
    LAST_CHANGE = "browse/last_change.cypher",
    LIST = "browse/list.cypher",
    LIST_TOTAL = "browse/list_total.cypher",
    MEMBERS_OF_SESSION = "browse/members_of_session.cypher",
    MEMBERS_OF_TASK = "browse/members_of_task.cypher",
    SESSION = "browse/session.cypher",
    TASK = "browse/task.cypher",
}

// Everything, row by row.
statements! {
    ARCHIVE_ANSWERS = "archive/answers.cypher",
    ARCHIVE_CHANGES = "archive/changes.cypher",
    ARCHIVE_CONCEPT_EDGES = "archive/concept_edges.cypher",
    ARCHIVE_CONCEPTS = "archive/concepts.cypher",
    ARCHIVE_COUNTS = "archive/counts.cypher",
    ARCHIVE_EDGE_STATES = "archive/edge_states.cypher",
    ARCHIVE_EDGES = "archive/edges.cypher",
    ARCHIVE_EVENTS = "archive/events.cypher",
    ARCHIVE_IDENTITY = "archive/identity.cypher",
    ARCHIVE_MEMORIES = "archive/memories.cypher",
    ARCHIVE_MEMORY_STATES = "archive/memory_states.cypher",
    ARCHIVE_MENTION_STATES = "archive/mention_states.cypher",
    ARCHIVE_MENTIONS = "archive/mentions.cypher",
    ARCHIVE_META = "archive/meta.cypher",
    ARCHIVE_ONTOLOGY_VERSIONS = "archive/ontology_versions.cypher",
    ARCHIVE_RECORDS = "archive/records.cypher",
    ARCHIVE_TERMS = "archive/terms.cypher",
    ARCHIVE_VOTES = "archive/votes.cypher",
}
