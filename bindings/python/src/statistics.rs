//! What layers have counted, as dictionaries: `docs/formats.md` has their shape.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use statistics::{Item, Report, Value};

/// A report as a dictionary: what counted, the entries and groups by their names, and what each of these is.
pub(crate) fn dictionary<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    dictionary.set_item("what", report.what)?;
    fill(py, &dictionary, &report.items)?;
    let about = PyDict::new(py);
    for (path, (unit, meaning)) in report.about() {
        let of_one = PyDict::new(py);
        if let Some(unit) = unit {
            of_one.set_item("unit", unit.name())?;
        }
        of_one.set_item("meaning", meaning)?;
        about.set_item(path, of_one)?;
    }
    dictionary.set_item("about", about)?;
    Ok(dictionary)
}

/// The entries and groups of a report alone.
pub(crate) fn entries<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    fill(py, &dictionary, &report.items)?;
    Ok(dictionary)
}

fn fill(py: Python<'_>, dictionary: &Bound<'_, PyDict>, items: &[Item]) -> PyResult<()> {
    for item in items {
        let name = item.name();
        match item {
            Item::Group(group) => match &group.items {
                Some(items) => {
                    let inner = PyDict::new(py);
                    fill(py, &inner, items)?;
                    dictionary.set_item(name, inner)?;
                }
                None => dictionary.set_item(name, py.None())?,
            },
            Item::Entry(entry) => match &entry.value {
                Value::Number(number) => dictionary.set_item(name, number)?,
                Value::Ratio(ratio) => dictionary.set_item(name, ratio)?,
                Value::Text(text) => dictionary.set_item(name, text)?,
                Value::Unknown => dictionary.set_item(name, py.None())?,
            },
        }
    }
    Ok(())
}
