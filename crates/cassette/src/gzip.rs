//! Files in gzip: a form that is not a cassette may be compressed as a whole, as `trip.json.gz`.
//!
//! A file is read as gzip if it begins so, whatever it is called, and written so if its name ends in `.gz`. It may have several members, one
//! after the other, as `cat` makes them. Nothing in what is written says when or where: equal contents are equal files.

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

const MAGIC: [u8; 2] = [0x1F, 0x8B];

/// Whether a file of this name is written in gzip.
pub(crate) fn is_named(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// Bytes in gzip.
pub(crate) fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let compressed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    compressed.unwrap_or_else(|_| unreachable!("memory can be written to"))
}

/// What a file says, decompressed if it is gzip.
pub(crate) enum PlainReader<R> {
    AsItIs(BufReader<R>),
    Decompressed(Box<MultiGzDecoder<BufReader<R>>>),
}

impl<R: Read> PlainReader<R> {
    pub(crate) fn new(file: R) -> io::Result<Self> {
        const BUFFER_BYTES: usize = 128 << 10;
        let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
        // A pipe may give a byte and then the rest; a file gives what there is.
        let is_gzip = file.fill_buf()?.starts_with(&MAGIC);
        Ok(if is_gzip { Self::Decompressed(Box::new(MultiGzDecoder::new(file))) } else { Self::AsItIs(file) })
    }

    pub(crate) fn is_gzip(&self) -> bool {
        matches!(self, Self::Decompressed(_))
    }
}

impl<R: Read> Read for PlainReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::AsItIs(file) => file.read(into),
            Self::Decompressed(decoder) => decoder.read(into),
        }
    }
}

/// What is wrong with bytes that begin as gzip and cannot be decompressed; `None` if it is the system that refuses.
pub(crate) fn flaw(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Some("the end of the gzip file is missing"),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Some("the gzip file is damaged"),
        _ => None,
    }
}
