//! The format MeTTa text: forms, read one by one.
//!
//! 1. The end of a form is found by its brackets, strings and comments, in the words of the lexer ([`crate::syntax`]).
//! 2. A form of symbols, small numbers and plain strings, which facts are made of, is handed out as it was cut.
//! 3. Every other form is parsed as `metroon run` parses it.
//!
//! A form after `!` is left out, since a load evaluates nothing. So is one that does not parse: unlike a program, a file of facts
//! means the same whatever stands before.

use super::words::{Meaning, Words};
use super::{Format, Out};
use crate::syntax::{self, Class, Severity};
use space::Atom;

/// Reads MeTTa text.
pub struct MettaText {
    words: Words,
    /// The line on which the next byte stands.
    line: u64,
    /// Whether the beginning of the file was read.
    has_begun: bool,
    /// Whether `!` stood before the form to come.
    is_after_bang: bool,
    /// The form at hand, and what its words mean.
    pieces: Vec<Piece>,
    meanings: Vec<Meaning>,
}

/// A part of a form. Places are offsets from its beginning.
enum Piece {
    Open,
    Close,
    Word(u32, u32),
    Text(u32, u32),
}

/// A form that was cut out.
struct Cut {
    /// How many bytes it has.
    length: usize,
    /// Whether it is as its pieces say; if not it is to be parsed.
    is_plain: bool,
}

/// Longer words are left to the parser.
const WORD_BYTES_MAX: usize = 1_000;

const AFTER_BANG: &str = "forms after `!`: a load evaluates nothing; `metroon run --kb` does";
const NOT_UTF8: &str = "not UTF-8";
const LONE_BANG: &str = "`!` without a form after it";
const NUL: &str = "a NUL byte in a comment";
const UNOPENED: &str = "`)` without `(`";
const MARK: &[u8] = "\u{feff}".as_bytes();

impl MettaText {
    /// A reader for text whose words have these meanings.
    pub fn new(words: Words) -> Self {
        Self { words, line: 1, has_begun: false, is_after_bang: false, pieces: Vec::new(), meanings: Vec::new() }
    }

    /// Hands out a form, and counts its lines.
    fn take(&mut self, form: &[u8], is_plain: bool, out: &mut dyn Out) {
        out.record(self.line);
        let is_after_bang = std::mem::take(&mut self.is_after_bang);
        match std::str::from_utf8(form) {
            Err(_) => out.skip(NOT_UTF8, true),
            Ok(_) if is_after_bang && is_plain => out.skip(AFTER_BANG, false),
            Ok(form) if !is_after_bang && is_plain && self.hand_out(form, out) => {}
            Ok(form) => self.parse(form, is_after_bang, out),
        }
        self.line += newlines(form);
    }

    /// Hands out a form by its pieces; whether that could be done.
    fn hand_out(&mut self, form: &str, out: &mut dyn Out) -> bool {
        let meanings = |piece: &Piece| match piece {
            Piece::Word(start, end) => Some(self.words.meaning(&form[*start as usize..*end as usize])),
            _ => None,
        };
        // What a word means may be no part of a row: a space, an operation.
        let mut known = std::mem::take(&mut self.meanings);
        known.clear();
        known.extend(self.pieces.iter().filter_map(meanings));
        let is_row = known.iter().all(|meaning| match meaning {
            Meaning::Symbol => true,
            Meaning::Atom(atom) => atom.is_rigid() && atom.children().is_none(),
        });
        if is_row {
            let mut words = known.drain(..);
            for piece in &self.pieces {
                match piece {
                    Piece::Open => out.open(),
                    Piece::Close => out.close(),
                    Piece::Word(start, end) => match words.next() {
                        Some(Meaning::Atom(atom)) => out.leaf(atom),
                        _ => out.symbol(&form[*start as usize..*end as usize]),
                    },
                    Piece::Text(start, end) => out.leaf(Atom::from(&form[*start as usize..*end as usize])),
                }
            }
        }
        self.meanings = known;
        is_row
    }

    /// Parses a form and hands it out. A form after `!` is parsed as well: a quote that is missing there swallows what follows.
    fn parse(&mut self, form: &str, is_after_bang: bool, out: &mut dyn Out) {
        let parsed = syntax::parse(form);
        if let Some(error) = parsed.diagnostics.iter().find(|found| found.severity == Severity::Error) {
            return out.skip(&format!("does not parse: {}", error.message), true);
        }
        if is_after_bang {
            return out.skip(AFTER_BANG, false);
        }
        for form in parsed.tree.forms() {
            out.atom(self.words.read_atom(&parsed.tree, form.node));
        }
    }

    /// Cuts a form out of the beginning of these bytes; `None` if it does not end in them.
    fn cut(&mut self, bytes: &[u8], is_end: bool) -> Option<Cut> {
        self.pieces.clear();
        let (mut at, mut depth, mut is_plain) = (0, 0_usize, true);
        loop {
            let Some(&byte) = bytes.get(at) else {
                // At the end of the file the parser says what is missing.
                return is_end.then_some(Cut { length: at, is_plain: false });
            };
            match (Class::of_byte(byte), byte) {
                (Class::Blank | Class::Newline, _) => at += 1,
                (Class::Semicolon, _) => {
                    let (length, is_sound) = comment(&bytes[at..]);
                    is_plain &= is_sound;
                    at += length;
                }
                (Class::Open, _) => {
                    depth += 1;
                    at += 1;
                    self.pieces.push(Piece::Open);
                }
                (Class::Close, _) => {
                    depth = depth.saturating_sub(1);
                    at += 1;
                    self.pieces.push(Piece::Close);
                }
                (Class::Name, b'"') => {
                    let Some((length, is_simple)) = string(&bytes[at..]) else {
                        return is_end.then_some(Cut { length: bytes.len(), is_plain: false });
                    };
                    is_plain &= is_simple && at + length <= u32::MAX as usize;
                    if is_plain {
                        self.pieces.push(Piece::Text(at as u32 + 1, (at + length) as u32 - 1));
                    }
                    at += length;
                }
                (Class::Unclear, _) if blank_character(&bytes[at..]).is_some() => {
                    is_plain = false;
                    at += blank_character(&bytes[at..]).unwrap_or(1);
                }
                (Class::Unclear | Class::Name, _) => {
                    let (length, is_simple) = name(&bytes[at..], byte == b'$');
                    is_plain &= is_simple && byte != b'$' && at + length <= u32::MAX as usize;
                    if is_plain {
                        self.pieces.push(Piece::Word(at as u32, (at + length) as u32));
                    }
                    at += length;
                    if at == bytes.len() && !is_end {
                        return None;
                    }
                }
            }
            if depth == 0 {
                return Some(Cut {
                    length: at,
                    is_plain: is_plain && matches!(self.pieces.first(), Some(Piece::Open)),
                });
            }
        }
    }

    /// Skips what stands between forms, a bracket too many included; gives how many bytes that were, and whether a form follows.
    fn skip_between(&mut self, bytes: &[u8], is_end: bool, out: &mut dyn Out) -> (usize, bool) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match Class::of_byte(byte) {
                Class::Blank => at += 1,
                Class::Newline => {
                    self.line += 1;
                    at += 1;
                }
                Class::Semicolon => {
                    let (length, is_sound) = comment(&bytes[at..]);
                    if at + length == bytes.len() && !is_end {
                        return (at, false);
                    }
                    if !is_sound {
                        out.record(self.line);
                        out.skip(NUL, true);
                    }
                    at += length;
                }
                Class::Close => {
                    out.record(self.line);
                    out.skip(UNOPENED, true);
                    at += 1;
                }
                Class::Unclear => match blank_character(&bytes[at..]) {
                    Some(length) => at += length,
                    None if bytes.len() - at < 4 && !is_end => return (at, false),
                    None => return (at, true),
                },
                Class::Open | Class::Name => return (at, true),
            }
        }
        (at, false)
    }
}

impl Format for MettaText {
    fn read(&mut self, bytes: &[u8], is_end: bool, out: &mut dyn Out) -> usize {
        let mut at = 0;
        if !self.has_begun {
            if bytes.len() < MARK.len() && !is_end {
                return 0;
            }
            self.has_begun = true;
            at += if bytes.starts_with(MARK) { MARK.len() } else { 0 };
        }
        loop {
            if out.is_full() {
                return at;
            }
            let (length, is_form) = self.skip_between(&bytes[at..], is_end, out);
            at += length;
            if !is_form {
                if is_end && std::mem::take(&mut self.is_after_bang) {
                    out.record(self.line);
                    out.skip(LONE_BANG, true);
                }
                return at;
            }
            let Some(Cut { length, is_plain }) = self.cut(&bytes[at..], is_end) else { return at };
            let form = &bytes[at..at + length];
            if form == b"!" {
                self.is_after_bang = true;
            } else {
                self.take(form, is_plain, out);
            }
            at += length;
        }
    }

    fn manner(&self) -> String {
        String::new()
    }
}

/// The length of the comment that these bytes begin with, and whether it is without NUL bytes.
fn comment(bytes: &[u8]) -> (usize, bool) {
    let length = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    (length, !bytes[..length].contains(&0))
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// The length of the string that these bytes begin with, and whether its value is what stands between the quotes; `None` if it
/// does not end in them.
fn string(bytes: &[u8]) -> Option<(usize, bool)> {
    let (mut at, mut is_simple) = (1, true);
    loop {
        match bytes.get(at)? {
            b'"' => return Some((at + 1, is_simple)),
            b'\\' => {
                is_simple = false;
                at += 2;
            }
            0 => {
                is_simple = false;
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// The length of the word or variable that these bytes begin with, and whether all of it is ASCII. A `;` is part of a variable.
fn name(bytes: &[u8], is_variable: bool) -> (usize, bool) {
    let (mut at, mut is_simple) = (0, true);
    while let Some(&byte) = bytes.get(at) {
        match Class::of_byte(byte) {
            Class::Name => {}
            Class::Semicolon if is_variable => {}
            Class::Unclear => {
                if blank_character(&bytes[at..]).is_some() {
                    break;
                }
                is_simple = false;
            }
            _ => break,
        }
        at += 1;
    }
    // The parser says which numbers are too long.
    (at, is_simple && at <= WORD_BYTES_MAX)
}

/// The length of the white space beyond ASCII that these bytes begin with.
fn blank_character(bytes: &[u8]) -> Option<usize> {
    let longest = &bytes[..bytes.len().min(4)];
    let text = match std::str::from_utf8(longest) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&longest[..error.valid_up_to()]).ok()?,
    };
    text.chars().next().filter(|character| character.is_whitespace()).map(char::len_utf8)
}
