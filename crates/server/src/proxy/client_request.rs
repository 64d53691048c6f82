//! One request of a client, and the time that is recorded with it.

use super::reply::Reply;
use super::session::now_ns;
use super::upstream::Route;
use crate::runtime::http1::Framing;
use crate::runtime::peer::IncomingBody;
use cassette::Request;
use std::time::Instant;

/// One request of a client.
pub(crate) struct ClientRequest<'c, 'r> {
    pub(crate) started: Instant,
    pub(crate) request: Request<'r>,
    pub(crate) route: Route,
    pub(crate) source: IncomingBody<'c>,
    pub(crate) framing: Framing,
    pub(crate) reply: Reply<'c>,
    /// Whether the client waits with the body until it is told to go on.
    pub(crate) expects_continue: bool,
    /// Whether it asks for a WebSocket.
    pub(crate) is_upgrade: bool,
}

/// Time, as it is on a cassette.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExchangeClock {
    pub(crate) started_ns: i64,
    pub(crate) started: Instant,
}

impl ExchangeClock {
    pub(crate) fn new(started: Instant) -> Self {
        let ago = i64::try_from(started.elapsed().as_nanos()).unwrap_or_default();
        Self { started_ns: now_ns().saturating_sub(ago), started }
    }

    /// Microseconds since the exchange began.
    pub(crate) fn at_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
