//! What can be changed in the wiki and the review queue. As in `mutation`, what is wrong with an input comes back in
//! `userErrors`; with a decision that was not taken, the proposal comes along as it is now.

use async_graphql::{Context, ID, Object, Result};

use super::{
    convert::{NodeType, named, plain, reply, request},
    loader::{asking, service},
    mutation::taken,
    names::Outcome,
    review::{ItemOutcome, Proposal},
    review_input::{
        ApproveProposalInput, CommentOnProposalInput, ImportPagesInput, ProposalFilter, ProposalInput,
        ProposeDecisionInput, ProposeEditInput, RejectProposalInput, RequestChangesInput, ResolveProposalInput,
        RevertProposalInput, RevertRevisionInput, RevertRunInput, ReviewProposalsInput, ReviseProposalInput,
        WithdrawProposalInput,
    },
    review_payload::{
        ApproveProposalPayload, ClaimNextProposalPayload, ClaimProposalPayload, CommentOnProposalPayload,
        ImportPagesPayload, ProposeDecisionPayload, ProposeEditPayload, RejectProposalPayload, ReleaseProposalPayload,
        RequestChangesPayload, ResolveProposalPayload, RevertProposalPayload, RevertRevisionPayload, RevertRunPayload,
        ReviewProposalsPayload, ReviseProposalPayload, UndoDecisionPayload, WithdrawProposalPayload,
    },
    types::UserError,
    wiki::proposal_of,
};
use crate::{
    domain::Caller,
    error::Error,
    review::{BulkReply, DecisionReply, ImportPagesReply},
    service::Service,
};

/// Changes of the wiki and the review queue.
#[derive(Default)]
pub(super) struct ReviewMutation;

/// A payload of a proposal that was changed.
macro_rules! changed {
    ($payload:ident, $outcome:expr, $done:expr) => {
        match taken($done)? {
            Ok(record) => $payload {
                proposal: Some(reply::<Proposal>(&record)?),
                outcome: Some($outcome),
                user_errors: Vec::new(),
            },
            Err(user_errors) => $payload { user_errors, ..$payload::default() },
        }
    };
}

/// A payload of a decision.
macro_rules! decided {
    ($payload:ident, $ctx:expr, $id:expr, $done:expr) => {{
        let Decided { proposal, revision, operation_id, outcome, user_errors } = decided($ctx, $id, $done).await?;
        $payload { proposal, revision, operation_id, outcome, user_errors }
    }};
}

#[Object]
impl ReviewMutation {
    /// Proposes a new page, or an edit, rename, deletion or restore of one. Nothing changes until a person approves it.
    /// Needs the right WIKI_PROPOSE.
    async fn propose_edit(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The edit.")] input: ProposeEditInput,
    ) -> Result<ProposeEditPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.propose_edit(caller, wanted).await;
        Ok(changed!(ProposeEditPayload, Outcome::Proposed, asked(ctx, &input, ask).await))
    }

    /// Proposes that a person decides between memories. Needs the right WIKI_PROPOSE.
    async fn propose_decision(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The memories, and what is to be decided.")] input: ProposeDecisionInput,
    ) -> Result<ProposeDecisionPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.propose_decision(caller, wanted).await;
        Ok(changed!(ProposeDecisionPayload, Outcome::Proposed, asked(ctx, &input, ask).await))
    }

    /// Gives an open proposal of one's own a new text; yeses to the old one no longer count.
    async fn revise_proposal(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The proposal and its new text.")] input: ReviseProposalInput,
    ) -> Result<ReviseProposalPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.revise_proposal(caller, wanted).await;
        Ok(changed!(ReviseProposalPayload, Outcome::Revised, asked(ctx, &input, ask).await))
    }

    /// Takes an open proposal of one's own back.
    async fn withdraw_proposal(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The proposal.")] input: WithdrawProposalInput,
    ) -> Result<WithdrawProposalPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.withdraw_proposal(caller, wanted).await;
        Ok(changed!(WithdrawProposalPayload, Outcome::Withdrawn, asked(ctx, &input, ask).await))
    }

    /// Holds a proposal for the caller for a while, or holds it longer. Needs the right REVIEW_DECIDE.
    async fn claim_proposal(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The proposal.")] input: ProposalInput,
    ) -> Result<ClaimProposalPayload> {
        let id = plain(NodeType::Proposal, &input.id);
        let done = service(ctx)?.claim_proposal(&asking(ctx)?.caller, &id).await;
        Ok(changed!(ClaimProposalPayload, Outcome::Claimed, done))
    }

    /// Holds the oldest pending proposal that nobody holds and that the caller may decide. Needs the right REVIEW_DECIDE.
    async fn claim_next_proposal(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which proposals come into question. Default all.")] input: Option<ProposalFilter>,
    ) -> Result<ClaimNextProposalPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.claim_next(caller, &wanted).await;
        Ok(match taken(asked(ctx, &input.unwrap_or_default(), ask).await)? {
            Ok(None) => ClaimNextProposalPayload { outcome: Some(Outcome::Empty), ..Default::default() },
            Ok(Some(record)) => ClaimNextProposalPayload {
                proposal: Some(reply::<Proposal>(&record)?),
                outcome: Some(Outcome::Claimed),
                user_errors: Vec::new(),
            },
            Err(user_errors) => ClaimNextProposalPayload { user_errors, ..Default::default() },
        })
    }

    /// Lets a proposal go that the caller holds.
    async fn release_proposal(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The proposal.")] input: ProposalInput,
    ) -> Result<ReleaseProposalPayload> {
        let id = plain(NodeType::Proposal, &input.id);
        let done = service(ctx)?.release_proposal(&asking(ctx)?.caller, &id).await;
        Ok(changed!(ReleaseProposalPayload, Outcome::Released, done))
    }

    /// Says something of a proposal. Its author and holders of REVIEW_READ may.
    async fn comment_on_proposal(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The proposal and the comment.")] input: CommentOnProposalInput,
    ) -> Result<CommentOnProposalPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.comment_on_proposal(caller, wanted).await;
        Ok(changed!(CommentOnProposalPayload, Outcome::Commented, asked(ctx, &input, ask).await))
    }

    /// Resolves a conflict region by region; what comes of it waits for approval like any other text.
    async fn resolve_proposal(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The proposal and a resolution for each region.")] input: ResolveProposalInput,
    ) -> Result<ResolveProposalPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.resolve_proposal(caller, wanted).await;
        Ok(changed!(ResolveProposalPayload, Outcome::Resolved, asked(ctx, &input, ask).await))
    }

    /// Says yes to exactly the bytes that were read; with `body`, to another text in their place. Needs the right
    /// REVIEW_DECIDE, and never one's own proposal nor that of one's own agent.
    async fn approve_proposal(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The proposal and what was read of it.")] input: ApproveProposalInput,
    ) -> Result<ApproveProposalPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.approve_proposal(caller, wanted).await;
        Ok(decided!(ApproveProposalPayload, ctx, &input.id, asked(ctx, &input, ask).await))
    }

    /// Says no, with a reason that the author learns from. Needs the right REVIEW_DECIDE.
    async fn reject_proposal(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The proposal and the reason.")] input: RejectProposalInput,
    ) -> Result<RejectProposalPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.reject_proposal(caller, wanted).await;
        Ok(decided!(RejectProposalPayload, ctx, &input.id, asked(ctx, &input, ask).await))
    }

    /// Gives a proposal back to its author, with what to do. Needs the right REVIEW_DECIDE.
    async fn request_changes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The proposal and what is to be changed.")] input: RequestChangesInput,
    ) -> Result<RequestChangesPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.request_changes(caller, wanted).await;
        Ok(decided!(RequestChangesPayload, ctx, &input.id, asked(ctx, &input, ask).await))
    }

    /// Takes one's own latest decision back, for as long as `review.undo_secs` of the settings says.
    async fn undo_decision(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The proposal.")] input: ProposalInput,
    ) -> Result<UndoDecisionPayload> {
        let id = plain(NodeType::Proposal, &input.id);
        let done = service(ctx)?.undo_decision(&asking(ctx)?.caller, &id).await;
        Ok(decided!(UndoDecisionPayload, ctx, &input.id, done))
    }

    /// Decides on many proposals at once; each has an outcome of its own. Needs the right REVIEW_DECIDE.
    async fn review_proposals(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The decision and the proposals.")] input: ReviewProposalsInput,
    ) -> Result<ReviewProposalsPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.review_proposals(caller, wanted).await;
        Ok(match taken(asked(ctx, &input, ask).await)? {
            Ok(BulkReply { items, dry_run }) => ReviewProposalsPayload {
                items: outcomes(&items)?,
                dry_run,
                outcome: Some(Outcome::Done),
                user_errors: Vec::new(),
            },
            Err(user_errors) => ReviewProposalsPayload { user_errors, ..Default::default() },
        })
    }

    /// Takes a revision of a page back; what came after it stays. Needs the right REVIEW_DECIDE.
    async fn revert_revision(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The revision.")] input: RevertRevisionInput,
    ) -> Result<RevertRevisionPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.revert_revision(caller, wanted).await;
        Ok(match taken(asked(ctx, &input, ask).await)? {
            Ok(done) => RevertRevisionPayload {
                revision: Some(reply(&done.revision)?),
                operation_id: Some(done.operation_id),
                outcome: Some(Outcome::Reverted),
                user_errors: Vec::new(),
            },
            Err(user_errors) => RevertRevisionPayload { user_errors, ..Default::default() },
        })
    }

    /// Takes back what an approved proposal made live. Needs the right REVIEW_DECIDE.
    async fn revert_proposal(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The proposal.")] input: RevertProposalInput,
    ) -> Result<RevertProposalPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.revert_proposal(caller, wanted).await;
        Ok(decided!(RevertProposalPayload, ctx, &input.id, asked(ctx, &input, ask).await))
    }

    /// Takes a folder of pages in, each file on its own: bad ones are named, the good ones go live. Needs the right REVIEW_DECIDE.
    async fn import_pages(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The files.")] input: ImportPagesInput,
    ) -> Result<ImportPagesPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.import_pages(caller, wanted).await;
        Ok(match taken(asked(ctx, &input, ask).await)? {
            Ok(ImportPagesReply { files, dry_run }) => ImportPagesPayload {
                files: reply(&files)?,
                dry_run,
                outcome: Some(Outcome::Done),
                user_errors: Vec::new(),
            },
            Err(user_errors) => ImportPagesPayload { user_errors, ..Default::default() },
        })
    }

    /// Takes back all that an agent run made live, the latest first; each proposal has an outcome of its own. Needs the right
    /// REVIEW_DECIDE.
    async fn revert_run(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The run.")] input: RevertRunInput,
    ) -> Result<RevertRunPayload> {
        let ask = async |service: &Service, caller: &Caller, wanted| service.revert_run(caller, wanted).await;
        Ok(match taken(asked(ctx, &input, ask).await)? {
            Ok(BulkReply { items, dry_run }) => RevertRunPayload {
                items: outcomes(&items)?,
                dry_run,
                outcome: Some(Outcome::Done),
                user_errors: Vec::new(),
            },
            Err(user_errors) => RevertRunPayload { user_errors, ..Default::default() },
        })
    }
}

/// Asks the façade with the request that `input` stands for.
async fn asked<Q, T>(
    ctx: &Context<'_>,
    input: &impl serde::Serialize,
    ask: impl AsyncFnOnce(&Service, &Caller, Q) -> std::result::Result<T, Error>,
) -> std::result::Result<T, Error>
where
    Q: serde::de::DeserializeOwned,
{
    let wanted: Q = request(input)?;
    let missing = |_| Error::new(crate::error::ErrorCode::Internal, "internal fault");
    ask(service(ctx).map_err(missing)?, &asking(ctx).map_err(missing)?.caller, wanted).await
}

/// What every decision tells.
struct Decided {
    proposal: Option<Proposal>,
    revision: Option<i64>,
    operation_id: Option<String>,
    outcome: Option<Outcome>,
    user_errors: Vec<UserError>,
}

async fn decided(ctx: &Context<'_>, id: &ID, done: std::result::Result<DecisionReply, Error>) -> Result<Decided> {
    Ok(match taken(done)? {
        Ok(DecisionReply { outcome, proposal, revision, operation_id }) => Decided {
            proposal: Some(reply::<Proposal>(&proposal)?),
            revision,
            operation_id: Some(operation_id),
            outcome: Some(named(&outcome)?),
            user_errors: Vec::new(),
        },
        Err(user_errors) => {
            // What cannot be read now, for whatever reason, is told of in the error.
            let proposal = proposal_of(ctx, &plain(NodeType::Proposal, id)).await.unwrap_or_default();
            Decided { proposal, revision: None, operation_id: None, outcome: None, user_errors }
        }
    })
}

fn outcomes(items: &[crate::review::ItemOutcome]) -> std::result::Result<Vec<ItemOutcome>, Error> {
    items.iter().map(reply).collect()
}
