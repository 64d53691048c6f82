//! The time that is recorded.
//!
//! The times on a cassette are a logical clock as well: whatever was seen later has a later time, and no two things have the same, be they of
//! one exchange or of two. A replay goes by that [order](super::order). So the clock of a recording is one of its own: it has
//! the time of the system when it starts, does not follow when that is set back, and gives each microsecond once. A computer that
//! sleeps stops the clock of its processes and not the time: what the clock has missed is added when an exchange begins.

use super::session::now_ns;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// If the system's time is farther ahead, the clock has missed it. Less is a clock that is put right bit by bit.
const MISSED_US_MIN: i64 = 2_000_000;

/// The clock of everything that a proxy records.
#[derive(Debug)]
pub(crate) struct RecordingClock {
    begun: Instant,
    /// Nanoseconds since 1970, then.
    begun_ns: i64,
    /// Microseconds for which it stood still.
    missed_us: AtomicU64,
    /// The last microsecond that was given.
    last_us: AtomicU64,
}

impl RecordingClock {
    pub(crate) fn new() -> Self {
        // Whole microseconds, so that sums with times of exchanges are exact.
        let begun_ns = now_ns() / 1_000 * 1_000;
        Self { begun: Instant::now(), begun_ns, missed_us: AtomicU64::new(0), last_us: AtomicU64::new(0) }
    }

    /// Adds what it has missed, by the time of the system. Of two that see it at once, one does.
    fn catch_up(&self, now_ns: i64) {
        let missed_us = self.missed_us.load(Ordering::Acquire);
        let shown_us = i64::try_from(self.elapsed_us(Instant::now(), missed_us)).unwrap_or(i64::MAX);
        let ahead_us = (now_ns.saturating_sub(self.begun_ns) / 1_000).saturating_sub(shown_us);
        if ahead_us >= MISSED_US_MIN {
            let all_us = missed_us.saturating_add(ahead_us.unsigned_abs());
            let _ = self.missed_us.compare_exchange(missed_us, all_us, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    fn elapsed_us(&self, time: Instant, missed_us: u64) -> u64 {
        let elapsed_us = time.saturating_duration_since(self.begun).as_micros();
        u64::try_from(elapsed_us).unwrap_or(u64::MAX).saturating_add(missed_us)
    }

    /// The microsecond of a time, or the first after all that were given.
    fn give(&self, time: Instant) -> u64 {
        let wanted = self.elapsed_us(time, self.missed_us.load(Ordering::Acquire));
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
        clock.catch_up(now_ns());
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

    /// A laptop that was shut for three hours while an exchange went on.
    #[test]
    fn time_that_was_slept_through_is_not_missing() {
        const SLEPT_NS: i64 = 3 * 3_600 * 1_000_000_000;
        let clock = RecordingClock::new();
        let before = ExchangeClock::new(&clock, Instant::now());
        let seen_us = before.at_us();
        let slept = now_ns() + SLEPT_NS;
        clock.catch_up(slept);
        // The second who sees it adds nothing, and a time that is set back changes nothing.
        clock.catch_up(slept);
        clock.catch_up(slept - SLEPT_NS);
        let after = ExchangeClock { clock: &clock, started_us: clock.give(Instant::now()) };
        let off_ns = after.started_ns() - slept;
        assert!((-1_000_000_000..60_000_000_000).contains(&off_ns), "{off_ns} ns off");
        // What was seen later has a later time, in the exchange that went on as well.
        assert!(before.at_us() > seen_us + SLEPT_NS as u64 / 1_000 - 1_000_000);
        assert!(before.started_ns() < after.started_ns());
    }

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
