//! What the core asks of the world. Traits and their plain argument types, nothing that runs.
//!
//! Rules: every reading method takes a [`crate::domain::Visibility`]; "not found" is `None` or an absent entry, not an
//! error; methods that write say their atomicity. To add a port: a file here, an adapter in `backends` or `models`, a
//! contract suite in `tests/it`.

mod archive;
mod browse;
mod clock;
mod embedder;
mod error;
mod graph_store;
mod journal;
mod language_model;
mod ontology_store;
mod reranker;
mod review_store;
mod token_store;
mod vector_index;

pub use archive::{
    AnswerRow, Archive, ArchiveSource, ChangeRow, DecidedRow, EdgeRow, MemoryRow, MemoryStateRow, MetaRow, Part,
    RecordRow, Row, RowPage, TermRow, TokenRow, TouchedRow, VectorsRow, VoteRow,
};
pub use browse::{AuditRow, Browse, ConceptMember, Group, GroupSummary, Listing, MemoryChange};
pub use clock::Clock;
pub use embedder::{Calibration, Embedder, ModelCard};
pub use error::{PortError, PortErrorKind};
pub use graph_store::{
    Applied, ConceptUse, GraphStore, KeywordQuery, Neighbourhood, NeighbourhoodQuery, NodeRef, OutboxRow, Recorded,
    Scored, StoreCounts,
};
pub use journal::{Journal, JournalEntry};
pub use language_model::{Completion, LanguageModel};
pub use ontology_store::{OntologyStore, StagedTerm, Staging, StoredTerm, Switch, TermEntry};
pub use reranker::Reranker;
pub use review_store::{PageQuery, ProposalChange, QueueQuery, ReviewStore, Tally};
pub use token_store::{StoredToken, TokenStore};
pub use vector_index::{Rebuild, SpaceSpec, VectorIndex, VectorQuery};
