//! What goes past the proxy in a network of a program's own.
//!
//! A tap gives the beginning of each packet that arrives; a filter in the system lets through the first and the second packet of
//! each connection, and datagrams. Where they were to go is kept, by name if the name was looked up in this network.

use crate::proxy::report::DETAILS_MAX;
use socket2::{Domain, Protocol, SockFilter, Socket, Type};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much of a packet is looked at: the longest heads.
const SEEN_BYTES: u32 = 128;

const TCP: u8 = 6;
const UDP: u8 = 17;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// The port of servers of names.
const NAMES_PORT: u16 = 53;

/// Addresses that names get: none of the Internet's (RFC 2544).
const NAMED_FROM: u32 = u32::from_be_bytes([198, 18, 0, 1]);
const NAMED_TO: u32 = u32::from_be_bytes([198, 19, 255, 254]);

/// The sockets by which packets are seen, one for each version of IP.
pub(super) fn taps() -> io::Result<[OwnedFd; 2]> {
    Ok([tap(0x0800, &ipv4_filter())?, tap(0x86dd, &ipv6_filter())?])
}

fn tap(kind: u16, filter: &[SockFilter]) -> io::Result<OwnedFd> {
    let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(Protocol::from(i32::from(kind.to_be()))))?;
    socket.attach_filter(filter)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Instructions of the packet filter (bpf(4)): load a byte, a byte after the head of IPv4, the length of that; compare; give.
const BYTE: u16 = 0x30;
const BYTE_BEHIND: u16 = 0x50;
const HEAD_LENGTH: u16 = 0xb1;
const IS: u16 = 0x15;
const HAS: u16 = 0x45;
const GIVE: u16 = 0x06;

fn ipv4_filter() -> [SockFilter; 8] {
    [
        SockFilter::new(BYTE, 0, 0, 9),
        SockFilter::new(IS, 4, 0, UDP.into()),
        SockFilter::new(IS, 0, 4, TCP.into()),
        SockFilter::new(HEAD_LENGTH, 0, 0, 0),
        SockFilter::new(BYTE_BEHIND, 0, 0, 13),
        SockFilter::new(HAS, 0, 1, SYN.into()),
        SockFilter::new(GIVE, 0, 0, SEEN_BYTES),
        SockFilter::new(GIVE, 0, 0, 0),
    ]
}

fn ipv6_filter() -> [SockFilter; 7] {
    [
        SockFilter::new(BYTE, 0, 0, 6),
        SockFilter::new(IS, 3, 0, UDP.into()),
        SockFilter::new(IS, 0, 3, TCP.into()),
        SockFilter::new(BYTE, 0, 0, 40 + 13),
        SockFilter::new(HAS, 0, 1, SYN.into()),
        SockFilter::new(GIVE, 0, 0, SEEN_BYTES),
        SockFilter::new(GIVE, 0, 0, 0),
    ]
}

/// What goes past the proxy.
#[derive(Debug)]
pub(crate) struct BypassWatch {
    /// Sockets for datagrams, though not of UDP.
    taps: Vec<UdpSocket>,
    /// Where names are looked up.
    servers: Vec<SocketAddr>,
    seen: Mutex<BypassRecord>,
}

#[derive(Debug, Default)]
struct BypassRecord {
    names: HashMap<Ipv4Addr, String>,
    addresses: HashMap<String, Ipv4Addr>,
    /// What was to be reached outside, and how often.
    outside: BTreeMap<String, u64>,
    /// Ports of loopback that were to be reached, and those that answered.
    requested: BTreeSet<SocketAddr>,
    answered: BTreeSet<u16>,
}

impl BypassWatch {
    pub(crate) fn new(taps: Vec<OwnedFd>, servers: Vec<SocketAddr>) -> Self {
        let taps = taps.into_iter().map(UdpSocket::from).collect();
        Self { taps, servers, seen: Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, BypassRecord> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address of a name in this network; `None` if there is none left.
    pub(super) fn address_of(&self, name: &str) -> Option<Ipv4Addr> {
        let mut seen = self.seen();
        if let Some(address) = seen.addresses.get(name) {
            return Some(*address);
        }
        let next = NAMED_FROM.checked_add(u32::try_from(seen.names.len()).ok()?)?;
        let address = (next <= NAMED_TO).then(|| Ipv4Addr::from(next))?;
        seen.names.insert(address, name.to_owned());
        seen.addresses.insert(name.to_owned(), address);
        Some(address)
    }

    /// Takes what the taps have, as it comes.
    pub(super) fn begin(self: &Arc<Self>) -> io::Result<()> {
        for tap in &self.taps {
            let (watch, tap) = (self.clone(), tokio::net::UdpSocket::from_std(tap.try_clone()?)?);
            tokio::spawn(async move {
                let mut packet = [0; SEEN_BYTES as usize];
                while tap.readable().await.is_ok() {
                    while let Ok(count) = tap.try_recv(&mut packet) {
                        watch.see(&packet[..count]);
                    }
                }
            });
        }
        Ok(())
    }

    /// Takes what the taps have now.
    fn take(&self) {
        let mut packet = [0; SEEN_BYTES as usize];
        for tap in &self.taps {
            while let Ok(count) = tap.recv(&mut packet) {
                self.see(&packet[..count]);
            }
        }
    }

    fn see(&self, bytes: &[u8]) {
        if let Some(packet) = Packet::read(bytes) {
            self.note(packet);
        }
    }

    fn note(&self, packet: Packet) {
        let mut seen = self.seen();
        let Packet { from, to, .. } = packet;
        match (packet.protocol, packet.flags & (SYN | ACK)) {
            (TCP, SYN) if to.ip().is_loopback() => drop(seen.requested.insert(to)),
            (TCP, SYN) => seen.count(to, ""),
            (TCP, _) => drop(seen.answered.insert(from.port())),
            (UDP, _) if is_outside(to.ip()) && !self.servers.contains(&to) => seen.count(to, "udp "),
            _ => {}
        }
    }

    /// What was to be reached outside, each with how often; and what was on loopback, where nobody ever answered.
    pub(crate) fn report(&self) -> (Vec<(String, u64)>, Vec<SocketAddr>) {
        self.take();
        let seen = self.seen();
        let outside = seen.outside.iter().map(|(place, count)| (place.clone(), *count)).collect();
        let silent = seen.requested.iter().filter(|address| !seen.answered.contains(&address.port()));
        (outside, silent.take(DETAILS_MAX).copied().collect())
    }
}

impl BypassRecord {
    fn count(&mut self, to: SocketAddr, before: &str) {
        let name = if let IpAddr::V4(address) = to.ip() { self.names.get(&address) } else { None };
        let place = match name {
            Some(name) => format!("{before}{name}:{}", to.port()),
            None => format!("{before}{to}"),
        };
        if self.outside.len() < DETAILS_MAX || self.outside.contains_key(&place) {
            *self.outside.entry(place).or_default() += 1;
        }
    }
}

/// Whether a datagram for an address is for somebody outside: not for all who are near, which asks for nothing in particular.
fn is_outside(to: IpAddr) -> bool {
    let is_for_all = matches!(to, IpAddr::V4(to) if to.is_broadcast());
    !(to.is_loopback() || to.is_multicast() || to.is_unspecified() || is_for_all)
}

/// The beginning of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packet {
    protocol: u8,
    from: SocketAddr,
    to: SocketAddr,
    /// Of TCP.
    flags: u8,
}

impl Packet {
    fn read(bytes: &[u8]) -> Option<Self> {
        let (protocol, from, to, rest): (u8, IpAddr, IpAddr, &[u8]) = match bytes.first()? >> 4 {
            4 => {
                let address = |at: usize| Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(at..at + 4)?).ok()?));
                let head_bytes = usize::from(bytes[0] & 0xf) * 4;
                (*bytes.get(9)?, address(12)?.into(), address(16)?.into(), bytes.get(head_bytes..)?)
            }
            6 => {
                let address = |at: usize| Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.get(at..at + 16)?).ok()?));
                (*bytes.get(6)?, address(8)?.into(), address(24)?.into(), bytes.get(40..)?)
            }
            _ => return None,
        };
        let port = |at: usize| Some(u16::from_be_bytes(rest.get(at..at + 2)?.try_into().ok()?));
        let flags = if protocol == TCP { *rest.get(13)? } else { 0 };
        Some(Self { protocol, from: (from, port(0)?).into(), to: (to, port(2)?).into(), flags })
    }
}

/// The address at which names are looked up by a socket.
pub(super) fn server_of(socket: &UdpSocket) -> Option<SocketAddr> {
    socket.local_addr().ok().filter(|address| address.port() == NAMES_PORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of IPv4 as a kernel gave it: the first of a connection to 93.184.216.34, port 443.
    const FIRST: &str = "4500003c0cc540004006b51a7f0000015db8d822cf4601bb07d1e45f00000000a002ffd7b50a0000";
    /// A datagram for 8.8.8.8, port 53.
    const DATAGRAM: &str = "4500001d5053400040115b6c7f000001080808089b48003500098f2b78";

    fn packet(text: &str) -> Packet {
        let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        let bytes: Vec<_> = (0..text.len()).step_by(2).map(byte).collect();
        assert!((0..bytes.len().min(20)).all(|end| Packet::read(&bytes[..end]).is_none()));
        Packet::read(&bytes).unwrap()
    }

    #[test]
    fn packets_are_read() {
        let first = packet(FIRST);
        assert_eq!((first.protocol, first.to.to_string().as_str(), first.flags), (TCP, "93.184.216.34:443", SYN));
        let datagram = packet(DATAGRAM);
        assert_eq!((datagram.protocol, datagram.to.to_string().as_str()), (UDP, "8.8.8.8:53"));
    }

    #[test]
    fn what_goes_outside_is_named() {
        let watch = BypassWatch::new(Vec::new(), vec!["10.0.0.2:53".parse().unwrap()]);
        let named = watch.address_of("frog.test").unwrap();
        assert_eq!(watch.address_of("frog.test"), Some(named));
        let first = packet(FIRST);
        let to = |text: &str| text.parse::<SocketAddr>().unwrap();
        watch.note(first);
        watch.note(Packet { to: (named, 80).into(), ..first });
        watch.note(Packet { to: (named, 80).into(), ..first });
        for quiet in ["10.0.0.2:53", "224.0.0.251:5353", "127.0.0.1:9", "255.255.255.255:67"] {
            watch.note(Packet { protocol: UDP, to: to(quiet), ..first });
        }
        watch.note(packet(DATAGRAM));
        watch.note(Packet { to: to("127.0.0.1:5432"), ..first });
        watch.note(Packet { to: to("[::1]:8000"), ..first });
        watch.note(Packet { from: to("127.0.0.1:8000"), flags: SYN | ACK, ..first });
        let (outside, silent) = watch.report();
        let expected = [("93.184.216.34:443", 1), ("frog.test:80", 2), ("udp 8.8.8.8:53", 1)];
        assert_eq!(outside, expected.map(|(place, count)| (place.to_owned(), count)));
        assert_eq!(silent, [to("127.0.0.1:5432")]);
    }
}
