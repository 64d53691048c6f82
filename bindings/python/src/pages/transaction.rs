//! Steps, collected to be committed together.

use super::bytes::PageId;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use reactive::{FunctionName, Mask, Merge, Metadata, NewPage, PageRef};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Steps that are made together, or not at all.
#[pyclass(module = "metroon._engine", frozen)]
pub(crate) struct PageTransaction(Mutex<Collected>);

struct Collected {
    steps: reactive::Transaction,
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

impl PageTransaction {
    pub(crate) fn with<T>(&self, act: impl FnOnce(&reactive::Transaction) -> T) -> T {
        act(&self.lock().steps)
    }

    fn lock(&self) -> MutexGuard<'_, Collected> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collected {
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
        Self(Mutex::new(Collected { steps, made: Vec::new() }))
    }

    /// Makes a page; gives its number among those that the transaction makes.
    fn create(&self, bytes: &[u8]) -> usize {
        let mut collected = self.lock();
        let page = collected.steps.create(bytes);
        collected.keep(page)
    }

    fn derive(&self, length: usize, name: &str, version: u32, dependencies: Vec<Named>) -> PyResult<usize> {
        let mut collected = self.lock();
        let dependencies = collected.pages(&dependencies)?;
        let page = collected.steps.derive(length, FunctionName::new(name, version), dependencies);
        Ok(collected.keep(page))
    }

    fn rederive(&self, page: Named, name: &str, version: u32, dependencies: Vec<Named>) -> PyResult<()> {
        let mut collected = self.lock();
        let (page, dependencies) = (collected.page(&page)?, collected.pages(&dependencies)?);
        collected.steps.rederive(page, FunctionName::new(name, version), dependencies);
        Ok(())
    }

    fn describe(&self, page: Named, name: String, bytes: Vec<u8>) -> PyResult<()> {
        let mut collected = self.lock();
        let page = collected.page(&page)?;
        collected.steps.describe(page, Metadata { name, bytes });
        Ok(())
    }

    fn delete(&self, page: Named) -> PyResult<()> {
        let mut collected = self.lock();
        let page = collected.page(&page)?;
        collected.steps.delete(page);
        Ok(())
    }

    fn write(&self, page: Named, offset: usize, bytes: &[u8]) -> PyResult<()> {
        let mut collected = self.lock();
        let page = collected.page(&page)?;
        collected.steps.write(page, offset, bytes);
        Ok(())
    }

    /// Writes the bytes of a page whose byte in `mask` is not 0.
    fn write_masked(&self, page: Named, mask: &[u8], bytes: &[u8]) -> PyResult<()> {
        let mut collected = self.lock();
        let page = collected.page(&page)?;
        let mut set = Mask::new(mask.len());
        mask.iter().enumerate().filter(|(_, byte)| **byte != 0).for_each(|(place, _)| set.set(place));
        collected.steps.write_masked(page, set, bytes);
        Ok(())
    }

    fn merge(&self, page: Named, offset: usize, merge: &str, operand: &[u8]) -> PyResult<()> {
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
        collected.steps.merge(page, offset, merge, operand);
        Ok(())
    }
}
