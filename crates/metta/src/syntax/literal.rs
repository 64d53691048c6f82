//! String literals and their escapes.
//!
//! 1. Look for the next closing quote, backslash or NUL byte after the opening quote.
//! 2. At a backslash, copy what came before it to the values, then the character it stands for.
//!    A wrong escape is reported and skipped, as far as it was legible, and the string read on.
//! 3. At the quote: a string that had no backslash is a slice of the text, another one a slice of the values.
//! 4. At the end of the text, report the string as unclosed.
//!
//! Escapes are Hyperon's: `\'` `\"` `\\` `\n` `\r` `\t`, `\xHH` up to 7F, and `\u{...}` with up to
//! eight digits. Like there, `\u{}` is U+0000 and a further `{` between the digits is overlooked.

use super::diagnostic::excerpt;
use super::lexer::{Lexer, Token, nul_byte};
use super::tree::NodeShape;
use super::{Diagnostic, Span};

/// The most hexadecimal digits in `\u{...}`.
const UNICODE_DIGITS_MAX: usize = 8;

/// The largest value of `\xHH`.
const HEX_PAIR_MAX: u32 = 0x7F;

/// A string while it is read.
struct Literal {
    /// The offset of the opening quote.
    quote: usize,
    /// Where its value begins in the values.
    value_start: usize,
    /// The offset up to which the value is complete.
    copied: usize,
    has_escapes: bool,
    sound: bool,
}

impl Lexer<'_> {
    /// Reads the string that begins here.
    pub(super) fn string(&mut self) -> Token {
        let quote = self.at;
        self.at += 1;
        let value_start = self.values.len();
        let mut literal = Literal { quote, value_start, copied: self.at, has_escapes: false, sound: true };
        while let Some(byte) = self.find_in_string() {
            match byte {
                b'"' => return self.close_string(literal),
                b'\\' => self.escape(&mut literal),
                _ => self.nul_in_string(&mut literal),
            }
        }
        self.unclosed_string(&literal)
    }

    /// Goes on to the next byte with a meaning in a string.
    fn find_in_string(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let distance = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0));
        self.at += distance.unwrap_or(rest.len());
        distance.map(|index| rest[index])
    }

    fn close_string(&mut self, literal: Literal) -> Token {
        if literal.has_escapes {
            self.values.push_str(&self.text[literal.copied..self.at]);
        }
        self.at += 1;
        match literal {
            Literal { sound: false, .. } => Token::Damaged,
            Literal { has_escapes: false, .. } => Token::Leaf(NodeShape::PlainString),
            _ => Token::Leaf(NodeShape::EscapedString(Span::new(literal.value_start, self.values.len()))),
        }
    }

    /// Reads an escape from its backslash on.
    fn escape(&mut self, literal: &mut Literal) {
        let start = self.at;
        let escape = read_escape(&self.text[start + 1..]);
        self.at += 1 + escape.length;
        match escape.value {
            Some(character) => self.append(literal, start, character),
            None => self.invalid_escape(literal, start),
        }
    }

    /// Completes the value with the text up to an escape and the character it stands for.
    fn append(&mut self, literal: &mut Literal, escape_start: usize, character: char) {
        self.values.push_str(&self.text[literal.copied..escape_start]);
        self.values.push(character);
        literal.copied = self.at;
        literal.has_escapes = true;
    }

    fn invalid_escape(&mut self, literal: &mut Literal, start: usize) {
        literal.sound = false;
        let span = Span::new(start, self.at);
        let escape = span.slice(self.text);
        if escape.len() > 1 {
            self.diagnostics.report(invalid_escape(escape, span));
        }
    }

    fn nul_in_string(&mut self, literal: &mut Literal) {
        literal.sound = false;
        self.diagnostics.report(nul_byte(self.at));
        self.at += 1;
    }

    fn unclosed_string(&mut self, literal: &Literal) -> Token {
        self.ended_in_string = true;
        let span = Span::new(literal.quote, literal.quote + 1);
        let message = "Unclosed String Literal: the text ends before the closing `\"`";
        let mut diagnostic = Diagnostic::error("unclosed-string", span, message)
            .with_label("the string begins here")
            .with_help("add the closing `\"` (within a string, a quote is written `\\\"`)");
        if let Some(margin) = self.form_in_string(literal.quote) {
            diagnostic =
                diagnostic.with_related(margin, "this line begins at the margin while the string is still open");
        }
        self.diagnostics.report(diagnostic);
        Token::Damaged
    }

    /// The first place after a quote where a form seems to begin.
    fn form_in_string(&self, quote: usize) -> Option<Span> {
        let newlines = self.text[quote..].match_indices('\n').map(|(distance, _)| quote + distance);
        let margin = newlines.map(|newline| newline + 1).find(|start| self.begins_form(*start as u32))?;
        Some(Span::new(margin, margin + 1))
    }
}

/// The escape after a backslash: how many bytes were legible, and what they stand for.
struct Escape {
    length: usize,
    value: Option<char>,
}

fn read_escape(after: &str) -> Escape {
    let Some(letter) = after.chars().next() else {
        return Escape { length: 0, value: None };
    };
    match letter {
        '\'' | '"' | '\\' => Escape { length: 1, value: Some(letter) },
        'n' => Escape { length: 1, value: Some('\n') },
        'r' => Escape { length: 1, value: Some('\r') },
        't' => Escape { length: 1, value: Some('\t') },
        'x' => read_hex_pair(after),
        'u' => read_unicode(after),
        _ => Escape { length: letter.len_utf8(), value: None },
    }
}

/// Reads `xHH`.
fn read_hex_pair(after: &str) -> Escape {
    let digits: Vec<u32> = after.chars().skip(1).take(2).map_while(|digit| digit.to_digit(16)).collect();
    let value = match digits[..] {
        [high, low] => Some(high << 4 | low).filter(|value| *value <= HEX_PAIR_MAX).and_then(char::from_u32),
        _ => None,
    };
    Escape { length: 1 + digits.len(), value }
}

/// Reads `u{...}`.
fn read_unicode(after: &str) -> Escape {
    let Some(body) = after.strip_prefix("u{") else {
        return Escape { length: 1, value: None };
    };
    let mut value = 0;
    let mut digits = 0;
    for (index, character) in body.char_indices() {
        let length = "u{".len() + index;
        match character.to_digit(16) {
            Some(digit) if digits < UNICODE_DIGITS_MAX => value = value << 4 | digit,
            None if character == '{' => continue,
            None if character == '}' => {
                return Escape { length: length + 1, value: char::from_u32(value) };
            }
            _ => {
                return Escape { length, value: None };
            }
        }
        digits += 1;
    }
    Escape { length: after.len(), value: None }
}

fn invalid_escape(escape: &str, span: Span) -> Diagnostic {
    let message = format!("Invalid escape sequence `{}`", excerpt(escape));
    Diagnostic::error("invalid-escape", span, message)
        .with_label("stands for no character")
        .with_help(escape_help(escape))
}

fn escape_help(escape: &str) -> &'static str {
    match escape.as_bytes().get(1) {
        Some(b'x') => "write two hexadecimal digits up to 7F, as in `\\x1b`; for other characters use `\\u{...}`",
        Some(b'u') => "write the hexadecimal number of a character in braces, as in `\\u{27e8}`",
        _ => r#"write one of \' \" \\ \n \r \t \xHH \u{...}; for a backslash itself, write it twice"#,
    }
}
