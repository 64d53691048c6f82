//! What goes wrong with pages, as exceptions of Python: the classes are those of `metroon/_errors.py`.

use crate::errors;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use reactive::{CommitError, OpenError};
use std::error::Error;
use std::fmt::Display;

/// An exception of the class of this name.
pub(crate) fn plain(py: Python<'_>, class: &str, error: &dyn Display) -> PyErr {
    errors::plain(py, class, error)
}

/// A function of a page has asked a state for something.
pub(crate) fn refused_inside(py: Python<'_>) -> PyErr {
    let message = "a function that derives a page reads the pages that it is called with, and nothing else of a state; \
                   name what it needs when the page is derived";
    plain(py, "PageError", &message)
}

/// A step was to be added to a transaction, or it was to be committed, while it is committed.
pub(crate) fn being_committed(py: Python<'_>) -> PyErr {
    plain(py, "PageError", &"the transaction is being committed; begin another one")
}

/// What belongs to another process was asked for something.
pub(crate) fn forked(py: Python<'_>) -> PyErr {
    let message = "the process is a fork of the one that has the state; use it there, or open another one here";
    plain(py, "PageError", &message)
}

/// A transaction was refused; `raised` is what a function has raised, if one did.
pub(crate) fn commit(py: Python<'_>, error: &CommitError, raised: Option<PyErr>) -> PyErr {
    let class = match error {
        CommitError::UnknownPage { .. } | CommitError::UnknownNewPage { .. } => "PageKeyError",
        CommitError::Function { .. } | CommitError::UndeclaredRead { .. } | CommitError::Impure { .. } => {
            "PageFunctionError"
        }
        CommitError::Log(_) | CommitError::UnknownFunction { .. } | CommitError::TooManyPages => "PageError",
        _ => "PageValueError",
    };
    because(py, plain(py, class, error), raised)
}

/// A state cannot be opened, or what it was cannot be found again.
pub(crate) fn open(py: Python<'_>, error: &OpenError, raised: Option<PyErr>) -> PyErr {
    let class = match error {
        OpenError::NoSuchEpoch { .. } => "PageValueError",
        OpenError::Replay { reason: CommitError::Function { .. }, .. } => "PageFunctionError",
        _ => "PageError",
    };
    because(py, plain(py, class, error), raised)
}

/// The disk refuses, or what [`open`] says.
pub(crate) fn other(py: Python<'_>, error: &(dyn Error + Send + Sync + 'static), raised: Option<PyErr>) -> PyErr {
    match error.downcast_ref::<OpenError>() {
        Some(error) => open(py, error, raised),
        None => because(py, plain(py, "PageError", &error), raised),
    }
}

/// An exception with the one that it follows from. What is more than an error, such as Ctrl-C, goes on as it is.
fn because(py: Python<'_>, error: PyErr, raised: Option<PyErr>) -> PyErr {
    match raised {
        Some(raised) if !raised.is_instance_of::<PyException>(py) => raised,
        raised => {
            error.set_cause(py, raised);
            error
        }
    }
}
