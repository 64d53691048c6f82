//! Where this process and the one that it starts in the network of a program meet, and how sockets come from there.

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg, sockopt};
use std::ffi::OsStr;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixListener, UnixStream};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// More ports of the user's loopback are not bridged.
pub const BRIDGES_MAX: usize = 64;

/// How long the namespace may take to be made.
pub(super) const MAKING_TIME: Duration = Duration::from_secs(10);

/// How often it is looked whether it is.
pub(super) const LOOKED_AT: Duration = Duration::from_micros(500);

/// A message of the other process is not longer.
pub(super) const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// What a message of the other process begins with: sockets, each with what it is for, or an error.
pub(super) const SOCKETS: u8 = b'+';

pub(super) const FAILED: u8 = b'-';

pub(super) const FOR_PROXY: u8 = b'p';

pub(super) const FOR_BRIDGE: u8 = b'b';

pub(super) const FOR_NAMES: u8 = b'n';

pub(super) const FOR_WATCH: u8 = b'w';

pub(super) const CONNECTED: u8 = b'c';

/// What the other process is to do: become a program, or connect to an address in the network of a process.
pub(super) const BECOME: &str = "become";

pub(super) const CONNECT: &str = "connect";

/// A socket at which another process of this program meets this one.
#[derive(Debug)]
pub(super) struct RendezvousSocket {
    listener: UnixListener,
    name: String,
}

impl RendezvousSocket {
    pub(super) fn open() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (since, number) = (crate::proxy::session::now_ns(), NEXT.fetch_add(1, Ordering::Relaxed));
        let name = format!("metroon-isolation-{}-{since}-{number}", std::process::id());
        let listener = UnixListener::bind_addr(&UnixAddr::from_abstract_name(&name)?)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, name })
    }

    /// The command that starts the other process.
    pub(super) fn command(&self, verb: &OsStr, words: [&str; 3]) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(verb).arg(&self.name).args(words);
        Ok(command)
    }

    /// Waits for the process that was started.
    pub(super) fn with(&self, child: &mut Child) -> io::Result<UnixStream> {
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
pub(super) fn receive(channel: &UnixStream) -> io::Result<Vec<(u8, OwnedFd)>> {
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
