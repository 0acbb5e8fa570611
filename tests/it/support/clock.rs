//! A clock that stands still until told otherwise, with counted ids.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use jiff::{SignedDuration, Timestamp};
use recollect::ports::Clock;
use uuid::{Builder, Uuid};

/// Frozen time; ids are UUIDv7 of the starting moment and a counter, so a test's ids never depend on the machine.
pub struct FixedClock {
    start: Timestamp,
    now: Mutex<Timestamp>,
    ids: AtomicU64,
}

impl FixedClock {
    /// Stands at `start`.
    pub fn at(start: Timestamp) -> Self {
        Self { start, now: Mutex::new(start), ids: AtomicU64::new(0) }
    }

    /// Moves to `now`.
    pub fn set(&self, now: Timestamp) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// The next id is the one after the `count`th.
    pub fn count_from(&self, count: u64) {
        self.ids.store(count, Ordering::Relaxed);
    }

    /// Moves on by `step`.
    pub fn advance(&self, step: SignedDuration) {
        self.set(self.now() + step);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_id(&self) -> Uuid {
        let mut random = [0; 10];
        random[2..].copy_from_slice(&(self.ids.fetch_add(1, Ordering::Relaxed) + 1).to_be_bytes());
        Builder::from_unix_timestamp_millis(self.start.as_millisecond().unsigned_abs(), &random).into_uuid()
    }
}

#[test]
fn fixed_clock_moves_when_told_and_counts_its_ids() {
    let clock = FixedClock::at("2026-01-02T03:04:05Z".parse().unwrap());
    let (first, second) = (clock.next_id(), clock.next_id());
    clock.advance(SignedDuration::from_hours(1));
    assert_eq!(clock.now().to_string(), "2026-01-02T04:04:05Z");
    clock.set("2025-01-01T00:00:00Z".parse().unwrap());
    let third = clock.next_id();
    assert!(first < second && second < third, "ids grow even when time is set back");
    assert_eq!(FixedClock::at("2026-01-02T03:04:05Z".parse().unwrap()).next_id(), first);
}
