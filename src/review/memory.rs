//! What decisions do to memories: let one in or keep it out, choose between two, make one of several; and what an agent
//! learns from a no.

use jiff::Timestamp;

use super::{
    ApproveProposalRequest, ReviewContext,
    access::{conflict, no_way},
    terms,
};
use crate::{
    domain::{
        AsOf, Caller, ChangeId, ChangeSet, Decision, Edge, EdgeKind, Kind, Language, Memory, MemoryBefore, MemoryId,
        MemoryType, Mover, Op, PrincipalKind, Proposal, RejectReason, Scope, Source, Status, Subject, Verification,
        Visibility,
    },
    error::{Error, ErrorCode},
    input, text,
    write::{self, Admission, Ready},
};

/// Tag of what an agent learnt from a reviewer.
const LESSON: &str = "review";
/// Reason of the edges that a decision makes.
const DECIDED: &str = "decided in review";
/// Edges of a memory that are read to write some of them anew.
const EDGES: usize = 100_000;

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
        (Subject::MemoryQuarantine { .. }, [memory, ..]) => memory.content_hash.clone(),
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
    let approved = |memory: MemoryId, before: Vec<MemoryBefore>, contradicted: Vec<MemoryId>| {
        let memory = Some(memory);
        let decision =
            Decision { memory, before, contradicted, ..Decision::of(&caller.principal, at, comment.clone()) };
        let mover = Mover { by: &caller.principal, at, why: comment.as_deref() };
        let version = proposal.version;
        let approved = proposal.clone().approved(decision, mover);
        approved.map(|it| (it, version)).map_err(no_way)
    };
    let (turn, mut ops, approved) = match (&proposal.subject, memories.as_slice()) {
        (Subject::MemoryQuarantine { updates: Some(updated), .. }, [waiting, known]) => {
            refuse_changed(waiting, known, updated.revision)?;
            let turn = ctx.write.turn().await;
            let mut ops = write::update_ops(ctx.write, waiting, known, at).await?;
            ops.push(write::kept_out(waiting.clone(), at));
            (turn, ops, approved(known.id, vec![before(known)], Vec::new())?)
        }
        (Subject::MemoryQuarantine { causes, caused_by, supersedes, .. }, [memory]) => {
            refuse_let_in(memory)?;
            let vectors = write::vectors_of(ctx.write, memory).await?;
            let turn = ctx.write.turn().await;
            let admission = Admission {
                memory: memory.clone(),
                causes: causes.clone(),
                caused_by: caused_by.clone(),
                supersedes: supersedes.clone(),
            };
            let (ops, stays) = write::admit_ops(ctx.write, admission, vectors, change, at).await?;
            (turn, ops, approved(stays, Vec::new(), Vec::new())?)
        }
        _ => {
            let chosen = request.chosen.as_deref().ok_or_else(|| {
                Error::bad_input("chosen", "is needed: the memory that stays").advise("name one of its memories")
            })?;
            let chosen = input::memory_id("chosen", chosen)?;
            let survivor = one_of(&memories, chosen)
                .ok_or_else(|| Error::bad_input("chosen", "is none of the memories that it is about"))?;
            if survivor.status != Status::Active {
                return Err(conflict("chosen", format!("chosen: is {}", survivor.status)));
            }
            let active = |memory: &&Memory| memory.id != chosen && memory.status == Status::Active;
            let others: Vec<Memory> = memories.iter().filter(active).cloned().collect();
            let found = std::iter::once(survivor).chain(&others).map(before).collect();
            let mut ops = write::supersede_ops(survivor, &others, DECIDED, at);
            let contradicted = contradicted(ctx, &proposal.subject).await?;
            ops.extend(no_longer_contradict(&proposal.subject));
            (ctx.write.turn().await, ops, approved(chosen, found, contradicted)?)
        }
    };
    let (approved, version) = approved;
    ops.push(approved.clone().put(version));
    let written = write::change(ctx.write, caller, "approve_proposal", at, ops);
    let written = ChangeSet { id: change, reason: comment, ..written };
    write::commit(ctx.write, turn, vec![written]).await?;
    write::settle(ctx.write).await;
    Ok((approved, change.to_string()))
}

fn refuse_let_in(memory: &Memory) -> Result<(), Error> {
    match memory.status {
        Status::Quarantined => Ok(()),
        status => Err(conflict("id", format!("id: the memory is {status}"))),
    }
}

/// Refuses a new text of a memory that has changed since it was written.
fn refuse_changed(waiting: &Memory, known: &Memory, revision: u64) -> Result<(), Error> {
    refuse_let_in(waiting)?;
    if known.revision == revision {
        return Ok(());
    }
    Err(conflict("id", format!("id: the memory that it changes is at revision {} by now", known.revision))
        .advise("reject it; its author can change what the memory says now"))
}

/// A memory as a decision finds it.
fn before(memory: &Memory) -> MemoryBefore {
    MemoryBefore { memory: memory.id, revision: memory.revision, valid_to: memory.valid_to }
}

/// Those that the later memory of a conflict contradicts until somebody decides.
pub(super) async fn contradicted(ctx: &ReviewContext<'_>, subject: &Subject) -> Result<Vec<MemoryId>, Error> {
    let Subject::MemoryConflict { newer, .. } = subject else { return Ok(Vec::new()) };
    let edges = edges_from(ctx, *newer, EdgeKind::Contradicts).await?;
    Ok(edges.into_iter().map(|edge| MemoryId(edge.to)).collect())
}

async fn edges_from(ctx: &ReviewContext<'_>, memory: MemoryId, kind: EdgeKind) -> Result<Vec<Edge>, Error> {
    let visibility = Visibility::system("a decision writes every edge of what it is about");
    let mut edges = ctx.write.graph.edges_of(memory.0, EDGES, &visibility).await?;
    edges.retain(|edge| edge.from == memory.0 && edge.kind == kind);
    Ok(edges)
}

/// The edges that say again what the later memory of a conflict contradicts.
async fn contradict_again(ctx: &ReviewContext<'_>, proposal: &Proposal, at: Timestamp) -> Result<Vec<Op>, Error> {
    let (Subject::MemoryConflict { newer, .. }, Some(decision)) = (&proposal.subject, &proposal.decision) else {
        return Ok(Vec::new());
    };
    let ids: Vec<MemoryId> = std::iter::once(*newer).chain(decision.contradicted.iter().copied()).collect();
    let visibility = Visibility::system("a proposal that was seen leads to what it is about");
    let memories = ctx.write.graph.memories(&ids, AsOf::default(), &visibility).await?;
    let Some(newer) = one_of(&memories, *newer) else { return Ok(Vec::new()) };
    let others = memories.iter().filter(|memory| memory.id != newer.id);
    Ok(others.filter_map(|other| write::contradiction(other, newer, at)).collect())
}

/// What a no does to the memories that a proposal is about, and the end of what waits with it.
pub(super) async fn put_aside(ctx: &ReviewContext<'_>, proposal: &Proposal, at: Timestamp) -> Result<Vec<Op>, Error> {
    let memories = about(ctx, &proposal.subject).await?;
    Ok(match &proposal.subject {
        Subject::MemoryQuarantine { memory: waiting, .. } => memories
            .into_iter()
            .filter(|memory| memory.id == *waiting && memory.status == Status::Quarantined)
            .map(|memory| write::kept_out(memory, at))
            .collect(),
        Subject::OntologyChange(_) => {
            terms::refuse_in_force(ctx, proposal).await?;
            Vec::new()
        }
        subject => no_longer_contradict(subject).into_iter().collect(),
    })
}

/// What a no did to memories, taken back: one that waited waits again, and those that contradicted do.
pub(super) async fn waits_again(ctx: &ReviewContext<'_>, proposal: &Proposal, at: Timestamp) -> Result<Vec<Op>, Error> {
    let Subject::MemoryQuarantine { memory: waiting, .. } = &proposal.subject else {
        return contradict_again(ctx, proposal, at).await;
    };
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
    let memories = about(ctx, &proposal.subject).await?;
    Ok(memories.into_iter().filter(|memory| memory.id == *waiting).map(again).collect())
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
        Subject::OntologyChange(import) => format!("to import {} as the vocabulary {}", import.file, import.vocabulary),
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

/// The operations that take back what a yes did to memories; a conflict if they have changed since. To be asked for within
/// the turn.
pub(super) async fn taken_back(ctx: &ReviewContext<'_>, proposal: &Proposal, at: Timestamp) -> Result<Vec<Op>, Error> {
    let lost = || Error::new(ErrorCode::Internal, "an approved proposal has lost its decision");
    let decision = proposal.decision.as_ref().ok_or_else(lost)?;
    let chosen = decision.memory.ok_or_else(lost)?;
    if let Subject::MemoryQuarantine { updates: None, .. } = &proposal.subject {
        return Ok(vec![Op::Retire { id: chosen, status: Status::Archived, valid_to: None }]);
    }
    let memories = about(ctx, &proposal.subject).await?;
    let changed = |id: MemoryId| {
        conflict("id", format!("id: the memory {id} has changed since")).advise("decide anew on what there is now")
    };
    match (&proposal.subject, decision.before.as_slice()) {
        (Subject::MemoryQuarantine { .. }, [then]) => {
            let now = one_of(&memories, chosen).ok_or_else(|| changed(chosen))?;
            if now.revision != then.revision + 1 {
                return Err(changed(chosen));
            }
            let visibility = Visibility::system("a decision that is taken back leads to what was there before");
            let revisions = ctx.write.graph.revisions(chosen, &visibility).await?;
            let earlier = revisions.iter().map(|(.., memory)| memory).find(|memory| memory.revision == then.revision);
            write::update_ops(ctx.write, earlier.ok_or_else(|| changed(chosen))?, now, at).await
        }
        (_, [_, ..]) => {
            let mut back = Vec::new();
            for then in &decision.before {
                let now = one_of(&memories, then.memory).ok_or_else(|| changed(then.memory))?;
                let as_left = if now.id == chosen {
                    now.status == Status::Active
                } else {
                    now.status == Status::Superseded && now.retired_at == Some(decision.at)
                };
                if now.revision != then.revision || !as_left {
                    return Err(changed(now.id));
                }
                if now.id != chosen {
                    back.push(Memory { valid_to: then.valid_to, ..now.clone() });
                }
            }
            let ids: Vec<MemoryId> = back.iter().map(|memory| memory.id).collect();
            let mut ops = write::revived_ops(ctx.write, back, at).await?;
            ops.extend(no_longer_replaces(ctx, chosen, &ids).await?);
            ops.extend(contradict_again(ctx, proposal, at).await?);
            Ok(ops)
        }
        _ => Err(conflict("id", "id: was decided before decisions between memories could be taken back")
            .advise("link or store them anew")),
    }
}

/// Drops the edges that say that one memory took the place of `others`; those to further ones stay.
async fn no_longer_replaces(ctx: &ReviewContext<'_>, chosen: MemoryId, others: &[MemoryId]) -> Result<Vec<Op>, Error> {
    let kept = edges_from(ctx, chosen, EdgeKind::Supersedes).await?;
    let kept = kept.into_iter().filter(|edge| !others.contains(&MemoryId(edge.to)));
    let dropped = Op::DropEdges { from: chosen.0, kinds: vec![EdgeKind::Supersedes] };
    Ok(std::iter::once(dropped).chain(kept.map(Op::PutEdge)).collect())
}
