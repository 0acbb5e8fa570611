//! What things are: values and rules.
//!
//! No I/O, no async, no protocol types and no clock: time and ids are handed in. Every other room may use this one and it
//! uses none of them. To add a record: a file here, an [`Op`] that writes it, a column in each store.

mod caller;
mod change;
mod concept;
mod edge;
mod event;
mod filter;
mod id;
mod memory;
mod ontology;
mod page;
mod proposal;
mod record;
mod vector;
mod visibility;

pub use caller::{Caller, PrincipalKind, Right};
pub use change::{ChangeSet, Effect, Forgetting, Idempotency, IndexOp, Op, Outcome, Payload, Point};
pub use concept::{Concept, ConceptKey, ConceptOrigin};
pub use edge::{Direction, Edge, EdgeKind};
pub use event::{Event, EventDetail, EventKind, Feedback};
pub use filter::{AsOf, Filter};
pub use id::{ChangeId, ConceptId, EventId, InvalidId, MemoryId, PageId, ProposalId, RevisionId};
pub(crate) use memory::names;
pub use memory::{Kind, Language, Memory, MemoryType, Source, Status, UnknownName, Verification};
pub use ontology::{GraphHash, Label, LabelRole, Note, OntologyVersion, Relation, Term, TermKind, TermLink};
pub use page::{BlameRun, Page, PageChange, PageMeta, Passage, Revision};
pub use proposal::{
    Approval, Author, Base, Claim, Comment, Decision, InvalidTransition, MemoryBefore, Move, Mover, OntologyImport,
    Proposal, ProposalKind, ProposalState, RejectReason, RiskFlag, RiskKind, Subject, Updated,
};
pub use record::{Record, RecordKeys, RecordKind};
pub use vector::{NamedVector, cosine};
pub use visibility::{Scope, Visibility};
