//! Reads of one request that are asked for one by one and made together.
//!
//! Nothing is kept between reads: a mutation that follows another in the same request must see what it did.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_graphql::{
    Context, Error, Result,
    dataloader::{DataLoader, Loader as Load},
    runtime::{TokioSpawner, TokioTimer},
};
use futures::future::try_join_all;

use super::{
    Asking,
    convert::reply,
    review::Proposal,
    types::{Concept, Edge, Memory},
    wiki::Page,
};
use crate::{
    domain::{Caller, ConceptId, InvalidId, MemoryId, PageId, ProposalId},
    ports::{Group, GroupSummary},
    review::PageRequest,
    service::Service,
};

/// Reads for one caller.
pub(super) struct Loader {
    service: Arc<Service>,
    caller: Arc<Caller>,
}

/// The memory with this id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct MemoryOf(pub MemoryId);

/// The edges of this memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct EdgesOf(pub MemoryId);

/// The concept with this id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ConceptOf(pub ConceptId);

/// The page with this id, without its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PageOf(pub PageId);

/// A revision of a page, with its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct WholePage {
    pub slug: String,
    pub revision: i64,
}

/// The proposal with this id, without its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ProposalOf(pub ProposalId);

/// The proposal with this id, with its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct WholeProposal(pub ProposalId);

impl Asking {
    pub(super) fn new(service: Arc<Service>, caller: Arc<Caller>) -> Self {
        let loader = Loader { service, caller: caller.clone() };
        Self { caller, loader: DataLoader::new(loader, TokioSpawner::current(), TokioTimer::default()) }
    }
}

pub(super) fn asking<'a>(ctx: &Context<'a>) -> Result<&'a Asking> {
    ctx.data::<Asking>()
}

pub(super) fn service<'a>(ctx: &Context<'a>) -> Result<&'a Service> {
    Ok(&**ctx.data::<Arc<Service>>()?)
}

impl Load<MemoryOf> for Loader {
    type Value = Memory;
    type Error = Error;

    async fn load(&self, keys: &[MemoryOf]) -> Result<HashMap<MemoryOf, Memory>> {
        let ids: Vec<MemoryId> = keys.iter().map(|key| key.0).collect();
        let found = self.service.find(&self.caller, &ids).await?;
        let memories = found.iter().map(|record| {
            let id = crate::input::memory_id("id", &record.id)?;
            Ok((MemoryOf(id), reply(record)?))
        });
        memories.collect()
    }
}

impl Load<EdgesOf> for Loader {
    type Value = Vec<Edge>;
    type Error = Error;

    async fn load(&self, keys: &[EdgesOf]) -> Result<HashMap<EdgesOf, Vec<Edge>>> {
        let ids: Vec<MemoryId> = keys.iter().map(|key| key.0).collect();
        let found = self.service.edges(&self.caller, &ids).await?;
        let edges = keys.iter().zip(found).map(|(key, edges)| {
            let edges = edges.into_iter().map(Edge::try_from).collect::<std::result::Result<_, _>>()?;
            Ok((*key, edges))
        });
        edges.collect()
    }
}

impl Load<ConceptOf> for Loader {
    type Value = Concept;
    type Error = Error;

    async fn load(&self, keys: &[ConceptOf]) -> Result<HashMap<ConceptOf, Concept>> {
        let ids: Vec<ConceptId> = keys.iter().map(|key| key.0).collect();
        let found = self.service.concepts_by_id(&self.caller, &ids).await?;
        found.into_iter().map(|used| Ok((ConceptOf(used.concept.id), Concept::try_from(used)?))).collect()
    }
}

impl Load<Group> for Loader {
    type Value = GroupSummary;
    type Error = Error;

    async fn load(&self, keys: &[Group]) -> Result<HashMap<Group, GroupSummary>> {
        let mut found = HashMap::new();
        for group in keys.iter().collect::<HashSet<_>>() {
            if let Some(summary) = self.service.group(&self.caller, group).await? {
                found.insert(group.clone(), summary);
            }
        }
        Ok(found)
    }
}

impl Load<PageOf> for Loader {
    type Value = Page;
    type Error = Error;

    async fn load(&self, keys: &[PageOf]) -> Result<HashMap<PageOf, Page>> {
        let ids: Vec<PageId> = keys.iter().map(|key| key.0).collect();
        let found = self.service.pages_by_id(&self.caller, &ids).await?;
        found.iter().map(|record| Ok((PageOf(parsed(&record.id)?), reply(record)?))).collect()
    }
}

impl Load<WholePage> for Loader {
    type Value = Page;
    type Error = Error;

    async fn load(&self, keys: &[WholePage]) -> Result<HashMap<WholePage, Page>> {
        let reads = keys.iter().map(async |key| {
            let wanted = PageRequest { slug: key.slug.clone(), revision: Some(key.revision), as_of: None };
            let found = self.service.page(&self.caller, wanted).await?;
            let found: Option<Page> = found.map(|record| reply(&record)).transpose()?;
            Ok::<_, Error>(found.map(|page| (key.clone(), page)))
        });
        Ok(try_join_all(reads).await?.into_iter().flatten().collect())
    }
}

impl Load<ProposalOf> for Loader {
    type Value = Proposal;
    type Error = Error;

    async fn load(&self, keys: &[ProposalOf]) -> Result<HashMap<ProposalOf, Proposal>> {
        let ids: Vec<ProposalId> = keys.iter().map(|key| key.0).collect();
        let found = self.service.proposals_by_id(&self.caller, &ids).await?;
        found.iter().map(|record| Ok((ProposalOf(parsed(&record.id)?), reply(record)?))).collect()
    }
}

impl Load<WholeProposal> for Loader {
    type Value = Proposal;
    type Error = Error;

    async fn load(&self, keys: &[WholeProposal]) -> Result<HashMap<WholeProposal, Proposal>> {
        let reads = keys.iter().map(async |key| {
            let found = self.service.proposal(&self.caller, &key.0.to_string()).await?;
            let found = found.map(|record| Proposal::with_texts(&record)).transpose()?;
            Ok::<_, Error>(found.map(|proposal| (*key, proposal)))
        });
        Ok(try_join_all(reads).await?.into_iter().flatten().collect())
    }
}

/// An id as the façade writes it.
fn parsed<T: std::str::FromStr<Err = InvalidId>>(id: &str) -> Result<T> {
    Ok(id.parse().map_err(|error| crate::error::Error::bad_input("id", error))?)
}
