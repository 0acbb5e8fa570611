//! Vocabularies of others have what another parser counts in them, and odd files are taken or refused as their manifest says.

use recollect::{
    domain::{LabelRole, Relation, Term, TermKind},
    ontology::Read,
};
use serde_json::Value;

use super::{data, parsed};

fn read(name: &str) -> Read {
    let bytes = std::fs::read(data(name)).expect("a file of the tests");
    parsed(name, &bytes).unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

fn kinds(read: &Read, kind: TermKind) -> usize {
    read.counts.kinds.get(&kind).copied().unwrap_or(0)
}

fn term<'a>(read: &'a Read, iri: &str) -> &'a Term {
    read.terms.iter().find(|term| term.iri == iri).unwrap_or_else(|| panic!("no {iri}"))
}

#[test]
fn the_counts_are_those_of_another_parser() {
    for (name, statements) in [
        ("prov-o.ttl", 1146),
        ("FOAF.ttl", 631),
        ("dcterms.ttl", 310),
        ("skos.ttl", 149),
        ("yso-archaeology.ttl", 1228),
    ] {
        assert_eq!(read(name).counts.statements, statements, "{name}");
    }
    let prov = read("prov-o.ttl");
    assert_eq!(kinds(&prov, TermKind::Class), 31);
    let yso = read("yso-archaeology.ttl");
    let counted = |relation| yso.counts.relations.get(&relation).copied();
    assert_eq!(kinds(&yso, TermKind::Concept), 130);
    assert_eq!((counted(Relation::Broader), counted(Relation::Related)), (Some(51), Some(112)));
    assert_eq!(kinds(&read("go-nucleus.obo"), TermKind::Class), 176);
}

#[test]
fn turtle_and_rdf_xml_of_the_same_vocabulary_are_the_same_terms() {
    let (turtle, xml) = (read("yso-archaeology.ttl"), read("yso-archaeology.rdf"));
    assert_eq!(turtle, xml);
}

#[test]
fn obo_terms_have_their_names_synonyms_and_parents() {
    let go = read("go-nucleus.obo");
    let nucleus = term(&go, "http://purl.obolibrary.org/obo/GO_0005634");
    assert_eq!((nucleus.label.as_str(), nucleus.kind), ("nucleus", TermKind::Class));
    assert!(nucleus.labels.iter().any(|label| label.role == LabelRole::Alternative && label.text == "cell nucleus"));
    assert_eq!(nucleus.linked(Relation::Broader).count(), 1);
    assert!(nucleus.notes.iter().any(|note| note.property.ends_with("IAO_0000115")), "its definition");
}

#[test]
fn odd_files_are_taken_or_refused_as_their_manifest_says() {
    let manifest = std::fs::read_to_string(data("odd/manifest.jsonl")).expect("the manifest");
    let mut seen = 0;
    for line in manifest.lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let name = case["file"].as_str().expect("a name");
        let bytes = std::fs::read(data("odd").join(name)).expect("the file");
        let outcome = parsed(name, &bytes);
        match case["expect"].as_str() {
            Some("import") => assert!(outcome.is_ok_and(|read| !read.terms.is_empty()), "{name}"),
            Some("reject") => {
                let refused = outcome.expect_err(name);
                assert!(refused.place.is_some(), "{name}: {refused:?}");
            }
            Some("either") => {
                if let Err(refused) = outcome {
                    assert!(refused.place.is_some() && !refused.what.is_empty(), "{name}: {refused:?}");
                }
            }
            other => panic!("{name}: {other:?}"),
        }
        seen += 1;
    }
    assert_eq!(seen, 10);
}

#[test]
fn what_is_odd_is_said() {
    let said = |name: &str| {
        let name = format!("odd/{name}");
        read(&name).warnings.join("\n")
    };
    let ring = said("cycle-no-top.ttl");
    assert!(ring.contains("3 in a ring") && ring.contains("no term is at the top"), "{ring}");
    assert!(said("self-broader.ttl").contains("1 broader than themselves"));
    assert!(said("dangling.obo").contains("not described"));
    let imports = parsed(
        "a.ttl",
        b"@prefix owl: <http://www.w3.org/2002/07/owl#> . <http://e/o> a owl:Ontology ; owl:imports <http://e/other> .",
    );
    assert!(imports.expect("read").warnings.join("").contains("<http://e/other>, which is not fetched"));
}

#[test]
fn restrictions_and_lists_are_kept_as_text_and_links() {
    let text = br#"@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xl: <http://www.w3.org/2008/05/skos-xl#> .
        @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
        :Pizza a owl:Class . :Cheese a owl:Class ; rdfs:label "Cheese"@en .
        :Margherita a owl:Class ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :hasTopping ; owl:someValuesFrom :Cheese ] ;
            owl:equivalentClass [ owl:intersectionOf ( :Pizza [ owl:onProperty :hasTopping ; owl:allValuesFrom :Cheese ] ) ] .
        :c a skos:Concept ; xl:prefLabel [ a xl:Label ; xl:literalForm "Kaese"@de ] .
        [] a owl:Class ; rdfs:label "nameless" ."#;
    let read = parsed("a.ttl", text).expect("read");
    let margherita = term(&read, "http://e/Margherita");
    assert_eq!(margherita.linked(Relation::Restricted).collect::<Vec<_>>(), ["http://e/Cheese"]);
    assert_eq!(margherita.linked(Relation::Broader).collect::<Vec<_>>(), ["http://e/Pizza"]);
    let notes: Vec<&str> = margherita.notes.iter().map(|note| note.value.as_str()).collect();
    assert_eq!(
        notes,
        [
            "<http://e/hasTopping> some <http://e/Cheese>",
            "(<http://e/Pizza> and <http://e/hasTopping> only <http://e/Cheese>)"
        ]
    );
    assert_eq!(term(&read, "http://e/c").labels[0].text, "Kaese");
    let nameless = read.terms.iter().find(|term| term.label == "nameless").expect("a term");
    assert!(nameless.iri.starts_with("urn:recollect:blank:"));
    assert_eq!(parsed("a.ttl", text).expect("read"), read, "the same each time");
}

#[test]
fn tables_are_read_by_their_mapping_and_refused_by_line() {
    let plain = parsed("t.csv", b"id,label,broader\na,Ape,m\nm,Mammal,\n").expect("read");
    assert_eq!(
        term(&plain, "urn:recollect:table:a").linked(Relation::Broader).collect::<Vec<_>>(),
        ["urn:recollect:table:m"]
    );
    for (text, line, part) in [
        (&b"name\nx\n"[..], 1, "no column \"id\""),
        (b"id,label\na,b,c\n", 2, "field"),
        (b"id,label\na,b\n,c\n", 3, "empty"),
    ] {
        let refused = parsed("t.csv", text).expect_err("refused");
        assert!(refused.what.contains(part), "{refused:?}");
        assert_eq!(refused.place.expect("a place").line, line, "{refused:?}");
    }
}
