//! Which commit of a base in a directory a moment means.

use super::Moment;
use super::index::Indexed;
use crate::commit_journal::{CommitJournal, KnowledgeBaseError};
use std::path::Path;

impl Moment {
    /// The number of the commit that it means in the base of a directory. A number is not looked up. A time is looked up in the index of the base, if
    /// it has one that can be used, or else found by going through the commits.
    ///
    /// # Errors
    /// No commit was made by then, the commits have no times, or they cannot be read.
    pub fn epoch_in(self, directory: impl AsRef<Path>) -> Result<u64, KnowledgeBaseError> {
        let time = match self {
            Self::Commit(epoch) => return Ok(epoch),
            Self::Time(time) => time,
        };
        let base = CommitJournal::read(&directory)?;
        // Why an index cannot be used is told by whoever asks it for atoms.
        let index = Indexed::read(&base, directory.as_ref()).ok().flatten();
        let found = index.and_then(|index| index.epoch_by(&base, time).ok()).flatten();
        found.map_or_else(|| base.epoch_at(self), Ok)
    }
}
