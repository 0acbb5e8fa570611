//! Pages of the wiki as the schema shows them: what people approved, how it came to be, and who said so.
//!
//! Lists give pages without their texts; whoever asks for a text of a list gets it read with those of its neighbours.

use async_graphql::{ComplexObject, Context, ID, Object, Result, SimpleObject};
use serde::Deserialize;

use super::{
    convert::{NodeType, global, memory_id, reply, request},
    loader::{MemoryOf, PageOf, ProposalOf, WholePage, asking, service},
    names::{DateTime, DiffOp, PageChange, PrincipalKind, ProposalState, RiskKind, Scope, Status},
    page::{self, ProposalConnection, RevisionConnection, Total, page},
    review::Proposal,
    review_input::ProposalFilter,
    types::{Degraded, Memory, memory_of},
};
use crate::{
    domain::{PageId, ProposalId},
    error::Error,
    review, wiki,
};

/// A page of the wiki: what people approved.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct Page {
    /// Its plain id, the same through every rename.
    #[serde(rename = "id")]
    pub uuid: String,
    /// Its address.
    pub slug: String,
    /// Its heading.
    title: String,
    /// Further addresses that lead to it.
    aliases: Vec<String>,
    /// Labels of the concepts it belongs to.
    categories: Vec<String>,
    /// Who may read it.
    scope: Scope,
    /// The group it is shared with.
    group: Option<String>,
    /// Whether it was deleted by then.
    deleted: bool,
    /// Number of the revision shown; give it as `baseRevision` of an edit.
    pub revision: i64,
    /// Number of the head.
    head: i64,
    /// Hash of what the revision says.
    content_hash: String,
    /// When the page was first approved.
    created_at: DateTime,
    /// When the revision was approved.
    updated_at: DateTime,
    /// What it takes to change it, if it is protected.
    protection: Option<Protection>,
    #[graphql(skip)]
    body: Option<String>,
    #[graphql(skip)]
    #[serde(default)]
    citations: Vec<Citation>,
    #[graphql(skip)]
    #[serde(default)]
    links: Vec<PageLink>,
    #[graphql(skip)]
    #[serde(default)]
    backlinks: Vec<PageLink>,
}

impl Page {
    /// With its text; `None` if it is gone meanwhile.
    async fn whole(&self, ctx: &Context<'_>) -> Result<Option<Self>> {
        if self.body.is_some() {
            return Ok(Some(self.clone()));
        }
        let key = WholePage { slug: self.slug.clone(), revision: self.revision };
        asking(ctx)?.loader.load_one(key).await
    }
}

#[ComplexObject]
impl Page {
    /// Its global id.
    pub(super) async fn id(&self) -> ID {
        global(NodeType::Page, &self.uuid)
    }

    /// The text in Markdown.
    async fn body(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.whole(ctx).await?.and_then(|page| page.body))
    }

    /// The text to look at.
    async fn rendered(&self, ctx: &Context<'_>) -> Result<Option<Rendered>> {
        let wanted = review::RenderPageRequest {
            slug: Some(self.slug.clone()),
            revision: Some(self.revision),
            ..review::RenderPageRequest::default()
        };
        let rendered = service(ctx)?.render_page(&asking(ctx)?.caller, wanted).await?;
        Ok(rendered.map(|rendered| reply(&rendered)).transpose()?)
    }

    /// The memories it cites, in the order of the text.
    async fn citations(&self, ctx: &Context<'_>) -> Result<Vec<Citation>> {
        Ok(self.whole(ctx).await?.map_or_else(Vec::new, |page| page.citations))
    }

    /// The pages it links to.
    async fn links(&self, ctx: &Context<'_>) -> Result<Vec<PageLink>> {
        Ok(self.whole(ctx).await?.map_or_else(Vec::new, |page| page.links))
    }

    /// The pages that link to it, at most 100.
    async fn backlinks(&self, ctx: &Context<'_>) -> Result<Vec<PageLink>> {
        Ok(self.whole(ctx).await?.map_or_else(Vec::new, |page| page.backlinks))
    }

    /// Its revisions, latest first.
    #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
    async fn history(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
        #[graphql(desc = "The cursor after which the page starts.")] after: Option<String>,
    ) -> Result<Option<RevisionConnection>> {
        let found = service(ctx)?.page_history(&asking(ctx)?.caller, &self.slug, &page(first, after)).await?;
        found.map(page::revisions).transpose()
    }

    /// Proposals about it that the caller may read, oldest first.
    #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
    async fn proposals(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only in these states. Default: PENDING, CHANGES_REQUESTED and CONFLICTED.")] states: Option<
            Vec<ProposalState>,
        >,
        #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
        #[graphql(desc = "The cursor after which the page starts.")] after: Option<String>,
    ) -> Result<ProposalConnection> {
        let filter = ProposalFilter { states, slug: Some(self.slug.clone()), ..ProposalFilter::default() };
        let wanted: review::ProposalsRequest = request(&filter)?;
        let found = service(ctx)?.proposals(&asking(ctx)?.caller, &wanted, &page(first, after)).await?;
        page::proposals(found, Total::Proposals(wanted))
    }
}

/// A text to look at.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
pub(super) struct Rendered {
    /// Safe HTML.
    html: String,
    /// The Markdown as it is.
    raw: String,
    /// The Markdown with everything hidden shown as a mark, for example ⟦U+202E⟧.
    marked: String,
    /// What was marked or taken out.
    risk_flags: Vec<Risk>,
}

/// A risk and where it is.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
pub(super) struct Risk {
    /// What it is.
    kind: RiskKind,
    /// Where, in a few words.
    detail: String,
}

/// What it takes to change a page.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
pub(super) struct Protection {
    /// How many must approve.
    approvals: i64,
    /// Groups of which at least one approver must be a member; empty is anybody.
    groups: Vec<String>,
}

/// A memory that a page or a proposal names.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct Citation {
    /// Global id of the memory.
    #[serde(deserialize_with = "memory_id")]
    id: ID,
    /// Whether it is there for the reader.
    found: bool,
    /// What it is about.
    title: Option<String>,
    /// What it says, in short.
    summary: Option<String>,
    /// Where it is in its life.
    status: Option<Status>,
}

#[ComplexObject]
impl Citation {
    /// The memory as it is stored now.
    async fn memory(&self, ctx: &Context<'_>) -> Result<Option<Memory>> {
        memory_of(ctx, &self.id).await
    }
}

/// A link between pages.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
pub(super) struct PageLink {
    /// Address of the other page.
    slug: String,
    /// Its heading, if it is there.
    title: Option<String>,
    /// Whether it is there for the reader.
    found: bool,
}

/// One approved state of a page.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct Revision {
    /// Its plain id.
    #[serde(rename = "id")]
    uuid: String,
    /// Address of the page from then on.
    slug: String,
    /// Heading from then on.
    title: String,
    /// Its number, from 1.
    number: i64,
    /// What it did.
    change: PageChange,
    /// When it was approved.
    at: DateTime,
    /// Who wrote it.
    author: String,
    /// What stands behind the author.
    author_kind: PrincipalKind,
    /// Who approved it.
    approvers: Vec<String>,
    /// The approver who changed the text before it went live; the author's own is kept in the proposal.
    editor: Option<String>,
    /// The agent run it belongs to.
    run_id: Option<String>,
    /// Why, in the author's words.
    rationale: Option<String>,
    /// Plain id of the revision it takes back.
    reverts: Option<String>,
    /// Hash of what it says.
    content_hash: String,
    /// Bytes of its text.
    size: i64,
    #[graphql(skip)]
    page_id: String,
    #[graphql(skip)]
    proposal_id: Option<String>,
    #[graphql(skip)]
    evidence: Vec<String>,
}

#[ComplexObject]
impl Revision {
    /// Global id of its page.
    async fn page_id(&self) -> ID {
        global(NodeType::Page, &self.page_id)
    }

    /// Its page as it is now.
    async fn page(&self, ctx: &Context<'_>) -> Result<Option<Page>> {
        page_of(ctx, &self.page_id).await
    }

    /// Global id of the proposal it came from.
    async fn proposal_id(&self) -> Option<ID> {
        self.proposal_id.as_ref().map(|id| global(NodeType::Proposal, id))
    }

    /// The proposal it came from, if the caller may read it.
    async fn proposal(&self, ctx: &Context<'_>) -> Result<Option<Proposal>> {
        match &self.proposal_id {
            Some(id) => proposal_of(ctx, id).await,
            None => Ok(None),
        }
    }

    /// Global ids of the memories that the author gave as evidence.
    async fn evidence_ids(&self) -> Vec<ID> {
        self.evidence.iter().map(|id| global(NodeType::Memory, id)).collect()
    }

    /// Those of them that the caller sees.
    async fn evidence(&self, ctx: &Context<'_>) -> Result<Vec<Memory>> {
        let keys: Vec<MemoryOf> = self
            .evidence
            .iter()
            .map(|id| crate::input::memory_id("evidence", id).map(MemoryOf))
            .collect::<std::result::Result<_, _>>()?;
        let mut found = asking(ctx)?.loader.load_many(keys.iter().copied()).await?;
        Ok(keys.iter().filter_map(|key| found.remove(key)).collect())
    }
}

/// The page with this plain id, without its text.
pub(super) async fn page_of(ctx: &Context<'_>, id: &str) -> Result<Option<Page>> {
    let id: PageId = id.parse().map_err(|error| Error::bad_input("id", error))?;
    asking(ctx)?.loader.load_one(PageOf(id)).await
}

/// The proposal with this plain id, as in a list.
pub(super) async fn proposal_of(ctx: &Context<'_>, id: &str) -> Result<Option<Proposal>> {
    let id: ProposalId = id.parse().map_err(|error| Error::bad_input("id", error))?;
    asking(ctx)?.loader.load_one(ProposalOf(id)).await
}

/// Two revisions compared.
#[derive(SimpleObject, Deserialize)]
pub(super) struct PageDiff {
    /// Address of the page.
    slug: String,
    /// Number of the earlier revision.
    from: i64,
    /// Number of the later one.
    to: i64,
    /// What changed.
    diff: Diff,
}

/// What changed between two texts.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub(super) struct Diff(wiki::Diff);

/// What changed between two texts: by lines, and within changed lines by words.
#[Object]
impl Diff {
    /// Lines that came.
    async fn inserted(&self) -> i64 {
        self.0.inserted
    }

    /// Lines that went.
    async fn deleted(&self) -> i64 {
        self.0.deleted
    }

    /// The places where something changed, in order.
    async fn hunks(&self) -> Result<Vec<Hunk>> {
        Ok(reply(&self.0.hunks)?)
    }

    /// The usual text form, as patches have it.
    async fn unified(&self) -> String {
        self.0.unified()
    }
}

/// A place where something changed, with the lines around it.
#[derive(SimpleObject, Deserialize)]
pub(super) struct Hunk {
    /// Its first line in the old text, from 1.
    old_line: i64,
    /// Its first line in the new text, from 1.
    new_line: i64,
    /// Its lines.
    lines: Vec<DiffLine>,
}

/// A line of a difference.
#[derive(SimpleObject, Deserialize)]
pub(super) struct DiffLine {
    /// What became of it.
    op: DiffOp,
    /// The line in pieces, its end included.
    parts: Vec<DiffPart>,
}

/// A piece of a line.
#[derive(SimpleObject, Deserialize)]
pub(super) struct DiffPart {
    /// The piece.
    text: String,
    /// Whether it is what went or came.
    changed: bool,
}

/// A page, line by line, with the revision that each came with.
#[derive(SimpleObject, Deserialize)]
pub(super) struct PageBlame {
    /// Address of the page.
    slug: String,
    /// Number of the revision that is shown.
    revision: i64,
    /// All of it, from the first line on.
    lines: Vec<BlamedLines>,
}

/// Lines and where they came from.
#[derive(SimpleObject, Deserialize)]
pub(super) struct BlamedLines {
    /// The first, from 1.
    from_line: i64,
    /// The last.
    to_line: i64,
    /// Their text.
    text: String,
    /// The revision they came with, and through it proposal, author and evidence.
    revision: Revision,
}

/// Pages that answer a question.
#[derive(SimpleObject, Deserialize)]
pub(super) struct SearchPages {
    /// Best first.
    pages: Vec<PageHit>,
    /// Parts of the search that did not answer.
    degraded: Vec<Degraded>,
}

/// A page that answers a question.
#[derive(SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct PageHit {
    /// Address of the page.
    slug: String,
    /// Its heading.
    title: String,
    /// Number of its head.
    revision: i64,
    /// Headings above the part that answers, outermost first.
    section: String,
    /// That part.
    snippet: String,
    /// How well it answers, between 0 and 1.
    score: f64,
    /// Whether the match is weak.
    weak: bool,
}

#[ComplexObject]
impl PageHit {
    /// The page.
    async fn page(&self, ctx: &Context<'_>) -> Result<Option<Page>> {
        let key = WholePage { slug: self.slug.clone(), revision: self.revision };
        asking(ctx)?.loader.load_one(key).await
    }
}
