//! The line index: from a byte offset to the line and column a person would name.
//!
//! A line ends after `\n`, so the `\r` of a `\r\n` is the last character of its line. A leading
//! byte order mark belongs to no column.
//!
//! 1. Building notes the offset at which every line begins: one pass over the bytes.
//! 2. A lookup finds the line by binary search and counts the characters before the offset in it.

use super::Span;
use super::span::saturate;
use std::borrow::Cow;
use std::sync::OnceLock;

/// A line and a column, both counted from 1; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// Where the lines of a text begin. Built once a text, then asked as often as needed.
#[derive(Clone, Debug)]
pub struct LineIndex<'text> {
    text: &'text str,
    starts: Cow<'text, [u32]>,
}

/// Where the lines of a text begin that is kept: found when it is first asked.
#[derive(Debug, Default)]
pub(crate) struct LineStarts(OnceLock<Vec<u32>>);

impl LineStarts {
    /// The index of `text`, which must be the one that was indexed before.
    pub(crate) fn index<'text>(&'text self, text: &'text str) -> LineIndex<'text> {
        LineIndex { text, starts: Cow::Borrowed(self.0.get_or_init(|| starts_of(text))) }
    }
}

fn starts_of(text: &str) -> Vec<u32> {
    let after_newlines = text.match_indices('\n').map(|(newline, _)| newline + 1);
    std::iter::once(text_start(text)).chain(after_newlines).map(saturate).collect()
}

impl<'text> LineIndex<'text> {
    /// Indexes the lines of `text`.
    pub fn new(text: &'text str) -> LineIndex<'text> {
        LineIndex { text, starts: Cow::Owned(starts_of(text)) }
    }

    /// The text.
    pub fn text(&self) -> &'text str {
        self.text
    }

    /// The position of a byte offset. One past the end is taken for the end, one inside a
    /// character for the place after that character.
    pub fn position(&self, offset: u32) -> Position {
        let line = self.line_of(offset);
        let start = self.starts[line];
        let before = self.text.as_bytes().get(start as usize..).unwrap_or(&[]);
        let length = offset.saturating_sub(start) as usize;
        let characters = before.iter().take(length).filter(|byte| begins_character(**byte)).count();
        Position { line: line as u32 + 1, column: characters as u32 + 1 }
    }

    /// The span of a line counted from 1, without its line end; `None` if there is no such line.
    pub fn line_span(&self, line: u32) -> Option<Span> {
        let index = (line as usize).checked_sub(1)?;
        let start = *self.starts.get(index)? as usize;
        let end = self.starts.get(index + 1).map_or(self.text.len(), |next| *next as usize);
        let content = self.text.get(start..end)?.trim_end_matches(['\r', '\n']);
        Some(Span::new(start, start + content.len()))
    }

    fn line_of(&self, offset: u32) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }
}

/// Where the text proper begins: after a byte order mark, if there is one.
pub(super) fn text_start(text: &str) -> usize {
    if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 }
}

fn begins_character(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}
