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
    /// What waits.
    pub change: ChangeSet,
}

/// An append-only, durable queue.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Appends; durable when it returns.
    async fn append(&self, change: &ChangeSet) -> Result<u64, PortError>;
    /// The oldest entries that are neither done nor dead, in order.
    async fn pending(&self, limit: usize) -> Result<Vec<JournalEntry>, PortError>;
    /// How many entries wait, and how many are dead letters.
    async fn lengths(&self) -> Result<(usize, usize), PortError>;
    /// Marks an entry done.
    async fn done(&self, seq: u64) -> Result<(), PortError>;
    /// Counts a failed try; with `dead`, moves the entry to the dead letters, where it no longer blocks the others.
    async fn failed(&self, seq: u64, dead: bool) -> Result<(), PortError>;
}
