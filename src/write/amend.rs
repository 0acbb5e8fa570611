//! Changes what is stored: update, forget, link.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use super::{
    ForgetReply, ForgetRequest, LinkReply, LinkRequest, Turn, UpdateRequest, WriteContext, decide,
    matching::{self, Named, about, named, require_alter},
    review::{kept_out, refuse_twin},
    store::{embed_again, settled},
    undisturbed,
    validate::{self, CONTEXT_BYTES, NAME_BYTES, REFERENCES_MAX, Review},
};
use crate::{
    domain::{
        AsOf, Author, Caller, ChangeId, ChangeSet, Edge, EdgeKind, Forgetting, Memory, MemoryId, Mover, NamedVector,
        Op, PrincipalKind, Proposal, ProposalId, ProposalState, Right, Status, Subject, Updated, Visibility,
    },
    error::{Error, ErrorCode},
    input, ontology,
    ports::QueueQuery,
    text,
};

/// What an update made of a memory.
pub struct Update {
    /// The memory as it is now.
    pub memory: Memory,
    /// Whether the request said anything new: if not, no revision is made.
    pub changed: bool,
    /// The proposal under which its new text waits for a person; until then the memory says what it said.
    pub waits: Option<ProposalId>,
}

/// Changes fields of a memory; the earlier revision is kept as history.
pub async fn update(ctx: &WriteContext, caller: &Caller, request: UpdateRequest) -> Result<Update, Error> {
    input::require(caller, Right::MemoryWrite)?;
    let id = input::memory_id("id", &request.id)?;
    undisturbed!(ctx, update_once(ctx, caller, id, request.clone()))
}

async fn update_once(
    ctx: &WriteContext,
    caller: &Caller,
    id: MemoryId,
    request: UpdateRequest,
) -> Result<Update, Error> {
    let turn = ctx.turn().await;
    let old = one(ctx, caller, "id", id).await?;
    require_alter(caller, &old)?;
    if let Some(expected) = request.expected_revision
        && u64::try_from(expected).ok() != Some(old.revision)
    {
        let message = format!("expected_revision: the stored revision is {}", old.revision);
        return Err(Error { field: Some("expected_revision".into()), ..Error::new(ErrorCode::Conflict, message) }
            .advise("read the memory again and repeat the change"));
    }
    let new = amended(&old, request, ctx.settings.max_content_bytes)?;
    if new == old {
        return Ok(Update { memory: old, changed: false, waits: None });
    }
    if new.status == Status::Active {
        refuse_twin(ctx, "content", &new).await?;
    }
    if old.status != Status::Quarantined
        && texts(&old) != texts(&new)
        && let Some(why) = validate::quarantined(&new, &ctx.settings)
    {
        return ask_first(ctx, caller, turn, old, new, why).await;
    }
    // What waits for a person is in no index.
    let vectors = if new.status == Status::Quarantined {
        Vec::new()
    } else {
        embed_again(ctx, std::slice::from_ref(&new)).await?.pop().expect("one memory has one set of vectors")
    };
    let (reading, new) = matching::read(ctx, vec![new]).await?.pop().expect("one memory is read");
    let at = ctx.clock.now();
    let new = Memory {
        spaces: vectors.iter().map(|vector| vector.space.clone()).collect(),
        recorded_at: at,
        revision: old.revision + 1,
        ..new
    };
    let named = named(ctx, caller, &[(&new, &reading)]).await?.pop().unwrap_or_default();
    let ops = put_again(old.revision, &new, vectors, &named, at);
    super::commit(ctx, turn, vec![change(ctx, caller, "update", at, ops)]).await?;
    settled(ctx).await;
    Ok(Update { memory: new, changed: true, waits: None })
}

/// What an update may say, as far as it is text.
fn texts(memory: &Memory) -> (&str, Option<&str>, Option<&str>, &str) {
    (&memory.content, memory.title.as_deref(), memory.context.as_deref(), &memory.summary)
}

/// `known` with everything that an update can change as `text` has it.
pub(super) fn carried(text: &Memory, known: &Memory) -> Memory {
    let text = text.clone();
    Memory {
        content: text.content,
        title: text.title,
        context: text.context,
        summary: text.summary,
        language: text.language,
        tags: text.tags,
        importance: text.importance,
        confidence: text.confidence,
        kind: text.kind,
        memory_type: text.memory_type,
        occurred_at: text.occurred_at,
        valid_from: text.valid_from,
        valid_to: text.valid_to,
        content_hash: text.content_hash,
        terms: text.terms,
        ..known.clone()
    }
}

/// Puts what an update says into quarantine.
async fn ask_first(
    ctx: &WriteContext,
    caller: &Caller,
    turn: Turn,
    old: Memory,
    new: Memory,
    why: String,
) -> Result<Update, Error> {
    let at = ctx.clock.now();
    let review = Review { why, author: Author::of(caller), flags: Vec::new() };
    let (ops, waits) = waiting_ops(ctx, &old, new, review, at).await?;
    if !ops.is_empty() {
        super::commit(ctx, turn, vec![change(ctx, caller, "update", at, ops)]).await?;
    }
    Ok(Update { memory: old, changed: true, waits: Some(waits) })
}

/// The operations that keep what an update says as a memory of its own, which waits to be written over the one that is known,
/// and the proposal. What the same author wanted to write there before gives way; the same again is asked once.
pub(super) async fn waiting_ops(
    ctx: &WriteContext,
    old: &Memory,
    new: Memory,
    review: Review,
    at: Timestamp,
) -> Result<(Vec<Op>, ProposalId), Error> {
    let Review { why, author, flags } = review;
    let visibility = Visibility::system("whether the same update waits already");
    let query = QueueQuery {
        states: ProposalState::open(),
        of: Some(old.id.0),
        author: Some(author.name.clone()),
        ..QueueQuery::default()
    };
    let id = ProposalId(ctx.clock.next_id());
    let mut ops = Vec::new();
    for open in ctx.reviews.queue(&query, None, REFERENCES_MAX, &visibility).await? {
        let Subject::MemoryQuarantine { memory, updates: Some(updated), .. } = &open.subject else { continue };
        let waiting = ctx.graph.memories(&[*memory], AsOf::default(), &visibility).await?.into_iter().next();
        if updated.revision == old.revision && waiting.as_ref().is_some_and(|waiting| carried(waiting, old) == new) {
            return Ok((Vec::new(), open.id));
        }
        let (version, why) = (open.version, format!("replaced by {id}"));
        let mover = Mover { by: &author.name, at, why: Some(&why) };
        let gone = open.superseded(mover).expect("an open proposal can be replaced");
        ops.extend(waiting.map(|waiting| kept_out(waiting, at)));
        ops.push(gone.put(version));
    }
    let waiting = Memory {
        id: MemoryId(ctx.clock.next_id()),
        external_id: None,
        session_id: None,
        task_id: None,
        provenance: vec![old.id.0],
        user_id: author.name.clone(),
        agent_id: (author.kind == PrincipalKind::Agent).then(|| author.name.clone()),
        status: Status::Quarantined,
        recorded_at: at,
        access_count: 0,
        last_accessed: None,
        useful: 0,
        not_useful: 0,
        revision: 1,
        spaces: Vec::new(),
        ..new
    };
    let subject = Subject::MemoryQuarantine {
        memory: waiting.id,
        causes: Vec::new(),
        caused_by: Vec::new(),
        supersedes: Vec::new(),
        updates: Some(Updated { memory: old.id, revision: old.revision }),
    };
    let opened = Proposal::open(id, subject, &old.scope, author, waiting.content_hash.clone(), at);
    let opened = Proposal { rationale: Some(why), flags, ..opened };
    ops.push(Op::PutMemory { memory: Box::new(waiting), expected_revision: 0, vectors: Vec::new() });
    ops.push(opened.put(0));
    Ok((ops, id))
}

/// Puts `new` in the place of the stored revision, with what it names now.
pub(super) fn put_again(
    expected_revision: u64,
    new: &Memory,
    vectors: Vec<NamedVector>,
    named: &Named,
    at: Timestamp,
) -> Vec<Op> {
    let mut ops = vec![
        Op::PutMemory { memory: Box::new(new.clone()), expected_revision, vectors },
        Op::DropEdges { from: new.id.0, kinds: vec![EdgeKind::About, EdgeKind::Mentions] },
    ];
    ops.extend(decide::concept_ops(new.id, &new.scope, &about(new.title.as_deref()), &named.mentions, at));
    ops.extend(ontology::link_ops(new.id, &new.scope, &named.links, at));
    ops.extend(decide::mention_ops(&named.by, at));
    ops
}

/// Forgets memories, all or none.
pub async fn forget(ctx: &WriteContext, caller: &Caller, request: ForgetRequest) -> Result<ForgetReply, Error> {
    input::require(caller, Right::MemoryForget)?;
    let strategy = input::optional_name("strategy", request.strategy.as_deref())?.unwrap_or(Forgetting::Delete);
    let reason = input::optional_text("reason", request.reason, CONTEXT_BYTES)?;
    let mut ids = input::memory_ids("ids", &request.ids, REFERENCES_MAX)?;
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Err(Error::bad_input("ids", "at least one id is needed"));
    }
    undisturbed!(ctx, forget_once(ctx, caller, &ids, strategy, reason.clone()))
}

async fn forget_once(
    ctx: &WriteContext,
    caller: &Caller,
    ids: &[MemoryId],
    strategy: Forgetting,
    reason: Option<String>,
) -> Result<ForgetReply, Error> {
    let turn = ctx.turn().await;
    let memories = ctx.graph.memories(ids, AsOf::default(), &caller.visibility()).await?;
    if let Some(missing) = ids.iter().find(|id| memories.iter().all(|memory| memory.id != **id)) {
        return Err(ctx.not_there("ids", *missing));
    }
    for memory in &memories {
        require_alter(caller, memory)?;
    }
    let at = ctx.clock.now();
    // A summary says in the same words what it sums up, so it is a copy.
    let copies = if strategy == Forgetting::Delete { summaries_of(ctx, ids).await? } else { Vec::new() };
    let copies = copies.into_iter().map(|id| Op::Forget { id });
    let ops = memories.into_iter().map(|memory| match strategy {
        Forgetting::Delete => Op::Forget { id: memory.id },
        Forgetting::Archive => Op::Retire { id: memory.id, status: Status::Archived, valid_to: None },
        Forgetting::Decay => Op::PutMemory {
            expected_revision: memory.revision,
            memory: Box::new(Memory {
                importance: memory.importance / 2.0,
                confidence: memory.confidence / 2.0,
                revision: memory.revision + 1,
                ..memory
            }),
            // Nothing of this is in the index.
            vectors: Vec::new(),
        },
    });
    let change = ChangeSet { reason, ..change(ctx, caller, "forget", at, ops.chain(copies).collect()) };
    let operation_id = change.id.to_string();
    super::commit(ctx, turn, vec![change]).await?;
    settled(ctx).await;
    let forgotten = i64::try_from(ids.len()).expect("at most a hundred");
    Ok(ForgetReply { forgotten, strategy: strategy.name().to_owned(), operation_id })
}

/// The session summaries that were made from these memories, whoever made them.
async fn summaries_of(ctx: &WriteContext, ids: &[MemoryId]) -> Result<Vec<MemoryId>, Error> {
    const EDGES: usize = 1000;
    let visibility = Visibility::system("forgetting reaches every copy");
    let mut derived = BTreeSet::new();
    for id in ids {
        let edges = ctx.graph.edges_of(id.0, EDGES, &visibility).await?;
        let from = edges.into_iter().filter(|edge| edge.kind == EdgeKind::DerivedFrom && edge.to == id.0);
        derived.extend(from.map(|edge| MemoryId(edge.from)).filter(|from| !ids.contains(from)));
    }
    let derived: Vec<MemoryId> = derived.into_iter().collect();
    let memories = ctx.graph.memories(&derived, AsOf::default(), &visibility).await?;
    Ok(memories.into_iter().filter(Memory::is_session_summary).map(|memory| memory.id).collect())
}

/// Makes an edge between two memories.
pub async fn link(ctx: &WriteContext, caller: &Caller, request: LinkRequest) -> Result<LinkReply, Error> {
    link_all(ctx, caller, vec![request]).await?.pop().expect("one request has one reply")
}

/// Makes edges in one transaction; each request has its own reply, in order. The outer error is a store's failure, and
/// then none was made.
pub async fn link_all(
    ctx: &WriteContext,
    caller: &Caller,
    requests: Vec<LinkRequest>,
) -> Result<Vec<Result<LinkReply, Error>>, Error> {
    input::require(caller, Right::MemoryWrite)?;
    let turn = ctx.turn().await;
    let ids: BTreeSet<MemoryId> = requests
        .iter()
        .flat_map(|request| [&request.from, &request.to])
        .filter_map(|id| id.trim().parse().ok())
        .collect();
    let ids: Vec<MemoryId> = ids.into_iter().collect();
    let memories: HashMap<MemoryId, Memory> = ctx
        .graph
        .memories(&ids, AsOf::default(), &caller.visibility())
        .await?
        .into_iter()
        .map(|memory| (memory.id, memory))
        .collect();
    let at = ctx.clock.now();
    let mut changes = Vec::new();
    let mut replies = Vec::new();
    for request in requests {
        replies.push(link_ops(ctx, caller, &request, &memories, at).map(|(ops, reason)| {
            let change = ChangeSet { reason, ..change(ctx, caller, "link", at, ops) };
            let reply = LinkReply {
                from: request.from,
                to: request.to,
                edge: request.edge,
                operation_id: change.id.to_string(),
            };
            changes.push(change);
            reply
        }));
    }
    super::commit(ctx, turn, changes).await?;
    settled(ctx).await;
    Ok(replies)
}

/// What a link writes, and its reason.
fn link_ops(
    ctx: &WriteContext,
    caller: &Caller,
    request: &LinkRequest,
    memories: &HashMap<MemoryId, Memory>,
    at: Timestamp,
) -> Result<(Vec<Op>, Option<String>), Error> {
    let from = input::memory_id("from", &request.from)?;
    let to = input::memory_id("to", &request.to)?;
    let kind: EdgeKind = input::name("edge", &request.edge)?;
    if !matches!(kind, EdgeKind::Causes | EdgeKind::Supersedes | EdgeKind::Supplements) {
        return Err(Error::bad_input("edge", "expected one of CAUSES, SUPERSEDES, SUPPLEMENTS"));
    }
    if from == to {
        return Err(Error::bad_input("to", "must be another memory than from"));
    }
    let reason = input::optional_text("reason", request.reason.clone(), NAME_BYTES)?;
    let source = memories.get(&from).ok_or_else(|| ctx.not_there("from", from))?;
    let target = memories.get(&to).ok_or_else(|| ctx.not_there("to", to))?;
    require_alter(caller, source)?;
    let scope = decide::narrower(&source.scope, &target.scope)
        .ok_or_else(|| Error::bad_input("to", "no reader could see both memories"))?;
    let mut ops = Vec::new();
    if kind == EdgeKind::Supersedes {
        require_alter(caller, target)?;
        if source.status != Status::Active {
            return Err(Error::bad_input("from", "is itself no longer in force, so it replaces nothing"));
        }
        ops.push(Op::Retire { id: to, status: Status::Superseded, valid_to: Some(source.valid_from.unwrap_or(at)) });
    }
    let edge = Edge { from: from.0, to: to.0, kind, weight: 1.0, reason: reason.clone(), scope, recorded_at: at };
    ops.push(Op::PutEdge(edge));
    Ok((ops, reason))
}

pub(super) fn change(ctx: &WriteContext, caller: &Caller, use_case: &str, at: Timestamp, ops: Vec<Op>) -> ChangeSet {
    let id = ChangeId(ctx.clock.next_id());
    let (actor, use_case) = (caller.principal.clone(), use_case.to_owned());
    ChangeSet { id, at, actor, use_case, reason: None, ops, idempotency: None }
}

pub(super) async fn one(ctx: &WriteContext, caller: &Caller, field: &str, id: MemoryId) -> Result<Memory, Error> {
    let found = ctx.graph.memories(&[id], AsOf::default(), &caller.visibility()).await?;
    found.into_iter().next().ok_or_else(|| ctx.not_there(field, id))
}

fn amended(old: &Memory, request: UpdateRequest, max_content_bytes: usize) -> Result<Memory, Error> {
    let mut new = old.clone();
    if let Some(content) = request.content {
        new.content = input::text("content", content, max_content_bytes)?;
        new.summary = text::summary(&new.content, Memory::SUMMARY_CHARS);
        new.language = text::language(&new.content);
    }
    if let Some(title) = request.title {
        new.title = input::optional_text("title", Some(title), NAME_BYTES)?;
    }
    if let Some(context) = request.context {
        new.context = input::optional_text("context", Some(context), CONTEXT_BYTES)?;
    }
    if let Some(summary) = request.summary {
        new.summary = text::summary(&input::text("summary", summary, CONTEXT_BYTES)?, Memory::SUMMARY_CHARS);
    }
    if let Some(tags) = request.tags {
        new.tags = validate::tags(tags)?;
    }
    if let Some(importance) = request.importance {
        new.importance = input::share("importance", importance)?;
    }
    if let Some(confidence) = request.confidence {
        new.confidence = input::share("confidence", confidence)?;
    }
    if let Some(kind) = request.kind {
        new.kind = input::name("kind", &kind)?;
    }
    if let Some(memory_type) = request.r#type {
        new.memory_type = input::name("type", &memory_type)?;
    }
    if let Some(at) = request.occurred_at {
        new.occurred_at = input::time("occurred_at", &at)?;
    }
    if let Some(from) = request.valid_from {
        new.valid_from = Some(input::time("valid_from", &from)?);
    }
    if let Some(to) = request.valid_to {
        new.valid_to = Some(input::time("valid_to", &to)?);
    }
    if let (Some(from), Some(to)) = (new.valid_from, new.valid_to)
        && from >= to
    {
        return Err(Error::bad_input("valid_to", "must be after valid_from"));
    }
    new.content_hash = validate::hash_of(&new);
    new.terms = validate::terms_of(&new);
    Ok(new)
}
