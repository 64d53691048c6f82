//! The pages of a run: written once, each with a checksum, and checked when they are first read.
//!
//! A checksum starts from a salt, which is made of the store's identity and the name of the file, and from the number of the page:
//! a page of another file, or from another place, is not taken for the one asked for.

use crate::error::Failure;
use crc32c::{crc32c, crc32c_append};
use journal::{Disk, DiskFile, Identity};
use std::sync::atomic::{AtomicU64, Ordering};

/// What is read, checked and cached at once.
pub(crate) const PAGE_BYTES: usize = 4096;
/// How much is collected before it is written.
const BUFFER_BYTES: usize = 1 << 20;

/// What the checksums of a file start from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Salt(u32);

impl Salt {
    pub(crate) fn new(identity: Identity, name: &str) -> Self {
        Self(crc32c_append(crc32c(&identity.0), name.as_bytes()))
    }

    /// The checksum of bytes at a place.
    pub(crate) fn checksum(self, place: u64, bytes: &[u8]) -> u32 {
        crc32c_append(crc32c_append(self.0, &place.to_le_bytes()), bytes)
    }
}

/// A file that is written from its beginning to its end.
pub(crate) struct PageWriter {
    file: Box<dyn DiskFile>,
    name: String,
    salt: Salt,
    buffer: Vec<u8>,
    written: u64,
    sums: Vec<u32>,
}

impl PageWriter {
    pub(crate) fn create(disk: &dyn Disk, name: &str, salt: Salt) -> Result<Self, Failure> {
        let file = disk.create(name).map_err(Failure::of("create", name))?;
        Ok(Self { file, name: name.to_owned(), salt, buffer: Vec::new(), written: 0, sums: Vec::new() })
    }

    /// How many bytes there are so far.
    pub(crate) fn length(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    pub(crate) fn salt(&self) -> Salt {
        self.salt
    }

    /// The checksums of the pages so far.
    pub(crate) fn sums(&self) -> &[u32] {
        &self.sums
    }

    /// Appends bytes as whole pages, the last one filled with zeros, and notes their checksums.
    pub(crate) fn push_pages(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let from = self.buffer.len();
        self.buffer.extend_from_slice(bytes);
        self.buffer.resize(from + bytes.len().next_multiple_of(PAGE_BYTES), 0);
        for page in self.buffer[from..].chunks_exact(PAGE_BYTES) {
            self.sums.push(self.salt.checksum(self.sums.len() as u64, page));
        }
        self.flush_if(BUFFER_BYTES)
    }

    /// Appends bytes whose checksum the caller keeps.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.buffer.extend_from_slice(bytes);
        self.flush_if(BUFFER_BYTES)
    }

    fn flush_if(&mut self, bytes: usize) -> Result<(), Failure> {
        if self.buffer.len() < bytes {
            return Ok(());
        }
        self.file.write_full(self.written, &self.buffer).map_err(Failure::of("write", &self.name))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Makes the file durable; its name is the caller's to sync.
    pub(crate) fn finish(mut self) -> Result<u64, Failure> {
        self.flush_if(0)?;
        self.file.sync().map_err(Failure::of("sync", &self.name))?;
        Ok(self.written)
    }
}

/// Which pages were found to be right.
#[derive(Debug)]
pub(crate) struct Checked {
    bits: Vec<AtomicU64>,
}

impl Checked {
    pub(crate) fn new(pages: usize) -> Self {
        Self { bits: (0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect() }
    }

    pub(crate) fn has(&self, page: usize) -> bool {
        self.bits.get(page / 64).is_some_and(|word| word.load(Ordering::Relaxed) >> (page % 64) & 1 == 1)
    }

    pub(crate) fn add(&self, page: usize) {
        if let Some(word) = self.bits.get(page / 64) {
            word.fetch_or(1 << (page % 64), Ordering::Relaxed);
        }
    }
}
