//! An interaction as an exchange.

use super::super::document::{Node, SyntaxProblem, difference};
use super::super::foreign::{add, note, time, without_zone};
use super::super::lines::{NumberedHeader, lines_note, take_compression};
use super::super::url::{bytes, split};
use super::structured::{self, StructuredBody, StructuredForm};
use super::{REQUEST_BODY_NOTE, REQUEST_LINES_NOTE, RESPONSE_BODY_NOTE, Syntax, TIME_NOTE, VcrStyle, write};
use crate::exchange::Exchange;
use crate::message::{Body, Header, HttpVersion, Request, Response};
use crate::redact::{codings, decode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::fmt::rfc2822;

/// An exchange with a note of what has no other place. Its number is 0.
pub(super) fn interaction(node: &Node, style: VcrStyle) -> Result<Exchange<'static>, SyntaxProblem> {
    let (mut request, made_request) = node.read("request", |node| request(node, style))?;
    let may_be_without_body = *request.method == *b"HEAD";
    let (mut response, made_response) = node.read("response", |node| response(node, may_be_without_body))?;
    let request_lines = made_request.map(|_| compression_of(&mut request.headers, request.body.as_ref()));
    let response_lines = match made_response {
        Some(_) => compression_of(&mut response.headers, response.body.as_ref()),
        None => without_wrong_compression(&mut response),
    };
    let (started_ns, has_zone) = node.read_if("recorded_at", recorded_at)?.unwrap_or((0, true));
    let mut exchange = Exchange { started_ns, request, response: Some(response), ..Exchange::default() };
    exchange.notes.extend((!has_zone).then(|| without_zone(TIME_NOTE)));
    exchange.notes.extend(made_request.map(|origin| origin.note(REQUEST_BODY_NOTE)));
    exchange.notes.extend(made_response.map(|origin| origin.note(RESPONSE_BODY_NOTE)));
    exchange.notes.extend(lines_note(REQUEST_LINES_NOTE, &request_lines.unwrap_or_default()));
    exchange.notes.extend(lines_note(style.lines_note(), &response_lines));
    let missing = missing(node, &exchange, style, [made_request, made_response]);
    exchange.notes.extend(missing.iter().map(|missing| note(style.interaction_note(), missing)));
    Ok(exchange)
}

/// Nanoseconds since 1970 of a date as HTTP has it, or of one as ISO 8601 has it, and whether it has a zone.
fn recorded_at(node: &Node) -> Result<(i64, bool), SyntaxProblem> {
    let text = node.text()?;
    let date = rfc2822::DateTimeParser::new().parse_timestamp(text);
    let read = date.map(|date| (date, true)).or_else(|_| time(text));
    let (time, has_zone) = read.map_err(|error| SyntaxProblem::new(format!("{text:?} is not a time: {error}")))?;
    let ns = i64::try_from(time.as_nanosecond());
    ns.map(|ns| (ns, has_zone))
        .map_err(|_| SyntaxProblem::new(format!("{text} is not a time that a cassette can hold")))
}

fn request(node: &Node, style: VcrStyle) -> Result<(Request<'static>, Option<StructuredForm>), SyntaxProblem> {
    let method = node.read("method", Node::text)?;
    let method = match style {
        VcrStyle::Python => method.to_owned(),
        // Ruby has them as symbols.
        VcrStyle::Ruby => method.trim_start_matches(':').to_ascii_uppercase(),
    };
    let (at, _) = split(node.read("uri", Node::text)?);
    let headers = node.read_if("headers", headers)?.unwrap_or_default();
    let body = node.read_if("body", |body| request_body(body, style, &headers))?.unwrap_or_default();
    let (body, origin) = structured::or_parsed(node, body)?;
    // An empty one is none in Ruby.
    let body = body.filter(|body| style == VcrStyle::Python || !body.bytes().is_empty());
    Ok((Request { method: method.into(), headers, body, ..at }, origin))
}

/// A text, bytes, or a list of pieces; of Ruby, a map as responses have it. Anything else stands for JSON.
fn request_body(node: &Node, style: VcrStyle, headers: &[Header<'_>]) -> Result<StructuredBody, SyntaxProblem> {
    match node {
        Node::List(list) if structured::is_json_list(list, headers) => structured::made(node, StructuredForm::Body),
        Node::List(pieces) => {
            let mut body = Body::default();
            for (index, piece) in pieces.iter().enumerate() {
                body.push(0, &body_bytes(piece).map_err(|wrong| wrong.at(index))?);
            }
            Ok((Some(body), None))
        }
        // vcrpy writes no such map of a request, but what aiohttp was given may have these names.
        Node::Map(_) if style == VcrStyle::Python => structured::made(node, StructuredForm::Body),
        other => message_body(other),
    }
}

/// A text, bytes, or a map that wraps them. A map of anything else stands for JSON.
fn message_body(node: &Node) -> Result<StructuredBody, SyntaxProblem> {
    let is_wrapped = |members: &[(String, Node)]| members.iter().any(|(name, _)| WRAPPED.contains(&&**name));
    match node {
        Node::Map(members) if !is_wrapped(members) => structured::made(node, StructuredForm::Body),
        Node::List(_) => structured::made(node, StructuredForm::Body),
        _ => Ok((Some(Body::new(0, body_bytes(node)?)), None)),
    }
}

/// The names in a map that wraps a body.
const WRAPPED: [&str; 2] = ["string", "base64_string"];

/// `string`, with the encoding that it had, or `base64_string`.
fn body_bytes(node: &Node) -> Result<Vec<u8>, SyntaxProblem> {
    match node {
        Node::Bytes(bytes) => Ok(bytes.clone()),
        Node::Map(_) => {
            let base64 = node.read_if("base64_string", |base64| {
                let text: String = base64.text()?.split_ascii_whitespace().collect();
                STANDARD.decode(text).map_err(|error| SyntaxProblem::new(format!("no base64: {error}")))
            })?;
            let encoding = node.read_if("encoding", Node::text)?.unwrap_or_default();
            let string = node.read_if("string", |string| Ok(in_encoding(body_bytes(string)?, encoding)))?;
            Ok(base64.or(string).unwrap_or_default())
        }
        _ if node.is_null() => Ok(Vec::new()),
        _ => Ok(node.text()?.as_bytes().to_vec()),
    }
}

/// Ruby writes every text in UTF-8, and puts it back into its own encoding.
fn in_encoding(utf8: Vec<u8>, encoding: &str) -> Vec<u8> {
    if !encoding.eq_ignore_ascii_case("ISO-8859-1") {
        return utf8;
    }
    let latin: Option<Vec<u8>> = std::str::from_utf8(&utf8)
        .ok()
        .and_then(|text| text.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect());
    latin.unwrap_or(utf8)
}

fn response(
    node: &Node,
    may_be_without_body: bool,
) -> Result<(Response<'static>, Option<StructuredForm>), SyntaxProblem> {
    // What vcrpy wrote for httpx before its version 6 has `status_code` and `content`.
    let status = node.read_if("status", |status| {
        let reason = status.read_if("message", Node::text)?.unwrap_or_default();
        Ok((status.read("code", Node::status)?, bytes(reason)))
    })?;
    let (status, reason) = match status {
        Some(status) => status,
        None => (node.read("status_code", Node::status)?, bytes("")),
    };
    let body = match node.read_if("body", message_body)? {
        None => node.read_if("content", message_body)?.unwrap_or_default(),
        Some(body) => body,
    };
    let (body, origin) = structured::or_parsed(node, body)?;
    let body = body.unwrap_or_else(|| Body::new(0, ""));
    let has_none = body.bytes().is_empty() && (may_be_without_body || matches!(status, 100..=199 | 204 | 304));
    let response = Response {
        status,
        reason,
        version: node.read_if("http_version", Node::text)?.map_or(HttpVersion::Http11, version),
        headers: node.read_if("headers", headers)?.unwrap_or_default(),
        body: (!has_none).then_some(body),
        ..Response::default()
    };
    Ok((response, origin))
}

/// Takes out the lines that name a compression or another length: a body that was made of a tree has neither.
fn compression_of(headers: &mut Vec<Header<'static>>, body: Option<&Body<'_>>) -> Vec<NumberedHeader> {
    take_compression(headers, body.map_or(0, |body| body.bytes().len()))
}

/// Takes out the lines that name a compression above a text: some recorders undo it and leave them.
fn without_wrong_compression(response: &mut Response<'static>) -> Vec<NumberedHeader> {
    let codings = codings(&response.headers);
    let Some(body) = response.body.as_ref().filter(|body| !codings.is_empty() && !body.bytes().is_empty()) else {
        return Vec::new();
    };
    if body.bytes().as_text().is_none() || decode(body, &codings).is_some_and(|decoded| decoded.is_whole) {
        return Vec::new();
    }
    let bytes = body.bytes().len();
    take_compression(&mut response.headers, bytes)
}

/// A word that is not a version is 1.1; the interaction's note keeps it.
fn version(name: &str) -> HttpVersion {
    match name.trim_start_matches("HTTP/") {
        "0.9" => HttpVersion::Http09,
        "1.0" => HttpVersion::Http10,
        "2" | "2.0" => HttpVersion::Http2,
        "3" | "3.0" => HttpVersion::Http3,
        _ => HttpVersion::Http11,
    }
}

/// Names with a value or a list of values each.
fn headers(node: &Node) -> Result<Vec<Header<'static>>, SyntaxProblem> {
    let mut headers = Vec::new();
    for (name, values) in node.members()? {
        let mut push = |value: &Node| {
            headers.push(Header::new(name.clone(), header_value(value)?));
            Ok(())
        };
        match values {
            Node::List(_) => values.each(&mut push).map(drop),
            value => push(value),
        }
        .map_err(|wrong: SyntaxProblem| wrong.of(name))?;
    }
    Ok(headers)
}

fn header_value(value: &Node) -> Result<Vec<u8>, SyntaxProblem> {
    match value {
        Node::Bytes(bytes) => Ok(bytes.clone()),
        Node::Number(number) => Ok(number.to_string().into_bytes()),
        value if value.is_null() => Ok(Vec::new()),
        value => Ok(value.text()?.as_bytes().to_vec()),
    }
}

/// What is in an interaction and not in the one that would be written, except what has become headers and bodies.
fn missing(node: &Node, exchange: &Exchange<'_>, style: VcrStyle, made: [Option<StructuredForm>; 2]) -> Option<Node> {
    let ours = write::interaction(exchange, style, Syntax::Yaml)?;
    let mut missing = Node::map([]);
    add(&mut missing, difference(node, &ours, &["request", "response"]));
    for (part, made) in ["request", "response"].into_iter().zip(made) {
        let (Some(theirs), Some(ours)) = (node.get(part), ours.get(part)) else { continue };
        let mut of_part = Node::map([]);
        let parsed = made.map_or("body", StructuredForm::member);
        add(&mut of_part, difference(theirs, ours, &["headers", "body", "content", "status_code", parsed]));
        if made.is_some() {
            // All of it is in the body.
        } else if let (Some(theirs @ Node::Map(_)), Some(ours @ Node::Map(_))) = (theirs.get("body"), ours.get("body"))
        {
            let of_body = difference(theirs, ours, &["string", "base64_string"]);
            add(&mut of_part, of_body.map(|of_body| Node::map([("body", of_body)])));
        }
        add(&mut missing, (of_part != Node::map([])).then(|| Node::map([(part, of_part)])));
    }
    (missing != Node::map([])).then_some(missing)
}
