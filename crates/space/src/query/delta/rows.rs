//! The signed rows of a commit, the copies of equal rows added up.

use super::places::Places;
use crate::change::{Change, Changes};
use crate::contents::Contents;
use crate::relation::Relation;
use crate::row::Row;
use crate::space_handle::SharedSpace;
use crate::term::{Term, Terms};
use std::convert::Infallible;

/// What a commit has changed in the rows of spaces.
#[derive(Default)]
pub struct SignedRows {
    spaces: Vec<RowsOfSpace>,
    /// Whether a row counts once however many copies there are.
    are_sets: bool,
}

struct RowsOfSpace {
    space: SharedSpace,
    lengths: Vec<RowsOfLength>,
    /// Whether atoms came or went that are not rows.
    has_open: bool,
}

/// The rows of one length that changed, in the order in which the first copy of each did.
pub(super) struct RowsOfLength {
    pub(super) length: usize,
    cells: Vec<Term>,
    /// How many copies came, or went if negative; it may be none.
    counts: Vec<i64>,
    places: Places,
    /// Those that went and of which no copy is left, with the copies there were.
    gone: Relation,
    /// For how many of them it is known whether they have gone.
    settled: usize,
}

impl SignedRows {
    /// Those of some changes, which are all that happened since the answers were last right.
    pub fn of(changes: &Changes) -> Self {
        let mut rows = Self::default();
        let Ok(()) = changes.each(|change| {
            if let Change::Row(delta) = change {
                let space = rows.of_space(delta.space);
                match delta.row {
                    Row::Expression(row) => space.of_length(row.len()).add(row, delta.count),
                    // No pattern of rows matches it.
                    Row::Leaf(_) => {}
                    Row::Open(_) => space.has_open = true,
                }
            }
            Ok::<(), Infallible>(())
        });
        rows
    }

    /// Whether no row changed, and no other atom.
    pub fn is_empty(&self) -> bool {
        self.spaces.is_empty()
    }

    /// How many different rows changed.
    pub fn len(&self) -> usize {
        self.spaces.iter().flat_map(|space| &space.lengths).map(|rows| rows.counts.len()).sum()
    }

    /// The spaces of which atoms changed that are not rows.
    pub fn open_spaces(&self) -> impl Iterator<Item = &SharedSpace> {
        self.spaces.iter().filter(|rows| rows.has_open).map(|rows| &rows.space)
    }

    /// The rows of some spaces, as these are now, each as there or not: a row came if there was no copy before, and went if none is left.
    pub(crate) fn as_sets(&self, spaces: &[SharedSpace]) -> Self {
        let mut sets = Self { spaces: Vec::new(), are_sets: true };
        for known in self.spaces.iter().filter(|known| spaces.iter().any(|space| space.is_same(&known.space))) {
            let set = sets.of_space(&known.space);
            set.has_open = known.has_open;
            known.space.read(|space| {
                let terms = space.terms().read().expect("no panic while terms are locked");
                for rows in &known.lengths {
                    let relation = space.contents().relation_of_length(rows.length);
                    for (row, count) in rows.each() {
                        let now = i64::from(relation.copies(row, &terms));
                        match i64::from(now > 0) - i64::from(now > count) {
                            0 => {}
                            sign => set.of_length(rows.length).add(row, sign),
                        }
                    }
                }
            });
        }
        sets
    }

    /// Adds a row of a space that came, or went.
    pub(crate) fn push(&mut self, space: &SharedSpace, row: &[Term], sign: i64) {
        self.of_space(space).of_length(row.len()).add(row, sign);
    }

    /// Adds a row of a space with this sign unless it is there; says whether it is new.
    pub(crate) fn insert(&mut self, space: &SharedSpace, row: &[Term], sign: i64) -> bool {
        let rows = self.of_space(space).of_length(row.len());
        let is_new = rows.count_of(row) == 0;
        if is_new {
            rows.add(row, sign);
        }
        is_new
    }

    /// Whether a row counts once however many copies there are.
    pub(super) fn are_sets(&self) -> bool {
        self.are_sets
    }

    /// One of the spaces that changed; all have one dictionary.
    pub fn any_space(&self) -> Option<&SharedSpace> {
        self.spaces.first().map(|rows| &rows.space)
    }

    /// Whether anything changed in a space.
    pub fn has(&self, space: &SharedSpace) -> bool {
        self.spaces.iter().any(|rows| rows.space.is_same(space))
    }

    /// The lengths of the rows that changed, and their heads, each at least once.
    pub(super) fn heads(&self) -> impl Iterator<Item = (usize, Option<Term>)> {
        let lengths = self.spaces.iter().flat_map(|space| &space.lengths);
        lengths.flat_map(|rows| (0..rows.counts.len()).map(|place| (rows.length, rows.row(place).first().copied())))
    }

    fn of_space(&mut self, space: &SharedSpace) -> &mut RowsOfSpace {
        // Most changes follow another one of the same space.
        let place = self.spaces.iter().rposition(|known| known.space.is_same(space)).unwrap_or_else(|| {
            self.spaces.push(RowsOfSpace { space: space.clone(), lengths: Vec::new(), has_open: false });
            self.spaces.len() - 1
        });
        &mut self.spaces[place]
    }

    /// No rows, where a row will be there or not.
    pub(crate) fn of_sets() -> Self {
        Self { spaces: Vec::new(), are_sets: true }
    }

    /// Those of each of some spaces, by length.
    pub(super) fn of_spaces(&self, spaces: &[SharedSpace]) -> Vec<&[RowsOfLength]> {
        spaces.iter().map(|space| self.lengths_of(space)).collect()
    }

    /// Those of a space, by length.
    fn lengths_of(&self, space: &SharedSpace) -> &[RowsOfLength] {
        let known = self.spaces.iter().find(|known| known.space.is_same(space));
        known.map_or(&[], |known| &known.lengths)
    }

    /// The rows of a space of which copies came or went, with how many.
    pub(crate) fn each_of(&self, space: &SharedSpace) -> impl Iterator<Item = (&[Term], i64)> {
        self.lengths_of(space).iter().flat_map(RowsOfLength::each)
    }

    /// Finds out which rows have gone from a space, of which this is what it holds now.
    pub(super) fn settle(&mut self, space: &SharedSpace, contents: &Contents, terms: &Terms) {
        if let Some(known) = self.spaces.iter_mut().find(|known| known.space.is_same(space)) {
            known.lengths.iter_mut().for_each(|rows| rows.settle(contents, terms));
        }
    }
}

impl RowsOfSpace {
    fn of_length(&mut self, length: usize) -> &mut RowsOfLength {
        let place = self.lengths.iter().position(|rows| rows.length == length).unwrap_or_else(|| {
            self.lengths.push(RowsOfLength::new(length));
            self.lengths.len() - 1
        });
        &mut self.lengths[place]
    }
}

impl RowsOfLength {
    fn new(length: usize) -> Self {
        let (cells, counts, places) = Default::default();
        Self { length, cells, counts, places, gone: Relation::default(), settled: 0 }
    }

    fn add(&mut self, row: &[Term], count: i64) {
        let Self { length, cells, counts, places, .. } = self;
        let at = |place: usize| &cells[place * *length..][..*length];
        match places.find(row, at) {
            Some(place) => counts[place] += count,
            None => {
                places.add(row, counts.len(), at);
                cells.extend_from_slice(row);
                counts.push(count);
            }
        }
    }

    fn settle(&mut self, contents: &Contents, terms: &Terms) {
        let relation = contents.relation_of_length(self.length);
        for place in std::mem::replace(&mut self.settled, self.counts.len())..self.counts.len() {
            let (row, count) = (&self.cells[place * self.length..][..self.length], self.counts[place]);
            if count < 0 && relation.copies(row, terms) == 0 {
                let copies = u32::try_from(-count).expect("a row has fewer copies than a word counts");
                self.gone.add(row, copies, place as u64, terms);
            }
        }
    }

    pub(super) fn row(&self, place: usize) -> &[Term] {
        &self.cells[place * self.length..][..self.length]
    }

    /// Those of which copies came or went, with how many.
    pub(super) fn each(&self) -> impl Iterator<Item = (&[Term], i64)> {
        let changed = self.counts.iter().enumerate().filter(|(_, count)| **count != 0);
        changed.map(|(place, &count)| (self.row(place), count))
    }

    /// How many copies of a row came, or went if negative.
    pub(super) fn count_of(&self, row: &[Term]) -> i64 {
        let found = self.places.find(row, |place| self.row(place));
        found.map_or(0, |place| self.counts[place])
    }

    /// Those of which no copy is left.
    pub(super) fn gone(&self) -> &Relation {
        &self.gone
    }
}
