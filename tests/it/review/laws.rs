//! Laws that hold whatever authors and reviewers do, in whatever order.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use proptest::{prelude::*, test_runner::TestRunner};
use recollect::{
    domain::{Caller, ProposalState},
    read::browse::PageRequest as ListPage,
    review::{
        ProposalRecord, ProposalsRequest, ProposeEditRequest, RejectProposalRequest, RequestChangesRequest,
        RevertProposalRequest, RevertRevisionRequest, ReviseProposalRequest, WithdrawProposalRequest,
    },
};

use crate::support::desk::{Desk, agent, edit, reviewer, yes};

#[derive(Debug, Clone)]
enum Step {
    Propose { page: usize, line: usize, stale: bool },
    Rename { page: usize },
    Delete { page: usize },
    Restore { page: usize },
    Revise { which: usize, line: usize },
    Withdraw { which: usize },
    Claim { which: usize, who: usize },
    Approve { which: usize, who: usize },
    Reject { which: usize, who: usize },
    Ask { which: usize, who: usize },
    Revert { which: usize },
    RevertRevision { page: usize, back: i64 },
    Undo { which: usize, who: usize },
    Wait { mins: i64 },
}

fn step() -> impl Strategy<Value = Step> {
    let (page, which, line, who) = (0..3_usize, 0..8_usize, 0..6_usize, 0..2_usize);
    prop_oneof![
        4 => (page.clone(), line.clone(), any::<bool>()).prop_map(|(page, line, stale)| Step::Propose { page, line, stale }),
        1 => page.clone().prop_map(|page| Step::Rename { page }),
        1 => page.clone().prop_map(|page| Step::Delete { page }),
        1 => page.clone().prop_map(|page| Step::Restore { page }),
        2 => (which.clone(), line).prop_map(|(which, line)| Step::Revise { which, line }),
        1 => which.clone().prop_map(|which| Step::Withdraw { which }),
        2 => (which.clone(), who.clone()).prop_map(|(which, who)| Step::Claim { which, who }),
        6 => (which.clone(), who.clone()).prop_map(|(which, who)| Step::Approve { which, who }),
        1 => (which.clone(), who.clone()).prop_map(|(which, who)| Step::Reject { which, who }),
        1 => (which.clone(), who.clone()).prop_map(|(which, who)| Step::Ask { which, who }),
        2 => which.clone().prop_map(|which| Step::Revert { which }),
        2 => (page, 0..3_i64).prop_map(|(page, back)| Step::RevertRevision { page, back }),
        1 => (which, who).prop_map(|(which, who)| Step::Undo { which, who }),
        1 => (0..40_i64).prop_map(|mins| Step::Wait { mins }),
    ]
}

/// What happened so far, as whoever did it knows.
struct World {
    desk: Desk,
    proposals: Vec<String>,
    /// Hashes that a reviewer read before saying yes to them, and what they were.
    read: BTreeSet<String>,
    lines: usize,
}

impl World {
    fn who(who: usize) -> Caller {
        reviewer(["rita", "rob"][who])
    }

    async fn which(&self, which: usize) -> Option<ProposalRecord> {
        let id = self.proposals.get(self.proposals.len().checked_sub(which + 1)?)?;
        Some(self.desk.proposal(&reviewer("rita"), id).await)
    }

    async fn propose(&mut self, request: ProposeEditRequest) {
        if let Ok(proposed) = self.desk.service.propose_edit(&agent("scribe"), request).await {
            self.proposals.push(proposed.id);
        }
    }

    /// A new text of a page: a line of it says something that no text said before.
    fn text(&mut self, old: Option<&str>, line: usize) -> String {
        self.lines += 1;
        let mut lines: Vec<String> = old.map_or_else(
            || (0..6).map(|n| format!("start {n}\n\n")).collect(),
            |old| old.split_inclusive("\n\n").map(str::to_owned).collect(),
        );
        let place = line.min(lines.len() - 1);
        lines[place] = format!("said {}\n\n", self.lines);
        lines.concat()
    }

    async fn take(&mut self, step: Step) {
        let act = |page: usize, action: &str, base: i64| ProposeEditRequest {
            slug: format!("page-{page}"),
            action: Some(action.to_owned()),
            base_revision: Some(base),
            ..ProposeEditRequest::default()
        };
        let now = async |desk: &Desk, page: usize| desk.page_at(&format!("page-{page}"), None).await;
        match step {
            Step::Propose { page, line, stale } => {
                let there = now(&self.desk, page).await;
                let base = there.as_ref().map(|page| if stale { (page.head - 1).max(1) } else { page.head });
                let old = match base {
                    Some(base) => {
                        self.desk.page_at(&format!("page-{page}"), Some(base)).await.and_then(|page| page.body)
                    }
                    None => None,
                };
                let body = self.text(old.as_deref(), line);
                self.propose(edit(&format!("page-{page}"), &body, base)).await;
            }
            Step::Rename { page } => {
                if let Some(there) = now(&self.desk, page).await {
                    self.lines += 1;
                    let new_slug = Some(format!("moved-{}", self.lines));
                    self.propose(ProposeEditRequest { new_slug, ..act(page, "rename", there.head) }).await;
                }
            }
            Step::Delete { page } | Step::Restore { page } => {
                if let Some(there) = now(&self.desk, page).await {
                    let action = if matches!(step, Step::Delete { .. }) { "delete" } else { "restore" };
                    self.propose(act(page, action, there.head)).await;
                }
            }
            Step::Revise { which, line } => {
                if let Some(read) = self.which(which).await {
                    let body = self.text(read.body.as_deref(), line);
                    let request = ReviseProposalRequest { id: read.id, body, ..Default::default() };
                    let _ = self.desk.service.revise_proposal(&agent("scribe"), request).await;
                }
            }
            Step::Withdraw { which } => {
                if let Some(read) = self.which(which).await {
                    let request = WithdrawProposalRequest { id: read.id, reason: None };
                    let _ = self.desk.service.withdraw_proposal(&agent("scribe"), request).await;
                }
            }
            Step::Claim { which, who } => {
                if let Some(read) = self.which(which).await {
                    let _ = self.desk.service.claim_proposal(&Self::who(who), &read.id).await;
                }
            }
            Step::Approve { which, who } => {
                if let Some(read) = self.which(which).await {
                    self.read.insert(read.content_hash.clone());
                    let _ = self.desk.service.approve_proposal(&Self::who(who), yes(&read)).await;
                }
            }
            Step::Reject { which, who } => {
                if let Some(read) = self.which(which).await {
                    let request =
                        RejectProposalRequest { id: read.id, reason: "style".to_owned(), ..Default::default() };
                    let _ = self.desk.service.reject_proposal(&Self::who(who), request).await;
                }
            }
            Step::Ask { which, who } => {
                if let Some(read) = self.which(which).await {
                    let request = RequestChangesRequest { id: read.id, note: "more".to_owned(), comments: Vec::new() };
                    let _ = self.desk.service.request_changes(&Self::who(who), request).await;
                }
            }
            Step::Revert { which } => {
                if let Some(read) = self.which(which).await {
                    let request = RevertProposalRequest { id: read.id, reason: None };
                    let _ = self.desk.service.revert_proposal(&reviewer("rita"), request).await;
                }
            }
            Step::RevertRevision { page, back } => {
                if let Some(there) = now(&self.desk, page).await {
                    let revision = there.head - back;
                    let request = RevertRevisionRequest { slug: there.slug, revision, ..Default::default() };
                    let _ = self.desk.service.revert_revision(&reviewer("rita"), request).await;
                }
            }
            Step::Undo { which, who } => {
                if let Some(read) = self.which(which).await {
                    let _ = self.desk.service.undo_decision(&Self::who(who), &read.id).await;
                }
            }
            Step::Wait { mins } => self.desk.clock.advance(SignedDuration::from_mins(mins)),
        }
    }

    async fn check(&self) {
        let rita = reviewer("rita");
        let states = ProposalState::NAMES.iter().map(|name| (*name).to_owned()).collect();
        let all = ProposalsRequest { states, ..ProposalsRequest::default() };
        let every = ListPage { first: Some(100), after: None };
        let proposals = self.desk.service.proposals(&rita, &all, &every).await.unwrap();
        assert_eq!(proposals.items.len(), self.proposals.len());
        let events = self.desk.service.review_events(&rita, 0).await.unwrap();
        for (_, proposal) in &proposals.items {
            check_moves(proposal);
            // Every move is in the log, with the same end.
            let told: Vec<&str> = events
                .iter()
                .filter(|event| event.proposal_id == proposal.id)
                .map(|event| event.state.as_str())
                .collect();
            assert_eq!(told.last(), Some(&proposal.state.as_str()));
            assert!(told.len() >= proposal.moves.len(), "{told:?}");
        }
        let by_id: BTreeMap<&str, &ProposalRecord> =
            proposals.items.iter().map(|(_, proposal)| (proposal.id.as_str(), proposal)).collect();
        for page in 0..3 {
            let slug = format!("page-{page}");
            let Some(history) = self.desk.service.page_history(&rita, &slug, &every).await.unwrap() else { continue };
            let head = self.desk.page(&slug).await;
            let numbers: Vec<i64> = history.items.iter().rev().map(|(_, revision)| revision.number).collect();
            assert_eq!(numbers, (1..=head.head).collect::<Vec<_>>(), "history is whole");
            for (_, revision) in &history.items {
                assert!(!revision.approvers.is_empty());
                assert!(revision.approvers.iter().all(|by| by == "rita" || by == "rob"));
                match &revision.proposal_id {
                    // What went live is what was read.
                    Some(id) => {
                        assert!(self.read.contains(&revision.content_hash), "{revision:?}");
                        let state = by_id[id.as_str()].state.as_str();
                        assert!(state == "approved" || state == "reverted", "{state}");
                    }
                    None => assert!(revision.change == "revert"),
                }
            }
            if head.deleted {
                continue;
            }
            let request = recollect::review::PageRequest { slug, ..Default::default() };
            let blame = self.desk.service.page_blame(&rita, request).await.unwrap().unwrap();
            let whole: String = blame.lines.iter().map(|run| run.text.as_str()).collect();
            assert_eq!(Some(whole), head.body, "blame replays to the head");
        }
    }
}

/// Only ways that the machine has, each from where the one before ended.
fn check_moves(proposal: &ProposalRecord) {
    let ways = [
        ("pending", "approved"),
        ("conflicted", "approved"),
        ("pending", "rejected"),
        ("changes_requested", "rejected"),
        ("conflicted", "rejected"),
        ("pending", "changes_requested"),
        ("conflicted", "changes_requested"),
        ("pending", "conflicted"),
        ("pending", "pending"),
        ("conflicted", "pending"),
        ("changes_requested", "pending"),
        ("rejected", "pending"),
        ("pending", "withdrawn"),
        ("changes_requested", "withdrawn"),
        ("conflicted", "withdrawn"),
        ("pending", "superseded"),
        ("conflicted", "superseded"),
        ("approved", "reverted"),
    ];
    let mut state = None;
    for step in &proposal.moves {
        assert_eq!(step.from, state, "{proposal:?}");
        if let Some(from) = &step.from {
            assert!(ways.contains(&(from.as_str(), step.to.as_str())), "{from} to {}", step.to);
        }
        state = Some(step.to.clone());
    }
    assert_eq!(state.as_ref(), Some(&proposal.state));
}

#[test]
fn head_is_reviewed_history_is_whole_and_states_keep_to_the_machine() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config =
        ProptestConfig { cases: 12, max_shrink_iters: 40, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    runner
        .run(&prop::collection::vec(step(), 10..40), |steps| {
            runtime.block_on(async {
                let mut world =
                    World { desk: Desk::open().await, proposals: Vec::new(), read: BTreeSet::new(), lines: 0 };
                for step in steps {
                    world.take(step).await;
                }
                world.check().await;
            });
            Ok(())
        })
        .unwrap();
}
