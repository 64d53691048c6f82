//! An exchange as an entry.

use super::super::document::Node;
use super::super::foreign::utc;
use super::super::lines::put_back;
use super::super::url::{join, parameters, text, unescaped};
use super::times::{HarTimes, ms};
use super::{form, headers};
use crate::exchange::{Exchange, NetworkError, NetworkErrorKind, Note, Outcome};
use crate::message::{Header, HttpVersion, Request, Response};
use crate::websocket::{Direction, Opcode, WsFrame};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::fmt::rfc2822;

/// An entry that says all of an exchange that HAR has a place for.
pub(super) fn entry(exchange: &Exchange<'_>) -> Node {
    let mut members = vec![
        ("startedDateTime".to_owned(), utc(exchange.started_ns).into()),
        ("time".to_owned(), exchange.ended_us.map_or((-1_i64).into(), ms)),
        ("request".to_owned(), request(exchange)),
        ("response".to_owned(), response(exchange)),
        ("cache".to_owned(), Node::map([])),
        ("timings".to_owned(), HarTimes::of(exchange).write()),
    ];
    if let Some(frames) = &exchange.frames {
        members.push(("_webSocketMessages".to_owned(), messages(exchange.started_ns, frames)));
    }
    Node::Map(members)
}

fn request(exchange: &Exchange<'_>) -> Node {
    let request = &exchange.request;
    let mut lines: Vec<_> = request.headers.iter().map(|header| header.borrowed().into_owned()).collect();
    put_back(&mut lines, &exchange.notes, headers::REQUEST_NOTE);
    let mut members = vec![
        ("method".to_owned(), text(&request.method).into()),
        ("url".to_owned(), join(request, exchange.is_websocket()).into()),
        ("httpVersion".to_owned(), version(request.version)),
        ("cookies".to_owned(), Node::List(request.header_values("cookie").flat_map(|line| cookies(line)).collect())),
        ("headers".to_owned(), headers::write(&lines)),
        ("queryString".to_owned(), query(request)),
        ("headersSize".to_owned(), (-1_i64).into()),
        ("bodySize".to_owned(), (request.body_bytes().len() as u64).into()),
    ];
    if request.body.is_some() {
        members.push(("postData".to_owned(), post_data(request, &exchange.notes)));
    }
    Node::Map(members)
}

fn version(version: HttpVersion) -> Node {
    match version {
        HttpVersion::Http09 => "HTTP/0.9",
        HttpVersion::Http10 => "HTTP/1.0",
        HttpVersion::Http11 => "HTTP/1.1",
        HttpVersion::Http2 => "HTTP/2",
        HttpVersion::Http3 => "HTTP/3",
    }
    .into()
}

fn query(request: &Request<'_>) -> Node {
    let parameters = parameters(request.query().unwrap_or_default());
    let parameter = |(name, value): (&[u8], &[u8])| {
        Node::map([("name", unescaped(name).into()), ("value", unescaped(value).into())])
    };
    Node::List(parameters.map(parameter).collect())
}

/// HAR has no bytes here: `_encoding` is ours, as `encoding` of a response.
fn post_data(request: &Request<'_>, notes: &[Note<'_>]) -> Node {
    let mut members = vec![("mimeType".to_owned(), first(&request.headers, "content-type").into())];
    put_bytes(&mut members, request.body_bytes(), "_encoding");
    members.extend(form::member(notes));
    Node::Map(members)
}

fn put_bytes(members: &mut Vec<(String, Node)>, bytes: &[u8], encoding: &str) {
    match std::str::from_utf8(bytes) {
        Ok(text) => members.push(("text".to_owned(), text.into())),
        Err(_) => {
            members.push(("text".to_owned(), STANDARD.encode(bytes).into()));
            members.push((encoding.to_owned(), "base64".into()));
        }
    }
}

/// The first value of a header; nothing if there is none.
fn first(headers: &[Header<'_>], name: &str) -> String {
    headers.iter().find(|header| header.is(name)).map_or(String::new(), |header| text(&header.value))
}

fn response(exchange: &Exchange<'_>) -> Node {
    let none = Response::default();
    let response = exchange.response.as_ref().unwrap_or(&none);
    let mut lines: Vec<_> = response.headers.iter().map(|header| header.borrowed().into_owned()).collect();
    put_back(&mut lines, &exchange.notes, headers::RESPONSE_NOTE);
    let mut members = vec![
        ("status".to_owned(), u64::from(response.status).into()),
        ("statusText".to_owned(), text(&response.reason).into()),
        ("httpVersion".to_owned(), version(response.version)),
        (
            "cookies".to_owned(),
            Node::List(response.header_values("set-cookie").filter_map(|line| set_cookie(line)).collect()),
        ),
        ("headers".to_owned(), headers::write(&lines)),
        ("content".to_owned(), content(response)),
        ("redirectURL".to_owned(), first(&response.headers, "location").into()),
        ("headersSize".to_owned(), (-1_i64).into()),
        ("bodySize".to_owned(), body_size(response, &lines)),
    ];
    if let Outcome::Aborted(error) = &exchange.outcome {
        members.push(("_error".to_owned(), network_error(error).into()));
    }
    Node::Map(members)
}

/// How many bytes came: what the header says where the body was compressed, else those that are there.
fn body_size(response: &Response<'_>, lines: &[Header<'_>]) -> Node {
    let was_compressed = lines.len() != response.headers.len() && lines.iter().any(|line| line.is("content-encoding"));
    if !was_compressed {
        return (response.body_bytes().len() as u64).into();
    }
    first(lines, "content-length").parse::<u64>().map_or((-1_i64).into(), Node::from)
}

fn content(response: &Response<'_>) -> Node {
    let mut members = vec![
        ("size".to_owned(), (response.body_bytes().len() as u64).into()),
        ("mimeType".to_owned(), first(&response.headers, "content-type").into()),
    ];
    if let Some(body) = &response.body {
        put_bytes(&mut members, body.bytes(), "encoding");
    }
    Node::Map(members)
}

fn name_and_value(pair: &[u8]) -> Option<[(&'static str, Node); 2]> {
    let at = pair.iter().position(|&byte| byte == b'=')?;
    let (name, value) = (pair[..at].trim_ascii(), pair[at + 1..].trim_ascii());
    Some([("name", text(name).into()), ("value", text(value).into())])
}

fn cookies(line: &[u8]) -> impl Iterator<Item = Node> {
    line.split(|&byte| byte == b';').filter_map(|pair| name_and_value(pair).map(Node::map))
}

fn set_cookie(line: &[u8]) -> Option<Node> {
    let mut parts = line.split(|&byte| byte == b';');
    let [name, value] = name_and_value(parts.next()?)?;
    let [mut is_secure, mut is_http_only] = [false; 2];
    let mut members: Vec<(String, Node)> = vec![(name.0.to_owned(), name.1), (value.0.to_owned(), value.1)];
    for attribute in parts.map(<[u8]>::trim_ascii) {
        let attribute = text(attribute);
        let (name, value) = attribute.split_once('=').unwrap_or((&attribute, ""));
        match name.to_ascii_lowercase().as_str() {
            "secure" => is_secure = true,
            "httponly" => is_http_only = true,
            name @ ("path" | "domain") => put_last(&mut members, name, value.into()),
            "samesite" => put_last(&mut members, "sameSite", value.into()),
            "expires" => expires(value).into_iter().for_each(|time| put_last(&mut members, "expires", time)),
            _ => {}
        }
    }
    members.push(("httpOnly".to_owned(), Node::Bool(is_http_only)));
    members.push(("secure".to_owned(), Node::Bool(is_secure)));
    Some(Node::Map(members))
}

/// The last of several attributes counts (RFC 6265, section 5.3).
fn put_last(members: &mut Vec<(String, Node)>, name: &str, value: Node) {
    members.retain(|(other, _)| other != name);
    members.push((name.to_owned(), value));
}

/// `Wed, 21 Oct 2026 07:28:00 GMT` as HAR wants it.
fn expires(value: &str) -> Option<Node> {
    let time = rfc2822::DateTimeParser::new().parse_timestamp(value.replace('-', " ")).ok()?;
    Some(time.to_string().into())
}

/// The names of Chrome for errors, and in what they differ from what a cassette has.
const ERRORS: [(&str, NetworkErrorKind); 7] = [
    ("net::ERR_NAME_NOT_RESOLVED", NetworkErrorKind::Dns),
    ("net::ERR_CONNECTION_REFUSED", NetworkErrorKind::Refused),
    ("net::ERR_SSL_PROTOCOL_ERROR", NetworkErrorKind::Tls),
    ("net::ERR_CONNECTION_RESET", NetworkErrorKind::Reset),
    ("net::ERR_TIMED_OUT", NetworkErrorKind::Timeout { after_ms: 0 }),
    ("net::ERR_TOO_MANY_REDIRECTS", NetworkErrorKind::TooManyRedirects { count: 0 }),
    ("net::ERR_INVALID_HTTP_RESPONSE", NetworkErrorKind::Protocol),
];

/// What Chrome calls anything else.
pub(super) const OTHER_ERROR: &str = "net::ERR_FAILED";

fn network_error(error: &NetworkError<'_>) -> String {
    let same = |kind: &NetworkErrorKind| std::mem::discriminant(kind) == std::mem::discriminant(&error.kind);
    let name = ERRORS.iter().find(|(_, kind)| same(kind)).map_or(OTHER_ERROR, |(name, _)| name);
    let message = text(&error.message);
    match error.kind {
        NetworkErrorKind::Other if message.starts_with("net::") => message,
        NetworkErrorKind::Timeout { after_ms } => format!("{name}: after {after_ms} ms: {message}"),
        NetworkErrorKind::TooManyRedirects { count } => format!("{name}: after {count} redirects: {message}"),
        _ if message.is_empty() => name.to_owned(),
        _ => format!("{name}: {message}"),
    }
}

/// What such a name means; anything else is the message of some error.
pub(super) fn read_network_error(error: &str) -> NetworkError<'static> {
    let (name, message) = error.split_once(": ").unwrap_or((error, ""));
    let of = |kind: NetworkErrorKind, message: &str| NetworkError { kind, message: message.to_owned().into() };
    if name == OTHER_ERROR {
        return of(NetworkErrorKind::Other, message);
    }
    let kind = ERRORS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
    match kind.or_else(|| similar(name)) {
        Some(NetworkErrorKind::Timeout { .. }) => {
            let (after_ms, message) = after(message, " ms: ");
            of(NetworkErrorKind::Timeout { after_ms }, message)
        }
        Some(NetworkErrorKind::TooManyRedirects { .. }) => {
            let (count, message) = after(message, " redirects: ");
            of(NetworkErrorKind::TooManyRedirects { count }, message)
        }
        Some(kind) => of(kind, message),
        None => of(NetworkErrorKind::Other, error),
    }
}

/// The number that we put before a message; 0 if there is none.
fn after<'m>(message: &'m str, unit: &str) -> (u64, &'m str) {
    let parts = message.strip_prefix("after ").and_then(|rest| rest.split_once(unit));
    let number = parts.and_then(|(number, rest)| Some((number.parse().ok()?, rest)));
    number.unwrap_or((0, message))
}

/// Other names of the same errors.
fn similar(name: &str) -> Option<NetworkErrorKind> {
    let name = name.strip_prefix("net::ERR_")?;
    Some(match name {
        "NAME_RESOLUTION_FAILED" | "DNS_TIMED_OUT" => NetworkErrorKind::Dns,
        "CONNECTION_CLOSED" | "EMPTY_RESPONSE" => NetworkErrorKind::Reset,
        "CONNECTION_TIMED_OUT" => NetworkErrorKind::Timeout { after_ms: 0 },
        "HTTP2_PROTOCOL_ERROR" | "QUIC_PROTOCOL_ERROR" => NetworkErrorKind::Protocol,
        _ if name.starts_with("CERT_") || name.starts_with("SSL_") => NetworkErrorKind::Tls,
        _ => return None,
    })
}

/// Messages as Chrome has them. Frames that go on with a message are put to it.
fn messages(started_ns: i64, frames: &[WsFrame<'_>]) -> Node {
    let mut messages: Vec<WsFrame<'static>> = Vec::new();
    let mut open: [Option<usize>; 2] = [None; 2];
    for frame in frames {
        let open = &mut open[usize::from(frame.direction == Direction::Received)];
        match *open {
            Some(at) if frame.opcode == Opcode::CONTINUATION => {
                messages[at].payload.0.to_mut().extend_from_slice(&frame.payload);
                if frame.is_final {
                    *open = None;
                }
            }
            _ => {
                if !frame.is_final {
                    *open = Some(messages.len());
                }
                messages.push(frame.borrowed().into_owned());
            }
        }
    }
    Node::List(messages.iter().map(|message| write_message(started_ns, message)).collect())
}

fn write_message(started_ns: i64, message: &WsFrame<'_>) -> Node {
    let is_sent = message.direction == Direction::Sent;
    let at_ns = i128::from(started_ns) + i128::from(message.at_us) * 1000;
    let data = match message.opcode {
        Opcode::TEXT => text(&message.payload),
        _ => STANDARD.encode(&message.payload),
    };
    Node::map([
        ("type", if is_sent { "send" } else { "receive" }.into()),
        ("time", (at_ns as f64 / 1e9).into()),
        ("opcode", u64::from(message.opcode.number()).into()),
        ("data", data.into()),
    ])
}
