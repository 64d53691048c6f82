//! What belongs to the process that made it: a fork of the process (`os.fork`) has a copy, but none of its threads, and locks that they held at
//! that moment stay locked for ever. So nothing of it is touched there, not even when it is dropped.

use crate::errors;
use metroon::run::{HomeProcess, WriterError};
use pyo3::prelude::*;

/// Something of one process.
pub(crate) struct OfProcess<T> {
    /// It is there until it is dropped.
    held: Option<T>,
    home: HomeProcess,
}

impl<T> OfProcess<T> {
    pub(crate) fn new(held: T) -> Self {
        Self { held: Some(held), home: HomeProcess::here() }
    }

    /// What is held, for its process.
    ///
    /// # Errors
    /// The process is a fork of that one.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<&T> {
        self.here().ok_or_else(|| errors::writer(py, &WriterError::Forked))
    }

    /// What is held; `None` in a fork of the process.
    pub(crate) fn here(&self) -> Option<&T> {
        self.held.as_ref().filter(|_| self.home.is_here())
    }

    /// What is held, to be changed; `None` in a fork of the process.
    pub(crate) fn here_mut(&mut self) -> Option<&mut T> {
        if self.home.is_here() { self.held.as_mut() } else { None }
    }

    /// Whether the process is the one that made it.
    pub(crate) fn is_at_home(&self) -> bool {
        self.home.is_here()
    }

    /// Takes what is held out; `None` for a fork of the process.
    pub(crate) fn take(&mut self) -> Option<T> {
        if self.home.is_here() { self.held.take() } else { None }
    }
}

impl<T> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if !self.home.is_here() {
            std::mem::forget(self.held.take());
        }
    }
}
