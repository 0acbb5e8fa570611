//! Stores memories: one, or a batch in one transaction.

use std::{collections::HashMap, sync::Arc, time::Duration};

use rayon::prelude::*;
use serde::de::DeserializeOwned;

use super::{
    StoreReply, StoreRequest, StoreState, WriteContext, WriteSettings, decide,
    matching::{self, LastMembers},
    queue, undisturbed,
    validate::{self, Draft},
};
use crate::{
    domain::{
        AsOf, Author, Caller, ChangeId, ChangeSet, EdgeKind, Idempotency, Memory, MemoryId, NamedVector, Op, Outcome,
        Right, RiskFlag, RiskKind, Visibility,
    },
    error::{Error, ErrorCode},
    input,
    ontology::{Action, Violation, Vocabulary},
    ports::{Clock, PortError, PortErrorKind},
    telemetry::timed,
};

/// How long an answer waits for its vectors to be searchable before it says `pending_index`.
const SETTLE: Duration = Duration::from_millis(300);

/// Stores one memory. Durable when it returns.
pub async fn store(ctx: &WriteContext, caller: &Caller, request: StoreRequest) -> Result<StoreReply, Error> {
    let mut replies = store_all(ctx, caller, vec![request]).await?;
    replies.pop().expect("one request has one reply")
}

/// Stores a batch in one transaction; each request has its own reply, in order. The outer error is a store's failure, and
/// then none was stored.
pub async fn store_all(
    ctx: &WriteContext,
    caller: &Caller,
    requests: Vec<StoreRequest>,
) -> Result<Vec<Result<StoreReply, Error>>, Error> {
    input::require(caller, Right::MemoryWrite)?;
    ctx.lexicons.current().await;
    let drafter = Drafter::new(ctx, caller);
    let drafts = tokio::task::spawn_blocking(move || drafter.draft_all(requests))
        .await
        .map_err(|_| Error::new(ErrorCode::Internal, "reading a request failed"))?;
    commit(ctx, caller, drafts).await
}

/// What it takes to make drafts of requests. Blocks: for threads other than the async ones.
pub(super) struct Drafter {
    caller: Caller,
    clock: Arc<dyn Clock>,
    vocabulary: Arc<Vocabulary>,
    settings: WriteSettings,
}

impl Drafter {
    pub fn new(ctx: &WriteContext, caller: &Caller) -> Self {
        let vocabulary = ctx.lexicons.loaded();
        Self { caller: caller.clone(), clock: ctx.clock.clone(), vocabulary, settings: ctx.settings.clone() }
    }

    /// Drafts in the order of `requests`, made on all cores.
    pub fn draft_all(&self, requests: Vec<StoreRequest>) -> Vec<Result<Draft, Error>> {
        let now = self.clock.now();
        // Ids in the order of the requests, whichever thread comes first.
        let with_ids: Vec<(MemoryId, StoreRequest)> =
            requests.into_iter().map(|request| (MemoryId(self.clock.next_id()), request)).collect();
        let draft = |(id, request)| validate::draft(&self.caller, request, id, now, &self.vocabulary, &self.settings);
        with_ids.into_par_iter().map(draft).collect()
    }
}

/// Stores drafts in one transaction, as [`store_all`] says.
pub(super) async fn commit(
    ctx: &WriteContext,
    caller: &Caller,
    given: Vec<Result<Draft, Error>>,
) -> Result<Vec<Result<StoreReply, Error>>, Error> {
    let mut replies: Vec<Option<Result<StoreReply, Error>>> = Vec::with_capacity(given.len());
    let mut places = Vec::with_capacity(given.len());
    let mut asked = Vec::with_capacity(given.len());
    let mut warnings = Vec::new();
    let vocabulary = ctx.lexicons.loaded();
    for (place, draft) in given.into_iter().enumerate() {
        replies.push(match draft {
            Err(error) => Some(Err(error)),
            Ok(draft) if draft.memory.importance < ctx.settings.min_importance => {
                let (importance, least) = (draft.memory.importance, ctx.settings.min_importance);
                let reason = format!("importance {importance} is below the threshold {least}");
                Some(Ok(not_stored(ctx, Outcome::Dropped, reason)))
            }
            Ok(draft) => match ctx.rules.broken_by(&draft.memory, &draft.reading.links, &vocabulary) {
                Some(Violation { what, action: Action::Refuse }) => Some(Ok(not_stored(ctx, Outcome::Refused, what))),
                broken => {
                    let draft = match broken {
                        Some(Violation { what, action: Action::Review }) => {
                            let flag = RiskFlag { kind: RiskKind::BrokenRule, detail: what.clone() };
                            draft.waiting(what, Author::of(caller), Some(flag))
                        }
                        broken => {
                            warnings.extend(broken.map(|broken| (place, broken.what)));
                            draft
                        }
                    };
                    places.push(place);
                    asked.push(Asked { draft, change: ChangeId(ctx.clock.next_id()) });
                    None
                }
            },
        });
    }
    let stored = match queue::behind(ctx).await {
        Some(backlog) => queue::store(ctx, backlog, caller, &asked).await?,
        None => {
            let live = undisturbed!(ctx, write(ctx, caller, &asked));
            match queue::instead(ctx, live.as_ref().err()) {
                Some(backlog) => queue::store(ctx, backlog, caller, &asked).await?,
                None => live?,
            }
        }
    };
    for (place, reply) in places.into_iter().zip(stored) {
        replies[place] = Some(reply);
    }
    for (place, warning) in warnings {
        if let Some(Ok(reply)) = &mut replies[place] {
            let said = reply.reason.take().map(|reason| format!("{reason}; ")).unwrap_or_default();
            reply.reason = Some(format!("{said}{warning}"));
        }
    }
    Ok(replies.into_iter().map(|reply| reply.expect("each request was answered or drafted")).collect())
}

/// A draft and the change that it becomes. The id is the same however often it is tried, so that a try whose end nobody
/// heard of is not done twice.
pub(super) struct Asked {
    pub draft: Draft,
    pub change: ChangeId,
}

async fn write(ctx: &WriteContext, caller: &Caller, asked: &[Asked]) -> Result<Vec<Result<StoreReply, Error>>, Error> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let only: Vec<&Draft> = asked.iter().map(|asked| &asked.draft).collect();
    let vectors = timed("embed", embed(ctx, &only)).await?;
    let turn = ctx.turn().await;
    let pairs: Vec<(&Draft, &[NamedVector])> = only.iter().copied().zip(vectors.iter().map(Vec::as_slice)).collect();
    let known = timed("match", matching::match_all(ctx, caller, &pairs)).await?;
    let at = ctx.clock.now();
    let mut changes = Vec::new();
    let mut replies = Vec::new();
    for ((Asked { draft, change }, known), vectors) in asked.iter().zip(known).zip(vectors) {
        // Asked within the turn, so that the same request sent twice at once is stored once.
        replies.push(match (answered_before(ctx, caller, draft).await?, known) {
            (Some(before), _) => before,
            (None, known) => known.map(|known| {
                let (change, reply) = decide::decide(draft, &known, vectors, *change, at);
                changes.push(change);
                reply
            }),
        });
    }
    super::commit(ctx, turn, changes).await?;
    let state = settled(ctx).await;
    Ok(replies.into_iter().map(|reply| reply.map(|reply| StoreReply { state, ..reply })).collect())
}

/// Waits a moment for the index to take what was written.
pub async fn settle(ctx: &WriteContext) {
    settled(ctx).await;
}

/// [`settle`], and how far it came.
pub(super) async fn settled(ctx: &WriteContext) -> StoreState {
    if timed("settle", ctx.drain.settle(SETTLE)).await { StoreState::Indexed } else { StoreState::PendingIndex }
}

/// The vectors of each draft, before the turn is taken: models are slow. The memory before a turn of a dialogue can change
/// until then; its window vector is a hint, the edge made later is the truth.
pub(super) async fn embed(ctx: &WriteContext, drafts: &[&Draft]) -> Result<Vec<Vec<NamedVector>>, Error> {
    let mut last: LastMembers = if drafts.iter().any(|draft| ctx.vectors.has_window(&draft.memory)) {
        matching::last_members(ctx, drafts).await?
    } else {
        LastMembers::new()
    };
    let ids: Vec<MemoryId> = last.values().copied().collect();
    let stored: HashMap<MemoryId, Memory> = ctx
        .graph
        .memories(&ids, AsOf::default(), &Visibility::system("the turn before, within one scope"))
        .await?
        .into_iter()
        .map(|memory| (memory.id, memory))
        .collect();
    let in_batch: HashMap<MemoryId, &Memory> = drafts.iter().map(|draft| (draft.memory.id, &draft.memory)).collect();
    let memories: Vec<(&Memory, Option<&Memory>)> = drafts
        .iter()
        .map(|draft| {
            let memory = &draft.memory;
            let before = memory.session_id.as_ref().and_then(|session| {
                last.insert((EdgeKind::SameSession, memory.scope.key(), session.clone()), memory.id)
            });
            (memory, before.and_then(|id| in_batch.get(&id).copied().or_else(|| stored.get(&id))))
        })
        .collect();
    Ok(ctx.vectors.embed(&memories).await?)
}

/// The vectors of stored memories, as when they were stored.
pub async fn embed_again(ctx: &WriteContext, memories: &[Memory]) -> Result<Vec<Vec<NamedVector>>, PortError> {
    let mut befores = Vec::with_capacity(memories.len());
    for memory in memories {
        befores.push(if ctx.vectors.has_window(memory) { turn_before(ctx, memory.id).await? } else { None });
    }
    let pairs: Vec<(&Memory, Option<&Memory>)> = memories.iter().zip(befores.iter().map(Option::as_ref)).collect();
    ctx.vectors.embed(&pairs).await
}

/// Notes in which spaces memories have a vector now.
pub async fn note_spaces(ctx: &WriteContext, spaces: Vec<(MemoryId, Vec<String>)>) -> Result<(), PortError> {
    let ops: Vec<Op> = spaces.into_iter().map(|(id, spaces)| Op::SetSpaces { id, spaces }).collect();
    if ops.is_empty() {
        return Ok(());
    }
    let (id, at) = (ChangeId(ctx.clock.next_id()), ctx.clock.now());
    let (actor, use_case) = ("system".to_owned(), "reindex".to_owned());
    ctx.graph.apply(&[ChangeSet { id, at, actor, use_case, reason: None, ops, idempotency: None }]).await.map(drop)
}

/// The memory before `id` in its session.
pub(super) async fn turn_before(ctx: &WriteContext, id: MemoryId) -> Result<Option<Memory>, PortError> {
    const EDGES: usize = 1000;
    let visibility = Visibility::system("the turn before, within one scope");
    let edges = ctx.graph.edges_of(id.0, EDGES, &visibility).await?;
    let Some(edge) = edges.into_iter().find(|edge| edge.kind == EdgeKind::SameSession && edge.from == id.0) else {
        return Ok(None);
    };
    Ok(ctx.graph.memories(&[MemoryId(edge.to)], AsOf::default(), &visibility).await?.into_iter().next())
}

async fn answered_before(
    ctx: &WriteContext,
    caller: &Caller,
    draft: &Draft,
) -> Result<Option<Result<StoreReply, Error>>, Error> {
    let Some(key) = &draft.idempotency_key else { return Ok(None) };
    match answer_under(ctx, caller, key, &draft.request_hash).await {
        Ok(before) => Ok(before.map(Ok)),
        Err(reused) if reused.code == ErrorCode::IdempotencyKeyReused => Ok(Some(Err(reused))),
        Err(failed) => Err(failed),
    }
}

/// What was answered to this caller under `key`, if this request came before; another request under it is an error.
pub async fn answer_under<T: DeserializeOwned>(
    ctx: &WriteContext,
    caller: &Caller,
    key: &str,
    request_hash: &str,
) -> Result<Option<T>, Error> {
    let Some(recorded) = ctx.graph.recorded(&caller.principal, key).await? else { return Ok(None) };
    answer_of(recorded.idempotency, request_hash).map(Some)
}

/// The hash by which two requests are known to be one.
pub fn hash_of_json(request: &impl serde::Serialize) -> String {
    let json = serde_json::to_string(request).expect("a request of strings and numbers is JSON");
    crate::text::content_hash(None, &json, None)
}

/// What was answered, if it was to this request; another request under its key is an error.
pub(super) fn answer_of<T: DeserializeOwned>(before: Idempotency, request_hash: &str) -> Result<T, Error> {
    if before.request_hash != request_hash {
        let message = "idempotency_key: was used for another request";
        return Err(Error {
            field: Some("idempotency_key".into()),
            ..Error::new(ErrorCode::IdempotencyKeyReused, message).advise("use a new key for a new request")
        });
    }
    let reply = serde_json::from_value(before.answer)
        .map_err(|error| PortError::new(PortErrorKind::Corrupt, "graph store", "read a recorded answer", error))?;
    Ok(reply)
}

fn not_stored(ctx: &WriteContext, outcome: Outcome, reason: String) -> StoreReply {
    StoreReply {
        id: None,
        outcome: outcome.name().to_owned(),
        state: StoreState::Indexed,
        links: Vec::new(),
        superseded: Vec::new(),
        redactions: Vec::new(),
        reason: Some(reason),
        review_id: None,
        operation_id: ctx.clock.next_id().to_string(),
    }
}
