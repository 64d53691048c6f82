//! Many cursors as one: what is newer hides what is older, and deletions hide both.
//!
//! 1. The cursors lie from the newest to the oldest. Of those whose key comes next, the newest has the entry; the others step
//!    over that key.
//! 2. An entry that is a deletion is stepped over, unless the caller wants to see them, as a backup of a memtable does.
//!
//! Each step compares the keys of all cursors; there are few, since the first level has few runs.

use crate::cursor::Cursor;
use crate::error::Damage;
use crate::memtable::Direction;
use std::ops::Bound;

/// The entries of many cursors, in one direction.
pub(crate) struct Merge {
    /// Newest first.
    cursors: Vec<Cursor>,
    direction: Direction,
    /// Where it ends.
    end: Bound<Vec<u8>>,
    /// The cursor that is at the entry given last.
    current: Option<usize>,
    /// Whether there is one cursor, in a block that ends before the end.
    is_in_block: bool,
}

impl Merge {
    pub(crate) fn new(cursors: Vec<Cursor>, direction: Direction, end: Bound<Vec<u8>>) -> Self {
        Self { cursors, direction, end, current: None, is_in_block: false }
    }

    /// Goes to the next entry if that is in the same block, so that nothing has to be compared; whether it is.
    #[inline]
    pub(crate) fn advance_in_block(&mut self) -> bool {
        self.is_in_block && self.cursors[0].stride()
    }

    /// Goes to the next entry that is not a deletion; whether there is one.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool, Damage> {
        if self.cursors.len() == 1 {
            return self.advance_alone();
        }
        while self.advance_to_any()? {
            if self.entry().is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goes to the next entry of one cursor that is not a deletion, where nothing is to be compared; whether there is one.
    fn advance_alone(&mut self) -> Result<bool, Damage> {
        let mut is_at_entry = self.current.take().is_some();
        loop {
            if is_at_entry {
                self.cursors[0].step()?;
            }
            let cursor = &self.cursors[0];
            let is_inside = match self.end {
                Bound::Unbounded => !cursor.is_done(),
                _ => cursor.key().is_some_and(|key| self.is_inside(key)),
            };
            if !is_inside {
                self.is_in_block = false;
                return Ok(false);
            }
            if !cursor.is_deletion() {
                self.current = Some(0);
                let is_inside = |key: &[u8]| self.is_inside(key);
                self.is_in_block = cursor.last_key_of_block().is_some_and(is_inside);
                return Ok(true);
            }
            is_at_entry = true;
        }
    }

    /// Goes to the next entry, or deletion; whether there is one.
    pub(crate) fn advance_to_any(&mut self) -> Result<bool, Damage> {
        self.leave()?;
        self.current = self.next();
        Ok(self.current.is_some())
    }

    /// The key where it is, and its value; `None` for a deletion.
    pub(crate) fn written(&self) -> Option<(&[u8], Option<&[u8]>)> {
        let cursor = &self.cursors[self.current?];
        Some((cursor.key()?, cursor.value()))
    }

    /// The entry where it is.
    #[inline]
    pub(crate) fn entry(&self) -> Option<(&[u8], &[u8])> {
        let cursor = &self.cursors[self.current?];
        Some((cursor.key()?, cursor.value()?))
    }

    /// Steps over the key where it is, in every cursor.
    fn leave(&mut self) -> Result<(), Damage> {
        let Some(current) = self.current.take() else { return Ok(()) };
        for other in current + 1..self.cursors.len() {
            if self.cursors[other].key() == self.cursors[current].key() {
                self.cursors[other].step()?;
            }
        }
        self.cursors[current].step()
    }

    /// The newest of the cursors whose key comes next; `None` at the end.
    fn next(&self) -> Option<usize> {
        let mut best: Option<(usize, &[u8])> = None;
        for (index, cursor) in self.cursors.iter().enumerate() {
            let Some(key) = cursor.key() else { continue };
            if best.is_none_or(|(_, other)| self.comes_before(key, other)) {
                best = Some((index, key));
            }
        }
        best.filter(|(_, key)| self.is_inside(key)).map(|(index, _)| index)
    }

    /// Whether a key comes before the end.
    fn is_inside(&self, key: &[u8]) -> bool {
        match (&self.end, self.direction) {
            (Bound::Unbounded, _) => true,
            (Bound::Included(end), Direction::Forward) => key <= &end[..],
            (Bound::Excluded(end), Direction::Forward) => key < &end[..],
            (Bound::Included(end), Direction::Backward) => key >= &end[..],
            (Bound::Excluded(end), Direction::Backward) => key > &end[..],
        }
    }

    fn comes_before(&self, one: &[u8], other: &[u8]) -> bool {
        match self.direction {
            Direction::Forward => one < other,
            Direction::Backward => one > other,
        }
    }
}
