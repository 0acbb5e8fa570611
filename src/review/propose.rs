//! Proposes: an edit of a page, or a decision between memories.

use jiff::Timestamp;

use super::{
    ProposalRecord, ProposeDecisionRequest, ProposeEditRequest, ReviewContext,
    access::{conflict, own, page_named, proposal as seen},
    candidate::{State, revision_state},
    decide, land, memory,
    record::full,
    risk,
};
use crate::{
    domain::{
        AsOf, Author, Base, Caller, ChangeSet, Idempotency, MemoryId, Mover, Op, Page, PageChange, PageId, PageMeta,
        Proposal, ProposalId, ProposalKind, Record, Revision, Right, Scope, Subject, Visibility,
    },
    error::{Error, ErrorCode},
    input,
    wiki::{apply_patch, is_slug, slug_of, title_of_slug},
    write::{self, undisturbed},
};

/// Longest title, alias, category, name of a run, in bytes.
pub(super) const NAME_BYTES: usize = 512;
/// Longest rationale, comment or reason, in bytes.
pub(super) const NOTE_BYTES: usize = 8192;
/// Most aliases or categories of a page, and pieces of evidence.
pub(super) const LIST_MAX: usize = 100;

/// Proposes an edit of a page. It waits in the queue until somebody decides.
pub async fn propose_edit(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: ProposeEditRequest,
) -> Result<ProposalRecord, Error> {
    input::require(caller, Right::WikiPropose)?;
    undisturbed!(ctx.write, propose_once(ctx, caller, &request))
}

async fn propose_once(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: &ProposeEditRequest,
) -> Result<ProposalRecord, Error> {
    let key = input::optional_text("idempotency_key", request.idempotency_key.clone(), NAME_BYTES)?;
    let keyless = ProposeEditRequest { idempotency_key: None, ..request.clone() };
    let request_hash = write::hash_of_json(&keyless);
    if let Some(key) = &key
        && let Some(before) = write::answer_under::<ProposalId>(ctx.write, caller, key, &request_hash).await?
    {
        let before = seen(ctx, caller, &before.to_string()).await?;
        return full(ctx, caller, &before).await;
    }
    let at = ctx.write.clock.now();
    let id = ProposalId(ctx.write.clock.next_id());
    let Edit { subject, change, page, page_scope, base, proposed } = edit(ctx, caller, request).await?;
    let evidence = input::memory_ids("evidence", &request.evidence, LIST_MAX)?;
    let looked_at = risk::Edit {
        page,
        scope: &page_scope,
        change,
        base: base.as_ref(),
        proposed: &proposed,
        evidence: &evidence,
        author: caller.kind,
    };
    let flags = risk::flags(ctx, &looked_at).await?;
    let opened = Proposal::open(id, subject, &page_scope, Author::of(caller), proposed.hash(), at);
    let opened = Proposal {
        run: input::optional_text("run_id", request.run_id.clone(), NAME_BYTES)?,
        rationale: input::optional_text("rationale", request.rationale.clone(), NOTE_BYTES)?,
        evidence,
        flags,
        ..opened
    };
    let mut ops = replaced(ctx, caller, request.replaces.as_deref(), id, at).await?;
    let record = Box::new(Record::Proposal(opened.clone()));
    ops.push(Op::PutRecord { record, text: Some(proposed.text), expected_version: 0 });
    let idempotency =
        key.map(|key| Idempotency { key, request_hash, answer: serde_json::to_value(id).expect("an id is JSON") });
    let turn = ctx.write.turn().await;
    let change = ChangeSet { idempotency, ..write::change(ctx.write, caller, "propose_edit", at, ops) };
    write::commit(ctx.write, turn, vec![change]).await?;
    let opened = decide::auto_approved(ctx, caller, opened).await?;
    full(ctx, caller, &opened).await
}

/// The operation that ends the open proposal of the same author in whose place a new one comes.
async fn replaced(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    replaces: Option<&str>,
    by: ProposalId,
    at: Timestamp,
) -> Result<Vec<Op>, Error> {
    let Some(id) = replaces.map(str::trim).filter(|id| !id.is_empty()) else { return Ok(Vec::new()) };
    let under = |error: Error| Error { field: Some("replaces".to_owned()), ..error };
    let old = own(ctx, caller, id).await.map_err(under)?;
    let (version, why) = (old.version, format!("replaced by {by}"));
    let mover = Mover { by: &caller.principal, at, why: Some(&why) };
    let old = old.superseded(mover).map_err(|error| conflict("replaces", format!("replaces: {error}")))?;
    Ok(vec![old.put(version)])
}

struct Edit {
    subject: Subject,
    change: PageChange,
    page: PageId,
    page_scope: Scope,
    base: Option<State>,
    proposed: State,
}

async fn edit(ctx: &ReviewContext<'_>, caller: &Caller, request: &ProposeEditRequest) -> Result<Edit, Error> {
    let slug = slug("slug", &request.slug)?;
    let page = page_named(ctx, &slug, &caller.visibility()).await?;
    let action = request.action.as_deref().unwrap_or("edit");
    match (action, page) {
        ("edit", None) => new_page(ctx, caller, request, slug).await,
        ("edit" | "rename" | "delete" | "restore", Some(page)) => changed_page(ctx, request, action, page).await,
        ("rename" | "delete" | "restore", None) => Err(Error::not_found("slug")),
        _ => Err(Error::bad_input("action", "unknown value, expected one of edit, rename, delete, restore")),
    }
}

async fn new_page(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: &ProposeEditRequest,
    slug: String,
) -> Result<Edit, Error> {
    if request.base_revision.is_some_and(|base| base != 0) {
        return Err(Error::bad_input("base_revision", "there is no such page").advise("leave it out for a new page"));
    }
    if request.patch.is_some() {
        return Err(Error::bad_input("patch", "there is no such page").advise("give the whole text as body"));
    }
    let text = body(ctx, request.body.clone())?;
    let page_scope = page_scope(caller, request.scope.as_deref(), request.group.clone())?;
    let title = match input::optional_text("title", request.title.clone(), NAME_BYTES)? {
        Some(title) => title,
        None => title_of_slug(&slug),
    };
    let meta = PageMeta {
        title,
        aliases: aliases(request.aliases.clone().unwrap_or_default(), &slug)?,
        categories: categories(request.categories.clone().unwrap_or_default())?,
        front: None,
        deleted: false,
        slug,
    };
    let page = PageId(ctx.write.clock.next_id());
    let proposed = State { meta: meta.clone(), text };
    land::check_names(ctx, page, &page_scope, &proposed).await?;
    let change = PageChange::Create;
    let subject = Subject::WikiEdit { page, page_scope: page_scope.clone(), base: None, change, meta };
    Ok(Edit { subject, change, page, page_scope, base: None, proposed })
}

async fn changed_page(
    ctx: &ReviewContext<'_>,
    request: &ProposeEditRequest,
    action: &str,
    page: Page,
) -> Result<Edit, Error> {
    if request.scope.is_some() || request.group.is_some() {
        return Err(Error::bad_input("scope", "a page keeps the scope it was made with"));
    }
    if page.meta.deleted != (action == "restore") {
        let what = if page.meta.deleted { "the page is deleted" } else { "the page is there" };
        return Err(Error::bad_input("action", what).advise("restore a deleted page, edit one that is there"));
    }
    let (base, at) = based(ctx, &page, request.base_revision).await?;
    let mut meta = base.meta.clone();
    let change = match action {
        "rename" => {
            let new = slug("new_slug", request.new_slug.as_deref().unwrap_or_default())?;
            meta.aliases.push(std::mem::replace(&mut meta.slug, new));
            PageChange::Rename
        }
        "delete" => {
            meta.deleted = true;
            PageChange::Delete
        }
        "restore" => {
            meta.deleted = false;
            PageChange::Restore
        }
        _ => PageChange::Edit,
    };
    if change != PageChange::Rename && request.new_slug.is_some() {
        return Err(Error::bad_input("new_slug", "goes with action rename only"));
    }
    if let Some(title) = input::optional_text("title", request.title.clone(), NAME_BYTES)? {
        meta.title = title;
    }
    if let Some(given) = request.aliases.clone() {
        meta.aliases = aliases(given, &meta.slug)?;
    }
    if let Some(given) = request.categories.clone() {
        meta.categories = categories(given)?;
    }
    let slug = meta.slug.clone();
    meta.aliases.retain(|alias| *alias != slug);
    let text = match (&request.body, &request.patch) {
        (Some(_), Some(_)) => return Err(Error::bad_input("patch", "either body or patch, not both")),
        (Some(given), None) => body(ctx, Some(given.clone()))?,
        (None, Some(patch)) => {
            let patched = apply_patch(&base.text, patch).map_err(|why| Error::bad_input("patch", why))?;
            body(ctx, Some(patched))?
        }
        (None, None) => base.text.clone(),
    };
    if change == PageChange::Delete && text != base.text {
        return Err(Error::bad_input("body", "a deletion takes no text"));
    }
    let proposed = State { meta: meta.clone(), text };
    if proposed == base {
        return Err(Error::bad_input("body", "is what the page says already"));
    }
    land::check_names(ctx, page.id, &page.scope, &proposed).await?;
    let (id, page_scope) = (page.id, page.scope);
    let subject = Subject::WikiEdit { page: id, page_scope: page_scope.clone(), base: Some(at), change, meta };
    Ok(Edit { subject, change, page: id, page_scope, base: Some(base), proposed })
}

/// The revision that an edit was written on.
pub(super) async fn based(ctx: &ReviewContext<'_>, page: &Page, number: Option<i64>) -> Result<(State, Base), Error> {
    let Some(number) = number else {
        let message = format!("is needed: the page is at revision {}", page.number);
        return Err(Error::bad_input("base_revision", message).advise("read the page and edit what it says"));
    };
    let everything = Visibility::system("a page that was seen leads to its revisions");
    let wanted = u64::try_from(number).ok().filter(|number| (1..=page.number).contains(number));
    let found: Vec<Revision> = match wanted {
        Some(number) => ctx.reviews.history(page.id, Some(number + 1), None, 1, &everything).await?,
        None => Vec::new(),
    };
    let Some(revision) = found.into_iter().find(|revision| Some(revision.number) == wanted) else {
        let message = format!("there is none of this number; the page is at revision {}", page.number);
        return Err(Error::bad_input("base_revision", message));
    };
    let base = Base { revision: revision.id, number: revision.number };
    Ok((revision_state(ctx, revision.id, &everything).await?, base))
}

/// Proposes a decision between memories.
pub async fn propose_decision(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: ProposeDecisionRequest,
) -> Result<ProposalRecord, Error> {
    input::require(caller, Right::WikiPropose)?;
    let kind: ProposalKind = input::name("kind", &request.kind)?;
    let ids = input::memory_ids("memories", &request.memories, LIST_MAX)?;
    let evidence = input::memory_ids("evidence", &request.evidence, LIST_MAX)?;
    let run = input::optional_text("run_id", request.run_id, NAME_BYTES)?;
    let rationale = input::optional_text("rationale", request.rationale, NOTE_BYTES)?;
    let subject = match (kind, ids.as_slice()) {
        (ProposalKind::MemoryConflict, [older, newer]) if older != newer => {
            Subject::MemoryConflict { older: *older, newer: *newer }
        }
        (ProposalKind::MemoryConflict, _) => return Err(Error::bad_input("memories", "a conflict is between two")),
        (ProposalKind::MemoryMerge, memories) if memories.len() > 1 => {
            let mut distinct: Vec<MemoryId> = memories.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            if distinct.len() != memories.len() {
                return Err(Error::bad_input("memories", "names one of them twice"));
            }
            Subject::MemoryMerge { memories: memories.to_vec() }
        }
        (ProposalKind::MemoryMerge, _) => return Err(Error::bad_input("memories", "a merge is of at least two")),
        (ProposalKind::WikiEdit | ProposalKind::MemoryQuarantine | ProposalKind::OntologyChange, _) => {
            return Err(Error::bad_input("kind", "expected one of memory_conflict, memory_merge"));
        }
    };
    let memories = ctx.write.graph.memories(&ids, AsOf::default(), &caller.visibility()).await?;
    let scope = memory::common_scope(&ids, &memories)?;
    let at = ctx.write.clock.now();
    let id = ProposalId(ctx.write.clock.next_id());
    let hash = memory::hash(&subject, &memories);
    let mut ops = Vec::new();
    if let (Subject::MemoryConflict { .. }, [older, newer]) = (&subject, memories.as_slice()) {
        ops.extend(write::contradiction(older, newer, at));
    }
    let opened = Proposal::open(id, subject, &scope, Author::of(caller), hash, at);
    let opened = Proposal { run, rationale, evidence, ..opened };
    ops.push(opened.clone().put(0));
    land::write(ctx, caller, "propose_decision", None, at, ops).await?;
    full(ctx, caller, &opened).await
}

/// The error for a page that moved.
pub(super) fn stale(field: &str, head: u64) -> Error {
    let message = format!("{field}: the page is at revision {head} by now");
    Error { field: Some(field.to_owned()), ..Error::new(ErrorCode::StaleBase, message) }
        .advise("read the proposal again: it is joined with what the page says now, under another hash")
}

/// Writes a changed proposal alone; gives it and the change's id.
pub(super) async fn put(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    use_case: &str,
    proposal: Proposal,
    expected_version: u64,
    at: Timestamp,
) -> Result<(Proposal, String), Error> {
    let ops = vec![proposal.clone().put(expected_version)];
    let operation = land::write(ctx, caller, use_case, None, at, ops).await?;
    Ok((proposal, operation))
}

/// A line of a text, from 1.
pub(super) fn line(given: i64) -> Result<u64, Error> {
    u64::try_from(given).ok().filter(|line| *line > 0).ok_or_else(|| Error::bad_input("line", "must be at least 1"))
}

/// The text of a page.
pub(super) fn body(ctx: &ReviewContext<'_>, given: Option<String>) -> Result<String, Error> {
    let given = given.ok_or_else(|| Error::bad_input("body", "is needed"))?;
    input::text("body", given, ctx.settings.max_page_bytes)
}

fn slug(field: &str, given: &str) -> Result<String, Error> {
    let slug = slug_of(given);
    if !is_slug(&slug) {
        return Err(Error::bad_input(field, "must be letters, digits and -_.+ between slashes, at most 256 bytes"));
    }
    Ok(slug)
}

fn aliases(given: Vec<String>, own: &str) -> Result<Vec<String>, Error> {
    if given.len() > LIST_MAX {
        return Err(Error::bad_input("aliases", format!("at most {LIST_MAX} aliases")));
    }
    let mut aliases: Vec<String> = Vec::new();
    for alias in given {
        let alias = slug("aliases", &alias)?;
        if alias != own && !aliases.contains(&alias) {
            aliases.push(alias);
        }
    }
    Ok(aliases)
}

fn categories(given: Vec<String>) -> Result<Vec<String>, Error> {
    if given.len() > LIST_MAX {
        return Err(Error::bad_input("categories", format!("at most {LIST_MAX} categories")));
    }
    let mut categories: Vec<String> = Vec::new();
    for category in given {
        let category = input::text("categories", category, NAME_BYTES)?;
        if category.starts_with(write::PAGES) {
            return Err(Error::bad_input("categories", format!("none may begin with {:?}", write::PAGES)));
        }
        if !categories.contains(&category) {
            categories.push(category);
        }
    }
    Ok(categories)
}

/// Where a new page lives. Anybody may propose one for all: a person will decide.
pub(super) fn page_scope(caller: &Caller, name: Option<&str>, group: Option<String>) -> Result<Scope, Error> {
    let group = input::optional_text("group", group, NAME_BYTES)?;
    match (name.unwrap_or(if group.is_some() { "shared" } else { "global" }), group) {
        ("global", None) => Ok(Scope::Global),
        ("private", None) => Ok(caller.private_scope()),
        ("shared", Some(group)) if caller.groups.contains(&group) => Ok(Scope::Shared(group)),
        ("shared", Some(_)) => Err(Error {
            field: Some("group".into()),
            ..Error::new(ErrorCode::Forbidden, "group: the token is not a member of this group")
        }),
        ("shared", None) => Err(Error::bad_input("group", "is needed for scope shared")),
        ("private" | "global", Some(_)) => Err(Error::bad_input("group", "goes with scope shared only")),
        _ => Err(Error::bad_input("scope", "unknown value, expected one of private, shared, global")),
    }
}
