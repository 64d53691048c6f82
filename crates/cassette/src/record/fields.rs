//! The parts that records and events have in common.

use crate::bytes::Bytes;
use crate::error::Malformed;
use crate::exchange::{NetworkError, NetworkErrorKind, Note, Outcome};
use crate::message::{Chunk, Header, HttpVersion, Informational, Request, Response};
use crate::websocket::{Direction, Opcode, WsFrame};
use crate::wire::{Cursor, put_bytes, put_i64, put_u64};

pub(crate) fn put_option_u64(out: &mut Vec<u8>, number: Option<u64>) {
    match number {
        Some(number) => {
            out.push(1);
            put_u64(out, number);
        }
        None => out.push(0),
    }
}

pub(crate) fn option_u64(cursor: &mut Cursor<'_>) -> Result<Option<u64>, Malformed> {
    if cursor.bool()? { cursor.u64().map(Some) } else { Ok(None) }
}

pub(crate) fn bytes<'a>(cursor: &mut Cursor<'a>) -> Result<Bytes<'a>, Malformed> {
    cursor.bytes().map(Bytes::from)
}

/// A list of things of which each takes a byte at least.
pub(crate) fn list<'a, T>(
    cursor: &mut Cursor<'a>,
    item: impl Fn(&mut Cursor<'a>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let count = cursor.count()?;
    // Items are larger in memory than on the cassette: room for the first, and the others find theirs.
    let mut items = Vec::with_capacity(count.min(64));
    for _ in 0..count {
        cursor.make_room(size_of::<T>())?;
        items.push(item(cursor)?);
    }
    Ok(items)
}

pub(crate) fn put_headers(out: &mut Vec<u8>, headers: &[Header<'_>]) {
    put_u64(out, headers.len() as u64);
    for header in headers {
        put_bytes(out, &header.name);
        put_bytes(out, &header.value);
    }
}

pub(crate) fn headers<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<Header<'a>>, Malformed> {
    list(cursor, |cursor| Ok(Header { name: bytes(cursor)?, value: bytes(cursor)? }))
}

pub(crate) fn put_note(out: &mut Vec<u8>, note: &Note<'_>) {
    put_bytes(out, &note.name);
    put_bytes(out, &note.value);
}

pub(crate) fn note<'a>(cursor: &mut Cursor<'a>) -> Result<Note<'a>, Malformed> {
    Ok(Note { name: bytes(cursor)?, value: bytes(cursor)? })
}

fn put_version(out: &mut Vec<u8>, version: HttpVersion) {
    out.push(match version {
        HttpVersion::Http09 => 0,
        HttpVersion::Http10 => 1,
        HttpVersion::Http11 => 2,
        HttpVersion::Http2 => 3,
        HttpVersion::Http3 => 4,
    });
}

fn version(cursor: &mut Cursor<'_>) -> Result<HttpVersion, Malformed> {
    Ok(match cursor.u8()? {
        0 => HttpVersion::Http09,
        1 => HttpVersion::Http10,
        2 => HttpVersion::Http11,
        3 => HttpVersion::Http2,
        4 => HttpVersion::Http3,
        _ => return Err(cursor.malformed("an unknown version of HTTP")),
    })
}

/// A request without its body and trailers.
pub(crate) fn put_request_head(out: &mut Vec<u8>, request: &Request<'_>) {
    put_bytes(out, &request.method);
    put_bytes(out, &request.scheme);
    put_bytes(out, &request.host);
    put_u64(out, u64::from(request.port));
    put_bytes(out, &request.target);
    put_version(out, request.version);
    put_headers(out, &request.headers);
}

pub(crate) fn request_head<'a>(cursor: &mut Cursor<'a>) -> Result<Request<'a>, Malformed> {
    Ok(Request {
        method: bytes(cursor)?,
        scheme: bytes(cursor)?,
        host: bytes(cursor)?,
        port: cursor.u16()?,
        target: bytes(cursor)?,
        version: version(cursor)?,
        headers: headers(cursor)?,
        body: None,
        trailers: Vec::new(),
    })
}

/// A response without its body and trailers.
pub(crate) fn put_response_head(out: &mut Vec<u8>, response: &Response<'_>) {
    put_u64(out, response.at_us);
    put_u64(out, u64::from(response.status));
    put_bytes(out, &response.reason);
    put_version(out, response.version);
    put_headers(out, &response.headers);
}

pub(crate) fn response_head<'a>(cursor: &mut Cursor<'a>) -> Result<Response<'a>, Malformed> {
    Ok(Response {
        at_us: cursor.u64()?,
        status: cursor.u16()?,
        reason: bytes(cursor)?,
        version: version(cursor)?,
        headers: headers(cursor)?,
        body: None,
        trailers: Vec::new(),
    })
}

pub(crate) fn put_informational(out: &mut Vec<u8>, informational: &Informational<'_>) {
    put_u64(out, informational.at_us);
    put_u64(out, u64::from(informational.status));
    put_bytes(out, &informational.reason);
    put_headers(out, &informational.headers);
}

pub(crate) fn informational<'a>(cursor: &mut Cursor<'a>) -> Result<Informational<'a>, Malformed> {
    Ok(Informational { at_us: cursor.u64()?, status: cursor.u16()?, reason: bytes(cursor)?, headers: headers(cursor)? })
}

/// The times of chunks as differences from the chunk before: those of most bodies are small.
pub(crate) fn put_chunks(out: &mut Vec<u8>, chunks: &[Chunk]) {
    put_u64(out, chunks.len() as u64);
    let mut before = 0;
    for chunk in chunks {
        put_i64(out, chunk.at_us.wrapping_sub(before) as i64);
        put_u64(out, chunk.bytes as u64);
        before = chunk.at_us;
    }
}

pub(crate) fn chunks(cursor: &mut Cursor<'_>) -> Result<(Vec<Chunk>, usize), Malformed> {
    let count = cursor.count()?;
    let mut chunks = Vec::with_capacity(count.min(64));
    let (mut at_us, mut total) = (0_u64, 0_usize);
    for _ in 0..count {
        at_us = at_us.wrapping_add(cursor.i64()? as u64);
        let bytes = cursor.u64()?;
        let bytes = usize::try_from(bytes).map_err(|_| cursor.malformed(TOO_LONG))?;
        total = total.checked_add(bytes).ok_or_else(|| cursor.malformed(TOO_LONG))?;
        cursor.make_room(size_of::<Chunk>())?;
        chunks.push(Chunk { at_us, bytes });
    }
    Ok((chunks, total))
}

const TOO_LONG: &str = "a body that is longer than memory";

/// Direction in bit 0 of the first byte, final in bit 1; the reserved bits in bits 4 to 6 of the second, the opcode below.
pub(crate) fn put_frame(out: &mut Vec<u8>, frame: &WsFrame<'_>) {
    debug_assert!(frame.reserved < 8, "there are three reserved bits");
    put_u64(out, frame.at_us);
    out.push(u8::from(frame.direction == Direction::Received) | u8::from(frame.is_final) << 1);
    out.push((frame.reserved & 7) << 4 | frame.opcode.number());
    put_bytes(out, &frame.payload);
}

pub(crate) fn frame<'a>(cursor: &mut Cursor<'a>) -> Result<WsFrame<'a>, Malformed> {
    let at_us = cursor.u64()?;
    let flags = cursor.u8()?;
    let kind = cursor.u8()?;
    let opcode = Opcode::new(kind & 0x0F).filter(|_| flags < 4 && kind < 0x80);
    Ok(WsFrame {
        at_us,
        direction: if flags & 1 == 1 { Direction::Received } else { Direction::Sent },
        opcode: opcode.ok_or_else(|| cursor.malformed("a frame of no known kind"))?,
        is_final: flags & 2 == 2,
        reserved: kind >> 4,
        payload: bytes(cursor)?,
    })
}

pub(crate) fn put_outcome(out: &mut Vec<u8>, outcome: &Outcome<'_>) {
    match outcome {
        Outcome::Complete => out.push(0),
        Outcome::Aborted(error) => {
            out.push(1);
            put_error(out, error);
        }
        Outcome::Truncated => out.push(2),
        Outcome::Partial => out.push(3),
    }
}

pub(crate) fn outcome<'a>(cursor: &mut Cursor<'a>) -> Result<Outcome<'a>, Malformed> {
    Ok(match cursor.u8()? {
        0 => Outcome::Complete,
        1 => Outcome::Aborted(error(cursor)?),
        2 => Outcome::Truncated,
        3 => Outcome::Partial,
        _ => return Err(cursor.malformed("an unknown outcome")),
    })
}

/// Every kind has a number beside it, which most do not use: a kind that is added needs no other shape.
fn put_error(out: &mut Vec<u8>, error: &NetworkError<'_>) {
    let (kind, number) = match error.kind {
        NetworkErrorKind::Dns => (0, 0),
        NetworkErrorKind::Refused => (1, 0),
        NetworkErrorKind::Tls => (2, 0),
        NetworkErrorKind::Reset => (3, 0),
        NetworkErrorKind::Timeout { after_ms } => (4, after_ms),
        NetworkErrorKind::TooManyRedirects { count } => (5, count),
        NetworkErrorKind::Protocol => (6, 0),
        NetworkErrorKind::Other => (7, 0),
    };
    out.push(kind);
    put_u64(out, number);
    put_bytes(out, &error.message);
}

fn error<'a>(cursor: &mut Cursor<'a>) -> Result<NetworkError<'a>, Malformed> {
    let (kind, number) = (cursor.u8()?, cursor.u64()?);
    let kind = match kind {
        0 => NetworkErrorKind::Dns,
        1 => NetworkErrorKind::Refused,
        2 => NetworkErrorKind::Tls,
        3 => NetworkErrorKind::Reset,
        4 => NetworkErrorKind::Timeout { after_ms: number },
        5 => NetworkErrorKind::TooManyRedirects { count: number },
        6 => NetworkErrorKind::Protocol,
        7 => NetworkErrorKind::Other,
        _ => return Err(cursor.malformed("an unknown error of the network")),
    };
    Ok(NetworkError { kind, message: bytes(cursor)? })
}
