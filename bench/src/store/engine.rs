//! What the suite asks of an engine, ours and each peer.
//!
//! An engine keeps one keyspace of eight-byte keys in a folder of its own. Its reader has one snapshot, statement or transaction for all
//! that it is asked, as a program would that cares about speed.

use super::rows::{SCANNED, Workload, digest};
use std::error::Error;
use std::path::Path;

/// What an engine did, or why it could not.
pub(super) type Done<T = ()> = Result<T, Box<dyn Error>>;

/// What is durable when a commit returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// It survives the end of the process, not the end of the power.
    Process,
    /// It survives the end of the power.
    Power,
}

/// An engine that is open.
pub(super) trait Engine {
    /// Loads all rows; what was loaded is durable when this returns, as far as the engine does that.
    fn load(&mut self, workload: &Workload) -> Done;

    /// Brings what was loaded into the state that it will have for long: merged, flushed.
    fn settle(&mut self) -> Done {
        Ok(())
    }

    /// Commits a few rows at once.
    fn commit(&mut self, rows: &[(i64, Vec<u8>)], level: Level) -> Done;

    fn reader(&self) -> Done<Box<dyn Reader + '_>>;

    /// Ends as it should.
    fn close(self: Box<Self>) -> Done {
        Ok(())
    }
}

/// Answers of an engine.
pub(super) trait Reader {
    /// Copies the value of a key into a buffer; whether it is there.
    fn get(&mut self, key: i64, into: &mut Vec<u8>) -> Done<bool>;

    /// Goes over `count` rows from a key on and adds the first byte of each value up.
    fn scan(&mut self, from: i64, count: usize) -> Done<u64>;
}

/// An engine of the suite.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// How it is set up.
    pub(super) note: &'static str,
    /// Opens it in a folder, or makes it.
    pub(super) open: fn(&Path) -> Done<Box<dyn Engine>>,
}

/// Asks for every existing key; the sum over the values.
pub(super) fn gets(reader: &mut dyn Reader, workload: &Workload) -> Done<u64> {
    let mut value = Vec::with_capacity(128);
    let mut sum = 0_u64;
    for key in &workload.hits {
        if !reader.get(*key, &mut value)? {
            return Err(format!("the key {key} is not there").into());
        }
        sum = sum.wrapping_add(digest(&value));
    }
    Ok(sum)
}

/// Asks for keys that are not there; how many are there nevertheless.
pub(super) fn misses(reader: &mut dyn Reader, workload: &Workload) -> Done<u64> {
    let mut value = Vec::with_capacity(128);
    let mut found = 0;
    for key in &workload.misses {
        found += u64::from(reader.get(*key, &mut value)?);
    }
    Ok(found)
}

/// Scans a hundred rows from each key that scans begin with.
pub(super) fn scans(reader: &mut dyn Reader, workload: &Workload) -> Done<u64> {
    workload.scans.iter().try_fold(0, |sum: u64, key| Ok(sum.wrapping_add(reader.scan(*key, SCANNED)?)))
}

/// The first byte of a value, as scans add it up.
pub(super) fn first(value: &[u8]) -> u64 {
    value.first().copied().map_or(0, u64::from)
}
