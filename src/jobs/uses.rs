//! Counts the uses of memories: what a recall returned was used.
//!
//! An answer does not wait for it: uses are noted in memory and written together from time to time, and once more at the end.
//! A process that is killed loses the last few seconds of them, which moves a weight of the ranking a little and nothing
//! else.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::{
    domain::{ChangeId, ChangeSet, MemoryId, Op},
    ports::{Clock, GraphStore, PortError},
};

/// Uses kept until they are written; further ones are not counted, so that a store that is down costs no memory.
const MAX_NOTED: usize = 100_000;

/// The uses that wait to be written.
pub struct Uses {
    graph: Arc<dyn GraphStore>,
    clock: Arc<dyn Clock>,
    noted: Mutex<Vec<MemoryId>>,
}

impl Uses {
    /// None yet.
    pub fn new(graph: Arc<dyn GraphStore>, clock: Arc<dyn Clock>) -> Self {
        Self { graph, clock, noted: Mutex::default() }
    }

    /// Notes that these memories were returned.
    pub fn note(&self, ids: impl IntoIterator<Item = MemoryId>) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_NOTED.saturating_sub(noted.len());
        noted.extend(ids.into_iter().take(room));
    }

    /// Writes what was noted. If that fails it is noted still.
    pub async fn flush(&self) -> Result<(), PortError> {
        let ids = std::mem::take(&mut *self.noted.lock().unwrap_or_else(PoisonError::into_inner));
        if ids.is_empty() {
            return Ok(());
        }
        let change = ChangeSet {
            id: ChangeId(self.clock.next_id()),
            at: self.clock.now(),
            actor: "system".to_owned(),
            use_case: ChangeSet::COUNT_USES.to_owned(),
            reason: None,
            ops: vec![Op::Touch { ids: ids.clone() }],
            idempotency: None,
        };
        let written = self.graph.apply(&[change]).await.map(drop);
        if written.is_err() {
            self.note(ids);
        }
        written
    }

    /// Flushes every so often until stopped, then once more.
    pub async fn run(&self, every: Duration, stop: CancellationToken) {
        loop {
            let stopped = tokio::time::timeout(every, stop.cancelled()).await.is_ok();
            if let Err(error) = self.flush().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "uses of memories are not written yet");
            }
            if stopped {
                return;
            }
        }
    }
}
