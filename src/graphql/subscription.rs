//! What can be waited for: rows of the change log, as they are written by this process or another.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use async_graphql::{Context, Result, Subscription as Subscribes};
use futures::{Stream, stream};
use tokio::sync::watch;

use super::{
    loader::asking,
    names::Effect,
    types::{ImportProgress, MemoryChange},
};
use crate::{
    domain::{Caller, Right},
    error::Error,
    ports,
    service::Service,
};

/// How often the change log is looked at when nothing wakes: other processes may have written.
#[derive(Debug, Clone, Copy)]
pub(super) struct PollEvery(pub Duration);

/// Everything that can be waited for.
pub(super) struct Subscription;

/// Everything that can be waited for, over a web socket (graphql-transport-ws).
#[Subscribes]
impl Subscription {
    /// What becomes of the memories the caller sees, in the order it is written. Nothing is left out: a client that comes
    /// back gives the last position it saw.
    async fn memory_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Start after this position. Default: only what is new.")] after: Option<String>,
        #[graphql(desc = "Only these effects. Default all.")] effects: Option<Vec<Effect>>,
    ) -> Result<impl Stream<Item = Result<MemoryChange>> + use<>> {
        let service = ctx.data::<Arc<Service>>()?.clone();
        let caller = asking(ctx)?.caller.clone();
        let after = match after {
            Some(position) => position.parse().map_err(|_| Error::bad_input("after", "not a position"))?,
            None => service.last_change(&caller).await?,
        };
        let PollEvery(every) = *ctx.data::<PollEvery>()?;
        let log = Log { changed: service.changed(), service, caller, after, waiting: VecDeque::new(), every };
        let wanted = move |change: &Result<MemoryChange>| match (&effects, change) {
            (Some(effects), Ok(change)) => effects.contains(&change.effect),
            _ => true,
        };
        let changes = stream::try_unfold(log, |mut log| async move {
            let change = log.next().await?;
            Ok::<_, async_graphql::Error>(Some((MemoryChange::try_from(change)?, log)))
        });
        Ok(futures::StreamExt::filter(changes, move |change| std::future::ready(wanted(change))))
    }

    /// How far the import of an ontology under way has come; the present state first. Needs the right ONTOLOGY_IMPORT.
    async fn import_progress(&self, ctx: &Context<'_>) -> Result<impl Stream<Item = ImportProgress> + use<>> {
        crate::input::require(&asking(ctx)?.caller, Right::OntologyImport)?;
        let told = ctx.data::<Arc<Service>>()?.import_progress();
        Ok(stream::unfold((told, true), |(mut told, first)| async move {
            if !first {
                told.changed().await.ok()?;
            }
            let progress = ImportProgress::from(*told.borrow_and_update());
            Some((progress, (told, false)))
        }))
    }
}

/// A reader of the change log.
struct Log {
    service: Arc<Service>,
    caller: Arc<Caller>,
    changed: watch::Receiver<()>,
    after: u64,
    waiting: VecDeque<ports::MemoryChange>,
    every: Duration,
}

impl Log {
    /// The next change, whenever it comes.
    async fn next(&mut self) -> Result<ports::MemoryChange> {
        loop {
            if let Some(change) = self.waiting.pop_front() {
                self.after = change.seq;
                return Ok(change);
            }
            // Marked as seen before the read: what is written after that wakes the next wait.
            self.changed.mark_unchanged();
            self.waiting.extend(self.service.changes(&self.caller, self.after).await?);
            if self.waiting.is_empty() {
                // Both ends of the wait lead to the same look.
                let _ = tokio::time::timeout(self.every, self.changed.changed()).await;
            }
        }
    }
}
