//! What reviewers do: approve, reject, ask for changes; one at a time or many.

use jiff::Timestamp;

use super::{
    ApproveProposalRequest, BulkReply, DecisionReply, ItemOutcome, RejectProposalRequest, RequestChangesRequest,
    ReviewContext, ReviewItem, ReviewProposalsRequest,
    access::{conflict, decidable, no_way},
    candidate::{Candidate, Joined, State, candidate},
    land::{self, Origin, Target, commit, land, prepare},
    memory,
    propose::{self, NOTE_BYTES, put, stale},
    record::{clashes, listed},
    terms,
};
use crate::{
    domain::{
        Approval, Base, Caller, Comment, Decision, MemoryId, Mover, Proposal, ProposalState, RejectReason, Right,
        Subject, Visibility,
    },
    error::{Error, ErrorCode},
    input::{self, outgoing},
    ports::QueueQuery,
    telemetry,
    write::{self, undisturbed},
};

/// Most proposals of a bulk decision.
const BULK_MAX: usize = 100;
/// Outcomes of which the time is measured.
const DECIDED: [&str; 2] = ["approved", "rejected"];
/// Proposals that expire in one go.
const EXPIRED_AT_ONCE: usize = 500;

/// Says yes to exactly the bytes that were read. They go live, unless more must agree.
pub async fn approve_proposal(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: ApproveProposalRequest,
) -> Result<DecisionReply, Error> {
    undisturbed!(ctx.write, approve_once(ctx, caller, &request))
}

async fn approve_once(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: &ApproveProposalRequest,
) -> Result<DecisionReply, Error> {
    let at = ctx.write.clock.now();
    let proposal = decidable(ctx, caller, &request.id, at).await?;
    waits(&proposal)?;
    if let Subject::WikiEdit { base, .. } = &proposal.subject {
        let base = *base;
        return approve_edit(ctx, caller, proposal, base, request, at).await;
    }
    if let Subject::OntologyChange(import) = &proposal.subject {
        let import = import.clone();
        return Box::pin(terms::approve(ctx, caller, proposal, &import, request, at)).await;
    }
    let (approved, operation) = memory::approve(ctx, caller, proposal, request, at).await?;
    reply(ctx, "approved", &approved, None, operation).await
}

fn waits(proposal: &Proposal) -> Result<(), Error> {
    match proposal.state {
        ProposalState::Pending | ProposalState::Conflicted => Ok(()),
        state => Err(conflict("id", format!("id: is {state}"))),
    }
}

async fn approve_edit(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    proposal: Proposal,
    base: Option<Base>,
    request: &ApproveProposalRequest,
    at: Timestamp,
) -> Result<DecisionReply, Error> {
    let comment = input::optional_text("comment", request.comment.clone(), NOTE_BYTES)?;
    let edited = match &request.body {
        Some(given) => Some(propose::body(ctx, Some(given.clone()))?),
        None => None,
    };
    let candidate = candidate(ctx, &proposal).await?;
    let head = candidate.head_number();
    if request.expected_head.is_some_and(|expected| u64::try_from(expected).ok() != Some(head)) {
        return Err(stale("expected_head", head));
    }
    let read = candidate.hash();
    if request.content_hash != read {
        return Err(if request.content_hash == proposal.content_hash && candidate.stale(base) {
            stale("content_hash", head)
        } else {
            conflict("content_hash", "content_hash: it says something else than what was read")
                .advise("read it again and decide on what it says now")
        });
    }
    let state = match &candidate.joined {
        Joined::Deleted => {
            return Err(
                conflict("id", "id: the page was deleted meanwhile").advise("restore the page first, or reject")
            );
        }
        Joined::Clean(state) => State { text: edited.clone().unwrap_or_else(|| state.text.clone()), ..state.clone() },
        Joined::Clash(meta, pieces) => match edited.clone() {
            None => {
                let lines: Vec<String> = clashes(pieces).map(|clash| clash.line.to_string()).collect();
                return Err(clash(ctx, caller, proposal, &lines, at).await?);
            }
            Some(_) if request.expected_head.is_none() => {
                return Err(Error::bad_input("expected_head", "is needed, since the edit and the page clash"));
            }
            Some(text) => State { meta: meta.clone(), text },
        },
    };
    if let Some((page, text)) = &candidate.head
        && page.meta == state.meta
        && *text == state.text
    {
        return nothing_left(ctx, caller, proposal, "the page says it already", at).await;
    }
    let head_slug = candidate.head.as_ref().map_or(&state.meta.slug, |(page, _)| &page.meta.slug);
    let needed = ctx.settings.needed(&[&state.meta.slug, head_slug]);
    let approval = Approval {
        by: caller.principal.clone(),
        groups: needed.groups.iter().filter(|group| caller.groups.contains(*group)).cloned().collect(),
        at,
        content_hash: read,
    };
    let version = proposal.version;
    let noted = proposal.with_approval(approval).map_err(no_way)?;
    let is_member = noted.approvals.iter().any(|approval| !approval.groups.is_empty());
    if noted.approvals.len() < needed.approvals || !needed.groups.is_empty() && !is_member {
        if edited.is_some() {
            return Err(Error::bad_input(
                "body",
                "more than one must approve this page, and all of them the same text",
            )
            .advise("ask for changes"));
        }
        let (noted, operation) = put(ctx, caller, "approve_proposal", noted, version, at).await?;
        return reply(ctx, "approval_noted", &noted, None, operation).await;
    }
    let as_proposed = edited.is_none();
    let origin = origin(caller, &noted, &candidate, as_proposed);
    let Candidate { head, scope, .. } = candidate;
    let page = head.as_ref().map(|(page, _)| page);
    let Subject::WikiEdit { page: id, .. } = &noted.subject else {
        return Err(Error::bad_input("id", "is no edit of a page"));
    };
    let target = Target {
        id: page.map_or(*id, |page| page.id),
        scope: page.map_or(&scope, |page| &page.scope),
        head: page,
        state,
    };
    let landing = prepare(ctx, target, origin, at).await?;
    let decision = Decision {
        edited: !as_proposed,
        revision: Some(landing.revision.id),
        ..Decision::of(&caller.principal, at, comment.clone())
    };
    let revision = landing.revision.number;
    let mover = Mover { by: &caller.principal, at, why: comment.as_deref() };
    let approved = noted.approved(decision, mover).map_err(no_way)?;
    let approved = Proposal { version: version + 1, ..approved };
    let more = vec![approved.clone().put(version)];
    let operation = land(ctx, caller, "approve_proposal", comment, landing, more).await?;
    reply(ctx, "approved", &approved, Some(revision), operation).await
}

fn origin(caller: &Caller, proposal: &Proposal, candidate: &Candidate, as_proposed: bool) -> Origin {
    Origin {
        change: candidate.change,
        author: proposal.author.clone(),
        author_kind: proposal.author_kind,
        approvers: proposal.approvals.iter().map(|approval| approval.by.clone()).collect(),
        editor: (!as_proposed).then(|| caller.principal.clone()),
        proposal: Some(proposal.id),
        run: proposal.run.clone(),
        rationale: proposal.rationale.clone(),
        evidence: proposal.evidence.clone(),
        reverts: None,
    }
}

/// Notes that a proposal clashes with its page; gives the error that names the places.
async fn clash(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    proposal: Proposal,
    lines: &[String],
    at: Timestamp,
) -> Result<Error, Error> {
    let places = lines.join(", ");
    if proposal.state == ProposalState::Pending {
        let (version, why) = (proposal.version, format!("clashes with the page in lines {places}"));
        let mover = Mover { by: &caller.principal, at, why: Some(&why) };
        let noted = proposal.conflicted(mover).map_err(no_way)?;
        put(ctx, caller, "approve_proposal", noted, version, at).await?;
    }
    Ok(conflict("conflicts", format!("conflicts: the page has changed in lines {places}, as the proposal does"))
        .advise("resolve each region, or approve with a body that settles them"))
}

/// What it proposes is there by now.
pub(super) async fn nothing_left(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    proposal: Proposal,
    why: &str,
    at: Timestamp,
) -> Result<DecisionReply, Error> {
    let version = proposal.version;
    let mover = Mover { by: &caller.principal, at, why: Some(why) };
    let superseded = proposal.superseded(mover).map_err(no_way)?;
    let (superseded, operation) = put(ctx, caller, "approve_proposal", superseded, version, at).await?;
    reply(ctx, "superseded", &superseded, None, operation).await
}

/// Approves at once what one of `review.auto_approve` proposes, if nothing speaks against it.
pub(super) async fn auto_approved(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    proposal: Proposal,
) -> Result<Proposal, Error> {
    let trusted = ctx.settings.auto_approve.contains(&caller.principal) && caller.may(Right::ReviewDecide);
    if !trusted || !proposal.flags.is_empty() {
        return Ok(proposal);
    }
    let request = ApproveProposalRequest {
        id: proposal.id.to_string(),
        content_hash: proposal.content_hash.clone(),
        ..ApproveProposalRequest::default()
    };
    let Subject::WikiEdit { base, .. } = &proposal.subject else { return Ok(proposal) };
    let (base, at) = (*base, ctx.write.clock.now());
    match approve_edit(ctx, caller, proposal.clone(), base, &request, at).await {
        Ok(_) => super::access::proposal(ctx, caller, &request.id).await,
        // The page has moved: somebody must look.
        Err(error) if matches!(error.code, ErrorCode::StaleBase | ErrorCode::Conflict) => Ok(proposal),
        Err(error) => Err(error),
    }
}

/// Turns a proposal down, with a reason. An agent keeps it as a lesson.
pub async fn reject_proposal(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: RejectProposalRequest,
) -> Result<DecisionReply, Error> {
    input::require(caller, Right::ReviewDecide)?;
    let reason: RejectReason = input::name("reason", &request.reason)?;
    let note = input::optional_text("note", request.note.clone(), NOTE_BYTES)?;
    if reason == RejectReason::Other && note.is_none() {
        return Err(Error::bad_input("note", "is needed with the reason other"));
    }
    undisturbed!(ctx.write, reject_once(ctx, caller, &request, reason, note.clone()))
}

async fn reject_once(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: &RejectProposalRequest,
    reason: RejectReason,
    note: Option<String>,
) -> Result<DecisionReply, Error> {
    let at = ctx.write.clock.now();
    let proposal = decidable(ctx, caller, &request.id, at).await?;
    if !proposal.state.is_open() {
        return Err(conflict("id", format!("id: is {}", proposal.state)));
    }
    if let Some(read) = &request.content_hash
        && *read != proposal.content_hash
        && !says(ctx, &proposal, read).await?
    {
        return Err(conflict("content_hash", "content_hash: it says something else than what was read"));
    }
    let ready = memory::lesson(ctx, &proposal, reason, note.as_deref(), at).await?;
    let lesson: Option<MemoryId> = ready.first().map(|ready| ready.memory.id);
    let mut ops = memory::put_aside(ctx, &proposal, at).await?;
    let decision = Decision {
        reason: Some(reason),
        memory: lesson,
        contradicted: memory::contradicted(ctx, &proposal.subject).await?,
        ..Decision::of(&caller.principal, at, note.clone())
    };
    let why = note.clone().unwrap_or_else(|| reason.to_string());
    let version = proposal.version;
    let mover = Mover { by: &caller.principal, at, why: Some(&why) };
    let rejected = proposal.rejected(decision, mover).map_err(no_way)?;
    ops.push(rejected.clone().put(version));
    let turn = ctx.write.turn().await;
    ops.extend(write::new_ops(ctx.write, ready, at).await?);
    let operation = commit(ctx, caller, turn, "reject_proposal", Some(why), at, ops).await?;
    write::settle(ctx.write).await;
    reply(ctx, "rejected", &rejected, None, operation).await
}

/// Whether a proposal, joined with what its page says now, has this hash.
async fn says(ctx: &ReviewContext<'_>, proposal: &Proposal, hash: &str) -> Result<bool, Error> {
    Ok(match &proposal.subject {
        Subject::WikiEdit { .. } => candidate(ctx, proposal).await?.hash() == hash,
        Subject::OntologyChange(import) => terms::compared(ctx, proposal, import).await?.hash == hash,
        subject => memory::hash(subject, &memory::about(ctx, subject).await?) == hash,
    })
}

/// Gives a proposal back to its author, with what is to be done.
pub async fn request_changes(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: RequestChangesRequest,
) -> Result<DecisionReply, Error> {
    input::require(caller, Right::ReviewDecide)?;
    let note = input::text("note", request.note.clone(), NOTE_BYTES)?;
    let mut lines = Vec::with_capacity(request.comments.len());
    for comment in &request.comments {
        let text = input::text("comments", comment.text.clone(), NOTE_BYTES)?;
        lines.push((Some(propose::line(comment.line)?), text));
    }
    undisturbed!(ctx.write, request_once(ctx, caller, &request.id, &note, &lines))
}

async fn request_once(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    id: &str,
    note: &str,
    lines: &[(Option<u64>, String)],
) -> Result<DecisionReply, Error> {
    let at = ctx.write.clock.now();
    let proposal = decidable(ctx, caller, id, at).await?;
    let version = proposal.version;
    let mover = Mover { by: &caller.principal, at, why: Some(note) };
    let mut asked = proposal.changes_requested(mover).map_err(no_way)?;
    for (line, text) in std::iter::once(&(None, note.to_owned())).chain(lines) {
        asked = asked.commented(Comment { by: caller.principal.clone(), at, text: text.clone(), line: *line });
    }
    let asked = Proposal { version: version + 1, ..asked };
    let (why, ops) = (Some(note.to_owned()), vec![asked.clone().put(version)]);
    let operation = land::write(ctx, caller, "request_changes", why, at, ops).await?;
    reply(ctx, "changes_requested", &asked, None, operation).await
}

/// Decides on many alike, each on its own: what has risks, clashes or is stale is left to a look of its own.
pub async fn review_proposals(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: ReviewProposalsRequest,
) -> Result<BulkReply, Error> {
    input::require(caller, Right::ReviewDecide)?;
    let approve = match request.decision.as_str() {
        "approve" => true,
        "reject" => false,
        _ => return Err(Error::bad_input("decision", "unknown value, expected one of approve, reject")),
    };
    if request.items.is_empty() || request.items.len() > BULK_MAX {
        return Err(Error::bad_input("items", format!("between 1 and {BULK_MAX} proposals")));
    }
    let reason = match (approve, &request.reason) {
        (false, Some(reason)) => input::name::<RejectReason>("reason", reason)?.to_string(),
        (false, None) => return Err(Error::bad_input("reason", "is needed to reject")),
        (true, _) => String::new(),
    };
    let mut items = Vec::with_capacity(request.items.len());
    for item in request.items {
        let decided = async {
            let would = unremarkable(ctx, caller, &item, approve).await?;
            if request.dry_run {
                return Ok(would.to_owned());
            }
            let (id, content_hash) = (item.id.clone(), item.content_hash.clone());
            let reply = if approve {
                let comment = request.note.clone();
                let one = ApproveProposalRequest { id, content_hash, comment, ..ApproveProposalRequest::default() };
                approve_proposal(ctx, caller, one).await?
            } else {
                let (reason, note) = (reason.clone(), request.note.clone());
                let one = RejectProposalRequest { id, reason, note, content_hash: Some(content_hash) };
                reject_proposal(ctx, caller, one).await?
            };
            Ok::<String, Error>(reply.outcome)
        };
        items.push(outcome_of(item.id.clone(), decided.await)?);
    }
    Ok(BulkReply { items, dry_run: request.dry_run })
}

/// What one of many became; a failure of a store is the failure of all that follow.
pub(super) fn outcome_of(id: String, decided: Result<String, Error>) -> Result<ItemOutcome, Error> {
    match decided {
        Ok(outcome) => Ok(ItemOutcome { id, outcome, code: None, message: None }),
        Err(error) if error.code.is_failure() => Err(error),
        Err(error) => Ok(ItemOutcome {
            id,
            outcome: "failed".to_owned(),
            code: Some(error.code.name().to_owned()),
            message: Some(error.message),
        }),
    }
}

/// What a bulk decision would make of a proposal; an error if it needs a look of its own.
async fn unremarkable(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    item: &ReviewItem,
    approve: bool,
) -> Result<&'static str, Error> {
    let proposal = decidable(ctx, caller, &item.id, ctx.write.clock.now()).await?;
    if !proposal.state.is_open() {
        return Err(conflict("id", format!("id: is {}", proposal.state)));
    }
    if item.content_hash != proposal.content_hash {
        return Err(conflict("content_hash", "content_hash: it says something else than what was read"));
    }
    if !approve {
        return Ok("rejected");
    }
    if proposal.state != ProposalState::Pending {
        return Err(conflict("id", format!("id: is {}", proposal.state)));
    }
    if let Some(flag) = proposal.flags.first() {
        return Err(conflict("id", format!("id: has the risk {}", flag.kind)).advise("look at it by itself"));
    }
    if let Subject::WikiEdit { base, .. } = &proposal.subject {
        let candidate = candidate(ctx, &proposal).await?;
        if candidate.stale(*base) {
            return Err(stale("id", candidate.head_number()));
        }
    }
    if let Subject::OntologyChange(import) = &proposal.subject {
        let current = ctx.ontology.store.current().await?;
        if current != import.base {
            return Err(terms::stale("id", current));
        }
    }
    Ok("approved")
}

/// Ends open proposals that nobody decided on in time. How many.
pub async fn expire_proposals(ctx: &ReviewContext<'_>, caller: &Caller) -> Result<usize, Error> {
    input::require(caller, Right::Admin)?;
    let now = ctx.write.clock.now();
    let Ok(before) = now.checked_sub(ctx.settings.expiry()) else { return Ok(0) };
    let query = QueueQuery { states: ProposalState::open(), ..QueueQuery::default() };
    let everything = Visibility::system("proposals of all expire alike");
    let mut expired = 0;
    let mut after = None;
    loop {
        let found = ctx.reviews.queue(&query, after, EXPIRED_AT_ONCE, &everything).await?;
        let Some(last) = found.last() else { return Ok(expired) };
        after = Some((last.created_at, last.id));
        let young = last.created_at >= before;
        for proposal in found.into_iter().filter(|proposal| proposal.updated_at < before) {
            match expire_once(ctx, caller, proposal, now).await {
                Ok(()) => expired += 1,
                // Somebody did something about it just now.
                Err(error) if error.code == ErrorCode::Conflict => {}
                Err(error) => return Err(error),
            }
        }
        if young {
            return Ok(expired);
        }
    }
}

async fn expire_once(ctx: &ReviewContext<'_>, caller: &Caller, proposal: Proposal, at: Timestamp) -> Result<(), Error> {
    let version = proposal.version;
    let mut ops = memory::put_aside(ctx, &proposal, at).await?;
    let mover = Mover { by: &caller.principal, at, why: Some("nobody decided in time") };
    let expired = proposal.expired(mover).map_err(no_way)?;
    ops.push(expired.put(version));
    land::write(ctx, caller, "expire_proposals", None, at, ops).await.map(drop)
}

/// The answer to a decision.
pub(super) async fn reply(
    ctx: &ReviewContext<'_>,
    outcome: &str,
    proposal: &Proposal,
    revision: Option<u64>,
    operation_id: String,
) -> Result<DecisionReply, Error> {
    if let Some(decision) = proposal.decision.as_ref().filter(|_| DECIDED.contains(&outcome)) {
        let waited = decision.at.duration_since(proposal.created_at);
        telemetry::review_decided(proposal.subject.kind().name(), outcome, waited.as_secs_f64());
    }
    let record = listed(ctx, std::slice::from_ref(proposal)).await?.pop().expect("one proposal gives one record");
    let revision = revision.map(outgoing);
    Ok(DecisionReply { outcome: outcome.to_owned(), proposal: record, revision, operation_id })
}
