//! Looking into compressed bodies.

use crate::message::{Body, Chunk, Header, Request, Response};
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::cell::Cell;
use std::io::{self, BufRead, Read};

/// A body that decodes to more bytes is not looked into: a few of those that are sent may be in memory at a time, and 250 KB of
/// compressed bytes can become 250 MB.
pub const DECODED_BYTES_MAX: usize = 64 << 20;

/// A body with more codings, one around the other, is not looked into.
const CODINGS_MAX: usize = 4;

/// What a body is without compression.
pub(crate) struct DecodedBody {
    /// Its chunks are those of the compressed body: what of it was known when a chunk was there.
    pub(crate) body: Body<'static>,
    /// Whether all of it could be decoded, and nothing was left after its end.
    pub(crate) is_whole: bool,
}

/// The codings of a body, as `Content-Encoding` names them, outermost last; none if there is none.
pub(crate) fn codings(headers: &[Header<'_>]) -> Vec<String> {
    let values = headers.iter().filter(|header| header.is("content-encoding"));
    let lines: Vec<_> = values.map(|header| header.value.to_text_lossy().to_ascii_lowercase()).collect();
    let names = lines.iter().flat_map(|line| line.split(',')).map(str::trim);
    names.filter(|name| !name.is_empty() && *name != "identity").map(str::to_owned).collect()
}

/// Undoes codings. `None` if one of them is not known, if there are too many, or if the result has more than [`DECODED_BYTES_MAX`].
pub(crate) fn decode(body: &Body<'_>, codings: &[String]) -> Option<DecodedBody> {
    if codings.len() > CODINGS_MAX {
        return None;
    }
    let mut decoded = DecodedBody { body: body.clone().into_owned(), is_whole: true };
    for coding in codings.iter().rev() {
        let DecodedBody { body, is_whole } = undo(&decoded.body, coding)?;
        decoded = DecodedBody { body, is_whole: is_whole && decoded.is_whole };
    }
    Some(decoded)
}

fn undo(body: &Body<'_>, coding: &str) -> Option<DecodedBody> {
    let source =
        ChunkInput { pieces: body.pieces().map(|(_, piece)| piece).collect(), at: Cell::new(0), within: Cell::new(0) };
    let mut to = DecoderOutput::new(body);
    let is_whole = match coding {
        "gzip" | "x-gzip" => to.read(&source, MultiGzDecoder::new(&source)),
        "deflate" if is_zlib(body.bytes()) => to.read(&source, ZlibDecoder::new(&source)),
        // What RFC 9110, section 8.4.1.2, says that some send.
        "deflate" => to.read(&source, DeflateDecoder::new(&source)),
        "br" => to.read_brotli(&source),
        "zstd" => to.read_zstd(&source),
        _ => return None,
    };
    if to.is_too_long {
        return None;
    }
    let body = Body::from_parts(to.bytes, to.chunks);
    let body = body.unwrap_or_else(|| unreachable!("every byte was counted to a chunk"));
    Some(DecodedBody { body, is_whole: is_whole && source.rest().is_empty() })
}

/// Whether bytes begin as RFC 1950 has it: deflate, and a sum that 31 divides.
fn is_zlib(bytes: &[u8]) -> bool {
    matches!(bytes, [first, second, ..] if first & 15 == 8 && (u16::from(*first) << 8 | u16::from(*second)) % 31 == 0)
}

const BUFFER_BYTES: usize = 4 << 10;

/// What comes out of a decoder. What comes out while a chunk is read belongs to that chunk.
struct DecoderOutput {
    bytes: Vec<u8>,
    chunks: Vec<Chunk>,
    /// Whether there was more than is looked into.
    is_too_long: bool,
}

impl DecoderOutput {
    fn new(body: &Body<'_>) -> Self {
        let chunks = body.chunks().iter().map(|chunk| Chunk { at_us: chunk.at_us, bytes: 0 });
        Self { bytes: Vec::new(), chunks: chunks.collect(), is_too_long: false }
    }

    /// Reads all that comes out. Gives whether it came to its end.
    fn read(&mut self, source: &ChunkInput<'_>, mut decoder: impl Read) -> bool {
        let mut buffer = [0; BUFFER_BYTES];
        loop {
            match decoder.read(&mut buffer) {
                Ok(0) => return true,
                Ok(count) if self.bytes.len() + count > DECODED_BYTES_MAX => {
                    self.is_too_long = true;
                    return false;
                }
                Ok(count) => {
                    self.bytes.extend_from_slice(&buffer[..count]);
                    let last = self.chunks.len().saturating_sub(1);
                    self.chunks[source.at.get().min(last)].bytes += count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }

    /// Asks once more at the end: the decoder then says whether something is left in its own buffer.
    fn read_brotli(&mut self, source: &ChunkInput<'_>) -> bool {
        let mut decoder = brotli_decompressor::Decompressor::new(source, BUFFER_BYTES);
        self.read(source, &mut decoder) && self.read(source, &mut decoder)
    }

    /// One frame after the other, and over those that are to be skipped (RFC 8878, section 3.1.2).
    fn read_zstd(&mut self, source: &ChunkInput<'_>) -> bool {
        let decoder = zstd::stream::read::Decoder::with_buffer(source).and_then(|mut decoder| {
            decoder.window_log_max(WINDOW_LOG_MAX)?;
            Ok(decoder)
        });
        decoder.is_ok_and(|decoder| self.read(source, decoder))
    }
}

/// A frame of zstd that refers further back than this many bits can say is not decoded: it would take as much memory.
const WINDOW_LOG_MAX: u32 = 26;

/// The bytes of chunks, one chunk at a time, so that it is known which one a decoder has reached.
struct ChunkInput<'b> {
    pieces: Vec<&'b [u8]>,
    /// The chunk that is read, and how much of it was.
    at: Cell<usize>,
    within: Cell<usize>,
}

impl<'b> ChunkInput<'b> {
    /// What is left of the chunk that is read, or the next one with something in it.
    fn rest(&self) -> &'b [u8] {
        loop {
            match self.pieces.get(self.at.get()).map(|piece| &piece[self.within.get()..]) {
                None => return &[],
                Some([]) => {
                    self.at.set(self.at.get() + 1);
                    self.within.set(0);
                }
                Some(rest) => return rest,
            }
        }
    }
}

impl Read for &ChunkInput<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.rest().read(to)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for &ChunkInput<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.rest())
    }

    fn consume(&mut self, count: usize) {
        self.within.set(self.within.get() + count);
    }
}

impl Request<'_> {
    /// The body without the compression that its head names: gzip, deflate, br or zstd. `None` if there is no body, or
    /// no compression; or if it cannot be undone, or comes to more than [`DECODED_BYTES_MAX`](crate::redact::DECODED_BYTES_MAX).
    pub fn decoded_body(&self) -> Option<Body<'static>> {
        decoded(self.body.as_ref()?, &self.headers)
    }
}

impl Response<'_> {
    /// The body without the compression that its head names: gzip, deflate, br or zstd. `None` if there is no body, or
    /// no compression; or if it cannot be undone, or comes to more than [`DECODED_BYTES_MAX`](crate::redact::DECODED_BYTES_MAX).
    pub fn decoded_body(&self) -> Option<Body<'static>> {
        decoded(self.body.as_ref()?, &self.headers)
    }
}

fn decoded(body: &Body<'_>, headers: &[Header<'_>]) -> Option<Body<'static>> {
    let codings = codings(headers);
    let decoded = decode(body, &codings).filter(|decoded| decoded.is_whole && !codings.is_empty());
    decoded.map(|decoded| decoded.body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory takes it")
    }

    fn decoded(body: &Body<'_>, coding: &str) -> DecodedBody {
        decode(body, &[coding.to_owned()]).expect("the coding is known")
    }

    #[test]
    fn what_comes_to_too_much_is_not_decoded() {
        let long = gzip(&vec![0; DECODED_BYTES_MAX + 1]);
        assert!(
            decode(&Body::new(0, &long[..]), &["gzip".to_owned()]).is_none(),
            "{} bytes are compressed",
            long.len()
        );
        let right = gzip(&vec![0; DECODED_BYTES_MAX]);
        assert!(decoded(&Body::new(0, &right[..]), "gzip").is_whole);
    }

    #[test]
    fn every_coding_is_undone() {
        let text = b"hello hello hello hello".repeat(1_000);
        let zlib = {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&text).and_then(|()| encoder.finish()).expect("memory takes it")
        };
        let deflate = {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&text).and_then(|()| encoder.finish()).expect("memory takes it")
        };
        for (coding, bytes) in [("gzip", gzip(&text)), ("deflate", zlib), ("deflate", deflate)] {
            let decoded = decoded(&Body::new(0, bytes), coding);
            assert!(decoded.is_whole && *decoded.body.bytes() == text[..], "{coding}");
        }
        // "hello" in a meta-block without compression (RFC 7932, section 9.2), and in a raw block (RFC 8878, section 3.1.1).
        let brotli = [0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03];
        let zstd = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x29, 0x00, 0x00, b'h', b'e', b'l', b'l', b'o'];
        for (coding, bytes) in [("br", &brotli[..]), ("zstd", &zstd)] {
            let decoded = decoded(&Body::new(0, bytes), coding);
            assert_eq!((decoded.body.bytes().as_text(), decoded.is_whole), (Some("hello"), true), "{coding}");
        }
        let twice = decode(&Body::new(0, gzip(&gzip(&text))), &["gzip".to_owned(), "gzip".to_owned()]);
        assert!(twice.is_some_and(|twice| *twice.body.bytes() == text[..]));
        assert!(decode(&Body::new(0, "x"), &["compress".to_owned()]).is_none());
        assert!(decode(&Body::new(0, gzip(&text)), &vec!["gzip".to_owned(); CODINGS_MAX + 1]).is_none());
    }

    #[test]
    fn what_is_behind_the_end_is_seen() {
        let brotli = [0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03];
        let zstd = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x29, 0x00, 0x00, b'h', b'e', b'l', b'l', b'o'];
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(b"hello").expect("memory takes it");
        let zlib = zlib.finish().expect("memory takes it");
        for (coding, bytes) in
            [("gzip", gzip(b"hello")), ("deflate", zlib), ("br", brotli.into()), ("zstd", zstd.into())]
        {
            let behind = decoded(&Body::new(0, [&bytes[..], b"more"].concat()), coding);
            assert_eq!((behind.body.bytes().as_text(), behind.is_whole), (Some("hello"), false), "{coding}");
        }
        // A frame, one to skip, and another.
        let skipped = [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7];
        let mut frames = Body::new(0, [&zstd[..], &skipped[..9]].concat());
        frames.push(1, &[&skipped[9..], &zstd].concat());
        let both = decoded(&frames, "zstd");
        assert_eq!((both.body.bytes().as_text(), both.is_whole), (Some("hellohello"), true));
        assert!(!decoded(&Body::new(0, &skipped[..9]), "zstd").is_whole);
    }

    #[test]
    fn what_came_with_a_chunk_stays_with_it() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let mut body = Body::default();
        let mut sent = 0;
        for (at_us, event) in [(5, "data: one\n\n"), (9, "data: two\n\n")] {
            encoder.write_all(event.as_bytes()).and_then(|()| encoder.flush()).expect("memory takes it");
            body.push(at_us, &encoder.get_ref()[sent..]);
            sent = encoder.get_ref().len();
        }
        body.push(12, &encoder.finish().expect("memory takes it")[sent..]);
        let decoded = decoded(&body, "gzip");
        let pieces: Vec<_> = decoded.body.pieces().collect();
        assert_eq!(pieces, [(5, &b"data: one\n\n"[..]), (9, b"data: two\n\n"), (12, b"")]);
    }

    #[test]
    fn what_is_cut_off_is_decoded_as_far_as_it_goes() {
        let bytes = gzip(&b"hello".repeat(10_000));
        for cut in 0..bytes.len() {
            let decoded = decoded(&Body::new(0, &bytes[..cut]), "gzip");
            assert!(!decoded.is_whole || cut == 0, "{cut}");
        }
    }
}
