//! Finds out what a batch of drafts meets in the store: the same memory, the one before it, what it names, what is near.
//!
//! Reads only. Members of a batch meet each other too, in order.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use foldhash::fast::RandomState;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{
    WriteContext,
    decide::{Known, narrower},
    validate::Draft,
};
use crate::{
    domain::{
        AsOf, Caller, ConceptKey, EdgeKind, Filter, Memory, MemoryId, NamedVector, Right, Scope, Visibility, cosine,
    },
    error::{Error, ErrorCode},
    input,
    ontology::{ConceptLink, Vocabulary},
    ports::{KeywordQuery, VectorQuery},
    text::{self, Labels, Mention},
};

/// Words of the longest name that is looked up in a text.
const LABEL_WORDS: usize = 7;
/// Searches for the names of new subjects that are under way together.
const SEARCHES_AT_ONCE: usize = 8;

/// The last member of each session (or task) that the drafts belong to, by scope key and name.
pub(super) type LastMembers = HashMap<(EdgeKind, String, String), MemoryId>;

/// Fetches the last members for `drafts`.
pub(super) async fn last_members(ctx: &WriteContext, drafts: &[&Draft]) -> Result<LastMembers, Error> {
    let mut wanted: BTreeMap<(EdgeKind, Scope), BTreeSet<String>> = BTreeMap::new();
    for draft in drafts {
        for (kind, name) in chains(&draft.memory) {
            wanted.entry((kind, draft.memory.scope.clone())).or_default().insert(name.clone());
        }
    }
    let mut last = LastMembers::new();
    for ((kind, scope), names) in wanted {
        let names: Vec<String> = names.into_iter().collect();
        for (name, id) in ctx.graph.last_members(kind, &names, &scope).await? {
            last.insert((kind, scope.key(), name), id);
        }
    }
    Ok(last)
}

/// The chains a memory joins: its session and its task.
pub(super) fn chains(memory: &Memory) -> impl Iterator<Item = (EdgeKind, &String)> {
    let session = memory.session_id.iter().map(|name| (EdgeKind::SameSession, name));
    session.chain(memory.task_id.iter().map(|name| (EdgeKind::SameTask, name)))
}

/// What each draft meets, in order; all that is asked of the stores is asked at once. An error is that draft's own (an unknown reference), not the batch's.
pub(super) async fn match_all(
    ctx: &WriteContext,
    caller: &Caller,
    drafts: &[(&Draft, &[NamedVector])],
) -> Result<Vec<Result<Known, Error>>, Error> {
    let all: Vec<&Draft> = drafts.iter().map(|(draft, _)| *draft).collect();
    let texts: Vec<(&Memory, &Reading)> = all.iter().map(|draft| (&draft.memory, &draft.reading)).collect();
    let (mut last, mut duplicates, taken, referred, mut named, mut near) = futures::try_join!(
        last_members(ctx, &all),
        duplicates(ctx, &all),
        taken_names(ctx, &all),
        referred(ctx, caller, &all),
        named(ctx, caller, &texts),
        neighbours(ctx, caller, drafts),
    )?;
    let mut met = Vec::with_capacity(drafts.len());
    for (place, (draft, _)) in drafts.iter().enumerate() {
        let checked =
            check_name(draft, &taken, &duplicates).and_then(|()| check_references(ctx, caller, draft, &referred));
        let known = match checked {
            Err(error) => Err(error),
            Ok(scopes) => {
                let memory = &draft.memory;
                let hash = (memory.scope.key(), memory.content_hash.clone());
                let mut known = Known { duplicate: duplicates.get(&hash).copied(), scopes, ..Known::default() };
                if known.duplicate.is_none() {
                    duplicates.insert(hash, memory.id);
                    for (kind, name) in chains(memory) {
                        let chain = (kind, memory.scope.key(), name.clone());
                        known.before.extend(last.insert(chain, memory.id).map(|before| (kind, before)));
                    }
                    known.about = about(memory.title.as_deref());
                    let Named { mentions, links, by } = std::mem::take(&mut named[place]);
                    (known.mentions, known.links, known.named_by) = (mentions, links, by);
                    known.neighbours = std::mem::take(&mut near[place]);
                }
                Ok(known)
            }
        };
        met.push(known);
    }
    Ok(met)
}

/// What is known of a draft when no store can be asked: what it says of itself.
pub(super) fn unseen(draft: &Draft) -> Known {
    let (mentions, links) = (draft.reading.mentions.clone(), draft.reading.links.clone());
    Known { about: about(draft.memory.title.as_deref()), mentions, links, ..Known::default() }
}

/// The concepts that a titled memory is about.
pub(super) fn about(title: Option<&str>) -> Vec<Mention> {
    title.map(text::subjects).unwrap_or_default()
}

async fn duplicates(ctx: &WriteContext, drafts: &[&Draft]) -> Result<HashMap<(String, String), MemoryId>, Error> {
    let mut hashes: BTreeMap<&Scope, Vec<String>> = BTreeMap::new();
    for draft in drafts {
        hashes.entry(&draft.memory.scope).or_default().push(draft.memory.content_hash.clone());
    }
    let mut found = HashMap::new();
    for (scope, hashes) in hashes {
        for (hash, id) in ctx.graph.by_content_hashes(&hashes, scope).await? {
            found.insert((scope.key(), hash), id);
        }
    }
    Ok(found)
}

/// The memories that have the drafts' external ids already, by scope key and name.
pub(super) async fn taken_names(
    ctx: &WriteContext,
    drafts: &[&Draft],
) -> Result<HashMap<(String, String), MemoryId>, Error> {
    let mut names: BTreeMap<&Scope, Vec<String>> = BTreeMap::new();
    for draft in drafts {
        if let Some(name) = &draft.memory.external_id {
            names.entry(&draft.memory.scope).or_default().push(name.clone());
        }
    }
    let mut taken = HashMap::new();
    for (scope, names) in names {
        for (name, id) in ctx.graph.by_external_ids(&names, &Visibility::only(scope)).await? {
            taken.insert((scope.key(), name), id);
        }
    }
    Ok(taken)
}

/// Refuses other content under an external id that is taken.
fn check_name(
    draft: &Draft,
    taken: &HashMap<(String, String), MemoryId>,
    duplicates: &HashMap<(String, String), MemoryId>,
) -> Result<(), Error> {
    let Some(name) = &draft.memory.external_id else { return Ok(()) };
    let scope = draft.memory.scope.key();
    let Some(id) = taken.get(&(scope.clone(), name.clone())) else { return Ok(()) };
    if duplicates.contains_key(&(scope, draft.memory.content_hash.clone())) {
        return Ok(());
    }
    let message = format!("external_id: is the memory {id} with other content");
    Err(Error { field: Some("external_id".into()), ..Error::new(ErrorCode::Conflict, message) }
        .advise("update that memory, or import the line"))
}

async fn referred(ctx: &WriteContext, caller: &Caller, drafts: &[&Draft]) -> Result<HashMap<MemoryId, Memory>, Error> {
    let ids: BTreeSet<MemoryId> = drafts
        .iter()
        .flat_map(|draft| draft.causes.iter().chain(&draft.caused_by).chain(&draft.supersedes))
        .copied()
        .collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<MemoryId> = ids.into_iter().collect();
    let memories = ctx.graph.memories(&ids, AsOf::default(), &caller.visibility()).await?;
    Ok(memories.into_iter().map(|memory| (memory.id, memory)).collect())
}

fn check_references(
    ctx: &WriteContext,
    caller: &Caller,
    draft: &Draft,
    referred: &HashMap<MemoryId, Memory>,
) -> Result<BTreeMap<MemoryId, Scope>, Error> {
    let mut scopes = BTreeMap::new();
    for (field, ids) in [("causes", &draft.causes), ("caused_by", &draft.caused_by), ("supersedes", &draft.supersedes)]
    {
        for id in ids {
            let memory = referred.get(id).ok_or_else(|| ctx.not_there(field, *id))?;
            if narrower(&draft.memory.scope, &memory.scope).is_none() {
                return Err(Error::bad_input(field, "no reader could see both memories"));
            }
            if field == "supersedes" {
                require_alter(caller, memory)?;
            }
            scopes.insert(*id, memory.scope.clone());
        }
    }
    Ok(scopes)
}

/// Refuses a caller that may read `memory` but not change what others read of it.
pub(super) fn require_alter(caller: &Caller, memory: &Memory) -> Result<(), Error> {
    if memory.external_id.as_ref().is_some_and(|id| id.starts_with(super::PAGES)) {
        return Err(Error::new(ErrorCode::Forbidden, "a page of the wiki changes by review only")
            .advise("propose an edit of the page"));
    }
    match &memory.scope {
        Scope::Global => input::require(caller, Right::MemoryGlobal),
        Scope::Private(_) | Scope::Shared(_) if caller.visibility().sees(&memory.scope.key()) => Ok(()),
        Scope::Private(_) | Scope::Shared(_) => {
            Err(Error::new(ErrorCode::Internal, "a memory beyond the caller's sight reached the write path"))
        }
    }
}

/// What a text names, before anything is known of the others. Made off the async threads: segmenting is the dearest step
/// of a store without a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reading {
    mentions: Vec<Mention>,
    labels: Labels,
    /// The concepts of ontologies that it is about or names.
    pub links: Vec<ConceptLink>,
}

impl Reading {
    pub fn of(title: Option<&str>, content: &str, vocabulary: &Vocabulary) -> Self {
        Self {
            mentions: text::mentions(content),
            labels: Labels::of(content, LABEL_WORDS),
            links: vocabulary.links(title, content),
        }
    }
}

/// Reads the texts of memories off the async threads; gives each back with what it names.
pub(super) async fn read(ctx: &WriteContext, memories: Vec<Memory>) -> Result<Vec<(Reading, Memory)>, Error> {
    let vocabulary = ctx.lexicons.current().await;
    let reading = move |memory: Memory| (Reading::of(memory.title.as_deref(), &memory.content, &vocabulary), memory);
    tokio::task::spawn_blocking(move || memories.into_iter().map(reading).collect())
        .await
        .map_err(|_| Error::new(ErrorCode::Internal, "reading a text failed"))
}

/// What a memory names, and who named it before.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// The concepts that its text mentions.
    pub mentions: Vec<Mention>,
    /// The concepts of ontologies among them.
    pub links: Vec<ConceptLink>,
    /// Earlier memories that name what this one is about.
    pub by: Vec<(MemoryId, Scope, ConceptKey)>,
}

/// What each of a batch of memories names, given what its text says.
pub(super) async fn named(
    ctx: &WriteContext,
    caller: &Caller,
    memories: &[(&Memory, &Reading)],
) -> Result<Vec<Named>, Error> {
    let titles: HashMap<ConceptKey, String> = memories
        .iter()
        .flat_map(|(memory, _)| about(memory.title.as_deref()))
        .map(|title| (title.key, title.label))
        .collect();
    // Hundreds of keys for each memory: hashing them is a noticeable part of a store.
    let mut looked_up: HashSet<&str, RandomState> =
        memories.iter().flat_map(|(_, reading)| reading.labels.keys()).collect();
    looked_up.extend(titles.keys().map(|key| key.0.as_str()));
    let looked_up: Vec<ConceptKey> = looked_up.into_iter().map(|key| ConceptKey(key.to_owned())).collect();
    let stored: HashMap<ConceptKey, String> = ctx
        .graph
        .concepts(&looked_up, None, &caller.visibility())
        .await?
        .into_iter()
        .filter(|found| found.about > 0)
        .map(|found| (found.concept.key, found.concept.label))
        .collect();
    let known: HashMap<&str, &str, RandomState> =
        titles.iter().chain(&stored).map(|(key, label)| (key.0.as_str(), label.as_str())).collect();
    let mut new_subjects = HashSet::new();
    let mut named = Vec::with_capacity(memories.len());
    let mut searched = Vec::new();
    for (place, (memory, reading)) in memories.iter().enumerate() {
        let mut mentions = reading.mentions.clone();
        for key in reading.labels.longest(|key| known.contains_key(key)) {
            mentions.push(Mention { label: known[key.0.as_str()].to_owned(), key });
        }
        named.push(Named { mentions, links: reading.links.clone(), by: Vec::new() });
        let mut subjects = about(memory.title.as_deref());
        subjects.retain(|subject| !stored.contains_key(&subject.key) && new_subjects.insert(subject.key.clone()));
        searched.extend(subjects.into_iter().map(|subject| (place, subject)));
    }
    for (place, by) in named_by(ctx, caller, searched).await? {
        named[place].by.push(by);
    }
    Ok(named)
}

/// Earlier memories whose text has the name of a new subject, word for word, each with the place given beside the subject.
async fn named_by(
    ctx: &WriteContext,
    caller: &Caller,
    subjects: Vec<(usize, Mention)>,
) -> Result<Vec<(usize, (MemoryId, Scope, ConceptKey))>, Error> {
    let visibility = caller.visibility();
    let searches = subjects.into_iter().filter(|(_, subject)| !text::query_terms(&subject.label).is_empty());
    let searches = searches.map(async |(place, subject)| {
        let phrase = text::terms(&subject.label).join(" ");
        let (terms, limit) = (vec![phrase.clone()], ctx.settings.backlinks_max);
        let query = KeywordQuery { terms, filter: Filter::default(), limit };
        let hits = ctx.graph.keyword(&query, &visibility).await?;
        Ok::<_, Error>((place, subject, format!(" {phrase} "), hits))
    });
    // Begun in their order, a few at a time: a batch of titles would keep every reader of the store from others.
    let found: Vec<_> = stream::iter(searches).buffered(SEARCHES_AT_ONCE).try_collect().await?;
    let ids: BTreeSet<MemoryId> = found.iter().flat_map(|(.., hits)| hits.iter().map(|hit| hit.id)).collect();
    let ids: Vec<MemoryId> = ids.into_iter().collect();
    let memories = ctx.graph.memories(&ids, AsOf::default(), &visibility).await?;
    let memories: HashMap<MemoryId, &Memory> = memories.iter().map(|memory| (memory.id, memory)).collect();
    let mut by = Vec::new();
    for (place, subject, phrase, hits) in found {
        // A single word is a name only where it is written as one.
        let one_word = !subject.key.0.contains(' ');
        let names = |memory: &Memory| {
            format!(" {} ", memory.terms).contains(&phrase)
                && (!one_word || Labels::of(&memory.content, 1).keys().any(|key| key == subject.key.0))
        };
        let naming = hits.iter().filter_map(|hit| memories.get(&hit.id)).filter(|memory| names(memory));
        by.extend(naming.map(|memory| (place, (memory.id, memory.scope.clone(), subject.key.clone()))));
    }
    Ok(by)
}

/// Near neighbours of each draft within the supplementing range, best first, earlier members of the batch among them.
async fn neighbours(
    ctx: &WriteContext,
    caller: &Caller,
    drafts: &[(&Draft, &[NamedVector])],
) -> Result<Vec<Vec<(MemoryId, Scope, f32)>>, Error> {
    let settings = &ctx.settings;
    let card = ctx.vectors.embedders[0].card();
    let own = |vectors: &[NamedVector]| {
        vectors.iter().find(|vector| vector.space == card.id).map(|vector| vector.vector.clone())
    };
    let vectors: Vec<Option<Vec<f32>>> = drafts.iter().map(|(_, vectors)| own(vectors)).collect();
    let visibility = caller.visibility();
    let searches = vectors.iter().map(async |vector| {
        let Some(vector) = vector else { return Vec::new() };
        let query = VectorQuery {
            space: card.id.clone(),
            vector: vector.clone(),
            filter: Filter::default(),
            limit: settings.supplements_max + 1,
        };
        // Without the index a store still works: the neighbours are an extra that `doctor` does not miss.
        ctx.index.search(&query, &visibility).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "near neighbours left out of a store");
            Vec::new()
        })
    });
    let found = futures::future::join_all(searches).await;
    let near: Vec<Vec<(MemoryId, f32)>> = found
        .into_iter()
        .enumerate()
        .map(|(place, hits)| {
            let stored = hits.into_iter().map(|hit| (hit.id, hit.score));
            let earlier = drafts[..place].iter().zip(&vectors).filter_map(|((other, _), vector)| {
                Some((other.memory.id, cosine(vector.as_ref()?, vectors[place].as_ref()?)))
            });
            let mut near: Vec<(MemoryId, f32)> =
                stored.chain(earlier).map(|(id, cosine)| (id, card.calibration.passages(cosine))).collect();
            near.retain(|(_, similarity)| (settings.supplements_from..settings.supplements_to).contains(similarity));
            near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            near.dedup_by_key(|(id, _)| *id);
            near.truncate(settings.supplements_max);
            near
        })
        .collect();
    let ids: BTreeSet<MemoryId> = near.iter().flatten().map(|(id, _)| *id).collect();
    let ids: Vec<MemoryId> = ids.into_iter().collect();
    let memories = ctx.graph.memories(&ids, AsOf::default(), &visibility).await?;
    let mut scopes: HashMap<MemoryId, Scope> = memories.into_iter().map(|memory| (memory.id, memory.scope)).collect();
    scopes.extend(drafts.iter().map(|(draft, _)| (draft.memory.id, draft.memory.scope.clone())));
    let with_scope = |(id, similarity)| Some((id, scopes.get(&id)?.clone(), similarity));
    Ok(near.into_iter().map(|near| near.into_iter().filter_map(with_scope).collect()).collect())
}
