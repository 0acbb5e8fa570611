//! What can be asked of the wiki and the review queue.

use async_graphql::{Context, ID, Object, Result};

use super::{
    convert::{NodeType, plain, reply, request},
    loader::{asking, service},
    names::DateTime,
    page::{self, PageConnection, ProposalConnection, RevisionConnection, Total, page},
    review::{PageFile, Proposal, ReviewStats},
    review_input::{PageFilter, ProposalFilter, SearchPagesInput},
    wiki::{Page, PageBlame, PageDiff, SearchPages},
};
use crate::review::{PageDiffRequest, PageRequest, PagesRequest, ProposalsRequest};

/// Questions to the wiki and the review queue.
#[derive(Default)]
pub(super) struct ReviewQuery;

#[Object]
impl ReviewQuery {
    /// A page of the wiki by its address, an alias or a former address; null if there is none for the caller.
    async fn page(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Its address.")] slug: String,
        #[graphql(desc = "Number of a revision. Default: the head.")] revision: Option<i64>,
        #[graphql(desc = "As it was then.")] as_of: Option<DateTime>,
    ) -> Result<Option<Page>> {
        let wanted = PageRequest { slug, revision, as_of: as_of.map(|moment| moment.0) };
        let found = service(ctx)?.page(&asking(ctx)?.caller, wanted).await?;
        Ok(found.map(|page| reply(&page)).transpose()?)
    }

    /// Pages by their address.
    #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
    async fn pages(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Conditions. Default none.")] filter: Option<PageFilter>,
        #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
        #[graphql(desc = "The cursor after which the page starts.")] after: Option<String>,
    ) -> Result<PageConnection> {
        let wanted: PagesRequest = request(&filter.unwrap_or_default())?;
        page::pages(service(ctx)?.pages(&asking(ctx)?.caller, &wanted, &page(first, after)).await?)
    }

    /// Every page that the caller sees, as a file with front matter; `importPages` takes them back byte for byte.
    #[graphql(complexity = "100 + 100 * child_complexity")]
    async fn export_pages(&self, ctx: &Context<'_>) -> Result<Vec<PageFile>> {
        let files = service(ctx)?.export_pages(&asking(ctx)?.caller).await?;
        Ok(reply(&files)?)
    }

    /// Pages that answer a question, best first, each with the part that does.
    #[graphql(complexity = "10 + 10 * child_complexity")]
    async fn search_pages(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The question.")] input: SearchPagesInput,
    ) -> Result<SearchPages> {
        Ok(reply(&service(ctx)?.search_pages(&asking(ctx)?.caller, request(&input)?).await?)?)
    }

    /// The revisions of a page, latest first; null if there is none for the caller.
    #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
    async fn page_history(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Address of the page.")] slug: String,
        #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
        #[graphql(desc = "The cursor after which the page starts.")] after: Option<String>,
    ) -> Result<Option<RevisionConnection>> {
        let found = service(ctx)?.page_history(&asking(ctx)?.caller, &slug, &page(first, after)).await?;
        found.map(page::revisions).transpose()
    }

    /// A page line by line, with the revision that each came with, and through it proposal, author and evidence.
    #[graphql(complexity = "10 + 10 * child_complexity")]
    async fn page_blame(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Address of the page.")] slug: String,
        #[graphql(desc = "Number of a revision. Default: the head.")] revision: Option<i64>,
        #[graphql(desc = "As it was then.")] as_of: Option<DateTime>,
    ) -> Result<Option<PageBlame>> {
        let wanted = PageRequest { slug, revision, as_of: as_of.map(|moment| moment.0) };
        let found = service(ctx)?.page_blame(&asking(ctx)?.caller, wanted).await?;
        Ok(found.map(|blame| reply(&blame)).transpose()?)
    }

    /// What changed from one revision of a page to another.
    async fn page_diff(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Address of the page.")] slug: String,
        #[graphql(desc = "Number of the earlier revision; 0 is the empty page.")] from: i64,
        #[graphql(desc = "Number of the later one. Default: the head.")] to: Option<i64>,
    ) -> Result<Option<PageDiff>> {
        let found = service(ctx)?.page_diff(&asking(ctx)?.caller, PageDiffRequest { slug, from, to }).await?;
        Ok(found.map(|diff| reply(&diff)).transpose()?)
    }

    /// A proposal by its id, with everything that a decision needs. Its author and holders of REVIEW_READ may read it.
    async fn proposal(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "A global or a plain id.")] id: ID,
    ) -> Result<Option<Proposal>> {
        let found = service(ctx)?.proposal(&asking(ctx)?.caller, &plain(NodeType::Proposal, &id)).await?;
        Ok(found.map(|record| Proposal::with_texts(&record)).transpose()?)
    }

    /// The review queue, oldest first. Without the right REVIEW_READ: the caller's own proposals.
    #[graphql(complexity = "1 + usize::try_from(first.unwrap_or(20)).unwrap_or(100) * child_complexity")]
    async fn proposals(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Conditions. Default: those still to be decided.")] filter: Option<ProposalFilter>,
        #[graphql(desc = "How many at most, 1 to 100. Default 20.")] first: Option<i64>,
        #[graphql(desc = "The cursor after which the page starts.")] after: Option<String>,
    ) -> Result<ProposalConnection> {
        let wanted: ProposalsRequest = request(&filter.unwrap_or_default())?;
        let found = service(ctx)?.proposals(&asking(ctx)?.caller, &wanted, &page(first, after)).await?;
        page::proposals(found, Total::Proposals(wanted))
    }

    /// How the queue is: depth, age, and what becomes of each author's proposals. Needs the right REVIEW_READ.
    async fn review_stats(&self, ctx: &Context<'_>) -> Result<ReviewStats> {
        Ok(reply(&service(ctx)?.review_stats(&asking(ctx)?.caller).await?)?)
    }
}
