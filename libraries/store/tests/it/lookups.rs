//! What lookups did is counted, exactly, and kept between openings.

use crate::folder::Folder;
use crate::history::{put, small, words};
use journal::simulated::SimulatedDisk;
use std::sync::Arc;
use store::{Batch, Durability, Lookups, Step, Store};

fn all(lookups: &Lookups) -> [u64; 3] {
    [lookups.hits, lookups.hits_in_memory, lookups.misses]
}

#[test]
fn each_lookup_counts_once_by_whichever_way() {
    let store = Store::create_on(Arc::new(SimulatedDisk::new()), small().memtable_bytes(1 << 20)).unwrap();
    let keyspace = words(&store);
    let mut batch = Batch::new();
    (0..500_u32).for_each(|number| batch.put(keyspace, format!("{number:04}"), [7; 40]));
    store.commit(&batch, Durability::None).unwrap();
    store.compact().unwrap();
    store.commit(&put(keyspace, "in memory", "value"), Durability::None).unwrap();
    assert_eq!(store.lookups(), Lookups::default(), "loading and merging look nothing up");

    for number in (0..500_u32).step_by(5) {
        assert!(store.get(keyspace, format!("{number:04}")).unwrap().is_some());
    }
    let found = store.lookups();
    assert_eq!(all(&found), [100, 0, 0]);
    assert!(found.pages >= 100 && found.comparisons > 0, "{found:?}");

    let snapshot = store.snapshot();
    assert!(snapshot.get(keyspace, "in memory").unwrap().is_some());
    assert!(snapshot.get(keyspace, "zzz").unwrap().is_none());
    let (value, steps) = snapshot.watch(keyspace, "0005", Step::Value).unwrap();
    assert!(value.is_some() && steps.answered_in_memory == 0 && steps.comparisons > 0);
    snapshot.watch(keyspace, "0005", Step::Index).unwrap();
    assert_eq!(all(&store.lookups()), [102, 1, 1], "a lookup that is ended early does not count");
    assert_eq!(store.lookups().comparisons, found.comparisons + steps.comparisons + miss(&store));
    assert!(snapshot.get(keyspace, [0; 70_000]).is_err());
    assert_eq!(snapshot.stats().unwrap().lookups, Some(store.lookups()));
}

/// How many comparisons of an index the miss above took.
fn miss(store: &Store) -> u64 {
    let snapshot = store.snapshot();
    let keyspace = snapshot.keyspace("words").unwrap();
    let (value, steps) = snapshot.watch(keyspace, "zzz", Step::Page).unwrap();
    assert!(value.is_none());
    steps.comparisons
}

#[test]
fn filters_that_say_no_are_counted() {
    let options = small().memtable_bytes(1 << 20).first_level_runs(100, 200);
    let store = Store::create_on(Arc::new(SimulatedDisk::new()), options).unwrap();
    let keyspace = words(&store);
    for run in 0..3_u32 {
        let mut batch = Batch::new();
        (0..300_u32).for_each(|number| batch.put(keyspace, format!("{:04}", number * 3 + run), [1]));
        store.commit(&batch, Durability::None).unwrap();
        store.flush().unwrap();
    }
    for number in 0..900_u32 {
        assert!(store.get(keyspace, format!("{number:04}")).unwrap().is_some());
    }
    let found = store.lookups();
    assert_eq!((found.hits, found.misses), (900, 0));
    assert!(found.filters > 1500 && found.denied > 800 && found.denied < found.filters, "{found:?}");
    assert!(found.pages < 1000, "a run whose filter says no is not read: {found:?}");
}

#[test]
fn counts_are_kept_when_a_store_ends() {
    let folder = Folder::new();
    let store = Store::create(folder.path(), small()).unwrap();
    let keyspace = words(&store);
    store.commit(&put(keyspace, "a", "1"), Durability::None).unwrap();
    store.get(keyspace, "a").unwrap();
    store.get(keyspace, "b").unwrap();
    store.close().unwrap();

    let store = Store::open(folder.path(), small()).unwrap();
    assert_eq!(store.lookups(), Lookups::default());
    let keyspace = words(&store);
    store.get(keyspace, "a").unwrap();
    assert_eq!(all(&store.snapshot().stats().unwrap().lookups.unwrap()), [2, 1, 1]);
    drop(store);

    let reader = Store::open_read_only(folder.path()).unwrap();
    reader.get(reader.keyspace("words").unwrap(), "a").unwrap();
    assert_eq!(all(&reader.stats().unwrap().lookups.unwrap()), [3, 1, 1]);
    drop(reader);
    let reader = Store::open_read_only(folder.path()).unwrap();
    assert_eq!(all(&reader.stats().unwrap().lookups.unwrap()), [2, 1, 1], "a reader leaves nothing behind");
}

#[test]
fn damaged_counts_are_told_and_cost_no_data() {
    let disk = SimulatedDisk::new();
    let open = || Store::open_on(Arc::new(disk.clone()), small());
    let store = Store::create_on(Arc::new(disk.clone()), small()).unwrap();
    let keyspace = words(&store);
    store.commit(&put(keyspace, "a", "1"), Durability::None).unwrap();
    store.get(keyspace, "a").unwrap();
    store.close().unwrap();
    disk.put("COUNTERS", b"something else");

    let store = open().unwrap();
    let keyspace = words(&store);
    assert_eq!(store.snapshot().stats().unwrap().lookups, None);
    assert_eq!(store.get(keyspace, "a").unwrap().as_deref(), Some(&b"1"[..]));
    store.close().unwrap();
    let lookups = open().unwrap().snapshot().stats().unwrap().lookups.unwrap();
    assert_eq!((lookups.hits, lookups.misses), (1, 0));
}
