//! Counts votes on memories: whether one helped.
//!
//! A vote is an opinion beside the confidence a memory has, which itself weighs as `prior` opinions: with n votes so far,
//! the confidence c becomes (c (prior + n) + v) / (prior + n + 1), where v is 1 for a useful memory and 0 for another. So a
//! first vote moves it most, many votes decide, and it stays within 0..=1. A second vote of the same principal takes the
//! place of its first.

use super::{FeedbackReply, FeedbackRequest, WriteContext, amend, validate::CONTEXT_BYTES};
use crate::{
    domain::{Caller, ChangeSet, Op, Right},
    error::Error,
    input,
};

/// Notes a vote and moves the confidence.
pub async fn feedback(ctx: &WriteContext, caller: &Caller, request: FeedbackRequest) -> Result<FeedbackReply, Error> {
    input::require(caller, Right::MemoryWrite)?;
    let id = input::memory_id("id", &request.id)?;
    let useful = request.useful.ok_or_else(|| Error::bad_input("useful", "is needed: true or false"))?;
    let note = input::optional_text("note", request.note, CONTEXT_BYTES)?;
    let turn = ctx.turn().await;
    let memory = amend::one(ctx, caller, "id", id).await?;
    let earlier = ctx.graph.vote_of(id, &caller.principal, &caller.visibility()).await?;
    let votes = (memory.useful, memory.not_useful);
    let after = moved(memory.confidence, votes, earlier, useful, ctx.settings.feedback_prior);
    let principal = caller.principal.clone();
    let op = Op::Vote { id, principal, useful, note: note.clone(), confidence: after };
    let change = amend::change(ctx, caller, "feedback", ctx.clock.now(), vec![op]);
    let change = ChangeSet { reason: note, ..change };
    let operation_id = change.id.to_string();
    super::commit(ctx, turn, vec![change]).await?;
    let withdrawn = |vote: bool| u32::from(earlier == Some(vote));
    Ok(FeedbackReply {
        id: id.to_string(),
        confidence_before: memory.confidence,
        confidence_after: after,
        useful: i64::from(votes.0.saturating_sub(withdrawn(true)) + u32::from(useful)),
        not_useful: i64::from(votes.1.saturating_sub(withdrawn(false)) + u32::from(!useful)),
        operation_id,
    })
}

/// The confidence after a vote, given the votes so far (useful, not useful); it takes the place of an `earlier` one.
fn moved(confidence: f32, votes: (u32, u32), earlier: Option<bool>, useful: bool, prior: f32) -> f32 {
    let value = |vote: bool| f64::from(u8::from(vote));
    let weight = f64::from(prior) + f64::from(votes.0) + f64::from(votes.1);
    let confidence = f64::from(confidence);
    let moved = match earlier {
        None => (confidence * weight + value(useful)) / (weight + 1.0),
        Some(earlier) => confidence + (value(useful) - value(earlier)) / weight,
    };
    moved.clamp(0.0, 1.0) as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_vote_moves_confidence_by_its_share() {
        for (confidence, votes, earlier, useful, expected) in [
            (0.8, (0, 0), None, true, 0.84),
            (0.8, (0, 0), None, false, 0.64),
            (0.84, (1, 0), Some(true), true, 0.84),
            (0.84, (1, 0), Some(true), false, 0.64),
            (0.64, (0, 1), Some(false), true, 0.84),
            (1.0, (0, 0), None, true, 1.0),
            (0.0, (0, 3), None, false, 0.0),
        ] {
            let moved = moved(confidence, votes, earlier, useful, 4.0);
            assert!((moved - expected).abs() < 1e-6, "{confidence} {votes:?} {earlier:?} {useful}: {moved}");
        }
    }

    proptest! {
        #[test]
        fn confidence_stays_a_share_and_follows_the_vote(
            confidence in 0.0f32..=1.0, useful in 0u32..50, not_useful in 0u32..50, vote: bool, prior in 1.0f32..10.0
        ) {
            let after = moved(confidence, (useful, not_useful), None, vote, prior);
            prop_assert!((0.0..=1.0).contains(&after));
            let followed = if vote { after >= confidence } else { after <= confidence };
            prop_assert!(followed, "{} became {}", confidence, after);
        }

        #[test]
        fn who_changes_their_mind_counts_once(confidence in 0.0f32..=1.0, first: bool, prior in 1.0f32..10.0) {
            let votes = (u32::from(first), u32::from(!first));
            let at_once = moved(confidence, (0, 0), None, !first, prior);
            let changed = moved(moved(confidence, (0, 0), None, first, prior), votes, Some(first), !first, prior);
            prop_assert!((changed - at_once).abs() < 1e-5, "{} {}", changed, at_once);
        }
    }
}
