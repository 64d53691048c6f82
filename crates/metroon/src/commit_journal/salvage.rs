//! Making a base again of one that is damaged.
//!
//! 1. The commits of the damaged base are made to happen again, up to the first that cannot be read, or does not come to the state
//!    that was recorded with it. What follows such a commit was made in a state that is not known any more.
//! 2. The frames up to there are copied as they are to a new directory. The manifest is written last, so that a salvage that
//!    did not end is not taken for a base.
//!
//! The damaged base is not written to; it may lack its manifest.

use super::directory;
use super::error::KnowledgeBaseError;
use super::load::{Loaded, new_runner};
use super::report::KnowledgeBaseReport;
use super::{CommitJournal, journal_options};
use journal::{AppendError, Directory, Disk, Durability, Journal, Reader};
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
    let opened = Journal::open(Arc::clone(&disk), journal_options());
    let (journal, _) = opened.map_err(|error| KnowledgeBaseError::Open(Box::new(error)))?;
    let failed = |error: AppendError| KnowledgeBaseError::Append(Box::new(error));
    let mut reader = Reader::from_frame(Arc::clone(&base.disk), 0)?;
    while reader.place().number < frames {
        let Some(frame) = reader.read_next()? else { break };
        journal.append(frame.payload, Durability::None).map_err(failed)?;
    }
    journal.close().map_err(|error| KnowledgeBaseError::Sync(Box::new(error)))?;
    add(&disk)?;
    directory::write_manifest(to)
}
