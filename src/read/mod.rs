//! The read path: understand, candidates, fuse, expand, rank, render.
//!
//! Reads only. Arithmetic is in `scoring`; this room asks the stores, under a deadline, and says what was left out. To add
//! a signal to an answer: a field in `scoring::Signals`, filled in `rank.rs`.

mod associate;
pub mod browse;
mod candidates;
mod cursor;
mod expand;
mod explain;
mod get;
mod rank;
mod recall;
mod render;
mod request;
mod settings;
mod summarize;
mod trace;

use std::sync::Arc;

pub use associate::associate;
pub use explain::explain;
pub use get::get;
pub use recall::recall;
pub use request::{
    ArmTrace, AssociateReply, AssociateRequest, AssociatedItem, BriefReply, BriefRequest, Degraded, EdgeRecord,
    EventRecord, ExplainReply, ExplainRequest, FailedFilter, GetReply, GetRequest, MemoryRecord, Mode, PathStep,
    RawEvent, RecallItem, RecallReply, RecallRequest, Seed, StateRecord, Subgraph, SubgraphEdge, SubgraphNode,
    SummarizeReply, SummarizeRequest, SummarySource, TraceReply, TraceRequest, Understood, Why,
};
pub use settings::{Profile, ReadSettings};
pub use summarize::{brief, summarize};
pub use trace::trace;

use crate::ontology::Lexicons;
use crate::ports::{Browse, Clock, Embedder, GraphStore, OntologyStore, VectorIndex};

/// What the read path works with.
pub struct ReadContext {
    /// The truth and the keyword arm.
    pub graph: Arc<dyn GraphStore>,
    /// The same, page by page.
    pub browse: Arc<dyn Browse>,
    /// The semantic arm.
    pub index: Arc<dyn VectorIndex>,
    /// In the order of the settings; the first has every memory.
    pub embedders: Vec<Arc<dyn Embedder>>,
    /// Terms of ontologies.
    pub ontology: Arc<dyn OntologyStore>,
    /// Names of the terms of ontologies.
    pub lexicons: Arc<Lexicons>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Limits and weights.
    pub settings: ReadSettings,
}
