//! What a lookup touches, and what a store holds in memory.

use crate::folder::Folder;
use crate::history::{create, numbers, put, shared, words};
use journal::simulated::{Fate, Fault};
use std::process::Command;
use store::{Batch, Compression, Durability, KeyShape, Maintenance, Options, Step, Store};

const PLACE: &str = "STORE_BUDGET_PLACE";
/// Rows of the store that is larger than what its process may hold.
const LARGE: u64 = 600_000;

fn inline() -> Options {
    Options::default().maintenance(Maintenance::Inline)
}

fn value_of(number: u64) -> [u8; 100] {
    let mut value = [0; 100];
    value[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    value
}

/// The key of a number: spread over all of 64 bits, in order.
fn key_of(number: u64) -> [u8; 8] {
    (number * 0x1_0000_0001).to_be_bytes()
}

#[test]
fn a_lookup_reads_one_page_and_says_what_it_did() {
    let (disk, store) = create(&inline());
    let keyspace = numbers(&store);
    store.ingest(keyspace, (0..20_000).map(|number| (key_of(number), value_of(number)))).unwrap();
    drop(store);
    let snapshot = Store::open_read_only_on(shared(&disk)).unwrap();
    for number in (0..20_000).step_by(487) {
        let (value, steps) = snapshot.watch(keyspace, key_of(number), Step::Value).unwrap();
        assert_eq!(value.as_deref(), Some(&value_of(number)[..]));
        assert_eq!((steps.memtables, steps.filters, steps.denied, steps.pages), (1, 1, 0, 1), "{number}");
        assert!(steps.comparisons < 10, "{steps:?}");
    }
    let mut pages = 0;
    for number in (0..20_000).step_by(487) {
        let mut key = key_of(number);
        key[7] ^= 1;
        let (value, steps) = snapshot.watch(keyspace, key, Step::Value).unwrap();
        assert_eq!(value, None);
        pages += steps.pages;
    }
    assert!(pages < 41 / 2, "{pages} pages for 41 keys that are not there");
    let (value, steps) = snapshot.watch(keyspace, key_of(7), Step::Index).unwrap();
    assert_eq!((value, steps.pages), (None, 0), "it ended before the page");
}

#[test]
fn a_compressed_lookup_reads_one_block() {
    let (disk, store) = create(&inline());
    let keyspace = store.keyspace_with("packed", KeyShape::Fixed(8), Compression::Lz4).unwrap();
    store.ingest(keyspace, (0..20_000).map(|number| (key_of(number), value_of(number)))).unwrap();
    drop(store);
    let snapshot = Store::open_read_only_on(shared(&disk)).unwrap();
    for number in (0..20_000).step_by(487) {
        let (value, steps) = snapshot.watch(keyspace, key_of(number), Step::Value).unwrap();
        assert_eq!(value.as_deref(), Some(&value_of(number)[..]));
        assert!((1..4).contains(&steps.pages), "{steps:?}");
    }
}

#[test]
fn index_and_filter_take_two_bytes_a_key() {
    let (_, store) = create(&inline());
    let keyspace = numbers(&store);
    store.ingest(keyspace, (0..100_000).map(|number| (key_of(number), value_of(number)))).unwrap();
    assert!(store.get(keyspace, key_of(5)).unwrap().is_some());
    let stats = store.snapshot().stats().unwrap();
    let runs: Vec<_> = stats.keyspaces[0].runs().collect();
    let bytes: u64 = runs.iter().map(|run| run.index_bytes + run.filter_bytes).sum();
    assert!((110_000..200_000).contains(&bytes), "{bytes} bytes for 100,000 keys");
    let held: u64 = runs.iter().map(|run| run.held_bytes).sum();
    assert!(held >= bytes && held < bytes + 10_000, "all of it is held, {held} bytes");
    assert_eq!(stats.memory.indexes, held);
}

#[test]
fn a_budget_is_kept_and_costs_no_answer() {
    let budget = 400_000;
    let options = inline().memory_bytes(budget).part_bytes(1 << 20);
    let (_, store) = create(&options);
    let keyspace = numbers(&store);
    let mut batch = Batch::new();
    for number in 0..200_000_u64 {
        batch.put(keyspace, key_of(number * 77_773 % 200_000), value_of(number * 77_773 % 200_000));
        if batch.len() == 500 {
            store.commit(&batch, Durability::None).unwrap();
            batch.clear();
        }
        if number % 20_000 == 0 {
            let memory = store.snapshot().stats().unwrap().memory;
            assert!(memory.memtables <= 2 * (100_000 + 120_000), "{memory:?}");
            assert!(memory.indexes <= budget as u64 / 2, "{memory:?}");
        }
    }
    store.compact().unwrap();
    let stats = store.snapshot().stats().unwrap();
    let held = stats.keyspaces[0].runs().filter(|run| run.held_bytes > 0).count();
    assert!(held > 0 && held < stats.keyspaces[0].base.len(), "{held} runs hold their index, the others do not");
    for number in 0..200_000 {
        assert_eq!(store.get(keyspace, key_of(number)).unwrap().as_deref(), Some(&value_of(number)[..]));
    }
}

/// Not a test of its own: the process that may hold little. Without the place it has nothing to do.
#[test]
fn child() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let options = Options::default().memory_bytes(8 << 20).part_bytes(4 << 20);
    let store = Store::create(place, options).unwrap();
    let keyspace = numbers(&store);
    for from in (0..LARGE).step_by(1000) {
        let mut batch = Batch::new();
        for number in from..from + 1000 {
            let number = number * 77_773 % LARGE;
            batch.put(keyspace, key_of(number), value_of(number));
        }
        store.commit(&batch, Durability::None).unwrap();
    }
    for number in 0..LARGE {
        assert_eq!(store.get(keyspace, key_of(number)).unwrap().as_deref(), Some(&value_of(number)[..]));
    }
    assert_eq!(store.snapshot().count::<&[u8]>(keyspace, ..).unwrap(), LARGE);
    store.close().unwrap();
}

/// Rows of 62 MiB are written, merged and read by a process whose own memory may not pass 26 MiB, the stacks of five threads among it. Mapped files do
/// not count: the system takes their pages back.
#[test]
#[cfg(target_os = "linux")]
fn a_store_larger_than_the_memory_of_its_process() {
    let folder = Folder::new();
    let limit = 26 << 10;
    let program = std::env::current_exe().unwrap();
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("ulimit -d {limit} && exec \"$0\" --exact budget::child --nocapture --test-threads=1"))
        .arg(program)
        .env(PLACE, folder.path())
        .env("MALLOC_ARENA_MAX", "1")
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    let bytes: u64 =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes > 60 << 20, "{bytes} bytes on the disk");
    let snapshot = Store::open_read_only(folder.path()).unwrap();
    assert!(snapshot.verify().is_empty());
}

#[test]
fn what_was_put_last_is_counted_in_memory() {
    let (_, store) = create(&inline());
    let words = words(&store);
    store.commit(&put(words, "a", [1; 1000]), Durability::None).unwrap();
    let memory = store.snapshot().stats().unwrap().memory;
    assert!((1000..2000).contains(&memory.memtables), "{memory:?}");
}

/// What a process that was killed left in its log becomes runs while it is read back: opening holds a part of a memtable, and a crash at any
/// operation of it loses nothing.
#[test]
fn opening_holds_a_part_of_what_was_not_written() {
    const MEMTABLE: usize = 1 << 18;
    let options = inline().memtable_bytes(MEMTABLE);
    let (disk, store) = create(&options);
    let keyspace = numbers(&store);
    let rows = 900_u64;
    for number in 0..rows {
        store.commit(&put(keyspace, key_of(number), value_of(number)), Durability::Os).unwrap();
    }
    let killed = disk.duplicate();
    drop(store);
    let opened = killed.duplicate();
    let before = opened.operations();
    let store = Store::open_on(shared(&opened), options.clone()).unwrap();
    let stats = store.snapshot().stats().unwrap();
    assert!(stats.keyspaces[0].first.len() >= 2, "{stats:?}");
    assert!(stats.memory.memtables <= MEMTABLE as u64 / 4, "{stats:?}");
    let operations = opened.operations() - before;
    let all = |store: &Store| {
        (0..rows).all(|number| store.get(keyspace, key_of(number)).unwrap().as_deref() == Some(&value_of(number)[..]))
    };
    assert!(all(&store));
    drop(store);
    for operation in (0..operations).step_by(3) {
        let interrupted = killed.duplicate();
        interrupted.schedule(before + operation, Fault::PowerLoss);
        let _ = Store::open_on(shared(&interrupted), options.clone());
        let survivor = interrupted.power_loss(Fate::Keep, operation);
        let store = Store::open_on(shared(&survivor), options.clone())
            .unwrap_or_else(|error| panic!("operation {operation}: {error}"));
        assert!(all(&store), "operation {operation}");
    }
}
