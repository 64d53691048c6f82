//! The sinks that take the commits of a run for its base.
//!
//! The [`StateHashSink`] counts commits and keeps the state hash; the [`JournalSink`] writes their records. They and the sinks of
//! tapes share the [`Ledger`] of the run.

use super::CommitJournal;
use super::checkpoint::Checkpointer;
use super::ledger::{Ledger, SharedLedger, begun_record};
use super::load::{is_other, note_hash, note_space};
use super::recent::superseded;
use super::record::{
    AtomRecord, CauseRecord, CommitHeader, CommitWriter, LIBRARY_SPACE, PlacedCause, Record, RecordBuffer, TooLong,
    check_length,
};
use super::sources::Sources;
use crate::tape::Tape;
use crate::tape::recording::SharedTape;
use metta::{Cause, CauseKind, Commit, CommitSink, CommitStamp, Event, Program, SinkError, SourceId};
use space::{Atom, Change, ChangeDetail, Changes, Delta, SharedState, Variable, canonical};
use std::ops::Range;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

pub(crate) fn failed(error: impl std::error::Error + Send + Sync + 'static) -> SinkError {
    SinkError::Failed(Box::new(error))
}

/// Counts commits, and keeps the state hash. The spaces keep the hashes of what they hold, so it asks for no rows.
pub(crate) struct StateHashSink {
    pub(crate) ledger: SharedLedger,
}

impl CommitSink for StateHashSink {
    fn name(&self) -> &'static str {
        "the state hash"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Counts
    }

    fn take(&mut self, _: &Program, commit: &Commit, stamp: &mut CommitStamp) -> Result<(), SinkError> {
        check_lengths(commit).map_err(failed)?;
        let mut ledger = self.ledger.borrow_mut();
        let Ledger { hash, epoch, commits, is_library_changed, .. } = &mut *ledger;
        for event in &commit.events {
            // No hash depends on the numbers of sources.
            with_event(event, |_| 0, |record| note_hash(record, hash));
        }
        let spaces = &commit.changes.spaces;
        spaces.iter().for_each(|space| note_space(space, hash));
        for state in states(commit) {
            let value = state.value();
            named(&value, |value| note_hash(&Record::State { state: state.serial(), value }, hash));
        }
        *is_library_changed |= spaces.iter().any(|space| space.serial() == 0);
        *commits += 1;
        *epoch += u64::from(!commit.is_empty());
        (stamp.epoch, stamp.state_hash) = (Some(*epoch), Some(hash.value()));
        Ok(())
    }
}

/// Writes the records of commits to the journal of a knowledge base.
pub(crate) struct JournalSink {
    pub(crate) ledger: SharedLedger,
    pub(crate) base: Rc<CommitJournal>,
    /// The tape of the run, if it is recorded.
    pub(crate) tape: Option<SharedTape>,
    pub(crate) checkpoints: Rc<Checkpointer>,
}

impl CommitSink for JournalSink {
    fn name(&self) -> &'static str {
        "the journal of the knowledge base"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Changes
    }

    fn wants_time(&self) -> bool {
        true
    }

    fn take(&mut self, program: &Program, commit: &Commit, stamp: &mut CommitStamp) -> Result<(), SinkError> {
        if commit.is_empty() {
            return Ok(());
        }
        let mut ledger = self.ledger.borrow_mut();
        let mut writer = CommitWriter::default();
        write_records(commit, &mut ledger, &mut writer, program.threads.get()).map_err(failed)?;
        let frames = self.tape.as_ref().and_then(|tape| tape.borrow_mut().as_mut().map(Tape::frames));
        let tape_frame = frames.transpose().map_err(failed)?;
        let (epoch, hash) = (ledger.epoch, ledger.hash.value().to_le_bytes());
        let (variables, time) = (commit.variables, stamp.time);
        let header = CommitHeader { epoch, hash, parts: 0, variables, tape_frame, time };
        drop(ledger);
        let bytes = self.base.append(writer.finish(header)).map_err(failed)?;
        let (added, removed, states) = (commit.changes.added, commit.changes.removed, states(commit).len());
        tracing::debug!(target: crate::logs::COMMIT, epoch, added, removed, states, "commit");
        let changes_others = states > 0 || !commit.events.is_empty();
        self.checkpoints.after_commit(program, superseded(bytes, removed > 0, changes_others));
        Ok(())
    }
}

/// The states that a commit has set, each once. A state that was set between two marks may be noted twice; its content is the
/// same.
pub(crate) fn states(commit: &Commit) -> Vec<&SharedState> {
    let mut set: Vec<&SharedState> = commit.changes.states().collect();
    set.sort_by_key(|state| state.serial());
    set.dedup_by_key(|state| state.serial());
    set
}

/// Writes the records of a commit: its sources, its events, its signed rows with their causes, and the states that were set.
///
/// # Errors
/// A row is longer than what may be written.
fn write_records(
    commit: &Commit,
    ledger: &mut Ledger,
    writer: &mut CommitWriter,
    threads: usize,
) -> Result<(), TooLong> {
    let Ledger { sources, outline, others, .. } = ledger;
    write_sources(commit.causes.iter().map(|cause| cause.source), sources, writer);
    // What is made and bound is so by the form that was run last: plain forms before it only state atoms.
    if !commit.events.is_empty() {
        writer.push_cause(&placed(&commit.current, sources));
    }
    for event in &commit.events {
        with_event(
            event,
            |source| sources.number(source),
            |record| {
                writer.push(record);
                outline.take(record);
                *others += u64::from(is_other(record));
            },
        );
    }
    if threads > 1 && commit.changes.len() >= CHANGES_ON_THREADS_MIN && !changes_library(commit) {
        write_changes_on(threads, commit, sources, writer)?;
    } else {
        write_changes(commit, ledger, writer)?;
    }
    for state in states(commit) {
        let value = state.value();
        named(&value, |value| writer.push(&Record::State { state: state.serial(), value }));
    }
    Ok(())
}

/// Writes the signed rows of a commit, each with its cause if that is another one than the last.
///
/// # Errors
/// A row is longer than what may be written.
fn write_changes(commit: &Commit, ledger: &mut Ledger, writer: &mut CommitWriter) -> Result<(), TooLong> {
    let Ledger { sources, outline, .. } = ledger;
    let mut cause = None;
    commit.changes.each(|change| {
        let (Change::Row(Delta { cause: number, .. }) | Change::Set { cause: number, .. }) = change;
        if cause.replace(number) != Some(number)
            && let Some(found) = commit.causes.get(number as usize)
        {
            writer.push_cause(&placed(found, sources));
        }
        if let Change::Row(delta) = change {
            writer.push_delta(&delta)?;
            if delta.space.serial() == LIBRARY_SPACE {
                let atom = delta.row.atom(delta.terms);
                named(&atom, |atom| outline.take(&Record::Count { space: LIBRARY_SPACE, copies: delta.count, atom }));
            }
        }
        Ok::<(), TooLong>(())
    })
}

/// A commit of fewer changes is written by one thread.
const CHANGES_ON_THREADS_MIN: usize = 8_192;
/// How many changes a thread takes at once.
const CHANGES_PER_PART: usize = 4_096;
/// How many parts each thread takes in a round, of which the records are in memory twice.
const PARTS_PER_THREAD: usize = 8;

fn changes_library(commit: &Commit) -> bool {
    commit.changes.spaces.iter().any(|space| space.serial() == LIBRARY_SPACE)
}

/// Writes what [`write_changes`] does of a commit that does not change the library, on several threads, some of the changes in each round.
///
/// # Errors
/// A row is longer than what may be written: the first such.
fn write_changes_on(
    threads: usize,
    commit: &Commit,
    sources: &mut Sources,
    writer: &mut CommitWriter,
) -> Result<(), TooLong> {
    let causes: Vec<PlacedCause> = commit.causes.iter().map(|cause| placed(cause, sources)).collect();
    let all = commit.changes.len();
    let round = threads * PARTS_PER_THREAD * CHANGES_PER_PART;
    for start in (0..all).step_by(round) {
        for part in written_parts(threads, &commit.changes, start..all.min(start + round), &causes) {
            writer.push_all(&part?);
        }
    }
    Ok(())
}

/// The records of some changes, in order. Each thread takes the next part of the changes when it is done with one.
fn written_parts(
    threads: usize,
    changes: &Changes,
    range: Range<usize>,
    causes: &[PlacedCause],
) -> impl Iterator<Item = Result<RecordBuffer, TooLong>> {
    let count = range.len().div_ceil(CHANGES_PER_PART);
    let parts: Vec<OnceLock<Result<RecordBuffer, TooLong>>> = (0..count).map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(number) else { return };
            let start = range.start + number * CHANGES_PER_PART;
            part.get_or_init(|| written_part(changes, start..range.end.min(start + CHANGES_PER_PART), causes));
        }
    };
    thread::scope(|scope| {
        let spawned: Vec<_> = (1..threads.min(count)).map(|_| scope.spawn(work)).collect();
        work();
        spawned.into_iter().for_each(|thread| thread.join().unwrap_or_else(|payload| resume_unwind(payload)));
    });
    parts.into_iter().map(|part| part.into_inner().expect("each part was taken by a thread"))
}

/// The records of some changes, each with its cause if that is another one than that of the change before.
fn written_part(changes: &Changes, range: Range<usize>, causes: &[PlacedCause]) -> Result<RecordBuffer, TooLong> {
    let mut records = RecordBuffer::default();
    let mut cause = range.start.checked_sub(1).map(|before| changes.cause(before));
    changes.each_in(range, |change| {
        let (Change::Row(Delta { cause: number, .. }) | Change::Set { cause: number, .. }) = change;
        if cause.replace(number) != Some(number)
            && let Some(found) = causes.get(number as usize)
        {
            records.push_cause(found);
        }
        if let Change::Row(delta) = change { records.push_delta(&delta) } else { Ok(()) }
    })?;
    Ok(records)
}

/// Whether what a commit says beside its rows can be kept, as far as its length goes.
///
/// # Errors
/// An atom is longer than what may be written.
fn check_lengths(commit: &Commit) -> Result<(), TooLong> {
    for event in &commit.events {
        match event {
            Event::StateMade { value, .. } => check_length("the content of a state", value)?,
            Event::Bound { atom, .. } => check_length("what a word means", atom)?,
            Event::Set { value, .. } => check_length("the value of a setting", value)?,
            Event::Unstated { atom, .. } => check_length("an atom of a source", atom)?,
            _ => {}
        }
    }
    states(commit).into_iter().try_for_each(|state| check_length("the content of a state", &state.value()))
}

/// Says of the sources that cause something that they have begun, if the base does not know.
fn write_sources(causes: impl Iterator<Item = SourceId>, sources: &mut Sources, writer: &mut CommitWriter) {
    let mut last = None;
    for id in causes {
        if last.replace(id) == Some(id) || sources.get(id).is_none_or(|source| source.is_recorded) {
            continue;
        }
        let number = sources.number(id);
        if let Some(source) = sources.get_mut(id) {
            source.is_recorded = true;
            writer.push(&begun_record(number, source));
        }
    }
}

/// A cause as records have it.
fn placed(cause: &Cause, sources: &mut Sources) -> PlacedCause {
    let (line, column) = sources.position(cause.source, cause.offset);
    let kind = match cause.kind {
        CauseKind::Statement => CauseRecord::Statement,
        CauseKind::Evaluation => CauseRecord::Evaluation,
        CauseKind::Retraction => CauseRecord::Retraction,
    };
    PlacedCause { source: sources.number(cause.source), kind, line, column }
}

/// Hands out an atom as records have it.
fn named<T>(atom: &Atom, take: impl FnOnce(AtomRecord<'_>) -> T) -> T {
    let mut bytes = Vec::with_capacity(64);
    let mut names: Vec<&str> = Vec::new();
    canonical::encode_naming(atom, &mut bytes, |variable: &Variable| names.push(variable.name().as_str()));
    take(AtomRecord { bytes: &bytes, names })
}

/// Hands out the record of an event.
fn with_event(event: &Event, number: impl FnOnce(SourceId) -> u32, take: impl FnOnce(&Record<'_>)) {
    match event {
        Event::SpaceMade { serial } => take(&Record::SpaceMade { serial: *serial }),
        Event::StateMade { serial, value, type_atom } => named(value, |value| {
            named(type_atom, |type_atom| take(&Record::StateMade { serial: *serial, value, type_atom }));
        }),
        Event::ModuleMade { serial, path, directory, file } => {
            take(&Record::ModuleMade { serial: *serial, path, directory, file: file.as_deref() });
        }
        Event::ModuleNamed { path, module } => take(&Record::ModuleNamed { path, module: module.number() }),
        Event::ModuleForgotten { module } => take(&Record::ModuleForgotten { module: module.number() }),
        Event::Imported { into, from } => take(&Record::Imported { into: into.number(), from: from.number() }),
        Event::Bound { module, token, is_pattern, atom } => named(atom, |atom| {
            take(&Record::Bound { module: module.number(), token, is_pattern: *is_pattern, atom });
        }),
        Event::Set { key, value } => named(value, |value| take(&Record::Setting { key, value })),
        Event::Unstated { source, atom } => {
            let source = number(*source);
            named(atom, |atom| take(&Record::Unstated { source, atom }));
        }
        Event::WordsImported { into, from } => {
            take(&Record::WordsImported { into: into.number(), from: from.number() });
        }
        Event::GeneratorSet { number, generator } => {
            take(&Record::GeneratorSet { number: *number, generator: *generator });
        }
        event => unreachable!("an event without a record: {event:?}"),
    }
}
