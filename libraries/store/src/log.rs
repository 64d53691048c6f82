//! The log of batches: a journal for each memtable, under names of its own in the store's folder.
//!
//! 1. The log with number N lies in the files `log-N.*`. A new memtable gets a new log, with the next number; when the memtable
//!    is in runs, and the manifest says so, the log is removed. Numbers are never used again.
//! 2. A batch has a sequence number, one more than the batch before it, in whichever log. It is one frame, or several in a row
//!    if it is long; it counts when the last is there.
//! 3. When the store is opened, the batches that are in no run are read back. A number that is missing is damage.

use crate::error::{Damage, OpenError};
use crate::fields::{take_u32, take_u64};
use journal::{
    Access, AppendError, Disk, DiskFile, Durability, FRAME_BYTES_MAX, Identity, Journal, Options, ReadError, Reader,
    Warning,
};
use std::io;
use std::sync::Arc;

/// Sequence number, part, number of parts.
const PART_HEADER_BYTES: usize = 16;
/// How much of a batch a frame takes.
const PART_BYTES_MAX: usize = FRAME_BYTES_MAX - PART_HEADER_BYTES;
const PREFIX: &str = "log-";
const NUMBER_DIGITS: usize = 20;

/// The files of a folder whose names begin with a prefix, without it.
struct PrefixedDisk {
    disk: Arc<dyn Disk>,
    prefix: String,
}

impl PrefixedDisk {
    fn name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

impl Disk for PrefixedDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let names = self.disk.list()?;
        Ok(names.iter().filter_map(|name| name.strip_prefix(&self.prefix)).map(str::to_owned).collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.disk.create(&self.name(name))
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Box<dyn DiskFile>> {
        self.disk.open(&self.name(name), access)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(&self.name(from), &self.name(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(&self.name(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        self.disk.sync_names()
    }
}

fn prefix(number: u64) -> String {
    format!("{PREFIX}{number:0NUMBER_DIGITS$}.")
}

/// The number of the log that a file belongs to; none for other files.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    let (digits, _) = name.strip_prefix(PREFIX)?.split_at_checked(NUMBER_DIGITS)?;
    if digits.bytes().all(|digit| digit.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// The files of one log, as a disk of its own.
pub(crate) fn disk_of(disk: &Arc<dyn Disk>, number: u64) -> Arc<dyn Disk> {
    Arc::new(PrefixedDisk { disk: disk.clone(), prefix: prefix(number) })
}

/// The identity of a log: the store's, and the number.
fn identity_of(store: Identity, number: u64) -> Identity {
    let mut bytes = store.0;
    for (byte, part) in bytes[8..].iter_mut().zip(number.to_le_bytes()) {
        *byte ^= part;
    }
    Identity(bytes)
}

/// Opens a log for appending, or makes it.
pub(crate) fn open(
    disk: &Arc<dyn Disk>,
    store: Identity,
    number: u64,
) -> Result<(Journal, Vec<Warning>), journal::OpenError> {
    // One segment: beginning another would make the commit wait that comes with it.
    let options = Options::default().segment_bytes(u64::MAX);
    Journal::open(disk_of(disk, number), options.identity(identity_of(store, number)))
}

/// Appends a batch; nobody waits for the disk.
pub(crate) fn append(log: &Journal, sequence: u64, batch: &[u8]) -> Result<(), AppendError> {
    let parts = batch.len().div_ceil(PART_BYTES_MAX).max(1) as u32;
    let frame = |part: u32| {
        let from = part as usize * PART_BYTES_MAX;
        let bytes = &batch[from..batch.len().min(from + PART_BYTES_MAX)];
        let mut frame = Vec::with_capacity(PART_HEADER_BYTES + bytes.len());
        frame.extend_from_slice(&sequence.to_le_bytes());
        frame.extend_from_slice(&part.to_le_bytes());
        frame.extend_from_slice(&parts.to_le_bytes());
        frame.extend_from_slice(bytes);
        frame
    };
    if parts == 1 {
        return log.append(&frame(0), Durability::None).map(drop);
    }
    (0..parts).try_for_each(|part| log.append(&frame(part), Durability::None).map(drop))
}

/// The batches of a log, in order, those that are complete. A log that is not there has none.
pub(crate) fn read(
    disk: &Arc<dyn Disk>,
    number: u64,
    mut call: impl FnMut(u64, &[u8]) -> Result<(), OpenError>,
) -> Result<(), OpenError> {
    let mut reader = match Reader::from_frame(disk_of(disk, number), 0) {
        Ok(reader) => reader,
        Err(ReadError::Empty | ReadError::NoSuchFrame { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let name = format!("{}segment", prefix(number));
    let mut batch = Assembly::default();
    while let Some(frame) = reader.read_next()? {
        let offset = frame.place.offset;
        let damaged = |what: &str| OpenError::from(Damage::new(&name, offset, what));
        let Some(part) = Part::decode(frame.payload) else { return Err(damaged("a frame is not a part of a batch")) };
        // Most batches have one part, which need not be put together.
        if part.parts == 1 {
            batch = Assembly::default();
            call(part.sequence, part.bytes)?;
            continue;
        }
        if !batch.add(&part) {
            return Err(damaged("a part of a batch is missing"));
        }
        if batch.is_complete() {
            call(batch.sequence, &batch.bytes)?;
        }
    }
    Ok(())
}

/// A frame of a log.
struct Part<'a> {
    sequence: u64,
    part: u32,
    parts: u32,
    bytes: &'a [u8],
}

impl<'a> Part<'a> {
    fn decode(mut payload: &'a [u8]) -> Option<Self> {
        let sequence = take_u64(&mut payload)?;
        let part = take_u32(&mut payload)?;
        let parts = take_u32(&mut payload)?;
        (part < parts).then_some(Self { sequence, part, parts, bytes: payload })
    }
}

/// A batch that is put together of its parts.
#[derive(Default)]
struct Assembly {
    sequence: u64,
    next: u32,
    parts: u32,
    bytes: Vec<u8>,
}

impl Assembly {
    /// Takes a part; whether it is the next one, or the first of another batch. A crash leaves a batch without its end: the next
    /// one has its number.
    fn add(&mut self, part: &Part<'_>) -> bool {
        if part.part == 0 {
            *self =
                Self { sequence: part.sequence, parts: part.parts, next: 0, bytes: std::mem::take(&mut self.bytes) };
            self.bytes.clear();
        } else if (part.sequence, part.part, part.parts) != (self.sequence, self.next, self.parts) {
            return false;
        }
        self.next = part.part + 1;
        self.bytes.extend_from_slice(part.bytes);
        true
    }

    fn is_complete(&self) -> bool {
        self.next == self.parts
    }
}

/// Removes the files of all logs below a number.
pub(crate) fn remove_below(disk: &Arc<dyn Disk>, number: u64) -> io::Result<()> {
    remove_those(disk, |found| found < number)
}

/// Removes the files of a log.
pub(crate) fn remove(disk: &Arc<dyn Disk>, number: u64) -> io::Result<()> {
    remove_those(disk, |found| found == number)
}

fn remove_those(disk: &Arc<dyn Disk>, is_old: impl Fn(u64) -> bool) -> io::Result<()> {
    let names = disk.list()?;
    let old = names.iter().filter(|name| number_of(name).is_some_and(&is_old));
    old.map(|name| disk.remove(name)).fold(Ok(()), Result::and)
}
