//! Functions of Python that derive pages.

use super::bytes::PageBytes;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use reactive::{FunctionError, Inputs};
use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

thread_local! {
    /// Whether this thread runs a function that derives a page.
    static IS_DERIVING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs a function that derives a page.
pub(crate) fn is_deriving() -> bool {
    IS_DERIVING.get()
}

/// What the first function has raised that failed in the call that goes on.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// A function of Python: it is called with a list of what the dependencies hold, and gives the bytes of the page.
pub(crate) struct PythonFunction {
    pub(crate) function: Py<PyAny>,
    pub(crate) raised: Raised,
}

impl reactive::Function for PythonFunction {
    fn derive(&self, inputs: &Inputs<'_>, page: &mut [u8]) -> Result<(), FunctionError> {
        Python::attach(|py| {
            let was_deriving = IS_DERIVING.replace(true);
            let filled = self.fill(py, inputs, page);
            IS_DERIVING.set(was_deriving);
            filled.map_err(|error| {
                let said = error.to_string();
                self.raised.keep(error);
                said.into()
            })
        })
    }

    /// What it gives has as many bytes as the page, or is refused.
    fn writes_all(&self, _: &Inputs<'_>, _: usize) -> bool {
        true
    }
}

impl PythonFunction {
    fn fill(&self, py: Python<'_>, inputs: &Inputs<'_>, page: &mut [u8]) -> PyResult<()> {
        let held = PyList::empty(py);
        for index in 0..inputs.len() {
            held.append(Py::new(py, PageBytes(inputs.share(index)))?)?;
        }
        let given = self.function.bind(py).call1((held, page.len()))?;
        let given = given.cast::<PyBytes>()?.as_bytes();
        // The package has compared the lengths, and says more about it.
        page.copy_from_slice(given);
        Ok(())
    }
}
