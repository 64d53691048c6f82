//! N-Triples (W3C Recommendation, RDF 1.1): a line is an expression `(triple subject predicate object)`.
//!
//! 1. An IRI is its text without the angle brackets, or `(iri "text")` if that is not a symbol.
//! 2. A blank node means something to its file only: `_:b0` is the symbol `_:b0@` with eight digits that stand for the file.
//! 3. A literal of the number types or `xsd:boolean` is that value, if it is one of that type and a source can write it; a plain one is a
//!    string; any other is `(typed "text" type)`, and `(lang "text" en)` has the language.

use super::text;
use metta::{Format, Out, WordMeaning, Words};
use space::{Atom, Number};

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
const INTEGERS: [&str; 13] = [
    "integer",
    "long",
    "int",
    "short",
    "byte",
    "nonNegativeInteger",
    "positiveInteger",
    "nonPositiveInteger",
    "negativeInteger",
    "unsignedLong",
    "unsignedInt",
    "unsignedShort",
    "unsignedByte",
];

/// The longest number that is read as one: the time that takes grows with the square of the length.
const NUMBER_BYTES_MAX: usize = 1_000;

const NOT_UTF8: &str = "not UTF-8";

/// Reads triples.
pub(super) struct NTriples {
    head: String,
    words: Words,
    /// What stands behind the names of blank nodes.
    blank_suffix: String,
    line: u64,
}

impl NTriples {
    /// Blank nodes are told apart by the place of the file.
    pub(super) fn new(head: String, place: &str, words: Words) -> Self {
        let hash = blake3::hash(place.as_bytes()).to_hex();
        Self { head, words, blank_suffix: format!("@{}", &hash[..8]), line: 1 }
    }

    fn take(&mut self, line: &[u8], out: &mut dyn Out) {
        out.record(self.line);
        self.line += 1;
        let Ok(line) = std::str::from_utf8(line) else { return out.skip(NOT_UTF8, true) };
        match Cursor(line).triple() {
            Ok(None) => {}
            Ok(Some([subject, predicate, object])) => {
                out.open();
                out.symbol(&self.head);
                for part in [&subject, &predicate, &object] {
                    self.part(part, out);
                }
                out.close();
            }
            Err(reason) => out.skip(reason, true),
        }
    }

    fn part(&self, part: &TriplePart, out: &mut dyn Out) {
        match part {
            TriplePart::Iri(iri) => self.iri(iri, out),
            TriplePart::Blank(label) => text::name(&format!("_:{label}{}", self.blank_suffix), &self.words, out),
            TriplePart::Plain(text) => out.leaf(Atom::from(text.as_str())),
            TriplePart::Language(text, language) => {
                out.open();
                out.symbol("lang");
                out.leaf(Atom::from(text.as_str()));
                text::name(language, &self.words, out);
                out.close();
            }
            TriplePart::Typed(text, datatype) => match self.value(text, datatype) {
                Some(value) => out.leaf(value),
                None => {
                    out.open();
                    out.symbol("typed");
                    out.leaf(Atom::from(text.as_str()));
                    self.iri(datatype, out);
                    out.close();
                }
            },
        }
    }

    /// An IRI that is no symbol is told apart from the literal of the same text.
    fn iri(&self, iri: &str, out: &mut dyn Out) {
        if self.words.is_symbol(iri) {
            return out.symbol(iri);
        }
        out.open();
        out.symbol("iri");
        out.leaf(Atom::from(iri));
        out.close();
    }

    /// The number, truth value or string that a typed literal is, if it is one.
    fn value(&self, text: &str, datatype: &str) -> Option<Atom> {
        match (datatype.strip_prefix(XSD)?, text) {
            ("string", _) => Some(Atom::from(text)),
            ("boolean", "true" | "1") => Some(Atom::from(true)),
            ("boolean", "false" | "0") => Some(Atom::from(false)),
            ("double" | "float", _) => self.number(text, |_| true),
            ("decimal", _) if !text.contains(['e', 'E']) => self.number(text, |_| true),
            (name, _) if INTEGERS.contains(&name) => self.number(text, |number| !number.is_float()),
            _ => None,
        }
    }

    /// The number that a text is, if it is of a kind and a float can hold it.
    fn number(&self, text: &str, is_kind: impl Fn(&Number) -> bool) -> Option<Atom> {
        if text.len() > NUMBER_BYTES_MAX {
            return None;
        }
        let WordMeaning::Atom(atom) = self.words.meaning(text) else { return None };
        let number = text::number(&atom)?;
        let is_held = !matches!(number, Number::Float(float) if !float.is_finite());
        (is_held && is_kind(number)).then_some(atom)
    }
}

impl Format for NTriples {
    fn read(&mut self, bytes: &[u8], is_end: bool, out: &mut dyn Out) -> usize {
        let mut at = 0;
        while let Some(length) = super::json_lines::line_length(&bytes[at..], is_end) {
            self.take(&bytes[at..at + length], out);
            at += length;
            if out.is_full() {
                break;
            }
        }
        at
    }

    fn manner(&self) -> String {
        format!("ntriples {}", self.head)
    }
}

/// A part of a triple.
#[derive(Debug, PartialEq)]
enum TriplePart {
    Iri(String),
    Blank(String),
    Plain(String),
    Language(String, String),
    Typed(String, String),
}

/// What is left of a line.
struct Cursor<'l>(&'l str);

type Read<T> = Result<T, &'static str>;

impl Cursor<'_> {
    /// The triple of the line; nothing for an empty line or a comment.
    fn triple(mut self) -> Read<Option<[TriplePart; 3]>> {
        self.skip_blank();
        if self.0.is_empty() || self.0.starts_with('#') {
            return Ok(None);
        }
        let subject = self.resource("a subject is <IRI> or _:label")?;
        let predicate = self.iri("a predicate is <IRI>")?;
        let object = self.object()?;
        self.skip_blank();
        self.expect(".", "a triple ends with ` .`")?;
        self.skip_blank();
        let is_over = self.0.is_empty() || self.0.starts_with('#');
        if is_over {
            Ok(Some([subject, TriplePart::Iri(predicate), object]))
        } else {
            Err("something follows the triple")
        }
    }

    fn skip_blank(&mut self) {
        self.0 = self.0.trim_start_matches([' ', '\t', '\r', '\n', '\u{feff}']);
    }

    fn expect(&mut self, wanted: &str, otherwise: &'static str) -> Read<()> {
        self.0 = self.0.strip_prefix(wanted).ok_or(otherwise)?;
        Ok(())
    }

    fn resource(&mut self, otherwise: &'static str) -> Read<TriplePart> {
        self.skip_blank();
        match self.0.strip_prefix("_:") {
            Some(rest) => {
                let is_label = |character: char| is_inside_label(character) || character == '.';
                let end = rest.find(|character| !is_label(character)).unwrap_or(rest.len());
                // A dot at the end is that of the triple.
                let label = rest[..end].trim_end_matches('.');
                self.0 = &rest[label.len()..];
                let is_sound = label.starts_with(|first: char| begins_label(first) || first.is_ascii_digit());
                if is_sound { Ok(TriplePart::Blank(label.to_owned())) } else { Err("a blank node has a label") }
            }
            None => self.iri(otherwise).map(TriplePart::Iri),
        }
    }

    fn iri(&mut self, otherwise: &'static str) -> Read<String> {
        self.skip_blank();
        let rest = self.0.strip_prefix('<').ok_or(otherwise)?;
        let end = rest.find('>').ok_or("`>` is missing")?;
        let iri = &rest[..end];
        if iri.contains(|character: char| character <= ' ' || "<\"{}|^`".contains(character)) {
            return Err("an IRI holds a character that is not allowed there");
        }
        self.0 = &rest[end + 1..];
        unescaped(iri, false)
    }

    fn object(&mut self) -> Read<TriplePart> {
        self.skip_blank();
        if !self.0.starts_with('"') {
            return self.resource("an object is <IRI>, _:label or \"literal\"");
        }
        let text = self.literal()?;
        if let Some(rest) = self.0.strip_prefix('@') {
            let end = rest
                .find(|character: char| !character.is_ascii_alphanumeric() && character != '-')
                .unwrap_or(rest.len());
            let language = &rest[..end];
            self.0 = &rest[end..];
            let is_tag = language.starts_with(|first: char| first.is_ascii_alphabetic());
            return if is_tag {
                Ok(TriplePart::Language(text, language.to_ascii_lowercase()))
            } else {
                Err("a language follows `@`")
            };
        }
        if let Some(rest) = self.0.strip_prefix("^^") {
            self.0 = rest;
            return Ok(TriplePart::Typed(text, self.iri("a type is <IRI>")?));
        }
        Ok(TriplePart::Plain(text))
    }

    fn literal(&mut self) -> Read<String> {
        let text = &self.0[1..];
        let mut is_escaped = false;
        let end = text.find(|character| {
            let ends = character == '"' && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            ends
        });
        let end = end.ok_or("`\"` is missing")?;
        self.0 = &text[end + 1..];
        unescaped(&text[..end], true)
    }
}

/// Whether a character may begin the label of a blank node, digits apart: `PN_CHARS_U` of the grammar of 2014.
fn begins_label(character: char) -> bool {
    matches!(character,
        'A'..='Z' | 'a'..='z' | '_' | ':' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

/// Whether a character may stand inside the label: `PN_CHARS`.
fn is_inside_label(character: char) -> bool {
    begins_label(character)
        || matches!(character, '-' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

/// The text that escapes stand for; in an IRI only those of characters by number may be.
fn unescaped(text: &str, is_literal: bool) -> Read<String> {
    const BAD: &str = "an escape that N-Triples does not have";
    let mut parts = text.split('\\');
    let mut result = parts.next().unwrap_or_default().to_owned();
    let mut follows_backslash = false;
    for part in parts {
        if std::mem::take(&mut follows_backslash) {
            result.push_str(part);
            continue;
        }
        let Some(first) = part.chars().next() else {
            // Two backslashes: the next part is plain.
            if !is_literal {
                return Err(BAD);
            }
            result.push('\\');
            follows_backslash = true;
            continue;
        };
        let digits = match first {
            'u' => 4,
            'U' => 8,
            _ if !is_literal => return Err(BAD),
            _ => 0,
        };
        let character = match first {
            't' => '\t',
            'b' => '\u{8}',
            'n' => '\n',
            'r' => '\r',
            'f' => '\u{c}',
            '"' => '"',
            '\'' => '\'',
            'u' | 'U' => part.get(1..=digits).and_then(character_of).ok_or(BAD)?,
            _ => return Err(BAD),
        };
        result.push(character);
        result.push_str(&part[1 + digits..]);
    }
    Ok(result)
}

fn character_of(digits: &str) -> Option<char> {
    let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hexadecimal.then(|| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triple(line: &str) -> Read<Option<[TriplePart; 3]>> {
        Cursor(line).triple()
    }

    fn iri(text: &str) -> TriplePart {
        TriplePart::Iri(text.to_owned())
    }

    #[test]
    fn lines_are_triples_comments_or_nothing() {
        let expected = [TriplePart::Blank("a.b".to_owned()), iri("p"), iri("o")];
        assert_eq!(triple("_:a.b <p> <o> . # said by Ann"), Ok(Some(expected)));
        assert_eq!(triple("<s><p>_:o."), Ok(Some([iri("s"), iri("p"), TriplePart::Blank("o".to_owned())])));
        for label in ["a:b", ":", "0-", "a\u{b7}b", "e\u{301}", "\u{10000}", "a..b"] {
            let expected = [TriplePart::Blank(label.to_owned()), iri("p"), iri("o")];
            assert_eq!(triple(&format!("_:{label} <p> <o> .")), Ok(Some(expected)), "{label}");
        }
        assert_eq!(triple("  # nothing"), Ok(None));
        assert_eq!(triple("\r\n"), Ok(None));
        for bad in [
            "<s> <p> <o>",
            "<s> \"p\" <o> .",
            "\"s\" <p> <o> .",
            "<s> <p> \"o .",
            "<s p> <p> <o> .",
            "<s> <p> <o> . x",
            "_: <p> <o> .",
            "_:-a <p> <o> .",
            "_:.a <p> <o> .",
            "_:a\u{d7} <p> <o> .",
        ] {
            assert!(triple(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn literals_have_types_languages_and_escapes() {
        let object = |text: &str| match triple(&format!("<s> <p> {text} .")) {
            Ok(Some([_, _, object])) => object,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(object(r#""a\tb\\n\"\u00e9\U0001F600""#), TriplePart::Plain("a\tb\\n\"é😀".to_owned()));
        assert_eq!(object(r#""\\\\""#), TriplePart::Plain(r"\\".to_owned()));
        assert_eq!(object("\"chat\"@fr-BE"), TriplePart::Language("chat".to_owned(), "fr-be".to_owned()));
        assert_eq!(object("\"5\"^^<t>"), TriplePart::Typed("5".to_owned(), "t".to_owned()));
        assert!(triple(r#"<s> <p> "\x" ."#).is_err());
        assert!(triple(r#"<s> <p> "\ud800" ."#).is_err());
        assert!(triple(r"<s\n> <p> <o> .").is_err());
        assert_eq!(triple(r"<\u0041> <p> <o> ."), Ok(Some([iri("A"), iri("p"), iri("o")])));
    }
}
