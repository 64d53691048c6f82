//! Why a form of a cassette cannot be read or written.

use super::form::Form;
use crate::error::{FileError, ReadError, SealError};
use crate::limits::LimitExceeded;
use crate::version::DOCUMENT_VERSION;
use std::error::Error;
use std::fmt;

/// Why a form cannot be read or written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FormError {
    /// The system refused.
    Disk(FileError),
    /// The cassette is not what was written.
    Unreadable(ReadError),
    /// More would come of it than is allowed.
    TooMuch(LimitExceeded),
    /// The cassette was not sealed, or not written.
    Seal(SealError),
    /// A cassette of this form is a file, and is not made in memory.
    NotInMemory,
    /// It is neither a cassette nor any form of one.
    Unknown {
        /// The file.
        file: String,
    },
    /// It is of a later version, or of another program.
    Version {
        /// The file; empty if it lies in memory.
        file: String,
        /// The version.
        version: u32,
    },
    /// It is gzip and cannot be decompressed to its end.
    Gzip {
        /// The file.
        file: String,
        /// What is wrong with it.
        flaw: &'static str,
        /// How many bytes came of it.
        bytes: u64,
        /// How many whole exchanges they are, if that is known.
        exchanges: Option<u64>,
    },
    /// It has a form and says nothing in it.
    Malformed {
        /// The file; empty if it lies in memory.
        file: String,
        /// Its form.
        form: &'static str,
        /// What is wrong, and where.
        message: String,
    },
}

impl FormError {
    pub(super) fn malformed(form: &'static str, error: &impl ToString) -> Self {
        Self::Malformed { file: String::new(), form, message: error.to_string() }
    }

    pub(super) fn of(mut self, shown: &str) -> Self {
        if let Self::Version { file, .. } | Self::Malformed { file, .. } | Self::Gzip { file, .. } = &mut self {
            shown.clone_into(file);
        }
        if let Self::TooMuch(excess) = self {
            return Self::TooMuch(excess.of(shown));
        }
        self
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(failure) => failure.fmt(f),
            Self::Unreadable(error) => error.fmt(f),
            Self::TooMuch(excess) => excess.fmt(f),
            Self::Seal(error) => error.fmt(f),
            Self::NotInMemory => f.write_str("a cassette is a file: write it to one, and open it there"),
            Self::Unknown { file } => {
                write!(f, "{file} is neither a cassette nor a form of one; there are {}", Form::names())
            }
            Self::Version { file, version } => {
                put_file(f, file)?;
                write!(
                    f,
                    "a cassette of version {version}, but this program reads up to {DOCUMENT_VERSION}; use a newer one"
                )
            }
            Self::Gzip { file, flaw, bytes, exchanges } => {
                put_file(f, file)?;
                write!(f, "{flaw}; {bytes} bytes could be decompressed")?;
                match exchanges {
                    Some(1) => f.write_str(", with 1 whole exchange")?,
                    Some(exchanges) => write!(f, ", with {exchanges} whole exchanges")?,
                    None => {}
                }
                f.write_str("; restore the file from a copy, or record it again")
            }
            Self::Malformed { file, form, message } => {
                put_file(f, file)?;
                write!(f, "no cassette in {form}: {message}; mend it there, or convert the cassette again")
            }
        }
    }
}

/// The file, if it does not lie in memory.
fn put_file(f: &mut fmt::Formatter<'_>, file: &str) -> fmt::Result {
    if file.is_empty() { Ok(()) } else { write!(f, "{file}: ") }
}

impl Error for FormError {}

impl From<FileError> for FormError {
    fn from(failure: FileError) -> Self {
        Self::Disk(failure)
    }
}

impl From<ReadError> for FormError {
    fn from(error: ReadError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<LimitExceeded> for FormError {
    fn from(excess: LimitExceeded) -> Self {
        Self::TooMuch(excess)
    }
}

impl From<SealError> for FormError {
    fn from(error: SealError) -> Self {
        Self::Seal(error)
    }
}
