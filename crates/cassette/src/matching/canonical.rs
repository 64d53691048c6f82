//! Requests in a form in which equal ones have equal bytes, under given rules.
//!
//! Each thing that is compared is a tag, a length and bytes, so that nothing of one can look like something of another.

use crate::key::KEY_BODY_BYTES_MAX;
use crate::matching::json::{self, JsonPath};
use crate::matching::rules::{BodyRule, HeaderRule, MatchRules, PathRule, QueryRule};
use crate::message::{Header, Request};
use crate::url::{normalized_path, sorted_pairs};
use regex::bytes::{Captures, Regex};
use std::borrow::Cow;
use twox_hash::XxHash3_64;

/// Headers that say how a connection is used and not what is asked (RFC 9110, section 7.6.1).
const OF_A_CONNECTION: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What rules are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPart {
    Method,
    Scheme,
    Host,
    Port,
    Path,
    Query,
    Headers,
    Body,
}

impl RequestPart {
    pub(crate) const ALL: [Self; 8] =
        [Self::Method, Self::Scheme, Self::Host, Self::Port, Self::Path, Self::Query, Self::Headers, Self::Body];
}

impl MatchRules {
    /// The key of a request: requests that are the same question have the same one. A body of more than
    /// [`KEY_BODY_BYTES_MAX`] bytes has no part in it.
    pub fn key(&self, request: &Request<'_>) -> u64 {
        let is_long = self.decompressed(request).body_bytes().len() > KEY_BODY_BYTES_MAX;
        XxHash3_64::oneshot(&if is_long { self.canonical(&request.head()) } else { self.canonical(request) })
    }

    /// Whether two requests are the same question, as far as everything but custom conditions goes.
    pub fn same(&self, one: &Request<'_>, other: &Request<'_>) -> bool {
        self.canonical(one) == self.canonical(other)
    }

    /// The number under which a cassette may keep keys of these rules for good; `None` unless they are the default ones.
    /// Custom conditions have no part in a key.
    pub fn scheme(&self) -> Option<u32> {
        let Self { method, scheme, host, port, path, query, headers, body, custom: _ } = self;
        let all = *method && *scheme && *host && *port && *headers == HeaderRule::Ignored && *query == QueryRule::Pairs;
        (all && matches!((path, body), (PathRule::Exact, BodyRule::Content))).then_some(2)
    }

    /// The bytes that requests have in common if they are the same question.
    pub(crate) fn canonical(&self, request: &Request<'_>) -> Vec<u8> {
        let mut out = LengthPrefixed(Vec::with_capacity(64 + request.target.len() + request.body_bytes().len()));
        RequestPart::ALL.into_iter().for_each(|part| self.put(part, request, &mut out));
        out.0
    }

    /// The bytes that requests have in common if they are equal in one part.
    pub(crate) fn canonical_part(&self, part: RequestPart, request: &Request<'_>) -> Vec<u8> {
        let mut out = LengthPrefixed(Vec::new());
        self.put(part, request, &mut out);
        out.0
    }

    fn put(&self, part: RequestPart, request: &Request<'_>, out: &mut LengthPrefixed) {
        match part {
            RequestPart::Method if self.method => out.put(b'm', &request.method),
            RequestPart::Scheme if self.scheme => out.put(b's', &request.scheme.to_ascii_lowercase()),
            RequestPart::Host if self.host => out.put(b'h', &request.host.to_ascii_lowercase()),
            RequestPart::Port if self.port => out.put(b'p', &request.port.to_be_bytes()),
            RequestPart::Method | RequestPart::Scheme | RequestPart::Host | RequestPart::Port => {}
            RequestPart::Path => self.put_path(request, out),
            RequestPart::Query => self.put_query(request, out),
            RequestPart::Headers => {
                for header in self.headers_of(request) {
                    out.put(b'n', &header.name.to_ascii_lowercase());
                    out.put(b'v', &header.value);
                }
            }
            RequestPart::Body => self.put_body(&self.decompressed(request), out),
        }
    }

    /// A request with its body as the rule for bodies sees it: without compression, which differs from one library to the next,
    /// unless each byte is to be the same.
    pub(crate) fn decompressed<'r, 'a>(&self, request: &'r Request<'a>) -> Cow<'r, Request<'a>> {
        let body = match self.body {
            BodyRule::Bytes | BodyRule::Ignored => None,
            _ => request.decoded_body(),
        };
        match body {
            Some(body) => Cow::Owned(Request { body: Some(body), ..request.clone() }),
            None => Cow::Borrowed(request),
        }
    }

    fn put_path(&self, request: &Request<'_>, out: &mut LengthPrefixed) {
        let path = normalized_path(request.path());
        match &self.path {
            PathRule::Ignored => {}
            PathRule::Exact => out.put(b'a', &path),
            PathRule::Captures(pattern) => out.put_captures(pattern, &path),
        }
    }

    fn put_query(&self, request: &Request<'_>, out: &mut LengthPrefixed) {
        match (&self.query, request.query()) {
            (QueryRule::Ignored, _) => {}
            (QueryRule::AsSent, query) => out.put_optional(query),
            (QueryRule::Pairs, query) => out.put_pairs(query.unwrap_or_default(), &[]),
            (QueryRule::Without(names), query) => out.put_pairs(query.unwrap_or_default(), names),
        }
    }

    /// The headers that are compared, sorted by name; values of a name stay in their order.
    pub(crate) fn headers_of<'r, 'a>(&self, request: &'r Request<'a>) -> Vec<&'r Header<'a>> {
        let named = |header: &Header<'_>, names: &[String]| names.iter().any(|name| header.is(name));
        let mut headers: Vec<_> = match &self.headers {
            HeaderRule::Ignored => Vec::new(),
            HeaderRule::Only(names) => request.headers.iter().filter(|header| named(header, names)).collect(),
            HeaderRule::Without(names) => {
                let of_a_connection = |header: &Header<'_>| OF_A_CONNECTION.iter().any(|name| header.is(name));
                request.headers.iter().filter(|header| !named(header, names) && !of_a_connection(header)).collect()
            }
        };
        headers.sort_by_cached_key(|header| header.name.to_ascii_lowercase());
        headers
    }

    fn put_body(&self, request: &Request<'_>, out: &mut LengthPrefixed) {
        let body = request.body_bytes();
        match &self.body {
            BodyRule::Ignored => {}
            BodyRule::Bytes => out.put(b'b', body),
            BodyRule::Length => out.put(b'l', &(body.len() as u64).to_be_bytes()),
            BodyRule::Content => out.put_content(request, body),
            BodyRule::JsonWithout(paths) => out.put_json(body, paths),
            BodyRule::JsonAt(paths) => out.put_json_at(body, paths),
            BodyRule::Captures(pattern) => out.put_captures(pattern, body),
        }
    }
}

/// What a body is, as its `Content-Type` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BodyContent {
    Json,
    Form,
    /// With this boundary.
    Multipart(Vec<u8>),
    Other,
}

impl BodyContent {
    pub(crate) fn of(headers: &[Header<'_>]) -> Self {
        let Some(value) = headers.iter().find(|header| header.is("content-type")).map(|header| &header.value) else {
            return Self::Other;
        };
        let text = value.to_text_lossy();
        let mut parts = text.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let mut boundary = || parts.find_map(|part| named(part, "boundary="));
        match kind.as_str() {
            "application/json" => Self::Json,
            kind if kind.ends_with("+json") => Self::Json,
            "application/x-www-form-urlencoded" => Self::Form,
            kind if kind.starts_with("multipart/") => boundary().map_or(Self::Other, Self::Multipart),
            _ => Self::Other,
        }
    }
}

/// The value of a parameter `name=value`, without quotes around it.
fn named(parameter: &str, name: &str) -> Option<Vec<u8>> {
    let (begin, value) = parameter.split_at_checked(name.len())?;
    (begin.eq_ignore_ascii_case(name) && !value.is_empty()).then(|| value.trim_matches('"').as_bytes().to_vec())
}

/// A multipart body with another boundary in place of its own, which clients make at random.
pub(crate) fn without_boundary<'a>(body: &'a [u8], boundary: &[u8]) -> Cow<'a, [u8]> {
    let delimiter = [b"--", boundary].concat();
    let mut places = memchr::memmem::find_iter(body, &delimiter).peekable();
    if places.peek().is_none() {
        return Cow::Borrowed(body);
    }
    let mut out = Vec::with_capacity(body.len());
    let mut done = 0;
    for place in places {
        out.extend_from_slice(&body[done..place]);
        out.extend_from_slice(b"--boundary");
        done = place + delimiter.len();
    }
    out.extend_from_slice(&body[done..]);
    Cow::Owned(out)
}

struct LengthPrefixed(Vec<u8>);

impl LengthPrefixed {
    fn put(&mut self, tag: u8, bytes: &[u8]) {
        self.0.push(tag);
        self.0.extend((bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }

    fn put_optional(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.put(b'+', bytes),
            None => self.0.push(b'-'),
        }
    }

    fn put_pairs(&mut self, query: &[u8], without: &[String]) {
        for (name, value) in sorted_pairs(query) {
            if !without.iter().any(|left_out| *left_out.as_bytes() == *name) {
                self.put(b'k', &name);
                self.put_optional(value.as_deref());
            }
        }
    }

    fn put_captures(&mut self, pattern: &Regex, text: &[u8]) {
        let Some(captures) = pattern.captures(text) else { return self.put(b'r', text) };
        for group in compared_groups(&captures) {
            self.put_optional(captures.get(group).map(|captured| captured.as_bytes()));
        }
    }

    fn put_content(&mut self, request: &Request<'_>, body: &[u8]) {
        match BodyContent::of(&request.headers) {
            BodyContent::Json => self.put_json(body, &[]),
            BodyContent::Form => {
                self.0.push(b'f');
                self.put_pairs(body, &[]);
            }
            BodyContent::Multipart(boundary) => self.put(b'b', &without_boundary(body, &boundary)),
            BodyContent::Other => self.put(b'b', body),
        }
    }

    fn put_json(&mut self, body: &[u8], without: &[JsonPath]) {
        let Some(mut value) = json::read(body) else { return self.put(b'b', body) };
        json::remove(&mut value, without);
        let mut text = Vec::with_capacity(body.len());
        json::write(&value, &mut text);
        self.put(b'j', &text);
    }

    fn put_json_at(&mut self, body: &[u8], paths: &[JsonPath]) {
        let Some(value) = json::read(body) else { return self.put(b'b', body) };
        for path in paths {
            let found = json::at(&value, path);
            if found.is_empty() {
                return self.put(b'b', body);
            }
            self.0.extend((found.len() as u64).to_le_bytes());
            for value in found {
                let mut text = Vec::new();
                json::write(value, &mut text);
                self.put(b'j', &text);
            }
        }
    }
}

/// The groups whose captures count: all, or the whole match if there are none.
fn compared_groups(captures: &Captures<'_>) -> std::ops::Range<usize> {
    if captures.len() > 1 { 1..captures.len() } else { 0..1 }
}
