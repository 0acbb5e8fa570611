//! Statements to terms: which subjects are terms, what they are called and how they hang together.
//!
//! Pure. Blank nodes are structure (lists, restrictions, labels of SKOS-XL) and become text in the notes of the term that they
//! describe; one that is a class or concept with a label of its own gets an IRI made of what is said of it, so that the same
//! file gives the same IRIs each time.

mod expression;
mod report;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use sha2::{Digest, Sha256};

use self::expression::Structure;
use super::{
    statement::{Object, Statement},
    words::*,
};
use crate::domain::{Label, LabelRole, Note, Relation, Term, TermKind, TermLink};

/// Members of a list of disjoint classes that are linked pair by pair.
const DISJOINT_PAIRS: usize = 32;

/// What is said of one subject.
type Said = Vec<(Arc<str>, Object)>;

/// All statements of a file, by subject.
#[derive(Debug, Default)]
pub struct Model {
    subjects: HashMap<String, Said>,
    predicates: HashSet<Arc<str>>,
}

/// What is in a file, in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Statements, each once.
    pub statements: usize,
    /// Terms by what they are.
    pub kinds: BTreeMap<TermKind, usize>,
    /// Relations between terms, by what they say.
    pub relations: BTreeMap<Relation, usize>,
    /// Terms that are not to be used any longer.
    pub deprecated: usize,
}

/// What a file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    /// Its terms by IRI.
    pub terms: Vec<Term>,
    /// IRI of the ontology or of the only scheme.
    pub name: Option<String>,
    /// In numbers.
    pub counts: Counts,
    /// Subjects that are no terms, and why.
    pub skipped: Vec<(String, String)>,
    /// What is odd about it and was taken all the same.
    pub warnings: Vec<String>,
}

impl Model {
    /// Takes in a statement.
    pub fn take(&mut self, statement: Statement) {
        let predicate = match self.predicates.get(statement.predicate.as_str()) {
            Some(known) => known.clone(),
            None => {
                let new: Arc<str> = statement.predicate.into();
                self.predicates.insert(new.clone());
                new
            }
        };
        self.subjects.entry(statement.subject).or_default().push((predicate, statement.object));
    }

    /// The terms of everything taken in.
    pub fn finish(mut self) -> Read {
        let mut statements = 0;
        for said in self.subjects.values_mut() {
            said.sort_unstable();
            said.dedup();
            statements += said.len();
        }
        let kinds = self.kinds();
        let names = self.names(&kinds);
        let mut builder = Builder { model: &self, names: &names, terms: BTreeMap::new() };
        for (subject, kind) in &kinds {
            builder.term(subject, *kind);
        }
        builder.links_from_elsewhere();
        let terms: Vec<Term> = builder.terms.into_values().map(finished).collect();
        let mut read = Read { name: self.name(&kinds), ..Read::default() };
        read.skipped = self.skipped(&kinds);
        read.warnings = report::warnings(&terms, &self.imports());
        read.counts = counts(&terms, statements);
        read.terms = terms;
        read
    }

    fn said(&self, subject: &str) -> &[(Arc<str>, Object)] {
        self.subjects.get(subject).map_or(&[], Vec::as_slice)
    }

    fn nodes<'a>(&'a self, subject: &str, predicate: &'a str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.said(subject).iter().filter_map(move |(said, object)| match object {
            Object::Node(node) if **said == *predicate => Some(node.as_str()),
            _ => None,
        })
    }

    fn texts<'a>(&'a self, subject: &str, predicate: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.said(subject).iter().filter_map(move |(said, object)| match object {
            Object::Text { text, language } if **said == *predicate => Some((text.as_str(), language.as_str())),
            _ => None,
        })
    }

    /// The subjects that are terms, and what each is.
    fn kinds(&self) -> BTreeMap<&str, TermKind> {
        let mut kinds: BTreeMap<&str, TermKind> = BTreeMap::new();
        for (subject, said) in &self.subjects {
            if let Some(kind) = kind(said).filter(|_| !subject.starts_with("_:") || has_label(said)) {
                kinds.insert(subject, kind);
            }
        }
        // What is an instance of a class of this file is a term too.
        let is_class = |iri: &str| kinds.get(iri).is_some_and(|kind| *kind == TermKind::Class);
        let individuals: Vec<&str> = self
            .subjects
            .keys()
            .map(String::as_str)
            .filter(|subject| !kinds.contains_key(subject) && !subject.starts_with("_:"))
            .filter(|subject| self.nodes(subject, RDF_TYPE).any(is_class))
            .collect();
        kinds.extend(individuals.into_iter().map(|subject| (subject, TermKind::Individual)));
        kinds
    }

    /// IRIs of the blank nodes that are terms.
    fn names(&self, kinds: &BTreeMap<&str, TermKind>) -> HashMap<String, String> {
        let blank = kinds.keys().filter(|subject| subject.starts_with("_:"));
        blank
            .map(|subject| {
                let mut hasher = Sha256::new();
                for (predicate, object) in self.said(subject) {
                    let value = match object {
                        Object::Node(node) if node.starts_with("_:") => continue,
                        Object::Node(node) => format!("<{node}>"),
                        Object::Text { text, language } => format!("{text:?}@{language}"),
                    };
                    hasher.update(format!("{predicate} {value}\n"));
                }
                let name = hex::encode(&hasher.finalize()[..16]);
                ((*subject).to_owned(), format!("urn:recollect:blank:{name}"))
            })
            .collect()
    }

    fn typed(&self, kind: &'static str) -> impl Iterator<Item = &str> {
        self.subjects
            .keys()
            .map(String::as_str)
            .filter(move |subject| self.nodes(subject, RDF_TYPE).any(|it| it == kind))
    }

    fn name(&self, kinds: &BTreeMap<&str, TermKind>) -> Option<String> {
        let ontology = self.typed(OWL_ONTOLOGY).filter(|iri| !iri.starts_with("_:")).min();
        let mut schemes = kinds.iter().filter(|(_, kind)| **kind == TermKind::Scheme).map(|(iri, _)| *iri);
        let only = schemes.next().filter(|_| schemes.next().is_none());
        ontology.or(only).map(str::to_owned)
    }

    fn imports(&self) -> Vec<String> {
        let mut imports: Vec<String> =
            self.subjects.keys().flat_map(|subject| self.nodes(subject, OWL_IMPORTS)).map(str::to_owned).collect();
        imports.sort_unstable();
        imports
    }

    fn skipped(&self, kinds: &BTreeMap<&str, TermKind>) -> Vec<(String, String)> {
        let structure =
            [OWL_ONTOLOGY, OWL_AXIOM, OWL_ALL_DISJOINT, OWL_RESTRICTION, XL_LABEL, OWL_CLASS, RDFS_DATATYPE];
        let mut skipped: Vec<(String, String)> = self
            .subjects
            .keys()
            .filter(|subject| !kinds.contains_key(subject.as_str()) && !subject.starts_with("_:"))
            .filter(|subject| !self.nodes(subject, RDF_TYPE).any(|it| structure.contains(&it)))
            .map(|subject| (subject.clone(), "has no type that is known here, or no name".into()))
            .collect();
        skipped.sort_unstable();
        skipped
    }
}

/// What a subject is, by its types or by what is said of it.
fn kind(said: &Said) -> Option<TermKind> {
    let is = |kind: &str| said.iter().any(|(said, object)| **said == *RDF_TYPE && *object == Object::Node(kind.into()));
    let says = |predicates: &[&str]| said.iter().any(|(said, _)| predicates.contains(&&**said));
    // Structure may be typed as a class.
    if is(OWL_RESTRICTION) || is(OWL_AXIOM) || is(XL_LABEL) || is(OWL_ALL_DISJOINT) {
        return None;
    }
    for (types, kind) in [
        (&[SKOS_SCHEME][..], TermKind::Scheme),
        (&[SKOS_COLLECTION, SKOS_ORDERED_COLLECTION], TermKind::Collection),
        (&[OWL_OBJECT_PROPERTY], TermKind::ObjectProperty),
        (&[OWL_DATA_PROPERTY], TermKind::DataProperty),
        (&[OWL_ANNOTATION_PROPERTY], TermKind::AnnotationProperty),
        (&[RDF_PROPERTY, OWL_DEPRECATED_PROPERTY], TermKind::Property),
        (&[OWL_CLASS, RDFS_CLASS, OWL_DEPRECATED_CLASS], TermKind::Class),
        (&[SKOS_CONCEPT], TermKind::Concept),
        (&[OWL_INDIVIDUAL], TermKind::Individual),
    ] {
        if types.iter().any(|it| is(it)) {
            return Some(kind);
        }
    }
    if is(OWL_ONTOLOGY) || is(RDFS_DATATYPE) {
        return None;
    }
    // Of a foreign term a file often says no more than where it belongs; one that has no name is none of its own.
    if says(&[RDFS_SUB_CLASS]) && has_label(said) {
        return Some(TermKind::Class);
    }
    if says(&[RDFS_SUB_PROPERTY, RDFS_DOMAIN, RDFS_RANGE]) && has_label(said) {
        return Some(TermKind::Property);
    }
    says(&[SKOS_PREF, SKOS_BROADER, SKOS_IN_SCHEME, SKOS_TOP_OF, XL_PREF]).then_some(TermKind::Concept)
}

fn has_label(said: &Said) -> bool {
    said.iter().any(|(said, _)| [RDFS_LABEL, SKOS_PREF, XL_PREF].contains(&&**said))
}

struct Builder<'a> {
    model: &'a Model,
    /// IRIs of blank nodes that are terms.
    names: &'a HashMap<String, String>,
    terms: BTreeMap<String, Term>,
}

impl<'a> Builder<'a> {
    fn iri(&self, node: &str) -> Option<String> {
        if node.starts_with("_:") { self.names.get(node).cloned() } else { Some(node.to_owned()) }
    }

    fn term(&mut self, subject: &str, kind: TermKind) {
        let Some(iri) = self.iri(subject) else { return };
        let (labels, links, notes) = (Vec::new(), Vec::new(), Vec::new());
        let mut term = Term { iri: iri.clone(), kind, label: String::new(), labels, links, notes, deprecated: false };
        let preferred: HashSet<&str> = self.model.texts(subject, SKOS_PREF).map(|(_, language)| language).collect();
        for (predicate, object) in self.model.said(subject) {
            match object {
                Object::Text { text, language } => {
                    let labelled = RDFS_LABEL == &**predicate && preferred.contains(language.as_str());
                    self.text(&mut term, predicate, text, language, labelled);
                }
                Object::Node(node) => self.node(&mut term, predicate, node),
            }
        }
        // Two blank nodes of which the same is said are one.
        self.terms.entry(iri).or_insert(term);
    }

    fn text(&self, term: &mut Term, predicate: &str, text: &str, language: &str, labelled: bool) {
        let titled = matches!(term.kind, TermKind::Scheme | TermKind::Collection | TermKind::Individual);
        let role = match predicate {
            SKOS_PREF => Some(LabelRole::Preferred),
            RDFS_LABEL if labelled => Some(LabelRole::Alternative),
            RDFS_LABEL => Some(LabelRole::Preferred),
            SKOS_ALT | OIO_EXACT => Some(LabelRole::Alternative),
            SKOS_HIDDEN | OIO_NARROW | OIO_BROAD | OIO_RELATED => Some(LabelRole::Hidden),
            "http://purl.org/dc/terms/title" | "http://purl.org/dc/elements/1.1/title" | "https://schema.org/name"
                if titled =>
            {
                Some(LabelRole::Preferred)
            }
            _ => None,
        };
        let text = text.trim();
        if let Some(role) = role.filter(|_| !text.is_empty()) {
            term.labels.push(Label { role, language: language.to_owned(), text: text.to_owned() });
        }
        match predicate {
            OWL_DEPRECATED => {
                term.deprecated |= ["true", "1", "yes"].contains(&text.to_ascii_lowercase().as_str());
            }

            // The scope of a synonym is in no label.
            OIO_NARROW | OIO_BROAD | OIO_RELATED => note(term, predicate, text, language),
            _ if role.is_none() => note(term, predicate, text, language),
            _ => {}
        }
    }

    fn node(&self, term: &mut Term, predicate: &str, node: &str) {
        let relation = match predicate {
            RDF_TYPE => {
                match node {
                    OWL_DEPRECATED_CLASS | OWL_DEPRECATED_PROPERTY => term.deprecated = true,
                    _ if is_of_the_language(node) => {}
                    _ => self.link(term, Relation::InstanceOf, node),
                }
                return;
            }
            SKOS_BROADER | RDFS_SUB_CLASS | RDFS_SUB_PROPERTY => Relation::Broader,
            SKOS_RELATED => Relation::Related,
            SKOS_EXACT | OWL_SAME_AS => Relation::ExactMatch,
            SKOS_CLOSE => Relation::CloseMatch,
            SKOS_BROAD => Relation::BroadMatch,
            SKOS_NARROW => Relation::NarrowMatch,
            SKOS_RELATED_MATCH => Relation::RelatedMatch,
            OWL_EQUIVALENT_CLASS | OWL_EQUIVALENT_PROPERTY => Relation::Equivalent,
            OWL_DISJOINT => Relation::Disjoint,
            OWN_RESTRICTED => Relation::Restricted,
            SKOS_IN_SCHEME => Relation::InScheme,
            SKOS_TOP_OF => Relation::TopOf,
            SKOS_MEMBER => Relation::Member,
            RDFS_DOMAIN | SCHEMA_DOMAIN => Relation::Domain,
            RDFS_RANGE | SCHEMA_RANGE => Relation::Range,
            OWL_INVERSE | SCHEMA_INVERSE => Relation::Inverse,
            OBO_REPLACED_BY | DC_REPLACED_BY => Relation::ReplacedBy,
            SCHEMA_SUPERSEDED => {
                term.deprecated = true;
                Relation::ReplacedBy
            }
            // Said the other way round; see `links_from_elsewhere`.
            SKOS_NARROWER | SKOS_HAS_TOP => return,
            SKOS_MEMBER_LIST => {
                for member in self.structure().list(node) {
                    self.link(term, Relation::Member, member);
                }
                return;
            }
            XL_PREF | XL_ALT | XL_HIDDEN => {
                let role = match predicate {
                    XL_PREF => LabelRole::Preferred,
                    XL_ALT => LabelRole::Alternative,
                    _ => LabelRole::Hidden,
                };
                let forms = self.model.texts(node, XL_FORM);
                term.labels.extend(forms.map(|(text, language)| Label {
                    role,
                    language: language.to_owned(),
                    text: text.trim().to_owned(),
                }));
                return;
            }
            _ => {
                note(term, predicate, &self.structure().text(node), "");
                return;
            }
        };
        if node.starts_with("_:") && !self.names.contains_key(node) {
            self.structure_of(term, predicate, node);
        } else {
            self.link(term, relation, node);
        }
    }

    /// A class that a term is under or the same as, and that is described in place.
    fn structure_of(&self, term: &mut Term, predicate: &str, node: &str) {
        let structure = self.structure();
        note(term, predicate, &structure.text(node), "");
        for part in structure.parts(node) {
            if part.starts_with("_:") {
                for class in structure.some_of(part) {
                    self.link(term, Relation::Restricted, class);
                }
            } else {
                // Whatever is this and that is this.
                self.link(term, Relation::Broader, part);
            }
        }
    }

    fn structure(&self) -> Structure<'a> {
        Structure { model: self.model }
    }

    fn link(&self, term: &mut Term, relation: Relation, node: &str) {
        // Everything is a thing.
        if let Some(to) = self.iri(node).filter(|to| to != OWL_THING) {
            term.links.push(TermLink { relation, to });
        }
    }

    /// Relations that the file states at the other end, or of a whole list.
    fn links_from_elsewhere(&mut self) {
        let mut found: Vec<(String, Relation, String)> = Vec::new();
        for (subject, said) in &self.model.subjects {
            for (predicate, object) in said {
                let Object::Node(node) = object else { continue };
                let relation = match &**predicate {
                    SKOS_NARROWER => Relation::Broader,
                    SKOS_HAS_TOP => Relation::TopOf,
                    SKOS_RELATED => Relation::Related,
                    OWL_DISJOINT => Relation::Disjoint,
                    OWL_MEMBERS if self.model.nodes(subject, RDF_TYPE).any(|it| it == OWL_ALL_DISJOINT) => {
                        let members = self.structure().list(node);
                        if members.len() <= DISJOINT_PAIRS {
                            for one in &members {
                                let others = members.iter().filter(|other| *other != one);
                                found.extend(
                                    others.map(|other| ((*one).to_owned(), Relation::Disjoint, (*other).to_owned())),
                                );
                            }
                        }
                        continue;
                    }
                    _ => continue,
                };
                if let (Some(from), Some(to)) = (self.iri(node), self.iri(subject)) {
                    found.push((from, relation, to));
                }
            }
        }
        for (from, relation, to) in found {
            if let Some(term) = self.terms.get_mut(&from) {
                term.links.push(TermLink { relation, to });
            }
        }
    }
}

fn note(term: &mut Term, property: &str, value: &str, language: &str) {
    term.notes.push(Note { property: property.to_owned(), value: value.to_owned(), language: language.to_owned() });
}

/// Types that say what kind of term it is, not which class it belongs to.
fn is_of_the_language(iri: &str) -> bool {
    [
        "http://www.w3.org/2002/07/owl#",
        "http://www.w3.org/2000/01/rdf-schema#",
        "http://www.w3.org/2004/02/skos/core#",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    ]
    .iter()
    .any(|space| iri.starts_with(space))
}

/// The canonical form of a term.
fn finished(mut term: Term) -> Term {
    term.labels.sort_unstable();
    // The same name in two roles is one, in the better role, which sorts first.
    let mut seen = HashSet::new();
    term.labels.retain(|label| seen.insert((label.language.clone(), label.text.clone())));
    term.links.sort_unstable();
    term.links.dedup();
    term.notes.sort_unstable();
    term.notes.dedup();
    term.label = shown(&term);
    term
}

/// The preferred label in English, or without a language, or the first there is; else the end of the IRI.
fn shown(term: &Term) -> String {
    let rank = |label: &Label| {
        let language = match label.language.as_str() {
            "en" => 0,
            language if language.starts_with("en-") => 1,
            "" => 2,
            _ => 3,
        };
        (label.role, language)
    };
    let best = term.labels.iter().filter(|label| label.role != LabelRole::Hidden).min_by_key(|label| rank(label));
    best.map_or_else(
        || percent_encoding::percent_decode_str(local_name(&term.iri)).decode_utf8_lossy().into_owned(),
        |label| label.text.clone(),
    )
}

fn counts(terms: &[Term], statements: usize) -> Counts {
    let mut counts = Counts { statements, ..Counts::default() };
    for term in terms {
        *counts.kinds.entry(term.kind).or_default() += 1;
        counts.deprecated += usize::from(term.deprecated);
        for link in &term.links {
            *counts.relations.entry(link.relation).or_default() += 1;
        }
    }
    counts
}
