//! The `OntologyStore` of a graph store that keeps no ontologies: it has none and takes none.

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::{
    domain::OntologyVersion,
    ports::{OntologyStore, PortError, PortErrorKind, StagedTerm, Staging, StoredTerm, Switch, TermEntry},
};

/// See the module.
pub(super) struct NoOntologies;

fn refused<T>(operation: &'static str) -> Result<T, PortError> {
    let why = "this graph store keeps no ontologies; use the embedded one";
    Err(PortError::new(PortErrorKind::Unsupported, "graph store", operation, why))
}

#[async_trait]
impl OntologyStore for NoOntologies {
    async fn current(&self) -> Result<u64, PortError> {
        Ok(0)
    }
    async fn versions(&self, _: Option<u64>, _: usize) -> Result<Vec<OntologyVersion>, PortError> {
        Ok(Vec::new())
    }
    async fn vocabularies(&self) -> Result<Vec<(String, usize)>, PortError> {
        Ok(Vec::new())
    }
    async fn hashes(&self, _: &str) -> Result<BTreeMap<String, [u8; 32]>, PortError> {
        Ok(BTreeMap::new())
    }
    async fn begin(&self, _: &str, _: &str) -> Result<Staging, PortError> {
        refused("ontology_begin")
    }
    async fn stage(&self, _: u64, _: &[StagedTerm]) -> Result<(), PortError> {
        refused("ontology_stage")
    }
    async fn switch(&self, _: &Switch) -> Result<OntologyVersion, PortError> {
        refused("ontology_switch")
    }
    async fn roll_back(&self, _: u64, _: &OntologyVersion) -> Result<Option<OntologyVersion>, PortError> {
        refused("ontology_roll_back")
    }
    async fn terms(&self, _: &[String]) -> Result<Vec<StoredTerm>, PortError> {
        Ok(Vec::new())
    }
    async fn list_terms(
        &self,
        _: Option<&str>,
        _: Option<(&str, &str)>,
        _: usize,
    ) -> Result<Vec<StoredTerm>, PortError> {
        Ok(Vec::new())
    }
    async fn children(&self, _: Option<&str>, _: Option<(&str, &str)>, _: usize) -> Result<Vec<TermEntry>, PortError> {
        Ok(Vec::new())
    }
    async fn search(&self, _: &str, _: Option<(&str, &str)>, _: usize) -> Result<Vec<TermEntry>, PortError> {
        Ok(Vec::new())
    }
}
