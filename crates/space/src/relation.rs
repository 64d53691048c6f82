//! A relation: the ground expressions of one length, as rows of terms.
//!
//! A row is stored once with the number of its copies and the insertion number of the first. Removing the last copy
//! leaves a hole; the relation is packed when more than half of it is holes. An index of a *path* (a column, or a
//! child of the compound terms in a column) lists the rows by the match key found there; it is made when a query
//! first asks for it and kept up to date afterwards. Holes leave a list when a query walks it and finds that they
//! are more than half.
//!
//! Invariants
//! - Row numbers ascend with insertion numbers, so every index lists rows in insertion order; only a row that came back
//!   with its old number stands out of order, and callers sort by number.
//! - Two rows with equal match keys (`(p 1)` and `(p 1.0)`) are two rows.
//!
//! Cost: adding, removing and finding a row are constant time; a query walks the shortest list among its paths.

use crate::numbers::Numbers;
use crate::term::{Term, Terms};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::RwLock;

/// Where in a row an index looks: a column, and maybe a child of the term there.
pub(crate) type Path = (u32, Option<u32>);

/// Rows are found through a hash table from this many on; a shorter relation is scanned.
const SCAN_MAX: usize = 8;

/// A list this short is walked without looking for a shorter one.
const SHORT_ENOUGH: usize = 8;

/// The ground expressions of one length, or of all lengths beyond the longest that has a relation of its own.
#[derive(Default)]
pub struct Relation {
    cells: Vec<Term>,
    rows: Vec<Row>,
    table: Numbers,
    holes: usize,
    indexes: RwLock<FxHashMap<Path, Index>>,
}

#[derive(Clone, Copy)]
struct Row {
    start: usize,
    length: u32,
    copies: u32,
    number: u64,
}

type Index = FxHashMap<Term, Vec<u32>>;

/// A row as a query sees it.
pub struct Found<'a> {
    /// Its terms.
    pub terms: &'a [Term],
    /// How many copies of it there are.
    pub copies: u32,
    /// Its insertion number.
    pub number: u64,
}

impl Relation {
    /// Makes room for so many more rows of this length.
    pub(crate) fn reserve(&mut self, rows: usize, length: usize) {
        self.rows.reserve(rows);
        self.cells.reserve(rows.saturating_mul(length));
    }

    /// Adds a copy of a row; `number` is used if the row is new. Returns whether it was.
    pub fn add(&mut self, terms: &[Term], number: u64, dictionary: &Terms) -> bool {
        let hash = hash_keys(terms, dictionary);
        let Self { cells, rows, table, .. } = self;
        if let Some(found) = table.find(hash, |row| cells_of(cells, rows, row) == terms) {
            rows[found as usize].copies += 1;
            return false;
        }
        let row = u32::try_from(rows.len()).expect("a relation holds at most 2^32 rows");
        let length = u32::try_from(terms.len()).expect("an expression has at most 2^32 children");
        rows.push(Row { start: cells.len(), length, copies: 1, number });
        cells.extend_from_slice(terms);
        table.insert(hash, row);
        self.extend_indexes(row, dictionary);
        true
    }

    /// Removes one copy of a row: of exactly this one, or else of the first with these match keys. Gives the row with
    /// its insertion number, if there was one.
    pub fn remove(&mut self, exact: Option<&[Term]>, keys: &[Term], dictionary: &Terms) -> Option<(Vec<Term>, u64)> {
        let matching = self.with_keys(keys, dictionary);
        let exact = matching.iter().copied().find(|&row| Some(self.terms_of(row)) == exact);
        let row = exact.or(matching.into_iter().min_by_key(|&row| self.rows[row as usize].number))?;
        let removed = (self.terms_of(row).to_vec(), self.rows[row as usize].number);
        self.rows[row as usize].copies -= 1;
        if self.rows[row as usize].copies == 0 {
            self.forget(row, dictionary);
        }
        Some(removed)
    }

    fn forget(&mut self, row: u32, dictionary: &Terms) {
        let hash = hash_keys(self.terms_of(row), dictionary);
        self.table.remove(hash, row);
        self.holes += 1;
        if self.holes * 2 > self.rows.len() {
            self.pack(dictionary);
        }
    }

    /// Closes the holes; indexes are made anew when next asked for.
    fn pack(&mut self, dictionary: &Terms) {
        let old = std::mem::take(self);
        for row in old.rows.iter().filter(|row| row.copies > 0) {
            let terms = &old.cells[row.start..row.start + row.length as usize];
            self.add(terms, row.number, dictionary);
            self.rows.last_mut().expect("a row was added").copies = row.copies;
        }
    }

    /// The rows that have these match keys, in no particular order.
    fn with_keys(&self, keys: &[Term], dictionary: &Terms) -> Vec<u32> {
        let mut found = Vec::new();
        self.find_keys(keys, dictionary, &mut found);
        found
    }

    fn find_keys(&self, keys: &[Term], dictionary: &Terms, found: &mut Vec<u32>) {
        let mut hasher = FxHasher::default();
        keys.len().hash(&mut hasher);
        keys.iter().for_each(|key| key.hash(&mut hasher));
        let has_keys = |row: u32| {
            let terms = self.terms_of(row);
            terms.len() == keys.len() && terms.iter().zip(keys).all(|(&term, &key)| dictionary.key(term) == key)
        };
        found.extend(self.table.with_hash(hasher.finish()).filter(|&row| has_keys(row)));
    }

    /// The numbers of the rows with exactly these match keys, in insertion order.
    pub(crate) fn find_rows(&self, keys: &[Term], dictionary: &Terms, found: &mut Vec<u32>) {
        self.find_keys(keys, dictionary, found);
        self.order(found);
    }

    /// The rows with exactly these match keys, in insertion order.
    pub fn find(&self, keys: &[Term], dictionary: &Terms) -> Vec<Found<'_>> {
        let mut rows = self.with_keys(keys, dictionary);
        rows.sort_unstable_by_key(|&row| self.rows[row as usize].number);
        rows.into_iter().map(|row| self.found(row)).collect()
    }

    /// All rows, in insertion order.
    pub fn all(&self) -> impl Iterator<Item = Found<'_>> {
        let live = self.rows.iter().enumerate().filter(|(_, row)| row.copies > 0);
        live.map(|(row, _)| self.found(row as u32))
    }

    /// The rows to look at for a query that knows the keys at these paths, in insertion order: a superset of the
    /// answer. The paths are tried in the order given, until one is short enough.
    pub fn candidates(&self, known: &[(Path, Term)], dictionary: &Terms) -> Vec<Found<'_>> {
        if self.rows.len() <= SCAN_MAX || known.is_empty() {
            return self.all().collect();
        }
        let mut best: Option<(usize, Path, Term)> = None;
        for &(path, key) in known {
            let length = self.with_index(path, dictionary, |index| index.get(&key).map_or(0, Vec::len));
            if best.is_none_or(|(shortest, ..)| length < shortest) {
                best = Some((length, path, key));
            }
            if length <= SHORT_ENOUGH {
                break;
            }
        }
        let (_, path, key) = best.expect("at least one path is known");
        let (listed, found) = self.with_index(path, dictionary, |index| {
            let rows = index.get(&key).map(Vec::as_slice).unwrap_or_default();
            let live: Vec<Found<'_>> =
                rows.iter().filter(|&&row| self.is_live(row)).map(|&row| self.found(row)).collect();
            (rows.len(), live)
        });
        if found.len() * 2 < listed {
            self.forget_holes(path, key);
        }
        found
    }

    /// The numbers of the rows that [`Relation::candidates`] gives.
    pub(crate) fn narrow(&self, known: &[(Path, Term)], dictionary: &Terms, found: &mut Vec<u32>) {
        if self.rows.len() <= SCAN_MAX || known.is_empty() {
            found.extend((0..self.rows.len() as u32).filter(|&row| self.is_live(row)));
            return self.order(found);
        }
        let best = loop {
            match self.shortest(known, found) {
                Ok(best) => break best,
                Err(missing) => drop(self.with_index(missing, dictionary, Index::len)),
            }
        };
        let (listed, path, key) = best;
        if found.len() * 2 < listed {
            self.forget_holes(path, key);
        }
        self.order(found);
    }

    /// Finds the live rows of the shortest list; gives its length and where it is, or a path without an index.
    fn shortest(&self, known: &[(Path, Term)], found: &mut Vec<u32>) -> Result<(usize, Path, Term), Path> {
        let indexes = self.indexes.read().expect("no panic while indexes are locked");
        let mut best: Option<(&[u32], Path, Term)> = None;
        for &(path, key) in known {
            let index = indexes.get(&path).ok_or(path)?;
            let rows = index.get(&key).map(Vec::as_slice).unwrap_or_default();
            if best.is_none_or(|(shortest, ..)| rows.len() < shortest.len()) {
                best = Some((rows, path, key));
            }
            if rows.len() <= SHORT_ENOUGH {
                break;
            }
        }
        let (rows, path, key) = best.expect("at least one path is known");
        found.extend(rows.iter().filter(|&&row| self.is_live(row)));
        Ok((rows.len(), path, key))
    }

    /// Puts rows into insertion order: only a row that came back can stand out of it.
    fn order(&self, rows: &mut [u32]) {
        let number = |row: &u32| self.rows[*row as usize].number;
        if !rows.is_sorted_by_key(number) {
            rows.sort_by_key(number);
        }
    }

    /// Takes the holes out of one list of an index.
    fn forget_holes(&self, path: Path, key: Term) {
        let mut indexes = self.indexes.write().expect("no panic while indexes are locked");
        let Some(index) = indexes.get_mut(&path) else { return };
        let Some(rows) = index.get_mut(&key) else { return };
        rows.retain(|&row| self.is_live(row));
        rows.shrink_to(rows.len() * 2);
        if rows.is_empty() {
            index.remove(&key);
        }
    }

    fn is_live(&self, row: u32) -> bool {
        self.rows[row as usize].copies > 0
    }

    /// Whether a row may have this key at a path: `false` is certain.
    pub(crate) fn has(&self, path: Path, key: Term, dictionary: &Terms) -> bool {
        if self.rows.len() <= SCAN_MAX {
            return self.all().any(|row| key_at(path, row.terms, dictionary) == Some(key));
        }
        self.with_index(path, dictionary, |index| index.contains_key(&key))
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == self.holes
    }

    fn with_index<T>(&self, path: Path, dictionary: &Terms, read: impl FnOnce(&Index) -> T) -> T {
        if let Some(index) = self.indexes.read().expect("no panic while indexes are locked").get(&path) {
            return read(index);
        }
        let mut index = Index::default();
        for row in (0..self.rows.len() as u32).filter(|&row| self.is_live(row)) {
            insert(&mut index, path, row, self.terms_of(row), dictionary);
        }
        let answer = read(&index);
        self.indexes.write().expect("no panic while indexes are locked").insert(path, index);
        answer
    }

    fn extend_indexes(&mut self, row: u32, dictionary: &Terms) {
        let Self { cells, rows, indexes, .. } = self;
        let indexes = indexes.get_mut().expect("no panic while indexes are locked");
        for (&path, index) in indexes.iter_mut() {
            insert(index, path, row, cells_of(cells, rows, row), dictionary);
        }
    }

    fn terms_of(&self, row: u32) -> &[Term] {
        cells_of(&self.cells, &self.rows, row)
    }

    pub(crate) fn found(&self, row: u32) -> Found<'_> {
        let Row { copies, number, .. } = self.rows[row as usize];
        Found { terms: self.terms_of(row), copies, number }
    }
}

fn cells_of<'a>(cells: &'a [Term], rows: &[Row], row: u32) -> &'a [Term] {
    let Row { start, length, .. } = rows[row as usize];
    &cells[start..start + length as usize]
}

fn insert(index: &mut Index, path: Path, row: u32, terms: &[Term], dictionary: &Terms) {
    if let Some(key) = key_at(path, terms, dictionary) {
        index.entry(key).or_default().push(row);
    }
}

/// The match key at a path of a row, if the row reaches that far.
fn key_at((column, child): Path, terms: &[Term], dictionary: &Terms) -> Option<Term> {
    let term = *terms.get(column as usize)?;
    match child {
        None => Some(dictionary.key(term)),
        Some(child) => dictionary.children(term)?.get(child as usize).map(|&term| dictionary.key(term)),
    }
}

fn hash_keys(terms: &[Term], dictionary: &Terms) -> u64 {
    let mut hasher = FxHasher::default();
    terms.len().hash(&mut hasher);
    terms.iter().for_each(|&term| dictionary.key(term).hash(&mut hasher));
    hasher.finish()
}
