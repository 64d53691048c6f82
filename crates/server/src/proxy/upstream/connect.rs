//! Making connections.

use super::link::{Http1Connection, ServerConnection};
use super::route::{Route, bracketed};
use super::tls::TlsConnectors;
use crate::proxy::error::ProxyError;
use crate::proxy::options::{Limits, ProxyOptions, Resolve, UpstreamProxy, is_loopback};
use crate::runtime::http1::{Http1Reader, ReadHeadError, parse_response};
use crate::runtime::peer_error::PeerError;
use crate::runtime::stream::ByteStream;
use cassette::{NetworkError, NetworkErrorKind};
use rustls::pki_types::ServerName;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, lookup_host};

/// What a network did instead of answering.
#[derive(Clone, Debug)]
pub(crate) struct NetworkFailure {
    pub(crate) kind: NetworkErrorKind,
    pub(crate) message: String,
}

impl NetworkFailure {
    pub(crate) fn new(kind: NetworkErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn timeout(time: Duration, what: &str) -> Self {
        let after_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self::new(NetworkErrorKind::Timeout { after_ms }, what)
    }

    /// Of an error of the system; `doing` says at what.
    pub(crate) fn of(error: &io::Error, doing: &str) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::ConnectionRefused => NetworkErrorKind::Refused,
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => NetworkErrorKind::Reset,
            // What the system gives up it does not say the time of.
            io::ErrorKind::TimedOut => NetworkErrorKind::Timeout { after_ms: 0 },
            io::ErrorKind::InvalidData => NetworkErrorKind::Tls,
            _ => NetworkErrorKind::Other,
        };
        Self::new(kind, format!("{doing}: {error}"))
    }

    /// Of a message that did not come to its end.
    pub(crate) fn of_broken(broken: &PeerError) -> Self {
        match broken {
            PeerError::Io(error) => Self::of(error, "the server ended the connection"),
            PeerError::Stream(error) => match error.get_io() {
                Some(error) => Self::of(error, "the server ended the connection"),
                None => Self::new(NetworkErrorKind::Reset, format!("the server ended the stream: {error}")),
            },
            PeerError::Malformed(what) => Self::new(NetworkErrorKind::Protocol, *what),
            PeerError::Stalled(time) => Self::timeout(*time, "the server sent nothing"),
        }
    }

    /// As it is on a cassette.
    pub(crate) fn error(&self) -> NetworkError<'static> {
        NetworkError { kind: self.kind, message: self.message.clone().into() }
    }
}

impl fmt::Display for NetworkFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

/// How servers are reached.
pub(crate) struct Connector {
    resolve: Vec<Resolve>,
    proxy: Option<UpstreamProxy>,
    pub(super) connect_time: Duration,
    head_bytes_max: usize,
    tls: TlsConnectors,
    #[cfg(target_os = "linux")]
    passes: Vec<crate::PassedHost>,
    /// The way to the loopback of a program that has one of its own.
    #[cfg(target_os = "linux")]
    door: std::sync::OnceLock<Arc<crate::proxy::isolation::InsideConnector>>,
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
    pub(crate) fn isolate(&self, door: crate::proxy::isolation::InsideConnector) {
        let _ = self.door.set(Arc::new(door));
    }

    /// The door to a host that passes, if it is on the program's own loopback.
    #[cfg(target_os = "linux")]
    fn door_to(&self, route: &Route) -> Option<Arc<crate::proxy::isolation::InsideConnector>> {
        let passes = self.passes.iter().any(|pass| pass.takes(&route.host, route.port));
        let is_inside = passes && is_loopback(&route.host);
        self.door.get().filter(|door| is_inside && door.leads_to(route.port)).cloned()
    }

    /// Makes a connection.
    pub(super) async fn connect(&self, route: &Route) -> Result<ServerConnection, NetworkFailure> {
        let stream = self.open_stream(route).await?;
        match self.proxy_for(route) {
            Some(proxy) if !route.is_secure => {
                Ok(ServerConnection::Http1(Http1Connection::new(stream, Some(proxy.authorization.clone()))))
            }
            _ if route.is_secure => self.secure(stream, route).await,
            _ if route.may_be_http2 => self.speak_http2(stream).await,
            _ => Ok(ServerConnection::Http1(Http1Connection::new(stream, None))),
        }
    }

    /// Makes a connection on which nothing is said yet: to a server, or, if it is not a secure one, to the proxy that requests for
    /// it go through.
    pub(super) async fn open_stream(&self, route: &Route) -> Result<ByteStream, NetworkFailure> {
        #[cfg(target_os = "linux")]
        if let Some(door) = self.door_to(route) {
            return through(door, route).await.map(ByteStream::from);
        }
        if let Some(address) = self.mapped(route) {
            return tcp_to(&[address], &route.authority()).await.map(ByteStream::from);
        }
        let Some(proxy) = self.proxy_for(route) else {
            return named_tcp(&route.host, route.port).await.map(ByteStream::from);
        };
        let stream = ByteStream::from(named_tcp(&proxy.host, proxy.port).await?);
        if route.is_secure { self.tunnel(stream, route, proxy).await } else { Ok(stream) }
    }

    /// The proxy that requests go through.
    fn proxy_for(&self, route: &Route) -> Option<&UpstreamProxy> {
        self.proxy.as_ref().filter(|proxy| self.mapped(route).is_none() && proxy.serves(&route.host))
    }

    /// The address that the user gave for it.
    fn mapped(&self, route: &Route) -> Option<SocketAddr> {
        let fits = |port: Option<u16>| port.is_none_or(|port| port == route.port);
        let found = self.resolve.iter().find(|one| one.host.eq_ignore_ascii_case(&route.host) && fits(one.port));
        found.map(|resolve| resolve.to)
    }

    /// Asks another proxy for a way to a server.
    async fn tunnel(
        &self,
        mut stream: ByteStream,
        route: &Route,
        proxy: &UpstreamProxy,
    ) -> Result<ByteStream, NetworkFailure> {
        let place = format!("{}:{}", bracketed(&route.host), route.port);
        let authorization = proxy.authorization.as_ref().map(|value| format!("Proxy-Authorization: {value}\r\n"));
        let authorization = authorization.unwrap_or_default();
        let ask = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{authorization}\r\n");
        let failed = |error: io::Error| NetworkFailure::of(&error, "the upstream proxy ended the connection");
        stream.write_all(ask.as_bytes()).await.map_err(failed)?;
        let (read, write) = tokio::io::split(stream);
        let mut reader = Http1Reader::new(read);
        let head = reader.head(self.head_bytes_max).await.map_err(|error| match error {
            ReadHeadError::Broken(error) => failed(error),
            ReadHeadError::End => failed(io::ErrorKind::UnexpectedEof.into()),
            ReadHeadError::TooLong => {
                NetworkFailure::new(NetworkErrorKind::Protocol, "the upstream proxy answered too much")
            }
        })?;
        let answer = parse_response(&head, 0).map_err(|what| NetworkFailure::new(NetworkErrorKind::Protocol, what))?;
        let status = answer.status();
        if !(200..300).contains(&status) {
            let message = format!("the upstream proxy answered {status} when it was asked for a way to {place}");
            return Err(NetworkFailure::new(NetworkErrorKind::Other, message));
        }
        Ok(reader.io.unsplit(write).with_ahead(reader.buffer.freeze()))
    }

    async fn secure(&self, stream: ByteStream, route: &Route) -> Result<ServerConnection, NetworkFailure> {
        let failed = |what: String| NetworkFailure::new(NetworkErrorKind::Tls, what);
        let connector = self.tls.connector(route.may_be_http2).map_err(failed)?;
        let name = route.server_name.as_ref().unwrap_or(&route.host);
        let server_name = ServerName::try_from(name.clone());
        let server_name = server_name.map_err(|_| failed(format!("`{name}` can be in no certificate")))?;
        let secured = connector.connect(server_name, stream).await;
        let stream = ByteStream::from(secured.map_err(|error| tls_failure(&error, name))?);
        if stream.speaks_h2() {
            self.speak_http2(stream).await
        } else {
            Ok(ServerConnection::Http1(Http1Connection::new(stream, None)))
        }
    }

    async fn speak_http2(&self, stream: ByteStream) -> Result<ServerConnection, NetworkFailure> {
        let mut builder = h2::client::Builder::new();
        builder.enable_push(false).initial_window_size(WINDOW_BYTES).initial_connection_window_size(WINDOW_BYTES);
        builder.max_header_list_size(u32::try_from(self.head_bytes_max).unwrap_or(u32::MAX));
        let (sender, connection) =
            builder.handshake(stream).await.map_err(|error| NetworkFailure::of_broken(&error.into()))?;
        // It ends when nobody has a sender any more, and its errors reach who waits for a response.
        tokio::spawn(async move { drop(connection.await) });
        Ok(ServerConnection::Http2(sender))
    }
}

/// How much may be under way on a stream.
pub(crate) const WINDOW_BYTES: u32 = 1 << 20;

fn tls_failure(error: &io::Error, name: &str) -> NetworkFailure {
    let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let doing = format!("no secure connection to {name}");
    let mut failure = NetworkFailure::of(error, &doing);
    if of_tls.is_some() {
        failure.kind = NetworkErrorKind::Tls;
    }
    if let Some(rustls::Error::InvalidCertificate(_)) = of_tls {
        failure.message.push_str("; --upstream-ca FILE trusts the certificates in a file, if they are yours");
    }
    failure
}

/// A connection to the loopback of a program that has one of its own.
#[cfg(target_os = "linux")]
async fn through(
    door: Arc<crate::proxy::isolation::InsideConnector>,
    route: &Route,
) -> Result<TcpStream, NetworkFailure> {
    let ip = route.host.parse().unwrap_or(IpAddr::from([127, 0, 0, 1]));
    let to = SocketAddr::new(ip, route.port);
    let connected = tokio::task::spawn_blocking(move || door.connect(to)).await.map_err(io::Error::other);
    let tcp = connected.flatten().and_then(|tcp| {
        tcp.set_nonblocking(true)?;
        TcpStream::from_std(tcp)
    });
    tcp.map_err(|error| {
        NetworkFailure::new(NetworkErrorKind::Refused, format!("{to}, in the program's own network: {error}"))
    })
}

async fn named_tcp(host: &str, port: u16) -> Result<TcpStream, NetworkFailure> {
    let shown = format!("{}:{port}", bracketed(host));
    if let Ok(address) = host.parse::<IpAddr>() {
        return tcp_to(&[SocketAddr::new(address, port)], &shown).await;
    }
    let found = lookup_host((host, port)).await;
    let found: Vec<_> =
        found.map_err(|error| NetworkFailure::new(NetworkErrorKind::Dns, format!("{host}: {error}")))?.collect();
    if found.is_empty() {
        return Err(NetworkFailure::new(NetworkErrorKind::Dns, format!("{host} has no address")));
    }
    tcp_to(&found, &shown).await
}

/// The first of several addresses that answers. Each but the last has little time.
async fn tcp_to(addresses: &[SocketAddr], shown: &str) -> Result<TcpStream, NetworkFailure> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for (left, address) in addresses.iter().enumerate().map(|(at, address)| (addresses.len() - at, address)) {
        let time = if left > 1 { FIRST_ADDRESS_TIME } else { Duration::MAX };
        match tokio::time::timeout(time, TcpStream::connect(address)).await {
            Ok(Ok(tcp)) => {
                // Small messages are not to wait for others.
                let _ = tcp.set_nodelay(true);
                return Ok(tcp);
            }
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(NetworkFailure::of(&last, shown))
}

const FIRST_ADDRESS_TIME: Duration = Duration::from_secs(5);
