//! The front end: from source text to a syntax tree and diagnostics.
//!
//! [`parse`] reads any text and always answers with a [`Parsed`]: a tree of the forms that are
//! sound, and a list of [`Diagnostic`]s, each with a place and a next step. It knows the shape of
//! the language only: words, variables, strings, expressions and the top-level `!`. What a word
//! *means* (a number, a native function, a symbol) is decided later, by the tokenizer of a module.
//!
//! Invariants:
//! - No input makes it panic, abort or recurse: nesting lives in vectors, never on the native stack.
//! - Time and memory are linear in the length of the text.
//! - Every span is in range, lies on character boundaries of the text as given, and a byte order
//!   mark counts, so spans are offsets in the file.
//! - [`SyntaxTree::forms`] holds no form with an error inside it.
//! - Without an [`Severity::Error`], the forms are what Hyperon Experimental 0.2.10 reads, except
//!   that a leading byte order mark is skipped here.
//!
//! How a text is read:
//! 1. [`decode()`] turns the bytes of a file into text, and says which byte is not UTF-8.
//! 2. The lexer (`lexer.rs`) cuts the text into brackets, words, variables and strings (`literal.rs`).
//! 3. The parser (`parser.rs`) folds them into nodes with an explicit stack and gathers the forms.
//! 4. At the end of the text the parser closes what stayed open and recovers the forms after it.
//! 5. A text that is run is read in pieces (`pieces.rs`), so that the tree of all of it is never in memory.
//! 6. The diagnostics are sorted by place; [`LineIndex`] turns a place into a line and a column.

mod class;
mod decode;
mod diagnostic;
mod lexer;
mod lines;
mod literal;
mod parser;
mod pieces;
mod span;
mod tree;

#[cfg(test)]
mod tests;

pub(crate) use class::Class;
pub use decode::{Decoded, decode, decode_owned};
pub use diagnostic::{Diagnostic, Severity};
pub(crate) use lines::LineStarts;
pub use lines::{LineIndex, Position};
pub(crate) use pieces::Pieces;
pub use span::Span;
pub use tree::{Form, NodeId, NodeKind, SyntaxTree, Visit, Walk};

/// The longest text that [`parse`] reads, in bytes: spans are 32-bit.
pub const TEXT_BYTES_MAX: usize = u32::MAX as usize;

/// The most diagnostics with one code that [`parse`] lists; a note tells how many more there are.
pub const DIAGNOSTICS_PER_CODE_MAX: u32 = 100;

/// What [`parse`] made of a text.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The sound forms, in order.
    pub tree: SyntaxTree,
    /// Everything there is to say about the text, sorted by place.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// The error that comes first in the text, if there is one.
    pub fn first_error(&self) -> Option<&Diagnostic> {
        self.diagnostics.iter().find(|one| one.severity == Severity::Error)
    }

    /// The forms that are complete before the first error: what a run may execute.
    ///
    /// Without an error these are all forms. A missing `)` counts from the opening bracket, so
    /// nothing after that bracket is among them, recovered or not.
    pub fn forms_before_error(&self) -> &[Form] {
        let forms = self.tree.forms();
        let Some(error) = self.first_error() else {
            return forms;
        };
        let complete = forms.partition_point(|form| form.span.end <= error.span.start);
        &forms[..complete]
    }
}

/// Reads a text: every sound form in it, and a diagnostic for everything that is not.
///
/// A text longer than [`TEXT_BYTES_MAX`] is refused with an error and no forms.
///
/// ```
/// use metta::syntax::{NodeKind, parse};
///
/// let parsed = parse("(= (twice $x) (* 2 $x)) ! (twice 21)");
/// assert!(parsed.first_error().is_none());
/// let question = parsed.tree.forms()[1];
/// assert!(question.bang);
/// let first = parsed.tree.children(question.node).next().unwrap();
/// assert_eq!(parsed.tree.kind(first), NodeKind::Word("twice"));
/// ```
pub fn parse(text: &str) -> Parsed {
    parser::parse_within(text, TEXT_BYTES_MAX)
}
