//! How long a program is left alone with an answer before others get theirs.
//!
//! Threads of a program that are woken one right after the other run in any order. So after the end of an answer the next piece of another one waits:
//!
//! 1. No longer than the client shows that it has the answer, by its next request on the connection or by the end of that.
//! 2. No longer than there was between the two when they were recorded, and no longer than [`SETTLING`].
//! 3. Not at all if they were recorded closer together than [`TOGETHER`]: a program cannot act within that, so their order was an accident then as well.

use super::moment::Moment;
use crate::proxy::client_request::ConnectionId;
use std::time::{Duration, Instant};

/// The longest time for which a program is left alone.
const SETTLING: Duration = Duration::from_millis(1);
/// Answers that came closer together had no certain order.
const TOGETHER: Duration = Duration::from_micros(100);

/// The last answer that ended while others were under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settling {
    connection: ConnectionId,
    /// When it was over, now and when it was recorded.
    ended: Instant,
    recorded: Moment,
}

impl Settling {
    pub(super) fn new(connection: ConnectionId, recorded: Moment) -> Self {
        Self { connection, ended: Instant::now(), recorded }
    }

    /// Until when something of another answer waits that was recorded at a moment.
    pub(super) fn until(&self, moment: Moment) -> Instant {
        match moment.after(self.recorded) {
            gap if gap < TOGETHER => self.ended,
            gap => self.ended + gap.min(SETTLING),
        }
    }

    /// Whether a request that was recorded at a moment shows that the client has the answer.
    pub(super) fn is_seen_by(&self, connection: ConnectionId, asked: Moment) -> bool {
        self.is_on(connection) && asked > self.recorded
    }

    pub(super) fn is_on(&self, connection: ConnectionId) -> bool {
        self.connection == connection
    }
}
