//! The room at the end of a region, for owners that write expressions into it themselves: code in other languages, which
//! cannot have the functions of a heap compiled into its own.
//!
//! 1. [`Heap::room`] says which cells the next expressions of a region will take, as long as nothing else is made in it.
//! 2. The owner writes whole expressions there, header and children, as [`Heap::expression`] would.
//! 3. [`Heap::fill`] takes the cells that were written, before anything else is asked of the heap.
//!
//! What was written wrongly does not endanger memory: every access of a heap is within its reservation.

use std::ops::Range;

use crate::heap::Heap;
use crate::layout::CHUNK_WORDS;
use crate::reference::Ref;
use crate::region::{LanePosition, Mark, Region};

impl Heap {
    /// The cells that are left of the last chunk of a region's expressions, empty if there are none.
    #[inline]
    pub fn room(&self, region: &Region) -> Range<u32> {
        region.expressions.position.cursor()..region.expressions.position.end()
    }

    /// Takes `cells` cells of the [room](Heap::room), in which whole expressions were written. Gives whether there were that many.
    #[inline]
    pub fn fill(&mut self, region: &mut Region, cells: u32) -> bool {
        region.expressions.bump(cells as usize).is_some()
    }

    /// All [words](Heap::words) of the heap, to be written in the [room](Heap::room) of a region.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [Ref] {
        let count = self.chunks.count() as usize * CHUNK_WORDS;
        &mut self.words[..count]
    }
}

impl Mark {
    /// The mark as words, for other languages.
    pub fn bits(self) -> [u64; 3] {
        [self.expressions.bits(), self.variables.bits(), self.numbers.bits()]
    }

    /// The mark with these [`Mark::bits`]. Any others make a mark that means nothing for any region.
    pub fn from_bits([expressions, variables, numbers]: [u64; 3]) -> Mark {
        let position = LanePosition::from_bits;
        Mark { expressions: position(expressions), variables: position(variables), numbers: position(numbers) }
    }
}
