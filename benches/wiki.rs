//! How the wiki and the review queue grow: the time of a page of the queue, of a difference, of a blame and of a read, as a
//! Markdown table.
//!
//! `cargo bench --bench wiki -- [--graph URL] [--pages 10000] [--revisions 100000] [--pending 5000]`
//!
//! Records are written as the review room writes them, without their passages in recall: what is measured are the lists and
//! the texts. One page is as large as pages get. The graph must be empty.

// Whole use cases are awaited: the types of their futures nest deeply.
#![recursion_limit = "256"]

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Parser;
use jiff::{SignedDuration, Timestamp};
use recollect::{
    backends::{self, OpenIndex, Remote, SystemClock},
    config::Config,
    domain::{
        Author, Base, Caller, ChangeId, ChangeSet, Op, Page, PageChange, PageId, PageMeta, PrincipalKind, Proposal,
        ProposalId, Record, Revision, RevisionId, Scope, Subject,
    },
    jobs::{Drain, DrainSettings},
    models::{self, ModelOptions},
    ports::{Clock as _, GraphStore},
    read::browse::PageRequest as ListPage,
    review::{PageDiffRequest, PageRequest, ProposalsRequest},
    service::{Parts, Service},
    wiki::{blame_first, blame_next},
    write::spaces,
};

/// Revisions or proposals written in one transaction.
const BATCH: usize = 1000;
/// Questions of each kind.
const QUESTIONS: usize = 200;
/// Bytes of the large page, and its revisions.
const LARGE: usize = 200_000;
const LARGE_REVISIONS: u64 = 100;

#[derive(Parser)]
struct Options {
    /// Where the graph is; must be empty.
    #[arg(long, default_value = "sqlite:graph.db")]
    graph: String,
    /// Pages.
    #[arg(long, default_value_t = 10_000)]
    pages: usize,
    /// Revisions of all pages together.
    #[arg(long, default_value_t = 100_000)]
    revisions: usize,
    /// Proposals that wait.
    #[arg(long, default_value_t = 5_000)]
    pending: usize,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("config.toml");
    let settings =
        format!("[graph]\nurl = {:?}\n[[models.embedders]]\nname = \"hashing\"\nkind = \"hashing\"\n", options.graph);
    std::fs::write(&file, settings)?;
    let config = Config::load(Some(&file))?;
    let (service, graph) = open(&config, folder.path()).await?;
    let caller = Caller::operator("bench");
    let started = Instant::now();
    let each = u64::try_from(options.revisions / options.pages.max(1))?.max(1);
    let mut writer = Writer { graph: &*graph, at: SystemClock.now(), ops: Vec::new() };
    for n in 0..options.pages {
        writer.page(&format!("area-{}/page-{n}", n % 100), &text(n, 4_000), each).await?;
    }
    let large = writer.page("large", &text(0, LARGE), LARGE_REVISIONS).await?;
    for n in 0..options.pending {
        writer.proposal(&large, n, &text(n, 4_000)).await?;
    }
    writer.flush().await?;
    eprintln!("written in {:?}", started.elapsed());

    println!("| what | p50 ms | p99 ms |");
    println!("|---|---|---|");
    let mut after = None;
    report("page of the queue (50)", async || {
        let page = ListPage { first: Some(50), after: after.take() };
        let found = service.proposals(&caller, &ProposalsRequest::default(), &page).await?;
        after = found.items.last().filter(|_| found.more).map(|(cursor, _)| cursor.clone());
        Ok(())
    })
    .await?;
    report("state of the queue", async || service.review_stats(&caller).await.map(drop)).await?;
    let mut n = 0;
    report("page of 4 kB", async || {
        n = (n + 7919) % options.pages;
        let slug = format!("area-{}/page-{n}", n % 100);
        service.page(&caller, PageRequest { slug, ..PageRequest::default() }).await.map(drop)
    })
    .await?;
    let slug = || "large".to_owned();
    report("difference of a page of 200 kB, first to last", async || {
        service.page_diff(&caller, PageDiffRequest { slug: slug(), from: 1, to: None }).await.map(drop)
    })
    .await?;
    report("blame of a page of 200 kB with 100 revisions", async || {
        service.page_blame(&caller, PageRequest { slug: slug(), ..PageRequest::default() }).await.map(drop)
    })
    .await?;
    report("proposal with its difference", async || {
        let page = ListPage { first: Some(1), after: None };
        let found = service.proposals(&caller, &ProposalsRequest::default(), &page).await?;
        for (_, proposal) in found.items {
            service.proposal(&caller, &proposal.id).await?;
        }
        Ok(())
    })
    .await
}

async fn report(what: &str, mut ask: impl AsyncFnMut() -> Result<(), recollect::error::Error>) -> anyhow::Result<()> {
    let mut times = Vec::with_capacity(QUESTIONS);
    for _ in 0..QUESTIONS {
        let started = Instant::now();
        ask().await.map_err(anyhow::Error::msg)?;
        times.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    let quantile = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    println!("| {what} | {:.1} | {:.1} |", quantile(0.5), quantile(0.99));
    Ok(())
}

/// A text of about `bytes`, of paragraphs that differ.
fn text(seed: usize, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    let mut n = seed;
    while text.len() < bytes {
        n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("Paragraph {n} says that part {} holds when 模 {} is odd.\n\n", n % 97, n % 13));
    }
    text
}

struct Writer<'a> {
    graph: &'a dyn GraphStore,
    at: Timestamp,
    ops: Vec<Op>,
}

impl Writer<'_> {
    /// A page with its history: each revision changes a line of the one before.
    async fn page(&mut self, slug: &str, first: &str, revisions: u64) -> anyhow::Result<Page> {
        let id = PageId(SystemClock.next_id());
        let meta = PageMeta {
            slug: slug.to_owned(),
            title: slug.to_owned(),
            aliases: Vec::new(),
            categories: Vec::new(),
            front: None,
            deleted: false,
        };
        let mut text = first.to_owned();
        let mut blame = blame_first(&text);
        let mut parent = None;
        for number in 1..=revisions {
            if number > 1 {
                let old = text.clone();
                let place = text.len() / 100 * usize::try_from(number % 100)?;
                let start = text.char_indices().map(|(at, _)| at).find(|at| *at >= place).unwrap_or(0);
                text.insert_str(start, &format!("\n\nchanged by revision {number}\n\n"));
                blame = blame_next(&blame, &old, &text, number);
            }
            let revision = RevisionId(SystemClock.next_id());
            self.at += SignedDuration::from_secs(1);
            let record = Revision {
                id: revision,
                page: id,
                scope: Scope::Global,
                number,
                parent,
                change: if number == 1 { PageChange::Create } else { PageChange::Edit },
                meta: meta.clone(),
                at: self.at,
                author: "scribe".to_owned(),
                author_kind: PrincipalKind::Agent,
                approvers: vec!["rita".to_owned()],
                editor: None,
                proposal: None,
                run: None,
                rationale: None,
                evidence: Vec::new(),
                reverts: None,
                content_hash: String::new(),
                size: text.len() as u64,
                blame: blame.clone(),
            };
            parent = Some(revision);
            self.put(Record::Revision(record), Some(text.clone())).await?;
        }
        let page = Page {
            id,
            scope: Scope::Global,
            meta,
            head: parent.expect("at least one revision"),
            number: revisions,
            content_hash: String::new(),
            created_at: self.at,
            updated_at: self.at,
            links: Vec::new(),
            cites: Vec::new(),
            passages: Vec::new(),
        };
        self.put(Record::Page(page.clone()), None).await?;
        Ok(page)
    }

    async fn proposal(&mut self, page: &Page, n: usize, text: &str) -> anyhow::Result<()> {
        let subject = Subject::WikiEdit {
            page: page.id,
            page_scope: Scope::Global,
            base: Some(Base { revision: page.head, number: page.number }),
            change: PageChange::Edit,
            meta: page.meta.clone(),
        };
        let author = Author { name: format!("agent-{}", n % 20), kind: PrincipalKind::Agent, owner: None };
        self.at += SignedDuration::from_secs(1);
        let id = ProposalId(SystemClock.next_id());
        let proposal = Proposal::open(id, subject, &Scope::Global, author, String::new(), self.at);
        self.put(Record::Proposal(proposal), Some(text.to_owned())).await
    }

    async fn put(&mut self, record: Record, text: Option<String>) -> anyhow::Result<()> {
        self.ops.push(Op::PutRecord { record: Box::new(record), text, expected_version: 0 });
        if self.ops.len() >= BATCH { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> anyhow::Result<()> {
        let change = ChangeSet {
            id: ChangeId(SystemClock.next_id()),
            at: self.at,
            actor: "bench".to_owned(),
            use_case: "bench".to_owned(),
            reason: None,
            ops: std::mem::take(&mut self.ops),
            idempotency: None,
        };
        self.graph.apply(&[change]).await?;
        Ok(())
    }
}

async fn open(config: &Config, dir: &Path) -> anyhow::Result<(Service, Arc<dyn GraphStore>)> {
    let options = ModelOptions { dir: dir.to_owned(), runtime: "".into(), batch: 16, threads: 1, query_cache: 0 };
    let embedders = models::open(&config.models.embedders, &options).await?;
    let mut remote = Remote::default();
    // What is slow is to be seen, not cut.
    remote.neo4j.timeout = Duration::from_secs(120);
    let graph = backends::open_graph(&config.graph.url, dir, &remote).await?;
    let index = backends::open_index("memory:", dir, &spaces(&embedders), OpenIndex::Existing, &remote).await?.index;
    let drain = Arc::new(Drain::new(graph.store.clone(), index.clone(), DrainSettings::default()));
    let parts = Parts {
        graph: graph.store.clone(),
        browse: graph.browse,
        reviews: graph.reviews,
        index,
        embedders,
        ontology: graph.ontology,
        tokens: graph.tokens,
        clock: Arc::new(SystemClock),
        drain,
        backlog: None,
    };
    let Config { read, write, review, ontology, .. } = config.clone();
    let service = Service::new(parts, read, write, review, ontology);
    Ok((service, graph.store))
}
