//! Where a change waits while the graph store is down.

use async_trait::async_trait;

use super::PortError;
use crate::domain::ChangeSet;

/// A change that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalEntry {
    /// Position; grows.
    pub seq: u64,
    /// Times it was tried.
    pub attempts: u32,
    /// Whether it was given up: a dead letter, which waits for a person.
    pub dead: bool,
    /// What waits.
    pub change: ChangeSet,
}

/// An append-only, durable queue.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Appends, in order, all or none; durable when it returns.
    async fn append(&self, changes: &[ChangeSet]) -> Result<(), PortError>;
    /// The oldest entries that are neither done nor dead, in order. One that cannot be read becomes a dead letter.
    async fn pending(&self, limit: usize) -> Result<Vec<JournalEntry>, PortError>;
    /// Entries above `after`, dead letters among them, in order; those that cannot be read are left out.
    async fn entries(&self, after: u64, limit: usize) -> Result<Vec<JournalEntry>, PortError>;
    /// How many entries wait, and how many are dead letters.
    async fn lengths(&self) -> Result<(usize, usize), PortError>;
    /// Removes entries that are done.
    async fn done(&self, seqs: &[u64]) -> Result<(), PortError>;
    /// Counts a failed try; with `dead`, moves the entry to the dead letters, where it no longer blocks the others.
    async fn failed(&self, seq: u64, dead: bool) -> Result<(), PortError>;
    /// Lets dead letters wait again, as if never tried: this one, or all. How many.
    async fn retry(&self, seq: Option<u64>) -> Result<usize, PortError>;
    /// Removes dead letters for good: this one, or all. How many.
    async fn discard(&self, seq: Option<u64>) -> Result<usize, PortError>;
}
