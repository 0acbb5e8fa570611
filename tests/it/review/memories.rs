//! Decisions about memories: what waits in quarantine, what contradicts, what says the same.

use recollect::{
    domain::{Caller, EdgeKind, MemoryId, Right, Status},
    error::ErrorCode,
    read::{MemoryRecord, RecallRequest},
    review::{ApproveProposalRequest, ProposeDecisionRequest, RejectProposalRequest},
    write::{StoreReply, StoreRequest, UpdateRequest},
};

use super::{of, refused};
use crate::support::desk::{Desk, agent, edit, member, reviewer, yes};

fn says(content: &str) -> StoreRequest {
    StoreRequest { content: content.to_owned(), ..StoreRequest::default() }
}

fn asking(content: &str) -> StoreRequest {
    StoreRequest { review: true, ..says(content) }
}

async fn recalled(desk: &Desk, caller: &Caller, query: &str) -> Vec<String> {
    let request = RecallRequest { query: query.to_owned(), ..RecallRequest::default() };
    let reply = desk.service.recall(caller, request).await.unwrap();
    reply.items.into_iter().map(|item| item.id).collect()
}

async fn memory(desk: &Desk, caller: &Caller, id: &str) -> MemoryRecord {
    desk.service.find(caller, &[id.parse().unwrap()]).await.unwrap().remove(0)
}

async fn quarantined(desk: &Desk, caller: &Caller, request: StoreRequest) -> StoreReply {
    let reply = desk.service.store(caller, request).await.unwrap();
    assert_eq!(reply.outcome, "quarantined");
    reply
}

fn rejection(id: &str, note: &str) -> RejectProposalRequest {
    RejectProposalRequest {
        id: id.to_owned(),
        reason: "incorrect".to_owned(),
        note: Some(note.to_owned()),
        ..RejectProposalRequest::default()
    }
}

#[tokio::test]
async fn quarantined_memory_is_nowhere_until_a_person_lets_it_in() {
    let desk = Desk::open().await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    let old = desk.service.store(&scribe, says("the kestrel nests under the old bridge")).await.unwrap();
    let old = old.id.unwrap();
    let request = StoreRequest {
        supersedes: vec![old.clone()],
        session_id: Some("s".to_owned()),
        ..asking("the kestrel nests in the church tower by now")
    };
    let reply = quarantined(&desk, &scribe, request).await;
    let (id, review) = (reply.id.unwrap(), reply.review_id.unwrap());
    desk.service.store(&scribe, StoreRequest { session_id: Some("s".to_owned()), ..says("it rains") }).await.unwrap();
    assert!(!recalled(&desk, &scribe, "kestrel church tower").await.contains(&id));
    assert_eq!(memory(&desk, &scribe, &old).await.status, "active", "what it replaces holds until then");
    let points = desk.parts.index.ids(None, 100, &recollect::domain::Visibility::system("a test")).await.unwrap();
    assert!(!points.contains(&id.parse::<MemoryId>().unwrap()), "it is not embedded");
    // Its author changes it: what was read is no longer what would go in.
    let read = desk.proposal(&rita, &review).await;
    assert_eq!(
        (read.kind.as_str(), read.memories[0].content.as_str()),
        ("memory_quarantine", "the kestrel nests in the church tower by now")
    );
    let update = UpdateRequest {
        id: id.clone(),
        content: Some("the kestrel nests in the mill".to_owned()),
        ..Default::default()
    };
    desk.service.update(&scribe, update).await.unwrap();
    assert_eq!(
        refused(desk.service.approve_proposal(&rita, yes(&read)).await),
        of(ErrorCode::Conflict, "content_hash")
    );
    assert!(!recalled(&desk, &scribe, "kestrel mill").await.contains(&id));
    let done = desk.approve(&rita, &review).await;
    assert_eq!(done.outcome, "approved");
    assert_eq!(recalled(&desk, &scribe, "kestrel mill").await.first(), Some(&id));
    assert_eq!(memory(&desk, &scribe, &old).await.status, "superseded");
    let kept = memory(&desk, &scribe, &id).await;
    assert_eq!((kept.status.as_str(), kept.scope.as_str()), ("active", "private"));
    let report = desk.service.doctor(&Caller::operator("admin"), false).await.unwrap();
    assert!(report.ok(), "{report:?}");
}

#[tokio::test]
async fn rejected_memory_is_kept_out_and_its_agent_learns_why() {
    let desk = Desk::open().await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    let reply = quarantined(&desk, &scribe, asking("the moon is made of cheese")).await;
    let done =
        desk.service.reject_proposal(&rita, rejection(&reply.review_id.clone().unwrap(), "it is rock")).await.unwrap();
    let id = reply.id.unwrap();
    assert_eq!(memory(&desk, &scribe, &id).await.status, "archived");
    let lesson = done.proposal.decision.unwrap().memory_id.unwrap();
    let learnt = memory(&desk, &scribe, &lesson).await;
    assert_eq!((learnt.kind.as_str(), learnt.verification.as_deref()), ("reflective", Some("verified")));
    assert!(learnt.content.contains("incorrect") && learnt.content.contains("it is rock"), "{}", learnt.content);
    assert_eq!(recalled(&desk, &scribe, "why was my proposal rejected, rock").await.first(), Some(&lesson));
    assert!(desk.service.find(&rita, &[lesson.parse().unwrap()]).await.unwrap().is_empty(), "it is the agent's own");
    // Taken back, it waits again, and nothing was learnt.
    let review = reply.review_id.unwrap();
    assert_eq!(desk.service.undo_decision(&rita, &review).await.unwrap().outcome, "reopened");
    assert_eq!(memory(&desk, &scribe, &id).await.status, "quarantined");
    assert_eq!(memory(&desk, &scribe, &lesson).await.status, "archived");
    assert_eq!(desk.approve(&rita, &review).await.outcome, "approved");
    assert_eq!(memory(&desk, &scribe, &id).await.status, "active");
    let back = recollect::review::RevertProposalRequest { id: review, reason: None };
    assert_eq!(desk.service.revert_proposal(&rita, back).await.unwrap().outcome, "reverted");
    assert_eq!(memory(&desk, &scribe, &id).await.status, "archived");
}

#[tokio::test]
async fn lesson_of_a_rejected_edit_names_the_page() {
    let desk = Desk::open().await;
    let scribe = agent("scribe");
    let proposed = desk.propose(&scribe, edit("ops/on-call", "x\n", None)).await;
    desk.service.reject_proposal(&reviewer("rita"), rejection(&proposed.id, "ask Mia first")).await.unwrap();
    let found = recalled(&desk, &scribe, "ops/on-call rejected").await;
    let lesson = memory(&desk, &scribe, &found[0]).await.content;
    assert_eq!(
        lesson,
        "My proposal to create the wiki page ops/on-call was rejected as incorrect. The reviewer: ask Mia first"
    );
    // A person knows without being told.
    let own = desk.propose(&reviewer("hal"), edit("b", "x\n", None)).await;
    let done = desk.service.reject_proposal(&reviewer("rita"), rejection(&own.id, "no")).await.unwrap();
    assert_eq!(done.proposal.decision.unwrap().memory_id, None);
}

#[tokio::test]
async fn words_of_the_settings_put_a_memory_into_quarantine() {
    let desk = Desk::open_with("[write]\nquarantine = ['Vault Code']\n").await;
    let reply = quarantined(&desk, &agent("scribe"), says("the vault code is on the door")).await;
    assert!(reply.reason.unwrap().contains("Vault Code"));
    let plain = desk.service.store(&agent("scribe"), says("the door is green")).await.unwrap();
    assert_eq!((plain.outcome.as_str(), plain.review_id), ("stored", None));
    let again = desk.service.store(&agent("scribe"), asking("the door is green")).await.unwrap();
    assert_eq!(again.outcome, "refreshed", "what is known already needs no review");
}

#[tokio::test]
async fn words_of_the_settings_hold_an_update_back_while_the_memory_says_what_it_said() {
    let desk = Desk::open_with("[write]\nquarantine = ['Vault Code']\n").await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    let id = desk.service.store(&scribe, says("the door is green")).await.unwrap().id.unwrap();
    let update =
        |content: &str| UpdateRequest { id: id.clone(), content: Some(content.to_owned()), ..Default::default() };
    let change = async |content: &str| desk.service.update(&scribe, update(content)).await.unwrap();
    let held = change("the vault code is on the green door").await;
    assert_eq!(
        (held.memory.content.as_str(), held.memory.revision, held.memory.status.as_str()),
        ("the door is green", 1, "active")
    );
    let review = held.review_id.expect("it waits");
    assert_eq!(change("the vault code is on the green door").await.review_id.as_ref(), Some(&review), "asked once");
    assert_eq!(recalled(&desk, &scribe, "vault code").await.first(), Some(&id), "by the words it has");
    let read = desk.proposal(&rita, &review).await;
    assert_eq!((read.kind.as_str(), read.memory_ids.get(1)), ("memory_quarantine", Some(&id)));
    assert_eq!(read.current.as_deref(), Some("the door is green"));
    assert!(read.diff.as_ref().unwrap().unified().contains("+the vault code is on the green door"));
    // Titles count too; a rating alone needs nobody.
    let title = UpdateRequest { id: id.clone(), title: Some("VAULT CODE".to_owned()), ..Default::default() };
    let second = desk.service.update(&scribe, title).await.unwrap().review_id.expect("it waits");
    assert_eq!(desk.proposal(&rita, &review).await.state, "superseded", "the later wish takes its place");
    let rated = UpdateRequest { id: id.clone(), importance: Some(0.9), ..Default::default() };
    assert_eq!(desk.service.update(&scribe, rated).await.unwrap().review_id, None);
    // It was written on a revision that is no more.
    let read = desk.proposal(&rita, &second).await;
    assert_eq!(refused(desk.service.approve_proposal(&rita, yes(&read)).await), of(ErrorCode::Conflict, "id"));
    desk.service.reject_proposal(&rita, rejection(&second, "no")).await.unwrap();
    assert_eq!(memory(&desk, &scribe, &id).await.title, None);
    // Agreed to, it goes where it belongs; taken back, the memory says what it said.
    let third = change("the vault code is on the green door").await.review_id.expect("it waits");
    assert_eq!(desk.approve(&rita, &third).await.proposal.decision.unwrap().memory_id.as_ref(), Some(&id));
    let now = memory(&desk, &scribe, &id).await;
    assert_eq!((now.content.as_str(), now.revision, now.importance), ("the vault code is on the green door", 3, 0.9));
    assert_eq!(desk.service.undo_decision(&rita, &third).await.unwrap().outcome, "reverted");
    let back = memory(&desk, &scribe, &id).await;
    assert_eq!((back.content.as_str(), back.revision, back.importance), ("the door is green", 4, 0.9));
    let line = |content: &str| format!("{{\"external_id\": \"door\", \"content\": \"{content}\"}}");
    let import = async |content: &str| desk.service.import(&scribe, &line(content), |_| {}).await.unwrap();
    assert_eq!(import("the door is red").await.stored, 1);
    let imported = import("the vault code is red").await;
    assert_eq!((imported.updated, imported.errors.len()), (1, 0));
    assert!(recalled(&desk, &scribe, "door red").await.len() > 1);
    let open = recollect::review::ProposalsRequest::default();
    assert_eq!(desk.service.proposals_total(&rita, &open).await.unwrap(), 1, "the line waits");
    let report = desk.service.doctor(&Caller::operator("admin"), false).await.unwrap();
    assert!(report.ok(), "{report:?}");
}

#[tokio::test]
async fn same_memory_that_came_meanwhile_stays_the_one() {
    let desk = Desk::open().await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    let waiting = quarantined(&desk, &scribe, asking("the gate opens at nine")).await;
    let came = desk.service.store(&scribe, says("the gate opens at nine")).await.unwrap();
    let done = desk.approve(&rita, &waiting.review_id.unwrap()).await;
    assert_eq!(done.proposal.decision.unwrap().memory_id, came.id);
    assert_eq!(memory(&desk, &scribe, &waiting.id.unwrap()).await.status, "archived");
}

#[tokio::test]
async fn choice_between_two_retires_the_other() {
    let desk = Desk::open().await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    let (scribe, rita) = (member(scribe, "crew"), member(rita, "crew"));
    let shared = |content: &str| StoreRequest { group: Some("crew".to_owned()), ..says(content) };
    let mut ids = Vec::new();
    for content in ["the ferry leaves at nine", "the ferry leaves at ten", "the ferry leaves at 10:00"] {
        ids.push(desk.service.store(&scribe, shared(content)).await.unwrap().id.unwrap());
    }
    let propose = async |kind: &str, memories: &[&String]| {
        let request = ProposeDecisionRequest {
            kind: kind.to_owned(),
            memories: memories.iter().map(|id| (*id).clone()).collect(),
            rationale: Some("both cannot hold".to_owned()),
            ..Default::default()
        };
        desk.service.propose_decision(&scribe, request).await
    };
    let conflict = propose("memory_conflict", &[&ids[0], &ids[1]]).await.unwrap();
    let edges = desk.service.edges(&rita, &[ids[1].parse().unwrap()]).await.unwrap();
    assert!(edges[0].iter().any(|edge| edge.kind == EdgeKind::Contradicts));
    let read = desk.proposal(&rita, &conflict.id).await;
    assert_eq!(
        refused(
            desk.service.approve_proposal(&rita, ApproveProposalRequest { expected_head: None, ..yes(&read) }).await
        ),
        of(ErrorCode::BadUserInput, "chosen")
    );
    let choose = |chosen: &String| ApproveProposalRequest { chosen: Some(chosen.clone()), ..yes(&read) };
    assert_eq!(
        refused(desk.service.approve_proposal(&rita, choose(&ids[2])).await),
        of(ErrorCode::BadUserInput, "chosen")
    );
    assert_eq!(desk.service.approve_proposal(&rita, choose(&ids[1])).await.unwrap().outcome, "approved");
    let status = async |id: &String| memory(&desk, &scribe, id).await.status;
    assert_eq!([status(&ids[0]).await, status(&ids[1]).await], [Status::Superseded.name(), Status::Active.name()]);
    let edges = desk.service.edges(&rita, &[ids[1].parse().unwrap()]).await.unwrap();
    assert!(edges[0].iter().all(|edge| edge.kind != EdgeKind::Contradicts));
    let merge = propose("memory_merge", &[&ids[1], &ids[2]]).await.unwrap();
    let read = desk.proposal(&rita, &merge.id).await;
    let request = ApproveProposalRequest { chosen: Some(ids[2].clone()), ..yes(&read) };
    desk.service.approve_proposal(&rita, request).await.unwrap();
    assert_eq!([status(&ids[1]).await, status(&ids[2]).await], ["superseded", "active"]);
    let edges = desk.service.edges(&rita, &[ids[2].parse().unwrap()]).await.unwrap();
    assert!(edges[0].iter().any(|edge| edge.kind == EdgeKind::Supersedes && edge.to.to_string() == ids[1]));
    for (kind, memories, field) in [
        ("memory_conflict", vec![&ids[2]], "memories"),
        ("memory_merge", vec![&ids[2], &ids[2]], "memories"),
        ("memory_merge", vec![&ids[1], &ids[2]], "memories"),
        ("wiki_edit", vec![&ids[1], &ids[2]], "kind"),
    ] {
        assert_eq!(refused(propose(kind, &memories).await), of(ErrorCode::BadUserInput, field), "{kind}");
    }
}

#[tokio::test]
async fn page_changes_by_review_only() {
    let desk = Desk::open().await;
    desk.page_of("a", "# Kestrels\n\nThey nest in towers.\n").await;
    let admin = Caller { rights: Right::ALL.into_iter().map(|(right, _)| right).collect(), ..reviewer("rita") };
    let id = recalled(&desk, &admin, "kestrels nest").await.remove(0);
    let update = UpdateRequest { id: id.clone(), content: Some("They do not.".to_owned()), ..Default::default() };
    assert_eq!(refused(desk.service.update(&admin, update).await).0, ErrorCode::Forbidden);
    let forget = recollect::write::ForgetRequest { ids: vec![id.clone()], ..Default::default() };
    assert_eq!(refused(desk.service.forget(&admin, forget).await).0, ErrorCode::Forbidden);
    let supersede = StoreRequest { supersedes: vec![id], scope: Some("global".to_owned()), ..says("They do not.") };
    assert_eq!(refused(desk.service.store(&admin, supersede).await).0, ErrorCode::Forbidden);
    for request in [
        StoreRequest { external_id: Some("wiki:x".to_owned()), ..says("x") },
        StoreRequest { tags: vec!["wiki:page".to_owned()], ..says("x") },
    ] {
        assert_eq!(refused(desk.service.store(&admin, request).await).0, ErrorCode::BadUserInput);
    }
}
