//! HAR 1.2, as browsers and proxies write it, both ways.
//!
//! 1. What HAR and a cassette have in common goes to its place: [`read`] and [`write`].
//! 2. What only HAR has stays with the exchange as the note `har.entry`, in JSON, and what belongs to the whole document with the
//!    cassette as `har.document`. Both are put back when HAR is written, unless they contradict what the exchange has become.
//! 3. What only a cassette has is said: each entry is read again and compared ([`super::losses`]).
//!
//! HAR has bodies without compression, below headers that name it. On a cassette a header must not name what is not so: the lines that
//! do are kept in the note `har.response.headers`, and so are lines that HTTP/2 has no lines for, such as `:path`.

mod form;
mod headers;
mod read;
mod times;
mod write;

use super::document::{Node, SyntaxProblem, difference, from_json, merge, to_json};
use super::error::FormError;
use super::foreign::{note, noted};
use super::losses::{Loss, Losses, differences};
use crate::content::Content;
use crate::exchange::Exchange;
use crate::limits::ReadOptions;
use read::DOCUMENT_NOTE;

const FORM: &str = "HAR";

impl Content {
    /// As HAR 1.2, indented, and what it cannot hold: chunks and their times, trailers, responses before the response, how frames of
    /// a WebSocket were cut, the compressed bytes of a response, and what is not UTF-8 in headers and URLs.
    ///
    /// # Errors
    /// Memory is too small, in effect.
    pub fn to_har(&self) -> Result<(Vec<u8>, Vec<Loss>), FormError> {
        write(self)
    }

    /// From HAR 1.0 to 1.2. Nothing is lost: what an exchange has no place for becomes a note.
    ///
    /// # Errors
    /// It is not a HAR; the message names the place.
    pub fn from_har(bytes: &[u8]) -> Result<Self, FormError> {
        read(bytes, ReadOptions::default())
    }
}

/// Reads a document. Exchanges are in the order in which they began.
pub(super) fn read(bytes: &[u8], options: ReadOptions) -> Result<Content, FormError> {
    let mut document = from_json(bytes, options).map_err(|unread| unread.of(FORM))?;
    let mut exchanges = entries(&document).map_err(|wrong| FormError::malformed(FORM, &wrong))?;
    exchanges.sort_by_key(|exchange| exchange.started_ns);
    exchanges.iter_mut().zip(0..).for_each(|(exchange, number)| exchange.number = number);
    take_entries(&mut document);
    let missing = difference(&document, &empty_document(), &[]);
    Ok(Content { exchanges, meta: missing.iter().map(|missing| note(DOCUMENT_NOTE, missing)).collect() })
}

fn entries(document: &Node) -> Result<Vec<Exchange<'static>>, SyntaxProblem> {
    document.read("log", |log| log.read("entries", |entries| entries.each(read::exchange)))
}

/// The document without its entries.
fn take_entries(document: &mut Node) -> Vec<Node> {
    let Node::Map(members) = document else { return Vec::new() };
    let log = members.iter_mut().find(|(name, _)| name == "log");
    let Some((_, Node::Map(log))) = log else { return Vec::new() };
    match log.iter_mut().find(|(name, _)| name == "entries") {
        Some((_, Node::List(entries))) => std::mem::take(entries),
        _ => Vec::new(),
    }
}

fn empty_document() -> Node {
    let creator = [("name", "Metroon".into()), ("version", env!("CARGO_PKG_VERSION").into())];
    let log = [("version", "1.2".into()), ("creator", Node::map(creator)), ("entries", Node::List(Vec::new()))];
    Node::map([("log", Node::map(log))])
}

/// Writes a document, and says what it cannot hold.
fn write(content: &Content) -> Result<(Vec<u8>, Vec<Loss>), FormError> {
    let mut losses = Losses::default();
    let mut document = empty_document();
    if let Some(missing) = noted(&content.meta, DOCUMENT_NOTE) {
        merge(&mut document, missing);
    }
    if !matches!(&content.meta[..], [] | [_]) || content.meta.iter().any(|note| *note.name != *DOCUMENT_NOTE.as_bytes())
    {
        losses.of_cassette("what is known of the cassette");
    }
    let written: Result<Vec<_>, _> = content.exchanges.iter().map(|exchange| entry(exchange, &mut losses)).collect();
    let written = written.map_err(|wrong| FormError::malformed(FORM, &wrong))?;
    check_order(&content.exchanges, &mut losses);
    set_entries(&mut document, written);
    let bytes = to_json(&document, true).map_err(|error| FormError::malformed(FORM, &error))?;
    Ok((bytes, losses.0))
}

/// The document that a note makes may be anything: then it is made anew.
fn set_entries(document: &mut Node, written: Vec<Node>) {
    let is_whole = document.get("log").and_then(|log| log.get("entries")).is_some_and(|entries| entries.list().is_ok());
    if !is_whole {
        *document = empty_document();
    }
    let Node::Map(members) = document else { unreachable!("it has a log") };
    let log = members.iter_mut().find(|(name, _)| name == "log");
    let Some((_, Node::Map(log))) = log else { unreachable!("it has a log") };
    let entries = log.iter_mut().find(|(name, _)| name == "entries");
    let Some((_, entries)) = entries else { unreachable!("it has entries") };
    *entries = Node::List(written);
}

/// Readers sort by the time at which entries began.
fn check_order(exchanges: &[Exchange<'_>], losses: &mut Losses) {
    if !exchanges.is_sorted_by_key(|exchange| exchange.started_ns) {
        losses.of_cassette("the order of exchanges that did not begin in the order of their numbers");
    }
    if !exchanges.iter().zip(0..).all(|(exchange, number)| exchange.number == number) {
        losses.of_cassette("the numbers of exchanges");
    }
}

/// An entry that comes back as the exchange, or as near to it as can be.
fn entry(exchange: &Exchange<'_>, losses: &mut Losses) -> Result<Node, SyntaxProblem> {
    let decoded = headers::without_compression(exchange);
    if decoded.is_some() {
        losses.add("compressed bytes of the response's body, which is written without compression", exchange.number);
    }
    let exchange = decoded.as_ref().unwrap_or(exchange);
    let plain = write::entry(exchange);
    let lost = differences(exchange, &read::exchange(&plain)?);
    let (entry, lost) = match with_missing(&plain, exchange) {
        Some((entry, fewer)) if fewer.len() < lost.len() => (entry, fewer),
        _ => (plain, lost),
    };
    lost.into_iter().for_each(|what| losses.add(what, exchange.number));
    Ok(entry)
}

/// The entry with what its note says, and what is lost then.
fn with_missing(plain: &Node, exchange: &Exchange<'_>) -> Option<(Node, Vec<&'static str>)> {
    let mut entry = plain.clone();
    merge(&mut entry, noted(&exchange.notes, read::ENTRY_NOTE)?);
    let back = read::exchange(&entry).ok()?;
    let lost = differences(exchange, &back);
    Some((entry, lost))
}
