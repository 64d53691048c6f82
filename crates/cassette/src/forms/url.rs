//! URLs of other recorders: taken apart and put together. Nothing in them is decoded.

use crate::bytes::Bytes;
use crate::message::Request;
use crate::url as query;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Where a URL leads, and whether by WebSocket. Whatever it is, it can be said: what has no host, such as `data:,x`, is a scheme
/// and a target. User names and fragments are left out; they are not sent as parts of a target.
pub(super) fn split(url: &str) -> (Request<'static>, bool) {
    let scheme = url.find(':').filter(|&end| is_scheme(&url[..end]));
    let (scheme, rest) = scheme.map_or(("", url), |end| (&url[..end], &url[end + 1..]));
    let scheme = scheme.to_ascii_lowercase();
    let (scheme, is_websocket) = match scheme.as_str() {
        "ws" => ("http".to_owned(), true),
        "wss" => ("https".to_owned(), true),
        _ => (scheme, false),
    };
    let request = rest.strip_prefix("//").and_then(|rest| at_host(rest, default_port(scheme.as_bytes())));
    let request = request.unwrap_or_else(|| Request { target: rest.to_owned().into(), ..Request::default() });
    (Request { scheme: scheme.into(), ..request }, is_websocket)
}

fn at_host(rest: &str, default_port: u16) -> Option<Request<'static>> {
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, "")) => (host, default_port),
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (authority, default_port),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
    Some(Request { host: host.to_owned().into(), port, target: target.into(), ..Request::default() })
}

fn is_scheme(scheme: &str) -> bool {
    let mut bytes = scheme.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// 0 for a scheme that has none.
fn default_port(scheme: &[u8]) -> u16 {
    match scheme {
        b"http" => 80,
        b"https" => 443,
        _ => 0,
    }
}

/// The URL that a request was sent to. What is not UTF-8 is written as [`text`] has it.
pub(super) fn join(request: &Request<'_>, is_websocket: bool) -> String {
    let scheme = match (&*request.scheme, is_websocket) {
        (b"http", true) => "ws".to_owned(),
        (b"https", true) => "wss".to_owned(),
        (scheme, _) => text(scheme),
    };
    let (host, target) = (text(&request.host), text(&request.target));
    if host.is_empty() && request.port == 0 {
        return if scheme.is_empty() { target } else { format!("{scheme}:{target}") };
    }
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let port = if request.port == default_port(&request.scheme) { String::new() } else { format!(":{}", request.port) };
    let slash = if target.starts_with('/') { "" } else { "/" };
    format!("{scheme}://{host}{port}{slash}{target}")
}

/// Bytes as text: UTF-8 if they are that, else a character for each byte, as recorders show what they do not understand.
pub(super) fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

/// The parts of a query, as they were sent: names and values.
pub(super) fn parameters(query: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let parts = query.split(|&byte| byte == b'&').filter(|part| !part.is_empty());
    parts.map(|part| match part.iter().position(|&byte| byte == b'=') {
        Some(at) => (&part[..at], &part[at + 1..]),
        None => (part, &[][..]),
    })
}

/// A part of a query or of a form without its escapes.
pub(super) fn unescaped(part: &[u8]) -> String {
    text(&query::unescaped(part))
}

/// What the names and values of a form have as it is, after WHATWG; a space becomes `+`.
const FORM_ESCAPES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'*').remove(b'-').remove(b'.').remove(b'_').remove(b' ');

/// A name or value of a form with what must be escaped in it.
pub(super) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, FORM_ESCAPES).to_string().replace(' ', "+")
}

/// Text from a document as bytes.
pub(super) fn bytes(text: &str) -> Bytes<'static> {
    text.to_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_come_apart_and_together() {
        for (url, host, port, target) in [
            ("https://example.com/a?b=%20", "example.com", 443, "/a?b=%20"),
            ("http://example.com:8080/", "example.com", 8080, "/"),
            ("wss://[::1]:8443/x", "::1", 8443, "/x"),
            ("data:text/plain,a:b", "", 0, "text/plain,a:b"),
            ("chrome-extension://abc/x.js", "abc", 0, "/x.js"),
            ("nothing", "", 0, "nothing"),
        ] {
            let (request, is_websocket) = split(url);
            assert_eq!((&request.host, request.port, &request.target), (&host.into(), port, &target.into()), "{url}");
            assert_eq!(join(&request, is_websocket), url);
        }
        for (url, plain) in [
            ("HTTPS://user:word@example.com:443?q#f", "https://example.com/?q"),
            ("http://example.com:80", "http://example.com/"),
            ("http://a:b:c/", "http://a:b:c/"),
        ] {
            let (request, is_websocket) = split(url);
            assert_eq!(join(&request, is_websocket), plain);
        }
    }

    #[test]
    fn escapes_come_back() {
        assert_eq!(unescaped(b"a+b%20%c3%a9%4"), "a b é%4");
        assert_eq!(unescaped(escaped("a &=é*").as_bytes()), "a &=é*");
        assert_eq!(parameters(b"a=1&&b&c=d=e").count(), 3);
    }
}
