//! What of a segment lies in an image: rows, their copies, and indexes, read where they lie.
//!
//! A relation is written as one segment without holes, with an index of each path that a query may ask for; see
//! [`super::write`]. Rows that are removed later become holes beside it, as in any sealed segment.

use crate::columns::{Column, ColumnsReader, ImageError, Table};
use crate::term::Term;
use crate::words::Words;
use std::ops::Range;

/// A place that is a list and no row, as in [`super::index`]; and a list whose rows follow each other.
pub(super) const LIST: u32 = 1 << 31;
pub(super) const RUN: u32 = 1 << 31;
/// The place of a key that has none.
pub(super) const NONE: u32 = u32::MAX;

/// The terms of rows.
#[derive(Clone)]
pub(super) struct MappedRows {
    cells: Column<Term>,
    width: usize,
    ends: Option<Column<u64>>,
}

impl MappedRows {
    #[inline]
    pub(super) fn get(&self, row: u32) -> &[Term] {
        let row = row as usize;
        match &self.ends {
            None => self.cells.slice(row * self.width..(row + 1) * self.width),
            Some(ends) => {
                let start = if row == 0 { 0 } else { ends.get(row - 1) as usize };
                self.cells.slice(start..ends.get(row) as usize)
            }
        }
    }

    /// The terms of rows that lie one after the other, and how many each has.
    pub(super) fn cells(&self, rows: Range<u32>) -> Option<(&[Term], usize)> {
        let (width, start, end) = (self.width, rows.start as usize, rows.end as usize);
        (self.ends.is_none() && width > 0).then(|| (self.cells.slice(start * width..end * width), width))
    }

    pub(super) fn open(columns: &ColumnsReader, words: &mut Words<'_>, length: u32) -> Result<Self, ImageError> {
        let width = words.small()? as usize;
        let cells: Column<Term> = columns.column(words.next()?)?;
        let ends: Option<Column<u64>> = words.option()?.map(|ends| columns.column(ends)).transpose()?;
        let is_whole = match &ends {
            None => cells.len() == width * length as usize,
            Some(ends) => ends.len() == length as usize,
        };
        if is_whole { Ok(Self { cells, width, ends }) } else { Err(Words::IMPOSSIBLE) }
    }
}

/// How many copies of rows there are, in blocks of which most are not there.
#[derive(Clone)]
pub(super) struct MappedCopies {
    /// Which block each is, or [`NONE`].
    blocks: Column<u32>,
    counts: Column<u32>,
}

impl MappedCopies {
    /// The counts of a block, if one of them is not 1.
    pub(super) fn block(&self, block: usize, length: usize) -> Option<&[u32]> {
        if block >= self.blocks.len() {
            return None;
        }
        let place = self.blocks.get(block);
        (place != NONE).then(|| self.counts.slice(place as usize * length..(place as usize + 1) * length))
    }

    pub(super) fn open(columns: &ColumnsReader, words: &mut Words<'_>) -> Result<Option<Self>, ImageError> {
        let Some(blocks) = words.option()? else { return Ok(None) };
        Ok(Some(Self { blocks: columns.column(blocks)?, counts: columns.column(words.next()?)? }))
    }
}

/// Rows by key.
#[derive(Clone)]
pub(super) struct MappedIndex {
    places: MappedPlaces,
    /// Where each list begins, or its first row, and how long it is.
    lists: Column<[u32; 2]>,
    rows: Column<u32>,
    /// How many rows have a key, how many keys there are, and the sum of the squares of the rows of each.
    pub(super) spread: [f64; 3],
}

/// The rows of a key.
pub(super) enum MappedList<'a> {
    Run(Range<u32>),
    Each(&'a [u32]),
}

#[derive(Clone)]
enum MappedPlaces {
    /// By key, from the first one on.
    Direct { first: u64, places: Column<u32> },
    /// By the number of an entry of the table.
    Hashed { table: Table, places: Column<u32> },
}

impl MappedIndex {
    /// The rows with a key, which has this hash; `key_of` says which key a row has.
    #[inline]
    pub(super) fn get(
        &self,
        key: u64,
        hash: impl FnOnce() -> u64,
        key_of: impl Fn(u32) -> Option<u64>,
    ) -> MappedList<'_> {
        let place = match &self.places {
            MappedPlaces::Direct { first, places } => {
                let at = key.wrapping_sub(*first);
                if at >= places.len() as u64 {
                    return MappedList::Each(&[]);
                }
                &places.slice(at as usize..at as usize + 1)[0]
            }
            MappedPlaces::Hashed { table, places } => {
                let is_it = |entry: u32| key_of(self.first(places.get(entry as usize))) == Some(key);
                match table.find(hash(), is_it) {
                    None => return MappedList::Each(&[]),
                    Some(entry) => &places.slice(entry as usize..entry as usize + 1)[0],
                }
            }
        };
        match *place {
            NONE => MappedList::Each(&[]),
            row if row & LIST == 0 => MappedList::Each(std::slice::from_ref(place)),
            list => self.list((list & !LIST) as usize),
        }
    }

    fn list(&self, list: usize) -> MappedList<'_> {
        let [start, length] = self.lists.get(list);
        if length & RUN != 0 {
            return MappedList::Run(start..start.saturating_add(length & !RUN));
        }
        MappedList::Each(self.rows.slice(start as usize..start as usize + length as usize))
    }

    /// The first row of a place.
    fn first(&self, place: u32) -> u32 {
        if place & LIST == 0 {
            return place;
        }
        match self.list((place & !LIST) as usize) {
            MappedList::Run(rows) => rows.start,
            MappedList::Each(rows) => rows.first().copied().unwrap_or_else(|| self.lists.nowhere()),
        }
    }

    pub(super) fn open(columns: &ColumnsReader, words: &mut Words<'_>) -> Result<Self, ImageError> {
        let form = words.next()?;
        let first = words.next()?;
        let places: Column<u32> = columns.column(words.next()?)?;
        let places = match form {
            0 => MappedPlaces::Direct { first, places },
            1 => {
                let entries = places.len() as u32;
                let table = Table::new(columns.column(first)?, entries).ok_or(Words::IMPOSSIBLE)?;
                MappedPlaces::Hashed { table, places }
            }
            _ => return Err(Words::IMPOSSIBLE),
        };
        let (lists, rows) = (columns.column(words.next()?)?, columns.column(words.next()?)?);
        let mut number = || words.next().map(f64::from_bits);
        let spread = [number()?, number()?, number()?];
        Ok(Self { places, lists, rows, spread })
    }
}
