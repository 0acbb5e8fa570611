//! Who may see and decide what.

use jiff::Timestamp;

use super::ReviewContext;
use crate::{
    domain::{Caller, InvalidTransition, Page, PageMeta, Proposal, ProposalId, Record, Right, Scope, Visibility},
    error::{Error, ErrorCode},
    input,
};

/// What a caller reads as pages.
pub(super) fn reader(caller: &Caller) -> Result<Visibility, Error> {
    input::require(caller, Right::MemoryRead)?;
    Ok(caller.visibility())
}

/// Whose proposals a caller sees: all within its visibility with the right to review, else its own.
pub(super) fn author_seen(caller: &Caller) -> Option<&str> {
    if caller.may(Right::ReviewRead) || caller.may(Right::ReviewDecide) { None } else { Some(&caller.principal) }
}

/// Whether a caller may see a proposal that is within its visibility.
pub(super) fn sees(caller: &Caller, proposal: &Proposal) -> bool {
    author_seen(caller).is_none_or(|author| author == proposal.author)
}

/// A proposal that the caller sees; another one's id answers as an unknown one.
pub(super) async fn proposal(ctx: &ReviewContext<'_>, caller: &Caller, id: &str) -> Result<Proposal, Error> {
    find(ctx, caller, proposal_id(id)?).await?.ok_or_else(|| Error::not_found("id"))
}

/// A proposal that the caller sees, if there is one.
pub(super) async fn find(ctx: &ReviewContext<'_>, caller: &Caller, id: ProposalId) -> Result<Option<Proposal>, Error> {
    let found = ctx.reviews.records(&[id.0], &caller.visibility()).await?.into_iter().next();
    Ok(found.and_then(Record::proposal).filter(|proposal| sees(caller, proposal)))
}

/// An id of a proposal.
pub(super) fn proposal_id(text: &str) -> Result<ProposalId, Error> {
    text.trim().parse().map_err(|error| Error::bad_input("id", error))
}

/// A proposal that the caller wrote.
pub(super) async fn own(ctx: &ReviewContext<'_>, caller: &Caller, id: &str) -> Result<Proposal, Error> {
    input::require(caller, Right::WikiPropose)?;
    let proposal = proposal(ctx, caller, id).await?;
    if proposal.author != caller.principal {
        return Err(Error::new(ErrorCode::Forbidden, "id: only its author may do that"));
    }
    Ok(proposal)
}

/// A proposal that the caller may decide on at `now`: with the right, with four eyes, and held by nobody else.
pub(super) async fn decidable(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    id: &str,
    now: Timestamp,
) -> Result<Proposal, Error> {
    input::require(caller, Right::ReviewDecide)?;
    let proposal = proposal(ctx, caller, id).await?;
    four_eyes(caller, &proposal)?;
    if let Some(held) = proposal.held(now).filter(|held| held.by != caller.principal) {
        let message = format!("id: is held by {} until {}", held.by, held.until);
        return Err(conflict("id", message).advise("take another one, or wait"));
    }
    Ok(proposal)
}

/// Refuses whoever proposed it, or answers for the agent that did.
pub(super) fn four_eyes(caller: &Caller, proposal: &Proposal) -> Result<(), Error> {
    let whose = if proposal.author == caller.principal {
        "it is the caller's own"
    } else if proposal.owner.as_ref() == Some(&caller.principal) {
        "it is by an agent of the caller's"
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorCode::Forbidden, format!("id: {whose}")).advise("somebody else must decide"))
}

/// A conflict with what was asked.
pub(super) fn conflict(field: &str, message: impl Into<String>) -> Error {
    Error { field: Some(field.to_owned()), ..Error::new(ErrorCode::Conflict, message) }
}

/// A move that the state of a proposal has no way for.
pub(super) fn no_way(error: InvalidTransition) -> Error {
    conflict("id", format!("id: {error}"))
}

/// The page that a name leads to for a reader: of several, the one of the narrowest scope.
pub(super) async fn page_named(
    ctx: &ReviewContext<'_>,
    slug: &str,
    visibility: &Visibility,
) -> Result<Option<Page>, Error> {
    let found = ctx.reviews.pages_named(&[PageMeta::name_of(slug.trim())], visibility).await?;
    Ok(found.into_iter().min_by_key(|page| (breadth(&page.scope), page.id)))
}

/// The page of exactly this scope with this name.
pub(super) async fn page_in_scope(ctx: &ReviewContext<'_>, slug: &str, scope: &Scope) -> Result<Option<Page>, Error> {
    let found = ctx.reviews.pages_named(&[PageMeta::name_of(slug)], &Visibility::only(scope)).await?;
    Ok(found.into_iter().next())
}

fn breadth(scope: &Scope) -> u8 {
    match scope {
        Scope::Private(_) => 0,
        Scope::Shared(_) => 1,
        Scope::Global => 2,
    }
}
