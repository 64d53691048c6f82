//! What a state was: its log, made to happen again.

use crate::checkpoint;
use crate::error::{CommitError, OpenError};
use crate::function::Functions;
use crate::log::{CommitReader, Log};
use crate::page::{PageId, Snapshot};
use crate::record::{CommitRecord, Malformed, PageDelta, Structural};
use crate::state::State;
use crate::warning::StateWarning;
use crate::{Epoch, Options};
use journal::Disk;
use std::ops::ControlFlow;
use std::sync::Arc;

impl State {
    /// The state that a disk holds, to be continued: its newest checkpoint, and the commits after it made again. A disk that holds nothing gives
    /// a state without pages.
    ///
    /// # Errors
    /// The log is damaged, belongs to something else, or its functions are not all there.
    pub fn open(
        disk: Arc<dyn Disk>,
        functions: Functions,
        options: Options,
    ) -> Result<(Self, Vec<StateWarning>), OpenError> {
        let (log, warnings) = Log::open(disk.clone(), &options)?;
        let mut warnings: Vec<StateWarning> = warnings.into_iter().map(StateWarning::Journal).collect();
        let mut state = Self::at_epoch(&disk, functions, options, Epoch::MAX, &mut warnings)?;
        state.log = log;
        Ok((state, warnings))
    }

    /// The state as it was after a commit.
    ///
    /// # Errors
    /// There is no such commit, the state keeps no log, or the log cannot be read.
    pub fn at(&self, epoch: Epoch) -> Result<Snapshot, OpenError> {
        if epoch == self.epoch {
            return Ok(self.snapshot());
        }
        Ok(self.past(epoch)?.snapshot())
    }

    /// Another state that is as this one was after a commit, and keeps no log. What is done to one of them does not change the other. They share
    /// what pages hold until one writes.
    ///
    /// # Errors
    /// As [`State::at`].
    pub fn fork(&self, epoch: Epoch) -> Result<Self, OpenError> {
        if epoch == self.epoch {
            return Ok(self.copy());
        }
        self.past(epoch)
    }

    /// This state as it is now, without its log and its subscribers.
    fn copy(&self) -> Self {
        let mut state = Self::new(self.functions.clone(), self.options.clone());
        state.pages = self.pages.clone();
        state.nodes.clone_from(&self.nodes);
        state.free.clone_from(&self.free);
        state.epoch = self.epoch;
        for slot in 0..state.pages.slots() {
            state.hash.note(slot);
            let Some(derivation) = &state.nodes[slot as usize].derivation else { continue };
            let slots: Vec<u32> = derivation.dependencies.iter().map(|page| page.slot).collect();
            state.schedule.set_dependencies(slot, &slots).expect("these are derived without a cycle");
        }
        state
    }

    /// What a page held after each commit that changed it, from its creation on.
    ///
    /// # Errors
    /// The state keeps no log, or the log cannot be read.
    pub fn history(&self, page: PageId) -> Result<Vec<(Epoch, Vec<u8>)>, OpenError> {
        let mut history = Vec::new();
        self.each_version(page, |epoch, bytes| {
            history.push((epoch, bytes.to_vec()));
            ControlFlow::Continue(())
        })?;
        Ok(history)
    }

    /// Shows what a page held after each commit that changed it, from its creation on, until told to stop: for who does not want to keep it all.
    ///
    /// # Errors
    /// As [`State::history`].
    pub fn each_version(
        &self,
        page: PageId,
        mut visit: impl FnMut(Epoch, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), OpenError> {
        let disk = self.kept()?;
        self.log.sync(journal::Durability::Os).map_err(OpenError::Journal)?;
        let mut commits = CommitReader::new(disk.clone())?;
        let (functions, options) = (self.functions.clone(), self.options.clone());
        let mut state = Self::at_epoch(disk, functions, options, commits.base, &mut Vec::new())?;
        while let Some(commit) = commits.next()? {
            state.replay(commit)?;
            if let Some(held) = state.pages.get(page).filter(|page| page.changed == state.epoch)
                && visit(state.epoch, held.bytes.as_deref().unwrap_or_default()).is_break()
            {
                break;
            }
        }
        Ok(())
    }

    fn kept(&self) -> Result<&Arc<dyn Disk>, OpenError> {
        self.log.disk().ok_or(OpenError::NoLog)
    }

    fn past(&self, epoch: Epoch) -> Result<Self, OpenError> {
        if epoch > self.epoch {
            return Err(OpenError::NoSuchEpoch { epoch, last: self.epoch });
        }
        let disk = self.kept()?;
        self.log.sync(journal::Durability::Os).map_err(OpenError::Journal)?;
        Self::at_epoch(disk, self.functions.clone(), self.options.clone(), epoch, &mut Vec::new())
    }

    /// What a disk holds, up to a commit; everything if there are fewer.
    fn at_epoch(
        disk: &Arc<dyn Disk>,
        functions: Functions,
        options: Options,
        last: Epoch,
        warnings: &mut Vec<StateWarning>,
    ) -> Result<Self, OpenError> {
        let mut state = Self::new(functions, options);
        let mut commits = match CommitReader::new(disk.clone()) {
            Ok(commits) => commits,
            Err(OpenError::NoLog) => return Ok(state),
            Err(error) => return Err(error),
        };
        let base = commits.base;
        if let Some(position) = checkpoint::load_newest(&mut state, disk, last, warnings)? {
            commits = commits.after(disk.clone(), &position, state.epoch)?;
        }
        if state.epoch < base {
            return Err(OpenError::NoCheckpoint { base });
        }
        while state.epoch < last {
            let Some(commit) = commits.next()? else { break };
            state.replay(commit)?;
        }
        Ok(state)
    }

    /// Makes a commit of the log happen again.
    pub(crate) fn replay(&mut self, commit: CommitRecord) -> Result<(), OpenError> {
        let CommitRecord { epoch, origin, state_hash, structure, deltas, derived } = commit;
        let replay = |reason| match reason {
            CommitError::UnknownFunction { function, .. } => OpenError::UnknownFunction { function, epoch },
            reason => OpenError::Replay { epoch, reason },
        };
        if let Err(error) = self.apply_record(structure, &deltas) {
            self.refuse();
            return Err(match error {
                ReplayError::Refused(reason) => replay(reason),
                ReplayError::Malformed(reason) => OpenError::MalformedCommit { epoch, reason },
            });
        }
        let outcome = self.settle(&origin, None);
        self.end(outcome).map_err(replay)?;
        if self.epoch != epoch {
            return Err(OpenError::MalformedCommit { epoch, reason: Malformed("it changes nothing".into()) });
        }
        if let Some(page) = derived.iter().find(|delta| !self.holds(delta)).map(|delta| delta.page) {
            return Err(OpenError::Derived { epoch, page });
        }
        match state_hash {
            Some(logged) if self.state_hash() != logged => {
                Err(OpenError::StateHash { epoch, logged, found: self.state_hash() })
            }
            _ => Ok(()),
        }
    }

    /// Whether a page holds what a delta says.
    fn holds(&self, delta: &PageDelta) -> bool {
        let PageDelta { page, runs, bytes } = delta;
        let Some(held) = self.pages.bytes(*page) else { return false };
        let mut bytes = &bytes[..];
        runs.iter().all(|run| {
            let (part, rest) = bytes.split_at(run.len());
            bytes = rest;
            held.get(run.clone()) == Some(part)
        })
    }

    fn apply_record(&mut self, structure: Vec<Structural>, deltas: &[PageDelta]) -> Result<(), ReplayError> {
        for (step, change) in structure.into_iter().enumerate() {
            let (logged, made) = match change {
                Structural::Create { page, length } => (page, self.make_page(step, length)?),
                Structural::Derive { page, length, function, dependencies } => {
                    self.check_there(&dependencies)?;
                    (page, self.make_derived(step, length, &function, dependencies)?)
                }
                Structural::Rederive { page, function, dependencies } => {
                    self.check_there(&[page])?;
                    self.check_there(&dependencies)?;
                    self.rederive(step, page, &function, dependencies)?;
                    (page, page)
                }
                Structural::Describe { page, metadata } => {
                    self.check_there(&[page])?;
                    self.describe(step, page, &metadata)?;
                    (page, page)
                }
                Structural::Delete { page } => {
                    self.check_there(&[page])?;
                    self.delete(step, page)?;
                    (page, page)
                }
            };
            if logged != made {
                return Err(ReplayError::Malformed(Malformed(format!("it makes {made} and calls it {logged}"))));
            }
        }
        deltas.iter().try_for_each(|delta| self.apply_delta(delta))
    }

    fn check_there(&self, pages: &[PageId]) -> Result<(), ReplayError> {
        match pages.iter().find(|&&page| self.pages.get(page).is_none()) {
            Some(page) => Err(ReplayError::Malformed(Malformed(format!("it names {page}, which is not there")))),
            None => Ok(()),
        }
    }

    fn apply_delta(&mut self, delta: &PageDelta) -> Result<(), ReplayError> {
        let PageDelta { page, runs, bytes } = delta;
        self.check_there(&[*page])?;
        if self.nodes[page.slot as usize].derivation.is_some() {
            return Err(ReplayError::Malformed(Malformed(format!("it writes to {page}, which is derived"))));
        }
        let held = self.written(*page);
        let mut bytes = &bytes[..];
        for run in runs {
            let (part, rest) = bytes.split_at(run.len());
            let past_end = || Malformed(format!("it writes past the end of {page}"));
            held.get_mut(run.clone()).ok_or_else(past_end)?.copy_from_slice(part);
            bytes = rest;
        }
        Ok(())
    }
}

/// Why a commit of a log cannot be made again.
enum ReplayError {
    Refused(CommitError),
    Malformed(Malformed),
}

impl From<CommitError> for ReplayError {
    fn from(error: CommitError) -> Self {
        Self::Refused(error)
    }
}

impl From<Malformed> for ReplayError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}
