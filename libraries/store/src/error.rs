//! What can go wrong: one enumeration an operation, over shared parts.
//!
//! [`Failure`] is the disk refusing to do something; [`Damage`] is bytes that are not what was written; [`KeyError`] is a key or
//! value that the store does not take. Every message says what, where and what next.

use crate::limits::{BATCH_BYTES_MAX, KEY_BYTES_MAX, VALUE_BYTES_MAX, VERSION};
use crate::shape::KeyShape;
use journal::{AppendError, LockError, SyncError};
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The disk refused to do something.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// What was asked of it, as a verb.
    pub action: &'static str,
    /// The file it was about; empty for the folder.
    pub file: String,
    /// What the system said.
    pub error: Arc<io::Error>,
}

impl Failure {
    /// For `map_err`: names what was asked for, and of which file.
    pub(crate) fn of(action: &'static str, file: &str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self { action, file: file.to_owned(), error: Arc::new(error) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = if self.file.is_empty() { "the store's folder" } else { &self.file };
        write!(f, "cannot {} {file}: {}", self.action, self.error)
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
    /// The file.
    pub file: String,
    /// Where in it, in bytes from its beginning.
    pub offset: u64,
    /// What is wrong there.
    pub what: String,
}

impl Damage {
    pub(crate) fn new(file: &str, offset: u64, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), offset, what: what.into() }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at byte {}: {}; restore the store from a backup, or salvage what can be read into a new one",
            self.file, self.offset, self.what
        )
    }
}

impl Error for Damage {}

/// A key, a value or a keyspace that the store does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// The keyspace has keys of another length.
    Width {
        /// How long its keys are.
        wanted: usize,
        /// How long this one is.
        found: usize,
    },
    /// The key is longer than [`KEY_BYTES_MAX`](crate::KEY_BYTES_MAX).
    KeyTooLong {
        /// How long it is.
        bytes: usize,
    },
    /// The value is longer than [`VALUE_BYTES_MAX`](crate::VALUE_BYTES_MAX).
    ValueTooLong {
        /// How long it is.
        bytes: usize,
    },
    /// The batch is longer than [`BATCH_BYTES_MAX`](crate::BATCH_BYTES_MAX).
    BatchTooLong {
        /// How long it is.
        bytes: usize,
    },
    /// The store has no such keyspace: the handle belongs to another store.
    NoKeyspace,
    /// The keyspace exists with another shape.
    Shape {
        /// The shape that it has.
        found: KeyShape,
    },
    /// The name or the shape of a new keyspace is not allowed.
    BadKeyspace {
        /// Why not.
        why: &'static str,
    },
    /// Data to ingest is not in ascending order of keys.
    NotAscending,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Width { wanted, found } => {
                let bytes = if *found == 1 { "byte" } else { "bytes" };
                write!(f, "the key has {found} {bytes}: the keys of this keyspace have {wanted} bytes each")
            }
            Self::KeyTooLong { bytes } => {
                write!(f, "a key of {bytes} bytes is too long: {} is the most", KEY_BYTES_MAX)
            }
            Self::ValueTooLong { bytes } => {
                write!(f, "a value of {bytes} bytes is too long: {} is the most", VALUE_BYTES_MAX)
            }
            Self::BatchTooLong { bytes } => {
                write!(f, "a batch of {bytes} bytes is too long: {} is the most; commit it in parts", BATCH_BYTES_MAX)
            }
            Self::NoKeyspace => f.write_str("the store has no such keyspace: take the handle from this store"),
            Self::Shape { found } => write!(f, "the keyspace exists and has {found}: ask for that shape"),
            Self::BadKeyspace { why } => f.write_str(why),
            Self::NotAscending => f.write_str("keys to ingest must ascend, each once: sort them, or commit batches"),
        }
    }
}

impl Error for KeyError {}

/// Why a store cannot be created or opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// There is a store already, or something else.
    Occupied,
    /// There is no store.
    Absent,
    /// What is there under the name of a store's manifest is something else, such as a knowledge base's.
    Foreign,
    /// Another process has it open for writing.
    Lock(LockError),
    /// The disk failed. Nothing was lost; try again when it works.
    Disk(Failure),
    /// What lies on the disk is not what was written.
    Damaged(Damage),
    /// The format is newer than this program.
    Version {
        /// The file.
        file: String,
        /// Its version.
        version: u32,
    },
    /// The log of batches cannot be opened.
    Log(journal::OpenError),
    /// The log of batches cannot be read.
    ReadLog(journal::ReadError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Occupied => f.write_str("the folder is not empty: name one that is empty or does not exist yet"),
            Self::Absent => f.write_str("there is no store here: create one first"),
            Self::Foreign => f.write_str("its file MANIFEST is not that of a store: name another folder"),
            Self::Lock(error) => {
                write!(f, "the store cannot be locked: {error}; it can be opened for reading meanwhile")
            }
            Self::Disk(failure) => write!(f, "the store cannot be opened: {failure}"),
            Self::Damaged(damage) => write!(f, "the store is damaged: {damage}"),
            Self::Version { file, version } => write!(
                f,
                "{file} has format version {version}, but this program knows {} and before: use a newer version of it",
                VERSION
            ),
            Self::Log(error) => write!(f, "the store's log: {error}"),
            Self::ReadLog(error) => write!(f, "the store's log: {error}"),
        }
    }
}

impl Error for OpenError {}

/// Why something cannot be read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The key does not fit the keyspace.
    Key(KeyError),
    /// What lies on the disk is not what was written.
    Damaged(Damage),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(error) => error.fmt(f),
            Self::Damaged(damage) => write!(f, "the store is damaged: {damage}"),
        }
    }
}

impl Error for ReadError {}

/// Why something was not written, or not acknowledged.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// A key or value is not allowed. Nothing was written.
    Key(KeyError),
    /// The log did not take the batch.
    Log(AppendError),
    /// The log cannot say that the batch is as durable as asked.
    Sync(SyncError),
    /// More was asked than a commit without a log can do: the owner's journal makes batches durable. Nothing was written.
    NoLog,
    /// A new log cannot be made.
    NewLog(journal::OpenError),
    /// The disk failed.
    Disk(Failure),
    /// Something that must be read to be written anew is damaged.
    Damaged(Damage),
    /// The store failed before and takes no more.
    Refused(Arc<WriteError>),
}

impl WriteError {
    /// Whether the store goes on: the caller asked for something that is not allowed.
    pub(crate) fn is_callers(&self) -> bool {
        matches!(self, Self::Key(_) | Self::NoLog | Self::Refused(_))
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(error) => error.fmt(f),
            Self::Log(error) => write!(f, "the batch was not acknowledged: {error}"),
            Self::Sync(error) => write!(f, "the batch was not acknowledged: {error}"),
            Self::NoLog => f.write_str(
                "the store has no log of its own, so it cannot make a batch durable: commit it with `Durability::None`, after the journal \
                 of the owner has it",
            ),
            Self::NewLog(error) => write!(f, "a new log cannot be made: {error}"),
            Self::Disk(failure) => {
                write!(f, "the store cannot be written: {failure}; mend the cause and open it again")
            }
            Self::Damaged(damage) => write!(f, "the store is damaged: {damage}"),
            Self::Refused(cause) => {
                write!(f, "the store has failed ({cause}) and takes no more batches; mend the cause and open it again")
            }
        }
    }
}

impl Error for WriteError {}

/// Why sorted records were not ingested.
#[derive(Clone, Debug)]
pub enum IngestError<E> {
    /// The store did not take them.
    Write(WriteError),
    /// Whatever gives the records failed. Nothing was written.
    Source(E),
}

impl<E: fmt::Display> fmt::Display for IngestError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(error) => error.fmt(f),
            Self::Source(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> Error for IngestError<E> {}

impl<E, T: Into<WriteError>> From<T> for IngestError<E> {
    fn from(error: T) -> Self {
        Self::Write(error.into())
    }
}

/// Errors that causes become of themselves.
macro_rules! becomes {
    ($($from:ty => $($error:ident :: $variant:ident),+;)+) => {$($(
        impl From<$from> for $error {
            fn from(cause: $from) -> Self {
                Self::$variant(cause)
            }
        }
    )+)+};
}

becomes! {
    Failure => OpenError::Disk, WriteError::Disk;
    Damage => OpenError::Damaged, ReadError::Damaged, WriteError::Damaged;
    KeyError => ReadError::Key, WriteError::Key;
    LockError => OpenError::Lock;
    AppendError => WriteError::Log;
    SyncError => WriteError::Sync;
    journal::OpenError => OpenError::Log, WriteError::NewLog;
    journal::ReadError => OpenError::ReadLog;
}

impl From<ReadError> for WriteError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Key(error) => Self::Key(error),
            ReadError::Damaged(damage) => Self::Damaged(damage),
        }
    }
}
