//! Pages, revisions and proposals, as they are read. They are written by [`crate::domain::Op::PutRecord`], in one
//! transaction with everything else that a decision writes.
//!
//! Lists are by key, never by offset. `author` narrows proposals to those of one principal: for callers without the right
//! to review.

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::PortError;
use crate::domain::{Page, PageId, Proposal, ProposalId, ProposalKind, ProposalState, Record, Revision, Visibility};

/// Conditions on pages; empty fields ask nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageQuery {
    /// Slugs that begin so, as names.
    pub prefix: String,
    /// Pages that point to this: `page:NAME` or `memory:ID`.
    pub refers_to: Option<String>,
    /// Deleted pages in place of those that are there.
    pub deleted: bool,
}

/// Conditions on proposals; empty fields ask nothing. Values within a field are alternatives, fields are all required.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueQuery {
    /// States.
    pub states: Vec<ProposalState>,
    /// Kinds.
    pub kinds: Vec<ProposalKind>,
    /// What they are about: a page, or the first memory.
    pub of: Option<Uuid>,
    /// Who wrote them.
    pub author: Option<String>,
    /// Agent run.
    pub run: Option<String>,
    /// Held by this reviewer at that moment.
    pub held_by: Option<(String, Timestamp)>,
    /// Held by nobody at that moment.
    pub free_at: Option<Timestamp>,
    /// Whether a risk was found.
    pub flagged: Option<bool>,
}

/// How many proposals of an author are in a state.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    /// Who wrote them.
    pub author: String,
    /// Where they are.
    pub state: ProposalState,
    /// How many.
    pub count: usize,
    /// How many of them were decided.
    pub decided: usize,
    /// Seconds from proposal to decision, of all that were decided together.
    pub decision_secs: f64,
}

/// A row of the change log: what became of one proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalChange {
    /// Position of the change; several rows may share it.
    pub seq: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// Who changed it.
    pub actor: String,
    /// The use case.
    pub use_case: String,
    /// The proposal.
    pub proposal: ProposalId,
    /// Its kind.
    pub kind: ProposalKind,
    /// Its state after it.
    pub state: ProposalState,
}

/// Pages, revisions and proposals.
#[async_trait]
pub trait ReviewStore: Send + Sync {
    /// Those of `ids` that are visible records, in the order asked.
    async fn records(&self, ids: &[Uuid], visibility: &Visibility) -> Result<Vec<Record>, PortError>;
    /// The text beside a visible record, byte for byte.
    async fn text(&self, id: Uuid, visibility: &Visibility) -> Result<Option<String>, PortError>;
    /// The visible pages that have one of these names, deleted ones too, in any order.
    async fn pages_named(&self, names: &[String], visibility: &Visibility) -> Result<Vec<Page>, PortError>;
    /// Visible pages that meet the conditions, by slug, ties by id.
    async fn pages(
        &self,
        query: &PageQuery,
        after: Option<(String, PageId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Page>, PortError>;
    /// Visible revisions of a page below number `before`, approved at `until` or earlier, latest first.
    async fn history(
        &self,
        page: PageId,
        before: Option<u64>,
        until: Option<Timestamp>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Revision>, PortError>;
    /// Visible proposals that meet the conditions, oldest first, ties by id.
    async fn queue(
        &self,
        query: &QueueQuery,
        after: Option<(Timestamp, ProposalId)>,
        limit: usize,
        visibility: &Visibility,
    ) -> Result<Vec<Proposal>, PortError>;
    /// How many visible proposals meet the conditions.
    async fn queue_total(&self, query: &QueueQuery, visibility: &Visibility) -> Result<usize, PortError>;
    /// How many visible proposals each author has in each state, in any order.
    async fn tallies(&self, visibility: &Visibility) -> Result<Vec<Tally>, PortError>;
    /// Since when visible pending proposals wait, oldest first, at most `limit`.
    async fn waiting(&self, limit: usize, visibility: &Visibility) -> Result<Vec<Timestamp>, PortError>;
    /// Rows of the change log above `after` about proposals that were visible then, in order. A change is never cut: of
    /// the last one all rows come, even beyond `limit`.
    async fn proposal_changes(
        &self,
        after: u64,
        limit: usize,
        author: Option<&str>,
        visibility: &Visibility,
    ) -> Result<Vec<ProposalChange>, PortError>;
}
