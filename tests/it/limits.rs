//! What a caller may ask for and get at once, through the façade: lists, pages, names, replacements.

use recollect::{
    domain::{Caller, PrincipalKind, Right},
    error::ErrorCode,
    read::{AssociateRequest, GetRequest, RecallRequest},
    write::{LinkRequest, StoreRequest, UpdateRequest},
};

use crate::support::app::App;

fn caller() -> Caller {
    Caller::operator("ada")
}

fn memory(content: &str) -> StoreRequest {
    StoreRequest { content: content.to_owned(), ..StoreRequest::default() }
}

async fn store(app: &App, request: StoreRequest) -> String {
    app.service.store(&caller(), request).await.expect("stored").id.expect("an id")
}

#[tokio::test]
async fn a_long_list_of_conditions_is_refused_by_its_name() {
    let app = App::start().await;
    let many = |value: &str| vec![value.to_owned(); 65];
    for (field, request) in [
        ("tags", RecallRequest { tags: many("t"), ..RecallRequest::default() }),
        ("kinds", RecallRequest { kinds: many("semantic"), ..RecallRequest::default() }),
        ("types", RecallRequest { types: many("fact"), ..RecallRequest::default() }),
    ] {
        let request = RecallRequest { query: "kettle".to_owned(), ..request };
        let error = app.service.recall(&caller(), request).await.expect_err("too many");
        assert_eq!((error.code, error.field.as_deref()), (ErrorCode::BadUserInput, Some(field)));
    }
    let request =
        AssociateRequest { query: Some("kettle".to_owned()), edges: many("CAUSES"), ..AssociateRequest::default() };
    let error = app.service.associate(&caller(), request).await.expect_err("too many");
    assert_eq!(error.field.as_deref(), Some("edges"));
}

#[tokio::test]
async fn get_gives_each_memory_once_and_pages_what_is_long() {
    let app = App::start().await;
    let mut ids = Vec::new();
    for number in 0..6 {
        ids.push(store(&app, memory(&format!("{number} {}", "the kettle leaks ".repeat(500)))).await);
    }
    let mut asked = ids.clone();
    asked.extend(ids.iter().cloned());
    let (mut found, mut pages, mut cursor) = (Vec::new(), 0, None);
    loop {
        let request = GetRequest { ids: asked.clone(), cursor, ..GetRequest::default() };
        let reply = app.service.get(&caller(), request).await.expect("a page");
        found.extend(reply.memories.into_iter().map(|memory| memory.id));
        pages += 1;
        cursor = reply.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, ids);
    assert_eq!(pages, 2, "three of about 2,200 tokens fit a page");
}

#[tokio::test]
async fn a_taken_name_and_a_known_text_are_conflicts_that_say_so() {
    let app = App::start().await;
    store(&app, StoreRequest { external_id: Some("k1".to_owned()), ..memory("the kettle leaks") }).await;
    let other = StoreRequest { external_id: Some("k1".to_owned()), ..memory("the kettle is new") };
    let error = app.service.store(&caller(), other).await.expect_err("taken");
    assert_eq!((error.code, error.field.as_deref()), (ErrorCode::Conflict, Some("external_id")));
    let id = store(&app, memory("the pan is new")).await;
    let request = UpdateRequest { id, content: Some("the kettle leaks".to_owned()), ..UpdateRequest::default() };
    let error = app.service.update(&caller(), request).await.expect_err("known");
    assert_eq!((error.code, error.field.as_deref()), (ErrorCode::Conflict, Some("content")));
}

#[tokio::test]
async fn what_is_replaced_cannot_replace() {
    let app = App::start().await;
    let (old, new) = (store(&app, memory("the kettle leaks")).await, store(&app, memory("the kettle is mended")).await);
    let link = |from: &str, to: &str| LinkRequest {
        from: from.to_owned(),
        to: to.to_owned(),
        edge: "SUPERSEDES".to_owned(),
        reason: None,
    };
    app.service.link(&caller(), link(&new, &old)).await.expect("linked");
    let error = app.service.link(&caller(), link(&old, &new)).await.expect_err("a circle");
    assert_eq!(error.field.as_deref(), Some("from"));
}

#[tokio::test]
async fn what_no_longer_holds_is_not_recalled_unless_asked_for() {
    let app = App::start().await;
    store(&app, StoreRequest { valid_to: Some("2021-01-01".to_owned()), ..memory("the office phone is 111") }).await;
    store(&app, StoreRequest { valid_from: Some("2030-01-01".to_owned()), ..memory("the office phone is 333") }).await;
    store(&app, memory("the office phone is 222")).await;
    let ask = async |as_of: Option<&str>| {
        let request = RecallRequest {
            query: "office phone".to_owned(),
            as_of: as_of.map(str::to_owned),
            ..RecallRequest::default()
        };
        let reply = app.service.recall(&caller(), request).await.expect("recalled");
        reply.items.into_iter().map(|item| item.content).collect::<Vec<_>>()
    };
    assert_eq!(ask(None).await, ["the office phone is 222"]);
    assert!(ask(Some("2020-06-01")).await.contains(&"the office phone is 111".to_owned()));
    assert!(ask(Some("2031-06-01")).await.contains(&"the office phone is 333".to_owned()));
}

#[tokio::test]
async fn rules_for_everyone_are_not_crowded_out_by_those_of_a_group() {
    let app = App::start().await;
    let rule = |content: &str| StoreRequest { r#type: Some("constraint".to_owned()), ..memory(content) };
    store(&app, StoreRequest { scope: Some("global".to_owned()), ..rule("never delete backups") }).await;
    for number in 0..60 {
        store(&app, rule(&format!("never open hatch {number} at sea"))).await;
    }
    let request = RecallRequest { query: "kettle".to_owned(), ..RecallRequest::default() };
    let reply = app.service.recall(&caller(), request).await.expect("recalled");
    assert_eq!(reply.constraints[0].content, "never delete backups");
}

#[tokio::test]
async fn an_agent_never_writes_for_everyone() {
    let app = App::start().await;
    let agent = Caller {
        principal: "bot".to_owned(),
        kind: PrincipalKind::Agent,
        rights: [Right::MemoryWrite, Right::MemoryGlobal].into_iter().collect(),
        ..caller()
    };
    let request = StoreRequest { scope: Some("global".to_owned()), ..memory("the kettle leaks") };
    let error = app.service.store(&agent, request).await.expect_err("forbidden");
    assert_eq!(error.code, ErrorCode::Forbidden);
}
