//! Reading from anywhere, and while somebody writes.

use crate::folder::Folder;
use crate::history::{open_clean, payload, payloads, shared, short_segments, written};
use journal::simulated::SimulatedDisk;
use journal::{Directory, Disk, Durability, FRAMES_AT, Journal, Options, Place, ReadError, Reader, verify};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const FRAMES: u64 = 12;

fn rest(mut reader: Reader) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let Some(frame) = reader.read_next().unwrap() {
        found.push(frame.payload.to_vec());
    }
    found
}

#[test]
fn reading_may_begin_at_any_frame() {
    let disk = written(FRAMES, &short_segments());
    for number in 0..=FRAMES {
        let reader = Reader::from_frame(shared(&disk), number).unwrap();
        let place = reader.place();
        let expected = payloads(FRAMES).split_off(number as usize);
        assert_eq!(place.number, number);
        assert_eq!(rest(reader), expected);
        assert_eq!(rest(Reader::from_place(shared(&disk), place).unwrap()), expected);
    }
    let outcome = Reader::from_frame(shared(&disk), FRAMES + 1).err();
    assert!(matches!(outcome, Some(ReadError::NoSuchFrame { number: 13, frames: 12 })));
}

#[test]
fn a_place_is_where_a_frame_begins_and_nowhere_else() {
    let disk = written(3, &Options::default());
    let good = Reader::from_frame(shared(&disk), 1).unwrap().place();
    let refused = |place: Place| match Reader::from_place(shared(&disk), place) {
        Err(ReadError::NoSuchPlace(named)) => assert_eq!(named, place),
        Err(other) => panic!("{place:?}: {other}"),
        Ok(_) => panic!("{place:?} is a place"),
    };
    for offset in (0..100).chain(FRAMES_AT - 40..FRAMES_AT + 500).filter(|&offset| offset != good.offset) {
        let mut place = good;
        place.offset = offset;
        refused(place);
    }
    let mut place = good;
    place.number = 2;
    refused(place);
    place.segment = 1;
    assert!(matches!(Reader::from_place(shared(&disk), place), Err(ReadError::Disk(_))));
}

#[test]
fn the_chain_of_a_reader_is_that_of_the_writer() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &short_segments());
    let mut reader = Reader::from_frame(shared(&disk), 0).unwrap();
    for number in 0..FRAMES {
        let place = journal.append(&payload(number), Durability::Os).unwrap();
        let frame = reader.read_next().unwrap().unwrap();
        assert_eq!(frame.place, place);
        assert_eq!(reader.chain(), Some(journal.chain()));
    }
}

/// A reader that begins in the middle of a block knows the chain from the next one on.
#[test]
fn the_chain_is_known_from_the_next_block_on() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    let places = journal.append_all(&vec![[7; 1000]; 200], Durability::Os).unwrap();
    let mut reader = Reader::from_place(shared(&disk), places[10]).unwrap();
    let mut known = Vec::new();
    for place in &places[10..] {
        assert_eq!(reader.read_next().unwrap().unwrap().place, *place);
        known.push(reader.chain().is_some());
    }
    let frames = (64_usize << 10).div_ceil(1032);
    assert_eq!(known.iter().position(|&is_known| is_known), Some(frames - 11), "{known:?}");
    assert_eq!(reader.chain(), Some(journal.chain()));
}

#[test]
fn a_position_is_found_in_the_history_that_it_was_noted_in_and_in_no_other() {
    let write = |changed: u64| {
        let disk = SimulatedDisk::new();
        let journal = open_clean(&disk, &Options::default().segment_bytes(FRAMES_AT + 150_000));
        let mut positions = vec![journal.position()];
        for number in 0..300_u64 {
            let fill = if number == changed { 0xff } else { number as u8 };
            journal.append(&vec![fill; (number % 7 + 1) as usize * 200], Durability::Os).unwrap();
            positions.push(journal.position());
        }
        (disk, positions)
    };
    let (disk, positions) = write(u64::MAX);
    let (other, _) = write(120);
    for (number, position) in positions.iter().enumerate() {
        let kept = journal::Position::from_numbers(position.to_numbers(), position.chain);
        assert_eq!(kept, *position);
        let mut reader = Reader::from_position(shared(&disk), &kept).unwrap();
        assert_eq!((reader.place().number, reader.chain()), (number as u64, Some(position.chain)));
        let next = reader.read_next().unwrap().map(|frame| frame.place.number);
        assert_eq!(next, (number < 300).then_some(number as u64));
        let outcome = Reader::from_position(shared(&other), &kept).err();
        assert_eq!(matches!(outcome, Some(ReadError::OtherHistory(_))), number > 120, "{number}: {outcome:?}");
    }
    let good = positions[100].to_numbers();
    for (index, wrong) in [(1, 0), (2, 1), (2, u64::MAX), (3, 7), (4, 5), (4, u64::MAX)] {
        let mut numbers = good;
        numbers[index] = wrong;
        let position = journal::Position::from_numbers(numbers, positions[100].chain);
        let outcome = Reader::from_position(shared(&disk), &position).err();
        assert!(matches!(outcome, Some(ReadError::OtherHistory(_))), "{index} {wrong}: {outcome:?}");
    }
}

#[test]
fn a_reader_waits_at_the_end_and_goes_on() {
    let disk = SimulatedDisk::new();
    assert!(matches!(Reader::from_frame(shared(&disk), 0), Err(ReadError::Empty)));
    let journal = open_clean(&disk, &short_segments());
    let mut reader = Reader::from_frame(shared(&disk), 0).unwrap();
    for number in 0..FRAMES {
        assert!(reader.read_next().unwrap().is_none());
        journal.append(&payload(number), Durability::None).unwrap();
        assert!(reader.read_next().unwrap().is_none(), "what is held back is not to be seen");
        journal.sync(Durability::Os).unwrap();
        assert_eq!(reader.read_next().unwrap().unwrap().payload, payload(number));
    }
}

#[test]
fn a_reader_outlives_a_writer_that_was_cut() {
    let disk = written(3, &Options::default());
    let mut reader = Reader::from_frame(shared(&disk), 3).unwrap();
    let file = disk.open("00000000000000000000.segment", journal::Access::Write).unwrap();
    file.write_full(file.length().unwrap(), &[7; 90]).unwrap();
    assert!(reader.read_next().unwrap().is_none(), "a frame that is being written, as far as anybody knows");
    assert!(Reader::from_place(shared(&disk), reader.place()).unwrap().read_next().unwrap().is_none());
    let (journal, warnings) = Journal::open(shared(&disk), Options::default()).unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(reader.read_next().unwrap().is_none());
    journal.append(&payload(3), Durability::Os).unwrap();
    assert_eq!(reader.read_next().unwrap().unwrap().payload, payload(3));
}

/// Readers at work while two threads write, on real files, through many segments.
#[test]
fn readers_see_a_prefix_at_any_time() {
    const EACH: u64 = 4000;
    let folder = Folder::new();
    let disk: Arc<dyn Disk> = Arc::new(Directory::create(folder.path()).unwrap());
    let (journal, _) = Journal::open(disk.clone(), Options::default().segment_bytes(FRAMES_AT + 20_000)).unwrap();
    let is_written = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2).map(|_| scope.spawn(|| follow(disk.clone(), &is_written))).collect();
        let verifier = scope.spawn(|| {
            while !is_written.load(Ordering::Acquire) {
                let report = verify(disk.clone()).unwrap();
                assert!(report.is_sound(), "{report:?}");
            }
        });
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                scope.spawn({
                    let journal = &journal;
                    move || write(journal, writer, EACH)
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        journal.sync(Durability::Os).unwrap();
        is_written.store(true, Ordering::Release);
        let orders: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        assert!(orders[0] == orders[1] && orders[0].len() as u64 == 2 * EACH, "one order for all");
        verifier.join().unwrap();
    });
}

fn write(journal: &Journal, writer: u64, count: u64) {
    for index in 0..count {
        let durability = match index % 50 {
            0 => Durability::Fsync,
            1..10 => Durability::Os,
            _ => Durability::None,
        };
        let mut frame = [writer.to_le_bytes(), index.to_le_bytes()].concat();
        frame.resize(16 + (index % 70) as usize, writer as u8);
        journal.append(&frame, durability).unwrap();
    }
}

/// Every frame as (writer, index), read until the writers are done and nothing more comes.
fn follow(disk: Arc<dyn Disk>, is_written: &AtomicBool) -> Vec<(u64, u64)> {
    let mut reader = Reader::from_frame(disk, 0).unwrap();
    let mut found = Vec::new();
    let mut next = [0, 0];
    loop {
        let was_written = is_written.load(Ordering::Acquire);
        while let Some(frame) = reader.read_next().unwrap() {
            let word = |at: usize| u64::from_le_bytes(frame.payload[at..at + 8].try_into().unwrap());
            let (writer, index) = (word(0), word(8));
            assert_eq!(index, next[writer as usize], "frames of one thread come in its order");
            next[writer as usize] += 1;
            found.push((writer, index));
        }
        if was_written {
            return found;
        }
        std::thread::yield_now();
    }
}
