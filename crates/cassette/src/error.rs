//! What can go wrong: the disk refuses, or bytes are not what was written. Every message says what, where and what next.

use crate::finding::Finding;
use crate::limits::LimitExceeded;
use crate::version::SEALED_VERSION;
use std::error::Error;
use std::sync::Arc;
use std::{fmt, io};

/// Bytes that say nothing in the encoding of cassettes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Malformed {
    /// What was found that cannot be there.
    pub what: &'static str,
    /// Where, in bytes from the beginning of the record.
    pub at: usize,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {} of the record)", self.what, self.at)
    }
}

impl Error for Malformed {}

/// The system refused to do something.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileError {
    /// What was asked of it: a verb.
    pub action: &'static str,
    /// The file it was about.
    pub file: String,
    /// What the system said.
    pub error: Arc<io::Error>,
}

impl FileError {
    pub(crate) fn new(action: &'static str, file: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |error| Self { action, file, error: Arc::new(error) }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: {}", self.action, self.file, self.error)
    }
}

impl Error for FileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error)
    }
}

/// What is wrong with bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// The file is shorter than any cassette.
    Short,
    /// It does not begin as a cassette does.
    Magic,
    /// It is of a version that this program does not know.
    Version(u32),
    /// The bytes are not those that their checksum was made of.
    Checksum,
    /// It does not end as a cassette does: the end is missing, or something follows it.
    NoEnd,
    /// It is not as long as it says.
    Length,
    /// A block is compressed, and these are not compressed bytes.
    Compression,
    /// Its parts do not fit together.
    Parts,
    /// A record says nothing.
    Record(Malformed),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("too short for a cassette"),
            Self::Magic => f.write_str("this is not a cassette"),
            Self::Version(version) => write!(f, "version {version}, but this program reads up to {SEALED_VERSION}"),
            Self::Checksum => f.write_str("bytes have changed since they were written"),
            Self::NoEnd => f.write_str("the end of the cassette is missing"),
            Self::Length => f.write_str("the cassette is not as long as it says"),
            Self::Compression => f.write_str("what is compressed here cannot be decompressed"),
            Self::Parts => f.write_str("the parts of the cassette do not fit together"),
            Self::Record(malformed) => malformed.fmt(f),
        }
    }
}

/// Bytes that are not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The file.
    pub file: String,
    /// Where in it, in bytes from its beginning; of a recording, the number of the frame.
    pub offset: u64,
    /// What is wrong there.
    pub flaw: Flaw,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}; ", self.file, self.offset, self.flaw)?;
        match self.flaw {
            Flaw::Version(_) => f.write_str("use a newer version of this program"),
            Flaw::Magic | Flaw::Short => f.write_str("name a file that a recording made"),
            _ => f.write_str("restore the file from a copy, or record it again"),
        }
    }
}

impl Error for Damage {}

/// Why a cassette cannot be read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The system refused.
    Disk(FileError),
    /// The cassette is not what was written.
    Damaged(Damage),
    /// The journal of a recording cannot be read.
    Recording(String),
    /// More would come of it than is allowed.
    TooMuch(LimitExceeded),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(failure) => failure.fmt(f),
            Self::Damaged(damage) => damage.fmt(f),
            Self::Recording(message) => f.write_str(message),
            Self::TooMuch(excess) => excess.fmt(f),
        }
    }
}

impl Error for ReadError {}

impl From<FileError> for ReadError {
    fn from(failure: FileError) -> Self {
        Self::Disk(failure)
    }
}

impl From<LimitExceeded> for ReadError {
    fn from(excess: LimitExceeded) -> Self {
        Self::TooMuch(excess)
    }
}

impl From<Damage> for ReadError {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

/// Why a cassette was not sealed. The recording and any cassette of the name are as they were.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SealError {
    /// The system refused.
    Disk(FileError),
    /// What is to be sealed cannot be read.
    Unreadable(ReadError),
    /// More than a cassette has room for.
    TooLarge(&'static str),
    /// Two exchanges have this number.
    SameNumber(u64),
    /// A known form of a secret is in it.
    Secret(Box<ExposedSecret>),
    /// A file has this name, and [`SealOptions::keep_existing`](crate::SealOptions::keep_existing) says that it stays.
    Exists(String),
    /// What happened does not fit together.
    Broken(&'static str),
}

/// A secret that would have been on a cassette.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExposedSecret {
    /// What was to be sealed.
    pub file: String,
    /// The number of the exchange; `None` for what is known of the cassette.
    pub exchange: Option<u64>,
    /// In which field, and the form of the secret.
    pub finding: Finding,
    /// Whether the field is not text, so that the secret cannot be taken out of it.
    pub is_kept: bool,
    /// How many others there are.
    pub others: usize,
}

impl fmt::Display for ExposedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, exchange, finding: Finding { place, what }, is_kept, others } = self;
        write!(f, "{file}: ")?;
        match exchange {
            Some(number) => write!(f, "exchange {number} has {what} in its {place}")?,
            None => write!(f, "the cassette has {what} in its {place}")?,
        }
        if *is_kept {
            f.write_str(", which is not text and was left as it is")?;
        }
        match others {
            0 => Ok(()),
            1 => f.write_str(", and there is another secret"),
            _ => write!(f, ", and there are {others} other secrets"),
        }
    }
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(failure) => failure.fmt(f),
            Self::Unreadable(error) => error.fmt(f),
            Self::TooLarge(what) => write!(f, "the cassette is too large: {what}; record to several cassettes"),
            Self::SameNumber(number) => write!(f, "two exchanges have the number {number}; give each its own"),
            Self::Exists(name) => write!(f, "there is something at {name} already; choose another name"),
            Self::Secret(exposed) if exposed.is_kept => write!(
                f,
                "{exposed}; leave such exchanges out with a filter, or seal them as they are with `keep_secrets()` of the options"
            ),
            Self::Secret(exposed) => write!(
                f,
                "{exposed}; `metroon cassette redact` takes secrets out, and `keep_secrets()` of the options seals them as they are"
            ),
            Self::Broken(what) => write!(f, "the recording cannot be sealed: {what}; record it again"),
        }
    }
}

impl Error for SealError {}

impl From<FileError> for SealError {
    fn from(failure: FileError) -> Self {
        Self::Disk(failure)
    }
}

impl From<ReadError> for SealError {
    fn from(error: ReadError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<&'static str> for SealError {
    fn from(what: &'static str) -> Self {
        Self::Broken(what)
    }
}

/// Why something was not recorded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// The system refused.
    Disk(FileError),
    /// The journal of the recording failed; nothing is recorded any more.
    Journal(String),
    /// What is there already cannot be read.
    Unreadable(ReadError),
    /// The cassette was not sealed; its recording is there.
    Seal(SealError),
    /// Something other than a body is longer than a frame.
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// The thread that writes ended in the middle of it.
    WriterDied,
    /// The recorder was finished or stopped before.
    Closed,
    /// An exchange of this number is recorded already, or may be.
    NumberTaken(u64),
    /// Every number that an exchange can have was given.
    NoNumbersLeft,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(failure) => failure.fmt(f),
            Self::Journal(message) => f.write_str(message),
            Self::Unreadable(error) => error.fmt(f),
            Self::Seal(error) => error.fmt(f),
            Self::TooLong { bytes } => {
                let most = journal::FRAME_BYTES_MAX;
                write!(f, "headers or a message of {bytes} bytes: at most {most} are recorded; leave it out or cut it")
            }
            Self::WriterDied => f.write_str("the thread that writes the recording died; what it had written is there"),
            Self::Closed => f.write_str("the recorder was finished or stopped; end what is recorded before that"),
            Self::NumberTaken(number) => {
                write!(f, "the number {number} may be taken: let the recorder number it, or take a number from `start`")
            }
            Self::NoNumbersLeft => {
                f.write_str("the cassette has no number left for an exchange; record to another cassette")
            }
        }
    }
}

impl Error for RecordError {}

impl From<FileError> for RecordError {
    fn from(failure: FileError) -> Self {
        Self::Disk(failure)
    }
}

impl From<ReadError> for RecordError {
    fn from(error: ReadError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<SealError> for RecordError {
    fn from(error: SealError) -> Self {
        Self::Seal(error)
    }
}
