//! Rows by the value of one column: of each value, what stands in some other columns of its rows, one row after the other, in the
//! order of insertion.
//!
//! An index lists the numbers of a value's rows, which lie anywhere in the relation: of each the terms are read from another place in
//! memory. Where a query asks for the rows of most values, these are better copied together once (compressed sparse rows). An adjacency
//! serves as long as the relation has the same rows, like a [`Trie`](super::Trie).
//!
//! Cost: two walks over the rows when it is made, and a word for each term that is copied and each value.

use super::index::key_at;
use super::{Path, Relation, RowSelection};
use crate::term::{Term, Terms};
use std::ops::Range;

/// Values are found by their numbers: how many numbers there may be between the first and the last for each row.
const NUMBERS_FOR_A_ROW_MAX: usize = 4;
/// How many rows are copied between two looks whether the caller has given up.
const ROWS_BETWEEN_LOOKS: usize = 1 << 16;

/// Which rows and columns an adjacency has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AdjacencyShape {
    /// What all of its rows have in other columns than the one that they are found by.
    pub(crate) constants: Vec<(Path, Term)>,
    /// The column that they are found by.
    pub(crate) key: u32,
    /// The columns that are copied.
    pub(crate) columns: Vec<u32>,
}

/// The values of some columns, by the value of another one.
#[derive(Debug)]
pub(crate) struct Adjacency {
    /// How many columns there are.
    width: usize,
    /// The number of the first value.
    first: u32,
    /// For each number from there on, where its rows begin, and where the last of them end.
    starts: Vec<u32>,
    cells: Vec<Term>,
}

impl Adjacency {
    /// Copies the rows of a relation. `None` if its values are too far apart to be found by number, or the caller has given up.
    ///
    /// The relation has its rows in the order of insertion, one copy of each, and no terms that match others.
    pub(crate) fn new(
        relation: &Relation,
        shape: &AdjacencyShape,
        terms: &Terms,
        should_stop: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let keys = keys_of(relation, shape, terms);
        let (first, last) = (*keys.iter().min()?, *keys.iter().max()?);
        let span = (last - first) as usize + 1;
        if span > NUMBERS_FOR_A_ROW_MAX * keys.len() || should_stop() {
            return None;
        }
        let mut starts = vec![0_u32; span + 1];
        keys.iter().for_each(|key| starts[(key - first) as usize + 1] += 1);
        (0..span).for_each(|place| starts[place + 1] += starts[place]);
        let mut next = starts.clone();
        let width = shape.columns.len();
        let mut cells = vec![Term::new(0); keys.len() * width];
        let (mut copied, mut is_stopped) = (0, false);
        each_row(relation, shape, terms, |row| {
            is_stopped |= copied % ROWS_BETWEEN_LOOKS == 0 && should_stop();
            if is_stopped {
                return;
            }
            let place = &mut next[(keys[copied] - first) as usize];
            let to = &mut cells[*place as usize * width..][..width];
            to.iter_mut().zip(&shape.columns).for_each(|(cell, &column)| *cell = row[column as usize]);
            *place += 1;
            copied += 1;
        });
        (!is_stopped).then_some(Self { width, first, starts, cells })
    }

    /// Where the rows of a value are.
    #[inline]
    pub(crate) fn rows(&self, value: Term) -> Range<u32> {
        let place = value.number().wrapping_sub(self.first) as usize;
        match self.starts.get(place..).and_then(|starts| starts.first_chunk::<2>()) {
            Some(&[start, end]) => start..end,
            None => 0..0,
        }
    }

    /// The terms of some rows, one row after the other.
    #[inline]
    pub(crate) fn cells(&self, rows: &Range<u32>) -> &[Term] {
        &self.cells[rows.start as usize * self.width..rows.end as usize * self.width]
    }
}

/// The numbers of the values that rows are found by, in the order of the rows.
fn keys_of(relation: &Relation, shape: &AdjacencyShape, terms: &Terms) -> Vec<u32> {
    let mut keys = Vec::new();
    each_row(relation, shape, terms, |row| keys.push(row[shape.key as usize].number()));
    keys
}

/// Goes through the rows that have the constants of a shape.
fn each_row(relation: &Relation, shape: &AdjacencyShape, terms: &Terms, mut visit: impl FnMut(&[Term])) {
    let has_constants =
        |row: &[Term]| shape.constants.iter().all(|&(path, constant)| key_at(path, row, terms) == Some(constant));
    let mut take = |selected: RowSelection<'_>| {
        let is_sure = selected.is_sure;
        selected.each_row(|row, _| {
            if is_sure || has_constants(row) {
                visit(row);
            }
        });
    };
    relation.walk(&shape.constants, terms, &mut Vec::new(), &mut take);
}
