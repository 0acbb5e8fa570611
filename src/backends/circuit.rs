//! Leaves a store alone that does not answer: after a few failures in a row calls fail at once, instead of each waiting for
//! its deadline, until the store answers a question of our own.
//!
//! That question is asked in the background, at growing and spread intervals, so that no caller pays for finding out, and
//! that many processes do not come back together. It knows nothing of what a store is; `guarded` puts it around the ports.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use backon::{BackoffBuilder, ExponentialBuilder};
use futures::future::BoxFuture;
use tokio::{runtime::Handle, time::Instant};

use crate::{
    ports::{PortError, PortErrorKind},
    telemetry,
};

/// When to give up, and how often to look.
#[derive(Debug, Clone)]
pub struct CircuitSettings {
    /// Failures in a row after which calls fail at once.
    pub failures: u32,
    /// A call that was dropped unanswered after this long counts as a failure: its caller had a deadline of its own.
    pub late: Duration,
    /// Wait before the first look; doubles with each further one, and is lengthened by up to as much again, at random.
    pub look_first: Duration,
    /// Longest such wait, before it is lengthened.
    pub look_longest: Duration,
    /// Longest wait for the answer to a look.
    pub look_within: Duration,
    /// A store that fails again so soon after it came back is looked at as seldom as before.
    pub steady: Duration,
}

impl Default for CircuitSettings {
    fn default() -> Self {
        Self {
            failures: 3,
            late: Duration::from_millis(400),
            look_first: Duration::from_millis(200),
            look_longest: Duration::from_secs(3),
            look_within: Duration::from_secs(2),
            steady: Duration::from_secs(30),
        }
    }
}

/// The question whose answer says that the store is back.
pub(super) type Look = Box<dyn Fn() -> BoxFuture<'static, Result<(), PortError>> + Send + Sync>;

/// See the module. One around each store, shared by all its ports.
pub(super) struct Circuit {
    part: &'static str,
    settings: CircuitSettings,
    look: Look,
    state: Mutex<State>,
}

enum State {
    Closed {
        /// In a row.
        failures: u32,
        /// When it last came back, and the wait before the look that found out.
        back: Option<(Instant, Duration)>,
    },
    Open,
}

impl Circuit {
    /// A closed one around the store that is `part` of the service.
    pub(super) fn new(part: &'static str, settings: CircuitSettings, look: Look) -> Arc<Self> {
        telemetry::show_circuit(part, false);
        Arc::new(Self { part, settings, look, state: Mutex::new(State::Closed { failures: 0, back: None }) })
    }

    /// Makes the call, or fails at once.
    pub(super) async fn call<T>(
        self: &Arc<Self>,
        operation: &'static str,
        call: impl Future<Output = Result<T, PortError>>,
    ) -> Result<T, PortError> {
        if matches!(*self.state(), State::Open) {
            return Err(PortError::new(PortErrorKind::Unavailable, self.part, operation, Left));
        }
        let mut watch = Watch { circuit: self, started: Instant::now(), answered: false };
        let answer = call.await;
        watch.answered = true;
        match &answer {
            Err(error) if is_outage(error) => self.failed(),
            _ => self.answered(),
        }
        answer
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self) {
        if let State::Closed { failures, .. } = &mut *self.state() {
            *failures = 0;
        }
    }

    fn failed(self: &Arc<Self>) {
        // Calls are also dropped when everything ends; then there is nobody to look, and nobody to look for.
        let Ok(runtime) = Handle::try_current() else { return };
        let first = {
            let mut state = self.state();
            let State::Closed { failures, back } = &mut *state else { return };
            *failures += 1;
            if *failures < self.settings.failures {
                return;
            }
            let first = match back {
                Some((at, wait)) if at.elapsed() < self.settings.steady => *wait,
                _ => self.settings.look_first,
            };
            *state = State::Open;
            first
        };
        telemetry::show_circuit(self.part, true);
        tracing::warn!(part = self.part, "{} does not answer: calls fail at once until it does", self.part);
        runtime.spawn(Self::watch_for_return(Arc::downgrade(self), self.settings.clone(), first));
    }

    /// Ends when the store is back, or when nobody uses it any longer.
    async fn watch_for_return(circuit: Weak<Self>, settings: CircuitSettings, first: Duration) {
        let waits = ExponentialBuilder::new()
            .with_min_delay(first.min(settings.look_longest))
            .with_max_delay(settings.look_longest)
            .without_max_times()
            .with_jitter();
        for wait in waits.build() {
            tokio::time::sleep(wait).await;
            let Some(circuit) = circuit.upgrade() else { return };
            let look = tokio::time::timeout(settings.look_within, (circuit.look)()).await;
            // An answer that is an error is an answer.
            if look.is_ok_and(|answer| answer.err().is_none_or(|error| !is_outage(&error))) {
                *circuit.state() =
                    State::Closed { failures: 0, back: Some((Instant::now(), wait.min(settings.look_longest))) };
                telemetry::show_circuit(circuit.part, false);
                tracing::info!(part = circuit.part, "{} answers again", circuit.part);
                return;
            }
        }
    }
}

/// Notices that a call was given up by its caller.
struct Watch<'a> {
    circuit: &'a Arc<Circuit>,
    started: Instant,
    answered: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.answered && self.started.elapsed() >= self.circuit.settings.late {
            self.circuit.failed();
        }
    }
}

/// Why a call failed at once.
#[derive(Debug, thiserror::Error)]
#[error("it did not answer lately and is left alone until it does")]
struct Left;

fn is_outage(error: &PortError) -> bool {
    matches!(error.kind, PortErrorKind::Unavailable | PortErrorKind::Timeout)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    /// A store that answers or does not, and counts what it is asked.
    #[derive(Default)]
    struct Store {
        down: AtomicBool,
        looks: AtomicUsize,
    }

    fn outage() -> PortError {
        PortError::new(PortErrorKind::Unavailable, "test", "look", "down")
    }

    const LONGEST: Duration = Duration::from_millis(40);

    fn around(store: &Arc<Store>) -> Arc<Circuit> {
        let looked_at = store.clone();
        let look: Look = Box::new(move || {
            looked_at.looks.fetch_add(1, Ordering::SeqCst);
            let down = looked_at.down.load(Ordering::SeqCst);
            Box::pin(async move { if down { Err(outage()) } else { Ok(()) } })
        });
        let settings = CircuitSettings {
            late: LONGEST,
            look_first: Duration::from_millis(5),
            look_longest: LONGEST,
            ..CircuitSettings::default()
        };
        Circuit::new("test", settings, look)
    }

    impl Store {
        fn down() -> Arc<Self> {
            Arc::new(Self { down: AtomicBool::new(true), ..Self::default() })
        }

        fn looks(&self) -> usize {
            self.looks.load(Ordering::SeqCst)
        }
    }

    async fn until(what: &str, holds: impl Fn() -> bool) {
        let waited = tokio::time::timeout(Duration::from_secs(20), async {
            while !holds() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        waited.await.unwrap_or_else(|_| panic!("never: {what}"));
    }

    async fn fail(circuit: &Arc<Circuit>) {
        for _ in 0..3 {
            ask(circuit, Err(PortErrorKind::Unavailable)).await.expect_err("down");
        }
        assert!(is_open(circuit));
    }

    async fn ask(circuit: &Arc<Circuit>, answer: Result<(), PortErrorKind>) -> Result<(), PortErrorKind> {
        let call = async { answer.map_err(|kind| PortError::new(kind, "test", "ask", "told to fail")) };
        circuit.call("ask", call).await.map_err(|error| error.kind)
    }

    fn is_open(circuit: &Circuit) -> bool {
        matches!(*circuit.state(), State::Open)
    }

    #[tokio::test]
    async fn failures_in_a_row_open_it_and_an_answer_in_between_does_not() {
        let circuit = around(&Store::down());
        for kind in [PortErrorKind::Unavailable, PortErrorKind::Timeout] {
            ask(&circuit, Err(kind)).await.expect_err("down");
        }
        // A refusal is an answer.
        ask(&circuit, Err(PortErrorKind::Conflict)).await.expect_err("refused");
        for _ in 0..2 {
            ask(&circuit, Err(PortErrorKind::Timeout)).await.expect_err("down");
        }
        assert!(!is_open(&circuit));
        ask(&circuit, Err(PortErrorKind::Timeout)).await.expect_err("down");
        assert!(is_open(&circuit));
        assert_eq!(ask(&circuit, Ok(())).await, Err(PortErrorKind::Unavailable), "not asked");
    }

    #[tokio::test]
    async fn a_store_that_stays_down_is_looked_at_now_and_then_and_used_again_once_it_answers() {
        let store = Store::down();
        let circuit = around(&store);
        let began = Instant::now();
        fail(&circuit).await;
        until("it is looked at several times", || store.looks() >= 8).await;
        // 5, 10 and 20 ms, and then 40 and more each.
        let most = 4.0 + began.elapsed().as_secs_f64() / LONGEST.as_secs_f64();
        assert!(store.looks() as f64 <= most, "{} looks in {:?}", store.looks(), began.elapsed());
        store.down.store(false, Ordering::SeqCst);
        until("it is used again", || !is_open(&circuit)).await;
        assert_eq!(ask(&circuit, Ok(())).await, Ok(()));
        let looks = store.looks();
        tokio::time::sleep(LONGEST * 3).await;
        assert_eq!(store.looks(), looks, "nothing to look for");
    }

    #[tokio::test]
    async fn a_store_that_flaps_is_looked_at_as_seldom_as_before() {
        let store = Store::down();
        let circuit = around(&store);
        fail(&circuit).await;
        until("it is looked at several times", || store.looks() >= 5).await;
        store.down.store(false, Ordering::SeqCst);
        until("it is used again", || !is_open(&circuit)).await;
        let looks = store.looks();
        let again = Instant::now();
        fail(&circuit).await;
        until("it is looked at", || store.looks() > looks).await;
        assert!(again.elapsed() >= LONGEST, "{:?}", again.elapsed());
    }

    #[tokio::test]
    async fn callers_who_give_up_waiting_open_it_and_those_who_leave_early_do_not() {
        let circuit = around(&Store::down());
        for _ in 0..10 {
            let mut call = Box::pin(circuit.call("ask", std::future::pending::<Result<(), PortError>>()));
            assert!(futures::poll!(&mut call).is_pending());
        }
        assert!(!is_open(&circuit));
        for _ in 0..3 {
            let call = circuit.call("ask", std::future::pending::<Result<(), PortError>>());
            tokio::time::timeout(LONGEST * 2, call).await.expect_err("it hangs");
        }
        assert!(is_open(&circuit));
    }

    #[tokio::test]
    async fn nobody_looks_at_a_store_that_is_no_longer_used() {
        let store = Store::down();
        let circuit = around(&store);
        fail(&circuit).await;
        until("it is looked at", || store.looks() > 0).await;
        drop(circuit);
        // One look may be under way.
        tokio::time::sleep(LONGEST * 2).await;
        let looks = store.looks();
        tokio::time::sleep(LONGEST * 4).await;
        assert_eq!(store.looks(), looks);
    }
}
