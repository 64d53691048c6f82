//! Frames whose contents follow from their number, and ways to write and read them.

use journal::simulated::SimulatedDisk;
use journal::{Chain, Disk, Durability, FRAME_OVERHEAD_BYTES, FRAMES_AT, Journal, Options, ReadError, Reader, Warning};
use std::sync::Arc;

/// The payload of a frame: of any length from 0 to 96 bytes, and different for every number above 0.
pub(crate) fn payload(number: u64) -> Vec<u8> {
    let length = (number * 37 % 97) as usize;
    (0..length).map(|index| (number as usize * 31 + index * 7) as u8).collect()
}

pub(crate) fn payloads(count: u64) -> Vec<Vec<u8>> {
    (0..count).map(payload).collect()
}

/// How long a segment gets that three or four frames fill.
pub(crate) const SHORT: u64 = FRAMES_AT + 200;

pub(crate) fn short_segments() -> Options {
    Options::default().segment_bytes(SHORT)
}

/// Where the first frames of a journal of such segments lie, worked out from lengths alone: their segment, their first byte and the first behind
/// them. There are fewer than a block of them.
pub(crate) fn places(frames: u64, segment_bytes: u64) -> Vec<(u64, std::ops::Range<u64>)> {
    let (mut segment, mut offset) = (0, FRAMES_AT);
    let mut place = |number| {
        if offset > FRAMES_AT && offset >= segment_bytes {
            (segment, offset) = (number, FRAMES_AT);
        }
        let from = offset;
        offset += FRAME_OVERHEAD_BYTES + payload(number).len() as u64;
        // The frame that ends a segment ends a block with it.
        offset += if offset >= segment_bytes { Chain::BYTES as u64 } else { 0 };
        (segment, from..offset)
    };
    (0..frames).map(&mut place).collect()
}

pub(crate) fn shared(disk: &SimulatedDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

pub(crate) fn open(disk: &SimulatedDisk, options: &Options) -> (Journal, Vec<Warning>) {
    Journal::open(shared(disk), options.clone()).expect("the journal opens")
}

/// Opens a journal that has nothing to complain of.
pub(crate) fn open_clean(disk: &SimulatedDisk, options: &Options) -> Journal {
    let (journal, warnings) = open(disk, options);
    assert_eq!(warnings, []);
    journal
}

/// Appends the frames of these numbers, one by one.
pub(crate) fn append(journal: &Journal, numbers: std::ops::Range<u64>, durability: Durability) {
    for number in numbers {
        journal.append(&payload(number), durability).unwrap();
    }
}

/// A closed journal of that many frames.
pub(crate) fn written(frames: u64, options: &Options) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, options);
    append(&journal, 0..frames, Durability::Os);
    journal.close().unwrap();
    disk
}

/// The frames that can be read, and how reading ended.
pub(crate) fn read(disk: &SimulatedDisk) -> (Vec<Vec<u8>>, Result<(), ReadError>) {
    let mut found = Vec::new();
    let ended = read_into(disk, &mut found);
    (found, ended)
}

fn read_into(disk: &SimulatedDisk, found: &mut Vec<Vec<u8>>) -> Result<(), ReadError> {
    let mut reader = Reader::from_frame(shared(disk), 0)?;
    while let Some(frame) = reader.read_next()? {
        assert_eq!(frame.place.number, found.len() as u64);
        found.push(frame.payload.to_vec());
    }
    Ok(())
}

pub(crate) fn read_all(disk: &SimulatedDisk) -> Vec<Vec<u8>> {
    let (found, ended) = read(disk);
    ended.expect("the journal can be read to its end");
    found
}

/// The name of a segment's file.
pub(crate) fn segment(first: u64) -> String {
    format!("{first:020}.segment")
}
