//! The façade: one method per use case, in plain types. Faces call nothing else.
//!
//! To add a use case: a function in its room, a method here, an entry in each face. The method opens the span and counts
//! the time; both are named after the use case.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, watch};
use tracing::Instrument;

use crate::{
    auth,
    domain::{
        Caller, ChangeId, ChangeSet, ConceptId, Edge, EdgeKind, Event, EventId, MemoryId, PageId, PrincipalKind,
        ProposalId, Right, Visibility,
    },
    error::{Error, ErrorCode},
    input,
    jobs::{self, Backlog, DoctorReport, Drain, Replay, Revector, Uses},
    ontology::{self, Lexicons, OntologyContext, OntologySettings, Rules},
    ports::{
        AuditRow, Browse, Clock, ConceptUse, Embedder, GraphStore, Group, GroupSummary, MemoryChange, OntologyStore,
        PortError, PortErrorKind, ReviewStore, StoreCounts, StoredToken, TokenStore, VectorIndex,
    },
    read::{
        self, AssociateReply, AssociateRequest, BriefReply, BriefRequest, ExplainReply, ExplainRequest, GetReply,
        GetRequest, MemoryRecord, ReadContext, ReadSettings, RecallReply, RecallRequest, SummarizeReply,
        SummarizeRequest, TraceReply, TraceRequest,
        browse::{self, ListRequest, Page, PageRequest},
    },
    review::{
        self, ApproveProposalRequest, BulkReply, CommentOnProposalRequest, DecisionReply, ImportPagesReply,
        ImportPagesRequest, PageBlame, PageDiff, PageDiffRequest, PageFile, PageRecord, PagesRequest, ProposalRecord,
        ProposalsRequest, ProposeDecisionRequest, ProposeEditRequest, RejectProposalRequest, RenderPageRequest,
        RenderedPage, RequestChangesRequest, ResolveProposalRequest, RevertProposalRequest, RevertReply,
        RevertRevisionRequest, RevertRunRequest, ReviewContext, ReviewEvent, ReviewProposalsRequest, ReviewSettings,
        ReviewStats, ReviseProposalRequest, RevisionRecord, SearchPagesReply, SearchPagesRequest,
        WithdrawProposalRequest,
    },
    telemetry,
    write::{
        self, FeedbackReply, FeedbackRequest, ForgetReply, ForgetRequest, Imported, LinkReply, LinkRequest,
        ObserveReply, ObserveRequest, StoreReply, StoreRequest, UpdateRequest, Vectors, WriteContext, WriteSettings,
    },
};

/// The ports a service runs on, picked once at start-up.
#[derive(Clone)]
pub struct Parts {
    /// The truth.
    pub graph: Arc<dyn GraphStore>,
    /// The truth, page by page.
    pub browse: Arc<dyn Browse>,
    /// The wiki and the review queue.
    pub reviews: Arc<dyn ReviewStore>,
    /// The derived index.
    pub index: Arc<dyn VectorIndex>,
    /// At least one; the first takes every memory.
    pub embedders: Vec<Arc<dyn Embedder>>,
    /// Bearer tokens.
    pub tokens: Arc<dyn TokenStore>,
    /// Terms of ontologies.
    pub ontology: Arc<dyn OntologyStore>,
    /// Time and ids.
    pub clock: Arc<dyn Clock>,
    /// The one writer of the index.
    pub drain: Arc<Drain>,
    /// Where writes wait while the graph store is away; none for a store in this process.
    pub backlog: Option<Arc<Backlog>>,
}

/// Everything recollect can do.
pub struct Service {
    parts: Parts,
    read: ReadContext,
    write: WriteContext,
    review: ReviewSettings,
    ontology: OntologyContext,
    uses: Arc<Uses>,
    /// Questions that may be answered at the same time.
    turns: Semaphore,
    changed: watch::Sender<()>,
}

/// How the service is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// Memories the caller sees, of any status.
    pub memories: i64,
    /// Edges the caller sees.
    pub edges: i64,
    /// Concepts the caller sees.
    pub concepts: i64,
    /// Changes that the vector index has still to make durable.
    pub outbox: i64,
    /// Writes that wait for the graph store.
    pub journal: i64,
    /// Writes that were given up and wait for a person.
    pub dead_letters: i64,
    /// Model behind each vector space.
    pub spaces: Vec<String>,
}

/// A token to make.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct CreateTokenRequest {
    /// Who it speaks for.
    pub principal: String,
    /// human, agent or service.
    pub kind: String,
    /// Groups it is a member of.
    pub groups: Vec<String>,
    /// What it may do.
    pub rights: Vec<String>,
    /// Who answers for it, if it is an agent: that person does not decide on what it proposes.
    pub owner: Option<String>,
}

/// Whether a part is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// graph, vectors or models.
    pub part: &'static str,
    /// Whether it answers.
    pub ready: bool,
    /// Whether it does not because it is being built anew; the others serve meanwhile.
    pub rebuilding: bool,
}

/// A memory after an update.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct UpdateReply {
    /// As it is now.
    #[serde(flatten)]
    pub memory: MemoryRecord,
    /// The proposal under which its new text waits for a person; until then the memory says what it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_id: Option<String>,
}

impl Service {
    /// A service on these ports.
    pub fn new(
        parts: Parts,
        read: ReadSettings,
        write: WriteSettings,
        review: ReviewSettings,
        ontology: OntologySettings,
    ) -> Self {
        let Parts { graph, browse, index, embedders, clock, drain, backlog, .. } = parts.clone();
        let vectors = Vectors { embedders: embedders.clone(), window: write.window, spent_micros: Arc::default() };
        let uses = Arc::new(Uses::new(graph.clone(), clock.clone()));
        let store = parts.ontology.clone();
        let lexicons = Arc::new(Lexicons::new(store.clone(), ontology.clone()));
        let (rules, turn) = (Rules(ontology.rules.clone()), Arc::<tokio::sync::Mutex<()>>::default());
        Self {
            uses,
            ontology: OntologyContext {
                store: store.clone(),
                graph: graph.clone(),
                clock: clock.clone(),
                lexicons: lexicons.clone(),
                settings: ontology,
                turn: turn.clone(),
                importing: Arc::default(),
                progress: watch::Sender::default(),
            },
            turns: Semaphore::new(read.at_once),
            read: ReadContext {
                graph: graph.clone(),
                browse,
                index: index.clone(),
                embedders,
                ontology: store.clone(),
                lexicons: lexicons.clone(),
                clock: clock.clone(),
                settings: read,
            },
            write: WriteContext {
                graph,
                reviews: parts.reviews.clone(),
                index,
                drain,
                backlog,
                vectors,
                lexicons,
                rules,
                clock,
                settings: write,
                turn,
            },
            review,
            parts,
            changed: watch::Sender::new(()),
        }
    }

    /// Stores a memory; durable when it returns.
    pub async fn store(&self, caller: &Caller, request: StoreRequest) -> Result<StoreReply, Error> {
        self.changing("store", write::store(&self.write, caller, request)).await
    }

    /// Stores a batch in one transaction.
    pub async fn store_all(
        &self,
        caller: &Caller,
        requests: Vec<StoreRequest>,
    ) -> Result<Vec<Result<StoreReply, Error>>, Error> {
        self.changing("store", write::store_all(&self.write, caller, requests)).await
    }

    /// Changes a memory, or asks a person whether to.
    pub async fn update(&self, caller: &Caller, request: UpdateRequest) -> Result<UpdateReply, Error> {
        let update = self.changing("update", write::update(&self.write, caller, request)).await?;
        Ok(UpdateReply { memory: update.memory.into(), review_id: update.waits.map(|id| id.to_string()) })
    }

    /// Forgets memories.
    pub async fn forget(&self, caller: &Caller, request: ForgetRequest) -> Result<ForgetReply, Error> {
        self.changing("forget", write::forget(&self.write, caller, request)).await
    }

    /// Links two memories.
    pub async fn link(&self, caller: &Caller, request: LinkRequest) -> Result<LinkReply, Error> {
        self.changing("link", write::link(&self.write, caller, request)).await
    }

    /// Notes a vote on a memory.
    pub async fn feedback(&self, caller: &Caller, request: FeedbackRequest) -> Result<FeedbackReply, Error> {
        self.changing("feedback", write::feedback(&self.write, caller, request)).await
    }

    /// Keeps a raw event, with the memory that it makes.
    pub async fn observe(&self, caller: &Caller, request: ObserveRequest) -> Result<ObserveReply, Error> {
        self.changing("observe", write::observe(&self.write, caller, request)).await
    }

    /// Links many memories in one transaction.
    pub async fn link_all(
        &self,
        caller: &Caller,
        requests: Vec<LinkRequest>,
    ) -> Result<Vec<Result<LinkReply, Error>>, Error> {
        self.changing("link", write::link_all(&self.write, caller, requests)).await
    }

    /// Imports JSON lines; `progress` is told the lines done.
    pub async fn import(
        &self,
        caller: &Caller,
        text: &str,
        progress: impl FnMut(usize) + Send,
    ) -> Result<Imported, Error> {
        self.changing("import", write::import(&self.write, caller, text, progress)).await
    }

    /// Answers a question.
    pub async fn recall(&self, caller: &Caller, request: RecallRequest) -> Result<RecallReply, Error> {
        // To list the latest, or to look back, is not to use.
        let latest = request.mode.as_deref() == Some(read::Mode::Recent.name());
        let uses = !latest && request.as_of.is_none() && request.known_at.is_none();
        let reply = self.answering("recall", read::recall(&self.read, caller, request)).await?;
        if uses {
            self.uses.note(reply.items.iter().filter_map(|item| item.id.parse().ok()));
        }
        Ok(reply)
    }

    /// Walks the graph.
    pub async fn associate(&self, caller: &Caller, request: AssociateRequest) -> Result<AssociateReply, Error> {
        let uses = request.as_of.is_none() && request.known_at.is_none();
        let reply = self.answering("associate", read::associate(&self.read, caller, request)).await?;
        if uses {
            self.uses.note(reply.items.iter().filter_map(|found| found.item.id.parse().ok()));
        }
        Ok(reply)
    }

    /// Reads memories by id.
    pub async fn get(&self, caller: &Caller, request: GetRequest) -> Result<GetReply, Error> {
        measured("get", read::get(&self.read, caller, request)).await
    }

    /// Memories that meet the conditions, latest first.
    pub async fn list(
        &self,
        caller: &Caller,
        request: &ListRequest,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, Error> {
        measured("list", browse::list(&self.read, caller, request, page)).await
    }

    /// How many memories meet the conditions.
    pub async fn list_total(&self, caller: &Caller, request: &ListRequest) -> Result<usize, Error> {
        measured("list_total", browse::list_total(&self.read, caller, request)).await
    }

    /// Those of `ids` that are memories the caller sees.
    pub async fn find(&self, caller: &Caller, ids: &[MemoryId]) -> Result<Vec<MemoryRecord>, Error> {
        measured("find", browse::find(&self.read, caller, ids)).await
    }

    /// What the caller sees of a session or task.
    pub async fn group(&self, caller: &Caller, group: &Group) -> Result<Option<GroupSummary>, Error> {
        measured("group", browse::group(&self.read, caller, group)).await
    }

    /// Memories of a session or task in the order of recording.
    pub async fn members(
        &self,
        caller: &Caller,
        group: &Group,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, Error> {
        measured("members", browse::members(&self.read, caller, group, page)).await
    }

    /// Events of a session or task, or of all, earliest first.
    pub async fn events(
        &self,
        caller: &Caller,
        group: Option<&Group>,
        page: &PageRequest,
    ) -> Result<Page<Event>, Error> {
        measured("events", browse::events(&self.read, caller, group, page)).await
    }

    /// Those of `ids` that are events the caller sees.
    pub async fn events_by_id(&self, caller: &Caller, ids: &[EventId]) -> Result<Vec<Event>, Error> {
        measured("events", browse::events_by_id(&self.read, caller, ids)).await
    }

    /// Concepts whose name contains `search`, by name.
    pub async fn concepts(
        &self,
        caller: &Caller,
        search: Option<&str>,
        page: &PageRequest,
    ) -> Result<Page<ConceptUse>, Error> {
        measured("concepts", browse::concepts(&self.read, caller, search, page)).await
    }

    /// The concept with this name.
    pub async fn concept_named(&self, caller: &Caller, label: &str) -> Result<Option<ConceptUse>, Error> {
        measured("concept", browse::concept_named(&self.read, caller, label)).await
    }

    /// Those of `ids` that are concepts the caller may know of.
    pub async fn concepts_by_id(&self, caller: &Caller, ids: &[ConceptId]) -> Result<Vec<ConceptUse>, Error> {
        measured("concept", browse::concepts_by_id(&self.read, caller, ids)).await
    }

    /// Memories that name a concept: those about it first.
    pub async fn concept_members(
        &self,
        caller: &Caller,
        concept: ConceptId,
        page: &PageRequest,
    ) -> Result<Page<(MemoryRecord, EdgeKind)>, Error> {
        measured("concept_members", browse::concept_members(&self.read, caller, concept, page)).await
    }

    /// Imports an ontology, or says what that would do. Without the right to import it waits in the review queue.
    pub async fn import_ontology(
        &self,
        caller: &Caller,
        request: ontology::ImportRequest,
    ) -> Result<ontology::ImportReply, Error> {
        let work = async {
            if caller.may(Right::OntologyImport) {
                return ontology::import(&self.ontology, caller, request).await;
            }
            review::propose_import(&self.review(), caller, request).await
        };
        self.changing("import_ontology", work).await
    }

    /// Makes an earlier version of all ontologies the one in force again.
    pub async fn rollback_ontology(&self, caller: &Caller, version: i64) -> Result<ontology::VersionRecord, Error> {
        self.changing("rollback_ontology", ontology::rollback(&self.ontology, caller, version)).await
    }

    /// The versions of all ontologies below `before`, latest first.
    pub async fn ontology_versions(
        &self,
        caller: &Caller,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<ontology::VersionRecord>, Error> {
        measured("ontology_versions", ontology::versions(&self.ontology, caller, before, limit)).await
    }

    /// How far the import under way has come.
    pub fn import_progress(&self) -> watch::Receiver<ontology::Progress> {
        self.ontology.progress.subscribe()
    }

    /// A term of an ontology by its IRI, id or name.
    pub async fn show_concept(&self, caller: &Caller, name: &str) -> Result<ontology::ConceptRecord, Error> {
        measured("show_concept", ontology::show(&self.ontology, caller, name)).await
    }

    /// Concepts of ontologies: those right below one, those at the top, or those with a name; by name.
    pub async fn concept_tree(
        &self,
        caller: &Caller,
        below: Option<&str>,
        search: Option<&str>,
        page: &PageRequest,
    ) -> Result<Page<ontology::ConceptSummary>, Error> {
        measured("concept_tree", browse::concept_tree(&self.read, caller, below, search, page)).await
    }

    /// The terms in force of a vocabulary, or of all, as Turtle or N-Triples.
    pub async fn export_ontology(
        &self,
        caller: &Caller,
        vocabulary: Option<&str>,
        format: &str,
    ) -> Result<String, Error> {
        measured("export_ontology", ontology::export(&self.ontology, caller, vocabulary, format)).await
    }

    /// Links memories to concepts where an import that was cut short has left that out; how many got a link.
    pub async fn link_concepts(&self) -> Result<usize, Error> {
        measured("link_concepts", ontology::link_behind(&self.ontology, |_, _| {})).await
    }

    /// The edges of each memory.
    pub async fn edges(&self, caller: &Caller, ids: &[MemoryId]) -> Result<Vec<Vec<Edge>>, Error> {
        measured("edges", browse::edges(&self.read, caller, ids)).await
    }

    /// Who changed what and when, latest first.
    pub async fn audit(&self, caller: &Caller, page: &PageRequest) -> Result<Page<AuditRow>, Error> {
        measured("audit", browse::audit(&self.read, caller, page)).await
    }

    /// What became of memories the caller saw, after position `after`.
    pub async fn changes(&self, caller: &Caller, after: u64) -> Result<Vec<MemoryChange>, Error> {
        measured("changes", browse::changes(&self.read, caller, after)).await
    }

    /// The position from which [`Self::changes`] tells only what is new.
    pub async fn last_change(&self, caller: &Caller) -> Result<u64, Error> {
        measured("changes", browse::last_change(&self.read, caller)).await
    }

    /// Wakes when this process may have changed a memory. Other processes change them too, so whoever waits also looks now
    /// and then.
    pub fn changed(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    fn review(&self) -> ReviewContext<'_> {
        ReviewContext {
            reviews: &*self.parts.reviews,
            write: &self.write,
            read: &self.read,
            ontology: &self.ontology,
            settings: &self.review,
        }
    }

    /// Proposes an edit of a page; it waits until somebody decides.
    pub async fn propose_edit(&self, caller: &Caller, request: ProposeEditRequest) -> Result<ProposalRecord, Error> {
        self.changing("propose_edit", review::propose_edit(&self.review(), caller, request)).await
    }

    /// Proposes a decision between memories.
    pub async fn propose_decision(
        &self,
        caller: &Caller,
        request: ProposeDecisionRequest,
    ) -> Result<ProposalRecord, Error> {
        self.changing("propose_decision", review::propose_decision(&self.review(), caller, request)).await
    }

    /// Gives an open proposal of the caller's another text.
    pub async fn revise_proposal(
        &self,
        caller: &Caller,
        request: ReviseProposalRequest,
    ) -> Result<ProposalRecord, Error> {
        self.changing("revise_proposal", review::revise_proposal(&self.review(), caller, request)).await
    }

    /// Takes an open proposal of the caller's back.
    pub async fn withdraw_proposal(
        &self,
        caller: &Caller,
        request: WithdrawProposalRequest,
    ) -> Result<ProposalRecord, Error> {
        self.changing("withdraw_proposal", review::withdraw_proposal(&self.review(), caller, request)).await
    }

    /// Ends a conflict region by region; what comes of it waits for approval.
    pub async fn resolve_proposal(
        &self,
        caller: &Caller,
        request: ResolveProposalRequest,
    ) -> Result<ProposalRecord, Error> {
        self.changing("resolve_proposal", review::resolve_proposal(&self.review(), caller, request)).await
    }

    /// Says something of a proposal.
    pub async fn comment_on_proposal(
        &self,
        caller: &Caller,
        request: CommentOnProposalRequest,
    ) -> Result<ProposalRecord, Error> {
        self.changing("comment_on_proposal", review::comment_on_proposal(&self.review(), caller, request)).await
    }

    /// Takes a proposal for a while, or holds on to it.
    pub async fn claim_proposal(&self, caller: &Caller, id: &str) -> Result<ProposalRecord, Error> {
        self.changing("claim_proposal", review::claim_proposal(&self.review(), caller, id)).await
    }

    /// Takes the oldest pending proposal that nobody holds and the caller may decide on.
    pub async fn claim_next(
        &self,
        caller: &Caller,
        request: &ProposalsRequest,
    ) -> Result<Option<ProposalRecord>, Error> {
        self.changing("claim_next", review::claim_next(&self.review(), caller, request)).await
    }

    /// Lets a proposal go that the caller holds.
    pub async fn release_proposal(&self, caller: &Caller, id: &str) -> Result<ProposalRecord, Error> {
        self.changing("release_proposal", review::release_proposal(&self.review(), caller, id)).await
    }

    /// Says yes to exactly the bytes that were read.
    pub async fn approve_proposal(
        &self,
        caller: &Caller,
        request: ApproveProposalRequest,
    ) -> Result<DecisionReply, Error> {
        self.changing("approve_proposal", review::approve_proposal(&self.review(), caller, request)).await
    }

    /// Turns a proposal down.
    pub async fn reject_proposal(
        &self,
        caller: &Caller,
        request: RejectProposalRequest,
    ) -> Result<DecisionReply, Error> {
        self.changing("reject_proposal", review::reject_proposal(&self.review(), caller, request)).await
    }

    /// Gives a proposal back to its author.
    pub async fn request_changes(
        &self,
        caller: &Caller,
        request: RequestChangesRequest,
    ) -> Result<DecisionReply, Error> {
        self.changing("request_changes", review::request_changes(&self.review(), caller, request)).await
    }

    /// Takes back a decision of the caller's that was just made.
    pub async fn undo_decision(&self, caller: &Caller, id: &str) -> Result<DecisionReply, Error> {
        self.changing("undo_decision", review::undo_decision(&self.review(), caller, id)).await
    }

    /// Decides on many proposals alike.
    pub async fn review_proposals(&self, caller: &Caller, request: ReviewProposalsRequest) -> Result<BulkReply, Error> {
        self.changing("review_proposals", review::review_proposals(&self.review(), caller, request)).await
    }

    /// Takes a revision of a page back.
    pub async fn revert_revision(&self, caller: &Caller, request: RevertRevisionRequest) -> Result<RevertReply, Error> {
        self.changing("revert_revision", review::revert_revision(&self.review(), caller, request)).await
    }

    /// Takes back what a proposal made live.
    pub async fn revert_proposal(
        &self,
        caller: &Caller,
        request: RevertProposalRequest,
    ) -> Result<DecisionReply, Error> {
        self.changing("revert_proposal", review::revert_proposal(&self.review(), caller, request)).await
    }

    /// Takes back everything that an agent run made live.
    pub async fn revert_run(&self, caller: &Caller, request: RevertRunRequest) -> Result<BulkReply, Error> {
        self.changing("revert_run", review::revert_run(&self.review(), caller, request)).await
    }

    /// Takes files in as pages.
    pub async fn import_pages(&self, caller: &Caller, request: ImportPagesRequest) -> Result<ImportPagesReply, Error> {
        self.changing("import_pages", review::import_pages(&self.review(), caller, request)).await
    }

    /// Ends open proposals that nobody decided on in time. How many.
    pub async fn expire_proposals(&self, caller: &Caller) -> Result<usize, Error> {
        self.changing("expire_proposals", review::expire_proposals(&self.review(), caller)).await
    }

    /// A page, by default as it is now.
    pub async fn page(&self, caller: &Caller, request: review::PageRequest) -> Result<Option<PageRecord>, Error> {
        measured("page", review::page(&self.review(), caller, request)).await
    }

    /// Those of `ids` that are pages the caller sees.
    pub async fn pages_by_id(&self, caller: &Caller, ids: &[PageId]) -> Result<Vec<PageRecord>, Error> {
        measured("pages_by_id", review::pages_by_id(&self.review(), caller, ids)).await
    }

    /// Pages that meet the conditions, by address.
    pub async fn pages(
        &self,
        caller: &Caller,
        request: &PagesRequest,
        page: &PageRequest,
    ) -> Result<Page<PageRecord>, Error> {
        measured("pages", review::pages(&self.review(), caller, request, page)).await
    }

    /// Pages that answer a question.
    pub async fn search_pages(&self, caller: &Caller, request: SearchPagesRequest) -> Result<SearchPagesReply, Error> {
        self.answering("search_pages", review::search_pages(&self.review(), caller, request)).await
    }

    /// Revisions of a page, latest first.
    pub async fn page_history(
        &self,
        caller: &Caller,
        slug: &str,
        page: &PageRequest,
    ) -> Result<Option<Page<RevisionRecord>>, Error> {
        measured("page_history", review::page_history(&self.review(), caller, slug, page)).await
    }

    /// What changed between two revisions of a page.
    pub async fn page_diff(&self, caller: &Caller, request: PageDiffRequest) -> Result<Option<PageDiff>, Error> {
        measured("page_diff", review::page_diff(&self.review(), caller, request)).await
    }

    /// A page line by line, with the revision that each came with.
    pub async fn page_blame(&self, caller: &Caller, request: review::PageRequest) -> Result<Option<PageBlame>, Error> {
        measured("page_blame", review::page_blame(&self.review(), caller, request)).await
    }

    /// A page or a proposal as safe HTML, as it is, and with everything hidden shown.
    pub async fn render_page(
        &self,
        caller: &Caller,
        request: RenderPageRequest,
    ) -> Result<Option<RenderedPage>, Error> {
        measured("render_page", review::render_page(&self.review(), caller, request)).await
    }

    /// Every page that the caller sees, as a file.
    pub async fn export_pages(&self, caller: &Caller) -> Result<Vec<PageFile>, Error> {
        measured("export_pages", review::export_pages(&self.review(), caller)).await
    }

    /// A proposal with everything that a decision needs.
    pub async fn proposal(&self, caller: &Caller, id: &str) -> Result<Option<ProposalRecord>, Error> {
        measured("proposal", review::proposal(&self.review(), caller, id)).await
    }

    /// Those of `ids` that are proposals the caller sees.
    pub async fn proposals_by_id(&self, caller: &Caller, ids: &[ProposalId]) -> Result<Vec<ProposalRecord>, Error> {
        measured("proposals_by_id", review::proposals_by_id(&self.review(), caller, ids)).await
    }

    /// Proposals that meet the conditions, oldest first.
    pub async fn proposals(
        &self,
        caller: &Caller,
        request: &ProposalsRequest,
        page: &PageRequest,
    ) -> Result<Page<ProposalRecord>, Error> {
        measured("proposals", review::proposals(&self.review(), caller, request, page)).await
    }

    /// How many proposals meet the conditions.
    pub async fn proposals_total(&self, caller: &Caller, request: &ProposalsRequest) -> Result<usize, Error> {
        measured("proposals_total", review::proposals_total(&self.review(), caller, request)).await
    }

    /// The state of the queue.
    pub async fn review_stats(&self, caller: &Caller) -> Result<ReviewStats, Error> {
        measured("review_stats", review::review_stats(&self.review(), caller)).await
    }

    /// What became of proposals the caller sees, after position `after`.
    pub async fn review_events(&self, caller: &Caller, after: u64) -> Result<Vec<ReviewEvent>, Error> {
        measured("review_events", review::review_events(&self.review(), caller, after)).await
    }

    /// All tokens, oldest first, without their secrets.
    pub async fn list_tokens(&self, caller: &Caller) -> Result<Vec<StoredToken>, Error> {
        measured("list_tokens", async {
            input::require(caller, Right::Admin)?;
            Ok(self.parts.tokens.tokens().await?)
        })
        .await
    }

    /// Makes a token. Its secret is in this answer and nowhere else.
    pub async fn create_token(
        &self,
        caller: &Caller,
        request: CreateTokenRequest,
    ) -> Result<(StoredToken, String), Error> {
        measured("create_token", async {
            input::require(caller, Right::Admin)?;
            let kind: PrincipalKind = input::name("kind", &request.kind)?;
            let rights = input::names("rights", &request.rights)?.into_iter().collect();
            let groups = request.groups.into_iter().collect();
            let (now, id) = (self.parts.clock.now(), self.parts.clock.next_id());
            let owner = input::optional_text("owner", request.owner, auth::NAME_BYTES)?;
            if owner.is_some() && kind != PrincipalKind::Agent {
                return Err(Error::bad_input("owner", "goes with kind agent only"));
            }
            let (mut token, secret) = auth::mint(&request.principal, kind, groups, rights, now, id).map_err(refused)?;
            token.caller.owner = owner;
            self.audited(caller, "create_token").await?;
            self.parts.tokens.add_token(&token).await?;
            Ok((token, secret))
        })
        .await
    }

    /// Removes a token: it opens nothing from then on.
    pub async fn revoke_token(&self, caller: &Caller, id: &str) -> Result<(), Error> {
        measured("revoke_token", async {
            input::require(caller, Right::Admin)?;
            self.audited(caller, "revoke_token").await?;
            if self.parts.tokens.revoke_token(id).await? { Ok(()) } else { Err(Error::not_found("id")) }
        })
        .await
    }

    /// Writes a row of the audit log for what changes no memory; before it is done, so that nothing is done unseen.
    async fn audited(&self, caller: &Caller, use_case: &str) -> Result<(), Error> {
        let change = ChangeSet {
            id: ChangeId(self.parts.clock.next_id()),
            at: self.parts.clock.now(),
            actor: caller.principal.clone(),
            use_case: use_case.to_owned(),
            reason: None,
            ops: Vec::new(),
            idempotency: None,
        };
        self.parts.graph.apply(&[change]).await?;
        Ok(())
    }

    /// [`measured`] for a use case that may change memories; whoever waits for changes is woken.
    async fn changing<T>(
        &self,
        use_case: &'static str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let answer = measured(use_case, work).await;
        self.changed.send_replace(());
        answer
    }

    /// [`measured`] for a question, which waits for its turn.
    fn answering<T>(
        &self,
        use_case: &'static str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> impl Future<Output = Result<T, Error>> {
        measured(use_case, async {
            let _turn = telemetry::timed("queue", self.turns.acquire()).await.expect("it is never closed");
            work.await
        })
    }

    /// Sums up a time, a session or a topic.
    pub async fn summarize(&self, caller: &Caller, request: SummarizeRequest) -> Result<SummarizeReply, Error> {
        self.answering("summarize", read::summarize(&self.read, caller, request)).await
    }

    /// Holds a memory against a question.
    pub async fn explain(&self, caller: &Caller, request: ExplainRequest) -> Result<ExplainReply, Error> {
        self.answering("explain", read::explain(&self.read, caller, request)).await
    }

    /// Tells the history of a memory.
    pub async fn trace(&self, caller: &Caller, request: TraceRequest) -> Result<TraceReply, Error> {
        measured("trace", read::trace(&self.read, caller, request)).await
    }

    /// Tells a session in short.
    pub async fn brief(&self, caller: &Caller, request: BriefRequest) -> Result<BriefReply, Error> {
        measured("brief", read::brief(&self.read, caller, request)).await
    }

    /// Numbers of what the caller sees.
    pub async fn status(&self, caller: &Caller) -> Result<Status, Error> {
        measured("status", async {
            input::require(caller, Right::MemoryRead)?;
            let StoreCounts { memories, edges, concepts, outbox } =
                self.parts.graph.counts(&caller.visibility()).await?;
            let (journal, dead_letters) = self.backlog_lengths();
            let count = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
            Ok(Status {
                memories: count(memories),
                edges: count(edges),
                concepts: count(concepts),
                outbox: count(outbox),
                journal: count(journal),
                dead_letters: count(dead_letters),
                spaces: self.parts.embedders.iter().map(|embedder| embedder.card().id.clone()).collect(),
            })
        })
        .await
    }

    /// Compares the graph store and the vector index; with `repair`, brings the index to what the graph says.
    pub async fn doctor(&self, caller: &Caller, repair: bool) -> Result<DoctorReport, Error> {
        measured("doctor", async {
            input::require(caller, Right::Admin)?;
            Ok(jobs::doctor(&*self.parts.graph, &*self.parts.index, &self.parts.drain, self, repair).await?)
        })
        .await
    }

    /// Builds the vector index anew from the graph store; `progress` is told memories done and in all.
    pub async fn reindex(&self, caller: &Caller, progress: impl FnMut(usize, usize) + Send) -> Result<usize, Error> {
        measured("reindex", async {
            input::require(caller, Right::Admin)?;
            Ok(jobs::reindex(&*self.parts.graph, &self.parts.drain, self, progress).await?)
        })
        .await
    }

    /// Whether each part answers now.
    pub async fn ready(&self) -> Vec<Readiness> {
        let (graph, vectors) = tokio::join!(soon(self.parts.graph.ping()), soon(self.parts.index.count()));
        let rebuilding = vectors.as_ref().is_err_and(|error| error.kind == PortErrorKind::Corrupt);
        vec![
            Readiness { part: "graph", ready: graph.is_ok(), rebuilding: false },
            Readiness { part: "vectors", ready: vectors.is_ok(), rebuilding },
            // Models are loaded before the service listens, or it does not start.
            Readiness { part: "models", ready: !self.parts.embedders.is_empty(), rebuilding: false },
        ]
    }

    /// The uses of memories that wait to be written; whoever runs the service runs this.
    pub fn uses(&self) -> Arc<Uses> {
        self.uses.clone()
    }

    /// How many writes wait for the graph store, and how many were given up.
    pub fn backlog_lengths(&self) -> (usize, usize) {
        self.parts.backlog.as_ref().map_or((0, 0), |backlog| backlog.lengths())
    }

    /// Brings the gauges of the stores up to date.
    pub async fn gauge(&self) -> Result<(), Error> {
        let (waiting, dead) = self.backlog_lengths();
        telemetry::gauge_journal(waiting, dead);
        let counts = self.parts.graph.counts(&Visibility::system("gauges of the stores")).await?;
        telemetry::gauge_stores(counts.memories, counts.edges, counts.concepts, counts.outbox);
        let queue = review::stats_of(&self.review(), &Visibility::system("gauges of the review queue")).await?;
        telemetry::gauge_reviews(&telemetry::Queue {
            depth: vec![
                ("pending", queue.pending),
                ("changes_requested", queue.changes_requested),
                ("conflicted", queue.conflicted),
            ],
            age_p50_secs: queue.age_p50_secs as f64,
            age_p95_secs: queue.age_p95_secs as f64,
            accepted: queue.authors.iter().filter_map(|row| Some((&*row.author, row.accept_rate?))).collect(),
        });
        Ok(())
    }

    /// The store of bearer tokens.
    pub fn tokens(&self) -> &dyn TokenStore {
        &*self.parts.tokens
    }

    /// Time and ids.
    pub fn clock(&self) -> &dyn Clock {
        &*self.parts.clock
    }
}

#[async_trait::async_trait]
impl Revector for Service {
    async fn vectors_of(
        &self,
        memories: &[crate::domain::Memory],
    ) -> Result<Vec<Vec<crate::domain::NamedVector>>, PortError> {
        write::embed_again(&self.write, memories).await
    }

    async fn note_spaces(&self, spaces: Vec<(MemoryId, Vec<String>)>) -> Result<(), PortError> {
        write::note_spaces(&self.write, spaces).await
    }
}

/// The answer of a part, if it comes soon: whoever asks whether it answers does not wait for one that is silent.
async fn soon<T>(answer: impl Future<Output = Result<T, PortError>>) -> Result<T, PortError> {
    const WITHIN: Duration = Duration::from_secs(3);
    let silent = |_| PortError::new(PortErrorKind::Timeout, "service", "ready", "no answer");
    tokio::time::timeout(WITHIN, answer).await.map_err(silent)?
}

#[async_trait::async_trait]
impl Replay for Service {
    async fn replay(&self, changes: &[ChangeSet]) -> Result<(), PortError> {
        let replayed = write::replay(&self.write, changes).await;
        self.changed.send_replace(());
        replayed.map_err(|error| {
            let Error { code, source, .. } = error;
            source.unwrap_or_else(|| PortError::new(PortErrorKind::Internal, "write path", "replay", code.name()))
        })
    }
}

fn refused(error: auth::TokenError) -> Error {
    use auth::TokenError::{File, Name, Random, RightOfPeople, Store};
    match error {
        RightOfPeople(right) => Error::bad_input("rights", format!("an agent can never hold {right}")),
        Name(field) => Error::bad_input(field, auth::NAME_RULE),
        Store(source) => source.into(),
        Random | File { .. } => Error::new(ErrorCode::Internal, "internal fault"),
    }
}

/// Runs a use case in its span and counts its time and result.
fn measured<T>(
    use_case: &'static str,
    work: impl Future<Output = Result<T, Error>>,
) -> impl Future<Output = Result<T, Error>> {
    // On the heap: the state of a use case is large, and each future around it would hold it once more.
    let work = Box::pin(work);
    let measured = async move {
        let started = Instant::now();
        let answer = work.await;
        let took = started.elapsed().as_secs_f64();
        let outcome = answer.as_ref().map_or_else(|error| error.code.name(), |_| "OK");
        metrics::histogram!(telemetry::USE_CASE_SECONDS, "use_case" => use_case, "outcome" => outcome).record(took);
        tracing::debug!(outcome, took_ms = took * 1000.0, "{use_case} ended with {outcome}");
        if let Err(error) = &answer
            && let Some(source) = &error.source
        {
            tracing::error!(code = %error.code, error = source as &dyn std::error::Error, "{use_case} failed");
        }
        answer
    };
    measured.instrument(span(use_case))
}

/// A span with the name of the use case. Names of spans are constants, so each use case has its line here.
fn span(use_case: &str) -> tracing::Span {
    macro_rules! named {
        ($($name:literal)*) => {
            match use_case {
                $($name => tracing::info_span!($name),)*
                other => tracing::info_span!("use_case", name = other),
            }
        };
    }
    named!(
        "store" "update" "forget" "link" "feedback" "observe" "import" "recall" "associate" "get" "list"
        "list_total" "find" "group" "members" "events" "concepts" "concept" "concept_members" "edges" "audit"
        "changes" "list_tokens" "create_token" "revoke_token" "summarize" "explain" "trace" "brief" "status"
        "doctor" "reindex" "import_ontology" "rollback_ontology" "ontology_versions" "show_concept" "concept_tree"
        "export_ontology" "link_concepts"
        "approve_proposal" "claim_next" "claim_proposal" "comment_on_proposal" "expire_proposals"
        "export_pages" "import_pages" "page" "page_blame" "page_diff"
        "page_history" "pages" "pages_by_id" "proposal" "proposals"
        "proposals_by_id" "proposals_total" "propose_decision" "propose_edit" "reject_proposal"
        "release_proposal" "render_page" "request_changes" "resolve_proposal" "revert_proposal"
        "revert_revision" "revert_run" "review_events" "review_proposals" "review_stats"
        "revise_proposal" "search_pages" "undo_decision" "withdraw_proposal"
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_use_case_has_a_span_of_its_name() {
        let (code, table) = include_str!("service.rs").split_once("named!(\n").expect("the table of spans");
        let table = table.split(')').next().unwrap_or_default();
        let used = regex::Regex::new(r#"(?:measured|changing)\(\s*"(\w+)""#).expect("a pattern");
        let used: Vec<&str> = used.captures_iter(code).map(|found| found.extract::<1>().1[0]).collect();
        assert!(used.len() > 20, "{used:?}");
        for used in used {
            assert!(table.contains(&format!("\"{used}\"")), "{used} has no line in `span`");
        }
    }
}
