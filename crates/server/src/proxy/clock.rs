//! The time that is recorded.
//!
//! The times on a cassette are a logical clock as well: whatever was seen later has a later time, and no two things have the same, be they of
//! one exchange or of two. A replay goes by that [order](super::order). So the clock of a recording is one of its own: it has
//! the time of the system when it starts, does not follow when that is set, and gives each microsecond once.

use super::session::now_ns;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The clock of everything that a proxy records.
#[derive(Debug)]
pub(crate) struct RecordingClock {
    begun: Instant,
    /// Nanoseconds since 1970, then.
    begun_ns: i64,
    /// The last microsecond that was given.
    last_us: AtomicU64,
}

impl RecordingClock {
    pub(crate) fn new() -> Self {
        // Whole microseconds, so that sums with times of exchanges are exact.
        let begun_ns = now_ns() / 1_000 * 1_000;
        Self { begun: Instant::now(), begun_ns, last_us: AtomicU64::new(0) }
    }

    /// The microsecond of a time, or the first after all that were given.
    fn give(&self, time: Instant) -> u64 {
        let wanted = u64::try_from(time.saturating_duration_since(self.begun).as_micros()).unwrap_or(u64::MAX);
        let later = |last: u64| Some(wanted.max(last.saturating_add(1)));
        let last = self.last_us.fetch_update(Ordering::AcqRel, Ordering::Acquire, later).unwrap_or_else(|last| last);
        wanted.max(last.saturating_add(1))
    }
}

/// The time of an exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExchangeClock<'c> {
    clock: &'c RecordingClock,
    started_us: u64,
}

impl<'c> ExchangeClock<'c> {
    /// Of an exchange that began at a time.
    pub(crate) fn new(clock: &'c RecordingClock, started: Instant) -> Self {
        Self { clock, started_us: clock.give(started) }
    }

    /// When it began, in nanoseconds since 1970.
    pub(crate) fn started_ns(&self) -> i64 {
        let after = i64::try_from(self.started_us).unwrap_or(i64::MAX).saturating_mul(1_000);
        self.clock.begun_ns.saturating_add(after)
    }

    /// Microseconds since the exchange began, which no other event of the recording has.
    pub(crate) fn at_us(&self) -> u64 {
        self.clock.give(Instant::now()).saturating_sub(self.started_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Mutex;

    #[test]
    fn no_two_events_have_the_same_time() {
        let clock = RecordingClock::new();
        let begun = Instant::now();
        let seen = Mutex::new(HashSet::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let exchange = ExchangeClock::new(&clock, begun);
                        let times = [0, exchange.at_us(), exchange.at_us()].map(|at_us| at_us as i64 * 1_000);
                        assert!(times[0] < times[1] && times[1] < times[2]);
                        seen.lock().unwrap().extend(times.map(|after| exchange.started_ns() + after));
                    }
                });
            }
        });
        assert_eq!(seen.into_inner().unwrap().len(), 4 * 200 * 3);
    }
}
