//! LMDB through `heed`.

use super::engine::{Done, Engine, Level, Reader, first};
use super::rows::{Workload, key_bytes};
use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, PutFlags, RoTxn, WithoutTls};
use std::ops::Bound;
use std::path::Path;

/// How much may be mapped, which LMDB wants to know in advance.
const MAP_BYTES: usize = 32 << 30;

struct Lmdb {
    env: Env<WithoutTls>,
    rows: Database<Bytes, Bytes>,
}

/// Every commit is synced.
pub(super) fn open(path: &Path) -> Done<Box<dyn Engine>> {
    opened(path, EnvFlags::empty())
}

/// No commit is synced.
pub(super) fn open_unsynced(path: &Path) -> Done<Box<dyn Engine>> {
    opened(path, EnvFlags::NO_SYNC)
}

#[allow(unsafe_code, reason = "heed opens an environment by a function that is unsafe, since it maps a file")]
fn opened(path: &Path, flags: EnvFlags) -> Done<Box<dyn Engine>> {
    std::fs::create_dir_all(path)?;
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(MAP_BYTES);
    // SAFETY: the folder is of this run alone, so no other process changes the file that is mapped; it is opened once at a time; without
    // syncs only what a loss of power leaves is at risk, and that is not read.
    let env = unsafe { options.flags(flags).open(path) }?;
    let mut transaction = env.write_txn()?;
    let rows = env.create_database(&mut transaction, None)?;
    transaction.commit()?;
    Ok(Box::new(Lmdb { env, rows }))
}

impl Engine for Lmdb {
    fn load(&mut self, workload: &Workload) -> Done {
        let mut transaction = self.env.write_txn()?;
        let flags = if workload.is_sorted { PutFlags::APPEND } else { PutFlags::empty() };
        let mut value = Vec::new();
        for key in &workload.keys {
            workload.values.write(*key, &mut value);
            self.rows.put_with_flags(&mut transaction, flags, &key_bytes(*key), &value)?;
        }
        Ok(transaction.commit()?)
    }

    fn commit(&mut self, rows: &[(i64, Vec<u8>)], _: Level) -> Done {
        let mut transaction = self.env.write_txn()?;
        for (key, value) in rows {
            self.rows.put(&mut transaction, &key_bytes(*key), value)?;
        }
        Ok(transaction.commit()?)
    }

    fn reader(&self) -> Done<Box<dyn Reader + '_>> {
        Ok(Box::new(Lookup { transaction: self.env.read_txn()?, rows: self.rows }))
    }
}

struct Lookup<'e> {
    transaction: RoTxn<'e, WithoutTls>,
    rows: Database<Bytes, Bytes>,
}

impl Reader for Lookup<'_> {
    fn get(&mut self, key: i64, into: &mut Vec<u8>) -> Done<bool> {
        let Some(value) = self.rows.get(&self.transaction, &key_bytes(key))? else { return Ok(false) };
        into.clear();
        into.extend_from_slice(value);
        Ok(true)
    }

    fn scan(&mut self, from: i64, count: usize) -> Done<u64> {
        let from = key_bytes(from);
        let bounds = (Bound::Included(&from[..]), Bound::<&[u8]>::Unbounded);
        let range = self.rows.range(&self.transaction, &bounds)?;
        range.take(count).try_fold(0, |sum, row| Ok(sum + first(row?.1)))
    }
}
