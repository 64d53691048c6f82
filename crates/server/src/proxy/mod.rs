//! The recording proxy.
//!
//! This file has a proxy from its start to its end. What comes to it goes this way:
//!
//! 1. `client` takes a connection, and finds out what is asked of whom. `authority` has the certificates for tunnels.
//! 2. `exchange` decides what a request comes to: `record` sends it to its server by `upstream`, and writes what passes to the
//!    cassette; `replay` answers it from there. `websocket` does the same for the frames of a WebSocket.
//! 3. `session` has the cassette and the mode of all of this; `control` lets a test change them by a socket, and `report` counts.
//!
//! A program is told of the proxy by `environment`, or has a network of its own by `isolation`.

mod ambiguity;
mod authority;
mod client;
mod client_request;
mod clock;
mod control;
mod edits;
mod environment;
mod error;
mod exchange;
#[cfg(target_os = "linux")]
mod isolation;
mod options;
mod order;
mod own_answers;
mod record;
mod relay_error;
mod replay;
mod reply;
mod report;
mod schedule;
mod session;
mod shared;
mod stream_end;
mod tap;
mod telemetry;
mod threads;
mod upstream;
mod websocket;

pub use ambiguity::AmbiguousAnswers;
pub use authority::{Authority, data_directory};
pub use edits::Edits;
pub use environment::environment;
pub use error::{AuthorityError, EditsError, ProxyError};
#[cfg(target_os = "linux")]
pub use isolation::{BRIDGES_MAX, Isolation, IsolationError, become_isolated};
pub use options::{
    ControlOptions, Latency, Limits, OptionError, PassedHost, ProxyOptions, Resolve, Traffic, UpstreamProxy,
};
pub use report::{DETAILS_MAX, Report};

use authority::LeafCertificates;
use session::Session;
use shared::ProxyState;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};
use threads::ServingThreads;
use tokio::time::timeout;
use upstream::{Connector, provider};

/// A proxy that records what goes through it, or answers from what was recorded.
///
/// It serves on threads of its own until it is stopped or dropped. Its methods block, and are not for asynchronous code.
pub struct Proxy {
    threads: Option<ServingThreads>,
    shared: Arc<ProxyState>,
    authority: Arc<Authority>,
    control: Option<control::ControlSocket>,
}

impl Proxy {
    /// Starts a proxy. When this returns it is listening, and its cassette is open.
    ///
    /// # Errors
    /// The address is taken, the cassette cannot be opened, or there is no certificate authority and none can be made.
    pub fn start(options: ProxyOptions) -> Result<Self, ProxyError> {
        let folder = options.data_directory.clone().map_or_else(data_directory, Ok)?;
        let authority = Arc::new(Authority::open(folder)?);
        let leaves = LeafCertificates::new(authority.clone(), provider())?;
        let failed = |error| ProxyError::Listen { address: options.listen, error };
        let listener = TcpListener::bind(options.listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let network = Connector::new(&options)?;
        let control = options.control.as_ref();
        let control =
            control.map(|control| control::BoundControlSocket::open(control, address.port(), authority.folder()));
        let control = control.transpose()?;
        // The cassette comes last: what does not start leaves nothing beside it.
        let (session, warnings) = Session::open(&options.traffic, options.playback.clone(), options.keeping.clone())?;
        let shared = Arc::new(ProxyState::new(&options, address, leaves, network, session));
        warnings.into_iter().for_each(|warning| shared.counts.warn(warning));
        let threads = ServingThreads::start(&options, &shared)?;
        let control = {
            let _within = threads.first().enter();
            let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
            threads.first().spawn(client::accept(threads.all().clone(), listener));
            control.map(|control| control.serve(&shared)).transpose()?
        };
        Ok(Self { threads: Some(threads), shared, authority, control })
    }

    /// Serves what comes from a network of a program's own as well.
    #[cfg(target_os = "linux")]
    pub(crate) fn serve_inside(
        &self,
        opened: isolation::InsideSockets,
        door: isolation::InsideConnector,
    ) -> io::Result<()> {
        let Some(threads) = &self.threads else { return Ok(()) };
        let _within = threads.first().enter();
        let (watch, listener) = opened.serve()?;
        if let Some(listener) = listener {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            threads.first().spawn(client::accept(threads.all().clone(), listener));
        }
        self.shared.isolate(watch, door);
        Ok(())
    }

    /// Where it listens. The port is the one that it has, also if it was to be any.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// The certificate authority that its clients must trust.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Where its control socket lies, if it has one.
    pub fn control(&self) -> Option<&Path> {
        self.control.as_ref().map(control::ControlSocket::path)
    }

    /// The cassette that is in use, as it was named; `None` if there is none.
    pub fn cassette(&self) -> Option<PathBuf> {
        self.shared.session().path().map(Path::to_owned)
    }

    /// What it did so far.
    pub fn report(&self) -> Report {
        self.shared.report()
    }

    /// Whether somebody has asked it to stop by its control socket.
    pub fn is_stopping(&self) -> bool {
        *self.shared.stops.borrow()
    }

    /// Returns when somebody has asked it to stop by its control socket, or never.
    pub fn wait(&self) {
        if let Some(threads) = &self.threads {
            threads.block_on(self.shared.stopping());
        }
    }

    /// Stops it: no connection is taken any more, what is under way has a little time to end, the cassette is sealed. The port and
    /// the threads are free when this returns.
    ///
    /// # Errors
    /// Something was not recorded, or the cassette was not sealed; its recording lies beside it then.
    pub fn stop(mut self) -> Result<Report, ProxyError> {
        let sealed = self.end();
        let report = self.shared.report();
        sealed.map(|()| report)
    }

    fn end(&mut self) -> Result<(), ProxyError> {
        let Some(threads) = self.threads.take() else { return Ok(()) };
        self.shared.stops.send_replace(true);
        let drained = threads.block_on(async { timeout(self.shared.limits.drain, self.shared.idle()).await });
        if drained.is_err() {
            self.shared.counts.warn("what was under way when the proxy stopped was cut off");
        }
        // What is cut off here is partial on the cassette.
        threads.stop();
        drop(self.control.take());
        Ok(self.shared.session().finish()?)
    }
}

/// Stops it. Errors are not seen here; [`Proxy::stop`] gives them.
impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("address", &self.address()).finish_non_exhaustive()
    }
}
