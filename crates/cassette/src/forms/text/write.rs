//! Writing a cassette as text.

use super::escape::{is_text, put, put_rest};
use super::wrap::pieces;
use super::{INDENT, KINDS, MAGIC, OPCODES, VERSION, VERSIONS, number_of};
use crate::bytes::Bytes;
use crate::content::Content;
use crate::exchange::{Exchange, NetworkError, NetworkErrorKind, Note, Outcome};
use crate::message::{Body, Header, HttpVersion, Informational, Request, Response};
use crate::websocket::{Direction, Opcode, WsFrame};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use std::fmt::Write;

/// How many bytes are in a line of base64, which has 76 characters then.
const BASE64_LINE_BYTES: usize = 57;

/// All of a cassette.
pub(in crate::forms) fn write(content: &Content) -> String {
    let mut out = format!("{MAGIC}{VERSION}\n");
    for note in &content.meta {
        put_note(&mut out, "meta", note);
    }
    for exchange in &content.exchanges {
        out.push('\n');
        put_exchange(&mut out, exchange);
    }
    out.push_str("\nend\n");
    out
}

impl Exchange<'_> {
    /// The lines that it has in the text form of a cassette.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        put_exchange(&mut out, self);
        out
    }
}

fn put_exchange(out: &mut String, exchange: &Exchange<'_>) {
    line(out, format_args!("exchange {}", exchange.number));
    line(out, format_args!("started {}", timestamp(exchange.started_ns)));
    if let Some(ended_us) = exchange.ended_us {
        line(out, format_args!("ended +{ended_us}us"));
    }
    put_request(out, &exchange.request);
    exchange.informational.iter().for_each(|informational| put_informational(out, informational));
    if let Some(response) = &exchange.response {
        put_response(out, response);
    }
    if let Some(frames) = &exchange.frames {
        out.push_str("websocket\n");
        frames.iter().for_each(|frame| put_frame(out, frame));
    }
    put_outcome(out, &exchange.outcome);
    exchange.notes.iter().for_each(|note| put_note(out, "note", note));
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{text}");
}

fn timestamp(started_ns: i64) -> Timestamp {
    let timestamp = Timestamp::from_nanosecond(i128::from(started_ns));
    timestamp.unwrap_or_else(|error| unreachable!("64 bits of nanoseconds are less than a calendar holds: {error}"))
}

fn put_request(out: &mut String, request: &Request<'_>) {
    out.push_str("request ");
    put_word(out, &request.method);
    out.push(' ');
    put_origin(out, request);
    out.push(' ');
    put_word(out, &request.target);
    line(out, format_args!(" {}", version(request.version)));
    put_message(out, &request.headers, request.body.as_ref(), &request.trailers);
}

/// Something without spaces in it. Nothing at all is two quotes.
fn put_word(out: &mut String, bytes: &Bytes<'_>) {
    match bytes.is_empty() {
        true => out.push_str("\"\""),
        false => put(out, bytes, b" \t\""),
    }
}

/// `https://example.com`, with a port if it is not that of the scheme.
fn put_origin(out: &mut String, request: &Request<'_>) {
    let Request { scheme, host, port, .. } = request;
    put(out, scheme, b" \t:");
    out.push_str("://");
    let has_colon = host.contains(&b':');
    out.push_str(if has_colon { "[" } else { "" });
    put(out, host, b" \t[]");
    out.push_str(if has_colon { "]" } else { "" });
    if usual_port(scheme) != Some(*port) {
        let _ = write!(out, ":{port}");
    }
}

/// The port of a scheme that need not be named.
pub(super) fn usual_port(scheme: &[u8]) -> Option<u16> {
    match scheme {
        b"http" => Some(80),
        b"https" => Some(443),
        _ => None,
    }
}

fn version(version: HttpVersion) -> &'static str {
    VERSIONS.iter().find(|(known, _)| *known == version).map_or("", |(_, name)| name)
}

fn put_message(out: &mut String, headers: &[Header<'_>], body: Option<&Body<'_>>, trailers: &[Header<'_>]) {
    headers.iter().for_each(|header| put_header(out, header));
    if let Some(body) = body {
        put_body(out, body);
    }
    if !trailers.is_empty() {
        out.push_str("trailers\n");
        trailers.iter().for_each(|header| put_header(out, header));
    }
}

fn put_header(out: &mut String, header: &Header<'_>) {
    out.push_str(INDENT);
    put_pair(out, &header.name, &header.value);
}

fn put_note(out: &mut String, what: &str, note: &Note<'_>) {
    out.push_str(what);
    out.push(' ');
    put_pair(out, &note.name, &note.value);
}

/// A name, a colon, and what follows it to the end of the line.
fn put_pair(out: &mut String, name: &[u8], value: &[u8]) {
    put(out, name, b" \t:");
    out.push(':');
    put_after_space(out, value);
    out.push('\n');
}

fn put_after_space(out: &mut String, bytes: &[u8]) {
    if !bytes.is_empty() {
        out.push(' ');
        put_rest(out, bytes);
    }
}

fn put_body(out: &mut String, body: &Body<'_>) {
    out.push_str("body\n");
    let is_text = is_text(body.bytes());
    for (index, (at_us, piece)) in body.pieces().enumerate() {
        // The first chunk needs no line of its own if it came at once.
        if index > 0 || at_us > 0 || piece.is_empty() {
            line(out, format_args!("chunk +{at_us}us"));
        }
        put_content(out, piece, is_text);
    }
}

fn put_content(out: &mut String, bytes: &[u8], is_text: bool) {
    if bytes.is_empty() {
        return;
    }
    if !is_text {
        return bytes.chunks(BASE64_LINE_BYTES).for_each(|some| {
            line(out, format_args!("{INDENT}= {}", STANDARD.encode(some)));
        });
    }
    for text in bytes.split(|&byte| byte == b'\n') {
        for (index, piece) in pieces(text).into_iter().enumerate() {
            out.push_str(INDENT);
            out.push(if index == 0 { '|' } else { '+' });
            put_after_space(out, piece);
            out.push('\n');
        }
    }
}

fn put_informational(out: &mut String, informational: &Informational<'_>) {
    let Informational { at_us, status, reason, headers } = informational;
    let _ = write!(out, "informational {status} +{at_us}us");
    put_after_space(out, reason);
    out.push('\n');
    headers.iter().for_each(|header| put_header(out, header));
}

fn put_response(out: &mut String, response: &Response<'_>) {
    let _ = write!(out, "response {} {} +{}us", response.status, version(response.version), response.at_us);
    put_after_space(out, &response.reason);
    out.push('\n');
    put_message(out, &response.headers, response.body.as_ref(), &response.trailers);
}

fn put_frame(out: &mut String, frame: &WsFrame<'_>) {
    out.push_str(match frame.direction {
        Direction::Sent => "sent ",
        Direction::Received => "received ",
    });
    match OPCODES.iter().find(|(_, number)| *number == frame.opcode.number()) {
        Some((name, _)) => out.push_str(name),
        None => drop(write!(out, "opcode={}", frame.opcode.number())),
    }
    let _ = write!(out, " +{}us", frame.at_us);
    if !frame.is_final {
        out.push_str(" more");
    }
    if frame.reserved > 0 {
        let _ = write!(out, " reserved={}", frame.reserved);
    }
    let payload = match frame.payload.split_first_chunk() {
        Some((code, reason)) if frame.opcode == Opcode::CLOSE => {
            let _ = write!(out, " code={}", u16::from_be_bytes(*code));
            reason
        }
        _ => &frame.payload,
    };
    out.push('\n');
    put_content(out, payload, is_text(payload));
}

fn put_outcome(out: &mut String, outcome: &Outcome<'_>) {
    match outcome {
        Outcome::Complete => {}
        Outcome::Truncated => out.push_str("outcome truncated\n"),
        Outcome::Partial => out.push_str("outcome partial\n"),
        Outcome::Aborted(NetworkError { kind, message }) => {
            let _ = write!(out, "outcome aborted {}", kind_name(*kind));
            if let Some(number) = number_of(*kind) {
                let _ = write!(out, " {number}");
            }
            out.push(':');
            put_after_space(out, message);
            out.push('\n');
        }
    }
}

fn kind_name(kind: NetworkErrorKind) -> &'static str {
    let number = number_of(kind).unwrap_or_default();
    KINDS.iter().find(|(_, of)| of(number) == kind).map_or("other", |(name, _)| name)
}
