//! Looks through what is stored, page by page: lists, sessions and tasks, events, concepts, edges, the audit log, the
//! change log.
//!
//! A page ends with cursors: opaque texts that hold the key of a record, so that the next page starts after it whatever was
//! written in between. To add a list: a method of the port, a function here that checks, asks for one more than the page
//! holds, and names its key.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{MemoryRecord, ReadContext};
use crate::{
    domain::{AsOf, Caller, ConceptId, ConceptKey, Edge, EdgeKind, Event, EventId, MemoryId, Right, Visibility},
    error::Error,
    input,
    ontology::ConceptSummary,
    ports::{AuditRow, ConceptUse, Group, GroupSummary, Listing, MemoryChange},
    text,
};

/// Records of a page when none is asked for, and at most.
const PAGE: i64 = 20;
const PAGE_MAX: usize = 100;
/// Records that are read at once by their ids.
const IDS_MAX: usize = 1000;
/// Longest text to search concepts by, in bytes.
const SEARCH_BYTES: usize = 256;
/// Longest name of a session or task, in bytes.
const NAME_BYTES: usize = 1024;
/// Edges of one memory that are shown.
const EDGES_MAX: usize = 100;
/// Changes that are read at once.
const CHANGES: usize = 500;

/// Which page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// Records at most, 1 to 100. Default 20.
    pub first: Option<i64>,
    /// The cursor after which it starts.
    pub after: Option<String>,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// Each record with its cursor.
    pub items: Vec<(String, T)>,
    /// Whether more come after it.
    pub more: bool,
}

/// Which memories to list; what is absent asks nothing.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListRequest {
    /// Only these layers.
    pub kinds: Vec<String>,
    /// Only these types.
    pub types: Vec<String>,
    /// Only memories with one of these tags.
    pub tags: Vec<String>,
    /// Only this session.
    pub session_id: Option<String>,
    /// Only this task.
    pub task_id: Option<String>,
    /// Only these statuses.
    pub statuses: Vec<String>,
    /// Only what happened from then.
    pub since: Option<String>,
    /// Only what happened before then.
    pub until: Option<String>,
}

/// Memories that meet the conditions, latest first.
pub async fn list(
    ctx: &ReadContext,
    caller: &Caller,
    request: &ListRequest,
    page: &PageRequest,
) -> Result<Page<MemoryRecord>, Error> {
    let visibility = reader(caller)?;
    let (first, listing) = (first(page)?, listing(request)?);
    let after = after(page, |key| {
        let (at, id) = key.split_once(' ')?;
        Some((moment(at)?, MemoryId(id.parse().ok()?)))
    })?;
    let found = ctx.browse.list(&listing, after, first + 1, &visibility).await?;
    Ok(cut(found, first, |memory| format!("{} {}", memory.occurred_at.as_microsecond(), memory.id)).map(Into::into))
}

/// How many memories meet the conditions.
pub async fn list_total(ctx: &ReadContext, caller: &Caller, request: &ListRequest) -> Result<usize, Error> {
    let visibility = reader(caller)?;
    Ok(ctx.browse.list_total(&listing(request)?, &visibility).await?)
}

/// Those of `ids` that are memories the caller sees, whatever their status.
pub async fn find(ctx: &ReadContext, caller: &Caller, ids: &[MemoryId]) -> Result<Vec<MemoryRecord>, Error> {
    let visibility = reader(caller)?;
    bounded(ids.len())?;
    let found = ctx.graph.memories(ids, AsOf::default(), &visibility).await?;
    Ok(found.into_iter().map(MemoryRecord::from).collect())
}

/// What the caller sees of a session or task.
pub async fn group(ctx: &ReadContext, caller: &Caller, group: &Group) -> Result<Option<GroupSummary>, Error> {
    let visibility = reader(caller)?;
    let (Group::Session(name) | Group::Task(name)) = group;
    input::text("id", name.clone(), NAME_BYTES)?;
    Ok(ctx.browse.group(group, &visibility).await?)
}

/// Memories of a session or task in the order of recording.
pub async fn members(
    ctx: &ReadContext,
    caller: &Caller,
    group: &Group,
    page: &PageRequest,
) -> Result<Page<MemoryRecord>, Error> {
    let visibility = reader(caller)?;
    let first = first(page)?;
    let after = after(page, |key| Some(MemoryId(key.parse().ok()?)))?;
    let found = ctx.browse.members(group, after, first + 1, &visibility).await?;
    Ok(cut(found, first, |memory| memory.id.to_string()).map(Into::into))
}

/// Events of a session or task, or of all, earliest first.
pub async fn events(
    ctx: &ReadContext,
    caller: &Caller,
    group: Option<&Group>,
    page: &PageRequest,
) -> Result<Page<Event>, Error> {
    let visibility = reader(caller)?;
    let first = first(page)?;
    let after = after(page, |key| {
        let (at, id) = key.split_once(' ')?;
        Some((moment(at)?, EventId(id.parse().ok()?)))
    })?;
    let found = ctx.browse.events(group, after, first + 1, &visibility).await?;
    Ok(cut(found, first, |event| format!("{} {}", event.at.as_microsecond(), event.id)))
}

/// Those of `ids` that are events the caller sees.
pub async fn events_by_id(ctx: &ReadContext, caller: &Caller, ids: &[EventId]) -> Result<Vec<Event>, Error> {
    let visibility = reader(caller)?;
    bounded(ids.len())?;
    Ok(ctx.graph.events(ids, &visibility).await?)
}

/// Concepts whose name contains `search`, by name.
pub async fn concepts(
    ctx: &ReadContext,
    caller: &Caller,
    search: Option<&str>,
    page: &PageRequest,
) -> Result<Page<ConceptUse>, Error> {
    let visibility = reader(caller)?;
    let first = first(page)?;
    let search = input::optional_text("search", search.map(str::to_owned), SEARCH_BYTES)?;
    let part = search.map(|search| text::concept_key(&search).0).unwrap_or_default();
    let after = after(page, |key| Some(ConceptKey(key.to_owned())))?;
    let found = ctx.browse.find_concepts(&part, after.as_ref(), first + 1, &visibility).await?;
    Ok(cut(found, first, |used| used.concept.key.0.clone()))
}

/// Concepts of ontologies: those right below one, those at the top, or those with a name; by name.
pub async fn concept_tree(
    ctx: &ReadContext,
    caller: &Caller,
    below: Option<&str>,
    search: Option<&str>,
    page: &PageRequest,
) -> Result<Page<ConceptSummary>, Error> {
    reader(caller)?;
    let first = first(page)?;
    let below = input::optional_text("below", below.map(str::to_owned), NAME_BYTES)?;
    let search = input::optional_text("search", search.map(str::to_owned), SEARCH_BYTES)?;
    let after = after(page, |key| key.split_once('\u{0}').map(|(label, iri)| (label.to_owned(), iri.to_owned())))?;
    let after = after.as_ref().map(|(label, iri)| (label.as_str(), iri.as_str()));
    let found = match (below, search) {
        (Some(_), Some(_)) => return Err(Error::bad_input("search", "give below or search, not both")),
        (below, None) => ctx.ontology.children(below.as_deref(), after, first + 1).await?,
        (None, Some(search)) => ctx.ontology.search(&text::concept_key(&search).0, after, first + 1).await?,
    };
    Ok(cut(found, first, |entry| format!("{}\u{0}{}", entry.label, entry.iri)).map(ConceptSummary::from))
}

/// The concept with this name.
pub async fn concept_named(ctx: &ReadContext, caller: &Caller, label: &str) -> Result<Option<ConceptUse>, Error> {
    let visibility = reader(caller)?;
    let label = input::text("label", label.to_owned(), SEARCH_BYTES)?;
    Ok(ctx.graph.concepts(&[text::concept_key(&label)], None, &visibility).await?.pop())
}

/// Those of `ids` that are concepts the caller may know of.
pub async fn concepts_by_id(ctx: &ReadContext, caller: &Caller, ids: &[ConceptId]) -> Result<Vec<ConceptUse>, Error> {
    let visibility = reader(caller)?;
    bounded(ids.len())?;
    Ok(ctx.browse.concepts_by_id(ids, &visibility).await?)
}

/// Memories that name a concept: those about it first.
pub async fn concept_members(
    ctx: &ReadContext,
    caller: &Caller,
    concept: ConceptId,
    page: &PageRequest,
) -> Result<Page<(MemoryRecord, EdgeKind)>, Error> {
    let visibility = reader(caller)?;
    let first = first(page)?;
    let after = after(page, |key| {
        let (kind, id) = key.split_once(' ')?;
        Some((kind.parse().ok()?, MemoryId(id.parse().ok()?)))
    })?;
    let found = ctx.browse.concept_members(concept, after, first + 1, &visibility).await?;
    Ok(cut(found, first, |member| format!("{} {}", member.kind, member.memory.id))
        .map(|member| (member.memory.into(), member.kind)))
}

/// The edges of each memory, latest first, at most 100 each.
pub async fn edges(ctx: &ReadContext, caller: &Caller, ids: &[MemoryId]) -> Result<Vec<Vec<Edge>>, Error> {
    let visibility = reader(caller)?;
    bounded(ids.len())?;
    let nodes: Vec<_> = ids.iter().map(|id| id.0).collect();
    Ok(ctx.browse.edges_of_all(&nodes, EDGES_MAX, &visibility).await?)
}

/// The audit log, latest first. It names memories of every scope, and nothing of what they say.
pub async fn audit(ctx: &ReadContext, caller: &Caller, page: &PageRequest) -> Result<Page<AuditRow>, Error> {
    input::require(caller, Right::Admin)?;
    let first = first(page)?;
    let before = after(page, |key| key.parse::<u64>().ok())?;
    let everything = Visibility::system("the audit log is of the whole store");
    let found = ctx.browse.audit(before, first + 1, &everything).await?;
    Ok(cut(found, first, |row| row.seq.to_string()))
}

/// What became of memories the caller saw, after position `after`, in order; a change is never cut.
pub async fn changes(ctx: &ReadContext, caller: &Caller, after: u64) -> Result<Vec<MemoryChange>, Error> {
    let visibility = reader(caller)?;
    Ok(ctx.browse.changes(after, CHANGES, &visibility).await?)
}

/// The position from which [`changes`] tells only what is new.
pub async fn last_change(ctx: &ReadContext, caller: &Caller) -> Result<u64, Error> {
    reader(caller)?;
    Ok(ctx.browse.last_change().await?)
}

impl<T> Page<T> {
    /// The same page of something else.
    pub(crate) fn map<U>(self, change: impl Fn(T) -> U) -> Page<U> {
        let items = self.items.into_iter().map(|(cursor, item)| (cursor, change(item))).collect();
        Page { items, more: self.more }
    }
}

fn reader(caller: &Caller) -> Result<Visibility, Error> {
    input::require(caller, Right::MemoryRead)?;
    Ok(caller.visibility())
}

fn bounded(ids: usize) -> Result<(), Error> {
    if ids > IDS_MAX { Err(Error::bad_input("ids", format!("at most {IDS_MAX} ids"))) } else { Ok(()) }
}

pub(crate) fn first(page: &PageRequest) -> Result<usize, Error> {
    input::count("first", page.first.unwrap_or(PAGE), PAGE_MAX)
}

/// The key in a page's cursor, if it has one.
pub(crate) fn after<K>(page: &PageRequest, key: impl Fn(&str) -> Option<K>) -> Result<Option<K>, Error> {
    let Some(cursor) = &page.after else { return Ok(None) };
    let text = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let key = text.as_deref().and_then(key).ok_or_else(|| {
        Error::bad_input("after", "not a cursor of this list").advise("take endCursor of the page before")
    })?;
    Ok(Some(key))
}

pub(crate) fn moment(micros: &str) -> Option<Timestamp> {
    Timestamp::from_microsecond(micros.parse().ok()?).ok()
}

/// At most `first` of `found`, which has one more if there is more.
pub(crate) fn cut<T>(mut found: Vec<T>, first: usize, key: impl Fn(&T) -> String) -> Page<T> {
    let more = found.len() > first;
    found.truncate(first);
    Page { items: found.into_iter().map(|item| (URL_SAFE_NO_PAD.encode(key(&item)), item)).collect(), more }
}

fn listing(request: &ListRequest) -> Result<Listing, Error> {
    input::few("tags", &request.tags)?;
    Ok(Listing {
        kinds: input::names("kinds", &request.kinds)?,
        types: input::names("types", &request.types)?,
        tags: request.tags.clone(),
        session_id: request.session_id.clone(),
        task_id: request.task_id.clone(),
        statuses: input::names("statuses", &request.statuses)?,
        since: input::optional_time("since", request.since.as_deref())?,
        until: input::optional_time("until", request.until.as_deref())?,
    })
}
