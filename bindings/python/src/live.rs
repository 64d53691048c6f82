//! Live queries: what happens to their answers, event by event.

use crate::convert::to_python;
use crate::errors;
use metroon::{AnswerChange, LiveEvent};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A live query that somebody follows.
#[pyclass(module = "metroon", frozen)]
pub(crate) struct Subscription(Mutex<Option<metroon::Subscription>>);

/// How long signals are not looked for.
const LOOK: Duration = Duration::from_millis(20);

impl Subscription {
    pub(crate) fn new(subscription: metroon::Subscription) -> Self {
        Self(Mutex::new(Some(subscription)))
    }
}

#[pymethods]
impl Subscription {
    /// The next event as a dictionary; `None` if nothing comes within so many seconds, or the base is closed.
    fn next_within(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<Py<PyDict>>> {
        let until = Instant::now().checked_add(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        loop {
            let left = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
            let found = py.detach(|| {
                let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                held.as_mut().map_or(Ok(None), |subscription| subscription.next_within(left.min(LOOK)))
            });
            match found.map_err(|error| errors::plain(py, "KnowledgeBaseError", &error))? {
                Some(event) => return event_of(py, event).map(Some),
                None if left <= LOOK || self.is_over() => return Ok(None),
                None => py.check_signals()?,
            }
        }
    }

    /// Whether nothing more comes: it was closed, or its base was.
    #[getter]
    fn is_over(&self) -> bool {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().is_none_or(metroon::Subscription::is_over)
    }

    /// Follows it no more.
    fn close(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

fn event_of(py: Python<'_>, event: LiveEvent) -> PyResult<Py<PyDict>> {
    let found = PyDict::new(py);
    found.set_item("epoch", event.epoch())?;
    let kind = match event {
        LiveEvent::Answers { changes, .. } => {
            found.set_item("changes", changes_of(py, &changes)?)?;
            "answers"
        }
        LiveEvent::SnapshotEnd { answers, .. } => {
            found.set_item("count", answers)?;
            "snapshot_end"
        }
        LiveEvent::Changes { changes, .. } => {
            found.set_item("changes", changes_of(py, &changes)?)?;
            "changes"
        }
        LiveEvent::Progress { .. } => "progress",
        LiveEvent::Dropped { from, .. } => {
            found.set_item("first", from)?;
            "dropped"
        }
        _ => "other",
    };
    found.set_item("kind", kind)?;
    Ok(found.unbind())
}

/// What an answer was, what it is, and of how many copies; `None` for none.
type Change = (Py<PyAny>, Py<PyAny>, u64);

fn changes_of(py: Python<'_>, changes: &[AnswerChange]) -> PyResult<Vec<Change>> {
    let side = |atom: Option<&space::Atom>| atom.map_or_else(|| Ok(py.None()), |atom| to_python(py, atom));
    changes
        .iter()
        .map(|change| Ok((side(change.before.as_ref())?, side(change.after.as_ref())?, change.copies)))
        .collect()
}
