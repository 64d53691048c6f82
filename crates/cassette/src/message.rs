//! Requests and responses as they were on the wire.

use crate::bytes::Bytes;
use serde::Deserialize;
use std::ops::Range;

/// The version of HTTP that a message was sent in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HttpVersion {
    /// HTTP/0.9.
    Http09,
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    #[default]
    Http11,
    /// HTTP/2.
    Http2,
    /// HTTP/3.
    Http3,
}

/// One header or trailer line, or one field of HTTP/2: the name and the value as sent, in any case, in any encoding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Header<'a> {
    /// The name, in the case it was sent in. Names that differ in case are the same name: [`Header::is`].
    pub name: Bytes<'a>,
    /// The value, without the space around it.
    pub value: Bytes<'a>,
}

impl<'a> Header<'a> {
    /// A header.
    pub fn new(name: impl Into<Bytes<'a>>, value: impl Into<Bytes<'a>>) -> Self {
        Self { name: name.into(), value: value.into() }
    }

    /// Whether this is its name, whatever the case of the letters A to Z.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// This header, borrowed from here.
    pub fn borrowed(&self) -> Header<'_> {
        Header { name: self.name.borrowed(), value: self.value.borrowed() }
    }

    /// A header that borrows from nothing.
    pub fn into_owned(self) -> Header<'static> {
        Header { name: self.name.into_owned(), value: self.value.into_owned() }
    }
}

/// Where a chunk of a body ends, and when it was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Chunk {
    /// Microseconds after the exchange began.
    pub at_us: u64,
    /// How many bytes it has. A chunk without any is one that came without any.
    pub bytes: usize,
}

/// The bytes of a body and the boundaries of its chunks.
///
/// Invariant: the lengths of the chunks add up to the length of the bytes. An empty body may have no chunk. A body that
/// was not there at all is `None` where a body is expected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Body<'a> {
    bytes: Bytes<'a>,
    chunks: Vec<Chunk>,
}

impl<'a> Body<'a> {
    /// A body that came as one chunk.
    pub fn new(at_us: u64, bytes: impl Into<Bytes<'a>>) -> Self {
        let bytes = bytes.into();
        Self { chunks: vec![Chunk { at_us, bytes: bytes.len() }], bytes }
    }

    /// A body of these bytes and chunks; `None` if the lengths do not add up.
    pub fn from_parts(bytes: impl Into<Bytes<'a>>, chunks: Vec<Chunk>) -> Option<Self> {
        let bytes = bytes.into();
        let total = chunks.iter().try_fold(0_usize, |sum, chunk| sum.checked_add(chunk.bytes));
        (total == Some(bytes.len())).then_some(Self { bytes, chunks })
    }

    /// The bytes and the chunks.
    pub fn into_parts(self) -> (Bytes<'a>, Vec<Chunk>) {
        (self.bytes, self.chunks)
    }

    /// Appends a chunk.
    pub fn push(&mut self, at_us: u64, chunk: &[u8]) {
        self.bytes.0.to_mut().extend_from_slice(chunk);
        self.chunks.push(Chunk { at_us, bytes: chunk.len() });
    }

    /// All of its bytes.
    pub fn bytes(&self) -> &Bytes<'a> {
        &self.bytes
    }

    /// Where its chunks end, in order.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// The chunks with their bytes, in order: when each was there, in microseconds after the exchange began.
    pub fn pieces(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut rest: &[u8] = &self.bytes;
        self.chunks.iter().map(move |chunk| {
            let (piece, later) = rest.split_at(chunk.bytes);
            rest = later;
            (chunk.at_us, piece)
        })
    }

    /// Puts other bytes in place of a range, which may span chunks. They belong to the chunk in which the range begins; the
    /// other chunks lose what they had of it.
    ///
    /// # Panics
    /// The range is not within the body.
    pub fn splice(&mut self, range: Range<usize>, replacement: &[u8]) {
        assert!(range.start <= range.end && range.end <= self.bytes.len(), "the range lies within the body");
        if range.is_empty() && replacement.is_empty() {
            return;
        }
        self.bytes.0.to_mut().splice(range.clone(), replacement.iter().copied());
        self.move_boundaries(range, replacement.len());
    }

    fn move_boundaries(&mut self, range: Range<usize>, mut added: usize) {
        let mut begin = 0;
        let last = self.chunks.len().saturating_sub(1);
        for (index, chunk) in self.chunks.iter_mut().enumerate() {
            let end = begin + chunk.bytes;
            let removed = end.min(range.end).saturating_sub(begin.max(range.start));
            let takes = range.start >= begin && (range.start < end || index == last);
            chunk.bytes = chunk.bytes - removed + if takes { std::mem::take(&mut added) } else { 0 };
            begin = end;
        }
        if self.chunks.is_empty() {
            self.chunks.push(Chunk { at_us: 0, bytes: added });
        }
    }

    /// This body, its bytes borrowed from here.
    pub fn borrowed(&self) -> Body<'_> {
        Body { bytes: self.bytes.borrowed(), chunks: self.chunks.clone() }
    }

    /// A body that borrows from nothing.
    pub fn into_owned(self) -> Body<'static> {
        Body { bytes: self.bytes.into_owned(), chunks: self.chunks }
    }
}

/// What was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub struct Request<'a> {
    /// `GET`, in the case it was sent in.
    pub method: Bytes<'a>,
    /// `http` or `https`; `ws` and `wss` are written as these.
    pub scheme: Bytes<'a>,
    /// Where it was sent: a name or an address, without brackets and port, as the client wrote it.
    pub host: Bytes<'a>,
    /// Where it was sent. Always known: 80 or 443 where the client named none.
    pub port: u16,
    /// The target in origin form as it was sent, escapes and all: path, `?` and query; `*` for a whole server.
    pub target: Bytes<'a>,
    /// The version of HTTP.
    #[serde(default)]
    pub version: HttpVersion,
    /// In the order they came, as often as they came.
    #[serde(default)]
    pub headers: Vec<Header<'a>>,
    /// `None` if there was none, which is not the same as an empty one.
    #[serde(default)]
    pub body: Option<Body<'a>>,
    /// What came after the body.
    #[serde(default)]
    pub trailers: Vec<Header<'a>>,
}

impl Request<'_> {
    /// The part of the target before the first `?`.
    pub fn path(&self) -> &[u8] {
        self.split_target().0
    }

    /// The part of the target after the first `?`; `None` if it has none, which is not the same as an empty one.
    pub fn query(&self) -> Option<&[u8]> {
        self.split_target().1
    }

    /// `GET https://example.com/a?b`, for people; the port is named if it is not that of the scheme.
    pub fn line(&self) -> String {
        line_of(self)
    }

    fn split_target(&self) -> (&[u8], Option<&[u8]>) {
        match self.target.iter().position(|&byte| byte == b'?') {
            Some(at) => (&self.target[..at], Some(&self.target[at + 1..])),
            None => (&self.target, None),
        }
    }

    /// This request, borrowed from here, without body and trailers.
    pub fn head(&self) -> Request<'_> {
        Request {
            method: self.method.borrowed(),
            scheme: self.scheme.borrowed(),
            host: self.host.borrowed(),
            port: self.port,
            target: self.target.borrowed(),
            version: self.version,
            headers: borrowed(&self.headers),
            body: None,
            trailers: Vec::new(),
        }
    }

    /// A request that borrows from nothing.
    pub fn into_owned(self) -> Request<'static> {
        Request {
            method: self.method.into_owned(),
            scheme: self.scheme.into_owned(),
            host: self.host.into_owned(),
            port: self.port,
            target: self.target.into_owned(),
            version: self.version,
            headers: owned(self.headers),
            body: self.body.map(Body::into_owned),
            trailers: owned(self.trailers),
        }
    }
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub struct Response<'a> {
    /// When its head was there, in microseconds after the exchange began.
    #[serde(default)]
    pub at_us: u64,
    /// `200`. Numbers that are not a status of HTTP are kept as well.
    pub status: u16,
    /// The reason phrase of HTTP/1; empty where there is none.
    #[serde(default)]
    pub reason: Bytes<'a>,
    /// The version of HTTP.
    #[serde(default)]
    pub version: HttpVersion,
    /// In the order they came, as often as they came.
    #[serde(default)]
    pub headers: Vec<Header<'a>>,
    /// `None` if there was none, as after `HEAD` or with 204; not the same as an empty one.
    #[serde(default)]
    pub body: Option<Body<'a>>,
    /// What came after the body.
    #[serde(default)]
    pub trailers: Vec<Header<'a>>,
}

impl Response<'_> {
    /// This response, borrowed from here, without body and trailers.
    pub fn head(&self) -> Response<'_> {
        Response {
            at_us: self.at_us,
            status: self.status,
            reason: self.reason.borrowed(),
            version: self.version,
            headers: borrowed(&self.headers),
            body: None,
            trailers: Vec::new(),
        }
    }

    /// A response that borrows from nothing.
    pub fn into_owned(self) -> Response<'static> {
        Response {
            at_us: self.at_us,
            status: self.status,
            reason: self.reason.into_owned(),
            version: self.version,
            headers: owned(self.headers),
            body: self.body.map(Body::into_owned),
            trailers: owned(self.trailers),
        }
    }
}

/// A response before the response: 100 Continue, 103 Early Hints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub struct Informational<'a> {
    /// When it was there, in microseconds after the exchange began.
    #[serde(default)]
    pub at_us: u64,
    /// 100 to 199.
    pub status: u16,
    /// The reason phrase of HTTP/1; empty where there is none.
    #[serde(default)]
    pub reason: Bytes<'a>,
    /// In the order they came.
    #[serde(default)]
    pub headers: Vec<Header<'a>>,
}

impl Informational<'_> {
    /// This informational response, borrowed from here.
    pub fn borrowed(&self) -> Informational<'_> {
        let (at_us, status) = (self.at_us, self.status);
        Informational { at_us, status, reason: self.reason.borrowed(), headers: borrowed(&self.headers) }
    }

    /// This informational response, borrowing from nothing.
    pub fn into_owned(self) -> Informational<'static> {
        let (at_us, status) = (self.at_us, self.status);
        Informational { at_us, status, reason: self.reason.into_owned(), headers: owned(self.headers) }
    }
}

/// What requests and responses have in common.
macro_rules! of_messages {
    ($($message:ident)*) => {$(
        impl<'a> $message<'a> {
            /// Every value of a header, in order.
            pub fn header_values<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Bytes<'a>> {
                self.headers.iter().filter(move |header| header.is(name)).map(|header| &header.value)
            }

            /// The bytes of the body; none if there is no body.
            pub fn body_bytes(&self) -> &[u8] {
                self.body.as_ref().map_or(&[], |body| body.bytes())
            }

            /// This message, borrowed from here.
            pub fn borrowed(&self) -> $message<'_> {
                let (body, trailers) = (self.body.as_ref().map(Body::borrowed), borrowed(&self.trailers));
                $message { body, trailers, ..self.head() }
            }
        }
    )*};
}

of_messages! { Request Response }

fn borrowed<'s>(headers: &'s [Header<'_>]) -> Vec<Header<'s>> {
    headers.iter().map(Header::borrowed).collect()
}

fn owned(headers: Vec<Header<'_>>) -> Vec<Header<'static>> {
    headers.into_iter().map(Header::into_owned).collect()
}

/// `GET https://example.com/a?b`; a port is named if it is not that of the scheme.
pub(crate) fn line_of(request: &Request<'_>) -> String {
    let Request { method, scheme, host, port, target, .. } = request;
    let usual = if *scheme == "https" { 443 } else { 80 };
    let port = if *port == usual { String::new() } else { format!(":{port}") };
    let [method, scheme, host, target] = [method, scheme, host, target].map(|part| part.to_text_lossy());
    let host = if host.contains(':') { format!("[{host}]") } else { host.into_owned() };
    format!("{method} {scheme}://{host}{port}{target}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(body: &Body<'_>) -> Vec<usize> {
        body.chunks().iter().map(|chunk| chunk.bytes).collect()
    }

    #[test]
    fn chunks_keep_their_bytes() {
        let mut body = Body::new(5, "ab");
        body.push(9, b"");
        body.push(12, b"cde");
        assert_eq!(body.pieces().collect::<Vec<_>>(), [(5, &b"ab"[..]), (9, b""), (12, b"cde")]);
        assert_eq!(Body::from_parts("abcde", body.chunks().to_vec()), Some(body));
        assert_eq!(Body::from_parts("abcd", vec![Chunk { at_us: 0, bytes: 5 }]), None);
    }

    #[test]
    fn what_is_put_in_belongs_to_the_chunk_where_it_begins() {
        let chunks = |lengths: &[usize]| lengths.iter().map(|&bytes| Chunk { at_us: 0, bytes }).collect();
        for (range, replacement, text, expected) in [
            (1..2, "XYZ", "aXYZcdefg", [5, 0, 4]),
            (2..5, "X", "abXfg", [3, 0, 2]),
            (3..4, "X", "abcXefg", [3, 0, 4]),
            (7..7, "X", "abcdefgX", [3, 0, 5]),
            (0..7, "", "", [0, 0, 0]),
        ] {
            let mut body = Body::from_parts("abcdefg", chunks(&[3, 0, 4])).unwrap();
            body.splice(range, replacement.as_bytes());
            assert_eq!((body.bytes(), lengths(&body)), (&Bytes::from(text), expected.to_vec()), "{text}");
        }
        let mut empty = Body::default();
        empty.splice(0..0, b"X");
        assert_eq!(lengths(&empty), [1]);
    }

    #[test]
    fn a_target_without_a_query_is_not_one_with_an_empty_one() {
        let of = |target| Request { target: Bytes::from(target), ..Request::default() };
        assert_eq!((of("/a?").path(), of("/a?").query()), (&b"/a"[..], Some(&b""[..])));
        assert_eq!((of("/a").path(), of("/a").query()), (&b"/a"[..], None));
        assert_eq!(of("/a?b?c").query(), Some(&b"b?c"[..]));
    }
}
