//! How many copies of each row there are, beside a segment whose rows never change.
//!
//! Most rows have one copy: only where another number occurs a block of counts is made. Blocks are shared with
//! snapshots and copied when they change: a change after a snapshot costs a block and the list of blocks.

use super::mapped::MappedCopies;
use std::sync::Arc;

/// The counts in a block.
pub(super) const BLOCK: usize = 1_024;

type Block = [u32; BLOCK];

/// Copies of the rows of one segment.
#[derive(Clone, Default)]
pub(super) struct Copies {
    blocks: Option<Arc<Vec<Option<Arc<Block>>>>>,
    /// What is not in them lies in an image, if something is.
    mapped: Option<Arc<MappedCopies>>,
    holes: u32,
}

impl Copies {
    /// Copies that lie in an image.
    pub(super) fn of_image(mapped: MappedCopies) -> Self {
        Self { blocks: Some(Arc::default()), mapped: Some(Arc::new(mapped)), holes: 0 }
    }

    /// The counts of a block in the image.
    #[cold]
    fn mapped_block(&self, block: usize) -> Option<&[u32]> {
        self.mapped.as_ref()?.block(block, BLOCK)
    }

    /// What a block that is not there counts for a row.
    fn count_elsewhere(&self, row: u32) -> u32 {
        self.mapped_block(row as usize / BLOCK).map_or(1, |block| block[row as usize % BLOCK])
    }

    /// How many copies of a row there are; 0 for a hole.
    #[inline]
    pub(super) fn get(&self, row: u32) -> u32 {
        let Some(blocks) = &self.blocks else { return 1 };
        match blocks.get(row as usize / BLOCK) {
            Some(Some(block)) => block[row as usize % BLOCK],
            _ => self.count_elsewhere(row),
        }
    }

    /// Whether every row has one copy.
    #[inline]
    pub(super) fn are_plain(&self) -> bool {
        self.blocks.is_none()
    }

    /// The rows from `row` up to `end` of which it is known at once that each has one copy, or the next row and its
    /// copies.
    #[inline]
    pub(super) fn batch_end(&self, row: u32, end: u32) -> (u32, u32) {
        let Some(blocks) = &self.blocks else { return (end, 1) };
        match blocks.get(row as usize / BLOCK) {
            Some(Some(block)) => (row + 1, block[row as usize % BLOCK]),
            _ if self.mapped_block(row as usize / BLOCK).is_some() => (row + 1, self.count_elsewhere(row)),
            None if self.mapped.is_some() => (end.min((row / BLOCK as u32 + 1) * BLOCK as u32), 1),
            Some(None) => (end.min((row / BLOCK as u32 + 1) * BLOCK as u32), 1),
            None => (end, 1),
        }
    }

    /// How many rows have no copy.
    pub(super) fn holes(&self) -> u32 {
        self.holes
    }

    /// Hands out the rows that have no copy.
    pub(super) fn each_hole(&self, mut visit: impl FnMut(u32)) {
        for (number, block) in (0..).zip(self.blocks.iter().flat_map(|blocks| blocks.iter())) {
            let holes = block.iter().flat_map(|block| (0..).zip(block.iter())).filter(|(_, copies)| **copies == 0);
            holes.for_each(|(place, _)| visit(number * BLOCK as u32 + place));
        }
    }

    /// Adds copies of a row that has some.
    ///
    /// # Panics
    /// At 2^32 copies.
    pub(super) fn add(&mut self, row: u32, more: u32) {
        self.set(row, self.get(row).checked_add(more).expect("a space holds fewer than 2^32 copies of an atom"));
    }

    /// Takes away a copy of a row that has some; gives how many are left.
    pub(super) fn remove(&mut self, row: u32) -> u32 {
        let left = self.get(row) - 1;
        self.set(row, left);
        left
    }

    /// Sets how many copies a row has that has some.
    pub(super) fn set(&mut self, row: u32, copies: u32) {
        debug_assert!(self.get(row) > 0, "a hole stays one");
        if copies == self.get(row) {
            return;
        }
        self.holes += u32::from(copies == 0);
        let place = row as usize / BLOCK;
        let before = self.mapped_block(place).and_then(|block| block.first_chunk().copied());
        let blocks = Arc::make_mut(self.blocks.get_or_insert_default());
        if blocks.len() <= place {
            blocks.resize(place + 1, None);
        }
        let block = blocks[place].get_or_insert_with(|| Arc::new(before.unwrap_or([1; BLOCK])));
        Arc::make_mut(block)[row as usize % BLOCK] = copies;
    }
}
