//! Where in a list of rows a row lies.

use crate::relation::hash_of;
use crate::term::Term;
use hashbrown::HashTable;

/// So few rows are compared one after the other.
const SCAN_MAX: usize = 8;

/// The places of the rows of a list, which the caller has.
#[derive(Default)]
pub(super) struct Places {
    table: HashTable<u32>,
    length: usize,
}

impl Places {
    /// The place of a row, if it is there.
    pub(super) fn find<'a>(&self, row: &[Term], at: impl Fn(usize) -> &'a [Term]) -> Option<usize> {
        if self.length <= SCAN_MAX {
            return (0..self.length).find(|&place| at(place) == row);
        }
        let found = self.table.find(hash_of(row.iter().copied()), |&place| at(place as usize) == row);
        found.map(|&place| place as usize)
    }

    /// Adds a row that is not there and gets this place, which is the next.
    pub(super) fn add<'a>(&mut self, row: &[Term], place: usize, at: impl Fn(usize) -> &'a [Term]) {
        let hash = |&place: &u32| hash_of(at(place as usize).iter().copied());
        self.length = place + 1;
        if self.length <= SCAN_MAX {
            return;
        }
        if self.table.is_empty() {
            for place in 0..place as u32 {
                self.table.insert_unique(hash(&place), place, hash);
            }
        }
        // The row itself does not lie in its place yet.
        self.table.insert_unique(hash_of(row.iter().copied()), place as u32, hash);
    }
}
