//! Questions about single atoms: where they come from, how many copies there were, and which commits changed them.
//!
//! An atom without variables is looked up in the index of the base, if it has one. Commits that the index does not know yet are read from the journal,
//! which goes on from where the index ends. Every other question is answered by the journal from its beginning.

use super::index::{AtomCommit, Events, IndexError, Indexed, Question, folder_of};
use super::log::Take;
use super::origins::{origins, serials_of};
use super::{History, LogEntry, Origins};
use crate::commit_journal::{CommitJournal, KnowledgeBaseError};
use metta::Program;
use metta::syntax::Diagnostic;
use space::{Atom, Grounded};
use std::ops::RangeInclusive;
use std::path::Path;

/// An atom that a text says, or what is wrong with the text.
pub type ReadAtom = Result<Atom, Option<Box<Diagnostic>>>;

/// What a history knows of the index of its base.
#[derive(Default)]
pub(super) enum KnownIndex {
    /// Nobody has asked yet.
    #[default]
    Unopened,
    /// There is none that can be used.
    None,
    Open(Box<Indexed>),
}

/// A log that an index began.
enum Logged {
    /// All of it, and how many copies there were before the commits that are kept.
    Ended(u64),
    /// The journal is to go on with this commit.
    UpTo(u64),
}

impl History {
    /// Reads the base in a directory to ask for the atom that a text says, at a commit or at the last one. If only atoms came and went since that
    /// commit, which an index says, the base is read as it is now, and [`History::why_at`] and [`History::copies_at`] of that commit need not make
    /// what there was then; else it is read up to that commit, as [`History::open_at`] does.
    ///
    /// # Errors
    /// There is no base or no such commit, or it is damaged.
    pub fn open_to_ask(
        directory: impl AsRef<Path>,
        epoch: Option<u64>,
        text: &str,
    ) -> Result<(Self, ReadAtom), KnowledgeBaseError> {
        let directory = directory.as_ref();
        let Some(epoch) = epoch else {
            let history = Self::open(directory)?;
            let atom = history.read(text);
            return Ok((history, atom));
        };
        if let Some(history) = Self::with_words_of(directory, epoch) {
            let atom = history.read(text);
            if atom.as_ref().is_ok_and(is_unchanging) {
                return Ok((history, atom));
            }
        }
        let history = Self::open_at(directory, epoch)?;
        let atom = history.read(text);
        Ok((history, atom))
    }

    /// The base as it is now, if its words mean what they meant after a commit that the index of the base knows. What is wrong with it is told by
    /// whoever reads it up to that commit.
    fn with_words_of(directory: &Path, epoch: u64) -> Option<Self> {
        let base = CommitJournal::read(directory).ok()?;
        let index = Indexed::read(&base, directory).ok()??;
        if index.words(&base, u64::MAX).ok()? > epoch {
            return None;
        }
        let mut history = Self::up_to(base, u64::MAX).ok()?;
        let is_known = (history.first() - 1..history.epoch()).contains(&epoch)
            && index.words(&history.base, history.epoch()).ok()? <= epoch
            && index.agrees(history.epoch(), history.report.hash).ok()?;
        history.index = KnownIndex::Open(Box::new(index));
        is_known.then_some(history)
    }

    /// Where the atoms of the program's space that match a pattern come from.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn why(&mut self, pattern: &Atom) -> Result<Origins, KnowledgeBaseError> {
        self.why_at(pattern, self.epoch())
    }

    /// Where the atoms come from that match a pattern and that the program's space, and those of the modules that it imports now, had after a commit.
    ///
    /// # Errors
    /// There is no such commit, it was given up, or the journal cannot be read.
    pub fn why_at(&mut self, pattern: &Atom, epoch: u64) -> Result<Origins, KnowledgeBaseError> {
        self.check_epoch(epoch)?;
        let mut found = match self.by_index(pattern, epoch, Indexed::origins)? {
            Some(origins) => origins,
            None => self.origins_by_journal(pattern, epoch)?,
        };
        found.reasons.iter_mut().for_each(|reason| reason.atom = space::named_as_in_source(&reason.atom));
        Ok(found)
    }

    /// How many copies there were of the atoms that [`History::why_at`] finds.
    ///
    /// # Errors
    /// There is no such commit, it was given up, or the journal cannot be read.
    pub fn copies_at(&mut self, pattern: &Atom, epoch: u64) -> Result<u64, KnowledgeBaseError> {
        self.check_epoch(epoch)?;
        if let Some(copies) = self.by_index(pattern, epoch, Indexed::copies)? {
            return Ok(copies);
        }
        let Origins { reasons, given_up } = self.origins_by_journal(pattern, epoch)?;
        Ok(reasons.len() as u64 + given_up)
    }

    fn origins_by_journal(&mut self, pattern: &Atom, epoch: u64) -> Result<Origins, KnowledgeBaseError> {
        let mut base = self.base.reader();
        base.end_at(epoch);
        let space = self.session.top_space();
        origins(&base, self.session.program_mut(), &space, pattern, epoch)
    }

    /// Hands out the commits from one number to another that added or took away copies of atoms that match a pattern, in the program's space and those
    /// of the modules that it imports now. Each commit is followed by these changes, if they are asked for. Ends when `take` says that it has
    /// seen enough, by `false`. Gives how many copies there were before the first commit that is kept.
    ///
    /// # Errors
    /// The journal cannot be read, or the first of these commits was given up.
    pub fn log_of(
        &mut self,
        pattern: &Atom,
        epochs: RangeInclusive<u64>,
        with_changes: bool,
        take: &mut dyn FnMut(LogEntry<'_>) -> bool,
    ) -> Result<u64, KnowledgeBaseError> {
        let before = epochs.start().saturating_sub(1);
        if before < self.first() - 1 {
            return Err(KnowledgeBaseError::GivenUp { epoch: before, first: self.first() });
        }
        let last = (*epochs.end()).min(self.epoch());
        let Some(events) = self.by_index(pattern, last, Indexed::events)? else {
            return self.walk_of(pattern, epochs, with_changes, take);
        };
        match self.log_events(pattern, &events, &epochs, with_changes, take)? {
            Logged::Ended(given_up) => Ok(given_up),
            Logged::UpTo(next) => self.walk_of(pattern, next..=last, with_changes, take),
        }
    }

    fn log_events(
        &mut self,
        atom: &Atom,
        events: &Events,
        epochs: &RangeInclusive<u64>,
        with_changes: bool,
        take: &mut Take<'_>,
    ) -> Result<Logged, KnowledgeBaseError> {
        let mut rest = events.of(epochs);
        let mut next = *epochs.start();
        loop {
            let KnownIndex::Open(index) = &self.index else { return Ok(Logged::UpTo(next)) };
            let AtomCommit { view, changes } = match index.next_commit(atom, (events, rest), with_changes) {
                Ok(None) => return Ok(Logged::Ended(events.given_up())),
                Ok(Some((commit, after))) => {
                    rest = after;
                    commit
                }
                Err(error) => {
                    self.leave_index(error)?;
                    continue;
                }
            };
            next = view.epoch + 1;
            let mut goes_on = take(LogEntry::Commit(&view));
            for (space, change) in changes {
                let change = super::Change { space: self.space_name(space), ..change };
                goes_on = goes_on && take(LogEntry::Change(&change));
            }
            if !goes_on {
                return Ok(Logged::Ended(events.given_up()));
            }
        }
    }

    /// What the index of the base says of an atom without variables up to a commit, if the base has one that is of its history.
    fn by_index<T>(
        &mut self,
        pattern: &Atom,
        last: u64,
        ask: impl FnOnce(&Indexed, &mut Program, &Question<'_>) -> Result<T, IndexError>,
    ) -> Result<Option<T>, KnowledgeBaseError> {
        if !pattern.is_ground() {
            return Ok(None);
        }
        self.open_index()?;
        let KnownIndex::Open(index) = &self.index else { return Ok(None) };
        let spaces = serials_of(&self.session.top_space());
        let question = Question { base: &self.base, spaces: &spaces, atom: pattern, last };
        match ask(index, self.session.program_mut(), &question) {
            Ok(answer) => Ok(Some(answer)),
            Err(error) => self.leave_index(error).map(|()| None),
        }
    }

    fn open_index(&mut self) -> Result<(), KnowledgeBaseError> {
        let (KnownIndex::Unopened, Some(home)) = (&self.index, self.base.home()) else { return Ok(()) };
        let (last, hash) = (self.report.commits, self.report.hash);
        let opened = Indexed::read(&self.base, home).and_then(|index| match index {
            Some(index) if index.agrees(last, hash)? => Ok(Some(index)),
            _ => Ok(None),
        });
        match opened {
            Ok(found) => {
                self.index = found.map_or(KnownIndex::None, |index| KnownIndex::Open(Box::new(index)));
                Ok(())
            }
            Err(error) => self.leave_index(error),
        }
    }

    /// From now on the journal is read.
    fn leave_index(&mut self, error: IndexError) -> Result<(), KnowledgeBaseError> {
        self.index = KnownIndex::None;
        let (reason, advice) = match error {
            IndexError::Base(error) => return Err(error),
            IndexError::Unusable(reason) => (reason, "; `metroon kb index` makes it anew"),
            IndexError::Closed(reason) => (reason, ""),
        };
        let index = self.base.home().map(|home| folder_of(home).display().to_string()).unwrap_or_default();
        self.base.warn(format!("the index {index} cannot be used ({reason}), the journal was read{advice}"));
        Ok(())
    }
}

/// Whether an atom is the same whenever it is asked for: one without variables, and without spaces and states, which change.
fn is_unchanging(atom: &Atom) -> bool {
    let mut waiting = vec![atom];
    while let Some(atom) = waiting.pop() {
        match atom {
            Atom::Variable(_) => return false,
            Atom::Grounded(grounded) => {
                if !matches!(grounded, Grounded::Bool(_) | Grounded::Number(_) | Grounded::Text(_)) {
                    return false;
                }
            }
            _ => waiting.extend(atom.children().unwrap_or_default()),
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, MemoryWorld};

    fn run(folder: &Path, text: &str) {
        let base = CommitJournal::open(folder).expect("the base opens");
        let mut engine = Engine::with_base(MemoryWorld::default(), base).expect("the base loads");
        engine.run_text(text, &mut |_, _| Ok(()));
        engine.finish().expect("the base closes");
    }

    /// An index that is behind is used, and so is one that is ahead of a history that was opened before.
    #[test]
    fn an_index_answers_before_and_after_the_commit_that_it_ends_with() {
        let folder = std::env::temp_dir().join(format!("metroon-asking-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        run(&folder, "(a) (a)");
        run(&folder, "! (remove-atom &self (a))");
        let index = || CommitJournal::open(&folder).expect("it opens").index_history().expect("it is made");
        index();
        run(&folder, "! (add-atom &self (a)) ! (add-atom &self (b)) (a)");
        let mut behind = History::open(&folder).expect("it opens");
        let atom = behind.read("(a)").expect("it parses");
        let copies = |history: &mut History| -> Vec<u64> {
            (0..=5).map(|epoch| history.copies_at(&atom, epoch).expect("it is known")).collect()
        };
        assert_eq!(copies(&mut behind), [0, 2, 1, 2, 2, 3]);
        assert!(matches!(behind.index, KnownIndex::Open(_)));
        let mut ahead = History::open(&folder).expect("it opens");
        run(&folder, "! (bind! &word (new-space)) ! (add-atom &self (a))");
        assert_eq!(index().taken, 4);
        assert_eq!(copies(&mut ahead), [0, 2, 1, 2, 2, 3]);
        assert!(matches!(ahead.index, KnownIndex::Open(_)));
        let (now, _) = History::open_to_ask(&folder, Some(6), "(a)").expect("it opens");
        let (then, _) = History::open_to_ask(&folder, Some(5), "(a)").expect("it opens");
        assert_eq!((now.epoch(), then.epoch()), (7, 5), "the words of commit 5 are others");
        std::fs::remove_dir_all(&folder).expect("it can be removed");
    }
}
