//! The process that makes a network of its own and becomes a program in it; or joins that of a program, and connects in it.

use super::rendezvous::{
    CONNECT, CONNECTED, FAILED, FOR_BRIDGE, FOR_NAMES, FOR_PROXY, FOR_WATCH, MAKING_TIME, SOCKETS,
};
use super::{netlink, watch};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{getegid, geteuid};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The port of servers of names.
const NAMES_PORT: u16 = 53;

/// A socket and what it is for.
type TaggedSocket = (u8, OwnedFd);

/// Makes a network and becomes a program in it, as [`Isolation::command`](super::Isolation::command) says by the words after its
/// verb. It is for a process that has one thread and has done nothing. It returns if that fails; the process that started it says why.
/// With other words, which only the proxy knows, it connects to an address in the network of such a program, for the proxy.
pub fn become_isolated(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut words = words.into_iter();
    let mut text = || words.next().and_then(|word| word.into_string().ok());
    let (Some(meeting), Some(what), Some(first), Some(second)) = (text(), text(), text(), text()) else {
        return ExitCode::FAILURE;
    };
    let Ok(mut channel) = UnixAddr::from_abstract_name(meeting).and_then(|address| UnixStream::connect_addr(&address))
    else {
        return ExitCode::FAILURE;
    };
    let opened = if what == CONNECT { connect(&first, &second) } else { open(&first, &second) };
    let is_told = match opened {
        Ok(sockets) => send(&channel, &sockets).and_then(|()| channel.set_read_timeout(Some(MAKING_TIME))),
        // If nobody reads it any more, nobody is there to be told.
        Err(why) => channel.write_all(&[&[FAILED], why.as_bytes()].concat()).and(Err(io::ErrorKind::Other.into())),
    };
    let Some(program) = words.next() else { return ExitCode::SUCCESS };
    if is_told.and_then(|()| channel.read_exact(&mut [0])).is_err() {
        return ExitCode::FAILURE;
    }
    let error = Command::new(program).args(words).exec();
    let code = error.raw_os_error().unwrap_or_default();
    let _ = channel.write_all(code.to_string().as_bytes());
    ExitCode::FAILURE
}

/// Makes the network, and opens what is to be listened to in it.
fn open(proxy: &str, bridges: &str) -> Result<Vec<TaggedSocket>, String> {
    let doing = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    let address = |text: &str| text.parse::<SocketAddr>().map_err(|error| format!("`{text}`: {error}"));
    separate().map_err(doing("a network of its own"))?;
    netlink::begin().map_err(doing("a way to loopback in it"))?;
    let listen = |tag, address: SocketAddr| {
        let listener = TcpListener::bind(address).map_err(|error| format!("a listener at {address} in it: {error}"))?;
        Ok::<_, String>((tag, OwnedFd::from(listener)))
    };
    let mut sockets = vec![listen(FOR_PROXY, address(proxy)?)?];
    for bridge in bridges.split(',').filter(|text| !text.is_empty()) {
        sockets.push(listen(FOR_BRIDGE, address(bridge)?)?);
    }
    let servers = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    // Without a server of names connections are named by their addresses.
    let names = name_servers(&servers).filter_map(|server| UdpSocket::bind((server, NAMES_PORT)).ok());
    sockets.extend(names.map(|names| (FOR_NAMES, OwnedFd::from(names))));
    let taps = watch::taps().map_err(doing("a look at what goes past the proxy"))?;
    sockets.extend(taps.into_iter().map(|tap| (FOR_WATCH, tap)));
    Ok(sockets)
}

/// Leaves the network of the system. A user who is not the administrator needs a user namespace for that, in which the user is the same.
fn separate() -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    if user.is_root() && unshare(CloneFlags::CLONE_NEWNET).is_ok() {
        return Ok(());
    }
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Connects to an address in the network of a process.
fn connect(process: &str, address: &str) -> Result<Vec<TaggedSocket>, String> {
    let joined = join(process).map_err(|error| format!("the network of the program: {error}"));
    let address = address.parse::<SocketAddr>().map_err(|error| format!("`{address}`: {error}"));
    let stream = TcpStream::connect((joined.and(address))?).map_err(|error| error.to_string())?;
    Ok(vec![(CONNECTED, stream.into())])
}

/// Joins the network of a process, and the user namespace that it belongs to, if that is another one.
fn join(process: &str) -> io::Result<()> {
    let of = |process: &str, kind: &str| format!("/proc/{process}/ns/{kind}");
    if fs::read_link(of(process, "user"))? != fs::read_link(of("self", "user"))? {
        let (user, network) = (File::open(of(process, "user"))?, File::open(of(process, "net"))?);
        setns(user, CloneFlags::CLONE_NEWUSER)?;
        return Ok(setns(network, CloneFlags::CLONE_NEWNET)?);
    }
    Ok(setns(File::open(of(process, "net"))?, CloneFlags::CLONE_NEWNET)?)
}

/// The addresses of a `resolv.conf` that programs look names up at.
fn name_servers(text: &str) -> impl Iterator<Item = IpAddr> {
    let lines =
        text.lines().filter_map(|line| line.strip_prefix("nameserver")?.split_whitespace().next()?.parse().ok());
    let servers: Vec<_> = lines.take(3).collect();
    // What programs look names up at if there is no such file.
    let usual = servers.is_empty().then_some(IpAddr::from([127, 0, 0, 1]));
    servers.into_iter().chain(usual)
}

fn send(channel: &UnixStream, sockets: &[TaggedSocket]) -> io::Result<()> {
    let tags: Vec<u8> = std::iter::once(SOCKETS).chain(sockets.iter().map(|(tag, _)| *tag)).collect();
    let files: Vec<_> = sockets.iter().map(|(_, socket)| socket.as_fd()).collect();
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(files.len()))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(channel, &[IoSlice::new(&tags)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_names_are_read() {
        let of = |text: &str| name_servers(text).map(|server| server.to_string()).collect::<Vec<_>>();
        assert_eq!(of("# a comment\nnameserver 10.0.0.2\nsearch a.test\nnameserver ::1\n"), ["10.0.0.2", "::1"]);
        assert_eq!(of("search a.test\n"), ["127.0.0.1"]);
    }
}
