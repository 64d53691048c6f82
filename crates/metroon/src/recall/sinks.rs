//! Who takes the commits of a run that is kept, recorded or replayed, in this order:
//!
//! 1. the [`ReplayGate`] of a replay, which ends it before anything is counted if it has gone as far as it is to go;
//! 2. the [`StateHashSink`], which counts commits and keeps the state hash;
//! 3. the [`JournalSink`] of a knowledge base, which writes the records of the commit;
//! 4. the [`TapeSink`], which writes what the commit came to, or the [`ReplaySink`], which compares it with what was written.
//!
//! What they share is the [`Ledger`] of the run. Other sinks come after them; see [`Engine::add_sink`](crate::Engine::add_sink).

use super::knowledge_base::KnowledgeBase;
use super::load::{note_hash, note_space};
use super::record::{AtomRecord, CauseRecord, CommitHeader, CommitWriter, Record};
use super::recording::SharedTape;
use super::replaying::SharedFollower;
use super::sources::{KnownSource, Sources};
use super::state_hash::StateHash;
use super::tape::{Tape, TapeCommit, TapeError};
use metta::{Cause, CauseKind, Commit, CommitSink, CommitStamp, Event, SinkError, SourceId};
use space::{Atom, Change, ChangeDetail, Delta, SharedState, Variable, canonical};
use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

/// How many changes of a commit are shown to people when a replay differs.
const SAMPLE_CHANGES_MAX: usize = 16;

/// How much of a change is shown, in bytes.
const SAMPLE_BYTES_MAX: usize = 300;

/// What a run has come to.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) hash: StateHash,
    /// The number of the last commit that changed something.
    pub(super) epoch: u64,
    /// How many commits the run has made, those that changed nothing included.
    pub(super) commits: u64,
    pub(super) sources: Sources,
    /// Whether a program has changed the library.
    pub(super) is_library_changed: bool,
}

pub(super) type SharedLedger = Rc<RefCell<Ledger>>;

impl Ledger {
    /// What the source of a form is called, and the line and column of the form.
    pub(super) fn place(&self, cause: Cause) -> (String, u32, u32) {
        let (line, column) = self.sources.position(cause.source, cause.offset);
        (self.sources.origin(cause.source).to_owned(), line, column)
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> SinkError {
    SinkError::Failed(Box::new(error))
}

/// Ends a replay that has gone as far as it is to go, and says where the next commit is made.
pub(super) struct ReplayGate {
    pub(super) ledger: SharedLedger,
    pub(super) follower: SharedFollower,
}

impl CommitSink for ReplayGate {
    fn name(&self) -> &'static str {
        "the replay"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Counts
    }

    fn take(&mut self, commit: &Commit, _: &mut CommitStamp) -> Result<(), SinkError> {
        let (origin, line, column) = self.ledger.borrow().place(commit.current);
        let mut follower = self.follower.borrow_mut();
        follower.set_place(format!("{origin}:{line}:{column}"));
        follower.check().map_err(|end| SinkError::Ended(end.into()))
    }
}

/// Counts commits, and keeps the state hash. The spaces keep the hashes of what they hold, so it asks for no rows.
pub(super) struct StateHashSink {
    pub(super) ledger: SharedLedger,
}

impl CommitSink for StateHashSink {
    fn name(&self) -> &'static str {
        "the state hash"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Counts
    }

    fn take(&mut self, commit: &Commit, stamp: &mut CommitStamp) -> Result<(), SinkError> {
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
        *stamp = CommitStamp { epoch: Some(*epoch), state_hash: Some(hash.value()) };
        Ok(())
    }
}

/// Writes the records of commits to the journal of a knowledge base.
pub(super) struct JournalSink {
    pub(super) ledger: SharedLedger,
    pub(super) base: Rc<KnowledgeBase>,
    /// The tape of the run, if it is recorded.
    pub(super) tape: Option<SharedTape>,
}

impl CommitSink for JournalSink {
    fn name(&self) -> &'static str {
        "the journal of the knowledge base"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Changes
    }

    fn take(&mut self, commit: &Commit, _: &mut CommitStamp) -> Result<(), SinkError> {
        if commit.is_empty() {
            return Ok(());
        }
        let mut ledger = self.ledger.borrow_mut();
        let mut writer = CommitWriter::default();
        write_records(commit, &mut ledger.sources, &mut writer);
        let frames = self.tape.as_ref().and_then(|tape| tape.borrow_mut().as_mut().map(Tape::frames));
        let tape_frame = frames.transpose().map_err(failed)?;
        let (epoch, hash) = (ledger.epoch, ledger.hash.value().to_le_bytes());
        let header = CommitHeader { epoch, hash, parts: 0, variables: commit.variables, tape_frame };
        self.base.append(writer.finish(header)).map_err(failed)
    }
}

/// Writes what commits came to on the tape of a run.
pub(super) struct TapeSink {
    pub(super) ledger: SharedLedger,
    pub(super) tape: SharedTape,
}

impl CommitSink for TapeSink {
    fn name(&self) -> &'static str {
        "the tape"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Counts
    }

    fn take(&mut self, commit: &Commit, _: &mut CommitStamp) -> Result<(), SinkError> {
        let commit = tape_commit(&self.ledger.borrow(), commit);
        let written = self.tape.borrow_mut().as_mut().map_or(Ok(()), |tape| tape.commit(&commit));
        written.map_err(|error: TapeError| failed(error))
    }
}

/// Compares what commits come to with what the tape has.
pub(super) struct ReplaySink {
    pub(super) ledger: SharedLedger,
    pub(super) follower: SharedFollower,
}

impl CommitSink for ReplaySink {
    fn name(&self) -> &'static str {
        "the replay"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Counts
    }

    fn take(&mut self, commit: &Commit, _: &mut CommitStamp) -> Result<(), SinkError> {
        let commit = tape_commit(&self.ledger.borrow(), commit);
        self.follower.borrow_mut().commit(&commit).map_err(|end| SinkError::Ended(end.into()))
    }
}

/// What a commit is on a tape.
fn tape_commit(ledger: &Ledger, commit: &Commit) -> TapeCommit {
    let (origin, line, column) = ledger.place(commit.current);
    TapeCommit {
        number: ledger.commits,
        epoch: ledger.epoch,
        hash: ledger.hash.value().to_le_bytes(),
        origin,
        line,
        column,
        added: commit.changes.added,
        removed: commit.changes.removed,
        others: (commit.events.len() + states(commit).len()) as u64,
        sample: sample(commit),
    }
}

/// The first changes of a commit, for people.
fn sample(commit: &Commit) -> Vec<String> {
    let mut sample: Vec<String> = commit.events.iter().take(SAMPLE_CHANGES_MAX).map(describe).collect();
    let mut rows = Vec::new();
    // Where the sample is full, the walk ends.
    let _ = commit.changes.each(|change| {
        if sample.len() + rows.len() == SAMPLE_CHANGES_MAX {
            return Err(());
        }
        if let Change::Row(delta) = change {
            rows.push(format!("{} {}", if delta.count > 0 { '+' } else { '-' }, delta.atom()));
        }
        Ok(())
    });
    sample.extend(rows);
    let room = SAMPLE_CHANGES_MAX - sample.len();
    let set = states(commit).into_iter().take(room);
    sample.extend(set.map(|state| format!("state {} = {}", state.serial(), state.value())));
    sample.iter_mut().for_each(shorten);
    sample
}

fn shorten(text: &mut String) {
    if text.len() > SAMPLE_BYTES_MAX {
        text.truncate(text.floor_char_boundary(SAMPLE_BYTES_MAX));
        text.push('…');
    }
}

/// The states that a commit has set, each once. A state that was set between two marks may be noted twice; its content is the
/// same.
fn states(commit: &Commit) -> Vec<&SharedState> {
    let mut set: Vec<&SharedState> = commit.changes.states().collect();
    set.sort_by_key(|state| state.serial());
    set.dedup_by_key(|state| state.serial());
    set
}

/// Writes the records of a commit: its sources, its events, its signed rows with their causes, and the states that were set.
fn write_records(commit: &Commit, sources: &mut Sources, writer: &mut CommitWriter) {
    write_sources(commit.causes.iter().map(|cause| cause.source), sources, writer);
    // What is made and bound is so by the form that was run last: plain forms before it only state atoms.
    if !commit.events.is_empty() {
        write_cause(&commit.current, sources, writer);
    }
    for event in &commit.events {
        with_event(event, |source| sources.number(source), |record| writer.push(record));
    }
    let mut cause = None;
    let Ok(()) = commit.changes.each(|change| {
        let (Change::Row(Delta { cause: number, .. }) | Change::Set { cause: number, .. }) = change;
        if cause.replace(number) != Some(number)
            && let Some(found) = commit.causes.get(number as usize)
        {
            write_cause(found, sources, writer);
        }
        if let Change::Row(delta) = change {
            writer.push_delta(&delta);
        }
        Ok::<(), Infallible>(())
    });
    for state in states(commit) {
        let value = state.value();
        named(&value, |value| writer.push(&Record::State { state: state.serial(), value }));
    }
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

fn write_cause(cause: &Cause, sources: &mut Sources, writer: &mut CommitWriter) {
    let (line, column) = sources.position(cause.source, cause.offset);
    let kind = match cause.kind {
        CauseKind::Statement => CauseRecord::Statement,
        CauseKind::Evaluation => CauseRecord::Evaluation,
        CauseKind::Retraction => CauseRecord::Retraction,
    };
    writer.push_cause(sources.number(cause.source), kind, line, column);
}

/// The record that says that a source has begun.
pub(super) fn begun_record(number: u32, source: &KnownSource) -> Record<'_> {
    Record::SourceBegun {
        source: number,
        module: source.module.number(),
        origin: &source.origin,
        file: source.file.as_deref(),
        content: source.content,
    }
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

/// An event, for people.
pub(super) fn describe(event: &Event) -> String {
    match event {
        Event::SpaceMade { serial } => format!("space {serial} made"),
        Event::StateMade { serial, value, .. } => format!("state {serial} made = {value}"),
        Event::ModuleMade { path, .. } => format!("module {path} made"),
        Event::ModuleNamed { path, .. } => format!("module named {path}"),
        Event::ModuleForgotten { module } => format!("module {} forgotten", module.number()),
        Event::Imported { into, from } => format!("module {} imports module {}", into.number(), from.number()),
        Event::WordsImported { into, from } => {
            format!("module {} knows the words of module {}", into.number(), from.number())
        }
        Event::Bound { token, atom, .. } => format!("{token} means {atom}"),
        Event::Set { key, value } => format!("setting {key} = {value}"),
        Event::Unstated { atom, .. } => format!("no longer stated: {atom}"),
        Event::GeneratorSet { number, generator } => format!("random generator {number} = {generator:?}"),
        event => format!("{event:?}"),
    }
}
