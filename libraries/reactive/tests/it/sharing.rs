//! Many threads write one state.

use crate::board::{functions, sum};
use journal::simulated::SimulatedDisk;
use journal::{Durability, MemoryDisk};
use reactive::{Merge, Options, SharedState, State, Transaction};
use std::sync::{Arc, Barrier};
use std::time::Duration;

#[test]
fn what_commutes_is_the_same_whoever_comes_first() {
    let mut state = State::create(Arc::new(MemoryDisk::new()), functions(), Options::default());
    let mut transaction = Transaction::new();
    let counter = transaction.create(&[0; 8]);
    let copy = transaction.derive(8, sum(), [counter]);
    let pages = state.commit(&transaction).unwrap().created;
    let (counter, copy) = (pages[counter.index()], pages[copy.index()]);
    let shared = SharedState::new(state);
    std::thread::scope(|scope| {
        for number in 0..8_u64 {
            let shared = &shared;
            scope.spawn(move || {
                for _ in 0..100 {
                    let mut transaction = Transaction::new();
                    transaction.merge(counter, 0, Merge::Add, &(number + 1).to_le_bytes());
                    shared.commit(&transaction).unwrap();
                    let snapshot = shared.snapshot();
                    assert_eq!(snapshot.read(counter), snapshot.read(copy), "no glitch");
                }
            });
        }
    });
    let state = shared.into_inner();
    assert_eq!(state.read(copy), Some(&3_600_u64.to_le_bytes()[..]));
    assert_eq!(state.epoch(), 801);
}

#[test]
fn writers_that_wait_for_the_disk_share_its_syncs() {
    let disk = Arc::new(SimulatedDisk::new());
    let options = Options::default().durability(Durability::Fsync);
    let mut state = State::create(disk.clone(), functions(), options);
    let mut transaction = Transaction::new();
    transaction.create(&[0; 64]);
    let page = state.commit(&transaction).unwrap().created[0];
    disk.delay_syncs(Duration::from_millis(200));
    let before = disk.syncs();
    let shared = SharedState::new(state);
    let ready = Barrier::new(64);
    std::thread::scope(|scope| {
        for number in 0..64_u8 {
            let (shared, ready) = (&shared, &ready);
            scope.spawn(move || {
                let mut transaction = Transaction::new();
                transaction.write(page, usize::from(number), &[number + 1]);
                ready.wait();
                shared.commit(&transaction).unwrap();
            });
        }
    });
    assert!(disk.syncs() - before <= 3, "{} syncs for 64 commits", disk.syncs() - before);
    let state = shared.into_inner();
    let expected: Vec<u8> = (1..=64).collect();
    assert_eq!((state.epoch(), state.read(page)), (65, Some(&expected[..])));
}
