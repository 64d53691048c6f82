//! A cassette as text in lines: to be read, edited, and compared line by line.
//!
//! 1. Every exchange is some lines, in one order, each beginning with a word that says what it is. What belongs to a line is
//!    indented below it by two spaces: headers, and the bytes of a body or a message.
//! 2. Bytes that are text mostly are written as text, the rest in base64. A line of text is a line `|`; a long one goes on in
//!    lines `+`, which begin where JSON, HTML or a form has something new, so that a change of one thing is a change of one line.
//! 3. What cannot be seen is written `\{…}`, and nothing else is escaped, so JSON and its own escapes stay readable.
//! 4. Blank lines and lines that begin with `#` say nothing. The last line is `end`: a file that was cut off is noticed.
//!
//! What is read of a text is what was written, byte for byte. `docs/formats.md` has the grammar.

mod escape;
mod read;
mod wrap;
mod write;

pub(super) use read::read;
pub(super) use write::write;

use crate::exchange::NetworkErrorKind;
use crate::message::HttpVersion;

/// How a text begins, before its version.
pub(super) const MAGIC: &str = "metroon-cassette text ";
/// The version that is written. All versions up to it are read.
const VERSION: u32 = 1;

/// What lines below another one begin with.
const INDENT: &str = "  ";

const VERSIONS: [(HttpVersion, &str); 5] = super::fields::VERSIONS;

/// Makes a kind of error, with its number if it has one.
type MakeKind = fn(u64) -> NetworkErrorKind;

/// Kinds of errors.
const KINDS: [(&str, MakeKind); 8] = [
    ("dns", |_| NetworkErrorKind::Dns),
    ("refused", |_| NetworkErrorKind::Refused),
    ("tls", |_| NetworkErrorKind::Tls),
    ("reset", |_| NetworkErrorKind::Reset),
    ("timeout", |after_ms| NetworkErrorKind::Timeout { after_ms }),
    ("redirects", |count| NetworkErrorKind::TooManyRedirects { count }),
    ("protocol", |_| NetworkErrorKind::Protocol),
    ("other", |_| NetworkErrorKind::Other),
];

/// The number that a kind of error has.
fn number_of(kind: NetworkErrorKind) -> Option<u64> {
    match kind {
        NetworkErrorKind::Timeout { after_ms: number } | NetworkErrorKind::TooManyRedirects { count: number } => {
            Some(number)
        }
        _ => None,
    }
}

/// Names of opcodes (RFC 6455, section 5.2); others are numbers.
const OPCODES: [(&str, u8); 6] =
    [("continuation", 0), ("text", 1), ("binary", 2), ("close", 8), ("ping", 9), ("pong", 10)];
