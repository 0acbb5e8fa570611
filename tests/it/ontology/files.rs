//! Vocabularies of others have what another parser counts in them, and odd files are taken or refused as their manifest says.

use recollect::{
    domain::{LabelRole, Relation, Term, TermKind},
    ontology::Read,
};
use serde_json::Value;

use super::{data, parsed};
use crate::support::process::Home;

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

/// A file of the repository.
fn shipped(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("ontology").join(name);
    std::fs::read(path).expect("a file that is shipped")
}

#[test]
fn the_core_vocabulary_is_whole_and_says_everything_in_two_languages() {
    let core = parsed("core.ttl", &shipped("core.ttl")).expect("read");
    assert_eq!((core.skipped, core.warnings), (Vec::new(), Vec::new()));
    assert!(core.terms.len() > 40, "{} terms", core.terms.len());
    for term in &core.terms {
        for language in ["en", "zh"] {
            let preferred =
                |label: &&recollect::domain::Label| label.role == LabelRole::Preferred && label.language == language;
            assert_eq!(term.labels.iter().filter(preferred).count(), 1, "{} in {language}", term.iri);
        }
        let placed = term.linked(Relation::Broader).chain(term.linked(Relation::TopOf)).count();
        assert!(placed > 0 || term.kind == TermKind::Scheme, "{} stands nowhere", term.iri);
    }
    // Kinds and types of memories are there by the names that the interfaces have.
    let notations: Vec<&str> = core
        .terms
        .iter()
        .flat_map(|term| &term.notes)
        .filter(|note| note.property.ends_with("notation"))
        .map(|note| note.value.as_str())
        .collect();
    for name in recollect::domain::Kind::NAMES {
        assert!(notations.contains(name), "{name}");
    }
}

/// Runs an import script of the repository on the data of a home.
fn script(home: &Home, name: &str, files: &[&std::path::Path]) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("ontology/import").join(name);
    let mut run = std::process::Command::new(path);
    run.env("RECOLLECT", env!("CARGO_BIN_EXE_recollect")).args(files);
    run.arg("--config").arg(home.path().join("config.toml")).arg("--data").arg(home.data());
    let output = run.output().expect("the script runs");
    assert!(output.status.success(), "{name}: {output:?}");
}

#[test]
fn the_scripts_import_files_of_their_formats() {
    let home = Home::new();
    for (name, file, vocabulary) in
        [("skos", "yso-archaeology.ttl", "physh"), ("obo", "go-nucleus.obo", "uo"), ("owl", "prov-o.ttl", "schema.org")]
    {
        script(&home, name, &[&data(file)]);
        let versions = home.json(&["ontology", "versions"]);
        assert_eq!(versions["versions"][0]["vocabulary"], vocabulary, "{versions}");
    }
}

#[test]
fn the_table_that_is_shipped_is_read_by_its_mapping_and_its_script() {
    let home = Home::new();
    script(&home, "table", &[]);
    let shown = home.json(&["ontology", "show", "https://example.org/products/pay-hook"]);
    assert_eq!(shown["label"], "payment webhook");
    assert_eq!(shown["relations"][0]["iri"], "https://example.org/products/pay");
    assert!(
        shown["labels"]
            .as_array()
            .expect("labels")
            .iter()
            .any(|label| label["text"] == "支付回调" && label["language"] == "zh")
    );
    let by_name = home.json(&["ontology", "show", "checkout"]);
    assert_eq!(by_name["iri"], "https://example.org/products/pay");
    let old = home.json(&["ontology", "show", "https://example.org/products/pay-old"]);
    assert_eq!(old["deprecated"], true);
}

#[test]
fn the_command_line_says_where_a_file_is_wrong() {
    let home = Home::new();
    let file = home.path().join("wrong.ttl");
    std::fs::write(&file, "@prefix : <http://e/> .\n:a :b :c ;; .\n:d \"e\" .\n").expect("written");
    let run = home.run(&["ontology", "import", file.to_str().expect("UTF-8"), "--json"]);
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    let told: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    assert_eq!((&told["error"]["code"], &told["error"]["line"]), (&"BAD_USER_INPUT".into(), &3.into()), "{told}");
    assert!(told["error"]["column"].is_number() && told["error"]["message"].is_string(), "{told}");
    let fine = home.path().join("fine.ttl");
    std::fs::write(&fine, "@prefix skos: <http://www.w3.org/2004/02/skos/core#> . <http://e/a> a skos:Concept ; skos:prefLabel \"a\" . <http://e/x> skos:note \"y\" .").expect("written");
    let told = home.json(&["ontology", "import", fine.to_str().expect("UTF-8")]);
    for field in ["version", "new", "changed", "removed", "unchanged"] {
        assert!(told[field].is_number(), "{field}: {told}");
    }
    assert_eq!(told["skipped"][0]["where"], "http://e/x");
    assert!(told["skipped"][0]["why"].is_string() && told["warnings"].is_array(), "{told}");
}
