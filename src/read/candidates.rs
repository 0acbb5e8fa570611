//! Asks the arms, side by side and under the deadline. What fails or is late is named, not hidden.

use std::{collections::HashMap, future::Future};

use tokio::time::Instant;

use super::{Degraded, ReadContext, ReadSettings};
use crate::{
    domain::{ConceptKey, EdgeKind, Filter, Language, Memory, MemoryId, Visibility, cosine},
    error::{Error, ErrorCode},
    ontology::NamedConcept,
    ports::{ConceptUse, Embedder, KeywordQuery, PortError, Scored, VectorQuery},
    scoring::rarity,
    telemetry::timed,
    text::{self, Labels},
};

/// Words of the longest subject that is looked up in a query.
const LABEL_WORDS: usize = 7;
/// Concepts of ontologies whose memories a query brings in at most.
const EXPANDED: usize = 64;
/// Memories about one subject that a query brings in at most.
const MEMBERS: usize = 64;
/// Parts of the service, as `/readyz` names them.
pub(super) const GRAPH: &str = "graph";
pub(super) const VECTORS: &str = "vectors";
const MODELS: &str = "models";

/// A query in one vector space, and the memories it speaks for there.
pub(super) struct QueryVector<'a> {
    pub embedder: &'a dyn Embedder,
    pub vector: Vec<f32>,
    /// The last line of a query of several lines: what a pasted conversation asks in the end.
    pub ask: Option<Vec<f32>>,
    /// Memories in this language; those in the other are another query's.
    pub language: Language,
    /// Added to raw cosines.
    pub shift: f32,
}

impl QueryVector<'_> {
    /// Raw cosine with a query to the scale on which strangers are 0 and answers 1; not clamped, so order is kept.
    pub fn calibrated(&self, cosine: f32) -> f32 {
        let calibration = self.embedder.card().calibration;
        (cosine + self.shift - calibration.query_strangers) / (calibration.query_answers - calibration.query_strangers)
    }
}

/// A concept that the query names, or one below it.
pub(super) struct Named {
    /// Rarity, times how much of what the query names it is.
    pub rarity: f32,
    pub memories: Vec<MemoryId>,
}

/// What each arm found, best first. Semantic scores are calibrated, keyword scores are BM25.
#[derive(Default)]
pub(super) struct Candidates<'a> {
    pub terms: Vec<String>,
    pub queries: Vec<QueryVector<'a>>,
    /// The better of the memory's own vector and its vector with the turn before it.
    pub semantic: Vec<Scored>,
    pub keyword: Vec<Scored>,
    pub concepts: Vec<Named>,
    /// The concepts of ontologies that the query names, with those below them that were looked for too.
    pub understood: Vec<NamedConcept>,
    pub recent: Vec<Scored>,
    /// Memories that the caller sees.
    pub total: usize,
    /// Whether meaning, words or time answered; the graph adds to these, and is nothing without them.
    pub answered: bool,
    pub degraded: Vec<Degraded>,
}

/// Which arms to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arms {
    pub semantic: bool,
    pub keyword: bool,
    pub concepts: bool,
    /// Whether what ontologies know of the query is asked for too: synonyms and narrower concepts.
    pub expand: bool,
    pub recent: bool,
    /// Whether the graph will be walked, which asks what the last line of several wants.
    pub ask: bool,
}

impl Arms {
    /// All that tell something of a question; the latest tell nothing.
    pub(super) fn of_a_question(settings: &ReadSettings, ask: bool) -> Self {
        Self { semantic: true, keyword: true, concepts: true, expand: settings.expand, recent: false, ask }
    }
}

pub(super) async fn candidates<'a>(
    ctx: &'a ReadContext,
    query: &str,
    arms: Arms,
    filter: &Filter,
    visibility: &Visibility,
    deadline: Instant,
) -> Candidates<'a> {
    let limit = ctx.settings.candidates;
    let terms = text::query_terms(query);
    // On the heap: a future in a future in a future is more than the stack of a thread holds where nothing is optimised.
    let semantic = Box::pin(async {
        if !arms.semantic {
            return Ok((Vec::new(), Vec::new()));
        }
        let mut queries = by_deadline(deadline, MODELS, timed("embed", query_vectors(ctx, query))).await?;
        let last = last_of_several_lines(query).filter(|_| arms.ask);
        let (mut hits, asks, replaced) = tokio::try_join!(
            by_deadline(deadline, VECTORS, timed("vector", search(ctx, &queries, filter, limit, visibility))),
            by_deadline(deadline, MODELS, asks(&queries, last)),
            by_deadline(deadline, GRAPH, replaced(ctx, &queries, filter, visibility))
        )?;
        if !replaced.is_empty() {
            // The index knows these by another text, if it found them at all.
            hits.retain(|hit| !replaced.iter().any(|then| then.id == hit.id));
            hits.extend(replaced);
            best_first(&mut hits, limit);
        }
        for (query, ask) in queries.iter_mut().zip(asks) {
            query.ask = ask;
        }
        Ok((queries, hits))
    });
    let keyword = async {
        if !arms.keyword {
            return Ok(Vec::new());
        }
        let query = KeywordQuery { terms: terms.clone(), filter: filter.clone(), limit };
        timed("keyword", ctx.graph.keyword(&query, visibility)).await
    };
    let concepts = async {
        let total = ctx.graph.total_memories(visibility).await?;
        let mut named = if arms.concepts {
            timed("concepts", named(ctx, query, total, filter, visibility)).await?
        } else {
            Vec::new()
        };
        let mut understood = Vec::new();
        if arms.concepts && arms.expand {
            understood = ctx.lexicons.current().await.named(query);
            named.extend(timed("expand", expanded(ctx, &understood, total, filter, visibility)).await?);
        }
        Ok((total, named, understood))
    };
    let recent = async {
        if !arms.recent {
            return Ok(Vec::new());
        }
        timed("recent", ctx.graph.recent(filter, limit, visibility)).await
    };
    let (semantic, keyword, concepts, recent) = tokio::join!(
        semantic,
        by_deadline(deadline, "keyword", keyword),
        by_deadline(deadline, "concepts", concepts),
        by_deadline(deadline, "recent", recent),
    );
    let answered = [arms.semantic && semantic.is_ok(), arms.keyword && keyword.is_ok(), arms.recent && recent.is_ok()];
    let answered = answered.contains(&true);
    let mut found = Candidates { terms: terms.clone(), answered, ..Candidates::default() };
    let degraded = &mut found.degraded;
    (found.queries, found.semantic) = or_missing(semantic, degraded);
    found.keyword = or_missing(keyword, degraded);
    (found.total, found.concepts, found.understood) = or_missing(concepts, degraded);
    found.recent = or_missing(recent, degraded);
    found
}

fn or_missing<T: Default>(answer: Result<T, Degraded>, degraded: &mut Vec<Degraded>) -> T {
    answer.unwrap_or_else(|missing| {
        degraded.push(missing);
        T::default()
    })
}

/// The subjects that the query names, and the memories about them.
async fn named(
    ctx: &ReadContext,
    query: &str,
    total: usize,
    filter: &Filter,
    visibility: &Visibility,
) -> Result<Vec<Named>, PortError> {
    let labels = Labels::of(query, LABEL_WORDS);
    let keys: Vec<ConceptKey> = labels.keys().map(|key| ConceptKey(key.to_owned())).collect();
    let known: HashMap<ConceptKey, ConceptUse> = ctx
        .graph
        .concepts(&keys, filter.as_of.known, visibility)
        .await?
        .into_iter()
        .filter(|used| used.about > 0)
        .map(|used| (used.concept.key.clone(), used))
        .collect();
    let mut named = Vec::new();
    for key in labels.longest(|key| known.contains_key(key)) {
        let memories = members(ctx, &key, &[EdgeKind::About], filter, visibility).await?;
        named.push(Named { rarity: rarity(known[&key].uses, total), memories });
    }
    Ok(named)
}

/// The memories linked to the concepts of ontologies that the query names, and to those below them.
async fn expanded(
    ctx: &ReadContext,
    understood: &[NamedConcept],
    total: usize,
    filter: &Filter,
    visibility: &Visibility,
) -> Result<Vec<Named>, PortError> {
    let mut weights: HashMap<ConceptKey, f32> = HashMap::new();
    for concept in understood {
        let narrower = concept.narrower.iter().map(|(iri, _, share)| (iri, concept.weight * share));
        for (iri, weight) in std::iter::once((&concept.iri, concept.weight)).chain(narrower) {
            let known = weights.entry(ConceptKey(iri.clone())).or_insert(weight);
            *known = known.max(weight);
        }
    }
    if weights.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<ConceptKey> = weights.keys().cloned().collect();
    // Only those that a visible memory names cost a read of their own, and the most telling of them.
    let used = ctx.graph.concepts(&keys, filter.as_of.known, visibility).await?;
    let mut used: Vec<(f32, ConceptKey)> = used
        .into_iter()
        .map(|used| (weights[&used.concept.key] * rarity(used.uses, total), used.concept.key))
        .collect();
    used.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    used.truncate(EXPANDED);
    let named = futures::future::try_join_all(used.iter().map(async |(rarity, key)| {
        let memories = members(ctx, key, &[EdgeKind::About, EdgeKind::Mentions], filter, visibility).await?;
        Ok::<_, PortError>(Named { rarity: *rarity, memories })
    }));
    named.await
}

/// The memories that name a concept so, as far as the filter takes them.
async fn members(
    ctx: &ReadContext,
    key: &ConceptKey,
    kinds: &[EdgeKind],
    filter: &Filter,
    visibility: &Visibility,
) -> Result<Vec<MemoryId>, PortError> {
    let found = ctx.graph.memories_of_concept(key, MEMBERS, filter.as_of.known, visibility).await?;
    let ids: Vec<MemoryId> = found.into_iter().filter(|(_, kind)| kinds.contains(kind)).map(|(id, _)| id).collect();
    let memories = ctx.graph.memories(&ids, filter.as_of, visibility).await?;
    Ok(memories.iter().filter(|memory| filter.matches(memory)).map(|memory| memory.id).collect())
}

/// Runs `work` until `deadline`; a failure or a delay becomes a line of `degraded`, and a log line.
pub(super) async fn by_deadline<T>(
    deadline: Instant,
    part: &str,
    work: impl Future<Output = Result<T, PortError>>,
) -> Result<T, Degraded> {
    let reason = match tokio::time::timeout_at(deadline, work).await {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(error)) => {
            tracing::warn!(part, error = &error as &dyn std::error::Error, "a part of a read failed");
            format!("{:?}", error.kind).to_lowercase()
        }
        Err(_) => "late".to_owned(),
    };
    Err(Degraded { part: part.to_owned(), reason })
}

/// One query vector for each language that memories can be in: a query in the language of a specialised space searches
/// that space for the memories in the language; everything else is searched for in the first space.
async fn query_vectors<'a>(ctx: &'a ReadContext, query: &str) -> Result<Vec<QueryVector<'a>>, PortError> {
    let asked = text::language(query);
    let base = ctx.embedders[0].as_ref();
    let special = ctx.embedders[1..].iter().map(AsRef::as_ref).find(|it| it.card().language == Some(asked));
    let (own, other) = match special {
        Some(special) => tokio::try_join!(special.embed_query(query), base.embed_query(query))?,
        None => {
            let both = base.embed_query(query).await?;
            (both.clone(), both)
        }
    };
    let elsewhere = match asked {
        Language::English => Language::Other,
        Language::Other => Language::English,
    };
    let shift = ctx.settings.fusion.cross_language;
    Ok(vec![
        QueryVector { embedder: special.unwrap_or(base), vector: own, ask: None, language: asked, shift: 0.0 },
        QueryVector { embedder: base, vector: other, ask: None, language: elsewhere, shift },
    ])
}

/// The last line of a query that has several.
fn last_of_several_lines(query: &str) -> Option<&str> {
    let mut lines = query.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next();
    lines.next_back().filter(|_| first.is_some())
}

/// The vector of `line` for each query; none without a line.
async fn asks(queries: &[QueryVector<'_>], line: Option<&str>) -> Result<Vec<Option<Vec<f32>>>, PortError> {
    let Some(line) = line else { return Ok(vec![None; queries.len()]) };
    let ids: Vec<&str> = queries.iter().map(|query| query.embedder.card().id.as_str()).collect();
    // Each model once: both queries may speak for the same one.
    let embedded = futures::future::try_join_all(queries.iter().enumerate().map(async |(place, query)| {
        let repeated = ids[..place].contains(&ids[place]);
        if repeated { Ok::<_, PortError>(None) } else { query.embedder.embed_query(line).await.map(Some) }
    }))
    .await?;
    Ok(ids.iter().map(|id| embedded[ids.iter().position(|other| other == id).unwrap_or(0)].clone()).collect())
}

/// One merged list over the spaces of the query, on the calibrated scale; a memory counts by the better of its own vector
/// and its window vector.
async fn search(
    ctx: &ReadContext,
    queries: &[QueryVector<'_>],
    filter: &Filter,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Scored>, PortError> {
    let searches = queries.iter().flat_map(|query| {
        let card = query.embedder.card();
        [card.window_space(), card.id.clone()].map(|space| {
            let filter = Filter { language: Some(query.language), ..filter.clone() };
            let question = VectorQuery { space, vector: query.vector.clone(), filter, limit };
            async move {
                let hits = ctx.index.search(&question, visibility).await?;
                Ok::<_, PortError>(hits.into_iter().map(|hit| Scored { score: query.calibrated(hit.score), ..hit }))
            }
        })
    });
    let mut best: HashMap<MemoryId, f32> = HashMap::new();
    for hit in futures::future::try_join_all(searches).await?.into_iter().flatten() {
        let known = best.entry(hit.id).or_insert(hit.score);
        *known = known.max(hit.score);
    }
    let mut merged: Vec<Scored> = best.into_iter().map(|(id, score)| Scored { id, score }).collect();
    best_first(&mut merged, limit);
    Ok(merged)
}

fn best_first(scored: &mut Vec<Scored>, limit: usize) {
    scored.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    scored.truncate(limit);
}

/// For a look back: the texts of then that have been replaced since, embedded now, by their own vectors.
async fn replaced(
    ctx: &ReadContext,
    queries: &[QueryVector<'_>],
    filter: &Filter,
    visibility: &Visibility,
) -> Result<Vec<Scored>, PortError> {
    if filter.as_of.known.is_none() {
        return Ok(Vec::new());
    }
    let memories = ctx.graph.replaced_texts(filter, ctx.settings.replaced_texts, visibility).await?;
    let mut scored = Vec::new();
    for query in queries {
        let spoken_for: Vec<&Memory> = memories.iter().filter(|memory| memory.language == query.language).collect();
        let passages: Vec<String> = spoken_for.iter().map(|memory| memory.passage()).collect();
        if passages.is_empty() {
            continue;
        }
        let vectors = query.embedder.embed_passages(&passages).await?;
        scored.extend(
            spoken_for.iter().zip(vectors).map(|(memory, vector)| Scored {
                id: memory.id,
                score: query.calibrated(cosine(&query.vector, &vector)),
            }),
        );
    }
    Ok(scored)
}

/// The vectors of `ids` for each query of the answer, in the query's order; a memory has one for the query that speaks for it.
pub(super) async fn vectors_of(
    ctx: &ReadContext,
    queries: &[QueryVector<'_>],
    ids: &[MemoryId],
    visibility: &Visibility,
) -> Result<Vec<HashMap<MemoryId, Vec<f32>>>, PortError> {
    futures::future::try_join_all(
        queries.iter().map(|query| ctx.index.vectors(&query.embedder.card().id, ids, visibility)),
    )
    .await
}

/// The moment by which the parts of an answer must be there. What is left of the deadline of the whole is for reading the
/// memories that they found.
pub(super) fn deadline(ctx: &ReadContext) -> Instant {
    Instant::now() + ctx.settings.deadline() / 8 * 7
}

/// Gives `answer` until the deadline of the whole: a store that has gone silent by then keeps nobody waiting.
pub(super) async fn in_time<T>(ctx: &ReadContext, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let late = |_| Error::new(ErrorCode::Timeout, "a store did not answer in time").advise("try again in a moment");
    tokio::time::timeout(ctx.settings.deadline(), Box::pin(answer)).await.map_err(late)?
}

/// The error of a question that no arm could answer.
pub(super) fn no_arm() -> Error {
    Error::new(ErrorCode::Unavailable, "no arm could answer").advise("try again in a moment")
}
