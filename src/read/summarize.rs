//! Sums up what happened in a time, in a session or about a topic, in the memories' own sentences.

use std::collections::BTreeSet;

use super::{
    BriefReply, BriefRequest, Mode, ReadContext, SummarizeReply, SummarizeRequest, SummarySource,
    candidates::{Arms, candidates, deadline, no_arm},
    rank::{Order, ranked},
    recall::fused,
};
use crate::{
    domain::{AsOf, Caller, EdgeKind, Filter, Memory, MemoryId, Right, Status, Visibility},
    error::Error,
    input, text,
};

/// Memories that are read at most; of a topic fewer, since the last of them no longer answer it.
const MEMORIES: usize = 200;
const ON_TOPIC: usize = 30;
/// Longest summary, in characters.
const SUMMARY_CHARS: usize = 2000;
/// Members of a brief at most.
const BRIEF_MEMBERS: usize = 50;
/// Longest name of a session, in bytes.
const NAME_BYTES: usize = 512;

/// Sums up the memories that the request names.
pub async fn summarize(ctx: &ReadContext, caller: &Caller, request: SummarizeRequest) -> Result<SummarizeReply, Error> {
    input::require(caller, Right::MemoryRead)?;
    let topic = input::optional_text("topic", request.topic, ctx.settings.max_query_bytes)?;
    let filter = Filter {
        since: input::optional_time("since", request.since.as_deref())?,
        until: input::optional_time("until", request.until.as_deref())?,
        session_id: input::optional_text("session_id", request.session_id, NAME_BYTES)?,
        now: Some(ctx.clock.now()),
        ..Filter::default()
    };
    let visibility = caller.visibility();
    let (mut ids, limit) = match topic {
        Some(topic) => (on_topic(ctx, &topic, &filter, &visibility).await?, ON_TOPIC),
        None => {
            let latest = ctx.graph.recent(&filter, MEMORIES + 1, &visibility).await?;
            (latest.into_iter().map(|hit| hit.id).collect(), MEMORIES)
        }
    };
    let truncated = ids.len() > limit;
    ids.truncate(limit);
    let mut memories = ctx.graph.memories(&ids, AsOf::default(), &visibility).await?;
    // It says what its members say; they are here themselves.
    memories.retain(|memory| !memory.is_session_summary());
    memories.sort_by_key(|memory| (memory.occurred_at, memory.id));
    let (summary, sources) = quoted(&memories);
    Ok(SummarizeReply { summary, sources, considered: i64::try_from(memories.len()).unwrap_or(i64::MAX), truncated })
}

/// Tells a session in short: what it came to, and its members in order.
pub async fn brief(ctx: &ReadContext, caller: &Caller, request: BriefRequest) -> Result<BriefReply, Error> {
    input::require(caller, Right::MemoryRead)?;
    let session_id = input::text("session_id", request.session_id, NAME_BYTES)?;
    let visibility = caller.visibility();
    let ids = ctx.graph.members(EdgeKind::SameSession, &session_id, MEMORIES, &visibility).await?;
    let mut memories = ctx.graph.memories(&ids, AsOf::default(), &visibility).await?;
    let now = ctx.clock.now();
    memories.retain(|memory| {
        let active = memory.status == Status::Active && memory.expires_at.is_none_or(|end| now < end);
        active && !memory.is_session_summary()
    });
    if memories.is_empty() {
        return Err(Error::not_found("session_id"));
    }
    let (summary, _) = quoted(&memories);
    let earlier = memories.len().saturating_sub(BRIEF_MEMBERS);
    let members = memories[earlier..].iter().map(source).collect();
    Ok(BriefReply { session_id, summary, members, truncated: earlier > 0 || ids.len() == MEMORIES })
}

/// What answers the topic, best first, without weak matches; one more than is read says whether there are others.
async fn on_topic(
    ctx: &ReadContext,
    topic: &str,
    filter: &Filter,
    visibility: &Visibility,
) -> Result<Vec<MemoryId>, Error> {
    let arms = Arms::of_a_question(&ctx.settings, false);
    let found = candidates(ctx, topic, arms, filter, visibility, deadline(ctx)).await;
    if !found.answered {
        return Err(no_arm());
    }
    let evidence = fused(ctx, Mode::Hybrid, &found);
    let now = filter.now.unwrap_or_else(|| ctx.clock.now());
    let order = Order { terms: &found.terms, filter, now, limit: ON_TOPIC + 1, offset: 0, min_score: None };
    let items = ranked(ctx, evidence, &order, visibility, ON_TOPIC + 1).await?;
    let strong = items.into_iter().filter(|item| !item.weak);
    Ok(strong.filter_map(|item| item.id.parse().ok()).take(ON_TOPIC + 1).collect())
}

/// A digest of `memories` and those that it quotes.
fn quoted(memories: &[Memory]) -> (String, Vec<SummarySource>) {
    let texts: Vec<String> = memories.iter().map(Memory::said).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let digest = text::digest(&texts, SUMMARY_CHARS);
    let quoted: BTreeSet<usize> = digest.iter().map(|said| said.text).collect();
    (text::joined(&digest), quoted.into_iter().map(|at| source(&memories[at])).collect())
}

fn source(memory: &Memory) -> SummarySource {
    SummarySource {
        id: memory.id.to_string(),
        title: memory.title.clone(),
        summary: memory.summary.clone(),
        occurred_at: memory.occurred_at.to_string(),
    }
}
