//! Recalls: one question, one ranked answer.

use std::collections::HashMap;

use super::{
    Degraded, Mode, ReadContext, RecallItem, RecallReply, RecallRequest, Understood,
    candidates::{Arms, Candidates, by_deadline, candidates, deadline, in_time, no_arm},
    cursor::Cursor,
    expand::{ALL_EDGES, Expanded, Expansion, expand, path_steps},
    rank::{Evidence, Order, items, unranked},
    render,
};
use crate::{
    domain::{AsOf, Caller, Direction, Filter, Memory, MemoryId, MemoryType, Right, Scope, Visibility},
    error::Error,
    input,
    scoring::{fuse, scaled},
    text,
};
use jiff::Timestamp;
use tokio::time::Instant;

/// Items of an answer when no limit is given.
pub(super) const DEFAULT_LIMIT: i64 = 5;
/// Tokens of a prompt block when none are given, and at most.
const DEFAULT_BUDGET: usize = 2000;
const MAX_BUDGET: usize = 32_000;
/// Narrower concepts that an answer names.
const EXPANDED: usize = 20;
/// Constraints that come along at most.
const CONSTRAINTS: usize = 50;
/// Of so many of the latest.
const CONSTRAINTS_READ: usize = 500;

/// A checked question.
pub(super) struct Question {
    pub query: String,
    pub mode: Mode,
    pub limit: usize,
    pub filter: Filter,
    pub min_score: Option<f32>,
    /// The present moment, or the one that `known_at` goes back to.
    pub now: Timestamp,
    /// Tokens of the prompt block, if one is wanted.
    pub prompt: Option<usize>,
    /// Tokens of the items and constraints.
    pub tokens: usize,
    pub explain: bool,
    /// Whether concepts of ontologies are looked for too.
    pub expand: bool,
}

/// Answers a question from what the caller may see, by the deadline.
pub async fn recall(ctx: &ReadContext, caller: &Caller, request: RecallRequest) -> Result<RecallReply, Error> {
    in_time(ctx, answer(ctx, caller, request)).await
}

async fn answer(ctx: &ReadContext, caller: &Caller, request: RecallRequest) -> Result<RecallReply, Error> {
    let started = Instant::now();
    input::require(caller, Right::MemoryRead)?;
    let cursor = {
        let question = RecallRequest { cursor: None, ..request.clone() };
        Cursor::of(request.cursor.as_deref(), &question, ctx.clock.now())?
    };
    let question = question(ctx, request, cursor.now())?;
    let visibility = caller.visibility();
    let deadline = deadline(ctx);
    let now = question.now;
    let arms = Arms {
        semantic: matches!(question.mode, Mode::Hybrid | Mode::Semantic | Mode::Associative),
        keyword: matches!(question.mode, Mode::Hybrid | Mode::Keyword | Mode::Associative),
        concepts: matches!(question.mode, Mode::Hybrid | Mode::Associative),
        expand: question.expand,
        recent: question.mode == Mode::Recent,
        ask: question.mode == Mode::Associative,
    };
    let (mut found, constraints) = tokio::join!(
        candidates(ctx, &question.query, arms, &question.filter, &visibility, deadline),
        constraints(ctx, &question, &visibility, deadline),
    );
    let mut evidence = fused(ctx, question.mode, &found);
    if question.mode == Mode::Associative {
        associate_candidates(ctx, &question, &mut found, &mut evidence, &visibility, deadline).await;
    }
    let order = Order {
        terms: &found.terms,
        filter: &question.filter,
        now,
        limit: question.limit,
        offset: cursor.offset,
        min_score: question.min_score,
    };
    let (mut items, mut more) = items(ctx, evidence, &order, &visibility).await?;
    let (spaces, answered) = (spaces(&found), found.answered);
    let concepts = found.understood.iter().map(|concept| concept.label.clone()).collect();
    let expanded = found.understood.iter().flat_map(|concept| &concept.narrower).map(|(_, label, _)| label.clone());
    let expanded: Vec<String> = expanded.take(EXPANDED).collect();
    let mut degraded = found.degraded;
    let (mut constraints, more_constraints) = constraints.unwrap_or_else(|missing| {
        degraded.push(missing);
        (Vec::new(), false)
    });
    if more_constraints {
        let reason = format!("only {CONSTRAINTS} are given");
        degraded.push(Degraded { part: "constraints".to_owned(), reason });
    }
    if items.is_empty() && !answered {
        return Err(no_arm());
    }
    if !question.explain {
        items.iter_mut().chain(&mut constraints).for_each(|item| item.why = None);
    }
    let prompt = question.prompt.map(|budget| render::prompt(&items, &constraints, budget));
    let left = render::fit_constraints(&mut constraints, question.tokens);
    more |= render::fit(&mut items, left);
    Ok(RecallReply {
        prompt,
        cursor: more.then(|| cursor.after(items.len())),
        items,
        constraints,
        understood: Understood {
            mode: question.mode.to_string(),
            language: text::language(&question.query).to_string(),
            spaces,
            terms: found.terms,
            concepts,
            expanded,
        },
        degraded,
        took_ms: started.elapsed().as_micros() as f64 / 1000.0,
    })
}

/// The vector spaces that were searched, each once.
fn spaces(found: &Candidates<'_>) -> Vec<String> {
    let mut spaces: Vec<String> = found.queries.iter().map(|query| query.embedder.card().id.clone()).collect();
    spaces.dedup();
    spaces
}

fn question(ctx: &ReadContext, request: RecallRequest, now: Timestamp) -> Result<Question, Error> {
    let mode = input::optional_name("mode", request.mode.as_deref())?.unwrap_or(Mode::Hybrid);
    let query = match mode {
        Mode::Recent if request.query.trim().is_empty() => String::new(),
        _ => input::text("query", request.query, ctx.settings.max_query_bytes)?,
    };
    let known = input::optional_time("known_at", request.known_at.as_deref())?;
    let now = known.unwrap_or(now);
    input::few("tags", &request.tags)?;
    let filter = Filter {
        kinds: input::names("kinds", &request.kinds)?,
        types: input::names("types", &request.types)?,
        tags: request.tags,
        session_id: request.session_id,
        task_id: request.task_id,
        since: input::optional_time("since", request.since.as_deref())?,
        until: input::optional_time("until", request.until.as_deref())?,
        include_superseded: request.include_superseded,
        now: Some(now),
        as_of: AsOf { world: input::optional_time("as_of", request.as_of.as_deref())?, known },
        language: None,
    };
    let budget = request.token_budget.map(|budget| input::count("token_budget", budget, MAX_BUDGET)).transpose()?;
    let (prompt, tokens) = match request.format.as_deref() {
        None | Some("items") => (None, budget.unwrap_or(ctx.settings.answer_tokens)),
        Some("prompt") if budget.is_some_and(|budget| budget < render::LEAST_BUDGET) => {
            let least = render::LEAST_BUDGET;
            return Err(Error::bad_input("token_budget", format!("must be at least {least} for a prompt block")));
        }
        Some("prompt") => {
            let (prompt, all) = (budget.unwrap_or(DEFAULT_BUDGET), ctx.settings.answer_tokens);
            // The block is part of the answer too.
            (Some(prompt), all - prompt.min(all / 2))
        }
        Some(_) => return Err(Error::bad_input("format", "unknown value, expected one of items, prompt")),
    };
    Ok(Question {
        now,
        prompt,
        tokens,
        explain: request.explain.unwrap_or(true),
        expand: request.expand.unwrap_or(ctx.settings.expand),
        query,
        mode,
        limit: input::count("limit", request.limit.unwrap_or(DEFAULT_LIMIT), ctx.settings.max_limit)?,
        filter,
        min_score: request.min_score.map(|value| input::share("min_score", value)).transpose()?,
    })
}

/// Evidence for every candidate, with the relevance of the mode.
pub(super) fn fused(ctx: &ReadContext, mode: Mode, found: &Candidates<'_>) -> HashMap<MemoryId, Evidence> {
    let weights = &ctx.settings.fusion;
    let depth = ctx.settings.candidates;
    let semantic = scaled(&found.semantic, depth, None);
    // A memory without any of the words has a BM25 score of 0.
    let keyword = scaled(&found.keyword, depth, Some(0.0));
    let mut named: HashMap<MemoryId, f32> = HashMap::new();
    for concept in &found.concepts {
        for id in &concept.memories {
            let best = named.entry(*id).or_insert(0.0);
            *best = best.max(concept.rarity);
        }
    }
    let relevance = match mode {
        Mode::Semantic => semantic,
        Mode::Keyword => keyword.clone(),
        Mode::Recent => scaled(&found.recent, depth, None),
        Mode::Hybrid | Mode::Associative => {
            fuse(&[(&semantic, 1.0), (&keyword, weights.keyword), (&named, weights.concept)])
        }
    };
    let mut evidence: HashMap<MemoryId, Evidence> = relevance
        .into_iter()
        .map(|(id, relevance)| {
            let (keyword, named) = (keyword.get(&id).copied(), named.get(&id).copied());
            (id, Evidence { relevance, keyword, named, ..Evidence::default() })
        })
        .collect();
    for hit in &found.semantic {
        evidence.entry(hit.id).and_modify(|evidence| evidence.semantic = Some(hit.score));
    }
    evidence
}

/// Adds what the graph reaches from the best candidates.
async fn associate_candidates(
    ctx: &ReadContext,
    question: &Question,
    found: &mut Candidates<'_>,
    evidence: &mut HashMap<MemoryId, Evidence>,
    visibility: &Visibility,
    deadline: Instant,
) {
    let expansion = Expansion {
        seeds: seeds(evidence, ctx.settings.activation.seeds),
        depth: 1,
        edges: ALL_EDGES.to_vec(),
        direction: Direction::Both,
        filter: &question.filter,
        visibility,
        total: found.total,
        deadline,
    };
    let expanded = expand(ctx, &found.queries, &expansion).await;
    found.degraded.extend(add_reached(ctx, evidence, expanded));
}

/// Adds to the evidence what a walk reached; gives what the walk left out.
pub(super) fn add_reached(
    ctx: &ReadContext,
    evidence: &mut HashMap<MemoryId, Evidence>,
    expanded: Expanded,
) -> Vec<Degraded> {
    for (id, reached) in expanded.reached {
        let entry = evidence
            .entry(id)
            .or_insert_with(|| Evidence { semantic: expanded.similarity.get(&id).copied(), ..Evidence::default() });
        entry.relevance += ctx.settings.activation.gain * reached.activation;
        entry.activation = Some(reached.activation);
        entry.path = path_steps(&reached.path, &expanded.neighbourhood);
    }
    expanded.degraded
}

/// The best candidates, with their strength relative to the best.
pub(super) fn seeds(evidence: &HashMap<MemoryId, Evidence>, count: usize) -> Vec<(MemoryId, f32)> {
    let mut best: Vec<(MemoryId, f32)> = evidence
        .iter()
        .map(|(id, evidence)| (*id, evidence.relevance))
        .filter(|(_, relevance)| *relevance > 0.0)
        .collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    best.truncate(count);
    let top = best.first().map_or(1.0, |(_, relevance)| *relevance);
    best.into_iter().map(|(id, relevance)| (id, relevance / top)).collect()
}

/// The constraints in force for the caller, and whether there are more than are given. They come along whatever the
/// question is: those for everyone before those of a group before private ones, so that no member can crowd out what binds
/// all; then by importance, then the newest.
async fn constraints(
    ctx: &ReadContext,
    question: &Question,
    visibility: &Visibility,
    deadline: Instant,
) -> Result<(Vec<RecallItem>, bool), Degraded> {
    let now = question.now;
    let as_of = AsOf { world: question.filter.as_of.world.or(Some(now)), known: question.filter.as_of.known };
    let filter = Filter { types: vec![MemoryType::Constraint], now: Some(now), as_of, ..Filter::default() };
    by_deadline(deadline, "constraints", async {
        let ids: Vec<MemoryId> =
            ctx.graph.recent(&filter, CONSTRAINTS_READ, visibility).await?.into_iter().map(|hit| hit.id).collect();
        let mut memories = ctx.graph.memories(&ids, as_of, visibility).await?;
        let breadth = |memory: &Memory| match memory.scope {
            Scope::Global => 0,
            Scope::Shared(_) => 1,
            Scope::Private(_) => 2,
        };
        memories.sort_by(|a, b| breadth(a).cmp(&breadth(b)).then(b.importance.total_cmp(&a.importance)));
        let more = memories.len() > CONSTRAINTS;
        memories.truncate(CONSTRAINTS);
        Ok((unranked(ctx, &memories, now), more))
    })
    .await
}
