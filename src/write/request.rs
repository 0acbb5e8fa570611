//! What clients ask of the write path and what they are told. Faces translate to and from these; the field names are the
//! ones of the MCP tools, and the comments are their descriptions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::EventDetail;

/// A memory to keep.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StoreRequest {
    /// The full text to remember, kept byte for byte.
    pub content: String,
    /// What it is about, in a few words. Memories with the same title are found through each other.
    pub title: Option<String>,
    /// Layer: working, episodic (what happened), semantic (what is known), reflective (lessons) or warning. Default: episodic with an event, else semantic.
    #[schemars(extend("enum" = crate::domain::Kind::NAMES))]
    pub kind: Option<String>,
    /// What it says: fact, preference, pattern, correction, constraint, procedure, event or insight. Default: fact, or event when kind is episodic.
    #[schemars(extend("enum" = crate::domain::MemoryType::NAMES))]
    pub r#type: Option<String>,
    /// At most 150 characters; made from the content when absent.
    pub summary: Option<String>,
    /// When it applies.
    pub context: Option<String>,
    /// Labels to filter by.
    pub tags: Vec<String>,
    /// Who said it, for a turn of a dialogue.
    pub speaker: Option<String>,
    /// Between 0 and 1.
    pub importance: Option<f64>,
    /// Between 0 and 1; by default from the source.
    pub confidence: Option<f64>,
    /// Where the claim comes from: user_explicit, observed, inferred or document. Default: observed.
    #[schemars(extend("enum" = crate::domain::Source::NAMES))]
    pub source: Option<String>,
    /// Session it belongs to; it is linked to the memory before it there.
    pub session_id: Option<String>,
    /// Task it belongs to; it is linked to the memory before it there.
    pub task_id: Option<String>,
    /// Who may read it: private (default), shared (with `group`) or global.
    #[schemars(extend("enum" = ["private", "shared", "global"]))]
    pub scope: Option<String>,
    /// Group to share with, for scope shared.
    pub group: Option<String>,
    /// When it happened (RFC 3339 or a date). Default: now.
    pub occurred_at: Option<String>,
    /// True in the world from then.
    pub valid_from: Option<String>,
    /// True in the world until then.
    pub valid_to: Option<String>,
    /// Seconds after which it is no longer recalled.
    pub ttl_secs: Option<i64>,
    /// What happened, in parts: timestamp, actor, action, object, result, context.
    pub event: Option<EventFields>,
    /// Ids of memories that this one caused.
    pub causes: Vec<String>,
    /// Ids of memories that caused this one.
    pub caused_by: Vec<String>,
    /// Ids of memories that this one replaces; they are kept, with an end.
    pub supersedes: Vec<String>,
    /// The same key with the same request gives the same answer and stores once.
    pub idempotency_key: Option<String>,
    /// The name another system knows it by; unique within a scope.
    pub external_id: Option<String>,
    /// Whether it waits for a person before anybody recalls it. The answer then names the review item.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
}

/// The parts of an event.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EventFields {
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

impl From<EventFields> for EventDetail {
    fn from(fields: EventFields) -> Self {
        let EventFields { timestamp, actor, action, object, result, context } = fields;
        Self { timestamp, actor, action, object, result, context }
    }
}

/// Whether a memory can be found by meaning already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoreState {
    /// Durable, found by keyword and by meaning.
    Indexed,
    /// Durable, found by keyword; the vector index has still to take it.
    PendingIndex,
    /// Durable in the journal; written when the store is back.
    Queued,
}

/// An edge that was made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Link {
    /// Kind of the edge.
    pub r#type: String,
    /// The other end.
    pub id: String,
}

/// What became of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct StoreReply {
    /// Id of the memory: the new one, or the one that was known. Absent when dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// stored, refreshed, supplemented, superseded, quarantined, refused, dropped or queued.
    pub outcome: String,
    /// How far it is: indexed, pending_index or queued.
    pub state: StoreState,
    /// Edges made to other memories.
    pub links: Vec<Link>,
    /// Ids of memories it replaced.
    pub superseded: Vec<String>,
    /// What was taken out of the text before it was stored.
    pub redactions: Vec<String>,
    /// Why it was dropped or refreshed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Review item, when a person must decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_id: Option<String>,
    /// Id of the change, as in the audit log.
    pub operation_id: String,
}

/// Fields of a memory to change; absent ones stay.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UpdateRequest {
    /// The memory.
    pub id: String,
    /// The revision the change was made on; another one now is a conflict.
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
    #[schemars(extend("enum" = crate::domain::Kind::NAMES))]
    pub kind: Option<String>,
    /// New type.
    #[schemars(extend("enum" = crate::domain::MemoryType::NAMES))]
    pub r#type: Option<String>,
    /// New moment of happening.
    pub occurred_at: Option<String>,
    /// New start of validity.
    pub valid_from: Option<String>,
    /// New end of validity.
    pub valid_to: Option<String>,
}

/// Memories to forget.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ForgetRequest {
    /// The memories, at most 100.
    pub ids: Vec<String>,
    /// delete (every copy; default), decay (halve importance and confidence) or archive (keep, no longer recall).
    #[schemars(extend("enum" = crate::domain::Forgetting::NAMES))]
    pub strategy: Option<String>,
    /// Why, for the audit log.
    pub reason: Option<String>,
}

/// How many were forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ForgetReply {
    /// Memories forgotten.
    pub forgotten: i64,
    /// How.
    pub strategy: String,
    /// Id of the change, as in the audit log.
    pub operation_id: String,
}

/// An edge to make by hand.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkRequest {
    /// The memory it leaves: the cause, or the newer one.
    pub from: String,
    /// The memory it reaches: the effect, or the older one.
    pub to: String,
    /// CAUSES, SUPERSEDES or SUPPLEMENTS.
    #[schemars(extend("enum" = ["CAUSES", "SUPERSEDES", "SUPPLEMENTS"]))]
    pub edge: String,
    /// Why.
    pub reason: Option<String>,
}

/// The edge that was made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct LinkReply {
    /// The memory it leaves.
    pub from: String,
    /// The memory it reaches.
    pub to: String,
    /// Its kind.
    pub edge: String,
    /// Id of the change, as in the audit log.
    pub operation_id: String,
}

/// A vote on a memory.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FeedbackRequest {
    /// The memory.
    pub id: String,
    /// Whether it helped.
    pub useful: Option<bool>,
    /// Why, in a few words.
    pub note: Option<String>,
}

/// What a vote did.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct FeedbackReply {
    /// The memory.
    pub id: String,
    /// Confidence before the vote, between 0 and 1.
    pub confidence_before: f32,
    /// Confidence after it.
    pub confidence_after: f32,
    /// Votes that it helped.
    pub useful: i64,
    /// Votes that it did not.
    pub not_useful: i64,
    /// Id of the change, as in the audit log.
    pub operation_id: String,
}

/// Something that happened.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ObserveRequest {
    /// What happened: task_started, tool_call, tool_result, task_succeeded, task_failed, user_message, user_correction or session_ended.
    #[schemars(extend("enum" = crate::domain::EventKind::NAMES))]
    pub event: String,
    /// Session it belongs to; needed for session_ended.
    pub session_id: Option<String>,
    /// Task it belongs to.
    pub task_id: Option<String>,
    /// What was said, given, answered or learnt; with it task_succeeded, task_failed and user_correction make a memory. Needed for user_message and user_correction.
    pub text: Option<String>,
    /// The tool; needed for tool_call and tool_result.
    pub tool: Option<String>,
    /// Status that the tool or task gave, for example ok or timeout.
    pub status: Option<String>,
    /// What a person thought of it: positive or negative.
    #[schemars(extend("enum" = crate::domain::Feedback::NAMES))]
    pub feedback: Option<String>,
    /// When it happened (RFC 3339 or a date). Default: now.
    pub at: Option<String>,
    /// Who may read it: private (default), shared (with `group`) or global.
    #[schemars(extend("enum" = ["private", "shared", "global"]))]
    pub scope: Option<String>,
    /// Group to share with, for scope shared.
    pub group: Option<String>,
    /// The same key with the same request gives the same answer and keeps one event.
    pub idempotency_key: Option<String>,
}

/// A memory that an event made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Observed {
    /// Its id: of the new one, or of the one that said the same.
    pub id: String,
    /// stored, refreshed, supplemented or superseded.
    pub outcome: String,
    /// Layer.
    pub kind: String,
    /// What it says.
    pub r#type: String,
}

/// What became of an event.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ObserveReply {
    /// Id of the raw event, which is kept.
    pub event_id: String,
    /// How far it is: indexed, pending_index or queued.
    #[serde(default = "kept")]
    pub state: StoreState,
    /// Memories made by it.
    pub memories: Vec<Observed>,
    /// Id of the change, as in the audit log.
    pub operation_id: String,
}

/// Answers that were recorded before they said so were of events that are in the graph store.
fn kept() -> StoreState {
    StoreState::Indexed
}
