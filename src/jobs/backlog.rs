//! The outage journal at work: writes that were accepted while the graph store was away, and their way into it.
//!
//! Strictly in order: an entry is written, or given up as a dead letter, before the next one begins. So writes about one
//! subject keep their order, as long as whoever accepts writes appends while anything waits ([`Backlog::any`]). An entry
//! that the store refuses is tried a few times and given up; a store that is away costs no try.
//!
//! Which memories and keys wait is kept in memory too, so that asking costs no read.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::sync::{Mutex, MutexGuard, Notify};
use tokio_util::sync::CancellationToken;

use super::drain::backoff;
use crate::{
    domain::{ChangeSet, Idempotency, MemoryId, Op},
    ports::{GraphStore, Journal, JournalEntry, PortError, PortErrorKind},
    telemetry::gauge_journal,
};

/// Entries written together.
const BATCH: usize = 64;
/// Longest wait of a write for the end of those before it.
const ENDING: Duration = Duration::from_secs(1);
/// Longest wait for the store to say that it is there.
const PING: Duration = Duration::from_secs(5);

/// How eager to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BacklogSettings {
    /// Tries before an entry is a dead letter.
    pub tries: u32,
    /// First wait between tries, and between looks at a store that is away; doubles with each further one.
    pub retry_first: Duration,
    /// Longest such wait.
    pub retry_longest: Duration,
    /// Spreads the retries of several processes; any number of the process's own.
    pub jitter_seed: u64,
    /// Look at the journal this often even if nobody said that there is anything: a person may have let dead letters wait
    /// again.
    pub poll_every: Duration,
}

impl Default for BacklogSettings {
    fn default() -> Self {
        Self {
            tries: 5,
            retry_first: Duration::from_millis(100),
            retry_longest: Duration::from_secs(2),
            jitter_seed: 0,
            poll_every: Duration::from_secs(5),
        }
    }
}

/// Writes what waits; the write room knows how.
#[async_trait]
pub trait Replay: Send + Sync {
    /// Writes `changes` in order, each as it must be given what the graph knows by now. What was written before stays as it
    /// is, so after an error all of them can be replayed again.
    async fn replay(&self, changes: &[ChangeSet]) -> Result<(), PortError>;
}

/// See the module.
pub struct Backlog {
    journal: Arc<dyn Journal>,
    graph: Arc<dyn GraphStore>,
    settings: BacklogSettings,
    waiting: AtomicUsize,
    dead: AtomicUsize,
    known: RwLock<Known>,
    turn: Mutex<()>,
    passing: Mutex<()>,
    /// Held while the last entries are written.
    ending: Mutex<()>,
    wake: Notify,
}

/// What waits, dead letters left out.
#[derive(Debug, Default)]
struct Known {
    /// By principal and key.
    answers: HashMap<(String, String), Idempotency>,
    /// With the number of entries that create each.
    memories: HashMap<MemoryId, usize>,
}

impl Backlog {
    /// What `journal` holds for `graph`.
    pub async fn open(
        journal: Arc<dyn Journal>,
        graph: Arc<dyn GraphStore>,
        settings: BacklogSettings,
    ) -> Result<Self, PortError> {
        let backlog = Self {
            journal,
            graph,
            settings,
            waiting: AtomicUsize::new(0),
            dead: AtomicUsize::new(0),
            known: RwLock::default(),
            turn: Mutex::default(),
            passing: Mutex::default(),
            ending: Mutex::default(),
            wake: Notify::new(),
        };
        backlog.read_again().await?;
        Ok(backlog)
    }

    /// Whether anything waits. Then further writes must wait behind it.
    pub fn any(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// [`Self::any`], told after the last entries if those are being written now: writes that kept coming behind them would
    /// never see an end.
    pub async fn any_to_wait_behind(&self) -> bool {
        if self.any() {
            // As long as it lasts or a moment; what is then true is told either way.
            drop(tokio::time::timeout(ENDING, self.ending.lock()).await);
        }
        self.any()
    }

    /// Whether a memory waits to be written.
    pub fn writes(&self, id: MemoryId) -> bool {
        self.known.read().unwrap_or_else(PoisonError::into_inner).memories.contains_key(&id)
    }

    /// What was answered to this principal under this key, if that still waits.
    pub fn answered(&self, principal: &str, key: &str) -> Option<Idempotency> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.answers.get(&(principal.to_owned(), key.to_owned())).cloned()
    }

    /// Held from [asking for a key](Self::answered) to [appending](Self::append) under it.
    pub async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Appends; durable when it returns.
    pub async fn append(&self, changes: &[ChangeSet]) -> Result<(), PortError> {
        // Counted first: who writes after this answer must see that something waits.
        self.waiting.fetch_add(changes.len(), Ordering::SeqCst);
        if let Err(error) = self.journal.append(changes).await {
            self.waiting.fetch_sub(changes.len(), Ordering::SeqCst);
            return Err(error);
        }
        {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            changes.iter().for_each(|change| known.add(change));
        }
        self.show();
        self.wake.notify_one();
        Ok(())
    }

    /// How many entries wait, and how many are dead letters.
    pub fn lengths(&self) -> (usize, usize) {
        (self.waiting.load(Ordering::SeqCst), self.dead.load(Ordering::SeqCst))
    }

    /// Writes everything that waits; how many entries that were. An error says that a store is away, and what is left
    /// waits on.
    pub async fn catch_up(&self, replay: &dyn Replay) -> Result<usize, PortError> {
        let _one = self.passing.lock().await;
        let mut written = 0;
        let mut ending = None;
        loop {
            let batch = self.journal.pending(BATCH).await?;
            // Only of a store that is there: nobody is to wait for one that hangs.
            if written > 0 && batch.len() < BATCH && ending.is_none() {
                ending = Some(self.ending.lock().await);
            }
            if batch.is_empty() {
                if self.any() {
                    self.read_again().await?;
                }
                if !self.any() {
                    return Ok(written);
                }
                continue;
            }
            let changes: Vec<ChangeSet> = batch.iter().map(|entry| entry.change.clone()).collect();
            match replay.replay(&changes).await {
                Ok(()) => self.done(&batch).await?,
                Err(error) if self.is_away(&error).await => return Err(error),
                // One of them is refused; which one shows when each is written by itself.
                Err(_) => {
                    for entry in &batch {
                        self.one(entry, replay).await?;
                    }
                }
            }
            written += batch.len();
        }
    }

    /// Keeps writing what waits until `stop`. What is left then waits for the next start.
    pub async fn run(&self, replay: Arc<dyn Replay>, stop: CancellationToken) {
        let mut failures = 0;
        while !stop.is_cancelled() {
            let pass = async {
                // A person may have changed what is there.
                if self.journal.lengths().await? != self.lengths() {
                    let _one = self.passing.lock().await;
                    self.read_again().await?;
                }
                if failures > 0 {
                    self.ping().await?;
                }
                self.catch_up(&*replay).await
            };
            let wait = match pass.await {
                Ok(written) => {
                    if written > 0 {
                        tracing::info!(written, "writes that waited for the graph store are in it");
                    }
                    failures = 0;
                    self.settings.poll_every
                }
                Err(error) => {
                    let wait = self.wait(failures);
                    failures += 1;
                    let source = error.source.as_deref().map(tracing::field::display);
                    tracing::warn!(%error, source, failures, ?wait, "writes wait for the graph store");
                    wait
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(wait) => {}
                () = self.wake.notified(), if failures == 0 => {}
            }
        }
    }

    /// Writes one entry, or gives it up.
    async fn one(&self, entry: &JournalEntry, replay: &dyn Replay) -> Result<(), PortError> {
        for tried in entry.attempts + 1.. {
            let Err(error) = replay.replay(std::slice::from_ref(&entry.change)).await else { break };
            if self.is_away(&error).await {
                return Err(error);
            }
            let dead = tried >= self.settings.tries;
            self.journal.failed(entry.seq, dead).await?;
            let source = error.source.as_deref().map(tracing::field::display);
            let (seq, change) = (entry.seq, &entry.change.id);
            if dead {
                tracing::error!(%error, source, seq, %change, "a write is given up; see `recollect journal list`");
                self.dead.fetch_add(1, Ordering::SeqCst);
                self.removed(std::slice::from_ref(entry));
                return Ok(());
            }
            tracing::warn!(%error, source, seq, %change, tried, "a write that waited was refused");
            tokio::time::sleep(self.wait(tried)).await;
        }
        self.done(std::slice::from_ref(entry)).await
    }

    async fn done(&self, entries: &[JournalEntry]) -> Result<(), PortError> {
        let seqs: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
        self.journal.done(&seqs).await?;
        self.removed(entries);
        Ok(())
    }

    fn removed(&self, entries: &[JournalEntry]) {
        {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            entries.iter().for_each(|entry| known.remove(&entry.change));
        }
        self.waiting.fetch_sub(entries.len(), Ordering::SeqCst);
        self.show();
    }

    fn show(&self) {
        let (waiting, dead) = self.lengths();
        gauge_journal(waiting, dead);
    }

    fn wait(&self, failures: u32) -> Duration {
        let BacklogSettings { retry_first, retry_longest, jitter_seed, .. } = self.settings;
        backoff(retry_first, retry_longest, jitter_seed, failures)
    }

    /// Whether the store, not the entry, is why a write failed.
    async fn is_away(&self, error: &PortError) -> bool {
        matches!(error.kind, PortErrorKind::Unavailable | PortErrorKind::Timeout) && self.ping().await.is_err()
    }

    async fn ping(&self) -> Result<(), PortError> {
        let late = |late| PortError::new(PortErrorKind::Timeout, "graph store", "ping", late);
        tokio::time::timeout(PING, self.graph.ping()).await.map_err(late).flatten()
    }

    /// Counts anew what the journal holds. Nobody appends meanwhile.
    async fn read_again(&self) -> Result<(), PortError> {
        const PAGE: usize = 256;
        let _nobody_appends = self.turn.lock().await;
        let (mut known, mut after) = (Known::default(), 0);
        loop {
            let page = self.journal.entries(after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            page.iter().filter(|entry| !entry.dead).for_each(|entry| known.add(&entry.change));
        }
        let (waiting, dead) = self.journal.lengths().await?;
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        self.waiting.store(waiting, Ordering::SeqCst);
        self.dead.store(dead, Ordering::SeqCst);
        self.show();
        Ok(())
    }
}

impl Known {
    fn add(&mut self, change: &ChangeSet) {
        if let Some(idempotency) = &change.idempotency {
            self.answers.insert((change.actor.clone(), idempotency.key.clone()), idempotency.clone());
        }
        for id in created(change) {
            *self.memories.entry(id).or_default() += 1;
        }
    }

    fn remove(&mut self, change: &ChangeSet) {
        if let Some(idempotency) = &change.idempotency {
            self.answers.remove(&(change.actor.clone(), idempotency.key.clone()));
        }
        for id in created(change) {
            if let Some(count) = self.memories.get_mut(&id) {
                *count -= 1;
                if *count == 0 {
                    self.memories.remove(&id);
                }
            }
        }
    }
}

fn created(change: &ChangeSet) -> BTreeSet<MemoryId> {
    let created = change.ops.iter().filter_map(|op| match op {
        Op::PutMemory { memory, expected_revision: 0, .. } => Some(memory.id),
        _ => None,
    });
    created.collect()
}
