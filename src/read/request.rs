//! What clients ask of the read path and what they are told. The field names are the ones of the MCP tools, and the
//! comments are their descriptions.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::{EdgeKind, Event, EventDetail, Kind, Memory, MemoryType, UnknownName};

crate::domain::names! {
    /// Which arms answer.
    Mode {
        /// Meaning and words, fused.
        Hybrid = "hybrid",
        /// Meaning alone.
        Semantic = "semantic",
        /// Words alone.
        Keyword = "keyword",
        /// The latest.
        Recent = "recent",
        /// Hybrid, and what is reached from the best through the graph.
        Associative = "associative",
    }
}

/// A question to the memory.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecallRequest {
    /// What to recall, in plain words of any language. May be empty for mode recent only.
    pub query: String,
    /// hybrid (default), semantic, keyword, recent or associative (follows the graph from the best matches).
    #[schemars(extend("enum" = Mode::NAMES))]
    pub mode: Option<String>,
    /// How many memories at most. Default 5.
    pub limit: Option<i64>,
    /// Only these layers.
    #[schemars(extend("items" = {"type": "string", "enum": Kind::NAMES}))]
    pub kinds: Vec<String>,
    /// Only these types.
    #[schemars(extend("items" = {"type": "string", "enum": MemoryType::NAMES}))]
    pub types: Vec<String>,
    /// Only memories with one of these tags.
    pub tags: Vec<String>,
    /// Only this session.
    pub session_id: Option<String>,
    /// Only this task.
    pub task_id: Option<String>,
    /// Only what happened from then (RFC 3339 or a date).
    pub since: Option<String>,
    /// Only what happened before then.
    pub until: Option<String>,
    /// What was true in the world then.
    pub as_of: Option<String>,
    /// What was believed then.
    pub known_at: Option<String>,
    /// Superseded memories too.
    pub include_superseded: bool,
    /// Leave out matches with a lower score, between 0 and 1.
    pub min_score: Option<f64>,
    /// The cursor of the last answer, with the same question, for the next page.
    pub cursor: Option<String>,
    /// items (default), or prompt: also a block of text to put into a prompt.
    #[schemars(extend("enum" = ["items", "prompt"]))]
    pub format: Option<String>,
    /// Tokens of the prompt block at most (default 2000), or of the items without one (default 7000).
    pub token_budget: Option<i64>,
    /// Say why each memory was returned. Default true.
    pub explain: Option<bool>,
    /// Look for synonyms and narrower concepts of imported ontologies too. Default true.
    pub expand: Option<bool>,
}

/// What a question was taken to mean.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Understood {
    /// Mode that answered.
    pub mode: String,
    /// Language of the query: en or other.
    pub language: String,
    /// Words that were searched for.
    pub terms: Vec<String>,
    /// Vector spaces that were searched.
    pub spaces: Vec<String>,
    /// Concepts of ontologies that it names, by whatever name in whatever language.
    #[serde(default)]
    pub concepts: Vec<String>,
    /// Narrower concepts that were looked for too, the first twenty.
    #[serde(default)]
    pub expanded: Vec<String>,
}

/// A part that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Degraded {
    /// vectors, models, keyword, concepts, recent, graph or constraints.
    pub part: String,
    /// Why it is missing.
    pub reason: String,
}

/// One step of a path through the graph.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct PathStep {
    /// Id of the memory or concept it leaves.
    pub from: String,
    /// Kind of the edge; `<` before it when it is followed against its direction.
    pub edge: String,
    /// Id of the memory or concept it reaches.
    pub to: String,
    /// The concept's name, where a concept is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Share of the activation that passes, between 0 and 1.
    pub weight: f32,
}

/// Why a memory was returned. All parts lie between 0 and 1.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Why {
    /// How well it answers by meaning, by itself or with the turn before it, on the calibrated scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semantic: Option<f32>,
    /// Keyword score, relative to the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyword: Option<f32>,
    /// Rarity of what it is about, where the query names that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<f32>,
    /// Share of the query's words that it has.
    pub coverage: f32,
    /// What the graph added, relative to the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<f32>,
    /// Fused relevance, relative to the best.
    pub relevance: f32,
    /// 1 now, one half after the half-life of its layer.
    pub freshness: f32,
    /// Priority of its type.
    pub type_priority: f32,
    /// Its importance.
    pub importance: f32,
    /// Its confidence.
    pub confidence: f32,
    /// Grows with use.
    pub access: f32,
    /// The way from the seed, where the graph brought it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathStep>,
}

/// A recalled memory.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct RecallItem {
    /// Its id.
    pub id: String,
    /// The name another system knows it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The full text.
    pub content: String,
    /// At most 150 characters.
    pub summary: String,
    /// Layer.
    pub kind: String,
    /// What it says.
    pub r#type: String,
    /// Between 0 and 1, best first.
    pub score: f32,
    /// Whether it matches only weakly.
    pub weak: bool,
    /// Between 0 and 1.
    pub confidence: f32,
    /// active, superseded or archived.
    pub status: String,
    /// When it happened.
    pub occurred_at: String,
    /// True in the world from then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<String>,
    /// True in the world until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<String>,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Its labels.
    pub tags: Vec<String>,
    /// Whether the content is cut here; memory_get has it whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Why it was returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct RecallReply {
    /// Best first.
    pub items: Vec<RecallItem>,
    /// Constraints in force for the caller, outside the ranking.
    pub constraints: Vec<RecallItem>,
    /// The block for a prompt, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What the question was taken to mean.
    pub understood: Understood,
    /// Parts that did not answer.
    pub degraded: Vec<Degraded>,
    /// Where the next page begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Milliseconds it took.
    pub took_ms: f64,
}

/// A question to the graph.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AssociateRequest {
    /// Start from what answers this. Either query or ids.
    pub query: Option<String>,
    /// Start from these memories. Either query or ids.
    pub ids: Vec<String>,
    /// Hops between memories, 1 to 4. Default 2.
    pub depth: Option<i64>,
    /// How many memories at most. Default 10.
    pub limit: Option<i64>,
    /// Only these edges. Default all.
    #[schemars(extend("items" = {"type": "string", "enum": EdgeKind::NAMES}))]
    pub edges: Vec<String>,
    /// Along directed edges: out, in or both (default).
    #[schemars(extend("enum" = ["out", "in", "both"]))]
    pub direction: Option<String>,
    /// What was true in the world then.
    pub as_of: Option<String>,
    /// What was believed then.
    pub known_at: Option<String>,
    /// The cursor of the last answer, with the same question, for the next page.
    pub cursor: Option<String>,
    /// Give paths and the subgraph. Default true.
    pub explain: Option<bool>,
}

/// A memory the walk started from.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Seed {
    /// Its id.
    pub id: String,
    /// How well it answers, relative to the best.
    pub score: f32,
}

/// A memory reached through the graph.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct AssociatedItem {
    /// The memory.
    #[serde(flatten)]
    pub item: RecallItem,
    /// Hops from the seed.
    pub distance: i64,
    /// The way from the seed.
    pub path: Vec<PathStep>,
}

/// The part of the graph that was walked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Subgraph {
    /// Memories and concepts on the paths.
    pub nodes: Vec<SubgraphNode>,
    /// Edges on the paths.
    pub edges: Vec<SubgraphEdge>,
    /// Whether the neighbourhood was larger than the limit.
    pub truncated: bool,
}

/// A memory or concept of a subgraph.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct SubgraphNode {
    /// Its id.
    pub id: String,
    /// memory or concept.
    pub r#type: String,
    /// Summary or name.
    pub label: String,
}

/// An edge of a subgraph.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct SubgraphEdge {
    /// Node it leaves.
    pub from: String,
    /// Node it reaches.
    pub to: String,
    /// Kind.
    pub edge: String,
}

/// The answer from the graph.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct AssociateReply {
    /// Where the walk started.
    pub seeds: Vec<Seed>,
    /// Best first; without the given memories, and without the best match of a query.
    pub items: Vec<AssociatedItem>,
    /// The part of the graph that explains the items.
    pub subgraph: Subgraph,
    /// Parts that did not answer.
    pub degraded: Vec<Degraded>,
    /// Where the next page begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Milliseconds it took.
    pub took_ms: f64,
}

/// What to sum up; everything the caller sees, the latest first, when nothing is given.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SummarizeRequest {
    /// Only what happened from then (RFC 3339 or a date).
    pub since: Option<String>,
    /// Only what happened before then.
    pub until: Option<String>,
    /// Only this session.
    pub session_id: Option<String>,
    /// Only what answers this, in plain words of any language.
    pub topic: Option<String>,
}

/// A memory that a summary quotes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct SummarySource {
    /// Its id.
    pub id: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// At most 150 characters.
    pub summary: String,
    /// When it happened.
    pub occurred_at: String,
}

/// A summary in the memories' own sentences.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct SummarizeReply {
    /// A line for each memory it quotes, oldest first; empty when there is nothing.
    pub summary: String,
    /// The memories it quotes, in its order.
    pub sources: Vec<SummarySource>,
    /// How many memories were read.
    pub considered: i64,
    /// Whether there were more, older or weaker ones, that were not read.
    pub truncated: bool,
}

/// A memory and a question to hold it against.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExplainRequest {
    /// The memory.
    pub id: String,
    /// The question, as it was given to recall.
    pub query: String,
    /// What was true in the world then.
    pub as_of: Option<String>,
    /// What was believed then.
    pub known_at: Option<String>,
}

/// What one arm makes of a memory.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ArmTrace {
    /// semantic, keyword, named or graph.
    pub arm: String,
    /// Whether it brings the memory in.
    pub found: bool,
    /// Its place there, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<i64>,
    /// Its score there, on the arm's own scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}

/// A condition of recall that a memory does not meet.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct FailedFilter {
    /// status, expired or valid.
    pub filter: String,
    /// What it is, and what would be needed.
    pub reason: String,
}

/// Where a memory stands for a question.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ExplainReply {
    /// The memory.
    pub id: String,
    /// Its place in the answer of mode hybrid, from 1; absent when it is not among the candidates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<i64>,
    /// Its score there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// Its place in the answer of mode associative, which follows the graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub associative_rank: Option<i64>,
    /// Whether it would be marked weak.
    pub weak: bool,
    /// What each arm makes of it.
    pub arms: Vec<ArmTrace>,
    /// Why recall leaves it out; empty when nothing keeps it back.
    pub failed: Vec<FailedFilter>,
    /// All parts of its score, whether it was found or not.
    pub why: Why,
    /// The best way to it through the graph from what answers the question.
    pub path: Vec<PathStep>,
    /// Parts that did not answer.
    pub degraded: Vec<Degraded>,
}

/// A memory to tell the history of.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TraceRequest {
    /// The memory.
    pub id: String,
}

/// A state a memory was in.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct StateRecord {
    /// Believed from then.
    pub from: String,
    /// Until then; absent for the present state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The memory in that state.
    pub memory: MemoryRecord,
}

/// An edge of a memory.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct EdgeRecord {
    /// Id of the node it leaves.
    pub from: String,
    /// Id of the node it reaches: a memory, or a concept for ABOUT and MENTIONS.
    pub to: String,
    /// Kind.
    pub edge: String,
    /// Strength, between 0 and 1.
    pub weight: f32,
    /// Why it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Since when it is known.
    pub recorded_at: String,
}

/// A raw event as it came.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RawEvent {
    /// Its id.
    pub id: String,
    /// What happened.
    pub event: String,
    /// When it happened.
    pub at: String,
    /// When it was reported.
    pub recorded_at: String,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Who reported it.
    pub user_id: String,
    /// What was said, given, answered or learnt.
    pub text: String,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Status that the tool or task gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What a person thought of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

impl From<Event> for RawEvent {
    fn from(event: Event) -> Self {
        Self {
            id: event.id.to_string(),
            event: event.kind.to_string(),
            at: event.at.to_string(),
            recorded_at: event.recorded_at.to_string(),
            session_id: event.session_id,
            task_id: event.task_id,
            user_id: event.user_id,
            text: event.text,
            tool: event.tool,
            status: event.status,
            feedback: event.feedback.map(|feedback| feedback.to_string()),
        }
    }
}

/// The history of a memory.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct TraceReply {
    /// The memory.
    pub id: String,
    /// Its states, oldest first: replaced texts, votes, retirement, and the present one.
    pub states: Vec<StateRecord>,
    /// Its edges that the caller sees, the latest first, at most 200.
    pub edges: Vec<EdgeRecord>,
    /// The raw events it came from, as far as the caller sees them.
    pub events: Vec<RawEvent>,
}

/// A session to tell in short.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BriefRequest {
    /// The session.
    pub session_id: String,
}

/// A session in short.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct BriefReply {
    /// The session.
    pub session_id: String,
    /// What it came to, in its members' own sentences.
    pub summary: String,
    /// Its active members in the order they were recorded: the latest that fit.
    pub members: Vec<SummarySource>,
    /// Whether there are earlier members.
    pub truncated: bool,
}

/// Memories to read.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GetRequest {
    /// The memories, at most 100.
    pub ids: Vec<String>,
    /// Only if they were true in the world then.
    pub as_of: Option<String>,
    /// As they were believed then.
    pub known_at: Option<String>,
    /// Of the last answer with the same ids, for what did not fit into it.
    pub cursor: Option<String>,
}

/// Memories as they are stored.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct GetReply {
    /// In the order asked, each once; about 7,000 tokens at most, but one memory at least.
    pub memories: Vec<MemoryRecord>,
    /// For those that did not fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A memory as it is stored.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct MemoryRecord {
    /// Its id.
    pub id: String,
    /// The name another system knows it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Layer.
    pub kind: String,
    /// What it says.
    pub r#type: String,
    /// The full text.
    pub content: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// At most 150 characters.
    pub summary: String,
    /// When it applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Its labels.
    pub tags: Vec<String>,
    /// Who said it, for a turn of a dialogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// Between 0 and 1.
    pub importance: f32,
    /// Between 0 and 1.
    pub confidence: f32,
    /// Where the claim comes from: user_explicit, observed, inferred or document.
    pub source: String,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Who stored it.
    pub user_id: String,
    /// The agent that stored it, when an agent did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Who reads it: private, shared or global.
    pub scope: String,
    /// The group it is shared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// active, superseded, archived or quarantined.
    pub status: String,
    /// True in the world from then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<String>,
    /// True in the world until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<String>,
    /// This text is believed from then.
    pub recorded_at: String,
    /// Believed until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired_at: Option<String>,
    /// When it happened.
    pub occurred_at: String,
    /// Not recalled from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Times it was returned or stored again.
    pub access_count: i64,
    /// The last such time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_accessed: Option<String>,
    /// Votes that it helped.
    pub useful: i64,
    /// Votes that it did not.
    pub not_useful: i64,
    /// Whether a lesson was borne out: unverified, verified or corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<String>,
    /// Starts at 1 and grows with each update.
    pub revision: i64,
    /// What happened, in parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventRecord>,
}

/// The parts of an event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct EventRecord {
    /// When, as the client wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Did what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// To what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// With which result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Under which circumstances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

impl From<EventDetail> for EventRecord {
    fn from(event: EventDetail) -> Self {
        let EventDetail { timestamp, actor, action, object, result, context } = event;
        Self { timestamp, actor, action, object, result, context }
    }
}

impl From<Memory> for MemoryRecord {
    fn from(memory: Memory) -> Self {
        let group = match &memory.scope {
            crate::domain::Scope::Shared(group) => Some(group.clone()),
            _ => None,
        };
        let count = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        Self {
            id: memory.id.to_string(),
            external_id: memory.external_id,
            kind: memory.kind.to_string(),
            r#type: memory.memory_type.to_string(),
            content: memory.content,
            title: memory.title,
            summary: memory.summary,
            context: memory.context,
            tags: memory.tags,
            speaker: memory.speaker,
            importance: memory.importance,
            confidence: memory.confidence,
            source: memory.source.to_string(),
            session_id: memory.session_id,
            task_id: memory.task_id,
            user_id: memory.user_id,
            agent_id: memory.agent_id,
            scope: memory.scope.name().to_owned(),
            group,
            status: memory.status.to_string(),
            valid_from: memory.valid_from.map(|time| time.to_string()),
            valid_to: memory.valid_to.map(|time| time.to_string()),
            recorded_at: memory.recorded_at.to_string(),
            retired_at: memory.retired_at.map(|time| time.to_string()),
            occurred_at: memory.occurred_at.to_string(),
            expires_at: memory.expires_at.map(|time| time.to_string()),
            access_count: count(memory.access_count),
            last_accessed: memory.last_accessed.map(|time| time.to_string()),
            useful: i64::from(memory.useful),
            not_useful: i64::from(memory.not_useful),
            verification: memory.verification.map(|verification| verification.to_string()),
            revision: count(memory.revision),
            event: memory.event.map(EventRecord::from),
        }
    }
}
