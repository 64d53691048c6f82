//! How long a request is waited for that may never come.
//!
//! It is waited for as long after the request of the waiting answer as it came when it was recorded, and a little longer; never when nothing has
//! happened for [`PATIENCE`]. What was waited for in vain is not waited for again, and each such wait halves the next ones, so that all of them
//! are short together. If what was given up comes later, waits are longer again, but not for ever.

use super::moment::RecordedSpan;
use crate::proxy::options::Latency;
use std::time::{Duration, Instant};

/// The longest time for which nothing may happen while something is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How much later than it was recorded a request may come that overlapped with the answer that waits for it.
const SLACK: Duration = Duration::from_millis(250);
/// How long a request is waited for that was over before that answer was asked for: most such programs ask for one thing after the other, and have changed.
const SLACK_BEFORE: Duration = Duration::from_millis(50);

/// How much later than it was recorded something may come since answers are given later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    /// By which factor times are longer; 1 if answers come as soon as they did, or sooner.
    stretch: f64,
    more: Duration,
}

impl Pace {
    pub(super) fn of(latency: Latency) -> Self {
        match latency {
            Latency::Scaled(speed) if speed > 0.0 && speed < 1.0 => Self { stretch: 1.0 / speed, more: Duration::ZERO },
            Latency::Fixed(more) => Self { stretch: 1.0, more },
            Latency::Recorded | Latency::Scaled(_) | Latency::None => Self { stretch: 1.0, more: Duration::ZERO },
        }
    }

    /// How long something is waited for that came some time after the request.
    fn patience(self, after: Duration) -> Duration {
        let stretched = Duration::try_from_secs_f64(after.as_secs_f64() * self.stretch * 1.25);
        stretched.unwrap_or(Duration::MAX).saturating_add(self.more)
    }
}

/// An answer that waits for a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) span: RecordedSpan,
    /// When it was asked for now.
    pub(super) arrived: Instant,
    /// Since when it waits.
    pub(super) since: Instant,
    /// When anything happened last.
    pub(super) last_activity: Instant,
    /// What is left of [`PATIENCE`].
    pub(super) patience: Duration,
}

impl Waiting {
    /// Until when a request is waited for.
    pub(super) fn until(self, missing: RecordedSpan, pace: Pace) -> Instant {
        let slack = if missing.answered > self.span.asked { SLACK } else { SLACK_BEFORE };
        let slack = slack.mul_f64(self.patience.as_secs_f64() / PATIENCE.as_secs_f64());
        let later = |from: Instant, by: Duration| from.checked_add(by).unwrap_or(from + PATIENCE);
        let expected = later(self.arrived, pace.patience(missing.asked.after(self.span.asked)).saturating_add(slack));
        let quiet = later(self.last_activity, self.patience.saturating_add(pace.more));
        expected.max(self.last_activity + slack).min(quiet).min(expected.max(self.since) + self.patience)
    }
}
