//! Decoding: from the bytes of a file to text.
//!
//! Source is UTF-8. A byte order mark stays in the text, where [`parse`](super::parse) skips it:
//! so offsets in the text are offsets in the file.

use super::{Diagnostic, Span};

/// Takes bytes as UTF-8 text.
///
/// # Errors
/// The first byte sequence that is not UTF-8, as a diagnostic whose span counts in `bytes`.
#[expect(clippy::result_large_err, reason = "called once a file; the diagnostic is the answer")]
pub fn decode(bytes: &[u8]) -> Result<&str, Diagnostic> {
    std::str::from_utf8(bytes).map_err(|error| {
        let start = error.valid_up_to();
        let length = error.error_len().unwrap_or(bytes.len() - start);
        invalid_text(bytes, start, length)
    })
}

fn invalid_text(bytes: &[u8], start: usize, length: usize) -> Diagnostic {
    let message = format!("The source is not valid UTF-8: byte 0x{:02X} at offset {start}", bytes[start]);
    Diagnostic::error("invalid-utf8", Span::new(start, start + length), message)
        .with_label("not a character in UTF-8")
        .with_help(next_step(bytes))
}

fn next_step(bytes: &[u8]) -> &'static str {
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        "the file looks like UTF-16; save it as UTF-8"
    } else {
        "save the file as UTF-8, or check that it is a text file"
    }
}
