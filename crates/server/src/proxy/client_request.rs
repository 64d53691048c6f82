//! One request of a client.

use super::reply::Reply;
use super::upstream::Route;
use crate::runtime::http1::Framing;
use crate::runtime::peer::IncomingBody;
use cassette::Request;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// One request of a client.
pub(crate) struct ClientRequest<'c, 'r> {
    pub(crate) connection: ConnectionId,
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

/// Which connection of a client a request came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ConnectionId(u64);

impl ConnectionId {
    /// That of a connection that begins now.
    pub(crate) fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}
