//! Memories are linked to the concepts that they name, old and new ones; recall and associate go over these links.

use recollect::{
    domain::{Edge, EdgeKind, Term, Visibility},
    read::{AssociateRequest, RecallRequest},
    write::{StoreRequest, UpdateRequest},
};

use super::flows::{concepts, curator, file};
use crate::support::app::App;

/// A little vocabulary of outages, English and Chinese.
const OUTAGES: &str = r#"@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix : <http://e/> .
:outage a skos:Concept ; skos:prefLabel "outage"@en, "故障"@zh .
:payment a skos:Concept ; skos:prefLabel "payment outage"@en, "支付中断"@zh ; skos:broader :outage .
:webhook a skos:Concept ; skos:prefLabel "webhook timeout"@en, "回调超时"@zh ; skos:broader :payment .
:dns a skos:Concept ; skos:prefLabel "DNS failure"@en, "域名解析故障"@zh ; skos:broader :outage .
"#;

async fn store(app: &App, title: Option<&str>, content: &str) -> String {
    let request =
        StoreRequest { content: content.to_owned(), title: title.map(str::to_owned), ..StoreRequest::default() };
    app.service.store(&curator(), request).await.expect("stored").id.expect("an id")
}

/// The links that ontologies made from a memory: local name of the concept, kind and weight.
async fn links(app: &App, id: &str) -> Vec<(String, EdgeKind, f32)> {
    let visibility = Visibility::system("a test looks at everything");
    let edges = app.parts.graph.edges_of(id.parse().expect("an id"), 100, &visibility).await.expect("edges");
    let names = ["outage", "payment", "webhook", "dns", "a", "b", "c"];
    let mut links: Vec<(String, EdgeKind, f32)> = edges
        .into_iter()
        .filter(|edge| edge.reason.as_deref() == Some(Edge::ONTOLOGY))
        .map(|edge| {
            let name = names.iter().find(|name| Term::concept_id(&format!("http://e/{name}")).0 == edge.to);
            (name.copied().unwrap_or("?").to_owned(), edge.kind, edge.weight)
        })
        .collect();
    links.sort_by(|a, b| a.0.cmp(&b.0));
    links
}

fn named(links: &[(String, EdgeKind, f32)]) -> Vec<(&str, EdgeKind)> {
    links.iter().map(|(name, kind, _)| (name.as_str(), *kind)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn old_and_new_memories_are_linked_and_follow_changes() {
    let app = App::start().await;
    let old = store(&app, None, "On Monday a payment outage cost us an hour.").await;
    let reply = app.service.import_ontology(&curator(), file("outages.ttl", OUTAGES)).await.expect("imported");
    assert_eq!(reply.linked, 1);
    assert_eq!(named(&links(&app, &old).await), [("payment", EdgeKind::Mentions)]);
    let new = store(&app, Some("Webhook timeouts"), "回调超时 came with a DNS failure").await;
    assert_eq!(named(&links(&app, &new).await), [("dns", EdgeKind::Mentions), ("webhook", EdgeKind::About)]);
    let request =
        UpdateRequest { id: new.clone(), content: Some("It was an outage.".to_owned()), ..UpdateRequest::default() };
    app.service.update(&curator(), request).await.expect("updated");
    assert_eq!(named(&links(&app, &new).await), [("outage", EdgeKind::Mentions), ("webhook", EdgeKind::About)]);
    // A name that goes takes its links along, one that comes brings them.
    let renamed =
        OUTAGES.replace("\"payment outage\"@en", "\"checkout failure\"@en").replace("\"outage\"@en", "\"an hour\"@en");
    app.service.import_ontology(&curator(), file("outages.ttl", &renamed)).await.expect("imported");
    assert_eq!(named(&links(&app, &old).await), [("outage", EdgeKind::Mentions)]);
    app.service.rollback_ontology(&curator(), 1).await.expect("rolled back");
    assert_eq!(named(&links(&app, &old).await), [("payment", EdgeKind::Mentions)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chinese_question_finds_english_memories_over_labels_alone() {
    let app = App::start().await;
    app.service.import_ontology(&curator(), file("outages.ttl", OUTAGES)).await.expect("imported");
    let direct = store(&app, None, "The payment outage of May was a full disk.").await;
    let below = store(&app, None, "Stripe webhook timeouts go away after a redeploy.").await;
    for filler in ["The cafeteria closes at three.", "Ann likes green tea.", "Use tabs in the Makefile."] {
        store(&app, None, filler).await;
    }
    let ask = async |expand| {
        let request =
            RecallRequest { query: "支付中断".to_owned(), expand, limit: Some(2), ..RecallRequest::default() };
        app.service.recall(&curator(), request).await.expect("an answer")
    };
    let reply = ask(None).await;
    let ids: Vec<&str> = reply.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, [direct.as_str(), below.as_str()], "{reply:?}");
    assert_eq!(reply.understood.concepts, ["payment outage"]);
    assert_eq!(reply.understood.expanded, ["webhook timeout"]);
    let without = ask(Some(false)).await;
    assert!(without.understood.concepts.is_empty(), "{without:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn association_goes_over_broader_concepts_and_says_so() {
    let app = App::start().await;
    app.service.import_ontology(&curator(), file("outages.ttl", OUTAGES)).await.expect("imported");
    let start = store(&app, None, "We had a payment outage in May.").await;
    let below = store(&app, None, "webhook timeouts need a longer deadline").await;
    let beside = store(&app, None, "a DNS failure took the wiki down").await;
    for n in 0..20 {
        store(&app, None, &format!("a note of no matter, number {n}")).await;
    }
    let request = AssociateRequest { ids: vec![start.clone()], depth: Some(1), ..AssociateRequest::default() };
    let reply = app.service.associate(&curator(), request).await.expect("an answer");
    let found =
        |id: &str| reply.items.iter().find(|found| found.item.id == id).unwrap_or_else(|| panic!("{id}: {reply:?}"));
    let steps = |id: &str| found(id).path.iter().map(|step| step.edge.clone()).collect::<Vec<_>>();
    assert_eq!(steps(&below), ["MENTIONS", "<BROADER", "<MENTIONS"]);
    assert_eq!(steps(&beside), ["MENTIONS", "BROADER", "<BROADER", "<MENTIONS"]);
    assert!(found(&below).item.score >= found(&beside).item.score, "one step is nearer than two");
    let narrow = AssociateRequest {
        ids: vec![start],
        edges: vec!["MENTIONS".to_owned(), "ABOUT".to_owned()],
        ..AssociateRequest::default()
    };
    let reply = app.service.associate(&curator(), narrow).await.expect("an answer");
    assert!(reply.items.iter().all(|found| found.item.id != below), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn links_tell_nobody_of_memories_they_may_not_see() {
    let app = App::start().await;
    app.service.import_ontology(&curator(), file("outages.ttl", OUTAGES)).await.expect("imported");
    store(&app, None, "a secret payment outage").await;
    let stranger = recollect::domain::Caller::operator("stranger");
    let shown = app.service.show_concept(&stranger, "http://e/payment").await.expect("terms are for everybody");
    assert_eq!(shown.memories, 0);
    let request = RecallRequest { query: "支付中断".to_owned(), ..RecallRequest::default() };
    let reply = app.service.recall(&stranger, request).await.expect("an answer");
    assert!(reply.items.is_empty(), "{reply:?}");
    assert_eq!(app.service.show_concept(&curator(), "http://e/payment").await.expect("shown").memories, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_warn_of_a_memory_refuse_it_or_ask_a_person() {
    let rules = r#"
[[ontology.rules]]
name = "lessons name an outage"
types = ["procedure"]
concept = "http://e/outage"
action = "refuse"
[[ontology.rules]]
name = "constraints have an owner"
types = ["constraint", "preference"]
required_tags = ["owner"]
action = "warn"
[[ontology.rules]]
name = "preferences name an outage"
types = ["preference"]
concept = "http://e/outage"
action = "review"
"#;
    let app = App::start_configured(rules).await;
    app.service.import_ontology(&curator(), file("outages.ttl", OUTAGES)).await.expect("imported");
    let ask = async |kind: &str, content: &str| {
        let request =
            StoreRequest { content: content.to_owned(), r#type: Some(kind.to_owned()), ..StoreRequest::default() };
        app.service.store(&curator(), request).await.expect("an answer")
    };
    let refused = ask("procedure", "Water the plants on Friday.").await;
    assert_eq!((refused.outcome.as_str(), refused.id), ("refused", None));
    assert!(refused.reason.expect("a reason").contains("lessons name an outage"));
    assert_eq!(ask("procedure", "After webhook timeouts, restart the worker.").await.outcome, "stored");
    let warned = ask("constraint", "Never deploy on Friday.").await;
    assert_eq!(warned.outcome, "stored");
    assert!(warned.reason.expect("a reason").contains("the tag \"owner\" is missing"));
    assert_eq!(ask("fact", "Anything goes.").await.reason, None);
    assert_eq!(ask("preference", "Tell me of webhook timeouts at once.").await.outcome, "stored");
    let waits = ask("preference", "Tell me of the weather.").await;
    assert_eq!(waits.outcome, "quarantined");
    let reviewer = crate::support::desk::reviewer("rita");
    let proposal = app.service.proposal(&reviewer, &waits.review_id.expect("a proposal")).await.expect("read");
    let proposal = proposal.expect("it is there");
    let [flag] = &proposal.risk_flags[..] else { panic!("{:?}", proposal.risk_flags) };
    assert_eq!((proposal.kind.as_str(), flag.kind.as_str()), ("memory_quarantine", "broken_rule"));
    assert!(flag.detail.contains("preferences name an outage") && flag.detail.contains("owner"), "{flag:?}");
    let yes = crate::support::desk::yes(&proposal);
    assert_eq!(app.service.approve_proposal(&reviewer, yes).await.expect("decided").outcome, "approved");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_of_several_concepts_weighs_less() {
    let app = App::start().await;
    let text = concepts(&[("a", "Planet"), ("b", "Mercury"), ("c", "Mercury")]);
    app.service.import_ontology(&curator(), file("a.ttl", &text)).await.expect("imported");
    let id = store(&app, None, "Mercury is a planet").await;
    let links = links(&app, &id).await;
    let weights: Vec<(&str, f32)> = links.iter().map(|(name, _, weight)| (name.as_str(), *weight)).collect();
    assert_eq!(weights, [("a", 1.0), ("b", 0.5), ("c", 0.5)]);
}
