//! How a thread of Python asks an engine for something.
//!
//! 1. The interpreter lock is given up while it waits.
//! 2. It looks for signals now and then. If somebody presses Ctrl-C, what has not begun is not done, and what has begun is cancelled; then
//!    the exception goes on.
//! 3. On the thread of the engine itself, inside a function that the engine has called, asking is refused: see [`crate::functions`] for what
//!    can be done there.

use crate::home::OfProcess;
use crate::{entering, errors};
use metroon::limits::Interrupt;
use metroon::run::{EngineThread, Pending, WriterError};
use metroon::tape::RecallError;
use metroon::{Engine, KnowledgeBase};
use pyo3::prelude::*;
use scoped_tls_hkt::scoped_thread_local;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// How long signals are not looked for.
const LOOK: Duration = Duration::from_millis(20);
/// How long a run that was cancelled may take to end before nobody waits for it any more: it may be in a function of Python.
const GRACE: Duration = Duration::from_secs(5);

/// The states of a request: it waits, it runs, or nobody waits for it any more.
const WAITS: u8 = 0;
const RUNS: u8 = 1;
const GIVEN_UP: u8 = 2;

/// A base or runner whose engine has a thread of its own.
pub(crate) trait Asked {
    /// Lets the engine do something, in its turn.
    fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<Pending<T>, WriterError>;

    /// What ends an evaluation of the engine.
    fn interrupt(&self) -> &Interrupt;
}

/// A knowledge base with what ends its evaluations.
pub(crate) struct Base {
    base: OfProcess<KnowledgeBase>,
    interrupt: Interrupt,
}

impl Base {
    pub(crate) fn new(base: KnowledgeBase, interrupt: Interrupt) -> Self {
        Self { base: OfProcess::new(base), interrupt }
    }

    /// The base.
    ///
    /// # Errors
    /// The process is a fork of the one that opened it.
    pub(crate) fn base(&self, py: Python<'_>) -> PyResult<&KnowledgeBase> {
        self.base.get(py)
    }

    /// The base; `None` in a fork of the process.
    pub(crate) fn here(&self) -> Option<&KnowledgeBase> {
        self.base.here()
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        if let Some(base) = self.base.take() {
            drop_without_lock(base);
        }
    }
}

/// Drops something that may wait for a thread which runs functions of Python.
fn drop_without_lock<T: Send>(dropped: T) {
    // Where Python has ended, it is dropped as well.
    let _ = Python::try_attach(|py| py.detach(move || drop(dropped)));
}

impl Asked for Base {
    fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<Pending<T>, WriterError> {
        self.here().ok_or(WriterError::Forked)?.submit(work)
    }

    fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }
}

/// An engine that keeps nothing, with what ends its evaluations.
pub(crate) struct Alone {
    thread: OfProcess<EngineThread>,
    interrupt: Interrupt,
}

impl Alone {
    /// Starts the thread, whose engine `make` makes there.
    ///
    /// # Errors
    /// The thread cannot be started, or the engine not be made.
    pub(crate) fn start(
        make: impl FnOnce() -> Result<Engine, RecallError> + Send + 'static,
    ) -> Result<Self, WriterError> {
        let thread = EngineThread::start(metroon::limits::REQUESTS_WAITING_DEFAULT, make)?;
        let interrupt = thread.ask(|engine| engine.limits_mut().interrupt.clone())?;
        Ok(Self { thread: OfProcess::new(thread), interrupt })
    }

    /// Ends the thread.
    ///
    /// # Errors
    /// What its engine keeps cannot be completed, or the process is a fork of the one that has the thread.
    pub(crate) fn close(&self) -> Result<(), WriterError> {
        self.thread.here().ok_or(WriterError::Forked)?.close()
    }

    /// Whether the thread is the one that asks.
    pub(crate) fn is_current(&self) -> bool {
        self.thread.here().is_some_and(EngineThread::is_current)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            drop_without_lock(thread);
        }
    }
}

impl Asked for Alone {
    fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<Pending<T>, WriterError> {
        self.thread.here().ok_or(WriterError::Forked)?.submit(work)
    }

    fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }
}

scoped_thread_local!(static mut ENGINE: for<'a> &'a mut Engine);

/// Does something with an engine on its thread, which has a state of Python meanwhile, for all functions that are called, and not the
/// interpreter lock.
pub(crate) fn without_lock<T: Send>(engine: &mut Engine, work: impl FnOnce(&mut Engine) -> T + Send) -> T {
    entering::attach(|py| ENGINE.set(engine, || py.detach(|| ENGINE.with(work))))
}

/// Lets the engine do something, and waits for it without the interpreter lock.
///
/// # Errors
/// The engine is gone, or a signal raised an exception.
pub(crate) fn ask<T: Send + 'static>(
    py: Python<'_>,
    asked: &(impl Asked + Sync),
    work: impl FnOnce(&mut Engine) -> T + Send + 'static,
) -> PyResult<T> {
    ask_meanwhile(py, asked, work, &mut |_| Ok(()))
}

/// Lets the engine do something, and does something each time signals are looked for. An error of that cancels the work as a signal does.
///
/// # Errors
/// Those of [`ask`], and that of what is done meanwhile.
pub(crate) fn ask_meanwhile<T: Send + 'static>(
    py: Python<'_>,
    asked: &(impl Asked + Sync),
    work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    meanwhile: &mut dyn FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let state = Arc::new(AtomicU8::new(WAITS));
    let (seen, interrupt) = (Arc::clone(&state), asked.interrupt().clone());
    let begun = move |engine: &mut Engine| {
        if seen.compare_exchange(WAITS, RUNS, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return None;
        }
        interrupt.reset();
        Some(without_lock(engine, work))
    };
    let pending = py.detach(|| asked.submit(begun)).map_err(|error| errors::writer(py, &error))?;
    let (mut pending, mut time) = (Some(pending), LOOK);
    let mut cancelled = None;
    loop {
        let waiting = pending.take().expect("it is put back");
        let (waiting, found) = py.detach(move || {
            let found = waiting.wait_for(time);
            (waiting, found)
        });
        pending = Some(waiting);
        match (found, cancelled.take()) {
            (Ok(Some(_)) | Err(_), Some(error)) | (Ok(None), Some(error)) => return Err(error),
            (Ok(Some(Some(done))), None) => return Ok(done),
            (Ok(Some(None)), None) => unreachable!("only who has given up is not served"),
            (Err(error), None) => return Err(errors::writer(py, &error)),
            (Ok(None), None) => {}
        }
        if let Err(error) = py.check_signals().and_then(|()| meanwhile(py)) {
            if state.compare_exchange(WAITS, GIVEN_UP, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return Err(error);
            }
            asked.interrupt().cancel();
            (cancelled, time) = (Some(error), GRACE);
        }
    }
}
