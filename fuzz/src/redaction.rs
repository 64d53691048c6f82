//! Redaction of any body, as any type, in any form, in any pieces.
//!
//! 1. A body of which nothing is reported is as it was, byte for byte, and so are its headers.
//! 2. A body that is not text is as it was, whatever is found in it; and what is found there is said to stay.
//! 3. What was redacted is done: a second pass finds nothing and changes nothing. Only what could not be decoded may be another body then.
//! 4. A stream gives all of its chunks, at their times; and bytes that are as they were unless it reports something.
//! 5. All this holds of heads, targets and messages of WebSockets as well.
//!
//! The first bytes choose the type, the compression that a head claims, how long the pieces are, and the form: the other bytes as they
//! are, in strings of JSON, in a URL, compressed. This file is compiled by the fuzz target and by the tests of cassette, which
//! run it on changed copies of bodies.

use cassette::redact::{BodyRedactor, Redacted, Redaction};
use cassette::{Body, Chunk, Direction, Exchange, Header, Note, Opcode, Request, Response, WsFrame};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use std::io::Write;

const TYPES: [Option<&str>; 18] = [
    None,
    Some("application/octet-stream"),
    Some("application/json"),
    Some("application/x-www-form-urlencoded"),
    Some("text/plain"),
    Some("text/html; charset=iso-8859-1"),
    Some("text/event-stream"),
    Some("application/xml"),
    Some("application/yaml"),
    Some("multipart/form-data; boundary=b"),
    Some("application/zip"),
    Some("image/png"),
    Some("application/x-ndjson"),
    Some("application/jwt"),
    Some("image/svg+xml"),
    Some("text/csv"),
    Some("application/grpc"),
    Some("multipart/mixed; boundary=b"),
];

/// Types of which nothing is ever edited.
const BINARY: [&str; 3] = ["application/zip", "image/png", "application/grpc"];

const CODINGS: [Option<&str>; 6] = [None, None, Some("gzip"), Some("deflate"), Some("br"), Some("zstd")];

/// What the bytes are put into.
#[derive(Clone, Copy)]
enum Form {
    Plain,
    String,
    StringInString,
    Parameter,
    Gzip,
}

const FORMS: [Form; 5] = [Form::Plain, Form::String, Form::StringInString, Form::Parameter, Form::Gzip];

/// Takes a choice from the front of some bytes.
fn choice<'c, T>(bytes: &mut &[u8], choices: &'c [T]) -> &'c T {
    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    *bytes = rest;
    &choices[usize::from(*first) % choices.len()]
}

/// Runs all of it; whether anything was found.
pub(crate) fn run(mut bytes: &[u8]) -> bool {
    let kind = *choice(&mut bytes, &TYPES);
    let coding = *choice(&mut bytes, &CODINGS);
    let piece = *choice(&mut bytes, &[usize::MAX, 1, 2, 7, 50, 1_000]);
    let form = *choice(&mut bytes, &FORMS);
    let coding = if matches!(form, Form::Gzip) { Some("gzip") } else { coding };
    let content = kind.map(|kind| Header::new("Content-Type", kind));
    let coded = coding.map(|coding| Header::new("Content-Encoding", coding));
    let headers: Vec<_> = content.iter().chain(&coded).cloned().collect();
    let bytes = in_form(form, bytes);
    let chunks: Vec<_> =
        bytes.chunks(piece.min(bytes.len().max(1))).zip(0..).map(|(piece, at_us)| (at_us, piece)).collect();
    let found = whole(&headers, &bytes, &chunks, kind.is_some_and(|kind| BINARY.contains(&kind)));
    let content: Vec<_> = content.into_iter().collect();
    found | stream(&content, &bytes, &chunks) | messages(&bytes, piece) | head(&bytes)
}

fn in_form(form: Form, bytes: &[u8]) -> Vec<u8> {
    let in_string = |bytes: &[u8]| {
        let escaped = bytes.iter().flat_map(|&byte| match byte {
            b'"' | b'\\' => vec![b'\\', byte],
            b'\n' => b"\\n".to_vec(),
            _ => vec![byte],
        });
        [&b"{\"a\": \""[..], &escaped.collect::<Vec<_>>(), b"\", \"password\": \"hunter2\"}"].concat()
    };
    match form {
        Form::Plain => bytes.to_vec(),
        Form::String => in_string(bytes),
        Form::StringInString => in_string(&in_string(bytes)),
        Form::Parameter => {
            let escaped = bytes.iter().flat_map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' => vec![*byte],
                _ => format!("%{byte:02X}").into_bytes(),
            });
            [&b"a=b&q="[..], &escaped.collect::<Vec<_>>(), b"&password=hunter2"].concat()
        }
        Form::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes everything")
        }
    }
}

fn whole(headers: &[Header<'static>], bytes: &[u8], chunks: &[(u64, &[u8])], is_binary: bool) -> bool {
    let lengths = chunks.iter().map(|&(at_us, piece)| Chunk { at_us, bytes: piece.len() });
    let body = Body::from_parts(bytes.to_vec(), lengths.collect()).expect("every byte is in a chunk");
    let request = Request { headers: headers.to_vec(), body: Some(body.clone()), ..Request::default() };
    let response = Response { headers: headers.to_vec(), body: Some(body), ..Response::default() };
    let mut exchange = Exchange { request, response: Some(response), ..Exchange::default() };
    let redacted = twice(&mut exchange);
    assert!(!is_binary || headers.len() > 1 || redacted.findings.is_empty(), "{:?}", redacted.findings);
    !redacted.findings.is_empty() || !redacted.kept.is_empty()
}

/// Redacts an exchange, of which nothing changes that is not reported; and once more, which changes nothing.
fn twice(exchange: &mut Exchange<'static>) -> Redacted {
    let redacted = once(exchange);
    let before = exchange.clone();
    let again = once(exchange);
    if redacted.opaque.is_empty() {
        assert!(again.findings.is_empty(), "a second pass: {:?} in {before:?}", again.findings);
        assert_eq!(again.kept, redacted.kept, "what is kept differs in a second pass");
        assert_eq!(*exchange, before, "a second pass changes something");
    }
    redacted
}

/// Redacts an exchange, of which nothing changes that is not reported.
fn once(exchange: &mut Exchange<'static>) -> Redacted {
    let before = exchange.clone();
    let redacted = Redaction::usual().exchange(exchange);
    let of = |place: &str| redacted.findings.iter().any(|finding| finding.place.starts_with(place));
    if !of("request") {
        assert_eq!(exchange.request, before.request, "nothing is reported of the request");
    }
    if !of("response") {
        assert_eq!(exchange.response, before.response, "nothing is reported of the response");
    }
    if !of("message") {
        assert_eq!(exchange.frames, before.frames, "nothing is reported of the messages");
    }
    redacted
}

fn stream(headers: &[Header<'static>], bytes: &[u8], chunks: &[(u64, &[u8])]) -> bool {
    let mut stream = BodyRedactor::of_response(Redaction::usual(), headers);
    let (mut given, mut times) = (Vec::new(), Vec::new());
    let mut take = |body: Body<'static>| {
        given.extend_from_slice(body.bytes());
        times.extend(body.chunks().iter().map(|chunk| chunk.at_us));
    };
    chunks.iter().for_each(|&(at_us, piece)| take(stream.push(at_us, piece)));
    take(stream.finish());
    assert!(times.iter().copied().eq(chunks.iter().map(|(at_us, _)| *at_us)), "chunks are gone");
    assert!(stream.found().replaced > 0 || given == bytes, "nothing is reported of the stream");
    stream.found().count() > 0
}

/// Whether something is found in the bytes as messages of a WebSocket: as one that is compressed, as bytes that are said to be, and as
/// they are; each in two frames.
fn messages(bytes: &[u8], piece: usize) -> bool {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.flush()).expect("memory takes everything");
    let compressed = encoder.get_ref().strip_suffix(&[0, 0, 0xff, 0xff]).unwrap_or_default().to_vec();
    let frames = [(4, compressed), (0, bytes.to_vec()), (4, bytes.to_vec())].map(|(reserved, payload)| {
        [Opcode::TEXT, Opcode::BINARY].map(|opcode| {
            let (first, second) = payload.split_at(piece.min(payload.len()));
            let frame = |opcode, payload: &[u8]| WsFrame::new(0, Direction::Received, opcode, payload.to_vec());
            let first = WsFrame { reserved, is_final: false, ..frame(opcode, first) };
            [first, frame(Opcode::CONTINUATION, second)]
        })
    });
    let redacted = frames.map(|frames| {
        let frames = frames.into_iter().flatten().collect();
        twice(&mut Exchange { frames: Some(frames), ..Exchange::default() })
    });
    redacted.iter().any(|redacted| !redacted.findings.is_empty())
}

/// Whether something is found in the bytes as a target and as values of names.
fn head(bytes: &[u8]) -> bool {
    let bytes = &bytes[..bytes.len().min(4 << 10)];
    let names = ["Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "Location", "X"];
    let headers: Vec<_> = names.iter().map(|name| Header::new(*name, bytes.to_vec())).collect();
    let request = Request { target: bytes.to_vec().into(), headers: headers.clone(), ..Request::default() };
    let response = Response { headers, ..Response::default() };
    let notes = vec![Note::new("a", bytes.to_vec()), Note::new("password", bytes.to_vec())];
    let redacted = twice(&mut Exchange { request, response: Some(response), notes, ..Exchange::default() });
    !redacted.findings.is_empty()
}
