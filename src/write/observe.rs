//! Takes raw events: each is kept as it came, and a few make a memory at once.
//!
//! The event and the memory are one change, so there is never one without the other. To add a rule: an arm in [`lesson`].

use std::{collections::BTreeSet, sync::OnceLock};

use jiff::Timestamp;
use uuid::Uuid;

use super::{
    ObserveReply, ObserveRequest, Observed, StoreReply, StoreRequest, StoreState, WriteContext, decide, queue,
    request::EventFields,
    store::{answer_under, embed, settled},
    undisturbed,
    validate::{self, Draft, NAME_BYTES},
};
use crate::{
    domain::{
        AsOf, Caller, ChangeId, ChangeSet, Edge, EdgeKind, Event, EventId, EventKind, Feedback, Idempotency, Kind,
        Memory, MemoryId, MemoryType, Op, Right, Scope, Source, Status,
    },
    error::Error,
    input, text,
};

/// Importance of a lesson that must not be missed: a failure, a correction.
const URGENT: f64 = 0.7;
/// Added where a person said what they thought of it.
const JUDGED: f64 = 0.2;
/// Longest summary of a session, in characters.
const SUMMARY_CHARS: usize = 1200;
/// Members, or messages, of a session that are summed up: the latest.
const SESSION_MEMBERS: usize = 500;

/// A checked event and the key it came under. What it becomes has the same ids however often it is tried, so that a try
/// whose end nobody heard of is not done twice.
pub(super) struct Asked {
    pub event: Event,
    group: Option<String>,
    pub key: Option<String>,
    pub request_hash: String,
    memory: OnceLock<MemoryId>,
    change: OnceLock<ChangeId>,
}

impl Asked {
    pub fn change(&self, ctx: &WriteContext) -> ChangeId {
        *self.change.get_or_init(|| ChangeId(ctx.clock.next_id()))
    }
}

/// A memory that an event makes, and the memories it was made from.
pub(super) struct Lesson {
    request: StoreRequest,
    /// What the memory came from besides the event itself.
    provenance: Vec<Uuid>,
    derived_from: Vec<(MemoryId, Scope)>,
}

/// Keeps an event, with the memory that it makes, if any.
pub async fn observe(ctx: &WriteContext, caller: &Caller, request: ObserveRequest) -> Result<ObserveReply, Error> {
    input::require(caller, Right::MemoryWrite)?;
    let asked = checked(ctx, caller, request)?;
    if let Some(backlog) = queue::behind(ctx).await {
        return queue::observe(ctx, backlog, caller, &asked).await;
    }
    let live = undisturbed!(ctx, write(ctx, caller, &asked));
    match queue::instead(ctx, live.as_ref().err()) {
        Some(backlog) => queue::observe(ctx, backlog, caller, &asked).await,
        None => live,
    }
}

async fn write(ctx: &WriteContext, caller: &Caller, asked: &Asked) -> Result<ObserveReply, Error> {
    let lesson = match asked.event.kind {
        EventKind::SessionEnded => summed_up(ctx, caller, &asked.event).await?,
        _ => lesson(&asked.event, ctx.settings.default_importance.into()),
    };
    let drafted = match &lesson {
        Some(lesson) => Some((lesson, draft(ctx, caller, asked, lesson)?)),
        None => None,
    };
    let drafted = drafted.filter(|(_, draft)| draft.memory.importance >= ctx.settings.min_importance);
    let vectors = match &drafted {
        Some((_, draft)) => embed(ctx, &[draft]).await?.pop().expect("one draft has one set of vectors"),
        None => Vec::new(),
    };
    let turn = ctx.turn().await;
    if let Some(key) = &asked.key
        && let Some(before) = answer_under::<ObserveReply>(ctx, caller, key, &asked.request_hash).await?
    {
        drop(turn);
        return Ok(ObserveReply { state: settled(ctx).await, ..before });
    }
    let at = ctx.clock.now();
    let id = asked.change(ctx);
    let event = Event { recorded_at: at, ..asked.event.clone() };
    let made = match &drafted {
        Some((lesson, draft)) => {
            let known =
                super::matching::match_all(ctx, caller, &[(draft, &vectors)]).await?.pop().expect("one draft")?;
            let (mut change, reply) = decide::decide(draft, &known, vectors, id, at);
            change.ops.extend(derived(&reply, draft, lesson, at));
            Some(Made { ops: change.ops, reply, kind: draft.memory.kind, memory_type: draft.memory.memory_type })
        }
        None => None,
    };
    let key = asked.key.as_deref().map(|key| (key, asked.request_hash.as_str()));
    let (change, reply) = kept(event, made, id, at, key, StoreState::PendingIndex);
    super::commit(ctx, turn, vec![change]).await?;
    Ok(ObserveReply { state: settled(ctx).await, ..reply })
}

/// The memory that an event makes, decided.
pub(super) struct Made {
    pub ops: Vec<Op>,
    pub reply: StoreReply,
    pub kind: Kind,
    pub memory_type: MemoryType,
}

/// The change that keeps an event with what it makes, under a key and the hash of the request if there is one, and the
/// answer.
pub(super) fn kept(
    mut event: Event,
    made: Option<Made>,
    id: ChangeId,
    at: Timestamp,
    key: Option<(&str, &str)>,
    state: StoreState,
) -> (ChangeSet, ObserveReply) {
    let (actor, event_id) = (event.user_id.clone(), event.id.to_string());
    let mut ops = Vec::new();
    let mut memories = Vec::new();
    event.made.clear();
    if let Some(Made { ops: decided, reply, kind, memory_type }) = made {
        event.made.extend(reply.id.as_ref().and_then(|id| id.parse::<MemoryId>().ok()));
        ops.extend(decided);
        memories.push(Observed {
            id: reply.id.unwrap_or_default(),
            outcome: reply.outcome,
            kind: kind.to_string(),
            r#type: memory_type.to_string(),
        });
    }
    ops.push(Op::PutEvent(event));
    let reply = ObserveReply { event_id, state, memories, operation_id: id.to_string() };
    let idempotency = key.map(|(key, request_hash)| Idempotency {
        key: key.to_owned(),
        request_hash: request_hash.to_owned(),
        answer: serde_json::to_value(&reply).expect("a reply of strings is JSON"),
    });
    let change = ChangeSet { id, at, actor, use_case: "observe".to_owned(), reason: None, ops, idempotency };
    (change, reply)
}

fn checked(ctx: &WriteContext, caller: &Caller, request: ObserveRequest) -> Result<Asked, Error> {
    let request_hash = {
        let keyless = ObserveRequest { idempotency_key: None, ..request.clone() };
        let json = serde_json::to_string(&keyless).expect("a request of strings is JSON");
        text::content_hash(None, &json, None)
    };
    let now = ctx.clock.now();
    let kind: EventKind = input::name("event", &request.event)?;
    let said = input::optional_text("text", request.text, ctx.settings.max_content_bytes)?;
    let session_id = input::optional_text("session_id", request.session_id, NAME_BYTES)?;
    let tool = input::optional_text("tool", request.tool, NAME_BYTES)?;
    let needed = match kind {
        EventKind::UserMessage | EventKind::UserCorrection if said.is_none() => Some("text"),
        EventKind::ToolCall | EventKind::ToolResult if tool.is_none() => Some("tool"),
        EventKind::SessionEnded if session_id.is_none() => Some("session_id"),
        _ => None,
    };
    if let Some(field) = needed {
        return Err(Error::bad_input(field, format!("is needed for {kind}")));
    }
    let scope = validate::scope(caller, request.scope.as_deref(), request.group)?;
    let group = if let Scope::Shared(group) = &scope { Some(group.clone()) } else { None };
    let event = Event {
        id: EventId(ctx.clock.next_id()),
        kind,
        at: input::optional_time("at", request.at.as_deref())?.unwrap_or(now),
        recorded_at: now,
        session_id,
        task_id: input::optional_text("task_id", request.task_id, NAME_BYTES)?,
        user_id: caller.principal.clone(),
        scope,
        text: said.unwrap_or_default(),
        tool,
        status: input::optional_text("status", request.status, NAME_BYTES)?,
        feedback: input::optional_name::<Feedback>("feedback", request.feedback.as_deref())?,
        made: Vec::new(),
    };
    let key = input::optional_text("idempotency_key", request.idempotency_key, NAME_BYTES)?;
    Ok(Asked { event, group, key, request_hash, memory: OnceLock::new(), change: OnceLock::new() })
}

/// The memory that an event of these kinds makes; the others are kept and make none.
pub(super) fn lesson(event: &Event, importance: f64) -> Option<Lesson> {
    if event.text.is_empty() {
        return None;
    }
    let (kind, memory_type, source, importance) = match event.kind {
        EventKind::TaskSucceeded => (Kind::Episodic, MemoryType::Event, Source::Observed, importance),
        EventKind::TaskFailed => (Kind::Warning, MemoryType::Event, Source::Observed, URGENT),
        EventKind::UserCorrection => (Kind::Semantic, MemoryType::Correction, Source::UserExplicit, URGENT),
        _ => return None,
    };
    let judged = if event.feedback.is_some() { JUDGED } else { 0.0 };
    let request = StoreRequest {
        content: event.text.clone(),
        kind: Some(kind.to_string()),
        r#type: Some(memory_type.to_string()),
        source: Some(source.to_string()),
        importance: Some((importance + judged).min(1.0)),
        ..StoreRequest::default()
    };
    Some(Lesson { request, provenance: Vec::new(), derived_from: Vec::new() })
}

/// What a session came to, from its members, or from what was said where nothing was stored. Only what every reader of the
/// summary may read goes into it.
async fn summed_up(ctx: &WriteContext, caller: &Caller, event: &Event) -> Result<Option<Lesson>, Error> {
    let Some(session) = &event.session_id else { return Ok(None) };
    let visibility = caller.visibility();
    let shown = |scope: &Scope| decide::narrower(&event.scope, scope).as_ref() == Some(&event.scope);
    let ids = ctx.graph.members(EdgeKind::SameSession, session, SESSION_MEMBERS, &visibility).await?;
    let mut members = ctx.graph.memories(&ids, AsOf::default(), &visibility).await?;
    members.retain(|memory| memory.status == Status::Active && shown(&memory.scope));
    members.retain(|memory| memory.expires_at.is_none_or(|end| event.recorded_at < end));
    let (earlier, members): (Vec<Memory>, Vec<Memory>) = members.into_iter().partition(Memory::is_session_summary);
    let mut events = Vec::new();
    if members.is_empty() {
        events = ctx.graph.events_of_session(session, SESSION_MEMBERS, &visibility).await?;
        events.retain(|event| event.kind == EventKind::UserMessage && shown(&event.scope));
    }
    let texts: Vec<String> =
        members.iter().map(Memory::said).chain(events.iter().map(|event| event.text.clone())).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let digest = text::digest(&texts, SUMMARY_CHARS);
    if digest.is_empty() {
        return Ok(None);
    }
    let used: BTreeSet<usize> = digest.iter().map(|said| said.text).collect();
    let own = |memory: &&Memory| memory.scope == event.scope && memory.user_id == caller.principal;
    let request = StoreRequest {
        content: text::joined(&digest),
        kind: Some(Kind::Episodic.to_string()),
        r#type: Some(MemoryType::Event.to_string()),
        tags: vec![Memory::SESSION_SUMMARY.to_owned()],
        supersedes: earlier.iter().filter(own).map(|memory| memory.id.to_string()).collect(),
        ..StoreRequest::default()
    };
    let derived_from = members.iter().map(|memory| (memory.id, memory.scope.clone())).collect();
    let provenance = used.iter().filter_map(|at| events.get(*at)).map(|event| event.id.0).collect();
    Ok(Some(Lesson { request, provenance, derived_from }))
}

pub(super) fn draft(ctx: &WriteContext, caller: &Caller, asked: &Asked, lesson: &Lesson) -> Result<Draft, Error> {
    let event = &asked.event;
    let request = StoreRequest {
        session_id: event.session_id.clone(),
        task_id: event.task_id.clone(),
        scope: Some(event.scope.name().to_owned()),
        group: asked.group.clone(),
        occurred_at: Some(event.at.to_string()),
        event: Some(EventFields {
            actor: Some(event.user_id.clone()),
            action: Some(event.kind.to_string()),
            object: event.tool.clone().or_else(|| event.task_id.clone()),
            result: event.status.clone(),
            ..EventFields::default()
        }),
        ..lesson.request.clone()
    };
    let id = *asked.memory.get_or_init(|| MemoryId(ctx.clock.next_id()));
    let mut draft = validate::draft(caller, request, id, event.recorded_at, &ctx.lexicons.loaded(), &ctx.settings)?;
    draft.memory.provenance = [event.id.0].into_iter().chain(lesson.provenance.iter().copied()).collect();
    Ok(draft)
}

/// Edges from a new summary to what it sums up.
fn derived<'a>(
    reply: &StoreReply,
    draft: &'a Draft,
    lesson: &'a Lesson,
    at: Timestamp,
) -> impl Iterator<Item = Op> + 'a {
    let new = reply.id.as_deref() == Some(&*draft.memory.id.to_string());
    lesson.derived_from.iter().filter(move |_| new).filter_map(move |(source, scope)| {
        let scope = decide::narrower(&draft.memory.scope, scope)?;
        let (from, to) = (draft.memory.id.0, source.0);
        Some(Op::PutEdge(Edge {
            from,
            to,
            kind: EdgeKind::DerivedFrom,
            weight: 1.0,
            reason: None,
            scope,
            recorded_at: at,
        }))
    })
}
