//! Terms in force as nodes, under the names that neosemantics gives them, and the concepts and concept edges that memories
//! are linked over. One node is both: what the terms with its IRI say, and what memories mention.
//!
//! To add a relation: an arm in [`relationship`], a line in `ontology/put_relations.cypher`, its name in `drop_relations` and,
//! if memories are reached over it, in `join_concepts`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use neo4rs::BoltType;
use serde::Deserialize;

use super::{
    connection::Transaction,
    error::Neo4jError,
    ontology::parsed,
    rows::{SEPARATOR, list, map, texts, time},
    statements,
};
use crate::domain::{ConceptOrigin, Edge, LabelRole, Relation, Scope, Term, TermKind};

/// Terms that one statement takes.
pub(super) const AT_ONCE: usize = 1000;

/// Brings resources, concepts, their links and the edges between them to what the terms of these IRIs say now.
pub(super) async fn follow(transaction: &mut Transaction, touched: &[String], at: Timestamp) -> Result<(), Neo4jError> {
    let mut loose: BTreeSet<String> = BTreeSet::new();
    for iris in touched.chunks(AT_ONCE) {
        let resources = described(transaction, iris).await?;
        let_go(transaction, &resources, at).await?;
        loose.extend(put(transaction, &resources).await?);
        loose.extend(resources.into_iter().filter(Resource::is_bare).map(|resource| resource.iri));
    }
    let edge =
        map([("visibility", Scope::Global.key().into()), ("reason", Edge::ONTOLOGY.into()), ("recorded_at", time(at))]);
    for iris in touched.chunks(AT_ONCE) {
        let query = statements::JOIN_CONCEPTS.batch([
            ("iris", texts(iris.iter().cloned())),
            ("carries", carries()),
            ("properties", edge.clone()),
        ]);
        transaction.run(query).await?;
    }
    let loose: Vec<String> = loose.into_iter().collect();
    for iris in loose.chunks(AT_ONCE) {
        transaction.run(statements::REMOVE_RESOURCES.batch([("iris", texts(iris.iter().cloned()))])).await?;
    }
    Ok(())
}

/// Takes from the concepts there are what no longer holds: from one that goes everything, from one whose names change the links
/// that ontologies made, from each the edges that leave it.
async fn let_go(transaction: &mut Transaction, resources: &[Resource], at: Timestamp) -> Result<(), Neo4jError> {
    #[derive(Deserialize)]
    struct There {
        iri: String,
        keys: BTreeSet<String>,
    }
    let iris = texts(resources.iter().map(|resource| resource.iri.as_str()));
    let there: Vec<There> = transaction.rows(statements::CONCEPT_KEYS.batch([("iris", iris)])).await?;
    // Most imports bring what was not there, and even a statement that finds nothing to do is planned first.
    if there.is_empty() {
        return Ok(());
    }
    let concepts: BTreeMap<&str, &BTreeSet<String>> =
        resources.iter().filter_map(|resource| Some((resource.iri.as_str(), resource.concept.as_ref()?))).collect();
    let (mut gone, mut renamed) = (Vec::new(), Vec::new());
    for There { iri, keys } in &there {
        match concepts.get(iri.as_str()) {
            None => gone.push(iri.as_str()),
            Some(now) if *now != keys => renamed.push(iri.as_str()),
            Some(_) => {}
        }
    }
    if !gone.is_empty() {
        transaction.run(statements::LET_GO.batch([("iris", texts(gone))])).await?;
    }
    if !renamed.is_empty() {
        let separator = SEPARATOR.to_string().into();
        let renamed = [("iris", texts(renamed)), ("at", time(at)), ("separator", separator)];
        transaction.run(statements::END_LINKS.batch(renamed)).await?;
    }
    let there = texts(there.into_iter().map(|there| there.iri));
    transaction.run(statements::PART_CONCEPTS.batch([("iris", there)])).await
}

/// Makes the nodes of terms whose concepts and concept edges are there already.
pub(super) async fn show(transaction: &mut Transaction, iris: &[String]) -> Result<(), Neo4jError> {
    let resources = described(transaction, iris).await?;
    put(transaction, &resources).await.map(|_| ())
}

/// What the terms in force say of each of these IRIs.
async fn described(transaction: &mut Transaction, iris: &[String]) -> Result<Vec<Resource>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        body: String,
        keys: Vec<String>,
    }
    let rows: Vec<Row> = transaction.rows(statements::TERMS.batch([("iris", texts(iris.iter().cloned()))])).await?;
    let mut terms: BTreeMap<String, Vec<(Term, Vec<String>)>> = BTreeMap::new();
    for row in rows {
        let term: Term = parsed(&row.body)?;
        terms.entry(term.iri.clone()).or_default().push((term, row.keys));
    }
    Ok(iris.iter().map(|iri| Resource::of(iri, &terms.remove(iri).unwrap_or_default())).collect())
}

/// Writes resources and what leaves them; gives the IRIs of what nothing may lead to any longer.
async fn put(transaction: &mut Transaction, resources: &[Resource]) -> Result<Vec<String>, Neo4jError> {
    #[derive(Deserialize)]
    struct Loose {
        uri: String,
    }
    let rows = resources.iter().map(|resource| {
        map([
            ("uri", resource.iri.as_str().into()),
            ("labels", texts(resource.labels.iter().copied())),
            ("properties", map(resource.properties.clone())),
        ])
    });
    transaction.run(statements::PUT_RESOURCES.batch([("resources", list(rows))])).await?;
    let iris = texts(resources.iter().map(|resource| resource.iri.as_str()));
    let loose: Vec<Loose> = transaction.rows(statements::DROP_RELATIONS.batch([("iris", iris)])).await?;
    let relations: Vec<BoltType> = resources
        .iter()
        .flat_map(|resource| resource.relations.iter().map(|(name, to)| relation_row(&resource.iri, name, to)))
        .collect();
    for relations in relations.chunks(AT_ONCE) {
        let rows = list(relations.iter().cloned());
        transaction.run(statements::PUT_RELATIONS.batch([("relations", rows)])).await?;
    }
    Ok(loose.into_iter().map(|loose| loose.uri).collect())
}

fn relation_row(from: &str, name: &'static str, to: &str) -> BoltType {
    map([("from", from.into()), ("type", name.into()), ("to", to.into()), ("name", local_name(to).into())])
}

/// A node, as the terms with its IRI describe it.
struct Resource {
    iri: String,
    labels: BTreeSet<&'static str>,
    properties: Vec<(&'static str, BoltType)>,
    /// The keys of its names, if memories are linked to it.
    concept: Option<BTreeSet<String>>,
    /// Type and other end of what leaves it.
    relations: BTreeSet<(&'static str, String)>,
}

impl Resource {
    /// Of terms of different vocabularies, the first of which gives it its label: the first that is a concept, if one is.
    fn of(iri: &str, terms: &[(Term, Vec<String>)]) -> Self {
        let mut resource = Self {
            iri: iri.to_owned(),
            labels: BTreeSet::new(),
            properties: vec![("uri", iri.into()), ("name", local_name(iri).into())],
            concept: None,
            relations: BTreeSet::new(),
        };
        let concept = terms.iter().find(|(term, _)| term.kind.is_concept());
        let Some((first, _)) = concept.or(terms.first()) else { return resource };
        for (term, keys) in terms {
            resource.labels.insert(label(term.kind));
            if term.kind.is_concept() {
                resource.labels.insert("Concept");
                resource.concept.get_or_insert_default().extend(keys.iter().cloned());
            }
            let links = term.links.iter().filter(|link| link.to != iri);
            resource.relations.extend(links.map(|link| (relationship(term.kind, link.relation), link.to.clone())));
        }
        for role in LabelRole::ALL {
            let names: BTreeSet<String> = terms
                .iter()
                .flat_map(|(term, _)| &term.labels)
                .filter(|label| label.role == *role)
                .map(|label| match label.language.as_str() {
                    "" => label.text.clone(),
                    language => format!("{}@{language}", label.text),
                })
                .collect();
            if !names.is_empty() {
                resource.properties.push((labels_property(*role), texts(names)));
            }
        }
        resource.properties.push(("label", first.label.as_str().into()));
        if terms.iter().any(|(term, _)| term.deprecated) {
            resource.properties.push(("deprecated", true.into()));
        }
        if let Some(keys) = &resource.concept {
            resource.properties.extend([
                ("id", Term::concept_id(iri).0.to_string().into()),
                ("key", iri.into()),
                ("origin", ConceptOrigin::Ontology.name().into()),
                ("keys", texts(keys.iter().cloned())),
            ]);
        }
        resource
    }

    /// Whether no term describes it.
    fn is_bare(&self) -> bool {
        self.labels.is_empty()
    }
}

fn label(kind: TermKind) -> &'static str {
    match kind {
        TermKind::Concept | TermKind::Class => "Class",
        TermKind::Individual => "NamedIndividual",
        TermKind::Scheme => "ConceptScheme",
        TermKind::Collection => "Collection",
        TermKind::ObjectProperty => "Relationship",
        TermKind::DataProperty | TermKind::AnnotationProperty | TermKind::Property => "Property",
    }
}

fn labels_property(role: LabelRole) -> &'static str {
    match role {
        LabelRole::Preferred => "prefLabel",
        LabelRole::Alternative => "altLabel",
        LabelRole::Hidden => "hiddenLabel",
    }
}

/// The type of the relationship that a relation of a term of this kind is.
fn relationship(kind: TermKind, relation: Relation) -> &'static str {
    let of = |property, other| if kind.is_property() { property } else { other };
    match relation {
        Relation::Broader => of("SPO", "SCO"),
        Relation::Domain => "DOMAIN",
        Relation::Range => "RANGE",
        Relation::Restricted => "SCO_RESTRICTION",
        Relation::Related => "related",
        Relation::InstanceOf => "type",
        Relation::ExactMatch => "exactMatch",
        Relation::CloseMatch => "closeMatch",
        Relation::BroadMatch => "broadMatch",
        Relation::NarrowMatch => "narrowMatch",
        Relation::RelatedMatch => "relatedMatch",
        Relation::Equivalent => of("equivalentProperty", "equivalentClass"),
        Relation::Disjoint => of("propertyDisjointWith", "disjointWith"),
        Relation::InScheme => "inScheme",
        Relation::TopOf => "topConceptOf",
        Relation::Member => "member",
        Relation::Inverse => "inverseOf",
        Relation::ReplacedBy => "isReplacedBy",
    }
}

/// Types of relationships of each relation.
fn relationships() -> impl Iterator<Item = (Relation, &'static str)> {
    let kinds = [TermKind::Class, TermKind::ObjectProperty];
    Relation::ALL.iter().flat_map(move |relation| kinds.map(|kind| (*relation, relationship(kind, *relation))))
}

/// The edge between concepts that each type of relationship comes to.
fn carries() -> BoltType {
    map(relationships().filter_map(|(relation, name)| {
        let (kind, weight) = relation.edge()?;
        Some((name, map([("kind", kind.name().into()), ("weight", f64::from(weight).into())])))
    }))
}

/// The end of an IRI, after its namespace.
fn local_name(iri: &str) -> &str {
    iri.rsplit(['#', '/', ':']).find(|part| !part.is_empty()).unwrap_or(iri)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Label, TermLink};

    /// The types that a statement names in a pattern.
    fn types_in(statement: &statements::Statement) -> BTreeSet<String> {
        let query = statement.query();
        let text = query.query().split_once("relation:").expect("a pattern").1;
        let types = text.split_once(']').expect("its end").0;
        types.split('|').map(|name| name.trim().to_owned()).collect()
    }

    #[test]
    fn statements_know_every_relation() {
        let all: BTreeSet<String> = relationships().map(|(_, name)| name.to_owned()).collect();
        assert_eq!(types_in(&statements::DROP_RELATIONS), all);
        let query = statements::PUT_RELATIONS.query();
        for name in &all {
            let line = format!("'{name}' THEN [1] ELSE [] END | CREATE (from)-[:{name}]->(to))");
            assert!(query.query().contains(&line), "{name}");
        }
        let carried: BTreeSet<String> = relationships()
            .filter(|(relation, _)| relation.edge().is_some())
            .map(|(_, name)| name.to_owned())
            .collect();
        assert_eq!(types_in(&statements::JOIN_CONCEPTS), carried);
        let query = statements::PUT_RESOURCES.query();
        for kind in TermKind::ALL {
            assert!(query.query().contains(&format!("| SET r:{})", label(*kind))), "{kind}");
        }
    }

    #[test]
    fn terms_of_several_vocabularies_are_one_node() {
        let label =
            |role, language: &str, text: &str| Label { role, language: language.to_owned(), text: text.to_owned() };
        let property = Term {
            iri: "http://e/a#b".to_owned(),
            kind: TermKind::DataProperty,
            label: "first".to_owned(),
            labels: vec![label(LabelRole::Preferred, "en", "first")],
            links: vec![TermLink { relation: Relation::Broader, to: "http://e/a#c".to_owned() }],
            notes: Vec::new(),
            deprecated: false,
        };
        let concept = Term {
            kind: TermKind::Concept,
            label: "second".to_owned(),
            labels: vec![label(LabelRole::Preferred, "", "second"), label(LabelRole::Hidden, "zh", "二")],
            links: vec![TermLink { relation: Relation::Broader, to: "http://e/a#b".to_owned() }],
            ..property.clone()
        };
        let terms = [(property, vec!["first".to_owned()]), (concept, vec!["second".to_owned()])];
        let resource = Resource::of("http://e/a#b", &terms);
        assert_eq!(resource.labels, BTreeSet::from(["Class", "Concept", "Property"]));
        assert_eq!(resource.concept, Some(BTreeSet::from(["second".to_owned()])), "names of the concept alone");
        assert_eq!(resource.relations, BTreeSet::from([("SPO", "http://e/a#c".to_owned())]), "none to itself");
        let properties: BTreeMap<&str, BoltType> = resource.properties.into_iter().collect();
        assert_eq!(properties["name"], "b".into());
        assert_eq!(properties["label"], "second".into());
        assert_eq!(properties["prefLabel"], texts(["first@en", "second"]));
        assert_eq!(properties["hiddenLabel"], texts(["二@zh"]));
        assert!(Resource::of("urn:x:y", &[]).is_bare());
        assert_eq!(local_name("urn:x:y/"), "y");
    }
}
