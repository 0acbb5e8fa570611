//! The façade: one method per use case, in plain types. Faces call nothing else.
//!
//! To add a use case: a function in its room, a method here, an entry in each face. The method opens the span and counts
//! the time; both are named after the use case.

use std::{sync::Arc, time::Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::Instrument;

use crate::{
    domain::{Caller, Right, Visibility},
    error::Error,
    jobs::{self, DoctorReport, Drain, Revector, Uses},
    ports::{Clock, Embedder, GraphStore, StoreCounts, TokenStore, VectorIndex},
    read::{
        self, AssociateReply, AssociateRequest, BriefReply, BriefRequest, ExplainReply, ExplainRequest, GetReply,
        GetRequest, ReadContext, ReadSettings, RecallReply, RecallRequest, SummarizeReply, SummarizeRequest,
        TraceReply, TraceRequest,
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
    /// The derived index.
    pub index: Arc<dyn VectorIndex>,
    /// At least one; the first takes every memory.
    pub embedders: Vec<Arc<dyn Embedder>>,
    /// Bearer tokens.
    pub tokens: Arc<dyn TokenStore>,
    /// Time and ids.
    pub clock: Arc<dyn Clock>,
    /// The one writer of the index.
    pub drain: Arc<Drain>,
}

/// Everything recollect can do.
pub struct Service {
    parts: Parts,
    read: ReadContext,
    write: WriteContext,
    uses: Arc<Uses>,
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
    /// Model behind each vector space.
    pub spaces: Vec<String>,
}

/// Whether a part is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// graph, vectors or models.
    pub part: &'static str,
    /// Whether it answers.
    pub ready: bool,
}

impl Service {
    /// A service on these ports.
    pub fn new(parts: Parts, read: ReadSettings, write: WriteSettings) -> Self {
        let Parts { graph, index, embedders, clock, drain, .. } = parts.clone();
        let vectors = Vectors { embedders: embedders.clone(), window: write.window, spent_micros: Arc::default() };
        let uses = Arc::new(Uses::new(graph.clone(), clock.clone()));
        Self {
            uses,
            read: ReadContext {
                graph: graph.clone(),
                index: index.clone(),
                embedders,
                clock: clock.clone(),
                settings: read,
            },
            write: WriteContext { graph, index, drain, vectors, clock, settings: write, turn: Arc::default() },
            parts,
        }
    }

    /// Stores a memory; durable when it returns.
    pub async fn store(&self, caller: &Caller, request: StoreRequest) -> Result<StoreReply, Error> {
        measured("store", write::store(&self.write, caller, request)).await
    }

    /// Stores a batch in one transaction.
    pub async fn store_all(
        &self,
        caller: &Caller,
        requests: Vec<StoreRequest>,
    ) -> Result<Vec<Result<StoreReply, Error>>, Error> {
        measured("store", write::store_all(&self.write, caller, requests)).await
    }

    /// Changes a memory.
    pub async fn update(&self, caller: &Caller, request: UpdateRequest) -> Result<read::MemoryRecord, Error> {
        measured("update", write::update(&self.write, caller, request)).await.map(read::MemoryRecord::from)
    }

    /// Forgets memories.
    pub async fn forget(&self, caller: &Caller, request: ForgetRequest) -> Result<ForgetReply, Error> {
        measured("forget", write::forget(&self.write, caller, request)).await
    }

    /// Links two memories.
    pub async fn link(&self, caller: &Caller, request: LinkRequest) -> Result<LinkReply, Error> {
        measured("link", write::link(&self.write, caller, request)).await
    }

    /// Notes a vote on a memory.
    pub async fn feedback(&self, caller: &Caller, request: FeedbackRequest) -> Result<FeedbackReply, Error> {
        measured("feedback", write::feedback(&self.write, caller, request)).await
    }

    /// Keeps a raw event, with the memory that it makes.
    pub async fn observe(&self, caller: &Caller, request: ObserveRequest) -> Result<ObserveReply, Error> {
        measured("observe", write::observe(&self.write, caller, request)).await
    }

    /// Links many memories in one transaction.
    pub async fn link_all(
        &self,
        caller: &Caller,
        requests: Vec<LinkRequest>,
    ) -> Result<Vec<Result<LinkReply, Error>>, Error> {
        measured("link", write::link_all(&self.write, caller, requests)).await
    }

    /// Imports JSON lines; `progress` is told the lines done.
    pub async fn import(
        &self,
        caller: &Caller,
        text: &str,
        progress: impl FnMut(usize) + Send,
    ) -> Result<Imported, Error> {
        measured("import", write::import(&self.write, caller, text, progress)).await
    }

    /// Answers a question.
    pub async fn recall(&self, caller: &Caller, request: RecallRequest) -> Result<RecallReply, Error> {
        let looks_back = request.as_of.is_some() || request.known_at.is_some();
        let reply = measured("recall", read::recall(&self.read, caller, request)).await?;
        if !looks_back {
            self.uses.note(reply.items.iter().filter_map(|item| item.id.parse().ok()));
        }
        Ok(reply)
    }

    /// Walks the graph.
    pub async fn associate(&self, caller: &Caller, request: AssociateRequest) -> Result<AssociateReply, Error> {
        let looks_back = request.as_of.is_some() || request.known_at.is_some();
        let reply = measured("associate", read::associate(&self.read, caller, request)).await?;
        if !looks_back {
            self.uses.note(reply.items.iter().filter_map(|found| found.item.id.parse().ok()));
        }
        Ok(reply)
    }

    /// Reads memories by id.
    pub async fn get(&self, caller: &Caller, request: GetRequest) -> Result<GetReply, Error> {
        measured("get", read::get(&self.read, caller, request)).await
    }

    /// Sums up a time, a session or a topic.
    pub async fn summarize(&self, caller: &Caller, request: SummarizeRequest) -> Result<SummarizeReply, Error> {
        measured("summarize", read::summarize(&self.read, caller, request)).await
    }

    /// Holds a memory against a question.
    pub async fn explain(&self, caller: &Caller, request: ExplainRequest) -> Result<ExplainReply, Error> {
        measured("explain", read::explain(&self.read, caller, request)).await
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
            write::require(caller, Right::MemoryRead)?;
            let StoreCounts { memories, edges, concepts, outbox } =
                self.parts.graph.counts(&caller.visibility()).await?;
            let count = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
            Ok(Status {
                memories: count(memories),
                edges: count(edges),
                concepts: count(concepts),
                outbox: count(outbox),
                spaces: self.parts.embedders.iter().map(|embedder| embedder.card().id.clone()).collect(),
            })
        })
        .await
    }

    /// Compares the graph store and the vector index; with `repair`, brings the index to what the graph says.
    pub async fn doctor(&self, caller: &Caller, repair: bool) -> Result<DoctorReport, Error> {
        measured("doctor", async {
            write::require(caller, Right::Admin)?;
            Ok(jobs::doctor(&*self.parts.graph, &*self.parts.index, &self.parts.drain, self, repair).await?)
        })
        .await
    }

    /// Builds the vector index anew from the graph store; `progress` is told memories done and in all.
    pub async fn reindex(&self, caller: &Caller, progress: impl FnMut(usize, usize) + Send) -> Result<usize, Error> {
        measured("reindex", async {
            write::require(caller, Right::Admin)?;
            Ok(jobs::reindex(&*self.parts.graph, &*self.parts.index, &self.parts.drain, self, progress).await?)
        })
        .await
    }

    /// Whether each part answers now.
    pub async fn ready(&self) -> Vec<Readiness> {
        let (graph, vectors) = tokio::join!(self.parts.graph.ping(), self.parts.index.count());
        vec![
            Readiness { part: "graph", ready: graph.is_ok() },
            Readiness { part: "vectors", ready: vectors.is_ok() },
            // Models are loaded before the service listens, or it does not start.
            Readiness { part: "models", ready: !self.parts.embedders.is_empty() },
        ]
    }

    /// The uses of memories that wait to be written; whoever runs the service runs this.
    pub fn uses(&self) -> Arc<Uses> {
        self.uses.clone()
    }

    /// Brings the gauges of the stores up to date.
    pub async fn gauge(&self) -> Result<(), Error> {
        let counts = self.parts.graph.counts(&Visibility::system("gauges of the stores")).await?;
        telemetry::gauge_stores(counts.memories, counts.edges, counts.concepts, counts.outbox);
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
    ) -> Result<Vec<Vec<crate::domain::NamedVector>>, crate::ports::PortError> {
        write::embed_again(&self.write, memories).await
    }

    async fn note_spaces(
        &self,
        spaces: Vec<(crate::domain::MemoryId, Vec<String>)>,
    ) -> Result<(), crate::ports::PortError> {
        write::note_spaces(&self.write, spaces).await
    }
}

/// Runs a use case in its span and counts its time and result.
async fn measured<T>(use_case: &'static str, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let measured = async {
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
    measured.instrument(span(use_case)).await
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
    named!("store" "update" "forget" "link" "feedback" "observe" "import" "recall" "associate" "get" "summarize" "explain" "trace" "brief" "status" "doctor" "reindex")
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_use_case_has_a_span_of_its_name() {
        let source = include_str!("service.rs");
        let (code, table) = source.split_once("named!(\"").expect("the table of spans");
        let table = table.split(')').next().unwrap_or_default();
        for used in code.split("measured(").skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next()) {
            assert!(table.contains(&format!("{used}\"")), "{used} has no line in `span`");
        }
    }
}
