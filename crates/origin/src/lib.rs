//! A server on loopback for tests and benches: it answers in every way that a server may, and keeps what it was asked.
//!
//! 1. [`Origin::start`] binds two ports, one plain and one with TLS, and serves both from threads of its own.
//! 2. [`routes`] has what can be asked for. HTTP/1.1 and HTTP/2 are spoken on both ports; on the one with TLS the client
//!    chooses by ALPN, on the plain one by its first bytes.
//! 3. [`Origin::ca_pem`] signs its certificate: a client that is to trust it gets that.
//!
//! Nothing that is shipped depends on it.
#![forbid(unsafe_code)]

mod certificate;
mod compressed;
mod model;
mod query;
pub mod routes;
mod websocket;
mod wire;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use wire::{BreakOff, RawConnection};

/// What a route answers with; the error ends the connection.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// How long [`Origin::stop`] waits for what is being served.
const STOP: Duration = Duration::from_secs(2);

/// The name for which tests map the port with TLS. Its certificate holds for every name below `metroon.test`, for `localhost` and the
/// loopback addresses, and for the names of documents, `example.com` and `pond.example`.
pub const NAME: &str = "api.metroon.test";

/// Which protocols the port with TLS offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocols {
    /// HTTP/2 and HTTP/1.1; the client chooses.
    Both,
    /// HTTP/1.1 alone.
    Http1,
}

/// A server that runs until it is dropped.
pub struct Origin {
    plain: SocketAddr,
    tls: SocketAddr,
    ca_pem: String,
    identity_pem: String,
    seen: Arc<RequestLog>,
    runtime: Option<Runtime>,
}

/// What all connections share.
#[derive(Default)]
pub(crate) struct RequestLog {
    requests: Mutex<Vec<String>>,
}

impl RequestLog {
    /// Keeps a request; gives how often it was made before.
    fn add(&self, request: String) -> usize {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let before = requests.iter().filter(|known| **known == request).count();
        requests.push(request);
        before
    }
}

impl Origin {
    /// Starts one that speaks HTTP/1.1 and HTTP/2.
    ///
    /// # Panics
    /// The machine has no loopback port or no thread left.
    #[must_use]
    pub fn start() -> Self {
        Self::with(Protocols::Both)
    }

    /// Starts one that offers these protocols on its port with TLS.
    ///
    /// # Panics
    /// The machine has no loopback port or no thread left.
    #[must_use]
    pub fn with(protocols: Protocols) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("threads can be started");
        let certificate = certificate::make(protocols);
        let seen = Arc::new(RequestLog::default());
        let (plain, tls) = runtime.block_on(async {
            let plain = listen(None, Arc::clone(&seen)).await;
            (plain, listen(Some(certificate.acceptor), Arc::clone(&seen)).await)
        });
        let certificate::Certificate { ca_pem, identity_pem, .. } = certificate;
        Self { plain, tls, ca_pem, identity_pem, seen, runtime: Some(runtime) }
    }

    /// Where HTTP without TLS is served, and WebSockets.
    #[must_use]
    pub fn plain(&self) -> SocketAddr {
        self.plain
    }

    /// Where HTTP over TLS is served, and WebSockets.
    #[must_use]
    pub fn tls(&self) -> SocketAddr {
        self.tls
    }

    /// The certificate of the authority that signed the server's own, in PEM.
    #[must_use]
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// The server's certificate and its key in PEM, for a further server of a test under a name for which it holds.
    #[must_use]
    pub fn identity_pem(&self) -> &str {
        &self.identity_pem
    }

    /// The requests until now, each as `METHOD TARGET`, in the order in which their heads came.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends it and waits until its ports are free; connections that are open are cut off.
    pub fn stop(mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(STOP);
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn listen(acceptor: Option<TlsAcceptor>, seen: Arc<RequestLog>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound port has an address");
    tokio::spawn(async move {
        // An error of accepting is one of that connection, or it passes.
        loop {
            if let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connection(stream, acceptor.clone(), Arc::clone(&seen)));
            }
        }
    });
    address
}

async fn connection(stream: TcpStream, acceptor: Option<TlsAcceptor>, seen: Arc<RequestLog>) {
    // Pieces of a stream leave when they are written.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let cut = BreakOff::default();
    let wire = RawConnection::new(stream, cut.clone());
    match acceptor {
        None => serve(wire, cut, seen).await,
        Some(acceptor) => {
            if let Ok(stream) = acceptor.accept(wire).await {
                serve(stream, cut, seen).await;
            }
        }
    }
}

async fn serve<S>(stream: S, cut: BreakOff, seen: Arc<RequestLog>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let service = hyper::service::service_fn(move |request| routes::answer(request, cut.clone(), Arc::clone(&seen)));
    let server = auto::Builder::new(TokioExecutor::new());
    // That a client went away, or was cut off on purpose, is its test's business.
    let _ = server.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
}
