//! What every ontology store does. It is a graph store too: concepts and their edges are where memories are linked to them.

use std::collections::BTreeSet;

use recollect::{
    domain::{
        AsOf, Direction, Edge, EdgeKind, Filter, Label, LabelRole, OntologyVersion, Op, Relation, Scope, Term,
        TermKind, TermLink, Visibility,
    },
    ports::{
        GraphStore, Neighbourhood, NeighbourhoodQuery, OntologyStore, PortErrorKind, StagedTerm, StoredTerm, Switch,
    },
};

use crate::support::{at, change, id, memory};

macro_rules! ontology_store_suite {
    ($open:path) => {
        crate::contract::suite!(
            $open,
            ontology_store,
            [
                prepared_terms_are_seen_by_nobody_until_the_switch,
                preparation_goes_on_after_a_kill_and_another_drops_it,
                switch_replaces_what_changed_and_takes_the_removed_away,
                version_prepared_before_another_is_refused,
                concepts_and_their_edges_follow_the_terms,
                removed_concept_takes_its_edges_and_links_along,
                links_go_when_the_names_of_their_concept_change,
                roll_back_makes_an_earlier_version_again,
                tree_and_search_are_paged_by_name,
                vocabularies_describe_a_term_side_by_side,
                walk_goes_over_concepts_that_are_joined
            ]
        );
    };
}
pub(crate) use ontology_store_suite;

fn all() -> Visibility {
    Visibility::system("the contract looks at everything")
}

pub fn term(name: &str, label: &str, links: &[(Relation, &str)]) -> Term {
    let links = links.iter().map(|(relation, to)| TermLink { relation: *relation, to: iri(to) }).collect();
    Term {
        iri: iri(name),
        kind: TermKind::Concept,
        label: label.to_owned(),
        labels: vec![Label { role: LabelRole::Preferred, language: "en".to_owned(), text: label.to_owned() }],
        links,
        notes: Vec::new(),
        deprecated: false,
    }
}

pub fn iri(name: &str) -> String {
    format!("http://e/{name}")
}

fn staged(terms: &[Term]) -> Vec<StagedTerm> {
    terms.iter().map(|term| StagedTerm { term: term.clone(), keys: vec![term.label.to_lowercase()] }).collect()
}

/// Puts `terms` in force as the next version of a vocabulary.
pub async fn switch<S: OntologyStore + ?Sized>(
    store: &S,
    vocabulary: &str,
    terms: &[Term],
    removed: &[&str],
) -> OntologyVersion {
    let staging = store.begin(vocabulary, "hash").await.unwrap();
    store.stage(staging.number, &staged(terms)).await.unwrap();
    let number = staging.number;
    let version = OntologyVersion {
        number,
        vocabulary: vocabulary.to_owned(),
        at: at(i64::try_from(number).unwrap()),
        ..OntologyVersion::default()
    };
    let removed = removed.iter().map(|name| iri(name)).collect();
    store.switch(&Switch { version, removed }).await.unwrap()
}

/// The edges of a concept as kinds and names, those that leave it first.
async fn edges<S: GraphStore>(store: &S, name: &str) -> BTreeSet<(EdgeKind, String, String)> {
    let names = ["a", "b", "c", "d"];
    let shown = |node| {
        let known = names.iter().find(|name| Term::concept_id(&iri(name)).0 == node);
        known.map_or_else(|| "memory".to_owned(), |name| (*name).to_owned())
    };
    let edges = store.edges_of(Term::concept_id(&iri(name)).0, 100, &all()).await.unwrap();
    edges.into_iter().map(|edge| (edge.kind, shown(edge.from), shown(edge.to))).collect()
}

/// Stores memory `n` with a link that an ontology made.
pub async fn link<S: GraphStore + ?Sized>(store: &S, n: u64, concept: &str) {
    let edge = Edge {
        from: id(n).0,
        to: Term::concept_id(&iri(concept)).0,
        kind: EdgeKind::Mentions,
        weight: 0.5,
        reason: Some(Edge::ONTOLOGY.to_owned()),
        scope: Scope::Global,
        recorded_at: at(20),
    };
    let memory = Op::PutMemory {
        expected_revision: 0,
        memory: Box::new(memory(n, &Scope::Global, "linked")),
        vectors: Vec::new(),
    };
    store.apply(&[change(n, vec![memory, Op::PutEdge(edge)])]).await.unwrap();
}

pub async fn prepared_terms_are_seen_by_nobody_until_the_switch<S: OntologyStore + GraphStore>(store: &S) {
    assert_eq!((store.current().await.unwrap(), store.versions(None, 10).await.unwrap()), (0, Vec::new()));
    let staging = store.begin("v", "hash").await.unwrap();
    assert_eq!((staging.number, staging.staged.len()), (1, 0));
    let one = term("a", "Alpha", &[]);
    store.stage(1, &staged(std::slice::from_ref(&one))).await.unwrap();
    assert_eq!(store.current().await.unwrap(), 0);
    assert!(store.terms(&[iri("a")]).await.unwrap().is_empty());
    assert!(store.children(None, None, 10).await.unwrap().is_empty());
    let made = switch(store, "v", &[], &[]).await;
    assert_eq!((made.number, store.current().await.unwrap()), (1, 1));
    let stored = StoredTerm { vocabulary: "v".to_owned(), term: one.clone() };
    assert_eq!(store.terms(&[iri("b"), iri("a")]).await.unwrap(), [stored]);
    assert_eq!(store.hashes("v").await.unwrap().into_iter().collect::<Vec<_>>(), [(iri("a"), one.hash())]);
    assert!(store.hashes("other").await.unwrap().is_empty());
    assert_eq!(store.versions(None, 10).await.unwrap(), [made]);
    assert!(store.versions(Some(1), 10).await.unwrap().is_empty());
}

pub async fn preparation_goes_on_after_a_kill_and_another_drops_it<S: OntologyStore + GraphStore>(store: &S) {
    let one = term("a", "Alpha", &[]);
    let first = store.begin("v", "hash").await.unwrap();
    store.stage(first.number, &staged(std::slice::from_ref(&one))).await.unwrap();
    let again = store.begin("v", "hash").await.unwrap();
    assert_eq!(again.number, first.number);
    assert_eq!(again.staged.into_iter().collect::<Vec<_>>(), [(iri("a"), one.hash())]);
    let other = store.begin("v", "another hash").await.unwrap();
    assert!(other.staged.is_empty());
    assert!(store.begin("v", "hash").await.unwrap().staged.is_empty());
}

pub async fn switch_replaces_what_changed_and_takes_the_removed_away<S: OntologyStore + GraphStore>(store: &S) {
    let first =
        switch(store, "v", &[term("a", "Alpha", &[]), term("b", "Beta", &[]), term("c", "Gamma", &[])], &[]).await;
    let second = switch(store, "v", &[term("b", "Beth", &[])], &["c"]).await;
    assert_eq!((second.number, store.current().await.unwrap()), (2, 2));
    assert_ne!(first.graph_hash, second.graph_hash);
    let page = store.list_terms(None, None, 10).await.unwrap();
    let labels: Vec<&str> = page.iter().map(|stored| stored.term.label.as_str()).collect();
    assert_eq!(labels, ["Alpha", "Beth"]);
    assert_eq!(store.vocabularies().await.unwrap(), [("v".to_owned(), 2)]);
    let rest = store.list_terms(Some("v"), Some(("v", &iri("a"))), 10).await.unwrap();
    assert_eq!(rest.len(), 1);
}

pub async fn version_prepared_before_another_is_refused<S: OntologyStore + GraphStore>(store: &S) {
    let late = store.begin("v", "hash").await.unwrap();
    switch(store, "other", &[term("a", "Alpha", &[])], &[]).await;
    let refused = store.stage(late.number, &staged(&[term("b", "Beta", &[])])).await.unwrap_err();
    assert_eq!(refused.kind, PortErrorKind::Conflict);
    let version = OntologyVersion { number: late.number, vocabulary: "v".to_owned(), ..OntologyVersion::default() };
    let refused = store.switch(&Switch { version, removed: Vec::new() }).await.unwrap_err();
    assert_eq!(refused.kind, PortErrorKind::Conflict);
    assert_eq!(store.current().await.unwrap(), 1);
}

pub async fn concepts_and_their_edges_follow_the_terms<S: OntologyStore + GraphStore>(store: &S) {
    let broader = |name| (Relation::Broader, name);
    let terms = [
        term("a", "Alpha", &[broader("a"), (Relation::InScheme, "scheme")]),
        term("b", "Beta", &[broader("a"), broader("d"), (Relation::Related, "c")]),
        term("c", "Gamma", &[]),
        Term { kind: TermKind::ObjectProperty, ..term("p", "property", &[]) },
    ];
    switch(store, "v", &terms, &[]).await;
    let own = |kind, from: &str, to: &str| (kind, from.to_owned(), to.to_owned());
    let expected = BTreeSet::from([own(EdgeKind::Broader, "b", "a"), own(EdgeKind::Related, "b", "c")]);
    assert_eq!(edges(store, "b").await, expected, "not to itself, not to what is not there");
    assert_eq!(edges(store, "a").await, BTreeSet::from([own(EdgeKind::Broader, "b", "a")]));
    // What was missing comes, in another vocabulary.
    switch(store, "other", &[term("d", "Delta", &[])], &[]).await;
    assert!(edges(store, "b").await.contains(&own(EdgeKind::Broader, "b", "d")));
    // And what is no longer said goes.
    switch(store, "v", &[term("b", "Beta", &[broader("a")])], &[]).await;
    assert_eq!(edges(store, "b").await, BTreeSet::from([own(EdgeKind::Broader, "b", "a")]));
    assert!(store.half_links(false).await.unwrap() == 0);
}

pub async fn removed_concept_takes_its_edges_and_links_along<S: OntologyStore + GraphStore>(store: &S) {
    switch(store, "v", &[term("a", "Alpha", &[]), term("b", "Beta", &[(Relation::Broader, "a")])], &[]).await;
    link(store, 1, "a").await;
    assert_eq!(edges(store, "a").await.len(), 2);
    switch(store, "v", &[], &["a"]).await;
    assert!(edges(store, "a").await.is_empty() && edges(store, "b").await.is_empty());
    assert_eq!(store.half_links(false).await.unwrap(), 0);
    assert_eq!(store.page(None, 10, &all()).await.unwrap().len(), 1, "the memory stays");
}

pub async fn links_go_when_the_names_of_their_concept_change<S: OntologyStore + GraphStore>(store: &S) {
    let (a, b) = (term("a", "Alpha", &[]), term("b", "Beta", &[]));
    switch(store, "v", &[a.clone(), b.clone()], &[]).await;
    link(store, 1, "a").await;
    link(store, 2, "b").await;
    // A word on `a` that is no name leaves its links, a new name of `b` does not.
    let noted = Term { links: vec![TermLink { relation: Relation::InScheme, to: iri("scheme") }], ..a };
    switch(store, "v", &[noted, Term { labels: Vec::new(), label: "Beth".to_owned(), ..b }], &[]).await;
    assert_eq!(edges(store, "a").await.len(), 1);
    assert!(edges(store, "b").await.is_empty());
}

pub async fn roll_back_makes_an_earlier_version_again<S: OntologyStore + GraphStore>(store: &S) {
    let first =
        switch(store, "v", &[term("a", "Alpha", &[]), term("b", "Beta", &[(Relation::Broader, "a")])], &[]).await;
    let before = store.list_terms(None, None, 10).await.unwrap();
    switch(store, "v", &[term("b", "Beth", &[]), term("c", "Gamma", &[])], &["a"]).await;
    switch(store, "other", &[term("d", "Delta", &[])], &[]).await;
    let asked = OntologyVersion { actor: "ann".to_owned(), at: at(9), ..OntologyVersion::default() };
    assert_eq!(store.roll_back(9, &asked).await.unwrap(), None);
    let made = store.roll_back(1, &asked).await.unwrap().unwrap();
    assert_eq!((made.number, &made.graph_hash, &made.actor), (4, &first.graph_hash, &asked.actor));
    assert_eq!((made.new, made.changed, made.removed), (1, 1, 2));
    assert_eq!(store.list_terms(None, None, 10).await.unwrap(), before);
    assert_eq!(edges(store, "b").await.len(), 1);
    // A rollback is a version like any other.
    let third = store.roll_back(3, &asked).await.unwrap().unwrap();
    assert_eq!(store.versions(None, 3).await.unwrap()[2].graph_hash, third.graph_hash);
    assert_eq!(store.roll_back(4, &asked).await.unwrap().unwrap().graph_hash, first.graph_hash);
}

pub async fn tree_and_search_are_paged_by_name<S: OntologyStore + GraphStore>(store: &S) {
    let below = |name: &str, label: &str| term(name, label, &[(Relation::Broader, "a")]);
    let terms = [term("a", "Alpha", &[]), below("b", "same"), below("c", "same"), below("d", "Else")];
    switch(store, "v", &terms, &[]).await;
    let top = store.children(None, None, 10).await.unwrap();
    assert_eq!(top.iter().map(|entry| (entry.iri.as_str(), entry.narrower)).collect::<Vec<_>>(), [("http://e/a", 3)]);
    let top = iri("a");
    let mut seen = Vec::new();
    let mut after: Option<(String, String)> = None;
    loop {
        let from = after.as_ref().map(|(label, iri)| (label.as_str(), iri.as_str()));
        let page = store.children(Some(&top), from, 1).await.unwrap();
        let Some(entry) = page.into_iter().next() else { break };
        after = Some((entry.label.clone(), entry.iri.clone()));
        seen.push(entry.iri);
    }
    assert_eq!(seen, [iri("d"), iri("b"), iri("c")]);
    let found = async |part: &str| {
        let found = store.search(part, None, 10).await.unwrap();
        found.into_iter().map(|entry| entry.iri).collect::<Vec<_>>()
    };
    assert_eq!(found("am").await, [iri("b"), iri("c")]);
    assert_eq!(found("nothing").await, Vec::<String>::new());
    assert!(store.children(Some("http://e/unknown"), None, 10).await.unwrap().is_empty());
}

pub async fn vocabularies_describe_a_term_side_by_side<S: OntologyStore + GraphStore>(store: &S) {
    switch(store, "v", &[term("a", "Alpha", &[])], &[]).await;
    switch(store, "w", &[term("a", "Aleph", &[(Relation::Broader, "b")]), term("b", "Beta", &[])], &[]).await;
    let found = store.terms(&[iri("a")]).await.unwrap();
    assert_eq!(found.iter().map(|stored| stored.vocabulary.as_str()).collect::<Vec<_>>(), ["v", "w"]);
    let both = store.search("al", None, 10).await.unwrap();
    assert_eq!(both.iter().map(|entry| entry.label.as_str()).collect::<Vec<_>>(), ["Alpha"], "named by the first");
    assert_eq!(edges(store, "a").await.len(), 1);
    switch(store, "w", &[], &["a"]).await;
    assert!(edges(store, "a").await.is_empty());
    assert_eq!(store.terms(&[iri("a")]).await.unwrap().len(), 1);
}

/// Over two edges: to the narrower one, and over a concept that nobody names to the one beside.
pub async fn walk_goes_over_concepts_that_are_joined<S: OntologyStore + GraphStore>(store: &S) {
    let broader = |name| (Relation::Broader, name);
    let terms = [
        term("a", "Alpha", &[]),
        term("b", "Beta", &[broader("a")]),
        term("c", "Gamma", &[broader("a"), broader("d")]),
        term("d", "Delta", &[(Relation::Related, "b")]),
    ];
    switch(store, "v", &terms, &[]).await;
    for (n, concept) in [(1, "b"), (2, "c"), (3, "d")] {
        link(store, n, concept).await;
    }
    let walk = async |edges: &[EdgeKind], known| {
        let query = NeighbourhoodQuery {
            seeds: vec![id(1)],
            depth: 1,
            max_nodes: 100,
            edges: edges.to_vec(),
            direction: Direction::Both,
            max_concept_uses: 100,
            filter: Filter { as_of: AsOf { world: None, known }, ..Filter::default() },
        };
        store.neighbourhood(&query, &all()).await.unwrap()
    };
    let reached = |walk: &Neighbourhood| walk.nodes.iter().map(|node| node.id).collect::<BTreeSet<_>>();
    let iris =
        |walk: &Neighbourhood| walk.concepts.iter().map(|used| used.concept.key.0.clone()).collect::<BTreeSet<_>>();
    // The last is a moment to look back to.
    for known in [None, Some(at(30))] {
        let both = walk(&[EdgeKind::Mentions, EdgeKind::Broader, EdgeKind::Related], known).await;
        assert_eq!(reached(&both), BTreeSet::from([id(1), id(2), id(3)]));
        assert_eq!(iris(&both), ["a", "b", "c", "d"].map(iri).into());
        assert_eq!(both.edges.iter().filter(|edge| edge.kind.between_concepts()).count(), 4);
        assert_eq!(both.concepts.iter().map(|used| used.uses).sum::<usize>(), 3, "nobody names the broadest");
        let related = walk(&[EdgeKind::Mentions, EdgeKind::Related], known).await;
        assert_eq!(reached(&related), BTreeSet::from([id(1), id(3)]));
        assert_eq!(reached(&walk(&[EdgeKind::Mentions], known).await), BTreeSet::from([id(1)]));
    }
}
