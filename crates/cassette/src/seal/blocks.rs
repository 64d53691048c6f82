//! Blocks of rows: whole exchanges, with their numbers and times in front as differences from one to the next.

use crate::error::Malformed;
use crate::record::whole::ExchangeStart;
use crate::wire::{Cursor, put_i64, put_u64};
use std::ops::Range;

/// Rows that will be a block.
#[derive(Debug, Default)]
pub(crate) struct RowBlock {
    count: u32,
    columns: Vec<u8>,
    rows: Vec<u8>,
    last: ExchangeStart,
}

impl RowBlock {
    pub(crate) fn push(&mut self, beginning: ExchangeStart, row: &[u8]) {
        put_i64(&mut self.columns, beginning.number.wrapping_sub(self.last.number) as i64);
        put_i64(&mut self.columns, beginning.started_ns.wrapping_sub(self.last.started_ns));
        put_u64(&mut self.columns, row.len() as u64);
        self.rows.extend_from_slice(row);
        self.last = beginning;
        self.count += 1;
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    pub(crate) fn bytes(&self) -> usize {
        self.columns.len() + self.rows.len()
    }

    /// Its bytes; it is empty again.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes() + 5);
        put_u64(&mut bytes, u64::from(self.count));
        bytes.extend_from_slice(&self.columns);
        bytes.extend_from_slice(&self.rows);
        *self = Self::default();
        bytes
    }
}

/// Where a row lies in its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowPlace {
    pub(crate) beginning: ExchangeStart,
    pub(crate) range: Range<usize>,
}

/// Where the rows of a block lie.
pub(crate) fn places(block: &[u8], room: usize) -> Result<Vec<RowPlace>, Malformed> {
    let mut cursor = Cursor::with_room(block, room);
    let count = cursor.count()?;
    let mut places = Vec::with_capacity(count.min(4096));
    let mut beginning = ExchangeStart::default();
    let mut end = 0_usize;
    for _ in 0..count {
        beginning.number = beginning.number.wrapping_add(cursor.i64()? as u64);
        beginning.started_ns = beginning.started_ns.wrapping_add(cursor.i64()?);
        let length = cursor.count()?;
        cursor.make_room(size_of::<RowPlace>())?;
        places.push(RowPlace { beginning, range: end..end + length });
        end += length;
    }
    if cursor.at() + end != block.len() {
        return Err(cursor.malformed("rows that are not as long as their block"));
    }
    let columns = cursor.at();
    for place in &mut places {
        place.range = place.range.start + columns..place.range.end + columns;
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found() {
        let mut block = RowBlock::default();
        let rows = [(3, 1000, &b"abc"[..]), (4, 900, b""), (9, i64::MIN, b"xy")];
        for (number, started_ns, row) in rows {
            block.push(ExchangeStart { number, started_ns }, row);
        }
        let bytes = block.take();
        assert_eq!((block.count(), block.bytes()), (0, 0));
        let found = places(&bytes, usize::MAX).unwrap();
        for (place, (number, started_ns, row)) in found.iter().zip(rows) {
            assert_eq!(place.beginning, ExchangeStart { number, started_ns });
            assert_eq!(&bytes[place.range.clone()], row);
        }
        assert!(places(&bytes[..bytes.len() - 1], usize::MAX).is_err());
        assert!(places(&[], usize::MAX).is_err());
    }
}
