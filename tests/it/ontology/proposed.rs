//! Imports by those who may not: they wait, a person reads term by term what they would change, and what was read goes live.

use recollect::{
    domain::{Caller, OntologyVersion, ProposalId, ProposalKind, ProposalState, Right},
    error::{Error, ErrorCode},
    ontology::{ImportReply, ImportRequest},
    ports::Switch,
    read::browse::PageRequest,
    review::{
        ApproveProposalRequest, ProposalRecord, ProposalsRequest, RejectProposalRequest, RevertProposalRequest,
        RevertRunRequest, ReviewItem, ReviewProposalsRequest, WithdrawProposalRequest,
    },
    write::StoreRequest,
};
use serde_json::{Value, json};

use super::flows::{concepts, curator, file};
use crate::{
    graphql::{ask, data},
    support::{
        app::App,
        desk::{agent, reviewer, yes},
        process::Home,
    },
};

const ALL: [(&str, &str); 4] = [("a", "Alpha"), ("b", "Beta"), ("c", "Gamma"), ("d", "Delta")];

fn letters(names: &[(&str, &str)]) -> ImportRequest {
    let vocabulary = Some("letters".to_owned());
    ImportRequest { vocabulary, allow_removals: true, ..file("letters.ttl", &concepts(names)) }
}

async fn propose(app: &App, author: &str, request: ImportRequest) -> String {
    let reply = app.service.import_ontology(&agent(author), request).await.expect("proposed");
    assert_eq!(reply.state.as_deref(), Some("pending"), "{reply:?}");
    reply.proposal_id.expect("a proposal")
}

async fn read(app: &App, caller: &Caller, id: &str) -> ProposalRecord {
    app.service.proposal(caller, id).await.expect("an answer").expect("it is there")
}

async fn import(app: &App, request: ImportRequest) -> ImportReply {
    app.service.import_ontology(&curator(), request).await.expect("imported")
}

async fn versions(app: &App) -> Vec<recollect::ontology::VersionRecord> {
    app.service.ontology_versions(&curator(), None, 100).await.expect("versions")
}

fn refused<T>(answer: Result<T, Error>) -> (ErrorCode, Option<String>) {
    let error = answer.err().expect("it is refused");
    (error.code, error.field)
}

fn of(code: ErrorCode, field: &str) -> (ErrorCode, Option<String>) {
    (code, Some(field.to_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_without_the_right_waits_and_goes_live_as_it_was_read() {
    let app = App::start().await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    let memory = StoreRequest { content: "Beta comes after Alpha.".to_owned(), ..StoreRequest::default() };
    app.service.store(&rita, memory).await.expect("stored");
    let request = ImportRequest { rationale: Some("for the letters".to_owned()), ..letters(&ALL) };
    let id = propose(&app, "scribe", request.clone()).await;
    assert_eq!(propose(&app, "scribe", request.clone()).await, id, "the same is asked once");
    assert_eq!(refused(app.service.show_concept(&rita, "http://e/b").await).0, ErrorCode::NotFound);
    let shown = read(&app, &rita, &id).await;
    assert_eq!((shown.kind.as_str(), shown.subject.as_str()), ("ontology_change", "vocabulary letters"));
    assert_eq!(shown.body.as_deref().map(str::as_bytes), Some(&request.bytes[..]), "the exact bytes");
    assert_eq!((shown.base_revision, shown.head_revision, shown.stale), (Some(0), Some(0), false));
    assert!(shown.risk_flags.is_empty(), "{:?}", shown.risk_flags);
    let change = shown.ontology.clone().expect("what it changes");
    assert_eq!((change.new, change.changed, change.removed, change.shown), (4, 0, 0, Some(4)));
    let terms = shown.merged.as_deref().expect("the terms");
    assert!(
        terms.contains("<http://e/b> concept \"Beta\"\n  preferred en \"Beta\"\n  broader <http://e/a>\n"),
        "{terms}"
    );
    assert_eq!((shown.current.as_deref(), shown.diff.as_ref().map(|diff| diff.deleted)), (Some(""), Some(0)));
    // Its author reads it too; others do not.
    assert_eq!(read(&app, &scribe, &id).await.content_hash, shown.content_hash);
    assert!(app.service.proposal(&agent("other"), &id).await.expect("an answer").is_none());

    let approve = async |caller: &Caller, request| refused(app.service.approve_proposal(caller, request).await);
    assert_eq!(approve(&reviewer("olga"), yes(&shown)).await.0, ErrorCode::Forbidden, "its agent's owner");
    assert_eq!(approve(&scribe, yes(&shown)).await.0, ErrorCode::Forbidden);
    let other = ApproveProposalRequest { content_hash: "0".repeat(64), ..yes(&shown) };
    assert_eq!(approve(&rita, other).await, of(ErrorCode::Conflict, "content_hash"));
    let body = ApproveProposalRequest { body: Some("x".to_owned()), ..yes(&shown) };
    assert_eq!(approve(&rita, body).await, of(ErrorCode::BadUserInput, "body"));
    let done = app.service.approve_proposal(&rita, yes(&shown)).await.expect("decided");
    assert_eq!((done.outcome.as_str(), done.revision), ("approved", Some(1)));
    assert_eq!(done.proposal.decision.expect("a decision").version, Some(1));
    let made = versions(&app).await.remove(0);
    assert_eq!((made.actor.as_str(), made.proposed_by.as_deref()), ("rita", Some("scribe")));
    assert_eq!((made.proposal_id, made.new, made.source.as_str()), (Some(id.clone()), 4, "letters.ttl"));
    let concept = app.service.show_concept(&rita, "http://e/b").await.expect("it is in force");
    assert_eq!(concept.memories, 1, "memories are linked");
    assert_eq!(approve(&rita, yes(&shown)).await, of(ErrorCode::Conflict, "id"));
    let closed = read(&app, &rita, &id).await;
    assert_eq!((closed.state.as_str(), closed.body.as_deref().map(str::len)), ("approved", Some(request.bytes.len())));
    let audit = app.service.audit(&curator(), &PageRequest { first: Some(3), after: None }).await.expect("the log");
    let cases: Vec<&str> = audit.items.iter().map(|(_, row)| row.use_case.as_str()).collect();
    assert!(cases.contains(&"import_ontology") && cases.contains(&"approve_proposal"), "{cases:?}");
    // Nothing is left to propose.
    let again = app.service.import_ontology(&scribe, request).await.expect("an answer");
    assert_eq!((again.proposal_id, again.unchanged), (None, 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_moved_since_is_shown_again_before_it_can_be_approved() {
    let app = App::start().await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    import(&app, letters(&ALL)).await;
    let fewer = [("a", "Alpha"), ("b", "Beth")];
    let unsaid = ImportRequest { allow_removals: false, ..letters(&fewer) };
    assert_eq!(refused(app.service.import_ontology(&scribe, unsaid).await), of(ErrorCode::BadUserInput, "file"));
    let id = propose(&app, "scribe", letters(&fewer)).await;
    let first = read(&app, &rita, &id).await;
    let risks = |read: &ProposalRecord| read.risk_flags.iter().map(|flag| flag.kind.clone()).collect::<Vec<_>>();
    assert_eq!(risks(&first), ["large_deletion", "removes_terms"]);
    let diff = first.diff.as_ref().expect("a difference").unified();
    assert!(diff.contains("-<http://e/c> concept \"Gamma\"") && diff.contains("+  preferred en \"Beth\""), "{diff}");
    // Another vocabulary came: the same terms, another version.
    import(&app, file("other.ttl", &concepts(&[("x", "Other")]).replace("http://e/", "http://other/"))).await;
    let approve = async |read: &ProposalRecord| app.service.approve_proposal(&rita, yes(read)).await;
    assert_eq!(refused(approve(&first).await), of(ErrorCode::StaleBase, "expected_head"));
    let second = read(&app, &rita, &id).await;
    assert_eq!((second.content_hash == first.content_hash, second.stale, second.head_revision), (true, true, Some(2)));
    assert_eq!(risks(&second).last().map(String::as_str), Some("stale_base"));
    // The vocabulary itself moved: what was read is not what would go live.
    let more: Vec<_> = ALL.into_iter().chain([("e", "Epsilon")]).collect();
    let third = import(&app, letters(&more)).await;
    assert_eq!(refused(approve(&second).await), of(ErrorCode::StaleBase, "expected_head"));
    let unheaded = ApproveProposalRequest { expected_head: None, ..yes(&second) };
    let answer = app.service.approve_proposal(&rita, unheaded).await;
    assert_eq!(refused(answer), of(ErrorCode::StaleBase, "content_hash"));
    let now = read(&app, &rita, &id).await;
    assert_eq!(now.ontology.as_ref().map(|change| change.removed), Some(3));
    assert!(now.diff.as_ref().expect("a difference").unified().contains("-<http://e/e>"));
    assert_eq!(approve(&now).await.expect("decided").revision, Some(4));
    assert_eq!(refused(app.service.show_concept(&rita, "http://e/e").await).0, ErrorCode::NotFound);
    // A wrong key was pressed.
    let undone = app.service.undo_decision(&rita, &id).await.expect("taken back");
    assert_eq!((undone.outcome.as_str(), undone.revision), ("reverted", Some(5)));
    assert_eq!(versions(&app).await[0].graph_hash, third.graph_hash, "exactly what was there before");
    assert_eq!(read(&app, &rita, &id).await.state, "reverted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_taken_back_latest_first_and_what_others_build_on_is_not() {
    let app = App::start().await;
    let rita = reviewer("rita");
    let of_run = |request: ImportRequest| ImportRequest { run_id: Some("r".to_owned()), ..request };
    let mut ids = Vec::new();
    for names in [&ALL[..2], &ALL[..3]] {
        let id = propose(&app, "scribe", of_run(letters(names))).await;
        app.service.approve_proposal(&rita, yes(&read(&app, &rita, &id).await)).await.expect("decided");
        ids.push(id);
    }
    let early = RevertProposalRequest { id: ids[0].clone(), reason: None };
    assert_eq!(refused(app.service.revert_proposal(&rita, early).await), of(ErrorCode::Conflict, "id"));
    let run = RevertRunRequest { run_id: "r".to_owned(), reason: None, dry_run: false };
    let done = app.service.revert_run(&rita, run).await.expect("done");
    let outcomes: Vec<(&str, &str)> = done.items.iter().map(|item| (item.id.as_str(), item.outcome.as_str())).collect();
    assert_eq!(outcomes, [(ids[1].as_str(), "reverted"), (ids[0].as_str(), "reverted")]);
    let left = app.service.concept_tree(&rita, None, None, &PageRequest::default()).await.expect("the tree");
    assert!(left.items.is_empty(), "the first version too is gone: {:?}", left.items);
    // Somebody imports on top of what was approved.
    let id = propose(&app, "scribe", letters(&ALL)).await;
    app.service.approve_proposal(&rita, yes(&read(&app, &rita, &id).await)).await.expect("decided");
    import(&app, file("x.ttl", &concepts(&[("x", "Other")]))).await;
    let late = RevertProposalRequest { id, reason: None };
    assert_eq!(refused(app.service.revert_proposal(&rita, late).await), of(ErrorCode::Conflict, "id"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposed_import_ends_in_the_ways_of_the_others() {
    let app = App::start().await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    let state = async |id: &str| read(&app, &rita, id).await.state;
    // A newer file of the same author takes the place of the one before.
    let first = propose(&app, "scribe", letters(&ALL[..2])).await;
    let second = propose(&app, "scribe", letters(&ALL[..3])).await;
    let others = propose(&app, "other", letters(&ALL[..2])).await;
    assert_eq!([state(&first).await, state(&second).await, state(&others).await], ["superseded", "pending", "pending"]);
    let withdraw = WithdrawProposalRequest { id: second.clone(), reason: Some("not yet".to_owned()) };
    assert_eq!(app.service.withdraw_proposal(&scribe, withdraw).await.expect("taken back").state, "withdrawn");
    let shown = read(&app, &rita, &others).await;
    let reject = RejectProposalRequest {
        id: others.clone(),
        reason: "unsupported".to_owned(),
        content_hash: Some(shown.content_hash.clone()),
        ..RejectProposalRequest::default()
    };
    let rejected = app.service.reject_proposal(&rita, reject).await.expect("decided");
    let lesson = rejected.proposal.decision.expect("a decision").memory_id.expect("a lesson");
    let lesson = app.service.find(&agent("other"), &[lesson.parse().expect("an id")]).await.expect("found").remove(0);
    assert!(lesson.content.contains("import letters.ttl as the vocabulary letters"), "{}", lesson.content);
    assert!(versions(&app).await.is_empty());

    // In bulk only what has no risk and did not move.
    let id = propose(&app, "scribe", letters(&ALL)).await;
    let shown = read(&app, &rita, &id).await;
    let bulk = |dry_run| ReviewProposalsRequest {
        decision: "approve".to_owned(),
        items: vec![ReviewItem { id: id.clone(), content_hash: shown.content_hash.clone() }],
        dry_run,
        ..ReviewProposalsRequest::default()
    };
    assert_eq!(app.service.review_proposals(&rita, bulk(true)).await.expect("said").items[0].outcome, "approved");
    import(&app, file("x.ttl", &concepts(&[("x", "Other")]).replace("http://e/", "http://x/"))).await;
    let stale = app.service.review_proposals(&rita, bulk(false)).await.expect("said").items.remove(0);
    assert_eq!(stale.code.as_deref(), Some("STALE_BASE"), "{stale:?}");
    // Somebody with the right imported the same meanwhile.
    import(&app, letters(&ALL)).await;
    let done = app.service.approve_proposal(&rita, yes(&read(&app, &rita, &id).await)).await.expect("decided");
    assert_eq!(done.outcome, "superseded");

    let listed = |kinds: &[&str], states: &[&str]| ProposalsRequest {
        kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        states: states.iter().map(|state| (*state).to_owned()).collect(),
        ..ProposalsRequest::default()
    };
    let every = ProposalState::NAMES;
    let all = listed(&["ontology_change"], every);
    assert_eq!(app.service.proposals_total(&rita, &all).await.expect("counted"), 4);
    let none = listed(&["wiki_edit"], every);
    assert_eq!(app.service.proposals_total(&rita, &none).await.expect("counted"), 0);
    assert_eq!(ProposalKind::OntologyChange.name(), "ontology_change");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_proposed_is_refused_by_name() {
    let app = App::start().await;
    let scribe = agent("scribe");
    let reader = Caller { rights: [Right::MemoryRead].into(), ..agent("reader") };
    for (caller, request, expected) in [
        (&reader, letters(&ALL), (ErrorCode::Forbidden, None)),
        (&scribe, file("a.ttl", ":a :b"), of(ErrorCode::BadUserInput, "file")),
        (&scribe, ImportRequest { bytes: b"\xff\xfe".to_vec(), ..letters(&ALL) }, of(ErrorCode::BadUserInput, "file")),
        (
            &scribe,
            ImportRequest { run_id: Some("x".repeat(600)), ..letters(&ALL) },
            of(ErrorCode::PayloadTooLarge, "run_id"),
        ),
    ] {
        assert_eq!(refused(app.service.import_ontology(caller, request).await), expected);
    }
    let dry = ImportRequest { dry_run: true, ..letters(&ALL) };
    let said = app.service.import_ontology(&scribe, dry).await.expect("said");
    assert_eq!((said.new, said.proposal_id), (4, None));
    let nobody = ProposalsRequest::default();
    assert_eq!(app.service.proposals_total(&reviewer("rita"), &nobody).await.expect("counted"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_reviewers_at_once_one_decides() {
    let app = App::start().await;
    let id = propose(&app, "scribe", letters(&ALL)).await;
    let (rita, rob) = (reviewer("rita"), reviewer("rob"));
    let shown = read(&app, &rita, &id).await;
    let (one, other) =
        tokio::join!(app.service.approve_proposal(&rita, yes(&shown)), app.service.approve_proposal(&rob, yes(&shown)));
    let codes: Vec<ErrorCode> =
        [&one, &other].into_iter().filter_map(|it| it.as_ref().err()).map(|it| it.code).collect();
    assert_eq!(codes, [ErrorCode::Conflict], "{one:?} {other:?}");
    assert_eq!(versions(&app).await.len(), 1);
}

/// A kill between the version and the note that it was approved.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_force_already_is_not_put_aside_and_the_next_yes_says_so() {
    let app = App::start().await;
    let (scribe, rita) = (agent("scribe"), reviewer("rita"));
    let id = propose(&app, "scribe", letters(&ALL)).await;
    let shown = read(&app, &rita, &id).await;
    let store = &app.parts.ontology;
    let number = store.begin("letters", "x").await.expect("prepared").number;
    let proposal: ProposalId = id.parse().expect("an id");
    let at = app.parts.clock.now();
    let version = OntologyVersion {
        number,
        vocabulary: "letters".to_owned(),
        at,
        actor: "rita".to_owned(),
        proposal: Some(proposal),
        ..OntologyVersion::default()
    };
    store.switch(&Switch { version, removed: Vec::new() }).await.expect("in force");
    let withdraw = WithdrawProposalRequest { id: id.clone(), reason: None };
    assert_eq!(refused(app.service.withdraw_proposal(&scribe, withdraw).await), of(ErrorCode::Conflict, "id"));
    let done = app.service.approve_proposal(&rita, yes(&shown)).await.expect("decided");
    assert_eq!((done.outcome.as_str(), done.revision, versions(&app).await.len()), ("approved", Some(1), 1));
}

/// Through GraphQL and MCP.
#[tokio::test(flavor = "multi_thread")]
async fn faces_propose_show_and_decide_an_import() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[Right::WikiPropose]).await;
    let rita = app.client("rita", &[], &[Right::ReviewRead, Right::ReviewDecide]).await;
    let propose =
        "mutation($input: ImportOntologyInput!) { importOntology(input: $input) { outcome imported { version new }
        proposal { uuid kind state subject ontology { vocabulary new removed shown } } userErrors { code } } }";
    let input = json!({"name": "letters.ttl", "content": concepts(&ALL), "vocabulary": "letters", "runId": "r"});
    let proposed = data(&ann, propose, json!({"input": input})).await["importOntology"].clone();
    let id = proposed["proposal"]["uuid"].clone();
    assert_eq!(proposed["outcome"], "PROPOSED", "{proposed}");
    assert_eq!(proposed["imported"], json!({"version": 0, "new": 4}));
    assert_eq!(proposed["proposal"]["kind"], "ONTOLOGY_CHANGE");
    let change = json!({"vocabulary": "letters", "new": 4, "removed": 0, "shown": 4});
    assert_eq!(proposed["proposal"]["ontology"], change);
    let listed = rita.ok("review_list", json!({"kinds": ["ontology_change"], "run_id": "r"})).await;
    assert_eq!((&listed["items"][0]["id"], &listed["items"][0]["ontology"]["new"]), (&id, &json!(4)), "{listed}");
    let shown = rita.ok("review_get", json!({"id": id, "texts": true})).await;
    assert_eq!(shown["body"], json!(concepts(&ALL)));
    assert!(shown["diff"].as_str().is_some_and(|diff| diff.contains("+<http://e/d> concept \"Delta\"")), "{shown}");
    let approve = "mutation($input: ApproveProposalInput!) { approveProposal(input: $input) { outcome revision
        proposal { state decision { by version } } userErrors { code field } } }";
    let decide = |head: i64| json!({"input": {"id": id, "contentHash": shown["content_hash"], "expectedHead": head}});
    let stale = data(&rita, approve, decide(7)).await["approveProposal"].clone();
    assert_eq!(stale["userErrors"], json!([{"code": "STALE_BASE", "field": "expectedHead"}]), "{stale}");
    let done = data(&rita, approve, decide(0)).await["approveProposal"].clone();
    assert_eq!((&done["outcome"], &done["revision"]), (&json!("APPROVED"), &json!(1)), "{done}");
    assert_eq!(done["proposal"]["decision"], json!({"by": "rita", "version": 1}));
    let versions = data(&rita, "{ ontologyVersions { actor proposedBy proposalId } }", json!({})).await;
    let version = json!([{"actor": "rita", "proposedBy": "ann", "proposalId": id}]);
    assert_eq!(versions["ontologyVersions"], version);
    // Without the right to propose it is refused as before.
    let reader = app.reader("kim", &[]).await;
    let answer = ask(&reader, propose, json!({"input": {"name": "x.ttl", "content": concepts(&ALL)}})).await;
    assert_eq!(answer["errors"][0]["extensions"]["code"], "FORBIDDEN", "{answer}");
}

/// On the command line, against a running service.
#[test]
fn the_command_line_proposes_an_import_where_it_may_not_do_it() {
    let home = Home::new();
    let served = home.serve(&[]);
    let path = home.path().join("letters.ttl");
    std::fs::write(&path, concepts(&ALL)).expect("written");
    let path = path.to_str().expect("text");
    let tokens: Value =
        serde_json::from_str(&std::fs::read_to_string(home.data().join("tokens.json")).expect("tokens")).expect("JSON");
    let run = |who: &str, args: &[&str]| {
        let token = tokens[who].as_str().expect("a token");
        let args: Vec<&str> = args.iter().copied().chain(["--url", &served.url, "--token", token]).collect();
        let output = home.run(&args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(run("agent", &["ontology", "diff", path]).contains("would be: 4 new"));
    let said = run("agent", &["ontology", "import", path, "--rationale", "for the letters", "--json"]);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let id = said["proposal_id"].as_str().expect("an id").to_owned();
    assert_eq!((&said["state"], &said["new"], &said["concepts"]), (&json!("pending"), &json!(4), &json!(4)), "{said}");
    let shown = run("reviewer", &["review", "show", &id]);
    for part in ["letters.ttl: 4 new, 0 changed, 0 removed", "+<http://e/b> concept \"Beta\"", "--expected-head 0"] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    let hash = shown.split("--content-hash ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a hash");
    let done = run("reviewer", &["review", "approve", &id, "--content-hash", hash, "--expected-head", "0"]);
    assert!(done.contains("approved"), "{done}");
    assert!(run("admin", &["ontology", "import", path]).contains("0 new, 0 changed, 0 removed, 4 unchanged"));
}
