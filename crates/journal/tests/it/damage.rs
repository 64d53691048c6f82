//! Every byte is flipped, every length tried. What was synced is never lost in silence: each change is an error with the
//! right place, a warning, or provably harmless, and no reader ever gets a frame that was not written.
//!
//! Which is which, byte for byte:
//!
//! | where | on opening | reading | verifying |
//! |---|---|---|---|
//! | header fields, any segment | error | error | damage |
//! | a slot of the last segment | warning | nothing | warning |
//! | a slot of another | nothing (all of it is synced) | nothing | warning |
//! | padding of the three pages | nothing (never read) | nothing | nothing |
//! | a frame of the last segment | error | error there | damage there |
//! | a frame of another | error if in the last 32 bytes, else nothing | error there | damage there |

use crate::history::{
    SHORT, append, open, open_clean, payloads, places, read, read_all, segment, shared, short_segments, written,
};
use journal::simulated::{Fate, SimulatedDisk};
use journal::{
    Access, Damage, Disk, Durability, FRAME_OVERHEAD_BYTES, FRAMES_AT, Flaw, Journal, OpenError, Options, ReadError,
    Warning, salvage, verify,
};

const FRAMES: u64 = 8;
const HEADER_BYTES: u64 = 76;
const SLOTS: [std::ops::Range<u64>; 2] = [4096..4160, 8192..8256];

fn opened(disk: &SimulatedDisk) -> Result<Vec<Warning>, OpenError> {
    Journal::open(shared(disk), short_segments()).map(|(_, warnings)| warnings)
}

fn damage_of(error: &OpenError) -> &Damage {
    match error {
        OpenError::Damaged(damage) => damage,
        other => panic!("{other}"),
    }
}

/// Reading gives the true frames up to some point and then, unless that is the end, an error.
fn read_prefix(disk: &SimulatedDisk) -> (usize, Result<(), ReadError>) {
    let (found, ended) = read(disk);
    assert!(payloads(FRAMES).starts_with(&found), "a frame that was never written");
    assert!(ended.is_err() || found.len() as u64 == FRAMES, "a silent cut");
    (found.len(), ended)
}

/// Nothing changed as far as anybody can see.
fn assert_harmless(disk: &SimulatedDisk, context: &str) {
    assert_eq!(opened(&disk.duplicate()).unwrap(), [], "{context}");
    assert_eq!(read_prefix(disk).0 as u64, FRAMES, "{context}");
    let report = verify(shared(disk)).unwrap();
    assert!(report.is_sound() && report.warnings.is_empty(), "{context}: {report:?}");
}

fn assert_header_damaged(disk: &SimulatedDisk, name: &str, context: &str) {
    let error = opened(disk).unwrap_err();
    assert_eq!((damage_of(&error).segment.as_str(), damage_of(&error).offset), (name, 0), "{context}");
    assert!(read_prefix(disk).1.is_err(), "{context}");
    assert_eq!(verify(shared(disk)).unwrap().damage[0].damage.segment, name, "{context}");
}

fn assert_slot_damaged(disk: &SimulatedDisk, name: &str, slot: u64, is_last: bool, context: &str) {
    let expected = [Warning::SlotDamaged { segment: name.to_owned(), offset: slot }];
    let warnings = verify(shared(disk)).unwrap().warnings;
    assert_eq!(format!("{warnings:?}"), format!("{expected:?}"), "{context}");
    assert_eq!(read_prefix(disk).0 as u64, FRAMES, "{context}");
    let warnings = opened(&disk.duplicate()).unwrap();
    assert_eq!(warnings.as_slice(), if is_last { &expected[..] } else { &[] }, "{context}");
}

fn assert_frame_damaged(disk: &SimulatedDisk, name: &str, number: usize, frame: &std::ops::Range<u64>, context: &str) {
    let (found, ended) = read_prefix(disk);
    assert_eq!(found, number, "{context}");
    let Err(ReadError::Damaged(damage)) = ended else { panic!("{context}: {ended:?}") };
    assert_eq!((damage.segment.as_str(), damage.offset), (name, frame.start), "{context}");
    let report = verify(shared(disk)).unwrap();
    assert_eq!(report.damage[0].damage, damage, "{context}");
    assert_eq!(
        (report.frames, &report.damage[0].frames),
        (FRAMES - 1, &(number as u64..number as u64 + 1)),
        "{context}"
    );
}

#[test]
fn every_flipped_byte_is_found_or_harmless() {
    let disk = written(FRAMES, &short_segments());
    let firsts: Vec<u64> = disk.names().iter().map(|name| name[..20].parse().unwrap()).collect();
    assert!(firsts.len() > 2);
    let places = places(FRAMES, SHORT);
    for &first in &firsts {
        let name = segment(first);
        let is_last = first == *firsts.last().unwrap();
        let length = disk.contents(&name).unwrap().len() as u64;
        for offset in 0..length {
            let mask = 1 << (offset % 8);
            assert!(disk.flip(&name, offset, mask));
            let context = format!("byte {offset} of {name}");
            let frame = places.iter().position(|(within, frame)| *within == first && frame.contains(&offset));
            let slot = SLOTS.iter().find(|slot| slot.contains(&offset));
            match (frame, slot) {
                (Some(number), _) => {
                    let frame = &places[number].1;
                    assert_frame_damaged(&disk, &name, number, frame, &context);
                    let outcome = opened(&disk.duplicate());
                    if is_last {
                        assert_eq!(damage_of(&outcome.unwrap_err()).offset, frame.start, "{context}");
                    } else {
                        assert_eq!(outcome.is_err(), offset >= length - 32, "{context}");
                    }
                }
                (None, Some(slot)) => assert_slot_damaged(&disk, &name, slot.start, is_last, &context),
                (None, None) if offset < HEADER_BYTES => assert_header_damaged(&disk, &name, &context),
                // Padding is alike everywhere; a look at some of it is enough.
                (None, None) if offset % 61 == 0 => assert_harmless(&disk, &context),
                (None, None) => {}
            }
            disk.flip(&name, offset, mask);
        }
    }
}

#[test]
fn every_bit_of_the_last_segment_that_matters_is_found() {
    let disk = written(3, &Options::default());
    let length = disk.contents(&segment(0)).unwrap().len() as u64;
    for (offset, bit) in (FRAMES_AT..length).flat_map(|offset| (0..8).map(move |bit| (offset, bit))) {
        disk.flip(&segment(0), offset, 1 << bit);
        let error = opened(&disk).unwrap_err();
        assert!(damage_of(&error).offset <= offset);
        disk.flip(&segment(0), offset, 1 << bit);
    }
}

/// A copy of the disk with one file cut.
fn cut(disk: &SimulatedDisk, name: &str, length: u64) -> SimulatedDisk {
    let disk = disk.duplicate();
    disk.open(name, Access::Write).unwrap().set_length(length).unwrap();
    disk
}

#[test]
fn a_synced_journal_cut_at_any_byte_is_an_error() {
    let disk = written(FRAMES, &short_segments());
    let names = disk.names();
    for (index, name) in names.iter().enumerate() {
        for length in 0..disk.contents(name).unwrap().len() as u64 {
            if (HEADER_BYTES + 1..4000).contains(&length) || (4200..8000).contains(&length) {
                continue;
            }
            let cut = cut(&disk, name, length);
            let error = opened(&cut.duplicate()).unwrap_err();
            // A cut in the middle shows where the next segment does not continue it.
            let mut suspects = names[index..].iter().take(2);
            assert!(suspects.any(|suspect| *suspect == damage_of(&error).segment), "{length} of {name}: {error}");
            assert!(read_prefix(&cut).1.is_err(), "{length} of {name}");
            assert!(!verify(shared(&cut)).unwrap().is_sound(), "{length} of {name}");
        }
    }
}

/// A journal of three synced frames and three that were written only.
fn half_synced() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    append(&journal, 0..3, Durability::Os);
    journal.sync(Durability::Fsync).unwrap();
    append(&journal, 3..6, Durability::Os);
    drop(journal);
    disk
}

/// How long the first segment is without the zeros that it ends with.
fn without_zeros(disk: &SimulatedDisk, length: u64) -> u64 {
    let contents = disk.contents(&segment(0)).unwrap();
    contents[..length as usize].iter().rposition(|&byte| byte != 0).map_or(0, |last| last as u64 + 1)
}

#[test]
fn a_torn_tail_is_cut_with_a_warning_that_counts_its_bytes() {
    let disk = half_synced();
    let places = places(FRAMES, u64::MAX);
    let (synced, end) = (places[2].1.end, places[5].1.end);
    for length in 0..=end {
        let cut = cut(&disk, &segment(0), length);
        if length < synced {
            assert!(opened(&cut).is_err(), "{length}");
            continue;
        }
        let frames = places[..6].iter().filter(|(_, frame)| frame.end <= length).count();
        let kept = places[frames - 1].1.end;
        let bytes = without_zeros(&cut, length) - kept;
        let expected = Warning::TornTail { segment: segment(0), offset: kept, bytes };
        let expected = if length > kept { vec![expected] } else { vec![] };
        assert_eq!(verify(shared(&cut)).unwrap().warnings, expected, "{length}");
        assert_eq!(opened(&cut).unwrap(), expected, "{length}");
        assert_eq!(read_all(&cut), payloads(frames as u64), "{length}");
        assert_eq!(cut.contents(&segment(0)).unwrap().len() as u64, kept, "{length}");
    }
}

#[test]
fn a_flip_in_what_was_never_synced_cuts_there() {
    let disk = half_synced();
    let places = places(FRAMES, u64::MAX);
    for (number, offset) in (3..6).flat_map(|number| places[number].1.clone().map(move |offset| (number, offset))) {
        let flipped = disk.duplicate();
        flipped.flip(&segment(0), offset, 0x10);
        let (from, to) = (places[number].1.start, without_zeros(&flipped, places[5].1.end));
        let expected = Warning::TornTail { segment: segment(0), offset: from, bytes: to - from };
        assert_eq!(opened(&flipped).unwrap(), [expected], "{offset}");
        assert_eq!(read_all(&flipped), payloads(number as u64));
    }
}

#[test]
fn anything_behind_the_end_is_a_torn_tail() {
    for (bytes, tail) in [(1, 0xff), (1000, 1), (300_000, 0xee)] {
        let disk = written(3, &Options::default());
        let end = disk.contents(&segment(0)).unwrap().len() as u64;
        disk.open(&segment(0), Access::Write).unwrap().write_full(end, &vec![tail; bytes]).unwrap();
        let expected = Warning::TornTail { segment: segment(0), offset: end, bytes: bytes as u64 };
        assert_eq!(opened(&disk).unwrap(), [expected]);
        assert_eq!(read_all(&disk), payloads(3));
    }
}

#[test]
fn zeros_behind_the_end_are_room_and_are_cut() {
    for bytes in [1, 31, 32, 1000, 300_000] {
        let disk = written(3, &Options::default());
        let end = disk.contents(&segment(0)).unwrap().len() as u64;
        disk.open(&segment(0), Access::Write).unwrap().set_length(end + bytes).unwrap();
        assert_eq!(verify(shared(&disk)).unwrap().warnings, []);
        assert_eq!(opened(&disk).unwrap(), []);
        assert_eq!(disk.contents(&segment(0)).unwrap().len() as u64, end);
        assert_eq!(read_all(&disk), payloads(3));
    }
}

/// A payload holds frames of a longer journal, which say that more was synced; then it is torn.
#[test]
fn a_copy_of_frames_inside_a_payload_is_no_frame() {
    let other = SimulatedDisk::new();
    append(&open_clean(&other, &Options::default()), 0..20, Durability::Fsync);
    let frames = other.contents(&segment(0)).unwrap()[FRAMES_AT as usize..].to_vec();
    let disk = written(3, &Options::default());
    let journal = open_clean(&disk, &Options::default());
    journal.append(&[vec![0; 5000], frames].concat(), Durability::Os).unwrap();
    drop(journal);
    let end = disk.contents(&segment(0)).unwrap().len() as u64;
    let torn = cut(&disk, &segment(0), end - 1);
    torn.flip(&segment(0), places(FRAMES, u64::MAX)[2].1.end, 1);
    assert_eq!(opened(&torn).unwrap().len(), 1);
    assert_eq!(read_all(&torn), payloads(3));
}

#[test]
fn both_slots_damaged_is_an_error_that_says_so() {
    let disk = written(3, &Options::default());
    disk.flip(&segment(0), SLOTS[0].start, 1);
    disk.flip(&segment(0), SLOTS[1].start, 1);
    let error = opened(&disk).unwrap_err();
    assert_eq!((damage_of(&error).offset, damage_of(&error).flaw), (4096, Flaw::Slots));
    assert!(matches!(read(&disk).1, Err(ReadError::Damaged(damage)) if damage.flaw == Flaw::Slots));
    let saved = SimulatedDisk::new();
    assert_eq!(salvage(shared(&disk), shared(&saved), Options::default()).unwrap().frames, 3);
    assert_eq!(read_all(&saved), payloads(3));
}

#[test]
fn a_damaged_slot_is_written_anew() {
    for slot in &SLOTS {
        let disk = written(3, &Options::default());
        disk.flip(&segment(0), slot.start + 9, 0x80);
        let (journal, warnings) = open(&disk, &Options::default());
        assert_eq!(warnings.len(), 1);
        journal.append(b"x", Durability::Fsync).unwrap();
        journal.append(b"x", Durability::Fsync).unwrap();
        journal.close().unwrap();
        assert_eq!(opened(&disk).unwrap(), []);
    }
}

/// The last note was lost by a crash, as an unsynced note may be; but a later frame tells that more was synced.
#[test]
fn frames_tell_how_far_the_journal_was_synced_when_slots_do_not() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    append(&journal, 0..3, Durability::Fsync);
    let notes = disk.contents(&segment(0)).unwrap()[4096..12288].to_vec();
    append(&journal, 3..4, Durability::Fsync);
    append(&journal, 4..6, Durability::Os);
    drop(journal);
    disk.open(&segment(0), Access::Write).unwrap().write_full(4096, &notes).unwrap();
    let places = places(FRAMES, u64::MAX);
    let flipped = |number: usize| {
        let disk = disk.duplicate();
        disk.flip(&segment(0), places[number].1.start + 40, 1);
        disk
    };
    let error = opened(&flipped(3)).unwrap_err();
    assert_eq!(damage_of(&error).offset, places[3].1.start);
    assert_eq!(verify(shared(&flipped(3))).unwrap().damage.len(), 1);
    assert_eq!(opened(&flipped(4)).unwrap().len(), 1, "never synced, as far as anybody knows");
    assert_eq!(opened(&disk).unwrap(), []);
}

#[test]
fn a_segment_that_is_gone_is_missed() {
    let disk = written(12, &short_segments());
    let names = disk.names();
    for (index, name) in names.iter().enumerate() {
        let disk = disk.duplicate();
        disk.remove(name).unwrap();
        let error = opened(&disk).unwrap_err();
        assert_eq!((damage_of(&error).flaw, &damage_of(&error).segment), (Flaw::Missing, name), "{index}");
        let Err(ReadError::Damaged(damage)) = read(&disk).1 else { panic!("{name} is not missed") };
        assert_eq!(&damage, damage_of(&error));
        assert!(!verify(shared(&disk)).unwrap().is_sound(), "{name}");
    }
}

#[test]
fn segments_of_another_journal_are_refused() {
    let (mine, other) =
        (written(12, &short_segments()), written(12, &short_segments().identity(journal::Identity([1; 16]))));
    let name = mine.names()[1].clone();
    mine.put(&name, &other.contents(&name).unwrap());
    assert_eq!(damage_of(&opened(&mine).unwrap_err()).flaw, Flaw::Identity);
    let names = mine.names();
    mine.put(&name, &mine.contents(&names[2]).unwrap());
    assert_eq!(damage_of(&opened(&mine).unwrap_err()).flaw, Flaw::Name);
    mine.put(&name, b"");
    assert_eq!(damage_of(&opened(&mine).unwrap_err()).flaw, Flaw::Short);
    mine.put(&name, &[b'x'; 20_000]);
    assert_eq!(damage_of(&opened(&mine).unwrap_err()).flaw, Flaw::Magic);
}

/// Two journals of `frames` frames of 7 bytes each that differ in one frame; that of the second is put into the first, where its
/// checksums are right.
fn with_exchanged_frame(frames: usize, exchanged: usize, options: &Options) -> SimulatedDisk {
    let (mine, forged) = (SimulatedDisk::new(), SimulatedDisk::new());
    let mut place = None;
    for (disk, amount) in [(&mine, b"paid 10"), (&forged, b"paid 99")] {
        let journal = open_clean(disk, options);
        let mut payloads = vec![*b"a______"; frames];
        payloads[exchanged] = *amount;
        place = Some(journal.append_all(&payloads, Durability::Os).unwrap()[exchanged]);
        journal.close().unwrap();
    }
    let place = place.unwrap();
    let (from, to) = (place.offset as usize, (place.offset + FRAME_OVERHEAD_BYTES) as usize + 7);
    let bytes = forged.contents(&segment(place.segment)).unwrap()[from..to].to_vec();
    mine.open(&segment(place.segment), Access::Write).unwrap().write_full(from as u64, &bytes).unwrap();
    mine
}

fn assert_exchange_is_damage(disk: &SimulatedDisk, frames: usize, expected: &Damage) {
    assert!(matches!(read_counted(disk), (_, Err(ReadError::Damaged(damage))) if damage == *expected));
    let report = verify(shared(disk)).unwrap();
    assert_eq!((report.frames, report.damage.len()), (frames as u64, 1), "{report:?}");
    assert_eq!(report.damage[0].damage, *expected);
    let salvaged = salvage(shared(disk), shared(&SimulatedDisk::new()), Options::default()).unwrap();
    assert_eq!((salvaged.frames, salvaged.lost.len()), (frames as u64, 1));
}

/// How many frames can be read, and how that ends.
fn read_counted(disk: &SimulatedDisk) -> (usize, Result<(), ReadError>) {
    let (found, ended) = read(disk);
    (found.len(), ended)
}

/// Whoever exchanges a frame and mends its checksum is found by the chain: after the last block, by what the notes say of it.
#[test]
fn an_exchanged_frame_is_found() {
    let disk = with_exchanged_frame(3, 1, &Options::default());
    let end = FRAMES_AT + 3 * (FRAME_OVERHEAD_BYTES + 7);
    let expected = damage_of(&opened(&disk).unwrap_err()).clone();
    assert_eq!((expected.offset, expected.flaw), (end, Flaw::SlotMark));
    assert_exchange_is_damage(&disk, 3, &expected);
    assert_eq!(read_counted(&disk).0, 3, "what comes before the place where it is found can be read");
}

/// In a block that has ended, the frame that ends it tells.
#[test]
fn an_exchanged_frame_is_found_at_the_end_of_its_block() {
    const BLOCK_FRAMES: usize = (64_usize << 10).div_ceil(32 + 7);
    for exchanged in [0, 1_000, BLOCK_FRAMES - 2, BLOCK_FRAMES - 1, BLOCK_FRAMES, 2 * BLOCK_FRAMES - 2] {
        let disk = with_exchanged_frame(4_000, exchanged, &Options::default());
        let expected = damage_of(&opened(&disk).unwrap_err()).clone();
        let last = exchanged / BLOCK_FRAMES * BLOCK_FRAMES + BLOCK_FRAMES - 1;
        let offset = FRAMES_AT + last as u64 * (FRAME_OVERHEAD_BYTES + 7) + (last / BLOCK_FRAMES * 32) as u64;
        if exchanged == last {
            // The bytes put there lack the chain value, and so they are not the whole of a frame.
            assert_eq!((expected.offset, expected.flaw), (offset, Flaw::FrameChecksum));
            continue;
        }
        assert_eq!((expected.offset, expected.flaw), (offset, Flaw::Chain), "{exchanged}");
        assert_exchange_is_damage(&disk, 4_000, &expected);
        assert_eq!(read_counted(&disk).0, last);
    }
}

/// In a segment that another follows, the last frame tells, whoever reads it.
#[test]
fn an_exchanged_frame_of_an_old_segment_is_found_when_it_is_read() {
    let disk = with_exchanged_frame(12, 2, &Options::default().segment_bytes(SHORT));
    assert!(disk.names().len() > 1 && opened(&disk.duplicate()).is_ok());
    let Err(ReadError::Damaged(expected)) = read_counted(&disk).1 else { panic!("it is not found") };
    assert_eq!((expected.segment.as_str(), expected.flaw), (segment(0).as_str(), Flaw::Chain));
    assert_exchange_is_damage(&disk, 12, &expected);
}

#[test]
fn a_power_loss_is_never_taken_for_damage() {
    for seed in 0..300 {
        let disk = SimulatedDisk::new();
        let journal = open_clean(&disk, &Options::default());
        for number in 0..20 {
            let durability = if number % 5 == 0 { Durability::Fsync } else { Durability::Os };
            journal.append(&[number as u8; 300], durability).unwrap();
        }
        let survivor = disk.power_loss(if seed % 2 == 0 { Fate::Reordered } else { Fate::Torn }, seed);
        assert!(verify(shared(&survivor)).unwrap().is_sound(), "seed {seed}");
        assert!(read_all(&survivor).len() >= 16, "seed {seed}");
    }
}

/// The search goes on window by window: wherever the edge of one falls in the next header, that is found.
#[test]
fn a_frame_behind_damage_is_found_wherever_it_lies() {
    const WINDOW: usize = 8 << 10;
    for length in (0..3).chain(WINDOW - 100..WINDOW + 20) {
        let disk = SimulatedDisk::new();
        let (journal, _) = Journal::open(shared(&disk), Options::default()).unwrap();
        journal.append(&vec![1; length], Durability::None).unwrap();
        let second = journal.append(b"second", Durability::Fsync).unwrap();
        journal.close().unwrap();
        let file = disk.open(&segment(0), Access::Write).unwrap();
        // Zeros, and words that look like the kind of a header.
        let damage: Vec<u8> = (0..second.offset - FRAMES_AT).map(|place| u8::from(place % 9 == 0)).collect();
        file.write_full(FRAMES_AT, &damage).unwrap();
        let report = verify(shared(&disk)).unwrap();
        assert_eq!((report.frames, report.damage.len()), (1, 1), "{length}");
        assert_eq!(report.damage[0].bytes, second.offset - FRAMES_AT, "{length}");
    }
}
