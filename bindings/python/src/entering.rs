//! How the thread of an engine gets a state of Python while other threads may fork the process.
//!
//! Python enters each thread into a list, under a lock. A fork of the process at that moment has that lock as it is, held by a thread
//! that the fork does not have, and CPython up to 3.11 waits for it for ever in the fork (its main thread is told to forget the other
//! threads before the lock is made anew). A thread of Python is entered under the interpreter lock, and a fork begins under it, so
//! that cannot meet; the thread of an engine comes without. Therefore each tells of the other here: `os.register_at_fork` lets a fork
//! wait until nobody enters, and who enters waits until nobody forks. Either gives up after [`PATIENCE`]: what waits for
//! something that waits for it goes on.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Threads that enter themselves.
static ENTERING: AtomicUsize = AtomicUsize::new(0);
/// Threads that fork the process.
static FORKING: AtomicUsize = AtomicUsize::new(0);

/// How long one waits for the other.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long nobody looks whether the other has ended: a fork of a small process takes a millisecond.
const LOOK: Duration = Duration::from_micros(100);

/// Does something on a thread that may have no state of Python yet and does not hold the interpreter lock.
pub(crate) fn attach<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    let begun = Instant::now();
    loop {
        ENTERING.fetch_add(1, Ordering::SeqCst);
        if FORKING.load(Ordering::SeqCst) == 0 || begun.elapsed() > PATIENCE {
            break;
        }
        ENTERING.fetch_sub(1, Ordering::SeqCst);
        thread::sleep(LOOK);
    }
    Python::attach(|py| {
        ENTERING.fetch_sub(1, Ordering::SeqCst);
        work(py)
    })
}

/// What is called before the process is forked.
#[pyfunction]
fn before_fork(py: Python<'_>) {
    FORKING.fetch_add(1, Ordering::SeqCst);
    if ENTERING.load(Ordering::SeqCst) == 0 {
        return;
    }
    // Whoever enters waits for the interpreter lock.
    py.detach(|| {
        let begun = Instant::now();
        while ENTERING.load(Ordering::SeqCst) > 0 && begun.elapsed() < PATIENCE {
            thread::sleep(LOOK);
        }
    });
}

/// What is called afterwards in the process that was forked.
#[pyfunction]
fn after_fork_in_parent() {
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

/// What is called in the fork, where no thread is left but the one that forked.
#[pyfunction]
fn after_fork_in_child() {
    ENTERING.store(0, Ordering::SeqCst);
    FORKING.store(0, Ordering::SeqCst);
}

/// Lets Python tell of forks, on systems that have them.
pub(crate) fn watch_forks(py: Python<'_>) -> PyResult<()> {
    let Ok(register) = py.import("os")?.getattr("register_at_fork") else { return Ok(()) };
    let told = PyDict::new(py);
    told.set_item("before", wrap_pyfunction!(before_fork, py)?)?;
    told.set_item("after_in_parent", wrap_pyfunction!(after_fork_in_parent, py)?)?;
    told.set_item("after_in_child", wrap_pyfunction!(after_fork_in_child, py)?)?;
    register.call((), Some(&told)).map(drop)
}
