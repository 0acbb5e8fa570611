//! What is odd about a vocabulary: it is imported all the same, and said.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use petgraph::{algo::tarjan_scc, graph::DiGraph};

use crate::domain::{LabelRole, Relation, Term, TermKind};

/// Examples named in one warning.
const EXAMPLES: usize = 3;
/// Narrower terms of one that are worth a word.
const WIDE: usize = 200;

/// See the module.
pub(super) fn warnings(terms: &[Term], imports: &[String]) -> Vec<String> {
    let known: HashMap<&str, &Term> = terms.iter().map(|term| (term.iri.as_str(), term)).collect();
    let mut warnings: Vec<String> =
        imports.iter().map(|import| format!("imports <{import}>, which is not fetched")).collect();
    let mut say = |what: &str, examples: &[&str]| {
        if !examples.is_empty() {
            let named = examples.iter().take(EXAMPLES).map(|iri| format!("<{iri}>")).collect::<Vec<_>>().join(", ");
            let more = if examples.len() > EXAMPLES { ", …" } else { "" };
            warnings.push(format!("{} {what}: {named}{more}", examples.len()));
        }
    };
    let own: Vec<&str> =
        terms.iter().filter(|term| term.linked(Relation::Broader).any(|to| to == term.iri)).map(iri).collect();
    say("broader than themselves", &own);
    let rings = rings(terms, &known);
    say("in a ring of broader terms", &rings.iter().map(String::as_str).collect::<Vec<_>>());
    let several = terms.iter().filter(|term| term.linked(Relation::Broader).nth(1).is_some());
    say("with several broader terms", &several.map(iri).collect::<Vec<_>>());
    let mut narrower: BTreeMap<&str, usize> = BTreeMap::new();
    for term in terms {
        for to in term.linked(Relation::Broader) {
            *narrower.entry(to).or_default() += 1;
        }
    }
    let wide: Vec<&str> = narrower.iter().filter(|(_, count)| **count > WIDE).map(|(iri, _)| *iri).collect();
    say(&format!("with more than {WIDE} narrower terms"), &wide);
    let missing: BTreeSet<&str> = terms
        .iter()
        .flat_map(|term| term.linked(Relation::Broader).chain(term.linked(Relation::Related)))
        .filter(|to| !known.contains_key(to))
        .collect();
    say("named as broader or related and not described", &missing.into_iter().collect::<Vec<_>>());
    let has_top: BTreeSet<&str> = terms.iter().flat_map(|term| term.linked(Relation::TopOf)).collect();
    let topless = terms.iter().filter(|term| term.kind == TermKind::Scheme && !has_top.contains(term.iri.as_str()));
    say("schemes without a top concept", &topless.map(iri).collect::<Vec<_>>());
    let roots = terms
        .iter()
        .any(|term| term.kind.is_concept() && term.linked(Relation::Broader).all(|to| !known.contains_key(to)));
    if !roots && terms.iter().any(|term| term.kind.is_concept()) {
        warnings.push("no term is at the top: each has a broader one".to_owned());
    }
    let mut say = |what: &str, examples: Vec<&str>| {
        if let Some(first) = examples.first() {
            warnings.push(format!(
                "{} {what}: <{first}>{}",
                examples.len(),
                if examples.len() > 1 { ", …" } else { "" }
            ));
        }
    };
    say("without a label", terms.iter().filter(|term| term.labels.is_empty()).map(iri).collect());
    say("with two preferred labels in one language", terms.iter().filter(|term| doubly_named(term)).map(iri).collect());
    warnings
}

fn iri(term: &Term) -> &str {
    &term.iri
}

fn doubly_named(term: &Term) -> bool {
    let mut languages: Vec<&str> = term
        .labels
        .iter()
        .filter(|label| label.role == LabelRole::Preferred)
        .map(|label| label.language.as_str())
        .collect();
    let all = languages.len();
    languages.dedup();
    languages.len() < all
}

/// Terms that are broader than themselves over others.
fn rings(terms: &[Term], known: &HashMap<&str, &Term>) -> Vec<String> {
    let mut graph: DiGraph<&str, ()> = DiGraph::new();
    let places: HashMap<&str, _> =
        terms.iter().map(|term| (term.iri.as_str(), graph.add_node(term.iri.as_str()))).collect();
    for term in terms {
        for to in term.linked(Relation::Broader).filter(|to| known.contains_key(to)) {
            graph.add_edge(places[term.iri.as_str()], places[to], ());
        }
    }
    let mut rings: Vec<String> = tarjan_scc(&graph)
        .into_iter()
        .filter(|ring| ring.len() > 1)
        .flatten()
        .map(|place| graph[place].to_owned())
        .collect();
    rings.sort_unstable();
    rings
}
