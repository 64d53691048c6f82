//! The classes of atoms and bindings, without what can be done with them.

use pyo3::prelude::*;
use space::{Atom as Native, Solution};

/// Any atom.
#[pyclass(module = "metroon", subclass, frozen, from_py_object)]
#[derive(Clone)]
pub(crate) struct Atom {
    pub(crate) atom: Native,
}

/// A name.
#[pyclass(module = "metroon", extends = Atom, frozen)]
pub(crate) struct Symbol;

/// A variable, `$x`.
#[pyclass(module = "metroon", extends = Atom, frozen)]
pub(crate) struct Variable;

/// A sequence of atoms, `(a b c)`.
#[pyclass(module = "metroon", extends = Atom, frozen, sequence)]
pub(crate) struct Expression;

/// A value that is no value of Python: a space, a state, a native function.
#[pyclass(module = "metroon", extends = Atom, frozen)]
pub(crate) struct Grounded;

/// The atom as an object of its class.
pub(crate) fn object(py: Python<'_>, atom: Native) -> PyResult<Py<PyAny>> {
    let base = |atom| PyClassInitializer::from(Atom { atom });
    Ok(match &atom {
        Native::Symbol(_) => Py::new(py, base(atom).add_subclass(Symbol))?.into_any(),
        Native::Variable(_) => Py::new(py, base(atom).add_subclass(Variable))?.into_any(),
        Native::Expression(_) => Py::new(py, base(atom).add_subclass(Expression))?.into_any(),
        Native::Grounded(_) => Py::new(py, base(atom).add_subclass(Grounded))?.into_any(),
    })
}

/// What some variables are bound to, each value resolved.
#[pyclass(module = "metroon._engine", frozen)]
pub(crate) struct Bindings(pub(crate) Solution);
