//! What the mutations and questions of the wiki and the review queue take. The fields are those of the façade's requests, as
//! in `input`.

use async_graphql::{ID, InputObject};
use serde::Serialize;

use super::{
    convert::{plain_ids, plain_optional_id, plain_optional_proposal, plain_proposal},
    names::{BulkDecision, MemoryQuestion, PageAction, ProposalKind, ProposalState, RejectReason, Scope},
};

/// Which pages to list; what is absent asks nothing.
#[derive(InputObject, Serialize, Default)]
pub(super) struct PageFilter {
    /// Only addresses that begin so.
    pub prefix: Option<String>,
    /// Only pages that link to this one.
    pub links_to: Option<String>,
    /// Only pages that cite this memory; a global or a plain id.
    #[serde(serialize_with = "plain_optional_id")]
    pub cites: Option<ID>,
    /// Deleted pages in place of those that are there. Default false.
    #[graphql(default)]
    pub deleted: bool,
}

/// Which proposals to list; what is absent asks nothing. Values within a field are alternatives, fields are all required.
#[derive(InputObject, Serialize, Default)]
pub(super) struct ProposalFilter {
    /// Only in these states. Default: PENDING, CHANGES_REQUESTED and CONFLICTED.
    pub states: Option<Vec<ProposalState>>,
    /// Only of these kinds.
    pub kinds: Option<Vec<ProposalKind>>,
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

/// A question to the wiki.
#[derive(InputObject, Serialize)]
pub(super) struct SearchPagesInput {
    /// In plain words of any language.
    pub query: String,
    /// Pages at most, 1 to 20. Default 5.
    pub limit: Option<i64>,
}

/// An edit of a page, to be reviewed.
#[derive(InputObject, Serialize)]
pub(super) struct ProposeEditInput {
    /// Address of the page, for example ops/on-call.
    pub slug: String,
    /// Heading of the page. Default: as it is, or from the slug.
    pub title: Option<String>,
    /// The whole new text in Markdown. Either this or `patch`; neither for a rename, a deletion or a restore.
    pub body: Option<String>,
    /// A unified diff against the text of `baseRevision`, in place of `body`.
    pub patch: Option<String>,
    /// Number of the revision that the edit was written on. Needed unless the page is new.
    pub base_revision: Option<i64>,
    /// What to do. Default EDIT.
    pub action: Option<PageAction>,
    /// The new address, for RENAME; the old one goes on leading there.
    pub new_slug: Option<String>,
    /// Further addresses that lead to the page, in place of those it has.
    pub aliases: Option<Vec<String>>,
    /// Labels of the concepts that it belongs to, in place of those it has.
    pub categories: Option<Vec<String>>,
    /// Who may read a new page. Default GLOBAL; SHARED needs `group`.
    pub scope: Option<Scope>,
    /// Group of a new page, for scope SHARED.
    pub group: Option<String>,
    /// Why, for the reviewer.
    pub rationale: Option<String>,
    /// Ids of memories that bear it out; global or plain.
    #[serde(serialize_with = "plain_ids")]
    pub evidence: Option<Vec<ID>>,
    /// The agent run it belongs to; a whole run can be taken back.
    pub run_id: Option<String>,
    /// An open proposal of the same author that this one replaces.
    #[serde(serialize_with = "plain_optional_proposal")]
    pub replaces: Option<ID>,
    /// The same key with the same input gives the same answer and proposes once.
    pub idempotency_key: Option<String>,
}

/// A decision between memories, to be reviewed.
#[derive(InputObject, Serialize)]
pub(super) struct ProposeDecisionInput {
    /// What is to be decided.
    pub kind: MemoryQuestion,
    /// The memories; global or plain ids.
    #[serde(serialize_with = "plain_ids")]
    pub memories: Option<Vec<ID>>,
    /// Why, for the reviewer.
    pub rationale: Option<String>,
    /// Ids of further memories that bear it out.
    #[serde(serialize_with = "plain_ids")]
    pub evidence: Option<Vec<ID>>,
    /// The agent run it belongs to.
    pub run_id: Option<String>,
}

/// A new text for an open proposal, by its author.
#[derive(InputObject, Serialize)]
pub(super) struct ReviseProposalInput {
    /// The proposal; a global or a plain id.
    #[serde(serialize_with = "plain_proposal")]
    pub id: ID,
    /// The whole new text.
    pub body: String,
    /// New heading. Default: as it is.
    pub title: Option<String>,
    /// Number of the revision that the new text was written on. Default: the one before.
    pub base_revision: Option<i64>,
    /// New reason. Default: as it is.
    pub rationale: Option<String>,
    /// New evidence, in place of the old. Default: as it is.
    #[serde(serialize_with = "plain_ids")]
    pub evidence: Option<Vec<ID>>,
    /// What is answered to the reviewer, kept as a comment.
    pub comment: Option<String>,
}

/// A proposal taken back by its author.
#[derive(InputObject, Serialize)]
pub(super) struct WithdrawProposalInput {
    /// The proposal; a global or a plain id.
    #[serde(serialize_with = "plain_proposal")]
    pub id: ID,
    /// Why.
    pub reason: Option<String>,
}

/// A proposal.
#[derive(InputObject)]
pub(super) struct ProposalInput {
    /// The proposal; a global or a plain id.
    pub id: ID,
}

/// A conflict, region by region; what comes of it waits for approval like any other text.
#[derive(InputObject, Serialize)]
pub(super) struct ResolveProposalInput {
    /// The proposal; a global or a plain id.
    #[serde(serialize_with = "plain_proposal")]
    pub id: ID,
    /// Number of the head that the regions were read against.
    pub expected_head: i64,
    /// One for each region, in their order: head, proposed, both (head before proposed), base, or text:… for other words.
    pub resolutions: Vec<String>,
}

/// A yes to exactly the bytes that were read.
#[derive(InputObject, Serialize)]
pub(super) struct ApproveProposalInput {
    /// The proposal; a global or a plain id.
    #[serde(serialize_with = "plain_proposal")]
    pub id: ID,
    /// The hash that was read with what is approved.
    pub content_hash: String,
    /// Number of the page's head when it was read; another one now is a STALE_BASE. 0 for a page that is not there.
    pub expected_head: Option<i64>,
    /// A text that goes live in place of the proposed one; both are kept.
    pub body: Option<String>,
    /// For MEMORY_CONFLICT and MEMORY_MERGE: the memory that stays; a global or a plain id.
    #[serde(serialize_with = "plain_optional_id")]
    pub chosen: Option<ID>,
    /// For the author and the audit log.
    pub comment: Option<String>,
}

/// A no, with a reason that its author learns from.
#[derive(InputObject, Serialize)]
pub(super) struct RejectProposalInput {
    /// The proposal; a global or a plain id.
    #[serde(serialize_with = "plain_proposal")]
    pub id: ID,
    /// Why.
    pub reason: RejectReason,
    /// In the reviewer's words; needed for OTHER.
    pub note: Option<String>,
    /// The hash that was read; another one now is a CONFLICT.
    pub content_hash: Option<String>,
}

/// Back to its author, with what to do.
#[derive(InputObject, Serialize)]
pub(super) struct RequestChangesInput {
    /// The proposal; a global or a plain id.
    #[serde(serialize_with = "plain_proposal")]
    pub id: ID,
    /// What is to be changed.
    pub note: String,
    /// Comments on single lines.
    pub comments: Option<Vec<LineCommentInput>>,
}

/// A comment on a line.
#[derive(InputObject, Serialize)]
pub(super) struct LineCommentInput {
    /// Line of the proposed text, from 1.
    pub line: i64,
    /// What.
    pub text: String,
}

/// A comment on a proposal.
#[derive(InputObject, Serialize)]
pub(super) struct CommentOnProposalInput {
    /// The proposal; a global or a plain id.
    #[serde(serialize_with = "plain_proposal")]
    pub id: ID,
    /// What.
    pub text: String,
    /// Line of the proposed text, from 1.
    pub line: Option<i64>,
}

/// One decision for many proposals. Those with risks, conflicts or a stale base are left to a look of their own.
#[derive(InputObject, Serialize)]
pub(super) struct ReviewProposalsInput {
    /// Yes or no.
    pub decision: BulkDecision,
    /// At most 100, each with the hash that was read.
    pub items: Vec<ReviewItemInput>,
    /// For REJECT: the reason.
    pub reason: Option<RejectReason>,
    /// For the authors.
    pub note: Option<String>,
    /// Only say what would happen. Default false.
    #[graphql(default)]
    pub dry_run: bool,
}

/// A proposal of a bulk decision.
#[derive(InputObject, Serialize)]
pub(super) struct ReviewItemInput {
    /// The proposal; a global or a plain id.
    #[serde(serialize_with = "plain_proposal")]
    pub id: ID,
    /// The hash that was read.
    pub content_hash: String,
}

/// A folder of pages to take in.
#[derive(InputObject, Serialize)]
pub(super) struct ImportPagesInput {
    /// The Markdown files.
    pub files: Vec<PageFileInput>,
    /// Who may read pages that do not say so. Default GLOBAL; SHARED needs `group`.
    pub scope: Option<Scope>,
    /// Group for scope SHARED.
    pub group: Option<String>,
    /// Why, for the history.
    pub reason: Option<String>,
    /// Only say what would happen. Default false.
    #[graphql(default)]
    pub dry_run: bool,
}

/// A page as a file of a folder.
#[derive(InputObject, Serialize)]
pub(super) struct PageFileInput {
    /// Path below the folder, with `/`.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// A revision to take back; what came after it stays.
#[derive(InputObject, Serialize)]
pub(super) struct RevertRevisionInput {
    /// The page.
    pub slug: String,
    /// Number of the revision.
    pub revision: i64,
    /// Number of the head that was looked at; another one now is a STALE_BASE.
    pub expected_head: Option<i64>,
    /// Why.
    pub reason: Option<String>,
}

/// A proposal to take back.
#[derive(InputObject, Serialize)]
pub(super) struct RevertProposalInput {
    /// The proposal; a global or a plain id.
    #[serde(serialize_with = "plain_proposal")]
    pub id: ID,
    /// Why.
    pub reason: Option<String>,
}

/// Everything of an agent run to take back, the latest first.
#[derive(InputObject, Serialize)]
pub(super) struct RevertRunInput {
    /// The run.
    pub run_id: String,
    /// Why.
    pub reason: Option<String>,
    /// Only say what would happen. Default false.
    #[graphql(default)]
    pub dry_run: bool,
}
