//! The write path: validate, embed, match, decide, apply.
//!
//! `decide` is pure: it turns a draft and what is known into a change set and an outcome. The rest fetches what is known
//! and applies the change. Knows nothing of faces and nothing of a particular store. To add a step: a file here, a call in
//! `store.rs`, what it finds out as a field of `decide::Known`.

mod amend;
mod decide;
mod feedback;
mod import;
mod matching;
mod observe;
mod queue;
mod request;
mod review;
mod settings;
mod store;
mod validate;
mod vectors;

use std::{sync::Arc, time::Duration};

pub use amend::{Update, forget, link, link_all, update};
pub use feedback::feedback;
pub use import::{Imported, LineError, import};
pub use observe::observe;
pub use queue::replay;
pub use request::{
    FeedbackReply, FeedbackRequest, ForgetReply, ForgetRequest, Link, LinkReply, LinkRequest, ObserveReply,
    ObserveRequest, Observed, StoreReply, StoreRequest, StoreState, UpdateRequest,
};
pub use review::{
    Admission, PAGES, Ready, admit_ops, change, completed, contradiction, kept_out, new_ops, ready, replaced,
    revived_ops, source_ops, supersede_ops, update_ops, vectors_of,
};
pub use settings::WriteSettings;
pub use store::{answer_under, embed_again, hash_of_json, note_spaces, settle, store, store_all};
pub use vectors::{Vectors, spaces};

use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::{
    domain::{ChangeSet, MemoryId},
    error::{Error, ErrorCode},
    jobs::{Backlog, Drain},
    ontology::{Lexicons, Rules},
    ports::{Clock, GraphStore, ReviewStore, VectorIndex},
    telemetry::{WaitingWrite, timed, waiting_write},
};

/// What the write path works with.
pub struct WriteContext {
    /// The truth.
    pub graph: Arc<dyn GraphStore>,
    /// What waits for a person, so that the same is asked once.
    pub reviews: Arc<dyn ReviewStore>,
    /// For near neighbours; written through `drain` only.
    pub index: Arc<dyn VectorIndex>,
    /// Brings outbox rows to the index.
    pub drain: Arc<Drain>,
    /// Where writes wait while the graph store is away, if it can be.
    pub backlog: Option<Arc<Backlog>>,
    /// Turns memories into vectors.
    pub vectors: Vectors,
    /// Names of the terms of ontologies.
    pub lexicons: Arc<Lexicons>,
    /// What memories must have.
    pub rules: Rules,
    /// Time and ids.
    pub clock: Arc<dyn Clock>,
    /// Limits and thresholds.
    pub settings: WriteSettings,
    /// Held from reading the last member of a session until the change is applied, so that sessions stay linear.
    pub turn: Arc<Mutex<()>>,
}

/// Applies `changes` and ends the turn. A caller that goes away meanwhile does not stop it, and the next turn does not
/// begin before it is done.
pub async fn commit(ctx: &WriteContext, turn: Turn, changes: Vec<ChangeSet>) -> Result<(), Error> {
    let graph = ctx.graph.clone();
    let applied = tokio::spawn(async move {
        let applied = timed("apply", graph.apply(&changes)).await;
        drop(turn);
        applied
    });
    applied.await.map_err(|_| Error::new(ErrorCode::Internal, "internal fault"))??;
    Ok(())
}

/// Times a write looks again when another process wrote between its reading and its writing.
const TRIES: u64 = 10;

/// Counts the tries of a write. Every conflict means that another one got through.
#[derive(Default)]
pub(crate) struct Tries(u64);

impl Tries {
    /// Whether to look again after a write that ended so; waits a moment if so.
    pub(crate) async fn again(&mut self, ctx: &WriteContext, error: Option<&Error>) -> bool {
        self.0 += 1;
        // Only what the store says; a conflict with what was asked has no source.
        let conflict = matches!(error, Some(Error { code: ErrorCode::Conflict, source: Some(_), .. }));
        if conflict && self.0 < TRIES {
            // Apart, since those who collided once would again. The random part of an id is at its end.
            let spread = u64::try_from(ctx.clock.next_id().as_u128() % 16).unwrap_or(0);
            tokio::time::sleep(Duration::from_millis(self.0 * spread)).await;
            return true;
        }
        false
    }
}

/// Does a write until nobody came between its reading and its writing.
macro_rules! undisturbed {
    ($ctx:expr, $write:expr) => {{
        let mut tries = crate::write::Tries::default();
        loop {
            let done = $write.await;
            if !tries.again($ctx, done.as_ref().err()).await {
                break done;
            }
        }
    }};
}
pub(crate) use undisturbed;

impl WriteContext {
    /// The error for a memory that is not in the graph store: unknown, or on its way there.
    fn not_there(&self, field: &str, id: MemoryId) -> Error {
        if !self.backlog.as_ref().is_some_and(|backlog| backlog.writes(id)) {
            return Error::not_found(field);
        }
        let message = format!("{field}: waits to be written, since the graph store was away");
        Error { field: Some(field.to_owned()), ..Error::new(ErrorCode::Unavailable, message) }.advise("try again soon")
    }

    /// Waits for the turn; it ends when the answer is dropped.
    pub async fn turn(&self) -> Turn {
        let waiting = waiting_write();
        Turn { _guard: timed("turn", self.turn.clone().lock_owned()).await, _waiting: waiting }
    }
}

/// The turn of one write, counted from when it began to wait.
pub struct Turn {
    _guard: OwnedMutexGuard<()>,
    _waiting: WaitingWrite,
}
