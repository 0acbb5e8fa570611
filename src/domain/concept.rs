//! Concepts: what memories are about and what they mention.

use serde::{Deserialize, Serialize};
use std::{borrow::Borrow, fmt, str::FromStr};
use uuid::Uuid;

use super::{ConceptId, UnknownName, memory::names};

names! {
    /// Where a concept comes from.
    ConceptOrigin {
        /// Found in the text of memories. Seen only by those who see a memory that names it.
        Text = "text",
        /// Imported from an ontology.
        Ontology = "ontology",
    }
}

/// The form in which two spellings of a label are the same concept: NFKC, case folded, white space squeezed. Made by `text`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConceptKey(pub String);

impl Borrow<str> for ConceptKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Namespace of concept ids (UUIDv5 of the key); a constant of the stored format.
const CONCEPT_NAMESPACE: Uuid = Uuid::from_u128(0x7b0c_53a1_4b0e_5c7e_9d51_2f6c_0b1f_a8d3);

/// A concept node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concept {
    /// UUIDv5 of the key.
    pub id: ConceptId,
    /// Normalised label.
    pub key: ConceptKey,
    /// Label as first seen.
    pub label: String,
    /// Where it comes from.
    pub origin: ConceptOrigin,
}

impl Concept {
    /// A concept found in a text.
    pub fn from_text(key: ConceptKey, label: String) -> Self {
        Self { id: Self::id_of(&key), key, label, origin: ConceptOrigin::Text }
    }

    /// The id of the concept with this key.
    pub fn id_of(key: &ConceptKey) -> ConceptId {
        ConceptId(Uuid::new_v5(&CONCEPT_NAMESPACE, key.0.as_bytes()))
    }
}
