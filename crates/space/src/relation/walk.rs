//! Going through the rows that a query finds, as they lie.
//!
//! A query knows the keys at some paths. What it finds in a segment is a *piece*: what the shortest index lists, holes
//! among it. Of a piece the rows that follow each other and have one copy each are a *batch*: columns of
//! them are taken without another look.
//!
//! The rows of a relation lie in insertion order unless one came back with its old number. Then those that were found
//! are put in order first.

use super::index::{IndexedBy, Key, RowList, key_at};
use super::segment::Segment;
use super::{LONG, Pair, Path, Relation, SCAN_MAX, SHORT_ENOUGH, SegmentView, pair_of};
use crate::term::{Term, Terms};
use std::ops::Range;

/// Rows of one segment.
pub(crate) struct RowSelection<'a> {
    part: SegmentView<'a>,
    rows: RowList<'a>,
    /// Whether all rows have all keys that are known; else that is to be looked at.
    pub(crate) is_sure: bool,
}

/// Rows of a piece, holes left out.
pub(crate) enum RowBatch<'a> {
    /// One after the other, all of this length, one copy of each.
    Rows(&'a [Term], usize),
    /// Here and there, one copy of each.
    Each(EachRow<'a>),
    /// One, and how many copies there are.
    Row(&'a [Term], u32),
}

/// Rows by their numbers in a segment.
pub(crate) struct EachRow<'a> {
    segment: &'a Segment,
    rows: &'a [u32],
}

impl<'a> EachRow<'a> {
    /// Their terms.
    #[inline]
    pub(crate) fn terms(&self) -> impl Iterator<Item = &'a [Term]> {
        let segment = self.segment;
        self.rows.iter().map(move |&row| segment.terms(row))
    }
}

impl RowSelection<'_> {
    /// The rows at these places of it, holes counted.
    pub(crate) fn slice(&self, places: Range<usize>) -> RowSelection<'_> {
        let rows = match &self.rows {
            RowList::Run(rows) => RowList::Run(rows.start + places.start as u32..rows.start + places.end as u32),
            RowList::Each(rows) => RowList::Each(&rows[places]),
        };
        RowSelection { part: self.part, rows, is_sure: self.is_sure }
    }

    /// How many rows it has, holes counted.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many copies there are of the rows that have these keys.
    pub(crate) fn count_with(&self, keys: &[(Path, Term)], dictionary: &Terms) -> usize {
        let mut count = 0;
        if self.is_sure {
            self.each(|batch| {
                count += match batch {
                    RowBatch::Rows(cells, width) => cells.len() / width,
                    RowBatch::Each(rows) => rows.rows.len(),
                    RowBatch::Row(_, copies) => copies as usize,
                }
            });
            return count;
        }
        let has_key = |row: &[Term], ((column, _), key): (Path, Term)| {
            let term = row[column as usize];
            term == key || dictionary.key(term) == key
        };
        self.each_row(|row, copies| {
            if keys.iter().all(|&known| has_key(row, known)) {
                count += copies as usize;
            }
        });
        count
    }

    /// Goes through its rows in their order.
    #[inline]
    pub(crate) fn each(&self, mut visit: impl FnMut(RowBatch<'_>)) {
        let SegmentView { segment, copies, .. } = self.part;
        match &self.rows {
            RowList::Run(rows) => {
                let mut row = rows.start;
                while row < rows.end {
                    let (next, count) = copies.batch_end(row, rows.end);
                    match segment.cells(row..next) {
                        Some((cells, width)) if count == 1 => visit(RowBatch::Rows(cells, width)),
                        _ if count == 1 => (row..next).for_each(|row| visit(RowBatch::Row(segment.terms(row), 1))),
                        _ if count > 0 => visit(RowBatch::Row(segment.terms(row), count)),
                        _ => {}
                    }
                    row = next;
                }
            }
            RowList::Each(rows) if copies.are_plain() => visit(RowBatch::Each(EachRow { segment, rows })),
            RowList::Each(rows) => {
                let counted = rows.iter().map(|&row| (row, copies.get(row))).filter(|&(_, count)| count > 0);
                counted.for_each(|(row, count)| visit(RowBatch::Row(segment.terms(row), count)));
            }
        }
    }

    /// Goes through its rows one by one: the terms of each, and how many copies there are.
    #[inline]
    pub(crate) fn each_row(&self, mut visit: impl FnMut(&[Term], u32)) {
        self.each(|batch| match batch {
            RowBatch::Rows(cells, width) => cells.chunks_exact(width).for_each(|row| visit(row, 1)),
            RowBatch::Each(rows) => rows.terms().for_each(|row| visit(row, 1)),
            RowBatch::Row(row, copies) => visit(row, copies),
        });
    }

    /// Goes through its rows one by one, with the number of each row in its relation.
    pub(crate) fn each_numbered(&self, mut visit: impl FnMut(u32, &[Term], u32)) {
        let SegmentView { segment, copies, start, .. } = self.part;
        let mut take = |row: u32| {
            let count = copies.get(row);
            if count > 0 {
                visit(start + row, segment.terms(row), count);
            }
        };
        match &self.rows {
            RowList::Run(rows) => rows.clone().for_each(take),
            RowList::Each(rows) => rows.iter().for_each(|&row| take(row)),
        }
    }

    /// Adds the numbers of its rows, holes left out.
    fn add_to(self, found: &mut Vec<u32>) {
        self.rows.add_to(found, self.part.start, self.part.copies);
    }
}

impl SegmentView<'_> {
    /// Hands on all of its rows.
    fn all(self, is_sure: bool, visit: &mut impl FnMut(RowSelection<'_>)) {
        let rows = RowList::Run(0..self.segment.len());
        visit(RowSelection { part: self, rows, is_sure });
    }

    /// Hands on the rows that an index lists for a key.
    fn list(
        self,
        place: IndexedBy,
        key: Key,
        is_sure: bool,
        dictionary: &Terms,
        visit: &mut impl FnMut(RowSelection<'_>),
    ) {
        self.with_index(place, dictionary, |index, keys| {
            visit(RowSelection { part: self, rows: index.get(key, keys), is_sure });
        });
    }

    /// Hands on the shortest list among the paths, or what two of them list together.
    fn narrow(self, known: &[(Path, Term)], dictionary: &Terms, visit: &mut impl FnMut(RowSelection<'_>)) {
        let mut mixed = None;
        loop {
            let read = |rows: RowList<'_>, best: (Path, Term)| {
                mixed = pair_of(best, known).filter(|pair| self.are_mixed(&rows, pair.other, dictionary));
                if mixed.is_none() {
                    visit(RowSelection { part: self, rows, is_sure: known.len() == 1 });
                }
            };
            match self.segment.shortest(known, SHORT_ENOUGH, dictionary, read) {
                Ok(()) => break,
                Err(missing) => self.with_index(IndexedBy::Path(missing), dictionary, |_, _| ()),
            }
        }
        if let Some(pair) = mixed {
            self.list(pair.place, pair.key, known.len() == 2, dictionary, visit);
        }
    }
}

impl Relation {
    /// Hands on the rows to look at for a query that knows the keys at these paths, in insertion order: a superset of
    /// the answer. The paths are tried in the order given, until one is short enough. `found` is room for numbers. Callers
    /// that are handed a piece use no index: one may be locked.
    #[inline]
    pub(crate) fn walk(
        &self,
        known: &[(Path, Term)],
        dictionary: &Terms,
        found: &mut Vec<u32>,
        visit: &mut impl FnMut(RowSelection<'_>),
    ) {
        if self.is_ordered() {
            return self.pieces(known, dictionary, visit);
        }
        found.clear();
        self.narrow(known, dictionary, found);
        let start = |row: u32| self.part_of(row).start;
        for rows in found.chunk_by_mut(|&row, &next| start(row) == start(next)) {
            let part = self.part_of(rows[0]);
            rows.iter_mut().for_each(|row| *row -= part.start);
            visit(RowSelection { part, rows: RowList::Each(rows), is_sure: false });
        }
    }

    /// The numbers of these rows, holes left out.
    pub(crate) fn narrow(&self, known: &[(Path, Term)], dictionary: &Terms, found: &mut Vec<u32>) {
        self.pieces(known, dictionary, &mut |piece| piece.add_to(found));
        self.order(found);
    }

    /// The numbers of the rows that have these keys, holes left out, if no more rows than `most.1` are to be looked at and there are
    /// no more than `most.0`; else of some of them, from here and there, and the answer is `false`.
    pub(crate) fn narrow_few(
        &self,
        known: &[(Path, Term)],
        dictionary: &Terms,
        (most, looks): (usize, usize),
        found: &mut Vec<u32>,
    ) -> bool {
        let mut listed = 0;
        self.pieces(known, dictionary, &mut |piece| {
            listed += piece.len();
            match piece.len() > looks {
                true => found.extend(piece.rows.sample(most).map(|row| piece.part.start + row)),
                false => piece.add_to(found),
            }
        });
        let has_keys = |terms: &[Term]| known.iter().all(|&(path, key)| key_at(path, terms, dictionary) == Some(key));
        found.retain(|&row| {
            let row = self.found(row);
            row.copies > 0 && has_keys(row.terms)
        });
        self.order(found);
        let is_all = listed <= looks && found.len() <= most;
        if !is_all {
            let step = (found.len() / most).max(1);
            let mut place = 0;
            found.retain(|_| {
                place += 1;
                (place - 1) % step == 0
            });
        }
        is_all
    }

    /// Hands them on as they lie.
    #[inline]
    fn pieces(&self, known: &[(Path, Term)], dictionary: &Terms, visit: &mut impl FnMut(RowSelection<'_>)) {
        if self.len() <= SCAN_MAX || known.is_empty() {
            self.each(|part| part.all(known.is_empty(), visit));
        } else if let Some(only) = self.only_part() {
            only.narrow(known, dictionary, visit);
        } else {
            self.pieces_of_many(known, dictionary, visit);
        }
    }

    /// Hands on the rows of several segments, in which one key is looked for.
    fn pieces_of_many(&self, known: &[(Path, Term)], dictionary: &Terms, visit: &mut impl FnMut(RowSelection<'_>)) {
        if let Some(few) = self.few(known, dictionary) {
            return few.into_iter().flatten().for_each(visit);
        }
        let (length, best) = self.shortest(known, dictionary);
        // No part lists more rows than all of them together.
        let may_be_mixed = length > LONG;
        let is_mixed = |pair: &Pair| may_be_mixed && self.any(|part| part.mixes(best, pair.other, dictionary));
        let (place, key, is_sure) = match pair_of(best, known).filter(is_mixed) {
            Some(pair) => (pair.place, pair.key, known.len() == 2),
            None => (IndexedBy::Path(best.0), best.1.into(), known.len() == 1),
        };
        self.each(|part| part.list(place, key, is_sure, dictionary, visit));
    }

    /// What the first path lists, if that is short enough and has been asked for in each segment before: each is asked once then. Segments
    /// that list nothing, most of them, are left out.
    fn few<'a>(
        &'a self,
        known: &[(Path, Term)],
        dictionary: &Terms,
    ) -> Option<[Option<RowSelection<'a>>; SHORT_ENOUGH]> {
        let (&(path, key), is_sure) = (known.first()?, known.len() == 1);
        let mut few = [const { None }; SHORT_ENOUGH];
        let (mut lists, mut length) = (0, 0);
        for part in self.parts().filter(|part| part.segment.len() > 0) {
            let rows = part.segment.listed(IndexedBy::Path(path), key.into(), dictionary)?;
            length += rows.len();
            if length > SHORT_ENOUGH {
                return None;
            }
            if rows.len() > 0 {
                few[lists] = Some(RowSelection { part, rows, is_sure });
                lists += 1;
            }
        }
        Some(few)
    }

    /// How many rows a query looks at that knows the keys at these paths, about; holes are counted.
    pub(crate) fn expected(&self, known: &[(Path, Term)], dictionary: &Terms) -> usize {
        if self.len() <= SCAN_MAX || known.is_empty() {
            self.len() as usize
        } else {
            self.shortest(known, dictionary).0
        }
    }

    /// The path whose lists are the shortest, or short enough, and how many rows they have, holes counted.
    fn shortest(&self, known: &[(Path, Term)], dictionary: &Terms) -> (usize, (Path, Term)) {
        let mut best = (usize::MAX, known[0]);
        for &(path, key) in known {
            let length = self.parts().map(|part| part.listed(path, key, dictionary)).sum();
            if length < best.0 {
                best = (length, (path, key));
            }
            if length <= SHORT_ENOUGH {
                break;
            }
        }
        best
    }

    /// Whether all rows lie in insertion order.
    #[inline]
    pub(crate) fn is_ordered(&self) -> bool {
        let (mut last, mut is_ordered) = (0, true);
        self.each(|part| {
            if part.segment.len() > 0 {
                let span = part.segment.span();
                is_ordered &= span.is_some_and(|[first, _]| last <= first);
                last = span.map_or(last, |[_, end]| end);
            }
        });
        is_ordered
    }
}
