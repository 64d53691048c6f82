//! How the rows of a relation spread over the keys at a path: what a planner goes by.
//!
//! What is counted depends on the rows alone, and not on the segments in which they lie, so that the same rows get the same plan.

use super::index::{IndexedBy, Spread, key_at};
use super::{Path, Relation};
use crate::term::{Term, Terms};
use rustc_hash::FxHashMap;

impl Relation {
    /// How its rows spread at a path. Where they lie in one segment without holes or copies the index of the path knows, which is made if
    /// need be; otherwise they are counted.
    pub(crate) fn spread(&self, path: Path, dictionary: &Terms) -> Spread {
        if let Some(only) = self.only_part().filter(|part| part.copies.are_plain()) {
            return only.with_index(IndexedBy::Path(path), dictionary, |index, _| index.spread());
        }
        let mut rows_of: FxHashMap<Term, usize> = FxHashMap::default();
        for row in self.all() {
            if let Some(key) = key_at(path, row.terms, dictionary) {
                *rows_of.entry(key).or_default() += 1;
            }
        }
        // Sums of whole numbers this small are exact in any order.
        rows_of.into_values().fold(Spread::default(), Spread::with_key)
    }

    /// How many rows have a key at a path.
    pub(crate) fn count_listed(&self, path: Path, key: Term, dictionary: &Terms) -> usize {
        let listed = self.parts().map(|part| {
            part.with_index(IndexedBy::Path(path), dictionary, |index, keys| {
                let rows = index.get(key.into(), keys);
                if part.copies.are_plain() { rows.len() } else { rows.count_live(part.copies) }
            })
        });
        listed.sum()
    }

    /// How many rows it has.
    pub(crate) fn count_rows(&self) -> u32 {
        self.parts().map(|part| part.segment.len() - part.copies.holes()).sum()
    }
}
