//! Carries the outbox of the graph store to the vector index, in order.
//!
//! A row is applied at once, so that searches see it, and removed from the outbox only after a flush. What was applied
//! and not flushed is applied again after a restart; the operations are idempotent, so nothing is lost or doubled.
//! Every write to the index goes through here, under one lock: [`Drain::exclusive`] is for the doctor and the reindex.

use std::{
    collections::HashSet,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Mutex, Notify, OwnedMutexGuard},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{
    domain::{IndexOp, MemoryId, Visibility},
    ports::{GraphStore, PortError, PortErrorKind, Rebuild, VectorIndex},
    telemetry::OUTBOX_ROWS,
};

/// How eager to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainSettings {
    /// Rows read and applied together.
    pub batch_rows: usize,
    /// Flush when this many rows were applied since the last time.
    pub flush_rows: usize,
    /// Flush when the oldest of them is this old.
    pub flush_every: Duration,
    /// Look for rows this often, even if nobody said that there are any: another process may have written them.
    pub poll_every: Duration,
    /// Optimise when this many rows came and then none did, or when ten times as many came.
    pub optimize_rows: usize,
    /// Wait after a first failure; doubles with each further one.
    pub retry_first: Duration,
    /// Longest such wait.
    pub retry_longest: Duration,
    /// How long a stop waits for the index to take what is there.
    pub close_within: Duration,
    /// Spreads the retries of several processes; any number of the process's own.
    pub jitter_seed: u64,
}

impl Default for DrainSettings {
    fn default() -> Self {
        Self {
            batch_rows: 512,
            flush_rows: 2000,
            flush_every: Duration::from_secs(5),
            poll_every: Duration::from_secs(1),
            optimize_rows: 5000,
            retry_first: Duration::from_millis(100),
            retry_longest: Duration::from_secs(5),
            close_within: Duration::from_secs(10),
            jitter_seed: 0,
        }
    }
}

/// What catching up did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Rows applied.
    pub rows: usize,
    /// The last row that is durable in the index; 0 for none since this process began.
    pub durable: u64,
}

/// See the module. Share it in an `Arc`; the loop of [`Drain::run`] is optional, since each [`Drain::settle`] applies
/// what is there by itself.
pub struct Drain {
    inner: Arc<Inner>,
}

struct Inner {
    graph: Arc<dyn GraphStore>,
    index: Arc<dyn VectorIndex>,
    settings: DrainSettings,
    wake: Notify,
    /// Calls of `settle` so far, and those of them that are answered: a pass answers all that were made before it began.
    asked: AtomicU64,
    answered: AtomicU64,
    optimizing: AtomicBool,
    cursor: Arc<Mutex<Cursor>>,
    flushing: Mutex<()>,
}

#[derive(Default)]
struct Cursor {
    /// The last row applied.
    applied: u64,
    /// The last row removed from the outbox.
    durable: u64,
    /// Rows in between, and when the first of them was applied.
    unflushed: usize,
    unflushed_since: Option<Instant>,
    unoptimized: usize,
    failures: u32,
    retry_at: Option<Instant>,
    beside: Option<Beside>,
}

/// The index that a reindex fills beside the one that serves; rows go to both. The reindex owns it: when that is given
/// up, so is this.
struct Beside {
    index: Weak<dyn Rebuild>,
    /// Memories that rows were about since [`Exclusive::touched`] was last asked.
    touched: HashSet<MemoryId>,
}

impl Drain {
    /// A drain of `graph` into `index`.
    pub fn new(graph: Arc<dyn GraphStore>, index: Arc<dyn VectorIndex>, settings: DrainSettings) -> Self {
        // The last process may have left much to optimise; looking costs nothing if it did not.
        let cursor = Cursor { unoptimized: settings.optimize_rows, ..Cursor::default() };
        let inner = Inner {
            graph,
            index,
            settings,
            wake: Notify::new(),
            asked: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            optimizing: AtomicBool::new(false),
            cursor: Arc::new(Mutex::new(cursor)),
            flushing: Mutex::new(()),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Applies every row of the outbox and makes it durable: at start, before a backup. Waits for a running optimiser.
    pub async fn catch_up(&self) -> Result<Report, PortError> {
        let rows = self.exclusive().await.catch_up().await?;
        let durable = self.inner.flush().await?;
        Ok(Report { rows, durable })
    }

    /// Waits until every row that is in the outbox now can be found by searches; whether it did so before `deadline`.
    /// `false` at once while a failing index is being left alone. The work goes on after the deadline.
    pub async fn settle(&self, deadline: Duration) -> bool {
        let ticket = self.inner.asked.fetch_add(1, Ordering::SeqCst) + 1;
        // In a task of its own: dropped half-way, a late write of old rows could overtake one of newer rows.
        let pass = tokio::spawn(Arc::clone(&self.inner).settle(ticket));
        matches!(tokio::time::timeout(deadline, pass).await, Ok(Ok(true)))
    }

    /// Tells [`Drain::run`] that rows were written, for those who do not wait for them.
    pub fn wake(&self) {
        self.inner.wake.notify_one();
    }

    /// Before a stop: like [`Self::catch_up`], but does not wait for a running optimiser. Then the rows stay in the outbox,
    /// and the next start applies them again.
    pub async fn close(&self) -> Result<(), PortError> {
        self.exclusive().await.catch_up().await?;
        if self.inner.optimizing.load(Ordering::SeqCst) { Ok(()) } else { self.flush().await }
    }

    /// Keeps the index up to date until `stop`, then [closes](Self::close). Failures are logged and tried again.
    pub async fn run(&self, stop: CancellationToken) {
        let inner = &self.inner;
        while !stop.is_cancelled() {
            let next = Arc::clone(inner).turn().await;
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep_until(next.at) => {}
                () = inner.wake.notified(), if next.may_be_woken => {}
            }
        }
        match tokio::time::timeout(inner.settings.close_within, self.close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "outbox rows are left for the next start");
            }
            Err(_) => tracing::warn!("the vector index does not answer; outbox rows are left for the next start"),
        }
    }

    /// Stops every other writer of the index until the guard is dropped.
    pub(super) async fn exclusive(&self) -> Exclusive {
        let cursor = Arc::clone(&self.inner.cursor).lock_owned().await;
        Exclusive { inner: Arc::clone(&self.inner), cursor: Some(cursor) }
    }

    /// Makes what was applied durable and removes it from the outbox.
    pub async fn flush(&self) -> Result<(), PortError> {
        self.inner.flush().await.map(drop)
    }
}

/// The right to write the index.
pub(super) struct Exclusive {
    inner: Arc<Inner>,
    /// `None` only while a task of ours has it.
    cursor: Option<OwnedMutexGuard<Cursor>>,
}

impl Exclusive {
    /// Applies every row of the outbox; how many there were.
    pub async fn catch_up(&mut self) -> Result<usize, PortError> {
        self.held(|inner, cursor| Box::pin(inner.pass(cursor))).await
    }

    /// Applies operations that no row asks for.
    pub async fn apply(&mut self, ops: Vec<IndexOp>) -> Result<(), PortError> {
        self.held(|inner, cursor| Box::pin(async move { inner.apply(cursor, &ops).await })).await
    }

    /// Starts an index beside the one that serves. Rows go to both from now on. If the one that was there cannot be used,
    /// the rows that wait are passed over: they may hold vectors of other models, and the records that they led to are
    /// there to be read.
    pub async fn begin(&mut self) -> Result<Arc<dyn Rebuild>, PortError> {
        self.held(|inner, cursor| {
            Box::pin(async move {
                match inner.pass(cursor).await {
                    Err(error) if error.kind == PortErrorKind::Corrupt => inner.pass_over(cursor).await?,
                    passed => drop(passed?),
                }
                let beside = inner.index.rebuild().await?;
                cursor.beside = Some(Beside { index: Arc::downgrade(&beside), touched: HashSet::new() });
                Ok(beside)
            })
        })
        .await
    }

    /// The memories that rows were about since this was last asked.
    pub async fn touched(&mut self) -> Result<HashSet<MemoryId>, PortError> {
        self.held(|_, cursor| {
            Box::pin(
                async move { Ok(cursor.beside.as_mut().map(|it| std::mem::take(&mut it.touched)).unwrap_or_default()) },
            )
        })
        .await
    }

    /// Applies operations that no row asks for to the index beside.
    pub async fn fill(&mut self, beside: &Arc<dyn Rebuild>, ops: Vec<IndexOp>) -> Result<(), PortError> {
        let beside = Arc::clone(beside);
        self.held(|_, _| Box::pin(async move { beside.apply(&ops).await })).await
    }

    /// Lets the index beside serve.
    pub async fn switch(&mut self, beside: &Arc<dyn Rebuild>) -> Result<(), PortError> {
        let beside = Arc::clone(beside);
        self.held(|inner, cursor| {
            Box::pin(async move {
                inner.pass(cursor).await?;
                let ours = |it: &Beside| std::ptr::addr_eq(it.index.as_ptr(), Arc::as_ptr(&beside));
                if !cursor.beside.as_ref().is_some_and(ours) {
                    return Err(PortError::new(PortErrorKind::Conflict, "drain", "switch", "rows did not reach it"));
                }
                beside.switch().await?;
                (cursor.beside, cursor.retry_at) = (None, None);
                Ok(())
            })
        })
        .await
    }

    /// Runs `work` to its end even if the caller is dropped meanwhile: the lock must outlive the write.
    async fn held<T: Send + 'static>(
        &mut self,
        work: impl for<'a> FnOnce(&'a Inner, &'a mut Cursor) -> futures::future::BoxFuture<'a, Result<T, PortError>>
        + Send
        + 'static,
    ) -> Result<T, PortError> {
        let inner = Arc::clone(&self.inner);
        let Some(mut cursor) = self.cursor.take() else {
            return Err(PortError::new(PortErrorKind::Internal, "drain", "apply", "the last write was cut short"));
        };
        let task = tokio::spawn(async move {
            let result = work(&inner, &mut cursor).await;
            (result, cursor)
        });
        let (result, cursor) =
            task.await.map_err(|error| PortError::new(PortErrorKind::Internal, "drain", "apply", error))?;
        self.cursor = Some(cursor);
        result
    }
}

/// When [`Drain::run`] looks again.
struct Next {
    at: Instant,
    may_be_woken: bool,
}

impl Inner {
    /// Applies rows until there are none above the cursor; how many there were.
    async fn pass(&self, cursor: &mut Cursor) -> Result<usize, PortError> {
        let mut rows = 0;
        loop {
            let asked = self.asked.load(Ordering::SeqCst);
            let batch = self.graph.outbox(cursor.applied, self.settings.batch_rows).await?;
            let full = batch.len() == self.settings.batch_rows;
            if let Some(last) = batch.last().map(|row| row.seq) {
                let ops: Vec<IndexOp> = batch.into_iter().map(|row| row.op).collect();
                self.apply(cursor, &ops).await?;
                cursor.applied = last;
                cursor.unflushed += ops.len();
                cursor.unflushed_since.get_or_insert_with(Instant::now);
                cursor.unoptimized += ops.len();
                rows += ops.len();
            }
            if !full {
                self.answered.fetch_max(asked, Ordering::SeqCst);
                return Ok(rows);
            }
        }
    }

    /// Moves the cursor past the rows that are there.
    async fn pass_over(&self, cursor: &mut Cursor) -> Result<(), PortError> {
        loop {
            let rows = self.graph.outbox(cursor.applied, self.settings.batch_rows).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            cursor.applied = last.seq;
            cursor.unflushed += rows.len();
        }
    }

    async fn apply(&self, cursor: &mut Cursor, ops: &[IndexOp]) -> Result<(), PortError> {
        let Some(beside) = cursor.beside.as_mut() else { return self.index.apply(ops).await };
        let Some(index) = beside.index.upgrade() else {
            cursor.beside = None;
            return self.index.apply(ops).await;
        };
        match self.index.apply(ops).await {
            // It is on its way out, and the one beside has everything.
            Err(error) if error.kind == PortErrorKind::Corrupt => {}
            applied => applied?,
        }
        beside.touched.extend(ops.iter().map(IndexOp::id));
        if let Err(error) = index.apply(ops).await {
            // Whoever fills it learns of this when it is to be switched; the one that serves goes on.
            let source = error.source.as_deref().map(tracing::field::display);
            tracing::warn!(%error, source, "the index that was built beside is given up");
            cursor.beside = None;
        }
        Ok(())
    }

    /// A pass that keeps the count of failures; `None` while it is too early for another try.
    async fn patient_pass(&self, cursor: &mut Cursor) -> Option<usize> {
        if cursor.retry_at.is_some_and(|at| Instant::now() < at) {
            return None;
        }
        match self.pass(cursor).await {
            Ok(rows) => {
                (cursor.failures, cursor.retry_at) = (0, None);
                Some(rows)
            }
            Err(error) => {
                self.failed(cursor, &error);
                None
            }
        }
    }

    fn failed(&self, cursor: &mut Cursor, error: &PortError) {
        let wait = wait(&self.settings, cursor.failures);
        cursor.failures += 1;
        cursor.retry_at = Some(Instant::now() + wait);
        let (failures, source) = (cursor.failures, error.source.as_deref().map(tracing::field::display));
        tracing::warn!(%error, source, failures, ?wait, "outbox rows wait for the vector index");
    }

    async fn settle(self: Arc<Self>, ticket: u64) -> bool {
        let mut cursor = self.cursor.lock().await;
        // Whoever had the lock may have done our work.
        self.answered.load(Ordering::SeqCst) >= ticket || self.patient_pass(&mut cursor).await.is_some()
    }

    /// One turn of the loop: apply, flush and optimise as the settings say.
    async fn turn(self: Arc<Self>) -> Next {
        let settings = &self.settings;
        let (rows, flush, retry_at) = {
            let mut cursor = self.cursor.lock().await;
            let rows = self.patient_pass(&mut cursor).await;
            let old = cursor.unflushed_since.is_some_and(|since| since.elapsed() >= settings.flush_every);
            let due = cursor.unoptimized >= settings.optimize_rows;
            let optimize = due && (rows == Some(0) || cursor.unoptimized >= 10 * settings.optimize_rows);
            if optimize && !self.optimizing.swap(true, Ordering::SeqCst) {
                cursor.unoptimized = 0;
                tokio::spawn(Arc::clone(&self).optimize());
            }
            (rows, old || cursor.unflushed >= settings.flush_rows, cursor.retry_at)
        };
        if rows.is_none() {
            self.show_pending().await;
        }
        // A flush would wait for the optimiser, and rows with it.
        if flush
            && !self.optimizing.load(Ordering::SeqCst)
            && let Err(error) = self.flush().await
        {
            self.failed(&mut *self.cursor.lock().await, &error);
        }
        match retry_at.filter(|_| rows.is_none()) {
            Some(at) => Next { at, may_be_woken: false },
            None => Next { at: Instant::now() + settings.poll_every.min(settings.flush_every), may_be_woken: true },
        }
    }

    /// Makes what is applied by now durable and removes it from the outbox; the last such row. Writes are not held up
    /// by more than the index holds them up.
    async fn flush(&self) -> Result<u64, PortError> {
        let _one = self.flushing.lock().await;
        let (applied, unflushed) = {
            let cursor = self.cursor.lock().await;
            if cursor.unflushed == 0 {
                return Ok(cursor.durable);
            }
            if cursor.beside.is_some()
                && self.index.count().await.is_err_and(|error| error.kind == PortErrorKind::Corrupt)
            {
                // What the rows ask for is in the index beside alone, which is nothing before it is whole.
                return Ok(cursor.durable);
            }
            (cursor.applied, cursor.unflushed)
        };
        self.index.flush().await?;
        self.graph.outbox_done(applied).await?;
        {
            let mut cursor = self.cursor.lock().await;
            cursor.durable = cursor.durable.max(applied);
            cursor.unflushed = cursor.unflushed.saturating_sub(unflushed);
            cursor.unflushed_since = (cursor.unflushed > 0).then(Instant::now);
        }
        self.show_pending().await;
        Ok(applied)
    }

    async fn optimize(self: Arc<Self>) {
        let started = Instant::now();
        match self.index.optimize().await {
            Ok(()) => tracing::debug!(took = ?started.elapsed(), "the vector index was optimised"),
            Err(error) => {
                let source = error.source.as_deref().map(tracing::field::display);
                tracing::warn!(%error, source, "the vector index was not optimised; searches stay right but slower");
            }
        }
        self.optimizing.store(false, Ordering::SeqCst);
        self.wake.notify_one();
    }

    async fn show_pending(&self) {
        // The gauge is a service to the reader; a failing store is reported by what needs it.
        if let Ok(counts) = self.graph.counts(&Visibility::system("gauge of the outbox")).await {
            metrics::gauge!(OUTBOX_ROWS).set(counts.outbox as f64);
        }
    }
}

fn wait(settings: &DrainSettings, failures: u32) -> Duration {
    backoff(settings.retry_first, settings.retry_longest, settings.jitter_seed, failures)
}

/// Doubles from the first wait to the longest, and takes off up to a half, so that processes that failed together do not
/// come back together.
pub(super) fn backoff(first: Duration, longest: Duration, seed: u64, failures: u32) -> Duration {
    let whole = first.saturating_mul(1 << failures.min(16)).min(longest);
    // SplitMix64 of seed and count.
    let mut mixed = seed.wrapping_add(u64::from(failures + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    whole - whole.mul_f64(((mixed ^ (mixed >> 31)) % 1024) as f64 / 2048.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_never_vanish() {
        let settings = DrainSettings { retry_longest: Duration::from_secs(3), ..DrainSettings::default() };
        for failures in 0..40 {
            let whole = Duration::from_millis(100 * (1 << failures.min(5))).min(Duration::from_secs(3));
            let wait = wait(&settings, failures);
            assert!(wait <= whole && wait * 2 >= whole, "{failures}: {wait:?}");
        }
        let other = DrainSettings { jitter_seed: 1, ..settings.clone() };
        assert_ne!(wait(&settings, 3), wait(&other, 3));
    }
}
