//! The commits of a base, one after the other, and those that changed an atom.

use super::origins::{Asked, Causes, serials_of};
use super::{Change, CommitView, History, LogEntry, describe, shown};
use crate::commit_journal::load::decode;
use crate::commit_journal::record::{CommitHeader, Record, TOP_SPACE};
use crate::commit_journal::{Committed, KnowledgeBaseError};
use space::Atom;
use std::ops::RangeInclusive;

/// What takes the entries of a log, and says `false` when it has seen enough.
pub(super) type Take<'a> = dyn FnMut(LogEntry<'_>) -> bool + 'a;

/// Why a walk through the commits ends early.
enum Halt {
    Failed(KnowledgeBaseError),
    /// Whoever takes the entries has seen enough.
    Enough,
}

impl From<KnowledgeBaseError> for Halt {
    fn from(error: KnowledgeBaseError) -> Self {
        Self::Failed(error)
    }
}

fn is_finished(walked: Result<(), Halt>) -> Result<(), KnowledgeBaseError> {
    match walked {
        Ok(()) | Err(Halt::Enough) => Ok(()),
        Err(Halt::Failed(error)) => Err(error),
    }
}

impl History {
    /// Hands out the commits from one number to another, in order, each followed by its changes if they are asked for.
    /// Ends when `take` says that it has seen enough, by `false`.
    ///
    /// # Errors
    /// The journal cannot be read, or the first of these commits was given up.
    pub fn log(
        &mut self,
        epochs: RangeInclusive<u64>,
        with_changes: bool,
        take: &mut dyn FnMut(LogEntry<'_>) -> bool,
    ) -> Result<(), KnowledgeBaseError> {
        is_finished(self.walk(epochs, with_changes, take))
    }

    fn walk(&mut self, epochs: RangeInclusive<u64>, with_changes: bool, take: &mut Take<'_>) -> Result<(), Halt> {
        let mut causes = Causes::default();
        let before = epochs.start().saturating_sub(1);
        let (start, mut commits) = self.base.commits_from_nearest(before, |_| true)?;
        // A commit is shown by how it came about, which is more than what there was after it.
        start.check(before)?;
        start.each_record(|record| causes.take(&record))?;
        while let Some(committed) = commits.next()? {
            let is_shown = committed.header.as_ref().is_some_and(|header| epochs.contains(&header.epoch));
            let mut before = (is_shown && with_changes).then(|| causes.clone());
            let Some(view) = summary(&committed, &mut causes)?.filter(|_| is_shown) else { continue };
            let is_last = view.epoch == *epochs.end();
            if !take(LogEntry::Commit(&view)) {
                return Err(Halt::Enough);
            }
            if let Some(before) = &mut before {
                self.changes(&committed, None, before, take)?;
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }

    /// The commits of [`History::log_of`] as the journal says; gives how many copies there were before them that were given up.
    pub(super) fn walk_of(
        &mut self,
        pattern: &Atom,
        epochs: RangeInclusive<u64>,
        with_changes: bool,
        take: &mut Take<'_>,
    ) -> Result<u64, KnowledgeBaseError> {
        let asked = Asked::of(serials_of(&self.session.top_space()), pattern);
        let mut causes = Causes::default();
        // What a source is called is known from where it begins.
        let (start, mut commits) = self.base.commits()?;
        start.check(epochs.start().saturating_sub(1))?;
        start.each_record(|record| causes.take(&record))?;
        let mut given_up = 0;
        start.each_atom(|space, copies, atom| {
            let is_asked = asked.find(self.session.program_mut(), space, &atom)?.is_some();
            given_up += if is_asked { copies as u64 } else { 0 };
            Ok(())
        })?;
        let mut walk = || {
            while let Some(committed) = commits.next()? {
                let epoch = committed.header.as_ref().map_or(0, |header| header.epoch);
                if epoch > *epochs.end() {
                    break;
                }
                let is_shown = epochs.contains(&epoch) && self.has_changed(&committed, &asked)?;
                let mut before = (is_shown && with_changes).then(|| causes.clone());
                let Some(view) = summary(&committed, &mut causes)?.filter(|_| is_shown) else { continue };
                if !take(LogEntry::Commit(&view)) {
                    return Err(Halt::Enough);
                }
                if let Some(before) = &mut before {
                    self.changes(&committed, Some(&asked), before, take)?;
                }
            }
            Ok(())
        };
        is_finished(walk()).map(|()| given_up)
    }

    /// Whether a commit added or took away what is asked for.
    fn has_changed(&mut self, committed: &Committed, asked: &Asked<'_>) -> Result<bool, KnowledgeBaseError> {
        let mut is_found = false;
        let looked = committed.each(|record| {
            if let Record::Count { space, atom, .. } = &record {
                let found = asked.find(self.session.program_mut(), *space, atom);
                is_found = found.map_err(|reason| committed.damaged(reason))?.is_some();
            }
            if is_found { Err(Halt::Enough) } else { Ok(()) }
        });
        is_finished(looked).map(|()| is_found)
    }

    /// What a space is called, unless it is the program's own.
    pub(super) fn space_name(&self, space: u64) -> Option<String> {
        let name = || self.session.program().space(space).map(|space| space.name().to_owned());
        if space == TOP_SPACE { None } else { name() }
    }

    /// Hands out the changes of a commit, or those of the atoms that are asked for.
    fn changes(
        &mut self,
        committed: &Committed,
        asked: Option<&Asked<'_>>,
        causes: &mut Causes,
        take: &mut Take<'_>,
    ) -> Result<(), Halt> {
        committed.each(|record| {
            causes.take(&record);
            let (copies, space, text) = match &record {
                record if is_bookkeeping(record) => return Ok(()),
                Record::Count { space, copies, atom } => {
                    let found = match asked {
                        Some(asked) => asked.find(self.session.program_mut(), *space, atom),
                        None => decode(self.session.program_mut(), atom).map(Some),
                    };
                    let Some(atom) = found.map_err(|reason| committed.damaged(reason))? else { return Ok(()) };
                    (*copies, self.space_name(*space), shown(&atom))
                }
                _ if asked.is_some() => return Ok(()),
                record => {
                    let text = describe(record, &mut self.session).map_err(|reason| committed.damaged(reason))?;
                    (0, None, text)
                }
            };
            let (origin, line, _) = causes.place();
            let change = Change { origin, line, copies, space, text };
            if take(LogEntry::Change(&change)) { Ok(()) } else { Err(Halt::Enough) }
        })
    }
}

/// Whether a record changes nothing that a program sees.
fn is_bookkeeping(record: &Record<'_>) -> bool {
    matches!(
        record,
        Record::Cause { .. } | Record::SourceBegun { .. } | Record::SourceEnded { .. } | Record::Unstated { .. }
    )
}

/// What a commit did, added up record by record. Its changes are counted and not kept.
#[derive(Default)]
pub(super) struct Summary {
    place: Option<(String, u32)>,
    added: u64,
    removed: u64,
    others: u64,
}

impl Summary {
    /// Takes the next record, whose cause is that of `causes`.
    pub(super) fn take(&mut self, record: &Record<'_>, causes: &Causes) {
        match record {
            record if is_bookkeeping(record) => return,
            Record::Count { copies, .. } => {
                let side = if *copies > 0 { &mut self.added } else { &mut self.removed };
                *side += copies.unsigned_abs();
            }
            _ => self.others += 1,
        }
        self.place.get_or_insert_with(|| {
            let (origin, line, _) = causes.place();
            (origin, line)
        });
    }

    /// The commit that all of these records are of.
    pub(super) fn view(self, header: &CommitHeader) -> CommitView {
        let Self { place, added, removed, others } = self;
        let (origin, line) = place.unwrap_or_default();
        let hash = u128::from_le_bytes(header.hash);
        CommitView { epoch: header.epoch, hash, time: header.time, origin, line, added, removed, others }
    }
}

/// What a commit did; `None` for a note.
pub(super) fn summary(committed: &Committed, causes: &mut Causes) -> Result<Option<CommitView>, KnowledgeBaseError> {
    let mut found = Summary::default();
    committed.each(|record| {
        causes.take(&record);
        found.take(&record, causes);
        Ok::<(), KnowledgeBaseError>(())
    })?;
    Ok(committed.header.as_ref().map(|header| found.view(header)))
}
