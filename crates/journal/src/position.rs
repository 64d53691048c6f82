//! A point between two frames that can be recognised later: where it lies, and the history up to it.

use crate::block::Block;
use crate::chain::Chain;
use crate::format::Mark;
use crate::frame::Place;

/// A point between two frames, and the history up to it. It is worth keeping beside what was made of the frames before it: a
/// [`Reader`](crate::Reader::from_position) goes on from there if the journal has the same frames up to there, and refuses otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// Where the next frame begins.
    pub place: Place,
    /// Where the block begins that the frame before it belongs to, or the next frame if that begins a block. It is in the same segment.
    pub block: Place,
    /// The chain up to the next frame.
    pub chain: Chain,
}

impl Position {
    /// How many numbers [`Position::to_numbers`] gives.
    pub const NUMBERS: usize = 5;

    pub(crate) fn of(at: &Mark, block: &Block) -> Self {
        Self { place: Place::of(at), block: Place::of(&block.from()), chain: block.chain() }
    }

    /// Where it is, to be kept with the chain.
    pub fn to_numbers(&self) -> [u64; Self::NUMBERS] {
        let Self { place, block, .. } = self;
        [place.segment, place.number, place.offset, block.number, block.offset]
    }

    /// The position that was kept. Whether it is one is found out by whoever reads there.
    pub fn from_numbers([segment, number, offset, block, block_at]: [u64; Self::NUMBERS], chain: Chain) -> Self {
        Self { place: Place::new(number, segment, offset), block: Place::new(block, segment, block_at), chain }
    }
}
