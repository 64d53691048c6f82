//! Names of pages, and what pages hold, without a copy.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Arc;

/// Names a page of a state.
#[pyclass(module = "metroon._engine", frozen, eq, ord, hash, from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PageId(pub(crate) reactive::PageId);

#[pymethods]
impl PageId {
    #[new]
    #[pyo3(signature = (slot, generation=0))]
    fn new(slot: u32, generation: u32) -> Self {
        Self(reactive::PageId::new(slot, generation))
    }

    /// Its place among the pages of the state.
    #[getter]
    fn slot(&self) -> u32 {
        self.0.slot()
    }

    /// How many pages had that place before it.
    #[getter]
    fn generation(&self) -> u32 {
        self.0.generation()
    }

    fn __repr__(&self) -> String {
        format!("<{}>", self.0)
    }

    fn __getnewargs__(&self) -> (u32, u32) {
        (self.slot(), self.generation())
    }
}

/// What a page held after a commit. It never changes, and is kept as long as Python has it or an array that shows it.
#[pyclass(module = "metroon._engine", frozen)]
pub(crate) struct PageBytes(pub(crate) Arc<[u8]>);

#[pymethods]
impl PageBytes {
    /// Where the bytes are, in the form that numpy asks for: to be read only. The array keeps this object, which keeps the bytes.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        let is_read_only = true;
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.0.len(),))?;
        interface.set_item("typestr", "|u1")?;
        interface.set_item("data", (self.0.as_ptr().expose_provenance(), is_read_only))?;
        Ok(interface)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0)
    }
}

/// A state as it was after a commit.
#[pyclass(module = "metroon._engine", frozen)]
pub(crate) struct PageSnapshot(pub(crate) reactive::Snapshot);

#[pymethods]
impl PageSnapshot {
    /// The commit after which it was taken.
    #[getter]
    fn epoch(&self) -> u64 {
        self.0.epoch()
    }

    fn read(&self, page: PageId) -> Option<PageBytes> {
        self.0.share(page.0).map(PageBytes)
    }

    fn changed(&self, page: PageId) -> Option<u64> {
        self.0.changed(page.0)
    }

    fn pages(&self) -> Vec<PageId> {
        self.0.pages().map(PageId).collect()
    }
}
