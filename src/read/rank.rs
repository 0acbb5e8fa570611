//! From fused candidates to items: reads the memories, weighs the signals, marks weak matches, says why.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::{Profile, ReadContext, RecallItem, Why};
use crate::{
    domain::{AsOf, Filter, Memory, MemoryId, Visibility},
    error::Error,
    scoring::{Signals, freshness, rank},
    telemetry::time_part,
};

/// What the arms and the graph say of a candidate.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    /// Calibrated similarity to the query, not clamped.
    pub semantic: Option<f32>,
    /// Scaled keyword score.
    pub keyword: Option<f32>,
    /// Rarity of what it is about, where the query names that.
    pub named: Option<f32>,
    pub activation: Option<f32>,
    /// Fused, before it is set in relation to the best.
    pub relevance: f32,
    pub path: Vec<super::PathStep>,
}

/// How to order.
pub(super) struct Order<'a> {
    pub terms: &'a [String],
    /// What the question is narrowed to, and the moments it asks about.
    pub filter: &'a Filter,
    pub now: Timestamp,
    /// Items of a page.
    pub limit: usize,
    /// Items before this page.
    pub offset: usize,
    pub min_score: Option<f32>,
}

/// A page of items, best first, and whether there are more.
pub(super) async fn items(
    ctx: &ReadContext,
    evidence: HashMap<MemoryId, Evidence>,
    order: &Order<'_>,
    visibility: &Visibility,
) -> Result<(Vec<RecallItem>, bool), Error> {
    let end = order.offset + order.limit;
    let mut items = ranked(ctx, evidence, order, visibility, end + 1).await?;
    let more = items.len() > end;
    items.truncate(end);
    Ok((items.split_off(order.offset.min(items.len())), more))
}

/// The best candidates in the order of all pages, at least `enough` of them if there are as many.
///
/// The other signals reorder among the near in relevance, a window at a time. What is in one window never depends on the
/// page asked for, so pages neither repeat nor skip, and what is far behind is not read at all.
pub(super) async fn ranked(
    ctx: &ReadContext,
    evidence: HashMap<MemoryId, Evidence>,
    order: &Order<'_>,
    visibility: &Visibility,
    enough: usize,
) -> Result<Vec<RecallItem>, Error> {
    let _timer = time_part("rank");
    let settings = &ctx.settings;
    let mut best: Vec<(MemoryId, Evidence)> = evidence.into_iter().collect();
    best.sort_by(|a, b| b.1.relevance.total_cmp(&a.1.relevance).then(a.0.cmp(&b.0)));
    let top = best.first().map_or(1.0, |(_, evidence)| evidence.relevance).max(f32::MIN_POSITIVE);
    let window = match settings.profile {
        // Nothing is reordered; one more says whether there is another page.
        Profile::Relevance => order.limit + 1,
        Profile::Agent => (order.limit * 4).max(40),
    };
    let mut ranked: Vec<RecallItem> = Vec::new();
    while ranked.len() < enough && !best.is_empty() {
        let near: Vec<(MemoryId, Evidence)> = best.drain(..window.min(best.len())).collect();
        let ids: Vec<MemoryId> = near.iter().map(|(id, _)| *id).collect();
        let memories: HashMap<MemoryId, Memory> = ctx
            .graph
            .memories(&ids, order.filter.as_of, visibility)
            .await?
            .into_iter()
            // The index knows retirements and texts of today; the graph store says how each memory was at the moment asked for.
            .filter(|memory| order.filter.matches(memory) && is_valid(order.filter, order.now, memory))
            .map(|memory| (memory.id, memory))
            .collect();
        let mut items: Vec<RecallItem> = near
            .into_iter()
            .filter_map(|(id, evidence)| {
                let memory = memories.get(&id)?;
                Some(judged(ctx, memory, evidence, top, order))
            })
            .filter(|item| order.min_score.is_none_or(|least| item.score >= least))
            .collect();
        items.sort_by(|a, b| b.score.total_cmp(&a.score));
        ranked.append(&mut items);
    }
    Ok(ranked)
}

/// Whether what `memory` says holds in the world at `now`, unless the question is about another time or wants what was
/// superseded too.
pub(super) fn is_valid(filter: &Filter, now: Timestamp, memory: &Memory) -> bool {
    filter.include_superseded || filter.as_of.world.is_some() || AsOf { world: Some(now), known: None }.holds(memory)
}

/// A candidate as an answer shows it, with its score; `top` is the relevance of the best.
pub(super) fn judged(
    ctx: &ReadContext,
    memory: &Memory,
    evidence: Evidence,
    top: f32,
    order: &Order<'_>,
) -> RecallItem {
    let settings = &ctx.settings;
    let signals = signals(ctx, memory, (evidence.relevance / top).clamp(0.0, 1.0), order.now);
    let score = match settings.profile {
        Profile::Relevance => signals.relevance,
        Profile::Agent => rank(&signals, &settings.rank),
    };
    let why = why(evidence, &signals, coverage(memory, order.terms));
    let weak = why.semantic.unwrap_or(0.0) < settings.weak_similarity
        && why.coverage < settings.weak_coverage
        && why.activation.unwrap_or(0.0) < settings.weak_similarity;
    item(memory, score, weak, why)
}

fn signals(ctx: &ReadContext, memory: &Memory, relevance: f32, now: Timestamp) -> Signals {
    let age_days = now.duration_since(memory.occurred_at).as_secs_f32() / 86_400.0;
    Signals {
        relevance,
        freshness: freshness(memory.kind, age_days, &ctx.settings.rank),
        type_priority: Signals::priority_of(memory.memory_type),
        importance: memory.importance,
        confidence: memory.confidence,
        access: Signals::access_of(memory.access_count),
    }
}

fn why(evidence: Evidence, signals: &Signals, coverage: f32) -> Why {
    let share = |value: Option<f32>| value.map(|value| value.clamp(0.0, 1.0));
    Why {
        semantic: share(evidence.semantic),
        keyword: share(evidence.keyword),
        named: share(evidence.named),
        coverage,
        activation: share(evidence.activation),
        relevance: signals.relevance,
        freshness: signals.freshness,
        type_priority: signals.type_priority,
        importance: signals.importance,
        confidence: signals.confidence,
        access: signals.access,
        path: evidence.path,
    }
}

/// Share of the query's terms that the memory has.
fn coverage(memory: &Memory, terms: &[String]) -> f32 {
    if terms.is_empty() {
        return 0.0;
    }
    let own: HashSet<&str> = memory.terms.split(' ').collect();
    terms.iter().filter(|term| own.contains(term.as_str())).count() as f32 / terms.len() as f32
}

/// A memory as an answer shows it.
pub(super) fn item(memory: &Memory, score: f32, weak: bool, why: Why) -> RecallItem {
    RecallItem {
        id: memory.id.to_string(),
        external_id: memory.external_id.clone(),
        title: memory.title.clone(),
        content: memory.content.clone(),
        summary: memory.summary.clone(),
        kind: memory.kind.to_string(),
        r#type: memory.memory_type.to_string(),
        score,
        weak,
        confidence: memory.confidence,
        status: memory.status.to_string(),
        occurred_at: memory.occurred_at.to_string(),
        valid_from: memory.valid_from.map(|time| time.to_string()),
        valid_to: memory.valid_to.map(|time| time.to_string()),
        session_id: memory.session_id.clone(),
        task_id: memory.task_id.clone(),
        tags: memory.tags.clone(),
        cut: false,
        why: Some(why),
    }
}

/// Memories outside any ranking, with their signals but no relevance.
pub(super) fn unranked(ctx: &ReadContext, memories: &[Memory], now: Timestamp) -> Vec<RecallItem> {
    memories
        .iter()
        .map(|memory| item(memory, 1.0, false, why(Evidence::default(), &signals(ctx, memory, 0.0, now), 0.0)))
        .collect()
}
