//! Making the [index](super::index) of a base's history, and keeping it up while the base is open for writing.

use super::Origins;
use super::index::{HistoryIndex, IndexError, Question, folder_of};
use crate::commit_journal::{CommitJournal, KnowledgeBaseError};
use metta::Program;
use space::Atom;
use std::fmt;
use std::path::Path;
use std::rc::Rc;

/// The index of a base's history, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexReport {
    /// The last commit that it knows.
    pub epoch: u64,
    /// How often copies of an atom came or went in the commits that were taken now.
    pub taken: u64,
    /// Whether it was made anew, since there was none, or one of another history.
    pub is_new: bool,
}

impl CommitJournal {
    /// Makes the index of this base's history, or takes the commits into it that it does not know yet. From then on whoever has the base open for
    /// writing keeps it up, and `why` of an atom without variables reads it and not the journal.
    ///
    /// # Errors
    /// The base lies in no directory or is open for reading only, its journal cannot be read, or the disk refuses.
    pub fn index_history(&self) -> Result<IndexReport, KnowledgeBaseError> {
        let home = self.home().filter(|_| !self.is_read_only()).ok_or(KnowledgeBaseError::ReadOnly)?;
        let failed = |error: IndexError| error.into_base(home);
        let taken_up = HistoryIndex::open(home).and_then(|index| {
            let Some(mut index) = index else { return Ok(None) };
            let taken = index.catch_up(self, u64::MAX)?;
            let report = IndexReport { epoch: index.epoch(), taken, is_new: false };
            // Here all of it is read, and damage is met that no question has come to.
            index.finish().map(|()| Some(report))
        });
        match taken_up {
            Ok(Some(report)) => return Ok(report),
            Ok(None) | Err(IndexError::Unusable(_)) => {}
            Err(error) => return Err(failed(error)),
        }
        let mut index = HistoryIndex::make(home)?;
        let taken = index.catch_up(self, u64::MAX).map_err(failed)?;
        let epoch = index.epoch();
        index.finish().map_err(failed)?;
        Ok(IndexReport { epoch, taken, is_new: true })
    }
}

/// The index of a base that is open for writing, if it has one.
pub(crate) struct KeptIndex {
    base: Rc<CommitJournal>,
    /// `None` until somebody asks.
    found: Option<Option<HistoryIndex>>,
}

impl KeptIndex {
    pub(crate) fn new(base: Rc<CommitJournal>) -> Self {
        Self { base, found: None }
    }

    /// Where an atom without variables comes from that these spaces had after the commit `until`, as an index says that knows the commits up to
    /// `last`; `None` if there is no index, or none can be used. One that is damaged or of another history is made anew, with a warning.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(crate) fn origins(
        &mut self,
        program: &mut Program,
        spaces: &[u64],
        atom: &Atom,
        (until, last): (u64, u64),
    ) -> Result<Option<Origins>, KnowledgeBaseError> {
        let Some(home) = self.base.home().map(Path::to_owned) else { return Ok(None) };
        let asked = (spaces, atom, until);
        let reason = match self.try_ask(program, &home, asked, last) {
            Err(IndexError::Unusable(reason)) => reason,
            Err(IndexError::Closed(reason)) => return Ok(self.leave(&home, &reason)),
            answer => return answer.map_err(|error| error.into_base(&home)),
        };
        self.base.warn(format!("the index {} cannot be used and is made anew: {reason}", folder_of(&home).display()));
        // What is there is closed before it is replaced.
        self.found = None;
        match HistoryIndex::make(&home) {
            Ok(index) => self.found = Some(Some(index)),
            Err(error) => return Ok(self.leave(&home, &error)),
        }
        match self.try_ask(program, &home, asked, last) {
            Err(IndexError::Base(error)) => Err(error),
            Err(error) => Ok(self.leave(&home, &error)),
            Ok(answer) => Ok(answer),
        }
    }

    /// From now on the journal is read.
    fn leave(&mut self, home: &Path, reason: &dyn fmt::Display) -> Option<Origins> {
        let index = folder_of(home);
        self.base.warn(format!("the index {} cannot be used, the journal is read: {reason}", index.display()));
        self.found = Some(None);
        None
    }

    fn try_ask(
        &mut self,
        program: &mut Program,
        home: &Path,
        (spaces, atom, until): (&[u64], &Atom, u64),
        last: u64,
    ) -> Result<Option<Origins>, IndexError> {
        if self.found.is_none() {
            self.found = Some(HistoryIndex::open(home)?);
        }
        let Some(index) = self.found.as_mut().and_then(Option::as_mut) else { return Ok(None) };
        if let Err(error) = index.catch_up(&self.base, last) {
            // What was taken and not written is taken again by whoever opens it.
            self.found = None;
            return Err(error);
        }
        // Without a commit that is kept there is nothing to go on from.
        if index.epoch() == 0 {
            return Ok(None);
        }
        index.now().origins(program, &Question { base: &self.base, spaces, atom, last: until }).map(Some)
    }
}
