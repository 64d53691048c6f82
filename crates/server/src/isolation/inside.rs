//! The process that makes a network of its own and becomes a program in it.

use super::netlink;
use super::{FAILED, FOR_BRIDGE, FOR_NAMES, FOR_PROXY, FOR_WATCH, MAKING_TIME, SOCKETS, watch};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::ffi::OsString;
use std::fs;
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The port of servers of names.
const NAMES_PORT: u16 = 53;

/// A socket and what it is for.
type Tagged = (u8, OwnedFd);

/// Makes a network and becomes a program in it, as [`Isolation::command`](super::Isolation::command) says by the words behind its
/// verb. It is for a process that has one thread and has done nothing. It returns if that fails; who started it says why.
pub fn become_isolated(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut words = words.into_iter();
    let mut text = || words.next().and_then(|word| word.into_string().ok());
    let (Some(meeting), Some(proxy), Some(bridges)) = (text(), text(), text()) else { return ExitCode::FAILURE };
    let Some(program) = words.next() else { return ExitCode::FAILURE };
    let Ok(mut channel) = UnixAddr::from_abstract_name(meeting).and_then(|address| UnixStream::connect_addr(&address))
    else {
        return ExitCode::FAILURE;
    };
    let sockets = match open(&proxy, &bridges) {
        Ok(sockets) => sockets,
        Err(why) => {
            // If nobody reads it any more, nobody is there to be told.
            let _ = channel.write_all(&[&[FAILED], why.as_bytes()].concat());
            return ExitCode::FAILURE;
        }
    };
    let is_told = send(&channel, &sockets).and_then(|()| channel.set_read_timeout(Some(MAKING_TIME)));
    drop(sockets);
    if is_told.and_then(|()| channel.read_exact(&mut [0])).is_err() {
        return ExitCode::FAILURE;
    }
    let error = Command::new(program).args(words).exec();
    let code = error.raw_os_error().unwrap_or_default();
    let _ = channel.write_all(code.to_string().as_bytes());
    ExitCode::FAILURE
}

/// Makes the network, and opens what is to be listened to in it.
fn open(proxy: &str, bridges: &str) -> Result<Vec<Tagged>, String> {
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

/// Leaves the network of the system. Who is not the administrator needs a user namespace for that, in which the user is the same.
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

/// The addresses of a `resolv.conf` that programs look names up at.
fn name_servers(text: &str) -> impl Iterator<Item = IpAddr> {
    let lines =
        text.lines().filter_map(|line| line.strip_prefix("nameserver")?.split_whitespace().next()?.parse().ok());
    let servers: Vec<_> = lines.take(3).collect();
    // What programs look names up at if there is no such file.
    let usual = servers.is_empty().then_some(IpAddr::from([127, 0, 0, 1]));
    servers.into_iter().chain(usual)
}

fn send(channel: &UnixStream, sockets: &[Tagged]) -> io::Result<()> {
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
