//! What mutations of the wiki and the review queue answer.

use async_graphql::SimpleObject;

use super::{
    names::Outcome,
    review::{FileOutcome, ItemOutcome, Proposal},
    types::UserError,
    wiki::Revision,
};

/// A proposal that waits now.
#[derive(Default, SimpleObject)]
pub(super) struct ProposeEditPayload {
    /// The proposal.
    pub proposal: Option<Proposal>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// A proposal that waits now.
#[derive(Default, SimpleObject)]
pub(super) struct ProposeDecisionPayload {
    /// The proposal.
    pub proposal: Option<Proposal>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// A proposal that says something else now.
#[derive(Default, SimpleObject)]
pub(super) struct ReviseProposalPayload {
    /// The proposal.
    pub proposal: Option<Proposal>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// A proposal that was taken back by its author.
#[derive(Default, SimpleObject)]
pub(super) struct WithdrawProposalPayload {
    /// The proposal.
    pub proposal: Option<Proposal>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// A proposal that the caller holds.
#[derive(Default, SimpleObject)]
pub(super) struct ClaimProposalPayload {
    /// The proposal.
    pub proposal: Option<Proposal>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// A proposal that the caller holds, if there was one to hold.
#[derive(Default, SimpleObject)]
pub(super) struct ClaimNextProposalPayload {
    /// The proposal.
    pub proposal: Option<Proposal>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// A proposal that nobody holds.
#[derive(Default, SimpleObject)]
pub(super) struct ReleaseProposalPayload {
    /// The proposal.
    pub proposal: Option<Proposal>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// A proposal with a further comment.
#[derive(Default, SimpleObject)]
pub(super) struct CommentOnProposalPayload {
    /// The proposal.
    pub proposal: Option<Proposal>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// A proposal that clashes no longer.
#[derive(Default, SimpleObject)]
pub(super) struct ResolveProposalPayload {
    /// The proposal.
    pub proposal: Option<Proposal>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// What a yes did.
#[derive(Default, SimpleObject)]
pub(super) struct ApproveProposalPayload {
    /// The proposal after it; where the yes was not taken, as it is now.
    pub proposal: Option<Proposal>,
    /// Number of the page's new head, or of the new version of the ontologies, if there is one.
    pub revision: Option<i64>,
    /// Id of the change, as in the audit log.
    pub operation_id: Option<String>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// What a no did.
#[derive(Default, SimpleObject)]
pub(super) struct RejectProposalPayload {
    /// The proposal after it; where the no was not taken, as it is now.
    pub proposal: Option<Proposal>,
    /// Number of the page's new head, or of the new version of the ontologies, if there is one.
    pub revision: Option<i64>,
    /// Id of the change, as in the audit log.
    pub operation_id: Option<String>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// A proposal that is back with its author.
#[derive(Default, SimpleObject)]
pub(super) struct RequestChangesPayload {
    /// The proposal after it; where it was not taken, as it is now.
    pub proposal: Option<Proposal>,
    /// Number of the page's new head, or of the new version of the ontologies, if there is one.
    pub revision: Option<i64>,
    /// Id of the change, as in the audit log.
    pub operation_id: Option<String>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// A decision that was taken back.
#[derive(Default, SimpleObject)]
pub(super) struct UndoDecisionPayload {
    /// The proposal after it; where it was not taken, as it is now.
    pub proposal: Option<Proposal>,
    /// Number of the page's new head, or of the new version of the ontologies, if there is one.
    pub revision: Option<i64>,
    /// Id of the change, as in the audit log.
    pub operation_id: Option<String>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// A proposal whose effect was taken back.
#[derive(Default, SimpleObject)]
pub(super) struct RevertProposalPayload {
    /// The proposal after it; where it was not taken, as it is now.
    pub proposal: Option<Proposal>,
    /// Number of the page's new head, or of the new version of the ontologies, if there is one.
    pub revision: Option<i64>,
    /// Id of the change, as in the audit log.
    pub operation_id: Option<String>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// What a decision on many did.
#[derive(Default, SimpleObject)]
pub(super) struct ReviewProposalsPayload {
    /// One for each, in the order given.
    pub items: Vec<ItemOutcome>,
    /// Whether nothing was done.
    pub dry_run: bool,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// What became of a run.
#[derive(Default, SimpleObject)]
pub(super) struct RevertRunPayload {
    /// One for each of its proposals, the latest first.
    pub items: Vec<ItemOutcome>,
    /// Whether nothing was done.
    pub dry_run: bool,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// A revision that takes another back.
#[derive(Default, SimpleObject)]
pub(super) struct RevertRevisionPayload {
    /// The new one.
    pub revision: Option<Revision>,
    /// Id of the change, as in the audit log.
    pub operation_id: Option<String>,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}

/// What became of the files of a folder.
#[derive(Default, SimpleObject)]
pub(super) struct ImportPagesPayload {
    /// One for each file, in the order given.
    pub files: Vec<FileOutcome>,
    /// Whether nothing was done.
    pub dry_run: bool,
    /// What was done.
    pub outcome: Option<Outcome>,
    /// Why it was not taken.
    pub user_errors: Vec<UserError>,
}
