//! A line, read from its beginning to its end.

use super::version;
use crate::bytes::Bytes;
use crate::forms::text::escape::unescape;
use crate::forms::text::write::usual_port;
use crate::message::HttpVersion;
use std::fmt;
use std::str::FromStr;

/// A line, and how far it was read.
#[derive(Clone, Copy, Default)]
pub(super) struct TextLine<'t> {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) text: &'t str,
    at: usize,
}

/// What is wrong, and where: both counted from 1, columns in characters.
pub(super) struct SyntaxProblem {
    line: usize,
    column: usize,
    message: String,
}

impl SyntaxProblem {
    pub(super) fn at(line: usize, column: usize, message: impl Into<String>) -> Self {
        Self { line, column, message: message.into() }
    }

    /// Bytes are not text from a place on.
    pub(super) fn no_text(bytes: &[u8], at: usize) -> Self {
        let before = String::from_utf8_lossy(&bytes[..at]);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
        Self::at(line, column, "no UTF-8: save the file as UTF-8, with bytes that are no text written as `\\{…}`")
    }
}

impl fmt::Display for SyntaxProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl<'t> TextLine<'t> {
    /// The lines of a text, without what ends them.
    pub(super) fn all(text: &'t str) -> impl Iterator<Item = Self> {
        text.lines().zip(1..).map(|(text, number)| Self { number, text, at: 0 })
    }

    pub(super) fn says_nothing(&self) -> bool {
        self.text.starts_with('#') || self.text.trim().is_empty()
    }

    /// This line, read up to a place.
    pub(super) fn from(&self, at: usize) -> Self {
        Self { at, ..*self }
    }

    /// Something wrong at a place, in bytes.
    pub(super) fn wrong(&self, at: usize, message: impl Into<String>) -> SyntaxProblem {
        let column = self.text.char_indices().take_while(|(begin, _)| *begin < at).count() + 1;
        SyntaxProblem::at(self.number, column, message)
    }

    fn left(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Where the next word begins.
    pub(super) fn next_at(&self) -> usize {
        self.text.len() - self.left().trim_start_matches(' ').len()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.left().trim_end().is_empty()
    }

    /// That nothing is left.
    pub(super) fn end(&self) -> Result<(), SyntaxProblem> {
        let at = self.next_at();
        if self.is_at_end() { Ok(()) } else { Err(self.wrong(at, "more than belongs here: take it out")) }
    }

    /// The next word; empty at the end of the line.
    pub(super) fn word(&mut self) -> Result<&'t str, SyntaxProblem> {
        let begin = self.next_at();
        let rest = &self.text[begin..];
        let word = &rest[..rest.find(' ').unwrap_or(rest.len())];
        self.at = begin + word.len();
        Ok(word)
    }

    /// The next word as bytes; two quotes are none.
    pub(super) fn bytes(&mut self, what: &str) -> Result<Bytes<'static>, SyntaxProblem> {
        let (at, word) = (self.next_at(), self.word()?);
        match word {
            "" => Err(self.wrong(at, format!("here should be {what}; write \"\" if it is empty"))),
            "\"\"" => Ok(Bytes::EMPTY),
            _ => self.unescape(at, word).map(Bytes::from),
        }
    }

    pub(super) fn number<T: FromStr>(&mut self, what: &str) -> Result<T, SyntaxProblem> {
        let (at, word) = (self.next_at(), self.word()?);
        number_in(word)
            .ok_or_else(|| self.wrong(at, format!("here should be {what}, and nothing larger than it can be")))
    }

    /// `+12us`.
    pub(super) fn time(&mut self) -> Result<u64, SyntaxProblem> {
        let at = self.next_at();
        let time = self.optional_time()?;
        time.ok_or_else(|| self.wrong(at, "here should be a time after the exchange began, such as +1500us"))
    }

    /// A time such as `+12us`, if there is one.
    pub(super) fn optional_time(&mut self) -> Result<Option<u64>, SyntaxProblem> {
        let mut ahead = *self;
        let time = ahead.word()?.strip_prefix('+').and_then(|word| word.strip_suffix("us")).and_then(number_in);
        if time.is_some() {
            *self = ahead;
        }
        Ok(time)
    }

    /// A version of HTTP, if there is one.
    pub(super) fn version(&mut self) -> Result<Option<HttpVersion>, SyntaxProblem> {
        let (mut ahead, at) = (*self, self.next_at());
        let word = ahead.word()?;
        if !word.starts_with("HTTP/") {
            return Ok(None);
        }
        *self = ahead;
        let wrong = || self.wrong(at, "an unknown version; there are HTTP/0.9, HTTP/1.0, HTTP/1.1, HTTP/2 and HTTP/3");
        version(word).map(Some).ok_or_else(wrong)
    }

    /// All that is left, after a space.
    pub(super) fn rest(&mut self) -> Result<Bytes<'static>, SyntaxProblem> {
        let rest = self.left();
        let value = match rest {
            "" => "",
            _ => rest.strip_prefix(' ').ok_or_else(|| self.wrong(self.at, "a space is missing here"))?,
        };
        let at = self.text.len() - value.len();
        self.at = self.text.len();
        self.unescape(at, value).map(Bytes::from)
    }

    /// What is before the next colon, after which it goes on.
    pub(super) fn before_colon(&mut self) -> Result<&'t str, SyntaxProblem> {
        let begin = self.next_at();
        let rest = &self.text[begin..];
        let length =
            rest.find(':').ok_or_else(|| self.wrong(self.text.len(), "a colon is missing: write NAME: VALUE"))?;
        self.at = begin + length + 1;
        Ok(&rest[..length])
    }

    /// What is before the next colon, as bytes.
    pub(super) fn until_colon(&mut self) -> Result<Bytes<'static>, SyntaxProblem> {
        let at = self.next_at();
        let name = self.before_colon()?;
        self.unescape(at, name).map(Bytes::from)
    }

    /// `https://example.com:8443`: scheme, host and port.
    pub(super) fn origin(&mut self) -> Result<(Bytes<'static>, Bytes<'static>, u16), SyntaxProblem> {
        let (at, word) = (self.next_at(), self.word()?);
        let wrong = || self.wrong(at, "here should be a server such as https://example.com or http://[::1]:8080");
        let (scheme, authority) = word.split_once("://").ok_or_else(wrong)?;
        let host_at = at + word.len() - authority.len();
        let scheme = self.unescape(at, scheme)?;
        let (host, port, host_at) = match authority.strip_prefix('[') {
            Some(rest) => rest.split_once(']').map(|(host, port)| (host, port.strip_prefix(':'), host_at + 1)),
            None => Some(
                authority
                    .split_once(':')
                    .map_or((authority, None, host_at), |(host, port)| (host, Some(port), host_at)),
            ),
        }
        .ok_or_else(wrong)?;
        let port = match port {
            Some(port) => number_in(port).ok_or_else(|| self.wrong(at, "a port is a number up to 65535"))?,
            None => {
                usual_port(&scheme).ok_or_else(|| self.wrong(at, "a port is missing: only http and https have one"))?
            }
        };
        Ok((scheme.into(), self.unescape(host_at, host)?.into(), port))
    }

    /// What a part of the line stands for.
    pub(super) fn unescape(&self, at: usize, text: &str) -> Result<Vec<u8>, SyntaxProblem> {
        unescape(text).map_err(|(offset, message)| self.wrong(at + offset, message))
    }
}

/// A number without a sign.
fn number_in<T: FromStr>(word: &str) -> Option<T> {
    if word.starts_with(['+', '-']) { None } else { word.parse().ok() }
}
