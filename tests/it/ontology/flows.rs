//! Imports through the façade: what changes, what does not, who may, and back again.

use std::collections::BTreeSet;

use recollect::{
    domain::{Caller, PrincipalKind, Right},
    error::ErrorCode,
    ontology::{ImportReply, ImportRequest},
    read::browse::PageRequest,
};

use super::data;
use crate::support::app::App;

pub fn curator() -> Caller {
    Caller::operator("curator")
}

pub fn file(name: &str, content: &str) -> ImportRequest {
    ImportRequest { name: name.to_owned(), bytes: content.as_bytes().to_vec(), ..ImportRequest::default() }
}

fn sample(name: &str) -> ImportRequest {
    let bytes = std::fs::read(data(name)).expect("a file of the tests");
    ImportRequest { name: name.to_owned(), bytes, vocabulary: Some("test".to_owned()), ..ImportRequest::default() }
}

async fn import(app: &App, request: ImportRequest) -> ImportReply {
    app.service.import_ontology(&curator(), request).await.expect("imported")
}

const TURTLE: &str = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix : <http://e/> .\n";

/// Concepts `a` to the last of `names`, each below the first.
pub fn concepts(names: &[(&str, &str)]) -> String {
    let mut text = TURTLE.to_owned();
    for (name, label) in names {
        text += &format!(":{name} a skos:Concept ; skos:prefLabel \"{label}\"@en");
        if *name != names[0].0 {
            text += &format!(" ; skos:broader :{}", names[0].0);
        }
        text += " .\n";
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_file_twice_changes_nothing_and_its_twin_neither() {
    let app = App::start().await;
    let first = import(&app, sample("yso-archaeology.ttl")).await;
    assert_eq!((first.version, first.changed, first.removed), (1, 0, 0));
    assert_eq!((first.concepts, first.broader), (130, 51));
    let stored = app.counts().await;
    let again = import(&app, sample("yso-archaeology.ttl")).await;
    let twin = import(&app, sample("yso-archaeology.rdf")).await;
    for reply in [again, twin] {
        assert_eq!((reply.version, reply.new, reply.changed, reply.removed), (1, 0, 0, 0));
        assert_eq!((reply.unchanged, &reply.graph_hash), (first.new, &first.graph_hash));
    }
    assert_eq!(app.counts().await, stored);
    assert_eq!(app.service.ontology_versions(&curator(), None, 10).await.expect("versions").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_says_and_does_not_and_large_removals_need_a_word() {
    let app = App::start().await;
    let all = [("a", "Alpha"), ("b", "Beta"), ("c", "Gamma"), ("d", "Delta")];
    let request = |names: &[(&str, &str)]| ImportRequest {
        vocabulary: Some("letters".to_owned()),
        ..file("letters.ttl", &concepts(names))
    };
    let dry = import(&app, ImportRequest { dry_run: true, ..request(&all) }).await;
    assert_eq!((dry.version, dry.new), (0, 4));
    assert_eq!(import(&app, request(&all)).await.version, 1);
    let fewer = [("a", "Alpha"), ("b", "Beth")];
    let dry = import(&app, ImportRequest { dry_run: true, ..request(&fewer) }).await;
    assert_eq!((dry.new, dry.changed, dry.removed, dry.unchanged), (0, 1, 2, 1));
    assert_eq!(dry.removals, ["http://e/c", "http://e/d"]);
    let refused = app.service.import_ontology(&curator(), request(&fewer)).await.expect_err("too much goes");
    assert_eq!(refused.code, ErrorCode::BadUserInput);
    let done = import(&app, ImportRequest { allow_removals: true, ..request(&fewer) }).await;
    assert_eq!((done.version, done.removed), (2, 2));
    let shown = app.service.show_concept(&curator(), "http://e/c").await.expect_err("gone");
    assert_eq!(shown.code, ErrorCode::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_is_exactly_the_earlier_graph() {
    let app = App::start().await;
    let letters = |names: &[(&str, &str)]| ImportRequest {
        allow_removals: true,
        vocabulary: Some("letters".to_owned()),
        ..file("letters.ttl", &concepts(names))
    };
    let export = async || app.service.export_ontology(&curator(), None, "ntriples").await.expect("exported");
    let one = import(&app, letters(&[("a", "Alpha"), ("b", "Beta"), ("c", "Gamma")])).await;
    let (first, counts) = (export().await, app.counts().await);
    import(&app, sample("skos.ttl")).await;
    import(&app, letters(&[("a", "Alpha"), ("b", "Beth"), ("d", "Delta")])).await;
    let made = app.service.rollback_ontology(&curator(), 1).await.expect("rolled back");
    assert_eq!((made.number, &made.graph_hash, &made.source_hash), (4, &one.graph_hash, &one.graph_hash));
    assert_eq!((export().await, app.counts().await), (first, counts));
    // And forth again.
    let versions = app.service.ontology_versions(&curator(), None, 10).await.expect("versions");
    let forth = app.service.rollback_ontology(&curator(), 3).await.expect("rolled back");
    assert_eq!(forth.graph_hash, versions[1].graph_hash);
    let unknown = app.service.rollback_ontology(&curator(), 99).await.expect_err("no such version");
    assert_eq!(unknown.code, ErrorCode::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_read_again_is_no_change() {
    for name in ["skos.ttl", "prov-o.ttl", "FOAF.ttl", "yso-archaeology.ttl", "go-nucleus.obo"] {
        let app = App::start().await;
        let first = import(&app, sample(name)).await;
        let turtle = app.service.export_ontology(&curator(), Some("test"), "turtle").await.expect("exported");
        let again = ImportRequest { vocabulary: Some("test".to_owned()), dry_run: true, ..file("again.ttl", &turtle) };
        let again = import(&app, again).await;
        assert_eq!((again.new, again.changed, again.removed), (0, 0, 0), "{name}");
        assert_eq!(again.unchanged, first.new, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_name_the_field_the_line_and_the_right() {
    let app = App::start().await;
    for (name, content, place, part) in [
        ("a.ttl", "@prefix : <http://e/> .\n:a :b", Some(2), ""),
        (
            "a.rdf",
            "<?xml version=\"1.0\"?>\n<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\n<rdf:li/>\n</rdf:RDF>",
            Some(3),
            "",
        ),
        (
            "a.jsonld",
            "{\n\"@context\": \"https://example.org/context.jsonld\",\n\"name\": \"x\"}",
            Some(2),
            "never fetched",
        ),
        ("a.obo", "format-version: 1.2\n\n[Term]\nid: A:1\nname: a\nname: b\n", Some(6), "name"),
        ("a.ttl", " ", Some(1), "says nothing"),
        ("a.owl", "Ontology: <http://e>\nClass: <http://e/a>", Some(1), "ROBOT"),
    ] {
        let refused = app.service.import_ontology(&curator(), file(name, content)).await.expect_err(name);
        assert_eq!((refused.code, refused.field.as_deref()), (ErrorCode::BadUserInput, Some("file")), "{refused:?}");
        assert_eq!(refused.place.map(|(line, _)| line), place, "{refused:?}");
        assert!(refused.message.contains(part), "{refused:?}");
    }
    let rights = BTreeSet::from([Right::MemoryRead, Right::MemoryWrite]);
    let agent = Caller {
        principal: "agent".to_owned(),
        kind: PrincipalKind::Agent,
        groups: BTreeSet::new(),
        rights,
        owner: None,
    };
    let refused = app.service.import_ontology(&agent, file("a.ttl", TURTLE)).await.expect_err("no right");
    assert_eq!(refused.code, ErrorCode::Forbidden);
    let refused = app.service.rollback_ontology(&agent, 1).await.expect_err("no right");
    assert_eq!(refused.code, ErrorCode::Forbidden);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_imports_at_once_one_is_refused_and_none_is_half() {
    let app = App::start().await;
    let (one, other) = (curator(), curator());
    let (first, second) = tokio::join!(
        app.service.import_ontology(&one, sample("prov-o.ttl")),
        app.service.import_ontology(&other, sample("FOAF.ttl")),
    );
    let refused = [&first, &second].into_iter().filter_map(|reply| reply.as_ref().err()).collect::<Vec<_>>();
    assert_eq!(refused.len(), 1, "{first:?} {second:?}");
    assert_eq!(refused[0].code, ErrorCode::Conflict);
    assert_eq!(app.service.ontology_versions(&one, None, 10).await.expect("versions").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tree_is_paged_and_names_are_found_in_any_language() {
    let app = App::start().await;
    import(&app, sample("yso-archaeology.ttl")).await;
    let mut seen = Vec::new();
    let mut page = PageRequest { first: Some(20), after: None };
    loop {
        let found = app.service.concept_tree(&curator(), None, None, &page).await.expect("a page");
        seen.extend(found.items.iter().map(|(_, concept)| concept.iri.clone()));
        page.after = found.items.last().map(|(cursor, _)| cursor.clone());
        if !found.more {
            break;
        }
    }
    let distinct: BTreeSet<&String> = seen.iter().collect();
    assert!(distinct.len() == seen.len() && seen.len() > 20, "{}", seen.len());
    let page = PageRequest { first: Some(5), after: None };
    let found = app.service.concept_tree(&curator(), None, Some("arkeologia"), &page).await.expect("found");
    assert!(!found.items.is_empty());
    let iri = &found.items[0].1.iri;
    let shown = app.service.show_concept(&curator(), iri).await.expect("shown");
    assert!(shown.labels.iter().any(|label| label.language == "fi") && shown.iri == *iri);
    let by_id = app.service.show_concept(&curator(), &shown.id).await.expect("shown");
    assert_eq!(by_id, shown);
}
