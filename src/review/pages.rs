//! Reads the wiki: pages at any moment, their histories, where each line came from, and the search.

use std::collections::HashMap;

use super::{
    BlamedLines, PageBlame, PageDiff, PageDiffRequest, PageHit, PageLink, PageRecord, PageRequest, PagesRequest,
    Protection, RenderPageRequest, RenderedPage, ReviewContext, RevisionRecord, SearchPagesReply, SearchPagesRequest,
    access::{find, page_named, proposal_id, reader},
    candidate::{pages_of, text_of},
    land::{TAG, page_of_passage},
    record::{citations, off_thread, revision as record_of, risks},
};
use crate::{
    domain::{Caller, MemoryId, Page, PageId, PageMeta, Record, Revision, Scope, Visibility},
    error::Error,
    input::{self, outgoing},
    ports::PageQuery,
    read::{
        self, RecallRequest,
        browse::{self, Page as Listed, PageRequest as ListPage},
    },
    wiki::{self, Diff, html, links, marks},
};

/// Pages that are read at once by their ids.
const IDS_MAX: usize = 1000;
/// Pages that link to a page, as shown with it.
const BACKLINKS: usize = 100;
/// Pages of an answer to a search.
const HITS: i64 = 5;
const HITS_MAX: usize = 20;
/// Passages that are looked at for each page of an answer: several may be of the same page.
const PASSAGES: usize = 4;

/// A page, by default as it is now.
pub async fn page(ctx: &ReviewContext<'_>, caller: &Caller, request: PageRequest) -> Result<Option<PageRecord>, Error> {
    let visibility = reader(caller)?;
    let Some((page, revision)) = at(ctx, &request, &visibility).await? else { return Ok(None) };
    full(ctx, &page, &revision, &visibility).await.map(Some)
}

/// The page and the revision that a request asks for.
async fn at(
    ctx: &ReviewContext<'_>,
    request: &PageRequest,
    visibility: &Visibility,
) -> Result<Option<(Page, Revision)>, Error> {
    let as_of = input::optional_time("as_of", request.as_of.as_deref())?;
    if as_of.is_some() && request.revision.is_some() {
        return Err(Error::bad_input("as_of", "either revision or as_of, not both"));
    }
    let Some(page) = page_named(ctx, &request.slug, visibility).await? else { return Ok(None) };
    let wanted = match request.revision {
        None => None,
        Some(given) => match u64::try_from(given).ok().filter(|number| (1..=page.number).contains(number)) {
            Some(number) => Some(number),
            None => return Ok(None),
        },
    };
    let before = wanted.map(|number| number + 1);
    let found = ctx.reviews.history(page.id, before, as_of, 1, visibility).await?.into_iter().next();
    Ok(found.map(|revision| (page, revision)))
}

async fn full(
    ctx: &ReviewContext<'_>,
    page: &Page,
    revision: &Revision,
    visibility: &Visibility,
) -> Result<PageRecord, Error> {
    let mut record = short(ctx, page);
    record.slug.clone_from(&revision.meta.slug);
    record.title.clone_from(&revision.meta.title);
    record.aliases.clone_from(&revision.meta.aliases);
    record.categories.clone_from(&revision.meta.categories);
    record.deleted = revision.meta.deleted;
    record.revision = outgoing(revision.number);
    record.content_hash.clone_from(&revision.content_hash);
    record.updated_at = revision.at.to_string();
    if record.deleted {
        return Ok(record);
    }
    let body = text_of(ctx, revision.id.0, visibility).await?;
    let cited: Vec<(String, Option<MemoryId>)> = wiki::citations(&body);
    record.citations = citations(ctx, cited, visibility).await?;
    record.links = linked(ctx, &links(&body), visibility).await?;
    record.backlinks = backlinks(ctx, page, visibility).await?;
    record.body = Some(body);
    Ok(record)
}

async fn linked(ctx: &ReviewContext<'_>, names: &[String], visibility: &Visibility) -> Result<Vec<PageLink>, Error> {
    let mut there: HashMap<String, Page> = HashMap::new();
    for page in ctx.reviews.pages_named(names, visibility).await? {
        for name in page.meta.names() {
            there.insert(name, page.clone());
        }
    }
    Ok(names
        .iter()
        .map(|name| match there.get(name).filter(|page| !page.meta.deleted) {
            Some(page) => link_to(page),
            None => PageLink { slug: name.clone(), title: None, found: false },
        })
        .collect())
}

fn link_to(page: &Page) -> PageLink {
    PageLink { slug: page.meta.slug.clone(), title: Some(page.meta.title.clone()), found: true }
}

async fn backlinks(ctx: &ReviewContext<'_>, page: &Page, visibility: &Visibility) -> Result<Vec<PageLink>, Error> {
    let mut found: Vec<PageLink> = Vec::new();
    for name in page.meta.names() {
        let query = PageQuery { refers_to: Some(format!("page:{name}")), ..PageQuery::default() };
        let from = ctx.reviews.pages(&query, None, BACKLINKS, visibility).await?;
        found.extend(from.iter().filter(|other| other.id != page.id).map(link_to));
    }
    found.sort_by(|one, other| one.slug.cmp(&other.slug));
    found.dedup();
    found.truncate(BACKLINKS);
    Ok(found)
}

/// A page as a list shows it.
fn short(ctx: &ReviewContext<'_>, page: &Page) -> PageRecord {
    let needed = ctx.settings.needed(&[&page.meta.slug]);
    PageRecord {
        id: page.id.to_string(),
        slug: page.meta.slug.clone(),
        title: page.meta.title.clone(),
        aliases: page.meta.aliases.clone(),
        categories: page.meta.categories.clone(),
        scope: page.scope.name().to_owned(),
        group: match &page.scope {
            Scope::Shared(group) => Some(group.clone()),
            Scope::Private(_) | Scope::Global => None,
        },
        deleted: page.meta.deleted,
        revision: outgoing(page.number),
        head: outgoing(page.number),
        body: None,
        content_hash: page.content_hash.clone(),
        created_at: page.created_at.to_string(),
        updated_at: page.updated_at.to_string(),
        citations: Vec::new(),
        links: Vec::new(),
        backlinks: Vec::new(),
        protection: needed
            .protected
            .then(|| Protection { approvals: outgoing(needed.approvals), groups: needed.groups.clone() }),
    }
}

/// Those of `ids` that are pages the caller sees, as in a list.
pub async fn pages_by_id(ctx: &ReviewContext<'_>, caller: &Caller, ids: &[PageId]) -> Result<Vec<PageRecord>, Error> {
    let visibility = reader(caller)?;
    if ids.len() > IDS_MAX {
        return Err(Error::bad_input("ids", format!("at most {IDS_MAX} ids")));
    }
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let found = ctx.reviews.records(&ids, &visibility).await?;
    Ok(found.into_iter().filter_map(Record::page).map(|page| short(ctx, &page)).collect())
}

/// Pages that meet the conditions, by address.
pub async fn pages(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: &PagesRequest,
    list: &ListPage,
) -> Result<Listed<PageRecord>, Error> {
    let visibility = reader(caller)?;
    let first = browse::first(list)?;
    let after = browse::after(list, |key| {
        let (id, slug) = key.split_once(' ')?;
        Some((slug.to_owned(), PageId(id.parse().ok()?)))
    })?;
    let refers_to = match (&request.links_to, &request.cites) {
        (None, None) => None,
        (Some(page), None) => Some(format!("page:{}", PageMeta::name_of(&wiki::slug_of(page)))),
        (None, Some(memory)) => Some(format!("memory:{}", input::memory_id("cites", memory)?)),
        (Some(_), Some(_)) => return Err(Error::bad_input("cites", "either links_to or cites, not both")),
    };
    let query = PageQuery {
        prefix: PageMeta::name_of(request.prefix.as_deref().unwrap_or_default().trim()),
        refers_to,
        deleted: request.deleted,
    };
    let found = ctx.reviews.pages(&query, after, first + 1, &visibility).await?;
    let cut = browse::cut(found, first, |page| format!("{} {}", page.id, PageMeta::name_of(&page.meta.slug)));
    Ok(cut.map(|page| short(ctx, &page)))
}

/// Revisions of a page, latest first.
pub async fn page_history(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    slug: &str,
    list: &ListPage,
) -> Result<Option<Listed<RevisionRecord>>, Error> {
    let visibility = reader(caller)?;
    let first = browse::first(list)?;
    let before = browse::after(list, |key| key.parse::<u64>().ok())?;
    let Some(page) = page_named(ctx, slug, &visibility).await? else { return Ok(None) };
    let found = ctx.reviews.history(page.id, before, None, first + 1, &visibility).await?;
    let cut = browse::cut(found, first, |revision| revision.number.to_string());
    Ok(Some(cut.map(|revision| record_of(&revision))))
}

/// What changed between two revisions of a page.
pub async fn page_diff(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: PageDiffRequest,
) -> Result<Option<PageDiff>, Error> {
    let visibility = reader(caller)?;
    let asked = |revision: Option<i64>| PageRequest { slug: request.slug.clone(), revision, as_of: None };
    let Some((page, to)) = at(ctx, &asked(request.to), &visibility).await? else { return Ok(None) };
    let old = if request.from == 0 {
        String::new()
    } else {
        match at(ctx, &asked(Some(request.from)), &visibility).await? {
            Some((_, from)) => text_of(ctx, from.id.0, &visibility).await?,
            None => return Ok(None),
        }
    };
    let new = text_of(ctx, to.id.0, &visibility).await?;
    let diff = off_thread(move || Diff::of(&old, &new)).await?;
    Ok(Some(PageDiff { slug: page.meta.slug, from: request.from, to: outgoing(to.number), diff }))
}

/// A page line by line, with the revision that each came with.
pub async fn page_blame(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: PageRequest,
) -> Result<Option<PageBlame>, Error> {
    let visibility = reader(caller)?;
    let Some((page, shown)) = at(ctx, &request, &visibility).await? else { return Ok(None) };
    let text = text_of(ctx, shown.id.0, &visibility).await?;
    let mut known: HashMap<u64, RevisionRecord> = HashMap::new();
    for run in &shown.blame {
        if !known.contains_key(&run.0) {
            let found = ctx.reviews.history(page.id, Some(run.0 + 1), None, 1, &visibility).await?;
            known.extend(found.first().map(|revision| (revision.number, record_of(revision))));
        }
    }
    let mut lines = text.split_inclusive('\n');
    let mut blamed = Vec::with_capacity(shown.blame.len());
    let mut line = 1;
    for run in &shown.blame {
        let length = usize::try_from(run.1).unwrap_or(usize::MAX);
        let text: String = lines.by_ref().take(length).collect();
        if let Some(revision) = known.get(&run.0) {
            let (from_line, to_line) = (outgoing(line), outgoing(line + length - 1));
            blamed.push(BlamedLines { from_line, to_line, text, revision: revision.clone() });
        }
        line += length;
    }
    Ok(Some(PageBlame { slug: shown.meta.slug, revision: outgoing(shown.number), lines: blamed }))
}

/// Pages that answer a question: their passages are found as memories are.
pub async fn search_pages(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: SearchPagesRequest,
) -> Result<SearchPagesReply, Error> {
    let visibility = reader(caller)?;
    let limit = input::count("limit", request.limit.unwrap_or(HITS), HITS_MAX)?;
    let recall = RecallRequest {
        query: request.query,
        limit: Some(outgoing((limit * PASSAGES).min(ctx.read.settings.max_limit))),
        tags: vec![TAG.to_owned()],
        explain: Some(false),
        ..RecallRequest::default()
    };
    let found = read::recall(ctx.read, caller, recall).await?;
    let passages: Vec<(PageId, read::RecallItem)> = found
        .items
        .into_iter()
        .filter_map(|item| Some((item.external_id.as_deref().and_then(page_of_passage)?, item)))
        .collect();
    let pages = pages_of(ctx, passages.iter().map(|(page, _)| *page), &visibility).await?;
    let mut hits: Vec<PageHit> = Vec::new();
    for (id, item) in passages {
        let Some(page) = pages.get(&id) else { continue };
        if hits.len() < limit && !hits.iter().any(|hit| hit.slug == page.meta.slug) {
            let place = page.passages.iter().find(|passage| passage.memory.to_string() == item.id);
            let section = place.and_then(|passage| passage.place.rsplit_once('#')).map(|(headings, _)| headings);
            hits.push(PageHit {
                slug: page.meta.slug.clone(),
                title: page.meta.title.clone(),
                revision: outgoing(page.number),
                section: section.unwrap_or_default().to_owned(),
                snippet: item.content,
                score: item.score,
                weak: item.weak,
            });
        }
    }
    Ok(SearchPagesReply { pages: hits, degraded: found.degraded })
}

/// A page or a proposal to look at: safe HTML, the Markdown, and the Markdown with everything hidden shown.
pub async fn render_page(
    ctx: &ReviewContext<'_>,
    caller: &Caller,
    request: RenderPageRequest,
) -> Result<Option<RenderedPage>, Error> {
    let visibility = reader(caller)?;
    let record = match (request.slug, request.proposal) {
        (Some(slug), None) => {
            let asked = PageRequest { slug, revision: request.revision, as_of: None };
            at(ctx, &asked, &visibility).await?.map(|(_, revision)| revision.id.0)
        }
        (None, Some(proposal)) => find(ctx, caller, proposal_id(&proposal)?).await?.map(|proposal| proposal.id.0),
        _ => return Err(Error::bad_input("slug", "either slug or proposal is needed")),
    };
    let Some(record) = record else { return Ok(None) };
    let Some(raw) = ctx.reviews.text(record, &visibility).await? else { return Ok(None) };
    off_thread(move || {
        let marked = marks(&raw);
        let risk_flags = risks(&marked.flags);
        Some(RenderedPage { html: html(&raw), raw, marked: marked.shown, risk_flags })
    })
    .await
}
