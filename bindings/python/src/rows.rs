//! The answers of a query as rows, and its columns as what data frames are made of.
//!
//! A column whose values are all of one kind is handed out as bytes that NumPy and Arrow take as they are; any other one as a list of
//! values.

use crate::convert::to_python;
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PySlice, PyString, PyTuple};
use space::{AnswerTable, Atom as Native, Grounded, Number};

/// The answers of a query: a sequence of tuples, with a column for each variable.
#[pyclass(module = "metroon", frozen, sequence, subclass)]
pub(crate) struct Rows {
    columns: Vec<String>,
    table: AnswerTable,
}

/// More cells than this are dropped without the interpreter lock.
const CELLS_MANY: usize = 10_000;

impl Drop for Rows {
    /// Others go on while many cells are given back.
    fn drop(&mut self) {
        if self.table.cells.len() > CELLS_MANY {
            let cells = std::mem::take(&mut self.table.cells);
            // Where Python has ended, they are dropped as well.
            let _ = Python::try_attach(|py| py.detach(move || drop(cells)));
        }
    }
}

impl Rows {
    pub(crate) fn new(table: AnswerTable) -> Self {
        let columns = table.variables.iter().map(|variable| variable.name().as_str().to_owned()).collect();
        Self { columns, table }
    }

    fn row<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyTuple>> {
        let values = self.table.row(place).iter();
        PyTuple::new(py, values.map(|value| to_python(py, value)).collect::<PyResult<Vec<_>>>()?)
    }

    fn len(&self) -> usize {
        self.table.row_count
    }
}

/// The kind that all values of a column have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Float,
    Truth,
    Text,
    Symbol,
    Other,
}

impl Kind {
    fn of(cell: &Native) -> Self {
        match cell {
            Native::Symbol(_) => Self::Symbol,
            Native::Grounded(Grounded::Text(_)) => Self::Text,
            Native::Grounded(Grounded::Bool(_)) => Self::Truth,
            Native::Grounded(Grounded::Number(Number::Int(_))) => Self::Integer,
            Native::Grounded(Grounded::Number(Number::Float(_))) => Self::Float,
            _ => Self::Other,
        }
    }

    fn with(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (Self::Integer | Self::Float, Self::Integer | Self::Float) => Self::Float,
            _ => Self::Other,
        }
    }
}

#[pymethods]
impl Rows {
    /// The names of the variables, without the `$`.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.columns)
    }

    fn __len__(&self) -> usize {
        self.len()
    }

    fn __getitem__(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(self.len() as isize)?;
            let places = (0..range.slicelength as isize).map(|step| (range.start + step * range.step) as usize);
            let rows = places.map(|place| self.row(py, place)).collect::<PyResult<Vec<_>>>()?;
            return Ok(PyList::new(py, rows)?.into_any().unbind());
        }
        let index: isize = index.extract()?;
        let place = if index < 0 { index + self.len() as isize } else { index };
        let row = usize::try_from(place).ok().filter(|place| *place < self.len());
        Ok(self.row(py, row.ok_or_else(|| PyIndexError::new_err("there is no such row"))?)?.into_any().unbind())
    }

    /// The values of a column, by name or place.
    fn column<'py>(&self, py: Python<'py>, column: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let place = self.place(column)?;
        let values = self.table.column(place).map(|cell| to_python(py, cell));
        PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)
    }

    /// A column as its kind and its bytes: `("int64", values)`, `("float64", values)`, `("bool", values)` with a byte each,
    /// `("text", offsets, letters)` and `("symbol", offsets, letters)` with offsets of eight bytes, or `("object", list)`. All
    /// numbers are little-endian.
    fn column_data(&self, py: Python<'_>, column: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let place = self.place(column)?;
        let cells = || self.table.column(place);
        let kind = py.detach(|| cells().map(Kind::of).reduce(Kind::with).unwrap_or(Kind::Other));
        let (name, parts) = match kind {
            Kind::Other => {
                return Ok(("object", self.column(py, column)?).into_pyobject(py)?.into_any().unbind());
            }
            Kind::Text | Kind::Symbol => {
                let lengths = || cells().map(|cell| letters(cell).len());
                let (ends, all) = (self.ends(py, lengths())?, lengths().sum());
                let written = PyBytes::new_with(py, all, |mut room| {
                    for cell in cells() {
                        let (here, rest) = room.split_at_mut(letters(cell).len());
                        here.copy_from_slice(letters(cell));
                        room = rest;
                    }
                    Ok(())
                });
                (if kind == Kind::Text { "text" } else { "symbol" }, vec![ends, written?])
            }
            Kind::Integer => ("int64", vec![self.numbers(py, place, |number| integer(number).to_le_bytes())?]),
            Kind::Float => ("float64", vec![self.numbers(py, place, |number| number.to_f64().to_le_bytes())?]),
            Kind::Truth => {
                let truths = cells().map(|cell| u8::from(matches!(cell, Native::Grounded(Grounded::Bool(true)))));
                ("bool", vec![PyBytes::new(py, &truths.collect::<Vec<_>>())])
            }
        };
        let name = PyString::new(py, name).into_any();
        let parts = std::iter::once(name).chain(parts.into_iter().map(Bound::into_any)).collect::<Vec<_>>();
        Ok(PyTuple::new(py, parts)?.into_any().unbind())
    }

    fn __repr__(&self) -> String {
        const SHOWN: usize = 10;
        let mut lines = vec![self.columns.join("  ")];
        for place in 0..self.len().min(SHOWN) {
            let cells: Vec<String> = self.table.row(place).iter().map(ToString::to_string).collect();
            lines.push(cells.join("  "));
        }
        if self.len() > SHOWN {
            lines.push("…".to_owned());
        }
        lines.push(format!("[{} row{}]", self.len(), if self.len() == 1 { "" } else { "s" }));
        lines.join("\n")
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(other) = other.cast::<Self>() {
            let other = other.get();
            let is_equal = self.len() == other.len() && self.table.cells == other.table.cells;
            return Ok(is_equal && self.columns == other.columns);
        }
        let mine = (0..self.len()).map(|place| self.row(py, place)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, mine)?.eq(other)
    }
}

impl Rows {
    fn place(&self, column: &Bound<'_, PyAny>) -> PyResult<usize> {
        if let Ok(name) = column.extract::<String>() {
            let name = name.strip_prefix('$').unwrap_or(&name);
            let place = self.columns.iter().position(|known| known == name);
            return place.ok_or_else(|| {
                PyKeyError::new_err(format!("there is no column {name}; the columns are {}", self.columns.join(", ")))
            });
        }
        let place: usize = column.extract()?;
        match place < self.columns.len() {
            true => Ok(place),
            false => Err(PyIndexError::new_err(format!("there are {} columns, counted from 0", self.columns.len()))),
        }
    }

    /// The bytes of a column of numbers, of which none is copied again.
    fn numbers<'py>(
        &self,
        py: Python<'py>,
        column: usize,
        bytes: impl Fn(&Number) -> [u8; 8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        PyBytes::new_with(py, self.len() * 8, |room| {
            for (room, cell) in room.chunks_exact_mut(8).zip(self.table.column(column)) {
                if let Native::Grounded(Grounded::Number(number)) = cell {
                    room.copy_from_slice(&bytes(number));
                }
            }
            Ok(())
        })
    }

    /// Where the texts of these lengths end, after a zero.
    fn ends<'py>(&self, py: Python<'py>, lengths: impl Iterator<Item = usize>) -> PyResult<Bound<'py, PyBytes>> {
        PyBytes::new_with(py, (self.len() + 1) * 8, |room| {
            let mut end = 0_i64;
            for (room, length) in room[8..].chunks_exact_mut(8).zip(lengths) {
                end += length as i64;
                room.copy_from_slice(&end.to_le_bytes());
            }
            Ok(())
        })
    }
}

/// The integer of a number in a column of integers, which has no other numbers.
fn integer(number: &Number) -> i64 {
    match number {
        Number::Int(value) => *value,
        other => other.to_f64() as i64,
    }
}

/// The letters of a symbol or text.
fn letters(cell: &Native) -> &[u8] {
    match cell {
        Native::Symbol(symbol) => symbol.as_str().as_bytes(),
        Native::Grounded(Grounded::Text(text)) => text.as_bytes(),
        _ => &[],
    }
}
