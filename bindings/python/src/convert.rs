//! Atoms as values of Python, and values as atoms.
//!
//! | MeTTa | Python |
//! |---|---|
//! | a number, a truth value, a string | `int` or `float`, `bool`, `str` |
//! | `()` | `None` |
//! | an expression | `Expression`, which is equal to the tuple of its children; made of a tuple or list |
//! | a symbol, a variable | `Symbol`, `Variable` |
//! | a value of Python that is none of these | that value itself; a scalar of NumPy, pandas or PyArrow is the value of Python that it is |
//! | a space, a state, a native function | `Grounded` |
//!
//! Nothing here takes native stack for what is nested deep.

use crate::classes::{Atom, object};
use crate::values::{PythonMatcher, PythonValue};
use num_bigint::BigInt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};
use space::{Atom as Native, Grounded, Number, canonical};

/// So deep may tuples and lists be nested: deeper ones are likely to hold themselves.
const NESTED_MAX: usize = 100_000;

/// An atom as a value of Python.
pub(crate) fn to_python(py: Python<'_>, atom: &Native) -> PyResult<Py<PyAny>> {
    match atom {
        Native::Grounded(Grounded::Bool(value)) => Ok(PyBool::new(py, *value).to_owned().into_any().unbind()),
        Native::Grounded(Grounded::Number(number)) => to_number(py, number),
        Native::Grounded(Grounded::Text(text)) => Ok(PyString::new(py, text).into_any().unbind()),
        Native::Grounded(Grounded::Host(value)) => match value.as_any().downcast_ref::<PythonValue>() {
            Some(value) => Ok(value.object(py)),
            None => object(py, atom.clone()),
        },
        Native::Expression(expression) if expression.is_empty() => Ok(py.None()),
        atom => PythonMatcher::of(py, atom).map_or_else(|| object(py, atom.clone()), Ok),
    }
}

fn to_number(py: Python<'_>, number: &Number) -> PyResult<Py<PyAny>> {
    match number {
        Number::Int(value) => Ok(value.into_pyobject(py)?.into_any().unbind()),
        Number::Float(value) => Ok(PyFloat::new(py, *value).into_any().unbind()),
        Number::Big(value) => {
            // Powers of two are read however long they are.
            Ok(py.get_type::<PyInt>().call1((value.to_str_radix(16), 16))?.unbind())
        }
    }
}

/// Atoms as a list of values.
pub(crate) fn values<'py>(py: Python<'py>, atoms: &[Native]) -> PyResult<Bound<'py, PyList>> {
    let items = atoms.iter().map(|atom| to_python(py, atom)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, items)
}

/// What a value of Python is before what it holds is looked at.
enum Shallow<'py> {
    Leaf(Native),
    Items(Vec<Bound<'py, PyAny>>),
}

fn shallow<'py>(value: &Bound<'py, PyAny>) -> PyResult<Shallow<'py>> {
    // Integers come first: nearly all values are such, and it costs one comparison of types.
    if value.is_exact_instance_of::<PyInt>() {
        return integer(value).map(Shallow::Leaf);
    }
    if let Ok(atom) = value.cast::<Atom>() {
        return Ok(Shallow::Leaf(atom.get().atom.clone()));
    }
    if value.is_none() {
        return Ok(Shallow::Leaf(Native::unit()));
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Shallow::Leaf(value.is_true().into()));
    }
    if value.is_instance_of::<PyInt>() {
        return integer(value).map(Shallow::Leaf);
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(Shallow::Leaf(value.value().into()));
    }
    if let Ok(value) = value.cast::<PyString>() {
        return Ok(Shallow::Leaf(value.to_cow()?.as_ref().into()));
    }
    if let Ok(items) = value.cast::<PyTuple>() {
        return Ok(Shallow::Items(items.iter().collect()));
    }
    if let Ok(items) = value.cast::<PyList>() {
        return Ok(Shallow::Items(items.iter().collect()));
    }
    if let Some(found) = of_library(value)? {
        return shallow(&found);
    }
    // Numbers of other libraries.
    if let Ok(index) = value.call_method0("__index__") {
        return integer(&index).map(Shallow::Leaf);
    }
    Ok(Shallow::Leaf(PythonValue::atom(value)?))
}

/// A scalar of NumPy, pandas or PyArrow as the value of Python that it is; `None` for what is no such scalar, and what Python has no value for.
fn of_library<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let class = value.get_type();
    let module = class.module()?;
    let library = module.to_cow()?;
    if !["numpy", "pandas", "pyarrow"].iter().any(|name| library.split('.').next() == Some(name)) {
        return Ok(None);
    }
    let found = value.py().import("metroon._scalars")?.getattr("plain")?.call1((value,))?;
    Ok((!found.is(value)).then_some(found))
}

fn integer(value: &Bound<'_, PyAny>) -> PyResult<Native> {
    if let Ok(value) = value.extract::<i64>() {
        return Ok(value.into());
    }
    // A class that is one of integers may write them in another way.
    let digits: String = value.py().get_type::<PyInt>().call_method1("__format__", (value, "x"))?.extract()?;
    let number = BigInt::parse_bytes(digits.as_bytes(), 16).map(Number::from_big);
    Ok(number.ok_or_else(|| PyValueError::new_err("the integer cannot be read"))?.into())
}

/// A value of Python as an atom.
///
/// # Errors
/// It is nested too deep, or a value cannot say what it is.
pub(crate) fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Native> {
    match shallow(value)? {
        Shallow::Leaf(atom) => Ok(atom),
        items => nested(items),
    }
}

fn nested(first: Shallow<'_>) -> PyResult<Native> {
    let mut open: Vec<(std::vec::IntoIter<Bound<'_, PyAny>>, Vec<Native>)> = Vec::new();
    let mut next = Some(first);
    loop {
        let done = match next.take() {
            Some(Shallow::Leaf(atom)) => atom,
            Some(Shallow::Items(items)) => {
                if open.len() >= NESTED_MAX {
                    return Err(PyValueError::new_err("lists are nested too deep, or hold themselves"));
                }
                let children = Vec::with_capacity(items.len());
                open.push((items.into_iter(), children));
                next = take_next(&mut open)?;
                if next.is_some() {
                    continue;
                }
                close(&mut open)
            }
            None => close(&mut open),
        };
        match open.last_mut() {
            None => return Ok(done),
            Some((_, children)) => children.push(done),
        }
        next = take_next(&mut open)?;
    }
}

type OpenIterators<'py> = Vec<(std::vec::IntoIter<Bound<'py, PyAny>>, Vec<Native>)>;

fn take_next<'py>(open: &mut OpenIterators<'py>) -> PyResult<Option<Shallow<'py>>> {
    open.last_mut().and_then(|(items, _)| items.next()).map(|item| shallow(&item)).transpose()
}

fn close(open: &mut OpenIterators<'_>) -> Native {
    let (_, children) = open.pop().expect("an expression is open");
    Native::expression(children)
}

/// A value as the object of an atom.
#[pyfunction]
pub(crate) fn atom(value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let atom = from_python(value)?;
    object(value.py(), atom)
}

/// What a base cannot keep of a value, as it is written: an object of Python that MeTTa has no kind of atom for; `None` if it keeps all of it.
#[pyfunction]
pub(crate) fn unstorable(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let atom = from_python(value)?;
    Ok(canonical::find_opaque(&atom).map(ToString::to_string))
}

/// An atom as a value.
#[pyfunction]
pub(crate) fn value(py: Python<'_>, atom: &Bound<'_, Atom>) -> PyResult<Py<PyAny>> {
    to_python(py, &atom.get().atom)
}
