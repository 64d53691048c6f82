//! The way from the proxy into the network of a program.

use super::rendezvous::{CONNECT, CONNECTED, RendezvousSocket, receive};
use std::ffi::OsString;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;

/// The way from the proxy into the network of a program, to servers that the program starts itself: a process of this program, for a
/// moment, that connects there.
#[derive(Debug)]
pub(crate) struct InsideConnector {
    pub(super) verb: OsString,
    pub(super) process: u32,
    pub(super) bridges: Vec<SocketAddr>,
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
