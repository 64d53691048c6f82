//! The sinks that take the commits of a run for its tape.
//!
//! 1. The [`ReplayGate`] ends a replay before a commit is counted if it has gone as far as it is to go.
//! 2. The [`TapeSink`] writes what the commit came to, or the [`ReplaySink`] compares it with what was written.

use super::recording::SharedTape;
use super::replaying::SharedFollower;
use super::{TapeCommit, TapeError};
use crate::commit_journal::ledger::{Ledger, SharedLedger};
use crate::commit_journal::sinks::{failed, states};
use metta::{Commit, CommitSink, CommitStamp, Event, Program, SinkError};
use space::{Atom, Change, ChangeDetail};

/// How many changes of a commit are shown to people when a replay differs.
const SAMPLE_CHANGES_MAX: usize = 16;

/// How much of a change is shown, in bytes.
const SAMPLE_BYTES_MAX: usize = 300;

/// Ends a replay that has gone as far as it is to go, and says where the next commit is made.
pub(crate) struct ReplayGate {
    pub(crate) ledger: SharedLedger,
    pub(crate) follower: SharedFollower,
}

impl CommitSink for ReplayGate {
    fn name(&self) -> &'static str {
        "the replay"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Counts
    }

    fn take(&mut self, _: &Program, commit: &Commit, _: &mut CommitStamp) -> Result<(), SinkError> {
        let (origin, line, column) = self.ledger.borrow().place(commit.current);
        let mut follower = self.follower.borrow_mut();
        follower.set_place(format!("{origin}:{line}:{column}"));
        follower.check().map_err(|end| SinkError::Ended(end.into()))
    }
}

/// Writes what commits came to on the tape of a run.
pub(crate) struct TapeSink {
    pub(crate) ledger: SharedLedger,
    pub(crate) tape: SharedTape,
}

impl CommitSink for TapeSink {
    fn name(&self) -> &'static str {
        "the tape"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Counts
    }

    fn take(&mut self, _: &Program, commit: &Commit, _: &mut CommitStamp) -> Result<(), SinkError> {
        let commit = tape_commit(&self.ledger.borrow(), commit);
        let written = self.tape.borrow_mut().as_mut().map_or(Ok(()), |tape| tape.commit(&commit));
        written.map_err(|error: TapeError| failed(error))
    }
}

/// Compares what commits come to with what the tape has.
pub(crate) struct ReplaySink {
    pub(crate) ledger: SharedLedger,
    pub(crate) follower: SharedFollower,
}

impl CommitSink for ReplaySink {
    fn name(&self) -> &'static str {
        "the replay"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Counts
    }

    fn take(&mut self, _: &Program, commit: &Commit, _: &mut CommitStamp) -> Result<(), SinkError> {
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
            rows.push(format!("{} {}", if delta.count > 0 { '+' } else { '-' }, begun(&delta.atom())));
        }
        Ok(())
    });
    sample.extend(rows);
    let room = SAMPLE_CHANGES_MAX - sample.len();
    let set = states(commit).into_iter().take(room);
    sample.extend(set.map(|state| format!("state {} = {}", state.serial(), begun(&state.value()))));
    sample.iter_mut().for_each(shorten);
    sample
}

/// As much of what an atom is written as a sample shows, and a little more.
fn begun(atom: &Atom) -> String {
    space::beginning(atom, SAMPLE_BYTES_MAX + 1)
}

fn shorten(text: &mut String) {
    if text.len() > SAMPLE_BYTES_MAX {
        text.truncate(text.floor_char_boundary(SAMPLE_BYTES_MAX));
        text.push('…');
    }
}

/// An event, for people.
fn describe(event: &Event) -> String {
    match event {
        Event::SpaceMade { serial } => format!("space {serial} made"),
        Event::StateMade { serial, value, .. } => format!("state {serial} made = {}", begun(value)),
        Event::ModuleMade { path, .. } => format!("module {path} made"),
        Event::ModuleNamed { path, .. } => format!("module named {path}"),
        Event::ModuleForgotten { module } => format!("module {} forgotten", module.number()),
        Event::Imported { into, from } => format!("module {} imports module {}", into.number(), from.number()),
        Event::WordsImported { into, from } => {
            format!("module {} knows the words of module {}", into.number(), from.number())
        }
        Event::Bound { token, atom, .. } => format!("{token} means {}", begun(atom)),
        Event::Set { key, value } => format!("setting {key} = {}", begun(value)),
        Event::Unstated { atom, .. } => format!("no longer stated: {}", begun(atom)),
        Event::GeneratorSet { number, generator } => format!("random generator {number} = {generator:?}"),
        event => format!("{event:?}"),
    }
}
