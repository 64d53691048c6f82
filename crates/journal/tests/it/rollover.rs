//! Segments end where they are told to, and a journal reads the same wherever that is.

use crate::history::{open_clean, payload, payloads, read_all, segment, shared, written};
use journal::simulated::SimulatedDisk;
use journal::{Durability, FRAME_OVERHEAD_BYTES, FRAMES_AT, Identity, Journal, OpenError, Options, verify};

const FRAMES: u64 = 12;

/// Where segments must begin, worked out from lengths alone.
fn expected_segments(segment_bytes: u64) -> Vec<u64> {
    let (mut segments, mut offset) = (vec![0], FRAMES_AT);
    for number in 0..FRAMES {
        let frame = FRAME_OVERHEAD_BYTES + payload(number).len() as u64;
        if offset > FRAMES_AT && offset + frame > segment_bytes {
            segments.push(number);
            offset = FRAMES_AT;
        }
        offset += frame;
    }
    segments
}

#[test]
fn segments_roll_over_at_every_size() {
    let chain = verify(shared(&written(FRAMES, &Options::default()))).unwrap().chain;
    for segment_bytes in (0..3).chain(FRAMES_AT..FRAMES_AT + 1500) {
        let disk = written(FRAMES, &Options::default().segment_bytes(segment_bytes));
        let expected: Vec<String> = expected_segments(segment_bytes).into_iter().map(segment).collect();
        assert_eq!(disk.names(), expected, "{segment_bytes}");
        assert_eq!(read_all(&disk), payloads(FRAMES));
        assert_eq!(verify(shared(&disk)).unwrap().chain, chain, "the chain does not depend on segments");
    }
}

#[test]
fn every_sitting_may_have_another_size() {
    let disk = SimulatedDisk::new();
    for number in 0..FRAMES {
        let options = Options::default().segment_bytes(FRAMES_AT + number * 53 % 400);
        let journal = open_clean(&disk, &options);
        journal.append(&payload(number), Durability::None).unwrap();
        journal.close().unwrap();
    }
    assert_eq!(read_all(&disk), payloads(FRAMES));
}

#[test]
fn a_batch_may_cross_segments() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default().segment_bytes(FRAMES_AT + 200));
    journal.append_all(&payloads(FRAMES), Durability::Fsync).unwrap();
    assert!(disk.names().len() > 3);
    assert_eq!(read_all(&disk), payloads(FRAMES));
}

#[test]
fn a_journal_keeps_its_identity() {
    let disk = SimulatedDisk::new();
    let mine = Identity(*b"0123456789abcdef");
    let options = Options::default().segment_bytes(0);
    open_clean(&disk, &options.clone().identity(mine)).append_all(&payloads(3), Durability::Os).unwrap();
    assert_eq!(open_clean(&disk, &options).identity(), mine);
    assert_eq!(open_clean(&disk, &options.clone().identity(mine)).progress().appended, 3);
    let other = Journal::open(shared(&disk), options.identity(Identity([1; 16])));
    assert!(matches!(other, Err(OpenError::WrongIdentity { found }) if found == mine));
    assert_eq!(verify(shared(&disk)).unwrap().identity, mine);
}
