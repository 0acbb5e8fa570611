//! Decisions between memories, taken back: exactly what they did goes, or nothing.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use proptest::{prelude::*, test_runner::TestRunner};
use recollect::{
    domain::{EdgeKind, MemoryId},
    error::ErrorCode,
    read::RecallRequest,
    review::{ApproveProposalRequest, ProposeDecisionRequest, RejectProposalRequest, RevertProposalRequest},
    write::{FeedbackRequest, StoreRequest, UpdateRequest},
};

use super::{of, refused};
use crate::support::desk::{Desk, agent, reviewer, yes};

struct World {
    desk: Desk,
    ids: Vec<String>,
}

/// A memory as far as decisions touch it: status, end, text, and its edges to others of the world.
type Seen = (String, Option<String>, String, BTreeSet<(EdgeKind, String)>);

impl World {
    async fn of(count: usize) -> Self {
        let desk = Desk::open().await;
        let mut ids = Vec::new();
        for n in 0..count {
            let request = StoreRequest {
                content: format!("ferry number {n} leaves at {n} o'clock"),
                valid_to: (n == 0).then(|| "2030-01-01T00:00:00Z".to_owned()),
                ..StoreRequest::default()
            };
            ids.push(desk.service.store(&agent("scribe"), request).await.unwrap().id.unwrap());
        }
        Self { desk, ids }
    }

    async fn seen(&self) -> Vec<Seen> {
        let scribe = agent("scribe");
        let ids: Vec<MemoryId> = self.ids.iter().map(|id| id.parse().unwrap()).collect();
        let found = self.desk.service.find(&scribe, &ids).await.unwrap();
        let edges = self.desk.service.edges(&scribe, &ids).await.unwrap();
        let decided = [EdgeKind::Supersedes, EdgeKind::Contradicts];
        found
            .into_iter()
            .zip(edges)
            .map(|(memory, edges)| {
                let from_it = edges
                    .into_iter()
                    .filter(|edge| edge.from.to_string() == memory.id && decided.contains(&edge.kind))
                    .map(|edge| (edge.kind, edge.to.to_string()))
                    .collect();
                (memory.status, memory.valid_to, memory.content, from_it)
            })
            .collect()
    }

    async fn propose(&self, kind: &str, places: &[usize]) -> Option<String> {
        let memories = places.iter().map(|place| self.ids[*place].clone()).collect();
        let request = ProposeDecisionRequest { kind: kind.to_owned(), memories, ..Default::default() };
        self.desk.service.propose_decision(&agent("scribe"), request).await.ok().map(|proposal| proposal.id)
    }

    async fn choose(&self, proposal: &str, place: usize) -> Result<(), recollect::error::Error> {
        let rita = reviewer("rita");
        let read = self.desk.proposal(&rita, proposal).await;
        let request = ApproveProposalRequest { chosen: Some(self.ids[place].clone()), ..yes(&read) };
        self.desk.service.approve_proposal(&rita, request).await.map(drop)
    }

    async fn update(&self, place: usize, content: &str) -> bool {
        let (id, content) = (self.ids[place].clone(), Some(content.to_owned()));
        self.desk.service.update(&agent("scribe"), UpdateRequest { id, content, ..Default::default() }).await.is_ok()
    }

    async fn recalled(&self, query: &str) -> Vec<String> {
        let request = RecallRequest { query: query.to_owned(), ..RecallRequest::default() };
        let reply = self.desk.service.recall(&agent("scribe"), request).await.unwrap();
        reply.items.into_iter().map(|item| item.id).collect()
    }
}

#[tokio::test]
async fn a_choice_and_a_merge_are_undone_to_what_was_there_before() {
    let world = World::of(4).await;
    let rita = reviewer("rita");
    // A link of somebody else's stays.
    let link = recollect::write::LinkRequest {
        from: world.ids[1].clone(),
        to: world.ids[3].clone(),
        edge: "SUPERSEDES".to_owned(),
        reason: Some("said so".to_owned()),
    };
    world.desk.service.link(&agent("scribe"), link).await.unwrap();
    let conflict = world.propose("memory_conflict", &[0, 1]).await.unwrap();
    let before = world.seen().await;
    world.choose(&conflict, 1).await.unwrap();
    assert!(!world.recalled("ferry number 0").await.contains(&world.ids[0]));
    // Some minutes later, within the window.
    world.desk.clock.advance(SignedDuration::from_mins(5));
    assert_eq!(world.desk.service.undo_decision(&rita, &conflict).await.unwrap().outcome, "reverted");
    assert_eq!(world.seen().await, before);
    assert!(world.recalled("ferry number 0").await.contains(&world.ids[0]), "it is found again");
    let state = world.desk.proposal(&rita, &conflict).await.state;
    assert_eq!(state, "reverted");
    let merge = world.propose("memory_merge", &[0, 1, 2]).await.unwrap();
    let before = world.seen().await;
    world.choose(&merge, 2).await.unwrap();
    assert_eq!(world.seen().await.iter().filter(|seen| seen.0 == "active").count(), 1);
    world.desk.clock.advance(SignedDuration::from_hours(1));
    assert_eq!(refused(world.desk.service.undo_decision(&rita, &merge).await), of(ErrorCode::Conflict, "id"));
    // Too late for an undo; a revert still finds everything as it was left.
    let back = RevertProposalRequest { id: merge, reason: Some("they differ".to_owned()) };
    assert_eq!(world.desk.service.revert_proposal(&rita, back).await.unwrap().outcome, "reverted");
    assert_eq!(world.seen().await, before);
    let report = world.desk.service.doctor(&recollect::domain::Caller::operator("admin"), false).await.unwrap();
    assert!(report.ok(), "{report:?}");
}

#[tokio::test]
async fn a_no_to_a_conflict_taken_back_contradicts_again() {
    let world = World::of(2).await;
    let conflict = world.propose("memory_conflict", &[0, 1]).await.unwrap();
    let before = world.seen().await;
    let no = RejectProposalRequest { id: conflict.clone(), reason: "incorrect".to_owned(), ..Default::default() };
    world.desk.service.reject_proposal(&reviewer("rita"), no).await.unwrap();
    assert_ne!(world.seen().await, before);
    assert_eq!(world.desk.service.undo_decision(&reviewer("rita"), &conflict).await.unwrap().outcome, "reopened");
    assert_eq!(world.seen().await, before);
}

#[tokio::test]
async fn what_changed_since_is_not_undone() {
    for changed in ["chosen", "twin", "later"] {
        let world = World::of(3).await;
        let conflict = world.propose("memory_conflict", &[0, 1]).await.unwrap();
        world.choose(&conflict, 1).await.unwrap();
        match changed {
            "chosen" => assert!(world.update(1, "the ferry leaves at noon").await),
            "twin" => {
                let content = world.seen().await[0].2.clone();
                let request = StoreRequest { content, ..StoreRequest::default() };
                assert_eq!(world.desk.service.store(&agent("scribe"), request).await.unwrap().outcome, "stored");
            }
            _ => {
                let merge = world.propose("memory_merge", &[1, 2]).await.unwrap();
                world.choose(&merge, 2).await.unwrap();
            }
        }
        let before = world.seen().await;
        let undone = world.desk.service.undo_decision(&reviewer("rita"), &conflict).await;
        assert_eq!(refused(undone), of(ErrorCode::Conflict, "id"), "{changed}");
        assert_eq!(world.seen().await, before, "{changed}");
    }
}

#[tokio::test]
async fn a_memory_that_is_no_longer_in_force_is_not_chosen() {
    let world = World::of(3).await;
    let (one, other) = (
        world.propose("memory_conflict", &[0, 1]).await.unwrap(),
        world.propose("memory_merge", &[1, 2]).await.unwrap(),
    );
    world.choose(&other, 2).await.unwrap();
    assert_eq!(refused(world.choose(&one, 1).await), of(ErrorCode::Conflict, "chosen"));
    world.choose(&one, 0).await.unwrap();
}

#[derive(Debug, Clone)]
enum Step {
    Conflict { one: usize, other: usize },
    Merge { one: usize, two: usize, three: usize },
    Choose { which: usize, place: usize },
    Undo { which: usize },
    Revert { which: usize },
    Update { place: usize },
    Vote { place: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let (place, which) = (0..4_usize, 0..6_usize);
    prop_oneof![
        2 => (place.clone(), place.clone()).prop_map(|(one, other)| Step::Conflict { one, other }),
        1 => (place.clone(), place.clone(), place.clone()).prop_map(|(one, two, three)| Step::Merge { one, two, three }),
        5 => (which.clone(), place.clone()).prop_map(|(which, place)| Step::Choose { which, place }),
        4 => which.clone().prop_map(|which| Step::Undo { which }),
        2 => which.prop_map(|which| Step::Revert { which }),
        1 => place.clone().prop_map(|place| Step::Update { place }),
        1 => place.prop_map(|place| Step::Vote { place }),
    ]
}

/// Whatever is decided and taken back in whatever order: an undo that is taken leads to what the decision found, unless other
/// decisions came in between; one that is refused changes nothing; and something is always in force.
#[test]
fn an_undo_is_exact_or_nothing() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config =
        ProptestConfig { cases: 16, max_shrink_iters: 40, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    runner
        .run(&prop::collection::vec(step(), 8..30), |steps| {
            runtime.block_on(async {
                let world = World::of(4).await;
                let (mut proposals, mut versions): (Vec<String>, usize) = (Vec::new(), 0);
                // What the latest decision found, while nothing else has happened.
                let mut latest: Option<(String, Vec<Seen>)> = None;
                for step in steps {
                    let before = world.seen().await;
                    let which = |which: usize| proposals.get(which % proposals.len().max(1)).cloned();
                    match step {
                        Step::Conflict { one, other } => {
                            if let Some(id) = world.propose("memory_conflict", &[one, other]).await {
                                proposals.push(id);
                                latest = None;
                            }
                        }
                        Step::Merge { one, two, three } => {
                            proposals.extend(world.propose("memory_merge", &[one, two, three]).await);
                        }
                        Step::Choose { which: number, place } => {
                            let Some(id) = which(number) else { continue };
                            match world.choose(&id, place).await {
                                Ok(()) => latest = Some((id, before)),
                                Err(_) => assert_eq!(world.seen().await, before),
                            }
                        }
                        Step::Undo { which: number } | Step::Revert { which: number } => {
                            let Some(id) = which(number) else { continue };
                            let rita = reviewer("rita");
                            let done = if matches!(step, Step::Undo { .. }) {
                                world.desk.service.undo_decision(&rita, &id).await
                            } else {
                                let request = RevertProposalRequest { id: id.clone(), reason: None };
                                world.desk.service.revert_proposal(&rita, request).await
                            };
                            match (done, latest.take_if(|(latest, _)| *latest == id)) {
                                (Ok(_), Some((_, found))) => assert_eq!(world.seen().await, found),
                                (Ok(_), None) => latest = None,
                                (Err(error), Some(_)) => panic!("nothing has changed, and yet: {error}"),
                                (Err(_), None) => assert_eq!(world.seen().await, before),
                            }
                        }
                        Step::Update { place } => {
                            versions += 1;
                            if world.update(place, &format!("ferry {place} in its version {versions}")).await {
                                latest = None;
                            }
                        }
                        // A vote changes nothing that a decision found.
                        Step::Vote { place } => {
                            let request =
                                FeedbackRequest { id: world.ids[place].clone(), useful: Some(true), note: None };
                            world.desk.service.feedback(&agent("scribe"), request).await.unwrap();
                        }
                    }
                    assert!(world.seen().await.iter().any(|seen| seen.0 == "active"), "never none");
                }
            });
            Ok(())
        })
        .unwrap();
}
