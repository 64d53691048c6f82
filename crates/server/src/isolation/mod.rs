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
mod inside;
mod names;
mod netlink;
mod watch;

pub use inside::become_isolated;
pub(crate) use watch::BypassWatch;

use crate::Proxy;
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg, sockopt};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// More ports of the user's loopback are not bridged.
pub const BRIDGES_MAX: usize = 64;

/// How long the namespace may take to be made.
const MAKING_TIME: Duration = Duration::from_secs(10);
/// How often it is looked whether it is.
const LOOKED_AT: Duration = Duration::from_micros(500);
/// A message of the other process is not longer.
const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// What a message of the other process begins with: sockets, each with what it is for, or an error.
const SOCKETS: u8 = b'+';
const FAILED: u8 = b'-';
const FOR_PROXY: u8 = b'p';
const FOR_BRIDGE: u8 = b'b';
const FOR_NAMES: u8 = b'n';
const FOR_WATCH: u8 = b'w';
const CONNECTED: u8 = b'c';

/// What the other process is to do: become a program, or connect to an address in the network of a process.
const BECOME: &str = "become";
const CONNECT: &str = "connect";

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
        Ok(Self { meeting, verb: OsString::new(), proxy: crate::environment::reachable(proxy.address()), bridges })
    }

    /// The command that starts a program inside: this program again, which is to call [`become_isolated`] with the words behind
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

/// A socket at which another process of this program meets this one.
#[derive(Debug)]
struct RendezvousSocket {
    listener: UnixListener,
    name: String,
}

impl RendezvousSocket {
    fn open() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (since, number) = (crate::session::now_ns(), NEXT.fetch_add(1, Ordering::Relaxed));
        let name = format!("metroon-isolation-{}-{since}-{number}", std::process::id());
        let listener = UnixListener::bind_addr(&UnixAddr::from_abstract_name(&name)?)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, name })
    }

    /// The command that starts the other process.
    fn command(&self, verb: &OsStr, words: [&str; 3]) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(verb).arg(&self.name).args(words);
        Ok(command)
    }

    /// Waits for the process that was started.
    fn with(&self, child: &mut Child) -> io::Result<UnixStream> {
        let until = Instant::now() + MAKING_TIME;
        loop {
            match self.listener.accept() {
                Ok((channel, _)) if is_of(&channel, child) => {
                    channel.set_nonblocking(false)?;
                    channel.set_read_timeout(Some(MAKING_TIME))?;
                    return Ok(channel);
                }
                Ok(_) => {}
                Err(_) if child.try_wait()?.is_none() && Instant::now() < until => std::thread::sleep(LOOKED_AT),
                Err(_) => return Err(io::Error::other("the process that was to make it ended")),
            }
        }
    }
}

/// Whether the other side of a connection is a process.
fn is_of(channel: &UnixStream, child: &Child) -> bool {
    let process = i32::try_from(child.id()).ok();
    sockopt::socket_peercred(channel).is_ok_and(|peer| Some(peer.pid.as_raw_nonzero().get()) == process)
}

/// The sockets that the other process opened, each with what it is for.
fn receive(channel: &UnixStream) -> io::Result<Vec<(u8, OwnedFd)>> {
    let mut bytes = vec![0; MESSAGE_BYTES_MAX];
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(BRIDGES_MAX + 8))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut slices = [IoSliceMut::new(&mut bytes)];
        match recvmsg(channel, &mut slices, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            outcome => break outcome?,
        }
    };
    let sockets = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(sockets) => Some(sockets),
        _ => None,
    });
    let sockets: Vec<_> = sockets.flatten().collect();
    match bytes[..received.bytes].split_first() {
        Some((&SOCKETS, tags)) if tags.len() == sockets.len() => Ok(tags.iter().copied().zip(sockets).collect()),
        Some((&FAILED, why)) => Err(io::Error::other(String::from_utf8_lossy(why).into_owned())),
        _ => Err(io::Error::other("the process that was to make it ended")),
    }
}

/// The way from the proxy into the network of a program, to servers that the program starts itself: a process of this program, for a
/// moment, that connects there.
#[derive(Debug)]
pub(crate) struct InsideConnector {
    verb: OsString,
    process: u32,
    bridges: Vec<SocketAddr>,
}

impl InsideConnector {
    /// Whether a port of loopback is inside, and not one that is led outside.
    pub(crate) fn leads_to(&self, port: u16) -> bool {
        !self.bridges.iter().any(|bridge| bridge.port() == port)
    }

    /// Connects to an address inside.
    pub(crate) fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        let meeting = RendezvousSocket::open()?;
        let mut command = meeting.command(&self.verb, [CONNECT, &self.process.to_string(), &to.to_string()])?;
        let mut child = command.stdin(Stdio::null()).spawn()?;
        let received = meeting.with(&mut child).and_then(|channel| receive(&channel));
        // If it hangs, it has nothing to do any more.
        let _ = child.kill();
        child.wait()?;
        let sockets = received?.into_iter().find(|(tag, _)| *tag == CONNECTED);
        let (_, socket) = sockets.ok_or_else(|| io::Error::other("no connection was made"))?;
        Ok(TcpStream::from(socket))
    }
}

/// What was opened in a network, for the proxy.
#[derive(Debug, Default)]
pub(crate) struct InsideSockets {
    pub(crate) proxy: Option<TcpListener>,
    /// Each with the address outside.
    pub(crate) bridges: Vec<(TcpListener, SocketAddr)>,
    pub(crate) names: Vec<UdpSocket>,
    pub(crate) taps: Vec<OwnedFd>,
}

impl InsideSockets {
    /// Serves all of it but the listener of the proxy, on the thread of the runtime that this is called in.
    pub(crate) fn serve(self) -> io::Result<(Arc<BypassWatch>, Option<TcpListener>)> {
        let servers = self.names.iter().filter_map(watch::server_of).collect();
        let watch = Arc::new(BypassWatch::new(self.taps, servers));
        watch.begin()?;
        for socket in self.names {
            tokio::spawn(names::serve(tokio::net::UdpSocket::from_std(socket)?, watch.clone()));
        }
        for (listener, outside) in self.bridges {
            tokio::spawn(bridge::serve(tokio::net::TcpListener::from_std(listener)?, outside));
        }
        Ok((watch, self.proxy))
    }
}

struct ReceivedSockets {
    /// Those whose socket did not come yet.
    bridges: std::vec::IntoIter<SocketAddr>,
    opened: InsideSockets,
}

impl ReceivedSockets {
    fn add(&mut self, tag: u8, socket: OwnedFd) -> io::Result<()> {
        let opened = &mut self.opened;
        match tag {
            FOR_PROXY | FOR_BRIDGE => {
                let listener = TcpListener::from(socket);
                listener.set_nonblocking(true)?;
                match if tag == FOR_BRIDGE { self.bridges.next() } else { None } {
                    Some(outside) => opened.bridges.push((listener, outside)),
                    None => opened.proxy = Some(listener),
                }
            }
            FOR_NAMES => {
                let names = UdpSocket::from(socket);
                names.set_nonblocking(true)?;
                opened.names.push(names);
            }
            _ => opened.taps.push(socket),
        }
        Ok(())
    }
}
