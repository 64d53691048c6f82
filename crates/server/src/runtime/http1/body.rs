//! Bodies of messages as they come.

use super::{Http1Reader, InvalidHead, named};
use crate::runtime::peer_error::PeerError;
use bytes::Bytes;
use cassette::{Header, HttpVersion};
use httparse::EMPTY_HEADER;
use std::io;

/// How the end of a body is known (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is none.
    Absent,
    /// It has this many bytes.
    Known(u64),
    /// It says so itself.
    Chunked,
    /// The connection ends with it.
    UntilEnd,
}

impl Framing {
    /// Of a request. What two readers could take for different lengths is refused.
    pub(crate) fn of_request(version: HttpVersion, headers: &[Header<'_>]) -> Result<Self, InvalidHead> {
        let mut codings = headers.iter().filter(|header| header.is("transfer-encoding"));
        let mut lengths = headers.iter().filter(|header| header.is("content-length"));
        match (codings.next(), lengths.next()) {
            (None, None) => Ok(Self::Absent),
            (Some(_), Some(_)) => Err(InvalidHead::new("the request has both Transfer-Encoding and Content-Length")),
            (None, Some(length)) => {
                if lengths.next().is_some() {
                    return Err(InvalidHead::new("the request has more than one Content-Length"));
                }
                number(&length.value).map(Self::Known).ok_or(InvalidHead::new("Content-Length is not a number"))
            }
            (Some(coding), None) => {
                if version == HttpVersion::Http10 {
                    return Err(InvalidHead::new("HTTP/1.0 has no Transfer-Encoding"));
                }
                if codings.next().is_some() || !coding.value.eq_ignore_ascii_case(b"chunked") {
                    return Err(InvalidHead {
                        status: 501,
                        what: "the only Transfer-Encoding that is known is chunked",
                    });
                }
                Ok(Self::Chunked)
            }
        }
    }

    /// Of a response to a request of this method; says what is wrong if there is more than one length.
    pub(crate) fn of_response(method: &[u8], status: u16, headers: &[Header<'_>]) -> Result<Self, String> {
        if method == b"HEAD" || status < 200 || matches!(status, 204 | 304) {
            return Ok(Self::Absent);
        }
        if let Some(codings) = headers.iter().rfind(|header| header.is("transfer-encoding")) {
            let last = codings.value.rsplit(|&byte| byte == b',').next().unwrap_or_default();
            let is_chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
            return Ok(if is_chunked { Self::Chunked } else { Self::UntilEnd });
        }
        let Some(length) = named(headers, "content-length") else { return Ok(Self::UntilEnd) };
        let others = headers.iter().filter(|header| header.is("content-length"));
        if others.into_iter().any(|other| *other.value != *length) {
            return Err("the response has two lengths".to_owned());
        }
        // A list of equal numbers is one number (RFC 9110, section 8.6).
        let mut numbers = length.split(|&byte| byte == b',').map(|one| number(one.trim_ascii()));
        let first = numbers.next().flatten();
        let first = first.filter(|first| numbers.all(|other| other == Some(*first)));
        first.map(Self::Known).ok_or_else(|| "the Content-Length of the response is not a number".to_owned())
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

/// Reads a body piece by piece: a piece is what came at once, and never of two chunks.
pub(crate) struct BodyDecoder {
    state: DecoderState,
    trailers: Vec<Header<'static>>,
    trailer_bytes_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DecoderState {
    Known(u64),
    UntilEnd,
    ChunkSize,
    Chunk(u64),
    ChunkEnd,
    Trailers,
    Done,
}

/// A line with the size of a chunk is not longer; extensions are read over.
const SIZE_LINE_BYTES_MAX: usize = 4096;

impl BodyDecoder {
    pub(crate) fn new(framing: Framing, trailer_bytes_max: usize) -> Self {
        let state = match framing {
            Framing::Absent | Framing::Known(0) => DecoderState::Done,
            Framing::Known(bytes) => DecoderState::Known(bytes),
            Framing::Chunked => DecoderState::ChunkSize,
            Framing::UntilEnd => DecoderState::UntilEnd,
        };
        Self { state, trailers: Vec::new(), trailer_bytes_max }
    }

    /// Whether all of it was read.
    pub(crate) fn is_done(&self) -> bool {
        self.state == DecoderState::Done
    }

    pub(crate) fn trailers(&self) -> &[Header<'static>] {
        &self.trailers
    }

    pub(crate) fn take_trailers(&mut self) -> Vec<Header<'static>> {
        std::mem::take(&mut self.trailers)
    }

    /// The next piece; `None` at the end. Nothing is lost if it is given up.
    pub(crate) async fn next(&mut self, reader: &mut Http1Reader) -> Result<Option<Bytes>, PeerError> {
        loop {
            match self.state {
                DecoderState::Done => return Ok(None),
                DecoderState::Known(left) | DecoderState::Chunk(left) => {
                    return self.data(reader, left).await.map(Some);
                }
                DecoderState::UntilEnd => return self.until_end(reader).await,
                DecoderState::ChunkSize => {
                    let line = line(reader, SIZE_LINE_BYTES_MAX).await?;
                    self.state = match chunk_size(&line)? {
                        0 => DecoderState::Trailers,
                        size => DecoderState::Chunk(size),
                    };
                }
                DecoderState::ChunkEnd => {
                    if !line(reader, 2).await?.is_empty() {
                        return Err(PeerError::Malformed("a chunk is longer than it says"));
                    }
                    self.state = DecoderState::ChunkSize;
                }
                DecoderState::Trailers => {
                    self.trailers = trailers(reader, self.trailer_bytes_max).await?;
                    self.state = DecoderState::Done;
                }
            }
        }
    }

    async fn data(&mut self, reader: &mut Http1Reader, left: u64) -> Result<Bytes, PeerError> {
        if reader.buffer.is_empty() {
            more(reader).await?;
        }
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(reader.buffer.len());
        let rest = left - count as u64;
        self.state = match (self.state, rest) {
            (DecoderState::Chunk(_), 0) => DecoderState::ChunkEnd,
            (DecoderState::Chunk(_), rest) => DecoderState::Chunk(rest),
            (_, 0) => DecoderState::Done,
            (_, rest) => DecoderState::Known(rest),
        };
        Ok(reader.buffer.split_to(count).freeze())
    }

    async fn until_end(&mut self, reader: &mut Http1Reader) -> Result<Option<Bytes>, PeerError> {
        if reader.buffer.is_empty() && reader.fill().await.map_err(PeerError::Io)? == 0 {
            self.state = DecoderState::Done;
            return Ok(None);
        }
        Ok(Some(reader.buffer.split().freeze()))
    }
}

/// Waits for bytes, of which there must be some.
async fn more(reader: &mut Http1Reader) -> Result<(), PeerError> {
    match reader.fill().await {
        Ok(0) => {
            Err(PeerError::Io(io::Error::new(io::ErrorKind::UnexpectedEof, "it ended in the middle of a message")))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(PeerError::Io(error)),
    }
}

/// Takes a line off the buffer, without its CR LF.
async fn line(reader: &mut Http1Reader, bytes_max: usize) -> Result<Bytes, PeerError> {
    loop {
        if let Some(at) = memchr::memchr(b'\n', &reader.buffer) {
            let line = reader.buffer.split_to(at + 1).freeze();
            let Some(line) = line.strip_suffix(b"\r\n").map(<[u8]>::len).map(|length| line.slice(..length)) else {
                return Err(PeerError::Malformed("a line of a chunked body ends with something other than CR LF"));
            };
            return Ok(line);
        }
        if reader.buffer.len() > bytes_max {
            return Err(PeerError::Malformed("a line of a chunked body is too long"));
        }
        more(reader).await?;
    }
}

fn chunk_size(line: &[u8]) -> Result<u64, PeerError> {
    let end = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let (digits, behind) = line.split_at(end);
    let is_extension = matches!(behind.trim_ascii_start(), [] | [b';', ..]) && !behind.contains(&b'\r');
    let size = std::str::from_utf8(digits).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok());
    size.filter(|_| is_extension).ok_or(PeerError::Malformed("the size of a chunk is not a number"))
}

async fn trailers(reader: &mut Http1Reader, bytes_max: usize) -> Result<Vec<Header<'static>>, PeerError> {
    loop {
        if reader.buffer.starts_with(b"\r\n") {
            let _ = reader.buffer.split_to(2);
            return Ok(Vec::new());
        }
        if let Some(end) = super::head::end_of_head(&reader.buffer, 0) {
            let lines = reader.buffer.split_to(end);
            let mut room = [EMPTY_HEADER; 64];
            let parsed = httparse::parse_headers(&lines, &mut room);
            let Ok(httparse::Status::Complete((_, headers))) = parsed else {
                return Err(PeerError::Malformed("the trailers are not headers"));
            };
            return Ok(headers.iter().map(|one| Header::new(one.name, one.value.trim_ascii()).into_owned()).collect());
        }
        if reader.buffer.len() > bytes_max {
            return Err(PeerError::Malformed("the trailers are too long"));
        }
        more(reader).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(text: &'static [&'static str]) -> Vec<Header<'static>> {
        text.iter().map(|line| line.split_once(": ").map(|(name, value)| Header::new(name, value)).unwrap()).collect()
    }

    #[test]
    fn a_request_has_one_length() {
        let of = |lines| Framing::of_request(HttpVersion::Http11, &headers(lines));
        assert_eq!(of(&[]), Ok(Framing::Absent));
        assert_eq!(of(&["Content-Length: 12"]), Ok(Framing::Known(12)));
        assert_eq!(of(&["Transfer-Encoding: Chunked"]), Ok(Framing::Chunked));
        for wrong in [
            &["Content-Length: 5", "Transfer-Encoding: chunked"][..],
            &["Content-Length: 5", "content-length: 6"],
            &["Content-Length: 5, 5"],
            &["Content-Length: +5"],
            &["Content-Length: 0x5"],
            &["Content-Length: 99999999999999999999"],
            &["Transfer-Encoding: chunked, gzip"],
            &["Transfer-Encoding: xchunked"],
            &["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        ] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn responses_without_a_body_have_none_whatever_they_say() {
        let of = |method: &str, status, lines| Framing::of_response(method.as_bytes(), status, &headers(lines));
        assert_eq!(of("HEAD", 200, &["Content-Length: 5"]), Ok(Framing::Absent));
        assert_eq!(of("GET", 204, &["Transfer-Encoding: chunked"]), Ok(Framing::Absent));
        assert_eq!(of("GET", 304, &["Content-Length: 5"]), Ok(Framing::Absent));
        assert_eq!(of("GET", 200, &["Content-Length: 5, 5"]), Ok(Framing::Known(5)));
        assert_eq!(of("GET", 200, &["Transfer-Encoding: gzip, chunked", "Content-Length: 5"]), Ok(Framing::Chunked));
        assert_eq!(of("GET", 200, &["Transfer-Encoding: gzip"]), Ok(Framing::UntilEnd));
        assert!(of("GET", 200, &["Content-Length: 5", "Content-Length: 6"]).is_err());
    }

    #[test]
    fn sizes_of_chunks_are_numbers() {
        for (line, size) in
            [("5", Some(5)), ("fF;a=b", Some(255)), ("5 ;a", Some(5)), ("", None), ("-5", None), ("5x", None)]
        {
            assert_eq!(chunk_size(line.as_bytes()).ok(), size, "{line}");
        }
        assert!(chunk_size(b"10000000000000000").is_err());
    }
}
