//! The log of a state: a journal whose first frame says what it is, and whose other frames are commits.
//!
//! Its file is made with the first commit, so a state that never commits leaves none. So is its folder, if it has one of its own: until
//! then the log only knows where that is to be.

use crate::error::OpenError;
use crate::record::{self, CommitRecord, Parts};
use crate::{Epoch, Options};
use journal::{
    Directory, Disk, Durability, FRAME_BYTES_MAX, FolderLock, Journal, Position, ReadError, Reader, Warning,
};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Log {
    /// The folder that is made and locked with the first commit, until then.
    awaited: Option<PathBuf>,
    disk: Option<Arc<dyn Disk>>,
    journal: Option<Arc<Journal>>,
    options: journal::Options,
    /// The epoch that the log begins after.
    base: Epoch,
    /// Whether it has its first frame.
    has_begun: bool,
    /// Keeps other processes from the folder that the disk is.
    _lock: Option<FolderLock>,
}

impl Log {
    /// A log that begins, after `base`, on a disk that holds none. Its beginning is as durable as its commits are to be.
    pub(crate) fn new(disk: Arc<dyn Disk>, options: &Options, base: Epoch) -> Self {
        Self { disk: Some(disk), options: options_of(options), base, ..Self::default() }
    }

    /// A log that begins in a folder, of which nothing is asked yet.
    pub(crate) fn awaiting(folder: &Path, options: &Options) -> Self {
        // The program may go to another folder before it commits.
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        Self { awaited: Some(folder), options: options_of(options), ..Self::default() }
    }

    /// Makes and locks the folder that is awaited, if one is.
    ///
    /// # Errors
    /// It holds a state already, another process has it, or the system refuses. It is awaited still.
    pub(crate) fn claim(&mut self) -> Result<(), OpenError> {
        let Some(folder) = &self.awaited else { return Ok(()) };
        let (disk, lock) = locked(folder)?;
        if has_segments(&disk) {
            return Err(OpenError::NotEmpty);
        }
        (self.awaited, self.disk, self._lock) = (None, Some(disk), Some(lock));
        Ok(())
    }

    /// The log that a disk holds, to be continued; one that begins if it holds none.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn open(disk: Arc<dyn Disk>, options: &Options) -> Result<(Self, Vec<Warning>), OpenError> {
        let mut log = Self::new(disk.clone(), options, 0);
        if !has_segments(&disk) {
            return Ok((log, Vec::new()));
        }
        let (journal, warnings) = Journal::open(disk.clone(), log.options.clone()).map_err(journal_error)?;
        if journal.progress().appended > 0 {
            log.base = CommitReader::new(disk)?.base;
            log.has_begun = true;
        }
        log.journal = Some(Arc::new(journal));
        Ok((log, warnings))
    }

    /// Where it is; none if nothing is kept.
    pub(crate) fn disk(&self) -> Option<&Arc<dyn Disk>> {
        self.disk.as_ref()
    }

    /// Keeps a lock as long as the log.
    pub(crate) fn hold(&mut self, lock: FolderLock) {
        self._lock = Some(lock);
    }

    /// Whether commits are kept.
    pub(crate) fn is_kept(&self) -> bool {
        self.disk.is_some() || self.awaited.is_some()
    }

    /// Whether it has no disk yet, since nothing was committed.
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited.is_some()
    }

    /// Makes the file of a log that begins.
    ///
    /// # Errors
    /// The journal does not take it, or the disk held one before.
    pub(crate) fn begin(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let base = self.base;
        let Some(journal) = self.opened()? else { return Ok(()) };
        journal.append(&record::header(base), Durability::Os)?;
        self.has_begun = true;
        Ok(())
    }

    /// Adds a commit.
    ///
    /// # Errors
    /// The journal does not take it, or the disk held one before.
    pub(crate) fn append(&mut self, frame: &[u8], durability: Durability) -> Result<(), Box<dyn Error + Send + Sync>> {
        let (base, is_new) = (self.base, !self.has_begun);
        let Some(journal) = self.opened()? else { return Ok(()) };
        if !is_new && frame.len() <= FRAME_BYTES_MAX {
            journal.append(frame, durability)?;
        } else {
            let begins = is_new.then(|| record::header(base));
            let frames: Vec<Vec<u8>> = begins.into_iter().chain(record::frames(frame, FRAME_BYTES_MAX)).collect();
            journal.append_all(&frames, durability)?;
        }
        self.has_begun = true;
        Ok(())
    }

    /// The journal; none if nothing is kept.
    fn opened(&mut self) -> Result<Option<&Arc<Journal>>, Box<dyn Error + Send + Sync>> {
        self.claim()?;
        let Some(disk) = &self.disk else { return Ok(None) };
        if self.journal.is_none() {
            let (journal, _) = Journal::open(disk.clone(), self.options.clone())?;
            if journal.progress().appended > 0 {
                return Err(OpenError::NotEmpty.into());
            }
            self.journal = Some(Arc::new(journal));
        }
        Ok(self.journal.as_ref())
    }

    /// Where it ends, and its history up to there; none before the first commit.
    pub(crate) fn position(&self) -> Option<Position> {
        self.journal.as_ref().filter(|_| self.has_begun).map(|journal| journal.position())
    }

    /// The journal, to sync it without the state; none before the first commit.
    pub(crate) fn journal(&self) -> Option<Arc<Journal>> {
        self.journal.clone()
    }

    /// Makes what was added as durable as asked.
    ///
    /// # Errors
    /// The journal has failed, or fails now.
    pub(crate) fn sync(&self, durability: Durability) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.journal.as_ref().map_or(Ok(()), |journal| journal.sync(durability))?)
    }
}

/// What needs no sync begins with its first commit, in one write.
fn options_of(options: &Options) -> journal::Options {
    let beginning = if options.durability == Durability::Fsync { Durability::Fsync } else { Durability::None };
    options.journal.clone().beginning(beginning)
}

/// A folder as a disk, and its lock.
///
/// # Errors
/// Another process has it, or the system refuses.
pub(crate) fn locked(folder: &Path) -> Result<(Arc<dyn Disk>, FolderLock), OpenError> {
    let refused = |error| OpenError::Folder { folder: folder.to_owned(), error };
    let disk = Directory::create(folder).map_err(refused)?;
    let lock = FolderLock::take(folder, "LOCK").map_err(OpenError::Lock)?;
    Ok((Arc::new(disk), lock))
}

/// Whether a journal was begun on a disk.
pub(crate) fn has_segments(disk: &Arc<dyn Disk>) -> bool {
    match Reader::from_frame(disk.clone(), 0) {
        Ok(_) => true,
        Err(ReadError::Empty) => false,
        // What is there is no journal, or a damaged one: opening it says what is wrong.
        Err(_) => true,
    }
}

/// Gives the commits of a log in order.
pub(crate) struct CommitReader {
    reader: Reader,
    /// The epoch that the log begins after.
    pub(crate) base: Epoch,
    /// The commit that was read last.
    epoch: Epoch,
    parts: Parts,
}

impl CommitReader {
    /// From the first commit on.
    ///
    /// # Errors
    /// The disk holds no log, or it cannot be read.
    pub(crate) fn new(disk: Arc<dyn Disk>) -> Result<Self, OpenError> {
        let mut reader = match Reader::from_frame(disk, 0) {
            Ok(reader) => reader,
            Err(ReadError::Empty) => return Err(OpenError::NoLog),
            Err(error) => return Err(journal_error(error)),
        };
        let header = reader.read_next().map_err(journal_error)?.ok_or(OpenError::NoLog)?;
        let base = record::read_header(header.payload).map_err(|reason| OpenError::Malformed { frame: 0, reason })?;
        Ok(Self { reader, base, epoch: base, parts: Parts::default() })
    }

    /// From the commit on that follows this position, which lies after the commit of this epoch.
    ///
    /// # Errors
    /// The log has another history up to there, or cannot be read.
    pub(crate) fn after(self, disk: Arc<dyn Disk>, position: &Position, epoch: Epoch) -> Result<Self, OpenError> {
        let reader = Reader::from_position(disk, position).map_err(journal_error)?;
        Ok(Self { reader, epoch, ..self })
    }

    /// The next commit, if there is one.
    ///
    /// # Errors
    /// The log cannot be read, or does not hold a commit there.
    pub(crate) fn next(&mut self) -> Result<Option<CommitRecord>, OpenError> {
        while let Some(frame) = self.reader.read_next().map_err(journal_error)? {
            let number = frame.place.number;
            let malformed = |reason| OpenError::Malformed { frame: number, reason };
            let Some(commit) = self.parts.add(frame.payload).map_err(malformed)? else { continue };
            self.epoch += 1;
            if commit.epoch != self.epoch {
                let reason = format!("it is commit {}, and commit {} belongs here", commit.epoch, self.epoch);
                return Err(malformed(record::Malformed(reason)));
            }
            return Ok(Some(commit));
        }
        Ok(None)
    }
}

fn journal_error(error: impl Error + Send + Sync + 'static) -> OpenError {
    OpenError::Journal(Box::new(error))
}
