//! A covering index: by the key in one column, what the row has in the other.
//!
//! `(edge a7 $x)` is answered by an index with the number of a row, and by the row with its last column: two waits for memory, the second
//! of which begins when the first has ended. Where a row has three columns and its head is known there is only one term that an
//! answer can be, and a list by key of these terms answers with one read. Four bytes a key say less than a row's number does:
//! of a key with several rows only that there are some, for which the index is asked.
//!
//! Invariants
//! - A cover is of the rows of one head: of the one that most rows of the segment have.
//! - At most four cells a row, of which at least half of the keys between the first and the last have one row. Otherwise there is none.
//! - What a cover says of a row goes by the row alone. Whether it has copies stands beside the segment.

use super::HEAD;
use super::index::key_at;
use crate::batch::LARGE_TABLE;
use crate::rows::NO_TERM;
use crate::term::{Term, Terms};
use std::hint::black_box;
use std::sync::{Arc, OnceLock};

/// The columns of a row that a cover can be of.
pub(crate) const COLUMNS: usize = 3;

/// The cell of a key that has several rows. The term of this number lies in no cell.
const SEVERAL: Term = Term::new(u32::MAX - 1);

/// Cells for each row that has the head, at most.
const CELLS_MAX: usize = 2;

/// The covers of a segment: by its second column and by its third.
#[derive(Default)]
pub(super) struct CoveringIndexes(OnceLock<Box<[OnceLock<Attempt>; 2]>>);

/// A cover, or none where it was tried in vain.
struct Attempt {
    /// How many rows there were.
    rows: u32,
    cover: Option<Arc<CoveringIndex>>,
}

/// What the rows of one head have in a column, by the key in another.
pub(crate) struct CoveringIndex {
    head: Term,
    first: u32,
    cells: Vec<Term>,
    /// How many cells are of one row.
    single: usize,
}

/// What answers a key.
pub(crate) enum CoveringAnswer {
    No,
    /// One row, of one copy.
    One(Term),
    /// One row, of so many copies.
    Copies(Term, u32),
    /// Several rows, which are to be looked at.
    Several,
}

/// A row as a cover sees it: the match keys of its head and of the column it is found by, and what it answers.
#[derive(Clone, Copy)]
struct CoveredRow {
    head: Term,
    key: Term,
    answer: Term,
}

impl CoveringIndexes {
    /// The cover by a column of a segment that is sealed. It is made if need be.
    #[inline(always)]
    pub(super) fn get(
        &self,
        column: u32,
        make: impl FnOnce() -> (u32, Option<CoveringIndex>),
    ) -> Option<&Arc<CoveringIndex>> {
        let place = (column as usize).wrapping_sub(1);
        let tried = self.0.get().and_then(|covers| covers.get(place)?.get());
        tried.map_or_else(|| self.made(place, make), |tried| tried.cover.as_ref())
    }

    #[cold]
    fn made(&self, place: usize, make: impl FnOnce() -> (u32, Option<CoveringIndex>)) -> Option<&Arc<CoveringIndex>> {
        let make = || {
            let (rows, cover) = make();
            Attempt { rows, cover: cover.map(Arc::new) }
        };
        self.0.get_or_init(Box::default).get(place)?.get_or_init(make).cover.as_ref()
    }

    /// Adds a row, behind those that are there.
    #[inline]
    pub(super) fn insert(&mut self, terms: &[Term], dictionary: &Terms) {
        if let Some(covers) = self.0.get_mut() {
            Self::insert_known(covers, terms, dictionary);
        }
    }

    /// A function of its own, since most segments that grow have no covers.
    #[cold]
    #[inline(never)]
    fn insert_known(covers: &mut [OnceLock<Attempt>; 2], terms: &[Term], dictionary: &Terms) {
        let known = covers.iter_mut().zip(1..).filter_map(|(cover, column)| Some((cover.get_mut()?, column)));
        known.for_each(|(tried, column)| {
            let own = tried.cover.take().and_then(Arc::into_inner);
            tried.cover = own.and_then(|cover| cover.with(terms, column, dictionary)).map(Arc::new);
        });
    }

    /// From now on what was tried in vain is tried again if there are twice as many rows.
    pub(super) fn forget_vain(&mut self, rows: u32) {
        let is_vain = |tried: &Attempt| tried.cover.is_none() && rows / 2 >= tried.rows;
        for cover in self.0.get_mut().into_iter().flat_map(|covers| covers.iter_mut()) {
            if cover.get().is_some_and(is_vain) {
                cover.take();
            }
        }
    }
}

impl CoveredRow {
    fn of(terms: &[Term], column: u32, dictionary: &Terms) -> Option<Self> {
        let (head, key) = (key_at(HEAD, terms, dictionary)?, key_at((column, None), terms, dictionary)?);
        // The columns behind the head are the first and the second.
        terms.get(COLUMNS - column as usize).map(|&answer| Self { head, key, answer })
    }
}

impl CoveringIndex {
    /// Of all these rows, by the key in a column; `None` if their keys lie too far from each other, or mostly have several rows.
    pub(super) fn of<'a>(
        rows: impl Iterator<Item = &'a [Term]> + Clone,
        column: u32,
        dictionary: &Terms,
    ) -> Option<Self> {
        let all = rows.filter_map(|terms| CoveredRow::of(terms, column, dictionary));
        let head = majority(all.clone().map(|row| row.head))?;
        let own = all.filter(|row| row.head == head);
        let widen = |(count, low, high): (usize, u32, u32), row: CoveredRow| {
            let key = row.key.number();
            (count + 1, low.min(key), high.max(key))
        };
        let (count, first, last) = own.clone().fold((0, u32::MAX, 0), widen);
        let keys = last.checked_sub(first)? as usize + 1;
        if keys > count * CELLS_MAX || keys * CELLS_MAX < count {
            return None;
        }
        let mut cover = Self { head, first, cells: vec![NO_TERM; keys], single: 0 };
        own.for_each(|row| cover.put(row));
        cover.is_worth_it().then_some(cover)
    }

    fn is_worth_it(&self) -> bool {
        self.single * CELLS_MAX >= self.cells.len()
    }

    fn put(&mut self, row: CoveredRow) {
        let cell = &mut self.cells[(row.key.number() - self.first) as usize];
        let is_new = *cell == NO_TERM && row.answer < SEVERAL;
        self.single += usize::from(is_new);
        self.single -= usize::from(*cell < SEVERAL);
        *cell = if is_new { row.answer } else { SEVERAL };
    }

    /// The same after one more row; `None` if it is worth it no longer.
    pub(super) fn with(mut self, terms: &[Term], column: u32, dictionary: &Terms) -> Option<Self> {
        let Some(row) = CoveredRow::of(terms, column, dictionary).filter(|row| row.head == self.head) else {
            return Some(self);
        };
        let at = row.key.number().checked_sub(self.first)? as usize;
        if at >= self.cells.len() {
            if at >= (self.single + 1) * CELLS_MAX {
                return None;
            }
            self.cells.resize(at + 1, NO_TERM);
        }
        self.put(row);
        self.is_worth_it().then_some(self)
    }

    /// Whether it is of the rows of this head.
    #[inline(always)]
    pub(super) fn is_of(&self, head: Term) -> bool {
        self.head == head
    }

    /// Reads the cells of these keys, as far as there are too many to be in the cache in any case.
    #[inline]
    pub(crate) fn look_ahead(&self, keys: impl Iterator<Item = Term>) {
        if self.cells.len() >= LARGE_TABLE {
            let cell = |key: Term| self.cells.get(key.number().wrapping_sub(self.first) as usize);
            black_box(keys.fold(0, |sum, key| sum ^ cell(key).map_or(0, |answer| answer.number())));
        }
    }

    /// What it says of a key.
    #[inline(always)]
    pub(crate) fn get(&self, key: Term) -> CoveringAnswer {
        match self.cells.get(key.number().wrapping_sub(self.first) as usize) {
            Some(&answer) if answer < SEVERAL => CoveringAnswer::One(answer),
            Some(&SEVERAL) => CoveringAnswer::Several,
            _ => CoveringAnswer::No,
        }
    }
}

/// What more than half of them are, if there is such a one; otherwise one of them (Boyer, Moore: MJRTY, 1991).
fn majority(heads: impl Iterator<Item = Term>) -> Option<Term> {
    let count = |(most, ahead): (Option<Term>, usize), head: Term| match most {
        Some(most) if most == head => (Some(most), ahead + 1),
        Some(most) if ahead > 0 => (Some(most), ahead - 1),
        _ => (Some(head), 1),
    };
    heads.fold((None, 0), count).0
}
