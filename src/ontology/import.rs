//! Imports a file as a plan: read, compare, say; and if it is to be done, stage the difference and put it in force at once.
//!
//! A kill before the switch leaves the version before in force; the same import again takes up what was staged.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    OntologyContext, link,
    model::{Model, Read},
    plan::Plan,
    reader,
    show::VersionRecord,
};
use crate::{
    domain::{Caller, ChangeId, ChangeSet, OntologyVersion, Proposal, Relation, Right, Term, TermKind},
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
    /// Why, for whoever has to agree if the caller has no right to import.
    pub rationale: Option<String>,
    /// The agent run it belongs to, likewise.
    pub run_id: Option<String>,
}

/// What an import did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
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
    /// The proposal that waits for a person, if the caller has no right to import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal_id: Option<String>,
    /// Where that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
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
    let _under_way = begin(ctx)?;
    tell(ctx, Stage::Reading, 0, 1);
    let (dry_run, allow_removals) = (request.dry_run, request.allow_removals);
    let compared = compare(ctx, request).await?;
    if dry_run {
        return Ok(compared.reply);
    }
    compared.refuse_removals(ctx, allow_removals)?;
    let mut reply = compared.reply.clone();
    if !compared.is_empty() {
        let switch = stage(ctx, caller, compared, None).await?;
        let turn = ctx.turn.clone().lock_owned().await;
        let (version, _turn) = put_in_force(ctx, switch, turn).await?;
        reply.version = outgoing(version.number);
        reply.graph_hash = version.graph_hash;
    }
    reply.linked = outgoing(linked(ctx).await?);
    Ok(reply)
}

/// A file against what is stored of its vocabulary.
pub struct Comparison {
    /// What its import would answer; the version is the one in force.
    pub reply: ImportReply,
    /// Number of the version in force.
    pub current: u64,
    /// Hash of the file, its mapping and what is stored: if one moves, it is another one.
    pub hash: String,
    source: String,
    source_hash: String,
    pub(super) plan: Plan,
}

impl Comparison {
    /// Whether an import would change nothing.
    pub fn is_empty(&self) -> bool {
        self.plan.is_empty()
    }

    /// IRIs of terms that would go.
    pub fn removed(&self) -> &[String] {
        &self.plan.removed
    }

    /// Share of the stored terms that would go.
    pub fn removed_share(&self) -> f64 {
        self.plan.removed_share()
    }

    /// Refuses to take much away unasked.
    pub fn refuse_removals(&self, ctx: &OntologyContext, allowed: bool) -> Result<(), Error> {
        if allowed || self.plan.removed_share() <= ctx.settings.max_removed_share {
            return Ok(());
        }
        let (removed, vocabulary) = (self.plan.removed.len(), &self.reply.vocabulary);
        let message = format!("file: would take away {removed} terms of {vocabulary}");
        let error = Error { field: Some("file".into()), ..Error::new(ErrorCode::BadUserInput, message) };
        Err(error.advise("look at a dry run, then allow removals"))
    }
}

/// Reads a file and compares it with what is stored.
pub async fn compare(ctx: &OntologyContext, request: ImportRequest) -> Result<Comparison, Error> {
    let name = input::text("name", request.name.clone(), NAME_BYTES)?;
    let vocabulary = input::optional_text("vocabulary", request.vocabulary.clone(), NAME_BYTES)?;
    let mapping = request.mapping.clone().unwrap_or_default();
    let (format, read, source_hash) = timed("read_ontology", read_file(ctx, request)).await?;
    let vocabulary = vocabulary.or_else(|| read.name.clone()).unwrap_or_else(|| stem(&name).to_owned());
    let current = ctx.store.current().await?;
    let stored = ctx.store.hashes(&vocabulary).await?;
    let Read { terms, counts, skipped, warnings, .. } = read;
    if counts.statements == 0 {
        return Err(Error { place: Some((1, 1)), ..Error::bad_input("file", "says nothing (line 1, column 1)") });
    }
    let mut hasher = Sha256::new();
    for part in [vocabulary.as_bytes(), source_hash.as_bytes(), mapping.as_bytes()] {
        hasher.update(part);
        hasher.update([0]);
    }
    for (iri, hash) in &stored {
        hasher.update(iri.as_bytes());
        hasher.update([0]);
        hasher.update(hash);
    }
    let plan = tokio::task::spawn_blocking(move || Plan::of(terms, stored)).await.map_err(|_| broken())?;
    let count = |kinds: &[TermKind]| outgoing(kinds.iter().filter_map(|kind| counts.kinds.get(kind)).sum::<usize>());
    let related = |relation| outgoing(counts.relations.get(&relation).copied().unwrap_or(0));
    let reply = ImportReply {
        version: outgoing(current),
        vocabulary,
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
        proposal_id: None,
        state: None,
    };
    Ok(Comparison { reply, current, hash: hex::encode(hasher.finalize()), source: name, source_hash, plan })
}

/// Prepares the difference as the next version, which nobody sees yet; of a proposal, in the name of its author too.
pub async fn stage(
    ctx: &OntologyContext,
    caller: &Caller,
    compared: Comparison,
    proposed: Option<&Proposal>,
) -> Result<Switch, Error> {
    audited(ctx, caller, "import_ontology").await?;
    let Comparison { reply, hash, source, source_hash, plan, .. } = compared;
    let staging = ctx.store.begin(&reply.vocabulary, &hash).await?;
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
    let version = OntologyVersion {
        number: staging.number,
        vocabulary: reply.vocabulary,
        at: ctx.clock.now(),
        actor: caller.principal.clone(),
        proposed_by: proposed.map(|proposal| proposal.author.clone()),
        proposal: proposed.map(|proposal| proposal.id),
        source,
        source_hash,
        new: plan.new as u64,
        changed: plan.changed() as u64,
        removed: plan.removed.len() as u64,
        graph_hash: String::new(),
    };
    Ok(Switch { version, removed: plan.removed })
}

/// Puts a prepared version in force, within the turn of the write path, and gives that back. A caller that goes away meanwhile
/// does not stop it.
pub async fn put_in_force<T: Send + 'static>(
    ctx: &OntologyContext,
    switch: Switch,
    turn: T,
) -> Result<(OntologyVersion, T), Error> {
    tell(ctx, Stage::Switching, 0, 1);
    let store = ctx.store.clone();
    let switched = tokio::spawn(async move { (timed("switch_ontology", store.switch(&switch)).await, turn) });
    let (version, turn) = switched.await.map_err(|_| broken())?;
    Ok((version?, turn))
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
    let _under_way = begin(ctx)?;
    let version = {
        let _writers_wait = ctx.turn.lock().await;
        roll_back(ctx, caller, number).await?.ok_or_else(|| Error::not_found("version"))?
    };
    linked(ctx).await?;
    Ok(version.into())
}

/// [`rollback`] within the turn of the write path, by whoever may; `None` if there is no such version.
async fn roll_back(ctx: &OntologyContext, caller: &Caller, to: u64) -> Result<Option<OntologyVersion>, Error> {
    audited(ctx, caller, "roll_back_ontology").await?;
    let version = OntologyVersion {
        at: ctx.clock.now(),
        actor: caller.principal.clone(),
        source: format!("version {to}"),
        ..OntologyVersion::default()
    };
    tell(ctx, Stage::Switching, 0, 1);
    Ok(ctx.store.roll_back(to, &version).await?)
}

/// Whether the graph is as the version numbered `number` left it.
pub async fn stands(ctx: &OntologyContext, number: u64) -> Result<bool, Error> {
    let (made, head) = (made(ctx, number).await?, ctx.store.versions(None, 1).await?.pop());
    Ok(head.is_some_and(|head| head.graph_hash == made.graph_hash))
}

async fn made(ctx: &OntologyContext, number: u64) -> Result<OntologyVersion, Error> {
    let made = ctx.store.versions(Some(number + 1), 1).await?.pop().filter(|made| made.number == number);
    made.ok_or_else(|| Error::new(ErrorCode::Internal, "a version of the ontologies is lost"))
}

/// Makes the version before the one numbered `number` again, within the turn of the write path.
pub async fn take_back(ctx: &OntologyContext, caller: &Caller, number: u64) -> Result<OntologyVersion, Error> {
    let made = made(ctx, number).await?;
    if number > 1 {
        let made = roll_back(ctx, caller, number - 1).await?;
        return made.ok_or_else(|| Error::new(ErrorCode::Internal, "a version of the ontologies is lost"));
    }
    // Before the first version there was none to go back to: its terms go.
    audited(ctx, caller, "roll_back_ontology").await?;
    let removed: Vec<String> = ctx.store.hashes(&made.vocabulary).await?.into_keys().collect();
    let version = OntologyVersion {
        number: ctx.store.begin(&made.vocabulary, "").await?.number,
        vocabulary: made.vocabulary,
        at: ctx.clock.now(),
        actor: caller.principal.clone(),
        source: "no version".to_owned(),
        removed: removed.len() as u64,
        ..OntologyVersion::default()
    };
    tell(ctx, Stage::Switching, 0, 1);
    Ok(ctx.store.switch(&Switch { version, removed }).await?)
}

/// Number of the version that a proposal became, if the graph is still as that left it.
pub async fn in_force(ctx: &OntologyContext, proposal: &Proposal) -> Result<Option<u64>, Error> {
    let mut before = None;
    loop {
        let versions = ctx.store.versions(before, LISTED).await?;
        if let Some(made) = versions.iter().find(|version| version.proposal == Some(proposal.id)) {
            return Ok(if stands(ctx, made.number).await? { Some(made.number) } else { None });
        }
        match versions.last() {
            // What was made before it was proposed is none of its.
            Some(last) if last.at >= proposal.created_at => before = Some(last.number),
            _ => return Ok(None),
        }
    }
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
pub async fn linked(ctx: &OntologyContext) -> Result<usize, Error> {
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

/// Begins an import or a rollback; no other one begins before what this gives is dropped.
pub fn begin(ctx: &OntologyContext) -> Result<UnderWay<'_>, Error> {
    let busy = |_| {
        Error::new(ErrorCode::Conflict, "another import or rollback is under way").advise("try again when it is done")
    };
    Ok(UnderWay { _turn: Arc::clone(&ctx.importing).try_lock_owned().map_err(busy)?, ctx })
}

/// An import or a rollback that is under way. Says that nothing is, however it ended.
pub struct UnderWay<'a> {
    ctx: &'a OntologyContext,
    _turn: tokio::sync::OwnedMutexGuard<()>,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        tell(self.ctx, Stage::Idle, 0, 0);
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
