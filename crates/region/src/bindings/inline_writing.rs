//! The room at the end of a region, for owners that write into it themselves: code in other languages, which cannot have the
//! functions of a heap compiled into its own.
//!
//! 1. [`Heap::rooms`] says which cells the next expressions, variables and numbers of a region will take, as long as nothing else
//!    is made in it.
//! 2. The owner writes there what [`Heap::expression`] and the other functions would have written.
//! 3. [`Heap::fill`] takes the cells that were written, before anything else is asked of the heap.
//!
//! A region that is [prepared](Region::prepare) has such room before anything is in it. So an owner can open it, fill it and close it
//! without asking the heap.
//!
//! What was written wrongly does not endanger memory: every access of a heap is within its reservation.

use std::iter::zip;
use std::ops::Range;

use crate::heap::Heap;
use crate::layout::{CHUNK_CELLS, CHUNK_WORDS, LaneKind};
use crate::limit::Full;
use crate::reference::Ref;
use crate::region::{LanePosition, Mark, Region};

/// The order of the rooms of a region.
const KINDS: [LaneKind; 3] = [LaneKind::Expressions, LaneKind::Variables, LaneKind::Numbers];

impl Heap {
    /// The cells that are left of the last chunk of a region's expressions, variables and numbers; empty if there are none.
    #[inline]
    pub fn rooms(&self, region: &Region) -> [Range<u32>; 3] {
        region.lanes().map(|lane| lane.position.cursor()..lane.position.end())
    }

    /// Takes cells of the [rooms](Heap::rooms), a number of each, in which whole expressions, variables and numbers were written. Gives
    /// whether there were that many.
    #[inline]
    pub fn fill(&mut self, region: &mut Region, cells: [u32; 3]) -> bool {
        zip(KINDS, cells).all(|(kind, cells)| cells == 0 || region.lane_mut(kind).bump(cells as usize).is_some())
    }

    /// All [words](Heap::words) of the heap, to be written in the [rooms](Heap::rooms) of a region.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [Ref] {
        let count = self.chunks.count() as usize * CHUNK_WORDS;
        &mut self.words[..count]
    }
}

impl Region {
    /// Gives this region, which is empty, a chunk of each kind, to be written in. Gives whether there was memory for them within the
    /// limit of its heap; otherwise the region is as it was.
    pub fn prepare(&mut self, heap: &mut Heap) -> bool {
        if heap.chunks.limit.saturating_sub(heap.chunks.live_count()) < KINDS.len() as u32 {
            return false;
        }
        let taken = KINDS.iter().all(|kind| take_chunk(heap, self, *kind).is_ok());
        if !taken {
            self.give_back_unused(heap);
        }
        taken
    }

    /// Gives the chunks of a [prepared](Region::prepare) region back in which nothing was written.
    pub fn give_back_unused(&mut self, heap: &mut Heap) {
        for kind in KINDS {
            let lane = self.lane_mut(kind);
            if !lane.is_empty() && lane.position.cursor() == lane.first * CHUNK_CELLS {
                heap.chunks.rewind_chunks(lane, LanePosition::START);
            }
        }
    }
}

fn take_chunk(heap: &mut Heap, region: &mut Region, kind: LaneKind) -> Result<(), Full> {
    match kind {
        LaneKind::Numbers => heap.chunks.extend_numbers(&mut heap.words, region, 1)?,
        _ => heap.chunks.extend_by_one(&mut heap.words, region, kind, 1)?,
    };
    let lane = region.lane_mut(kind);
    lane.position = lane.position.back(1);
    Ok(())
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
