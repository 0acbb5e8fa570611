//! Holds on proposals: a reviewer takes one, so that two do not read the same.

use super::{
    ProposalRecord, ProposalsRequest, ReviewContext,
    access::{conflict, decidable, four_eyes},
    propose::put,
    queue::query,
    record::full,
};
use crate::{
    domain::{Caller, Claim, Proposal, ProposalState, Right},
    error::Error,
    input,
    write::undisturbed,
};

/// Proposals of a page of the queue that [`claim_next`] looks at.
const LOOKED_AT: usize = 50;

/// Takes a proposal for a while; taken again by the same reviewer, it holds on from then.
pub async fn claim_proposal(ctx: &ReviewContext<'_>, caller: &Caller, id: &str) -> Result<ProposalRecord, Error> {
    undisturbed!(ctx.write, claim_once(ctx, caller, id))
}

async fn claim_once(ctx: &ReviewContext<'_>, caller: &Caller, id: &str) -> Result<ProposalRecord, Error> {
    let proposal = decidable(ctx, caller, id, ctx.write.clock.now()).await?;
    let claimed = claimed(ctx, caller, proposal).await?;
    full(ctx, caller, &claimed).await
}

async fn claimed(ctx: &ReviewContext<'_>, caller: &Caller, proposal: Proposal) -> Result<Proposal, Error> {
    let now = ctx.write.clock.now();
    let until = now.checked_add(ctx.settings.claim()).map_err(|_| Error::bad_input("id", "the clock is at its end"))?;
    let version = proposal.version;
    let state = proposal.state;
    let claim = Claim { by: caller.principal.clone(), until };
    let claimed =
        proposal.claimed(claim, now).map_err(|_| conflict("id", format!("id: is {state}, not to be claimed")))?;
    Ok(put(ctx, caller, "claim_proposal", claimed, version, now).await?.0)
}

/// Takes the oldest pending proposal that nobody holds and the caller may decide on, if there is one.
pub async fn claim_next(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: &ProposalsRequest,
) -> Result<Option<ProposalRecord>, Error> {
    input::require(caller, Right::ReviewDecide)?;
    undisturbed!(ctx.write, next_once(ctx, caller, request))
}

async fn next_once(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: &ProposalsRequest,
) -> Result<Option<ProposalRecord>, Error> {
    let free = ProposalsRequest { claimed: Some(false), ..request.clone() };
    let Some(mut query) = query(ctx, caller, &free).await? else { return Ok(None) };
    query.states.retain(|state| matches!(state, ProposalState::Pending | ProposalState::Conflicted));
    if query.states.is_empty() {
        return Ok(None);
    }
    let mut after = None;
    loop {
        let found = ctx.reviews.queue(&query, after, LOOKED_AT, &caller.visibility()).await?;
        let Some(last) = found.last() else { return Ok(None) };
        after = Some((last.created_at, last.id));
        if let Some(next) = found.into_iter().find(|proposal| four_eyes(caller, proposal).is_ok()) {
            let claimed = claimed(ctx, caller, next).await?;
            return full(ctx, caller, &claimed).await.map(Some);
        }
    }
}

/// Lets a proposal go that the caller holds; one that nobody holds stays as it is.
pub async fn release_proposal(ctx: &ReviewContext<'_>, caller: &Caller, id: &str) -> Result<ProposalRecord, Error> {
    undisturbed!(ctx.write, release_once(ctx, caller, id))
}

async fn release_once(ctx: &ReviewContext<'_>, caller: &Caller, id: &str) -> Result<ProposalRecord, Error> {
    let now = ctx.write.clock.now();
    let proposal = decidable(ctx, caller, id, now).await?;
    if proposal.claim.is_none() {
        return full(ctx, caller, &proposal).await;
    }
    let version = proposal.version;
    let (released, _) = put(ctx, caller, "release_proposal", proposal.released(now), version, now).await?;
    full(ctx, caller, &released).await
}
