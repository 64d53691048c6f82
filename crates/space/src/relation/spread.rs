//! How the rows of a relation spread over the keys at a path: what a planner goes by.

use super::index::{IndexedBy, Spread};
use super::{Path, Relation};
use crate::term::{Term, Terms};

impl Relation {
    /// How its rows spread at a path. The index of the path is made if need be.
    pub(crate) fn spread(&self, path: Path, dictionary: &Terms) -> Spread {
        self.parts().fold(Spread::default(), |sum, part| {
            let of = part.with_index(IndexedBy::Path(path), dictionary, |index, _| index.spread());
            Spread { rows: sum.rows + of.rows, keys: sum.keys.max(of.keys), squares: sum.squares + of.squares }
        })
    }

    /// How many rows have a key at a path, holes counted.
    pub(crate) fn count_listed(&self, path: Path, key: Term, dictionary: &Terms) -> usize {
        self.parts().map(|part| part.listed(path, key, dictionary)).sum()
    }
}
