//! fjall, with a cache of 2 GiB and its own defaults else.

use super::engine::{Done, Engine, Level, Reader, first};
use super::rows::{Workload, key_bytes};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::path::Path;

const CACHE_BYTES: u64 = 2 << 30;
const BATCHED: usize = 100_000;

struct Fjall {
    database: Database,
    rows: Keyspace,
}

pub(super) fn open(path: &Path) -> Done<Box<dyn Engine>> {
    let database = Database::builder(path).cache_size(CACHE_BYTES).open()?;
    let rows = database.keyspace("rows", KeyspaceCreateOptions::default)?;
    Ok(Box::new(Fjall { database, rows }))
}

impl Engine for Fjall {
    fn load(&mut self, workload: &Workload) -> Done {
        let mut value = Vec::new();
        for keys in workload.keys.chunks(BATCHED) {
            let mut batch = self.database.batch();
            for key in keys {
                workload.values.write(*key, &mut value);
                batch.insert(&self.rows, key_bytes(*key), &value[..]);
            }
            batch.commit()?;
        }
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }

    fn settle(&mut self) -> Done {
        self.rows.rotate_memtable_and_wait()?;
        Ok(self.rows.major_compact()?)
    }

    fn commit(&mut self, rows: &[(i64, Vec<u8>)], level: Level) -> Done {
        let mode = if level == Level::Power { PersistMode::SyncData } else { PersistMode::Buffer };
        let mut batch = self.database.batch().durability(Some(mode));
        rows.iter().for_each(|(key, value)| batch.insert(&self.rows, key_bytes(*key), &value[..]));
        Ok(batch.commit()?)
    }

    fn reader(&self) -> Done<Box<dyn Reader + '_>> {
        Ok(Box::new(Lookup { rows: &self.rows }))
    }
}

struct Lookup<'k> {
    rows: &'k Keyspace,
}

impl Reader for Lookup<'_> {
    fn get(&mut self, key: i64, into: &mut Vec<u8>) -> Done<bool> {
        let Some(value) = self.rows.get(key_bytes(key))? else { return Ok(false) };
        into.clear();
        into.extend_from_slice(&value);
        Ok(true)
    }

    fn scan(&mut self, from: i64, count: usize) -> Done<u64> {
        let range = self.rows.range(key_bytes(from)..);
        range.take(count).try_fold(0, |sum, row| Ok(sum + first(&row.value()?)))
    }
}
