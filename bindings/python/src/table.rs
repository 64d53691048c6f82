//! Facts from columns: what a data frame or a list of rows is when the engine loads it.
//!
//! 1. A column comes as its kind and its bytes, as [`crate::rows::Rows`] hands columns out, or as a list of values.
//! 2. The bytes are copied once, so that the engine reads them without the interpreter lock.
//! 3. A [`Table`] is a format of the engine: it hands out a record for each row, of no bytes at all, and the engine loads it as it loads
//!    a file.

use crate::convert::from_python;
use metta::{Format, Out};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use space::Atom as Native;

/// A column, whose values are all of one kind.
enum Column {
    Integers(Vec<u8>),
    Floats(Vec<u8>),
    Truths(Vec<u8>),
    /// Where each text ends, after a zero, and all letters.
    Texts(Vec<u8>, String),
    Values(Vec<Native>),
}

const BAD: &str = "the bytes of a column are not whole";

impl Column {
    /// A column of its kind and its parts; how many values it has.
    fn of(parts: &Bound<'_, PyTuple>) -> PyResult<(Self, usize)> {
        let kind: String = parts.get_item(0)?.extract()?;
        let bytes =
            |place: usize| -> PyResult<Vec<u8>> { Ok(parts.get_item(place)?.cast::<PyBytes>()?.as_bytes().to_vec()) };
        Ok(match kind.as_str() {
            "int64" => with_count(bytes(1)?, 8, Self::Integers)?,
            "float64" => with_count(bytes(1)?, 8, Self::Floats)?,
            "bool" => with_count(bytes(1)?, 1, Self::Truths)?,
            "text" => texts(bytes(1)?, bytes(2)?)?,
            "object" => {
                let values = parts.get_item(1)?.cast::<PyList>()?.iter();
                let values = values.map(|value| from_python(&value)).collect::<PyResult<Vec<_>>>()?;
                let count = values.len();
                (Self::Values(values), count)
            }
            other => return Err(PyValueError::new_err(format!("there is no kind of column {other}"))),
        })
    }

    /// A value as an atom.
    fn atom(&self, place: usize) -> Native {
        match self {
            Self::Integers(bytes) => i64::from_le_bytes(number(bytes, place)).into(),
            Self::Floats(bytes) => f64::from_le_bytes(number(bytes, place)).into(),
            Self::Truths(bytes) => (bytes[place] != 0).into(),
            Self::Texts(ends, letters) => letters[end(ends, place)..end(ends, place + 1)].into(),
            Self::Values(values) => values[place].clone(),
        }
    }
}

fn with_count(bytes: Vec<u8>, width: usize, column: impl FnOnce(Vec<u8>) -> Column) -> PyResult<(Column, usize)> {
    let count = bytes.len() / width;
    if count * width == bytes.len() { Ok((column(bytes), count)) } else { Err(PyValueError::new_err(BAD)) }
}

/// A number of eight bytes.
fn number(bytes: &[u8], place: usize) -> [u8; 8] {
    bytes[place * 8..place * 8 + 8].try_into().expect("eight bytes are eight bytes")
}

/// Where a text ends, which was checked.
fn end(ends: &[u8], place: usize) -> usize {
    u64::from_le_bytes(number(ends, place)) as usize
}

/// Texts, whose ends are where characters end, in order.
fn texts(ends: Vec<u8>, letters: Vec<u8>) -> PyResult<(Column, usize)> {
    let letters = String::from_utf8(letters)?;
    let numbers = ends.chunks_exact(8).map(|bytes| u64::from_le_bytes(number(bytes, 0)));
    let (mut last, mut is_sound) = (0, ends.len() >= 8 && ends.len().is_multiple_of(8));
    for found in numbers {
        let is_end = usize::try_from(found).is_ok_and(|place| letters.is_char_boundary(place));
        is_sound &= is_end && found >= last;
        last = found;
    }
    if !is_sound {
        return Err(PyValueError::new_err(BAD));
    }
    let count = ends.len() / 8 - 1;
    Ok((Column::Texts(ends, letters), count))
}

/// Rows that begin with the same atom.
pub(crate) struct Table {
    head: Native,
    columns: Vec<Column>,
    rows: usize,
    /// How many were handed out.
    taken: usize,
}

impl Table {
    /// The table of columns of equal length: a tuple for each, of its kind and its parts.
    pub(crate) fn of_columns(head: Native, columns: &Bound<'_, PyList>) -> PyResult<Self> {
        let (mut all, mut rows) = (Vec::with_capacity(columns.len()), None);
        for parts in columns.iter() {
            let (column, count) = Column::of(parts.cast::<PyTuple>()?)?;
            if *rows.get_or_insert(count) != count {
                return Err(PyValueError::new_err("the columns are not equally long"));
            }
            all.push(column);
        }
        Ok(Self { head, columns: all, rows: rows.unwrap_or(0), taken: 0 })
    }

    /// A row as an atom.
    fn atom(&self, place: usize) -> Native {
        let cells = self.columns.iter().map(|column| column.atom(place));
        Native::expression(std::iter::once(self.head.clone()).chain(cells).collect::<Vec<_>>())
    }

    /// All rows as atoms.
    pub(crate) fn atoms(&self) -> Vec<Native> {
        (0..self.rows).map(|place| self.atom(place)).collect()
    }
}

fn is_leaf(atom: &Native) -> bool {
    atom.is_rigid() && atom.children().is_none()
}

impl Format for Table {
    fn read(&mut self, _: &[u8], is_end: bool, out: &mut dyn Out) -> usize {
        let is_all_leaves = is_leaf(&self.head);
        while is_end && self.taken < self.rows && !out.is_full() {
            let place = self.taken;
            self.taken += 1;
            out.record(self.taken as u64);
            let is_leaf_here = |column: &Column| !matches!(column, Column::Values(values) if !is_leaf(&values[place]));
            if !is_all_leaves || !self.columns.iter().all(is_leaf_here) {
                out.atom(self.atom(place));
                continue;
            }
            out.open();
            out.leaf(self.head.clone());
            self.columns.iter().for_each(|column| out.leaf(column.atom(place)));
            out.close();
        }
        0
    }

    fn manner(&self) -> String {
        "rows".to_owned()
    }
}
