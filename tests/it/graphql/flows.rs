//! What can be done: store, read, change, link, forget; tokens; errors with the codes of every other face.

use recollect::{
    domain::{PrincipalKind, Right},
    ports::{PortError, PortErrorKind},
};
use serde_json::{Value, json};

use super::{ask, data, error};
use crate::support::app::{App, Client};

const NOBODY: &str = "01940000-0000-7000-8000-000000000000";
const STORE: &str = "mutation($input: StoreMemoryInput!) { storeMemory(input: $input) {
    outcome state operationId links { type id } superseded
    memory { id uuid content title tags status revision scope } userErrors { code field message } } }";
const UPDATE: &str = "mutation($input: UpdateMemoryInput!) { updateMemory(input: $input) {
    outcome memory { content revision } userErrors { code field message } } }";

async fn store(client: &Client, input: Value) -> Value {
    data(client, STORE, json!({"input": input})).await["storeMemory"].clone()
}

#[tokio::test]
async fn a_memory_is_stored_read_changed_linked_and_forgotten() {
    let app = App::start().await;
    let ann = app.client("ann", &["blue"], &[]).await;
    let cause = store(&ann, json!({"content": "The pump lost pressure.", "title": "pump", "tags": ["plant"]})).await;
    assert_eq!((&cause["outcome"], &cause["memory"]["revision"]), (&json!("STORED"), &json!(1)), "{cause}");
    let effect = store(
        &ann,
        json!({"content": "The line stopped at noon.", "causedBy": [cause["memory"]["id"]], "scope": "SHARED", "group": "blue"}),
    )
    .await;
    assert!(effect["links"].as_array().expect("links").iter().any(|link| link["type"] == "CAUSES"), "{effect}");

    // By its global id, by its plain id, and as a node.
    let read = "query($id: ID!, $global: ID!) { a: memory(id: $id) { content }
        b: memory(id: $global) { content edges { kind from { id ... on Memory { content } } to { ... on Memory { content } ... on Concept { label } } } }
        node(id: $global) { id __typename } nodes(ids: [$global, $global]) { id } }";
    let (id, global) = (&cause["memory"]["uuid"], &cause["memory"]["id"]);
    let found = data(&ann, read, json!({"id": id, "global": global})).await;
    assert_eq!(found["a"]["content"], "The pump lost pressure.");
    assert_eq!(found["node"], json!({"id": global, "__typename": "Memory"}));
    assert_eq!(found["nodes"], json!([{"id": global}, {"id": global}]));
    let edges = found["b"]["edges"].as_array().expect("edges");
    let causes = edges.iter().find(|edge| edge["kind"] == "CAUSES").expect("the cause");
    assert_eq!(causes["to"]["content"], "The line stopped at noon.");
    assert!(edges.iter().any(|edge| edge["kind"] == "ABOUT" && edge["to"]["label"] == "pump"), "{edges:?}");

    let update = json!({"input": {"id": global, "expectedRevision": 1, "content": "The pump lost its seal."}});
    let updated = data(&ann, UPDATE, update.clone()).await["updateMemory"].clone();
    assert_eq!(updated["memory"], json!({"content": "The pump lost its seal.", "revision": 2}));
    let stale = data(&ann, UPDATE, update).await["updateMemory"].clone();
    assert_eq!(
        stale,
        json!({"outcome": null, "memory": null, "userErrors": [{"code": "CONFLICT", "field": "expectedRevision",
            "message": "expectedRevision: the stored revision is 2"}]})
    );

    let link = "mutation($input: LinkMemoriesInput!) { linkMemories(input: $input) {
        outcome from { revision } to { content } userErrors { code field } } }";
    let input = json!({"from": global, "to": effect["memory"]["uuid"], "edge": "SUPPLEMENTS", "reason": "same shift"});
    let linked = data(&ann, link, json!({"input": input})).await["linkMemories"].clone();
    assert_eq!((&linked["outcome"], &linked["from"]["revision"]), (&json!("LINKED"), &json!(2)), "{linked}");

    let forget = "mutation($input: ForgetMemoriesInput!) { forgetMemories(input: $input) {
        outcome forgotten userErrors { code field message } } }";
    let forgotten = data(&ann, forget, json!({"input": {"ids": [global], "strategy": "DELETE"}})).await;
    assert_eq!(forgotten["forgetMemories"], json!({"outcome": "FORGOTTEN", "forgotten": 1, "userErrors": []}));
    let again = data(&ann, forget, json!({"input": {"ids": [global]}})).await["forgetMemories"].clone();
    assert_eq!(again["userErrors"][0], json!({"code": "NOT_FOUND", "field": "ids", "message": "ids: no such record"}));
    assert_eq!(
        data(&ann, "query($id: ID!) { memory(id: $id) { id } }", json!({"id": global})).await["memory"],
        json!(null)
    );
}

#[tokio::test]
async fn the_same_key_stores_once_and_another_request_under_it_is_refused() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let input = json!({"content": "The gate opens at nine.", "idempotencyKey": "k1"});
    let (first, second) = (store(&ann, input.clone()).await, store(&ann, input).await);
    assert_eq!(first, second);
    let other = store(&ann, json!({"content": "The gate opens at ten.", "idempotencyKey": "k1"})).await;
    assert_eq!(other["userErrors"][0]["code"], "IDEMPOTENCY_KEY_REUSED", "{other}");
    assert_eq!(app.counts().await.memories, 1);
}

#[tokio::test]
async fn what_is_wrong_with_an_input_names_its_field_as_the_schema_spells_it() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    for (input, code, field) in [
        (json!({"content": " "}), "BAD_USER_INPUT", "content"),
        (json!({"content": "x", "occurredAt": "yesterday"}), "BAD_USER_INPUT", "occurredAt"),
        (json!({"content": "x", "ttlSecs": 0}), "BAD_USER_INPUT", "ttlSecs"),
        (json!({"content": "x", "importance": 7}), "BAD_USER_INPUT", "importance"),
        (json!({"content": "x", "causedBy": ["nonsense"]}), "BAD_USER_INPUT", "causedBy"),
        (json!({"content": "x", "causedBy": [NOBODY]}), "NOT_FOUND", "causedBy"),
        (json!({"content": "x".repeat(1_100_000)}), "PAYLOAD_TOO_LARGE", "content"),
    ] {
        let answer = store(&ann, input.clone()).await;
        assert_eq!(answer["outcome"], json!(null));
        let errors = &answer["userErrors"];
        assert_eq!((&errors[0]["code"], &errors[0]["field"]), (&json!(code), &json!(field)), "{errors}");
        assert!(errors[0]["message"].as_str().expect("a message").starts_with(field), "{errors}");
    }
    for (query, code, starts) in [
        ("{ recall(input: {query: \"\"}) { tookMs } }", "BAD_USER_INPUT", "query: "),
        ("{ recall(input: {query: \"x\", asOf: \"soon\"}) { tookMs } }", "BAD_USER_INPUT", "asOf: "),
        ("{ associate(input: {ids: [\"x\"]}) { tookMs } }", "BAD_USER_INPUT", "ids: "),
        ("{ memory(id: \"x\") { id } }", "BAD_USER_INPUT", "id: "),
        ("{ node(id: \"x\") { id } }", "BAD_USER_INPUT", "id: "),
        ("{ memories(first: 0) { nodes { id } } }", "BAD_USER_INPUT", "first: "),
        ("{ memories(first: 101) { nodes { id } } }", "BAD_USER_INPUT", "first: "),
        ("{ memories(after: \"x\") { nodes { id } } }", "BAD_USER_INPUT", "after: "),
        ("{ memories(filter: {since: \"soon\"}) { nodes { id } } }", "BAD_USER_INPUT", "since: "),
        ("{ events(session: \"a\", task: \"b\") { nodes { id } } }", "BAD_USER_INPUT", "task: "),
        ("{ concept { id } }", "BAD_USER_INPUT", "id: "),
    ] {
        let (found, message) = error(&ann, query, json!({})).await;
        assert_eq!(found, code, "{query}: {message}");
        assert!(message.starts_with(starts), "{query}: {message}");
    }
    assert_eq!(app.counts().await.memories, 0);
}

#[tokio::test]
async fn a_missing_right_is_forbidden_and_named() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    for query in [
        "{ auditLog { nodes { at } } }",
        "{ tokens { id } }",
        "mutation { createToken(input: {principal: \"x\", kind: HUMAN, rights: [ADMIN]}) { secret } }",
        "mutation { revokeToken(input: {id: \"x\"}) { id } }",
        "mutation { runJob(input: {name: DOCTOR}) { outcome } }",
    ] {
        let (code, message) = error(&ann, query, json!({})).await;
        assert_eq!((code.as_str(), message.as_str()), ("FORBIDDEN", "the token lacks the right admin"), "{query}");
    }
}

#[tokio::test]
async fn an_admin_makes_a_token_that_works_until_it_is_revoked() {
    let app = App::start().await;
    let admin = app.client("root", &[], &[Right::Admin]).await;
    let create = "mutation($input: CreateTokenInput!) { createToken(input: $input) {
        secret token { id caller { principal kind groups rights } } outcome userErrors { code field message } } }";
    let input =
        json!({"principal": "lin", "kind": "AGENT", "groups": ["blue"], "rights": ["MEMORY_READ", "MEMORY_WRITE"]});
    let made = data(&admin, create, json!({"input": input})).await["createToken"].clone();
    assert_eq!(made["outcome"], "CREATED", "{made}");
    let mut lin = app.client("other", &[], &[]).await;
    lin.token = made["secret"].as_str().expect("a secret").to_owned();
    let me = data(&lin, "{ me { principal kind groups rights } }", json!({})).await["me"].clone();
    assert_eq!(me, made["token"]["caller"]);
    assert_eq!(me["kind"], "AGENT");
    let listed = data(&admin, "{ tokens { id } }", json!({})).await;
    assert!(listed["tokens"].as_array().expect("tokens").iter().any(|token| token["id"] == made["token"]["id"]));
    let too_much = json!({"principal": "bot", "kind": "AGENT", "rights": ["ADMIN"]});
    let refused = data(&admin, create, json!({"input": too_much})).await["createToken"].clone();
    assert_eq!((&refused["secret"], &refused["userErrors"][0]["field"]), (&json!(null), &json!("rights")), "{refused}");
    let revoke = "mutation($id: ID!) { revokeToken(input: {id: $id}) { outcome userErrors { code } } }";
    let id = json!({"id": made["token"]["id"]});
    assert_eq!(data(&admin, revoke, id.clone()).await["revokeToken"]["outcome"], "REVOKED");
    assert_eq!(data(&admin, revoke, id).await["revokeToken"]["userErrors"][0]["code"], "NOT_FOUND");
    assert_eq!(super::post(&lin, r#"{"query": "{ me { principal } }"}"#).await.status(), 401);
    let log = data(&admin, "{ auditLog { nodes { actor useCase } } }", json!({})).await;
    let rows = log["auditLog"]["nodes"].as_array().expect("rows");
    assert!(rows.contains(&json!({"actor": "root", "useCase": "create_token"})), "{log}");
    assert!(rows.contains(&json!({"actor": "root", "useCase": "revoke_token"})), "{log}");
}

#[tokio::test]
async fn a_caller_without_the_right_to_read_reads_nothing() {
    let app = App::start().await;
    let clock = app.service.clock();
    let (token, secret) = recollect::auth::mint(
        "writer",
        PrincipalKind::Agent,
        [].into(),
        [Right::MemoryWrite].into(),
        clock.now(),
        clock.next_id(),
    )
    .expect("minted");
    app.service.tokens().add_token(&token).await.expect("added");
    let mut writer = app.client("ann", &[], &[]).await;
    writer.token = secret;
    for query in [
        "{ memories { nodes { id } } }",
        "{ recall(input: {query: \"x\"}) { tookMs } }",
        "{ associate(input: {query: \"x\"}) { tookMs } }",
        "{ concepts { nodes { id } } }",
        "{ events { nodes { id } } }",
        "{ session(id: \"s\") { id } }",
        "{ status { memories } }",
    ] {
        assert_eq!(error(&writer, query, json!({})).await.0, "FORBIDDEN", "{query}");
    }
}

#[tokio::test]
async fn recall_and_associate_answer_as_the_tools_do() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    ann.store(json!({"content": "Quill House burned down in March.", "title": "Quill House", "session_id": "s"})).await;
    ann.store(json!({"content": "Mira moved out of Quill House.", "title": "Mira", "session_id": "s"})).await;
    let tool = ann.ok("memory_recall", json!({"query": "Quill House", "limit": 2})).await;
    let asked =
        "{ recall(input: {query: \"Quill House\", limit: 2}) { items { id content score weak why { relevance semantic }
        memory { uuid } } understood { mode terms } } }";
    let found = data(&ann, asked, json!({})).await["recall"].clone();
    let pairs = found["items"].as_array().expect("items").iter().zip(tool["items"].as_array().expect("items"));
    for (ours, theirs) in pairs {
        assert_eq!(ours["memory"]["uuid"], theirs["id"]);
        assert_eq!(ours["score"], theirs["score"], "no digit is lost or added");
        assert_eq!(ours["why"]["relevance"], theirs["why"]["relevance"]);
    }
    assert_eq!(found["understood"]["mode"], "HYBRID");
    let tool = ann.ok("memory_associate", json!({"query": "Who lived in Quill House?"})).await;
    let asked = "{ associate(input: {query: \"Who lived in Quill House?\"}) { seeds { score memory { uuid } }
        items { content distance path { edge weight from to } } subgraph { nodes { id label } edges { edge } } } }";
    let found = data(&ann, asked, json!({})).await["associate"].clone();
    assert_eq!(found["items"].as_array().map(Vec::len), tool["items"].as_array().map(Vec::len));
    assert_eq!(found["items"][0]["path"][0]["edge"], tool["items"][0]["path"][0]["edge"]);
    // Ids of paths lead on.
    let to = found["items"][0]["path"].as_array().expect("a path").last().expect("a step")["to"].clone();
    let node = data(&ann, "query($id: ID!) { node(id: $id) { __typename } }", json!({"id": to})).await;
    assert_eq!(node["node"]["__typename"], "Memory");
    let block = data(&ann, "{ promptBlock(input: {query: \"Quill House\"}) { prompt } }", json!({})).await;
    let tool = ann.ok("memory_recall", json!({"query": "Quill House", "format": "prompt"})).await;
    assert_eq!(block["promptBlock"]["prompt"], tool["prompt"]);
}

#[tokio::test]
async fn an_event_is_kept_a_vote_counts_once_and_a_place_is_explained() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let observe = "mutation($input: ObserveInput!) { observe(input: $input) { outcome eventId
        memories { id outcome kind memory { content } } userErrors { code field message } } }";
    let input = json!({"event": "TASK_FAILED", "sessionId": "s1", "taskId": "t1", "status": "timeout",
        "text": "The pump test failed because the valve was shut."});
    let kept = data(&ann, observe, json!({"input": input})).await["observe"].clone();
    assert_eq!(kept["outcome"], "OBSERVED", "{kept}");
    let made = kept["memories"][0].clone();
    assert!(made["memory"]["content"].as_str().expect("text").contains("valve was shut"), "{kept}");
    let read = "query($id: ID!) { node(id: $id) { ... on Event { kind text status sessionId memories { id } } } session(id: \"s1\") { eventCount } }";
    let found = data(&ann, read, json!({"id": kept["eventId"]})).await;
    assert_eq!(
        (&found["node"]["kind"], &found["node"]["status"]),
        (&json!("TASK_FAILED"), &json!("timeout")),
        "{found}"
    );
    assert_eq!(found["node"]["memories"], json!([{"id": made["id"]}]), "{found}");
    assert_eq!(found["session"]["eventCount"], 1);
    let bare = data(&ann, observe, json!({"input": {"event": "TOOL_CALL"}})).await["observe"].clone();
    assert_eq!(bare["userErrors"][0]["field"], "tool", "{bare}");

    let vote =
        "mutation($input: GiveFeedbackInput!) { giveFeedback(input: $input) { outcome confidenceBefore confidenceAfter
        memory { useful notUseful confidence } userErrors { code field } } }";
    let mut last = Value::Null;
    for _ in 0..2 {
        last = data(&ann, vote, json!({"input": {"id": made["id"], "useful": true}})).await["giveFeedback"].clone();
        assert_eq!((&last["outcome"], &last["memory"]["useful"]), (&json!("VOTED"), &json!(1)), "{last}");
    }
    assert_eq!(last["memory"]["confidence"], last["confidenceAfter"]);
    let unknown = data(&ann, vote, json!({"input": {"id": NOBODY, "useful": false}})).await["giveFeedback"].clone();
    assert_eq!(unknown["userErrors"][0]["code"], "NOT_FOUND", "{unknown}");

    let explain = "query($input: ExplainInput!) { explain(input: $input) { rank weak arms { arm found } failed { filter } memory { id } } }";
    let input = json!({"id": made["id"], "query": "Why did the pump test fail?"});
    let place = data(&ann, explain, json!({"input": input})).await["explain"].clone();
    assert_eq!(
        (&place["rank"], &place["memory"]["id"], &place["failed"]),
        (&json!(1), &made["id"], &json!([])),
        "{place}"
    );
    assert!(place["arms"].as_array().expect("arms").iter().any(|arm| arm["found"] == true), "{place}");
}

#[tokio::test]
async fn a_fault_inside_says_nothing_of_itself_and_leaves_the_rest() {
    let app = App::start_with(|parts| parts.tokens = std::sync::Arc::new(Failing(parts.tokens.clone()))).await;
    let admin = app.client("root", &[], &[Right::Admin]).await;
    let answer = ask(&admin, "{ me { principal } tokens { id } }", json!({})).await;
    let shown = answer.to_string();
    assert_eq!(answer["errors"][0]["extensions"]["code"], "INTERNAL", "{answer}");
    assert_eq!(answer["errors"][0]["message"], "internal fault", "{answer}");
    assert!(!shown.contains("sqlite") && !shown.contains("secret_table"), "{shown}");
}

/// Lists no tokens.
struct Failing(std::sync::Arc<dyn recollect::ports::TokenStore>);

#[async_trait::async_trait]
impl recollect::ports::TokenStore for Failing {
    async fn add_token(&self, token: &recollect::ports::StoredToken) -> Result<(), PortError> {
        self.0.add_token(token).await
    }
    async fn token_by_hash(&self, hash: &str) -> Result<Option<recollect::ports::StoredToken>, PortError> {
        self.0.token_by_hash(hash).await
    }
    async fn tokens(&self) -> Result<Vec<recollect::ports::StoredToken>, PortError> {
        Err(PortError::new(PortErrorKind::Internal, "sqlite", "tokens", "no such table: secret_table"))
    }
    async fn revoke_token(&self, id: &str) -> Result<bool, PortError> {
        self.0.revoke_token(id).await
    }
}
