//! Lines of headers that HAR has and a cassette does not: those of HTTP/2 that are not headers, and those that name a compression that
//! the body no longer has.

use super::super::document::{Node, SyntaxProblem};
use super::super::lines::{NumberedHeader, lines_note, take_compression};
use super::super::url::{bytes, text};
use crate::exchange::Exchange;
use crate::message::Header;
use crate::redact::{codings, decode};

/// Notes of the lines that were taken out or changed: `[[index, name, value], …]`.
pub(super) const REQUEST_NOTE: &str = "har.request.headers";
pub(super) const RESPONSE_NOTE: &str = "har.response.headers";

pub(super) fn read(headers: &Node) -> Result<Vec<Header<'static>>, SyntaxProblem> {
    headers.each(|header| {
        let part = |name| header.read_if(name, Node::text).map(|text| bytes(text.unwrap_or("")));
        Ok(Header { name: part("name")?, value: part("value")? })
    })
}

pub(super) fn write(headers: &[Header<'_>]) -> Node {
    let header =
        |header: &Header<'_>| Node::map([("name", text(&header.name).into()), ("value", text(&header.value).into())]);
    Node::List(headers.iter().map(header).collect())
}

/// Takes out the lines that begin with a colon, as browsers show them for HTTP/2 and 3.
pub(super) fn take_pseudo(headers: &mut Vec<Header<'static>>) -> Vec<NumberedHeader> {
    take(headers, |header| header.name.starts_with(b":"))
}

fn take(headers: &mut Vec<Header<'static>>, is_one: impl Fn(&Header<'static>) -> bool) -> Vec<NumberedHeader> {
    let (taken, kept) = std::mem::take(headers).into_iter().enumerate().partition(|(_, header)| is_one(header));
    let kept: Vec<NumberedHeader> = kept;
    *headers = kept.into_iter().map(|(_, header)| header).collect();
    taken
}

/// The exchange as HAR has it, if the body of its response is compressed in a way that is known.
pub(super) fn without_compression(exchange: &Exchange<'_>) -> Option<Exchange<'static>> {
    let response = exchange.response.as_ref()?;
    let codings = codings(&response.headers);
    let body = response.body.as_ref().filter(|body| !codings.is_empty() && !body.bytes().is_empty())?;
    let decoded = decode(body, &codings).filter(|decoded| decoded.is_whole)?.body;
    let mut exchange = exchange.clone().into_owned();
    let response = exchange.response.as_mut()?;
    let lines = take_compression(&mut response.headers, decoded.bytes().len());
    response.body = Some(decoded);
    exchange.notes.retain(|note| *note.name != *RESPONSE_NOTE.as_bytes());
    exchange.notes.extend(lines_note(RESPONSE_NOTE, &lines));
    Some(exchange)
}
