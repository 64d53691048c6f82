//! What goes wrong, as exceptions of Python.
//!
//! The classes are those of `metroon/_errors.py`; each carries the place in the text, if there is one, what to do next, and the answers
//! of the forms before.

use crate::convert;
use metroon::limits::LimitReached;
use metroon::run::WriterError;
use metroon::syntax::{Diagnostic, LineIndex, Severity};
use metroon::why::Failure;
use metroon::{Answer, RunEnd};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// An exception of `metroon`, as far as it is known.
#[derive(Default)]
pub(crate) struct Trouble<'a> {
    pub(crate) message: String,
    pub(crate) file: Option<&'a str>,
    pub(crate) line: Option<u32>,
    pub(crate) column: Option<u32>,
    pub(crate) help: Option<String>,
    /// What the forms before came to.
    pub(crate) answers: &'a [Answer],
    /// The line of the text that it is about.
    pub(crate) text: Option<String>,
}

impl Trouble<'_> {
    /// As an exception of the class of this name.
    pub(crate) fn raise(&self, py: Python<'_>, class: &str) -> PyErr {
        self.exception(py, class).unwrap_or_else(|error| error)
    }

    fn exception(&self, py: Python<'_>, class: &str) -> PyResult<PyErr> {
        let class = py.import("metroon._errors")?.getattr(class)?;
        let details = PyDict::new(py);
        details.set_item("file", self.file)?;
        details.set_item("line", self.line)?;
        details.set_item("column", self.column)?;
        details.set_item("help", self.help.as_deref())?;
        details.set_item("text", self.text.as_deref())?;
        details.set_item("answers", answers(py, self.answers)?)?;
        Ok(PyErr::from_value(class.call((&self.message,), Some(&details))?))
    }
}

/// The results of each form, as values.
pub(crate) fn answers<'py>(py: Python<'py>, answers: &[Answer]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for answer in answers {
        list.append(convert::values(py, &answer.results)?)?;
    }
    Ok(list)
}

/// An exception without a place.
pub(crate) fn plain(py: Python<'_>, class: &str, error: &dyn std::fmt::Display) -> PyErr {
    Trouble { message: error.to_string(), ..Trouble::default() }.raise(py, class)
}

/// An engine did not do what it was asked.
pub(crate) fn writer(py: Python<'_>, error: &WriterError) -> PyErr {
    let class = match error {
        WriterError::Closed => "ClosedError",
        WriterError::Forked => "ForkError",
        _ => "KnowledgeBaseError",
    };
    plain(py, class, error)
}

/// Where a text was run.
pub(crate) struct Ran<'a> {
    pub(crate) file: Option<&'a str>,
    pub(crate) text: &'a str,
    pub(crate) answers: &'a [Answer],
    pub(crate) failure: Option<&'a Failure>,
}

/// What the first error of a text says, with its place.
pub(crate) fn not_parsed(py: Python<'_>, ran: &Ran<'_>, diagnostics: &[Diagnostic]) -> PyErr {
    let Some(error) = diagnostics.iter().find(|found| found.severity == Severity::Error) else {
        return plain(py, "ParseError", &"the text does not parse");
    };
    let position = LineIndex::new(ran.text).position(error.span.start);
    Trouble {
        message: error.message.clone(),
        file: ran.file,
        line: Some(position.line),
        column: Some(position.column),
        help: error.help.clone(),
        answers: ran.answers,
        text: line_of(ran.text, position.line),
    }
    .raise(py, "ParseError")
}

fn line_of(text: &str, line: u32) -> Option<String> {
    text.lines().nth(line.checked_sub(1)? as usize).map(str::to_owned)
}

/// Why a run ended before its end.
pub(crate) fn ended(py: Python<'_>, ran: &Ran<'_>, end: &RunEnd, diagnostics: &[Diagnostic]) -> PyErr {
    let trouble = |message: String| Trouble { message, answers: ran.answers, file: ran.file, ..Trouble::default() };
    match end {
        RunEnd::NotParsed => not_parsed(py, ran, diagnostics),
        RunEnd::Error => failed(py, ran),
        RunEnd::Limit(limit) => {
            let message = format!("a limit ended the run: {limit}");
            Trouble { help: help_at(limit).map(str::to_owned), ..trouble(message) }.raise(py, "LimitError")
        }
        RunEnd::World(error) => trouble(error.to_string()).raise(py, "WorldError"),
        RunEnd::Effect(refused) => trouble(refused.to_string()).raise(py, "EffectError"),
        RunEnd::RunRecord(error) => trouble(format!("the run cannot go on: {error}")).raise(py, "KnowledgeBaseError"),
        _ => trouble("the run ended early".to_owned()).raise(py, "MettaError"),
    }
}

/// What to do about a limit, by the names that arguments have.
pub(crate) fn help_at(limit: &LimitReached) -> Option<&'static str> {
    Some(match limit {
        LimitReached::Steps(_) => "look for a loop that does not end, or allow more by steps=",
        LimitReached::Heap(_) => "look for a list or a recursion that grows without end, or allow more by heap=",
        LimitReached::Memory(_) => "look for a space or a list that grows without end, or allow more by memory=",
        LimitReached::Time => "look for a loop that does not end, or allow more by timeout=",
        _ => return None,
    })
}

/// A form came to an error.
fn failed(py: Python<'_>, ran: &Ran<'_>) -> PyErr {
    let errors = ran.answers.last().map_or(&[][..], |answer| &answer.results);
    let shown: Vec<String> =
        errors.iter().filter(|result| metta::names::is_error(result)).map(|result| result.to_string()).collect();
    let Some(failure) = ran.failure else {
        return Trouble { message: shown.join(" "), answers: ran.answers, file: ran.file, ..Trouble::default() }
            .raise(py, "EvaluationError");
    };
    let position = failure.place.position();
    Trouble {
        message: failure.message.clone(),
        file: Some(&failure.place.origin),
        line: Some(position.line),
        column: Some(position.column),
        help: (!failure.help.is_empty()).then(|| failure.help.join("; ")),
        answers: ran.answers,
        text: Some(failure.place.slice().to_owned()),
    }
    .raise(py, "EvaluationError")
}
