//! When what was recorded is sent again.

use super::options::Latency;
use std::time::{Duration, Instant};

/// When what was recorded is to be there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pub(crate) begun: Instant,
    /// When the recorded request was complete, in microseconds after it began.
    pub(crate) base_us: u64,
    pub(crate) latency: Latency,
}

impl Schedule {
    /// Of an exchange whose request is complete now, and was when it began.
    pub(crate) fn new(latency: Latency) -> Self {
        Self { begun: Instant::now(), base_us: 0, latency }
    }

    /// What was there at a time of the recording is there then; `None` is at once.
    pub(crate) fn due(&self, at_us: u64) -> Option<Instant> {
        let after = Duration::from_micros(at_us.saturating_sub(self.base_us));
        let after = match self.latency {
            Latency::None => return None,
            Latency::Recorded => after,
            Latency::Fixed(after) => after,
            Latency::Scaled(speed) if speed > 0.0 => Duration::try_from_secs_f64(after.as_secs_f64() / speed).ok()?,
            Latency::Scaled(_) => return None,
        };
        self.begun.checked_add(after)
    }
}
