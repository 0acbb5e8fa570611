//! Imports memories from JSON lines: bad lines are named by number, good ones are kept, a known external id is an update.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use super::{LinkRequest, StoreRequest, UpdateRequest, WriteContext, link_all, store_all, update, validate};
use crate::{
    domain::{AsOf, Caller, EdgeKind, MemoryId, Outcome, Scope, Visibility},
    error::Error,
    input,
};

/// Lines stored in one transaction.
const BATCH: usize = 128;

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

/// A line that was read.
struct Line {
    number: usize,
    request: StoreRequest,
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
    let started = Instant::now();
    let spent = || Duration::from_micros(ctx.vectors.spent_micros.load(Ordering::Relaxed));
    let before = spent();
    let mut report = Imported::default();
    let mut references = Vec::new();
    let mut names: HashMap<String, MemoryId> = HashMap::new();
    let lines: Vec<(usize, &str)> = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()).collect();
    for batch in lines.chunks(BATCH) {
        let mut read = Vec::new();
        for (number, line) in batch {
            match parse(line) {
                Ok(request) => read.push(Line { number: *number, request }),
                Err(error) => report.errors.push(LineError { line: *number, error }),
            }
        }
        take(ctx, caller, read, &mut report, &mut references, &mut names).await?;
        progress(batch.last().map_or(0, |(number, _)| *number));
    }
    refer(ctx, caller, references, &names, &mut report).await?;
    report.errors.sort_by_key(|error| error.line);
    report.took = started.elapsed();
    report.embedding = spent().saturating_sub(before);
    Ok(report)
}

fn parse(line: &str) -> Result<StoreRequest, Error> {
    input::json(line.trim_start_matches('\u{feff}'))
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
    let mut asked: Vec<(usize, Option<String>, Vec<(&'static str, Vec<String>)>)> = Vec::new();
    let mut requests = Vec::new();
    for Line { number, mut request } in lines {
        let wanted = vec![
            ("causes", std::mem::take(&mut request.causes)),
            ("caused_by", std::mem::take(&mut request.caused_by)),
            ("supersedes", std::mem::take(&mut request.supersedes)),
        ];
        let before = scope_of(caller, &request)
            .and_then(|scope| known.get(&(scope.key(), request.external_id.clone()?)).copied());
        let name = request.external_id.clone();
        if let Some(id) = before {
            match replace(ctx, caller, id, request).await {
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
            requests.push(request);
        }
    }
    for ((number, name, wanted), reply) in asked.into_iter().zip(store_all(ctx, caller, requests).await?) {
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

/// Brings a known memory to what the line says; whether anything changed.
async fn replace(ctx: &WriteContext, caller: &Caller, id: MemoryId, request: StoreRequest) -> Result<bool, Error> {
    let draft = validate::draft(caller, request.clone(), id, ctx.clock.now(), &ctx.settings)?;
    let stored = ctx.graph.memories(&[id], AsOf::default(), &caller.visibility()).await?;
    let same = stored.iter().any(|memory| {
        memory.content_hash == draft.memory.content_hash
            && memory.tags == draft.memory.tags
            && memory.kind == draft.memory.kind
            && memory.memory_type == draft.memory.memory_type
    });
    if same {
        return Ok(false);
    }
    let StoreRequest {
        content,
        title,
        summary,
        context,
        tags,
        importance,
        confidence,
        kind,
        r#type,
        occurred_at,
        valid_from,
        valid_to,
        ..
    } = request;
    let change = UpdateRequest {
        id: id.to_string(),
        content: Some(content),
        title,
        summary,
        context,
        tags: Some(tags),
        importance,
        confidence,
        kind,
        r#type,
        occurred_at,
        valid_from,
        valid_to,
        expected_revision: None,
    };
    update(ctx, caller, change).await.map(|_| true)
}

fn refer_later(
    line: usize,
    id: MemoryId,
    name: Option<String>,
    wanted: Vec<(&'static str, Vec<String>)>,
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
