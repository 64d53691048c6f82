//! Lines of headers that a document has and a cassette has not, kept in a note with their places.
//!
//! Recorders often have bodies without compression, below headers that name one. On a cassette a header must not name what is not so.

use super::document::{Node, SyntaxProblem};
use super::foreign::{note, noted};
use super::url::{bytes, text};
use crate::exchange::Note;
use crate::message::Header;
use crate::redact::correct_length;

/// Takes out the lines that name a compression, and corrects the length.
pub(super) fn take_compression(headers: &mut Vec<Header<'static>>, body_bytes: usize) -> Vec<NumberedHeader> {
    let mut lines: Vec<NumberedHeader> = Vec::new();
    for (index, header) in headers.iter().enumerate() {
        let names_length = header.is("content-length") && header.value != *body_bytes.to_string();
        if header.is("content-encoding") || names_length {
            lines.push((index, header.clone()));
        }
    }
    headers.retain(|header| !header.is("content-encoding"));
    correct_length(headers, body_bytes);
    lines
}

/// A line and where it was in all of them.
pub(super) type NumberedHeader = (usize, Header<'static>);

/// Puts lines back: before the line that is now in their place, or instead of it if that is the length.
pub(super) fn put_back(headers: &mut Vec<Header<'static>>, notes: &[Note<'_>], name: &str) {
    let lines = noted(notes, name).and_then(|lines| lines.each(read_line).ok()).unwrap_or_default();
    for (index, line) in lines {
        match headers.get_mut(index) {
            Some(length) if line.is("content-length") && length.is("content-length") => *length = line,
            Some(_) => headers.insert(index, line),
            None => headers.push(line),
        }
    }
}

fn read_line(line: &Node) -> Result<NumberedHeader, SyntaxProblem> {
    match line.list()? {
        [index, name, value] => {
            let header = Header { name: bytes(name.text()?), value: bytes(value.text()?) };
            Ok((index.number()? as usize, header))
        }
        _ => Err(SyntaxProblem::new("a line has an index, a name and a value")),
    }
}

pub(super) fn lines_note(name: &'static str, lines: &[NumberedHeader]) -> Option<Note<'static>> {
    let line = |(index, header): &NumberedHeader| {
        Node::List(vec![(*index as u64).into(), text(&header.name).into(), text(&header.value).into()])
    };
    (!lines.is_empty()).then(|| note(name, &Node::List(lines.iter().map(line).collect())))
}
