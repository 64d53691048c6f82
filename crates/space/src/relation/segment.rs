//! A segment: rows in the order of insertion, a set of them, and indexes that are made on first use.
//!
//! The last segment of a relation, its head, takes new rows. Once it is shared it never changes again: how many copies
//! of a row there are, and which rows are gone, is kept beside it. One that lies in an image is sealed from the beginning.

use super::copies::Copies;
use super::index::{Index, IndexedBy, Key, KeyReader, RowList};
use super::indexes::Indexes;
use super::mapped::MappedRows;
use super::{COLUMNS_INDEXED_MAX, Path};
use crate::columns::{Column, Table};
use crate::prefetch::{LARGE_TABLE, read_slots};
use crate::room::{self, reserve};
use crate::term::{Term, Terms};
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::ops::Range;

/// How many rows a relation may have: beyond it, adding one panics.
pub(super) const ROWS_MAX: u32 = 1 << 31;

/// Rows of terms.
#[derive(Default)]
pub(super) struct Segment {
    rows: Rows,
    numbers: Numbers,
    set: HashTable<u32>,
    /// The set of all rows, if they lie in an image.
    mapped_set: Option<Box<Table>>,
    /// How many more rows are expected.
    expected: usize,
    indexes: Indexes,
}

/// The terms of all rows, one row after the other.
#[derive(Clone, Default)]
struct Rows {
    cells: Vec<Term>,
    length: u32,
    /// How long each is, if all are equally long and lie here.
    width: usize,
    otherwise: Option<OtherRows>,
}

/// Rows that do not lie in one list, each as long as all others.
#[derive(Clone)]
enum OtherRows {
    /// They lie in the list: where each ends.
    Uneven(Vec<usize>),
    /// They lie in an image.
    Mapped(Box<MappedRows>),
}

/// What reads the terms of rows.
#[derive(Clone, Copy)]
pub(super) struct TermReader<'a>(&'a Rows);

impl TermReader<'_> {
    #[inline]
    pub(super) fn terms(&self, row: u32) -> &[Term] {
        self.0.get(row)
    }
}

impl Rows {
    #[inline(always)]
    fn get(&self, row: u32) -> &[Term] {
        let row = row as usize;
        match &self.otherwise {
            None => &self.cells[row * self.width..][..self.width],
            Some(OtherRows::Uneven(ends)) => &self.cells[if row == 0 { 0 } else { ends[row - 1] }..ends[row]],
            Some(OtherRows::Mapped(rows)) => rows.get(row as u32),
        }
    }

    fn push(&mut self, terms: &[Term]) {
        if self.length == 0 {
            self.width = terms.len();
        } else if self.otherwise.is_none() && terms.len() != self.width {
            let ends = (1..=self.length as usize).map(|row| row * self.width).collect();
            self.otherwise = Some(OtherRows::Uneven(ends));
        }
        reserve(&mut self.cells, terms.len());
        self.cells.extend_from_slice(terms);
        match &mut self.otherwise {
            None => {}
            Some(OtherRows::Uneven(ends)) => ends.push(self.cells.len()),
            Some(OtherRows::Mapped(_)) => unreachable!("rows of an image are sealed"),
        }
        self.length += 1;
    }
}

/// The insertion numbers of rows. The first of them mostly follow each other.
#[derive(Clone, Default)]
struct Numbers {
    first: u64,
    consecutive: u32,
    others: Vec<u64>,
    /// The others, if they lie in an image.
    mapped: Option<Column<u64>>,
    /// Whether one is smaller than the one before it.
    descends: bool,
}

impl Numbers {
    #[inline]
    fn get(&self, row: u32) -> u64 {
        match row.checked_sub(self.consecutive) {
            None => self.first + u64::from(row),
            Some(other) => self.others.get(other as usize).copied().unwrap_or_else(|| self.mapped(other)),
        }
    }

    #[cold]
    fn mapped(&self, other: u32) -> u64 {
        self.mapped.as_ref().expect("there is such a row").get(other as usize)
    }

    fn push(&mut self, number: u64) {
        if self.consecutive == 0 {
            self.first = number;
        }
        if self.others.is_empty() && number == self.first + u64::from(self.consecutive) {
            self.consecutive += 1;
        } else {
            self.push_other(number);
        }
    }

    /// A function of its own, since most numbers follow each other.
    #[inline(never)]
    fn push_other(&mut self, number: u64) {
        self.descends |= self.last() > number;
        reserve(&mut self.others, 1);
        self.others.push(number);
    }

    /// That of the last row; there is one.
    fn last(&self) -> u64 {
        let mapped = self.mapped.as_ref().filter(|others| others.len() > 0).map(|others| others.get(others.len() - 1));
        mapped.or(self.others.last().copied()).unwrap_or(self.first + u64::from(self.consecutive) - 1)
    }
}

impl Segment {
    /// Rows that lie in an image; `numbers` are the first, how many follow it, the others, and whether one of those is smaller than the
    /// one before.
    pub(super) fn of_image(length: u32, rows: MappedRows, numbers: (u64, u32, Column<u64>, bool), set: Table) -> Self {
        let (first, consecutive, others, descends) = numbers;
        let otherwise = Some(OtherRows::Mapped(Box::new(rows)));
        Self {
            rows: Rows { length, otherwise, ..Rows::default() },
            numbers: Numbers { first, consecutive, others: Vec::new(), mapped: Some(others), descends },
            mapped_set: Some(Box::new(set)),
            ..Self::default()
        }
    }

    /// Whether it lies in an image.
    #[inline]
    pub(super) fn is_mapped(&self) -> bool {
        self.mapped_set.is_some()
    }

    /// Adds an index that was made before.
    pub(super) fn add_index(&self, place: IndexedBy, index: Index) {
        self.indexes.add(place, index);
    }

    /// How many rows it has, holes counted.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.rows.length
    }

    /// The terms of a row.
    #[inline]
    pub(super) fn terms(&self, row: u32) -> &[Term] {
        self.rows.get(row)
    }

    /// The insertion number of a row.
    #[inline]
    pub(super) fn number(&self, row: u32) -> u64 {
        self.numbers.get(row)
    }

    /// The insertion numbers of the first row and the last, if no row stands out of order; there is a row.
    pub(super) fn span(&self) -> Option<[u64; 2]> {
        (!self.numbers.descends).then(|| [self.numbers.first, self.numbers.last()])
    }

    /// The terms of rows that lie one after the other, and how many each has, if all rows are equally long and have
    /// some.
    #[inline]
    pub(super) fn cells(&self, rows: Range<u32>) -> Option<(&[Term], usize)> {
        let (width, start, end) = (self.rows.width, rows.start as usize, rows.end as usize);
        match &self.rows.otherwise {
            None => (width > 0).then(|| (&self.rows.cells[start * width..end * width], width)),
            Some(OtherRows::Uneven(_)) => None,
            Some(OtherRows::Mapped(mapped)) => mapped.cells(rows),
        }
    }

    /// Makes room for `rows` more rows of this length.
    pub(super) fn reserve(&mut self, rows: usize, length: usize) {
        self.rows.cells.reserve(rows.saturating_mul(length));
    }

    /// Makes room for `rows` more rows in the set as well.
    pub(super) fn reserve_set(&mut self, rows: usize, copies: &Copies, dictionary: &Terms) {
        if self.set.capacity() - self.set.len() < rows {
            self.grow_set(self.rows.length, rows, copies, dictionary);
        }
    }

    /// From now on the set grows towards `more` more rows.
    pub(super) fn expect(&mut self, more: usize) {
        self.expected = more;
    }

    /// The row of exactly these terms, if there is one that is not a hole.
    #[inline]
    pub(super) fn find(&self, hash: u64, terms: &[Term], copies: &Copies) -> Option<u32> {
        if self.set.len() >= LARGE_TABLE {
            // Where a tag and its slot are is known from the hash: both are waited for at once.
            read_slots(&self.set, std::iter::once(hash));
        }
        let found = self.set.find(hash, |&row| self.terms(row) == terms && copies.get(row) > 0).copied();
        if self.is_mapped() { self.find_mapped(hash, terms, copies) } else { found }
    }

    #[cold]
    fn find_mapped(&self, hash: u64, terms: &[Term], copies: &Copies) -> Option<u32> {
        let set = self.mapped_set.as_ref()?;
        set.find(hash, |row| self.terms(row) == terms && copies.get(row) > 0)
    }

    /// Reads what looking for rows with these hashes reads, but for the rows themselves; see [`crate::Batch`].
    pub(super) fn look_ahead(&self, hashes: impl Iterator<Item = u64>) {
        if self.set.len() >= LARGE_TABLE {
            read_slots(&self.set, hashes);
        }
    }

    /// The rows that may have this hash.
    pub(super) fn with_hash(&self, hash: u64) -> impl Iterator<Item = u32> {
        let mapped = self.mapped_set.iter().flat_map(move |set| set.with_hash(hash));
        self.set.iter_hash(hash).copied().chain(mapped)
    }

    /// Adds a row that is not there.
    pub(super) fn push(&mut self, terms: &[Term], number: u64, hash: u64, copies: &Copies, dictionary: &Terms) {
        let row = self.rows.length;
        self.rows.push(terms);
        self.numbers.push(number);
        if self.set.len() == self.set.capacity() {
            // The last row is not in it yet.
            self.grow_set(row, 1, copies, dictionary);
        }
        let Self { rows, set, indexes, .. } = self;
        set.insert_unique(hash, row, |&row| hash_keys(rows.get(row), dictionary));
        indexes.each_mut(|place, index| index.insert(row, &KeyReader { rows: TermReader(rows), place, dictionary }));
    }

    /// Makes the set of the first rows anew with room for more, going through them as they lie.
    #[cold]
    fn grow_set(&mut self, rows: u32, more: usize, copies: &Copies, dictionary: &Terms) {
        let room = room::table_towards(self.expected, self.set.len(), more);
        self.set = HashTable::new();
        let mut set = HashTable::with_capacity(room);
        let hash = |&row: &u32| hash_keys(self.rows.get(row), dictionary);
        let live = (0..rows).filter(|&row| copies.are_plain() || copies.get(row) > 0);
        for row in live {
            set.insert_unique(hash(&row), row, hash);
        }
        self.set = set;
    }

    /// Takes a row that became a hole out of the set, and out of the indexes in time.
    pub(super) fn forget(&mut self, row: u32, copies: &Copies, dictionary: &Terms) {
        let hash = hash_keys(self.terms(row), dictionary);
        if let Ok(entry) = self.set.find_entry(hash, |&listed| listed == row) {
            entry.remove();
        }
        let Self { rows, indexes, .. } = self;
        indexes.each_mut(|place, index| {
            index.forget(row, &KeyReader { rows: TermReader(rows), place, dictionary }, copies);
        });
    }

    /// Whether it is known, without a look at the rows, that none reaches so far: an image has an index of each path that one of its rows
    /// reaches.
    fn has_no_row_at(&self, place: IndexedBy) -> bool {
        let IndexedBy::Path((column, child)) = place else { return false };
        let is_listed = |number: u32| (number as usize) < COLUMNS_INDEXED_MAX;
        self.is_mapped() && is_listed(column) && child.is_none_or(is_listed)
    }

    /// Reads an index, which is made if need be; the holes are left out if it is said which those are.
    pub(super) fn with_index<T>(
        &self,
        place: IndexedBy,
        copies: Option<&Copies>,
        dictionary: &Terms,
        read: impl FnOnce(&Index, &KeyReader<'_>) -> T,
    ) -> T {
        let keys = KeyReader { rows: TermReader(&self.rows), place, dictionary };
        if let Some(index) = self.indexes.get(place) {
            return read(index, &keys);
        }
        let index = match copies {
            _ if self.has_no_row_at(place) => Index::default(),
            None => Index::of(0..self.len(), self.len() as usize, true, &keys),
            Some(copies) => {
                Index::of((0..self.len()).filter(|&row| copies.get(row) > 0), self.len() as usize, false, &keys)
            }
        };
        let answer = read(&index, &keys);
        self.indexes.add(place, index);
        answer
    }

    /// What an index lists for a key; `None` if it has not been made.
    #[inline]
    pub(super) fn listed(&self, place: IndexedBy, key: Key, dictionary: &Terms) -> Option<RowList<'_>> {
        let keys = KeyReader { rows: TermReader(&self.rows), place, dictionary };
        Some(self.indexes.get(place)?.get(key, &keys))
    }

    /// Its rows, set and indexes once more, with which a head begins; there are no holes.
    pub(super) fn copied(&self) -> Self {
        let Self { rows, numbers, set, indexes, .. } = self;
        debug_assert!(!self.is_mapped(), "a segment in an image stays where it is");
        let (rows, numbers, set, indexes) = (rows.clone(), numbers.clone(), set.clone(), indexes.copied());
        Self { rows, numbers, set, indexes, ..Self::default() }
    }

    /// Reads the shortest of the lists of these keys, or the first that is short enough; fails with a path without an index.
    pub(super) fn shortest(
        &self,
        known: &[(Path, Term)],
        short_enough: usize,
        dictionary: &Terms,
        read: impl FnOnce(RowList<'_>, (Path, Term)),
    ) -> Result<(), Path> {
        let mut best: Option<(RowList<'_>, Path, Term)> = None;
        for &(path, key) in known {
            let place = IndexedBy::Path(path);
            let index = self.indexes.get(place).ok_or(path)?;
            let rows = index.get(key.into(), &KeyReader { rows: TermReader(&self.rows), place, dictionary });
            let length = rows.len();
            if best.as_ref().is_none_or(|(shortest, ..)| length < shortest.len()) {
                best = Some((rows, path, key));
            }
            if length <= short_enough {
                break;
            }
        }
        let (rows, path, key) = best.expect("at least one path is known");
        read(rows, (path, key));
        Ok(())
    }
}

/// The hash of the match keys of a row.
#[inline]
pub(super) fn hash_keys(terms: &[Term], dictionary: &Terms) -> u64 {
    hash_keys_noting(terms, dictionary, &mut false)
}

/// The hash of the match keys of a row; notes whether one of the keys is not the term itself.
#[inline]
pub(super) fn hash_keys_noting(terms: &[Term], dictionary: &Terms, differs: &mut bool) -> u64 {
    if !dictionary.has_keys() {
        return hash_of(terms.iter().copied());
    }
    hash_of(terms.iter().map(|&term| {
        let key = dictionary.key(term);
        *differs |= key != term;
        key
    }))
}

/// The hash of match keys.
#[inline]
pub(crate) fn hash_of(keys: impl Iterator<Item = Term>) -> u64 {
    let mut hasher = FxHasher::default();
    keys.for_each(|key| hasher.write_u32(key.number()));
    hasher.finish()
}
