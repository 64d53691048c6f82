//! Reading the slots of a large table before they are needed, so that a look-up does not wait for memory.

use hashbrown::HashTable;
use std::hint::black_box;

/// Tables of fewer entries are in the cache in any case.
pub(crate) const LARGE_TABLE: usize = 1 << 14;

/// Reads what a table has where it begins to look for these hashes, as far as this can be known from outside: two slots, since
/// of an empty one only the tag is read.
pub(crate) fn read_slots(table: &HashTable<u32>, hashes: impl Iterator<Item = u64>) {
    let mask = table.num_buckets() - 1;
    let slot = |at: usize| table.get_bucket(at & mask).copied().unwrap_or_default();
    let read = |hash: u64| slot(hash as usize) ^ slot(hash as usize + 5);
    black_box(hashes.fold(0, |sum, hash| sum ^ read(hash)));
}
