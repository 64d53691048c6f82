//! Live queries: what happens to their answers, event by event.

use crate::convert::to_python;
use crate::errors;
use crate::home::OfProcess;
use metroon::live::{AnswerChange, CHANGES_WAITING_DEFAULT, LiveNameError, NamedLiveQuery, SubscribeError};
use metroon::{KnowledgeBase, LiveEvent, LiveRequest};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A live query that somebody follows.
#[pyclass(module = "metroon", frozen)]
pub(crate) struct Subscription(OfProcess<Mutex<Option<metroon::Subscription>>>);

/// How long signals are not looked for.
const LOOK: Duration = Duration::from_millis(20);

/// A live query: its pattern, its template and its key.
pub(crate) type Query = (String, Option<String>, Vec<String>);

/// What a live query makes of its matches, and of which variable.
pub(crate) type Aggregate = (String, String);

/// A live query with a name: name, pattern, template, options and functions.
pub(crate) type Named = (String, String, String, Vec<String>, Vec<String>);

impl Subscription {
    pub(crate) fn new(subscription: metroon::Subscription) -> Self {
        Self(OfProcess::new(Mutex::new(Some(subscription))))
    }
}

#[pymethods]
impl Subscription {
    /// The next event as a dictionary; `None` if nothing comes within `seconds`, or the base is closed.
    fn next_within(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<Py<PyDict>>> {
        let held = self.0.get(py)?;
        let until = Instant::now().checked_add(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        loop {
            let left = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
            let found = py.detach(|| {
                let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
                held.as_mut().map_or(Ok(None), |subscription| subscription.next_within(left.min(LOOK)))
            });
            match found.map_err(|error| errors::plain(py, "KnowledgeBaseError", &error))? {
                Some(event) => return event_of(py, event).map(Some),
                None if left <= LOOK || self.is_over(py)? => return Ok(None),
                None => py.check_signals()?,
            }
        }
    }

    /// Whether nothing more comes: it was closed, or its base was.
    #[getter]
    fn is_over(&self, py: Python<'_>) -> PyResult<bool> {
        let held = self.0.get(py)?.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(held.as_ref().is_none_or(metroon::Subscription::is_over))
    }

    /// Follows it no more.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        drop(self.0.get(py)?.lock().unwrap_or_else(PoisonError::into_inner).take());
        Ok(())
    }
}

/// The live query of what Python says of one.
pub(crate) fn request((pattern, template, key): Query, aggregate: Option<Aggregate>) -> PyResult<LiveRequest> {
    let mut request = LiveRequest::new(pattern);
    if let Some(template) = template {
        request = request.template(template);
    }
    for variable in key {
        request = request.key(variable);
    }
    match aggregate {
        None => Ok(request),
        Some((kind, variable)) => match kind.as_str() {
            "count" => Ok(request.count(variable)),
            "sum" => Ok(request.sum(variable)),
            "min" => Ok(request.min(variable)),
            "max" => Ok(request.max(variable)),
            other => Err(PyValueError::new_err(format!("a live query can count, sum, min or max, and not {other}"))),
        },
    }
}

/// Follows a live query, after a commit if one is given, with room for `waiting_max` changes that wait.
pub(crate) fn subscribe(
    py: Python<'_>,
    base: &KnowledgeBase,
    request: &LiveRequest,
    (after, waiting_max): (Option<u64>, Option<usize>),
) -> PyResult<Subscription> {
    let most = waiting_max.unwrap_or(CHANGES_WAITING_DEFAULT);
    let joined = py.detach(|| base.subscribe_with(request, most, after));
    joined.map(Subscription::new).map_err(|error| match &error {
        SubscribeError::Writer(error) => errors::writer(py, error),
        error => errors::plain(py, "KnowledgeBaseError", error),
    })
}

/// A live query was not registered under a name, or not ended.
pub(crate) fn not_named(py: Python<'_>, error: &LiveNameError) -> PyErr {
    match error {
        LiveNameError::Writer(error) => errors::writer(py, error),
        LiveNameError::NoName(_) => PyValueError::new_err(error.to_string()),
        error => errors::plain(py, "KnowledgeBaseError", error),
    }
}

pub(crate) fn named(query: NamedLiveQuery) -> Named {
    (query.name, query.pattern, query.template, query.options, query.functions)
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
            let after = from.saturating_sub(1);
            let reason = format!("what waited was not taken in time: follow the query anew with after={after}");
            found.set_item("reason", reason)?;
            "dropped"
        }
        LiveEvent::Stopped { reason, .. } => {
            found.set_item("reason", reason)?;
            "stopped"
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
