//! Bodies that are compressed by their first bytes, whatever their head says.
//!
//! gzip, zstd and zlib have such bytes; brotli and bare deflate have none, so that those are found only if the head names them.

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::Write;

/// How codings begin.
const BEGINNINGS: [(&[u8], &str); 6] = [
    (&[0x1f, 0x8b, 0x08], "gzip"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (&[0x78, 0x01], "deflate"),
    (&[0x78, 0x5e], "deflate"),
    (&[0x78, 0x9c], "deflate"),
    (&[0x78, 0xda], "deflate"),
];

/// The coding of a body by its first bytes.
pub(crate) fn coding_of(body: &[u8]) -> Option<&'static str> {
    BEGINNINGS.iter().find(|(beginning, _)| body.starts_with(beginning)).map(|(_, coding)| *coding)
}

/// Whether a body may be compressed that begins so.
pub(crate) fn may_be_coded(beginning: &[u8]) -> bool {
    !beginning.is_empty()
        && BEGINNINGS.iter().any(|(whole, _)| beginning.starts_with(whole) || whole.starts_with(beginning))
}

/// A body in a coding. Equal bodies give equal bytes, so that a live request is still the recorded one.
pub(crate) fn encode(coding: &str, body: &[u8]) -> Vec<u8> {
    let encoded = match coding {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(body).and_then(|()| encoder.finish())
        }
        "zstd" => zstd::encode_all(body, zstd::DEFAULT_COMPRESSION_LEVEL),
        _ => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(body).and_then(|()| encoder.finish())
        }
    };
    encoded.unwrap_or_else(|error| unreachable!("memory takes everything: {error}"))
}
