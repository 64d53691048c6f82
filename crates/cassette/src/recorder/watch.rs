//! Which recorders get a thread that writes: those that last.
//!
//! Starting a thread takes a third of the time of a short recording, which is over before the thread has done anything. So one
//! thread, for all recorders of the process, looks every [`TICK`] for those that are older than that, and starts theirs. It ends when
//! none was opened for a while.

use super::queue::{Queue, Writing};
use crate::error::{Failure, RecordError};
use journal::Journal;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// A recorder gets its thread after one of these, and before two are over.
const TICK: Duration = Duration::from_micros(500);

/// After so many of them without a new recorder the watching ends.
const IDLE_TICKS_MAX: u32 = 100;

/// What the thread of a recorder needs. It keeps neither queue nor journal.
pub(super) struct Job {
    pub(super) queue: Weak<Queue>,
    pub(super) journal: Weak<Journal>,
    pub(super) writing: Arc<Writing>,
}

/// The recorders that have no thread yet.
struct Watched {
    /// Those that were opened since the last look.
    young: Vec<Job>,
    old: Vec<Job>,
    /// The process whose thread looks after them. A copy of a process has no copy of its threads.
    process: Option<u32>,
}

static WATCHED: Mutex<Watched> = Mutex::new(Watched { young: Vec::new(), old: Vec::new(), process: None });

fn watched() -> MutexGuard<'static, Watched> {
    // Nothing is left half done under the lock.
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a recorder get its thread if it lasts.
pub(super) fn watch(job: Job) -> Result<(), RecordError> {
    let mut watched = watched();
    let process = Some(std::process::id());
    if watched.process != process {
        start("cassette recorders", look).map_err(not_started)?;
        *watched = Watched { young: Vec::new(), old: Vec::new(), process };
    }
    watched.young.push(job);
    Ok(())
}

fn look() {
    let mut idle_ticks = 0;
    while idle_ticks < IDLE_TICKS_MAX {
        thread::sleep(TICK);
        let mut watched = watched();
        let young = mem::take(&mut watched.young);
        let due = mem::replace(&mut watched.old, young);
        idle_ticks = if due.is_empty() && watched.old.is_empty() { idle_ticks + 1 } else { 0 };
        if idle_ticks == IDLE_TICKS_MAX {
            watched.process = None;
        }
        drop(watched);
        due.into_iter().for_each(Job::begin);
    }
}

impl Job {
    /// Starts the thread that writes, unless the recorder has ended. Nobody waits for the end of the thread: when the recorder has ended
    /// it has nothing left but itself.
    pub(super) fn begin(self) {
        let Some(queue) = self.queue.upgrade().filter(|queue| !queue.is_over()) else { return };
        let Self { journal, writing, .. } = self;
        let writer = queue.clone();
        if let Err(error) = start("cassette recorder", move || writer.write(&journal, &writing)) {
            queue.fail(not_started(error));
        }
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

fn not_started(error: io::Error) -> RecordError {
    RecordError::Disk(Failure::new("start a thread for", "the recording")(error))
}
