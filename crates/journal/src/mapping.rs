//! A file as a slice of bytes: the one mapping of Metroon.
//!
//! Opening costs the same however long the file is, and bytes come into memory when they are first read.

use crate::access::Access;
use crate::regular::{self, open_regular};
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// A whole file, mapped for reading.
///
/// It is meant for files that never change once they have their name, such as sealed tapes: their writers make another file
/// and rename it, which leaves the mapped one as it was. The owner checks what it reads by checksums before using it.
///
/// A program that writes into a mapped file all the same makes it say something else, which checksums tell when they are
/// compared, and one that cuts it makes looking at the lost pages end this program with a signal (SIGBUS). `docs/safety.md`
/// has more of this.
#[derive(Debug)]
pub struct Mapping {
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Mapped(memmap2::Mmap),
    /// Read from a disk that has no mappings, or of an empty file, which cannot be mapped.
    Held(Vec<u8>),
}

impl Mapping {
    /// Maps a regular file.
    ///
    /// # Errors
    /// There is none of this name, it is not a regular file, or the system refuses.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::of(&open_regular(path, Access::Read)?)
    }

    /// Maps a regular file that is open.
    ///
    /// # Errors
    /// It is not a regular file, or the system refuses.
    pub fn of(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        regular::check(&found)?;
        let bytes = if found.len() == 0 { Bytes::Held(Vec::new()) } else { Bytes::Mapped(map(file)?) };
        Ok(Self { bytes })
    }

    /// Tells the system that pages will be read here and there: a page that is not in memory is read alone, without those that follow.
    /// It is advice: a system that does not take it reads more.
    pub fn expect_scattered_reads(&self) {
        #[cfg(unix)]
        if let Bytes::Mapped(map) = &self.bytes {
            let _ = map.advise(memmap2::Advice::Random);
        }
    }

    /// Tells the system that these bytes will be read soon, all of them. Advice, too.
    pub fn expect_reads_of(&self, from: usize, bytes: usize) {
        #[cfg(unix)]
        if let Bytes::Mapped(map) = &self.bytes
            && from < map.len()
        {
            let _ = map.advise_range(memmap2::Advice::WillNeed, from, bytes.min(map.len() - from));
        }
        #[cfg(not(unix))]
        let _ = (from, bytes);
    }

    /// The bytes of a file that were read because its disk has no mappings.
    pub fn held(bytes: Vec<u8>) -> Self {
        Self { bytes: Bytes::Held(bytes) }
    }
}

#[allow(unsafe_code, reason = "a mapped file can be changed by others; see docs/safety.md")]
fn map(file: &File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the mapping is private and for reading, so nothing in this process changes it. Files that are mapped are never
    // written once they have their name; another process that does so anyhow is a hazard that docs/safety.md names.
    unsafe { memmap2::MmapOptions::new().map_copy_read_only(file) }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Held(bytes) => bytes,
        }
    }
}
