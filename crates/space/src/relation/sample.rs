//! What a planner asks of a relation: how many rows have a key, and some rows to look at.
//!
//! What is counted depends on the rows alone, and not on the segments in which they lie, so that the same rows get the same plan.

use super::index::{IndexedBy, RowList};
use super::{Path, Relation};
use crate::term::{Term, Terms};

impl Relation {
    /// How many rows have a key at a path.
    pub(crate) fn count_listed(&self, path: Path, key: Term, dictionary: &Terms) -> usize {
        let listed = self.parts().map(|part| {
            part.with_index(IndexedBy::Path(path), dictionary, |index, keys| {
                let rows = index.get(key.into(), keys);
                if part.copies.holes() == 0 { rows.len() } else { rows.count_live(part.copies) }
            })
        });
        listed.sum()
    }

    /// How many rows it has.
    pub(crate) fn count_rows(&self) -> u32 {
        self.parts().map(|part| part.segment.len() - part.copies.holes()).sum()
    }

    /// Hands on the rows at some places among those that have a key at a path, or among all. The places ascend, and there are rows there.
    pub(crate) fn rows_at(
        &self,
        known: Option<(Path, Term)>,
        places: &[usize],
        dictionary: &Terms,
        visit: &mut dyn FnMut(&[Term]),
    ) {
        let (mut places, mut before) = (places, 0);
        for part in self.parts() {
            let mut read = |rows: RowList<'_>| {
                let mut live = Vec::new();
                let rows = match part.copies.holes() {
                    0 => rows,
                    _ => {
                        rows.add_to(&mut live, 0, part.copies);
                        RowList::Each(&live)
                    }
                };
                let after = before + rows.len();
                let (here, later) = places.split_at(places.partition_point(|&place| place < after));
                here.iter().for_each(|&place| visit(part.segment.terms(rows.at(place - before))));
                (places, before) = (later, after);
            };
            match known {
                None => read(RowList::Run(0..part.segment.len())),
                Some((path, key)) => part.with_index(IndexedBy::Path(path), dictionary, |index, keys| {
                    read(index.get(key.into(), keys));
                }),
            }
        }
    }
}
