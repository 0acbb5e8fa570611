//! What mutations and questions take. The fields are those of the façade's requests, which `convert` makes of them; a test
//! in `types` compares both.

use async_graphql::{ID, InputObject};
use serde::Serialize;

use super::{
    convert::{plain_id, plain_ids},
    names::{
        DateTime, Direction, EdgeKind, EventKind, Feedback, Forgetting, Format, Job, Kind, LinkKind, MemoryType, Mode,
        PrincipalKind, Right, Scope, Source, Status,
    },
};

/// A question to the memory.
#[derive(InputObject, Serialize)]
pub(super) struct RecallInput {
    /// What to recall, in plain words of any language. May be empty for mode RECENT only.
    #[graphql(default)]
    pub query: String,
    /// Which arms answer. Default HYBRID; ASSOCIATIVE follows the graph from the best matches.
    pub mode: Option<Mode>,
    /// How many memories at most, 1 to 100. Default 5.
    pub limit: Option<i64>,
    /// Only these layers.
    pub kinds: Option<Vec<Kind>>,
    /// Only these types.
    pub types: Option<Vec<MemoryType>>,
    /// Only memories with one of these tags.
    pub tags: Option<Vec<String>>,
    /// Only this session.
    pub session_id: Option<String>,
    /// Only this task.
    pub task_id: Option<String>,
    /// Only what happened from then.
    pub since: Option<DateTime>,
    /// Only what happened before then.
    pub until: Option<DateTime>,
    /// What was true in the world then.
    pub as_of: Option<DateTime>,
    /// What was believed then.
    pub known_at: Option<DateTime>,
    /// Superseded memories too.
    pub include_superseded: Option<bool>,
    /// Leave out matches with a lower score, between 0 and 1.
    pub min_score: Option<f64>,
    /// The cursor of the last answer, with the same question, for the next page.
    pub cursor: Option<String>,
    /// ITEMS (default), or PROMPT: also a block of text to put into a prompt.
    pub format: Option<Format>,
    /// Tokens of the prompt block at most (default 2000), or of the items without one (default 7000).
    pub token_budget: Option<i64>,
    /// Say why each memory was returned. Default true.
    pub explain: Option<bool>,
    /// Look for synonyms and narrower concepts of imported ontologies too. Default true.
    pub expand: Option<bool>,
}

/// A question to the graph. Give either `query` or `ids`.
#[derive(InputObject, Serialize)]
pub(super) struct AssociateInput {
    /// Start from what answers this.
    pub query: Option<String>,
    /// Start from these memories; global or plain ids.
    #[serde(serialize_with = "plain_ids")]
    pub ids: Option<Vec<ID>>,
    /// Hops between memories, 1 to 4. Default 2.
    pub depth: Option<i64>,
    /// How many memories at most, 1 to 100. Default 10.
    pub limit: Option<i64>,
    /// Only these edges. Default all.
    pub edges: Option<Vec<EdgeKind>>,
    /// Along directed edges. Default BOTH.
    pub direction: Option<Direction>,
    /// What was true in the world then.
    pub as_of: Option<DateTime>,
    /// What was believed then.
    pub known_at: Option<DateTime>,
    /// The cursor of the last answer, with the same question, for the next page.
    pub cursor: Option<String>,
    /// Give paths and the subgraph. Default true.
    pub explain: Option<bool>,
}

/// A memory to hold against a question.
#[derive(InputObject, Serialize)]
pub(super) struct ExplainInput {
    /// The memory; a global or a plain id.
    #[serde(serialize_with = "plain_id")]
    pub id: ID,
    /// The question, as it was given to recall.
    pub query: String,
    /// What was true in the world then.
    pub as_of: Option<DateTime>,
    /// What was believed then.
    pub known_at: Option<DateTime>,
}

/// Which memories to list; what is absent asks nothing. Values within a field are alternatives, fields are all required.
#[derive(InputObject, Serialize, Default)]
pub(super) struct MemoryFilter {
    /// Only these layers.
    pub kinds: Option<Vec<Kind>>,
    /// Only these types.
    pub types: Option<Vec<MemoryType>>,
    /// Only memories with one of these tags.
    pub tags: Option<Vec<String>>,
    /// Only this session.
    pub session_id: Option<String>,
    /// Only this task.
    pub task_id: Option<String>,
    /// Only these statuses. Default any.
    pub statuses: Option<Vec<Status>>,
    /// Only what happened from then.
    pub since: Option<DateTime>,
    /// Only what happened before then.
    pub until: Option<DateTime>,
}

/// A memory to keep.
#[derive(InputObject, Serialize)]
pub(super) struct StoreMemoryInput {
    /// The full text to remember, kept byte for byte.
    pub content: String,
    /// What it is about, in a few words. Memories with the same title are found through each other.
    pub title: Option<String>,
    /// Layer. Default: EPISODIC with an event, else SEMANTIC.
    pub kind: Option<Kind>,
    /// What it says. Default: FACT, or EVENT when kind is EPISODIC.
    pub r#type: Option<MemoryType>,
    /// At most 150 characters; made from the content when absent.
    pub summary: Option<String>,
    /// When it applies.
    pub context: Option<String>,
    /// Labels to filter by.
    pub tags: Option<Vec<String>>,
    /// Who said it, for a turn of a dialogue.
    pub speaker: Option<String>,
    /// Between 0 and 1.
    pub importance: Option<f64>,
    /// Between 0 and 1; by default from the source.
    pub confidence: Option<f64>,
    /// Where the claim comes from. Default OBSERVED.
    pub source: Option<Source>,
    /// Session it belongs to; it is linked to the memory before it there.
    pub session_id: Option<String>,
    /// Task it belongs to; it is linked to the memory before it there.
    pub task_id: Option<String>,
    /// Who may read it. Default PRIVATE; SHARED needs `group`, GLOBAL the right MEMORY_GLOBAL.
    pub scope: Option<Scope>,
    /// Group to share with, for scope SHARED.
    pub group: Option<String>,
    /// When it happened. Default: now.
    pub occurred_at: Option<DateTime>,
    /// True in the world from then.
    pub valid_from: Option<DateTime>,
    /// True in the world until then.
    pub valid_to: Option<DateTime>,
    /// Seconds after which it is no longer recalled.
    pub ttl_secs: Option<i64>,
    /// What happened, in parts.
    pub event: Option<EventInput>,
    /// Ids of memories that this one caused.
    #[serde(serialize_with = "plain_ids")]
    pub causes: Option<Vec<ID>>,
    /// Ids of memories that caused this one.
    #[serde(serialize_with = "plain_ids")]
    pub caused_by: Option<Vec<ID>>,
    /// Ids of memories that this one replaces; they are kept, with an end.
    #[serde(serialize_with = "plain_ids")]
    pub supersedes: Option<Vec<ID>>,
    /// The same key with the same input gives the same answer and stores once.
    pub idempotency_key: Option<String>,
    /// The name another system knows it by; unique within a scope.
    pub external_id: Option<String>,
    /// Whether it waits for a person before it is recalled. Default false.
    #[graphql(default)]
    pub review: bool,
}

/// The parts of an event.
#[derive(InputObject, Serialize)]
pub(super) struct EventInput {
    /// When, in any words.
    pub timestamp: Option<String>,
    /// Who.
    pub actor: Option<String>,
    /// Did what.
    pub action: Option<String>,
    /// To what.
    pub object: Option<String>,
    /// With which result.
    pub result: Option<String>,
    /// Under which circumstances.
    pub context: Option<String>,
}

/// Fields of a memory to change; absent ones stay.
#[derive(InputObject, Serialize)]
pub(super) struct UpdateMemoryInput {
    /// The memory; a global or a plain id.
    #[serde(serialize_with = "plain_id")]
    pub id: ID,
    /// The revision the change was made on; if another one is stored now, the outcome is a CONFLICT.
    pub expected_revision: Option<i64>,
    /// New text.
    pub content: Option<String>,
    /// New title.
    pub title: Option<String>,
    /// New summary.
    pub summary: Option<String>,
    /// New context.
    pub context: Option<String>,
    /// New tags, in place of the old.
    pub tags: Option<Vec<String>>,
    /// New importance, between 0 and 1.
    pub importance: Option<f64>,
    /// New confidence, between 0 and 1.
    pub confidence: Option<f64>,
    /// New layer.
    pub kind: Option<Kind>,
    /// New type.
    pub r#type: Option<MemoryType>,
    /// New moment of happening.
    pub occurred_at: Option<DateTime>,
    /// New start of validity.
    pub valid_from: Option<DateTime>,
    /// New end of validity.
    pub valid_to: Option<DateTime>,
}

/// Memories to forget, all or none.
#[derive(InputObject, Serialize)]
pub(super) struct ForgetMemoriesInput {
    /// The memories, at most 100; global or plain ids.
    #[serde(serialize_with = "plain_ids")]
    pub ids: Option<Vec<ID>>,
    /// How. Default DELETE.
    pub strategy: Option<Forgetting>,
    /// Why.
    pub reason: Option<String>,
}

/// An edge to make by hand.
#[derive(InputObject, Serialize)]
pub(super) struct LinkMemoriesInput {
    /// The memory it leaves: the cause, or the newer one.
    #[serde(serialize_with = "plain_id")]
    pub from: ID,
    /// The memory it reaches: the effect, or the older one.
    #[serde(serialize_with = "plain_id")]
    pub to: ID,
    /// Its kind.
    pub edge: LinkKind,
    /// Why.
    pub reason: Option<String>,
}

/// A vote on a memory; a principal has one for each memory, the latest counts.
#[derive(InputObject, Serialize)]
pub(super) struct GiveFeedbackInput {
    /// The memory; a global or a plain id.
    #[serde(serialize_with = "plain_id")]
    pub id: ID,
    /// Whether it helped.
    pub useful: bool,
    /// Why, in a few words.
    pub note: Option<String>,
}

/// Something that happened.
#[derive(InputObject, Serialize)]
pub(super) struct ObserveInput {
    /// What happened.
    pub event: EventKind,
    /// Session it belongs to; needed for SESSION_ENDED.
    pub session_id: Option<String>,
    /// Task it belongs to.
    pub task_id: Option<String>,
    /// What was said, given, answered or learnt; with it TASK_SUCCEEDED, TASK_FAILED and USER_CORRECTION make a memory.
    pub text: Option<String>,
    /// The tool; needed for TOOL_CALL and TOOL_RESULT.
    pub tool: Option<String>,
    /// Status that the tool or task gave, for example ok or timeout.
    pub status: Option<String>,
    /// What a person thought of it.
    pub feedback: Option<Feedback>,
    /// When it happened. Default: now.
    pub at: Option<DateTime>,
    /// Who may read it. Default PRIVATE.
    pub scope: Option<Scope>,
    /// Group to share with, for scope SHARED.
    pub group: Option<String>,
    /// The same key with the same input gives the same answer and keeps one event.
    pub idempotency_key: Option<String>,
}

/// A token to make.
#[derive(InputObject, Serialize)]
pub(super) struct CreateTokenInput {
    /// Who it speaks for; the owner of what is stored privately with it.
    pub principal: String,
    /// What stands behind it.
    pub kind: PrincipalKind,
    /// Groups whose shared memories it reads and writes.
    pub groups: Option<Vec<String>>,
    /// What it may do. An agent can never hold ADMIN or REVIEW_DECIDE.
    pub rights: Vec<Right>,
    /// Who answers for an agent: that person does not review what it proposes.
    pub owner: Option<String>,
}

/// A token to remove.
#[derive(InputObject)]
pub(super) struct RevokeTokenInput {
    /// Its id, as listed.
    pub id: ID,
}

/// An ontology to import.
#[derive(InputObject)]
pub(super) struct ImportOntologyInput {
    /// Name of the file; its extension helps to tell the format.
    pub name: String,
    /// Its content.
    pub content: String,
    /// Name of the vocabulary. Default: what the file calls itself, or its own name.
    pub vocabulary: Option<String>,
    /// For CSV and TSV: which column is what, in TOML.
    pub mapping: Option<String>,
    /// Only say what it would change. Default false.
    #[graphql(default)]
    pub dry_run: bool,
    /// Take away what the file no longer has, however much that is. Default false.
    #[graphql(default)]
    pub allow_removals: bool,
    /// Why, for whoever has to agree if the caller has no right to import.
    pub rationale: Option<String>,
    /// The agent run it belongs to, likewise.
    pub run_id: Option<String>,
}

/// A version of all ontologies to go back to.
#[derive(InputObject)]
pub(super) struct RollbackOntologyInput {
    /// Its number.
    pub version: i64,
}

/// A job to run.
#[derive(InputObject)]
pub(super) struct RunJobInput {
    /// Which job.
    pub name: Job,
    /// For DOCTOR: bring the index to what the graph says. Default false.
    #[graphql(default)]
    pub repair: bool,
}
