//! Store, recall and associate through the façade: what is linked, what is found, what is marked weak, what is left out.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use recollect::{
    domain::{Caller, Filter, IndexOp, MemoryId, Payload, Visibility},
    error::ErrorCode,
    ports::{Embedder, ModelCard, PortError, PortErrorKind, Scored, VectorIndex, VectorQuery},
    read::{AssociateRequest, GetRequest, RecallReply, RecallRequest},
    write::{ForgetRequest, StoreReply, StoreRequest, StoreState, UpdateRequest},
};

use crate::support::{app::App, process::Home};

fn caller() -> Caller {
    Caller::operator("ada")
}

fn memory(content: &str) -> StoreRequest {
    StoreRequest { content: content.to_owned(), ..StoreRequest::default() }
}

async fn store(app: &App, request: StoreRequest) -> StoreReply {
    app.service.store(&caller(), request).await.expect("stored")
}

async fn recall(app: &App, query: &str, mode: &str) -> RecallReply {
    let request = RecallRequest {
        query: query.to_owned(),
        mode: Some(mode.to_owned()),
        limit: Some(10),
        ..RecallRequest::default()
    };
    app.service.recall(&caller(), request).await.expect("recalled")
}

fn contents(reply: &RecallReply) -> Vec<&str> {
    reply.items.iter().map(|item| item.content.as_str()).collect()
}

#[tokio::test]
async fn an_empty_store_answers_with_nothing_and_no_error() {
    let app = App::start().await;
    for mode in ["hybrid", "semantic", "keyword", "recent", "associative"] {
        let reply = recall(&app, "anything", mode).await;
        assert!(reply.items.is_empty() && reply.degraded.is_empty(), "{mode}");
    }
    let request = AssociateRequest { query: Some("anything".to_owned()), ..AssociateRequest::default() };
    assert!(app.service.associate(&caller(), request).await.expect("an answer").items.is_empty());
}

#[tokio::test]
async fn one_memory_is_found_and_a_stranger_is_marked_weak() {
    let app = App::start().await;
    store(&app, memory("the kettle is descaled every Monday")).await;
    for mode in ["hybrid", "semantic", "keyword", "associative"] {
        let reply = recall(&app, "kettle descaled", mode).await;
        assert_eq!(contents(&reply), ["the kettle is descaled every Monday"], "{mode}");
        assert!(!reply.items[0].weak && reply.items[0].score > 0.5, "{mode}: {:?}", reply.items[0]);
    }
    let reply = recall(&app, "zebra migration", "hybrid").await;
    assert!(reply.items.iter().all(|item| item.weak), "{reply:?}");
    assert!(recall(&app, "zebra migration", "keyword").await.items.is_empty(), "nothing is padded");
}

#[tokio::test]
async fn stop_words_alone_and_very_long_queries_do_no_harm() {
    let app = App::start().await;
    store(&app, memory("the kettle is descaled every Monday")).await;
    assert!(recall(&app, "the and of 的 了", "keyword").await.items.is_empty());
    assert!(recall(&app, "the and of 的 了", "hybrid").await.items.iter().all(|item| item.weak));
    let long = "kettle ".repeat(20_000 / 7);
    assert_eq!(recall(&app, &long, "hybrid").await.items.len(), 1);
    let request = RecallRequest { query: "x".repeat(100_000), ..RecallRequest::default() };
    let error = app.service.recall(&caller(), request).await.expect_err("too long");
    assert_eq!(error.code, ErrorCode::PayloadTooLarge);
}

#[tokio::test]
async fn every_language_is_found_by_its_words_alone() {
    let app = App::start().await;
    for (content, query) in [
        ("支付回调接口昨天超时了三次", "支付"),
        ("Поезд в Тверь отменили из-за снега", "поезд"),
        ("ألغيت الرحلة إلى المدينة بسبب العاصفة", "الرحلة"),
        ("ร้านกาแฟเปิดเวลาแปดโมงเช้า", "กาแฟ"),
        ("The MCP服务-v2 rollout is paused", "MCP服务-v2"),
        ("set retry_max_count in the worker", "retry_max_count"),
        ("the compiler says E0658 here", "e0658"),
    ] {
        store(&app, memory(content)).await;
        assert_eq!(contents(&recall(&app, query, "keyword").await), [content], "{query}");
    }
    // Whatever FTS5 would take for syntax is literal.
    for query in ["\"", "*", "NEAR(a b)", "a AND", "terms:x", "-x", "(", "^x", "a OR OR", "' ; DROP TABLE memory"] {
        recall(&app, query, "keyword").await;
    }
}

#[tokio::test]
async fn the_same_again_refreshes_and_a_key_stores_once() {
    let app = App::start().await;
    let first = store(&app, memory("the pump was serviced")).await;
    let again = store(&app, memory("the pump was serviced")).await;
    assert_eq!((again.outcome.as_str(), &again.id), ("refreshed", &first.id));
    let keyed = |content: &str| StoreRequest { idempotency_key: Some("k1".to_owned()), ..memory(content) };
    let one = store(&app, keyed("valve 7 was replaced")).await;
    let two = store(&app, keyed("valve 7 was replaced")).await;
    assert_eq!((one.id, one.operation_id, &*one.outcome), (two.id, two.operation_id, &*two.outcome));
    let other = app.service.store(&caller(), keyed("valve 8 was replaced")).await.expect_err("another request");
    assert_eq!(other.code, ErrorCode::IdempotencyKeyReused);
    assert_eq!(recall(&app, "valve", "keyword").await.items.len(), 1);
}

#[tokio::test]
async fn the_same_request_twice_at_once_is_stored_once() {
    let app = App::start().await;
    let request = || StoreRequest { idempotency_key: Some("both".to_owned()), ..memory("the north gate was painted") };
    let (caller, other) = (caller(), caller());
    let (one, two) = tokio::join!(app.service.store(&caller, request()), app.service.store(&other, request()));
    assert_eq!(one.expect("stored").id, two.expect("stored").id);
    assert_eq!(recall(&app, "gate", "keyword").await.items.len(), 1);
}

#[tokio::test]
async fn a_session_is_a_chain_and_a_turn_leads_to_its_neighbour() {
    let app = App::start().await;
    let turn = |content: &str| StoreRequest {
        session_id: Some("s1".to_owned()),
        task_id: Some("t1".to_owned()),
        speaker: Some("Mia".to_owned()),
        ..memory(content)
    };
    let mut ids = Vec::new();
    for content in ["shall we move the wardrobe", "it does not fit through", "then we saw it in half"] {
        let reply = store(&app, turn(content)).await;
        let before: Vec<(&str, &str)> = reply
            .links
            .iter()
            .filter(|link| link.r#type != "SUPPLEMENTS")
            .map(|link| (link.r#type.as_str(), link.id.as_str()))
            .collect();
        let expected: Vec<(&str, &str)> = ids
            .last()
            .map(|id: &String| vec![("SAME_SESSION", id.as_str()), ("SAME_TASK", id.as_str())])
            .unwrap_or_default();
        assert_eq!(before, expected, "{content}");
        ids.push(reply.id.expect("an id"));
    }
    let request = AssociateRequest { ids: vec![ids[0].clone()], ..AssociateRequest::default() };
    let reply = app.service.associate(&caller(), request).await.expect("an answer");
    assert_eq!(reply.items.iter().map(|found| &found.item.id).collect::<Vec<_>>(), [&ids[1], &ids[2]]);
    let first = &reply.items[0].path[0];
    assert!(first.edge == "<SAME_SESSION" || first.edge == "<SAME_TASK", "{first:?}");
}

#[tokio::test]
async fn a_name_in_a_text_leads_to_the_memory_about_it_whichever_came_first() {
    let app = App::start().await;
    let about = |title: &str, content: &str| StoreRequest { title: Some(title.to_owned()), ..memory(content) };
    store(&app, memory("Deliveries to the coast wait for Harbour Gate since Monday.")).await;
    store(&app, about("Harbour Gate", "Opens at nine, closed in storms.")).await;
    store(&app, memory("In winter Harbour Gate needs two people.")).await;
    for query in ["why do deliveries to the coast wait", "how many people in winter"] {
        let request = AssociateRequest { query: Some(query.to_owned()), depth: Some(1), ..AssociateRequest::default() };
        let reply = app.service.associate(&caller(), request).await.expect("an answer");
        let found = reply.items.iter().find(|found| found.item.title.as_deref() == Some("Harbour Gate"));
        let found = found.unwrap_or_else(|| panic!("{query}: {reply:?}"));
        let edges: Vec<&str> = found.path.iter().map(|step| step.edge.as_str()).collect();
        assert_eq!(edges, ["MENTIONS", "<ABOUT"], "{query}");
        assert_eq!(found.path[0].label.as_deref(), Some("Harbour Gate"));
    }
}

#[tokio::test]
async fn a_superseded_memory_is_kept_and_recalled_only_when_asked_for() {
    let app = App::start().await;
    let old = store(&app, memory("the meeting is in room four")).await.id.expect("an id");
    let request = StoreRequest { supersedes: vec![old.clone()], ..memory("the meeting is in room nine") };
    let new = store(&app, request).await;
    assert_eq!((new.outcome.as_str(), new.superseded), ("superseded", vec![old]));
    for mode in ["hybrid", "semantic", "keyword", "recent", "associative"] {
        assert_eq!(contents(&recall(&app, "meeting room", mode).await), ["the meeting is in room nine"], "{mode}");
    }
    let request =
        RecallRequest { query: "meeting room".to_owned(), include_superseded: true, ..RecallRequest::default() };
    let reply = app.service.recall(&caller(), request).await.expect("recalled");
    let statuses: std::collections::BTreeSet<&str> = reply.items.iter().map(|item| item.status.as_str()).collect();
    assert_eq!(statuses, ["active", "superseded"].into());
}

#[tokio::test]
async fn constraints_come_along_outside_the_ranking() {
    let app = App::start().await;
    store(&app, StoreRequest { r#type: Some("constraint".to_owned()), ..memory("never deploy on a Friday") }).await;
    store(&app, memory("the kettle is descaled every Monday")).await;
    let reply = recall(&app, "kettle", "keyword").await;
    assert_eq!(contents(&reply), ["the kettle is descaled every Monday"]);
    assert_eq!(
        reply.constraints.iter().map(|item| item.content.as_str()).collect::<Vec<_>>(),
        ["never deploy on a Friday"]
    );
}

#[tokio::test]
async fn constraints_beyond_the_limit_are_not_left_out_in_silence() {
    let app = App::start().await;
    for number in 0..51 {
        let content = format!("never open hatch {number} at sea");
        store(&app, StoreRequest { r#type: Some("constraint".to_owned()), ..memory(&content) }).await;
    }
    let reply = recall(&app, "kettle", "keyword").await;
    assert_eq!(reply.constraints.len(), 50);
    assert_eq!(reply.degraded.iter().map(|missing| missing.part.as_str()).collect::<Vec<_>>(), ["constraints"]);
}

#[tokio::test]
async fn an_update_is_found_by_its_new_words_and_not_by_the_old() {
    let app = App::start().await;
    let id = store(&app, memory("the spare key hangs in the cellar")).await.id.expect("an id");
    let change = |content: &str, revision| UpdateRequest {
        id: id.clone(),
        content: Some(content.to_owned()),
        expected_revision: Some(revision),
        ..UpdateRequest::default()
    };
    let record = app.service.update(&caller(), change("the spare key hangs in the attic", 1)).await.expect("updated");
    assert_eq!(record.memory.revision, 2);
    assert_eq!(recall(&app, "attic", "keyword").await.items.len(), 1);
    assert!(recall(&app, "cellar", "keyword").await.items.is_empty());
    let stale = app.service.update(&caller(), change("the spare key is lost", 1)).await.expect_err("stale");
    assert_eq!((stale.code, stale.field.as_deref()), (ErrorCode::Conflict, Some("expected_revision")));
}

#[tokio::test]
async fn forgetting_reaches_every_copy() {
    let app = App::start().await;
    let titled = StoreRequest { title: Some("Project Zephyr".to_owned()), ..memory("starts in spring") };
    let id = store(&app, titled).await.id.expect("an id");
    let forget = |strategy: &str| ForgetRequest {
        ids: vec![id.clone()],
        strategy: Some(strategy.to_owned()),
        ..ForgetRequest::default()
    };
    app.service.forget(&caller(), forget("decay")).await.expect("decayed");
    let got =
        app.service.get(&caller(), GetRequest { ids: vec![id.clone()], ..GetRequest::default() }).await.expect("there");
    assert_eq!((got.memories[0].importance, got.memories[0].confidence), (0.25, 0.4));
    app.service.forget(&caller(), forget("archive")).await.expect("archived");
    assert!(recall(&app, "Zephyr", "hybrid").await.items.is_empty(), "archived is not recalled");
    app.service.forget(&caller(), forget("delete")).await.expect("deleted");
    let gone = app.service.get(&caller(), GetRequest { ids: vec![id.clone()], ..GetRequest::default() }).await;
    assert_eq!(gone.expect_err("gone").code, ErrorCode::NotFound);
    assert_eq!(app.parts.index.count().await.expect("a number"), 0);
    let status = app.service.status(&caller()).await.expect("numbers");
    assert_eq!((status.memories, status.concepts, status.edges), (0, 0, 0));
}

#[tokio::test]
async fn being_recalled_counts_as_use_and_changes_no_look_back() {
    let app = App::start().await;
    let id = store(&app, memory("the kettle is descaled every Monday")).await.id.expect("an id");
    let used = async |known_at: Option<&str>| {
        let request = GetRequest { ids: vec![id.clone()], known_at: known_at.map(Into::into), ..GetRequest::default() };
        let record = app.service.get(&caller(), request).await.expect("there").memories.remove(0);
        (record.access_count, record.last_accessed.is_some())
    };
    recall(&app, "kettle", "hybrid").await;
    recall(&app, "kettle", "keyword").await;
    recall(&app, "zebra", "keyword").await;
    assert_eq!(used(None).await, (0, false), "an answer does not wait for it");
    app.service.uses().flush().await.expect("written");
    assert_eq!(used(None).await, (2, true));
    let moment = app.service.clock().now().to_string();
    assert_eq!(used(Some(&moment)).await, (0, false), "uses are no part of what was believed");
    let request = RecallRequest { query: "kettle".into(), known_at: Some(moment), ..RecallRequest::default() };
    assert_eq!(app.service.recall(&caller(), request).await.expect("recalled").items.len(), 1);
    recall(&app, "", "recent").await;
    app.service.uses().flush().await.expect("written");
    assert_eq!(used(None).await.0, 2, "neither looking back nor listing the latest is use");
    // What runs in the background writes the rest when it is stopped.
    let stop = tokio_util::sync::CancellationToken::new();
    let running = tokio::spawn({
        let (uses, stop) = (app.service.uses(), stop.clone());
        async move { uses.run(Duration::from_secs(3600), stop).await }
    });
    recall(&app, "kettle", "hybrid").await;
    stop.cancel();
    running.await.expect("ended");
    assert_eq!(used(None).await.0, 3);
}

/// An index that is down.
struct Down;

#[async_trait]
impl VectorIndex for Down {
    async fn apply(&self, _: &[IndexOp]) -> Result<(), PortError> {
        Err(down())
    }
    async fn search(&self, _: &VectorQuery, _: &Visibility) -> Result<Vec<Scored>, PortError> {
        Err(down())
    }
    async fn vectors(
        &self,
        _: &str,
        _: &[MemoryId],
        _: &Visibility,
    ) -> Result<std::collections::HashMap<MemoryId, Vec<f32>>, PortError> {
        Err(down())
    }
    async fn payloads(
        &self,
        _: &[MemoryId],
        _: &Visibility,
    ) -> Result<std::collections::HashMap<MemoryId, Payload>, PortError> {
        Err(down())
    }
    async fn ids(&self, _: Option<MemoryId>, _: usize, _: &Visibility) -> Result<Vec<MemoryId>, PortError> {
        Err(down())
    }
    async fn count(&self) -> Result<usize, PortError> {
        Err(down())
    }
    async fn flush(&self) -> Result<(), PortError> {
        Err(down())
    }
    async fn optimize(&self) -> Result<(), PortError> {
        Err(down())
    }
    async fn rebuild(&self) -> Result<Arc<dyn recollect::ports::Rebuild>, PortError> {
        Err(down())
    }
    async fn withdraw(&self) {}
}

fn down() -> PortError {
    PortError::new(PortErrorKind::Unavailable, "test", "answer", "down")
}

#[tokio::test]
async fn without_the_index_words_still_answer_and_the_missing_part_is_named() {
    let app = App::start_with(|parts| {
        parts.index = Arc::new(Down);
        let settings = recollect::jobs::DrainSettings::default();
        parts.drain = Arc::new(recollect::jobs::Drain::new(parts.graph.clone(), parts.index.clone(), settings));
    })
    .await;
    let reply = store(&app, memory("the kettle is descaled every Monday")).await;
    assert_eq!(reply.state, StoreState::PendingIndex, "no false success");
    let reply = recall(&app, "kettle", "hybrid").await;
    assert_eq!(reply.items.len(), 1);
    assert_eq!(reply.degraded.iter().map(|missing| missing.part.as_str()).collect::<Vec<_>>(), ["vectors"]);
    let request =
        RecallRequest { query: "kettle".to_owned(), mode: Some("semantic".to_owned()), ..RecallRequest::default() };
    let error = app.service.recall(&caller(), request).await.expect_err("no arm is left");
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(app.service.ready().await.iter().any(|part| part.part == "vectors" && !part.ready));
    let rows = app.parts.graph.recent(&Filter::default(), 10, &caller().visibility()).await.expect("rows");
    assert_eq!(rows.len(), 1);
}

/// A model that takes a while and notes how many questions it had at once.
struct Busy {
    inner: Arc<dyn Embedder>,
    now: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl Embedder for Busy {
    fn card(&self) -> &ModelCard {
        self.inner.card()
    }
    async fn embed_passages(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, PortError> {
        self.inner.embed_passages(texts).await
    }
    async fn embed_query(&self, text: &str) -> Result<Vec<f32>, PortError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        self.inner.embed_query(text).await
    }
}

#[tokio::test]
async fn more_questions_than_may_be_answered_at_once_wait_and_are_answered_whole() {
    let mut busy = None;
    let app = App::start_with(|parts| {
        let model = Arc::new(Busy { inner: parts.embedders[0].clone(), now: 0.into(), most: 0.into() });
        parts.embedders[0] = model.clone();
        busy = Some(model);
    })
    .await;
    let busy = busy.expect("the model");
    store(&app, memory("the kettle is descaled every Monday")).await;
    let replies = futures::future::join_all((0..64).map(|_| recall(&app, "kettle", "semantic"))).await;
    assert!(replies.iter().all(|reply| reply.degraded.is_empty() && reply.items.len() == 1));
    let most = busy.most.load(Ordering::SeqCst);
    assert!((2..=16).contains(&most), "{most} questions at once, read.at_once is 16");
}

/// The sample of the README: on each of its questions associate finds what plain recall does not.
#[test]
fn association_is_visibly_better_than_search_on_the_sample() {
    let Some(home) = Home::with_models() else { return };
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/starter");
    home.json(&["import", "memories", sample]);
    let served = home.serve(&[]);
    let questions = std::fs::read_to_string(format!("{sample}/questions.jsonl")).expect("the questions");
    let mut failures = Vec::new();
    for line in questions.lines() {
        let question: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let (query, expected) = (question["query"].as_str().expect("a query"), &question["expects"][0]);
        let place = |answer: &serde_json::Value| {
            answer["items"].as_array().and_then(|items| items.iter().position(|item| item["external_id"] == *expected))
        };
        let associated = place(&home.json(&["associate", query, "--limit", "5"]));
        let recalled = place(&home.json(&["recall", query, "--limit", "5"]));
        if associated.is_none() || recalled.is_some() {
            failures.push(format!("{query}: associate {associated:?}, recall {recalled:?}"));
        }
    }
    drop(served);
    assert!(failures.is_empty(), "{failures:#?}");
}
