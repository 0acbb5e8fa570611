//! The law of looking back: asked with `known_at = t`, recall, associate and get answer what they answered at t, whatever has
//! happened since. One exception: what was forgotten by `delete` is gone for every moment.
//!
//! Scores are left out of the comparison: uses counted since, and the rarity of words, are of today. So is where a walk from
//! a query starts, which scores decide; walks from given memories are compared.

use std::sync::Arc;

use jiff::SignedDuration;
use proptest::{collection::vec, prelude::*, strategy::ValueTree, test_runner::TestRunner};
use recollect::{
    domain::Caller,
    ports::Clock,
    read::{AssociateRequest, GetRequest, RecallItem, RecallRequest},
    write::{FeedbackRequest, ForgetRequest, LinkRequest, ObserveRequest, StoreRequest, UpdateRequest},
};
use serde_json::{Value, json};

use crate::support::{
    app::{App, on_neo4j},
    clock::FixedClock,
};

const TEXTS: [&str; 8] = [
    "The Harbour Gate opens at nine.",
    "Mia keeps the key of the Harbour Gate.",
    "The ferry waits for Mia until ten.",
    "Rain flooded the quay on Sunday.",
    "Never lift the bridge in a storm.",
    "港口的大门九点打开。",
    "The bridge was painted green.",
    "Old Tom repairs the nets near the Harbour Gate.",
];
const TITLES: [Option<&str>; 4] = [None, Some("Harbour Gate"), Some("Mia"), Some("bridge")];
const QUERIES: [&str; 3] = ["when does the Harbour Gate open", "Mia", "港口 bridge quay"];
const MODES: [&str; 5] = ["hybrid", "semantic", "keyword", "recent", "associative"];

/// One thing that happens. A number picks a memory among those there are.
#[derive(Debug, Clone)]
enum Step {
    Store { text: usize, title: usize, constraint: bool, session: bool, ttl: bool },
    Supersede { old: usize, text: usize },
    Update { at: usize, text: usize, title: usize },
    Retag { at: usize },
    Forget { at: usize, strategy: &'static str },
    Vote { at: usize, useful: bool, who: &'static str },
    Link { from: usize, to: usize, edge: &'static str },
    Observe { text: usize, event: &'static str },
}

fn step() -> impl Strategy<Value = Step> {
    let text = 0..TEXTS.len();
    let at = 0..50usize;
    prop_oneof![
        5 => (text.clone(), 0..TITLES.len(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
            |(text, title, constraint, session, ttl)| Step::Store { text, title, constraint, session, ttl }
        ),
        2 => (at.clone(), text.clone()).prop_map(|(old, text)| Step::Supersede { old, text }),
        2 => (at.clone(), text.clone(), 0..TITLES.len()).prop_map(|(at, text, title)| Step::Update { at, text, title }),
        1 => at.clone().prop_map(|at| Step::Retag { at }),
        2 => (at.clone(), prop_oneof![Just("archive"), Just("decay")])
            .prop_map(|(at, strategy)| Step::Forget { at, strategy }),
        1 => (at.clone(), any::<bool>(), prop_oneof![Just("ada"), Just("bo")])
            .prop_map(|(at, useful, who)| Step::Vote { at, useful, who }),
        2 => (at.clone(), at, prop_oneof![Just("CAUSES"), Just("SUPERSEDES"), Just("SUPPLEMENTS")])
            .prop_map(|(from, to, edge)| Step::Link { from, to, edge }),
        1 => (text, prop_oneof![Just("task_succeeded"), Just("user_correction"), Just("session_ended")])
            .prop_map(|(text, event)| Step::Observe { text, event }),
    ]
}

fn ada() -> Caller {
    Caller::operator("ada")
}

struct World {
    app: App,
    clock: Arc<FixedClock>,
    ids: Vec<String>,
}

impl World {
    async fn new() -> Self {
        let clock = Arc::new(FixedClock::at("2026-11-30T12:00:00Z".parse().unwrap()));
        let handed = clock.clone();
        let app = App::start_with(|parts| parts.clock = handed).await;
        Self { app, clock, ids: Vec::new() }
    }

    fn pick(&self, at: usize) -> Option<String> {
        (!self.ids.is_empty()).then(|| self.ids[at % self.ids.len()].clone())
    }

    /// Does one thing. What the service refuses (a link to itself, the same text twice) has not happened.
    async fn take(&mut self, step: &Step) {
        let service = &self.app.service;
        let made = match step.clone() {
            Step::Store { text, title, constraint, session, ttl } => {
                let request = StoreRequest {
                    content: TEXTS[text].into(),
                    title: TITLES[title].map(Into::into),
                    r#type: constraint.then(|| "constraint".into()),
                    session_id: session.then(|| "s1".into()),
                    ttl_secs: ttl.then_some(400),
                    scope: Some("global".into()),
                    ..StoreRequest::default()
                };
                service.store(&ada(), request).await.ok().and_then(|reply| reply.id)
            }
            Step::Supersede { old, text } => {
                let Some(old) = self.pick(old) else { return };
                let request = StoreRequest {
                    content: format!("{} So it is now.", TEXTS[text]),
                    supersedes: vec![old],
                    scope: Some("global".into()),
                    ..StoreRequest::default()
                };
                service.store(&ada(), request).await.ok().and_then(|reply| reply.id)
            }
            Step::Update { at, text, title } => {
                let Some(id) = self.pick(at) else { return };
                let request = UpdateRequest {
                    id,
                    content: Some(format!("{} Or so.", TEXTS[text])),
                    title: TITLES[title].map(Into::into),
                    ..UpdateRequest::default()
                };
                let _ = service.update(&ada(), request).await;
                None
            }
            Step::Retag { at } => {
                let Some(id) = self.pick(at) else { return };
                let request = UpdateRequest { id, tags: Some(vec!["wet".into()]), ..UpdateRequest::default() };
                let _ = service.update(&ada(), request).await;
                None
            }
            Step::Forget { at, strategy } => {
                let Some(id) = self.pick(at) else { return };
                let request = ForgetRequest { ids: vec![id], strategy: Some(strategy.into()), reason: None };
                service.forget(&ada(), request).await.expect("forgotten");
                None
            }
            Step::Vote { at, useful, who } => {
                let Some(id) = self.pick(at) else { return };
                let request = FeedbackRequest { id, useful: Some(useful), note: None };
                service.feedback(&Caller::operator(who), request).await.expect("counted");
                None
            }
            Step::Link { from, to, edge } => {
                let (Some(from), Some(to)) = (self.pick(from), self.pick(to)) else { return };
                let request = LinkRequest { from, to, edge: edge.into(), reason: Some("seen".into()) };
                let _ = service.link(&ada(), request).await;
                None
            }
            Step::Observe { text, event } => {
                let request = ObserveRequest {
                    event: event.into(),
                    text: Some(TEXTS[text].into()),
                    session_id: Some("s1".into()),
                    scope: Some("global".into()),
                    ..ObserveRequest::default()
                };
                let reply = service.observe(&ada(), request).await.expect("kept");
                reply.memories.into_iter().map(|memory| memory.id).next()
            }
        };
        if let Some(id) = made.filter(|id| !self.ids.contains(id)) {
            self.ids.push(id);
        }
    }

    /// Everything that is answered, now or as of then, in a form that can be compared.
    async fn answers(&self, known_at: Option<String>) -> Vec<Value> {
        let service = &self.app.service;
        let mut answers = Vec::new();
        for query in QUERIES {
            for (mode, include_superseded) in MODES.into_iter().map(|mode| (mode, false)).chain([("hybrid", true)]) {
                let request = RecallRequest {
                    query: query.into(),
                    mode: Some(mode.into()),
                    limit: Some(100),
                    token_budget: Some(32_000),
                    include_superseded,
                    known_at: known_at.clone(),
                    ..RecallRequest::default()
                };
                let reply = service.recall(&ada(), request).await.expect("recalled");
                assert!(reply.degraded.is_empty(), "{reply:?}");
                answers.push(json!({"recall": query, "mode": mode, "superseded": include_superseded,
                    "items": shown(&reply.items), "constraints": shown(&reply.constraints)}));
            }
        }
        for id in &self.ids {
            let request = GetRequest { ids: vec![id.clone()], known_at: known_at.clone(), ..GetRequest::default() };
            let Ok(reply) = service.get(&ada(), request).await else { continue };
            let mut record = serde_json::to_value(&reply.memories[0]).expect("JSON");
            for counted_since in ["access_count", "last_accessed"] {
                record.as_object_mut().expect("an object").remove(counted_since);
            }
            answers.push(json!({"get": id, "record": record}));
            let request = AssociateRequest {
                ids: vec![id.clone()],
                limit: Some(100),
                known_at: known_at.clone(),
                ..AssociateRequest::default()
            };
            answers.push(json!({"associate": id, "items": self.associated(request).await}));
        }
        answers
    }

    async fn associated(&self, request: AssociateRequest) -> Vec<Value> {
        let reply = self.app.service.associate(&ada(), request).await.expect("associated");
        let mut items: Vec<Value> = reply
            .items
            .iter()
            .map(|found| json!([found.item.id, found.item.content, found.item.status, found.distance]))
            .collect();
        items.sort_by_key(Value::to_string);
        items
    }
}

fn shown(items: &[RecallItem]) -> Vec<Value> {
    let mut shown: Vec<Value> = items
        .iter()
        .map(|item| {
            json!([
                item.id,
                item.content,
                item.title,
                item.status,
                item.confidence,
                item.valid_to,
                item.tags,
                item.kind
            ])
        })
        .collect();
    shown.sort_by_key(Value::to_string);
    shown
}

#[tokio::test(flavor = "multi_thread")]
async fn asked_as_of_then_the_service_answers_what_it_answered_then() {
    let mut runner = TestRunner::deterministic();
    // A server takes much longer for each of the questions.
    let histories = if on_neo4j() { 2 } else { 8 };
    let histories = vec(vec(step(), 12), histories).new_tree(&mut runner).unwrap().current();
    for history in histories {
        let mut world = World::new().await;
        let mut then: Vec<(usize, String, Vec<Value>)> = Vec::new();
        for (number, step) in history.iter().enumerate() {
            world.take(step).await;
            then.push((number, world.clock.now().to_string(), world.answers(None).await));
            world.clock.advance(SignedDuration::from_mins(1));
        }
        for (number, moment, answered) in then {
            let asked = world.answers(Some(moment.clone())).await;
            // Memories of later steps are asked for too, and are not there.
            assert_eq!(answered.len(), asked.len(), "after step {number} of {history:#?}");
            for (answered, asked) in answered.iter().zip(&asked) {
                assert_eq!(answered, asked, "after step {number} at {moment} of {history:#?}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_deleted_is_gone_for_every_moment() {
    let mut world = World::new().await;
    let store = |text| Step::Store { text, title: 1, constraint: true, session: true, ttl: false };
    world.take(&store(0)).await;
    world.take(&store(1)).await;
    world.clock.advance(SignedDuration::from_mins(1));
    world.take(&Step::Update { at: 0, text: 3, title: 2 }).await;
    world.take(&Step::Vote { at: 0, useful: true, who: "ada" }).await;
    let moment = "2026-11-30T12:00:00Z".to_owned();
    assert!(world.answers(Some(moment.clone())).await.iter().any(|answer| answer.to_string().contains(TEXTS[0])));
    let request = ForgetRequest { ids: vec![world.ids[0].clone()], ..ForgetRequest::default() };
    world.app.service.forget(&ada(), request).await.expect("forgotten");
    for answer in world.answers(Some(moment)).await {
        assert!(!answer.to_string().contains(TEXTS[0]) && !answer.to_string().contains(&world.ids[0]), "{answer}");
    }
}

#[tokio::test]
async fn an_update_is_found_by_the_words_and_the_subject_it_had_then() {
    let mut world = World::new().await;
    world.take(&Step::Store { text: 3, title: 1, constraint: false, session: false, ttl: false }).await;
    let moment = world.clock.now().to_string();
    world.clock.advance(SignedDuration::from_mins(1));
    world.take(&Step::Update { at: 0, text: 2, title: 2 }).await;
    let ask = async |query: &str, mode: &str, known_at: Option<&str>| {
        let request = RecallRequest {
            query: query.into(),
            mode: Some(mode.into()),
            known_at: known_at.map(Into::into),
            ..RecallRequest::default()
        };
        let reply = world.app.service.recall(&ada(), request).await.expect("recalled");
        reply.items.into_iter().map(|item| (item.content, item.why.expect("explained"))).next()
    };
    assert!(ask("quay", "keyword", None).await.is_none());
    assert_eq!(ask("quay", "keyword", Some(&moment)).await.expect("found").0, TEXTS[3]);
    assert!(ask("ferry", "keyword", Some(&moment)).await.is_none());
    let (content, why) = ask("Rain flooded the quay on Sunday", "semantic", Some(&moment)).await.expect("found");
    assert_eq!(content, TEXTS[3]);
    assert!(why.semantic.is_some_and(|semantic| semantic > 0.9), "weighed by the text of then: {why:?}");
    let (_, why) = ask("Harbour Gate", "hybrid", Some(&moment)).await.expect("found");
    assert!(why.named.is_some(), "its subject of then: {why:?}");
    let (_, why) = ask("Harbour Gate", "hybrid", None).await.expect("found");
    assert!(why.named.is_none(), "not its subject now: {why:?}");
}
