//! What commits have changed, notice by notice.

use super::bytes::PageId;
use super::failures::{forked, refused_inside};
use super::functions::is_deriving;

use crate::home::OfProcess;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use reactive::{Change, Notice};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long signals are not looked for.
const LOOK: Duration = Duration::from_millis(20);

/// What has happened to a page: a word, and how many bytes differ, where that is known.
type Happened = (PageId, &'static str, Option<u64>);
/// The last commit before, the last one that is part of it, of how many notices it is made, and what has happened.
type Told = (u64, u64, u64, Vec<Happened>);

/// Follows what commits change.
#[pyclass(module = "metroon._engine", frozen)]
pub(crate) struct PageSubscription(OfProcess<Mutex<Option<reactive::Subscription>>>);

impl PageSubscription {
    pub(crate) fn new(subscription: reactive::Subscription) -> Self {
        Self(OfProcess::new(Mutex::new(Some(subscription))))
    }

    fn held(&self, py: Python<'_>) -> PyResult<&Mutex<Option<reactive::Subscription>>> {
        self.0.here().ok_or_else(|| forked(py))
    }
}

#[pymethods]
impl PageSubscription {
    /// The next notice; `None` if none comes within `seconds`, or it or the state was closed. Less than no time is none.
    fn next_within(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<Told>> {
        if is_deriving() {
            return Err(refused_inside(py));
        }
        if seconds.is_nan() {
            return Err(PyValueError::new_err("a timeout is a number of seconds, and NaN is not a number"));
        }
        let held = self.held(py)?;
        let until = Instant::now().checked_add(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX));
        loop {
            let left = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
            let found = py.detach(|| {
                let held = held.lock().unwrap_or_else(PoisonError::into_inner);
                held.as_ref().map(|subscription| {
                    // What the state has told before it ended is there by now.
                    let is_over = subscription.is_over();
                    let time = if is_over { Duration::ZERO } else { left.min(LOOK) };
                    (subscription.next_within(time), is_over)
                })
            });
            match found {
                Some((Some(notice), _)) => return Ok(Some(told(notice))),
                None | Some((None, true)) => return Ok(None),
                Some((None, false)) if left <= LOOK => return Ok(None),
                Some((None, false)) => py.check_signals()?,
            }
        }
    }

    /// Whether it was closed.
    #[getter]
    fn is_over(&self, py: Python<'_>) -> PyResult<bool> {
        let held = self.held(py)?;
        Ok(py.detach(|| held.lock().unwrap_or_else(PoisonError::into_inner).is_none()))
    }

    /// Follows no more.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let held = self.held(py)?;
        py.detach(|| drop(held.lock().unwrap_or_else(PoisonError::into_inner).take()));
        Ok(())
    }
}

fn told(notice: Notice) -> Told {
    let happened = notice.changes.into_iter().map(|(page, change)| match change {
        Change::Created => (PageId(page), "created", None),
        Change::Written { bytes } => (PageId(page), "written", bytes),
        Change::Deleted => (PageId(page), "deleted", None),
    });
    (notice.from, notice.to, notice.merged, happened.collect())
}
