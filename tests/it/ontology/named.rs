//! Terms in a Neo4j server, under the names of neosemantics: what `ontology/README.md` shows runs as written.

use std::collections::{BTreeMap, BTreeSet};

use neo4rs::{Graph, query};

use super::parsed;
use crate::contract::{
    neo4j,
    ontology_store::{link, switch},
};

const BOATS: &str = r#"@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
:boat a owl:Class ; skos:prefLabel "boat"@en, "船"@zh ; skos:altLabel "舟"@zh .
:ferry a owl:Class ; rdfs:label "ferry"@en ; rdfs:subClassOf :boat .
:night a skos:Concept ; skos:prefLabel "night ferry"@en ; skos:broader :ferry ; skos:exactMatch :elsewhere .
:harbour a owl:Class ; rdfs:label "harbour"@en .
:calls a owl:ObjectProperty ; rdfs:label "calls at"@en ; rdfs:domain :boat ; rdfs:range :harbour .
:docks a owl:ObjectProperty ; rdfs:label "docks at"@en ; rdfs:subPropertyOf :calls .
:length a owl:DatatypeProperty ; rdfs:label "length"@en ; rdfs:domain :boat .
"#;

/// The statements of the page.
fn samples() -> Vec<String> {
    let page = include_str!("../../../ontology/README.md");
    let block = page.split_once("```cypher\n").expect("a block").1.split("```").next().expect("its end");
    block.split(';').map(str::to_owned).collect()
}

/// What a statement gives for an IRI: each row as names and values.
async fn ask(graph: &Graph, statement: &str, iri: &str) -> BTreeSet<BTreeMap<String, Option<String>>> {
    let mut stream = graph.execute(query(statement).param("iri", iri)).await.unwrap();
    let mut rows = BTreeSet::new();
    while let Some(row) = stream.next().await.unwrap() {
        rows.insert(row.to().unwrap());
    }
    rows
}

fn rows(expected: &[&[(&str, &str)]]) -> BTreeSet<BTreeMap<String, Option<String>>> {
    let value = |value: &str| (!value.is_empty()).then(|| value.to_owned());
    expected.iter().map(|row| row.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect()).collect()
}

#[tokio::test]
async fn statements_of_the_page_run_as_written() {
    let Some((store, _turn)) = neo4j::open().await else { return };
    switch(&store, "boats", &parsed("boats.ttl", BOATS.as_bytes()).unwrap().terms, &[]).await;
    link(&store, 1, "night").await;
    let graph = Graph::new(neo4j::server().unwrap(), "neo4j", "").unwrap();
    let samples = samples();
    let below = rows(&[
        &[("uri", "http://e/ferry"), ("label", "ferry")],
        &[("uri", "http://e/night"), ("label", "night ferry")],
    ]);
    assert_eq!(ask(&graph, &samples[0], "http://e/boat").await, below);
    let memory = crate::support::id(1).to_string();
    assert_eq!(ask(&graph, &samples[1], "http://e/boat").await, rows(&[&[("id", &memory), ("summary", "linked")]]));
    assert_eq!(ask(&graph, &samples[2], "http://e/boat").await, rows(&[&[("name", "船")], &[("name", "舟")]]));
    let properties = rows(&[&[("property", "calls"), ("range", "harbour")], &[("property", "length"), ("range", "")]]);
    assert_eq!(ask(&graph, &samples[3], "http://e/boat").await, properties);
    assert_eq!(samples.len(), 4);
}

#[tokio::test]
async fn resources_have_the_labels_and_types_of_neosemantics() {
    let Some((store, _turn)) = neo4j::open().await else { return };
    let terms = parsed("boats.ttl", BOATS.as_bytes()).unwrap().terms;
    switch(&store, "boats", &terms, &[]).await;
    let graph = Graph::new(neo4j::server().unwrap(), "neo4j", "").unwrap();
    let shape = "MATCH (r:Resource) WITH r, [l IN labels(r) WHERE l <> 'Resource'] AS labels
        UNWIND CASE labels WHEN [] THEN ['-'] ELSE labels END AS label WITH r, label ORDER BY label
        WITH r, collect(label) AS labels
        OPTIONAL MATCH (r)-[e]->(other:Resource) WHERE NOT type(e) IN ['BROADER', 'RELATED']
        RETURN r.name AS name, reduce(all = '', l IN labels | all + l + ' ') AS labels, type(e) AS edge, other.name AS to";
    let row = |name, labels, edge, to| [("name", name), ("labels", labels), ("edge", edge), ("to", to)];
    let expected = [
        row("boat", "Class Concept ", "", ""),
        row("ferry", "Class Concept ", "SCO", "boat"),
        row("night", "Class Concept ", "SCO", "ferry"),
        row("night", "Class Concept ", "exactMatch", "elsewhere"),
        row("elsewhere", "- ", "", ""),
        row("harbour", "Class Concept ", "", ""),
        row("calls", "Relationship ", "DOMAIN", "boat"),
        row("calls", "Relationship ", "RANGE", "harbour"),
        row("docks", "Relationship ", "SPO", "calls"),
        row("length", "Property ", "DOMAIN", "boat"),
    ];
    assert_eq!(ask(&graph, shape, "").await, rows(&expected.each_ref().map(|row| row.as_slice())));
    // What nothing describes and nothing names any longer leaves nothing behind.
    let gone: Vec<&str> = terms.iter().map(|term| term.iri.trim_start_matches("http://e/")).collect();
    switch(&store, "boats", &[], &gone).await;
    assert!(ask(&graph, "MATCH (r) WHERE r:Resource OR r:Concept RETURN r.uri AS uri", "").await.is_empty());
}
