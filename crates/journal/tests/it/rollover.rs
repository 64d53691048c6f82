//! Segments end where they are told to, and a journal reads the same wherever that is.

use crate::history::{open_clean, payload, payloads, places, read_all, segment, shared, written};
use journal::simulated::SimulatedDisk;
use journal::{Durability, FRAMES_AT, Identity, Journal, OpenError, Options, verify};

const FRAMES: u64 = 12;

#[test]
fn segments_roll_over_at_every_size() {
    let long = written(FRAMES, &Options::default());
    for segment_bytes in (0..3).chain(FRAMES_AT..FRAMES_AT + 1500) {
        let options = Options::default().segment_bytes(segment_bytes);
        let disk = written(FRAMES, &options);
        let mut expected: Vec<String> =
            places(FRAMES, segment_bytes).into_iter().map(|(first, _)| segment(first)).collect();
        expected.dedup();
        assert_eq!(disk.names(), expected, "{segment_bytes}");
        assert_eq!(read_all(&disk), payloads(FRAMES));
        let chain = verify(shared(&disk)).unwrap().chain;
        assert!(chain.is_some() && chain == verify(shared(&written(FRAMES, &options))).unwrap().chain);
        let is_one = disk.names().len() == 1;
        assert_eq!(chain == verify(shared(&long)).unwrap().chain, is_one, "the chain depends on where segments end");
    }
}

/// The file grows in steps, and is as long as its frames when the segment or the journal ends.
#[test]
fn room_is_made_in_steps_and_given_up() {
    let room = |bytes: u64| Options::default().segment_bytes(FRAMES_AT + 2000).room_bytes(bytes);
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &room(1000));
    let mut lengths = Vec::new();
    for number in 0..8 {
        journal.append(&payload(number), Durability::Fsync).unwrap();
        lengths.push(disk.contents(&segment(0)).unwrap().len());
    }
    let steps = lengths.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(lengths[0] as u64 > FRAMES_AT + 1000 && steps < 3, "{lengths:?}");
    assert_eq!(read_all(&disk), payloads(8));
    assert_eq!(verify(shared(&disk)).unwrap().warnings, []);
    // As after a kill: what is not used is cut, and nothing is said of it.
    drop(journal);
    let journal = open_clean(&disk, &room(1000));
    for number in 8..60 {
        journal.append(&payload(number), Durability::Fsync).unwrap();
    }
    journal.close().unwrap();
    let plain = written(60, &room(0));
    assert!(disk.names().len() > 2 && disk.names() == plain.names());
    for name in disk.names() {
        assert_eq!(disk.contents(&name).unwrap().len(), plain.contents(&name).unwrap().len(), "{name}");
    }
    assert_eq!(read_all(&disk), payloads(60));
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
