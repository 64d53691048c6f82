//! One request of a client.

use super::reply::Reply;
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
