//! Making a version of the ontologies: begin, stage, switch, roll back, each as one transaction.
//!
//! Processes share the one preparation there is. What is prepared is known by its number, vocabulary and file, and a process
//! goes on only with what it began itself; another file waits until nothing was heard of the preparation for [`HELD`]. So a
//! kill does not keep the same import from going on at once. The same file from two processes is the same terms.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use neo4rs::BoltType;
use serde::Deserialize;

use super::{
    connection::{Transaction, Work},
    error::Neo4jError,
    ontology::{BodyFound, HashFound, NumberFound, digest, parsed, term_key, versions_before},
    plan::joined,
    resources::{self, AT_ONCE},
    rows::{integer, list, map, texts},
    statements,
};
use crate::{
    domain::{GraphHash, OntologyVersion, Term},
    ports::{Row, StagedTerm, Switch, TermRow},
};

/// How long after its last step a preparation stands in the way of another: longer than the pauses between the steps of one.
const HELD: Duration = Duration::from_secs(30);

/// A version that is prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Preparation {
    pub(super) number: i64,
    vocabulary: String,
    source_hash: String,
}

/// See `OntologyStore::begin`. `mine` is what was begun here last.
pub(super) struct Begin<'a> {
    pub(super) mine: Option<Preparation>,
    pub(super) vocabulary: &'a str,
    pub(super) source_hash: &'a str,
}

impl Work for Begin<'_> {
    type Done = (Preparation, BTreeMap<String, [u8; 32]>);

    async fn within(&self, transaction: &mut Transaction) -> Result<Self::Done, Neo4jError> {
        take_turn(transaction, self.vocabulary).await?;
        let preparation = Preparation {
            number: current(transaction).await? + 1,
            vocabulary: self.vocabulary.to_owned(),
            source_hash: self.source_hash.to_owned(),
        };
        match found(transaction).await? {
            Some((there, _)) if there == preparation => {}
            Some((there, true)) if there.number == preparation.number && Some(&there) != self.mine.as_ref() => {
                return Err(Neo4jError::Conflict("ontology"));
            }
            _ => transaction.run(statements::CLEAR_STAGING.query()).await?,
        }
        hold(transaction, &preparation).await?;
        Ok((preparation, staged(transaction).await?))
    }
}

/// See `OntologyStore::stage`.
pub(super) struct Stage<'a> {
    pub(super) mine: Option<Preparation>,
    pub(super) number: u64,
    pub(super) terms: &'a [StagedTerm],
}

impl Work for Stage<'_> {
    type Done = ();

    async fn within(&self, transaction: &mut Transaction) -> Result<(), Neo4jError> {
        let Some(first) = self.terms.first() else { return Ok(()) };
        take_turn(transaction, &first.term.iri).await?;
        let preparation = prepared(transaction, self.mine.as_ref(), self.number).await?;
        hold(transaction, preparation).await?;
        let rows = self.terms.iter().map(|StagedTerm { term, keys }| {
            let iri = term.iri.as_str().into();
            let properties = term_properties(&preparation.vocabulary, preparation.number, term, keys)?;
            Ok(map([("iri", iri), ("properties", map(properties))]))
        });
        let rows = rows.collect::<Result<Vec<_>, Neo4jError>>()?;
        transaction.run(statements::STAGE.batch([("terms", list(rows))])).await
    }
}

/// See `OntologyStore::switch`. One that was made already, by a commit whose answer was lost, is found.
pub(super) struct Switching<'a> {
    pub(super) mine: Option<Preparation>,
    pub(super) switch: &'a Switch,
}

impl Work for Switching<'_> {
    type Done = OntologyVersion;

    async fn within(&self, transaction: &mut Transaction) -> Result<OntologyVersion, Neo4jError> {
        let Switch { version, removed } = self.switch;
        take_turn(transaction, &version.source_hash).await?;
        if let Some(there) = numbered(transaction, version.number).await? {
            let made = OntologyVersion { graph_hash: version.graph_hash.clone(), ..there.clone() } == *version;
            return if made { Ok(there) } else { Err(Neo4jError::Conflict("ontology")) };
        }
        let Preparation { number, vocabulary, .. } = prepared(transaction, self.mine.as_ref(), version.number).await?;
        let staged: Vec<String> = staged(transaction).await?.into_keys().collect();
        let touched: BTreeSet<String> = removed.iter().chain(&staged).cloned().collect();
        let touched: Vec<String> = touched.into_iter().collect();
        for iris in touched.chunks(AT_ONCE) {
            let present = texts(iris.iter().map(|iri| joined(vocabulary, iri)));
            let ended = [("present", present), ("number", (*number).into())];
            transaction.run(statements::END_TERMS.batch(ended)).await?;
        }
        for iris in staged.chunks(AT_ONCE) {
            let rows =
                iris.iter().map(|iri| map([("iri", iri.as_str().into()), ("present", joined(vocabulary, iri).into())]));
            transaction.run(statements::ADMIT_STAGED.batch([("terms", list(rows))])).await?;
        }
        transaction.run(statements::CLEAR_STAGING.query()).await?;
        resources::follow(transaction, &touched, version.at).await?;
        finished(transaction, version.clone()).await
    }
}

/// See `OntologyStore::roll_back`.
pub(super) struct RollBack<'a> {
    to: u64,
    version: &'a OntologyVersion,
    /// The number that an earlier try was about to commit, 0 before the first.
    tried: AtomicU64,
}

impl<'a> RollBack<'a> {
    pub(super) fn new(to: u64, version: &'a OntologyVersion) -> Self {
        Self { to, version, tried: AtomicU64::new(0) }
    }
}

impl Work for RollBack<'_> {
    type Done = Option<OntologyVersion>;

    async fn within(&self, transaction: &mut Transaction) -> Result<Option<OntologyVersion>, Neo4jError> {
        take_turn(transaction, &self.version.source).await?;
        let Some(known) = numbered(transaction, self.to).await? else { return Ok(None) };
        if let Some(there) = numbered(transaction, self.tried.load(Ordering::Relaxed)).await?
            && (&there.actor, there.at) == (&self.version.actor, self.version.at)
        {
            return Ok(Some(there));
        }
        let number = current(transaction).await? + 1;
        let (back, gone) = exchange(transaction, integer(self.to), number).await?;
        let touched: BTreeSet<&String> = back.iter().chain(&gone).map(|(_, iri)| iri).collect();
        let touched: Vec<String> = touched.into_iter().cloned().collect();
        transaction.run(statements::CLEAR_STAGING.query()).await?;
        resources::follow(transaction, &touched, self.version.at).await?;
        let version = OntologyVersion {
            number: number.cast_unsigned(),
            source_hash: known.graph_hash,
            new: back.difference(&gone).count() as u64,
            changed: back.intersection(&gone).count() as u64,
            removed: gone.difference(&back).count() as u64,
            ..self.version.clone()
        };
        let version = finished(transaction, version).await?;
        self.tried.store(version.number, Ordering::Relaxed);
        Ok(Some(version))
    }
}

/// Vocabulary and IRI of terms.
type Named = BTreeSet<(String, String)>;

/// Ends what came after version `to` and brings back what it ended; the terms that came back and those that went.
async fn exchange(transaction: &mut Transaction, to: i64, number: i64) -> Result<(Named, Named), Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        vocabulary: String,
        iri: String,
        key: Option<String>,
    }
    let numbers = || [("to", to.into()), ("number", number.into())];
    // Read before anything ends with the new version, which is after `to` as well.
    let held: Vec<Row> = transaction.rows(statements::HELD_THEN.batch(numbers())).await?;
    let ended: Vec<Row> = transaction.rows(statements::ENDED_SINCE.batch(numbers())).await?;
    for rows in held.chunks(AT_ONCE) {
        let rows = rows.iter().map(|row| {
            map([
                ("from", row.key.clone().into()),
                ("key", term_key(&row.vocabulary, &row.iri, number).into()),
                ("present", joined(&row.vocabulary, &row.iri).into()),
            ])
        });
        transaction.run(statements::BRING_BACK.batch([("terms", list(rows)), ("number", number.into())])).await?;
    }
    let names = |rows: Vec<Row>| rows.into_iter().map(|row| (row.vocabulary, row.iri)).collect();
    Ok((names(held), names(ended)))
}

async fn take_turn(transaction: &mut Transaction, turn: &str) -> Result<(), Neo4jError> {
    transaction.run(statements::TAKE_TURN.query().param("turn", turn)).await
}

async fn current(transaction: &mut Transaction) -> Result<i64, Neo4jError> {
    let rows: Vec<NumberFound> = transaction.rows(statements::ONTOLOGY_VERSION.query()).await?;
    Ok(rows.first().map_or(0, |row| row.number))
}

async fn numbered(transaction: &mut Transaction, number: u64) -> Result<Option<OntologyVersion>, Neo4jError> {
    let rows: Vec<BodyFound> = transaction.rows(versions_before(Some(number + 1), 1)).await?;
    let latest: Option<OntologyVersion> = rows.first().map(|row| parsed(&row.body)).transpose()?;
    Ok(latest.filter(|version| version.number == number))
}

/// What is prepared, and whether it stands in the way of another.
async fn found(transaction: &mut Transaction) -> Result<Option<(Preparation, bool)>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        number: i64,
        vocabulary: String,
        source_hash: String,
        held: bool,
    }
    let rows: Vec<Row> = transaction.rows(statements::STAGING.query()).await?;
    let preparation =
        |Row { number, vocabulary, source_hash, held }| (Preparation { number, vocabulary, source_hash }, held);
    Ok(rows.into_iter().next().map(preparation))
}

/// What was begun here, if it is the version numbered `number`, is prepared still, and none came in between.
async fn prepared<'a>(
    transaction: &mut Transaction,
    mine: Option<&'a Preparation>,
    number: u64,
) -> Result<&'a Preparation, Neo4jError> {
    let mine = mine.filter(|mine| mine.number == integer(number)).ok_or(Neo4jError::Conflict("ontology"))?;
    let there = found(transaction).await?.is_some_and(|(there, _)| there == *mine);
    if there && current(transaction).await? + 1 == mine.number {
        Ok(mine)
    } else {
        Err(Neo4jError::Conflict("ontology"))
    }
}

async fn hold(transaction: &mut Transaction, preparation: &Preparation) -> Result<(), Neo4jError> {
    let query = statements::HOLD_STAGING.batch([
        ("number", preparation.number.into()),
        ("vocabulary", preparation.vocabulary.as_str().into()),
        ("source_hash", preparation.source_hash.as_str().into()),
        ("held_millis", i64::try_from(HELD.as_millis()).unwrap_or(i64::MAX).into()),
    ]);
    transaction.run(query).await
}

async fn staged(transaction: &mut Transaction) -> Result<BTreeMap<String, [u8; 32]>, Neo4jError> {
    #[derive(Deserialize)]
    struct Row {
        iri: String,
        hash: String,
    }
    let rows: Vec<Row> = transaction.rows(statements::STAGED.query()).await?;
    rows.into_iter().map(|row| Ok((row.iri, digest(&row.hash)?))).collect()
}

/// The version with its graph hash, kept so.
async fn finished(transaction: &mut Transaction, version: OntologyVersion) -> Result<OntologyVersion, Neo4jError> {
    let rows: Vec<HashFound> = transaction.rows(statements::TERM_HASHES.query().param("vocabulary", "")).await?;
    let mut hash = GraphHash::default();
    for row in rows {
        hash.add(&row.vocabulary, &digest(&row.hash)?);
    }
    let version = OntologyVersion { graph_hash: hash.to_string(), ..version };
    put_versions(transaction, [&version]).await?;
    Ok(version)
}

async fn put_versions(
    transaction: &mut Transaction,
    versions: impl IntoIterator<Item = &OntologyVersion>,
) -> Result<(), Neo4jError> {
    let rows = versions.into_iter().map(|version| {
        let body = serde_json::to_string(version).map_err(|_| Neo4jError::Unwritable("version"))?;
        Ok(map([("number", integer(version.number).into()), ("body", body.into())]))
    });
    let rows = rows.collect::<Result<Vec<_>, Neo4jError>>()?;
    transaction.run(statements::PUT_ONTOLOGY_VERSIONS.batch([("versions", list(rows))])).await
}

/// Adds versions and terms from an archive. Concepts and the edges between them are rows of their own.
pub(super) async fn add(transaction: &mut Transaction, rows: &[Row]) -> Result<(), Neo4jError> {
    let versions: Vec<&OntologyVersion> = rows
        .iter()
        .filter_map(|row| match row {
            Row::OntologyVersion(version) => Some(version),
            _ => None,
        })
        .collect();
    if !versions.is_empty() {
        put_versions(transaction, versions).await?;
    }
    let mut terms = Vec::new();
    let mut present: BTreeSet<String> = BTreeSet::new();
    for row in rows {
        let Row::Term(row) = row else { continue };
        let TermRow { vocabulary, since, until, keys, term } = &**row;
        let mut properties = term_properties(vocabulary, integer(*since), term, keys)?.to_vec();
        match until {
            Some(until) => properties.push(("until", integer(*until).into())),
            None => {
                properties.push(("present", joined(vocabulary, &term.iri).into()));
                present.insert(term.iri.clone());
            }
        }
        terms.push(map(properties));
    }
    if !terms.is_empty() {
        transaction.run(statements::ADD_TERMS.batch([("terms", list(terms))])).await?;
        resources::show(transaction, &present.into_iter().collect::<Vec<_>>()).await?;
    }
    Ok(())
}

/// What is kept of a term that came with version `since`.
pub(super) fn term_properties(
    vocabulary: &str,
    since: i64,
    term: &Term,
    keys: &[String],
) -> Result<[(&'static str, BoltType); 7], Neo4jError> {
    let body = serde_json::to_string(term).map_err(|_| Neo4jError::Unwritable("term"))?;
    Ok([
        ("key", term_key(vocabulary, &term.iri, since).into()),
        ("vocabulary", vocabulary.into()),
        ("iri", term.iri.as_str().into()),
        ("since", since.into()),
        ("hash", hex::encode(term.hash()).into()),
        ("keys", texts(keys.iter().cloned())),
        ("body", body.into()),
    ])
}
