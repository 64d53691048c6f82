//! Which recorders get a thread that writes: those that last.
//!
//! Starting a thread takes a third of the time of a short recording, which is over before the thread has done anything. So one
//! thread, for all recorders of the process, looks every [`TICK`] for those that are older than that, and starts theirs. It ends when
//! none was opened for a while.

use super::queue::{FrameWriter, WriteQueue};
use crate::error::{FileError, RecordError};
use journal::Journal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use std::{io, mem, thread};

/// A recorder gets its thread after one of these, and before two are over.
const TICK: Duration = Duration::from_micros(500);

/// After how many of them without a new recorder the watching ends.
const IDLE_TICKS_MAX: u32 = 100;

/// What the thread of a recorder needs. It keeps neither queue nor journal.
pub(super) struct WriterJob {
    pub(super) queue: Weak<WriteQueue>,
    pub(super) journal: Weak<Journal>,
    pub(super) writing: Arc<FrameWriter>,
}

/// The recorders that have no thread yet.
struct PendingRecorders {
    /// Those that were opened since the last look.
    young: Vec<WriterJob>,
    old: Vec<WriterJob>,
    /// The process whose thread looks after them. A copy of a process has no copy of its threads.
    process: Option<u32>,
}

static WATCHED: Mutex<PendingRecorders> =
    Mutex::new(PendingRecorders { young: Vec::new(), old: Vec::new(), process: None });

fn watched() -> MutexGuard<'static, PendingRecorders> {
    // Nothing is left half done under the lock.
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a recorder get its thread if it lasts.
pub(super) fn watch(job: WriterJob) -> Result<(), RecordError> {
    let mut watched = watched();
    let process = Some(std::process::id());
    if watched.process != process {
        start("cassette recorders", look).map_err(not_started)?;
        *watched = PendingRecorders { young: Vec::new(), old: Vec::new(), process };
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
        due.into_iter().for_each(WriterJob::begin);
    }
}

impl WriterJob {
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
    RecordError::Disk(FileError::new("start a thread for", "the recording")(error))
}
