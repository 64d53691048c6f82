//! An exchange as an interaction.

use super::super::document::Node;
use super::super::foreign::utc;
use super::super::lines::put_back;
use super::super::url::{join, text};
use super::{REQUEST_BODY_NOTE, REQUEST_LINES_NOTE, RESPONSE_BODY_NOTE, Syntax, VcrStyle, structured};
use crate::exchange::{Exchange, Note};
use crate::message::{Header, HttpVersion, Request, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use std::collections::HashMap;

/// An interaction that says all of an exchange that the style has a place for; `None` if there was no response.
pub(super) fn interaction(exchange: &Exchange<'_>, style: VcrStyle, syntax: Syntax) -> Option<Node> {
    let response = exchange.response.as_ref()?;
    let mut members = vec![
        ("request".to_owned(), request(&exchange.request, &exchange.notes, style, syntax)),
        ("response".to_owned(), self::response(response, &exchange.notes, style, syntax)),
    ];
    let recorded_at = match style {
        // Not of vcrpy, which does not mind: only so it is known how old a recording is.
        VcrStyle::Python => (exchange.started_ns != 0).then(|| utc(exchange.started_ns)),
        VcrStyle::Ruby => Some(http_date(exchange.started_ns)),
    };
    members.extend(recorded_at.map(|time| ("recorded_at".to_owned(), time.into())));
    Some(Node::Map(members))
}

/// `Tue, 01 Nov 2011 04:58:44 GMT`, which has no fractions.
fn http_date(started_ns: i64) -> String {
    let time = Timestamp::from_nanosecond(started_ns.into()).ok();
    let date = time.and_then(|time| DateTimePrinter::new().timestamp_to_rfc9110_string(&time).ok());
    date.unwrap_or_else(|| unreachable!("64 bits of nanoseconds are within the years of such a date"))
}

fn request(request: &Request<'_>, notes: &[Note<'_>], style: VcrStyle, syntax: Syntax) -> Node {
    let method = text(&request.method);
    let uri = join(request, false);
    let mut lines: Vec<_> = request.headers.iter().map(|header| header.borrowed().into_owned()).collect();
    put_back(&mut lines, notes, REQUEST_LINES_NOTE);
    let body = request.body.as_ref().map(|body| &**body.bytes());
    let (method, (member, body)) = match style {
        VcrStyle::Python => (method, python_request_body(body, notes, syntax)),
        VcrStyle::Ruby => (method.to_ascii_lowercase(), ("body", ruby_body(body.unwrap_or_default()))),
    };
    Node::map([("method", method.into()), ("uri", uri.into()), (member, body), ("headers", headers(&lines))])
}

/// The member with the body, and what is in it.
fn python_request_body(body: Option<&[u8]>, notes: &[Note<'_>], syntax: Syntax) -> (&'static str, Node) {
    let Some(body) = body else { return ("body", Node::Null) };
    match structured::tree(notes, REQUEST_BODY_NOTE, body) {
        Some((origin, tree)) => (origin.member(), tree),
        None => ("body", string(body, syntax)),
    }
}

fn response(response: &Response<'_>, notes: &[Note<'_>], style: VcrStyle, syntax: Syntax) -> Node {
    let status = [("code", u64::from(response.status).into()), ("message", text(&response.reason).into())];
    let mut lines: Vec<_> = response.headers.iter().map(|header| header.borrowed().into_owned()).collect();
    put_back(&mut lines, notes, style.lines_note());
    let body = response.body_bytes();
    let (member, body) = match (style, structured::tree(notes, RESPONSE_BODY_NOTE, body)) {
        (VcrStyle::Python, Some((origin, tree))) => (origin.member(), tree),
        (VcrStyle::Python, None) => ("body", Node::map([("string", string(body, syntax))])),
        (VcrStyle::Ruby, _) => ("body", ruby_body(body)),
    };
    let mut members = vec![
        ("status".to_owned(), Node::map(status)),
        ("headers".to_owned(), headers(&lines)),
        (member.to_owned(), body),
    ];
    if style == VcrStyle::Ruby {
        members.push(("http_version".to_owned(), http_version(response.version)));
    }
    Node::Map(members)
}

/// Nothing is 1.1.
fn http_version(version: HttpVersion) -> Node {
    match version {
        HttpVersion::Http11 => Node::Null,
        HttpVersion::Http09 => "0.9".into(),
        HttpVersion::Http10 => "1.0".into(),
        HttpVersion::Http2 => "2".into(),
        HttpVersion::Http3 => "3".into(),
    }
}

/// A body of vcrpy: a text, or bytes where they can be written.
fn string(body: &[u8], syntax: Syntax) -> Node {
    match std::str::from_utf8(body) {
        Ok(text) => text.into(),
        Err(_) if syntax == Syntax::Yaml => Node::Bytes(body.to_vec()),
        Err(_) => text(body).into(),
    }
}

fn ruby_body(body: &[u8]) -> Node {
    match std::str::from_utf8(body) {
        Ok(text) => Node::map([("encoding", "UTF-8".into()), ("string", text.into())]),
        Err(_) => Node::map([("encoding", "ASCII-8BIT".into()), ("base64_string", STANDARD.encode(body).into())]),
    }
}

/// Each name once, with all of its values.
fn headers(headers: &[Header<'_>]) -> Node {
    let mut members: Vec<(String, Node)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for header in headers {
        let name = text(&header.name);
        let value = Node::from(text(&header.value));
        match places.get(&name) {
            Some(&place) => {
                if let Node::List(values) = &mut members[place].1 {
                    values.push(value);
                }
            }
            None => {
                places.insert(name.clone(), members.len());
                members.push((name, Node::List(vec![value])));
            }
        }
    }
    Node::Map(members)
}
