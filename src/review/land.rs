//! Makes a state of a page live: the revision, the page as it is from then on, and its passages in recall.
//!
//! A passage is a memory, so that pages are found by the same arms as everything else, and a text that a later revision
//! replaces is retired like any memory: looking back finds the page of then.

use std::collections::HashSet;

use jiff::Timestamp;

use super::{
    ReviewContext,
    access::{conflict, page_in_scope},
    candidate::{State, revision as revision_of, text_of},
    record::off_thread,
};
use crate::{
    domain::{
        Caller, ChangeSet, Kind, Language, Memory, MemoryId, MemoryType, Op, Page, PageChange, PageId, Passage,
        PrincipalKind, ProposalId, Record, Revision, RevisionId, Scope, Source, Status, Visibility,
    },
    error::Error,
    wiki::{Part, blame_first, blame_next, citations, links, parts},
    write::{self, Ready, Turn},
};

/// Tag of every passage.
pub(super) const TAG: &str = "wiki:page";
/// Confidence of what a person has approved.
const CONFIDENCE: f32 = 0.8;

/// Where a revision comes from.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub change: PageChange,
    pub author: String,
    pub author_kind: PrincipalKind,
    pub approvers: Vec<String>,
    pub editor: Option<String>,
    pub proposal: Option<ProposalId>,
    pub run: Option<String>,
    pub rationale: Option<String>,
    pub evidence: Vec<MemoryId>,
    pub reverts: Option<RevisionId>,
}

impl Origin {
    /// Of something that a person does at once.
    pub fn of(caller: &Caller, change: PageChange, rationale: Option<String>) -> Self {
        Self {
            change,
            author: caller.principal.clone(),
            author_kind: caller.kind,
            approvers: vec![caller.principal.clone()],
            editor: None,
            proposal: None,
            run: None,
            rationale,
            evidence: Vec::new(),
            reverts: None,
        }
    }
}

/// A page to become.
pub(super) struct Target<'a> {
    pub id: PageId,
    pub scope: &'a Scope,
    /// The page by now, if it is there.
    pub head: Option<&'a Page>,
    pub state: State,
}

/// A revision that is ready to be written: models and differences are done.
pub(super) struct Landing {
    pub revision: Revision,
    page: Page,
    text: String,
    expected: u64,
    retired: Vec<Passage>,
    ready: Vec<Ready>,
    at: Timestamp,
}

/// Prepares a revision, before the turn.
pub(super) async fn prepare(
    ctx: &ReviewContext<'_>,
    target: Target<'_>,
    origin: Origin,
    at: Timestamp,
) -> Result<Landing, Error> {
    let Target { id, scope, head, state } = target;
    check_names(ctx, id, scope, &state).await?;
    let hash = state.hash();
    let State { meta, text } = state;
    let revision_id = RevisionId(ctx.write.clock.next_id());
    let expected = head.map_or(0, |page| page.number);
    let number = expected + 1;
    let blame = match head {
        None => blame_first(&text),
        Some(page) => {
            let everything = Visibility::system("a page leads to its head");
            let parent = revision_of(ctx, page.head, &everything).await?;
            let (old, new) = (text_of(ctx, page.head.0, &everything).await?, text.clone());
            off_thread(move || blame_next(&parent.blame, &old, &new, number)).await?
        }
    };
    let revision = Revision {
        id: revision_id,
        page: id,
        scope: scope.clone(),
        number,
        parent: head.map(|page| page.head),
        change: origin.change,
        meta: meta.clone(),
        at,
        author: origin.author,
        author_kind: origin.author_kind,
        approvers: origin.approvers,
        editor: origin.editor,
        proposal: origin.proposal,
        run: origin.run,
        rationale: origin.rationale,
        evidence: origin.evidence,
        reverts: origin.reverts,
        content_hash: hash.clone(),
        size: text.len() as u64,
        blame,
    };
    let (kept, retired, new) = passages(ctx, head, &revision, &text);
    let places: Vec<(MemoryId, String)> = new.iter().map(|(place, memory)| (memory.id, place.clone())).collect();
    let ready = write::ready(ctx.write, new.into_iter().map(|(_, memory)| memory).collect()).await?;
    let made = places.into_iter().zip(&ready).map(|((memory, place), ready)| Passage {
        memory,
        place,
        hash: ready.memory.content_hash.clone(),
    });
    let gone = meta.deleted;
    let page = Page {
        id,
        scope: scope.clone(),
        head: revision_id,
        number,
        content_hash: hash,
        created_at: head.map_or(at, |page| page.created_at),
        updated_at: at,
        links: if gone { Vec::new() } else { links(&text) },
        cites: if gone { Vec::new() } else { citations(&text).into_iter().filter_map(|(_, memory)| memory).collect() },
        passages: kept.into_iter().chain(made).collect(),
        meta,
    };
    Ok(Landing { revision, page, text, expected, retired, ready, at })
}

/// Refuses names that another page of the scope has.
pub(super) async fn check_names(
    ctx: &ReviewContext<'_>,
    id: PageId,
    scope: &Scope,
    state: &State,
) -> Result<(), Error> {
    for (place, name) in state.meta.names().iter().enumerate() {
        if let Some(other) = page_in_scope(ctx, name, scope).await?.filter(|page| page.id != id) {
            let field = if place == 0 { "slug" } else { "aliases" };
            return Err(conflict(field, format!("{field}: {name} leads to the page {}", other.meta.slug))
                .advise("edit that page, or take another address"));
        }
    }
    Ok(())
}

impl Landing {
    /// The operations that make it live, within the turn.
    pub async fn ops(self, ctx: &ReviewContext<'_>) -> Result<Vec<Op>, Error> {
        let Self { revision, page, text, expected, retired, ready, at } = self;
        let scope = page.scope.clone();
        let made: Vec<(MemoryId, String)> =
            ready.iter().map(|ready| (ready.memory.id, ready.memory.content.clone())).collect();
        let places: Vec<Passage> = page.passages.clone();
        let mut ops = vec![
            Op::PutRecord { record: Box::new(Record::Page(page)), text: None, expected_version: expected },
            Op::PutRecord { record: Box::new(Record::Revision(revision)), text: Some(text), expected_version: 0 },
        ];
        ops.extend(retired.iter().map(|passage| Op::Retire {
            id: passage.memory,
            status: Status::Superseded,
            valid_to: Some(at),
        }));
        ops.extend(write::new_ops(ctx.write, ready, at).await?);
        for (memory, text) in made {
            let cited: Vec<MemoryId> = citations(&text).into_iter().filter_map(|(_, memory)| memory).collect();
            ops.extend(write::source_ops(ctx.write, memory, &scope, &cited, at).await?);
            let place = places.iter().find(|passage| passage.memory == memory).map(|passage| &passage.place);
            if let Some(before) = retired.iter().find(|passage| Some(&passage.place) == place) {
                ops.push(write::replaced(memory, before.memory, &scope, at));
            }
        }
        Ok(ops)
    }
}

/// The passages that stay, those that end, and the memories that are new with their places.
fn passages(
    ctx: &ReviewContext<'_>,
    head: Option<&Page>,
    revision: &Revision,
    text: &str,
) -> (Vec<Passage>, Vec<Passage>, Vec<(String, Memory)>) {
    let mut before: Vec<Passage> = head.map(|page| page.passages.clone()).unwrap_or_default();
    let (mut kept, mut new, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    let wanted = if revision.meta.deleted { Vec::new() } else { parts(text) };
    for (number, part) in wanted.into_iter().enumerate() {
        let memory = passage(ctx, revision, number, &part);
        // Two parts that say the same under the same headings are one.
        if !seen.insert(memory.content_hash.clone()) {
            continue;
        }
        match before.iter().position(|passage| passage.hash == memory.content_hash) {
            Some(at) => kept.push(Passage { place: part.place, ..before.swap_remove(at) }),
            None => new.push((part.place, memory)),
        }
    }
    (kept, before, new)
}

fn passage(ctx: &ReviewContext<'_>, revision: &Revision, number: usize, part: &Part) -> Memory {
    let Revision { page, meta, scope, at, author, .. } = revision;
    let section = if part.headings.is_empty() { String::new() } else { format!(", {}", part.headings.join(" / ")) };
    write::completed(Memory {
        id: MemoryId(ctx.write.clock.next_id()),
        external_id: Some(format!("{}{page}/{}#{number}", write::PAGES, revision.number)),
        kind: Kind::Semantic,
        memory_type: MemoryType::Fact,
        content: part.text.clone(),
        title: Some(meta.title.clone()),
        summary: String::new(),
        context: Some(format!("wiki page {}{section}", meta.slug)),
        tags: std::iter::once(TAG.to_owned()).chain(meta.categories.iter().cloned()).collect(),
        speaker: None,
        importance: ctx.write.settings.default_importance,
        confidence: CONFIDENCE,
        source: Source::Document,
        provenance: vec![revision.id.0],
        session_id: None,
        task_id: None,
        user_id: author.clone(),
        agent_id: (revision.author_kind == PrincipalKind::Agent).then(|| author.clone()),
        scope: scope.clone(),
        status: Status::Active,
        valid_from: Some(*at),
        valid_to: None,
        recorded_at: *at,
        retired_at: None,
        occurred_at: *at,
        expires_at: None,
        access_count: 0,
        last_accessed: None,
        useful: 0,
        not_useful: 0,
        verification: None,
        revision: 1,
        content_hash: String::new(),
        terms: String::new(),
        language: Language::Other,
        spaces: Vec::new(),
        event: None,
    })
}

/// The page that a passage is of.
pub(super) fn page_of_passage(external_id: &str) -> Option<PageId> {
    external_id.strip_prefix(write::PAGES)?.split('/').next()?.parse().ok()
}

/// Writes a revision, with what else belongs to the decision; gives the change's id.
pub(super) async fn land(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    use_case: &str,
    reason: Option<String>,
    landing: Landing,
    more: Vec<Op>,
) -> Result<String, Error> {
    let at = landing.at;
    let turn = ctx.write.turn().await;
    let mut ops = more;
    ops.extend(landing.ops(ctx).await?);
    let operation = commit(ctx, caller, turn, use_case, reason, at, ops).await?;
    write::settle(ctx.write).await;
    Ok(operation)
}

/// Writes the operations of a use case as one change, in a turn of its own; gives the change's id.
pub(super) async fn write(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    use_case: &str,
    reason: Option<String>,
    at: Timestamp,
    ops: Vec<Op>,
) -> Result<String, Error> {
    let turn = ctx.write.turn().await;
    commit(ctx, caller, turn, use_case, reason, at, ops).await
}

/// [`write`](write()) in a turn that was taken before, for operations that depend on what is there.
pub(super) async fn commit(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    turn: Turn,
    use_case: &str,
    reason: Option<String>,
    at: Timestamp,
    ops: Vec<Op>,
) -> Result<String, Error> {
    let change = ChangeSet { reason, ..write::change(ctx.write, caller, use_case, at, ops) };
    let operation = change.id.to_string();
    write::commit(ctx.write, turn, vec![change]).await?;
    Ok(operation)
}
