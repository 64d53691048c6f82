//! One text, as it is and in three encodings, each made by the tool that its encoding comes from.

/// The text that all decode to.
pub const TEXT: &[u8] = include_bytes!("bodies/frogs.txt");

/// The bytes of an encoding, named as in `Content-Encoding`.
pub(crate) fn bytes(encoding: &str) -> Option<&'static [u8]> {
    match encoding {
        "gzip" => Some(include_bytes!("bodies/frogs.txt.gz")),
        "br" => Some(include_bytes!("bodies/frogs.txt.br")),
        "zstd" => Some(include_bytes!("bodies/frogs.txt.zst")),
        _ => None,
    }
}
