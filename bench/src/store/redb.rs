//! redb, with a cache of 4 GiB.

use super::engine::{Done, Engine, Level, Reader, first};
use super::rows::{Workload, key_bytes};
use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, TableDefinition};
use std::path::Path;

const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");
const CACHE_BYTES: usize = 4 << 30;

struct Redb {
    database: Database,
}

pub(super) fn open(path: &Path) -> Done<Box<dyn Engine>> {
    std::fs::create_dir_all(path)?;
    let database = Database::builder().set_cache_size(CACHE_BYTES).create(path.join("data.redb"))?;
    let transaction = database.begin_write()?;
    drop(transaction.open_table(ROWS)?);
    transaction.commit()?;
    Ok(Box::new(Redb { database }))
}

impl Engine for Redb {
    fn load(&mut self, workload: &Workload) -> Done {
        let transaction = self.database.begin_write()?;
        let mut table = transaction.open_table(ROWS)?;
        let mut value = Vec::new();
        for key in &workload.keys {
            workload.values.write(*key, &mut value);
            table.insert(&key_bytes(*key)[..], &value[..])?;
        }
        drop(table);
        Ok(transaction.commit()?)
    }

    fn commit(&mut self, rows: &[(i64, Vec<u8>)], level: Level) -> Done {
        let mut transaction = self.database.begin_write()?;
        // Without a sync nothing survives the process either, which is less than the others do.
        transaction.set_durability(if level == Level::Power { Durability::Immediate } else { Durability::None })?;
        let mut table = transaction.open_table(ROWS)?;
        for (key, value) in rows {
            table.insert(&key_bytes(*key)[..], &value[..])?;
        }
        drop(table);
        Ok(transaction.commit()?)
    }

    fn reader(&self) -> Done<Box<dyn Reader + '_>> {
        Ok(Box::new(Lookup { table: self.database.begin_read()?.open_table(ROWS)? }))
    }
}

struct Lookup {
    table: ReadOnlyTable<&'static [u8], &'static [u8]>,
}

impl Reader for Lookup {
    fn get(&mut self, key: i64, into: &mut Vec<u8>) -> Done<bool> {
        let Some(value) = self.table.get(&key_bytes(key)[..])? else { return Ok(false) };
        into.clear();
        into.extend_from_slice(value.value());
        Ok(true)
    }

    fn scan(&mut self, from: i64, count: usize) -> Done<u64> {
        let range = self.table.range(&key_bytes(from)[..]..)?;
        range.take(count).try_fold(0, |sum, row| Ok(sum + first(row?.1.value())))
    }
}
