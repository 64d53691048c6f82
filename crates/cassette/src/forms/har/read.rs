//! An entry as an exchange.

use super::super::document::{Node, SyntaxProblem, difference};
use super::super::foreign::{add, note};
use super::super::lines::{lines_note, take_compression};
use super::super::url::{bytes, split};
use super::times::{HarTimes, started_ns, us};
use super::{form, headers, write};
use crate::exchange::{Exchange, Note, Outcome};
use crate::message::{Body, Header, HttpVersion, Request, Response};
use crate::redact::{codings, decode};
use crate::websocket::{Direction, Opcode, WsFrame};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The note of what an entry has and an exchange has not, and the one of what a document has.
pub(super) const ENTRY_NOTE: &str = "har.entry";
pub(super) const DOCUMENT_NOTE: &str = "har.document";

/// An exchange with notes of what has no other place. Its number is 0.
pub(super) fn exchange(entry: &Node) -> Result<Exchange<'static>, SyntaxProblem> {
    let mut exchange = without_notes(entry)?;
    let missing = missing(entry, &write::entry(&exchange));
    exchange.notes.extend(missing.iter().map(|missing| note(ENTRY_NOTE, missing)));
    Ok(exchange)
}

fn without_notes(entry: &Node) -> Result<Exchange<'static>, SyntaxProblem> {
    let times = entry.read_if("timings", HarTimes::read)?.unwrap_or_default();
    let (request, is_websocket, request_notes) = entry.read("request", |node| request(node, times.sent))?;
    let started_ns = entry.read_if("startedDateTime", started_ns)?.unwrap_or(0);
    let frames = entry.read_if("_webSocketMessages", |messages| messages.each(|node| frame(node, started_ns)))?;
    let answer = entry.read_if("response", |node| answer(node, times))?.unwrap_or_default();
    let time = entry.read_if("time", Node::number)?.filter(|&time| time >= 0.0);
    Ok(Exchange {
        number: 0,
        started_ns,
        ended_us: time.map(us),
        request,
        informational: Vec::new(),
        response: answer.response,
        frames: frames.or(is_websocket.then(Vec::new)),
        outcome: answer.outcome,
        notes: request_notes.into_iter().chain(answer.lines).collect(),
    })
}

fn request(node: &Node, sent_us: u64) -> Result<(Request<'static>, bool, Vec<Note<'static>>), SyntaxProblem> {
    let method = bytes(node.read("method", Node::text)?);
    let (at, is_websocket) = split(node.read("url", Node::text)?);
    let mut headers = node.read_if("headers", headers::read)?.unwrap_or_default();
    let lines = headers::take_pseudo(&mut headers);
    if !headers.iter().any(|header| header.is("cookie")) {
        let cookies = node.read_if("cookies", |cookies| cookies.each(cookie))?.unwrap_or_default();
        headers.extend((!cookies.is_empty()).then(|| Header::new("Cookie", cookies.join("; "))));
    }
    let version = version(node.read_if("httpVersion", Node::text)?);
    let (body, made_of) = node.read_if("postData", |data| post_body(data, &headers))?.unwrap_or_default();
    let body = body.map(|body| Body::new(sent_us, body));
    let notes = lines_note(headers::REQUEST_NOTE, &lines).into_iter().chain(made_of.map(form::note)).collect();
    Ok((Request { method, version, headers, body, ..at }, is_websocket, notes))
}

/// A word that is not a version is 1.1; the entry's note keeps it.
fn version(name: Option<&str>) -> HttpVersion {
    match name.unwrap_or("").to_ascii_lowercase().as_str() {
        "http/0.9" => HttpVersion::Http09,
        "http/1.0" => HttpVersion::Http10,
        "h2" | "h2c" | "http/2" | "http/2.0" => HttpVersion::Http2,
        name if name == "http/3" || name == "http/3.0" || name == "h3" || name.starts_with("h3-") => HttpVersion::Http3,
        _ => HttpVersion::Http11,
    }
}

/// `name=value`.
fn cookie(cookie: &Node) -> Result<String, SyntaxProblem> {
    let part = |name| Ok::<_, SyntaxProblem>(cookie.read_if(name, Node::text)?.unwrap_or(""));
    Ok(format!("{}={}", part("name")?, part("value")?))
}

/// The line that would have set a cookie.
fn set_cookie(node: &Node) -> Result<String, SyntaxProblem> {
    let mut line = cookie(node)?;
    for (name, attribute) in [("path", "Path"), ("domain", "Domain"), ("sameSite", "SameSite")] {
        if let Some(value) = node.read_if(name, Node::text)? {
            line.push_str(&format!("; {attribute}={value}"));
        }
    }
    for (name, attribute) in [("secure", "Secure"), ("httpOnly", "HttpOnly")] {
        if node.get(name) == Some(&Node::Bool(true)) {
            line.push_str(&format!("; {attribute}"));
        }
    }
    Ok(line)
}

/// A text; or the parameters of a form, put together, with what it was made of. Other parameters are not a body.
fn post_body(data: &Node, headers: &[Header<'_>]) -> Result<(Option<Vec<u8>>, Option<&'static str>), SyntaxProblem> {
    let encoding = data.read_if("_encoding", Node::text)?.or(data.read_if("encoding", Node::text)?);
    if let Some(text) = data.read_if("text", Node::text)? {
        return Ok((Some(decoded(text, encoding)), form::said(data)));
    }
    Ok(form::made(data, headers)?.unzip())
}

/// Bytes of a text. What says that it is base64 and is not is taken for what it is.
fn decoded(text: &str, encoding: Option<&str>) -> Vec<u8> {
    let is_base64 = encoding.is_some_and(|encoding| encoding.eq_ignore_ascii_case("base64"));
    let decoded = is_base64.then(|| STANDARD.decode(text).ok()).flatten();
    decoded.unwrap_or_else(|| text.as_bytes().to_vec())
}

/// What came of a request.
struct ResponsePart {
    response: Option<Response<'static>>,
    outcome: Outcome<'static>,
    lines: Option<Note<'static>>,
}

impl Default for ResponsePart {
    fn default() -> Self {
        Self { response: None, outcome: Outcome::Partial, lines: None }
    }
}

fn answer(node: &Node, times: HarTimes) -> Result<ResponsePart, SyntaxProblem> {
    // Playwright has -1 where nothing came.
    let is_answered = node.read_if("status", Node::number)?.is_some_and(|status| status >= 0.0);
    let status = if is_answered { node.read("status", Node::status)? } else { 0 };
    let mut headers = node.read_if("headers", headers::read)?.unwrap_or_default();
    let mut lines = headers::take_pseudo(&mut headers);
    let error = ["_error", "_failureText"].iter().find_map(|name| node.get(name)?.text().ok());
    let error = error.filter(|error| !error.is_empty()).map(write::read_network_error);
    let content = node.read_if("content", |content| self::content(content, times.received))?;
    let (body, is_missing) = content.unwrap_or((None, false));
    let is_none = status == 0 && headers.is_empty() && body.is_none();
    let outcome = match (error, is_none) {
        (Some(error), _) => Outcome::Aborted(error),
        (None, true) => Outcome::Partial,
        (None, false) if is_missing => Outcome::Truncated,
        (None, false) => Outcome::Complete,
    };
    if is_none {
        return Ok(ResponsePart { response: None, outcome, lines: lines_note(headers::RESPONSE_NOTE, &lines) });
    }
    add_cookies(node, &mut headers)?;
    if let Some(body) = body.as_ref().filter(|body| is_decompressed(node, &headers, body)) {
        lines.extend(take_compression(&mut headers, body.bytes().len()));
    }
    let response = Response {
        at_us: times.answered,
        status,
        reason: bytes(node.read_if("statusText", Node::text)?.unwrap_or("")),
        version: version(node.read_if("httpVersion", Node::text)?),
        headers,
        body,
        trailers: Vec::new(),
    };
    Ok(ResponsePart { response: Some(response), outcome, lines: lines_note(headers::RESPONSE_NOTE, &lines) })
}

fn add_cookies(node: &Node, headers: &mut Vec<Header<'static>>) -> Result<(), SyntaxProblem> {
    if !headers.iter().any(|header| header.is("set-cookie")) {
        let cookies = node.read_if("cookies", |cookies| cookies.each(set_cookie))?.unwrap_or_default();
        headers.extend(cookies.into_iter().map(|cookie| Header::new("Set-Cookie", cookie)));
    }
    Ok(())
}

/// The body; and whether there was one that the document does not have.
fn content(content: &Node, received_us: u64) -> Result<(Option<Body<'static>>, bool), SyntaxProblem> {
    let encoding = content.read_if("encoding", Node::text)?;
    let size = content.read_if("size", Node::number)?.unwrap_or(0.0);
    let text = content.read_if("text", Node::text)?;
    Ok((text.map(|text| Body::new(received_us, decoded(text, encoding))), text.is_none() && size > 0.0))
}

/// Whether a body has no compression any more, although its headers name one: HAR wants that. It has one still if it can be undone,
/// or if nobody here can undo it and as many bytes came as there are.
fn is_decompressed(node: &Node, headers: &[Header<'_>], body: &Body<'_>) -> bool {
    let codings = codings(headers);
    if codings.is_empty() || body.bytes().is_empty() {
        return false;
    }
    if std::str::from_utf8(body.bytes()).is_ok() {
        return true;
    }
    let size = |node: Option<&Node>| node.and_then(|size| size.number().ok());
    match decode(body, &codings) {
        Some(decoded) => !decoded.is_whole,
        None => size(node.get("bodySize")) != Some(body.bytes().len() as f64),
    }
}

fn frame(node: &Node, started_ns: i64) -> Result<WsFrame<'static>, SyntaxProblem> {
    let is_sent = node.read("type", Node::text)? == "send";
    let opcode = node.read_if("opcode", Node::number)?.unwrap_or(1.0);
    let data = node.read_if("data", Node::text)?.unwrap_or("");
    let time_s = node.read_if("time", Node::number)?.unwrap_or(started_ns as f64 / 1e9);
    // No time that a cassette can hold is longer.
    let at_ns = (time_s * 1e9).clamp(-1e30, 1e30) as i128 - i128::from(started_ns);
    // Chrome has -1 for an error that is not a frame.
    let opcode = Opcode::new(opcode as u8).filter(|_| opcode >= 0.0).unwrap_or(Opcode::TEXT);
    let payload = if opcode == Opcode::TEXT { data.as_bytes().to_vec() } else { decoded(data, Some("base64")) };
    let at_us = u64::try_from((at_ns + 500).div_euclid(1000)).unwrap_or(0);
    let direction = if is_sent { Direction::Sent } else { Direction::Received };
    Ok(WsFrame::new(at_us, direction, opcode, payload))
}

/// What is in the entry and not in the one that would be written. Lists that say again what URL and headers say are made anew.
fn missing(entry: &Node, ours: &Node) -> Option<Node> {
    let mut missing = Node::map([]);
    add(&mut missing, difference(entry, ours, &["request", "response"]));
    for (part, lists, body, texts) in [
        (
            "request",
            ["headers", "cookies", "queryString", "postData"],
            "postData",
            &["text", "_encoding", "encoding"][..],
        ),
        ("response", ["headers", "cookies", "content", "content"], "content", &["text", "encoding"]),
    ] {
        let Some(theirs) = entry.get(part) else { continue };
        let nothing = Node::map([]);
        let ours = ours.get(part).unwrap_or(&nothing);
        let mut of_part = Node::map([]);
        add(&mut of_part, difference(theirs, ours, &lists));
        if let Some(theirs) = theirs.get(body) {
            let ours = ours.get(body).unwrap_or(&nothing);
            // A form that is there as a text is not needed twice.
            let texts: Vec<&str> = texts.iter().copied().chain(ours.get("text").map(|_| "params")).collect();
            let difference = difference(theirs, ours, &texts);
            add(&mut of_part, difference.map(|of_body| Node::map([(body, of_body)])));
        }
        add(&mut of_part, comments(theirs, ours).map(|of_headers| Node::map([("headers", of_headers)])));
        add(&mut missing, (of_part != Node::map([])).then(|| Node::map([(part, of_part)])));
    }
    (missing != Node::map([])).then_some(missing)
}

/// What lines of headers have beside a name and a value.
fn comments(theirs: &Node, ours: &Node) -> Option<Node> {
    let (theirs, ours) = (theirs.get("headers")?.list().ok()?, ours.get("headers")?.list().ok()?);
    if theirs.len() != ours.len() {
        return None;
    }
    let lines = theirs.iter().zip(ours).map(|(theirs, ours)| difference(theirs, ours, &["name", "value"]));
    let lines: Vec<_> = lines.map(|line| line.unwrap_or(Node::Null)).collect();
    lines.iter().any(|line| *line != Node::Null).then_some(Node::List(lines))
}
