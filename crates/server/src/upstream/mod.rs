//! The way to servers: connections to them, kept while somebody may use them again.
//!
//! 1. A [`Route`] is looked for among idle connections, then connected: by the addresses that the user gave, through another
//!    proxy, or as the system resolves the name.
//! 2. What a client speaks is spoken to the server as well: HTTP/2 is offered to a server only if the client speaks it.
//! 3. A connection that was used goes back, unless it is at its end.

mod connect;
mod link;
mod tls;

pub(crate) use connect::{NetworkFailure, WINDOW_BYTES};
pub(crate) use link::{OutgoingRequest, ResponseEvent, ResponseReader, ServerConnection, begin};
pub(crate) use tls::provider;

use crate::error::ProxyError;
#[cfg(target_os = "linux")]
use crate::options::is_loopback;
use crate::options::{Limits, ProxyOptions, Resolve, UpstreamProxy};
use crate::stream::ByteStream;
use bytes::Bytes;
use h2::client::SendRequest;
use link::Http1Connection;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tls::TlsConnectors;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Route {
    /// Whether TLS is spoken.
    pub(crate) is_secure: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The name in the certificate, if the client named another one than the host.
    pub(crate) server_name: Option<String>,
    /// Whether the client speaks HTTP/2.
    pub(crate) may_be_http2: bool,
}

impl Route {
    /// Host and port as in a header: without the port that the scheme has anyway.
    pub(crate) fn authority(&self) -> String {
        let usual = if self.is_secure { 443 } else { 80 };
        if self.port == usual { bracketed(&self.host) } else { format!("{}:{}", bracketed(&self.host), self.port) }
    }
}

/// An address of IPv6 stands in brackets where a port may follow.
pub(crate) fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// An idle connection is not kept for longer: servers close them at some time.
const IDLE_MAX: Duration = Duration::from_secs(20);
/// So many are kept of a route.
const IDLE_COUNT_MAX: usize = 64;
/// Connections of more routes than these are not kept at a time.
const ROUTES_MAX: usize = 1024;

/// How servers are reached.
pub(crate) struct Connector {
    resolve: Vec<Resolve>,
    proxy: Option<UpstreamProxy>,
    connect_time: Duration,
    head_bytes_max: usize,
    tls: TlsConnectors,
    #[cfg(target_os = "linux")]
    passes: Vec<crate::PassedHost>,
    /// The way to the loopback of a program that has one of its own.
    #[cfg(target_os = "linux")]
    door: std::sync::OnceLock<Arc<crate::isolation::InsideConnector>>,
}

/// The way to servers, for the connections of one thread: what waits for an answer is woken by the thread that it runs on.
pub(crate) struct UpstreamPool {
    network: Arc<Connector>,
    idle: Mutex<HashMap<Route, Vec<(Instant, Http1Connection)>>>,
    shared: Mutex<HashMap<Route, Arc<SharedHttp2>>>,
}

/// A connection by HTTP/2, which all requests of a route share. Who finds none makes it, and others wait for it.
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

impl Connector {
    pub(crate) fn new(options: &ProxyOptions) -> Result<Self, ProxyError> {
        let Limits { connect, head_bytes, .. } = options.limits;
        Ok(Self {
            resolve: options.resolve.clone(),
            proxy: options.upstream_proxy.clone(),
            connect_time: connect,
            head_bytes_max: head_bytes,
            tls: TlsConnectors::new(&options.upstream_roots)?,
            #[cfg(target_os = "linux")]
            passes: options.passes.clone(),
            #[cfg(target_os = "linux")]
            door: std::sync::OnceLock::new(),
        })
    }

    /// Reaches hosts of loopback that pass by this door, from now on.
    #[cfg(target_os = "linux")]
    pub(crate) fn isolate(&self, door: crate::isolation::InsideConnector) {
        let _ = self.door.set(Arc::new(door));
    }

    /// The door to a host that passes, if it is on the program's own loopback.
    #[cfg(target_os = "linux")]
    fn door_to(&self, route: &Route) -> Option<Arc<crate::isolation::InsideConnector>> {
        let passes = self.passes.iter().any(|pass| pass.takes(&route.host, route.port));
        let is_inside = passes && is_loopback(&route.host);
        self.door.get().filter(|door| is_inside && door.leads_to(route.port)).cloned()
    }
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
