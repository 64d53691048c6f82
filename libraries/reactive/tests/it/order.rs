//! Equal transactions make equal logs: for any number of threads, and in a state that was used before.

use crate::board::{create, functions, sum};
use journal::{Access, Disk, MemoryDisk};
use reactive::{Options, PageId, State, Transaction};
use std::sync::Arc;

/// The bytes of all files.
fn bytes(disk: &MemoryDisk) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for name in disk.list().unwrap() {
        let file = disk.open(&name, Access::Read).unwrap();
        let mut bytes = vec![0; file.length().unwrap() as usize];
        file.read_full(0, &mut bytes).unwrap();
        files.push((name, bytes));
    }
    files
}

/// Large pages, many at a height, so that threads share them.
fn work(state: &mut State) {
    const LENGTH: usize = 1 << 18;
    let sources: Vec<PageId> = (0..8).map(|value| create(state, &vec![value; LENGTH])).collect();
    let mut transaction = Transaction::new();
    let derived: Vec<_> = (0..24_usize)
        .map(|number| transaction.derive(LENGTH, sum(), [sources[number % 8], sources[number * 5 % 8]]))
        .collect();
    transaction.derive(LENGTH, sum(), derived);
    state.commit(&transaction).unwrap();
    for round in 0..4_usize {
        let mut transaction = Transaction::new();
        for (number, &page) in sources.iter().rev().enumerate() {
            transaction.write(page, number * 1_000 + round, &[round as u8; 3]);
            transaction.write(page, number, &[9]);
        }
        state.commit(&transaction).unwrap();
    }
    state.checkpoint().unwrap();
}

#[test]
fn batch_log_order_canonical() {
    let made = [1, 2, 8].map(|threads| {
        let disk = Arc::new(MemoryDisk::new());
        let mut state = State::create(disk.clone(), functions(), Options::default().threads(threads).log_hashes(true));
        work(&mut state);
        (state.state_hash(), bytes(&disk))
    });
    assert_eq!(made[0], made[1]);
    assert_eq!(made[0], made[2]);
}

#[test]
fn pool_reset_equals_fresh() {
    let fresh = Arc::new(MemoryDisk::new());
    let mut state = State::create(fresh.clone(), functions(), Options::default().log_hashes(true));
    work(&mut state);
    let (hash, statistics) = (state.state_hash(), state.statistics());
    let again = Arc::new(MemoryDisk::new());
    state.reset(Some(again.clone()));
    assert_eq!((state.epoch(), state.pages().count(), state.state_hash()), (0, 0, 0));
    work(&mut state);
    assert_eq!((state.state_hash(), state.statistics()), (hash, statistics));
    assert!(bytes(&fresh) == bytes(&again), "the logs are equal, byte by byte");
}

#[test]
fn log_holds_what_was_written_and_not_what_follows() {
    let disk = Arc::new(MemoryDisk::new());
    let mut state = State::create(disk.clone(), functions(), Options::default());
    let source = create(&mut state, &vec![0; 4096]);
    let mut last = source;
    for _ in 0..50 {
        last = crate::board::derive(&mut state, 4096, reactive::Functions::passthrough(), &[last]);
    }
    let logged = crate::board::write(&mut state, source, b"ten bytes!").statistics.bytes_logged;
    assert!(logged < 80, "{logged} bytes for ten");
    assert_eq!(&state.read(last).unwrap()[..10], b"ten bytes!");
}
