//! How often the disk is asked to sync: exact counts, which do not depend on the machine. Another count than expected ends
//! the suite.
//!
//! So that the count of the threads is exact, their first sync is held up until all of them have appended.

use super::{SUITE, payload};
use crate::Rows;
use crate::row::{Ratio, Row};
use journal::{Access, Disk, DiskFile, Durability, Journal, MemoryDisk, Options};
use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

const RECORDS: u64 = 64;
const PAYLOAD_BYTES: usize = 96;
const PEER: &str = "fdatasync() a record";

pub(crate) fn cases() -> Rows {
    Ok(vec![
        row("fsyncs, 64 durable appends, 1 thread", one_by_one()?, 64)?,
        row("fsyncs, 64 durable appends, 64 threads", by_threads()?, 2)?,
        row("fsyncs, 64 durable frames in a batch", as_batch()?, 1)?,
        row("fsyncs, 64 appends, then a sync", with_one_sync()?, 1)?,
    ])
}

fn row(name: &str, counted: u64, expected: u64) -> Result<Row, Box<dyn Error>> {
    if counted != expected {
        return Err(format!("{name}: {counted}, but {expected} is the promise").into());
    }
    let (ours, peer_figure) = (counted as f64, RECORDS as f64);
    let ratio = peer_figure / ours;
    Ok(Row {
        suite: SUITE,
        case: name.to_owned(),
        n: RECORDS,
        ours: Some(ours),
        peer: PEER,
        peer_figure: Some(peer_figure),
        ratio: Some(Ratio { median: ratio, min: ratio, max: ratio }),
        rounds: 1,
        unit: Some("fsyncs"),
        note: "an exact count, the same on every machine".to_owned(),
    })
}

fn one_by_one() -> Result<u64, Box<dyn Error>> {
    let (disk, journal) = fresh()?;
    counted(&disk, || {
        for number in 0..RECORDS {
            journal.append(&payload(number, PAYLOAD_BYTES), Durability::Fsync)?;
        }
        Ok(())
    })
}

fn by_threads() -> Result<u64, Box<dyn Error>> {
    let (disk, journal) = fresh()?;
    let _ = disk.held_until.set((Arc::downgrade(&journal), RECORDS));
    counted(&disk, || {
        std::thread::scope(|scope| {
            for number in 0..RECORDS {
                let journal = &journal;
                scope.spawn(move || journal.append(&payload(number, PAYLOAD_BYTES), Durability::Fsync));
            }
        });
        if journal.progress().synced == RECORDS { Ok(()) } else { Err("not everything is durable".into()) }
    })
}

fn as_batch() -> Result<u64, Box<dyn Error>> {
    let (disk, journal) = fresh()?;
    let payloads: Vec<Vec<u8>> = (0..RECORDS).map(|number| payload(number, PAYLOAD_BYTES)).collect();
    counted(&disk, || Ok(journal.append_all(&payloads, Durability::Fsync).map(drop)?))
}

fn with_one_sync() -> Result<u64, Box<dyn Error>> {
    let (disk, journal) = fresh()?;
    counted(&disk, || {
        for number in 0..RECORDS {
            journal.append(&payload(number, PAYLOAD_BYTES), Durability::None)?;
        }
        Ok(journal.sync(Durability::Fsync)?)
    })
}

fn fresh() -> Result<(Arc<CountingDisk>, Arc<Journal>), Box<dyn Error>> {
    let disk = Arc::new(CountingDisk::default());
    let (journal, _) = Journal::open(disk.clone(), Options::default())?;
    Ok((disk, Arc::new(journal)))
}

fn counted(disk: &CountingDisk, work: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<u64, Box<dyn Error>> {
    let before = disk.syncs.load(Ordering::SeqCst);
    work()?;
    Ok(disk.syncs.load(Ordering::SeqCst) - before)
}

/// A disk in memory that counts how often a file is synced.
#[derive(Default)]
struct CountingDisk {
    files: MemoryDisk,
    syncs: Arc<AtomicU64>,
    held_until: Arc<OnceLock<Hold>>,
}

/// No sync ends before this journal has this many frames.
type Hold = (Weak<Journal>, u64);

struct CountingFile {
    file: Box<dyn DiskFile>,
    syncs: Arc<AtomicU64>,
    held_until: Arc<OnceLock<Hold>>,
}

impl CountingDisk {
    fn counting(&self, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(CountingFile { file, syncs: self.syncs.clone(), held_until: self.held_until.clone() })
    }
}

impl Disk for CountingDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        self.files.list()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.counting(self.files.create(name)?))
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.counting(self.files.open(name, access)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.files.sync_names()
    }
}

impl DiskFile for CountingFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.file.set_length(length)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, into)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        if let Some((journal, frames)) = self.held_until.get() {
            while journal.upgrade().is_some_and(|journal| journal.progress().appended < *frames) {
                std::thread::yield_now();
            }
        }
        self.file.sync()
    }
}
