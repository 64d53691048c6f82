//! The way to servers: connections to them, kept while somebody may use them again.
//!
//! 1. A [`Route`] is looked for among idle connections, then connected: by the addresses that the user gave, through another
//!    proxy, or as the system resolves the name.
//! 2. What a client speaks is spoken to the server as well: HTTP/2 is offered to a server only if the client speaks it.
//! 3. A connection that was used goes back, unless it is at its end.

mod connect;
mod link;
mod route;
mod tls;

pub(crate) use connect::{Connector, NetworkFailure, WINDOW_BYTES};
pub(crate) use link::{OutgoingRequest, ResponseEvent, ResponseReader, ServerConnection, begin};
pub(crate) use route::Route;
pub(crate) use tls::provider;

use crate::runtime::stream::ByteStream;
use bytes::Bytes;
use h2::client::SendRequest;
use link::Http1Connection;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// An idle connection is not kept for longer: servers close them at some time.
const IDLE_MAX: Duration = Duration::from_secs(20);
/// How many idle connections are kept of a route.
const IDLE_COUNT_MAX: usize = 64;
/// Connections of more routes than these are not kept at a time.
const ROUTES_MAX: usize = 1024;

/// The way to servers, for the connections of one thread: what waits for an answer is woken by the thread that it runs on.
pub(crate) struct UpstreamPool {
    network: Arc<Connector>,
    idle: Mutex<HashMap<Route, Vec<(Instant, Http1Connection)>>>,
    shared: Mutex<HashMap<Route, Arc<SharedHttp2>>>,
}

/// A connection by HTTP/2, which all requests of a route share. A request that finds none makes it, and others wait for it.
#[derive(Default)]
struct SharedHttp2 {
    sender: tokio::sync::Mutex<Http2Sender>,
}

#[derive(Default)]
enum Http2Sender {
    #[default]
    Unknown,
    Http2(SendRequest<Bytes>),
    /// The server does not speak HTTP/2.
    Http1Only,
}

impl UpstreamPool {
    pub(crate) fn new(network: Arc<Connector>) -> Self {
        Self { network, idle: Mutex::default(), shared: Mutex::default() }
    }

    /// A connection for a request.
    pub(crate) async fn connection(&self, route: &Route) -> Result<ServerConnection, NetworkFailure> {
        if let Some(idle) = self.take_idle(route) {
            return Ok(ServerConnection::Http1(idle));
        }
        if route.may_be_http2 { self.shared_connection(route).await } else { self.new_connection(route).await }
    }

    /// A connection that nobody used before.
    pub(crate) async fn new_connection(&self, route: &Route) -> Result<ServerConnection, NetworkFailure> {
        let time = self.network.connect_time;
        let connected = tokio::time::timeout(time, self.network.connect(route)).await;
        connected.unwrap_or_else(|_| Err(NetworkFailure::timeout(time, "no connection was made")))
    }

    /// A connection to a host on which nothing was said yet.
    pub(crate) async fn open_stream(&self, host: &str, port: u16) -> Result<ByteStream, NetworkFailure> {
        let (host, is_secure) = (host.to_owned(), true);
        let route = Route { is_secure, host, port, server_name: None, may_be_http2: false };
        let time = self.network.connect_time;
        let connected = tokio::time::timeout(time, self.network.open_stream(&route)).await;
        connected.unwrap_or_else(|_| Err(NetworkFailure::timeout(time, "no connection was made")))
    }

    async fn shared_connection(&self, route: &Route) -> Result<ServerConnection, NetworkFailure> {
        let shared = self.shared_of(route);
        let mut sender = shared.sender.lock().await;
        match &*sender {
            Http2Sender::Http1Only => {
                drop(sender);
                return self.new_connection(route).await;
            }
            Http2Sender::Http2(at_hand) => {
                let at_hand = at_hand.clone();
                drop(sender);
                // It may have all the streams that the server allows.
                if let Ok(Ok(ready)) = tokio::time::timeout(self.network.connect_time, at_hand.ready()).await {
                    return Ok(ServerConnection::Http2(ready));
                }
                sender = shared.sender.lock().await;
            }
            Http2Sender::Unknown => {}
        }
        let link = self.new_connection(route).await?;
        *sender = match &link {
            ServerConnection::Http2(made) => Http2Sender::Http2(made.clone()),
            ServerConnection::Http1(_) => Http2Sender::Http1Only,
        };
        Ok(link)
    }

    fn shared_of(&self, route: &Route) -> Arc<SharedHttp2> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.len() >= ROUTES_MAX {
            shared.clear();
        }
        shared.entry(route.clone()).or_default().clone()
    }

    fn take_idle(&self, route: &Route) -> Option<Http1Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = idle.get_mut(route)?;
        while let Some((since, mut connection)) = connections.pop() {
            if since.elapsed() < IDLE_MAX && connection.is_quiet() {
                return Some(connection);
            }
        }
        idle.remove(route);
        None
    }

    /// Keeps a connection on which a message has come to its end both ways.
    pub(crate) fn give_back(&self, route: &Route, link: ServerConnection) {
        let ServerConnection::Http1(connection) = link else { return };
        if !connection.may_be_used_again() {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= ROUTES_MAX {
            idle.clear();
        }
        let connections = idle.entry(route.clone()).or_default();
        if connections.len() >= IDLE_COUNT_MAX {
            connections.remove(0);
        }
        connections.push((Instant::now(), connection.used()));
    }
}
