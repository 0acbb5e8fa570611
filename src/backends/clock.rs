//! The clock of the machine. The only place that asks for the present moment or for a random id.

use jiff::Timestamp;
use uuid::Uuid;

use crate::ports::Clock;

/// Present time in whole microseconds, which is what the stores keep, and UUIDv7 ids that never go backwards within the
/// process, even when the machine's clock does.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[expect(clippy::disallowed_methods, reason = "this is the clock that the others are handed")]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }

    fn next_id(&self) -> Uuid {
        Uuid::now_v7()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_even_within_a_millisecond() {
        let ids: Vec<Uuid> = (0..5_000).map(|_| SystemClock.next_id()).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
    }

    #[test]
    fn time_has_no_part_below_a_microsecond() {
        assert_eq!(SystemClock.now().as_nanosecond() % 1_000, 0);
    }
}
