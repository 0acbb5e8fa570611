//! Everything a store holds, row by row: what an archive keeps and what a migration carries.
//!
//! Rows are plain values, the same from every store: two stores with the same rows answer alike. They name records by id,
//! never by a store's own keys, and hold what a record alone does not tell (places in sessions, ends of states). What a store derives
//! from them (keyword indexes, counters, the outbox) is no row.
//!
//! To add a part: a variant of [`Part`] and of [`Row`], its reading and writing in each store, and a new format of the archive
//! with a sample in `tests/it/data`.

use std::{fmt, str::FromStr};

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::PortError;
use crate::domain::{
    ChangeId, Concept, Edge, Effect, Event, Memory, MemoryId, NamedVector, OntologyVersion, ProposalId, ProposalKind,
    ProposalState, Record, Scope, Term, UnknownName, names,
};

names! {
    /// A kind of row. In the order in which they are written: what a row names is there before it.
    Part {
        /// Settings kept with the data.
        Meta = "meta",
        /// Bearer tokens, as hashes of their secrets.
        Tokens = "tokens",
        /// Concepts.
        Concepts = "concepts",
        /// Edges among concepts.
        ConceptEdges = "concept_edges",
        /// Versions of the ontologies.
        OntologyVersions = "ontology_versions",
        /// Their terms, those in force and those of earlier versions.
        Terms = "terms",
        /// Memories in their present state.
        Memories = "memories",
        /// The states they were in before.
        MemoryStates = "memory_states",
        /// Edges among memories.
        Edges = "edges",
        /// What those said before.
        EdgeStates = "edge_states",
        /// Edges from memories to concepts.
        Mentions = "mentions",
        /// What those said before.
        MentionStates = "mention_states",
        /// Raw events.
        Events = "events",
        /// Votes on memories.
        Votes = "votes",
        /// Pages, revisions and proposals.
        Records = "records",
        /// The audit log and the change log.
        Changes = "changes",
        /// Answers given under idempotency keys.
        Answers = "answers",
        /// Vectors of memories. The graph store has none of them; they come from the vector index.
        Vectors = "vectors",
    }
}

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetaRow {
    /// Its name.
    pub key: String,
    /// What it says.
    pub value: String,
}

/// A token; see [`super::StoredToken`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRow {
    /// Public id.
    pub id: String,
    /// SHA-256 of the secret.
    pub secret_hash: String,
    /// Who it speaks for.
    pub principal: String,
    /// Name of the kind of principal.
    pub kind: String,
    /// Groups it is a member of, in order.
    pub groups: Vec<String>,
    /// Names of its rights, in order.
    pub rights: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who answers for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// A term of an ontology as it is, or was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TermRow {
    /// The vocabulary.
    pub vocabulary: String,
    /// The version it came with.
    pub since: u64,
    /// The version it ended with; `None` for one that is in force.
    pub until: Option<u64>,
    /// Its labels in the form in which they are searched.
    pub keys: Vec<String>,
    /// The term.
    pub term: Term,
}

/// A memory in its present state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryRow {
    /// The record; its uses are those at the beginning of the state.
    pub memory: Memory,
    /// When the state began.
    pub revised_at: Timestamp,
    /// Uses by now.
    pub access_count: u64,
    /// The last use.
    pub last_accessed: Option<Timestamp>,
    /// Its place in its session, from 1.
    pub session_position: Option<u64>,
    /// Its place in its task, from 1.
    pub task_position: Option<u64>,
}

/// A state that a memory was in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryStateRow {
    /// The record as it was.
    pub memory: Memory,
    /// When the state began.
    pub believed_from: Timestamp,
    /// When it ended.
    pub believed_to: Timestamp,
}

/// An edge as it is, or was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeRow {
    /// The edge.
    pub edge: Edge,
    /// When it got its weight and reason, if that was after it was recorded.
    pub since: Option<Timestamp>,
    /// When it ceased to say this; `None` for one that is in force.
    pub ended_at: Option<Timestamp>,
    /// For an edge to a concept: the scope its memory has, or had then.
    pub memory_scope: Option<Scope>,
}

/// A vote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoteRow {
    /// The memory.
    pub memory: MemoryId,
    /// Who voted.
    pub principal: String,
    /// Whether it helped.
    pub useful: bool,
    /// Why.
    pub note: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// A page, a revision or a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordRow {
    /// The record.
    pub record: Record,
    /// The text beside it.
    pub text: Option<String>,
}

/// What became of a proposal by a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecidedRow {
    /// The proposal.
    pub proposal: ProposalId,
    /// Its kind.
    pub kind: ProposalKind,
    /// Its state after the change.
    pub state: ProposalState,
    /// Who wrote it.
    pub author: String,
    /// Who may be told.
    pub scope: Scope,
}

/// What a change did to a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TouchedRow {
    /// The memory; gone if it was forgotten.
    pub memory: MemoryId,
    /// What became of it.
    pub effect: Effect,
    /// Who may be told.
    pub scope: Scope,
}

/// A change, as the audit log and the change log have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeRow {
    /// Position.
    pub seq: u64,
    /// The change.
    pub id: ChangeId,
    /// When it was decided.
    pub at: Timestamp,
    /// The principal it was decided for.
    pub actor: String,
    /// The use case.
    pub use_case: String,
    /// Why.
    pub reason: Option<String>,
    /// How many operations it had.
    pub ops: u64,
    /// The memories it touched, by id.
    pub memories: Vec<TouchedRow>,
    /// The proposals it moved, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposals: Vec<DecidedRow>,
}

/// An answer given under an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerRow {
    /// Whose key it is.
    pub principal: String,
    /// The key.
    pub key: String,
    /// The change that was applied.
    pub change: ChangeId,
    /// SHA-256 of the request.
    pub request_hash: String,
    /// The answer, JSON as text: numbers stay as they were written.
    pub answer: String,
    /// The ids it names or its change wrote, in order.
    pub names: Vec<Uuid>,
}

/// The vectors of a memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VectorsRow {
    /// The memory.
    pub memory: MemoryId,
    /// One for each space it has one in.
    pub vectors: Vec<NamedVector>,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Row {
    /// See [`Part::Meta`].
    Meta(MetaRow),
    /// See [`Part::Tokens`].
    Token(TokenRow),
    /// See [`Part::Concepts`].
    Concept(Concept),
    /// See [`Part::ConceptEdges`].
    ConceptEdge(EdgeRow),
    /// See [`Part::OntologyVersions`].
    OntologyVersion(OntologyVersion),
    /// See [`Part::Terms`].
    Term(Box<TermRow>),
    /// See [`Part::Memories`].
    Memory(Box<MemoryRow>),
    /// See [`Part::MemoryStates`].
    MemoryState(Box<MemoryStateRow>),
    /// See [`Part::Edges`].
    Edge(EdgeRow),
    /// See [`Part::EdgeStates`].
    EdgeState(EdgeRow),
    /// See [`Part::Mentions`].
    Mention(EdgeRow),
    /// See [`Part::MentionStates`].
    MentionState(EdgeRow),
    /// See [`Part::Events`].
    Event(Box<Event>),
    /// See [`Part::Votes`].
    Vote(VoteRow),
    /// See [`Part::Records`].
    Record(Box<RecordRow>),
    /// See [`Part::Changes`].
    Change(ChangeRow),
    /// See [`Part::Answers`].
    Answer(AnswerRow),
    /// See [`Part::Vectors`].
    Vectors(VectorsRow),
}

impl Row {
    /// The row of `part` that this JSON is.
    pub fn parse(part: Part, json: &str) -> serde_json::Result<Self> {
        Ok(match part {
            Part::Meta => Self::Meta(serde_json::from_str(json)?),
            Part::Tokens => Self::Token(serde_json::from_str(json)?),
            Part::Concepts => Self::Concept(serde_json::from_str(json)?),
            Part::ConceptEdges => Self::ConceptEdge(serde_json::from_str(json)?),
            Part::OntologyVersions => Self::OntologyVersion(serde_json::from_str(json)?),
            Part::Terms => Self::Term(serde_json::from_str(json)?),
            Part::Memories => Self::Memory(serde_json::from_str(json)?),
            Part::MemoryStates => Self::MemoryState(serde_json::from_str(json)?),
            Part::Edges => Self::Edge(serde_json::from_str(json)?),
            Part::EdgeStates => Self::EdgeState(serde_json::from_str(json)?),
            Part::Mentions => Self::Mention(serde_json::from_str(json)?),
            Part::MentionStates => Self::MentionState(serde_json::from_str(json)?),
            Part::Events => Self::Event(serde_json::from_str(json)?),
            Part::Votes => Self::Vote(serde_json::from_str(json)?),
            Part::Records => Self::Record(serde_json::from_str(json)?),
            Part::Changes => Self::Change(serde_json::from_str(json)?),
            Part::Answers => Self::Answer(serde_json::from_str(json)?),
            Part::Vectors => Self::Vectors(serde_json::from_str(json)?),
        })
    }
}

/// Some rows of a part.
#[derive(Debug, Clone, PartialEq)]
pub struct RowPage {
    /// In an order that stays as long as nothing is written.
    pub rows: Vec<Row>,
    /// Where the next page begins; `None` after the last. Means something to the source it came from alone.
    pub next: Option<String>,
}

/// Where rows come from. Whoever reads them sees everything, so this is for the operator alone.
#[async_trait]
pub trait ArchiveSource: Send + Sync {
    /// Two answers are equal exactly when no change came in between.
    async fn identity(&self) -> Result<String, PortError>;
    /// How many rows a part has.
    async fn count(&self, part: Part) -> Result<u64, PortError>;
    /// About `limit` rows of a part, from where the page before says.
    async fn rows(&self, part: Part, from: Option<&str>, limit: usize) -> Result<RowPage, PortError>;
}

/// A store that gives its rows and takes those of another. It has no [`Part::Vectors`].
#[async_trait]
pub trait Archive: ArchiveSource {
    /// Adds rows and sets a setting, in one transaction, durable when it returns: a row is never there without the note that
    /// it is. `Conflict` if a row is there already, or names a record that is not.
    async fn add_rows(&self, rows: &[Row], note: &MetaRow) -> Result<(), PortError>;
}
