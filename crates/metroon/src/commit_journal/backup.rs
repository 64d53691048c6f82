//! Copying a base, also while another process writes to it.
//!
//! The frames up to the last commit that is complete are copied to a new directory, with what the base begins with if old commits were
//! given up, and the newest checkpoint that is of one of these commits. The manifest is written last, and until then the directory says that it is
//! unfinished, so that a backup that did not end is taken neither for a base nor for a damaged one. No commit is made to happen: what was copied is checked frame by frame, and its chain is that of the base.

use super::checkpoint::Checkpoint;
use super::error::KnowledgeBaseError;
use super::salvage::{check_unoccupied, copy};
use super::{CheckpointReport, CommitJournal};
use std::path::Path;

/// What a backup has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackedUp {
    /// The last commit in it.
    pub epoch: u64,
    /// Its checkpoint.
    pub checkpoint: Option<CheckpointReport>,
}

impl CommitJournal {
    /// Makes a copy of a base in a new directory.
    ///
    /// # Errors
    /// There is no base or it is damaged, something lies where the copy is to be, or it cannot be written.
    pub fn backup(directory: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<BackedUp, KnowledgeBaseError> {
        let to = to.as_ref();
        let base = Self::read(directory)?;
        check_unoccupied(to)?;
        let mut refused = Vec::new();
        let checkpoint = Checkpoint::newest(&base.disk, u64::MAX, &mut refused);
        // After the checkpoint, so that the copy has the frames that it needs.
        let (start, mut commits) = base.commits()?;
        let (mut epoch, mut frames) = (start.epoch, commits.frames().max(1));
        while let Some(committed) = commits.next()? {
            frames = commits.frames();
            epoch = committed.header.map_or(epoch, |header| header.epoch);
        }
        let name = checkpoint.as_ref().map(|checkpoint| checkpoint.name.as_str());
        copy(&base, &start, frames, to, name, "backup")?;
        Ok(BackedUp { epoch, checkpoint: checkpoint.map(|checkpoint| checkpoint.report()) })
    }
}
