//! A store that version 1 wrote is readable for ever.
//!
//! `tests/data/version-1` is the store that [`write`] made when version 1 was new. It is never written again: a later version gets a
//! folder of its own, and this one stays. `METROON_BLESS=1` writes it if it is missing.

use crate::history::{Map, check, numbers, read, small, words};
use journal::{Directory, Disk, Identity};
use std::path::PathBuf;
use std::sync::Arc;
use store::{Batch, Durability, Kind, Store};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/version-1"))
}

/// Runs of both levels and of all kinds of blocks, and a batch that is in the log only.
fn write(disk: Arc<dyn Disk>) {
    let options = small().memtable_bytes(1 << 20).part_bytes(40_000).identity(Identity(*b"fixture of store"));
    let store = Store::create_on(disk, options).unwrap();
    let (words, numbers) = (words(&store), numbers(&store));
    let mut batch = Batch::new();
    for number in 0..3000_u64 {
        batch.put(numbers, (number * 7).to_be_bytes(), [number as u8]);
        if number < 900 && number % 9 == 0 {
            batch.put(words, format!("a word of number {number}"), [number as u8; 30]);
        }
    }
    batch.put(words, "long", vec![b'v'; 9000]);
    store.commit(&batch, Durability::None).unwrap();
    store.compact().unwrap();
    let mut batch = Batch::new();
    batch.delete(words, "a word of number 9");
    batch.put(words, "a word of number 18", "new");
    store.commit(&batch, Durability::None).unwrap();
    store.flush().unwrap();
    let mut batch = Batch::new();
    batch.put(words, "in the log", "value");
    batch.delete(numbers, 7_u64.to_be_bytes());
    store.commit(&batch, Durability::Fsync).unwrap();
}

#[test]
fn version_1_reads_for_ever() {
    if std::env::var_os("METROON_BLESS").is_some() && !folder().exists() {
        write(Arc::new(Directory::create(folder()).unwrap()));
    }
    let snapshot = Store::open_read_only(folder()).expect("the fixture is part of the sources");
    assert_eq!(snapshot.verify(), []);
    let [words, numbers] = ["words", "numbers"].map(|name| snapshot.keyspace(name).unwrap());
    let mut expected: Map =
        (0..3000_u64).map(|number| ((number * 7).to_be_bytes().to_vec(), vec![number as u8])).collect();
    expected.remove(&7_u64.to_be_bytes()[..]);
    check(&snapshot, numbers, &expected);
    let found = read(&snapshot, words).unwrap();
    assert_eq!((found.len(), found[&b"long"[..]].len()), (101, 9000));
    assert_eq!((&found[&b"a word of number 18"[..]][..], &found[&b"in the log"[..]][..]), (&b"new"[..], &b"value"[..]));
    let stats = snapshot.stats().unwrap();
    assert!(stats.keyspaces.iter().flat_map(|space| &space.base).any(|run| run.model != Kind::Plain), "{stats:?}");
}

#[test]
fn version_1_is_written_as_it_was() {
    let disk = journal::simulated::SimulatedDisk::new();
    write(Arc::new(disk.clone()));
    let fixture = Directory::open(folder()).unwrap();
    let mut names = fixture.list().unwrap();
    names.sort();
    assert_eq!(names, disk.names());
    for name in names {
        let bytes = fixture.map(&name).unwrap();
        assert!(disk.contents(&name).unwrap() == bytes[..], "{name} differs");
    }
}
