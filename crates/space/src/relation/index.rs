//! An index of a path: the rows of a segment by the match key found there.
//!
//! A key with one row costs that row's number; more rows lie in a list, in the order of the segment. The keys themselves
//! are read from the rows. So a look-up reads the row that it finds, which whoever asked does next.

use super::{KeyOf, Path};
use crate::term::{Term, Terms};
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// A place that is a list and no row.
const LIST: u32 = 1 << 31;

/// Rows by key.
#[derive(Clone, Default)]
pub(super) struct Index {
    /// A row, or a list, of each key.
    places: HashTable<u32>,
    lists: Vec<Vec<u32>>,
    free: Vec<u32>,
}

/// What reads the key of a row at the path of an index.
pub(super) struct Keys<'a> {
    pub(super) rows: KeyOf<'a>,
    pub(super) path: Path,
    pub(super) dictionary: &'a Terms,
}

impl Keys<'_> {
    pub(super) fn at(&self, row: u32) -> Option<Term> {
        key_at(self.path, self.rows.terms(row), self.dictionary)
    }
}

/// The match key at a path of a row, if the row reaches that far.
pub(super) fn key_at((column, child): Path, terms: &[Term], dictionary: &Terms) -> Option<Term> {
    let term = *terms.get(column as usize)?;
    match child {
        None => Some(dictionary.key(term)),
        Some(child) => dictionary.children(term)?.get(child as usize).map(|&term| dictionary.key(term)),
    }
}

fn hash(key: Term) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u32(key.number());
    hasher.finish()
}

impl Index {
    /// The rows with this key.
    pub(super) fn get(&self, key: Term, keys: &Keys<'_>) -> &[u32] {
        let found = self.places.find(hash(key), |&place| self.key_of(place, keys) == Some(key));
        found.map_or(&[], |place| self.rows_of(place))
    }

    fn rows_of<'a>(&'a self, place: &'a u32) -> &'a [u32] {
        if *place & LIST == 0 { std::slice::from_ref(place) } else { &self.lists[(*place & !LIST) as usize] }
    }

    /// The key that a place is for; every list has a row.
    fn key_of(&self, place: u32, keys: &Keys<'_>) -> Option<Term> {
        keys.at(if place & LIST == 0 { place } else { self.lists[(place & !LIST) as usize][0] })
    }

    /// Adds a row, behind those that are there.
    pub(super) fn insert(&mut self, row: u32, keys: &Keys<'_>) {
        let Some(key) = keys.at(row) else { return };
        let Self { places, lists, free } = self;
        let first = |place: u32| if place & LIST == 0 { place } else { lists[(place & !LIST) as usize][0] };
        let hash_of = |&place: &u32| keys.at(first(place)).map_or(0, hash);
        let is_it = |&place: &u32| keys.at(first(place)) == Some(key);
        match places.entry(hash(key), is_it, hash_of) {
            hashbrown::hash_table::Entry::Vacant(vacant) => drop(vacant.insert(row)),
            hashbrown::hash_table::Entry::Occupied(mut found) => {
                let place = found.get_mut();
                if *place & LIST != 0 {
                    lists[(*place & !LIST) as usize].push(row);
                    return;
                }
                let list = free.pop().unwrap_or_else(|| {
                    lists.push(Vec::new());
                    (lists.len() - 1) as u32
                });
                let rows = &mut lists[list as usize];
                rows.reserve(4);
                rows.extend([*place, row]);
                *place = LIST | list;
            }
        }
    }

    /// Keeps only the rows of a key that are wanted.
    pub(super) fn retain(&mut self, key: Term, keys: &Keys<'_>, is_wanted: impl Fn(u32) -> bool) {
        let found = self.places.find(hash(key), |&place| self.key_of(place, keys) == Some(key)).copied();
        let Some(place) = found else { return };
        if place & LIST != 0 {
            let rows = &mut self.lists[(place & !LIST) as usize];
            let first = rows[0];
            rows.retain(|&row| is_wanted(row));
            rows.shrink_to(rows.len() * 2);
            if !rows.is_empty() {
                return;
            }
            // For the look-up below, which reads the key of a row.
            rows.push(first);
        } else if is_wanted(place) {
            return;
        }
        if let Ok(entry) = self.places.find_entry(hash(key), |&listed| listed == place) {
            entry.remove();
        }
        if place & LIST != 0 {
            self.lists[(place & !LIST) as usize] = Vec::new();
            self.free.push(place & !LIST);
        }
    }
}
