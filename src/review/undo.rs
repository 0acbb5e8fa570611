//! Takes back a decision of one's own, for a short while: a wrong key was pressed.

use super::{
    DecisionReply, RevertProposalRequest, ReviewContext,
    access::{conflict, no_way, proposal as seen},
    decide::reply,
    land::write,
    memory,
    revert::revert_proposal,
};
use crate::{
    domain::{Caller, Mover, Op, Proposal, ProposalState, Right, Status},
    error::{Error, ErrorCode},
    input,
    write::undisturbed,
};

/// Opens again what the caller just rejected or gave back; takes back what the caller just approved.
pub async fn undo_decision(ctx: &ReviewContext<'_>, caller: &Caller, id: &str) -> Result<DecisionReply, Error> {
    input::require(caller, Right::ReviewDecide)?;
    let proposal = seen(ctx, caller, id).await?;
    own_and_fresh(ctx, caller, &proposal)?;
    match proposal.state {
        ProposalState::Approved => {
            let request = RevertProposalRequest { id: id.to_owned(), reason: Some("taken back at once".to_owned()) };
            revert_proposal(ctx, caller, request).await
        }
        _ => undisturbed!(ctx.write, reopen_once(ctx, caller, id)),
    }
}

/// Refuses what somebody else decided, and what was decided too long ago.
fn own_and_fresh(ctx: &ReviewContext<'_>, caller: &Caller, proposal: &Proposal) -> Result<(), Error> {
    let last = proposal.moves.last().expect("a proposal begins with a move");
    if !matches!(last.to, ProposalState::Approved | ProposalState::Rejected | ProposalState::ChangesRequested) {
        return Err(conflict("id", format!("id: is {}, there is no decision to take back", proposal.state)));
    }
    if last.by != caller.principal {
        return Err(Error::new(ErrorCode::Forbidden, format!("id: was decided by {}", last.by)));
    }
    if ctx.write.clock.now().duration_since(last.at) > ctx.settings.undo() {
        let message = format!("id: was decided more than {} seconds ago", ctx.settings.undo_secs);
        return Err(conflict("id", message).advise("revert what went live, or ask the author to propose again"));
    }
    Ok(())
}

async fn reopen_once(ctx: &ReviewContext<'_>, caller: &Caller, id: &str) -> Result<DecisionReply, Error> {
    let at = ctx.write.clock.now();
    let proposal = seen(ctx, caller, id).await?;
    own_and_fresh(ctx, caller, &proposal)?;
    let version = proposal.version;
    let mut ops = Vec::new();
    if proposal.state == ProposalState::Rejected {
        ops.extend(memory::waits_again(ctx, &proposal, at).await?);
        // What the author learnt is not so.
        let lesson = proposal.decision.as_ref().and_then(|decision| decision.memory);
        ops.extend(lesson.map(|id| Op::Retire { id, status: Status::Archived, valid_to: None }));
    }
    let mover = Mover { by: &caller.principal, at, why: Some("taken back at once") };
    let reopened = proposal.reopened(mover).map_err(no_way)?;
    ops.push(reopened.clone().put(version));
    let operation = write(ctx, caller, "undo_decision", None, at, ops).await?;
    reply(ctx, "reopened", &reopened, None, operation).await
}
