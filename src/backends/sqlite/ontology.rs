//! The `OntologyStore` port: terms in versions, and what follows from them for concepts and the edges between these.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params};

use super::{
    SqliteStore,
    apply::scope_id,
    error::SqliteError,
    read::{limited, size},
    rows::{integer, texts},
};
use crate::{
    domain::{GraphHash, OntologyVersion, Scope, Term},
    ports::{OntologyStore, PortError, StagedTerm, Staging, StoredTerm, Switch, TermEntry, TermRow},
};

#[async_trait]
impl OntologyStore for SqliteStore {
    async fn current(&self) -> Result<u64, PortError> {
        self.read("ontology_current", current).await
    }

    async fn versions(&self, before: Option<u64>, limit: usize) -> Result<Vec<OntologyVersion>, PortError> {
        self.read("ontology_versions", move |connection| {
            connection
                .prepare_cached("SELECT body FROM ontology_version WHERE number < ?1 ORDER BY number DESC LIMIT ?2")?
                .query_and_then(params![before.map_or(i64::MAX, integer), limited(limit)], |row| parsed(row, 0))?
                .collect()
        })
        .await
    }

    async fn vocabularies(&self) -> Result<Vec<(String, usize)>, PortError> {
        self.read("ontology_vocabularies", |connection| {
            connection
                .prepare_cached(
                    "SELECT vocabulary, count(*) FROM ontology_term WHERE until IS NULL GROUP BY vocabulary ORDER BY 1",
                )?
                .query_and_then([], |row| Ok((row.get(0)?, size(row.get(1)?))))?
                .collect()
        })
        .await
    }

    async fn hashes(&self, vocabulary: &str) -> Result<BTreeMap<String, [u8; 32]>, PortError> {
        let vocabulary = vocabulary.to_owned();
        self.read("ontology_hashes", move |connection| {
            connection
                .prepare_cached("SELECT iri, hash FROM ontology_term WHERE vocabulary = ?1 AND until IS NULL")?
                .query_and_then([vocabulary], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })
        .await
    }

    async fn begin(&self, vocabulary: &str, source_hash: &str) -> Result<Staging, PortError> {
        let (vocabulary, source_hash) = (vocabulary.to_owned(), source_hash.to_owned());
        self.write("ontology_begin", move |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let staging = begin(&transaction, &vocabulary, &source_hash)?;
            transaction.commit()?;
            Ok(staging)
        })
        .await
    }

    async fn stage(&self, number: u64, terms: &[StagedTerm]) -> Result<(), PortError> {
        let terms = terms.to_vec();
        self.write("ontology_stage", move |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            stage(&transaction, number, &terms)?;
            Ok(transaction.commit()?)
        })
        .await
    }

    async fn switch(&self, switch: &Switch) -> Result<OntologyVersion, PortError> {
        let switch = switch.clone();
        self.write("ontology_switch", move |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let version = put_in_force(&transaction, &switch)?;
            transaction.commit()?;
            Ok(version)
        })
        .await
    }

    async fn roll_back(&self, to: u64, version: &OntologyVersion) -> Result<Option<OntologyVersion>, PortError> {
        let version = version.clone();
        self.write("ontology_roll_back", move |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let version = roll_back(&transaction, to, version)?;
            transaction.commit()?;
            Ok(version)
        })
        .await
    }

    async fn terms(&self, iris: &[String]) -> Result<Vec<StoredTerm>, PortError> {
        let iris = iris.to_vec();
        self.read("ontology_terms", move |connection| {
            connection
                .prepare_cached(
                    "SELECT t.vocabulary, t.body FROM rarray(?1) asked CROSS JOIN ontology_term t ON t.iri = asked.value
                     WHERE t.until IS NULL ORDER BY asked.rowid, t.vocabulary",
                )?
                .query_and_then([texts(&iris)], stored)?
                .collect()
        })
        .await
    }

    async fn list_terms(
        &self,
        vocabulary: Option<&str>,
        after: Option<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<StoredTerm>, PortError> {
        let vocabulary = vocabulary.map(str::to_owned);
        let (of, iri) = owned(after);
        self.read("ontology_list_terms", move |connection| {
            connection
                .prepare_cached(
                    "SELECT vocabulary, body FROM ontology_term
                     WHERE until IS NULL AND (?1 IS NULL OR vocabulary = ?1) AND (vocabulary, iri) > (?2, ?3)
                     ORDER BY vocabulary, iri LIMIT ?4",
                )?
                .query_and_then(params![vocabulary, of, iri, limited(limit)], stored)?
                .collect()
        })
        .await
    }

    async fn children(
        &self,
        parent: Option<&str>,
        after: Option<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<TermEntry>, PortError> {
        let parent = parent.map(str::to_owned);
        let (label, iri) = owned(after);
        self.read("ontology_children", move |connection| match parent {
            Some(parent) => entries(connection, CHILDREN, params![parent, label, iri, limited(limit)]),
            None => entries(connection, ROOTS, params![None::<String>, label, iri, limited(limit)]),
        })
        .await
    }

    async fn search(&self, part: &str, after: Option<(&str, &str)>, limit: usize) -> Result<Vec<TermEntry>, PortError> {
        let part = part.to_owned();
        let (label, iri) = owned(after);
        self.read("ontology_search", move |connection| {
            entries(connection, SEARCH, params![part, label, iri, limited(limit)])
        })
        .await
    }
}

const CHILDREN: &str = "
    SELECT c.key, c.label, (SELECT count(*) FROM concept_edge n WHERE n.target = c.rowid AND n.kind = 'BROADER')
    FROM concept_edge e JOIN concept c ON c.rowid = e.source
    WHERE e.target = (SELECT rowid FROM concept WHERE key = ?1) AND e.kind = 'BROADER' AND (c.label, c.key) > (?2, ?3)
    ORDER BY c.label, c.key LIMIT ?4";
const ROOTS: &str = "
    SELECT c.key, c.label, (SELECT count(*) FROM concept_edge n WHERE n.target = c.rowid AND n.kind = 'BROADER')
    FROM concept c WHERE c.origin = 'ontology' AND (c.label, c.key) > (?2, ?3) AND ?1 IS NULL
        AND NOT EXISTS (SELECT 1 FROM concept_edge e WHERE e.source = c.rowid AND e.kind = 'BROADER')
    ORDER BY c.label, c.key LIMIT ?4";
const SEARCH: &str = "
    SELECT c.key, c.label, (SELECT count(*) FROM concept_edge n WHERE n.target = c.rowid AND n.kind = 'BROADER')
    FROM concept c WHERE c.origin = 'ontology' AND (c.label, c.key) > (?2, ?3)
        AND EXISTS (SELECT 1 FROM concept_label l WHERE l.concept = c.rowid AND instr(l.key, ?1))
    ORDER BY c.label, c.key LIMIT ?4";

fn entries(
    connection: &Connection,
    sql: &'static str,
    params: impl rusqlite::Params,
) -> Result<Vec<TermEntry>, SqliteError> {
    let entry = |row: &Row<'_>| Ok(TermEntry { iri: row.get(0)?, label: row.get(1)?, narrower: size(row.get(2)?) });
    connection.prepare_cached(sql)?.query_and_then(params, entry)?.collect()
}

fn owned(after: Option<(&str, &str)>) -> (String, String) {
    after.map_or_else(Default::default, |(one, other)| (one.to_owned(), other.to_owned()))
}

pub(super) fn current(connection: &Connection) -> Result<u64, SqliteError> {
    let number: Option<i64> =
        connection.prepare_cached("SELECT max(number) FROM ontology_version")?.query_row([], |row| row.get(0))?;
    Ok(number.unwrap_or(0).cast_unsigned())
}

fn begin(transaction: &Transaction<'_>, vocabulary: &str, source_hash: &str) -> Result<Staging, SqliteError> {
    let number = current(transaction)? + 1;
    let goes_on = transaction
        .prepare_cached("SELECT 1 FROM ontology_staging WHERE number = ?1 AND vocabulary = ?2 AND source_hash = ?3")?
        .exists(params![integer(number), vocabulary, source_hash])?;
    if !goes_on {
        transaction.execute_batch("DELETE FROM ontology_staged; DELETE FROM ontology_staging;")?;
        transaction
            .prepare_cached("INSERT INTO ontology_staging (number, vocabulary, source_hash) VALUES (?1, ?2, ?3)")?
            .execute(params![integer(number), vocabulary, source_hash])?;
    }
    let staged = transaction
        .prepare_cached("SELECT iri, hash FROM ontology_staged")?
        .query_and_then([], |row| Ok::<_, SqliteError>((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    Ok(Staging { number, staged })
}

fn stage(transaction: &Transaction<'_>, number: u64, terms: &[StagedTerm]) -> Result<(), SqliteError> {
    refuse_unprepared(transaction, number)?;
    let mut statement = transaction.prepare_cached(
        "INSERT OR REPLACE INTO ontology_staged (iri, is_concept, hash, keys, body) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for StagedTerm { term, keys } in terms {
        let body = serde_json::to_string(term).map_err(|_| SqliteError::Unwritable("term"))?;
        let keys = serde_json::to_string(keys).map_err(|_| SqliteError::Unwritable("term"))?;
        statement.execute(params![term.iri, term.kind.is_concept(), term.hash(), keys, body])?;
    }
    Ok(())
}

/// Another version was put in force, or prepared, since `number` was.
fn refuse_unprepared(transaction: &Transaction<'_>, number: u64) -> Result<(), SqliteError> {
    let prepared =
        transaction.prepare_cached("SELECT 1 FROM ontology_staging WHERE number = ?1")?.exists([integer(number)])?;
    if prepared && current(transaction)? + 1 == number { Ok(()) } else { Err(SqliteError::Conflict("ontology")) }
}

fn put_in_force(transaction: &Transaction<'_>, switch: &Switch) -> Result<OntologyVersion, SqliteError> {
    let Switch { version, removed } = switch;
    let number = integer(version.number);
    refuse_unprepared(transaction, version.number)?;
    // Terms refer to their version, whose graph hash is known in the end.
    put_version(transaction, version)?;
    let mut touched: BTreeSet<String> = removed.iter().cloned().collect();
    {
        let mut end = transaction.prepare_cached(
            "UPDATE ontology_term SET until = ?3 WHERE vocabulary = ?1 AND iri = ?2 AND until IS NULL",
        )?;
        for iri in removed {
            end.execute(params![version.vocabulary, iri, number])?;
        }
        let mut staged =
            transaction.prepare_cached("SELECT iri, is_concept, hash, keys, body FROM ontology_staged ORDER BY iri")?;
        let mut rows = staged.query([])?;
        while let Some(row) = rows.next()? {
            let iri: String = row.get(0)?;
            end.execute(params![version.vocabulary, iri, number])?;
            put_term(transaction, &version.vocabulary, number, row)?;
            touched.insert(iri);
        }
    }
    transaction.execute_batch("DELETE FROM ontology_staged; DELETE FROM ontology_staging;")?;
    follow(transaction, &touched, version)?;
    finished(transaction, version.clone())
}

fn roll_back(
    transaction: &Transaction<'_>,
    to: u64,
    version: OntologyVersion,
) -> Result<Option<OntologyVersion>, SqliteError> {
    let known = transaction
        .prepare_cached("SELECT body FROM ontology_version WHERE number = ?1")?
        .query_and_then([integer(to)], |row| parsed::<OntologyVersion>(row, 0))?
        .next()
        .transpose()?;
    let Some(known) = known else { return Ok(None) };
    let number = current(transaction)? + 1;
    let mut version = OntologyVersion { number, source_hash: known.graph_hash, ..version };
    put_version(transaction, &version)?;
    let (number, to) = (integer(number), integer(to));
    let mut gone: BTreeSet<(String, String)> = BTreeSet::new();
    let mut back: BTreeSet<(String, String)> = BTreeSet::new();
    {
        let mut closed = transaction
            .prepare_cached("SELECT vocabulary, iri FROM ontology_term WHERE until IS NULL AND since > ?1")?;
        let mut rows = closed.query([to])?;
        while let Some(row) = rows.next()? {
            gone.insert((row.get(0)?, row.get(1)?));
        }
        transaction
            .prepare_cached("UPDATE ontology_term SET until = ?2 WHERE until IS NULL AND since > ?1")?
            .execute([to, number])?;
        let mut opened = transaction.prepare_cached(
            "SELECT iri, is_concept, hash, keys, body, vocabulary FROM ontology_term
             WHERE since <= ?1 AND until > ?1 AND since < ?2 ORDER BY vocabulary, iri",
        )?;
        let mut rows = opened.query([to, number])?;
        while let Some(row) = rows.next()? {
            let vocabulary: String = row.get(5)?;
            put_term(transaction, &vocabulary, number, row)?;
            back.insert((vocabulary, row.get(0)?));
        }
    }
    version.new = back.difference(&gone).count() as u64;
    version.changed = back.intersection(&gone).count() as u64;
    version.removed = gone.difference(&back).count() as u64;
    transaction.execute_batch("DELETE FROM ontology_staged; DELETE FROM ontology_staging;")?;
    let touched = gone.into_iter().chain(back).map(|(_, iri)| iri).collect();
    follow(transaction, &touched, &version)?;
    finished(transaction, version).map(Some)
}

fn put_version(transaction: &Transaction<'_>, version: &OntologyVersion) -> Result<(), SqliteError> {
    let body = serde_json::to_string(version).map_err(|_| SqliteError::Unwritable("version"))?;
    transaction
        .prepare_cached(
            "INSERT INTO ontology_version (number, body) VALUES (?1, ?2)
             ON CONFLICT DO UPDATE SET body = excluded.body",
        )?
        .execute(params![integer(version.number), body])?;
    Ok(())
}

/// Adds the term of a row that begins with `iri, is_concept, hash, keys, body`.
fn put_term(transaction: &Transaction<'_>, vocabulary: &str, since: i64, row: &Row<'_>) -> Result<(), SqliteError> {
    insert_term(transaction, vocabulary, (since, None), &parsed(row, 4)?, &row.get::<_, String>(3)?)
}

/// Adds a term with the versions it came and ended with; `keys` is a list in JSON.
fn insert_term(
    transaction: &Transaction<'_>,
    vocabulary: &str,
    (since, until): (i64, Option<i64>),
    term: &Term,
    keys: &str,
) -> Result<(), SqliteError> {
    let body = serde_json::to_string(term).map_err(|_| SqliteError::Unwritable("term"))?;
    transaction
        .prepare_cached(
            "INSERT INTO ontology_term (vocabulary, iri, since, until, is_concept, hash, keys, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![vocabulary, term.iri, since, until, term.kind.is_concept(), term.hash(), keys, body])?;
    let rowid = transaction.last_insert_rowid();
    let mut link = transaction.prepare_cached(
        "INSERT INTO ontology_link (term, kind, target, weight) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET weight = max(weight, excluded.weight)",
    )?;
    for other in term.links.iter().filter(|other| other.to != term.iri) {
        if let Some((kind, weight)) = other.relation.edge() {
            link.execute(params![rowid, kind.name(), other.to, f64::from(weight)])?;
        }
    }
    Ok(())
}

/// Adds a version from an archive.
pub(super) fn add_version(transaction: &Transaction<'_>, version: &OntologyVersion) -> Result<(), SqliteError> {
    let there = transaction
        .prepare_cached("SELECT 1 FROM ontology_version WHERE number = ?1")?
        .exists([integer(version.number)])?;
    if there { Err(SqliteError::Conflict("version")) } else { put_version(transaction, version) }
}

/// Adds a term from an archive. Its concept and the edges of that are rows of their own; its names are not.
pub(super) fn add_term(transaction: &Transaction<'_>, row: &TermRow) -> Result<(), SqliteError> {
    let TermRow { vocabulary, since, until, keys, term } = row;
    let json = serde_json::to_string(keys).map_err(|_| SqliteError::Unwritable("term"))?;
    insert_term(transaction, vocabulary, (integer(*since), until.map(integer)), term, &json)?;
    if until.is_none() && term.kind.is_concept() {
        let mut statement = transaction.prepare_cached(
            "INSERT OR IGNORE INTO concept_label (concept, key) SELECT rowid, ?2 FROM concept WHERE key = ?1",
        )?;
        for key in keys {
            statement.execute(params![term.iri, key])?;
        }
    }
    Ok(())
}

/// From the columns `vocabulary, since, until, keys, body` after the first.
pub(super) fn term_row(row: &Row<'_>) -> Result<TermRow, SqliteError> {
    Ok(TermRow {
        vocabulary: row.get(1)?,
        since: row.get::<_, i64>(2)?.cast_unsigned(),
        until: row.get::<_, Option<i64>>(3)?.map(i64::cast_unsigned),
        keys: parsed(row, 4)?,
        term: parsed(row, 5)?,
    })
}

/// Brings concepts, their labels and the edges between them to what the terms say now.
fn follow(
    transaction: &Transaction<'_>,
    touched: &BTreeSet<String>,
    version: &OntologyVersion,
) -> Result<(), SqliteError> {
    let mut present = transaction.prepare_cached(
        "SELECT body, keys FROM ontology_term WHERE iri = ?1 AND until IS NULL AND is_concept ORDER BY vocabulary",
    )?;
    let mut drop_concept = transaction.prepare_cached("DELETE FROM concept WHERE key = ?1 AND origin = 'ontology'")?;
    let mut put_concept = transaction.prepare_cached(
        "INSERT INTO concept (id, key, label, origin) VALUES (?1, ?2, ?3, 'ontology')
         ON CONFLICT (key) DO UPDATE SET label = excluded.label RETURNING rowid",
    )?;
    for iri in touched {
        let mut concept = None;
        let mut keys: BTreeSet<String> = BTreeSet::new();
        let mut rows = present.query([iri])?;
        while let Some(row) = rows.next()? {
            // The first vocabulary names it, all give it labels.
            if concept.is_none() {
                concept = Some(parsed::<Term>(row, 0)?.concept());
            }
            keys.extend(parsed::<Vec<String>>(row, 1)?);
        }
        let Some(concept) = concept else {
            drop_concept.execute([iri])?;
            continue;
        };
        let rowid: i64 =
            put_concept.query_row(params![concept.id.0.as_bytes(), iri, concept.label], |row| row.get(0))?;
        relabel(transaction, rowid, &keys, version)?;
    }
    drop((present, put_concept));
    rejoin(transaction, touched, version)
}

fn relabel(
    transaction: &Transaction<'_>,
    concept: i64,
    keys: &BTreeSet<String>,
    version: &OntologyVersion,
) -> Result<(), SqliteError> {
    let known: BTreeSet<String> = transaction
        .prepare_cached("SELECT key FROM concept_label WHERE concept = ?1")?
        .query_map([concept], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    if known == *keys {
        return Ok(());
    }
    // Whether those still hold, the next linking says.
    transaction
        .prepare_cached(
            "INSERT INTO mention_state
             SELECT memory, concept, kind, memory_scope, scope, weight, reason, recorded_at, since, ?2
             FROM mention WHERE concept = ?1 AND reason = 'ontology'",
        )?
        .execute(params![concept, version.at.as_microsecond()])?;
    transaction.prepare_cached("DELETE FROM mention WHERE concept = ?1 AND reason = 'ontology'")?.execute([concept])?;
    transaction.prepare_cached("DELETE FROM concept_label WHERE concept = ?1")?.execute([concept])?;
    let mut statement = transaction.prepare_cached("INSERT INTO concept_label (concept, key) VALUES (?1, ?2)")?;
    for key in keys {
        statement.execute(params![concept, key])?;
    }
    Ok(())
}

macro_rules! put_edges {
    ($($from:literal),+) => {
        concat!(
            "INSERT INTO concept_edge (source, kind, target, scope, weight, reason, recorded_at)
             SELECT s.rowid, l.kind, t.rowid, ?2, l.weight, 'ontology', ?3 FROM ",
            $($from,)+
            " ON CONFLICT DO UPDATE SET weight = max(weight, excluded.weight)"
        )
    };
}
const EDGES_FROM: &str = put_edges!(
    "ontology_term x JOIN ontology_link l ON l.term = x.rowid JOIN concept s ON s.key = x.iri
     JOIN concept t ON t.key = l.target WHERE x.iri = ?1 AND x.until IS NULL"
);
const EDGES_TO: &str = put_edges!(
    "ontology_link l JOIN ontology_term x ON x.rowid = l.term JOIN concept s ON s.key = x.iri
     JOIN concept t ON t.key = l.target WHERE l.target = ?1 AND x.until IS NULL"
);

/// Makes the edges anew that leave or reach the touched concepts.
fn rejoin(
    transaction: &Transaction<'_>,
    touched: &BTreeSet<String>,
    version: &OntologyVersion,
) -> Result<(), SqliteError> {
    let global = scope_id(transaction, &Scope::Global)?;
    let mut drop_edges = transaction.prepare_cached(
        "DELETE FROM concept_edge WHERE reason = 'ontology' AND source = (SELECT rowid FROM concept WHERE key = ?1)",
    )?;
    let at = version.at.as_microsecond();
    let mut from_here = transaction.prepare_cached(EDGES_FROM)?;
    let mut to_here = transaction.prepare_cached(EDGES_TO)?;
    for iri in touched {
        drop_edges.execute([iri])?;
    }
    for iri in touched {
        from_here.execute(params![iri, global, at])?;
        to_here.execute(params![iri, global, at])?;
    }
    Ok(())
}

/// The version with its graph hash, kept so.
fn finished(transaction: &Transaction<'_>, version: OntologyVersion) -> Result<OntologyVersion, SqliteError> {
    let mut hash = GraphHash::default();
    let mut statement = transaction.prepare_cached("SELECT vocabulary, hash FROM ontology_term WHERE until IS NULL")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        hash.add(&row.get::<_, String>(0)?, &row.get::<_, [u8; 32]>(1)?);
    }
    let version = OntologyVersion { graph_hash: hash.to_string(), ..version };
    put_version(transaction, &version)?;
    Ok(version)
}

fn stored(row: &Row<'_>) -> Result<StoredTerm, SqliteError> {
    Ok(StoredTerm { vocabulary: row.get(0)?, term: parsed(row, 1)? })
}

pub(super) fn parsed<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T, SqliteError> {
    let text = row.get_ref(column)?.as_str().map_err(|_| SqliteError::Unreadable("ontology"))?;
    serde_json::from_str(text).map_err(|_| SqliteError::Unreadable("ontology"))
}
