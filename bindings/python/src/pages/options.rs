//! How a state is kept, by the names that arguments have.

use journal::Durability;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use reactive::Options;
use std::sync::Arc;
use std::time::Instant;

/// How a state is kept.
#[derive(Clone, FromPyObject)]
pub(crate) struct Named {
    /// `none`, `os` or `fsync`.
    #[pyo3(item)]
    durability: String,
    #[pyo3(item)]
    threads: Option<usize>,
    /// Runs each function twice.
    #[pyo3(item)]
    check_functions: bool,
    #[pyo3(item)]
    log_hashes: bool,
    #[pyo3(item)]
    log_derived: bool,
    /// Measures the stages of commits, in nanoseconds.
    #[pyo3(item)]
    timed: bool,
}

/// What a commit or a sync waits for, by its name.
pub(crate) fn durability(name: &str) -> PyResult<Durability> {
    match name {
        "none" => Ok(Durability::None),
        "os" => Ok(Durability::Os),
        "fsync" => Ok(Durability::Fsync),
        other => Err(PyValueError::new_err(format!("durability is \"none\", \"os\" or \"fsync\", and not {other:?}"))),
    }
}

impl Named {
    pub(crate) fn options(&self) -> PyResult<Options> {
        let mut options = Options::default()
            .durability(durability(&self.durability)?)
            .check_functions(self.check_functions)
            .log_hashes(self.log_hashes)
            .log_derived(self.log_derived);
        if let Some(threads) = self.threads {
            options = options.threads(threads);
        }
        if self.timed {
            let begun = Instant::now();
            let nanoseconds = move || u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            options = options.clock(Arc::new(nanoseconds));
        }
        Ok(options)
    }
}
