//! The log of a state: a journal whose first frame says what it is, and whose other frames are commits.
//!
//! Its file is made with the first commit, so a state that never commits leaves none.

use crate::error::OpenError;
use crate::record::{self, CommitRecord, Parts};
use crate::{Epoch, Options};
use journal::{Chain, Disk, Durability, FRAME_BYTES_MAX, Journal, Place, ReadError, Reader, Warning};
use std::error::Error;
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Log {
    disk: Option<Arc<dyn Disk>>,
    journal: Option<Arc<Journal>>,
    options: journal::Options,
    /// The epoch that the log begins after.
    base: Epoch,
    pub(crate) last: Option<LastFrame>,
}

impl Log {
    /// A log that begins, after `base`, on a disk that holds none. Its beginning is as durable as its commits are to be.
    pub(crate) fn new(disk: Arc<dyn Disk>, options: &Options, base: Epoch) -> Self {
        let options = options.journal.clone().beginning(options.durability);
        Self { disk: Some(disk), options, base, ..Self::default() }
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
        }
        log.journal = Some(Arc::new(journal));
        Ok((log, warnings))
    }

    /// Where it is; none if nothing is kept.
    pub(crate) fn disk(&self) -> Option<&Arc<dyn Disk>> {
        self.disk.as_ref()
    }

    /// Whether commits are kept.
    pub(crate) fn is_kept(&self) -> bool {
        self.disk.is_some()
    }

    /// Makes the file of a log that begins.
    ///
    /// # Errors
    /// The journal does not take it, or the disk held one before.
    pub(crate) fn begin(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let base = self.base;
        let Some(journal) = self.opened()? else { return Ok(()) };
        let receipt = journal.append(&record::header(base), Durability::Os)?;
        self.last = Some(LastFrame { place: receipt.place, chain: receipt.chain });
        Ok(())
    }

    /// Adds a commit.
    ///
    /// # Errors
    /// The journal does not take it, or the disk held one before.
    pub(crate) fn append(&mut self, frame: &[u8], durability: Durability) -> Result<(), Box<dyn Error + Send + Sync>> {
        let (base, is_new) = (self.base, self.last.is_none());
        let Some(journal) = self.opened()? else { return Ok(()) };
        let receipt = if !is_new && frame.len() <= FRAME_BYTES_MAX {
            journal.append(frame, durability)?
        } else {
            let begins = is_new.then(|| record::header(base));
            let frames: Vec<Vec<u8>> = begins.into_iter().chain(record::frames(frame, FRAME_BYTES_MAX)).collect();
            journal.append_all(&frames, durability)?.pop().expect("a commit has a frame")
        };
        self.last = Some(LastFrame { place: receipt.place, chain: receipt.chain });
        Ok(())
    }

    /// The journal; none if nothing is kept.
    fn opened(&mut self) -> Result<Option<&Arc<Journal>>, Box<dyn Error + Send + Sync>> {
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

/// Whether a journal was begun on a disk.
fn has_segments(disk: &Arc<dyn Disk>) -> bool {
    match Reader::from_frame(disk.clone(), 0) {
        Ok(_) => true,
        Err(ReadError::Empty) => false,
        // What is there is no journal, or a damaged one: opening it says what is wrong.
        Err(_) => true,
    }
}

/// The last frame of a log, or the one that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastFrame {
    /// Where it is.
    pub(crate) place: Place,
    /// The hash of everything up to it.
    pub(crate) chain: Chain,
}

/// Gives the commits of a log in order.
pub(crate) struct CommitReader {
    reader: Reader,
    /// The epoch that the log begins after.
    pub(crate) base: Epoch,
    /// The frame that was read last.
    pub(crate) last: LastFrame,
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
        let last = LastFrame { place: header.place, chain: header.chain };
        Ok(Self { reader, base, last, epoch: base, parts: Parts::default() })
    }

    /// From the commit on that follows this frame, which ends the commit of this epoch.
    ///
    /// # Errors
    /// The log does not have it there, or cannot be read.
    pub(crate) fn after(self, disk: Arc<dyn Disk>, frame: &LastFrame, epoch: Epoch) -> Result<Self, OpenError> {
        let mut reader = Reader::from_place(disk, frame.place).map_err(journal_error)?;
        match reader.read_next().map_err(journal_error)? {
            Some(found) if found.chain == frame.chain => {}
            _ => return Err(OpenError::Journal("the log has another history up to there".into())),
        }
        Ok(Self { reader, last: *frame, epoch, ..self })
    }

    /// The next commit, if there is one.
    ///
    /// # Errors
    /// The log cannot be read, or does not hold a commit there.
    pub(crate) fn next(&mut self) -> Result<Option<CommitRecord>, OpenError> {
        while let Some(frame) = self.reader.read_next().map_err(journal_error)? {
            let number = frame.place.number;
            let malformed = |reason| OpenError::Malformed { frame: number, reason };
            let (place, chain) = (frame.place, frame.chain);
            let Some(commit) = self.parts.add(frame.payload).map_err(malformed)? else { continue };
            self.last = LastFrame { place, chain };
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
