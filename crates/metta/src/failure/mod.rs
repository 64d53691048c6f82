//! Failures: errors that end a form, explained for people.
//!
//! An error is an atom, and has no place: two errors are equal wherever they were made. What is known of where one was made is kept
//! beside it, in a [`Failure`], a plain value that a terminal renders.
//!
//! 1. [`message`] says in words what an error atom says.
//! 2. [`texts`] has the texts that ran, and finds rules and calls in them.
//!
//! Nothing is noted while a program runs without errors: a session evaluates a form again when it has failed (`session/failures.rs`).

pub(crate) mod message;
pub(crate) mod texts;

use crate::syntax::{Form, LineIndex, LineStarts, Position, Span, SyntaxTree};
use space::Atom;
use std::sync::Arc;

/// A place in a text.
#[derive(Clone, Debug)]
pub struct Place {
    /// What the text is called in messages.
    pub origin: Arc<str>,
    /// The text.
    pub text: Arc<str>,
    /// Where in it.
    pub span: Span,
    starts: Arc<LineStarts>,
}

impl Place {
    pub(crate) fn of_form(origin: &str, tree: &SyntaxTree, form: &Form) -> Self {
        let (text, starts) = (tree.shared_text(), Arc::clone(tree.line_starts()));
        Self { origin: origin.into(), text, span: form.span, starts }
    }

    /// The line and the column at which it begins.
    pub fn position(&self) -> Position {
        self.lines().position(self.span.start)
    }

    /// The lines of the text, which all places in it share.
    pub fn lines(&self) -> LineIndex<'_> {
        self.starts.index(&self.text)
    }

    /// The part of the text.
    pub fn slice(&self) -> &str {
        self.span.slice(&self.text)
    }
}

/// How sure it is where an error was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The form was evaluated once more, and the error was made there again.
    Seen,
    /// The form has effects, or is long, and is not evaluated again; this is the only place with such an expression.
    OnlyPlace,
    /// It is not known: the place is that of the form.
    Unknown,
}

/// A call that an error was made under.
#[derive(Clone, Debug)]
pub struct FailedCall {
    /// The name of its function.
    pub name: String,
    /// The call with its arguments, cut if it is long.
    pub call: String,
    /// The rule that was evaluated, if a text states it.
    pub rule: Option<Place>,
}

/// An error that has ended a form.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Counts the forms of its source that have answers, from 1.
    pub number: usize,
    /// The error.
    pub error: Atom,
    /// A stable name for this kind of error, such as `bad-argument-type`.
    pub code: &'static str,
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
    /// What the expression at the place came to be, cut if it is long.
    pub label: String,
    /// What else there is to know, and what to do next.
    pub help: Vec<String>,
    /// The expression that the error is about, or the form.
    pub place: Place,
    /// The form that was evaluated.
    pub form: Place,
    /// How sure the place is.
    pub certainty: Certainty,
    /// The calls that the error was made under, from the innermost.
    pub calls: Vec<FailedCall>,
    /// How many calls are left out, and after how many of the others.
    pub calls_left_out: Option<(usize, usize)>,
    /// How many other errors the form has come to.
    pub others: usize,
    /// How many forms of the source come later and are not run.
    pub not_run: usize,
}
