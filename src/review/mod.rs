//! The review queue and the wiki: agents propose, people decide, and everything can be traced and undone.
//!
//! A use case reads, decides by values of the domain, and writes one change set: the moved proposal, and with an approval
//! the revision, the page and its passages in recall, or the memory that is let in. Whoever comes second finds another
//! version and is told so. Texts are the wiki room's business. Knows nothing of faces and nothing of a particular store.
//!
//! To add a kind of proposal: a variant of `Subject`, an arm in `decide.rs`, its lines in `record.rs`.

mod access;
mod candidate;
mod claim;
mod decide;
mod events;
mod folder;
mod land;
mod memory;
mod pages;
mod propose;
mod queue;
mod record;
mod reply;
mod request;
mod revert;
mod revise;
mod risk;
mod settings;
mod terms;
mod undo;

pub use claim::{claim_next, claim_proposal, release_proposal};
pub use decide::{approve_proposal, expire_proposals, reject_proposal, request_changes, review_proposals};
pub use events::{review_events, review_stats, stats_of};
pub use folder::{export_pages, import_pages};
pub use pages::{page, page_blame, page_diff, page_history, pages, pages_by_id, render_page, search_pages};
pub use propose::{propose_decision, propose_edit};
pub use queue::{proposal, proposals, proposals_by_id, proposals_total};
pub use reply::{
    ApprovalRecord, AuthorStats, BlamedLines, BulkReply, Citation, CommentRecord, ConflictRecord, DecisionRecord,
    DecisionReply, FileOutcome, ImportPagesReply, ItemOutcome, MemoryText, MoveRecord, OntologyChange, PageBlame,
    PageDiff, PageHit, PageLink, PageRecord, ProposalRecord, Protection, RenderedPage, RevertReply, ReviewEvent,
    ReviewStats, RevisionRecord, RiskRecord, SearchPagesReply,
};
pub use request::{
    ApproveProposalRequest, CommentOnProposalRequest, ImportPagesRequest, LineComment, PageDiffRequest, PageFile,
    PageRequest, PagesRequest, ProposalsRequest, ProposeDecisionRequest, ProposeEditRequest, RejectProposalRequest,
    RenderPageRequest, RequestChangesRequest, ResolveProposalRequest, RevertProposalRequest, RevertRevisionRequest,
    RevertRunRequest, ReviewItem, ReviewProposalsRequest, ReviseProposalRequest, SearchPagesRequest,
    WithdrawProposalRequest,
};
pub use revert::{revert_proposal, revert_revision, revert_run};
pub use revise::{comment_on_proposal, resolve_proposal, revise_proposal, withdraw_proposal};
pub use settings::{ProtectedPages, ReviewSettings};
pub use terms::propose_import;
pub use undo::undo_decision;

use crate::{ontology::OntologyContext, ports::ReviewStore, read::ReadContext, write::WriteContext};

/// What the review room works with.
#[derive(Clone, Copy)]
pub struct ReviewContext<'a> {
    /// Pages, revisions, proposals.
    pub reviews: &'a dyn ReviewStore,
    /// For what a decision writes into the graph of memories, time and ids.
    pub write: &'a WriteContext,
    /// For the search over pages.
    pub read: &'a ReadContext,
    /// For vocabularies that are proposed.
    pub ontology: &'a OntologyContext,
    /// Limits and rules.
    pub settings: &'a ReviewSettings,
}
