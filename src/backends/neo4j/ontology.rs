//! The `OntologyStore` port: what reads terms. `versions` makes versions, `resources` what follows from them.

use std::{
    collections::BTreeMap,
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use neo4rs::Query;
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    Neo4jStore,
    connection::Connection,
    error::Neo4jError,
    graph_store::named as operation,
    plan::joined,
    rows::{SEPARATOR, integer, limited, size, texts},
    statements::{
        CHILDREN, LIST_TERMS, ONTOLOGY_VERSION, ONTOLOGY_VERSIONS, ROOTS, SEARCH_TERMS, TERM_HASHES, TERMS,
        VOCABULARIES,
    },
    versions::{Begin, Preparation, RollBack, Stage, Switching},
};
use crate::{
    domain::OntologyVersion,
    ports::{OntologyStore, PortError, StagedTerm, Staging, StoredTerm, Switch, TermEntry},
};

/// A version of a large vocabulary is not put in force within the time of a call.
const PATIENCE: Duration = Duration::from_secs(300);
/// After all keys of terms.
const END: char = '\u{10ffff}';

#[async_trait]
impl OntologyStore for Neo4jStore {
    async fn current(&self) -> Result<u64, PortError> {
        operation("ontology_current", async {
            let rows: Vec<NumberFound> = self.connection.read(ONTOLOGY_VERSION.query()).await?;
            Ok(rows.first().map_or(0, |row| row.number.cast_unsigned()))
        })
        .await
    }

    async fn versions(&self, before: Option<u64>, limit: usize) -> Result<Vec<OntologyVersion>, PortError> {
        operation("ontology_versions", async {
            let rows: Vec<BodyFound> = self.connection.read(versions_before(before, limit)).await?;
            rows.iter().map(|row| parsed(&row.body)).collect()
        })
        .await
    }

    async fn vocabularies(&self) -> Result<Vec<(String, usize)>, PortError> {
        #[derive(Deserialize)]
        struct Row {
            vocabulary: String,
            terms: i64,
        }
        operation("ontology_vocabularies", async {
            let rows: Vec<Row> = self.connection.read(VOCABULARIES.query()).await?;
            Ok(rows.into_iter().map(|row| (row.vocabulary, size(row.terms))).collect())
        })
        .await
    }

    async fn hashes(&self, vocabulary: &str) -> Result<BTreeMap<String, [u8; 32]>, PortError> {
        operation("ontology_hashes", async {
            let query = TERM_HASHES.query().param("vocabulary", joined(vocabulary, ""));
            let rows: Vec<HashFound> = self.connection.read(query).await?;
            rows.into_iter().map(HashFound::parts).collect()
        })
        .await
    }

    async fn begin(&self, vocabulary: &str, source_hash: &str) -> Result<Staging, PortError> {
        let mine = self.preparation().clone();
        operation("ontology_begin", async {
            let (preparation, staged) = self.connection.write(&Begin { mine, vocabulary, source_hash }).await?;
            let number = preparation.number.cast_unsigned();
            *self.preparation() = Some(preparation);
            Ok(Staging { number, staged })
        })
        .await
    }

    async fn stage(&self, number: u64, terms: &[StagedTerm]) -> Result<(), PortError> {
        let mine = self.preparation().clone();
        operation("ontology_stage", self.connection.write(&Stage { mine, number, terms })).await
    }

    async fn switch(&self, switch: &Switch) -> Result<OntologyVersion, PortError> {
        let mine = self.preparation().clone();
        operation("ontology_switch", async {
            self.connection.patient(PATIENCE)?.write(&Switching { mine, switch }).await
        })
        .await
    }

    async fn roll_back(&self, to: u64, version: &OntologyVersion) -> Result<Option<OntologyVersion>, PortError> {
        operation("ontology_roll_back", async {
            self.connection.patient(PATIENCE)?.write(&RollBack::new(to, version)).await
        })
        .await
    }

    async fn terms(&self, iris: &[String]) -> Result<Vec<StoredTerm>, PortError> {
        let query = TERMS.batch([("iris", texts(iris.iter().cloned()))]);
        operation("ontology_terms", stored(&self.connection, query)).await
    }

    async fn list_terms(
        &self,
        vocabulary: Option<&str>,
        after: Option<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<StoredTerm>, PortError> {
        let first = vocabulary.map_or_else(String::new, |vocabulary| joined(vocabulary, ""));
        let end = format!("{first}{END}");
        let after = after.map_or_else(String::new, |(vocabulary, iri)| joined(vocabulary, iri));
        let query = LIST_TERMS.query().param("after", first.max(after)).param("end", end);
        operation("ontology_list_terms", stored(&self.connection, query.param("limit", limited(limit)))).await
    }

    async fn children(
        &self,
        parent: Option<&str>,
        after: Option<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<TermEntry>, PortError> {
        let query = match parent {
            Some(parent) => CHILDREN.query().param("parent", parent),
            None => ROOTS.query(),
        };
        operation("ontology_children", entries(&self.connection, query, after, limit)).await
    }

    async fn search(&self, part: &str, after: Option<(&str, &str)>, limit: usize) -> Result<Vec<TermEntry>, PortError> {
        let query = SEARCH_TERMS.query().param("part", part);
        operation("ontology_search", entries(&self.connection, query, after, limit)).await
    }
}

impl Neo4jStore {
    fn preparation(&self) -> MutexGuard<'_, Option<Preparation>> {
        self.preparing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Deserialize)]
pub(super) struct NumberFound {
    pub(super) number: i64,
}

#[derive(Deserialize)]
pub(super) struct BodyFound {
    pub(super) body: String,
}

/// A row of the statement that gives hashes of terms in force.
#[derive(Deserialize)]
pub(super) struct HashFound {
    pub(super) vocabulary: String,
    pub(super) iri: String,
    pub(super) hash: String,
}

impl HashFound {
    fn parts(self) -> Result<(String, [u8; 32]), Neo4jError> {
        Ok((self.iri, digest(&self.hash)?))
    }
}

pub(super) fn digest(hash: &str) -> Result<[u8; 32], Neo4jError> {
    let mut digest = [0; 32];
    hex::decode_to_slice(hash, &mut digest).map_err(|_| Neo4jError::Unreadable("term"))?;
    Ok(digest)
}

pub(super) fn versions_before(before: Option<u64>, limit: usize) -> Query {
    let before = before.map_or(i64::MAX, integer);
    ONTOLOGY_VERSIONS.query().param("before", before).param("limit", limited(limit))
}

pub(super) fn parsed<T: DeserializeOwned>(body: &str) -> Result<T, Neo4jError> {
    serde_json::from_str(body).map_err(|_| Neo4jError::Unreadable("ontology"))
}

/// The key of a term as it came with a version: the first two parts name it while it is in force.
pub(super) fn term_key(vocabulary: &str, iri: &str, since: i64) -> String {
    format!("{vocabulary}{SEPARATOR}{iri}{SEPARATOR}{since}")
}

async fn stored(connection: &Connection, query: Query) -> Result<Vec<StoredTerm>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        vocabulary: String,
        body: String,
    }
    let rows: Vec<Row> = connection.read(query).await?;
    rows.into_iter().map(|row| Ok(StoredTerm { vocabulary: row.vocabulary, term: parsed(&row.body)? })).collect()
}

async fn entries(
    connection: &Connection,
    query: Query,
    after: Option<(&str, &str)>,
    limit: usize,
) -> Result<Vec<TermEntry>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        iri: String,
        label: String,
        narrower: i64,
    }
    let (label, uri) = after.unwrap_or_default();
    let query = query.param("label", label).param("uri", uri).param("limit", limited(limit));
    let rows: Vec<Row> = connection.read(query).await?;
    let entry = |row: Row| TermEntry { iri: row.iri, label: row.label, narrower: size(row.narrower) };
    Ok(rows.into_iter().map(entry).collect())
}
