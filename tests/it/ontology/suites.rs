//! The suites of W3C and of the OBO community through our reader: how much passes is printed, nothing panics, and what must be
//! refused is refused, with line and column.
//!
//! Results are compared without the names of blank nodes, which are free.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use recollect::ontology::{Object, Statement};
use serde_json::Value;

use super::{data, parsed, statements};

struct Case {
    name: String,
    input: PathBuf,
    /// What relative IRIs are relative to.
    base: String,
    expected: Expected,
}

enum Expected {
    Statements(PathBuf),
    Taken,
    Refused,
}

fn unpacked() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("temporary folder");
    let tar = Command::new("tar").arg("xzf").arg(data("suites.tar.gz")).arg("-C").arg(dir.path()).status();
    assert!(tar.expect("tar runs").success());
    dir
}

/// What the cases of a suite came to: names of those that did not do as they should.
fn run(suite: &str, cases: Vec<Case>) -> Vec<String> {
    let total = cases.len();
    let (mut failed, mut placeless) = (Vec::new(), Vec::new());
    for case in cases {
        let bytes = std::fs::read(&case.input).expect("an input");
        let name = case.input.file_name().expect("a name").to_string_lossy().into_owned();
        let got = statements(&name, &bytes, Some(&case.base));
        // Whatever was read becomes terms without a panic too.
        let _ = parsed(&name, &bytes);
        let passed = match (&case.expected, &got) {
            (Expected::Taken, Ok(_)) => true,
            (Expected::Refused, Err(refused)) => {
                if refused.place.is_none() {
                    placeless.push(case.name.clone());
                }
                true
            }
            (Expected::Statements(result), Ok(got)) => {
                let bytes = std::fs::read(result).expect("a result");
                let name = result.file_name().expect("a name").to_string_lossy().into_owned();
                let wanted =
                    statements(&name, &bytes, Some(&case.base)).unwrap_or_else(|error| panic!("{name}: {error:?}"));
                nameless(got) == nameless(&wanted)
            }
            _ => false,
        };
        if !passed {
            failed.push(case.name);
        }
    }
    println!("{suite}: {} of {total} pass; not: {}", total - failed.len(), failed.join(", "));
    assert_eq!(placeless, Vec::<String>::new(), "{suite}: refused without line and column");
    failed
}

fn nameless(statements: &[Statement]) -> Vec<String> {
    let node = |node: &str| if node.starts_with("_:") { "_:".to_owned() } else { node.to_owned() };
    let mut texts: Vec<String> = statements
        .iter()
        .map(|Statement { subject, predicate, object }| {
            let object = match object {
                Object::Node(name) => node(name),
                Object::Text { text, language } => format!("{text:?}@{language}"),
            };
            format!("{} {predicate} {object}", node(subject))
        })
        .collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// The cases of a W3C manifest in Turtle.
fn of_manifest(folder: &Path, base: &str) -> Vec<Case> {
    let bytes = std::fs::read(folder.join("manifest.ttl")).expect("a manifest");
    let mut cases: BTreeMap<String, (String, Option<String>, Option<String>)> = BTreeMap::new();
    for Statement { subject, predicate, object } in statements("manifest.ttl", &bytes, Some(base)).expect("a manifest")
    {
        let Object::Node(node) = object else { continue };
        let case = cases.entry(subject).or_default();
        match predicate.rsplit(['#', '/']).next() {
            Some("type") => case.0 = node,
            Some("action") => case.1 = Some(node),
            Some("result") => case.2 = Some(node),
            _ => {}
        }
    }
    let file = |iri: &str| folder.join(iri.strip_prefix(base).expect("below the base"));
    cases
        .into_iter()
        .filter_map(|(name, (kind, action, result))| {
            let action = action?;
            let expected = match result {
                Some(result) => Expected::Statements(file(&result)),
                None if kind.contains("Negative") => Expected::Refused,
                None => Expected::Taken,
            };
            let name = name.rsplit('#').next().unwrap_or_default().to_owned();
            Some(Case { name, input: file(&action), base: action, expected })
        })
        .collect()
}

/// Literals of XML are not brought to their canonical form.
const CANONICAL: [&str; 2] = ["xml-canon-test001", "xml-canon-test002"];

#[test]
fn w3c_suites_of_the_rdf_family_pass() {
    let dir = unpacked();
    for (suite, may_fail) in [
        ("rdf-turtle", &[][..]),
        ("rdf-n-triples", &[]),
        ("rdf-n-quads", &[]),
        ("rdf-trig", &[]),
        ("rdf-xml", &CANONICAL),
    ] {
        let base = format!("https://w3c.github.io/rdf-tests/rdf/rdf11/{suite}/");
        let cases = of_manifest(&dir.path().join("suites").join(suite), &base);
        assert!(cases.len() > 60, "{suite}: {} cases", cases.len());
        let mut failed = run(suite, cases);
        failed.retain(|name| !may_fail.contains(&name.as_str()));
        assert_eq!(failed, Vec::<String>::new(), "{suite}");
    }
}

#[test]
fn json_ld_suite_passes_but_for_remote_contexts_and_older_modes() {
    let dir = unpacked();
    let folder = dir.path().join("suites/jsonld");
    let manifest = std::fs::read_to_string(folder.join("toRdf-manifest.jsonld")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    let mut cases = Vec::new();
    for case in manifest["sequence"].as_array().expect("cases") {
        let (kind, option) = (case["@type"][0].as_str().unwrap_or_default(), &case["option"]);
        // Of the 1.0 processing mode, of generalised RDF, and with a context from outside: not what is read here.
        let older = option["specVersion"] == "json-ld-1.0" || option["processingMode"] == "json-ld-1.0";
        let given = ["expandContext", "produceGeneralizedRdf", "rdfDirection", "base"]
            .iter()
            .any(|name| !option[name].is_null());
        if older || given {
            continue;
        }
        let path = |name: &str| folder.join(case[name].as_str().unwrap_or_default());
        let expected = match kind {
            "jld:NegativeEvaluationTest" => Expected::Refused,
            "jld:PositiveSyntaxTest" => Expected::Taken,
            _ => Expected::Statements(path("expect")),
        };
        let input = case["input"].as_str().expect("an input");
        if !folder.join(input).exists() {
            // The manifest names one that the suite does not have.
            continue;
        }
        cases.push(Case {
            name: case["@id"].as_str().unwrap_or_default().to_owned(),
            input: folder.join(input),
            base: format!("https://w3c.github.io/json-ld-api/tests/{input}"),
            expected,
        });
    }
    let total = cases.len();
    let failed = run("json-ld", cases);
    assert!(failed.len() * 20 < total, "{} of {total} fail", failed.len());
}

#[test]
fn obo_compliance_cases_pass() {
    let dir = unpacked();
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(dir.path().join("suites/obo")).expect("a folder") {
        let folder = entry.expect("an entry").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let meta = std::fs::read_to_string(folder.join(format!("{name}.meta.yaml"))).unwrap_or_default();
        let expected = if meta.contains("invalid: true") { Expected::Refused } else { Expected::Taken };
        cases.push(Case { input: folder.join(format!("{name}.obo")), base: "file:///".to_owned(), name, expected });
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(cases.len() > 70, "{} cases", cases.len());
    assert_eq!(run("obo", cases), Vec::<String>::new());
}
