//! Whether what is kept of a state, and what it holds, belong together.
//!
//! 1. Every frame of the log is read, with its checksums and the chain.
//! 2. Every commit is made again, from the beginning of the log on, and its hash compared if it was logged.
//! 3. Every checkpoint is read, and compared with the state after the same commit.
//! 4. What came of it is compared with what the state holds.
//! 5. Every derived page is derived once more, from what it depends on as it is now, and compared.
//!
//! Nothing is written. Cost: that of making all commits again, and of running each function once more.

use crate::Epoch;
use crate::checkpoint::{self, LoadError};
use crate::derive::derive_anew;
use crate::error::OpenError;
use crate::log::CommitReader;
use crate::page::PageId;
use crate::state::State;
use journal::{Disk, VerifyError};
use std::fmt;
use std::sync::Arc;

/// What a verification came to.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Verification {
    /// How many commits were made again.
    pub commits: u64,
    /// How many checkpoints were compared.
    pub checkpoints: u64,
    /// How many pages were derived once more.
    pub derived: u64,
    /// What does not fit, in the order in which it was found.
    pub problems: Vec<Problem>,
}

impl Verification {
    /// Whether everything fits.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Something that does not fit.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// Bytes of the journal are damaged, or cannot be read.
    Journal(String),
    /// The commits of the log cannot all be made again, or one comes to something else.
    Log(OpenError),
    /// A checkpoint cannot be used.
    Checkpoint {
        /// Its file.
        file: String,
        /// Why not.
        reason: String,
    },
    /// The log comes to another state than this one.
    OtherState {
        /// The last commit of the log.
        epoch: Epoch,
    },
    /// A derived page holds something other than what its function writes now.
    Derived {
        /// The page.
        page: PageId,
        /// What its function says, if it fails.
        reason: Option<String>,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Journal(said) => write!(f, "the log is damaged: {said}; restore it from a copy"),
            Self::Log(error) => error.fmt(f),
            Self::Checkpoint { file, reason } => {
                write!(f, "the checkpoint {file} cannot be used: {reason}; remove it, the log has what it has")
            }
            Self::OtherState { epoch } => write!(
                f,
                "the log, which ends with commit {epoch}, comes to another state than this one; open it again to have what was kept"
            ),
            Self::Derived { page, reason: None } => {
                write!(f, "{page} holds something other than what its function writes; the function is not pure")
            }
            Self::Derived { page, reason: Some(reason) } => {
                write!(f, "{page} cannot be derived once more: {reason}; the function is not pure")
            }
        }
    }
}

impl State {
    /// Compares what is kept with what the state holds. A state that keeps no log is compared with its functions only.
    ///
    /// # Errors
    /// The log has failed before, so that what it holds is in doubt.
    pub fn verify(&mut self) -> Result<Verification, OpenError> {
        let mut found = Verification::default();
        if let Some(disk) = self.log.disk().cloned().filter(|_| self.epoch > 0) {
            self.log.sync(journal::Durability::Os).map_err(OpenError::Journal)?;
            check_frames(&disk, &mut found);
            match self.check_commits(&disk, &mut found) {
                Ok(again) if again == (self.epoch, self.state_hash()) => {}
                Ok((epoch, _)) => found.problems.push(Problem::OtherState { epoch }),
                Err(error) => found.problems.push(Problem::Log(error)),
            }
        }
        self.check_derived(&mut found);
        Ok(found)
    }

    /// Makes all commits again, and compares checkpoints on the way; gives the last commit, and the hash of the state after it.
    fn check_commits(&self, disk: &Arc<dyn Disk>, found: &mut Verification) -> Result<(Epoch, u128), OpenError> {
        let fresh = || Self::new(self.functions.clone(), self.options.clone());
        let mut commits = CommitReader::new(disk.clone())?;
        let mut again = fresh();
        let mut checkpoints = checkpoint::epochs(disk)?;
        checkpoints.retain(|&epoch| epoch >= commits.base);
        if commits.base > 0 {
            // A fork begins with what its first checkpoint says: nothing else says it.
            checkpoint::load(&mut again, disk, commits.base)
                .map_err(|_| OpenError::NoCheckpoint { base: commits.base })?;
        }
        loop {
            if checkpoints.contains(&again.epoch) {
                found.checkpoints += 1;
                let mut kept = fresh();
                let file = checkpoint::name_of(again.epoch);
                match checkpoint::load(&mut kept, disk, again.epoch) {
                    Ok(_) if kept.state_hash() == again.state_hash() => {}
                    Ok(_) => {
                        let reason = "the log comes to another state".to_owned();
                        found.problems.push(Problem::Checkpoint { file, reason });
                    }
                    Err(LoadError::Unusable(reason)) => found.problems.push(Problem::Checkpoint { file, reason }),
                    Err(LoadError::Function(error)) => return Err(error),
                }
            }
            let Some(commit) = commits.next()? else { break };
            again.replay(commit)?;
            found.commits += 1;
        }
        let late = checkpoints.into_iter().filter(|&epoch| epoch > again.epoch);
        found.problems.extend(late.map(|epoch| Problem::Checkpoint {
            file: checkpoint::name_of(epoch),
            reason: format!("the log ends with commit {}", again.epoch),
        }));
        Ok((again.epoch, again.state_hash()))
    }

    fn check_derived(&self, found: &mut Verification) {
        for (page, held) in self.pages.iter() {
            let Some(derivation) = &self.nodes[page.slot as usize].derivation else { continue };
            found.derived += 1;
            let length = held.bytes.as_ref().map_or(0, |bytes| bytes.len());
            match derive_anew(page, &self.pages, derivation, length) {
                Ok(bytes) if Some(&bytes[..]) == held.bytes.as_deref() => {}
                Ok(_) => found.problems.push(Problem::Derived { page, reason: None }),
                Err(error) => found.problems.push(Problem::Derived { page, reason: Some(error.to_string()) }),
            }
        }
    }
}

fn check_frames(disk: &Arc<dyn Disk>, found: &mut Verification) {
    let problems = &mut found.problems;
    match journal::verify(disk.clone()) {
        Ok(report) => {
            problems.extend(report.damage.iter().map(|lost| Problem::Journal(lost.to_string())));
            // The log is in use, so what its last segment has at its end is not judged: reading does that.
            let slots =
                report.warnings.iter().filter(|warning| matches!(warning, journal::Warning::SlotDamaged { .. }));
            problems.extend(slots.map(|warning| Problem::Journal(warning.to_string())));
        }
        Err(VerifyError::Empty) => problems.push(Problem::Log(OpenError::NoLog)),
        Err(error) => problems.push(Problem::Journal(error.to_string())),
    }
}
