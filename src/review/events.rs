//! What happens in the queue, and how it does.

use std::collections::BTreeMap;

use super::{
    AuthorStats, ReviewContext, ReviewEvent, ReviewStats,
    access::{author_seen, reader},
};
use crate::{
    domain::{Caller, ProposalState, Right, Visibility},
    error::Error,
    input::{self, outgoing},
    ports::QueueQuery,
};

/// Rows of the change log that are read at once.
const EVENTS: usize = 500;
/// Pending proposals whose ages are looked at.
const AGES: usize = 100_000;
/// Authors that are named.
const AUTHORS: usize = 100;

/// What became of proposals the caller sees, after position `after`, in order; a change is never cut.
pub async fn review_events(ctx: &ReviewContext<'_>, caller: &Caller, after: u64) -> Result<Vec<ReviewEvent>, Error> {
    let visibility = reader(caller)?;
    let changes = ctx.reviews.proposal_changes(after, EVENTS, author_seen(caller), &visibility).await?;
    Ok(changes
        .into_iter()
        .map(|change| ReviewEvent {
            seq: outgoing(change.seq),
            at: change.at.to_string(),
            actor: change.actor,
            use_case: change.use_case,
            proposal_id: change.proposal.to_string(),
            state: change.state.to_string(),
            kind: change.kind.to_string(),
        })
        .collect())
}

/// The state of the queue as the caller sees it.
pub async fn review_stats(ctx: &ReviewContext<'_>, caller: &Caller) -> Result<ReviewStats, Error> {
    input::require(caller, Right::ReviewRead)?;
    stats_of(ctx, &caller.visibility()).await
}

/// The state of the queue as far as `visibility` goes.
pub async fn stats_of(ctx: &ReviewContext<'_>, visibility: &Visibility) -> Result<ReviewStats, Error> {
    let now = ctx.write.clock.now();
    let pending = QueueQuery { states: vec![ProposalState::Pending], ..QueueQuery::default() };
    let free = QueueQuery { free_at: Some(now), ..pending.clone() };
    let (tallies, since, free) = tokio::try_join!(
        ctx.reviews.tallies(visibility),
        ctx.reviews.waiting(AGES, visibility),
        ctx.reviews.queue_total(&free, visibility)
    )?;
    // Oldest first, so ages fall.
    let age = |share: f64| -> i64 {
        let place = (share * since.len() as f64).ceil() as usize;
        since
            .len()
            .checked_sub(place.max(1))
            .and_then(|at| since.get(at))
            .map_or(0, |at| now.duration_since(*at).as_secs())
    };
    let of = |states: &[ProposalState]| -> usize {
        tallies.iter().filter(|tally| states.contains(&tally.state)).map(|tally| tally.count).sum()
    };
    let decided: usize = tallies.iter().map(|tally| tally.decided).sum();
    let secs: f64 = tallies.iter().map(|tally| tally.decision_secs).sum();
    let waiting = of(&[ProposalState::Pending]);
    let mut authors: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for tally in &tallies {
        let place = match tally.state {
            state if state.is_open() => 0,
            ProposalState::Approved | ProposalState::Reverted => 1,
            ProposalState::Rejected => 2,
            _ => continue,
        };
        authors.entry(&tally.author).or_default()[place] += tally.count;
    }
    let mut authors: Vec<(&str, [usize; 3])> = authors.into_iter().collect();
    authors.sort_by_key(|(author, counts)| (std::cmp::Reverse(counts.iter().sum::<usize>()), *author));
    authors.truncate(AUTHORS);
    Ok(ReviewStats {
        pending: outgoing(waiting),
        claimed: outgoing(waiting.saturating_sub(free)),
        changes_requested: outgoing(of(&[ProposalState::ChangesRequested])),
        conflicted: outgoing(of(&[ProposalState::Conflicted])),
        age_p50_secs: age(0.5),
        age_p95_secs: age(0.95),
        decision_secs: (decided > 0).then(|| secs / decided as f64),
        authors: authors
            .into_iter()
            .map(|(author, [open, approved, rejected])| AuthorStats {
                author: author.to_owned(),
                open: outgoing(open),
                approved: outgoing(approved),
                rejected: outgoing(rejected),
                accept_rate: (approved + rejected > 0).then(|| approved as f64 / (approved + rejected) as f64),
            })
            .collect(),
    })
}
