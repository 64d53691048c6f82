//! Spaces as objects, for `metroon.hyperon`: asked and changed on any thread, without the engine.

use crate::classes::{Atom, Bindings, object};
use crate::matching::source;
use metta::types::types_of;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use space::{Atom as Native, Grounded, SharedSpace, Terms};
use std::sync::atomic::{AtomicU64, Ordering};

/// Spaces that no program has made have numbers from here on.
static SERIAL: AtomicU64 = AtomicU64::new(1 << 40);

/// The number of a space that no program has made.
pub(crate) fn next_serial() -> u64 {
    SERIAL.fetch_add(1, Ordering::Relaxed)
}

/// A space.
#[pyclass(module = "metroon._engine", frozen)]
pub(crate) struct Space(pub(crate) SharedSpace);

#[pymethods]
impl Space {
    #[new]
    fn new() -> Self {
        let serial = next_serial();
        Self(SharedSpace::new(serial, format!("GroundingSpace-{serial:#x}"), Terms::shared()))
    }

    /// The space that an atom is.
    #[staticmethod]
    fn of(atom: &Atom) -> PyResult<Self> {
        match &atom.atom {
            Native::Grounded(Grounded::Space(space)) => Ok(Self(space.clone())),
            other => Err(PyTypeError::new_err(format!("{other} is not a space"))),
        }
    }

    /// It as an atom.
    fn atom(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        object(py, self.0.clone().into())
    }

    fn add(&self, py: Python<'_>, atom: &Atom) {
        let atom = atom.atom.clone();
        py.detach(|| self.0.add(&atom));
    }

    /// Removes one copy; says whether there was one.
    fn remove(&self, py: Python<'_>, atom: &Atom) -> bool {
        let atom = atom.atom.clone();
        py.detach(|| self.0.remove(&atom))
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.len())
    }

    /// Its own atoms.
    fn atoms(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let found = py.detach(|| self.0.atoms(&mut source()));
        found.into_iter().map(|atom| object(py, atom)).collect()
    }

    /// What each way in which a pattern matches binds its variables to.
    fn query(&self, py: Python<'_>, pattern: &Atom) -> Vec<Bindings> {
        let pattern = pattern.atom.clone();
        py.detach(|| self.0.query(&pattern, &mut source())).into_iter().map(Bindings).collect()
    }

    /// The types of an atom here, with whether each is that of a well-typed atom.
    fn types(&self, py: Python<'_>, atom: &Atom) -> PyResult<Vec<(Py<PyAny>, bool)>> {
        let atom = atom.atom.clone();
        let found = py.detach(|| types_of(&self.0, &atom, &mut source()));
        found.into_iter().map(|found| Ok((object(py, found.atom.clone())?, found.is_valid()))).collect()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }

    fn __hash__(&self) -> u64 {
        self.0.serial()
    }

    fn __repr__(&self) -> &str {
        self.0.name()
    }
}
