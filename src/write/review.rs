//! What the review room writes into the graph of memories: memories of its own, and quarantined ones that are let in.
//!
//! A decision of a person becomes one change set, in which these operations stand beside the records of the decision.

use super::{
    WriteContext, amend,
    decide::{self, narrower},
    matching::{self, Reading},
    validate::{self, Draft},
};
use crate::{
    domain::{
        AsOf, Caller, ChangeId, ChangeSet, Edge, EdgeKind, Memory, MemoryId, NamedVector, Op, Outcome, PrincipalKind,
        Right, Scope, Status, Visibility,
    },
    error::{Error, ErrorCode},
    ontology::link_ops,
    telemetry::timed,
    text,
};
use jiff::Timestamp;

/// What the external ids and tags of pages begin with; clients can give none that do.
pub const PAGES: &str = "wiki:";

/// A memory with its vectors and what its text names, made before the turn: models are slow.
pub struct Ready {
    /// The memory.
    pub memory: Memory,
    vectors: Vec<NamedVector>,
    reading: Reading,
}

/// Fills in what follows from the text: summary, language, terms, hash.
pub fn completed(memory: Memory) -> Memory {
    let mut memory = Memory {
        summary: text::summary(&memory.content, Memory::SUMMARY_CHARS),
        language: text::language(&memory.content),
        ..memory
    };
    memory.content_hash = validate::hash_of(&memory);
    memory.terms = validate::terms_of(&memory);
    memory
}

/// Embeds memories and reads their texts.
pub async fn ready(ctx: &WriteContext, memories: Vec<Memory>) -> Result<Vec<Ready>, Error> {
    let pairs: Vec<(&Memory, Option<&Memory>)> = memories.iter().map(|memory| (memory, None)).collect();
    let vectors = timed("embed", ctx.vectors.embed(&pairs)).await?;
    let read = matching::read(ctx, memories).await?;
    let ready = |((reading, memory), vectors)| Ready { memory, vectors, reading };
    Ok(read.into_iter().zip(vectors).map(ready).collect())
}

/// The operations that store new memories, with the concepts they name.
pub async fn new_ops(ctx: &WriteContext, ready: Vec<Ready>, at: Timestamp) -> Result<Vec<Op>, Error> {
    let mut ops = Vec::new();
    let Some(first) = ready.first() else { return Ok(ops) };
    let writer = member_of(&first.memory);
    let texts: Vec<(&Memory, &Reading)> = ready.iter().map(|it| (&it.memory, &it.reading)).collect();
    let named = matching::named(ctx, &writer, &texts).await?;
    for (Ready { memory, vectors, .. }, named) in ready.into_iter().zip(named) {
        let spaces = vectors.iter().map(|vector| vector.space.clone()).collect();
        let memory = Memory { spaces, recorded_at: at, ..memory };
        let (id, scope, about) = (memory.id, memory.scope.clone(), matching::about(memory.title.as_deref()));
        ops.push(Op::PutMemory { memory: Box::new(memory), expected_revision: 0, vectors });
        ops.extend(decide::concept_ops(id, &scope, &about, &named.mentions, at));
        ops.extend(link_ops(id, &scope, &named.links, at));
        ops.extend(decide::mention_ops(&named.by, at));
    }
    Ok(ops)
}

/// The edges from a memory to those it rests on, as far as one reader can see both ends.
pub async fn source_ops(
    ctx: &WriteContext,
    memory: MemoryId,
    scope: &Scope,
    sources: &[MemoryId],
    at: Timestamp,
) -> Result<Vec<Op>, Error> {
    let visibility = Visibility::system("edges to what a page cites, seen by those who see both");
    let found = ctx.graph.memories(sources, AsOf::default(), &visibility).await?;
    let edge = |source: Memory| {
        let scope = narrower(scope, &source.scope)?;
        let reason = Some("cites".to_owned());
        let (from, to, kind) = (memory.0, source.id.0, EdgeKind::DerivedFrom);
        Some(Op::PutEdge(Edge { from, to, kind, weight: 1.0, reason, scope, recorded_at: at }))
    };
    Ok(found.into_iter().filter_map(edge).collect())
}

/// A quarantined memory on its way in, with the links that its author asked for.
#[derive(Debug, Clone)]
pub struct Admission {
    /// The memory as it is stored.
    pub memory: Memory,
    /// Memories it caused.
    pub causes: Vec<MemoryId>,
    /// Memories that caused it.
    pub caused_by: Vec<MemoryId>,
    /// Memories it replaces.
    pub supersedes: Vec<MemoryId>,
}

/// The operations that let a quarantined memory in, and the memory that says it from then on: itself, or one that came to
/// say the same meanwhile. It goes the way of a store: matched, linked, embedded.
pub async fn admit_ops(
    ctx: &WriteContext,
    admission: Admission,
    vectors: Vec<NamedVector>,
    change: ChangeId,
    at: Timestamp,
) -> Result<(Vec<Op>, MemoryId), Error> {
    let Admission { memory: stored, causes, caused_by, supersedes } = admission;
    let memory = Memory { status: Status::Active, revision: stored.revision + 1, ..stored.clone() };
    let (reading, memory) = matching::read(ctx, vec![memory]).await?.pop().expect("one memory is read");
    let writer = member_of(&stored);
    let draft = Draft {
        memory,
        causes,
        caused_by,
        supersedes,
        idempotency_key: None,
        request_hash: String::new(),
        review: None,
        reading,
    };
    let mut known = matching::match_all(ctx, &writer, &[(&draft, vectors.as_slice())])
        .await?
        .pop()
        .expect("one draft was matched")?;
    // Its place in session and task is the one it took when it came.
    known.before.clear();
    let (change, reply) = decide::decide(&draft, &known, vectors, change, at);
    let mut ops: Vec<Op> = change
        .ops
        .into_iter()
        .map(|op| match op {
            Op::PutMemory { memory, vectors, .. } => {
                Op::PutMemory { memory, expected_revision: stored.revision, vectors }
            }
            other => other,
        })
        .collect();
    if reply.outcome == Outcome::Refreshed.name() {
        ops.push(kept_out(stored.clone(), at));
    }
    Ok((ops, known.duplicate.unwrap_or(stored.id)))
}

/// The operations that give `known` what `text` says, in the words of an update.
pub async fn update_ops(ctx: &WriteContext, text: &Memory, known: &Memory, at: Timestamp) -> Result<Vec<Op>, Error> {
    let new = amend::carried(text, known);
    if new.status == Status::Active {
        refuse_twin(ctx, "id", &new).await?;
    }
    let vectors = vectors_of(ctx, &new).await?;
    let new = Memory {
        spaces: vectors.iter().map(|vector| vector.space.clone()).collect(),
        recorded_at: at,
        revision: known.revision + 1,
        ..new
    };
    let (reading, new) = matching::read(ctx, vec![new]).await?.pop().expect("one memory is read");
    let named = matching::named(ctx, &member_of(known), &[(&new, &reading)]).await?.pop().unwrap_or_default();
    Ok(amend::put_again(known.revision, &new, vectors, &named, at))
}

/// The operations that make superseded memories active again, unless one of their scope came to say the same.
pub async fn revived_ops(ctx: &WriteContext, memories: Vec<Memory>, at: Timestamp) -> Result<Vec<Op>, Error> {
    let mut ops = Vec::with_capacity(memories.len());
    for memory in memories {
        let memory = Memory { status: Status::Active, retired_at: None, ..memory };
        refuse_twin(ctx, "id", &memory).await?;
        let vectors = vectors_of(ctx, &memory).await?;
        let (expected_revision, spaces) = (memory.revision, vectors.iter().map(|it| it.space.clone()).collect());
        let memory = Memory { spaces, recorded_at: at, revision: expected_revision + 1, ..memory };
        ops.push(Op::PutMemory { memory: Box::new(memory), expected_revision, vectors });
    }
    Ok(ops)
}

/// Refuses a memory whose scope has another one that says the same.
pub(super) async fn refuse_twin(ctx: &WriteContext, field: &str, new: &Memory) -> Result<(), Error> {
    let same = ctx.graph.by_content_hashes(std::slice::from_ref(&new.content_hash), &new.scope).await?;
    let Some(same) = same.values().next().filter(|same| **same != new.id) else { return Ok(()) };
    let message = format!("{field}: the memory {same} of this scope says the same");
    Err(Error { field: Some(field.to_owned()), ..Error::new(ErrorCode::Conflict, message) }
        .advise("keep one of them and forget the other"))
}

/// The operation that puts a quarantined memory aside for good; it stays to be looked at.
pub fn kept_out(stored: Memory, at: Timestamp) -> Op {
    let expected_revision = stored.revision;
    let memory = Memory {
        status: Status::Archived,
        retired_at: Some(at),
        revision: stored.revision + 1,
        recorded_at: at,
        ..stored
    };
    Op::PutMemory { memory: Box::new(memory), expected_revision, vectors: Vec::new() }
}

/// The vectors of a memory that is let in.
pub async fn vectors_of(ctx: &WriteContext, memory: &Memory) -> Result<Vec<NamedVector>, Error> {
    let embedded = super::store::embed_again(ctx, std::slice::from_ref(memory)).await?;
    Ok(embedded.into_iter().next().unwrap_or_default())
}

/// The operations by which one memory takes the place of others.
pub fn supersede_ops(survivor: &Memory, others: &[Memory], why: &str, at: Timestamp) -> Vec<Op> {
    let mut ops = Vec::new();
    for other in others {
        let valid_to = Some(survivor.valid_from.unwrap_or(at));
        ops.push(Op::Retire { id: other.id, status: Status::Superseded, valid_to });
        if let Some(scope) = narrower(&survivor.scope, &other.scope) {
            let (from, to, kind) = (survivor.id.0, other.id.0, EdgeKind::Supersedes);
            let reason = Some(why.to_owned());
            ops.push(Op::PutEdge(Edge { from, to, kind, weight: 1.0, reason, scope, recorded_at: at }));
        }
    }
    ops
}

/// The edge from a memory to the one of the same scope that it replaces.
pub fn replaced(newer: MemoryId, older: MemoryId, scope: &Scope, at: Timestamp) -> Op {
    let (from, to, kind) = (newer.0, older.0, EdgeKind::Supersedes);
    let reason = Some("a later revision of the page".to_owned());
    Op::PutEdge(Edge { from, to, kind, weight: 1.0, reason, scope: scope.clone(), recorded_at: at })
}

/// The edge that says that two memories cannot both hold; `None` if nobody sees both.
pub fn contradiction(older: &Memory, newer: &Memory, at: Timestamp) -> Option<Op> {
    let scope = narrower(&older.scope, &newer.scope)?;
    let (from, to, kind) = (newer.id.0, older.id.0, EdgeKind::Contradicts);
    Some(Op::PutEdge(Edge { from, to, kind, weight: 1.0, reason: None, scope, recorded_at: at }))
}

/// A change set for a caller.
pub fn change(ctx: &WriteContext, caller: &Caller, use_case: &str, at: Timestamp, ops: Vec<Op>) -> ChangeSet {
    amend::change(ctx, caller, use_case, at, ops)
}

/// Whoever wrote `memory`, as far as it tells: it reads what its scope lets it read.
fn member_of(memory: &Memory) -> Caller {
    let groups = match &memory.scope {
        Scope::Shared(group) => [group.clone()].into(),
        Scope::Private(_) | Scope::Global => Default::default(),
    };
    let rights = match &memory.scope {
        // A person has agreed to it by now.
        Scope::Global => [Right::MemoryGlobal].into(),
        Scope::Private(_) | Scope::Shared(_) => Default::default(),
    };
    let principal = match &memory.scope {
        Scope::Private(user) => user.clone(),
        Scope::Shared(_) | Scope::Global => memory.user_id.clone(),
    };
    Caller { principal, kind: PrincipalKind::Service, groups, rights, owner: None }
}
