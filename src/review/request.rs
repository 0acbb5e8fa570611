//! What clients ask of the wiki and the review queue. Faces translate to these; the field names are the ones of the MCP
//! tools, and the comments are their descriptions. What they are told is in `reply.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An edit of a page, to be reviewed.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProposeEditRequest {
    /// Address of the page, for example ops/on-call.
    pub slug: String,
    /// Heading of the page. Default: as it is, or from the slug.
    pub title: Option<String>,
    /// The whole new text in Markdown, with [[links]] to pages and [^mem:ID] citations of memories. Either this or `patch`; neither for a rename, a deletion or a restore.
    pub body: Option<String>,
    /// A unified diff against the text of `base_revision`, in place of `body`.
    pub patch: Option<String>,
    /// Number of the revision that the edit was written on, as wiki_get gave it. Needed unless the page is new.
    pub base_revision: Option<i64>,
    /// What to do: edit (default; creates a page that is not there), rename (with `new_slug`), delete or restore.
    #[schemars(extend("enum" = ["edit", "rename", "delete", "restore"]))]
    pub action: Option<String>,
    /// The new address, for a rename; the old one goes on leading there.
    pub new_slug: Option<String>,
    /// Further addresses that lead to the page, in place of those it has.
    pub aliases: Option<Vec<String>>,
    /// Labels of the concepts that it belongs to, in place of those it has.
    pub categories: Option<Vec<String>>,
    /// Who may read a new page: global (default), shared (with `group`) or private.
    #[schemars(extend("enum" = ["private", "shared", "global"]))]
    pub scope: Option<String>,
    /// Group of a new page, for scope shared.
    pub group: Option<String>,
    /// Why, for the reviewer.
    pub rationale: Option<String>,
    /// Ids of memories that bear it out.
    pub evidence: Vec<String>,
    /// The agent run it belongs to; a whole run can be taken back.
    pub run_id: Option<String>,
    /// An open proposal of the same author that this one replaces.
    pub replaces: Option<String>,
    /// The same key with the same request gives the same answer and proposes once.
    pub idempotency_key: Option<String>,
}

/// A decision between memories, to be reviewed.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProposeDecisionRequest {
    /// memory_conflict (two memories that cannot both hold, the earlier first) or memory_merge (several that say the same).
    #[schemars(extend("enum" = ["memory_conflict", "memory_merge"]))]
    pub kind: String,
    /// The memories.
    pub memories: Vec<String>,
    /// Why, for the reviewer.
    pub rationale: Option<String>,
    /// Ids of further memories that bear it out.
    pub evidence: Vec<String>,
    /// The agent run it belongs to.
    pub run_id: Option<String>,
}

/// A new text for an open proposal, by its author.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReviseProposalRequest {
    /// The proposal.
    pub id: String,
    /// The whole new text.
    pub body: String,
    /// New heading. Default: as it is.
    pub title: Option<String>,
    /// Number of the revision that the new text was written on. Default: the one before.
    pub base_revision: Option<i64>,
    /// New reason. Default: as it is.
    pub rationale: Option<String>,
    /// New evidence, in place of the old. Default: as it is.
    pub evidence: Option<Vec<String>>,
    /// What was answered to the reviewer, kept as a comment.
    pub comment: Option<String>,
}

/// A proposal taken back by its author.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WithdrawProposalRequest {
    /// The proposal.
    pub id: String,
    /// Why.
    pub reason: Option<String>,
}

/// A conflict, region by region; what comes of it waits for approval like any other text.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResolveProposalRequest {
    /// The proposal.
    pub id: String,
    /// Number of the head that the regions were read against.
    pub expected_head: i64,
    /// One for each region, in their order: head, proposed, both (head before proposed), base, or text:… for other words.
    pub resolutions: Vec<String>,
}

/// A yes to exactly the bytes that were read.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApproveProposalRequest {
    /// The proposal.
    pub id: String,
    /// The hash that was read with what is approved.
    pub content_hash: String,
    /// Number of the page's head when it was read; another one now is a stale base. 0 for a page that is not there.
    pub expected_head: Option<i64>,
    /// A text that goes live in place of the proposed one; both are kept.
    pub body: Option<String>,
    /// For memory_conflict and memory_merge: the memory that stays.
    pub chosen: Option<String>,
    /// For the author and the audit log.
    pub comment: Option<String>,
}

/// A no, with a reason that its author learns from.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RejectProposalRequest {
    /// The proposal.
    pub id: String,
    /// incorrect, unsupported, duplicate, out_of_scope, style, policy, harmful or other.
    #[schemars(extend("enum" = crate::domain::RejectReason::NAMES))]
    pub reason: String,
    /// In the reviewer's words; needed for other.
    pub note: Option<String>,
    /// The hash that was read; another one now is a conflict.
    pub content_hash: Option<String>,
}

/// Back to its author, with what to do.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RequestChangesRequest {
    /// The proposal.
    pub id: String,
    /// What is to be changed.
    pub note: String,
    /// Comments on single lines.
    pub comments: Vec<LineComment>,
}

/// A comment on a line.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LineComment {
    /// Line of the proposed text, from 1.
    pub line: i64,
    /// What.
    pub text: String,
}

/// A comment on a proposal.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CommentOnProposalRequest {
    /// The proposal.
    pub id: String,
    /// What.
    pub text: String,
    /// Line of the proposed text, from 1.
    pub line: Option<i64>,
}

/// One decision for many proposals. Those with risks, conflicts or a stale base are left to a look of their own.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReviewProposalsRequest {
    /// approve or reject.
    #[schemars(extend("enum" = ["approve", "reject"]))]
    pub decision: String,
    /// At most 100, each with the hash that was read.
    pub items: Vec<ReviewItem>,
    /// For reject: the reason.
    #[schemars(extend("enum" = crate::domain::RejectReason::NAMES))]
    pub reason: Option<String>,
    /// For the authors.
    pub note: Option<String>,
    /// Only say what would happen.
    pub dry_run: bool,
}

/// A proposal of a bulk decision.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReviewItem {
    /// The proposal.
    pub id: String,
    /// The hash that was read.
    pub content_hash: String,
}

/// Which proposals to list; what is absent asks nothing.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProposalsRequest {
    /// Only in these states. Default: pending, changes_requested and conflicted.
    pub states: Vec<String>,
    /// Only of these kinds.
    pub kinds: Vec<String>,
    /// Only about this page.
    pub slug: Option<String>,
    /// Only by this author.
    pub author: Option<String>,
    /// Only of this agent run.
    pub run_id: Option<String>,
    /// Only those the caller holds (true), or those nobody holds (false).
    pub claimed: Option<bool>,
    /// Only with a risk (true) or without (false).
    pub flagged: Option<bool>,
}

/// A page at a moment of its history.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PageRequest {
    /// Its address, an alias or a former address.
    pub slug: String,
    /// Number of a revision. Default: the head.
    pub revision: Option<i64>,
    /// As it was then (RFC 3339 or a date).
    pub as_of: Option<String>,
}

/// Which pages to list; what is absent asks nothing.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PagesRequest {
    /// Only addresses that begin so.
    pub prefix: Option<String>,
    /// Only pages that link to this one.
    pub links_to: Option<String>,
    /// Only pages that cite this memory.
    pub cites: Option<String>,
    /// Deleted pages in place of those that are there.
    pub deleted: bool,
}

/// A question to the wiki.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SearchPagesRequest {
    /// In plain words of any language.
    pub query: String,
    /// Pages at most, 1 to 20. Default 5.
    pub limit: Option<i64>,
}

/// Two revisions of a page to compare.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PageDiffRequest {
    /// The page.
    pub slug: String,
    /// Number of the earlier revision; 0 is the empty page.
    pub from: i64,
    /// Number of the later one. Default: the head.
    pub to: Option<i64>,
}

/// A revision to take back; what came after it stays.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RevertRevisionRequest {
    /// The page.
    pub slug: String,
    /// Number of the revision.
    pub revision: i64,
    /// Number of the head that was looked at; another one now is a stale base.
    pub expected_head: Option<i64>,
    /// Why.
    pub reason: Option<String>,
}

/// A proposal to take back.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RevertProposalRequest {
    /// The proposal.
    pub id: String,
    /// Why.
    pub reason: Option<String>,
}

/// Everything of an agent run to take back, the latest first.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RevertRunRequest {
    /// The run.
    pub run_id: String,
    /// Why.
    pub reason: Option<String>,
    /// Only say what would happen.
    pub dry_run: bool,
}

/// A page of Markdown to show.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RenderPageRequest {
    /// The page; or a proposal in its place.
    pub slug: Option<String>,
    /// Number of a revision. Default: the head.
    pub revision: Option<i64>,
    /// A proposal, whose text is shown as it would be.
    pub proposal: Option<String>,
}

/// A file of the wiki as a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PageFile {
    /// Path below the folder, with `/`.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// A folder of pages to take in.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ImportPagesRequest {
    /// The Markdown files.
    pub files: Vec<PageFile>,
    /// Who may read pages that do not say so: global (default), shared (with `group`) or private.
    pub scope: Option<String>,
    /// Group for scope shared.
    pub group: Option<String>,
    /// Why, for the history.
    pub reason: Option<String>,
    /// Only say what would happen.
    pub dry_run: bool,
}
