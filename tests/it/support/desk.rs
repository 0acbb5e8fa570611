//! A service without faces for the review room: SQLite, exact index, hashing embedder, a clock that stands still, and the
//! people around a queue.

use std::{collections::BTreeSet, sync::Arc};

use recollect::{
    backends::{self, OpenIndex, Remote},
    config::Config,
    domain::{Caller, PrincipalKind, Right},
    jobs::{Drain, DrainSettings},
    models::{self, ModelOptions},
    review::{ApproveProposalRequest, DecisionReply, PageRecord, PageRequest, ProposalRecord, ProposeEditRequest},
    service::{Parts, Service},
    write::spaces,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::clock::FixedClock;

const CONFIG: &str = r#"
[read]
deadline_ms = 20000
[[models.embedders]]
name = "hashing"
kind = "hashing"
"#;
const NOON: &str = "2026-11-30T12:00:00Z";

/// See the module.
pub struct Desk {
    pub service: Arc<Service>,
    pub parts: Parts,
    pub clock: Arc<FixedClock>,
    drain: JoinHandle<()>,
    _dir: tempfile::TempDir,
}

impl Desk {
    pub async fn open() -> Self {
        Self::open_with("").await
    }

    /// Opens with more settings.
    pub async fn open_with(settings: &str) -> Self {
        let dir = tempfile::tempdir().expect("temporary folder");
        let file = dir.path().join("config.toml");
        std::fs::write(&file, format!("{CONFIG}{settings}")).expect("config written");
        let config = Config::load(Some(&file)).expect("valid settings");
        let options =
            ModelOptions { dir: dir.path().to_owned(), runtime: "".into(), batch: 16, threads: 1, query_cache: 100 };
        let embedders = models::open(&config.models.embedders, &options).await.expect("the hashing embedder");
        let remote = Remote::default();
        let graph = backends::open_graph("sqlite:graph.db", dir.path(), &remote).await.expect("a graph store");
        let index =
            backends::open_index("memory:", dir.path(), &spaces(&embedders), OpenIndex::Existing, &remote).await;
        let index = index.expect("an index").index;
        let drain = Arc::new(Drain::new(graph.store.clone(), index.clone(), DrainSettings::default()));
        let clock = Arc::new(FixedClock::at(NOON.parse().expect("a moment")));
        let parts = Parts {
            graph: graph.store,
            browse: graph.browse,
            reviews: graph.reviews,
            index,
            embedders,
            ontology: graph.ontology,
            tokens: graph.tokens,
            clock: clock.clone(),
            drain: drain.clone(),
            backlog: None,
        };
        let drain = tokio::spawn(async move { drain.run(CancellationToken::new()).await });
        let Config { read, write, review, ontology, .. } = config.clone();
        let service = Service::new(parts.clone(), read, write, review, ontology);
        Self { service: Arc::new(service), parts, clock, drain, _dir: dir }
    }

    /// Proposes; must be taken.
    pub async fn propose(&self, author: &Caller, request: ProposeEditRequest) -> ProposalRecord {
        self.service.propose_edit(author, request).await.expect("a proposal")
    }

    /// Reads a proposal in full.
    pub async fn proposal(&self, caller: &Caller, id: &str) -> ProposalRecord {
        self.service.proposal(caller, id).await.expect("an answer").expect("a proposal")
    }

    /// Reads a proposal and approves what it says; must be taken.
    pub async fn approve(&self, reviewer: &Caller, id: &str) -> DecisionReply {
        let read = self.proposal(reviewer, id).await;
        self.service.approve_proposal(reviewer, yes(&read)).await.expect("a decision")
    }

    /// A new page, proposed and approved.
    pub async fn page_of(&self, slug: &str, body: &str) -> PageRecord {
        let proposal = self.propose(&agent("scribe"), edit(slug, body, None)).await;
        self.approve(&reviewer("rita"), &proposal.id).await;
        self.page(slug).await
    }

    /// A page as it is now.
    pub async fn page(&self, slug: &str) -> PageRecord {
        self.page_at(slug, None).await.expect("a page")
    }

    /// A page as a revision has it.
    pub async fn page_at(&self, slug: &str, revision: Option<i64>) -> Option<PageRecord> {
        let request = PageRequest { slug: slug.to_owned(), revision, as_of: None };
        self.service.page(&reviewer("rita"), request).await.expect("an answer")
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.drain.abort();
    }
}

/// A yes to what was read.
pub fn yes(read: &ProposalRecord) -> ApproveProposalRequest {
    ApproveProposalRequest {
        id: read.id.clone(),
        content_hash: read.content_hash.clone(),
        expected_head: read.head_revision,
        ..ApproveProposalRequest::default()
    }
}

/// An edit of a page on a revision.
pub fn edit(slug: &str, body: &str, base_revision: Option<i64>) -> ProposeEditRequest {
    ProposeEditRequest {
        slug: slug.to_owned(),
        body: Some(body.to_owned()),
        base_revision,
        ..ProposeEditRequest::default()
    }
}

/// An agent that reads, writes and proposes; olga answers for it.
pub fn agent(principal: &str) -> Caller {
    Caller {
        principal: principal.to_owned(),
        kind: PrincipalKind::Agent,
        groups: BTreeSet::new(),
        rights: BTreeSet::from([Right::MemoryRead, Right::MemoryWrite, Right::WikiPropose]),
        owner: Some("olga".to_owned()),
    }
}

/// A person who reads, proposes and decides.
pub fn reviewer(principal: &str) -> Caller {
    Caller {
        principal: principal.to_owned(),
        kind: PrincipalKind::Human,
        groups: BTreeSet::new(),
        rights: BTreeSet::from([
            Right::MemoryRead,
            Right::MemoryWrite,
            Right::MemoryGlobal,
            Right::WikiPropose,
            Right::ReviewRead,
            Right::ReviewDecide,
        ]),
        owner: None,
    }
}

/// Somebody of a group.
pub fn member(caller: Caller, group: &str) -> Caller {
    Caller { groups: BTreeSet::from([group.to_owned()]), ..caller }
}
