//! How far a run has come, for whoever waits for it.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A listener is not told more often.
const BETWEEN: Duration = Duration::from_millis(200);

/// How many forms and results a run has so far. The engine's thread counts them; the thread that waits for the run tells the listener.
pub(crate) struct Progress {
    began: Instant,
    forms: AtomicU64,
    results: AtomicU64,
    /// When it was told last, in milliseconds since the beginning.
    told: AtomicU64,
}

impl Default for Progress {
    fn default() -> Self {
        Self { began: Instant::now(), forms: AtomicU64::new(0), results: AtomicU64::new(0), told: AtomicU64::new(0) }
    }
}

impl Progress {
    /// Counts a form that has come to `results` results.
    pub(crate) fn count(&self, results: usize) {
        self.forms.fetch_add(1, Ordering::Relaxed);
        self.results.fetch_add(results as u64, Ordering::Relaxed);
    }

    /// Tells a listener, if it is time for that: seconds, forms and results.
    ///
    /// # Errors
    /// The listener raises an exception.
    pub(crate) fn tell(&self, py: Python<'_>, listener: &Py<PyAny>) -> PyResult<()> {
        let passed = self.began.elapsed();
        let last = Duration::from_millis(self.told.load(Ordering::Relaxed));
        if passed < last + BETWEEN {
            return Ok(());
        }
        self.told.store(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        let [forms, results] = [&self.forms, &self.results].map(|count| count.load(Ordering::Relaxed));
        listener.call1(py, (passed.as_secs_f64(), forms, results)).map(drop)
    }
}
