//! What can be waited for: rows of the change log, as they are written by this process or another.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use async_graphql::{Context, Result, Subscription as Subscribes};
use futures::{Stream, stream};
use tokio::sync::watch;

use super::{
    convert::reply,
    loader::asking,
    names::{Effect, ProposalKind, ProposalState},
    review::ReviewChange,
    types::{ImportProgress, MemoryChange},
};
use crate::{
    domain::{Caller, Right},
    error::Error,
    ports,
    review::ReviewEvent,
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
        let log = Log::<ports::MemoryChange>::open(ctx, after).await?;
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

    /// What happens in the review queue, in the order it is written; without the right REVIEW_READ, to the caller's own
    /// proposals. Nothing is left out: a client that comes back gives the last position it saw.
    async fn review_queue_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Start after this position. Default: only what is new.")] after: Option<String>,
        #[graphql(desc = "Only proposals that are in these states then. Default all.")] states: Option<
            Vec<ProposalState>,
        >,
        #[graphql(desc = "Only proposals of these kinds. Default all.")] kinds: Option<Vec<ProposalKind>>,
    ) -> Result<impl Stream<Item = Result<ReviewChange>> + use<>> {
        let log = Log::<ReviewEvent>::open(ctx, after).await?;
        let wanted = move |change: &Result<ReviewChange>| match change {
            Ok(change) => {
                states.as_ref().is_none_or(|states| states.contains(&change.state))
                    && kinds.as_ref().is_none_or(|kinds| kinds.contains(&change.kind))
            }
            Err(_) => true,
        };
        let changes = stream::try_unfold(log, |mut log| async move {
            let change: ReviewChange = reply(&log.next().await?)?;
            Ok::<_, async_graphql::Error>(Some((change, log)))
        });
        Ok(futures::StreamExt::filter(changes, move |change| std::future::ready(wanted(change))))
    }
}

/// A row of the change log.
trait Row: Sized + Send {
    /// Its position; several rows may share it.
    fn seq(&self) -> u64;
    /// The rows after position `after` that are the caller's to know.
    fn after(
        service: &Service,
        caller: &Caller,
        after: u64,
    ) -> impl Future<Output = std::result::Result<Vec<Self>, Error>> + Send;
}

impl Row for ports::MemoryChange {
    fn seq(&self) -> u64 {
        self.seq
    }

    async fn after(service: &Service, caller: &Caller, after: u64) -> std::result::Result<Vec<Self>, Error> {
        service.changes(caller, after).await
    }
}

impl Row for ReviewEvent {
    fn seq(&self) -> u64 {
        self.seq.unsigned_abs()
    }

    async fn after(service: &Service, caller: &Caller, after: u64) -> std::result::Result<Vec<Self>, Error> {
        service.review_events(caller, after).await
    }
}

/// A reader of the change log.
struct Log<R> {
    service: Arc<Service>,
    caller: Arc<Caller>,
    changed: watch::Receiver<()>,
    after: u64,
    waiting: VecDeque<R>,
    every: Duration,
}

impl<R: Row> Log<R> {
    /// From the position that is given, or from now.
    async fn open(ctx: &Context<'_>, after: Option<String>) -> Result<Self> {
        let service = ctx.data::<Arc<Service>>()?.clone();
        let caller = asking(ctx)?.caller.clone();
        let after = match after {
            Some(position) => position.parse().map_err(|_| Error::bad_input("after", "not a position"))?,
            None => service.last_change(&caller).await?,
        };
        let PollEvery(every) = *ctx.data::<PollEvery>()?;
        Ok(Self { changed: service.changed(), service, caller, after, waiting: VecDeque::new(), every })
    }

    /// The next row, whenever it comes.
    async fn next(&mut self) -> Result<R> {
        loop {
            if let Some(row) = self.waiting.pop_front() {
                self.after = row.seq();
                return Ok(row);
            }
            // Marked as seen before the read: what is written after that wakes the next wait.
            self.changed.mark_unchanged();
            self.waiting.extend(R::after(&self.service, &self.caller, self.after).await?);
            if self.waiting.is_empty() {
                // Both ends of the wait lead to the same look.
                let _ = tokio::time::timeout(self.every, self.changed.changed()).await;
            }
        }
    }
}
