//! Frames that are taken to the disk beside the writer.

use crate::history::{append, open_clean, payload, read_all, shared};
use journal::simulated::{Fate, Fault, SimulatedDisk};
use journal::{AppendError, Durability, Journal, Options};
use std::time::{Duration, Instant};

#[test]
fn what_was_taken_to_the_disk_survives_a_power_loss() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    append(&journal, 0..5, Durability::Os);
    let left = |disk: &SimulatedDisk| read_all(&disk.power_loss(Fate::Drop, 0)).len();
    assert_eq!((left(&disk), journal.progress().synced), (0, 0), "nothing asked for the disk before");
    append(&journal, 5..6, Durability::None);
    journal.write_back().unwrap();
    assert_eq!((left(&disk), journal.progress().synced), (6, 6), "what was held back was written as well");
    let syncs = disk.syncs();
    journal.sync(Durability::Fsync).unwrap();
    assert_eq!(disk.syncs(), syncs, "nothing is left to be synced");
}

#[test]
fn a_failure_poisons() {
    let mut failed = 0;
    for ahead in 0..4 {
        let disk = SimulatedDisk::new();
        let journal = open_clean(&disk, &Options::default());
        append(&journal, 0..2, Durability::Os);
        disk.schedule(disk.operations() + ahead, Fault::Broken);
        if journal.write_back().is_ok() {
            continue;
        }
        failed += 1;
        for durability in [Durability::None, Durability::Os, Durability::Fsync] {
            let outcome = journal.append(&payload(2), durability);
            assert!(matches!(outcome, Err(AppendError::Refused(_))), "operation {ahead}: {outcome:?}");
        }
        assert!(journal.sync(Durability::Fsync).is_err() && journal.write_back().is_err(), "operation {ahead}");
    }
    assert_eq!(failed, 2, "syncing and noting that may fail");
}

#[test]
fn nobody_waits_for_it_who_wants_the_system_alone() {
    let disk = SimulatedDisk::new();
    let (journal, _) = Journal::open(shared(&disk), Options::default()).unwrap();
    append(&journal, 0..2, Durability::Os);
    let delay = Duration::from_secs(2);
    disk.delay_syncs(delay);
    std::thread::scope(|scope| {
        let taking = scope.spawn(|| journal.write_back());
        // The frames are written before the other thread can be at the sync, or after it has begun: both are to be quick.
        std::thread::sleep(Duration::from_millis(50));
        let began = Instant::now();
        append(&journal, 2..20, Durability::Os);
        assert!(began.elapsed() < delay / 2, "{:?}", began.elapsed());
        taking.join().unwrap().unwrap();
    });
    let left = read_all(&disk.power_loss(Fate::Drop, 0));
    assert!(left.len() >= 2, "{} frames", left.len());
    assert_eq!(read_all(&disk).len(), 20);
}

#[test]
fn threads_that_append_and_sync_meanwhile_lose_nothing() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    std::thread::scope(|scope| {
        for level in [Durability::None, Durability::Os, Durability::Fsync] {
            let journal = &journal;
            scope.spawn(move || (0..200).for_each(|_| assert!(journal.append(&payload(1), level).is_ok())));
        }
        scope.spawn(|| (0..100).for_each(|_| journal.write_back().unwrap()));
    });
    journal.sync(Durability::Fsync).unwrap();
    assert_eq!(read_all(&disk.power_loss(Fate::Drop, 0)).len(), 600);
}
