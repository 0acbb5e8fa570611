//! Background work and the tools of the keeper.
//!
//! `backlog` carries writes that waited for the graph store into it; `drain` carries the outbox to the vector index and is
//! the only writer of it; `doctor` compares both stores; `reindex` builds the index anew; `moving` carries everything to another
//! store; `uses` counts what was recalled. They know ports and domain
//! only. To add a job: a file here, idempotent, with its own settings.

use async_trait::async_trait;

use crate::{
    domain::{Memory, MemoryId, NamedVector},
    ports::PortError,
};

mod backlog;
mod doctor;
mod drain;
mod moving;
mod reindex;
mod uses;

pub use backlog::{Backlog, BacklogSettings, Replay};
pub use doctor::{DoctorReport, doctor};
pub use drain::{Drain, DrainSettings, Report};
pub use moving::{MoveError, Moved, Whole, carry, move_was_interrupted, read_all};
pub use reindex::{reindex, reindex_is_due, reindex_was_interrupted};
pub use uses::Uses;

/// Makes the vectors of stored memories again; the write room knows how.
#[async_trait]
pub trait Revector: Send + Sync {
    /// The vectors of each of `memories`, in their order; none for a memory that has no point.
    async fn vectors_of(&self, memories: &[Memory]) -> Result<Vec<Vec<NamedVector>>, PortError>;
    /// Notes in the graph store in which spaces memories have a vector now, after a change of models.
    async fn note_spaces(&self, spaces: Vec<(MemoryId, Vec<String>)>) -> Result<(), PortError>;
}
