//! Making a base again of one that is damaged.
//!
//! 1. The commits of the damaged base are made to happen again, up to the first that cannot be read, or does not come to the state
//!    that was recorded with it. What follows such a commit was made in a state that is not known any more.
//! 2. The frames up to there are copied as they are to a new directory. The manifest is written last, so that a salvage that
//!    did not end is not taken for a base.
//!
//! The damaged base is not written to; it may lack its manifest.
//!
//! A fork is made in the same way, of a base that is sound.

use super::directory;
use super::error::KnowledgeBaseError;
use super::load::{Loaded, new_runner};
use super::report::KnowledgeBaseReport;
use super::{CommitJournal, journal_options};
use journal::{AppendError, Directory, Disk, Durability, Journal, MemoryDisk, Reader};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// What a salvage did.
#[derive(Debug)]
#[non_exhaustive]
pub struct SalvagedKnowledgeBase {
    /// What the new base holds.
    pub report: KnowledgeBaseReport,
    /// Why it does not hold what came after that, if something did.
    pub lost: Option<KnowledgeBaseError>,
}

impl CommitJournal {
    /// Makes a base in a new directory of what is sound in a damaged one.
    ///
    /// # Errors
    /// No commit is sound, something lies where the new base is to be, or it cannot be written.
    pub fn salvage(
        damaged: impl AsRef<Path>,
        to: impl AsRef<Path>,
    ) -> Result<SalvagedKnowledgeBase, KnowledgeBaseError> {
        let (damaged, to) = (damaged.as_ref(), to.as_ref());
        let base = match Self::read(damaged) {
            Err(KnowledgeBaseError::NoManifest { .. }) => Self::read_journal(damaged)?,
            base => base?,
        };
        let mut runner = new_runner();
        let mut loaded = Loaded::default();
        let lost = match loaded.take_all(&base, &mut runner) {
            Err(error) if loaded.epoch == 0 => return Err(error),
            taken => taken.err(),
        };
        check_unoccupied(to)?;
        copy(&base, loaded.frames, to, |_| Ok(()))?;
        Ok(SalvagedKnowledgeBase { report: KnowledgeBaseReport::new(&loaded, &runner), lost })
    }
}

impl CommitJournal {
    /// Makes a base in a new directory of the commits of another up to one, or of all there are.
    ///
    /// # Errors
    /// There is no base or no such commit, it is damaged, something lies where the new one is to be, or that cannot be written.
    pub fn fork(
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        at: Option<u64>,
    ) -> Result<KnowledgeBaseReport, KnowledgeBaseError> {
        let (mut base, to) = (Self::read(from)?, to.as_ref());
        base.end_at(at.unwrap_or(u64::MAX));
        let (mut runner, mut loaded) = (new_runner(), Loaded::default());
        loaded.take_all(&base, &mut runner)?;
        if let Some(epoch) = at.filter(|&at| at > loaded.epoch) {
            return Err(KnowledgeBaseError::NoEpoch { epoch, last: loaded.epoch });
        }
        check_unoccupied(to)?;
        // The first frame says what the journal is.
        copy(&base, loaded.frames.max(1), to, |_| Ok(()))?;
        Ok(KnowledgeBaseReport::new(&loaded, &runner))
    }
}

impl CommitJournal {
    /// A base in memory with the commits of this one up to one, or all there are.
    ///
    /// # Errors
    /// There is no such commit, or it is damaged.
    pub fn fork_in_memory(mut self, at: Option<u64>) -> Result<Self, KnowledgeBaseError> {
        self.end_at(at.unwrap_or(u64::MAX));
        let (mut runner, mut loaded) = (new_runner(), Loaded::default());
        loaded.take_all(&self, &mut runner)?;
        if let Some(epoch) = at.filter(|&at| at > loaded.epoch) {
            return Err(KnowledgeBaseError::NoEpoch { epoch, last: loaded.epoch });
        }
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        copy_frames(&self, loaded.frames.max(1), &disk)?;
        Self::on_disk(disk, self.directory())
    }
}

/// An error unless there is nothing in a directory.
pub(super) fn check_unoccupied(path: &Path) -> Result<(), KnowledgeBaseError> {
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(false) => Err(KnowledgeBaseError::Occupied { path: path.to_owned() }),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            Err(KnowledgeBaseError::Occupied { path: path.to_owned() })
        }
        Err(error) => Err(KnowledgeBaseError::Io { path: path.to_owned(), error }),
    }
}

/// Makes a base of the first frames of another, and whatever else is to be beside its journal before it is one.
pub(super) fn copy(
    base: &CommitJournal,
    frames: u64,
    to: &Path,
    add: impl FnOnce(&Arc<dyn Disk>) -> Result<(), KnowledgeBaseError>,
) -> Result<(), KnowledgeBaseError> {
    fs::create_dir_all(to).map_err(|error| KnowledgeBaseError::Io { path: to.to_owned(), error })?;
    let _lock = directory::lock(to)?;
    let folder = directory::journal_of(to);
    let disk = Directory::create(&folder).map_err(|error| KnowledgeBaseError::Io { path: folder, error })?;
    let disk: Arc<dyn Disk> = Arc::new(disk);
    copy_frames(base, frames, &disk)?;
    add(&disk)?;
    directory::write_manifest(to)
}

/// Makes a journal of the first frames of a base.
fn copy_frames(base: &CommitJournal, frames: u64, disk: &Arc<dyn Disk>) -> Result<(), KnowledgeBaseError> {
    let opened = Journal::open(Arc::clone(disk), journal_options());
    let (journal, _) = opened.map_err(|error| KnowledgeBaseError::Open(Box::new(error)))?;
    let failed = |error: AppendError| KnowledgeBaseError::Append(Box::new(error));
    let mut reader = Reader::from_frame(Arc::clone(&base.disk), 0)?;
    while reader.place().number < frames {
        let Some(frame) = reader.read_next()? else { break };
        journal.append(frame.payload, Durability::None).map_err(failed)?;
    }
    journal.close().map_err(|error| KnowledgeBaseError::Sync(Box::new(error)))
}
