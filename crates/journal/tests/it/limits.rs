//! The shortest and the longest frame, and what may be held back.

use crate::history::{open_clean, read_all, shared};
use journal::simulated::{Fate, SimulatedDisk};
use journal::{AppendError, Durability, FRAME_BYTES_MAX, FRAME_OVERHEAD_BYTES, FRAMES_AT, Journal, Options, Reader};

#[test]
fn frames_of_no_bytes_are_frames() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    for number in 0..5 {
        let place = journal.append(b"", Durability::Fsync).unwrap();
        assert_eq!(place.offset, FRAMES_AT + number * FRAME_OVERHEAD_BYTES);
    }
    journal.close().unwrap();
    assert_eq!(read_all(&disk), vec![Vec::<u8>::new(); 5]);
}

#[test]
fn the_longest_frame_is_kept_and_a_longer_one_refused() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default().segment_bytes(FRAMES_AT + 1000));
    journal.append(b"before", Durability::Os).unwrap();
    let longest: Vec<u8> = (0..FRAME_BYTES_MAX).map(|index| index as u8).collect();
    let place = journal.append(&longest, Durability::Fsync).unwrap();
    let after = journal.append(b"after", Durability::Fsync).unwrap();
    assert_eq!((place.segment, after.segment), (0, 2), "it ends its segment");
    let too_long = vec![0; FRAME_BYTES_MAX + 1];
    for durability in [Durability::None, Durability::Fsync] {
        let error = journal.append(&too_long, durability).unwrap_err();
        assert!(matches!(error, AppendError::TooLong { bytes } if bytes == FRAME_BYTES_MAX + 1));
    }
    let batch = [b"short".to_vec(), too_long];
    assert!(matches!(journal.append_all(&batch, Durability::None), Err(AppendError::TooLong { .. })));
    assert_eq!(journal.progress().appended, 3, "a refused frame or batch leaves nothing, and does not poison");
    journal.append(b"still open", Durability::Fsync).unwrap();
    drop(journal);
    let survivor = disk.power_loss(Fate::Drop, 0);
    let (journal, _) = Journal::open(shared(&survivor), Options::default()).unwrap();
    assert_eq!(journal.progress().appended, 4);
    let mut reader = Reader::from_frame(shared(&survivor), 1).unwrap();
    assert!(reader.read_next().unwrap().unwrap().payload == longest);
}

#[test]
fn what_is_held_back_is_bounded() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default().buffer_bytes(10_000));
    for _ in 0..1000 {
        journal.append(&[1; 100], Durability::None).unwrap();
        let progress = journal.progress();
        assert!((progress.appended - progress.written) * (100 + FRAME_OVERHEAD_BYTES) <= 10_000 + 164);
    }
    assert_eq!(disk.syncs(), 1, "only the segment was synced, when it was made");
    assert!(journal.progress().written > 900);
}

#[test]
fn numbers_and_places_say_where_frames_lie() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    let places = journal.append_all(&[&b"a"[..], b"bc", b""], Durability::Os).unwrap();
    let places: Vec<(u64, u64, u64)> = places.iter().map(|place| (place.number, place.segment, place.offset)).collect();
    assert_eq!(places, [(0, 0, 12288), (1, 0, 12321), (2, 0, 12355)]);
    assert!(journal.append_all::<&[u8]>(&[], Durability::Fsync).unwrap().is_empty());
}
