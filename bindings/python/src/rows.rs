//! The answers of a query as rows, and its columns as what data frames are made of.
//!
//! A column whose values are all of one kind is handed out as bytes that NumPy and Arrow take as they are; any other one as a list of
//! values.

use crate::convert::to_python;
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PySlice, PyTuple};
use space::{Atom as Native, Grounded, Number};

/// The answers of a query: a sequence of tuples, with a column for each variable.
#[pyclass(module = "metroon", frozen, sequence, subclass)]
pub(crate) struct Rows {
    columns: Vec<String>,
    /// One expression a row.
    rows: Vec<Native>,
}

impl Rows {
    pub(crate) fn new(columns: Vec<String>, rows: Vec<Native>) -> Self {
        Self { columns, rows }
    }

    fn row<'py>(&self, py: Python<'py>, row: &Native) -> PyResult<Bound<'py, PyTuple>> {
        let values = row.children().unwrap_or_default();
        PyTuple::new(py, values.iter().map(|value| to_python(py, value)).collect::<PyResult<Vec<_>>>()?)
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = Option<&Native>> {
        self.rows.iter().map(move |row| row.children().and_then(|cells| cells.get(column)))
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
    fn of(cell: Option<&Native>) -> Self {
        match cell {
            Some(Native::Symbol(_)) => Self::Symbol,
            Some(Native::Grounded(Grounded::Text(_))) => Self::Text,
            Some(Native::Grounded(Grounded::Bool(_))) => Self::Truth,
            Some(Native::Grounded(Grounded::Number(Number::Int(_)))) => Self::Integer,
            Some(Native::Grounded(Grounded::Number(Number::Float(_)))) => Self::Float,
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
        self.rows.len()
    }

    fn __getitem__(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(self.rows.len() as isize)?;
            let places = (0..range.slicelength as isize).map(|step| (range.start + step * range.step) as usize);
            let rows = places.map(|place| self.row(py, &self.rows[place])).collect::<PyResult<Vec<_>>>()?;
            return Ok(PyList::new(py, rows)?.into_any().unbind());
        }
        let index: isize = index.extract()?;
        let place = if index < 0 { index + self.rows.len() as isize } else { index };
        let row = usize::try_from(place).ok().and_then(|place| self.rows.get(place));
        Ok(self.row(py, row.ok_or_else(|| PyIndexError::new_err("there is no such row"))?)?.into_any().unbind())
    }

    /// The values of a column, by name or place.
    fn column<'py>(&self, py: Python<'py>, column: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let place = self.place(column)?;
        let values = self.cells(place).map(|cell| cell.map_or_else(|| Ok(py.None()), |cell| to_python(py, cell)));
        PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)
    }

    /// A column as its kind and its bytes: `("int64", values)`, `("float64", values)`, `("bool", values)` with a byte each,
    /// `("text", offsets, letters)` and `("symbol", offsets, letters)` with offsets of eight bytes, or `("object", list)`. All
    /// numbers are little-endian.
    fn column_data(&self, py: Python<'_>, column: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let place = self.place(column)?;
        let kind = self.cells(place).map(Kind::of).reduce(Kind::with).unwrap_or(Kind::Other);
        let bytes =
            |name: &str, bytes: Vec<u8>| Ok((name, PyBytes::new(py, &bytes)).into_pyobject(py)?.into_any().unbind());
        match kind {
            Kind::Other => Ok(("object", self.column(py, column)?).into_pyobject(py)?.into_any().unbind()),
            Kind::Text | Kind::Symbol => {
                let (offsets, letters) = py.detach(|| self.letters(place));
                let name = if kind == Kind::Text { "text" } else { "symbol" };
                let parts = (name, PyBytes::new(py, &offsets), PyBytes::new(py, &letters));
                Ok(parts.into_pyobject(py)?.into_any().unbind())
            }
            Kind::Integer => bytes(
                "int64",
                self.numbers(place, |number| match number {
                    Number::Int(value) => value.to_le_bytes(),
                    other => (other.to_f64() as i64).to_le_bytes(),
                }),
            ),
            Kind::Float => bytes("float64", self.numbers(place, |number| number.to_f64().to_le_bytes())),
            Kind::Truth => {
                let truths = self
                    .cells(place)
                    .map(|cell| u8::from(matches!(cell, Some(Native::Grounded(Grounded::Bool(true))))));
                bytes("bool", truths.collect())
            }
        }
    }

    fn __repr__(&self) -> String {
        const SHOWN: usize = 10;
        let mut lines = vec![self.columns.join("  ")];
        for row in self.rows.iter().take(SHOWN) {
            let cells: Vec<String> = row.children().unwrap_or_default().iter().map(ToString::to_string).collect();
            lines.push(cells.join("  "));
        }
        if self.rows.len() > SHOWN {
            lines.push("…".to_owned());
        }
        lines.push(format!("[{} row{}]", self.rows.len(), if self.rows.len() == 1 { "" } else { "s" }));
        lines.join("\n")
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(other) = other.cast::<Self>() {
            return Ok(self.rows == other.get().rows && self.columns == other.get().columns);
        }
        let mine = self.rows.iter().map(|row| self.row(py, row)).collect::<PyResult<Vec<_>>>()?;
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

    fn numbers(&self, column: usize, bytes: impl Fn(&Number) -> [u8; 8]) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.rows.len() * 8);
        for cell in self.cells(column) {
            if let Some(Native::Grounded(Grounded::Number(number))) = cell {
                all.extend(bytes(number));
            }
        }
        all
    }

    /// Where each text ends, and all letters.
    fn letters(&self, column: usize) -> (Vec<u8>, Vec<u8>) {
        let (mut offsets, mut letters) = (Vec::with_capacity((self.rows.len() + 1) * 8), Vec::new());
        offsets.extend(0_i64.to_le_bytes());
        for cell in self.cells(column) {
            match cell {
                Some(Native::Symbol(symbol)) => letters.extend_from_slice(symbol.as_str().as_bytes()),
                Some(Native::Grounded(Grounded::Text(text))) => letters.extend_from_slice(text.as_bytes()),
                _ => {}
            }
            offsets.extend((letters.len() as i64).to_le_bytes());
        }
        (offsets, letters)
    }
}
