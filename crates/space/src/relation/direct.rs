//! Places by key, in a list with an item for each key of a range: an array instead of a hash table.
//!
//! Keys are numbers that the dictionary gives out one after the other, and names that come first in a column mostly lie together there.
//! Where at least half of a range occurs the list takes no more room than a table, and looking for a key is reading one item: nothing is
//! hashed, and no row is read to see whether it is the one. The idea is direct addressing (Cormen, Leiserson, Rivest, Stein:
//! Introduction to Algorithms, 2009, section 11.1).

use super::index::{Key, KeyReader};
use crate::room::reserve;

/// The place of what has none. There are fewer rows, and fewer lists.
const NONE: u32 = u32::MAX;

/// Places of the keys from the first on.
#[derive(Clone)]
pub(super) struct Direct {
    first: u64,
    places: Vec<u32>,
    /// How many keys have a place.
    keys: usize,
}

impl Direct {
    /// Room for the keys of `count` rows; `None` if they must be sparse.
    pub(super) fn spanning(rows: impl Iterator<Item = u32>, count: usize, keys: &KeyReader<'_>) -> Option<Self> {
        let widen = |[low, high]: [u64; 2], key: Key| [low.min(key.0), high.max(key.0)];
        let [first, last] = rows.filter_map(|row| keys.at(row)).fold([u64::MAX, 0], widen);
        let length = last.checked_sub(first)?;
        let is_dense = length < 2 * count as u64;
        is_dense.then(|| Self { first, places: vec![NONE; length as usize + 1], keys: 0 })
    }

    /// Whether fewer than half of the keys have a place.
    pub(super) fn is_sparse(&self) -> bool {
        self.keys * 2 < self.places.len()
    }

    /// The place of a key.
    #[inline]
    pub(super) fn get(&self, key: Key) -> Option<&u32> {
        let at = usize::try_from(key.0.wrapping_sub(self.first)).ok()?;
        self.places.get(at).filter(|&&place| place != NONE)
    }

    /// Changes the place of a key; `None` if it is outside of the range, which grows at its end while half of it occurs.
    pub(super) fn change(&mut self, key: Key, change: impl FnOnce(Option<u32>) -> Option<u32>) -> Option<()> {
        let at = usize::try_from(key.0.wrapping_sub(self.first)).ok()?;
        if at >= self.places.len() {
            if at >= 2 * (self.keys + 1) {
                return None;
            }
            let more = at + 1 - self.places.len();
            reserve(&mut self.places, more);
            self.places.resize(at + 1, NONE);
        }
        let place = &mut self.places[at];
        let before = Some(*place).filter(|&place| place != NONE);
        *place = change(before).unwrap_or(NONE);
        self.keys = self.keys + usize::from(*place != NONE) - usize::from(before.is_some());
        Some(())
    }

    /// All keys that have a place, with it.
    pub(super) fn all(&self) -> impl Iterator<Item = (Key, u32)> {
        let keyed = self.places.iter().zip(self.first..).map(|(&place, key)| (Key(key), place));
        keyed.filter(|&(_, place)| place != NONE)
    }
}
