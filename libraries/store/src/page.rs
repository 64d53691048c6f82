//! The pages of a run: written once, each with a checksum, and checked when they are first read.
//!
//! A checksum starts from a salt, which is made of the store's identity and the name of the file, and from the number of the page:
//! a page of another file, or from another place, is not taken for the one asked for.

use crate::error::Failure;
use crc32c::{crc32c, crc32c_append};
use journal::{Disk, DiskFile, Identity};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;

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

/// How much is written before it is taken to the disk, in bytes, if that is not left for the end.
const AHEAD_BYTES: u64 = 4 << 20;

/// When a file that is being written is taken to the disk before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ahead {
    Never,
    /// By the thread that writes, so that others who want something of the disk meanwhile wait for little.
    InSteps,
    /// By a thread of its own, so that making pages and writing them overlap.
    Beside,
}

/// A thread that takes a file to the disk when it is told to.
struct Syncer {
    due: SyncSender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl Syncer {
    fn start(file: Arc<dyn DiskFile>) -> io::Result<Self> {
        let (due, dues) = mpsc::sync_channel(1);
        let work = move || dues.iter().try_for_each(|()| file.sync());
        let thread = std::thread::Builder::new().name("store-sync".to_owned()).spawn(work)?;
        Ok(Self { due, thread })
    }

    /// Returns at once. If the thread is told already, or has failed, there is nothing to be said.
    fn tell(&self) {
        let _ = self.due.try_send(());
    }

    fn finish(self) -> io::Result<()> {
        drop(self.due);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that syncs has panicked")))
    }
}

/// A file that is written from its beginning to its end.
pub(crate) struct PageWriter {
    file: Arc<dyn DiskFile>,
    ahead: Ahead,
    syncer: Option<Syncer>,
    /// How much was written since the file was last taken to the disk.
    unsynced: u64,
    name: String,
    salt: Salt,
    buffer: Vec<u8>,
    written: u64,
    sums: Vec<u32>,
}

impl PageWriter {
    pub(crate) fn create(disk: &dyn Disk, name: &str, salt: Salt, ahead: Ahead) -> Result<Self, Failure> {
        let file = Arc::from(disk.create(name).map_err(Failure::of("create", name))?);
        let (name, buffer, sums) = (name.to_owned(), Vec::new(), Vec::new());
        Ok(Self { file, ahead, syncer: None, unsynced: 0, name, salt, buffer, written: 0, sums })
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
        self.unsynced += self.buffer.len() as u64;
        self.buffer.clear();
        if self.unsynced >= AHEAD_BYTES { self.sync_ahead() } else { Ok(()) }
    }

    fn sync_ahead(&mut self) -> Result<(), Failure> {
        self.unsynced = 0;
        match self.ahead {
            Ahead::Never => Ok(()),
            Ahead::InSteps => self.file.sync().map_err(Failure::of("sync", &self.name)),
            Ahead::Beside => {
                if self.syncer.is_none() {
                    let started = Syncer::start(self.file.clone());
                    self.syncer = Some(started.map_err(Failure::of("start a thread for", &self.name))?);
                }
                self.syncer.iter().for_each(Syncer::tell);
                Ok(())
            }
        }
    }

    /// Makes the file durable; its name is the caller's to sync.
    pub(crate) fn finish(mut self) -> Result<u64, Failure> {
        self.flush_if(0)?;
        self.syncer.take().map_or(Ok(()), Syncer::finish).map_err(Failure::of("sync", &self.name))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use journal::simulated::{Fault, SimulatedDisk};

    /// Writes three times as much as is left to the system; how often the file was synced.
    fn write(disk: &SimulatedDisk, ahead: Ahead) -> Result<u64, Failure> {
        let before = disk.syncs();
        let salt = Salt::new(Identity::default(), "a.run");
        let mut out = PageWriter::create(disk, "a.run", salt, ahead)?;
        for page in 0..3 * AHEAD_BYTES / PAGE_BYTES as u64 {
            out.push_pages(&page.to_le_bytes())?;
        }
        let bytes = out.finish()?;
        assert_eq!(bytes, 3 * AHEAD_BYTES);
        Ok(disk.syncs() - before)
    }

    #[test]
    fn a_file_is_the_same_whenever_it_is_synced() {
        let disk = SimulatedDisk::new();
        assert_eq!(write(&disk, Ahead::Never).unwrap(), 1);
        let expected = disk.contents("a.run");
        assert_eq!(write(&disk, Ahead::InSteps).unwrap(), 4);
        assert!(disk.contents("a.run") == expected);
        assert!((2..=4).contains(&write(&disk, Ahead::Beside).unwrap()));
        assert!(disk.contents("a.run") == expected);
        let left = disk.power_loss(journal::simulated::Fate::Drop, 0);
        assert!(left.contents("a.run").is_none(), "its name is the caller's to sync");
    }

    #[test]
    fn a_sync_that_fails_is_told_whoever_made_it() {
        for ahead in [Ahead::Never, Ahead::InSteps, Ahead::Beside] {
            let disk = SimulatedDisk::new();
            write(&disk, ahead).unwrap();
            let first = disk.trace().iter().position(|line| line.starts_with("sync a")).unwrap() as u64;
            let disk = SimulatedDisk::new();
            // Beside it, writes may come before the sync or after it: one of them fails then, which is told as well.
            disk.schedule(first, Fault::Broken);
            assert!(write(&disk, ahead).is_err(), "{ahead:?}");
        }
    }
}
