//! Batches that say who they are, and everything that a store holds.

use journal::Disk;
use journal::simulated::SimulatedDisk;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{Batch, KeyShape, Keyspace, Maintenance, Options, ReadError, Snapshot, Store};

/// Everything in a keyspace.
pub(crate) type Map = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) fn shared(disk: &SimulatedDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// Memtables and parts that are full after a few records, and all work in the thread that commits.
pub(crate) fn small() -> Options {
    Options::default().memtable_bytes(3000).part_bytes(9000).first_level_runs(2, 4).maintenance(Maintenance::Inline)
}

pub(crate) fn create(options: &Options) -> (SimulatedDisk, Store) {
    let disk = SimulatedDisk::new();
    let store = Store::create_on(shared(&disk), options.clone()).unwrap();
    (disk, store)
}

pub(crate) fn words(store: &Store) -> Keyspace {
    store.keyspace("words", KeyShape::Bytes).unwrap()
}

pub(crate) fn numbers(store: &Store) -> Keyspace {
    store.keyspace("numbers", KeyShape::Fixed(8)).unwrap()
}

pub(crate) fn put(keyspace: Keyspace, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Batch {
    let mut batch = Batch::new();
    batch.put(keyspace, key, value);
    batch
}

/// All entries, read from the front.
pub(crate) fn read(snapshot: &Snapshot, keyspace: Keyspace) -> Result<Map, ReadError> {
    let mut range = snapshot.all(keyspace)?;
    let mut map = Map::new();
    while let Some((key, value)) = range.next()? {
        assert!(map.insert(key.to_vec(), value.to_vec()).is_none(), "a key comes once");
    }
    Ok(map)
}

/// Compares all ways of reading with a map.
pub(crate) fn check(snapshot: &Snapshot, keyspace: Keyspace, expected: &Map) {
    assert_eq!(read(snapshot, keyspace).unwrap(), *expected);
    let mut back = snapshot.all(keyspace).unwrap();
    let mut found = Vec::new();
    while let Some((key, value)) = back.next_back().unwrap() {
        found.push((key.to_vec(), value.to_vec()));
    }
    found.reverse();
    assert!(found.iter().map(|(key, value)| (key, value)).eq(expected.iter()), "backwards");
    for (key, value) in expected {
        assert_eq!(snapshot.get(keyspace, key).unwrap().as_deref(), Some(&value[..]), "{key:?}");
    }
}

/// Numbers that look random and are always the same.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
