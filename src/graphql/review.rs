//! Proposals and decisions as the schema shows them.
//!
//! Lists give proposals without texts, differences and evidence; whoever asks for one of these gets it read.

use async_graphql::{ComplexObject, Context, ID, Result, SimpleObject};
use serde::Deserialize;

use super::{
    convert::{NodeType, global, memory_id, reply},
    loader::{WholeProposal, asking, service},
    names::{
        Code, DateTime, Outcome, PageChange, PrincipalKind, ProposalKind, ProposalState, RejectReason, Scope, Source,
        Status,
    },
    types::{Memory, count, memory_of},
    wiki::{Citation, Diff, Page, Rendered, Risk, page_of, proposal_of},
};
use crate::{domain::ProposalId, error::Error, review};

/// Something that waits until a person says yes or no, and everything that was said of it.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct Proposal {
    /// Its plain id, the same in every interface.
    #[serde(rename = "id")]
    pub uuid: String,
    /// What is proposed.
    kind: ProposalKind,
    /// Where it is.
    state: ProposalState,
    /// What it is about, in a line: a page's address, a memory in short, or a vocabulary.
    subject: String,
    /// Hash of what would go live now; approval is bound to it.
    content_hash: String,
    /// Who proposed it.
    author: String,
    /// What stands behind the author.
    author_kind: PrincipalKind,
    /// Who answers for the author, if it is an agent.
    owner: Option<String>,
    /// The agent run it belongs to.
    run_id: Option<String>,
    /// Why, in the author's words.
    rationale: Option<String>,
    /// When it was proposed.
    created_at: DateTime,
    /// When it last changed.
    updated_at: DateTime,
    /// For an edit: address that the page will have.
    slug: Option<String>,
    /// For an edit: heading that the page will have.
    title: Option<String>,
    /// For an edit: what it does.
    change: Option<PageChange>,
    /// Number of the revision that an edit was written on, or of the version that a vocabulary was compared with; 0 for a new page.
    base_revision: Option<i64>,
    /// Number of the page's head, or of the version of the ontologies in force; 0 for a page that is not there.
    head_revision: Option<i64>,
    /// Whether the page or the ontologies have moved since it was written.
    stale: bool,
    /// What to look at twice.
    risk_flags: Vec<Risk>,
    /// Who holds it, if somebody does.
    claimed_by: Option<String>,
    /// Until when.
    claimed_until: Option<DateTime>,
    /// How many must approve.
    approvals_needed: i64,
    /// Groups of which at least one approver must be a member; empty is anybody.
    approval_groups: Vec<String>,
    /// Who has approved what it says now.
    approvals: Vec<Approval>,
    /// What was said of it.
    comments: Vec<ReviewComment>,
    /// How it ended.
    decision: Option<Decision>,
    /// Every move, oldest first.
    moves: Vec<Move>,
    #[graphql(skip)]
    page_id: Option<String>,
    #[graphql(skip)]
    #[serde(default)]
    memory_ids: Vec<String>,
    #[graphql(skip)]
    #[serde(skip)]
    whole: Option<Whole>,
}

/// What lists leave out.
#[derive(Debug, Clone, Deserialize)]
struct Whole {
    body: Option<String>,
    merged: Option<String>,
    base: Option<String>,
    current: Option<String>,
    diff: Option<Diff>,
    ontology: Option<OntologyChange>,
    #[serde(default)]
    conflicts: Vec<Conflict>,
    #[serde(default)]
    evidence: Vec<Citation>,
    #[serde(default)]
    memories: Vec<ReviewedMemory>,
}

impl Proposal {
    /// As the façade gives one that was read by itself.
    pub(super) fn with_texts(record: &review::ProposalRecord) -> std::result::Result<Self, Error> {
        Ok(Self { whole: Some(reply(record)?), ..reply::<Self>(record)? })
    }

    async fn whole(&self, ctx: &Context<'_>) -> Result<Option<Whole>> {
        if self.whole.is_some() {
            return Ok(self.whole.clone());
        }
        let id: ProposalId = self.uuid.parse().map_err(|error| Error::bad_input("id", error))?;
        let found: Option<Self> = asking(ctx)?.loader.load_one(WholeProposal(id)).await?;
        Ok(found.and_then(|proposal| proposal.whole))
    }
}

#[ComplexObject]
impl Proposal {
    /// Its global id.
    pub(super) async fn id(&self) -> ID {
        global(NodeType::Proposal, &self.uuid)
    }

    /// For an edit: global id of the page, which a new one gets with its approval.
    async fn page_id(&self) -> Option<ID> {
        self.page_id.as_ref().map(|id| global(NodeType::Page, id))
    }

    /// How many comments there are.
    async fn comment_count(&self) -> i64 {
        count(self.comments.len())
    }

    /// For an edit: the page as it is now; null for a new one.
    async fn page(&self, ctx: &Context<'_>) -> Result<Option<Page>> {
        match &self.page_id {
            Some(id) => page_of(ctx, id).await,
            None => Ok(None),
        }
    }

    /// Of a decision about memories: their global ids. An update names the new text and the memory that it changes.
    async fn memory_ids(&self) -> Vec<ID> {
        self.memory_ids.iter().map(|id| global(NodeType::Memory, id)).collect()
    }

    /// The same as `headRevision`: give it as `expectedHead`.
    async fn head(&self) -> Option<i64> {
        self.head_revision
    }

    /// What the author wrote: a page, the new text of a memory, or a file of terms.
    async fn body(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.whole(ctx).await?.and_then(|whole| whole.body))
    }

    /// What would go live: the author's text, or that joined with what the page says by now; of a vocabulary, the terms that it
    /// changes. Absent while they clash.
    async fn merged(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.whole(ctx).await?.and_then(|whole| whole.merged))
    }

    /// What the page was when it was written.
    async fn base(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.whole(ctx).await?.and_then(|whole| whole.base))
    }

    /// What the page, the memory or those terms say now.
    async fn current(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.whole(ctx).await?.and_then(|whole| whole.current))
    }

    /// What would change, from what is there now.
    async fn diff(&self, ctx: &Context<'_>) -> Result<Option<Diff>> {
        Ok(self.whole(ctx).await?.and_then(|whole| whole.diff))
    }

    /// For a vocabulary: what it would change.
    async fn ontology(&self, ctx: &Context<'_>) -> Result<Option<OntologyChange>> {
        Ok(self.whole(ctx).await?.and_then(|whole| whole.ontology))
    }

    /// Where the author's text and the page's clash.
    async fn conflicts(&self, ctx: &Context<'_>) -> Result<Vec<Conflict>> {
        Ok(self.whole(ctx).await?.map_or_else(Vec::new, |whole| whole.conflicts))
    }

    /// Memories that bear it out.
    async fn evidence(&self, ctx: &Context<'_>) -> Result<Vec<Citation>> {
        Ok(self.whole(ctx).await?.map_or_else(Vec::new, |whole| whole.evidence))
    }

    /// Of a decision about memories: these.
    async fn memories(&self, ctx: &Context<'_>) -> Result<Vec<ReviewedMemory>> {
        Ok(self.whole(ctx).await?.map_or_else(Vec::new, |whole| whole.memories))
    }

    /// For an edit: the text to look at.
    async fn rendered(&self, ctx: &Context<'_>) -> Result<Option<Rendered>> {
        if self.kind != ProposalKind::WikiEdit {
            return Ok(None);
        }
        let wanted =
            review::RenderPageRequest { proposal: Some(self.uuid.clone()), ..review::RenderPageRequest::default() };
        let rendered = service(ctx)?.render_page(&asking(ctx)?.caller, wanted).await?;
        Ok(rendered.map(|rendered| reply(&rendered)).transpose()?)
    }
}

/// What a file of terms would change.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
pub(super) struct OntologyChange {
    /// The vocabulary.
    vocabulary: String,
    /// Name of the file.
    file: String,
    /// Terms that would come in.
    new: i64,
    /// Terms that would become others.
    changed: i64,
    /// Terms that would go.
    removed: i64,
    /// Terms that would stay as they are; absent once it is decided.
    unchanged: Option<i64>,
    /// How many terms the difference shows, those that go first; absent once it is decided.
    shown: Option<i64>,
    /// What is odd about the file.
    #[serde(default)]
    warnings: Vec<String>,
}

/// A place where two edits clash.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
pub(super) struct Conflict {
    /// Line of the head where it begins, from 1.
    line: i64,
    /// What was there when both were written.
    base: String,
    /// What the page says now.
    head: String,
    /// What is proposed.
    proposed: String,
}

/// A memory as a reviewer gets it.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct ReviewedMemory {
    /// Global id of the memory.
    #[serde(deserialize_with = "memory_id")]
    id: ID,
    /// What it is about.
    title: Option<String>,
    /// All of it.
    content: String,
    /// Where it is in its life.
    status: Status,
    /// Who may read it.
    scope: Scope,
    /// Where the claim comes from.
    source: Source,
    /// When it happened.
    occurred_at: DateTime,
}

#[ComplexObject]
impl ReviewedMemory {
    /// The memory with all its fields, if the caller sees it outside of the review, too.
    async fn memory(&self, ctx: &Context<'_>) -> Result<Option<Memory>> {
        memory_of(ctx, &self.id).await
    }
}

/// A yes to what a proposal says now.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
pub(super) struct Approval {
    /// Who.
    by: String,
    /// When.
    at: DateTime,
}

/// What somebody said of a proposal.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
pub(super) struct ReviewComment {
    /// Who.
    by: String,
    /// When.
    at: DateTime,
    /// What.
    text: String,
    /// Line of the proposed text it is about, from 1.
    line: Option<i64>,
}

/// How a proposal ended.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct Decision {
    /// Who decided last.
    by: String,
    /// When.
    at: DateTime,
    /// For a rejection: why.
    reason: Option<RejectReason>,
    /// In the reviewer's words.
    note: Option<String>,
    /// Whether the reviewer changed the text before it went live.
    edited: bool,
    /// Plain id of the revision it became.
    revision_id: Option<String>,
    /// Number of the version of the ontologies that it became.
    version: Option<i64>,
    #[graphql(skip)]
    memory_id: Option<String>,
}

#[ComplexObject]
impl Decision {
    /// Global id of the memory that was chosen or let in.
    async fn memory_id(&self) -> Option<ID> {
        self.memory_id.as_ref().map(|id| global(NodeType::Memory, id))
    }
}

/// A move from state to state.
#[derive(Debug, Clone, SimpleObject, Deserialize)]
pub(super) struct Move {
    /// When.
    at: DateTime,
    /// Who.
    by: String,
    /// From which state; absent for the first.
    from: Option<ProposalState>,
    /// To which.
    to: ProposalState,
    /// Why.
    why: Option<String>,
}

/// The state of the queue.
#[derive(SimpleObject, Deserialize)]
pub(super) struct ReviewStats {
    /// Proposals that wait for a decision.
    pending: i64,
    /// How many of these somebody holds.
    claimed: i64,
    /// Back with their authors.
    changes_requested: i64,
    /// Waiting for a resolution.
    conflicted: i64,
    /// Seconds that pending ones have waited, half of them no longer.
    age_p50_secs: i64,
    /// Seconds that pending ones have waited, all but one in twenty no longer.
    age_p95_secs: i64,
    /// Mean seconds from proposal to decision.
    decision_secs: Option<f64>,
    /// One row for each author, most proposals first, at most 100.
    authors: Vec<AuthorStats>,
}

/// What became of an author's proposals.
#[derive(SimpleObject, Deserialize)]
pub(super) struct AuthorStats {
    /// Who.
    author: String,
    /// Not yet decided.
    open: i64,
    /// Taken, those taken back later among them.
    approved: i64,
    /// Turned down.
    rejected: i64,
    /// Taken of those that were decided, between 0 and 1.
    accept_rate: Option<f64>,
}

/// Something happened in the queue.
#[derive(SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct ReviewChange {
    /// Position of the change; give the last one as `after` to go on from it.
    #[serde(rename = "seq", deserialize_with = "position")]
    position: String,
    /// When.
    at: DateTime,
    /// Who.
    actor: String,
    /// The use case, for example approve_proposal.
    use_case: String,
    /// State of the proposal after it.
    pub state: ProposalState,
    /// Kind of the proposal.
    pub kind: ProposalKind,
    #[graphql(skip)]
    proposal_id: String,
}

fn position<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<String, D::Error> {
    Ok(i64::deserialize(deserializer)?.to_string())
}

#[ComplexObject]
impl ReviewChange {
    /// Global id of the proposal.
    async fn id(&self) -> ID {
        global(NodeType::Proposal, &self.proposal_id)
    }

    /// The proposal as it is now.
    async fn proposal(&self, ctx: &Context<'_>) -> Result<Option<Proposal>> {
        proposal_of(ctx, &self.proposal_id).await
    }
}

/// What became of one file of a folder.
#[derive(SimpleObject, Deserialize)]
pub(super) struct FileOutcome {
    /// Its path.
    path: String,
    /// Address of its page.
    slug: String,
    /// created, changed, unchanged or failed.
    outcome: String,
    /// Why it failed.
    message: Option<String>,
}

/// A page as a file of a folder.
#[derive(SimpleObject, Deserialize)]
pub(super) struct PageFile {
    /// Path below the folder, with `/`.
    path: String,
    /// All of it.
    text: String,
}

/// What became of one of many.
#[derive(SimpleObject, Deserialize)]
#[graphql(complex)]
pub(super) struct ItemOutcome {
    #[graphql(skip)]
    id: String,
    /// What became of it, or would.
    outcome: Outcome,
    /// What went wrong, if it failed.
    code: Option<Code>,
    /// For the reader.
    message: Option<String>,
}

#[ComplexObject]
impl ItemOutcome {
    /// Global id of the proposal.
    async fn id(&self) -> ID {
        global(NodeType::Proposal, &self.id)
    }

    /// The proposal as it is now.
    async fn proposal(&self, ctx: &Context<'_>) -> Result<Option<Proposal>> {
        proposal_of(ctx, &self.id).await
    }
}
