//! What the system is told of a network that was just made: its loopback is on, and all addresses lead there.
//!
//! Each message is a header, the structure of its kind and attributes, in the byte order of the machine (rtnetlink(7)).

use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read};
use std::net::Ipv6Addr;

const NETLINK: i32 = 16;
const ROUTE: i32 = 0;

const NEW_LINK: u16 = 16;
const NEW_ROUTE: u16 = 24;
const ERROR: u16 = 2;

/// A request that is acknowledged, and that makes what is not there.
const ASKED: u16 = 0x1 | 0x4;
const MADE: u16 = 0x400;

/// The loopback of a new network is its first link.
const LOOPBACK: u32 = 1;
const UP: u32 = 1;

const IPV4: u8 = 2;
const IPV6: u8 = 10;

/// Of a route: the table of addresses that are here, who made it, how far it goes, and that what it leads to is here.
const TABLE_LOCAL: u8 = 255;
const BY_ADMINISTRATOR: u8 = 4;
const SCOPE_HOST: u8 = 254;
const LOCAL: u8 = 2;
const OUTPUT_LINK: u16 = 4;
const PREFERRED_SOURCE: u16 = 7;

const HEAD_BYTES: usize = 16;

/// Switches loopback on, and has every address lead to it.
pub(super) fn begin() -> io::Result<()> {
    let socket = Socket::new(Domain::from(NETLINK), Type::RAW, Some(Protocol::from(ROUTE)))?;
    let mut link = vec![0; 4];
    [LOOPBACK, UP, UP].iter().for_each(|word| link.extend(word.to_ne_bytes()));
    ask(&socket, NEW_LINK, ASKED, &link)?;
    ask(&socket, NEW_ROUTE, ASKED | MADE, &route(IPV4, &[127, 0, 0, 1]))?;
    // There may be no IPv6; then nothing goes there.
    let source = Ipv6Addr::LOCALHOST.octets();
    let _ = ask(&socket, NEW_ROUTE, ASKED | MADE, &route(IPV6, &source));
    Ok(())
}

/// A route by which all addresses are this machine's own, and what is sent to them comes from its loopback address.
fn route(family: u8, source: &[u8]) -> Vec<u8> {
    let mut body = vec![family, 0, 0, 0, TABLE_LOCAL, BY_ADMINISTRATOR, SCOPE_HOST, LOCAL, 0, 0, 0, 0];
    for (kind, value) in [(OUTPUT_LINK, &LOOPBACK.to_ne_bytes()[..]), (PREFERRED_SOURCE, source)] {
        body.extend((value.len() as u16 + 4).to_ne_bytes());
        body.extend(kind.to_ne_bytes());
        body.extend(value);
    }
    body
}

/// Sends a request, and waits until it is done.
fn ask(socket: &Socket, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    let mut message = Vec::with_capacity(HEAD_BYTES + body.len());
    message.extend(((HEAD_BYTES + body.len()) as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    socket.send(&message)?;
    let mut answer = [0; 512];
    let count = { socket }.read(&mut answer)?;
    outcome(&answer[..count])
}

/// What the system says of a request.
fn outcome(answer: &[u8]) -> io::Result<()> {
    let word = |at: usize| answer.get(at..at + 4)?.try_into().ok().map(i32::from_ne_bytes);
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    match (kind, word(HEAD_BYTES)) {
        (Some(ERROR), Some(0)) => Ok(()),
        (Some(ERROR), Some(code)) => Err(io::Error::from_raw_os_error(-code)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
