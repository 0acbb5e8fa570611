//! Writes terms as Turtle or N-Triples. Read again under the same vocabulary, they are the same terms.

use oxrdf::{Literal, NamedNode, Term as Value, Triple};
use oxrdfio::{RdfFormat, RdfSerializer};

use super::{OntologyContext, words::*};
use crate::{
    domain::{Caller, LabelRole, Relation, Right, Term, TermKind},
    error::{Error, ErrorCode},
    input,
    ports::StoredTerm,
};

/// Terms read at once.
const PAGE: usize = 2000;
/// Short names in the file.
const PREFIXES: [(&str, &str); 6] = [
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("owl", "http://www.w3.org/2002/07/owl#"),
    ("skos", "http://www.w3.org/2004/02/skos/core#"),
    ("dct", "http://purl.org/dc/terms/"),
    ("oboInOwl", "http://www.geneontology.org/formats/oboInOwl#"),
];

/// The terms in force of a vocabulary, or of all, as text in `turtle` or `ntriples`.
pub async fn export(
    ctx: &OntologyContext,
    caller: &Caller,
    vocabulary: Option<&str>,
    format: &str,
) -> Result<String, Error> {
    input::require(caller, Right::MemoryRead)?;
    let format = match format {
        "turtle" => RdfFormat::Turtle,
        "ntriples" => RdfFormat::NTriples,
        _ => return Err(Error::bad_input("format", "unknown value, expected one of turtle, ntriples")),
    };
    if let Some(vocabulary) = vocabulary {
        let known = ctx.store.vocabularies().await?;
        if !known.iter().any(|(name, _)| name == vocabulary) {
            return Err(Error::not_found("vocabulary"));
        }
    }
    let mut serializer = RdfSerializer::from_format(format);
    for (name, iri) in PREFIXES {
        serializer = serializer.with_prefix(name, iri).map_err(|_| broken())?;
    }
    let mut writer = serializer.for_writer(Vec::new());
    let mut last: Option<(String, String)> = None;
    loop {
        let after = last.as_ref().map(|(vocabulary, iri)| (vocabulary.as_str(), iri.as_str()));
        let page = ctx.store.list_terms(vocabulary, after, PAGE).await?;
        last = page.last().map(|stored| (stored.vocabulary.clone(), stored.term.iri.clone()));
        for StoredTerm { term, .. } in &page {
            for triple in triples(term) {
                writer.serialize_triple(&triple).map_err(|_| broken())?;
            }
        }
        if page.len() < PAGE {
            break;
        }
    }
    String::from_utf8(writer.finish().map_err(|_| broken())?).map_err(|_| broken())
}

fn broken() -> Error {
    Error::new(ErrorCode::Internal, "internal fault")
}

fn triples(term: &Term) -> Vec<Triple> {
    let subject = NamedNode::new_unchecked(&term.iri);
    let say = |property: &str, value: Value| Triple::new(subject.clone(), NamedNode::new_unchecked(property), value);
    let node = |iri: &str| Value::NamedNode(NamedNode::new_unchecked(iri));
    let text = |text: &str, language: &str| {
        Value::Literal(if language.is_empty() {
            Literal::new_simple_literal(text)
        } else {
            Literal::new_language_tagged_literal_unchecked(text, language)
        })
    };
    let mut triples = vec![say(RDF_TYPE, node(type_of(term.kind)))];
    for label in &term.labels {
        let property = match label.role {
            LabelRole::Preferred => SKOS_PREF,
            LabelRole::Alternative => SKOS_ALT,
            LabelRole::Hidden => SKOS_HIDDEN,
        };
        triples.push(say(property, text(&label.text, &label.language)));
    }
    triples.extend(term.links.iter().map(|link| say(property_of(link.relation, term.kind), node(&link.to))));
    for note in &term.notes {
        let iri = note
            .value
            .strip_prefix('<')
            .and_then(|value| value.strip_suffix('>'))
            .filter(|iri| !iri.contains(['<', ' ']));
        triples.push(say(&note.property, iri.map_or_else(|| text(&note.value, &note.language), node)));
    }
    if term.deprecated {
        triples.push(say(OWL_DEPRECATED, text("true", "")));
    }
    triples
}

fn type_of(kind: TermKind) -> &'static str {
    match kind {
        TermKind::Concept => SKOS_CONCEPT,
        TermKind::Class => OWL_CLASS,
        TermKind::Individual => OWL_INDIVIDUAL,
        TermKind::Scheme => SKOS_SCHEME,
        TermKind::Collection => SKOS_COLLECTION,
        TermKind::ObjectProperty => OWL_OBJECT_PROPERTY,
        TermKind::DataProperty => OWL_DATA_PROPERTY,
        TermKind::AnnotationProperty => OWL_ANNOTATION_PROPERTY,
        TermKind::Property => RDF_PROPERTY,
    }
}

fn property_of(relation: Relation, kind: TermKind) -> &'static str {
    match relation {
        Relation::Broader if kind == TermKind::Class => RDFS_SUB_CLASS,
        Relation::Broader if kind.is_property() => RDFS_SUB_PROPERTY,
        Relation::Broader => SKOS_BROADER,
        Relation::Related => SKOS_RELATED,
        Relation::InstanceOf => RDF_TYPE,
        Relation::ExactMatch => SKOS_EXACT,
        Relation::CloseMatch => SKOS_CLOSE,
        Relation::BroadMatch => SKOS_BROAD,
        Relation::NarrowMatch => SKOS_NARROW,
        Relation::RelatedMatch => SKOS_RELATED_MATCH,
        Relation::Equivalent if kind.is_property() => OWL_EQUIVALENT_PROPERTY,
        Relation::Equivalent => OWL_EQUIVALENT_CLASS,
        Relation::Disjoint => OWL_DISJOINT,
        Relation::Restricted => OWN_RESTRICTED,
        Relation::InScheme => SKOS_IN_SCHEME,
        Relation::TopOf => SKOS_TOP_OF,
        Relation::Member => SKOS_MEMBER,
        Relation::Domain => RDFS_DOMAIN,
        Relation::Range => RDFS_RANGE,
        Relation::Inverse => OWL_INVERSE,
        Relation::ReplacedBy => DC_REPLACED_BY,
    }
}
