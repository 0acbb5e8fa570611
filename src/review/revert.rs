//! Takes back what went live: a revision, a proposal, everything of an agent run. What came later stays.

use jiff::Timestamp;

use super::{
    BulkReply, DecisionReply, ItemOutcome, RevertProposalRequest, RevertReply, RevertRevisionRequest, RevertRunRequest,
    ReviewContext,
    access::{conflict, no_way, page_named, proposal as seen},
    candidate::{State, found, join_meta, revision_state, text_of},
    decide::{outcome_of, reply},
    land::{Landing, Origin, Target, commit, land, prepare},
    memory,
    propose::{NOTE_BYTES, stale},
    record::{clashes, revision as record_of},
    terms,
};
use crate::{
    domain::{
        Caller, Mover, Op, Page, PageChange, Proposal, ProposalState, Record, Revision, Right, Subject, Visibility,
    },
    error::{Error, ErrorCode},
    input,
    ports::QueueQuery,
    wiki::{Merge, merge},
    write::{settle, undisturbed},
};

/// Most proposals of a run that are taken back in one go.
const RUN_MAX: usize = 1000;

/// Takes a revision back: a new revision without what it changed.
pub async fn revert_revision(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: RevertRevisionRequest,
) -> Result<RevertReply, Error> {
    input::require(caller, Right::ReviewDecide)?;
    let reason = input::optional_text("reason", request.reason.clone(), NOTE_BYTES)?;
    undisturbed!(ctx.write, revision_once(ctx, caller, &request, reason.clone()))
}

async fn revision_once(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: &RevertRevisionRequest,
    reason: Option<String>,
) -> Result<RevertReply, Error> {
    let at = ctx.write.clock.now();
    let page = page_named(ctx, &request.slug, &caller.visibility()).await?.ok_or_else(|| Error::not_found("slug"))?;
    if request.expected_head.is_some_and(|head| u64::try_from(head).ok() != Some(page.number)) {
        return Err(stale("expected_head", page.number));
    }
    let everything = Visibility::system("a page that was seen leads to its revisions");
    let number = u64::try_from(request.revision).ok().filter(|number| (1..=page.number).contains(number));
    let number = number.ok_or_else(|| Error::not_found("revision"))?;
    let revision = ctx.reviews.history(page.id, Some(number + 1), None, 1, &everything).await?.into_iter().next();
    let revision = revision.ok_or_else(|| Error::not_found("revision"))?;
    let landing = without(ctx, caller, &page, &revision, reason.clone(), at).await?;
    let mut more = Vec::new();
    if let Some(id) = revision.proposal
        && let Some(proposal) =
            ctx.reviews.records(&[id.0], &everything).await?.into_iter().next().and_then(Record::proposal)
        && proposal.state == ProposalState::Approved
    {
        more.push(taken_back(caller, proposal, reason.as_deref(), at)?.1);
    }
    let record = record_of(&landing.revision);
    let operation_id = land(ctx, caller, "revert_revision", reason, landing, more).await?;
    Ok(RevertReply { revision: record, operation_id })
}

/// The revision that a page gets when `revision` is taken back.
async fn without(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    page: &Page,
    revision: &Revision,
    reason: Option<String>,
    at: Timestamp,
) -> Result<Landing, Error> {
    let everything = Visibility::system("a page that was seen leads to its revisions");
    let head = State { meta: page.meta.clone(), text: text_of(ctx, page.head.0, &everything).await? };
    let undone = revision_state(ctx, revision.id, &everything).await?;
    let state = match revision.parent {
        None => {
            if page.number != revision.number {
                let message = "revision: the page was edited after it was made";
                return Err(conflict("revision", message).advise("take later edits back first, or delete the page"));
            }
            let mut meta = head.meta.clone();
            meta.deleted = true;
            State { meta, text: head.text.clone() }
        }
        Some(parent) => {
            let before = revision_state(ctx, parent, &everything).await?;
            let text = match merge(&undone.text, &head.text, &before.text) {
                Merge::Clean(text) => text,
                Merge::Clash(pieces) => {
                    let lines: Vec<String> = clashes(&pieces).map(|clash| clash.line.to_string()).collect();
                    let message = format!("revision: later edits changed lines {} of the page too", lines.join(", "));
                    return Err(conflict("revision", message).advise("take those back first, or propose an edit"));
                }
            };
            State { meta: join_meta(&undone.meta, &head.meta, &before.meta), text }
        }
    };
    if state == head {
        return Err(conflict("revision", "revision: nothing of it is left in the page"));
    }
    let origin = Origin { reverts: Some(revision.id), ..Origin::of(caller, PageChange::Revert, reason) };
    let target = Target { id: page.id, scope: &page.scope, head: Some(page), state };
    prepare(ctx, target, origin, at).await
}

/// A proposal whose effect is gone, and the operation that says so.
pub(super) fn taken_back(
    caller: &Caller,
    proposal: Proposal,
    why: Option<&str>,
    at: Timestamp,
) -> Result<(Proposal, Op), Error> {
    let version = proposal.version;
    let mover = Mover { by: &caller.principal, at, why };
    let reverted = proposal.reverted(mover).map_err(no_way)?;
    Ok((reverted.clone(), reverted.put(version)))
}

/// Takes back what a proposal made live.
pub async fn revert_proposal(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: RevertProposalRequest,
) -> Result<DecisionReply, Error> {
    input::require(caller, Right::ReviewDecide)?;
    let reason = input::optional_text("reason", request.reason.clone(), NOTE_BYTES)?;
    undisturbed!(ctx.write, proposal_once(ctx, caller, &request.id, reason.clone()))
}

async fn proposal_once(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    id: &str,
    reason: Option<String>,
) -> Result<DecisionReply, Error> {
    let at = ctx.write.clock.now();
    let proposal = seen(ctx, caller, id).await?;
    if proposal.state != ProposalState::Approved {
        return Err(conflict("id", format!("id: is {}, nothing of it is live", proposal.state)));
    }
    if let Subject::WikiEdit { .. } = &proposal.subject {
        let (page, revision) = landed(ctx, &proposal).await?;
        let landing = without(ctx, caller, &page, &revision, reason.clone(), at).await?;
        let number = landing.revision.number;
        let (reverted, op) = taken_back(caller, proposal, reason.as_deref(), at)?;
        let operation = land(ctx, caller, "revert_proposal", reason, landing, vec![op]).await?;
        return reply(ctx, "reverted", &reverted, Some(number), operation).await;
    }
    if let Subject::OntologyChange(_) = &proposal.subject {
        return Box::pin(terms::revert(ctx, caller, proposal, reason, at)).await;
    }
    let turn = ctx.write.turn().await;
    let mut ops = memory::taken_back(ctx, &proposal, at).await?;
    let (reverted, op) = taken_back(caller, proposal, reason.as_deref(), at)?;
    ops.push(op);
    let operation = commit(ctx, caller, turn, "revert_proposal", reason, at, ops).await?;
    settle(ctx.write).await;
    reply(ctx, "reverted", &reverted, None, operation).await
}

/// The page and the revision that an approved edit became.
async fn landed(ctx: &ReviewContext<'_>, proposal: &Proposal) -> Result<(Page, Revision), Error> {
    let everything = Visibility::system("a proposal that was seen leads to its revision");
    let lost = || Error::new(ErrorCode::Internal, "an approved proposal has lost its revision");
    let id = proposal.decision.as_ref().and_then(|decision| decision.revision).ok_or_else(lost)?;
    let revision = ctx.reviews.records(&[id.0], &everything).await?.into_iter().next().and_then(Record::revision);
    let revision = revision.ok_or_else(lost)?;
    let page = found(ctx, revision.page, &everything).await?.ok_or_else(lost)?;
    Ok((page, revision))
}

/// Takes back everything that an agent run made live, the latest first, each on its own.
pub async fn revert_run(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: RevertRunRequest,
) -> Result<BulkReply, Error> {
    input::require(caller, Right::ReviewDecide)?;
    let run = input::text("run_id", request.run_id, NOTE_BYTES)?;
    let reason = input::optional_text("reason", request.reason, NOTE_BYTES)?;
    let query = QueueQuery { states: vec![ProposalState::Approved], run: Some(run), ..QueueQuery::default() };
    let mut live = ctx.reviews.queue(&query, None, RUN_MAX + 1, &caller.visibility()).await?;
    if live.is_empty() {
        return Err(Error::not_found("run_id"));
    }
    if live.len() > RUN_MAX {
        return Err(Error::bad_input("run_id", format!("has more than {RUN_MAX} proposals that are live")));
    }
    live.sort_by_key(|proposal| {
        let decided = proposal.decision.as_ref().map(|it| (it.at, it.revision, it.version));
        std::cmp::Reverse((decided, proposal.version))
    });
    let mut items: Vec<ItemOutcome> = Vec::with_capacity(live.len());
    for proposal in live {
        let id = proposal.id.to_string();
        let done = if request.dry_run {
            would_revert(ctx, caller, &proposal).await
        } else {
            undisturbed!(ctx.write, proposal_once(ctx, caller, &id, reason.clone())).map(|reply| reply.outcome)
        };
        items.push(outcome_of(id, done)?);
    }
    Ok(BulkReply { items, dry_run: request.dry_run })
}

/// What taking back a proposal would do if nothing else of its run were taken back before.
async fn would_revert(ctx: &ReviewContext<'_>, caller: &Caller, proposal: &Proposal) -> Result<String, Error> {
    match &proposal.subject {
        Subject::WikiEdit { .. } => {
            let (page, revision) = landed(ctx, proposal).await?;
            without(ctx, caller, &page, &revision, None, ctx.write.clock.now()).await?;
        }
        Subject::OntologyChange(_) => terms::refuse_built_on(ctx, proposal).await?,
        _ => drop(memory::taken_back(ctx, proposal, ctx.write.clock.now()).await?),
    }
    Ok("reverted".to_owned())
}
