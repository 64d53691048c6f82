//! Group commit: many threads, one order, few syncs.

use crate::history::{open_clean, read_all, shared};
use journal::simulated::{Fate, Fault, SimulatedDisk};
use journal::{Disk, Durability, FRAMES_AT, Journal, Options, Place, Reader};
use std::time::Duration;

const THREADS: u64 = 64;
const EACH: u64 = 25;

fn frame(thread: u64, index: u64) -> Vec<u8> {
    format!("{thread} {index}").into_bytes()
}

/// All threads append with a sync for each frame; what each got back.
fn commit(disk: &SimulatedDisk, options: &Options) -> Vec<Vec<Place>> {
    let journal = open_clean(disk, options);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let journal = &journal;
                let append = move |index| journal.append(&frame(thread, index), Durability::Fsync).unwrap();
                scope.spawn(move || (0..EACH).map(append).collect())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Every acknowledged frame is where it was said to be, and numbers have no gaps.
fn check(disk: &SimulatedDisk, places: &[Vec<Place>]) {
    let mut expected: Vec<(Place, Vec<u8>)> = Vec::new();
    for (thread, places) in places.iter().enumerate() {
        assert!(places.is_sorted_by_key(|place| place.number), "each thread's frames come in its order");
        expected.extend((0..).zip(places).map(|(index, place)| (*place, frame(thread as u64, index))));
    }
    expected.sort_by_key(|(place, _)| place.number);
    let mut reader = Reader::from_frame(shared(disk), 0).unwrap();
    for (place, payload) in &expected {
        let frame = reader.read_next().unwrap().unwrap();
        assert_eq!((frame.place, frame.payload), (*place, payload.as_slice()));
    }
    assert!(reader.read_next().unwrap().is_none());
}

#[test]
fn one_sync_serves_all_who_wait() {
    let disk = SimulatedDisk::new();
    disk.delay_syncs(Duration::from_millis(2));
    let places = commit(&disk, &Options::default());
    let commits = THREADS * EACH;
    assert!(disk.syncs() <= commits / 8, "{} syncs for {commits} commits", disk.syncs());
    check(&disk.power_loss(Fate::Drop, 0), &places);
}

#[test]
fn commits_have_one_order_across_segments() {
    let disk = SimulatedDisk::new();
    let places = commit(&disk, &Options::default().segment_bytes(FRAMES_AT + 5000));
    assert!(disk.names().len() > 10);
    check(&disk.power_loss(Fate::Drop, 0), &places);
}

#[test]
fn batches_are_not_mixed() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let journal = &journal;
            scope.spawn(move || {
                for _ in 0..20 {
                    let batch: Vec<Vec<u8>> = (0..5).map(|index| frame(thread, index)).collect();
                    let places = journal.append_all(&batch, Durability::Fsync).unwrap();
                    let first = places[0].number;
                    assert!((first..).zip(&places).all(|(number, place)| place.number == number));
                }
            });
        }
    });
    assert_eq!(journal.progress().synced, 8 * 20 * 5);
}

/// One sync for everything appended without: the way for one thread to commit many frames.
#[test]
fn a_sync_serves_any_number_of_frames() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    let before = disk.syncs();
    for index in 0..1000 {
        journal.append(&frame(0, index), Durability::None).unwrap();
    }
    journal.sync(Durability::Fsync).unwrap();
    assert_eq!(disk.syncs() - before, 1);
    assert_eq!(journal.progress().synced, 1000);
}

/// Threads that append at every level, some with batches, some syncing what others appended, with next to no room.
fn press(disk: &SimulatedDisk, fails_at: Option<u64>) {
    let journal = open_clean(disk, &Options::default().buffer_bytes(300).segment_bytes(FRAMES_AT + 20_000));
    if let Some(operation) = fails_at {
        disk.schedule(disk.operations() + operation, Fault::Broken);
    }
    let levels = [Durability::None, Durability::Os, Durability::Fsync];
    std::thread::scope(|scope| {
        for thread in 0..12 {
            let journal = &journal;
            scope.spawn(move || {
                for index in 0..60 {
                    let level = levels[(thread + index) as usize % 3];
                    let outcome = match index % 7 {
                        0 => journal.sync(level).map_err(drop),
                        1 => journal.append_all(&[frame(thread, index), vec![1; 200]], level).map(drop).map_err(drop),
                        _ => journal.append(&frame(thread, index), level).map(drop).map_err(drop),
                    };
                    assert!(outcome.is_ok() || fails_at.is_some());
                }
            });
        }
    });
    assert!(fails_at.is_some() || journal.sync(Durability::Fsync).is_ok());
}

/// Whoever sleeps is woken: by the round that serves them, to lead one, or by the end of the journal.
#[test]
fn nobody_sleeps_for_ever() {
    let (done, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for round in 0..60 {
            let disk = SimulatedDisk::new();
            disk.delay_syncs(Duration::from_micros(round % 4 * 30));
            press(&disk, if round % 3 == 2 { Some(round * 5) } else { None });
        }
        done.send(()).unwrap();
    });
    told.recv_timeout(Duration::from_secs(100)).expect("every thread ends");
}

/// Appends one frame to the system and one to the disk; whether the second was acknowledged.
fn begin_without_waiting(disk: &SimulatedDisk, beginning: Durability) -> bool {
    let Ok((journal, _)) = Journal::open(shared(disk), Options::default().beginning(beginning)) else { return false };
    journal.append(b"one", Durability::Os).is_ok() && journal.append(b"two", Durability::Fsync).is_ok()
}

#[test]
fn a_beginning_that_nobody_waited_for_is_durable_with_the_first_sync() {
    let disk = SimulatedDisk::new();
    let (journal, _) = Journal::open(shared(&disk), Options::default().beginning(Durability::Os)).unwrap();
    journal.append(b"one", Durability::Os).unwrap();
    assert_eq!((disk.syncs(), disk.trace().contains(&"sync names".to_owned())), (0, false));
    power_fails_at_every_operation(Durability::Os);
}

#[test]
fn a_beginning_that_was_put_off_is_durable_with_the_first_sync() {
    power_fails_at_every_operation(Durability::None);
}

fn power_fails_at_every_operation(beginning: Durability) {
    let operations = {
        let disk = SimulatedDisk::new();
        assert!(begin_without_waiting(&disk, beginning));
        disk.operations()
    };
    for operation in 0..=operations {
        for (fate, seed) in Fate::ALL.into_iter().flat_map(|fate| (0..20).map(move |seed| (fate, seed))) {
            let disk = SimulatedDisk::new();
            disk.schedule(operation, Fault::PowerLoss);
            let is_acknowledged = begin_without_waiting(&disk, beginning);
            let found = disk.power_loss(fate, seed);
            let expected: [&[u8]; 2] = [b"one", b"two"];
            // What was never synced may be no journal at all.
            let Ok((journal, _)) = Journal::open(shared(&found), Options::default()) else {
                assert!(!is_acknowledged, "{operation} {fate:?} {seed}");
                continue;
            };
            let frames = read_all(&found);
            assert!(!is_acknowledged || frames == expected, "{operation} {fate:?} {seed}");
            assert!(
                frames.iter().zip(expected).all(|(frame, expected)| frame == expected),
                "{operation} {fate:?} {seed}"
            );
            // Opening has made it durable.
            assert_eq!(journal.progress().appended, read_all(&found.power_loss(Fate::Drop, seed)).len() as u64);
        }
    }
}

/// It begins with the first write or sync, and leaves nothing if there is none.
#[test]
fn a_beginning_may_be_put_off() {
    let disk = SimulatedDisk::new();
    let put_off = || Journal::open(shared(&disk), Options::default().beginning(Durability::None)).unwrap().0;
    drop(put_off());
    let journal = put_off();
    journal.append(b"one", Durability::None).unwrap();
    assert!(!journal.has_begun());
    journal.discard().unwrap();
    assert!(disk.names().is_empty() && disk.syncs() == 0);
    for durability in [Durability::Os, Durability::Fsync] {
        let journal = put_off();
        journal.sync(durability).unwrap();
        assert!(journal.has_begun() && read_all(&disk).is_empty());
        drop(journal);
        disk.remove(&disk.names()[0]).unwrap();
    }
    let journal = put_off();
    journal.append(b"one", Durability::Os).unwrap();
    assert_eq!((journal.has_begun(), read_all(&disk)), (true, vec![b"one".to_vec()]));
    journal.append(b"two", Durability::None).unwrap();
    drop(journal);
    assert_eq!(read_all(&disk), [b"one", b"two"]);
    let journal = put_off();
    assert!(journal.has_begun());
    journal.discard().unwrap();
    assert_eq!(read_all(&disk).len(), 2);
}
