//! Bytes that are said to be a store: the files of a good one, changed.
//!
//! 1. A small store is made, once. The input changes some bytes of its files: which file, where, to what.
//! 2. Checksums would stop everything, so those of the manifest and of runs are put right.
//! 3. The store is opened for reading and read in every way, verified, and salvaged. Whatever the bytes are, all of this ends, with an
//!    error or with entries.
//!
//! This file is compiled by the fuzz target and by the tests of the store, which run it on inputs of their own.

use crc32c::{crc32c, crc32c_append};
use journal::{Access, Disk, DiskFile, MemoryDisk};
use std::sync::{Arc, OnceLock};
use store::{
    Batch, Compression, Durability, KeyShape, Keyspace, Maintenance, Options, ReadError, Snapshot, Store, salvage,
};

const PAGE_BYTES: usize = 4096;
const FOOTER_BYTES: usize = 256;
/// Which file (1 byte), where (3 bytes, from the end if the highest bit is set), what (1 byte).
const CHANGE_BYTES: usize = 5;

/// Changes a store and reads it; whether it could be opened.
pub(crate) fn run(bytes: &[u8]) -> bool {
    let mut files = good().clone();
    for change in bytes.chunks_exact(CHANGE_BYTES) {
        let count = files.len();
        let (_, content) = &mut files[usize::from(change[0]) % count];
        let place = (usize::from(change[1] & 0x7f) << 16) | (usize::from(change[2]) << 8) | usize::from(change[3]);
        let place = place % content.len();
        let place = if change[1] & 0x80 == 0 { place } else { content.len() - 1 - place };
        content[place] = change[4];
    }
    let disk = Arc::new(MemoryDisk::new());
    for (name, content) in &mut files {
        put_checksums_right(name, content);
        let file = disk.create(name).expect("memory has room");
        file.write_full(0, content).expect("memory has room");
    }
    let disk: Arc<dyn Disk> = disk;
    let opened = Store::open_read_only_on(disk.clone());
    if let Ok(snapshot) = &opened {
        for known in snapshot.keyspaces() {
            // Damage is an answer.
            let _ = look_at(snapshot, known.keyspace);
        }
        let _ = (snapshot.verify(), snapshot.stats(), snapshot.backup_to(&MemoryDisk::new()));
    }
    let options = Options::default().maintenance(Maintenance::Inline);
    let to = Store::create_on(Arc::new(MemoryDisk::new()), options).expect("memory has room");
    let _ = salvage(&disk, &to);
    opened.is_ok()
}

fn look_at(snapshot: &Snapshot, keyspace: Keyspace) -> Result<(), ReadError> {
    let keys = (0..40_u64).map(|key| (key << 3).to_be_bytes());
    for key in keys {
        let _ = (
            snapshot.get(keyspace, key),
            snapshot.seek(keyspace, key),
            snapshot.get(keyspace, format!("word {key:?}")),
        );
    }
    let mut range = snapshot.all(keyspace)?;
    while range.next()?.is_some() {}
    let mut range = snapshot.range(keyspace, 5_u64.to_be_bytes()..)?;
    while range.next_back()?.is_some() {}
    Ok(())
}

/// The files of a store with runs of both levels and with batches that are in the log only.
fn good() -> &'static Vec<(String, Vec<u8>)> {
    static GOOD: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    GOOD.get_or_init(|| {
        let disk = Arc::new(MemoryDisk::new());
        let options = Options::default().maintenance(Maintenance::Inline);
        let store = Store::create_on(disk.clone(), options).expect("memory has room");
        let numbers = store.keyspace("numbers", KeyShape::Fixed(8)).expect("memory has room");
        let words = store.keyspace("words", KeyShape::Bytes).expect("memory has room");
        let packed = store.keyspace_with("packed", KeyShape::Fixed(8), Compression::Lz4).expect("memory has room");
        for round in 0..3_u64 {
            let mut batch = Batch::new();
            for key in 0..300 / (round + 1) {
                batch.put(numbers, ((key * key) << 3).to_be_bytes(), [round as u8; 60]);
                batch.put(packed, (key << 3).to_be_bytes(), [round as u8; 60]);
                batch.put(words, format!("word {key} of round {round}"), [round as u8; 50]);
            }
            batch.put(words, "long", vec![7; 9000]);
            batch.delete(words, format!("word 3 of round {}", round / 2));
            store.commit(&batch, Durability::Os).expect("memory has room");
            match round {
                0 => store.compact().expect("memory has room"),
                1 => store.flush().expect("memory has room"),
                _ => {}
            }
        }
        drop(store);
        let mut names = disk.list().expect("memory can be read");
        names.sort();
        names.into_iter().map(|name| (name.clone(), content(&*disk, &name))).collect()
    })
}

fn content(disk: &dyn Disk, name: &str) -> Vec<u8> {
    let file: Box<dyn DiskFile> = disk.open(name, Access::Read).expect("memory can be read");
    let mut bytes = vec![0; file.length().expect("memory can be read") as usize];
    file.read_full(0, &mut bytes).expect("memory can be read");
    bytes
}

fn put_checksums_right(name: &str, bytes: &mut [u8]) {
    if name == "MANIFEST" {
        put_last_right(bytes, crc32c);
    } else if name.ends_with(".run") {
        put_run_right(name, bytes);
    }
}

/// Writes the checksum of all before into the last four bytes.
fn put_last_right(bytes: &mut [u8], checksum: impl Fn(&[u8]) -> u32) {
    let (fields, sum) = bytes.split_at_mut(bytes.len() - 4);
    sum.copy_from_slice(&checksum(fields).to_le_bytes());
}

fn put_run_right(name: &str, bytes: &mut [u8]) {
    let salt = crc32c_append(crc32c(&[0; 16]), name.as_bytes());
    let checksum = |place: u64, bytes: &[u8]| crc32c_append(crc32c_append(salt, &place.to_le_bytes()), bytes);
    put_last_right(&mut bytes[..64], crc32c);
    let footer_at = bytes.len() - FOOTER_BYTES;
    let number =
        |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[footer_at + at..][..8].try_into().expect("eight bytes"));
    let (end, sums_at) = (number(bytes, 48) as usize, number(bytes, 152) as usize);
    // Where the footer does not say where things lie, its own checksum is enough.
    if end <= sums_at
        && sums_at <= footer_at
        && end.is_multiple_of(PAGE_BYTES)
        && footer_at - sums_at == end / PAGE_BYTES * 4
    {
        for page in 0..end / PAGE_BYTES {
            let sum = checksum(page as u64, &bytes[page * PAGE_BYTES..][..PAGE_BYTES]);
            bytes[sums_at + 4 * page..][..4].copy_from_slice(&sum.to_le_bytes());
        }
        let (index, sums) =
            (checksum(end as u64, &bytes[end..sums_at]), checksum(sums_at as u64, &bytes[sums_at..footer_at]));
        bytes[footer_at + 168..][..4].copy_from_slice(&index.to_le_bytes());
        bytes[footer_at + 172..][..4].copy_from_slice(&sums.to_le_bytes());
    }
    put_last_right(&mut bytes[footer_at..], |fields| checksum(u64::MAX, fields));
}
