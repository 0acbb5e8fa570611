//! What decisions do to memories: let one in or keep it out, choose between two, make one of several; and what an agent
//! learns from a no.

use jiff::Timestamp;

use super::{
    ApproveProposalRequest, ReviewContext,
    access::{conflict, no_way},
    land::moved,
};
use crate::{
    domain::{
        AsOf, Caller, ChangeId, ChangeSet, Decision, EdgeKind, Kind, Language, Memory, MemoryId, MemoryType, Mover, Op,
        PrincipalKind, Proposal, RejectReason, Scope, Source, Status, Subject, Verification, Visibility,
    },
    error::{Error, ErrorCode},
    input, text,
    write::{self, Admission, Ready},
};

/// Tag of what an agent learnt from a reviewer.
const LESSON: &str = "review";

/// The memories that a proposal is about, in its order; those that were forgotten are left out.
pub(super) async fn about(ctx: &ReviewContext<'_>, subject: &Subject) -> Result<Vec<Memory>, Error> {
    let visibility = Visibility::system("a proposal that was seen leads to what it is about");
    Ok(ctx.write.graph.memories(&subject.memories(), AsOf::default(), &visibility).await?)
}

fn one_of(memories: &[Memory], id: MemoryId) -> Option<&Memory> {
    memories.iter().find(|memory| memory.id == id)
}

/// The hash of what a proposal about memories says now.
pub(super) fn hash(subject: &Subject, memories: &[Memory]) -> String {
    match (subject, memories) {
        (Subject::MemoryQuarantine { .. }, [memory]) => memory.content_hash.clone(),
        _ => {
            let said: Vec<String> = memories.iter().map(|it| format!("{} {}", it.id, it.content_hash)).collect();
            text::content_hash(Some(subject.kind().name()), &said.join("\n"), None)
        }
    }
}

/// The scope whose members may see a decision between memories; an error unless all are there and active, and one reader
/// sees them all.
pub(super) fn common_scope(ids: &[MemoryId], memories: &[Memory]) -> Result<Scope, Error> {
    let mut scope = Scope::Global;
    for id in ids {
        let memory = one_of(memories, *id).ok_or_else(|| Error::not_found("memories"))?;
        if memory.status != Status::Active {
            return Err(Error::bad_input("memories", format!("{id} is {}", memory.status)));
        }
        if memory.external_id.as_ref().is_some_and(|name| name.starts_with(write::PAGES)) {
            return Err(Error::bad_input("memories", format!("{id} is a part of a page")).advise("propose an edit"));
        }
        scope = match (scope, &memory.scope) {
            (Scope::Global, other) => other.clone(),
            (known, Scope::Global) => known,
            (known, other) if known == *other => known,
            _ => return Err(Error::bad_input("memories", "are of scopes that no decision joins")),
        };
    }
    Ok(scope)
}

/// Writes the yes to a proposal about memories; gives the change's id and the memory that stays.
pub(super) async fn approve(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    proposal: Proposal,
    request: &ApproveProposalRequest,
    at: Timestamp,
) -> Result<(Proposal, String), Error> {
    if request.body.is_some() || request.expected_head.is_some() {
        return Err(Error::bad_input("body", "goes with edits of pages only"));
    }
    let memories = about(ctx, &proposal.subject).await?;
    if memories.len() != proposal.subject.memories().len() {
        return Err(Error::not_found("id").advise("what it is about was forgotten; reject it"));
    }
    if request.content_hash != hash(&proposal.subject, &memories) {
        return Err(conflict("content_hash", "content_hash: what it is about has changed since it was read"));
    }
    let change = ChangeId(ctx.write.clock.next_id());
    let comment = input::optional_text("comment", request.comment.clone(), super::propose::NOTE_BYTES)?;
    let approved = |memory: MemoryId| {
        let decision = Decision {
            by: caller.principal.clone(),
            at,
            reason: None,
            note: comment.clone(),
            edited: false,
            revision: None,
            memory: Some(memory),
        };
        let mover = Mover { by: &caller.principal, at, why: comment.as_deref() };
        let version = proposal.version;
        let approved = proposal.clone().approved(decision, mover);
        approved.map(|it| (it, version)).map_err(no_way)
    };
    let (turn, mut ops, approved) = match (&proposal.subject, memories.as_slice()) {
        (Subject::MemoryQuarantine { causes, caused_by, supersedes, .. }, [memory]) => {
            if memory.status != Status::Quarantined {
                return Err(conflict("id", format!("id: the memory is {}", memory.status)));
            }
            let vectors = write::vectors_of(ctx.write, memory).await?;
            let turn = ctx.write.turn().await;
            let admission = Admission {
                memory: memory.clone(),
                causes: causes.clone(),
                caused_by: caused_by.clone(),
                supersedes: supersedes.clone(),
            };
            let (ops, stays) = write::admit_ops(ctx.write, admission, vectors, change, at).await?;
            (turn, ops, approved(stays)?)
        }
        _ => {
            let chosen = request.chosen.as_deref().ok_or_else(|| {
                Error::bad_input("chosen", "is needed: the memory that stays").advise("name one of its memories")
            })?;
            let chosen = input::memory_id("chosen", chosen)?;
            let survivor = one_of(&memories, chosen)
                .ok_or_else(|| Error::bad_input("chosen", "is none of the memories that it is about"))?;
            let others: Vec<Memory> = memories.iter().filter(|memory| memory.id != chosen).cloned().collect();
            let mut ops = write::supersede_ops(survivor, &others, "decided in review", at);
            ops.extend(no_longer_contradict(&proposal.subject));
            (ctx.write.turn().await, ops, approved(chosen)?)
        }
    };
    let (approved, version) = approved;
    ops.push(moved(approved.clone(), version));
    let written = write::change(ctx.write, caller, "approve_proposal", at, ops);
    let written = ChangeSet { id: change, reason: comment, ..written };
    write::commit(ctx.write, turn, vec![written]).await?;
    write::settle(ctx.write).await;
    Ok((approved, change.to_string()))
}

/// What a no does to the memories that a proposal is about, and the end of what waits with it.
pub(super) async fn put_aside(ctx: &ReviewContext<'_>, proposal: &Proposal, at: Timestamp) -> Result<Vec<Op>, Error> {
    let memories = about(ctx, &proposal.subject).await?;
    Ok(match &proposal.subject {
        Subject::MemoryQuarantine { .. } => memories
            .into_iter()
            .filter(|memory| memory.status == Status::Quarantined)
            .map(|memory| write::kept_out(memory, at))
            .collect(),
        subject => no_longer_contradict(subject).into_iter().collect(),
    })
}

/// A quarantined memory back in quarantine after its no was taken back.
pub(super) async fn waits_again(ctx: &ReviewContext<'_>, proposal: &Proposal) -> Result<Vec<Op>, Error> {
    let Subject::MemoryQuarantine { .. } = &proposal.subject else { return Ok(Vec::new()) };
    let again = |memory: Memory| Op::PutMemory {
        expected_revision: memory.revision,
        memory: Box::new(Memory {
            status: Status::Quarantined,
            retired_at: None,
            revision: memory.revision + 1,
            ..memory
        }),
        vectors: Vec::new(),
    };
    Ok(about(ctx, &proposal.subject).await?.into_iter().map(again).collect())
}

fn no_longer_contradict(subject: &Subject) -> Option<Op> {
    match subject {
        Subject::MemoryConflict { newer, .. } => {
            Some(Op::DropEdges { from: newer.0, kinds: vec![EdgeKind::Contradicts] })
        }
        _ => None,
    }
}

/// What an agent learns from a no: a lesson of its own, borne out by the reviewer's word.
pub(super) async fn lesson(
    ctx: &ReviewContext<'_>,
    proposal: &Proposal,
    reason: RejectReason,
    note: Option<&str>,
    at: Timestamp,
) -> Result<Vec<Ready>, Error> {
    if proposal.author_kind != PrincipalKind::Agent {
        return Ok(Vec::new());
    }
    let what = match &proposal.subject {
        Subject::WikiEdit { change, meta, .. } => format!("to {change} the wiki page {}", meta.slug),
        subject => format!("of kind {}", subject.kind()),
    };
    let said = note.map(|note| format!(" The reviewer: {note}")).unwrap_or_default();
    let memory = write::completed(Memory {
        id: MemoryId(ctx.write.clock.next_id()),
        external_id: None,
        kind: Kind::Reflective,
        memory_type: MemoryType::Insight,
        content: format!("My proposal {what} was rejected as {reason}.{said}"),
        title: None,
        summary: String::new(),
        context: Some(format!("review of proposal {}", proposal.id)),
        tags: vec![LESSON.to_owned()],
        speaker: None,
        importance: ctx.write.settings.default_importance,
        confidence: Source::UserExplicit.confidence(),
        source: Source::UserExplicit,
        provenance: vec![proposal.id.0],
        session_id: None,
        task_id: None,
        user_id: proposal.author.clone(),
        agent_id: Some(proposal.author.clone()),
        scope: Scope::Private(proposal.author.clone()),
        status: Status::Active,
        valid_from: None,
        valid_to: None,
        recorded_at: at,
        retired_at: None,
        occurred_at: at,
        expires_at: None,
        access_count: 0,
        last_accessed: None,
        useful: 0,
        not_useful: 0,
        verification: Some(Verification::Verified),
        revision: 1,
        content_hash: String::new(),
        terms: String::new(),
        language: Language::Other,
        spaces: Vec::new(),
        event: None,
    });
    write::ready(ctx.write, vec![memory]).await
}

/// The operations that take back the letting in of a memory.
pub(super) fn let_out(proposal: &Proposal) -> Result<Vec<Op>, Error> {
    let memory = proposal.decision.as_ref().and_then(|decision| decision.memory);
    match (&proposal.subject, memory) {
        (Subject::MemoryQuarantine { .. }, Some(id)) => {
            Ok(vec![Op::Retire { id, status: Status::Archived, valid_to: None }])
        }
        _ => Err(Error {
            field: Some("id".to_owned()),
            ..Error::new(ErrorCode::BadUserInput, "id: a decision between memories is not taken back")
        }
        .advise("link or store them anew")),
    }
}
