//! What differs between two cassettes.
//!
//! 1. Exchanges are paired: those that ask the same [question](crate::matching), in their order; then, of what is left, those
//!    with the same method, server and path, in their order.
//! 2. Pairs are compared field by field. Times, numbers and the limits of chunks differ from one recording to the next, and are
//!    compared on request only.
//! 3. Messages of WebSockets that are compressed are compared as what they say.
//! 4. Two answers to one question are compared as a program would, by [`answer_difference`].

mod answers;
mod conversation;

pub use answers::answer_difference;

use crate::cassette::Cassette;
use crate::error::ReadError;
use crate::exchange::{Exchange, Note, Outcome};
use crate::matching::miss::{by_name, common_start, shorten, shown};
use crate::matching::{MatchRules, json};
use crate::message::{Body, Header, Informational, Request, Response};
use crate::websocket::{Direction, WsFrame};
use conversation::FrameSequence;
use std::collections::{HashMap, VecDeque};
use std::fmt;

/// What differs between two cassettes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comparison {
    /// In what is known of the cassettes.
    pub meta: Vec<Change>,
    /// The positions of exchanges that only the first cassette has.
    pub only_before: Vec<usize>,
    /// The positions of exchanges that only the second one has.
    pub only_after: Vec<usize>,
    /// Exchanges that differ, in the order of the first cassette.
    pub changed: Vec<ChangedExchange>,
}

/// Two exchanges that differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedExchange {
    /// The position on the first cassette.
    pub before: usize,
    /// The position on the second cassette.
    pub after: usize,
    /// What differs, never nothing.
    pub changes: Vec<Change>,
}

/// Something that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// What: `response status`, `request header accept`, `response body at items.0.id`.
    pub place: String,
    /// On the first cassette, shortened; `None` is nothing at all.
    pub before: Option<String>,
    /// On the second one, shortened.
    pub after: Option<String>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = [&self.before, &self.after].map(|side| side.as_deref().unwrap_or("nothing"));
        write!(f, "{}: {before} -> {after}", self.place)
    }
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.meta.is_empty() && self.only_before.is_empty() && self.only_after.is_empty() && self.changed.is_empty()
    }
}

/// Compares two cassettes.
///
/// # Errors
/// One of them is not what was written.
pub fn compare(before: &Cassette, after: &Cassette, with_times: bool) -> Result<Comparison, ReadError> {
    let mut comparison = Comparison::default();
    let mut changes = ChangeList::default();
    changes.notes("", &before.meta()?, &after.meta()?);
    comparison.meta = changes.0;
    let (pairs, only_before, only_after) = pairs(before, after)?;
    (comparison.only_before, comparison.only_after) = (only_before, only_after);
    for (one, other) in pairs {
        let changes = differences(&before.exchange(one)?, &after.exchange(other)?, with_times);
        if !changes.is_empty() {
            comparison.changed.push(ChangedExchange { before: one, after: other, changes });
        }
    }
    Ok(comparison)
}

type PairedExchanges = (Vec<(usize, usize)>, Vec<usize>, Vec<usize>);

fn pairs(before: &Cassette, after: &Cassette) -> Result<PairedExchanges, ReadError> {
    let rules = MatchRules::default();
    let question = |request: &Request<'_>| rules.canonical(request);
    let place = |request: &Request<'_>| {
        let Request { method, scheme, host, port, .. } = request;
        let port = port.to_string();
        [method, scheme, host, port.as_bytes(), request.path()].join(&0)
    };
    let (ones, others) = ((0..before.len()).collect(), (0..after.len()).collect());
    let (mut pairs, ones, others) = pair_by(&question, (before, ones), (after, others))?;
    let (more, ones, others) = pair_by(&place, (before, ones), (after, others))?;
    pairs.extend(more);
    pairs.sort_unstable();
    Ok((pairs, ones, others))
}

/// Pairs those with the same key, in their order; gives what is left as well.
fn pair_by(
    key: &dyn Fn(&Request<'_>) -> Vec<u8>,
    (before, ones): (&Cassette, Vec<usize>),
    (after, others): (&Cassette, Vec<usize>),
) -> Result<PairedExchanges, ReadError> {
    let mut by_key: HashMap<[u8; 32], VecDeque<usize>> = HashMap::new();
    let hash = |cassette: &Cassette, at| -> Result<[u8; 32], ReadError> {
        Ok(*blake3::hash(&key(&cassette.request(at)?)).as_bytes())
    };
    for at in others {
        by_key.entry(hash(after, at)?).or_default().push_back(at);
    }
    let (mut pairs, mut left) = (Vec::new(), Vec::new());
    for at in ones {
        match by_key.get_mut(&hash(before, at)?).and_then(VecDeque::pop_front) {
            Some(other) => pairs.push((at, other)),
            None => left.push(at),
        }
    }
    let mut others: Vec<_> = by_key.into_values().flatten().collect();
    others.sort_unstable();
    Ok((pairs, left, others))
}

/// What differs between two exchanges.
pub fn differences(before: &Exchange<'_>, after: &Exchange<'_>, with_times: bool) -> Vec<Change> {
    let mut changes = ChangeList::default();
    changes.requests(&before.request, &after.request);
    changes.informational(&before.informational, &after.informational);
    changes.responses(before.response.as_ref(), after.response.as_ref());
    changes.frames(before.frames.as_deref(), after.frames.as_deref());
    changes.texts("outcome", outcome(&before.outcome), outcome(&after.outcome));
    changes.notes("note ", &before.notes, &after.notes);
    if with_times {
        changes.times(before, after);
    }
    // What has no name here, such as the order of headers in which nothing else differs.
    if changes.0.is_empty() && !is_equal(before, after, with_times) {
        changes.texts("order of headers or notes", "one".to_owned(), "another".to_owned());
    }
    changes.0
}

/// Whether everything except frames is equal; nothing of frames is without a name.
fn is_equal(before: &Exchange<'_>, after: &Exchange<'_>, with_times: bool) -> bool {
    let [before, after] = [before, after].map(|exchange| Exchange { frames: None, ..exchange.borrowed() });
    if with_times { before == after } else { untimed(&before) == untimed(&after) }
}

/// An exchange without what differs from one recording to the next.
fn untimed<'e>(exchange: &'e Exchange<'_>) -> Exchange<'e> {
    let mut exchange = Exchange { number: 0, started_ns: 0, ended_us: None, ..exchange.borrowed() };
    let at_once = |body: &mut Option<Body<'e>>| {
        *body = body.take().map(|body| Body::new(0, body.into_parts().0));
    };
    at_once(&mut exchange.request.body);
    exchange.informational.iter_mut().for_each(|informational| informational.at_us = 0);
    if let Some(response) = &mut exchange.response {
        response.at_us = 0;
        at_once(&mut response.body);
    }
    exchange
}

fn outcome(outcome: &Outcome<'_>) -> String {
    match outcome {
        Outcome::Complete => "complete".to_owned(),
        Outcome::Truncated => "truncated".to_owned(),
        Outcome::Partial => "partial".to_owned(),
        Outcome::Aborted(error) => shorten(error.to_string()),
    }
}

/// Gathers what differs.
#[derive(Default)]
struct ChangeList(Vec<Change>);

impl ChangeList {
    fn push(&mut self, place: impl Into<String>, before: Option<String>, after: Option<String>) {
        self.0.push(Change { place: place.into(), before, after });
    }

    fn texts(&mut self, place: &str, before: String, after: String) {
        if before != after {
            self.push(place, Some(shorten(before)), Some(shorten(after)));
        }
    }

    fn bytes(&mut self, place: &str, before: &[u8], after: &[u8]) {
        if before != after {
            let at = common_start(before, after);
            let side = |bytes: &[u8]| (!bytes.is_empty()).then(|| shown(bytes, at));
            self.push(place, side(before), side(after));
        }
    }

    fn requests(&mut self, before: &Request<'_>, after: &Request<'_>) {
        self.bytes("method", &before.method, &after.method);
        self.bytes("scheme", &before.scheme, &after.scheme);
        self.bytes("host", &before.host, &after.host);
        self.texts("port", before.port.to_string(), after.port.to_string());
        self.bytes("target", &before.target, &after.target);
        self.texts("request version", format!("{:?}", before.version), format!("{:?}", after.version));
        self.headers("request header", &before.headers, &after.headers);
        self.bodies("request body", before.body.as_ref(), after.body.as_ref());
        self.headers("request trailer", &before.trailers, &after.trailers);
    }

    fn responses(&mut self, before: Option<&Response<'_>>, after: Option<&Response<'_>>) {
        let (Some(before), Some(after)) = (before, after) else {
            if before.is_some() != after.is_some() {
                let status = |response: &Response<'_>| response.status.to_string();
                self.push("response", before.map(status), after.map(status));
            }
            return;
        };
        self.texts("response status", before.status.to_string(), after.status.to_string());
        self.bytes("response reason", &before.reason, &after.reason);
        self.texts("response version", format!("{:?}", before.version), format!("{:?}", after.version));
        self.headers("response header", &before.headers, &after.headers);
        self.bodies("response body", before.body.as_ref(), after.body.as_ref());
        self.headers("response trailer", &before.trailers, &after.trailers);
    }

    fn informational(&mut self, before: &[Informational<'_>], after: &[Informational<'_>]) {
        let statuses = |some: &[Informational<'_>]| {
            some.iter().map(|informational| informational.status.to_string()).collect::<Vec<_>>().join(", ")
        };
        self.texts("informational responses", statuses(before), statuses(after));
        for (before, after) in before.iter().zip(after).filter(|(before, after)| before.status == after.status) {
            self.bytes("informational reason", &before.reason, &after.reason);
            self.headers("informational header", &before.headers, &after.headers);
        }
    }

    fn headers(&mut self, what: &str, before: &[Header<'_>], after: &[Header<'_>]) {
        let pair = |header: &Header<'_>| (header.name.to_ascii_lowercase(), header.value.to_vec());
        self.named(what, [before.iter().map(pair), after.iter().map(pair)]);
    }

    fn notes(&mut self, what: &str, before: &[Note<'_>], after: &[Note<'_>]) {
        let pair = |note: &Note<'_>| (note.name.to_vec(), note.value.to_vec());
        self.named(what.trim_end(), [before.iter().map(pair), after.iter().map(pair)]);
    }

    /// All values of each name.
    fn named(&mut self, what: &str, sides: [impl Iterator<Item = (Vec<u8>, Vec<u8>)>; 2]) {
        for (name, [before, after]) in by_name(sides) {
            if before != after {
                let place = format!("{what} {}", String::from_utf8_lossy(&name));
                let [before, after] =
                    [before, after].map(|values| (!values.is_empty()).then(|| values.join(&b", "[..])));
                let at = common_start(before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
                let [before, after] = [before, after].map(|side| side.map(|side| shown(&side, at)));
                self.push(place.trim_start(), before, after);
            }
        }
    }

    fn bodies(&mut self, what: &str, before: Option<&Body<'_>>, after: Option<&Body<'_>>) {
        let (Some(before), Some(after)) = (before, after) else {
            if before.is_some() != after.is_some() {
                let length = |body: &Body<'_>| format!("{} bytes", body.bytes().len());
                self.push(what, before.map(length), after.map(length));
            }
            return;
        };
        let (before, after) = (before.bytes(), after.bytes());
        if before == after {
            return;
        }
        let values = json::read(before).zip(json::read(after));
        let difference = values.as_ref().and_then(|(before, after)| json::first_difference(before, after));
        match difference {
            Some((place, before, after)) => {
                let place = if place.is_empty() { what.to_owned() } else { format!("{what} at {place}") };
                let [before, after] = [before, after].map(|side| side.map(|value| shorten(value.to_string())));
                self.push(place, before, after);
            }
            None => self.bytes(&format!("{what} from byte {}", common_start(before, after)), before, after),
        }
    }

    fn frames(&mut self, before: Option<&[WsFrame<'_>]>, after: Option<&[WsFrame<'_>]>) {
        let count = |frames: &[WsFrame<'_>]| format!("{} frames", frames.len());
        if before.map(<[_]>::len) != after.map(<[_]>::len) {
            self.push("websocket", before.map(count), after.map(count));
        }
        let [before, after] = [before, after].map(Option::unwrap_or_default);
        let (mut one, mut other) = (FrameSequence::new(before), FrameSequence::new(after));
        for (at, (before, after)) in before.iter().zip(after).enumerate() {
            self.texts(&format!("frame {at}"), kind_of(before), kind_of(after));
            let place = match one.compressed_from(at).or_else(|| other.compressed_from(at)) {
                Some(first) => format!("message of frame {first}"),
                None => format!("frame {at} payload"),
            };
            self.bytes(&place, &one.says(at), &other.says(at));
        }
    }

    fn times(&mut self, before: &Exchange<'_>, after: &Exchange<'_>) {
        self.texts("number", before.number.to_string(), after.number.to_string());
        self.texts("started", before.started_ns.to_string(), after.started_ns.to_string());
        let ended = |exchange: &Exchange<'_>| exchange.ended_us.map_or("unknown".to_owned(), |us| format!("{us} us"));
        self.texts("ended", ended(before), ended(after));
        let heads = |exchange: &Exchange<'_>| {
            let informational = exchange.informational.iter().map(|informational| informational.at_us);
            let response = exchange.response.iter().map(|response| response.at_us);
            listed(informational.chain(response).map(|at_us| at_us.to_string()))
        };
        self.bytes("times of response heads", heads(before).as_bytes(), heads(after).as_bytes());
        let chunks = |body: Option<&Body<'_>>| {
            let chunks = body.into_iter().flat_map(Body::chunks);
            listed(chunks.map(|chunk| format!("{}+{}", chunk.at_us, chunk.bytes)))
        };
        let [one, other] = [before, after].map(|exchange| chunks(exchange.request.body.as_ref()));
        self.bytes("chunks of the request body", one.as_bytes(), other.as_bytes());
        let response =
            |exchange: &Exchange<'_>| chunks(exchange.response.as_ref().and_then(|response| response.body.as_ref()));
        self.bytes("chunks of the response body", response(before).as_bytes(), response(after).as_bytes());
        let frames =
            |exchange: &Exchange<'_>| listed(exchange.frames.iter().flatten().map(|frame| frame.at_us.to_string()));
        self.bytes("times of frames", frames(before).as_bytes(), frames(after).as_bytes());
    }
}

fn listed(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(" ")
}

fn kind_of(frame: &WsFrame<'_>) -> String {
    let direction = if frame.direction == Direction::Sent { "sent" } else { "received" };
    let more = if frame.is_final { "" } else { ", more" };
    format!("{direction}, opcode {}{more}, reserved {}", frame.opcode.number(), frame.reserved)
}
