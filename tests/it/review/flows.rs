//! From a proposal to a decision, and what stands in between.

use jiff::SignedDuration;
use recollect::{
    domain::{Caller, PrincipalKind, Right},
    error::ErrorCode,
    ports::Clock as _,
    read::browse::PageRequest as ListPage,
    review::{
        ApproveProposalRequest, CommentOnProposalRequest, LineComment, ProposalsRequest, ProposeEditRequest,
        RejectProposalRequest, RequestChangesRequest, ResolveProposalRequest, RevertProposalRequest,
        RevertRevisionRequest, RevertRunRequest, ReviewItem, ReviewProposalsRequest, ReviseProposalRequest,
        WithdrawProposalRequest,
    },
};

use super::{of, refused};
use crate::support::desk::{Desk, agent, edit, member, reviewer, yes};

const BODY: &str = "# On call\n\nWho is called at night.\n\n## Rota\n\nMia, then Noah.\n";

#[tokio::test]
async fn edit_goes_back_and_comes_again_and_lands_with_both_texts_kept() {
    let desk = Desk::open().await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    let service = &desk.service;
    let request = ProposeEditRequest {
        rationale: Some("the rota is asked for every night".to_owned()),
        ..edit("ops/on-call", BODY, None)
    };
    let proposed = desk.propose(&scribe, request).await;
    assert_eq!((proposed.state.as_str(), proposed.change.as_deref()), ("pending", Some("create")));
    assert!(service.page(&rita, Default::default()).await.unwrap().is_none(), "nothing is live yet");
    let held = service.claim_proposal(&rita, &proposed.id).await.unwrap();
    assert_eq!(held.claimed_by.as_deref(), Some("rita"));
    let asked = RequestChangesRequest {
        id: proposed.id.clone(),
        note: "say when it changes".to_owned(),
        comments: vec![LineComment { line: 5, text: "weekly?".to_owned() }],
    };
    let asked = service.request_changes(&rita, asked).await.unwrap();
    assert_eq!(asked.outcome, "changes_requested");
    let seen = desk.proposal(&scribe, &proposed.id).await;
    assert_eq!(
        seen.comments.iter().map(|comment| (comment.line, comment.text.as_str())).collect::<Vec<_>>(),
        [(None, "say when it changes"), (Some(5), "weekly?")]
    );
    assert_eq!(
        refused(service.approve_proposal(&rita, yes(&seen)).await),
        of(ErrorCode::Conflict, "id"),
        "it is its author's turn"
    );
    let body = BODY.replace("Noah.", "Noah, by the week.");
    let revised = ReviseProposalRequest {
        id: proposed.id.clone(),
        body: body.clone(),
        comment: Some("by the week".to_owned()),
        ..ReviseProposalRequest::default()
    };
    let revised = service.revise_proposal(&scribe, revised).await.unwrap();
    assert_eq!(revised.state, "pending");
    assert_ne!(revised.content_hash, proposed.content_hash);
    assert_eq!(
        refused(service.approve_proposal(&rita, yes(&seen)).await),
        of(ErrorCode::Conflict, "content_hash"),
        "the hash of what was read before the revision approves nothing"
    );
    let read = desk.proposal(&rita, &proposed.id).await;
    let edited = body.replace("Mia", "Maya");
    let request = ApproveProposalRequest {
        body: Some(edited.clone()),
        comment: Some("her name is Maya".to_owned()),
        ..yes(&read)
    };
    let approved = service.approve_proposal(&rita, request).await.unwrap();
    assert_eq!((approved.outcome.as_str(), approved.revision), ("approved", Some(1)));
    let page = desk.page("ops/on-call").await;
    assert_eq!((page.body.as_deref(), page.title.as_str()), (Some(edited.as_str()), "on call"));
    let kept = desk.proposal(&scribe, &proposed.id).await;
    assert_eq!(kept.body.as_ref(), Some(&body), "the author's text is kept beside the one that is live");
    let decision = kept.decision.unwrap();
    assert!(decision.edited && decision.note.as_deref() == Some("her name is Maya"));
    let moves: Vec<(&str, &str)> = kept.moves.iter().map(|step| (step.by.as_str(), step.to.as_str())).collect();
    assert_eq!(
        moves,
        [("scribe", "pending"), ("rita", "changes_requested"), ("scribe", "pending"), ("rita", "approved")]
    );
    let history = service.page_history(&rita, "ops/on-call", &ListPage::default()).await.unwrap().unwrap();
    let (_, revision) = &history.items[0];
    assert_eq!((revision.author.as_str(), revision.editor.as_deref()), ("scribe", Some("rita")));
}

#[tokio::test]
async fn nobody_decides_on_what_is_their_own_and_no_agent_decides_at_all() {
    let desk = Desk::open().await;
    let proposed = desk.propose(&agent("scribe"), edit("a", BODY, None)).await;
    let all = |caller: Caller| Caller { rights: Right::ALL.into_iter().map(|(right, _)| right).collect(), ..caller };
    let read = desk.proposal(&reviewer("rita"), &proposed.id).await;
    let forbidden = async |caller: Caller| {
        let code = |error: recollect::error::Error| error.code;
        let id = read.id.clone();
        let reject = RejectProposalRequest { id: id.clone(), reason: "style".to_owned(), ..Default::default() };
        let changes = RequestChangesRequest { id: id.clone(), note: "no".to_owned(), comments: Vec::new() };
        let bulk = ReviewProposalsRequest {
            decision: "approve".to_owned(),
            items: vec![ReviewItem { id: id.clone(), content_hash: read.content_hash.clone() }],
            ..Default::default()
        };
        let bulk = match desk.service.review_proposals(&caller, bulk).await {
            Ok(reply) => reply.items[0].code.clone().unwrap(),
            Err(error) => error.code.to_string(),
        };
        assert_eq!(bulk, "FORBIDDEN");
        for answer in [
            desk.service.approve_proposal(&caller, yes(&read)).await.map_err(code),
            desk.service.reject_proposal(&caller, reject).await.map_err(code),
            desk.service.request_changes(&caller, changes).await.map_err(code),
        ] {
            assert_eq!(answer.err(), Some(ErrorCode::Forbidden), "{}", caller.principal);
        }
        assert_eq!(desk.service.claim_proposal(&caller, &id).await.err().map(code), Some(ErrorCode::Forbidden));
    };
    forbidden(all(agent("judge"))).await;
    forbidden(all(agent("scribe"))).await;
    // The author as a person, and the person who answers for the author.
    forbidden(all(Caller { kind: PrincipalKind::Human, ..agent("scribe") })).await;
    forbidden(reviewer("olga")).await;
    forbidden(Caller { rights: [Right::MemoryRead, Right::ReviewRead].into(), ..reviewer("guest") }).await;
    assert_eq!(desk.approve(&reviewer("rita"), &proposed.id).await.outcome, "approved");
}

#[tokio::test]
async fn page_that_moved_is_joined_and_read_again_before_it_is_approved() {
    let desk = Desk::open().await;
    let rita = reviewer("rita");
    desk.page_of("a", "one\n\ntwo\n\nthree\n").await;
    let first = desk.propose(&agent("scribe"), edit("a", "ONE\n\ntwo\n\nthree\n", Some(1))).await;
    let second = desk.propose(&agent("other"), edit("a", "one\n\ntwo\n\nTHREE\n", Some(1))).await;
    let read = desk.proposal(&rita, &second.id).await;
    desk.approve(&rita, &first.id).await;
    assert_eq!(
        refused(desk.service.approve_proposal(&rita, yes(&read)).await),
        of(ErrorCode::StaleBase, "expected_head")
    );
    let without_head = ApproveProposalRequest { expected_head: None, ..yes(&read) };
    assert_eq!(
        refused(desk.service.approve_proposal(&rita, without_head).await),
        of(ErrorCode::StaleBase, "content_hash"),
        "the hash alone holds it back too"
    );
    let again = desk.proposal(&rita, &second.id).await;
    assert!(again.stale && again.risk_flags.iter().any(|flag| flag.kind == "stale_base"));
    assert_eq!(again.merged.as_deref(), Some("ONE\n\ntwo\n\nTHREE\n"));
    let diff = again.diff.as_ref().unwrap();
    assert_eq!((diff.inserted, diff.deleted), (1, 1), "compared with what the page says by now");
    desk.service.approve_proposal(&rita, yes(&again)).await.unwrap();
    assert_eq!(desk.page("a").await.body.as_deref(), Some("ONE\n\ntwo\n\nTHREE\n"));
    let third = desk.propose(&agent("other"), edit("a", "one\n\ntwo\n\nTHREE\n", Some(1))).await;
    assert_eq!(desk.approve(&rita, &third.id).await.outcome, "superseded", "the page says it already");
}

#[tokio::test]
async fn clash_names_its_places_and_is_resolved_region_by_region() {
    let desk = Desk::open().await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    desk.page_of("a", "one\n\ntwo\n\nthree\n").await;
    let first = desk.propose(&scribe, edit("a", "eins\n\ntwo\n\ndrei\n", Some(1))).await;
    let second = desk.propose(&scribe, edit("a", "un\n\ntwo\n\ntrois\n", Some(1))).await;
    desk.approve(&rita, &first.id).await;
    let read = desk.proposal(&rita, &second.id).await;
    let error = desk.service.approve_proposal(&rita, yes(&read)).await.unwrap_err();
    assert_eq!((error.code, error.field.as_deref()), (ErrorCode::Conflict, Some("conflicts")));
    assert!(error.message.contains("1, 5"), "{}", error.message);
    let clashed = desk.proposal(&rita, &second.id).await;
    assert_eq!((clashed.state.as_str(), clashed.merged.as_ref()), ("conflicted", None));
    let regions: Vec<(i64, &str, &str, &str)> = clashed
        .conflicts
        .iter()
        .map(|it| (it.line, it.base.as_str(), it.head.as_str(), it.proposed.as_str()))
        .collect();
    assert_eq!(regions, [(1, "one\n", "eins\n", "un\n"), (5, "three\n", "drei\n", "trois\n")]);
    let resolve = |head: i64, ends: &[&str]| ResolveProposalRequest {
        id: second.id.clone(),
        expected_head: head,
        resolutions: ends.iter().map(|end| (*end).to_owned()).collect(),
    };
    let service = &desk.service;
    assert_eq!(
        refused(service.resolve_proposal(&scribe, resolve(1, &["head", "head"])).await),
        of(ErrorCode::StaleBase, "expected_head")
    );
    for ends in [&["head"][..], &["head", "mine"], &["head", "head", "head"]] {
        assert_eq!(
            refused(service.resolve_proposal(&scribe, resolve(2, ends)).await),
            of(ErrorCode::BadUserInput, "resolutions"),
            "{ends:?}"
        );
    }
    let resolved = service.resolve_proposal(&scribe, resolve(2, &["both", "text:3\n"])).await.unwrap();
    assert_eq!((resolved.state.as_str(), resolved.stale), ("pending", false));
    assert_eq!(resolved.merged.as_deref(), Some("eins\nun\n\ntwo\n\n3\n"));
    desk.approve(&rita, &second.id).await;
    assert_eq!(desk.page("a").await.body.as_deref(), Some("eins\nun\n\ntwo\n\n3\n"));
}

#[tokio::test]
async fn claim_holds_others_off_until_it_runs_out() {
    let desk = Desk::open().await;
    let (rita, rob) = (reviewer("rita"), reviewer("rob"));
    let proposed = desk.propose(&agent("scribe"), edit("a", BODY, None)).await;
    let service = &desk.service;
    service.claim_proposal(&rita, &proposed.id).await.unwrap();
    let read = desk.proposal(&rob, &proposed.id).await;
    for answer in [
        refused(service.claim_proposal(&rob, &proposed.id).await),
        refused(service.approve_proposal(&rob, yes(&read)).await),
        refused(service.release_proposal(&rob, &proposed.id).await),
    ] {
        assert_eq!(answer, of(ErrorCode::Conflict, "id"));
    }
    assert!(service.claim_next(&rob, &ProposalsRequest::default()).await.unwrap().is_none());
    desk.clock.advance(SignedDuration::from_mins(20));
    service.claim_proposal(&rita, &proposed.id).await.unwrap();
    desk.clock.advance(SignedDuration::from_mins(20));
    assert!(service.claim_proposal(&rob, &proposed.id).await.is_err(), "it was renewed");
    // At the very moment the hold ends, it ends: rita's yes no longer has a hold, rob's claim is taken.
    desk.clock.advance(SignedDuration::from_mins(10));
    let next = service.claim_next(&rob, &ProposalsRequest::default()).await.unwrap().unwrap();
    assert_eq!((next.id.as_str(), next.claimed_by.as_deref()), (proposed.id.as_str(), Some("rob")));
    let read = desk.proposal(&rita, &proposed.id).await;
    assert_eq!(refused(service.approve_proposal(&rita, yes(&read)).await), of(ErrorCode::Conflict, "id"));
    service.release_proposal(&rob, &proposed.id).await.unwrap();
    assert_eq!(desk.approve(&rita, &proposed.id).await.outcome, "approved");
    assert!(service.claim_next(&rob, &ProposalsRequest::default()).await.unwrap().is_none());
}

#[tokio::test]
async fn protected_page_takes_as_many_and_whom_it_says_and_a_revision_drops_earlier_yeses() {
    let settings = "[review]\nprotected = [{ pages = 'policy/**', approvals = 2, groups = ['legal'] }]\n";
    let desk = Desk::open_with(settings).await;
    let (rita, rob, lena) = (reviewer("rita"), reviewer("rob"), member(reviewer("lena"), "legal"));
    let scribe = agent("scribe");
    let proposed = desk.propose(&scribe, edit("policy/travel", "By train.\n", None)).await;
    assert!(proposed.risk_flags.iter().any(|flag| flag.kind == "protected_page"));
    assert_eq!((proposed.approvals_needed, proposed.approval_groups.as_slice()), (2, &["legal".to_owned()][..]));
    assert_eq!(desk.approve(&rita, &proposed.id).await.outcome, "approval_noted");
    assert_eq!(desk.approve(&rita, &proposed.id).await.outcome, "approval_noted", "one person is one yes");
    assert_eq!(desk.approve(&rob, &proposed.id).await.outcome, "approval_noted", "two, but nobody of legal");
    let revised = ReviseProposalRequest {
        id: proposed.id.clone(),
        body: "By train, first class.\n".to_owned(),
        ..Default::default()
    };
    assert_eq!(desk.service.revise_proposal(&scribe, revised).await.unwrap().approvals, []);
    assert_eq!(desk.approve(&lena, &proposed.id).await.outcome, "approval_noted");
    let done = desk.approve(&rob, &proposed.id).await;
    assert_eq!(done.outcome, "approved");
    assert_eq!(desk.page("policy/travel").await.protection.unwrap().approvals, 2);
}

#[tokio::test]
async fn bulk_takes_the_plain_and_leaves_the_rest_to_a_look_of_their_own() {
    let desk = Desk::open().await;
    let rita = reviewer("rita");
    desk.page_of("moving", "one\n").await;
    let plain = desk.propose(&reviewer("hal"), edit("plain", BODY, None)).await;
    let flagged = desk.propose(&reviewer("hal"), edit("hidden", "a\u{202e}b", None)).await;
    let stale = desk.propose(&reviewer("hal"), edit("moving", "one\ntwo\n", Some(1))).await;
    let other = desk.propose(&reviewer("hal"), edit("moving", "zero\none\n", Some(1))).await;
    desk.approve(&rita, &other.id).await;
    let own = desk.propose(&rita, edit("own", BODY, None)).await;
    let item = |id: &str, hash: &str| ReviewItem { id: id.to_owned(), content_hash: hash.to_owned() };
    let items = vec![
        item(&plain.id, &plain.content_hash),
        item(&flagged.id, &flagged.content_hash),
        item(&stale.id, &stale.content_hash),
        item(&own.id, &own.content_hash),
        item(&plain.id, "another hash"),
        item("01940000-0000-7000-8000-00000000dead", "x"),
    ];
    let decide = async |dry_run: bool| {
        let request = ReviewProposalsRequest {
            decision: "approve".to_owned(),
            items: items.clone(),
            dry_run,
            ..Default::default()
        };
        let reply = desk.service.review_proposals(&rita, request).await.unwrap();
        reply.items.into_iter().map(|item| (item.outcome, item.code)).collect::<Vec<_>>()
    };
    let failed = |code: &str| ("failed".to_owned(), Some(code.to_owned()));
    let expected = vec![
        ("approved".to_owned(), None),
        failed("CONFLICT"),
        failed("STALE_BASE"),
        failed("FORBIDDEN"),
        failed("CONFLICT"),
        failed("NOT_FOUND"),
    ];
    assert_eq!(decide(true).await, expected);
    assert!(desk.page_at("plain", None).await.is_none(), "a dry run does nothing");
    assert_eq!(decide(false).await, expected);
    assert!(desk.page_at("plain", None).await.is_some() && desk.page_at("hidden", None).await.is_none());
    let reject = ReviewProposalsRequest {
        decision: "reject".to_owned(),
        reason: Some("policy".to_owned()),
        items: vec![item(&flagged.id, &flagged.content_hash)],
        ..Default::default()
    };
    assert_eq!(desk.service.review_proposals(&rita, reject).await.unwrap().items[0].outcome, "rejected");
}

#[tokio::test]
async fn decision_is_taken_back_for_a_while_by_whoever_made_it() {
    let desk = Desk::open().await;
    let (rita, rob) = (reviewer("rita"), reviewer("rob"));
    let reject = async |id: &str| {
        let request = RejectProposalRequest { id: id.to_owned(), reason: "style".to_owned(), ..Default::default() };
        desk.service.reject_proposal(&rita, request).await.unwrap()
    };
    let proposed = desk.propose(&agent("scribe"), edit("a", BODY, None)).await;
    reject(&proposed.id).await;
    assert_eq!(refused(desk.service.undo_decision(&rob, &proposed.id).await).0, ErrorCode::Forbidden);
    assert_eq!(desk.service.undo_decision(&rita, &proposed.id).await.unwrap().outcome, "reopened");
    desk.approve(&rita, &proposed.id).await;
    assert_eq!(desk.service.undo_decision(&rita, &proposed.id).await.unwrap().outcome, "reverted");
    assert!(desk.page("a").await.deleted, "what it made is gone");
    let late = desk.propose(&agent("scribe"), edit("b", BODY, None)).await;
    reject(&late.id).await;
    desk.clock.advance(SignedDuration::from_mins(11));
    assert_eq!(refused(desk.service.undo_decision(&rita, &late.id).await), of(ErrorCode::Conflict, "id"));
}

#[tokio::test]
async fn revision_in_the_middle_is_taken_back_and_later_edits_stay() {
    let desk = Desk::open().await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    desk.page_of("a", "one\n\ntwo\n\nthree\n").await;
    let second = desk.propose(&scribe, edit("a", "ONE\n\ntwo\n\nthree\n", Some(1))).await;
    desk.approve(&rita, &second.id).await;
    let third = desk.propose(&scribe, edit("a", "ONE\n\ntwo\n\nTHREE\n", Some(2))).await;
    desk.approve(&rita, &third.id).await;
    let request = |revision: i64, head: i64| RevertRevisionRequest {
        slug: "a".to_owned(),
        revision,
        expected_head: Some(head),
        reason: Some("it was wrong".to_owned()),
    };
    assert_eq!(
        refused(desk.service.revert_revision(&rita, request(2, 2)).await),
        of(ErrorCode::StaleBase, "expected_head")
    );
    let reverted = desk.service.revert_revision(&rita, request(2, 3)).await.unwrap();
    assert_eq!((reverted.revision.number, reverted.revision.change.as_str()), (4, "revert"));
    assert_eq!(desk.page("a").await.body.as_deref(), Some("one\n\ntwo\n\nTHREE\n"));
    assert_eq!(desk.proposal(&scribe, &second.id).await.state, "reverted");
    assert_eq!(refused(desk.service.revert_revision(&rita, request(2, 4)).await), of(ErrorCode::Conflict, "revision"));
    assert_eq!(
        refused(desk.service.revert_revision(&rita, request(1, 4)).await),
        of(ErrorCode::Conflict, "revision"),
        "the first revision goes only with the page"
    );
    let back = RevertProposalRequest { id: third.id.clone(), reason: None };
    assert_eq!(desk.service.revert_proposal(&rita, back.clone()).await.unwrap().outcome, "reverted");
    assert_eq!(desk.page("a").await.body.as_deref(), Some("one\n\ntwo\n\nthree\n"));
    assert_eq!(refused(desk.service.revert_proposal(&rita, back).await), of(ErrorCode::Conflict, "id"));
}

#[tokio::test]
async fn whole_run_of_an_agent_is_taken_back_latest_first() {
    let desk = Desk::open().await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    desk.page_of("a", "one\n").await;
    for (slug, body, base) in [("a", "one\ntwo\n", Some(1)), ("a", "one\ntwo\nthree\n", Some(2)), ("b", "new\n", None)]
    {
        let request = ProposeEditRequest { run_id: Some("run 1".to_owned()), ..edit(slug, body, base) };
        let proposed = desk.propose(&scribe, request).await;
        desk.clock.advance(SignedDuration::from_secs(1));
        desk.approve(&rita, &proposed.id).await;
    }
    let run = |dry_run: bool| RevertRunRequest { run_id: "run 1".to_owned(), reason: None, dry_run };
    assert_eq!(desk.service.revert_run(&rita, run(true)).await.unwrap().items.len(), 3);
    assert_eq!(desk.page("a").await.revision, 3, "a dry run does nothing");
    let reply = desk.service.revert_run(&rita, run(false)).await.unwrap();
    assert!(reply.items.iter().all(|item| item.outcome == "reverted"), "{reply:?}");
    assert_eq!(desk.page("a").await.body.as_deref(), Some("one\n"));
    assert!(desk.page("b").await.deleted);
    assert_eq!(refused(desk.service.revert_run(&rita, run(false)).await), of(ErrorCode::NotFound, "run_id"));
}

#[tokio::test]
async fn author_takes_back_replaces_and_is_answered_once_per_key() {
    let desk = Desk::open().await;
    let scribe = agent("scribe");
    let keyed = ProposeEditRequest { idempotency_key: Some("k".to_owned()), ..edit("a", BODY, None) };
    let first = desk.propose(&scribe, keyed.clone()).await;
    assert_eq!(desk.propose(&scribe, keyed.clone()).await.id, first.id);
    let other = ProposeEditRequest { body: Some("x".to_owned()), ..keyed };
    assert_eq!(refused(desk.service.propose_edit(&scribe, other).await).0, ErrorCode::IdempotencyKeyReused);
    let replacing = ProposeEditRequest { replaces: Some(first.id.clone()), ..edit("a", "better\n", None) };
    let second = desk.propose(&scribe, replacing).await;
    assert_eq!(desk.proposal(&scribe, &first.id).await.state, "superseded");
    let withdraw = |id: &str| WithdrawProposalRequest { id: id.to_owned(), reason: Some("too early".to_owned()) };
    assert_eq!(
        refused(desk.service.withdraw_proposal(&agent("other"), withdraw(&second.id)).await),
        of(ErrorCode::NotFound, "id")
    );
    assert_eq!(
        refused(desk.service.withdraw_proposal(&reviewer("rita"), withdraw(&second.id)).await).0,
        ErrorCode::Forbidden
    );
    assert_eq!(desk.service.withdraw_proposal(&scribe, withdraw(&second.id)).await.unwrap().state, "withdrawn");
    assert_eq!(
        refused(desk.service.withdraw_proposal(&scribe, withdraw(&second.id)).await),
        of(ErrorCode::Conflict, "id")
    );
    let seen = desk.service.proposals(&agent("other"), &Default::default(), &Default::default()).await.unwrap();
    assert!(seen.items.is_empty(), "another agent's proposals are not there");
    assert!(desk.service.proposal(&agent("other"), &second.id).await.unwrap().is_none());
    let comment = CommentOnProposalRequest { id: second.id.clone(), text: "hm".to_owned(), line: None };
    assert_eq!(
        refused(desk.service.comment_on_proposal(&agent("other"), comment).await),
        of(ErrorCode::NotFound, "id")
    );
}

#[tokio::test]
async fn things_of_a_group_stay_in_the_group() {
    let desk = Desk::open().await;
    let author = member(agent("scribe"), "crew");
    let request = ProposeEditRequest { group: Some("crew".to_owned()), ..edit("a", BODY, None) };
    let proposed = desk.propose(&author, request.clone()).await;
    let outside = reviewer("rita");
    assert!(desk.service.proposal(&outside, &proposed.id).await.unwrap().is_none());
    assert_eq!(refused(desk.service.approve_proposal(&outside, yes(&proposed)).await), of(ErrorCode::NotFound, "id"));
    assert_eq!(desk.service.review_stats(&outside).await.unwrap().pending, 0);
    let inside = member(reviewer("ina"), "crew");
    desk.approve(&inside, &proposed.id).await;
    assert!(desk.page_at("a", None).await.is_none(), "rita does not see it");
    assert!(
        desk.service
            .page(&inside, recollect::review::PageRequest { slug: "a".to_owned(), ..Default::default() })
            .await
            .unwrap()
            .is_some()
    );
    let stranger = ProposeEditRequest { group: Some("crew".to_owned()), ..edit("b", BODY, None) };
    assert_eq!(
        refused(desk.service.propose_edit(&agent("other"), stranger).await),
        (ErrorCode::Forbidden, Some("group".to_owned()))
    );
    // The same address among all is another page.
    desk.page_of("a", "for all\n").await;
    assert_eq!(desk.page("a").await.body.as_deref(), Some("for all\n"));
}

#[tokio::test]
async fn what_is_looked_at_twice_is_named() {
    let desk = Desk::open().await;
    let scribe = agent("scribe");
    let kinds = async |request: ProposeEditRequest| {
        let flags = desk.propose(&scribe, request).await.risk_flags;
        flags.into_iter().map(|flag| flag.kind).collect::<Vec<_>>()
    };
    let gone = "01940000-0000-7000-8000-00000000dead";
    assert_eq!(kinds(edit("plain", "x\n", None)).await, ["no_evidence"]);
    assert_eq!(kinds(edit("cites", &format!("x[^mem:{gone}]\n"), None)).await, ["broken_citation"]);
    let evidence = ProposeEditRequest { evidence: vec![gone.to_owned()], ..edit("evidence", "x\n", None) };
    assert_eq!(kinds(evidence).await, ["broken_evidence"]);
    assert_eq!(kinds(edit("links", "see [[nowhere]]\n", None)).await, ["no_evidence", "broken_link"]);
    assert_eq!(
        kinds(edit("hides", "a\u{200b}b \u{202e}c pаypal <!-- x -->\n", None)).await,
        ["no_evidence", "hidden_text", "bidi_text", "homoglyphs"]
    );
    desk.page_of("on-call", &format!("{BODY}A fact.[^mem:{gone}]\n")).await;
    let twin = ProposeEditRequest { title: Some("On call".to_owned()), ..edit("rota", "x\n", None) };
    assert_eq!(kinds(twin).await, ["no_evidence", "duplicate_page"]);
    assert_eq!(
        kinds(edit("on-call", "# On call\n", Some(1))).await,
        ["no_evidence", "removes_citation", "large_deletion"]
    );
    let human = desk.propose(&reviewer("hal"), edit("human", "see [[on-call]] and [[human]]\n", None)).await;
    assert_eq!(human.risk_flags, []);
}

#[tokio::test]
async fn trusted_person_goes_live_at_once_and_nobody_else() {
    let desk = Desk::open_with("[review]\nauto_approve = ['hal', 'scribe']\n").await;
    assert_eq!(desk.propose(&reviewer("hal"), edit("a", BODY, None)).await.state, "approved");
    assert_eq!(desk.propose(&reviewer("hal"), edit("b", "a\u{202e}b", None)).await.state, "pending");
    assert_eq!(desk.propose(&agent("scribe"), edit("c", BODY, None)).await.state, "pending");
    assert_eq!(desk.propose(&reviewer("rita"), edit("d", BODY, None)).await.state, "pending");
}

#[tokio::test]
async fn what_nobody_decides_expires() {
    let desk = Desk::open().await;
    let admin = Caller::operator("admin");
    let old = desk.propose(&agent("scribe"), edit("a", BODY, None)).await;
    desk.clock.advance(SignedDuration::from_hours(24 * 89));
    let young = desk.propose(&agent("scribe"), edit("b", BODY, None)).await;
    assert_eq!(desk.service.expire_proposals(&admin).await.unwrap(), 0);
    desk.clock.advance(SignedDuration::from_hours(24 * 2));
    assert_eq!(desk.service.expire_proposals(&admin).await.unwrap(), 1);
    assert_eq!(desk.service.expire_proposals(&admin).await.unwrap(), 0);
    let states = [desk.proposal(&admin, &old.id).await.state, desk.proposal(&admin, &young.id).await.state];
    assert_eq!(states, ["expired", "pending"]);
    assert_eq!(refused(desk.service.expire_proposals(&reviewer("rita")).await).0, ErrorCode::Forbidden);
}

#[tokio::test]
async fn queue_is_told_of_and_counted() {
    let desk = Desk::open().await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    let start = desk.service.last_change(&rita).await.unwrap();
    let mut ids = Vec::new();
    for slug in ["a", "b", "c"] {
        ids.push(desk.propose(&scribe, edit(slug, BODY, None)).await.id);
        desk.clock.advance(SignedDuration::from_secs(60));
    }
    desk.approve(&rita, &ids[0]).await;
    let reject = RejectProposalRequest { id: ids[1].clone(), reason: "style".to_owned(), ..Default::default() };
    desk.service.reject_proposal(&rita, reject).await.unwrap();
    let events = desk.service.review_events(&rita, start).await.unwrap();
    let told: Vec<(&str, &str)> = events.iter().map(|it| (it.use_case.as_str(), it.state.as_str())).collect();
    assert_eq!(
        told,
        [
            ("propose_edit", "pending"),
            ("propose_edit", "pending"),
            ("propose_edit", "pending"),
            ("approve_proposal", "approved"),
            ("reject_proposal", "rejected"),
        ]
    );
    assert_eq!(desk.service.review_events(&scribe, start).await.unwrap().len(), 5, "its author follows it too");
    assert!(desk.service.review_events(&agent("other"), start).await.unwrap().is_empty());
    let stats = desk.service.review_stats(&rita).await.unwrap();
    assert_eq!((stats.pending, stats.age_p50_secs, stats.age_p95_secs), (1, 60, 60));
    assert_eq!(stats.decision_secs, Some(150.0));
    let author = &stats.authors[0];
    assert_eq!((author.author.as_str(), author.open, author.approved, author.rejected), ("scribe", 1, 1, 1));
    assert_eq!(author.accept_rate, Some(0.5));
    let page = ListPage { first: Some(1), after: None };
    let listed = desk.service.proposals(&rita, &ProposalsRequest::default(), &page).await.unwrap();
    assert!(!listed.more && listed.items[0].1.id == ids[2]);
    assert_eq!(desk.service.proposals_total(&rita, &ProposalsRequest::default()).await.unwrap(), 1);
    assert_eq!(desk.clock.now().to_string(), "2026-11-30T12:03:00Z");
}

#[tokio::test]
async fn bad_proposals_name_the_field() {
    let desk = Desk::open().await;
    desk.page_of("there", BODY).await;
    let scribe = agent("scribe");
    let field = async |request: ProposeEditRequest| {
        let (code, field) = refused(desk.service.propose_edit(&scribe, request).await);
        (code, field.unwrap_or_default())
    };
    let bad = |name: &str| (ErrorCode::BadUserInput, name.to_owned());
    let new = || edit("new", "x", None);
    assert_eq!(field(edit("../etc", "x", None)).await, bad("slug"));
    assert_eq!(field(edit("", "x", None)).await, bad("slug"));
    assert_eq!(field(edit("new", " \n", None)).await, bad("body"));
    assert_eq!(field(edit("new", "a\0b", None)).await, bad("body"));
    assert_eq!(field(ProposeEditRequest { body: None, ..new() }).await, bad("body"));
    assert_eq!(field(edit("new", "x", Some(3))).await, bad("base_revision"));
    assert_eq!(field(edit("there", "x", None)).await, bad("base_revision"));
    assert_eq!(field(edit("there", "x", Some(2))).await, bad("base_revision"));
    assert_eq!(field(edit("there", BODY, Some(1))).await, bad("body"));
    assert_eq!(field(ProposeEditRequest { action: Some("burn".into()), ..new() }).await, bad("action"));
    assert_eq!(
        field(ProposeEditRequest { action: Some("rename".into()), ..new() }).await,
        (ErrorCode::NotFound, "slug".to_owned())
    );
    let there = || ProposeEditRequest { body: None, ..edit("there", "", Some(1)) };
    assert_eq!(field(ProposeEditRequest { action: Some("rename".into()), ..there() }).await, bad("new_slug"));
    assert_eq!(field(ProposeEditRequest { action: Some("restore".into()), ..there() }).await, bad("action"));
    assert_eq!(field(ProposeEditRequest { patch: Some("nonsense".into()), ..there() }).await, bad("patch"));
    assert_eq!(field(ProposeEditRequest { evidence: vec!["x".into()], ..new() }).await, bad("evidence"));
    assert_eq!(field(ProposeEditRequest { scope: Some("world".into()), ..new() }).await, bad("scope"));
    assert_eq!(field(ProposeEditRequest { categories: Some(vec!["wiki:x".into()]), ..new() }).await, bad("categories"));
    let taken = ProposeEditRequest { aliases: Some(vec!["THERE".into()]), ..new() };
    assert_eq!(field(taken).await, (ErrorCode::Conflict, "aliases".to_owned()));
    assert_eq!(field(edit("new", &"x".repeat(1 << 21), None)).await, (ErrorCode::PayloadTooLarge, "body".to_owned()));
    let reader = Caller { rights: [Right::MemoryRead].into(), ..agent("reader") };
    assert_eq!(refused(desk.service.propose_edit(&reader, new()).await).0, ErrorCode::Forbidden);
}
