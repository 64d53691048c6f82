//! References to expressions in one chunk: all those among many words are moved at once, by an addition to each.
//!
//! Which words they are is told by masks, and nothing is asked about a single word. So a compiler makes instructions of the
//! loops that take several words at once: as many as those take that it may use, see [`Width`](super::width::Width).

use crate::chunks::{CHUNK_CELLS, CHUNK_WORDS};
use crate::reference::{Ref, TAG_BITS, tag};

/// The words of a chunk.
pub(super) type Words = [Ref; CHUNK_WORDS];
/// Half of them: as many as a number of 64 bits has a bit for each.
pub(super) type Half = [Ref; CHUNK_WORDS / 2];

/// Words that have a bit each in one word: a loop over more of them would need wider numbers.
const BLOCK: usize = 32;
type Block = [Ref; BLOCK];

/// The bits that references to expressions in one chunk have in common, with or without the owner's mark.
const CHUNK: u32 = !(CHUNK_CELLS - 1) << TAG_BITS | tag::EXPRESSION;

/// References to expressions in one chunk, and where they go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    /// What they have in common.
    bits: u32,
    /// What is added to each.
    delta: u32,
}

impl Near {
    /// Expressions in the chunk that begins with a cell, which goes to this one.
    #[inline(always)]
    pub(super) fn within(from: u32, to: u32) -> Near {
        Near { bits: from << TAG_BITS | tag::EXPRESSION, delta: to.wrapping_sub(from) << TAG_BITS }
    }

    /// Expressions in the chunk where this one is.
    pub(super) fn of(reference: Ref, moved: Ref) -> Near {
        Near { bits: reference.bits() & CHUNK, delta: moved.bits().wrapping_sub(reference.bits()) }
    }

    /// Copies half a chunk and moves those words that are near. Gives a bit for each other one that is no plain immediate, the
    /// lowest for the first.
    #[inline(always)]
    pub(super) fn copy(self, from: &Half, to: &mut Half) -> u64 {
        by_blocks(from, to, |from, to| self.copy_block(from, to))
    }

    #[inline(always)]
    fn copy_block(self, from: &Block, to: &mut Block) -> u32 {
        let mut others = 0;
        for at in 0..BLOCK {
            let (bits, is_near) = (from[at].bits(), self.mask(from[at]));
            let is_plain =
                if (bits & tag::MARKED).cast_signed() < tag::IMMEDIATE_3.cast_signed() { u32::MAX } else { 0 };
            to[at] = Ref::from_bits(bits.wrapping_add(is_near & self.delta));
            others |= !(is_near | is_plain) & 1 << at;
        }
        others
    }

    /// Moves those words of half a chunk that are near, and leaves the others as they were moved before. Gives a bit for each
    /// that is moved.
    #[inline(always)]
    pub(super) fn go_on(self, from: &Half, to: &mut Half) -> u64 {
        by_blocks(from, to, |from, to| self.go_on_in_block(from, to))
    }

    #[inline(always)]
    fn go_on_in_block(self, from: &Block, to: &mut Block) -> u32 {
        let mut moved = 0;
        for at in 0..BLOCK {
            let (bits, is_near) = (from[at].bits(), self.mask(from[at]));
            to[at] = Ref::from_bits(is_near & bits.wrapping_add(self.delta) | !is_near & to[at].bits());
            moved |= is_near & 1 << at;
        }
        moved
    }

    /// All bits if a word is near, else none.
    #[inline(always)]
    fn mask(self, word: Ref) -> u32 {
        if word.bits() & CHUNK == self.bits { u32::MAX } else { 0 }
    }
}

/// What a function gives for each half of a chunk, the first half's in the low bits.
#[inline(always)]
pub(super) fn by_halves(from: &Words, to: &mut Words, half: impl Fn(&Half, &mut Half) -> u64) -> u128 {
    let (from, to) = (from.as_chunks().0, to.as_chunks_mut().0);
    let (low, high) = (half(&from[0], &mut to[0]), half(&from[1], &mut to[1]));
    u128::from(low) | u128::from(high) << u64::BITS
}

/// What a function gives for each block of half a chunk, the first block's in the low bits.
#[inline(always)]
fn by_blocks(from: &Half, to: &mut Half, block: impl Fn(&Block, &mut Block) -> u32) -> u64 {
    let (from, to) = (from.as_chunks().0, to.as_chunks_mut().0);
    let (low, high) = (block(&from[0], &mut to[0]), block(&from[1], &mut to[1]));
    u64::from(low) | u64::from(high) << BLOCK
}
