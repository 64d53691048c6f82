//! When a checkpoint is written: when making happen again what has been journalled since the last one would take longer than anybody wants
//! to wait, and more than a part of what a checkpoint takes; and when the base is closed.

use super::CheckpointReport;
use super::write::{Account, CheckpointSource};
use crate::commit_journal::ledger::SharedLedger;
use crate::commit_journal::recent::RecentHistory;
use crate::commit_journal::retention::Checks;
use crate::commit_journal::{CommitJournal, CompactProgress, Compacted, KnowledgeBaseError};
use journal::Disk;
use metta::Program;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// If no more than this many bytes were journalled since the last checkpoint, no other is written at the end: that is some 10,000 facts.
const TAIL_BYTES_MIN: u64 = 1 << 20;
/// While a run goes on, this many bytes are waited for, so that a short run writes one checkpoint only.
const TAIL_BYTES_RUNNING: u64 = 64 << 20;
/// A checkpoint is not written again before its length divided by this was journalled: while a run goes on, and at its end.
const FRACTION_RUNNING: u64 = 2;
const FRACTION_AT_END: u64 = 32;

/// Writes the checkpoints of a run.
pub(crate) struct Checkpointer {
    base: Rc<CommitJournal>,
    ledger: SharedLedger,
    state: RefCell<State>,
    /// The history of a base in memory, which needs no checkpoints: it is gone when it is closed.
    recent: Option<RefCell<RecentHistory>>,
}

#[derive(Default)]
struct State {
    /// The last one.
    last: Option<CheckpointReport>,
    writing: Option<JoinHandle<io::Result<CheckpointReport>>>,
}

impl Checkpointer {
    /// `last` is the checkpoint that the run was made of.
    pub(crate) fn new(base: Rc<CommitJournal>, ledger: SharedLedger, last: Option<CheckpointReport>) -> Self {
        let recent = base.history_bytes_max().map(|bytes| RefCell::new(RecentHistory::new(bytes)));
        Self { base, ledger, state: RefCell::new(State { last, ..State::default() }), recent }
    }

    /// Begins to write one if it is time, after a commit that superseded this number of bytes of the journal. A base in memory gives up old commits
    /// instead.
    pub(crate) fn after_commit(&self, program: &Program, superseded: u64) {
        if let Some(recent) = &self.recent {
            let epoch = self.ledger.borrow().epoch;
            let kept = recent.borrow_mut().after_commit(&self.base, (epoch, superseded));
            return kept.unwrap_or_else(|error| self.not_given_up(&error));
        }
        let mut state = self.state.borrow_mut();
        let tail = self.base.tail_bytes();
        if tail < TAIL_BYTES_RUNNING.max(state.last_bytes() / FRACTION_RUNNING) {
            return;
        }
        if state.writing.as_ref().is_some_and(|writing| !writing.is_finished()) {
            return;
        }
        self.end_writing(&mut state);
        let (Some(source), disk) = (self.source(program), Arc::clone(&self.base.disk)) else { return };
        let write = move || write(&source, &disk, &mut |_| {});
        if let Ok(writing) = thread::Builder::new().name("metroon-checkpoint".to_owned()).spawn(write) {
            self.base.begin_tail();
            state.writing = Some(writing);
        }
    }

    /// Waits for one that is being written, and writes one of what came since if that is much.
    pub(crate) fn at_end(&self, program: &Program) {
        if self.recent.is_some() {
            return;
        }
        let mut state = self.state.borrow_mut();
        self.end_writing(&mut state);
        if self.base.tail_bytes() >= TAIL_BYTES_MIN.max(state.last_bytes() / FRACTION_AT_END) {
            self.write_now(program, &mut state);
        }
    }

    /// Writes one, however little has happened since the last.
    pub(crate) fn now(
        &self,
        program: &Program,
        on_progress: &mut dyn FnMut(CompactProgress),
    ) -> io::Result<CheckpointReport> {
        let mut state = self.state.borrow_mut();
        self.end_writing(&mut state);
        let source = self.source(program).ok_or_else(|| io::Error::other("nothing was committed yet"))?;
        write(&source, &self.base.disk, &mut |bytes| on_progress(CompactProgress::Written { bytes }))
    }

    /// Writes one, and gives up the commits before the last `keep`, if a number is given.
    pub(crate) fn compact(
        &self,
        program: &Program,
        keep: Option<u64>,
        on_progress: &mut dyn FnMut(CompactProgress),
    ) -> Result<Compacted, KnowledgeBaseError> {
        let checkpoint = self.now(program, on_progress).map_err(KnowledgeBaseError::NoCheckpoint)?;
        let given_up =
            keep.map(|keep| self.base.keep_last(keep, checkpoint.epoch, Checks::All, on_progress)).transpose()?;
        Ok(Compacted { checkpoint, given_up })
    }

    fn write_now(&self, program: &Program, state: &mut State) {
        let Some(source) = self.source(program) else { return };
        match write(&source, &self.base.disk, &mut |_| {}) {
            Ok(report) => state.last = Some(report),
            Err(error) => self.failed(&error),
        }
    }

    fn source(&self, program: &Program) -> Option<CheckpointSource> {
        let ledger = self.ledger.borrow();
        let position = self.base.position().filter(|_| ledger.epoch > 0)?;
        let snapshot = program.snapshot(Some(ledger.epoch), None);
        Some(CheckpointSource::new(snapshot, &Account::of_ledger(&ledger), position))
    }

    fn end_writing(&self, state: &mut State) {
        let Some(writing) = state.writing.take() else { return };
        match writing.join() {
            Ok(Ok(report)) => state.last = Some(report),
            Ok(Err(error)) => self.failed(&error),
            Err(_) => self.failed(&io::Error::other("the thread that wrote it panicked")),
        }
    }

    fn not_given_up(&self, error: &KnowledgeBaseError) {
        tracing::warn!(target: crate::logs::CHECKPOINT, %error, "no commits were given up");
        self.base
            .warn(format!("old commits were not given up: {error}; the base takes more memory, and nothing is lost"));
    }

    fn failed(&self, error: &io::Error) {
        tracing::warn!(target: crate::logs::CHECKPOINT, %error, "no checkpoint was written");
        self.base.warn(format!(
            "no checkpoint was written: {error}; every commit is kept, and the knowledge base takes longer to open"
        ));
    }
}

impl State {
    fn last_bytes(&self) -> u64 {
        self.last.map_or(0, |last| last.bytes)
    }
}

fn write(
    source: &CheckpointSource,
    disk: &Arc<dyn Disk>,
    on_progress: &mut dyn FnMut(u64),
) -> io::Result<CheckpointReport> {
    let bytes = source.write(disk, on_progress)?;
    tracing::info!(target: crate::logs::CHECKPOINT, epoch = source.epoch(), bytes, "checkpoint written");
    Ok(CheckpointReport { epoch: source.epoch(), bytes })
}
