//! Opening a relation that lies in an image: one segment, sealed, with its indexes.

use super::copies::Copies;
use super::index::{Index, IndexedBy};
use super::kept::KeptViews;
use super::mapped::{MappedCopies, MappedIndex, MappedRows};
use super::segment::Segment;
use super::{CountedSegment, Relation};
use crate::columns::{Column, ColumnsReader, ImageError, Table};
use crate::words::{Words, option_word};
use std::sync::Arc;

impl Relation {
    /// The rows that a description says.
    pub(crate) fn open(columns: &ColumnsReader, words: &mut Words<'_>) -> Result<Self, ImageError> {
        let length = words.small()?;
        let has_keys = words.next()? != 0;
        if length == 0 {
            return Ok(Self { has_keys, ..Self::default() });
        }
        let rows = MappedRows::open(columns, words, length)?;
        let (first, consecutive, descends) = (words.next()?, words.small()?, words.next()? != 0);
        let others: Column<u64> = columns.column(words.next()?)?;
        if consecutive as usize + others.len() != length as usize {
            return Err(Words::IMPOSSIBLE);
        }
        let copies = MappedCopies::open(columns, words)?;
        let set = Table::new(columns.column(words.next()?)?, length).ok_or(Words::IMPOSSIBLE)?;
        let segment = Segment::of_image(length, rows, (first, consecutive, others, descends), set);
        for _ in 0..words.next()? {
            let place = place_of(words)?;
            segment.add_index(place, Index::of_image(MappedIndex::open(columns, words)?));
        }
        let copies = copies.map_or_else(Copies::default, Copies::of_image);
        let sealed = vec![CountedSegment { segment: Arc::new(segment), copies, start: 0 }];
        let head = CountedSegment { start: length, ..CountedSegment::default() };
        Ok(Self { sealed, head, has_keys, views: KeptViews::default() })
    }
}

/// How the place of an index is written: 0, or 1 if the head stands before it; the column; the child.
pub(super) fn words_of(place: IndexedBy) -> [u64; 3] {
    let (pair, (column, child)) = match place {
        IndexedBy::Path(path) => (0, path),
        IndexedBy::HeadAnd(path) => (1, path),
    };
    [pair, u64::from(column), option_word(child.map(u64::from))]
}

fn place_of(words: &mut Words<'_>) -> Result<IndexedBy, ImageError> {
    let (pair, column) = (words.next()?, words.small()?);
    let child = words.option()?.map(u32::try_from).transpose().map_err(|_| Words::IMPOSSIBLE)?;
    match pair {
        0 => Ok(IndexedBy::Path((column, child))),
        1 => Ok(IndexedBy::HeadAnd((column, child))),
        _ => Err(Words::IMPOSSIBLE),
    }
}
