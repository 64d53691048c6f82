//! How the rows of a relation spread over the keys at a path: what a planner goes by.
//!
//! What is counted depends on the rows alone, and not on the segments in which they lie, so that the same rows get the same plan.

use super::index::{IndexedBy, Spread, key_at};
use super::{Path, Relation, SegmentView};
use crate::term::{Term, Terms};
use rustc_hash::FxHashMap;

impl Relation {
    /// How its rows spread at a path. Where they lie in one segment without holes or copies the index of the path knows, which is made if
    /// need be; otherwise they are counted, those of a segment in an image excepted, of which only what has changed is.
    pub(crate) fn spread(&self, path: Path, dictionary: &Terms) -> Spread {
        if let Some(only) = self.only_part().filter(|part| part.copies.are_plain()) {
            return only.with_index(IndexedBy::Path(path), dictionary, |index, _| index.spread());
        }
        let mut parts = self.parts();
        if let Some(first) = self.sealed.first().filter(|first| first.segment.is_mapped())
            && first.segment.index(IndexedBy::Path(path)).is_some()
        {
            parts.next();
            return changed_spread(first.view(), parts, path, dictionary);
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

/// The spread of a segment that knows it, less its holes, and with the rows of other parts: only the keys of those are looked at.
fn changed_spread<'a>(
    known: SegmentView<'a>,
    others: impl Iterator<Item = SegmentView<'a>>,
    path: Path,
    dictionary: &Terms,
) -> Spread {
    let mut changes: FxHashMap<Term, i64> = FxHashMap::default();
    let mut change = |terms: &[Term], by: i64| {
        if let Some(key) = key_at(path, terms, dictionary) {
            *changes.entry(key).or_default() += by;
        }
    };
    known.copies.each_hole(|row| change(known.segment.terms(row), -1));
    others.for_each(|part| part.live().for_each(|row| change(part.segment.terms(row), 1)));
    known.with_index(IndexedBy::Path(path), dictionary, |index, keys| {
        let mut spread = index.spread();
        for (key, change) in changes {
            let before = index.get(key.into(), keys).len() as f64;
            let after = before + change as f64;
            spread.rows += after - before;
            spread.keys += f64::from(after > 0.0) - f64::from(before > 0.0);
            spread.squares += after * after - before * before;
        }
        spread
    })
}
