//! Changing what is stored, through the façade: updates keep what a text names, imports bring a known memory to the line.

use recollect::{
    domain::{Caller, EdgeKind, MemoryId, Visibility},
    read::browse::PageRequest,
    write::{FeedbackRequest, ForgetRequest, Imported, LinkRequest, StoreRequest, UpdateRequest},
};
use serde_json::{Value, json};

use crate::support::app::App;

fn caller() -> Caller {
    Caller::operator("ada")
}

async fn store(app: &App, title: Option<&str>, content: &str) -> MemoryId {
    let request =
        StoreRequest { title: title.map(str::to_owned), content: content.to_owned(), ..StoreRequest::default() };
    let reply = app.service.store(&caller(), request).await.expect("stored");
    reply.id.expect("an id").parse().expect("a memory id")
}

/// Keys of the concepts that a memory names.
async fn named(app: &App, id: MemoryId) -> Vec<(EdgeKind, uuid::Uuid)> {
    let everything = Visibility::system("a test looks at everything");
    let edges = app.parts.graph.edges_of(id.0, 100, &everything).await.expect("edges");
    let mut named: Vec<_> =
        edges.into_iter().filter(|edge| edge.kind.to_concept()).map(|edge| (edge.kind, edge.to)).collect();
    named.sort();
    named
}

async fn import(app: &App, line: &Value) -> Imported {
    app.service.import(&caller(), &line.to_string(), |_| {}).await.expect("imported")
}

async fn stored(app: &App, name: &str) -> recollect::domain::Memory {
    let everything = Visibility::system("a test looks at everything");
    let ids = app.parts.graph.by_external_ids(&[name.to_owned()], &everything).await.expect("ids");
    let found = app.parts.graph.memories(&[ids[name]], Default::default(), &everything).await.expect("memories");
    found.into_iter().next().expect("the memory")
}

#[tokio::test]
async fn an_update_still_names_the_subjects_that_its_new_text_names() {
    let app = App::start().await;
    store(&app, Some("blue kettle of the workshop"), "It leaks.").await;
    let written = store(&app, None, "yesterday I repaired the Blue Kettle of the Workshop").await;
    let before = named(&app, written).await;
    assert!(!before.is_empty(), "the store found no subject");
    let request = UpdateRequest {
        id: written.to_string(),
        content: Some("today I repaired the Blue Kettle of the Workshop".to_owned()),
        ..UpdateRequest::default()
    };
    app.service.update(&caller(), request).await.expect("updated");
    assert_eq!(named(&app, written).await, before);
}

#[tokio::test]
async fn a_new_title_is_found_in_earlier_texts() {
    let app = App::start().await;
    let earlier = store(&app, None, "we met at the Green Lantern Bakery").await;
    let later = store(&app, None, "opens at seven").await;
    let before = named(&app, earlier).await;
    let request =
        UpdateRequest { id: later.to_string(), title: Some("Lantern Bakery".to_owned()), ..UpdateRequest::default() };
    app.service.update(&caller(), request).await.expect("updated");
    assert_eq!(named(&app, earlier).await.len(), before.len() + 1);
}

#[tokio::test]
async fn an_update_that_says_nothing_new_makes_no_revision() {
    let app = App::start().await;
    let id = store(&app, Some("kettle"), "It leaks.").await;
    let request =
        UpdateRequest { id: id.to_string(), content: Some("It leaks.".to_owned()), ..UpdateRequest::default() };
    let record = app.service.update(&caller(), request).await.expect("a record");
    assert_eq!(record.memory.revision, 1);
}

#[tokio::test]
async fn an_import_changes_whatever_a_line_says_differently() {
    let app = App::start().await;
    let line = json!({"external_id": "k1", "title": "kettle", "content": "It leaks.", "importance": 0.4});
    assert_eq!(import(&app, &line).await.stored, 1);
    assert_eq!(import(&app, &line).await.unchanged, 1);
    for (field, value) in [
        ("importance", json!(0.9)),
        ("occurred_at", json!("2026-01-02")),
        ("valid_to", json!("2026-10-01")),
        ("context", json!("in the workshop")),
        ("confidence", json!(0.3)),
    ] {
        let mut other = line.clone();
        other[field] = value;
        let report = import(&app, &other).await;
        assert_eq!((report.updated, report.errors.len()), (1, 0), "{field}");
        assert_eq!(import(&app, &other).await.unchanged, 1, "{field}");
    }
}

#[tokio::test]
async fn an_import_clears_a_title_that_the_line_no_longer_has_and_keeps_ratings() {
    let app = App::start().await;
    import(&app, &json!({"external_id": "k1", "title": "kettle", "content": "It leaks.", "importance": 0.9})).await;
    assert_eq!(import(&app, &json!({"external_id": "k1", "content": "It leaks."})).await.updated, 1);
    let memory = stored(&app, "k1").await;
    assert_eq!((memory.title, memory.importance, memory.revision), (None, 0.9, 2));
}

#[tokio::test]
async fn an_import_does_not_move_a_known_memory_to_another_session() {
    let app = App::start().await;
    import(&app, &json!({"external_id": "k1", "content": "It leaks.", "session_id": "one"})).await;
    let report = import(&app, &json!({"external_id": "k1", "content": "It leaks.", "session_id": "two"})).await;
    assert_eq!(report.errors[0].error.field.as_deref(), Some("session_id"));
    assert_eq!(stored(&app, "k1").await.session_id.as_deref(), Some("one"));
}

#[tokio::test]
async fn reasons_of_links_votes_and_forgets_are_in_the_audit_log() {
    let app = App::start().await;
    let (one, two) = (store(&app, None, "the kettle leaks").await, store(&app, None, "the floor is wet").await);
    let said = |reason: &str| Some(reason.to_owned());
    let link = LinkRequest {
        from: one.to_string(),
        to: two.to_string(),
        edge: "CAUSES".to_owned(),
        reason: said("seen by both"),
    };
    app.service.link(&caller(), link).await.expect("linked");
    let vote = FeedbackRequest { id: two.to_string(), useful: Some(true), note: said("it helped") };
    app.service.feedback(&caller(), vote).await.expect("voted");
    let reasons = async || {
        let page = PageRequest { first: Some(10), after: None };
        let log = app.service.audit(&caller(), &page).await.expect("a log");
        log.items.into_iter().map(|(_, row)| (row.use_case, row.reason)).collect::<Vec<_>>()
    };
    let row = |use_case: &str, reason: Option<&str>| (use_case.to_owned(), reason.map(str::to_owned));
    let stores = [row("store", None), row("store", None)];
    let expected = [&[row("feedback", Some("it helped")), row("link", Some("seen by both"))], &stores[..]].concat();
    assert_eq!(reasons().await, expected);
    for (strategy, reason) in [("archive", "stale"), ("decay", "doubtful"), ("delete", "asked to")] {
        let ids = vec![if strategy == "delete" { two } else { one }.to_string()];
        let forget = ForgetRequest { ids, strategy: Some(strategy.to_owned()), reason: said(reason) };
        app.service.forget(&caller(), forget).await.expect("forgotten");
    }
    let forgets = ["asked to", "doubtful", "stale"].map(|reason| row("forget", Some(reason)));
    // What was said of the deleted memory went with it.
    let expected = [&forgets[..], &[row("feedback", None), row("link", None)], &stores].concat();
    assert_eq!(reasons().await, expected);
}
