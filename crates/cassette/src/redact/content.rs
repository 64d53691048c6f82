//! What a body is: text, which is edited, or anything else, which stays as it is.
//!
//! Content type and content must both say that a body is text. A type that says nothing, such as `application/octet-stream`
//! or none at all, leaves it to the content: text is UTF-8 without the control characters that no text has. A type that says
//! text is believed for other encodings as well, as long as the content has no zero byte. What a type calls an image, an archive
//! or a program is none, whatever is in it.

use crate::dialect::TextKind;
use crate::dialect::units::Framing;
use crate::matching::canonical::BodyContent;
use crate::message::Header;
use crate::websocket::Opcode;
use std::ops::Range;

/// What a content type says of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentClass {
    /// Text, in any encoding.
    Text,
    /// Nothing: the content decides.
    Unknown,
    /// Something else than text.
    Binary,
    /// A frame of control: some bytes that may have words after a number.
    Control,
}

/// In which form values of secret names may stand in a text, beside JSON, parameters of URLs and parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecretSyntax {
    /// A value, a path, an error message: may have parameters of a URL in it.
    Line,
    /// A text of a known type.
    Body,
    /// A text of which no type says more: may be XML, or have lines `name: value`.
    Plain,
    Form,
    Xml,
    Yaml,
    /// What a tool is called with: names that are secrets elsewhere are those of its parameters.
    Arguments,
}

/// The side that says it. What a program is told, it may take apart: of tokens the shape is kept there. What it says itself
/// is compared, so that one secret must be as good as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageSender {
    Client,
    Server,
}

/// All that is known of a body before it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BodyContext {
    pub(crate) kind: SecretSyntax,
    pub(crate) nature: ContentClass,
    pub(crate) speaker: MessageSender,
    /// What delimits its parts, if it has parts: each of them is text or not by itself.
    pub(crate) delimiter: Option<Vec<u8>>,
    /// Whether it may be a stream of events that give texts in pieces; and whether its type says that it is lines of JSON.
    streams: Option<bool>,
}

/// Types that are text, beside `text/…`, and ends of such types.
const TEXTS: [&str; 17] = [
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/json-seq",
    "application/jsonl",
    "application/jwt",
    "application/ld+json",
    "application/sql",
    "application/toml",
    "application/x-javascript",
    "application/x-json",
    "application/x-jsonlines",
    "application/x-ndjson",
    "application/x-pem-file",
    "application/x-www-form-urlencoded",
    "image/svg+xml",
];

/// Types that are something else, beside those of [`is_media`].
const BINARIES: [&str; 24] = [
    "application/cbor",
    "application/dns-message",
    "application/gzip",
    "application/java-archive",
    "application/msgpack",
    "application/ocsp-response",
    "application/pdf",
    "application/protobuf",
    "application/vnd.apache.arrow.stream",
    "application/vnd.google.protobuf",
    "application/vnd.msgpack",
    "application/vnd.sqlite3",
    "application/wasm",
    "application/x-7z-compressed",
    "application/x-bzip2",
    "application/x-executable",
    "application/x-gzip",
    "application/x-msgpack",
    "application/x-protobuf",
    "application/x-sqlite3",
    "application/x-tar",
    "application/x-xz",
    "application/zip",
    "application/zstd",
];

impl BodyContext {
    /// A body with these headers.
    pub(crate) fn of(headers: &[Header<'_>], speaker: MessageSender) -> Self {
        let header = headers.iter().find(|header| header.is("content-type"));
        let value = header.map(|header| header.value.to_text_lossy().to_ascii_lowercase()).unwrap_or_default();
        let (name, parameters) = value.split_once(';').unwrap_or((&value, ""));
        let name = name.trim();
        let kind = kind_of(name);
        let nature = match nature_of(name) {
            ContentClass::Unknown if parameters.contains("charset=") => ContentClass::Text,
            nature => nature,
        };
        let delimiter = match BodyContent::of(headers) {
            BodyContent::Multipart(boundary) => Some([b"--", &boundary[..]].concat()),
            _ => None,
        };
        let may_stream = speaker == MessageSender::Server && matches!(kind, SecretSyntax::Body | SecretSyntax::Plain);
        let says_lines = ["ndjson", "jsonl", "jsonlines", "json-seq"].iter().any(|end| name.ends_with(end));
        let streams = (may_stream && delimiter.is_none()).then_some(says_lines);
        Self { kind, nature, speaker, delimiter, streams }
    }

    /// A text that a stream gave in pieces.
    pub(crate) fn joined(kind: TextKind) -> Self {
        let kind = match kind {
            TextKind::Said => SecretSyntax::Body,
            TextKind::Arguments => SecretSyntax::Arguments,
        };
        Self { kind, nature: ContentClass::Text, speaker: MessageSender::Server, delimiter: None, streams: None }
    }

    /// How a body is cut into events that begins so, if it may be a stream of events.
    pub(crate) fn framing(&self, beginning: &[u8]) -> Option<Framing> {
        Framing::of(beginning, self.streams?)
    }

    /// A message of a WebSocket: one of text is UTF-8 (RFC 6455, section 5.6).
    pub(crate) fn message(opcode: Opcode, speaker: MessageSender) -> Self {
        let nature = match opcode {
            Opcode::TEXT => ContentClass::Text,
            control if control >= Opcode::CLOSE => ContentClass::Control,
            _ => ContentClass::Unknown,
        };
        Self { kind: SecretSyntax::Plain, nature, speaker, delimiter: None, streams: None }
    }

    /// A line that is text: the value of a header, a target, an error message.
    pub(crate) fn line() -> Self {
        Self {
            kind: SecretSyntax::Line,
            nature: ContentClass::Text,
            speaker: MessageSender::Client,
            delimiter: None,
            streams: None,
        }
    }

    /// Whether this, of which such a body was made by compression, is text.
    pub(crate) fn is_text(&self, content: &[u8]) -> bool {
        let mut watch = TextDetector::default();
        watch.push(content);
        watch.is_text(ContentClass::Unknown)
    }

    /// Whether none of a body is edited that has this in it.
    pub(crate) fn is_binary(&self, watch: &TextDetector) -> bool {
        self.nature == ContentClass::Binary || self.delimiter.is_none() && !watch.is_text(self.nature)
    }

    /// Whether a place in a body may be edited: in a body of parts, if all of the part is text.
    pub(crate) fn is_text_at(&self, body: &[u8], place: &Range<usize>) -> bool {
        let Some(delimiter) = &self.delimiter else { return true };
        let begin = memchr::memmem::rfind(&body[..place.start], delimiter).unwrap_or(0);
        let end = memchr::memmem::find(&body[place.end..], delimiter).map_or(body.len(), |at| place.end + at);
        let mut watch = TextDetector::default();
        watch.push(&body[begin..end]);
        watch.is_text(ContentClass::Unknown)
    }
}

fn kind_of(name: &str) -> SecretSyntax {
    match name {
        "application/x-www-form-urlencoded" => SecretSyntax::Form,
        "" | "text/plain" | "application/octet-stream" | "binary/octet-stream" => SecretSyntax::Plain,
        _ if name.ends_with("/xml") || name.ends_with("+xml") => SecretSyntax::Xml,
        _ if ["/yaml", "+yaml", "/x-yaml", "/vnd.yaml"].iter().any(|end| name.ends_with(end)) => SecretSyntax::Yaml,
        _ => SecretSyntax::Body,
    }
}

fn nature_of(name: &str) -> ContentClass {
    let is_text = TEXTS.contains(&name)
        || name.ends_with("+json")
        || matches!(kind_of(name), SecretSyntax::Xml | SecretSyntax::Yaml)
        // Servers call what they do not know plain text.
        || name.starts_with("text/") && name != "text/plain";
    if is_text {
        return ContentClass::Text;
    }
    if is_media(name) || BINARIES.contains(&name) { ContentClass::Binary } else { ContentClass::Unknown }
}

fn is_media(name: &str) -> bool {
    let kinds = ["image/", "audio/", "video/", "font/", "model/", "application/grpc", "application/vnd.openxmlformats"];
    kinds.iter().any(|kind| name.starts_with(kind))
}

/// Watches bytes come, and says whether they are text so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextDetector {
    has_zero: bool,
    has_control: bool,
    has_other_encoding: bool,
    /// The beginning of a character that is not complete.
    begun: Vec<u8>,
}

/// No character of UTF-8 has more bytes.
const CHARACTER_BYTES_MAX: usize = 4;

impl TextDetector {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.has_zero = self.has_zero || memchr::memchr(0, bytes).is_some();
        self.has_control = self.has_control || has_control(bytes);
        if self.has_other_encoding {
            return;
        }
        let mut rest = bytes;
        while !self.begun.is_empty() && !rest.is_empty() {
            self.begun.push(rest[0]);
            rest = &rest[1..];
            match std::str::from_utf8(&self.begun) {
                Ok(_) => self.begun.clear(),
                Err(error) if error.error_len().is_none() && self.begun.len() < CHARACTER_BYTES_MAX => {}
                Err(_) => return self.has_other_encoding = true,
            }
        }
        match std::str::from_utf8(rest) {
            Ok(_) => {}
            Err(error) if error.error_len().is_none() => self.begun = rest[error.valid_up_to()..].to_vec(),
            Err(_) => self.has_other_encoding = true,
        }
    }

    fn is_text(&self, nature: ContentClass) -> bool {
        match nature {
            ContentClass::Text => !(self.has_zero || self.has_control && self.has_other_encoding),
            ContentClass::Unknown => !(self.has_zero || self.has_control || self.has_other_encoding),
            ContentClass::Binary => false,
            ContentClass::Control => true,
        }
    }
}

/// Whether a byte is a control character that no text has. Separators of records, tabs, form feeds, backspaces and the escape
/// that begins colours are in some.
fn is_control(byte: u8) -> bool {
    (byte <= 0x07) | (0x0e..=0x1a).contains(&byte) | (byte == 0x7f)
}

/// Whether one of these bytes is such a character. Without a branch for each byte, many are looked at with one instruction.
fn has_control(bytes: &[u8]) -> bool {
    /// Long enough that the way from one to the next costs nothing.
    const CHUNK_BYTES: usize = 1024;
    bytes.chunks(CHUNK_BYTES).any(|chunk| chunk.iter().fold(0, |found, &byte| found | u8::from(is_control(byte))) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(kind: &str) -> BodyContext {
        BodyContext::of(&[Header::new("Content-Type", kind.to_owned())], MessageSender::Server)
    }

    fn is_binary(kind: &str, pieces: &[&[u8]]) -> bool {
        let mut watch = TextDetector::default();
        pieces.iter().for_each(|piece| watch.push(piece));
        about(kind).is_binary(&watch)
    }

    /// A control character is found wherever it stands, and no other byte is taken for one.
    #[test]
    fn every_control_character_is_found_anywhere() {
        for byte in 0..=u8::MAX {
            let expected = matches!(byte, 0..=7 | 0x0e..=0x1a | 0x7f);
            for (length, place) in [(1, 0), (33, 32), (1024, 1023), (1025, 1024), (3000, 1500)] {
                let mut bytes = vec![b'a'; length];
                bytes[place] = byte;
                assert_eq!(has_control(&bytes), expected, "{byte:#x} at {place} of {length}");
            }
        }
        assert!(!has_control(b""));
    }

    #[test]
    fn type_and_content_must_both_say_text() {
        let latin = b"caf\xe9 for two";
        for (kind, content, expected) in [
            ("application/json", &b"{}"[..], false),
            ("application/json; charset=utf-8", b"{\0}", true),
            ("text/html", latin, false),
            ("text/html", b"caf\xe9\x01", true),
            ("text/plain", latin, true),
            ("text/plain; charset=iso-8859-1", latin, false),
            ("", "ü\u{1b}[1m\x1e".as_bytes(), false),
            ("application/octet-stream", b"#!/bin/sh\n", false),
            ("application/octet-stream", b"\x7fELF\x02\x01\x01\0", true),
            ("image/png", b"text", true),
            ("image/svg+xml", b"<svg/>", false),
            ("application/grpc+proto", b"text", true),
        ] {
            assert_eq!(is_binary(kind, &[content]), expected, "{kind} {content:?}");
        }
    }

    #[test]
    fn characters_may_be_cut_anywhere() {
        let text = "aü€😀z".as_bytes();
        for cut in 0..=text.len() {
            for other in cut..=text.len() {
                assert!(!is_binary("", &[&text[..cut], &text[cut..other], &text[other..]]), "{cut} {other}");
            }
            assert!(is_binary("", &[&text[..cut], b"\xff"]), "{cut}");
        }
    }

    #[test]
    fn each_part_is_text_or_not_by_itself() {
        let body = b"--x\r\n\r\nhunter2\r\n--x\r\n\r\n\0hunter2\r\n--x--";
        let about = about("multipart/form-data; boundary=X");
        let about = BodyContext { delimiter: Some(b"--x".to_vec()), ..about };
        assert!(about.is_text_at(body, &(7..14)) && !about.is_text_at(body, &(26..33)));
    }
}
