//! Imports a file as a plan: read, compare, say; and if it is to be done, stage the difference and put it in force at once.
//!
//! A kill before the switch leaves the version before in force; the same import again takes up what was staged.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{OntologyContext, link, model::Model, model::Read, plan::Plan, reader, show::VersionRecord};
use crate::{
    domain::{Caller, ChangeId, ChangeSet, OntologyVersion, Relation, Right, Term, TermKind},
    error::{Error, ErrorCode},
    input::{self, outgoing},
    ports::{StagedTerm, Switch},
    telemetry::timed,
    text,
};

/// Terms staged in one transaction.
const BATCH: usize = 1000;
/// Skipped subjects that an answer lists.
const LISTED: usize = 100;
const NAME_BYTES: usize = 1000;

/// A file to import.
#[derive(Debug, Clone, Default)]
pub struct ImportRequest {
    /// Its name, without a folder.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The vocabulary that it is; without one, what the file calls itself, or its name.
    pub vocabulary: Option<String>,
    /// For a table: how it is read.
    pub mapping: Option<String>,
    /// Only say what it would do.
    pub dry_run: bool,
    /// Take away what the file no longer has, however much it is.
    pub allow_removals: bool,
}

/// What an import did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ImportReply {
    /// Version in force after it; of a dry run, the one before.
    pub version: i64,
    /// The vocabulary.
    pub vocabulary: String,
    /// Format of the file.
    pub format: String,
    /// Terms that came in.
    pub new: i64,
    /// Terms that became others.
    pub changed: i64,
    /// Terms that went.
    pub removed: i64,
    /// Terms that are as they were.
    pub unchanged: i64,
    /// Subjects of the file that are no terms, the first hundred.
    pub skipped: Vec<Skipped>,
    /// How many those are.
    pub skipped_total: i64,
    /// What is odd about the file.
    pub warnings: Vec<String>,
    /// IRIs of terms that it would take away, the first hundred.
    pub removals: Vec<String>,
    /// What is in the file, in numbers.
    pub statements: i64,
    /// Classes in it.
    pub classes: i64,
    /// Concepts in it.
    pub concepts: i64,
    /// Individuals in it.
    pub individuals: i64,
    /// Properties of all kinds in it.
    pub properties: i64,
    /// Broader terms and superclasses that are stated.
    pub broader: i64,
    /// Related terms that are stated, in both directions.
    pub related: i64,
    /// Terms not to be used any longer.
    pub deprecated: i64,
    /// Hash of the graph of all vocabularies in force.
    pub graph_hash: String,
    /// Memories that were linked to what came in.
    pub linked: i64,
}

/// A subject that is no term.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Skipped {
    /// Its IRI.
    #[serde(rename = "where")]
    pub place: String,
    /// Why.
    pub why: String,
}

/// What an import is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// Nothing is under way.
    #[default]
    Idle,
    /// The file is read.
    Reading,
    /// Terms are staged.
    Staging,
    /// The version is put in force.
    Switching,
    /// Memories are linked.
    Linking,
}

impl Stage {
    /// Its name in every interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Reading => "reading",
            Self::Staging => "staging",
            Self::Switching => "switching",
            Self::Linking => "linking",
        }
    }
}

/// How far the import that is under way has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// What it is doing.
    pub stage: Stage,
    /// Steps of that done.
    pub done: usize,
    /// Steps of that in all.
    pub total: usize,
}

/// Imports a file, or says what that would do.
pub async fn import(ctx: &OntologyContext, caller: &Caller, request: ImportRequest) -> Result<ImportReply, Error> {
    input::require(caller, Right::OntologyImport)?;
    let name = input::text("name", request.name.clone(), NAME_BYTES)?;
    let vocabulary = input::optional_text("vocabulary", request.vocabulary.clone(), NAME_BYTES)?;
    let _turn = turn(ctx)?;
    let _under_way = UnderWay(ctx);
    tell(ctx, Stage::Reading, 0, 1);
    let (format, read, source_hash) = timed("read_ontology", read_file(ctx, request.clone())).await?;
    let vocabulary = vocabulary.or_else(|| read.name.clone()).unwrap_or_else(|| stem(&name).to_owned());
    let stored = ctx.store.hashes(&vocabulary).await?;
    let Read { terms, counts, skipped, warnings, .. } = read;
    if counts.statements == 0 {
        return Err(Error { place: Some((1, 1)), ..Error::bad_input("file", "says nothing (line 1, column 1)") });
    }
    let plan = tokio::task::spawn_blocking(move || Plan::of(terms, stored)).await.map_err(|_| broken())?;
    let count = |kinds: &[TermKind]| outgoing(kinds.iter().filter_map(|kind| counts.kinds.get(kind)).sum::<usize>());
    let related = |relation| outgoing(counts.relations.get(&relation).copied().unwrap_or(0));
    let current = ctx.store.current().await?;
    let mut reply = ImportReply {
        version: outgoing(current),
        vocabulary: vocabulary.clone(),
        format: format.name().to_owned(),
        new: outgoing(plan.new),
        changed: outgoing(plan.changed()),
        removed: outgoing(plan.removed.len()),
        unchanged: outgoing(plan.unchanged),
        skipped_total: outgoing(skipped.len()),
        skipped: skipped.into_iter().take(LISTED).map(|(place, why)| Skipped { place, why }).collect(),
        warnings,
        removals: plan.removed.iter().take(LISTED).cloned().collect(),
        statements: outgoing(counts.statements),
        classes: count(&[TermKind::Class]),
        concepts: count(&[TermKind::Concept]),
        individuals: count(&[TermKind::Individual]),
        properties: outgoing(
            counts.kinds.iter().filter(|(kind, _)| kind.is_property()).map(|(_, count)| count).sum::<usize>(),
        ),
        broader: related(Relation::Broader),
        related: related(Relation::Related),
        deprecated: outgoing(counts.deprecated),
        graph_hash: graph_hash(ctx).await?,
        linked: 0,
    };
    if request.dry_run {
        return Ok(reply);
    }
    if plan.removed_share() > ctx.settings.max_removed_share && !request.allow_removals {
        let message = format!("file: would take away {} terms of {vocabulary}", plan.removed.len());
        let error = Error { field: Some("file".into()), ..Error::new(ErrorCode::BadUserInput, message) };
        return Err(error.advise("look at a dry run, then allow removals"));
    }
    if !plan.is_empty() {
        let version = OntologyVersion {
            vocabulary,
            at: ctx.clock.now(),
            actor: caller.principal.clone(),
            source: name,
            source_hash,
            new: plan.new as u64,
            changed: plan.changed() as u64,
            removed: plan.removed.len() as u64,
            ..OntologyVersion::default()
        };
        let version = apply(ctx, caller, plan, version).await?;
        reply.version = outgoing(version.number);
        reply.graph_hash = version.graph_hash;
    }
    reply.linked = outgoing(linked(ctx).await?);
    Ok(reply)
}

/// Puts the difference in force as the next version.
async fn apply(
    ctx: &OntologyContext,
    caller: &Caller,
    plan: Plan,
    version: OntologyVersion,
) -> Result<OntologyVersion, Error> {
    audited(ctx, caller, "import_ontology").await?;
    let staging = ctx.store.begin(&version.vocabulary, &version.source_hash).await?;
    let total = plan.put.len();
    let mut done = 0;
    for batch in plan.put.chunks(BATCH) {
        let missing = batch.iter().filter(|term| staging.staged.get(&term.iri) != Some(&term.hash()));
        let staged: Vec<StagedTerm> = missing.map(staged).collect();
        if !staged.is_empty() {
            ctx.store.stage(staging.number, &staged).await?;
        }
        done += batch.len();
        tell(ctx, Stage::Staging, done, total);
    }
    tell(ctx, Stage::Switching, 0, 1);
    let version = OntologyVersion { number: staging.number, ..version };
    let (store, switch) = (ctx.store.clone(), Switch { version, removed: plan.removed });
    let turn = ctx.turn.clone().lock_owned().await;
    // A caller that goes away meanwhile does not stop it.
    let switched = tokio::spawn(async move {
        let switched = timed("switch_ontology", store.switch(&switch)).await;
        drop(turn);
        switched
    });
    Ok(switched.await.map_err(|_| broken())??)
}

fn staged(term: &Term) -> StagedTerm {
    let keys: std::collections::BTreeSet<String> =
        term.labels.iter().map(|label| text::concept_key(&label.text).0).filter(|key| !key.is_empty()).collect();
    StagedTerm { term: term.clone(), keys: keys.into_iter().collect() }
}

/// Makes the version numbered `to` the one in force again, as a new version.
pub async fn rollback(ctx: &OntologyContext, caller: &Caller, to: i64) -> Result<VersionRecord, Error> {
    input::require(caller, Right::OntologyImport)?;
    let number = u64::try_from(to).ok().filter(|to| *to > 0);
    let number = number.ok_or_else(|| Error::bad_input("version", "must be at least 1"))?;
    let _turn = turn(ctx)?;
    let _under_way = UnderWay(ctx);
    audited(ctx, caller, "roll_back_ontology").await?;
    let version = OntologyVersion {
        at: ctx.clock.now(),
        actor: caller.principal.clone(),
        source: format!("version {number}"),
        ..OntologyVersion::default()
    };
    tell(ctx, Stage::Switching, 0, 1);
    let version = {
        let _writers_wait = ctx.turn.lock().await;
        ctx.store.roll_back(number, &version).await?.ok_or_else(|| Error::not_found("version"))?
    };
    linked(ctx).await?;
    Ok(version.into())
}

/// The versions, latest first.
pub async fn versions(
    ctx: &OntologyContext,
    caller: &Caller,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<VersionRecord>, Error> {
    input::require(caller, Right::MemoryRead)?;
    let before = before.map(|before| u64::try_from(before).unwrap_or(0));
    let versions = ctx.store.versions(before, input::count("limit", limit, 1000)?).await?;
    Ok(versions.into_iter().map(VersionRecord::from).collect())
}

/// The names of the terms in force are those that are looked for from now on, and old memories follow.
async fn linked(ctx: &OntologyContext) -> Result<usize, Error> {
    link::link_behind(ctx, |done, total| tell(ctx, Stage::Linking, done, total)).await
}

async fn read_file(ctx: &OntologyContext, request: ImportRequest) -> Result<(reader::Format, Read, String), Error> {
    let settings = ctx.settings.clone();
    let work = move || {
        let mut model = Model::default();
        let ImportRequest { name, bytes, mapping, .. } = &request;
        let source = reader::Source { name, bytes, mapping: mapping.as_deref(), base: None };
        let format = reader::read(&source, &settings, &mut |statement| {
            model.take(statement);
            Ok(())
        })?;
        Ok((format, model.finish(), hex::encode(Sha256::digest(bytes))))
    };
    let read: Result<_, reader::ReadError> = tokio::task::spawn_blocking(work).await.map_err(|_| broken())?;
    read.map_err(|refused| {
        let place = refused.place.map(|place| (place.line, place.column));
        let at = place.map(|(line, column)| format!(" (line {line}, column {column})")).unwrap_or_default();
        Error { place, ..Error::bad_input("file", format!("{}{at}", refused.what)) }
    })
}

/// One import or rollback at a time.
fn turn(ctx: &OntologyContext) -> Result<tokio::sync::OwnedMutexGuard<()>, Error> {
    let busy = |_| {
        Error::new(ErrorCode::Conflict, "another import or rollback is under way").advise("try again when it is done")
    };
    Arc::clone(&ctx.importing).try_lock_owned().map_err(busy)
}

/// Says that nothing is under way, however it ended.
struct UnderWay<'a>(&'a OntologyContext);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        tell(self.0, Stage::Idle, 0, 0);
    }
}

fn tell(ctx: &OntologyContext, stage: Stage, done: usize, total: usize) {
    ctx.progress.send_replace(Progress { stage, done, total });
}

async fn graph_hash(ctx: &OntologyContext) -> Result<String, Error> {
    Ok(ctx.store.versions(None, 1).await?.pop().map(|version| version.graph_hash).unwrap_or_default())
}

/// Before it is done, so that nothing is done unseen.
async fn audited(ctx: &OntologyContext, caller: &Caller, use_case: &str) -> Result<(), Error> {
    let change = ChangeSet {
        id: ChangeId(ctx.clock.next_id()),
        at: ctx.clock.now(),
        actor: caller.principal.clone(),
        use_case: use_case.to_owned(),
        reason: None,
        ops: Vec::new(),
        idempotency: None,
    };
    ctx.graph.apply(&[change]).await?;
    Ok(())
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn broken() -> Error {
    Error::new(ErrorCode::Internal, "internal fault")
}
