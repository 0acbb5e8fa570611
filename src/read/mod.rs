//! The read path: understand, candidates, fuse, expand, rank, render.
//!
//! Reads only. Arithmetic is in `scoring`; this room asks the stores, under a deadline, and says what was left out. To add
//! a signal to an answer: a field in `scoring::Signals`, filled in `rank.rs`.

mod associate;
mod candidates;
mod expand;
mod get;
mod rank;
mod recall;
mod render;
mod request;
mod settings;

use std::sync::Arc;

pub use associate::associate;
pub use get::get;
pub use recall::recall;
pub use request::{
    AssociateReply, AssociateRequest, AssociatedItem, Degraded, EventRecord, GetReply, GetRequest, MemoryRecord, Mode,
    PathStep, RecallItem, RecallReply, RecallRequest, Seed, Subgraph, SubgraphEdge, SubgraphNode, Understood, Why,
};
pub use settings::{Profile, ReadSettings};

use crate::ports::{Clock, Embedder, GraphStore, VectorIndex};

/// What the read path works with.
pub struct ReadContext {
    /// The truth and the keyword arm.
    pub graph: Arc<dyn GraphStore>,
    /// The semantic arm.
    pub index: Arc<dyn VectorIndex>,
    /// In the order of the settings; the first has every memory.
    pub embedders: Vec<Arc<dyn Embedder>>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Limits and weights.
    pub settings: ReadSettings,
}
