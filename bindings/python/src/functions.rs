//! Functions and values of Python inside an engine.
//!
//! 1. The engine calls a function on its own thread, which takes the interpreter lock for that.
//! 2. Meanwhile the run that calls is *at hand* on that thread: what the function asks of the same engine is done inside the form that
//!    is being evaluated, without a queue. Each call puts its own run at hand, and takes it away when it returns.
//! 3. A generator gives several results; `NotReducible` leaves the call as it is; any other exception is an error with its place.

use crate::classes::{Atom, object};
use crate::convert::{from_python, to_python};
use crate::values::failure;
use metroon::host::{Environment, HostCall, HostFunction, Outcome};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyIterator, PyString, PyTuple, PyType};
use scoped_tls_hkt::scoped_thread_local;
use space::{Atom as Native, Grounded};

scoped_thread_local!(static mut AT_HAND: for<'a> &'a mut (dyn Environment + 'a));

/// Lets Python work with the run that calls it at hand.
pub(crate) fn with_python<T>(environment: &mut dyn Environment, work: impl FnOnce(Python<'_>) -> T) -> T {
    Python::attach(|py| AT_HAND.set(environment, || work(py)))
}

/// Asks the run at hand for something, without the interpreter lock; `None` if no run is.
pub(crate) fn at_hand<T: Send>(py: Python<'_>, work: impl FnOnce(&mut dyn Environment) -> T + Send) -> Option<T> {
    if !AT_HAND.is_set() {
        return None;
    }
    Some(py.detach(|| AT_HAND.with(|environment| work(environment))))
}

/// What an argument has to be for a function to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Anything, as a value of Python.
    Anything,
    /// Anything, as an object of an atom.
    Raw,
    Number,
    Text,
    Truth,
    Expression,
}

impl Expected {
    /// What the name of a type asks for.
    pub(crate) fn of_type(name: &str) -> Self {
        match name {
            "Atom" => Self::Raw,
            "Number" => Self::Number,
            "String" => Self::Text,
            "Bool" => Self::Truth,
            "Expression" => Self::Expression,
            _ => Self::Anything,
        }
    }

    fn is_met(self, atom: &Native) -> bool {
        match self {
            Self::Anything | Self::Raw => true,
            Self::Number => matches!(atom, Native::Grounded(Grounded::Number(_))),
            Self::Text => matches!(atom, Native::Grounded(Grounded::Text(_))),
            Self::Truth => matches!(atom, Native::Grounded(Grounded::Bool(_))),
            Self::Expression => matches!(atom, Native::Expression(_)),
        }
    }

    fn value(self, py: Python<'_>, atom: &Native) -> PyResult<Py<PyAny>> {
        match self {
            Self::Raw => object(py, atom.clone()),
            _ => to_python(py, atom),
        }
    }
}

/// A function of Python that programs call by its name.
pub(crate) struct PythonFunction {
    pub(crate) function: Py<PyAny>,
    /// What the arguments have to be; anything, if there are more.
    pub(crate) expected: Vec<Expected>,
}

impl HostFunction for PythonFunction {
    fn call(&self, environment: &mut dyn Environment, call: &HostCall<'_>) -> Outcome {
        let expected = |place: usize| self.expected.get(place).copied().unwrap_or(Expected::Anything);
        if call.arguments.iter().enumerate().any(|(place, argument)| !expected(place).is_met(argument)) {
            return Outcome::NotReducible;
        }
        with_python(environment, |py| {
            let arguments = call.arguments.iter().enumerate().map(|(place, atom)| expected(place).value(py, atom));
            let called = arguments
                .collect::<PyResult<Vec<_>>>()
                .and_then(|arguments| self.function.bind(py).call1(PyTuple::new(py, arguments)?))
                .and_then(|result| results(&result));
            called.unwrap_or_else(|error| stopped(py).unwrap_or_else(|| failure(py, &error)))
        })
    }
}

/// The end of the run, if it was cancelled or has reached a limit: then what a function has raised is no result of the form. What the
/// function asked of the engine may have ended for the same reason.
pub(crate) fn stopped(py: Python<'_>) -> Option<Outcome> {
    let limit = at_hand(py, |environment| environment.limit_reached(0)).flatten()?;
    Some(Outcome::Stop(metta::Stop::Limit(limit)))
}

/// The results that a function has given: those of a generator one by one.
fn results(result: &Bound<'_, PyAny>) -> PyResult<Outcome> {
    static GENERATOR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = result.py();
    if !result.get_type().is(GENERATOR.import(py, "types", "GeneratorType")?) {
        return Ok(Outcome::Results(vec![from_python(result)?]));
    }
    let mut found = Vec::new();
    for item in PyIterator::from_object(result)? {
        found.push(from_python(&item?)?);
        if let Some(stop) = stopped(py) {
            return Ok(stop);
        }
    }
    Ok(Outcome::Results(found))
}

/// The atom of an object, or of a text read by `read`.
pub(crate) fn read_or_convert(
    value: &Bound<'_, PyAny>,
    read: impl FnOnce(&str) -> PyResult<Native>,
) -> PyResult<Native> {
    match value.cast::<PyString>() {
        Ok(text) => read(&text.to_cow()?),
        Err(_) => match value.cast::<Atom>() {
            Ok(atom) => Ok(atom.get().atom.clone()),
            Err(_) => from_python(value),
        },
    }
}
