//! What can go wrong: one enumeration an operation, over two shared parts.
//!
//! [`Failure`] is the disk refusing to do something; [`Damage`] is bytes that are not what was written. Every message says
//! what, where and what next. A failure may pass; damage stays, and nothing here ever cuts it away in silence.

use crate::format::{FRAME_BYTES_MAX, Flaw, Identity, name_of};
use crate::frame::Place;
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The disk refused to do something.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// What was asked of it.
    pub action: Action,
    /// The file it was about; empty for the folder.
    pub file: String,
    /// What the system said.
    pub error: Arc<io::Error>,
}

impl Failure {
    /// A thread ended in the middle of writing.
    pub(crate) fn panicked() -> Self {
        let error = Arc::new(io::Error::other("a thread panicked while it wrote"));
        Self { action: Action::Write, file: String::new(), error }
    }
}

/// What a disk can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// The names in the folder.
    List,
    /// A new file.
    Create,
    /// A file that exists.
    Open,
    /// Another name.
    Rename,
    /// The end of a file.
    Remove,
    /// A file's length.
    Measure,
    /// A shorter file.
    Cut,
    /// A longer file.
    Extend,
    /// Bytes.
    Read,
    /// Other bytes.
    Write,
    /// Durability of a file.
    Sync,
    /// Durability of the names in the folder.
    SyncNames,
}

impl Action {
    fn verb(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Create => "create",
            Self::Open => "open",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::Measure => "measure",
            Self::Cut => "cut",
            Self::Extend => "extend",
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync | Self::SyncNames => "sync",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = if self.file.is_empty() { "the journal's folder" } else { &self.file };
        write!(f, "cannot {} {file}: {}", self.action.verb(), self.error)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error)
    }
}

/// Bytes that are not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The name of the segment's file; of a journal in one file, its path.
    pub segment: String,
    /// Where in it, in bytes from its beginning.
    pub offset: u64,
    /// What is wrong there.
    pub flaw: Flaw,
}

impl Damage {
    pub(crate) fn new(segment: u64, offset: u64, flaw: Flaw) -> Self {
        Self { segment: name_of(segment), offset, flaw }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}; ", self.segment, self.offset, self.flaw)?;
        match self.flaw {
            Flaw::Version(_) => f.write_str("use a newer version of this program"),
            Flaw::Identity => f.write_str("move the files that belong to another journal out of the folder"),
            _ => f.write_str("restore the file from a copy, or salvage what can be read into a new journal"),
        }
    }
}

/// Something that opening mended and that the owner should know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// Bytes after the last frame, which was being written when the machine or the program stopped, were cut.
    TornTail {
        /// The name of the segment's file.
        segment: String,
        /// Where the cut is.
        offset: u64,
        /// How many bytes followed it.
        bytes: u64,
    },
    /// One of a segment's two slots was damaged; the other served.
    SlotDamaged {
        /// The name of the segment's file.
        segment: String,
        /// Where the slot lies.
        offset: u64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TornTail { segment, offset, bytes } => {
                write!(f, "{segment}: {bytes} bytes from byte {offset} on are not a whole frame and were never synced")
            }
            Self::SlotDamaged { segment, offset } => {
                write!(
                    f,
                    "{segment}: one of the two notes of how far it is synced, at byte {offset}, is damaged; the other one is used"
                )
            }
        }
    }
}

/// Why a journal cannot be opened for writing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The disk failed. Nothing was lost; try again when it works.
    Disk(Failure),
    /// What lies on the disk is not what was written.
    Damaged(Damage),
    /// The journal has another identity than the one asked for.
    WrongIdentity {
        /// What it has.
        found: Identity,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(failure) => write!(f, "the journal cannot be opened: {failure}"),
            Self::Damaged(damage) => write!(f, "the journal is damaged: {damage}"),
            Self::WrongIdentity { found } => {
                write!(f, "this is another journal, of identity {:?}: open the folder of the right one", found.0)
            }
        }
    }
}

/// Why a frame was not appended, or not acknowledged.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AppendError {
    /// The payload is longer than [`FRAME_BYTES_MAX`]. Nothing was appended.
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// The journal failed before and takes no more. Nothing was appended.
    Refused(Failure),
    /// The journal failed while this frame was on its way. Whether it is there, only opening the journal again will say.
    Unknown {
        /// The number the frame has if it is there.
        number: u64,
        /// What failed.
        failure: Failure,
    },
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => {
                write!(f, "a frame of {bytes} bytes is too long: {FRAME_BYTES_MAX} is the most; append it in parts")
            }
            Self::Refused(failure) => {
                write!(
                    f,
                    "the journal has failed ({failure}) and takes no more frames; mend the cause and open it again"
                )
            }
            Self::Unknown { number, failure } => write!(
                f,
                "frame {number} may or may not have been kept ({failure}); mend the cause and open the journal again to see"
            ),
        }
    }
}

/// Why the journal cannot say that everything appended is as durable as asked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SyncError {
    /// The journal failed, now or before. What was acknowledged as durable is; the rest is in doubt.
    Failed(Failure),
}

impl fmt::Display for SyncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Failed(failure) = self;
        write!(f, "unacknowledged frames may be lost ({failure}); mend the cause and open the journal again to see")
    }
}

/// Why a journal was not trimmed, or not wholly. Nothing is lost that was to be kept.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TrimError {
    /// The disk failed. Segments that were to be given up may still be there; opening the journal again, or trimming it again, takes them
    /// away.
    Disk(Failure),
    /// What lies on the disk is not what was written.
    Damaged(Damage),
    /// The journal failed before. Nothing was given up.
    Refused(Failure),
}

impl fmt::Display for TrimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(failure) => {
                write!(f, "the journal was not trimmed: {failure}; nothing is lost that was to be kept")
            }
            Self::Damaged(damage) => write!(f, "the journal was not trimmed, since it is damaged: {damage}"),
            Self::Refused(failure) => {
                write!(f, "the journal has failed ({failure}) and is not trimmed; mend the cause and open it again")
            }
        }
    }
}

impl Error for TrimError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Disk(failure) | Self::Refused(failure) => Some(failure),
            Self::Damaged(damage) => Some(damage),
        }
    }
}

/// Why a frame cannot be read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The disk failed.
    Disk(Failure),
    /// What lies on the disk is not what was written.
    Damaged(Damage),
    /// There is no journal on the disk.
    Empty,
    /// The journal does not reach to this frame.
    NoSuchFrame {
        /// What was asked for.
        number: u64,
        /// How many frames there are; they are numbered from 0.
        frames: u64,
    },
    /// No frame begins at this place.
    NoSuchPlace(Place),
    /// The journal has other frames before this place than it had when the position was noted.
    OtherHistory(Place),
    /// The journal was trimmed, and the frame given up.
    Trimmed {
        /// What was asked for.
        number: u64,
        /// The first frame that is kept.
        first: u64,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(failure) => write!(f, "the journal cannot be read: {failure}"),
            Self::Damaged(damage) => write!(f, "the journal is damaged: {damage}"),
            Self::Empty => f.write_str("there is no journal here: open one for writing to make it"),
            Self::NoSuchFrame { number, frames } => {
                write!(f, "there is no frame {number}: the journal has {frames}, numbered from 0")
            }
            Self::NoSuchPlace(place) => write!(
                f,
                "frame {} does not begin at byte {} of {}: look it up by its number",
                place.number,
                place.offset,
                name_of(place.segment)
            ),
            Self::OtherHistory(place) => write!(
                f,
                "the journal has another history before byte {} of {} than when the position was noted: read it from its beginning",
                place.offset,
                name_of(place.segment)
            ),
            Self::Trimmed { number, first } => {
                write!(f, "frame {number} was given up when the journal was trimmed: it begins with frame {first}")
            }
        }
    }
}

/// Why a journal cannot be verified. Damage is not among the reasons: finding it is the purpose.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum VerifyError {
    /// The disk failed.
    Disk(Failure),
    /// There is no journal on the disk.
    Empty,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(failure) => write!(f, "the journal cannot be verified: {failure}"),
            Self::Empty => f.write_str("there is no journal here: nothing to verify"),
        }
    }
}

/// Why a salvage did not end. The damaged journal is never written to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SalvageError {
    /// The disk of the damaged journal failed.
    Disk(Failure),
    /// There is no journal on the disk.
    Empty,
    /// There is a journal already where the new one is to be.
    Occupied,
    /// The new journal cannot be made.
    Open(OpenError),
    /// The new journal cannot be written.
    Append(AppendError),
    /// The new journal cannot be made durable.
    Sync(SyncError),
}

impl fmt::Display for SalvageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(failure) => write!(f, "the damaged journal cannot be read: {failure}"),
            Self::Empty => f.write_str("there is no journal here: nothing to salvage"),
            Self::Occupied => {
                f.write_str("there is already a journal where the salvaged one should go: name a place that is empty")
            }
            Self::Open(error) => write!(f, "the salvaged frames cannot be kept: {error}"),
            Self::Append(error) => write!(f, "the salvaged frames cannot be kept: {error}"),
            Self::Sync(error) => write!(f, "the salvaged frames cannot be kept: {error}"),
        }
    }
}

impl Error for Damage {}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Disk(failure) => Some(failure),
            Self::Damaged(damage) => Some(damage),
            Self::WrongIdentity { .. } => None,
        }
    }
}

impl Error for AppendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::TooLong { .. } => None,
            Self::Refused(failure) | Self::Unknown { failure, .. } => Some(failure),
        }
    }
}

impl Error for SyncError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let Self::Failed(failure) = self;
        Some(failure)
    }
}

impl Error for ReadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Disk(failure) => Some(failure),
            Self::Damaged(damage) => Some(damage),
            Self::Empty
            | Self::NoSuchFrame { .. }
            | Self::NoSuchPlace(_)
            | Self::OtherHistory(_)
            | Self::Trimmed { .. } => None,
        }
    }
}

impl Error for VerifyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Disk(failure) => Some(failure),
            Self::Empty => None,
        }
    }
}

impl Error for SalvageError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Disk(failure) => Some(failure),
            Self::Open(error) => Some(error),
            Self::Append(error) => Some(error),
            Self::Sync(error) => Some(error),
            Self::Empty | Self::Occupied => None,
        }
    }
}

/// Errors that a failing disk or damage become of themselves.
macro_rules! becomes {
    ($($from:ident => $($error:ident :: $variant:ident),+;)+) => {$($(
        impl From<$from> for $error {
            fn from(cause: $from) -> Self {
                Self::$variant(cause)
            }
        }
    )+)+};
}

becomes! {
    Failure => OpenError::Disk, ReadError::Disk, VerifyError::Disk, SalvageError::Disk, TrimError::Disk, SyncError::Failed;
    Damage => OpenError::Damaged, ReadError::Damaged, TrimError::Damaged;
    OpenError => SalvageError::Open;
    AppendError => SalvageError::Append;
    SyncError => SalvageError::Sync;
}
