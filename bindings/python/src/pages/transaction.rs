//! Steps, collected to be committed together.

use super::bytes::PageId;
use super::failures::being_committed;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use reactive::{FunctionName, Mask, Merge, Metadata, NewPage, PageRef};
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Steps that are made together, or not at all.
#[pyclass(module = "metroon._engine", frozen)]
pub(crate) struct PageTransaction(Mutex<Collected>);

struct Collected {
    /// Taken away while they are committed: functions that derive pages run then, and may ask for the transaction again.
    steps: Option<reactive::Transaction>,
    /// The pages that it makes, in order.
    made: Vec<NewPage>,
}

/// A page, as a step names it.
#[derive(FromPyObject)]
pub(crate) enum Named {
    /// One that is there.
    Existing(PageId),
    /// One that the transaction makes, by its number among those.
    New(usize),
}

/// The steps of a transaction, which get them back when this goes.
pub(crate) struct Steps<'t> {
    of: &'t PageTransaction,
    steps: reactive::Transaction,
}

impl Deref for Steps<'_> {
    type Target = reactive::Transaction;

    fn deref(&self) -> &reactive::Transaction {
        &self.steps
    }
}

impl Drop for Steps<'_> {
    fn drop(&mut self) {
        self.of.lock().steps = Some(std::mem::take(&mut self.steps));
    }
}

impl PageTransaction {
    /// The steps, to be committed. Until they are given back the transaction takes no more.
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<Steps<'_>> {
        let steps = self.lock().steps.take().ok_or_else(|| being_committed(py))?;
        Ok(Steps { of: self, steps })
    }

    /// Nobody holds this for longer than a step takes.
    fn lock(&self) -> MutexGuard<'_, Collected> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collected {
    fn steps(&mut self, py: Python<'_>) -> PyResult<&mut reactive::Transaction> {
        self.steps.as_mut().ok_or_else(|| being_committed(py))
    }

    fn page(&self, named: &Named) -> PyResult<PageRef> {
        match named {
            Named::Existing(page) => Ok(page.0.into()),
            Named::New(number) => {
                let made = self.made.get(*number).copied().map(PageRef::from);
                made.ok_or_else(|| PyValueError::new_err(format!("the transaction makes no page number {number}")))
            }
        }
    }

    fn pages(&self, named: &[Named]) -> PyResult<Vec<PageRef>> {
        named.iter().map(|named| self.page(named)).collect()
    }

    fn keep(&mut self, page: NewPage) -> usize {
        self.made.push(page);
        self.made.len() - 1
    }
}

#[pymethods]
impl PageTransaction {
    #[new]
    fn new(source: &str, cause: Option<u64>) -> Self {
        let mut steps = reactive::Transaction::new().source(source);
        if let Some(cause) = cause {
            steps = steps.caused_by(cause);
        }
        Self(Mutex::new(Collected { steps: Some(steps), made: Vec::new() }))
    }

    /// Makes a page; gives its number among those that the transaction makes.
    fn create(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<usize> {
        let mut collected = self.lock();
        let page = collected.steps(py)?.create(bytes);
        Ok(collected.keep(page))
    }

    fn derive(
        &self,
        py: Python<'_>,
        length: usize,
        name: &str,
        version: u32,
        dependencies: Vec<Named>,
    ) -> PyResult<usize> {
        let mut collected = self.lock();
        let dependencies = collected.pages(&dependencies)?;
        let page = collected.steps(py)?.derive(length, FunctionName::new(name, version), dependencies);
        Ok(collected.keep(page))
    }

    fn rederive(
        &self,
        py: Python<'_>,
        page: Named,
        name: &str,
        version: u32,
        dependencies: Vec<Named>,
    ) -> PyResult<()> {
        let mut collected = self.lock();
        let (page, dependencies) = (collected.page(&page)?, collected.pages(&dependencies)?);
        collected.steps(py)?.rederive(page, FunctionName::new(name, version), dependencies);
        Ok(())
    }

    fn describe(&self, py: Python<'_>, page: Named, name: String, bytes: Vec<u8>) -> PyResult<()> {
        let mut collected = self.lock();
        let page = collected.page(&page)?;
        collected.steps(py)?.describe(page, Metadata { name, bytes });
        Ok(())
    }

    fn delete(&self, py: Python<'_>, page: Named) -> PyResult<()> {
        let mut collected = self.lock();
        let page = collected.page(&page)?;
        collected.steps(py)?.delete(page);
        Ok(())
    }

    fn write(&self, py: Python<'_>, page: Named, offset: usize, bytes: &[u8]) -> PyResult<()> {
        let mut collected = self.lock();
        let page = collected.page(&page)?;
        collected.steps(py)?.write(page, offset, bytes);
        Ok(())
    }

    /// Writes the bytes of a page whose byte in `mask` is not 0.
    fn write_masked(&self, py: Python<'_>, page: Named, mask: &[u8], bytes: &[u8]) -> PyResult<()> {
        let mut collected = self.lock();
        let page = collected.page(&page)?;
        let mut set = Mask::new(mask.len());
        mask.iter().enumerate().filter(|(_, byte)| **byte != 0).for_each(|(place, _)| set.set(place));
        collected.steps(py)?.write_masked(page, set, bytes);
        Ok(())
    }

    fn merge(&self, py: Python<'_>, page: Named, offset: usize, merge: &str, operand: &[u8]) -> PyResult<()> {
        let merge = match merge {
            "or" => Merge::Or,
            "and" => Merge::And,
            "add" => Merge::Add,
            "min" => Merge::Min,
            "latest" => Merge::Latest,
            other => {
                let message =
                    format!("pages merge by \"or\", \"and\", \"add\", \"min\" or \"latest\", and not {other:?}");
                return Err(PyValueError::new_err(message));
            }
        };
        let mut collected = self.lock();
        let page = collected.page(&page)?;
        collected.steps(py)?.merge(page, offset, merge, operand);
        Ok(())
    }
}
