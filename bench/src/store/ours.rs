//! The store of this project.

use super::engine::{Done, Engine, Level, Reader, first};
use super::rows::{Workload, key_bytes};
use std::path::Path;
use store::{Batch, Durability, KeyShape, Keyspace, Options, Snapshot, Store};

/// Rows a batch, as for other engines with batches.
const BATCHED: usize = 100_000;

pub(super) struct Ours {
    pub(super) store: Store,
    pub(super) keyspace: Keyspace,
    /// Whether ascending rows are written as runs at once.
    ingests: bool,
}

fn opened(path: &Path, ingests: bool) -> Done<Ours> {
    let is_there = path.join("MANIFEST").exists();
    let store =
        if is_there { Store::open(path, Options::default())? } else { Store::create(path, Options::default())? };
    let keyspace = store.keyspace("rows", KeyShape::Fixed(8))?;
    Ok(Ours { store, keyspace, ingests })
}

/// Loads rows that ascend by `ingest`, and others in batches.
pub(super) fn open(path: &Path) -> Done<Box<dyn Engine>> {
    Ok(Box::new(opened(path, true)?))
}

/// Loads all rows in batches.
pub(super) fn open_for_batches(path: &Path) -> Done<Box<dyn Engine>> {
    Ok(Box::new(opened(path, false)?))
}

impl Engine for Ours {
    fn load(&mut self, workload: &Workload) -> Done {
        let mut value = Vec::new();
        if self.ingests && workload.is_sorted {
            let rows = workload.keys.iter().map(|key| {
                workload.values.write(*key, &mut value);
                (key_bytes(*key), value.clone())
            });
            self.store.ingest(self.keyspace, rows)?;
            return Ok(());
        }
        let mut batch = Batch::new();
        let count = workload.keys.len().div_ceil(BATCHED);
        for (index, keys) in workload.keys.chunks(BATCHED).enumerate() {
            batch.clear();
            for key in keys {
                workload.values.write(*key, &mut value);
                batch.put(self.keyspace, key_bytes(*key), &value);
            }
            let durability = if index + 1 == count { Durability::Fsync } else { Durability::None };
            self.store.commit(&batch, durability)?;
        }
        Ok(())
    }

    fn settle(&mut self) -> Done {
        Ok(self.store.compact()?)
    }

    fn commit(&mut self, rows: &[(i64, Vec<u8>)], level: Level) -> Done {
        let mut batch = Batch::new();
        rows.iter().for_each(|(key, value)| batch.put(self.keyspace, key_bytes(*key), value));
        let durability = if level == Level::Power { Durability::Fsync } else { Durability::Os };
        self.store.commit(&batch, durability)?;
        Ok(())
    }

    fn reader(&self) -> Done<Box<dyn Reader + '_>> {
        Ok(Box::new(Lookup { snapshot: self.store.snapshot(), keyspace: self.keyspace }))
    }

    fn close(self: Box<Self>) -> Done {
        Ok(self.store.close()?)
    }
}

pub(super) struct Lookup {
    pub(super) snapshot: Snapshot,
    pub(super) keyspace: Keyspace,
}

impl Reader for Lookup {
    fn get(&mut self, key: i64, into: &mut Vec<u8>) -> Done<bool> {
        let Some(value) = self.snapshot.get(self.keyspace, key_bytes(key))? else { return Ok(false) };
        into.clear();
        into.extend_from_slice(&value);
        Ok(true)
    }

    fn scan(&mut self, from: i64, count: usize) -> Done<u64> {
        let mut range = self.snapshot.range(self.keyspace, key_bytes(from)..)?;
        let mut sum = 0;
        for _ in 0..count {
            let Some((_, value)) = range.next()? else { break };
            sum += first(value);
        }
        Ok(sum)
    }
}
