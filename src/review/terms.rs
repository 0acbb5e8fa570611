//! A vocabulary that somebody without the right to import wants imported: proposed, shown term by term, put in force by the
//! way of an import, taken back by a rollback.
//!
//! The version is put in force before the proposal says so, within one turn of the write path. A version names its proposal,
//! so after a kill in between the next decision finds it and nobody takes for open what is live.

use jiff::Timestamp;

use super::{
    ApproveProposalRequest, DecisionReply, OntologyChange, ProposalRecord, ReviewContext,
    access::{conflict, no_way},
    candidate::text_of,
    decide::{nothing_left, reply},
    land,
    propose::{NAME_BYTES, NOTE_BYTES},
    record::{off_thread, risks},
    revert::taken_back,
    risk,
};
use crate::{
    domain::{
        Author, Caller, Decision, Mover, OntologyImport, Op, Proposal, ProposalId, ProposalKind, ProposalState, Record,
        Right, RiskFlag, RiskKind, Scope, Subject, Visibility,
    },
    error::{Error, ErrorCode},
    input::{self, outgoing},
    ontology::{self, Comparison, ImportReply, ImportRequest},
    ports::QueueQuery,
    wiki::Diff,
    write::{Turn, undisturbed},
};

/// Open proposals of an author that are looked through for one of the same vocabulary.
const OPEN_MAX: usize = 1000;

/// Proposes an import. What the same author proposed of this vocabulary before, and nobody decided on, gives way.
pub async fn propose_import(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: ImportRequest,
) -> Result<ImportReply, Error> {
    if !caller.may(Right::WikiPropose) {
        input::require(caller, Right::OntologyImport)?;
    }
    undisturbed!(ctx.write, Box::pin(propose_once(ctx, caller, &request)))
}

async fn propose_once(ctx: &ReviewContext<'_>, caller: &Caller, request: &ImportRequest) -> Result<ImportReply, Error> {
    let text = std::str::from_utf8(&request.bytes)
        .map_err(|_| Error::bad_input("file", "must be UTF-8, since it waits for a review"))?;
    let compared = ontology::compare(ctx.ontology, request.clone()).await?;
    if request.dry_run || compared.is_empty() {
        return Ok(compared.reply);
    }
    compared.refuse_removals(ctx.ontology, request.allow_removals)?;
    let at = ctx.write.clock.now();
    let id = ProposalId(ctx.write.clock.next_id());
    let mut ops = Vec::new();
    for open in open_of(ctx, caller, &compared.reply.vocabulary).await? {
        if open.content_hash == compared.hash && open.state == ProposalState::Pending {
            return Ok(answered(compared.reply, &open));
        }
        let (version, why) = (open.version, format!("replaced by {id}"));
        let mover = Mover { by: &caller.principal, at, why: Some(&why) };
        let old = open.superseded(mover).map_err(|error| conflict("vocabulary", format!("vocabulary: {error}")))?;
        ops.push(old.put(version));
    }
    let reply = &compared.reply;
    let import = OntologyImport {
        vocabulary: reply.vocabulary.clone(),
        file: request.name.trim().to_owned(),
        mapping: request.mapping.clone(),
        base: compared.current,
        new: reply.new.unsigned_abs(),
        changed: reply.changed.unsigned_abs(),
        removed: reply.removed.unsigned_abs(),
    };
    let subject = Subject::OntologyChange(import);
    let opened = Proposal::open(id, subject, &Scope::Global, Author::of(caller), compared.hash.clone(), at);
    let opened = Proposal {
        run: input::optional_text("run_id", request.run_id.clone(), NAME_BYTES)?,
        rationale: input::optional_text("rationale", request.rationale.clone(), NOTE_BYTES)?,
        flags: risk::of_terms(&compared),
        ..opened
    };
    let record = Box::new(Record::Proposal(opened.clone()));
    ops.push(Op::PutRecord { record, text: Some(text.to_owned()), expected_version: 0 });
    land::write(ctx, caller, "propose_ontology_change", None, at, ops).await?;
    Ok(answered(compared.reply, &opened))
}

fn answered(reply: ImportReply, proposal: &Proposal) -> ImportReply {
    ImportReply { proposal_id: Some(proposal.id.to_string()), state: Some(proposal.state.to_string()), ..reply }
}

/// The caller's open proposals of a vocabulary.
async fn open_of(ctx: &ReviewContext<'_>, caller: &Caller, vocabulary: &str) -> Result<Vec<Proposal>, Error> {
    let query = QueueQuery {
        states: ProposalState::open(),
        kinds: vec![ProposalKind::OntologyChange],
        author: Some(caller.principal.clone()),
        ..QueueQuery::default()
    };
    let mut open = ctx.reviews.queue(&query, None, OPEN_MAX, &caller.visibility()).await?;
    open.retain(|open| matches!(&open.subject, Subject::OntologyChange(import) if import.vocabulary == vocabulary));
    Ok(open)
}

/// What approving a proposal would do to the terms there are by now.
pub(super) async fn compared(
    ctx: &ReviewContext<'_>,
    proposal: &Proposal,
    import: &OntologyImport,
) -> Result<Comparison, Error> {
    let everything = Visibility::system("a proposal that was seen leads to its text");
    let request = ImportRequest {
        name: import.file.clone(),
        bytes: text_of(ctx, proposal.id.0, &everything).await?.into_bytes(),
        vocabulary: Some(import.vocabulary.clone()),
        mapping: import.mapping.clone(),
        ..ImportRequest::default()
    };
    ontology::compare(ctx.ontology, request).await
}

/// The change as a list shows it: as it was when it was proposed.
pub(super) fn listed(import: &OntologyImport) -> OntologyChange {
    OntologyChange {
        vocabulary: import.vocabulary.clone(),
        file: import.file.clone(),
        new: outgoing(import.new),
        changed: outgoing(import.changed),
        removed: outgoing(import.removed),
        unchanged: None,
        shown: None,
        warnings: Vec::new(),
    }
}

/// Says whether another version is in force than the one that the file was compared with.
pub(super) fn mark_stale(record: &mut ProposalRecord, import: &OntologyImport, current: u64) {
    record.head_revision = Some(outgoing(current));
    record.stale = import.base != current;
    if record.stale {
        let detail = format!("the ontologies are at version {current}");
        record.risk_flags.extend(risks(&[RiskFlag { kind: RiskKind::StaleBase, detail }]));
    }
}

/// Adds the file, and while it is open the terms that it would change by now.
pub(super) async fn with_terms(
    ctx: &ReviewContext<'_>,
    proposal: &Proposal,
    import: &OntologyImport,
    record: &mut ProposalRecord,
) -> Result<(), Error> {
    let everything = Visibility::system("a proposal that was seen leads to its text");
    record.body = Some(text_of(ctx, proposal.id.0, &everything).await?);
    if !proposal.state.is_open() {
        return Ok(());
    }
    let compared = compared(ctx, proposal, import).await?;
    let texts = ontology::term_texts(ctx.ontology, &compared).await?;
    record.risk_flags = risks(&risk::of_terms(&compared));
    mark_stale(record, import, compared.current);
    record.content_hash.clone_from(&compared.hash);
    let ImportReply { new, changed, removed, unchanged, warnings, .. } = compared.reply;
    let (unchanged, shown) = (Some(unchanged), Some(outgoing(texts.shown)));
    record.ontology = Some(OntologyChange { new, changed, removed, unchanged, shown, warnings, ..listed(import) });
    let (before, after) = (texts.before.clone(), texts.after.clone());
    record.diff = Some(off_thread(move || Diff::of(&before, &after)).await?);
    record.current = Some(texts.before);
    record.merged = Some(texts.after);
    Ok(())
}

/// The error for ontologies that moved.
pub(super) fn stale(field: &str, current: u64) -> Error {
    let message = format!("{field}: the ontologies are at version {current} by now");
    Error { field: Some(field.to_owned()), ..Error::new(ErrorCode::StaleBase, message) }
        .advise("read the proposal again: it is compared with what is in force now")
}

/// Puts the file in force, if it says and would change what was read.
pub(super) async fn approve(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    proposal: Proposal,
    import: &OntologyImport,
    request: &ApproveProposalRequest,
    at: Timestamp,
) -> Result<DecisionReply, Error> {
    for (field, given) in [("body", &request.body), ("chosen", &request.chosen)] {
        if given.is_some() {
            return Err(Error::bad_input(field, "does not go with a vocabulary"));
        }
    }
    let comment = input::optional_text("comment", request.comment.clone(), NOTE_BYTES)?;
    let _under_way = ontology::begin(ctx.ontology)?;
    if let Some(made) = ontology::in_force(ctx.ontology, &proposal).await? {
        let turn = ctx.write.turn().await;
        return noted(ctx, caller, proposal, made, comment, at, turn).await;
    }
    let compared = compared(ctx, &proposal, import).await?;
    if request.expected_head.is_some_and(|expected| u64::try_from(expected).ok() != Some(compared.current)) {
        return Err(stale("expected_head", compared.current));
    }
    if request.content_hash != compared.hash {
        return Err(if request.content_hash == proposal.content_hash {
            stale("content_hash", compared.current)
        } else {
            conflict("content_hash", "content_hash: it says something else than what was read")
                .advise("read it again and decide on what it says now")
        });
    }
    if compared.is_empty() {
        return nothing_left(ctx, caller, proposal, "the vocabulary says it already", at).await;
    }
    let switch = ontology::stage(ctx.ontology, caller, compared, Some(&proposal)).await?;
    let turn = ctx.write.turn().await;
    refuse_moved(ctx, &proposal).await?;
    let (made, turn) = ontology::put_in_force(ctx.ontology, switch, turn).await?;
    let done = noted(ctx, caller, proposal, made.number, comment, at, turn).await;
    if let Err(Error { code: ErrorCode::Conflict, .. }) = &done {
        // Another process moved the proposal in between: what nobody agreed to does not stay.
        let _turn = ctx.write.turn().await;
        ontology::take_back(ctx.ontology, caller, made.number).await?;
    }
    ontology::linked(ctx.ontology).await?;
    done
}

/// Nobody may have moved it since it was read; to be asked within the turn.
async fn refuse_moved(ctx: &ReviewContext<'_>, proposal: &Proposal) -> Result<(), Error> {
    let everything = Visibility::system("a proposal that was seen is looked at again");
    let now = ctx.reviews.records(&[proposal.id.0], &everything).await?.into_iter().next().and_then(Record::proposal);
    match now {
        Some(now) if now.version == proposal.version => Ok(()),
        _ => Err(conflict("id", "id: somebody else changed it just now").advise("read it again")),
    }
}

/// Notes that a proposal became a version.
async fn noted(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    proposal: Proposal,
    version: u64,
    comment: Option<String>,
    at: Timestamp,
    turn: Turn,
) -> Result<DecisionReply, Error> {
    let stored = proposal.version;
    let decision = Decision { version: Some(version), ..Decision::of(&caller.principal, at, comment.clone()) };
    let mover = Mover { by: &caller.principal, at, why: comment.as_deref() };
    let approved = proposal.approved(decision, mover).map_err(no_way)?;
    let ops = vec![approved.clone().put(stored)];
    let operation = land::commit(ctx, caller, turn, "approve_proposal", comment, at, ops).await?;
    reply(ctx, "approved", &approved, Some(version), operation).await
}

/// A proposal that is in force is not put aside.
pub(super) async fn refuse_in_force(ctx: &ReviewContext<'_>, proposal: &Proposal) -> Result<(), Error> {
    match ontology::in_force(ctx.ontology, proposal).await? {
        None => Ok(()),
        Some(made) => Err(conflict("id", format!("id: is in force as version {made}"))
            .advise("approve it, so that it says so, and revert it if it is not to be")),
    }
}

/// The version that an approved proposal became.
fn version(proposal: &Proposal) -> Result<u64, Error> {
    let version = proposal.decision.as_ref().and_then(|decision| decision.version);
    version.ok_or_else(|| Error::new(ErrorCode::Internal, "an approved proposal has lost its version"))
}

/// Refuses to take back what others build on by now.
pub(super) async fn refuse_built_on(ctx: &ReviewContext<'_>, proposal: &Proposal) -> Result<(), Error> {
    let made = version(proposal)?;
    if ontology::stands(ctx.ontology, made).await? {
        return Ok(());
    }
    Err(conflict("id", format!("id: the ontologies have changed since version {made}"))
        .advise("take later versions back first, or roll back to a version by its number"))
}

/// Makes the version before the one in force again, as a new version.
pub(super) async fn revert(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    proposal: Proposal,
    reason: Option<String>,
    at: Timestamp,
) -> Result<DecisionReply, Error> {
    let _under_way = ontology::begin(ctx.ontology)?;
    refuse_built_on(ctx, &proposal).await?;
    let turn = ctx.write.turn().await;
    refuse_moved(ctx, &proposal).await?;
    let made = ontology::take_back(ctx.ontology, caller, version(&proposal)?).await?;
    let (reverted, op) = taken_back(caller, proposal, reason.as_deref(), at)?;
    let operation = land::commit(ctx, caller, turn, "revert_proposal", reason, at, vec![op]).await?;
    ontology::linked(ctx.ontology).await?;
    reply(ctx, "reverted", &reverted, Some(made.number), operation).await
}
