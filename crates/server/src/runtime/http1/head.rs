//! Heads of messages.

use cassette::{Bytes, Header, HttpVersion, Informational, Response};
use httparse::{EMPTY_HEADER, ParserConfig, Status};

/// Headers of a head: most have few.
const HEADERS_USUAL: usize = 48;
const HEADERS_MAX: usize = 1024;

/// The head of a request.
#[derive(Debug)]
pub(crate) struct RequestHead<'h> {
    pub(crate) method: &'h str,
    pub(crate) target: &'h str,
    pub(crate) version: HttpVersion,
    pub(crate) headers: Vec<Header<'h>>,
}

/// A head that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidHead {
    pub(crate) status: u16,
    pub(crate) what: &'static str,
}

impl InvalidHead {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { status: 400, what }
    }
}

/// Where a head ends, its empty line included; what was looked at before had no end in it.
pub(super) fn end_of_head(bytes: &[u8], looked_at: usize) -> Option<usize> {
    let ends = memchr::memchr_iter(b'\n', &bytes[looked_at..]).map(|at| looked_at + at + 1);
    ends.into_iter().find_map(|end| match bytes[end..] {
        [b'\n', ..] => Some(end + 1),
        [b'\r', b'\n', ..] => Some(end + 2),
        _ => None,
    })
}

/// Reads the head of a request. Its headers borrow from it.
pub(crate) fn parse_request(head: &[u8]) -> Result<RequestHead<'_>, InvalidHead> {
    if has_bare_line_end(head) {
        return Err(InvalidHead::new("a line of the head ends with something other than CR LF"));
    }
    match request_with(head, &mut [EMPTY_HEADER; HEADERS_USUAL]) {
        Err(httparse::Error::TooManyHeaders) => request_with(head, &mut vec![EMPTY_HEADER; HEADERS_MAX]),
        parsed => parsed,
    }
    .map_err(refusal)
}

fn request_with<'h>(head: &'h [u8], room: &mut [httparse::Header<'h>]) -> Result<RequestHead<'h>, httparse::Error> {
    let mut parsed = httparse::Request::new(room);
    match (parsed.parse(head)?, parsed.method, parsed.path, parsed.version) {
        (Status::Complete(_), Some(method), Some(target), Some(version)) => {
            let headers = parsed.headers.iter().map(header).collect();
            Ok(RequestHead { method, target, version: version_of(version), headers })
        }
        _ => Err(httparse::Error::Token),
    }
}

fn refusal(error: httparse::Error) -> InvalidHead {
    match error {
        httparse::Error::TooManyHeaders => InvalidHead { status: 431, what: "the request has more than 1024 headers" },
        httparse::Error::Version => InvalidHead { status: 505, what: "the version is neither HTTP/1.0 nor HTTP/1.1" },
        httparse::Error::HeaderName => InvalidHead::new(
            "the name of a header has a character that none can have, or a header goes on in a second line",
        ),
        httparse::Error::HeaderValue => InvalidHead::new("the value of a header has a character that none can have"),
        _ => InvalidHead::new("the first line is not METHOD TARGET VERSION"),
    }
}

/// What came before the body of a response, or instead of one.
pub(crate) enum ResponseHead {
    Informational(Informational<'static>),
    Response(Response<'static>),
}

/// Reads the head of a response, or says what is wrong with it. Times are those given.
pub(crate) fn parse_response(head: &[u8], at_us: u64) -> Result<ResponseHead, String> {
    match response_with(head, &mut [EMPTY_HEADER; HEADERS_USUAL], at_us) {
        Err(httparse::Error::TooManyHeaders) => response_with(head, &mut vec![EMPTY_HEADER; HEADERS_MAX], at_us),
        parsed => parsed,
    }
    .map_err(|error| format!("the head of the response is not HTTP: {error}"))
}

fn response_with<'h>(
    head: &'h [u8],
    room: &mut [httparse::Header<'h>],
    at_us: u64,
) -> Result<ResponseHead, httparse::Error> {
    let mut config = ParserConfig::default();
    // What other clients take from servers that do not keep to the rules.
    config.allow_obsolete_multiline_headers_in_responses(true);
    config.allow_spaces_after_header_name_in_responses(true);
    let mut parsed = httparse::Response::new(room);
    let complete = config.parse_response(&mut parsed, head)?;
    let (Status::Complete(_), Some(status), Some(version)) = (complete, parsed.code, parsed.version) else {
        return Err(httparse::Error::Token);
    };
    let headers = parsed.headers.iter().map(|one| unfolded(header(one)).into_owned()).collect();
    let reason: Bytes<'static> = parsed.reason.unwrap_or_default().as_bytes().to_vec().into();
    if (100..200).contains(&status) && status != 101 {
        return Ok(ResponseHead::Informational(Informational { at_us, status, reason, headers }));
    }
    let version = version_of(version);
    Ok(ResponseHead::Response(Response { at_us, status, reason, version, headers, ..Response::default() }))
}

fn header<'h>(header: &httparse::Header<'h>) -> Header<'h> {
    Header { name: header.name.into(), value: trimmed(header.value).into() }
}

/// Without the space around it (RFC 9112, section 5).
fn trimmed(value: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let begin = value.iter().position(|byte| !is_space(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !is_space(byte)).map_or(begin, |last| last + 1);
    &value[begin..end]
}

/// A value of several lines in one (RFC 9112, section 5.2).
fn unfolded(header: Header<'_>) -> Header<'_> {
    if !header.value.contains(&b'\n') {
        return header;
    }
    let lines = header.value.split(|&byte| byte == b'\n').map(|line| line.trim_ascii().to_vec());
    let value = lines.collect::<Vec<_>>().join(&b' ');
    Header { name: header.name, value: value.into() }
}

fn version_of(minor: u8) -> HttpVersion {
    if minor == 0 { HttpVersion::Http10 } else { HttpVersion::Http11 }
}

/// Whether there is a CR without an LF, or an LF without a CR.
fn has_bare_line_end(head: &[u8]) -> bool {
    memchr::memchr2_iter(b'\r', b'\n', head).any(|at| match head[at] {
        b'\r' => head.get(at + 1) != Some(&b'\n'),
        _ => at == 0 || head[at - 1] != b'\r',
    })
}

/// The value of the first header of a name.
pub(crate) fn named<'h>(headers: &'h [Header<'_>], name: &str) -> Option<&'h [u8]> {
    headers.iter().find(|header| header.is(name)).map(|header| &*header.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_keep_what_was_sent() {
        let head = b"GET /a?b HTTP/1.1\r\nhOST: a.test\r\nX:\r\nX:  \xff two \t\r\n\r\n";
        let parsed = parse_request(head).unwrap();
        assert_eq!((parsed.method, parsed.target, parsed.version), ("GET", "/a?b", HttpVersion::Http11));
        let expected = [Header::new("hOST", "a.test"), Header::new("X", ""), Header::new("X", b"\xff two")];
        assert_eq!(parsed.headers, expected);
    }

    #[test]
    fn what_can_be_understood_in_two_ways_is_refused() {
        for head in [
            &b"GET / HTTP/1.1\nHost: a\n\n"[..],
            b"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n",
            b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        ] {
            assert!(parse_request(head).is_err(), "{}", head.escape_ascii());
        }
    }

    #[test]
    fn an_end_is_found_wherever_reading_stopped() {
        let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
        let end = head.len() - 4;
        for cut in 0..head.len() {
            let first = end_of_head(&head[..cut], 0);
            assert_eq!(first, (cut >= end).then_some(end), "{cut}");
            assert_eq!(first.or_else(|| end_of_head(head, cut.saturating_sub(3))), Some(end), "{cut}");
        }
    }

    #[test]
    fn responses_are_taken_as_servers_send_them() {
        let head = b"HTTP/1.1 200 All is well\nA : b\r\nX: one\r\n  two\r\n\r\n";
        let Ok(ResponseHead::Response(response)) = parse_response(head, 7) else { panic!() };
        assert_eq!((response.status, response.at_us), (200, 7));
        assert_eq!(response.reason, "All is well");
        assert_eq!(response.headers, [Header::new("A", "b"), Header::new("X", "one two")]);
    }
}
