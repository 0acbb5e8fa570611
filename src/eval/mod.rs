//! Measures recall on a set with known answers. Runs the real façade on a temporary store; used by `recollect eval`.
//!
//! To add a measure: a field in [`Figures`], a line in `measures.rs`.

mod measures;
mod saved;
mod set;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Instant,
};

pub use measures::{Figures, Outcome, figures};
pub use saved::SavedVectors;
pub use set::{EvalSet, Query, SetError, load};

use crate::{
    domain::{Caller, PrincipalKind, Right},
    error::Error,
    read::{Mode, RecallRequest},
    service::Service,
    write::{LinkRequest, StoreRequest},
};

/// Memories stored in one transaction.
const BATCH: usize = 64;
/// Tokens of an answer: as many as one may have.
const EVERYTHING: i64 = 32_000;

/// What to measure.
pub struct Plan {
    /// Arms.
    pub modes: Vec<Mode>,
    /// Results asked of each query; at least the largest k.
    pub limit: usize,
    /// The ks of Recall@k.
    pub ks: Vec<usize>,
}

/// Figures by mode, then by category; `all` is every query.
pub type Report = BTreeMap<String, BTreeMap<String, Figures>>;

/// How far an evaluation is.
#[derive(Debug, Clone, Copy)]
pub enum Progress {
    /// Memories stored, of all.
    Stored(usize, usize),
    /// Queries asked, of all, over all modes.
    Asked(usize, usize),
}

/// The principal that owns a scope of the set, or the set.
fn owner(scope: Option<&str>) -> Caller {
    Caller {
        principal: format!("eval:{}", scope.unwrap_or("all")),
        kind: PrincipalKind::Service,
        groups: BTreeSet::new(),
        rights: BTreeSet::from([Right::MemoryRead, Right::MemoryWrite]),
        owner: None,
    }
}

/// Stores the set into `service`, each scope under a principal of its own; gives the external ids behind each memory.
pub async fn fill(
    service: &Service,
    set: &EvalSet,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<HashMap<String, Vec<String>>, Error> {
    let mut by_scope: BTreeMap<Option<&str>, Vec<&set::MemoryLine>> = BTreeMap::new();
    for memory in &set.memories {
        by_scope.entry(memory.scope.as_deref()).or_default().push(memory);
    }
    let mut names: HashMap<String, Vec<String>> = HashMap::new();
    let mut ids: HashMap<&str, String> = HashMap::new();
    let mut done = 0;
    for (scope, memories) in &by_scope {
        let caller = owner(*scope);
        for batch in memories.chunks(BATCH) {
            let requests = batch.iter().map(|memory| memory.request()).collect::<Vec<StoreRequest>>();
            for (memory, reply) in batch.iter().zip(service.store_all(&caller, requests).await?) {
                let id = reply?.id.ok_or_else(|| Error::bad_input("memories", "a memory of the set was dropped"))?;
                names.entry(id.clone()).or_default().push(memory.id.clone());
                ids.insert(&memory.id, id);
            }
            done += batch.len();
            progress(Progress::Stored(done, set.memories.len()));
        }
    }
    let scopes: HashMap<&str, Option<&str>> =
        set.memories.iter().map(|memory| (memory.id.as_str(), memory.scope.as_deref())).collect();
    let mut links: BTreeMap<Option<&str>, Vec<LinkRequest>> = BTreeMap::new();
    for edge in &set.edges {
        let (Some(from), Some(to)) = (ids.get(edge.from.as_str()), ids.get(edge.to.as_str())) else { continue };
        if from == to {
            continue;
        }
        links.entry(scopes[edge.from.as_str()]).or_default().push(LinkRequest {
            from: from.clone(),
            to: to.clone(),
            // An edge that the source calls anything else says that two things belong together.
            edge: match edge.edge_type.to_uppercase().as_str() {
                kind @ ("CAUSES" | "SUPERSEDES") => kind.to_owned(),
                _ => "SUPPLEMENTS".to_owned(),
            },
            reason: Some(edge.edge_type.clone()),
        });
    }
    for (scope, links) in links {
        for batch in links.chunks(BATCH) {
            for reply in service.link_all(&owner(scope), batch.to_vec()).await? {
                reply?;
            }
        }
    }
    Ok(names)
}

/// Asks every query in every mode.
pub async fn ask(
    service: &Service,
    set: &EvalSet,
    names: &HashMap<String, Vec<String>>,
    plan: &Plan,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Report, Error> {
    let mut report = Report::new();
    let total = set.queries.len() * plan.modes.len();
    let mut done = 0;
    for mode in &plan.modes {
        let mut outcomes = Vec::with_capacity(set.queries.len());
        for query in &set.queries {
            let request = RecallRequest {
                query: query.text.clone(),
                mode: Some(mode.name().to_owned()),
                limit: i64::try_from(plan.limit).ok(),
                // A page would cut what is measured.
                token_budget: Some(EVERYTHING),
                explain: Some(false),
                ..RecallRequest::default()
            };
            let started = Instant::now();
            let reply = service.recall(&owner(query.scope.as_deref()), request).await?;
            let millis = started.elapsed().as_secs_f64() * 1000.0;
            let ranked = reply.items.iter().map(|item| names.get(&item.id).cloned().unwrap_or_default()).collect();
            outcomes.push(Outcome {
                category: query.category.clone(),
                relevant: query.relevant.clone(),
                ranked,
                millis,
            });
            done += 1;
            progress(Progress::Asked(done, total));
        }
        report.insert(mode.name().to_owned(), figures(&outcomes, &plan.ks));
    }
    Ok(report)
}
