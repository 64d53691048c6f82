//! What a base may take and reach, by the names that the command line has for it.

use metroon::limits::{Interrupt, LimitReached};
use metroon::{Engine, Limits, Permissions, PermittedWorld, SystemWorld};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The limits of a run: `None` for what was not named.
#[derive(Clone, Copy, Debug, Default, FromPyObject)]
pub(crate) struct Named {
    #[pyo3(item)]
    steps: Option<u64>,
    /// In bytes.
    #[pyo3(item)]
    heap: Option<u64>,
    /// In bytes.
    #[pyo3(item)]
    memory: Option<u64>,
    /// In seconds.
    #[pyo3(item)]
    timeout: Option<f64>,
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl Named {
    /// Those of the first, and those of the second where the first names none.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            steps: self.steps.or(other.steps),
            heap: self.heap.or(other.heap),
            memory: self.memory.or(other.memory),
            timeout: self.timeout.or(other.timeout),
        }
    }

    /// Sets limits, but for that of time.
    pub(crate) fn set(self, limits: &mut Limits) {
        limits.steps_max = self.steps;
        limits.heap_bytes_max = self.heap.map(size);
        limits.memory_bytes_max = self.memory.map(size);
    }

    /// Does something with an engine within these limits. Its time begins now.
    pub(crate) fn within<T>(self, engine: &mut Engine, work: impl FnOnce(&mut Engine) -> T) -> T {
        let before = engine.limits_mut().clone();
        let time = self.apply(engine.limits_mut());
        let done = work(engine);
        drop(time);
        *engine.limits_mut() = before;
        done
    }

    /// Sets limits. The time begins now, and ends when what is given is dropped.
    pub(crate) fn apply(self, limits: &mut Limits) -> Option<Deadline> {
        self.set(limits);
        self.begin(&limits.interrupt)
    }

    fn begin(self, interrupt: &Interrupt) -> Option<Deadline> {
        let time = Duration::try_from_secs_f64(self.timeout?).unwrap_or(Duration::MAX);
        Some(Deadline::begin(interrupt.clone(), time))
    }
}

/// Ends an evaluation when its time is up.
pub(crate) struct Deadline {
    interrupt: Interrupt,
    /// Tells the thread that the evaluation has ended.
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Deadline {
    fn begin(interrupt: Interrupt, time: Duration) -> Self {
        let (ended, is_ended) = channel::<()>();
        let watched = interrupt.clone();
        let wait = move || {
            if is_ended.recv_timeout(time) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                watched.time_is_up();
            }
        };
        let thread = thread::Builder::new().name("metroon-timeout".to_owned()).spawn(wait);
        // Where no thread can be started, there is no time left either.
        let thread = thread.map_err(|_| interrupt.time_is_up()).ok();
        Self { interrupt, ended: Some(ended), thread }
    }
}

impl Drop for Deadline {
    /// What is evaluated next has time again.
    fn drop(&mut self) {
        drop(self.ended.take());
        if let Some(thread) = self.thread.take() {
            // It does nothing that could fail.
            let _ = thread.join();
        }
        if self.interrupt.reason() == Some(LimitReached::Time) {
            self.interrupt.reset();
        }
    }
}

/// What a program may reach: all there is, or what is named.
#[derive(Clone, Debug, Default, FromPyObject)]
pub(crate) struct Allowed {
    #[pyo3(item)]
    deny_all: bool,
    #[pyo3(item)]
    read: Vec<PathBuf>,
    #[pyo3(item)]
    write: Vec<PathBuf>,
    #[pyo3(item)]
    env: Vec<String>,
}

impl Allowed {
    /// A world with these permissions.
    ///
    /// # Errors
    /// The system does not say where a path leads.
    pub(crate) fn world(self, world: SystemWorld) -> std::io::Result<PermittedWorld<SystemWorld>> {
        if !self.deny_all {
            return Ok(PermittedWorld::new(world, Permissions::everything()));
        }
        let mut permissions = Permissions::nothing();
        for path in &self.read {
            permissions = permissions.read(path)?;
        }
        for path in &self.write {
            permissions = permissions.write(path)?;
        }
        for name in &self.env {
            permissions = permissions.variable(name);
        }
        Ok(PermittedWorld::new(world, permissions))
    }
}
