//! What a write does while the graph store is away: it waits in the journal; and how it is written when the store is back.
//!
//! Accepted are writes that need to know nothing of the others: a memory without references, and an event that is not the
//! end of a session. They are embedded and decided as if nothing else were known, and decided again when they are written
//! ([`replay`]), so that what the graph knows by then holds: the same content refreshes, a known external id updates,
//! chains go on at their end. Everything else has to read first and is refused as `UNAVAILABLE`.

use std::collections::HashMap;

use jiff::Timestamp;

use super::{
    ObserveReply, StoreReply, StoreState, WriteContext, amend, decide, matching,
    matching::Reading,
    observe::{self, Made},
    store::{Asked, answer_of, embed},
    undisturbed,
    validate::{Draft, Review},
};
use crate::{
    domain::{
        AsOf, Author, Caller, ChangeSet, Event, EventKind, Idempotency, Memory, NamedVector, Op, Outcome,
        PrincipalKind, Proposal, Record, Scope, Subject, Visibility,
    },
    error::{Error, ErrorCode},
    jobs::Backlog,
    ontology::Vocabulary,
    telemetry::timed,
};

/// Why a write waits, for its reply.
const WAITS: &str =
    "the graph store is away; it is written when the store is back, or refreshes what says the same by then";

/// The journal, if earlier writes wait in it: then later ones wait behind them.
pub(super) async fn behind(ctx: &WriteContext) -> Option<&Backlog> {
    let backlog = ctx.backlog.as_deref()?;
    backlog.any_to_wait_behind().await.then_some(backlog)
}

/// The journal, if a write failed because the graph store is away.
pub(super) fn instead<'a>(ctx: &'a WriteContext, error: Option<&Error>) -> Option<&'a Backlog> {
    let error = error.filter(|error| matches!(error.code, ErrorCode::Unavailable | ErrorCode::Timeout))?;
    let backlog = ctx.backlog.as_deref()?;
    tracing::warn!(source = error.source.as_ref().map(tracing::field::display), "a write goes to the journal: {error}");
    Some(backlog)
}

/// Stores drafts in the journal; those that refer to others are refused.
pub(super) async fn store(
    ctx: &WriteContext,
    backlog: &Backlog,
    caller: &Caller,
    asked: &[Asked],
) -> Result<Vec<Result<StoreReply, Error>>, Error> {
    let memories: Vec<(&Memory, Option<&Memory>)> = asked.iter().map(|asked| (&asked.draft.memory, None)).collect();
    let vectors = timed("embed", ctx.vectors.embed(&memories)).await?;
    let _turn = backlog.turn().await;
    let at = ctx.clock.now();
    let mut changes = Vec::new();
    let mut replies = Vec::new();
    for (Asked { draft, change }, vectors) in asked.iter().zip(vectors) {
        let key = draft.idempotency_key.as_deref().map(|key| (key, draft.request_hash.as_str()));
        let before = check_references(draft).and_then(|()| answered(backlog, caller, key));
        replies.push(before.map(|before| {
            before.unwrap_or_else(|| {
                let (mut change, reply) = decide::decide(draft, &matching::unseen(draft), vectors, *change, at);
                let reply = waits(reply);
                if let Some(idempotency) = &mut change.idempotency {
                    idempotency.answer = serde_json::to_value(&reply).expect("a reply of strings is JSON");
                }
                changes.push(change);
                reply
            })
        }));
    }
    if !changes.is_empty() {
        backlog.append(&changes).await?;
    }
    Ok(replies)
}

/// Keeps an event, and the memory that it makes, in the journal.
pub(super) async fn observe(
    ctx: &WriteContext,
    backlog: &Backlog,
    caller: &Caller,
    asked: &observe::Asked,
) -> Result<ObserveReply, Error> {
    if asked.event.kind == EventKind::SessionEnded {
        return Err(away("event", "session_ended sums up what is stored, and the graph store is away"));
    }
    let lesson = observe::lesson(&asked.event, ctx.settings.default_importance.into());
    let draft = lesson.map(|lesson| observe::draft(ctx, caller, asked, &lesson)).transpose()?;
    let draft = draft.filter(|draft| draft.memory.importance >= ctx.settings.min_importance);
    let vectors = match &draft {
        Some(draft) => ctx.vectors.embed(&[(&draft.memory, None)]).await?.pop().expect("one memory has its vectors"),
        None => Vec::new(),
    };
    let _turn = backlog.turn().await;
    let key = asked.key.as_deref().map(|key| (key, asked.request_hash.as_str()));
    if let Some(before) = answered(backlog, caller, key)? {
        return Ok(before);
    }
    let (id, at) = (asked.change(ctx), ctx.clock.now());
    let made = draft.map(|draft| {
        let (change, reply) = decide::decide(&draft, &matching::unseen(&draft), vectors, id, at);
        Made { ops: change.ops, reply: waits(reply), kind: draft.memory.kind, memory_type: draft.memory.memory_type }
    });
    let event = Event { recorded_at: at, ..asked.event.clone() };
    let (change, reply) = observe::kept(event, made, id, at, key, StoreState::Queued);
    backlog.append(&[change]).await?;
    Ok(reply)
}

/// Writes what waited, in order. Each change keeps its id, so one that was written before, or whose end nobody heard of,
/// is not written twice.
pub async fn replay(ctx: &WriteContext, changes: &[ChangeSet]) -> Result<(), Error> {
    for run in runs(changes) {
        let prepared = prepare(ctx, &run).await?;
        undisturbed!(ctx, write(ctx, &run, &prepared))?;
    }
    ctx.drain.wake();
    Ok(())
}

fn waits(reply: StoreReply) -> StoreReply {
    let (outcome, reason) = (Outcome::Queued.name().to_owned(), Some(WAITS.to_owned()));
    StoreReply { outcome, reason, state: StoreState::Queued, ..reply }
}

fn away(field: &str, what: &str) -> Error {
    let message = format!("{field}: {what}");
    Error { field: Some(field.to_owned()), ..Error::new(ErrorCode::Unavailable, message) }.advise("try again soon")
}

fn check_references(draft: &Draft) -> Result<(), Error> {
    let fields = [("causes", &draft.causes), ("caused_by", &draft.caused_by), ("supersedes", &draft.supersedes)];
    match fields.into_iter().find(|(_, ids)| !ids.is_empty()) {
        Some((field, _)) => Err(away(field, "cannot be looked up while the graph store is away")),
        None => Ok(()),
    }
}

/// What was answered to this request while it waits, given its key and hash; another request under the key is an error.
fn answered<T: serde::de::DeserializeOwned>(
    backlog: &Backlog,
    caller: &Caller,
    key: Option<(&str, &str)>,
) -> Result<Option<T>, Error> {
    let Some((key, request_hash)) = key else { return Ok(None) };
    let before = backlog.answered(&caller.principal, key);
    before.map(|before| answer_of(before, request_hash)).transpose()
}

/// Changes in one scope by one principal; between runs in one scope the order stays.
fn runs(changes: &[ChangeSet]) -> Vec<Vec<&ChangeSet>> {
    let mut runs: Vec<Vec<&ChangeSet>> = Vec::new();
    let mut last: HashMap<Option<&Scope>, usize> = HashMap::new();
    for change in changes {
        let scope = scope_of(change);
        match last.get(&scope).filter(|place| runs[**place][0].actor == change.actor) {
            Some(place) => runs[*place].push(change),
            None => {
                last.insert(scope, runs.len());
                runs.push(vec![change]);
            }
        }
    }
    runs
}

fn scope_of(change: &ChangeSet) -> Option<&Scope> {
    change.ops.iter().find_map(|op| match op {
        Op::PutMemory { memory, .. } => Some(&memory.scope),
        Op::PutEvent(event) => Some(&event.scope),
        _ => None,
    })
}

/// What a waiting change is made of: the draft it was decided from, with its vectors, and the event.
struct Waiting {
    draft: Option<(Draft, Vec<NamedVector>)>,
    event: Option<Event>,
}

async fn prepare(ctx: &WriteContext, run: &[&ChangeSet]) -> Result<Vec<Waiting>, Error> {
    let changes: Vec<ChangeSet> = run.iter().map(|change| (*change).clone()).collect();
    let vocabulary = ctx.lexicons.current().await;
    let taken = move || changes.into_iter().map(|change| taken_apart(change, &vocabulary)).collect();
    let mut waiting: Vec<Waiting> = tokio::task::spawn_blocking(taken)
        .await
        .map_err(|_| Error::new(ErrorCode::Internal, "reading a journal entry failed"))?;
    // A turn of a dialogue is also embedded with the turn before it, which could not be read then.
    let with_window = |draft: &Draft| ctx.vectors.has_window(&draft.memory);
    let mut turns: Vec<&mut (Draft, Vec<NamedVector>)> =
        waiting.iter_mut().filter_map(|it| it.draft.as_mut()).filter(|(draft, _)| with_window(draft)).collect();
    let drafts: Vec<&Draft> = turns.iter().map(|turn| &turn.0).collect();
    if !drafts.is_empty() {
        let vectors = embed(ctx, &drafts).await?;
        turns.iter_mut().zip(vectors).for_each(|(turn, vectors)| turn.1 = vectors);
    }
    Ok(waiting)
}

fn taken_apart(change: ChangeSet, vocabulary: &Vocabulary) -> Waiting {
    let (mut draft, mut event): (Option<(Draft, Vec<NamedVector>)>, _) = (None, None);
    let (key, request_hash) = change.idempotency.map(|it| (it.key, it.request_hash)).unzip();
    for op in change.ops {
        match op {
            Op::PutMemory { memory, vectors, .. } => {
                let new = Draft {
                    reading: Reading::of(memory.title.as_deref(), &memory.content, vocabulary),
                    memory: *memory,
                    causes: Vec::new(),
                    caused_by: Vec::new(),
                    supersedes: Vec::new(),
                    idempotency_key: key.clone(),
                    request_hash: request_hash.clone().unwrap_or_default(),
                    review: None,
                };
                draft = Some((new, vectors));
            }
            Op::PutEvent(kept) => event = Some(kept),
            Op::PutRecord { record, .. } => {
                if let (Record::Proposal(proposal), Some((draft, _))) = (*record, &mut draft) {
                    asked_for_review(draft, proposal);
                }
            }
            _ => {}
        }
    }
    Waiting { draft, event }
}

async fn write(ctx: &WriteContext, run: &[&ChangeSet], waiting: &[Waiting]) -> Result<(), Error> {
    let writer = writer(run[0]);
    let turn = ctx.turn().await;
    let drafts: Vec<&Draft> = waiting.iter().filter_map(|it| it.draft.as_ref()).map(|(draft, _)| draft).collect();
    let known_names = known_names(ctx, &drafts).await?;
    let pairs: Vec<(&Draft, &[NamedVector])> = waiting
        .iter()
        .filter_map(|it| it.draft.as_ref())
        .filter(|(draft, _)| !known_names.contains_key(&draft.memory.id))
        .map(|(draft, vectors)| (draft, vectors.as_slice()))
        .collect();
    let mut met = timed("match", matching::match_all(ctx, &writer, &pairs)).await?.into_iter();
    let at = ctx.clock.now();
    let mut changes = Vec::new();
    for (change, Waiting { draft, event }) in run.iter().zip(waiting) {
        let decided = match draft {
            None => None,
            Some((draft, vectors)) => Some(match known_names.get(&draft.memory.id) {
                Some(old) => update(ctx, &writer, change, draft, vectors, old, at).await?,
                None => {
                    let known = met.next().expect("each draft was matched")?;
                    let (change, reply) = decide::decide(draft, &known, vectors.clone(), change.id, at);
                    (change.ops, reply)
                }
            }),
        };
        let Some(key) = key_of(ctx, change).await? else { continue };
        let key = key.map(|it| (it.key.as_str(), it.request_hash.as_str()));
        let new = match (decided, event) {
            (decided, Some(event)) => {
                let made = decided.zip(draft.as_ref()).map(|((ops, reply), (draft, _))| {
                    let (kind, memory_type) = (draft.memory.kind, draft.memory.memory_type);
                    Made { ops, reply, kind, memory_type }
                });
                observe::kept(event.clone(), made, change.id, at, key, StoreState::PendingIndex).0
            }
            (Some((ops, reply)), None) => {
                let answer = serde_json::to_value(&reply).expect("a reply of strings is JSON");
                let idempotency =
                    key.map(|(key, hash)| Idempotency { key: key.to_owned(), request_hash: hash.to_owned(), answer });
                ChangeSet { at, ops, idempotency, ..(*change).clone() }
            }
            (None, None) => (*change).clone(),
        };
        changes.push(new);
    }
    super::commit(ctx, turn, changes).await
}

/// Who wrote, as far as the change tells: whoever wrote to a group was a member of it.
fn writer(change: &ChangeSet) -> Caller {
    let groups = match scope_of(change) {
        Some(Scope::Shared(group)) => [group.clone()].into(),
        _ => Default::default(),
    };
    Caller {
        principal: change.actor.clone(),
        kind: PrincipalKind::Service,
        groups,
        rights: Default::default(),
        owner: None,
    }
}

/// By the drafts' ids, the memories that have their external ids and say something else.
async fn known_names(ctx: &WriteContext, drafts: &[&Draft]) -> Result<HashMap<crate::domain::MemoryId, Memory>, Error> {
    let taken = matching::taken_names(ctx, drafts).await?;
    let mut known = HashMap::new();
    for draft in drafts {
        let Some(name) = &draft.memory.external_id else { continue };
        let Some(id) = taken.get(&(draft.memory.scope.key(), name.clone())) else { continue };
        let visibility = Visibility::only(&draft.memory.scope);
        let old = ctx.graph.memories(&[*id], AsOf::default(), &visibility).await?;
        let old = old.into_iter().find(|old| old.id != draft.memory.id);
        known.extend(old.filter(|old| old.content_hash != draft.memory.content_hash).map(|old| (draft.memory.id, old)));
    }
    Ok(known)
}

/// Brings a memory to what was said under its external id.
async fn update(
    ctx: &WriteContext,
    writer: &Caller,
    change: &ChangeSet,
    draft: &Draft,
    vectors: &[NamedVector],
    old: &Memory,
    at: Timestamp,
) -> Result<(Vec<Op>, StoreReply), Error> {
    if let Some(review) = &draft.review {
        let new = amend::carried(&draft.memory, old);
        let (ops, waits) = amend::waiting_ops(ctx, old, new, review.clone(), at).await?;
        let reply = StoreReply {
            outcome: Outcome::Quarantined.name().to_owned(),
            reason: Some(review.why.clone()),
            review_id: Some(waits.to_string()),
            ..rewritten(old, change)
        };
        return Ok((ops, reply));
    }
    let new = Memory {
        id: old.id,
        session_id: old.session_id.clone(),
        task_id: old.task_id.clone(),
        speaker: old.speaker.clone(),
        status: old.status,
        retired_at: old.retired_at,
        access_count: old.access_count,
        last_accessed: old.last_accessed,
        useful: old.useful,
        not_useful: old.not_useful,
        revision: old.revision + 1,
        recorded_at: at,
        spaces: vectors.iter().map(|vector| vector.space.clone()).collect(),
        ..draft.memory.clone()
    };
    let named = matching::named(ctx, writer, &[(&new, &draft.reading)]).await?.pop().unwrap_or_default();
    let ops = amend::put_again(old.revision, &new, vectors.to_vec(), &named, at);
    Ok((ops, rewritten(old, change)))
}

fn rewritten(old: &Memory, change: &ChangeSet) -> StoreReply {
    StoreReply {
        id: Some(old.id.to_string()),
        outcome: Outcome::Refreshed.name().to_owned(),
        state: StoreState::PendingIndex,
        links: Vec::new(),
        superseded: Vec::new(),
        redactions: Vec::new(),
        reason: Some("the external id was known; the memory says this now".to_owned()),
        review_id: None,
        operation_id: change.id.to_string(),
    }
}

/// The key to write a change under; the outer `None` if it was written before, by itself or by the same request sent to
/// another process.
async fn key_of<'a>(ctx: &WriteContext, change: &'a ChangeSet) -> Result<Option<Option<&'a Idempotency>>, Error> {
    let Some(idempotency) = &change.idempotency else { return Ok(Some(None)) };
    let Some(recorded) = ctx.graph.recorded(&change.actor, &idempotency.key).await? else {
        return Ok(Some(Some(idempotency)));
    };
    if recorded.change == change.id || recorded.idempotency.request_hash == idempotency.request_hash {
        return Ok(None);
    }
    tracing::warn!(change = %change.id, "an idempotency key was used for another request meanwhile; the write is kept without it");
    Ok(Some(None))
}

/// The draft of a memory whose change made a proposal: it waits for a person, and its links with it.
fn asked_for_review(draft: &mut Draft, proposal: Proposal) {
    let author = Author { name: proposal.author, kind: proposal.author_kind, owner: proposal.owner };
    let (why, flags) = (proposal.rationale.unwrap_or_default(), proposal.flags);
    draft.review = Some(Review { why, author, flags });
    if let Subject::MemoryQuarantine { causes, caused_by, supersedes, .. } = proposal.subject {
        (draft.causes, draft.caused_by, draft.supersedes) = (causes, caused_by, supersedes);
    }
}
