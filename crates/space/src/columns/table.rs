//! A hash table in a column, which is looked into as it lies.
//!
//! A slot holds 0, or the number of an entry plus one in its low bits and in the others, the *tag*, high bits of the hash. A look
//! begins at the slot that the low bits of the hash say, and goes on to the next until it finds an empty one. At most three quarters
//! of the slots are taken. Source: linear probing, D. Knuth, The Art of Computer Programming 3 (1998), section 6.4.

use super::column::Column;

/// Entries by hash.
#[derive(Clone)]
pub(crate) struct Table {
    slots: Column<u32>,
    entries: u32,
}

/// How many low bits say which entry a slot is of.
fn place_bits(entries: u32) -> u32 {
    u32::BITS - entries.leading_zeros()
}

/// The high bits of a hash, as many as there is room for.
fn tag(hash: u64, entries: u32) -> u32 {
    let bits = place_bits(entries);
    (((hash >> 32) as u32 as u64) >> bits << bits) as u32
}

fn slot_count(entries: u32) -> usize {
    (entries as usize + entries as usize / 3 + 1).next_power_of_two()
}

/// The slots of a table of entries with these hashes. Each entry is there once.
pub(crate) fn table_of(entries: u32, hashes: impl Iterator<Item = u64>) -> Vec<u32> {
    let mut slots = vec![0_u32; slot_count(entries)];
    let mask = slots.len() - 1;
    for (entry, hash) in (1..=entries).zip(hashes) {
        let mut at = hash as usize & mask;
        while slots[at] != 0 {
            at = (at + 1) & mask;
        }
        slots[at] = tag(hash, entries) | entry;
    }
    slots
}

impl Table {
    /// The table with `entries` entries; `None` if these are not its slots.
    pub(crate) fn new(slots: Column<u32>, entries: u32) -> Option<Self> {
        (slots.len() == slot_count(entries)).then_some(Self { slots, entries })
    }

    /// The entry with this hash that is the one.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        self.with_hash(hash).find(|&entry| is_it(entry))
    }

    /// The entries that may have this hash.
    #[inline]
    pub(crate) fn with_hash(&self, hash: u64) -> impl Iterator<Item = u32> {
        let (mask, tag) = (self.slots.len() - 1, tag(hash, self.entries));
        let places = u32::MAX >> (u32::BITS - place_bits(self.entries)).min(31);
        let start = hash as usize & mask;
        let slots = (0..=mask).map(move |step| self.slots.get((start + step) & mask)).take_while(|&slot| slot != 0);
        slots.filter(move |slot| slot & !places == tag).map(move |slot| {
            let entry = (slot & places).wrapping_sub(1);
            if entry < self.entries { entry } else { self.slots.nowhere() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ColumnsReader, ColumnsWriter, NO_LIMIT};
    use super::*;

    fn hash(entry: u64) -> u64 {
        (entry + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26)
    }

    #[test]
    fn every_entry_is_found_and_nothing_else() {
        for entries in [0, 1, 2, 3, 7, 8, 100, 5_000_u32] {
            let slots = table_of(entries, (0..u64::from(entries)).map(hash));
            let mut file = Vec::new();
            let mut writer = ColumnsWriter::begin(&mut file).expect("a vector takes everything");
            let section = writer.column(NO_LIMIT, slots).expect("a vector takes everything");
            writer.finish().expect("a vector takes everything");
            let columns = ColumnsReader::open(file.into()).expect("it was written so");
            let table = Table::new(columns.column(section).expect("it was written so"), entries).expect("it is whole");
            for entry in 0..entries {
                assert_eq!(table.find(hash(u64::from(entry)), |found| found == entry), Some(entry));
            }
            for other in entries..entries + 100 {
                assert_eq!(table.find(hash(u64::from(other)), |found| found == other), None);
            }
        }
    }
}
