//! What a form had no room for.
//!
//! Nothing is guessed: an exchange is written, read again and compared, so whatever is not the same is said, be it for a reason
//! that nobody thought of.

use crate::exchange::{Exchange, Outcome};
use crate::message::{Body, Header};
use std::fmt;

/// Something that a form cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// What: `trailers of the response`.
    pub what: &'static str,
    /// The numbers of the exchanges that had it, in order; none if it was of the cassette.
    pub exchanges: Vec<u64>,
}

/// What is lost of an exchange for which a form has no place.
pub(super) const WHOLE_EXCHANGES: &str = "whole exchanges that have no response, which are left out";

/// How many numbers are shown.
const SHOWN_MAX: usize = 5;

/// `trailers of the response (exchanges 1, 4 and 7)`.
impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)?;
        let shown: Vec<_> = self.exchanges.iter().take(SHOWN_MAX).map(u64::to_string).collect();
        match (&shown[..], self.exchanges.len() - shown.len()) {
            ([], _) => Ok(()),
            ([only], 0) => write!(f, " (exchange {only})"),
            ([first @ .., last], 0) => write!(f, " (exchanges {} and {last})", first.join(", ")),
            (shown, more) => write!(f, " (exchanges {} and {more} more)", shown.join(", ")),
        }
    }
}

/// Losses as they are found, those of one kind together.
#[derive(Debug, Default)]
pub(super) struct Losses(pub(super) Vec<Loss>);

impl Losses {
    pub(super) fn of_cassette(&mut self, what: &'static str) {
        self.0.push(Loss { what, exchanges: Vec::new() });
    }

    pub(super) fn add(&mut self, what: &'static str, number: u64) {
        match self.0.iter_mut().find(|loss| loss.what == what) {
            Some(loss) => loss.exchanges.push(number),
            None => self.0.push(Loss { what, exchanges: vec![number] }),
        }
    }
}

/// In what an exchange differs from what came back, its number aside.
pub(super) fn differences(exchange: &Exchange<'_>, back: &Exchange<'_>) -> Vec<&'static str> {
    let mut found = Vec::new();
    check(&mut found, "when the request began", exchange.started_ns == back.started_ns);
    check(&mut found, "when everything was over", exchange.ended_us == back.ended_us);
    request(&mut found, exchange, back);
    check(&mut found, "responses before the response", exchange.informational == back.informational);
    response(&mut found, exchange, back);
    frames(&mut found, exchange, back);
    let what = match (&exchange.outcome, &back.outcome) {
        (Outcome::Aborted(_), Outcome::Aborted(_)) => "what exactly went wrong",
        _ => "how the exchange ended",
    };
    check(&mut found, what, exchange.outcome == back.outcome);
    check(&mut found, "notes", exchange.notes == back.notes);
    found
}

fn check(found: &mut Vec<&'static str>, what: &'static str, is_same: bool) {
    if !is_same {
        found.push(what);
    }
}

fn request(found: &mut Vec<&'static str>, exchange: &Exchange<'_>, back: &Exchange<'_>) {
    let (one, other) = (&exchange.request, &back.request);
    check(found, "the method", one.method == other.method);
    let is_there = (&one.scheme, &one.host, one.port) == (&other.scheme, &other.host, other.port);
    check(found, "scheme, host or port", is_there);
    check(found, "the target", one.target == other.target);
    check(found, "the version of HTTP of the request", one.version == other.version);
    headers(found, ["the order of request headers", "bytes of request headers"], &one.headers, &other.headers);
    let body_words = [
        "that the request has no body, or an empty one",
        "bytes of the request's body",
        "chunks of the request's body",
        "when the request's body was there",
    ];
    body(found, body_words, one.body.as_ref(), other.body.as_ref());
    check(found, "trailers of the request", one.trailers == other.trailers);
}

fn response(found: &mut Vec<&'static str>, exchange: &Exchange<'_>, back: &Exchange<'_>) {
    let (one, other) = match (&exchange.response, &back.response) {
        (None, None) => return,
        (Some(one), Some(other)) => (one, other),
        _ => return found.push("whether there was a response"),
    };
    check(found, "when the response began", one.at_us == other.at_us);
    check(found, "the status", one.status == other.status);
    check(found, "the reason phrase", one.reason == other.reason);
    check(found, "the version of HTTP of the response", one.version == other.version);
    headers(found, ["the order of response headers", "bytes of response headers"], &one.headers, &other.headers);
    let body_words = [
        "that the response has no body, or an empty one",
        "bytes of the response's body",
        "chunks of the response's body",
        "when the response's body was there",
    ];
    body(found, body_words, one.body.as_ref(), other.body.as_ref());
    check(found, "trailers of the response", one.trailers == other.trailers);
}

/// Their order, if only that is another.
fn headers(found: &mut Vec<&'static str>, [order, bytes]: [&'static str; 2], one: &[Header<'_>], other: &[Header<'_>]) {
    if one == other {
        return;
    }
    let sorted = |headers: &[Header<'_>]| {
        let mut headers: Vec<_> = headers.iter().map(|header| (header.name.to_vec(), header.value.to_vec())).collect();
        headers.sort();
        headers
    };
    found.push(if sorted(one) == sorted(other) { order } else { bytes });
}

fn body(
    found: &mut Vec<&'static str>,
    [presence, bytes, chunks, times]: [&'static str; 4],
    one: Option<&Body<'_>>,
    other: Option<&Body<'_>>,
) {
    let content = |body: Option<&Body<'_>>| body.map_or(Vec::new(), |body| body.bytes().to_vec());
    let lengths = |body: &Body<'_>| body.chunks().iter().map(|chunk| chunk.bytes).collect::<Vec<_>>();
    match (one, other) {
        _ if content(one) != content(other) => found.push(bytes),
        (Some(one), Some(other)) if lengths(one) != lengths(other) => found.push(chunks),
        (Some(one), Some(other)) => check(found, times, one.chunks() == other.chunks()),
        _ => check(found, presence, one.is_none() && other.is_none()),
    }
}

fn frames(found: &mut Vec<&'static str>, exchange: &Exchange<'_>, back: &Exchange<'_>) {
    let (one, other) = match (&exchange.frames, &back.frames) {
        (None, None) => return,
        (Some(one), Some(other)) => (one, other),
        _ => return found.push("that it is a WebSocket, and its messages"),
    };
    if one.len() != other.len() {
        return found.push("where frames of a WebSocket end");
    }
    let untimed = |frames: &[crate::WsFrame<'static>]| {
        let untimed = frames.iter().map(|frame| crate::WsFrame { at_us: 0, ..frame.clone() });
        untimed.collect::<Vec<_>>()
    };
    let owned =
        |frames: &[crate::WsFrame<'_>]| -> Vec<_> { frames.iter().map(|frame| frame.clone().into_owned()).collect() };
    let (one, other) = (owned(one), owned(other));
    check(found, "bits or bytes of frames of a WebSocket", untimed(&one) == untimed(&other));
    check(found, "when frames of a WebSocket were there", untimed(&one) != untimed(&other) || one == other);
}
