//! Shows terms: one in full, those below one, those with a name.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{OntologyContext, words::*};
use crate::{
    domain::{Caller, ConceptKey, OntologyVersion, Right, Term},
    error::Error,
    input::{self, outgoing},
    ports::{StoredTerm, TermEntry},
};

/// Terms below one that are shown with it.
const NARROWER: usize = 50;
const NAME_BYTES: usize = 1000;

/// A version of all vocabularies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct VersionRecord {
    /// Its number.
    pub number: i64,
    /// The vocabulary that was imported; empty for a rollback.
    pub vocabulary: String,
    /// When.
    pub at: String,
    /// By whom; of one that was proposed, who agreed.
    pub actor: String,
    /// Who proposed it, if somebody had to agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_by: Option<String>,
    /// The proposal it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal_id: Option<String>,
    /// Name of the file, or the version that it went back to.
    pub source: String,
    /// SHA-256 of the file, or hash of the graph that it went back to.
    pub source_hash: String,
    /// Terms that came in.
    pub new: i64,
    /// Terms that became others.
    pub changed: i64,
    /// Terms that went.
    pub removed: i64,
    /// Hash of the graph of all vocabularies.
    pub graph_hash: String,
}

impl From<OntologyVersion> for VersionRecord {
    fn from(version: OntologyVersion) -> Self {
        Self {
            number: outgoing(version.number),
            vocabulary: version.vocabulary,
            at: version.at.to_string(),
            actor: version.actor,
            proposed_by: version.proposed_by,
            proposal_id: version.proposal.map(|id| id.to_string()),
            source: version.source,
            source_hash: version.source_hash,
            new: outgoing(version.new),
            changed: outgoing(version.changed),
            removed: outgoing(version.removed),
            graph_hash: version.graph_hash,
        }
    }
}

/// A name of a concept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct LabelRecord {
    /// The name.
    pub text: String,
    /// BCP 47 tag, or nothing.
    pub language: String,
    /// preferred, alternative or hidden.
    pub role: String,
}

/// A concept in a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ConceptSummary {
    /// Its id.
    pub id: String,
    /// Its IRI.
    pub iri: String,
    /// What to call it.
    pub label: String,
    /// Concepts right below it.
    pub narrower: i64,
}

impl From<TermEntry> for ConceptSummary {
    fn from(entry: TermEntry) -> Self {
        let id = Term::concept_id(&entry.iri).to_string();
        let narrower = outgoing(entry.narrower);
        Self { id, iri: entry.iri, label: entry.label, narrower }
    }
}

/// A relation of a concept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RelationRecord {
    /// What it says: broader, related, exact_match …
    pub relation: String,
    /// IRI of the other end.
    pub iri: String,
    /// What that is called, if it is described.
    pub label: String,
}

/// A note on a concept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct NoteRecord {
    /// IRI of the property.
    pub property: String,
    /// Its value.
    pub value: String,
    /// BCP 47 tag, or nothing.
    pub language: String,
}

/// Everything of a term.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ConceptRecord {
    /// Its id.
    pub id: String,
    /// Its IRI.
    pub iri: String,
    /// concept, class, individual, scheme, collection or a kind of property.
    pub kind: String,
    /// What to call it.
    pub label: String,
    /// Vocabularies that describe it.
    pub vocabularies: Vec<String>,
    /// Its names.
    pub labels: Vec<LabelRecord>,
    /// What it is.
    pub definitions: Vec<LabelRecord>,
    /// How it hangs together with others.
    pub relations: Vec<RelationRecord>,
    /// Concepts right below it, the first fifty.
    pub narrower: Vec<ConceptSummary>,
    /// What else is said of it.
    pub notes: Vec<NoteRecord>,
    /// Whether it is not to be used any longer.
    pub deprecated: bool,
    /// Memories the caller sees that name it.
    pub memories: i64,
}

/// The term with this IRI, id or name.
pub async fn show(ctx: &OntologyContext, caller: &Caller, name: &str) -> Result<ConceptRecord, Error> {
    input::require(caller, Right::MemoryRead)?;
    let name = input::text("concept", name.to_owned(), NAME_BYTES)?;
    let mut found = ctx.store.terms(std::slice::from_ref(&name)).await?;
    if found.is_empty()
        && let Some(iri) = ctx.lexicons.current().await.iri_of(&name)
    {
        found = ctx.store.terms(&[iri]).await?;
    }
    let Some(first) = found.first() else { return Err(Error::not_found("concept")) };
    let iri = first.term.iri.clone();
    let narrower = ctx.store.children(Some(&iri), None, NARROWER).await?;
    let uses = ctx.graph.concepts(&[ConceptKey(iri)], None, &caller.visibility()).await?;
    let mut linked: Vec<String> =
        found.iter().flat_map(|it| it.term.links.iter().map(|link| link.to.clone())).collect();
    linked.sort_unstable();
    linked.dedup();
    let labels: HashMap<String, String> =
        ctx.store.terms(&linked).await?.into_iter().map(|StoredTerm { term, .. }| (term.iri, term.label)).collect();
    Ok(record(&found, narrower, &labels, uses.first().map_or(0, |used| used.uses)))
}

fn record(
    found: &[StoredTerm],
    narrower: Vec<TermEntry>,
    names: &HashMap<String, String>,
    uses: usize,
) -> ConceptRecord {
    let first = &found[0].term;
    let mut record = ConceptRecord {
        id: Term::concept_id(&first.iri).to_string(),
        iri: first.iri.clone(),
        kind: first.kind.name().to_owned(),
        label: first.label.clone(),
        vocabularies: found.iter().map(|stored| stored.vocabulary.clone()).collect(),
        labels: Vec::new(),
        definitions: Vec::new(),
        relations: Vec::new(),
        narrower: narrower.into_iter().map(ConceptSummary::from).collect(),
        notes: Vec::new(),
        deprecated: found.iter().any(|stored| stored.term.deprecated),
        memories: outgoing(uses),
    };
    for StoredTerm { term, .. } in found {
        record.labels.extend(term.labels.iter().map(|label| LabelRecord {
            text: label.text.clone(),
            language: label.language.clone(),
            role: label.role.name().to_owned(),
        }));
        record.relations.extend(term.links.iter().map(|link| RelationRecord {
            relation: link.relation.name().to_owned(),
            iri: link.to.clone(),
            label: names.get(&link.to).cloned().unwrap_or_default(),
        }));
        for note in &term.notes {
            let (value, language) = (note.value.clone(), note.language.clone());
            if [SKOS_DEFINITION, OBO_DEFINITION, RDFS_COMMENT].contains(&note.property.as_str()) {
                record.definitions.push(LabelRecord { text: value, language, role: "definition".to_owned() });
            } else {
                record.notes.push(NoteRecord { property: note.property.clone(), value, language });
            }
        }
    }
    record
}
