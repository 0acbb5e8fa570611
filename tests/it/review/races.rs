//! Many reviewers at once.

use std::sync::Arc;

use recollect::{error::ErrorCode, review::RejectProposalRequest};

use crate::support::desk::{Desk, agent, edit, reviewer, yes};

const REVIEWERS: usize = 20;
const PROPOSALS: usize = 50;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_reviewers_on_fifty_proposals_make_one_decision_each() {
    let desk = Arc::new(Desk::open().await);
    let rita = reviewer("rita");
    desk.page_of("shared", &(0..PROPOSALS).map(|n| format!("line {n}\n\n")).collect::<String>()).await;
    let mut read = Vec::new();
    for n in 0..PROPOSALS {
        // Some of one page, which moves under the others.
        let request = if n % 5 == 0 {
            let body: String =
                (0..PROPOSALS).map(|at| format!("line {at}{}\n\n", if at == n { " changed" } else { "" })).collect();
            edit("shared", &body, Some(1))
        } else {
            edit(&format!("page-{n}"), &format!("text {n}\n"), None)
        };
        let proposed = desk.propose(&agent("scribe"), request).await;
        read.push(desk.proposal(&rita, &proposed.id).await);
    }
    let read = Arc::new(read);
    let mut at_work = Vec::new();
    for who in 0..REVIEWERS {
        let (desk, read) = (desk.clone(), read.clone());
        at_work.push(tokio::spawn(async move {
            let me = reviewer(&format!("reviewer-{who}"));
            let mut decided = Vec::new();
            // Each begins elsewhere, so that every proposal is wanted by several at the same moment.
            for step in 0..PROPOSALS {
                let proposal = &read[(step + who / 2 * 5) % PROPOSALS];
                let answer = if who % 2 == 0 {
                    desk.service.approve_proposal(&me, yes(proposal)).await
                } else {
                    let (id, reason) = (proposal.id.clone(), "style".to_owned());
                    desk.service.reject_proposal(&me, RejectProposalRequest { id, reason, ..Default::default() }).await
                };
                match answer {
                    Ok(reply) => decided.push((proposal.id.clone(), reply.outcome)),
                    Err(error) => assert!(
                        matches!(error.code, ErrorCode::Conflict | ErrorCode::StaleBase),
                        "{error}: {:?}",
                        error.source
                    ),
                }
            }
            decided
        }));
    }
    let mut decisions = Vec::new();
    for worker in at_work {
        decisions.extend(worker.await.unwrap());
    }
    decisions.sort();
    let ids: Vec<&String> = decisions.iter().map(|(id, _)| id).collect();
    let mut once = ids.clone();
    once.dedup();
    assert_eq!(ids, once, "no proposal was decided twice");
    assert_eq!(ids.len(), PROPOSALS, "and each was decided");
    let mut live = 0;
    for proposal in read.iter() {
        let now = desk.proposal(&rita, &proposal.id).await;
        let last = now.moves.last().unwrap();
        assert_eq!(now.moves.len(), 2, "{now:?}");
        assert_eq!(now.state, last.to);
        let slug = proposal.slug.as_deref().unwrap();
        if now.state == "approved" {
            live += 1;
            let revision = desk.page_at(slug, None).await.unwrap();
            assert!(slug == "shared" || revision.body == proposal.body);
        } else if slug != "shared" {
            assert!(desk.page_at(slug, None).await.is_none());
        }
    }
    let approved = decisions.iter().filter(|(_, outcome)| outcome == "approved").count();
    assert_eq!(live, approved);
}
