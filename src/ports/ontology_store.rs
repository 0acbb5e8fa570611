//! The terms of ontologies, in versions.
//!
//! A version is made in steps: [`OntologyStore::begin`], the new and changed terms in batches, then one switch. Until the switch
//! nobody sees any of it, and after a kill the next `begin` says what is there already. Terms are not secret: whoever may read
//! memories may read them all, so the methods that only read terms take no `Visibility`; what they tell of memories they do not
//! tell here.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::PortError;
use crate::domain::{OntologyVersion, Term};

/// What a switch does to the terms of its vocabulary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Switch {
    /// The version it makes; its number is the one that `begin` gave.
    pub version: OntologyVersion,
    /// IRIs of its terms that go.
    pub removed: Vec<String>,
}

/// A term and the vocabulary it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTerm {
    /// The vocabulary.
    pub vocabulary: String,
    /// The term.
    pub term: Term,
}

/// A term to stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedTerm {
    /// The term.
    pub term: Term,
    /// Its labels in the form in which they are searched.
    pub keys: Vec<String>,
}

/// A term in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermEntry {
    /// Its IRI.
    pub iri: String,
    /// What to call it.
    pub label: String,
    /// Terms right below it.
    pub narrower: usize,
}

/// What is staged for the version to come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Staging {
    /// Its number.
    pub number: u64,
    /// Terms that are there already, with their hashes.
    pub staged: BTreeMap<String, [u8; 32]>,
}

/// Keeps the terms of ontologies.
#[async_trait]
pub trait OntologyStore: Send + Sync {
    /// Number of the version in force, 0 before the first. Asked before each linking, so cheap.
    async fn current(&self) -> Result<u64, PortError>;
    /// Versions below `before`, the latest first.
    async fn versions(&self, before: Option<u64>, limit: usize) -> Result<Vec<OntologyVersion>, PortError>;
    /// The vocabularies that have terms, with the number of them.
    async fn vocabularies(&self) -> Result<Vec<(String, usize)>, PortError>;

    /// The hash of each term of a vocabulary, by IRI.
    async fn hashes(&self, vocabulary: &str) -> Result<BTreeMap<String, [u8; 32]>, PortError>;
    /// Prepares the next version. What an earlier preparation of the same vocabulary and source left is kept and told; what one
    /// of another left is dropped. One version is prepared at a time: the caller sees to it within a process, an adapter that
    /// several processes share answers `Conflict` while another prepares one of something else.
    async fn begin(&self, vocabulary: &str, source_hash: &str) -> Result<Staging, PortError>;
    /// Adds new and changed terms to the version that is prepared; durable when it returns, seen by nobody.
    async fn stage(&self, number: u64, terms: &[StagedTerm]) -> Result<(), PortError>;
    /// Puts the prepared version in force, in one transaction: staged terms take the place of those with their IRIs, the removed
    /// go, and the concepts and concept edges that memories are linked over follow. Links that ontologies made to a concept whose
    /// labels changed go with it; a later linking makes them anew. `Conflict` if another version came in between. Gives the version
    /// with its graph hash.
    async fn switch(&self, switch: &Switch) -> Result<OntologyVersion, PortError>;
    /// Makes a version that is the one numbered `to` again, of all vocabularies, in one transaction; `version` says who and when.
    /// `None` if there is no version `to`.
    async fn roll_back(&self, to: u64, version: &OntologyVersion) -> Result<Option<OntologyVersion>, PortError>;

    /// Those of `iris` that are terms, in the order asked; one per vocabulary that describes it.
    async fn terms(&self, iris: &[String]) -> Result<Vec<StoredTerm>, PortError>;
    /// Terms by vocabulary and IRI, of one vocabulary or of all.
    async fn list_terms(
        &self,
        vocabulary: Option<&str>,
        after: Option<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<StoredTerm>, PortError>;
    /// Concepts right below `parent`, or those below none, by label and IRI.
    async fn children(
        &self,
        parent: Option<&str>,
        after: Option<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<TermEntry>, PortError>;
    /// Concepts one of whose labels contains `part`, a key as `text::concept_key` makes it, by label and IRI.
    async fn search(&self, part: &str, after: Option<(&str, &str)>, limit: usize) -> Result<Vec<TermEntry>, PortError>;
}
