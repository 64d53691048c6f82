//! The lexer: cuts a text into brackets, words, variables and strings.
//!
//! 1. A byte order mark at the beginning of the text is skipped.
//! 2. White space (in the sense of Unicode) is skipped; `;` begins a comment up to `\n`, noted apart.
//! 3. `(` and `)` are tokens by themselves.
//! 4. `"` begins a string (`literal.rs`); what follows its closing quote is the next token.
//! 5. `$` begins a variable, up to white space or a bracket. As in Hyperon a `;` does not end it:
//!    that earns a warning. `#` in it is an error, as fresh variables are told apart by it.
//! 6. All else is a word, up to white space, a bracket or `;`. Within it `"`, `$`, `#` and `!` mean nothing.
//!    A word of too many digits is an error: it would be a number beyond the limit of integers.
//! 7. A NUL byte is an error wherever it stands, in comments too.
//!
//! A token with an error in it is reported and handed on as [`Token::Damaged`], so that the parser
//! knows where an atom is missing. Each byte is looked at a constant number of times.

use super::class::Class;
use super::diagnostic::{Diagnostics, excerpt};
use super::lines::text_start;
use super::tree::NodeShape;
use super::{Diagnostic, Span};
use space::INTEGER_DIGITS_MAX;

/// A piece of a text.
pub(super) enum Token {
    Open,
    Close,
    /// An atom without children.
    Leaf(NodeShape),
    /// Something that was reported as an error.
    Damaged,
}

/// Reads tokens from a text, and gathers what is not in them.
pub(super) struct Lexer<'text> {
    pub(super) text: &'text str,
    /// The offset of the next byte to read.
    pub(super) at: usize,
    pub(super) diagnostics: Diagnostics,
    /// The values of the strings with escapes, one after the other.
    pub(super) values: String,
    pub(super) comments: Vec<Span>,
    /// Whether the text ended inside a string.
    pub(super) ended_in_string: bool,
}

impl<'text> Lexer<'text> {
    pub(super) fn new(text: &'text str) -> Lexer<'text> {
        Lexer {
            text,
            at: text_start(text),
            diagnostics: Diagnostics::default(),
            values: String::new(),
            comments: Vec::new(),
            ended_in_string: false,
        }
    }

    /// The next token and its place; `None` at the end of the text.
    pub(super) fn next_token(&mut self) -> Option<(Token, Span)> {
        if let Some(damage) = self.skip_blank() {
            return Some((Token::Damaged, damage));
        }
        let start = self.at;
        let byte = *self.text.as_bytes().get(start)?;
        let token = match (Class::of_byte(byte), byte) {
            (Class::Open, _) => self.bracket(Token::Open),
            (Class::Close, _) => self.bracket(Token::Close),
            (_, b'"') => self.string(),
            (_, b'$') => self.variable(),
            _ => self.word(),
        };
        Some((token, Span::new(start, self.at)))
    }

    /// Whether a form probably begins here: a `(` or `!` at the beginning of a line.
    pub(super) fn begins_form(&self, offset: u32) -> bool {
        let bytes = self.text.as_bytes();
        let at = offset as usize;
        let at_margin = at == text_start(self.text) || bytes[at - 1] == b'\n';
        at_margin && matches!(bytes.get(at), Some(b'(' | b'!'))
    }

    /// Skips white space and comments; stops after a comment that is damaged, and answers with its place.
    fn skip_blank(&mut self) -> Option<Span> {
        loop {
            self.at = self.find(|character| !matches!(Class::of(character), Class::Blank | Class::Newline));
            let next = self.text.as_bytes().get(self.at);
            if next.is_none_or(|&byte| Class::of_byte(byte) != Class::Semicolon) {
                return None;
            }
            if let Some(damage) = self.comment() {
                return Some(damage);
            }
        }
    }

    /// Notes a comment; answers with its place if it is damaged.
    fn comment(&mut self) -> Option<Span> {
        let start = self.at;
        self.at = self.find(|character| Class::of(character) == Class::Newline);
        let span = Span::new(start, self.at);
        self.comments.push(span);
        self.report_nul(start).then_some(span)
    }

    fn bracket(&mut self, token: Token) -> Token {
        self.at += 1;
        token
    }

    fn word(&mut self) -> Token {
        let start = self.at;
        let ends_word = |class: Class| class.ends_name() || class == Class::Semicolon;
        self.at = self.find(|character| ends_word(Class::of(character)));
        let sound = !self.report_nul(start) && self.check_word(Span::new(start, self.at));
        if sound { Token::Leaf(NodeShape::Word) } else { Token::Damaged }
    }

    /// Reports an integer that is too long; answers whether the word can stand.
    fn check_word(&mut self, span: Span) -> bool {
        let word = span.slice(self.text);
        let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
        let is_too_long = digits.len() > INTEGER_DIGITS_MAX && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_too_long {
            self.diagnostics.report(long_integer(digits.len(), span));
        }
        !is_too_long
    }

    fn variable(&mut self) -> Token {
        let start = self.at;
        self.at = self.find(|character| Class::of(character).ends_name());
        let sound = !self.report_nul(start) && self.check_variable(Span::new(start, self.at));
        if sound { Token::Leaf(NodeShape::Variable) } else { Token::Damaged }
    }

    /// Reports what is wrong or odd about a variable; answers whether it can stand.
    fn check_variable(&mut self, span: Span) -> bool {
        let variable = span.slice(self.text);
        if variable.contains('#') {
            self.diagnostics.report(reserved_character(variable, span));
            return false;
        }
        if variable.contains(';') {
            self.diagnostics.report(swallowed_comment(variable, span));
        }
        true
    }

    /// The offset of the next character that is wanted, or of the end of the text.
    fn find(&self, wanted: impl Fn(char) -> bool) -> usize {
        self.text[self.at..].find(wanted).map_or(self.text.len(), |distance| self.at + distance)
    }

    /// Reports the first NUL byte read since `start`; answers whether there was one.
    fn report_nul(&mut self, start: usize) -> bool {
        let Some(distance) = self.text.as_bytes()[start..self.at].iter().position(|byte| *byte == 0) else {
            return false;
        };
        self.diagnostics.report(nul_byte(start + distance));
        true
    }
}

/// A NUL byte in the source.
pub(super) fn nul_byte(offset: usize) -> Diagnostic {
    Diagnostic::error("nul-byte", Span::new(offset, offset + 1), "NUL byte in the source")
        .with_label("a byte with the value 0")
        .with_help("delete it (in a string, write `\\x00`); if the file is UTF-16, save it as UTF-8")
}

fn long_integer(digits: usize, span: Span) -> Diagnostic {
    Diagnostic::error("long-integer", span, format!("an integer of {digits} digits"))
        .with_label(format!("at most {INTEGER_DIGITS_MAX} digits are read"))
        .with_help("write it as a float, as 1e99, or as a text in quotes")
}

fn reserved_character(variable: &str, span: Span) -> Diagnostic {
    let name = excerpt(variable);
    let message = format!("'#' char is reserved for internal usage: `{name}` cannot be a variable");
    Diagnostic::error("reserved-in-variable", span, message)
        .with_label("`#` in the name of a variable")
        .with_help(format!("rename the variable, for example to `{}`", name.replace(['#', ';'], "_")))
}

fn swallowed_comment(variable: &str, span: Span) -> Diagnostic {
    let name = excerpt(variable);
    let message = format!("`;` is part of the variable `{name}` and begins no comment");
    Diagnostic::warning("semicolon-in-variable", span, message)
        .with_label("a variable ends only at white space or a bracket")
        .with_help("put a space before `;` if a comment was meant")
}
