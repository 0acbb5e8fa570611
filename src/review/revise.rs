//! What becomes of an open proposal before the decision: it is revised, resolved, spoken of, taken back.

use super::{
    CommentOnProposalRequest, ProposalRecord, ResolveProposalRequest, ReviewContext, ReviseProposalRequest,
    WithdrawProposalRequest,
    access::{conflict, decidable, no_way, own, proposal as seen},
    candidate::{Candidate, Joined, State, candidate, found, revision_state},
    land, memory,
    propose::{LIST_MAX, NAME_BYTES, NOTE_BYTES, based, body, line, put, stale},
    record::{clashes, full},
    risk,
};
use crate::{
    domain::{Base, Caller, Comment, Mover, Op, PageChange, Proposal, Record, Subject, Visibility},
    error::{Error, ErrorCode},
    input,
    wiki::{Resolution, resolve},
    write::undisturbed,
};

/// Gives an open proposal another text; whoever had said yes to the old one has to look again.
pub async fn revise_proposal(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: ReviseProposalRequest,
) -> Result<ProposalRecord, Error> {
    undisturbed!(ctx.write, revise_once(ctx, caller, &request))
}

async fn revise_once(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: &ReviseProposalRequest,
) -> Result<ProposalRecord, Error> {
    let mut proposal = own(ctx, caller, &request.id).await?;
    let Subject::WikiEdit { page, base, meta, .. } = &mut proposal.subject else {
        return Err(Error::bad_input("id", "is no edit of a page").advise("take it back and propose another one"));
    };
    let text = body(ctx, Some(request.body.clone()))?;
    if let Some(title) = input::optional_text("title", request.title.clone(), NAME_BYTES)? {
        meta.title = title;
    }
    if let Some(number) = request.base_revision.filter(|number| *number != 0) {
        let everything = Visibility::system("a proposal that was seen leads to its page");
        let there = found(ctx, *page, &everything).await?;
        let there = there.ok_or_else(|| Error::bad_input("base_revision", "the page is not there yet"))?;
        *base = Some(based(ctx, &there, Some(number)).await?.1);
    }
    if let Some(rationale) = input::optional_text("rationale", request.rationale.clone(), NOTE_BYTES)? {
        proposal.rationale = Some(rationale);
    }
    if let Some(evidence) = &request.evidence {
        proposal.evidence = input::memory_ids("evidence", evidence, LIST_MAX)?;
    }
    let said = input::optional_text("comment", request.comment.clone(), NOTE_BYTES)?;
    let revised = with_text(ctx, caller, proposal, text, said, "revise_proposal").await?;
    full(ctx, caller, &revised).await
}

/// Writes a proposal with another text, its risks found again.
async fn with_text(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    proposal: Proposal,
    text: String,
    said: Option<String>,
    use_case: &str,
) -> Result<Proposal, Error> {
    let at = ctx.write.clock.now();
    let version = proposal.version;
    let Subject::WikiEdit { page, page_scope, base, change, meta } = &proposal.subject else {
        return Err(Error::bad_input("id", "is no edit of a page"));
    };
    let proposed = State { meta: meta.clone(), text };
    let everything = Visibility::system("a proposal that was seen leads to its base");
    let base_state = match base {
        None => None,
        Some(base) => Some(revision_state(ctx, base.revision, &everything).await?),
    };
    if base_state.as_ref() == Some(&proposed) {
        return Err(Error::bad_input("body", "is what the page says already"));
    }
    let looked_at = risk::Edit {
        page: *page,
        scope: page_scope,
        change: *change,
        base: base_state.as_ref(),
        proposed: &proposed,
        evidence: &proposal.evidence,
        author: proposal.author_kind,
    };
    let flags = risk::flags(ctx, &looked_at).await?;
    let mover = Mover { by: &caller.principal, at, why: said.as_deref() };
    let revised = Proposal { content_hash: proposed.hash(), flags, ..proposal };
    let revised = revised.revised(mover).map_err(no_way)?;
    let revised = match said {
        Some(text) => Proposal {
            version: version + 1,
            ..revised.commented(Comment { by: caller.principal.clone(), at, text, line: None })
        },
        None => revised,
    };
    let record = Box::new(Record::Proposal(revised.clone()));
    let op = Op::PutRecord { record, text: Some(proposed.text), expected_version: version };
    land::write(ctx, caller, use_case, None, at, vec![op]).await?;
    Ok(revised)
}

/// Ends a conflict region by region. What comes of it is a new text of the proposal, on the head, and waits for approval.
pub async fn resolve_proposal(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: ResolveProposalRequest,
) -> Result<ProposalRecord, Error> {
    undisturbed!(ctx.write, resolve_once(ctx, caller, &request))
}

async fn resolve_once(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: &ResolveProposalRequest,
) -> Result<ProposalRecord, Error> {
    let now = ctx.write.clock.now();
    let mut proposal = match own(ctx, caller, &request.id).await {
        Ok(own) => own,
        Err(error) if error.code == ErrorCode::Forbidden => decidable(ctx, caller, &request.id, now).await?,
        Err(error) => return Err(error),
    };
    let Candidate { head, joined, .. } = candidate(ctx, &proposal).await?;
    let Some((page, _)) = head else { return Err(conflict("id", "id: the page is not there, so nothing clashes")) };
    if u64::try_from(request.expected_head).ok() != Some(page.number) {
        return Err(stale("expected_head", page.number));
    }
    let Joined::Clash(meta, pieces) = joined else {
        return Err(conflict("id", "id: nothing clashes").advise("read it again; it may be approved as it is"));
    };
    let regions = clashes(&pieces).count();
    let parsed: Option<Vec<Resolution>> = request.resolutions.iter().map(|given| Resolution::parse(given)).collect();
    let parsed =
        parsed.ok_or_else(|| Error::bad_input("resolutions", "each must be head, proposed, both, base or text:…"))?;
    let text = resolve(&pieces, &parsed).ok_or_else(|| {
        Error::bad_input("resolutions", format!("there are {regions} regions, one is needed for each"))
    })?;
    let text = body(ctx, Some(text))?;
    if let Subject::WikiEdit { page: of, base, change, meta: proposed, .. } = &mut proposal.subject {
        *of = page.id;
        *base = Some(Base { revision: page.head, number: page.number });
        *proposed = meta;
        if *change == PageChange::Create {
            *change = PageChange::Edit;
        }
    }
    let said = Some(format!("resolved {regions} regions on revision {}", page.number));
    let resolved = with_text(ctx, caller, proposal, text, said, "resolve_proposal").await?;
    full(ctx, caller, &resolved).await
}

/// Takes an open proposal back.
pub async fn withdraw_proposal(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: WithdrawProposalRequest,
) -> Result<ProposalRecord, Error> {
    undisturbed!(ctx.write, withdraw_once(ctx, caller, &request))
}

async fn withdraw_once(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: &WithdrawProposalRequest,
) -> Result<ProposalRecord, Error> {
    let at = ctx.write.clock.now();
    let why = input::optional_text("reason", request.reason.clone(), NOTE_BYTES)?;
    let proposal = own(ctx, caller, &request.id).await?;
    let version = proposal.version;
    let mut ops = memory::put_aside(ctx, &proposal, at).await?;
    let mover = Mover { by: &caller.principal, at, why: why.as_deref() };
    let withdrawn = proposal.withdrawn(mover).map_err(no_way)?;
    ops.push(withdrawn.clone().put(version));
    land::write(ctx, caller, "withdraw_proposal", why, at, ops).await?;
    full(ctx, caller, &withdrawn).await
}

/// Says something of a proposal.
pub async fn comment_on_proposal(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: CommentOnProposalRequest,
) -> Result<ProposalRecord, Error> {
    let text = input::text("text", request.text, NOTE_BYTES)?;
    let line = request.line.map(line).transpose()?;
    undisturbed!(ctx.write, comment_once(ctx, caller, &request.id, &text, line))
}

async fn comment_once(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    id: &str,
    text: &str,
    line: Option<u64>,
) -> Result<ProposalRecord, Error> {
    let proposal = seen(ctx, caller, id).await?;
    let at = ctx.write.clock.now();
    let version = proposal.version;
    let comment = Comment { by: caller.principal.clone(), at, text: text.to_owned(), line };
    let (commented, _) = put(ctx, caller, "comment_on_proposal", proposal.commented(comment), version, at).await?;
    full(ctx, caller, &commented).await
}
