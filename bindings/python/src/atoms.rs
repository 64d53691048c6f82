//! Atoms as objects of Python. They never change, are equal if MeTTa says so, and print as MeTTa has them.

use crate::classes::{Atom, Expression, Symbol, Variable, object};
use crate::convert::{from_python, to_python};
use crate::errors::{Ran, not_parsed};
use metroon::syntax;
use metta::{Tokenizer, read_atom};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PySlice, PyTuple};
use space::Atom as Native;
use std::hash::{DefaultHasher, Hash, Hasher};

#[pymethods]
impl Atom {
    fn __repr__(&self) -> String {
        self.atom.to_string()
    }

    fn __str__(&self) -> String {
        self.atom.to_string()
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.atom.hash(&mut hasher);
        hasher.finish()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        match other.cast::<Atom>() {
            Ok(other) => self.atom == other.get().atom,
            // A tuple or list is equal to the expression of its items.
            Err(_) if self.atom.children().is_some() => {
                (other.is_instance_of::<PyTuple>() || other.is_instance_of::<pyo3::types::PyList>())
                    && from_python(other).is_ok_and(|other| self.atom == other)
            }
            Err(_) => false,
        }
    }

    /// The names of its variables, in the order in which they first occur, without the `$`.
    fn variables(&self) -> Vec<String> {
        variables_of(&self.atom)
    }
}

/// The names of the variables of an atom, in the order in which they first occur.
pub(crate) fn variables_of(atom: &Native) -> Vec<String> {
    let mut names = Vec::new();
    space::canonical::encode_naming(atom, &mut Vec::new(), |variable| names.push(variable.name().as_str().to_owned()));
    names
}

#[pymethods]
impl Symbol {
    #[new]
    fn new(name: &str) -> PyResult<PyClassInitializer<Self>> {
        if name.is_empty() {
            return Err(PyValueError::new_err("a symbol has a name of at least one character"));
        }
        Ok(PyClassInitializer::from(Atom { atom: Native::symbol(name) }).add_subclass(Self))
    }

    /// Its name.
    #[getter]
    fn name(self_: PyRef<'_, Self>) -> String {
        self_.as_super().atom.as_symbol().unwrap_or_default().to_owned()
    }

    fn __getnewargs__(self_: PyRef<'_, Self>) -> (String,) {
        (Self::name(self_),)
    }
}

#[pymethods]
impl Variable {
    #[new]
    fn new(name: &str) -> PyResult<PyClassInitializer<Self>> {
        let name = name.strip_prefix('$').unwrap_or(name);
        if name.is_empty() {
            return Err(PyValueError::new_err("a variable has a name of at least one character"));
        }
        Ok(PyClassInitializer::from(Atom { atom: Native::variable(name) }).add_subclass(Self))
    }

    /// Its name, without the `$`.
    #[getter]
    fn name(self_: PyRef<'_, Self>) -> String {
        match &self_.as_super().atom {
            Native::Variable(variable) => variable.name().as_str().to_owned(),
            _ => String::new(),
        }
    }

    fn __getnewargs__(self_: PyRef<'_, Self>) -> (String,) {
        (Self::name(self_),)
    }
}

#[pymethods]
impl Expression {
    #[new]
    #[pyo3(signature = (*children))]
    fn new(children: &Bound<'_, PyTuple>) -> PyResult<PyClassInitializer<Self>> {
        let children = children.iter().map(|child| from_python(&child)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyClassInitializer::from(Atom { atom: Native::expression(children) }).add_subclass(Self))
    }

    fn __len__(self_: PyRef<'_, Self>) -> usize {
        children(&self_).len()
    }

    fn __getitem__(self_: PyRef<'_, Self>, index: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (py, children) = (self_.py(), children(&self_));
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(children.len() as isize)?;
            let mut items = Vec::with_capacity(range.slicelength);
            let mut at = range.start;
            for _ in 0..range.slicelength {
                items.push(to_python(py, &children[at as usize])?);
                at += range.step;
            }
            return Ok(PyTuple::new(py, items)?.into_any().unbind());
        }
        let index: isize =
            index.extract().map_err(|_| PyTypeError::new_err("an expression is indexed by integers and slices"))?;
        let place = if index < 0 { index + children.len() as isize } else { index };
        let child = usize::try_from(place).ok().and_then(|place| children.get(place));
        to_python(py, child.ok_or_else(|| PyIndexError::new_err("the expression has no such child"))?)
    }

    fn __iter__(self_: PyRef<'_, Self>) -> PyResult<Py<PyIterator>> {
        let py = self_.py();
        Ok(Self::children(self_)?.bind(py).try_iter()?.unbind())
    }

    fn __contains__(self_: PyRef<'_, Self>, item: &Bound<'_, PyAny>) -> bool {
        from_python(item).is_ok_and(|item| children(&self_).contains(&item))
    }

    /// Its children as objects of atoms.
    fn atoms(self_: PyRef<'_, Self>) -> PyResult<Vec<Py<PyAny>>> {
        children(&self_).iter().map(|child| object(self_.py(), child.clone())).collect()
    }

    /// Its children as values.
    fn children(self_: PyRef<'_, Self>) -> PyResult<Py<PyTuple>> {
        let py = self_.py();
        let items = children(&self_).iter().map(|child| to_python(py, child)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(py, items)?.unbind())
    }

    fn __getnewargs__(self_: PyRef<'_, Self>) -> PyResult<Py<PyTuple>> {
        Self::children(self_)
    }
}

/// The expression of objects that hold an atom each, as `catom`.
#[pyfunction]
pub(crate) fn expression_of(py: Python<'_>, holders: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
    let name = pyo3::intern!(py, "catom");
    let child = |holder: Bound<'_, PyAny>| Ok(holder.getattr(name)?.cast::<Atom>()?.get().atom.clone());
    let children = holders.iter().map(child).collect::<PyResult<Vec<_>>>()?;
    object(py, Native::expression(children))
}

fn children<'a>(self_: &'a PyRef<'_, Expression>) -> &'a [Native] {
    self_.as_super().atom.children().unwrap_or_default()
}

/// The atom of a text that has no words but those of the language itself.
#[pyfunction]
pub(crate) fn parse(py: Python<'_>, text: &str) -> PyResult<Py<PyAny>> {
    let parsed = syntax::parse(text);
    if parsed.first_error().is_some() {
        return Err(not_parsed(py, &Ran { file: None, text, answers: &[], failure: None }, &parsed.diagnostics));
    }
    match parsed.tree.forms() {
        [form] if !form.bang => to_python(py, &read_atom(&parsed.tree, form.node, &Tokenizer::literals())),
        _ => Err(PyValueError::new_err(format!("{text:?} is to be one atom, without !"))),
    }
}
