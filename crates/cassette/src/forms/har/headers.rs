//! Lines of headers that HAR has and a tape does not: those of HTTP/2 that are no headers, and those that name a compression that
//! the body no longer has.

use super::super::document::{Node, Wrong};
use super::super::foreign::{note, noted};
use super::super::url::{bytes, text};
use crate::exchange::{Exchange, Note};
use crate::message::Header;
use crate::redact::{codings, correct_length, decode};

/// Notes of the lines that were taken out or changed: `[[index, name, value], …]`.
pub(super) const REQUEST_NOTE: &str = "har.request.headers";
pub(super) const RESPONSE_NOTE: &str = "har.response.headers";

pub(super) fn read(headers: &Node) -> Result<Vec<Header<'static>>, Wrong> {
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
pub(super) fn take_pseudo(headers: &mut Vec<Header<'static>>) -> Vec<Line> {
    take(headers, |header| header.name.starts_with(b":"))
}

/// Takes out the lines that name a compression, and corrects the length.
pub(super) fn take_compression(headers: &mut Vec<Header<'static>>, body_bytes: usize) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, header) in headers.iter().enumerate() {
        let names_length = header.is("content-length") && header.value != *body_bytes.to_string();
        if header.is("content-encoding") || names_length {
            lines.push((index, header.clone()));
        }
    }
    headers.retain(|header| !header.is("content-encoding"));
    correct_length(headers, body_bytes);
    lines
}

/// A line and where it was in all of them.
pub(super) type Line = (usize, Header<'static>);

fn take(headers: &mut Vec<Header<'static>>, is_one: impl Fn(&Header<'static>) -> bool) -> Vec<Line> {
    let (taken, kept) = std::mem::take(headers).into_iter().enumerate().partition(|(_, header)| is_one(header));
    let kept: Vec<Line> = kept;
    *headers = kept.into_iter().map(|(_, header)| header).collect();
    taken
}

/// Puts lines back: before the line that is now in their place, or instead of it if that is the length.
pub(super) fn put_back(headers: &mut Vec<Header<'static>>, notes: &[Note<'_>], name: &str) {
    let lines = noted(notes, name).and_then(|lines| lines.each(read_line).ok()).unwrap_or_default();
    for (index, line) in lines {
        match headers.get_mut(index) {
            Some(length) if line.is("content-length") && length.is("content-length") => *length = line,
            Some(_) => headers.insert(index, line),
            None => headers.push(line),
        }
    }
}

fn read_line(line: &Node) -> Result<Line, Wrong> {
    match line.list()? {
        [index, name, value] => {
            let header = Header { name: bytes(name.text()?), value: bytes(value.text()?) };
            Ok((index.number()? as usize, header))
        }
        _ => Err(Wrong::new("a line has an index, a name and a value")),
    }
}

pub(super) fn lines_note(name: &'static str, lines: &[Line]) -> Option<Note<'static>> {
    let line = |(index, header): &Line| {
        Node::List(vec![(*index as u64).into(), text(&header.name).into(), text(&header.value).into()])
    };
    (!lines.is_empty()).then(|| note(name, &Node::List(lines.iter().map(line).collect())))
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
