//! What a version of the formats wrote is readable for ever.
//!
//! `tests/data/version-1` and `version-2` are the stores that [`write`] made when those versions were new; the second one has a compressed
//! keyspace besides. They are never written again: a later version gets a folder of its own, and these stay. `METROON_BLESS=1` writes the
//! newest if it is missing.

use crate::history::{Map, check, numbers, read, small, words};
use journal::simulated::SimulatedDisk;
use journal::{Directory, Disk, Identity};
use std::path::PathBuf;
use std::sync::Arc;
use store::{Batch, Compression, Durability, KeyShape, Kind, Snapshot, Store};

fn folder(version: u32) -> PathBuf {
    PathBuf::from(format!("{}/tests/data/version-{version}", env!("CARGO_MANIFEST_DIR")))
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
    let packed = store.keyspace_with("packed", KeyShape::Bytes, Compression::Lz4).unwrap();
    (0..500_u32).for_each(|number| batch.put(packed, format!("{number:04}"), "one of many values that are the same"));
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

/// What both versions hold.
fn read_back(folder: PathBuf) -> Snapshot {
    let snapshot = Store::open_read_only(folder).expect("the fixture is part of the sources");
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
    snapshot
}

#[test]
fn version_1_reads_for_ever() {
    read_back(folder(1));
}

#[test]
fn version_1_goes_on_in_version_2() {
    let (disk, _) = copied(1);
    let store = Store::open_on(Arc::new(disk), small()).unwrap();
    store.compact().unwrap();
    assert_eq!(read(&store.snapshot(), words(&store)).unwrap().len(), 101);
    assert_eq!(read(&store.snapshot(), numbers(&store)).unwrap().len(), 2999);
    assert!(store.snapshot().verify().is_empty());
}

/// The files of a fixture on a disk in memory.
fn copied(version: u32) -> (SimulatedDisk, Vec<String>) {
    let (fixture, disk) = (Directory::open(folder(version)).unwrap(), SimulatedDisk::new());
    let mut names = fixture.list().unwrap();
    names.sort();
    names.iter().for_each(|name| disk.put(name, &fixture.map(name).unwrap()));
    (disk, names)
}

#[test]
fn version_2_reads_for_ever() {
    if std::env::var_os("METROON_BLESS").is_some() && !folder(2).exists() {
        write(Arc::new(Directory::create(folder(2)).unwrap()));
    }
    let snapshot = read_back(folder(2));
    let packed = snapshot.keyspace("packed").unwrap();
    let expected =
        |number: u32| (format!("{number:04}").into_bytes(), b"one of many values that are the same".to_vec());
    check(&snapshot, packed, &(0..500).map(expected).collect());
}

#[test]
fn version_2_is_written_as_it_was() {
    let disk = SimulatedDisk::new();
    write(Arc::new(disk.clone()));
    let (fixture, names) = copied(2);
    assert_eq!(names, disk.names());
    for name in names {
        assert!(disk.contents(&name) == fixture.contents(&name), "{name} differs");
    }
}
