//! A store on real files: mapped runs, the lock, readers in other processes' place.

use crate::history::{put, read, words};
use journal::MemoryDisk;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use store::{Batch, Durability, KeyShape, OpenError, Options, Store};

/// A folder of the file system that is gone when the test is over.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A name that nothing has yet.
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("store-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn small() -> Options {
    Options::default().memtable_bytes(20_000).part_bytes(50_000).first_level_runs(2, 4)
}

#[test]
fn a_store_in_a_folder_is_opened_again() {
    let folder = Folder::new();
    let store = Store::create(folder.path(), small()).unwrap();
    let keyspace = words(&store);
    for number in 0..2000_u32 {
        store.commit(&put(keyspace, number.to_be_bytes(), [3; 60]), Durability::Os).unwrap();
    }
    let expected = read(&store.snapshot(), keyspace).unwrap();
    assert_eq!(expected.len(), 2000);
    let error = Store::open(folder.path(), small()).unwrap_err();
    assert!(error.to_string().contains(&format!("process {} holds the lock", std::process::id())), "{error}");
    let beside = Store::open_read_only(folder.path()).unwrap();
    assert_eq!(read(&beside, keyspace).unwrap(), expected);
    store.close().unwrap();
    let store = Store::open(folder.path(), small()).unwrap();
    assert_eq!(read(&store.snapshot(), keyspace).unwrap(), expected);
    store.compact().unwrap();
    assert_eq!(read(&beside, keyspace).unwrap(), expected, "files that are gone are still mapped");
    let copy = Folder::new();
    store.snapshot().backup(copy.path()).unwrap();
    assert_eq!(read(&Store::open_read_only(copy.path()).unwrap(), keyspace).unwrap(), expected);
}

#[test]
fn what_is_no_store_is_not_opened_and_not_overwritten() {
    let folder = Folder::new();
    assert!(matches!(Store::open(folder.path(), small()), Err(OpenError::Absent)));
    std::fs::create_dir_all(folder.path()).unwrap();
    std::fs::write(folder.path().join("letter.txt"), "dear all").unwrap();
    assert!(matches!(Store::open(folder.path(), small()), Err(OpenError::Absent)));
    assert!(matches!(Store::create(folder.path(), small()), Err(OpenError::Occupied)));
    std::fs::write(folder.path().join("MANIFEST"), "metroon base\nformat 1\n").unwrap();
    assert!(matches!(Store::open(folder.path(), small()), Err(OpenError::Foreign)));
    assert!(matches!(Store::open_read_only(folder.path()), Err(OpenError::Foreign)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing was left there");
}

#[test]
fn a_store_can_be_read_while_it_is_written() {
    let folder = Folder::new();
    let store = Store::create(folder.path(), small()).unwrap();
    let keyspace = words(&store);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..6000_u32 {
                store.commit(&put(keyspace, number.to_be_bytes(), [3; 60]), Durability::Os).unwrap();
            }
        });
        let mut before = 0;
        while !writer.is_finished() {
            let snapshot = Store::open_read_only(folder.path()).unwrap();
            let found = read(&snapshot, keyspace).unwrap();
            let count = found.len() as u32;
            assert!(
                found.keys().map(|key| &key[..]).eq((0..count)
                    .map(u32::to_be_bytes)
                    .collect::<Vec<_>>()
                    .iter()
                    .map(|key| &key[..]))
            );
            assert!(count >= before, "what was seen stays");
            before = count;
        }
    });
}

#[test]
fn counts_that_cannot_be_read_cost_no_opening() {
    let folder = Folder::new();
    let store = Store::create(folder.path(), small()).unwrap();
    let keyspace = words(&store);
    store.commit(&put(keyspace, "a", "1"), Durability::Os).unwrap();
    store.close().unwrap();
    std::fs::create_dir(folder.path().join("COUNTERS")).unwrap();
    assert_eq!(Store::open_read_only(folder.path()).unwrap().stats().unwrap().lookups, None);
    let store = Store::open(folder.path(), small()).unwrap();
    assert_eq!(store.get(words(&store), "a").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn every_count_of_a_store_has_a_name_and_a_meaning() {
    let store = Store::create_on(Arc::new(MemoryDisk::new()), Options::default()).expect("it is made");
    let keyspace = store.keyspace("what", KeyShape::Bytes).expect("it is made");
    let mut batch = Batch::new();
    batch.put(keyspace, "a", "1");
    store.commit(&batch, Durability::Fsync).expect("it is written");
    store.compact().expect("it is merged");
    let report = statistics::Statistics::report(&store.snapshot().stats().expect("the index is sound"));
    assert_eq!(report.defects(), Vec::<String>::new());
    let about = report.about();
    assert!(about.contains_key("keyspaces.*.files.*.model_error") && about.contains_key("lookups.hits"), "{about:#?}");
}
