//! A program in a network of its own, in which there is the proxy and nothing else.
//!
//! A program comes to the proxy because its environment says so, and a client of its own may not listen to that. In a network
//! namespace it has nowhere else to go, and what it tries is seen.
//!
//! 1. [`Isolation::command`] starts this very program again, which makes the namespace, opens what is to be listened to in it, hands
//!    that to the proxy, and becomes the program that was asked for: its process, signals and files are as they would be otherwise.
//!    [`inside`] is that part.
//! 2. All addresses lead to the namespace's own loopback, where nobody listens: a connection past the proxy is refused at once. A
//!    [`BypassWatch`] sees it, and says where it was to go.
//! 3. Names are looked up at a [server](names) that gives each an address of its own, so that a connection is named by its host.
//! 4. What is on the user's own loopback, and is to be reached, is [bridged](bridge): a port inside is a port outside.
//!
//! This needs a Linux on which users may make namespaces, and no rights beyond that. It keeps accidents off the network; who means
//! to get out finds a way, such as a Unix socket of a service that is outside.

mod bridge;
mod connector;
mod inside;
mod names;
mod netlink;
mod rendezvous;
mod sockets;
mod watch;

pub(crate) use connector::InsideConnector;
pub use inside::become_isolated;
pub use rendezvous::BRIDGES_MAX;
pub(crate) use sockets::InsideSockets;
pub(crate) use watch::BypassWatch;

use crate::proxy::Proxy;
use rendezvous::{BECOME, RendezvousSocket, receive};
use sockets::ReceivedSockets;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command};

/// A program that is to be started in a network of its own.
#[derive(Debug)]
pub struct Isolation {
    meeting: RendezvousSocket,
    verb: OsString,
    proxy: SocketAddr,
    bridges: Vec<SocketAddr>,
}

/// Why a program does not run in a network of its own.
#[derive(Debug)]
#[non_exhaustive]
pub enum IsolationError {
    /// The system does not let this user make one; the program was not started.
    Unavailable(String),
    /// There is one, and the program could not be started in it.
    NotStarted(io::Error),
}

impl fmt::Display for IsolationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(why) => write!(f, "this system gives no network namespace: {why}"),
            Self::NotStarted(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for IsolationError {}

impl Isolation {
    /// Prepares a network in which a proxy is reached at its own address, and each of the bridges, which are on loopback, leads to the
    /// same address outside.
    ///
    /// # Errors
    /// The system gives no socket.
    pub fn prepare(proxy: &Proxy, bridges: &[SocketAddr]) -> Result<Self, IsolationError> {
        let meeting = RendezvousSocket::open().map_err(|error| IsolationError::Unavailable(error.to_string()))?;
        let bridges: BTreeSet<_> = bridges.iter().copied().collect();
        let bridges = bridges.into_iter().take(BRIDGES_MAX).collect();
        Ok(Self {
            meeting,
            verb: OsString::new(),
            proxy: crate::proxy::environment::reachable(proxy.address()),
            bridges,
        })
    }

    /// The command that starts a program inside: this program again, which is to call [`become_isolated`] with the words after
    /// `verb` before it does anything else.
    ///
    /// # Errors
    /// The system does not say where this program lies.
    pub fn command(&mut self, verb: &str, program: &OsStr, words: &[OsString]) -> io::Result<Command> {
        self.verb = verb.into();
        let bridges: Vec<_> = self.bridges.iter().map(ToString::to_string).collect();
        let mut command = self.meeting.command(&self.verb, [BECOME, &self.proxy.to_string(), &bridges.join(",")])?;
        command.arg(program).args(words);
        Ok(command)
    }

    /// Has the proxy serve a program that was started by the command, which goes on then.
    ///
    /// # Errors
    /// There is no such network, or the program cannot be started; its process ends then by itself.
    pub fn join(self, child: &mut Child, proxy: &Proxy) -> Result<(), IsolationError> {
        let unavailable = |error: io::Error| IsolationError::Unavailable(error.to_string());
        let mut channel = self.meeting.with(child).map_err(unavailable)?;
        let sockets = receive(&channel).map_err(unavailable)?;
        let door = InsideConnector { verb: self.verb, process: child.id(), bridges: self.bridges.clone() };
        let mut network = ReceivedSockets { bridges: self.bridges.into_iter(), opened: InsideSockets::default() };
        sockets.into_iter().try_for_each(|(tag, socket)| network.add(tag, socket)).map_err(unavailable)?;
        proxy.serve_inside(network.opened, door).map_err(unavailable)?;
        channel.write_all(b"\n").map_err(unavailable)?;
        let mut failure = String::new();
        channel.read_to_string(&mut failure).map_err(unavailable)?;
        match failure.trim().parse() {
            Ok(code) => Err(IsolationError::NotStarted(io::Error::from_raw_os_error(code))),
            Err(_) => Ok(()),
        }
    }
}
