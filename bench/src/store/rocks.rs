//! RocksDB as the crate `rocksdb` builds it, tuned for lookups of eight-byte keys, with and without its own interpolation search.

use super::engine::{Done, Engine, Level, Reader, first};
use super::rows::{Workload, key_bytes};
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, DataBlockIndexType, Direction, IteratorMode, Options, WriteBatch,
    WriteOptions,
};
use std::path::Path;

const CACHE_BYTES: usize = 4 << 30;
const BATCHED: usize = 100_000;

struct Rocks {
    db: DB,
}

/// A cache of 4 GiB, blocks of 4 KiB with a hash index, a filter, no compression.
fn opened(path: &Path, search: Option<&str>) -> Done<Box<dyn Engine>> {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&Cache::new_lru_cache(CACHE_BYTES));
    blocks.set_block_size(4096);
    blocks.set_bloom_filter(10.0, false);
    blocks.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    blocks.set_data_block_hash_ratio(0.75);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.increase_parallelism(2);
    options.set_compression_type(DBCompressionType::None);
    options.set_block_based_table_factory(&blocks);
    let db = DB::open(&options, path)?;
    if let Some(search) = search {
        db.set_options(&[("block_based_table_factory", &format!("{{index_block_search_type={search}}}"))])?;
    }
    Ok(Box::new(Rocks { db }))
}

pub(super) fn open(path: &Path) -> Done<Box<dyn Engine>> {
    opened(path, None)
}

/// Searches the index blocks of new files by interpolation.
pub(super) fn open_interpolating(path: &Path) -> Done<Box<dyn Engine>> {
    opened(path, Some("kInterpolation"))
}

impl Engine for Rocks {
    fn load(&mut self, workload: &Workload) -> Done {
        let mut value = Vec::new();
        for keys in workload.keys.chunks(BATCHED) {
            let mut batch = WriteBatch::default();
            for key in keys {
                workload.values.write(*key, &mut value);
                batch.put(key_bytes(*key), &value);
            }
            self.db.write(batch)?;
        }
        Ok(self.db.flush_wal(true)?)
    }

    fn settle(&mut self) -> Done {
        self.db.flush()?;
        self.db.compact_range::<&[u8], &[u8]>(None, None);
        Ok(())
    }

    fn commit(&mut self, rows: &[(i64, Vec<u8>)], level: Level) -> Done {
        let mut batch = WriteBatch::default();
        rows.iter().for_each(|(key, value)| batch.put(key_bytes(*key), value));
        let mut options = WriteOptions::default();
        options.set_sync(level == Level::Power);
        Ok(self.db.write_opt(batch, &options)?)
    }

    fn reader(&self) -> Done<Box<dyn Reader + '_>> {
        Ok(Box::new(Lookup { db: &self.db }))
    }
}

struct Lookup<'d> {
    db: &'d DB,
}

impl Reader for Lookup<'_> {
    fn get(&mut self, key: i64, into: &mut Vec<u8>) -> Done<bool> {
        let Some(value) = self.db.get_pinned(key_bytes(key))? else { return Ok(false) };
        into.clear();
        into.extend_from_slice(&value);
        Ok(true)
    }

    fn scan(&mut self, from: i64, count: usize) -> Done<u64> {
        let from = key_bytes(from);
        let range = self.db.iterator(IteratorMode::From(&from, Direction::Forward));
        range.take(count).try_fold(0, |sum, row| Ok(sum + first(&row?.1)))
    }
}
