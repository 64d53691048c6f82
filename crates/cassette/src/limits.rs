//! How much may come of what is read.
//!
//! A cassette names a piece of a body as often as it likes, a block of a few bytes can be decompressed to many, and an alias of YAML
//! repeats what it stands for: a small file can ask for any amount of memory. So every reader counts what it makes before it makes
//! it, and refuses by name what is more than the limit. The limit holds for what is made of one file:
//!
//! - the file itself, where it is read whole, and the tree or the lists that are made of it;
//! - the blocks of a cassette that are decompressed and kept;
//! - each body, and all bodies of what is read [whole](crate::Content).
//!
//! A body that is read [fragment by fragment](crate::BodyReader) takes no memory, and may have [`STREAMED_FACTOR`] times as many
//! bytes.

use std::fmt;

/// How much a reader makes of a file, unless it is told otherwise.
pub(crate) const BYTES_MAX_DEFAULT: u64 = 1 << 30;

/// A body that is not held in memory may be this many times as long as one that is.
pub(crate) const STREAMED_FACTOR: u64 = 16;

/// How files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    bytes_max: u64,
}

impl ReadOptions {
    /// The most bytes of memory that are made of one file: 1 GiB, unless it is said here.
    #[must_use]
    pub fn bytes_max(mut self, bytes: u64) -> Self {
        self.bytes_max = bytes;
        self
    }

    /// The limit in this process's memory.
    pub(crate) fn most(self) -> usize {
        usize::try_from(self.bytes_max).unwrap_or(usize::MAX)
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { bytes_max: BYTES_MAX_DEFAULT }
    }
}

/// More would come of a file than is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitExceeded {
    /// The file; empty if it lies in memory.
    pub file: String,
    /// What of it: `a body`.
    pub what: &'static str,
    /// How many bytes are allowed.
    pub most: u64,
}

impl LimitExceeded {
    pub(crate) fn new(what: &'static str, most: usize) -> Self {
        Self { file: String::new(), what, most: most as u64 }
    }

    pub(crate) fn of(self, shown: &str) -> Self {
        Self { file: shown.to_owned(), ..self }
    }
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, what, most } = self;
        let separator = if file.is_empty() { "" } else { ": " };
        write!(f, "{file}{separator}{what} has more than the {most} bytes that may be made of one file")?;
        f.write_str("; if you trust the file, raise that limit (`ReadOptions::bytes_max`)")
    }
}

impl std::error::Error for LimitExceeded {}

/// What is left of a limit.
#[derive(Clone, Debug)]
pub(crate) struct MemoryBudget {
    left: usize,
    most: usize,
}

impl MemoryBudget {
    pub(crate) fn new(most: usize) -> Self {
        Self { left: most, most }
    }

    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Takes `bytes` bytes of it.
    pub(crate) fn take(&mut self, bytes: usize, what: &'static str) -> Result<(), LimitExceeded> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(LimitExceeded::new(what, self.most)),
        }
    }
}
