//! Asks the arms, side by side and under the deadline. What fails or is late is named, not hidden.

use std::{collections::HashMap, future::Future, time::Duration};

use tokio::time::Instant;

use super::{Degraded, ReadContext};
use crate::{
    domain::{Filter, Language, MemoryId, Visibility},
    ports::{Embedder, KeywordQuery, PortError, Scored, VectorQuery},
    text,
    write::window_space,
};

/// A query in one vector space, and the memories it speaks for there.
pub(super) struct QueryVector<'a> {
    pub embedder: &'a dyn Embedder,
    pub vector: Vec<f32>,
    /// Only memories in this language; the others are another space's.
    pub language: Option<Language>,
}

impl QueryVector<'_> {
    /// Raw cosine with a query to the scale on which strangers are 0 and answers 1; not clamped, so order is kept.
    pub fn calibrated(&self, cosine: f32) -> f32 {
        let calibration = self.embedder.card().calibration;
        (cosine - calibration.query_strangers) / (calibration.query_answers - calibration.query_strangers)
    }
}

/// What each arm found, best first. Semantic and window scores are calibrated, keyword scores are BM25.
#[derive(Default)]
pub(super) struct Candidates<'a> {
    pub terms: Vec<String>,
    pub queries: Vec<QueryVector<'a>>,
    pub semantic: Vec<Scored>,
    pub window: Vec<Scored>,
    pub keyword: Vec<Scored>,
    pub recent: Vec<Scored>,
    pub degraded: Vec<Degraded>,
}

/// Which arms to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arms {
    pub semantic: bool,
    pub keyword: bool,
    pub recent: bool,
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
    let semantic = async {
        if !arms.semantic {
            return Ok((Vec::new(), Vec::new(), Vec::new()));
        }
        let queries = query_vectors(ctx, query).await?;
        let own = search(ctx, &queries, |name| name.to_owned(), filter, limit, visibility).await?;
        let window = search(ctx, &queries, window_space, filter, limit, visibility).await?;
        Ok((queries, own, window))
    };
    let keyword = async {
        if !arms.keyword {
            return Ok(Vec::new());
        }
        let query = KeywordQuery { terms: terms.clone(), all: false, filter: filter.clone(), limit };
        ctx.graph.keyword(&query, visibility).await
    };
    let recent = async {
        if !arms.recent {
            return Ok(Vec::new());
        }
        ctx.graph.recent(filter, limit, visibility).await
    };
    let (semantic, keyword, recent) = tokio::join!(
        by_deadline(deadline, "semantic", semantic),
        by_deadline(deadline, "keyword", keyword),
        by_deadline(deadline, "recent", recent),
    );
    let mut found = Candidates { terms: terms.clone(), ..Candidates::default() };
    match semantic {
        Ok((queries, own, window)) => (found.queries, found.semantic, found.window) = (queries, own, window),
        Err(missing) => found.degraded.push(missing),
    }
    match keyword {
        Ok(hits) => found.keyword = hits,
        Err(missing) => found.degraded.push(missing),
    }
    match recent {
        Ok(hits) => found.recent = hits,
        Err(missing) => found.degraded.push(missing),
    }
    found
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

/// A query in the language of a specialised space searches that space for memories in the language and the first space
/// for the others; any other query searches the first space for all.
async fn query_vectors<'a>(ctx: &'a ReadContext, query: &str) -> Result<Vec<QueryVector<'a>>, PortError> {
    let language = text::language(query);
    let base = &ctx.embedders[0];
    let special = ctx.embedders[1..].iter().find(|embedder| embedder.card().language == Some(language));
    let Some(special) = special else {
        return Ok(vec![QueryVector { embedder: base.as_ref(), vector: base.embed_query(query).await?, language: None }]);
    };
    let (own, rest) = tokio::try_join!(special.embed_query(query), base.embed_query(query))?;
    let other = match language {
        Language::English => Language::Other,
        Language::Other => Language::English,
    };
    Ok(vec![
        QueryVector { embedder: special.as_ref(), vector: own, language: Some(language) },
        QueryVector { embedder: base.as_ref(), vector: rest, language: Some(other) },
    ])
}

/// One merged list over the spaces of the query, on the calibrated scale.
async fn search(
    ctx: &ReadContext,
    queries: &[QueryVector<'_>],
    space: impl Fn(&str) -> String,
    filter: &Filter,
    limit: usize,
    visibility: &Visibility,
) -> Result<Vec<Scored>, PortError> {
    let searches = queries.iter().map(|query| {
        let filter = Filter { language: query.language, ..filter.clone() };
        let question = VectorQuery { space: space(&query.embedder.card().id), vector: query.vector.clone(), filter, limit };
        async move {
            let hits = ctx.index.search(&question, visibility).await?;
            Ok::<_, PortError>(
                hits.into_iter().map(|hit| Scored { score: query.calibrated(hit.score), ..hit }).collect::<Vec<_>>(),
            )
        }
    });
    let mut merged = futures::future::try_join_all(searches).await?.concat();
    merged.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    merged.truncate(limit);
    Ok(merged)
}

/// The vectors of `ids` for each query of the answer, in the query's order; a memory has one for the query that speaks for it.
pub(super) async fn vectors_of(
    ctx: &ReadContext,
    queries: &[QueryVector<'_>],
    ids: &[MemoryId],
    visibility: &Visibility,
) -> Result<Vec<HashMap<MemoryId, Vec<f32>>>, PortError> {
    futures::future::try_join_all(queries.iter().map(|query| ctx.index.vectors(&query.embedder.card().id, ids, visibility))).await
}

/// The moment by which an answer must be there.
pub(super) fn deadline(ctx: &ReadContext) -> Instant {
    Instant::now() + Duration::from_millis(ctx.settings.deadline_ms)
}
