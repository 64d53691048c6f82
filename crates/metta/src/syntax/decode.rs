//! Decoding: from the bytes of a file to text.
//!
//! Source is UTF-8. A byte order mark stays in the text, where [`parse`](super::parse) skips it:
//! so offsets in the text are offsets in the file, up to the first byte that is not UTF-8.
//!
//! A file with other bytes is a text with an error, like a text with a missing bracket: what comes before the first of them
//! runs. U+FFFD takes their place, so that the lines stay where they are.

use std::borrow::Cow;

use super::{Diagnostic, Parsed, Span};

/// The text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'b> {
    /// The text, with U+FFFD in the place of what is not UTF-8.
    pub text: Cow<'b, str>,
    /// The first place that is not UTF-8, as an error of the text.
    pub flaw: Option<Diagnostic>,
}

/// Takes bytes as UTF-8 text.
pub fn decode(bytes: &[u8]) -> Decoded<'_> {
    let flaw = std::str::from_utf8(bytes).err().map(|error| invalid_text(bytes, error.valid_up_to()));
    Decoded { text: String::from_utf8_lossy(bytes), flaw }
}

/// Takes bytes as UTF-8 text: the same as [`decode`], and nothing is copied if they are.
pub fn decode_owned(bytes: Vec<u8>) -> (String, Option<Diagnostic>) {
    String::from_utf8(bytes).map(|text| (text, None)).unwrap_or_else(|error| {
        let Decoded { text, flaw } = decode(error.as_bytes());
        (text.into_owned(), flaw)
    })
}

impl Decoded<'_> {
    /// Reads the text as [`parse`](super::parse) does. Behind what is not UTF-8 nothing else is reported.
    pub fn parse(&self) -> Parsed {
        parse_with_flaw(&self.text, self.flaw.as_ref())
    }
}

/// Reads a text that was decoded with this flaw.
pub(super) fn parse_with_flaw(text: &str, flaw: Option<&Diagnostic>) -> Parsed {
    let mut parsed = super::parse(text);
    if let Some(flaw) = flaw {
        parsed.diagnostics.retain(|found| found.span.start < flaw.span.start);
        parsed.diagnostics.push(flaw.clone());
    }
    parsed
}

fn invalid_text(bytes: &[u8], start: usize) -> Diagnostic {
    let span = Span::new(start, start + char::REPLACEMENT_CHARACTER.len_utf8());
    let message = format!("The source is not valid UTF-8: byte 0x{:02X} at offset {start}", bytes[start]);
    Diagnostic::error("invalid-utf8", span, message).with_label("not a character in UTF-8").with_help(next_step(bytes))
}

fn next_step(bytes: &[u8]) -> &'static str {
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        "the file looks like UTF-16; save it as UTF-8"
    } else {
        "save the file as UTF-8, or check that it is a text file"
    }
}
