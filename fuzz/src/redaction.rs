//! Redaction of any body, as any type, in any pieces.
//!
//! 1. A body of which nothing is reported is as it was, byte for byte, and so are its headers.
//! 2. A body that is not text is as it was, whatever is found in it; and what is found there is said to stay.
//! 3. The same holds of what was redacted: what is cut off or does not fit together may be another body then.
//! 4. A stream gives all of its chunks, at their times; and bytes that are as they were unless it reports something.
//!
//! The first bytes choose the type, the compression that a head claims, and how long the pieces are; the others are the body.
//! This file is compiled by the fuzz target and by the tests of cassette, which run it on changed copies of bodies.

use cassette::redact::{Redacted, Redaction, Stream};
use cassette::{Body, Chunk, Direction, Exchange, Header, Opcode, Request, Response, WsFrame};

const TYPES: [Option<&str>; 12] = [
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
];

/// Types of which nothing is ever edited.
const BINARY: [&str; 2] = ["application/zip", "image/png"];

const CODINGS: [Option<&str>; 6] = [None, None, Some("gzip"), Some("deflate"), Some("br"), Some("zstd")];

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
    let content = kind.map(|kind| Header::new("Content-Type", kind));
    let coded = coding.map(|coding| Header::new("Content-Encoding", coding));
    let headers: Vec<_> = content.iter().chain(&coded).cloned().collect();
    let chunks: Vec<_> =
        bytes.chunks(piece.min(bytes.len().max(1))).zip(0..).map(|(piece, at_us)| (at_us, piece)).collect();
    let found = whole(&headers, bytes, &chunks, kind.is_some_and(|kind| BINARY.contains(&kind)));
    let content: Vec<_> = content.into_iter().collect();
    found | stream(&content, bytes, &chunks) | message(bytes)
}

fn whole(headers: &[Header<'static>], bytes: &[u8], chunks: &[(u64, &[u8])], is_binary: bool) -> bool {
    let lengths = chunks.iter().map(|&(at_us, piece)| Chunk { at_us, bytes: piece.len() });
    let body = Body::from_parts(bytes.to_vec(), lengths.collect()).expect("every byte is in a chunk");
    let request = Request { headers: headers.to_vec(), body: Some(body.clone()), ..Request::default() };
    let response = Response { headers: headers.to_vec(), body: Some(body), ..Response::default() };
    let mut exchange = Exchange { request, response: Some(response), ..Exchange::default() };
    let redacted = once(&mut exchange);
    assert!(!is_binary || headers.len() > 1 || redacted.findings.is_empty(), "{:?}", redacted.findings);
    once(&mut exchange);
    !redacted.findings.is_empty() || !redacted.kept.is_empty()
}

/// Redacts an exchange, of which nothing changes that is not reported.
fn once(exchange: &mut Exchange<'static>) -> Redacted {
    let before = exchange.clone();
    let redacted = Redaction::usual().exchange(exchange);
    let of = |place: &str| redacted.findings.iter().any(|finding| finding.place == place);
    if !of("request body") {
        assert_eq!(exchange.request, before.request, "nothing is reported of the request");
    }
    if !of("response body") {
        assert_eq!(exchange.response, before.response, "nothing is reported of the response");
    }
    redacted
}

fn stream(headers: &[Header<'static>], bytes: &[u8], chunks: &[(u64, &[u8])]) -> bool {
    let mut stream = Stream::of_response(Redaction::usual(), headers);
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

/// The same bytes as a compressed message, and as one that is not.
fn message(bytes: &[u8]) -> bool {
    let frame = |reserved, opcode| WsFrame { reserved, ..WsFrame::new(0, Direction::Received, opcode, bytes.to_vec()) };
    let frames =
        vec![frame(4, Opcode::TEXT), frame(0, Opcode::BINARY), frame(4, Opcode::BINARY), frame(0, Opcode::TEXT)];
    let mut exchange = Exchange { frames: Some(frames), ..Exchange::default() };
    let before = exchange.frames.clone();
    let redacted = Redaction::usual().exchange(&mut exchange);
    assert!(!redacted.findings.is_empty() || exchange.frames == before, "nothing is reported of the messages");
    !redacted.findings.is_empty()
}
