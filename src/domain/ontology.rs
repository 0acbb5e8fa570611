//! What an ontology says: its terms, what they are called and how they hang together, and the versions it went through.
//!
//! To add a relation: a variant of [`Relation`], an arm in `ontology/model.rs`, a row in `ontology/README.md`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{fmt, str::FromStr};

use super::{Concept, ConceptId, ConceptKey, ConceptOrigin, EdgeKind, ProposalId, UnknownName, memory::names};

names! {
    /// What a term is.
    TermKind {
        /// A concept of a thesaurus.
        Concept = "concept",
        /// A class.
        Class = "class",
        /// A named thing.
        Individual = "individual",
        /// A scheme of concepts.
        Scheme = "scheme",
        /// A collection of concepts.
        Collection = "collection",
        /// A property between things.
        ObjectProperty = "object_property",
        /// A property with a value.
        DataProperty = "data_property",
        /// A property that only tells people something.
        AnnotationProperty = "annotation_property",
        /// A property of no said kind.
        Property = "property",
    }
}

impl TermKind {
    /// Whether memories are linked to terms of this kind.
    pub fn is_concept(self) -> bool {
        matches!(self, Self::Concept | Self::Class | Self::Individual)
    }

    /// Whether it is a property of any kind.
    pub fn is_property(self) -> bool {
        matches!(self, Self::ObjectProperty | Self::DataProperty | Self::AnnotationProperty | Self::Property)
    }
}

names! {
    /// How a label stands for its term.
    LabelRole {
        /// The preferred one of its language.
        Preferred = "preferred",
        /// Another one.
        Alternative = "alternative",
        /// One that is searched for and never shown.
        Hidden = "hidden",
    }
}

names! {
    /// How a term hangs together with another.
    Relation {
        /// To a broader concept, a superclass or a superproperty.
        Broader = "broader",
        /// To one that belongs with it.
        Related = "related",
        /// To the class it is an instance of.
        InstanceOf = "instance_of",
        /// To one that means the same, in another scheme.
        ExactMatch = "exact_match",
        /// To one that means nearly the same.
        CloseMatch = "close_match",
        /// To a broader one of another scheme.
        BroadMatch = "broad_match",
        /// To a narrower one of another scheme.
        NarrowMatch = "narrow_match",
        /// To a related one of another scheme.
        RelatedMatch = "related_match",
        /// To a class or property with the same members.
        Equivalent = "equivalent",
        /// To a class that shares no member with it.
        Disjoint = "disjoint",
        /// To a class by a restriction: each of its members has some relation to one of that class.
        Restricted = "restricted",
        /// To its scheme.
        InScheme = "in_scheme",
        /// To the scheme it is at the top of.
        TopOf = "top_of",
        /// Of a collection to a member.
        Member = "member",
        /// Of a property to what has it.
        Domain = "domain",
        /// Of a property to what it leads to.
        Range = "range",
        /// Of a property to the one that leads back.
        Inverse = "inverse",
        /// Of a deprecated term to the one to use.
        ReplacedBy = "replaced_by",
    }
}

impl Relation {
    /// The edge between concepts that it is, and how much it carries.
    pub fn edge(self) -> Option<(EdgeKind, f32)> {
        match self {
            Self::Broader | Self::InstanceOf => Some((EdgeKind::Broader, 1.0)),
            Self::BroadMatch => Some((EdgeKind::Broader, 0.9)),
            Self::ExactMatch | Self::Equivalent | Self::ReplacedBy => Some((EdgeKind::Related, 1.0)),
            Self::CloseMatch => Some((EdgeKind::Related, 0.9)),
            Self::Related | Self::RelatedMatch | Self::NarrowMatch => Some((EdgeKind::Related, 0.8)),
            Self::Restricted => Some((EdgeKind::Related, 0.4)),
            Self::Disjoint
            | Self::InScheme
            | Self::TopOf
            | Self::Member
            | Self::Domain
            | Self::Range
            | Self::Inverse => None,
        }
    }
}

/// One name of a term.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Label {
    /// How it stands for the term.
    pub role: LabelRole,
    /// BCP 47 tag, in lower case; empty where none is given.
    pub language: String,
    /// The name.
    pub text: String,
}

/// A relation to another term.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TermLink {
    /// What it says.
    pub relation: Relation,
    /// IRI of the other end, which may be a term that no import has described.
    pub to: String,
}

/// Something else that is said of a term: definitions, notations, restrictions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Note {
    /// IRI of the property.
    pub property: String,
    /// Its value; an IRI in angle brackets.
    pub value: String,
    /// BCP 47 tag; empty where none is given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub language: String,
}

/// A term of a vocabulary, in a canonical form: lists are sorted and without repetition, so that the same statements in another
/// order or format are the same term.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// Its IRI.
    pub iri: String,
    /// What it is.
    pub kind: TermKind,
    /// What to call it: the preferred label in English, or another, or the end of the IRI.
    pub label: String,
    /// Its names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// Its relations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<TermLink>,
    /// What else is said of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// Whether it is not to be used any longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
}

impl Term {
    /// SHA-256 of everything it says.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(serde_json::to_vec(self).expect("a record of strings is JSON")).into()
    }

    /// The node that memories are linked to. Its key is the IRI: the key of a label has no `:`, so the two never meet.
    pub fn concept(&self) -> Concept {
        let key = ConceptKey(self.iri.clone());
        Concept { id: Concept::id_of(&key), key, label: self.label.clone(), origin: ConceptOrigin::Ontology }
    }

    /// The id of the concept with this IRI.
    pub fn concept_id(iri: &str) -> ConceptId {
        Concept::id_of(&ConceptKey(iri.to_owned()))
    }

    /// The other ends of a relation.
    pub fn linked(&self, relation: Relation) -> impl Iterator<Item = &str> {
        self.links.iter().filter(move |link| link.relation == relation).map(|link| link.to.as_str())
    }
}

/// One version of all vocabularies: what an import or a rollback made of the one before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OntologyVersion {
    /// From 1, without gaps among those that were switched to.
    pub number: u64,
    /// The vocabulary that was imported; empty for a rollback.
    pub vocabulary: String,
    /// When.
    pub at: Timestamp,
    /// By whom; of one that was proposed, who agreed.
    pub actor: String,
    /// Who proposed it, if somebody had to agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_by: Option<String>,
    /// The proposal it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<ProposalId>,
    /// Name of the file, without its folder; for a rollback the version it went back to.
    pub source: String,
    /// SHA-256 of the file, in hex; of a rollback, the hash of the graph it went back to.
    pub source_hash: String,
    /// Terms that came in.
    pub new: u64,
    /// Terms that became others.
    pub changed: u64,
    /// Terms that went.
    pub removed: u64,
    /// Hash of the graph of all vocabularies: the same terms give the same.
    pub graph_hash: String,
}

/// The hash of a graph of terms, whatever their order: the sum of the hashes of its terms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GraphHash([u64; 4]);

impl GraphHash {
    /// Adds a term by its vocabulary and hash.
    pub fn add(&mut self, vocabulary: &str, hash: &[u8]) {
        let mut hasher = Sha256::new();
        hasher.update(vocabulary.as_bytes());
        hasher.update([0]);
        hasher.update(hash);
        for (sum, part) in self.0.iter_mut().zip(hasher.finalize().chunks_exact(8)) {
            *sum = sum.wrapping_add(u64::from_be_bytes(part.try_into().expect("eight bytes")));
        }
    }
}

impl fmt::Display for GraphHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| write!(f, "{part:016x}"))
    }
}
