//! The sockets that were opened in the network of a program, and what serves them.

use super::rendezvous::{FOR_BRIDGE, FOR_NAMES, FOR_PROXY};
use super::watch::{self, BypassWatch};
use super::{bridge, names};
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;

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

pub(super) struct ReceivedSockets {
    /// Those whose socket did not come yet.
    pub(super) bridges: std::vec::IntoIter<SocketAddr>,
    pub(super) opened: InsideSockets,
}

impl ReceivedSockets {
    pub(super) fn add(&mut self, tag: u8, socket: OwnedFd) -> io::Result<()> {
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
