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
mod request;
mod settings;
mod store;
mod validate;
mod vectors;

use std::sync::Arc;

pub use amend::{forget, link, link_all, update};
pub use feedback::feedback;
pub use import::{Imported, LineError, import};
pub use observe::observe;
pub use request::{
    FeedbackReply, FeedbackRequest, ForgetReply, ForgetRequest, Link, LinkReply, LinkRequest, ObserveReply,
    ObserveRequest, Observed, StoreReply, StoreRequest, StoreState, UpdateRequest,
};
pub use settings::WriteSettings;
pub use store::{embed_again, note_spaces, store, store_all};
pub use vectors::{Vectors, spaces};

use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::{
    domain::ChangeSet,
    error::{Error, ErrorCode},
    jobs::Drain,
    ports::{Clock, GraphStore, VectorIndex},
    telemetry::{WaitingWrite, timed, waiting_write},
};

/// What the write path works with.
pub struct WriteContext {
    /// The truth.
    pub graph: Arc<dyn GraphStore>,
    /// For near neighbours; written through `drain` only.
    pub index: Arc<dyn VectorIndex>,
    /// Brings outbox rows to the index.
    pub drain: Arc<Drain>,
    /// Turns memories into vectors.
    pub vectors: Vectors,
    /// Time and ids.
    pub clock: Arc<dyn Clock>,
    /// Limits and thresholds.
    pub settings: WriteSettings,
    /// Held from reading the last member of a session until the change is applied, so that sessions stay linear.
    pub turn: Arc<Mutex<()>>,
}

/// Applies `changes` and ends the turn. A caller that goes away meanwhile does not stop it, and the next turn does not
/// begin before it is done.
async fn commit(ctx: &WriteContext, turn: Turn, changes: Vec<ChangeSet>) -> Result<(), Error> {
    let graph = ctx.graph.clone();
    let applied = tokio::spawn(async move {
        let applied = timed("apply", graph.apply(&changes)).await;
        drop(turn);
        applied
    });
    applied.await.map_err(|_| Error::new(ErrorCode::Internal, "internal fault"))??;
    Ok(())
}

impl WriteContext {
    /// Waits for the turn; it ends when the answer is dropped.
    async fn turn(&self) -> Turn {
        let waiting = waiting_write();
        Turn { _guard: timed("turn", self.turn.clone().lock_owned()).await, _waiting: waiting }
    }
}

/// The turn of one write, counted from when it began to wait.
struct Turn {
    _guard: OwnedMutexGuard<()>,
    _waiting: WaitingWrite,
}
