//! Making a base again of one that is damaged.
//!
//! 1. The commits of the damaged base are made to happen again, up to the first that cannot be read, or does not come to the state
//!    that was recorded with it. What follows such a commit was made in a state that nobody knows any more.
//! 2. The frames up to there are copied as they are to a new directory. The manifest is written last, so that a salvage that
//!    was ended is not taken for a base.
//!
//! The damaged base is not written to; it may lack its manifest.

use super::base::Base;
use super::base_error::BaseError;
use super::directory;
use super::load::Loaded;
use super::view::{BaseReport, new_runner};
use journal::{AppendError, Directory, Durability, Journal, Options, Reader};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// What a salvage did.
#[derive(Debug)]
#[non_exhaustive]
pub struct SalvagedBase {
    /// What the new base holds.
    pub report: BaseReport,
    /// Why it does not hold what came after that, if something did.
    pub lost: Option<BaseError>,
}

impl Base {
    /// Makes a base in a new directory of what is sound in a damaged one.
    ///
    /// # Errors
    /// No commit is sound, something lies where the new base is to be, or it cannot be written.
    pub fn salvage(damaged: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<SalvagedBase, BaseError> {
        let (damaged, to) = (damaged.as_ref(), to.as_ref());
        let base = match Self::read(damaged) {
            Err(BaseError::NoManifest { .. }) => Self::read_journal(damaged)?,
            base => base?,
        };
        let mut runner = new_runner();
        let mut loaded = Loaded::default();
        let lost = match loaded.take_all(&base, &mut runner) {
            Err(error) if loaded.epoch == 0 => return Err(error),
            taken => taken.err(),
        };
        check_unoccupied(to)?;
        copy(&base, loaded.frames, to)?;
        Ok(SalvagedBase { report: BaseReport::new(&loaded, &runner), lost })
    }
}

/// An error unless there is nothing in a directory.
fn check_unoccupied(path: &Path) -> Result<(), BaseError> {
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(false) => Err(BaseError::Occupied { path: path.to_owned() }),
        Err(error) if error.kind() == ErrorKind::NotADirectory => Err(BaseError::Occupied { path: path.to_owned() }),
        Err(error) => Err(BaseError::Io { path: path.to_owned(), error }),
    }
}

/// Makes a base of the first frames of another.
fn copy(base: &Base, frames: u64, to: &Path) -> Result<(), BaseError> {
    fs::create_dir_all(to).map_err(|error| BaseError::Io { path: to.to_owned(), error })?;
    let _lock = directory::lock(to)?;
    let folder = directory::journal_of(to);
    let disk = Directory::create(&folder).map_err(|error| BaseError::Io { path: folder, error })?;
    let opened = Journal::open(Arc::new(disk), Options::default());
    let (journal, _) = opened.map_err(|error| BaseError::Open(Box::new(error)))?;
    let failed = |error: AppendError| BaseError::Append(Box::new(error));
    let mut reader = Reader::from_frame(Arc::clone(&base.disk), 0)?;
    while reader.place().number < frames {
        let Some(frame) = reader.read_next()? else { break };
        journal.append(frame.payload, Durability::None).map_err(failed)?;
    }
    journal.close().map_err(|error| BaseError::Sync(Box::new(error)))?;
    directory::write_manifest(to)
}
