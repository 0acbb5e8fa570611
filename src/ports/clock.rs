//! Time and new ids, handed in so that tests can fix both.

use jiff::Timestamp;
use uuid::Uuid;

/// Source of time and ids.
pub trait Clock: Send + Sync {
    /// The present moment, UTC.
    fn now(&self) -> Timestamp;
    /// A fresh UUIDv7; later calls give larger ids.
    fn next_id(&self) -> Uuid;
}
