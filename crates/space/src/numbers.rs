//! A hash table of numbers that stand for things kept elsewhere.
//!
//! It keeps half of each hash beside the number: a table that grows looks at nothing else, and a look-up only at what it
//! most likely wants.

use hashbrown::HashTable;

/// Numbers, found by the hash of what they stand for.
#[derive(Default)]
pub(crate) struct Numbers(HashTable<Entry>);

#[derive(Clone, Copy)]
struct Entry {
    number: u32,
    half: u32,
}

/// A hash made of the half that is kept: the lower one, in which hashers mix best.
fn spread(half: u32) -> u64 {
    u64::from(half).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Numbers {
    /// The number with this hash that is the one.
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let half = hash as u32;
        let found = self.0.find(spread(half), |entry| entry.half == half && is_it(entry.number));
        found.map(|entry| entry.number)
    }

    /// Adds a number that is not there.
    pub(crate) fn insert(&mut self, hash: u64, number: u32) {
        let half = hash as u32;
        self.0.insert_unique(spread(half), Entry { number, half }, |entry| spread(entry.half));
    }

    /// Takes a number out.
    pub(crate) fn remove(&mut self, hash: u64, number: u32) {
        if let Ok(entry) = self.0.find_entry(spread(hash as u32), |entry| entry.number == number) {
            entry.remove();
        }
    }

    /// The numbers that may have this hash.
    pub(crate) fn with_hash(&self, hash: u64) -> impl Iterator<Item = u32> {
        let half = hash as u32;
        self.0.iter_hash(spread(half)).filter(move |entry| entry.half == half).map(|entry| entry.number)
    }
}
