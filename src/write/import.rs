//! Imports memories from JSON lines: bad lines are named by number, good ones are kept, a known external id is an update.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use tokio::task::JoinHandle;

use super::{
    LinkRequest, StoreRequest, UpdateRequest, WriteContext,
    amend::update,
    link_all,
    store::{Drafter, commit},
    validate::{self, Draft},
};
use crate::{
    domain::{AsOf, Caller, EdgeKind, Memory, MemoryId, Outcome, Right, Scope, Visibility},
    error::{Error, ErrorCode},
    input,
};

/// Lines stored in one transaction.
const BATCH: usize = 256;

/// What an import did.
#[derive(Debug, Default)]
pub struct Imported {
    /// New memories.
    pub stored: usize,
    /// Known external ids with other content.
    pub updated: usize,
    /// Known content.
    pub unchanged: usize,
    /// Edges made from `causes`, `caused_by` and `supersedes`.
    pub links: usize,
    /// Lines that were not taken, or whose references were not.
    pub errors: Vec<LineError>,
    /// Time the import took.
    pub took: Duration,
    /// Part of it spent in models.
    pub embedding: Duration,
}

/// Why a line was not taken.
#[derive(Debug)]
pub struct LineError {
    /// From 1.
    pub line: usize,
    /// What is wrong with it.
    pub error: Error,
}

/// External ids that a line refers to, by field.
type Wanted = Vec<(&'static str, Vec<String>)>;

/// A line that was read.
struct Line {
    number: usize,
    /// Without its references, which are in `wanted`.
    request: StoreRequest,
    wanted: Wanted,
    draft: Result<Draft, Error>,
}

/// An edge asked for by external ids, to be made when all lines are stored.
struct Reference {
    line: usize,
    field: &'static str,
    own: MemoryId,
    other: String,
}

/// Imports `text`, one JSON object a line (the fields of a store request; references name external ids). Blank lines are
/// skipped. `progress` is told the number of lines done after each batch. The error is a store's failure; what was stored
/// before it stays.
pub async fn import(
    ctx: &WriteContext,
    caller: &Caller,
    text: &str,
    mut progress: impl FnMut(usize),
) -> Result<Imported, Error> {
    input::require(caller, Right::MemoryWrite)?;
    let started = Instant::now();
    ctx.lexicons.current().await;
    let spent = || Duration::from_micros(ctx.vectors.spent_micros.load(Ordering::Relaxed));
    let before = spent();
    let mut report = Imported::default();
    let mut references = Vec::new();
    let mut names: HashMap<String, MemoryId> = HashMap::new();
    let lines: Vec<(usize, &str)> = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()).collect();
    let mut batches = lines.chunks(BATCH).map(|batch| (batch, reading(ctx, caller, batch)));
    let mut next = batches.next();
    while let Some((batch, reading)) = next {
        let (read, refused) = reading.await.map_err(|_| Error::new(ErrorCode::Internal, "reading lines failed"))?;
        // Read while this one is stored.
        next = batches.next();
        report.errors.extend(refused);
        take(ctx, caller, read, &mut report, &mut references, &mut names).await?;
        progress(batch.last().map_or(0, |(number, _)| *number));
    }
    refer(ctx, caller, references, &names, &mut report).await?;
    report.errors.sort_by_key(|error| error.line);
    report.took = started.elapsed();
    report.embedding = spent().saturating_sub(before);
    Ok(report)
}

/// Starts to read lines on the threads that may block: those that were read, and those that were not taken.
fn reading(ctx: &WriteContext, caller: &Caller, lines: &[(usize, &str)]) -> JoinHandle<(Vec<Line>, Vec<LineError>)> {
    let drafter = Drafter::new(ctx, caller);
    let lines: Vec<(usize, String)> = lines.iter().map(|(number, line)| (*number, (*line).to_owned())).collect();
    tokio::task::spawn_blocking(move || {
        let (mut read, mut refused) = (Vec::new(), Vec::new());
        for (number, line) in lines {
            match parse(&line) {
                Ok((request, wanted)) => read.push((number, request, wanted)),
                Err(error) => refused.push(LineError { line: number, error }),
            }
        }
        let drafts = drafter.draft_all(read.iter().map(|(_, request, _)| request.clone()).collect());
        let read = read.into_iter().zip(drafts);
        let read = read.map(|((number, request, wanted), draft)| Line { number, request, wanted, draft }).collect();
        (read, refused)
    })
}

/// A line's request and, apart, its references.
fn parse(line: &str) -> Result<(StoreRequest, Wanted), Error> {
    let mut request: StoreRequest = input::json(line.trim_start_matches('\u{feff}'))?;
    let wanted = vec![
        ("causes", std::mem::take(&mut request.causes)),
        ("caused_by", std::mem::take(&mut request.caused_by)),
        ("supersedes", std::mem::take(&mut request.supersedes)),
    ];
    Ok((request, wanted))
}

async fn take(
    ctx: &WriteContext,
    caller: &Caller,
    mut lines: Vec<Line>,
    report: &mut Imported,
    references: &mut Vec<Reference>,
    names: &mut HashMap<String, MemoryId>,
) -> Result<(), Error> {
    let known = known(ctx, caller, &lines).await?;
    // An external id that comes twice in a batch: the later line updates, so the batch ends before it.
    let mut first_in_batch = HashSet::new();
    let cut = lines.iter().position(|line| {
        let name = (line.request.scope.clone(), line.request.group.clone(), line.request.external_id.clone());
        line.request.external_id.is_some() && !first_in_batch.insert(name)
    });
    let rest = cut.map(|at| lines.split_off(at)).unwrap_or_default();
    let mut asked: Vec<(usize, Option<String>, Wanted)> = Vec::new();
    let mut drafts = Vec::new();
    for Line { number, request, wanted, draft } in lines {
        let before = scope_of(caller, &request)
            .and_then(|scope| known.get(&(scope.key(), request.external_id.clone()?)).copied());
        let name = request.external_id.clone();
        if let Some(id) = before {
            let replaced = match draft {
                Ok(draft) => replace(ctx, caller, id, request, &draft.memory).await,
                Err(error) => Err(error),
            };
            match replaced {
                Ok(true) => report.updated += 1,
                Ok(false) => report.unchanged += 1,
                Err(error) => {
                    report.errors.push(LineError { line: number, error });
                    continue;
                }
            }
            refer_later(number, id, name, wanted, references, names);
        } else {
            asked.push((number, name, wanted));
            drafts.push(draft);
        }
    }
    for ((number, name, wanted), reply) in asked.into_iter().zip(commit(ctx, caller, drafts).await?) {
        match reply {
            Ok(reply) => {
                if reply.outcome == Outcome::Refreshed.name() {
                    report.unchanged += 1;
                } else if reply.id.is_some() {
                    report.stored += 1;
                }
                if let Some(id) = reply.id.and_then(|id| id.parse().ok()) {
                    refer_later(number, id, name, wanted, references, names);
                }
            }
            Err(error) => report.errors.push(LineError { line: number, error }),
        }
    }
    if rest.is_empty() { Ok(()) } else { Box::pin(take(ctx, caller, rest, report, references, names)).await }
}

/// The memories that the lines' external ids name already, by scope key and name.
async fn known(
    ctx: &WriteContext,
    caller: &Caller,
    lines: &[Line],
) -> Result<BTreeMap<(String, String), MemoryId>, Error> {
    let mut wanted: BTreeMap<Scope, Vec<String>> = BTreeMap::new();
    for line in lines {
        if let (Some(name), Some(scope)) = (&line.request.external_id, scope_of(caller, &line.request)) {
            wanted.entry(scope).or_default().push(name.clone());
        }
    }
    let mut known = BTreeMap::new();
    for (scope, names) in wanted {
        for (name, id) in ctx.graph.by_external_ids(&names, &Visibility::only(&scope)).await? {
            known.insert((scope.key(), name), id);
        }
    }
    Ok(known)
}

fn scope_of(caller: &Caller, request: &StoreRequest) -> Option<Scope> {
    validate::scope(caller, request.scope.as_deref(), request.group.clone()).ok()
}

/// Brings a known memory to what the line says; whether anything changed. What it says and when it applies are the
/// line's, even where the line is silent; how it is rated changes only where the line says so.
async fn replace(
    ctx: &WriteContext,
    caller: &Caller,
    id: MemoryId,
    request: StoreRequest,
    draft: &Memory,
) -> Result<bool, Error> {
    let stored = ctx.graph.memories(&[id], AsOf::default(), &caller.visibility()).await?;
    let stored = stored.first().ok_or_else(|| Error::not_found("external_id"))?;
    for (field, fixed) in [
        ("session_id", stored.session_id == draft.session_id),
        ("task_id", stored.task_id == draft.task_id),
        ("speaker", stored.speaker == draft.speaker),
    ] {
        if !fixed {
            return Err(Error::bad_input(field, "a known memory keeps what it has; forget it first to move it"));
        }
    }
    let change = UpdateRequest {
        id: id.to_string(),
        content: Some(request.content),
        title: Some(request.title.unwrap_or_default()),
        summary: request.summary.or_else(|| Some(draft.summary.clone())),
        context: Some(request.context.unwrap_or_default()),
        tags: Some(request.tags),
        importance: request.importance,
        confidence: request.confidence,
        kind: request.kind,
        r#type: request.r#type,
        occurred_at: request.occurred_at,
        valid_from: request.valid_from,
        valid_to: request.valid_to,
        expected_revision: None,
    };
    update(ctx, caller, change).await.map(|update| update.changed)
}

fn refer_later(
    line: usize,
    id: MemoryId,
    name: Option<String>,
    wanted: Wanted,
    references: &mut Vec<Reference>,
    names: &mut HashMap<String, MemoryId>,
) {
    if let Some(name) = name {
        names.insert(name, id);
    }
    for (field, others) in wanted {
        references.extend(others.into_iter().map(|other| Reference { line, field, own: id, other }));
    }
}

/// Makes the edges that lines asked for by external ids, of this file or known before.
async fn refer(
    ctx: &WriteContext,
    caller: &Caller,
    references: Vec<Reference>,
    names: &HashMap<String, MemoryId>,
    report: &mut Imported,
) -> Result<(), Error> {
    for batch in references.chunks(BATCH) {
        let unknown: Vec<String> =
            batch.iter().map(|reference| &reference.other).filter(|name| !names.contains_key(*name)).cloned().collect();
        let stored = ctx.graph.by_external_ids(&unknown, &caller.visibility()).await?;
        let mut requests = Vec::new();
        let mut lines = Vec::new();
        for Reference { line, field, own, other } in batch {
            let Some(other) = names.get(other).or_else(|| stored.get(other)) else {
                report.errors.push(LineError { line: *line, error: Error::not_found(field) });
                continue;
            };
            let (from, to) = if *field == "caused_by" { (other, own) } else { (own, other) };
            let kind = if *field == "supersedes" { EdgeKind::Supersedes } else { EdgeKind::Causes };
            requests.push(LinkRequest {
                from: from.to_string(),
                to: to.to_string(),
                edge: kind.name().to_owned(),
                reason: Some("imported".to_owned()),
            });
            lines.push(*line);
        }
        for (line, reply) in lines.into_iter().zip(link_all(ctx, caller, requests).await?) {
            match reply {
                Ok(_) => report.links += 1,
                Err(error) => report.errors.push(LineError { line, error }),
            }
        }
    }
    Ok(())
}
