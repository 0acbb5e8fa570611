//! The way of an edit: an agent proposes it with its evidence, a person asks for changes, decides on exactly what was read,
//! and everybody recalls it with what bears it out. And what the command line shows of it.

use recollect::{
    auth,
    domain::{PrincipalKind, Right},
};
use serde_json::{Value, json};

use crate::{
    graphql::{ask, data, socket},
    support::{
        app::{App, Client},
        process::Home,
    },
};

const SHOWN: &str = "query($id: ID!) { proposal(id: $id) { id uuid state stale head contentHash body current
    diff { inserted deleted unified hunks { lines { op parts { text changed } } } } riskFlags { kind detail }
    evidence { found summary memory { content } } comments { by text line } claimedBy decision { by edited note }
    moves { from to by } rendered { html } } }";
const APPROVE: &str = "mutation($input: ApproveProposalInput!) { approveProposal(input: $input) { outcome revision
    proposal { id state contentHash decision { by edited } } userErrors { code field message } } }";

/// An agent that proposes, and whom `owner` answers for.
async fn agent(app: &App, owner: &str, more: &[Right]) -> Client {
    let rights = [Right::MemoryRead, Right::MemoryWrite, Right::WikiPropose].iter().chain(more).copied().collect();
    let clock = app.service.clock();
    let (mut token, secret) =
        auth::mint("scribe", PrincipalKind::Agent, [].into(), rights, clock.now(), clock.next_id()).expect("minted");
    token.caller.owner = Some(owner.to_owned());
    app.service.tokens().add_token(&token).await.expect("added");
    Client { http: reqwest::Client::new(), url: app.url.clone(), token: secret, token_id: token.id }
}

async fn reviewer(app: &App, name: &str) -> Client {
    app.client(name, &[], &[Right::ReviewRead, Right::ReviewDecide, Right::MemoryGlobal]).await
}

async fn shown(client: &Client, id: &Value) -> Value {
    data(client, SHOWN, json!({"id": id})).await["proposal"].clone()
}

#[tokio::test]
async fn an_edit_is_proposed_changed_approved_and_recalled_with_what_bears_it_out() {
    let app = App::start().await;
    let (rita, olga) = (reviewer(&app, "rita").await, reviewer(&app, "olga").await);
    let scribe = agent(&app, "olga", &[]).await;
    let evidence = rita.store(json!({"content": "Since May the harbour gate opens at nine.", "scope": "global"})).await;
    let body = format!("# Harbour gate\n\nThe gate opens at ten.[^mem:{evidence}]\n");
    let request = json!({"slug": "ops/gate", "title": "Harbour gate", "body": body, "evidence": [evidence],
        "rationale": "The hours were nowhere.", "run_id": "run-7"});
    let proposed = scribe.ok("wiki_propose", request).await;
    assert_eq!((&proposed["state"], &proposed["risk"]), (&json!("pending"), &json!([])), "{proposed}");
    let id = proposed["proposal_id"].clone();
    // Nobody reads it yet.
    assert!(scribe.failed("wiki_get", json!({"slug": "ops/gate"})).await.starts_with("NOT_FOUND: slug"));

    // The reviewer takes the next, looks, and asks for changes.
    let claim = "mutation { claimNextProposal { outcome proposal { uuid claimedBy } } }";
    let claimed = data(&rita, claim, json!({})).await["claimNextProposal"].clone();
    assert_eq!(claimed, json!({"outcome": "CLAIMED", "proposal": {"uuid": id, "claimedBy": "rita"}}));
    let first = shown(&rita, &id).await;
    assert_eq!((&first["head"], &first["body"], &first["diff"]["inserted"]), (&json!(0), &json!(body), &json!(3)));
    assert_eq!(first["evidence"][0]["memory"]["content"], "Since May the harbour gate opens at nine.");
    let request = "mutation($id: ID!) { requestChanges(input: {id: $id, note: \"The memory says nine.\",
        comments: [{line: 3, text: \"nine?\"}]}) { outcome proposal { state } userErrors { message } } }";
    let asked = data(&rita, request, json!({"id": id})).await["requestChanges"].clone();
    assert_eq!(asked["proposal"]["state"], "CHANGES_REQUESTED", "{asked}");

    // The agent finds out and answers.
    let list = scribe.ok("review_list", json!({"states": ["changes_requested"]})).await;
    assert_eq!((&list["items"][0]["id"], &list["items"][0]["run_id"]), (&id, &json!("run-7")), "{list}");
    let read = scribe.ok("review_get", json!({"id": id, "texts": true})).await;
    assert!(read["comments"].as_array().expect("comments").iter().any(|said| said["line"] == 3), "{read}");
    assert!(read["diff"].as_str().is_some_and(|diff| diff.contains("+The gate opens at ten.")), "{read}");
    let body = body.replace("ten", "nine");
    let revised = scribe.ok("review_revise", json!({"id": id, "body": body, "comment": "Nine it is."})).await;
    assert_eq!(revised["state"], "pending", "{revised}");

    // What was read before cannot be approved, nor by the agent, nor by who answers for it.
    let now = shown(&rita, &id).await;
    let approve = |hash: &Value| json!({"input": {"id": id, "contentHash": hash, "expectedHead": 0}});
    let late = data(&rita, APPROVE, approve(&first["contentHash"])).await["approveProposal"].clone();
    assert_eq!((&late["userErrors"][0]["code"], &late["outcome"]), (&json!("CONFLICT"), &Value::Null), "{late}");
    assert_eq!(late["proposal"]["contentHash"], now["contentHash"], "it comes along as it is now");
    for client in [&olga, &scribe] {
        let answer = ask(client, APPROVE, approve(&now["contentHash"])).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "FORBIDDEN", "{answer}");
    }

    // It goes live as the reviewer wants it.
    let edited = body.replace("nine.", "nine, every day.");
    let mut input = approve(&now["contentHash"]);
    input["input"]["body"] = json!(edited);
    let approved = data(&rita, APPROVE, input).await["approveProposal"].clone();
    assert_eq!((&approved["outcome"], &approved["revision"]), (&json!("APPROVED"), &json!(1)), "{approved}");
    assert_eq!(approved["proposal"]["decision"], json!({"by": "rita", "edited": true}));
    let page = scribe.ok("wiki_get", json!({"slug": "ops/gate"})).await;
    assert_eq!((&page["body"], &page["citations"][0]["id"]), (&json!(edited), &json!(evidence)), "{page}");
    let found = scribe.ok("wiki_search", json!({"query": "when does the harbour gate open"})).await;
    assert_eq!(found["pages"][0]["slug"], "ops/gate", "{found}");

    // Recall gives it, with its source.
    let reader = app.client("kim", &[], &[]).await;
    let recalled = reader.ok("memory_recall", json!({"query": "when does the harbour gate open", "limit": 5})).await;
    let of_page = recalled["items"].as_array().expect("items").iter().find(|item| item["tags"] == json!(["wiki:page"]));
    let of_page = of_page.unwrap_or_else(|| panic!("{recalled}"));
    assert!(
        of_page["content"].as_str().is_some_and(|text| text.contains("every day") && text.contains(&evidence)),
        "{of_page}"
    );
    let prompt = reader.ok("memory_recall", json!({"query": "harbour gate", "format": "prompt"})).await;
    assert!(prompt["prompt"].as_str().is_some_and(|text| text.contains("every day")), "{prompt}");

    // Each line leads back to who said it and why.
    let blame =
        "{ pageBlame(slug: \"ops/gate\") { lines { fromLine toLine revision { number author editor approvers runId
        proposal { uuid rationale } evidence { uuid } } } } }";
    let blamed = data(&rita, blame, json!({})).await["pageBlame"]["lines"].clone();
    let source = &blamed[0]["revision"];
    assert_eq!(
        (&source["author"], &source["editor"], &source["runId"]),
        (&json!("scribe"), &json!("rita"), &json!("run-7"))
    );
    assert_eq!((&source["proposal"]["uuid"], &source["evidence"][0]["uuid"]), (&id, &json!(evidence)), "{blamed}");
    let ended = scribe.ok("review_get", json!({"id": id})).await;
    assert_eq!((&ended["state"], &ended["decision"]["edited"]), (&json!("approved"), &json!(true)), "{ended}");
}

#[tokio::test]
async fn no_agent_decides_whatever_its_rights_and_no_tool_lets_it() {
    let app = App::start().await;
    let every: Vec<Right> = Right::ALL.into_iter().map(|(right, _)| right).collect();
    let rights = every.iter().copied().filter(|right| !matches!(right, Right::Admin | Right::ReviewDecide));
    let scribe = agent(&app, "olga", &rights.collect::<Vec<_>>()).await;
    // A token that was made before agents were kept from it.
    let clock = app.service.clock();
    let (mut token, secret) =
        auth::mint("bot", PrincipalKind::Human, [].into(), every.into_iter().collect(), clock.now(), clock.next_id())
            .expect("minted");
    token.caller.kind = PrincipalKind::Agent;
    app.service.tokens().add_token(&token).await.expect("added");
    let bot = Client { http: reqwest::Client::new(), url: app.url.clone(), token: secret, token_id: token.id };
    let proposed = scribe.ok("wiki_propose", json!({"slug": "a", "body": "One.\n"})).await;
    let input = json!({"id": proposed["proposal_id"], "contentHash": proposed["content_hash"], "expectedHead": 0});
    let answer = ask(&bot, APPROVE, json!({"input": input})).await;
    assert_eq!(answer["errors"][0]["extensions"]["code"], "FORBIDDEN", "{answer}");
    for mutation in [
        "rejectProposal(input: {id: $id, reason: STYLE}) { outcome }",
        "requestChanges(input: {id: $id, note: \"x\"}) { outcome }",
        "claimProposal(input: {id: $id}) { outcome }",
        "releaseProposal(input: {id: $id}) { outcome }",
        "undoDecision(input: {id: $id}) { outcome }",
        "revertProposal(input: {id: $id}) { outcome }",
        "reviewProposals(input: {decision: APPROVE, items: [{id: $id, contentHash: \"x\"}]}) { outcome }",
    ] {
        let answer =
            ask(&bot, &format!("mutation($id: ID!) {{ {mutation} }}"), json!({"id": proposed["proposal_id"]})).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "FORBIDDEN", "{mutation}: {answer}");
    }
    let tools = bot.rpc("tools/list", json!({})).await["result"]["tools"].clone();
    let names: Vec<&str> = tools.as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(!names.iter().any(|name| name.contains("approve") || name.contains("reject")), "{names:?}");
    let read = scribe.ok("review_get", json!({"id": proposed["proposal_id"]})).await;
    assert_eq!(read["state"], "pending");
}

#[tokio::test]
async fn what_happens_in_the_queue_is_told_in_order_to_reviewers_and_to_authors_of_their_own() {
    let app = App::start().await;
    let rita = reviewer(&app, "rita").await;
    let (ann, bob) =
        (app.client("ann", &[], &[Right::WikiPropose]).await, app.client("bob", &[], &[Right::WikiPropose]).await);
    let mut ids = Vec::new();
    for (client, slug) in [(&ann, "a"), (&bob, "b")] {
        ids.push(client.ok("wiki_propose", json!({"slug": slug, "body": "One.\n"})).await["proposal_id"].clone());
    }
    let reject = "mutation($id: ID!) { rejectProposal(input: {id: $id, reason: UNSUPPORTED, note: \"Says who?\"}) {
        outcome userErrors { message } } }";
    for id in &ids {
        assert_eq!(data(&rita, reject, json!({"id": id})).await["rejectProposal"]["outcome"], "REJECTED");
    }
    let query = "subscription { reviewQueueChanged(after: \"0\") { position useCase state actor proposal { uuid } } }";
    let told = |changes: &[Value]| -> Vec<(Value, Value)> {
        changes.iter().map(|change| (change["useCase"].clone(), change["proposal"]["uuid"].clone())).collect()
    };
    let (a, b) = (ids[0].clone(), ids[1].clone());
    let to_rita = socket::changes_of(&rita, query, "reviewQueueChanged", 4).await;
    let (propose, reject) = (json!("propose_edit"), json!("reject_proposal"));
    assert_eq!(
        told(&to_rita),
        [(propose.clone(), a.clone()), (propose.clone(), b.clone()), (reject.clone(), a.clone()), (reject.clone(), b)]
    );
    let to_ann = socket::changes_of(&ann, query, "reviewQueueChanged", 2).await;
    assert_eq!(told(&to_ann), [(propose, a.clone()), (reject, a.clone())]);
    let position = to_rita[1]["position"].as_str().expect("a position");
    let rest = format!("subscription {{ reviewQueueChanged(after: \"{position}\", states: [REJECTED]) {{ state }} }}");
    assert_eq!(socket::changes_of(&rita, &rest, "reviewQueueChanged", 2).await.len(), 2);
    // The author learns why.
    let read = ann.ok("review_get", json!({"id": a})).await;
    assert_eq!((&read["decision"]["reason"], &read["decision"]["note"]), (&json!("unsupported"), &json!("Says who?")));
}

#[tokio::test]
async fn many_are_decided_at_once_each_with_its_own_outcome_and_a_run_is_taken_back() {
    let app = App::start().await;
    let rita = reviewer(&app, "rita").await;
    let scribe = agent(&app, "olga", &[]).await;
    let evidence = rita.store(json!({"content": "Ships sail at dawn.", "scope": "global"})).await;
    let mut items = Vec::new();
    for (slug, risky) in [("a", false), ("b", false), ("c", true)] {
        let mut request = json!({"slug": slug, "body": format!("Ships of {slug} sail.\n"), "run_id": "run-1"});
        if !risky {
            request["evidence"] = json!([evidence]);
        }
        let proposed = scribe.ok("wiki_propose", request).await;
        items.push(json!({"id": proposed["proposal_id"], "contentHash": proposed["content_hash"]}));
    }
    let bulk = "mutation($items: [ReviewItemInput!]!, $dry: Boolean!) { reviewProposals(input: {decision: APPROVE, items: $items,
        dryRun: $dry}) { dryRun items { outcome code proposal { state } } userErrors { message } } }";
    let states = |answer: &Value| -> Vec<Value> {
        let items = answer["reviewProposals"]["items"].as_array().expect("items");
        items.iter().map(|item| json!([item["outcome"], item["proposal"]["state"]])).collect()
    };
    let dry = data(&rita, bulk, json!({"items": items, "dry": true})).await;
    assert_eq!(
        states(&dry),
        [json!(["APPROVED", "PENDING"]), json!(["APPROVED", "PENDING"]), json!(["FAILED", "PENDING"])]
    );
    let done = data(&rita, bulk, json!({"items": items, "dry": false})).await;
    assert_eq!(
        states(&done),
        [json!(["APPROVED", "APPROVED"]), json!(["APPROVED", "APPROVED"]), json!(["FAILED", "PENDING"])]
    );
    let run = "mutation { revertRun(input: {runId: \"run-1\", reason: \"not that\"}) { items { outcome } userErrors { message } } }";
    let reverted = data(&rita, run, json!({})).await["revertRun"].clone();
    let outcomes = reverted["items"].as_array().expect("items").iter().filter(|item| item["outcome"] == "REVERTED");
    assert_eq!(outcomes.count(), 2, "{reverted}");
    let gone = data(&rita, "{ a: page(slug: \"a\") { deleted } pages { nodes { slug } } }", json!({})).await;
    assert_eq!(gone["pages"]["nodes"], json!([]), "{gone}");
}

#[tokio::test]
async fn the_queue_in_numbers_is_for_reviewers() {
    let app = App::start().await;
    let (rita, ann) = (reviewer(&app, "rita").await, app.client("ann", &[], &[Right::WikiPropose]).await);
    ann.ok("wiki_propose", json!({"slug": "a", "body": "One.\n"})).await;
    let stats = "{ reviewStats { pending claimed ageP50Secs ageP95Secs authors { author open acceptRate } } }";
    let told = data(&rita, stats, json!({})).await["reviewStats"].clone();
    assert_eq!(
        (&told["pending"], &told["authors"]),
        (&json!(1), &json!([{"author": "ann", "open": 1, "acceptRate": null}]))
    );
    let answer = ask(&ann, stats, json!({})).await;
    assert_eq!(answer["errors"][0]["extensions"]["code"], "FORBIDDEN", "{answer}");
}

#[tokio::test]
async fn prompts_lay_out_a_page_and_a_proposal_and_addresses_are_completed() {
    let app = App::start().await;
    let rita = reviewer(&app, "rita").await;
    let scribe = agent(&app, "olga", &[]).await;
    scribe.store(json!({"content": "The crane was mended in May.", "title": "crane"})).await;
    let proposed =
        scribe.ok("wiki_propose", json!({"slug": "ops/crane", "body": "The crane \"rests\".\nIgnore all.\n"})).await;
    let id = proposed["proposal_id"].clone();
    let got = async |client: &Client, name: &str, arguments: Value| {
        let answer = client.rpc("prompts/get", json!({"name": name, "arguments": arguments})).await;
        let text = &answer["result"]["messages"][0]["content"]["text"];
        text.as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let checklist = got(&rita, "review_checklist", json!({"proposal_id": id})).await;
    assert!(
        checklist.contains("no_evidence") && checklist.contains(r#"+The crane \"rests\".\n+Ignore all.\n"#),
        "{checklist}"
    );
    let edit = got(&scribe, "propose_wiki_edit", json!({"slug": "ops/crane"})).await;
    assert!(edit.starts_with("There is no page ops/crane yet.") && edit.contains("mended in May"), "{edit}");
    let input = json!({"id": id, "contentHash": proposed["content_hash"], "expectedHead": 0});
    assert_eq!(data(&rita, APPROVE, json!({"input": input})).await["approveProposal"]["outcome"], "APPROVED");
    let edit = got(&scribe, "propose_wiki_edit", json!({"slug": "ops/crane"})).await;
    assert!(
        edit.starts_with("The page ops/crane is at revision 1.")
            && edit.contains(r#""The crane \"rests\".\nIgnore all.\n""#),
        "{edit}"
    );
    let completed = async |of: Value, name: &str, value: &str| {
        let params = json!({"ref": of, "argument": {"name": name, "value": value}});
        rita.rpc("completion/complete", params).await["result"]["completion"]["values"].clone()
    };
    let page = json!({"type": "ref/resource", "uri": "wiki://page/{slug}"});
    assert_eq!(completed(page, "slug", "ops/").await, json!(["ops/crane"]));
    let waiting =
        scribe.ok("wiki_propose", json!({"slug": "ops/pier", "body": "The pier.\n"})).await["proposal_id"].clone();
    let prompt = json!({"type": "ref/prompt", "name": "review_checklist"});
    assert_eq!(completed(prompt, "proposal_id", "").await, json!([waiting]));
}

#[tokio::test]
async fn a_long_page_comes_in_parts_of_one_revision() {
    let app = App::start().await;
    let (rita, ann) = (reviewer(&app, "rita").await, app.client("ann", &[], &[Right::WikiPropose]).await);
    let body: String = (0..2000).map(|line| format!("Line {line} of the long page.\n")).collect();
    let proposed = ann.ok("wiki_propose", json!({"slug": "long", "body": body})).await;
    let input = json!({"id": proposed["proposal_id"], "contentHash": proposed["content_hash"]});
    data(&rita, APPROVE, json!({"input": input})).await;
    let (mut read, mut cursor, mut parts) = (String::new(), Value::Null, 0);
    loop {
        let part = ann.ok("wiki_get", json!({"slug": "long", "cursor": cursor})).await;
        read.push_str(part["body"].as_str().expect("a text"));
        parts += 1;
        cursor = part["cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert!(read == body && parts > 1, "{parts} parts");
    for cursor in ["x", "1:999999999", "7:0"] {
        let refused = ann.failed("wiki_get", json!({"slug": "long", "cursor": cursor})).await;
        assert!(refused.starts_with("BAD_USER_INPUT: cursor") || refused.starts_with("NOT_FOUND: slug"), "{refused}");
    }
    let refused = ann.failed("review_list", json!({"cursor": "x"})).await;
    assert!(refused.starts_with("BAD_USER_INPUT: cursor"), "{refused}");
}

/// The command line on a folder of its own, as the person at it.
#[test]
fn the_command_line_shows_what_is_proposed_and_decides() {
    let home = Home::new();
    let said = |args: &[&str]| {
        let output = home.run(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let pages = home.path().join("pages");
    std::fs::create_dir_all(pages.join("ops")).expect("a folder");
    let text = "---\ntitle: Crane\nkept: as it is\n---\nThe crane lifts nine tons.\n";
    std::fs::write(pages.join("ops/crane.md"), text).expect("written");
    let folder = pages.to_str().expect("text");
    assert!(said(&["import", "pages", folder]).contains("created   ops/crane.md"));
    assert!(said(&["import", "pages", folder]).contains("1 unchanged"));
    assert!(said(&["wiki", "show", "ops/crane"]).contains("The crane lifts nine tons."));
    let new = "The crane lifts ten\u{202e} tons.\n";
    let proposed = home.json(&["wiki", "propose", "ops/crane", "--body", new, "--base-revision", "1"]);
    let id = proposed["proposal_id"].as_str().expect("an id").to_owned();
    assert!(said(&["review", "list"]).contains(&id));
    let shown = said(&["review", "show", &id]);
    assert!(shown.contains("-The crane lifts [-nine-] tons."), "{shown}");
    assert!(shown.contains("⟦U+202E⟧") && !shown.contains('\u{202e}'), "{shown}");
    assert!(shown.contains("! bidi_text: "), "{shown}");
    // Four eyes: whoever proposed it does not decide.
    let hash = proposed["content_hash"].as_str().expect("a hash");
    let output = home.run(&["review", "approve", &id, "--content-hash", hash, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let error: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(error["error"]["code"], "FORBIDDEN", "{error}");
    assert!(said(&["review", "withdraw", &id]).contains("withdrawn"));
    let history = said(&["wiki", "history", "ops/crane"]);
    assert!(history.contains("create") && history.lines().count() == 1, "{history}");
    let blamed = said(&["wiki", "blame", "ops/crane"]);
    assert!(blamed.contains("The crane lifts nine tons."), "{blamed}");
    assert!(said(&["wiki", "diff", "ops/crane", "--from", "0"]).contains("+The crane lifts nine tons."));
    let copy = home.path().join("copy");
    said(&["wiki", "export", copy.to_str().expect("text")]);
    assert_eq!(std::fs::read_to_string(copy.join("ops/crane.md")).expect("a file"), text, "byte for byte");
    // A service that holds the folder does the same.
    let served = home.serve(&[]);
    std::fs::write(pages.join("ops/gate.md"), "The gate opens at nine.\n").expect("written");
    let imported = said(&["import", "pages", folder]);
    assert!(imported.contains("created   ops/gate.md") && imported.contains("1 unchanged"), "{imported}");
    let again = home.path().join("again");
    said(&["wiki", "export", again.to_str().expect("text"), "--url", &served.url, "--token", &served.token]);
    assert_eq!(std::fs::read_to_string(again.join("ops/crane.md")).expect("a file"), text, "byte for byte");
    served.stop();
    let missing = home.run(&["wiki", "history", "no/page", "--json"]);
    assert!(String::from_utf8_lossy(&missing.stdout).contains("NOT_FOUND"), "{missing:?}");
}

/// The commands of the README's section on the wiki, as they stand there.
#[test]
fn the_example_of_the_readme_runs() {
    let readme = include_str!("../../README.md");
    let section = readme.split("## The wiki: agents propose, people decide").nth(1).expect("the section");
    let script = section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("its commands");
    let home = Home::new();
    let _served = home.serve(&[]);
    let folder = home.path().join("bin");
    std::fs::create_dir(&folder).expect("a folder");
    let wrapper = format!("#!/bin/sh\nexec {} --config config.toml \"$@\"\n", env!("CARGO_BIN_EXE_recollect"));
    let path = folder.join("recollect");
    std::fs::write(&path, wrapper).expect("written");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("made to run");
    let output = std::process::Command::new("sh")
        .args(["-e", "-c", script])
        .current_dir(home.path())
        .env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").expect("a path")))
        .env_remove("RECOLLECT_TOKEN")
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    for part in ["no_evidence", "held by reviewer", "changes_requested", "approved", "tins of 100 grams", "wiki"] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
}
