//! What clients are told of the wiki and the review queue. Times are RFC 3339, ids and names are texts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wiki::Diff;

/// A page as a reader gets it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct PageRecord {
    /// Its id, the same through every rename.
    pub id: String,
    /// Its address.
    pub slug: String,
    /// Its heading.
    pub title: String,
    /// Further addresses that lead to it.
    pub aliases: Vec<String>,
    /// Labels of the concepts it belongs to.
    pub categories: Vec<String>,
    /// Who may read it: private, shared or global.
    pub scope: String,
    /// Group, for scope shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Whether it was deleted by then.
    pub deleted: bool,
    /// Number of the revision shown.
    pub revision: i64,
    /// Number of the head.
    pub head: i64,
    /// The text in Markdown; absent in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Hash of what the revision says.
    pub content_hash: String,
    /// When the page was first approved.
    pub created_at: String,
    /// When the revision was approved.
    pub updated_at: String,
    /// The memories it cites, in the order of the text; absent in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Citation>,
    /// The pages it links to; absent in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<PageLink>,
    /// The pages that link to it, at most 100; absent in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backlinks: Vec<PageLink>,
    /// What it takes to change it, if it is protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protection: Option<Protection>,
}

/// A memory that a page or a proposal names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Citation {
    /// Its id.
    pub id: String,
    /// Whether it is there for the reader.
    pub found: bool,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it says, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Where it is in its life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// A link between pages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct PageLink {
    /// Address of the other page.
    pub slug: String,
    /// Its heading, if it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether it is there for the reader.
    pub found: bool,
}

/// What it takes to change a page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Protection {
    /// How many must approve.
    pub approvals: i64,
    /// Groups of which at least one approver must be a member; empty is anybody.
    pub groups: Vec<String>,
}

/// A revision in a history.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RevisionRecord {
    /// Its id.
    pub id: String,
    /// Its page.
    pub page_id: String,
    /// Address of the page from then on.
    pub slug: String,
    /// Heading from then on.
    pub title: String,
    /// Its number, from 1.
    pub number: i64,
    /// create, edit, rename, delete, restore or revert.
    pub change: String,
    /// When it was approved.
    pub at: String,
    /// Who wrote it.
    pub author: String,
    /// human, agent or service.
    pub author_kind: String,
    /// Who approved it.
    pub approvers: Vec<String>,
    /// The approver who changed the text before it went live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor: Option<String>,
    /// The proposal it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal_id: Option<String>,
    /// The agent run it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Why, in the author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// Ids of memories that the author gave as evidence.
    pub evidence: Vec<String>,
    /// Id of the revision it takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts: Option<String>,
    /// Hash of what it says.
    pub content_hash: String,
    /// Bytes of its text.
    pub size: i64,
}

/// Two revisions compared.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct PageDiff {
    /// Address of the page.
    pub slug: String,
    /// Number of the earlier revision.
    pub from: i64,
    /// Number of the later one.
    pub to: i64,
    /// What changed.
    pub diff: Diff,
}

/// Lines and where they came from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct BlamedLines {
    /// The first, from 1.
    pub from_line: i64,
    /// The last.
    pub to_line: i64,
    /// Their text.
    pub text: String,
    /// The revision they came with.
    pub revision: RevisionRecord,
}

/// A page, line by line, with the revision that each came with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct PageBlame {
    /// Address of the page.
    pub slug: String,
    /// Number of the revision that is shown.
    pub revision: i64,
    /// All of it, from the first line on.
    pub lines: Vec<BlamedLines>,
}

/// A page that answers a question.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct PageHit {
    /// Address of the page.
    pub slug: String,
    /// Its heading.
    pub title: String,
    /// Number of its head.
    pub revision: i64,
    /// Headings above the part that answers, outermost first.
    pub section: String,
    /// That part.
    pub snippet: String,
    /// How well it answers, between 0 and 1.
    pub score: f32,
    /// Whether the match is weak.
    pub weak: bool,
}

/// Pages that answer a question.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct SearchPagesReply {
    /// Best first.
    pub pages: Vec<PageHit>,
    /// Parts of the search that did not answer.
    pub degraded: Vec<crate::read::Degraded>,
}

/// What a proposal is, with everything that a decision needs. Lists leave out the texts, the differences and the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ProposalRecord {
    /// Its id.
    pub id: String,
    /// wiki_edit, memory_quarantine, memory_conflict, memory_merge or ontology_change.
    pub kind: String,
    /// pending, changes_requested, conflicted, approved, rejected, withdrawn, superseded, expired or reverted.
    pub state: String,
    /// What it is about, in a line: a page's address, a memory in short, or a vocabulary.
    pub subject: String,
    /// Hash of what would go live now; approval is bound to it.
    pub content_hash: String,
    /// Who proposed it.
    pub author: String,
    /// human, agent or service.
    pub author_kind: String,
    /// Who answers for the author, if it is an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The agent run it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Why, in the author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// When it was proposed.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// For an edit: the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_id: Option<String>,
    /// For an edit: address that the page will have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// For an edit: heading that the page will have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For an edit: create, edit, rename, delete or restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Of a decision about memories: their ids. An update of a memory names the new text and the memory that it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_ids: Vec<String>,
    /// Number of the revision that an edit was written on, or of the version that a vocabulary was compared with; 0 for a new page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_revision: Option<i64>,
    /// Number of the page's head, or of the version of the ontologies in force; 0 for a page that is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_revision: Option<i64>,
    /// Whether the page or the ontologies have moved since it was written.
    pub stale: bool,
    /// For a vocabulary: what it would change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ontology: Option<OntologyChange>,
    /// What the author wrote: a page, the new text of a memory, or a file of terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// What would go live: the author's text, or that joined with what the page says by now; of a vocabulary, the terms that it
    /// changes. Absent while they clash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<String>,
    /// What the page was when it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// What the page, the memory or those terms say now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// What would change, from what is there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<Diff>,
    /// Where the author's text and the page's clash.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictRecord>,
    /// What to look at twice.
    pub risk_flags: Vec<RiskRecord>,
    /// Memories that bear it out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Citation>,
    /// Of a decision about memories: these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<MemoryText>,
    /// Who holds it, if somebody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_until: Option<String>,
    /// How many must approve.
    pub approvals_needed: i64,
    /// Groups of which at least one approver must be a member; empty is anybody.
    pub approval_groups: Vec<String>,
    /// Who has approved what it says now.
    pub approvals: Vec<ApprovalRecord>,
    /// What was said of it.
    pub comments: Vec<CommentRecord>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionRecord>,
    /// Every move, oldest first.
    pub moves: Vec<MoveRecord>,
}

/// What a file of terms would change. Lists have it as it was when it was proposed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct OntologyChange {
    /// The vocabulary.
    pub vocabulary: String,
    /// Name of the file.
    pub file: String,
    /// Terms that would come in.
    pub new: i64,
    /// Terms that would become others.
    pub changed: i64,
    /// Terms that would go.
    pub removed: i64,
    /// Terms that would stay as they are; absent in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<i64>,
    /// How many terms the difference shows, those that go first; absent in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<i64>,
    /// What is odd about the file; absent in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A memory as a reviewer gets it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct MemoryText {
    /// Its id.
    pub id: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// All of it.
    pub content: String,
    /// Where it is in its life.
    pub status: String,
    /// Who may read it: private, shared or global.
    pub scope: String,
    /// Where the claim comes from.
    pub source: String,
    /// When it happened.
    pub occurred_at: String,
}

/// A place where two edits clash.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ConflictRecord {
    /// Line of the head where it begins, from 1.
    pub line: i64,
    /// What was there when both were written.
    pub base: String,
    /// What the page says now.
    pub head: String,
    /// What is proposed.
    pub proposed: String,
}

/// A risk and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RiskRecord {
    /// What it is, for example no_evidence or hidden_text.
    pub kind: String,
    /// Where, in a few words.
    pub detail: String,
}

/// A yes to what a proposal says now.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ApprovalRecord {
    /// Who.
    pub by: String,
    /// When.
    pub at: String,
}

/// What somebody said of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct CommentRecord {
    /// Who.
    pub by: String,
    /// When.
    pub at: String,
    /// What.
    pub text: String,
    /// Line of the proposed text it is about, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
}

/// How a proposal ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct DecisionRecord {
    /// Who decided last.
    pub by: String,
    /// When.
    pub at: String,
    /// For a rejection: its code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// In the reviewer's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether the reviewer changed the text before it went live.
    pub edited: bool,
    /// Id of the revision it became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision_id: Option<String>,
    /// Id of the memory that was chosen or let in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_id: Option<String>,
    /// Number of the version of the ontologies that it became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
}

/// A move from state to state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct MoveRecord {
    /// When.
    pub at: String,
    /// Who.
    pub by: String,
    /// From which state; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// To which.
    pub to: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What a decision did.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct DecisionReply {
    /// approved, approval_noted (more must approve), superseded (the page says it already), rejected, changes_requested,
    /// reopened or reverted.
    pub outcome: String,
    /// The proposal after it, as in a list.
    pub proposal: ProposalRecord,
    /// Number of the page's new head, or of the new version of the ontologies, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// Id of the change, as in the audit log.
    pub operation_id: String,
}

/// What became of one of many.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ItemOutcome {
    /// The proposal.
    pub id: String,
    /// What became of it, or would; failed, with code and message, if nothing.
    pub outcome: String,
    /// Error code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What a decision on many did.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct BulkReply {
    /// One for each, in the order given.
    pub items: Vec<ItemOutcome>,
    /// Whether nothing was done.
    pub dry_run: bool,
}

/// What a revert did.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RevertReply {
    /// The revision that takes the other back.
    pub revision: RevisionRecord,
    /// Id of the change, as in the audit log.
    pub operation_id: String,
}

/// The state of the queue.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ReviewStats {
    /// Proposals that wait for a decision.
    pub pending: i64,
    /// How many of these somebody holds.
    pub claimed: i64,
    /// Back with their authors.
    pub changes_requested: i64,
    /// Waiting for a resolution.
    pub conflicted: i64,
    /// Seconds that pending ones have waited, half of them no longer.
    pub age_p50_secs: i64,
    /// Seconds that pending ones have waited, all but one in twenty no longer.
    pub age_p95_secs: i64,
    /// Mean seconds from proposal to decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_secs: Option<f64>,
    /// One row for each author, most proposals first, at most 100.
    pub authors: Vec<AuthorStats>,
}

/// What became of an author's proposals.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct AuthorStats {
    /// Who.
    pub author: String,
    /// Not yet decided.
    pub open: i64,
    /// Taken, those taken back later among them.
    pub approved: i64,
    /// Turned down.
    pub rejected: i64,
    /// Taken of those that were decided, between 0 and 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept_rate: Option<f64>,
}

/// A page to look at.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RenderedPage {
    /// Safe HTML.
    pub html: String,
    /// The Markdown as it is.
    pub raw: String,
    /// The Markdown with everything hidden shown as a mark, for example ⟦U+202E⟧.
    pub marked: String,
    /// What was marked or taken out.
    pub risk_flags: Vec<RiskRecord>,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct FileOutcome {
    /// Its path.
    pub path: String,
    /// Address of its page.
    pub slug: String,
    /// created, changed, unchanged or failed.
    pub outcome: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What an import of pages did.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ImportPagesReply {
    /// One for each file, in the order given.
    pub files: Vec<FileOutcome>,
    /// Whether nothing was done.
    pub dry_run: bool,
}

/// Something happened in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ReviewEvent {
    /// Position in the change log; several may share it.
    pub seq: i64,
    /// When.
    pub at: String,
    /// Who.
    pub actor: String,
    /// The use case, for example approve_proposal.
    pub use_case: String,
    /// The proposal.
    pub proposal_id: String,
    /// Its state after it.
    pub state: String,
    /// Its kind.
    pub kind: String,
}
