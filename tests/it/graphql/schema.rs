//! The schema itself: current, described, and with the fields of the façade; the examples for curators run.

use std::{collections::BTreeSet, fs, path::PathBuf};

use recollect::{domain::Right, graphql, read, review, write};
use serde_json::{Value, json};

use super::{ask, data};
use crate::support::app::App;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("graphql")
}

/// The query that tools send to learn a schema.
const INTROSPECTION: &str = r"query IntrospectionQuery { __schema {
    queryType { name } mutationType { name } subscriptionType { name }
    types { ...FullType }
    directives { name description locations args { ...InputValue } } } }
  fragment FullType on __Type { kind name description
    fields(includeDeprecated: true) { name description args { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason }
    inputFields { ...InputValue } interfaces { ...TypeRef }
    enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
  fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue }
  fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
    ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }";

#[test]
fn the_written_schema_is_the_one_that_is_served() {
    let written = fs::read_to_string(folder().join("schema.graphql")).expect("graphql/schema.graphql");
    assert!(
        written == graphql::sdl(),
        "graphql/schema.graphql is stale; write it anew with `recollect schema > graphql/schema.graphql`"
    );
}

#[tokio::test]
async fn every_type_field_argument_and_value_is_described() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let schema = data(&ann, INTROSPECTION, json!({})).await["__schema"].clone();
    let mut bare = Vec::new();
    let mut look = |place: String, described: &Value| {
        if described["description"].as_str().is_none_or(|text| text.trim().is_empty()) {
            bare.push(place);
        }
    };
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let types = list(&schema["types"]);
    assert!(types.len() > 50);
    for kind in types.iter().filter(|kind| !kind["name"].as_str().expect("a name").starts_with("__")) {
        let name = kind["name"].as_str().expect("a name");
        look(name.to_owned(), kind);
        for field in list(&kind["fields"]) {
            let place = format!("{name}.{}", field["name"]);
            look(place.clone(), &field);
            list(&field["args"]).iter().for_each(|arg| look(format!("{place}({})", arg["name"]), arg));
        }
        for value in list(&kind["inputFields"]).iter().chain(&list(&kind["enumValues"])) {
            look(format!("{name}.{}", value["name"]), value);
        }
    }
    assert!(bare.is_empty(), "not described: {bare:?}");
}

/// Fields of a type of the served schema.
async fn fields(client: &crate::support::app::Client, name: &str) -> BTreeSet<String> {
    let query = "query($name: String!) { __type(name: $name) { fields { name } inputFields { name } } }";
    let kind = data(client, query, json!({"name": name})).await["__type"].clone();
    let found =
        kind["fields"].as_array().or(kind["inputFields"].as_array()).unwrap_or_else(|| panic!("{name}: {kind}"));
    found.iter().map(|field| field["name"].as_str().expect("a name").to_owned()).collect()
}

fn properties<T: schemars::JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T);
    let names: Vec<String> = schema.as_value()["properties"].as_object().expect("an object").keys().cloned().collect();
    names.iter().map(|name| camel(name)).collect()
}

fn camel(name: &str) -> String {
    let mut upper = false;
    let mut shown = String::new();
    for letter in name.chars() {
        match letter {
            '_' => upper = true,
            letter if std::mem::take(&mut upper) => shown.extend(letter.to_uppercase()),
            letter => shown.push(letter),
        }
    }
    shown
}

#[tokio::test]
async fn requests_and_replies_of_the_facade_are_in_the_schema_with_all_their_fields() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    for (name, expected) in [
        ("RecallInput", properties::<read::RecallRequest>()),
        ("AssociateInput", properties::<read::AssociateRequest>()),
        ("StoreMemoryInput", properties::<write::StoreRequest>()),
        ("UpdateMemoryInput", properties::<write::UpdateRequest>()),
        ("ForgetMemoriesInput", properties::<write::ForgetRequest>()),
        ("LinkMemoriesInput", properties::<write::LinkRequest>()),
        ("ExplainInput", properties::<read::ExplainRequest>()),
        ("GiveFeedbackInput", properties::<write::FeedbackRequest>()),
        ("ObserveInput", properties::<write::ObserveRequest>()),
        ("Explanation", properties::<read::ExplainReply>()),
        ("Recall", properties::<read::RecallReply>()),
        ("RecallItem", properties::<read::RecallItem>()),
        ("Why", properties::<read::Why>()),
        ("PathStep", properties::<read::PathStep>()),
        ("Understood", properties::<read::Understood>()),
        ("Association", properties::<read::AssociateReply>()),
        ("AssociatedItem", properties::<read::AssociatedItem>()),
        ("Subgraph", properties::<read::Subgraph>()),
        ("Memory", properties::<read::MemoryRecord>()),
        ("EventDetail", properties::<read::EventRecord>()),
        ("ProposeEditInput", properties::<review::ProposeEditRequest>()),
        ("ProposeDecisionInput", properties::<review::ProposeDecisionRequest>()),
        ("ReviseProposalInput", properties::<review::ReviseProposalRequest>()),
        ("WithdrawProposalInput", properties::<review::WithdrawProposalRequest>()),
        ("ResolveProposalInput", properties::<review::ResolveProposalRequest>()),
        ("ApproveProposalInput", properties::<review::ApproveProposalRequest>()),
        ("RejectProposalInput", properties::<review::RejectProposalRequest>()),
        ("RequestChangesInput", properties::<review::RequestChangesRequest>()),
        ("CommentOnProposalInput", properties::<review::CommentOnProposalRequest>()),
        ("ReviewProposalsInput", properties::<review::ReviewProposalsRequest>()),
        ("RevertRevisionInput", properties::<review::RevertRevisionRequest>()),
        ("RevertProposalInput", properties::<review::RevertProposalRequest>()),
        ("RevertRunInput", properties::<review::RevertRunRequest>()),
        ("ImportPagesInput", properties::<review::ImportPagesRequest>()),
        ("ProposalFilter", properties::<review::ProposalsRequest>()),
        ("PageFilter", properties::<review::PagesRequest>()),
        ("SearchPagesInput", properties::<review::SearchPagesRequest>()),
        ("Page", properties::<review::PageRecord>()),
        ("Proposal", properties::<review::ProposalRecord>()),
        ("Revision", properties::<review::RevisionRecord>().into_iter().filter(|name| name != "id").collect()),
        ("PageBlame", properties::<review::PageBlame>()),
        ("PageDiff", properties::<review::PageDiff>()),
        ("PageHit", properties::<review::PageHit>()),
        ("ReviewStats", properties::<review::ReviewStats>()),
        ("Rendered", properties::<review::RenderedPage>()),
    ] {
        let shown = fields(&ann, name).await;
        let missing: Vec<&String> = expected.iter().filter(|field| !shown.contains(*field)).collect();
        assert!(missing.is_empty(), "{name} lacks {missing:?}");
    }
}

/// Whether there is anything in it but nulls and empty lists.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => items.iter().any(says_something),
        Value::Object(fields) => fields.values().any(says_something),
        _ => true,
    }
}

#[tokio::test]
async fn every_example_for_curators_runs_and_finds_something() {
    let app = App::start().await;
    let admin = app.client("admin", &[], &[Right::Admin]).await;
    let sample = fs::read_to_string(folder().join("../samples/starter/memories.jsonl")).expect("the sample");
    let caller = recollect::domain::Caller::operator("admin");
    let imported = app.service.import(&caller, &sample, |_| {}).await.expect("imported");
    assert!(imported.errors.is_empty(), "{imported:?}");
    let pages = ["ops/kestrel-replay.md", "payments/refunds.md"].map(|path| review::PageFile {
        path: path.to_owned(),
        text: fs::read_to_string(folder().join("../samples/starter/pages").join(path)).expect("a page"),
    });
    let request = review::ImportPagesRequest { files: pages.to_vec(), ..Default::default() };
    let imported = app.service.import_pages(&caller, request).await.expect("imported");
    assert!(imported.files.iter().all(|file| file.outcome == "created"), "{imported:?}");
    let scribe = app.client("scribe", &[], &[Right::WikiPropose]).await;
    let edit = json!({"slug": "payments/refunds", "body": "Refunds take three days.\n", "base_revision": 1});
    scribe.ok("wiki_propose", edit).await;
    let mut seen = 0;
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder().join("operations")).expect("a folder").map(|file| file.expect("a file").path()).collect();
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file).expect("a file");
        assert!(text.starts_with("# "), "{}: starts with a line that says what it is for", file.display());
        if text.contains("reviewQueueChanged {") {
            let found = super::socket::first_proposal(&admin, &text).await;
            assert!(says_something(&found["proposal"]), "{}: {found}", file.display());
        } else if text.contains("\nsubscription ") {
            let found = super::socket::first_change(&admin, &text).await;
            assert!(says_something(&found["memory"]), "{}: {found}", file.display());
        } else {
            let answer = ask(&admin, &text, json!({})).await;
            assert!(answer.get("errors").is_none(), "{}: {answer}", file.display());
            for (field, value) in answer["data"].as_object().expect("data") {
                assert!(says_something(value), "{}: {field} is empty", file.display());
                let lists = ["items", "nodes", "seeds"].map(|list| &value[list]);
                assert!(lists.iter().all(|list| *list != &json!([])), "{}: {answer}", file.display());
                assert!(value["userErrors"].as_array().is_none_or(Vec::is_empty), "{}: {answer}", file.display());
            }
        }
        seen += 1;
    }
    assert!(seen >= 24, "{seen} examples");
}
