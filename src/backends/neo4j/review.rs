//! The `ReviewStore` port: a graph on a Neo4j server keeps no wiki yet, and says so.

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::{Neo4jStore, error::Neo4jError, graph_store::named};
use crate::{
    domain::{Page, PageId, Proposal, ProposalId, Record, Revision, Visibility},
    ports::{PageQuery, PortError, ProposalChange, QueueQuery, ReviewStore, Tally},
};

async fn not_kept<T>(operation: &'static str) -> Result<T, PortError> {
    named(operation, async { Err(Neo4jError::NotKept) }).await
}

#[async_trait]
impl ReviewStore for Neo4jStore {
    async fn records(&self, _: &[Uuid], _: &Visibility) -> Result<Vec<Record>, PortError> {
        not_kept("records").await
    }

    async fn text(&self, _: Uuid, _: &Visibility) -> Result<Option<String>, PortError> {
        not_kept("text").await
    }

    async fn pages_named(&self, _: &[String], _: &Visibility) -> Result<Vec<Page>, PortError> {
        not_kept("pages_named").await
    }

    async fn pages(
        &self,
        _: &PageQuery,
        _: Option<(String, PageId)>,
        _: usize,
        _: &Visibility,
    ) -> Result<Vec<Page>, PortError> {
        not_kept("pages").await
    }

    async fn history(
        &self,
        _: PageId,
        _: Option<u64>,
        _: Option<Timestamp>,
        _: usize,
        _: &Visibility,
    ) -> Result<Vec<Revision>, PortError> {
        not_kept("history").await
    }

    async fn queue(
        &self,
        _: &QueueQuery,
        _: Option<(Timestamp, ProposalId)>,
        _: usize,
        _: &Visibility,
    ) -> Result<Vec<Proposal>, PortError> {
        not_kept("queue").await
    }

    async fn queue_total(&self, _: &QueueQuery, _: &Visibility) -> Result<usize, PortError> {
        not_kept("queue_total").await
    }

    async fn tallies(&self, _: &Visibility) -> Result<Vec<Tally>, PortError> {
        not_kept("tallies").await
    }

    async fn waiting(&self, _: usize, _: &Visibility) -> Result<Vec<Timestamp>, PortError> {
        not_kept("waiting").await
    }

    async fn proposal_changes(
        &self,
        _: u64,
        _: usize,
        _: Option<&str>,
        _: &Visibility,
    ) -> Result<Vec<ProposalChange>, PortError> {
        not_kept("proposal_changes").await
    }
}
