//! Regions and marks: small values that say where in a heap something lies.

use crate::layout::{CHUNK_BYTES, CHUNK_CELLS, LaneKind, NO_LANE};

/// Where a lane stands: the next free cell, and how many are left after it. All zero while there is none.
///
/// Those of a lane are left of the run of chunks that it took last, of which it may not have reached the last ones: they are
/// *ahead*. Those of a mark are left of the chunk where the lane stood.
///
/// Both lie in one word, the room in its upper half, since they are stored and loaded together. A processor that is to load
/// as one what was just stored as two waits until both have reached the cache: 10 ns for a mark. And to take cells is a
/// subtraction: it borrows where there is too little room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LanePosition(u64);

/// What is subtracted from a place to take `cells` cells.
#[inline(always)]
const fn step(cells: u64) -> u64 {
    (cells << 32) - cells
}

impl LanePosition {
    pub(crate) const START: LanePosition = LanePosition(0);

    /// A place in a chunk, or in chunks in a row, which have an end.
    #[inline]
    pub(crate) fn new(cursor: u32, end: u32) -> LanePosition {
        LanePosition(u64::from(end - cursor) << 32 | u64::from(cursor))
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> LanePosition {
        LanePosition(bits)
    }

    /// The next free cell.
    #[inline]
    pub(crate) fn cursor(self) -> u32 {
        self.0 as u32
    }

    /// The cells that are left of the last chunk, and of those before it that are ahead.
    #[inline]
    pub(crate) fn room(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The end of the last chunk; 0 while there is none.
    #[inline]
    pub(crate) fn end(self) -> u32 {
        self.cursor().wrapping_add(self.room())
    }

    /// This place without the chunks ahead: the room that it has is left of its own chunk.
    #[inline]
    pub(crate) fn within_chunk(self) -> LanePosition {
        const ROOM: u64 = (CHUNK_CELLS as u64 - 1) << 32;
        LanePosition(self.0 & (ROOM | u32::MAX as u64))
    }

    /// The place after `cells` cells of the chunk 0.
    #[inline(always)]
    pub(crate) const fn behind(cells: u32) -> LanePosition {
        LanePosition(((CHUNK_CELLS - cells) as u64) << 32 | cells as u64)
    }

    /// This place in a chunk `cells` cells after its own.
    #[inline(always)]
    pub(crate) fn ahead_by(self, cells: u32) -> LanePosition {
        LanePosition(self.0 + u64::from(cells))
    }

    /// This place, but `cells` cells earlier in the same chunk.
    #[inline]
    pub(crate) fn back(self, cells: u32) -> LanePosition {
        LanePosition(self.0 + step(u64::from(cells)))
    }
}

/// One of the three lists of chunks of a region, bumped at its end.
///
/// Nothing of it is in the heap, and nothing is stored that follows from the rest: the last chunk is the one before the end
/// of the place, and the number of chunks follows from the order of the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lane {
    pub(crate) position: LanePosition,
    /// The first chunk, or what is not a chunk.
    pub(crate) first: u32,
    /// Of a region's first lane: the most chunks that the region may hold. It lies here since four bytes are free here.
    pub(crate) quota: u32,
}

impl Lane {
    pub(crate) const EMPTY: Lane = Lane { position: LanePosition::START, first: NO_LANE, quota: u32::MAX };

    /// What a lane is beside its place, in a word, so that a function takes it in a register.
    #[inline(always)]
    pub(crate) const fn rest(self) -> u64 {
        (self.quota as u64) << 32 | self.first as u64
    }

    /// The lane of this place and [`Lane::rest`].
    #[inline(always)]
    pub(crate) fn from_words(position: u64, rest: u64) -> Lane {
        Lane { position: LanePosition::from_bits(position), first: rest as u32, quota: (rest >> 32) as u32 }
    }

    /// Lets the lane stand at another place, and begin with this chunk, if it is a place.
    #[inline(always)]
    pub(crate) fn go_on(&mut self, (position, first): (u64, u32)) -> Option<()> {
        if position == 0 {
            return None;
        }
        (self.position, self.first) = (LanePosition::from_bits(position), first);
        Some(())
    }

    /// Takes cells from the last chunk, if it has them.
    #[inline]
    pub(crate) fn bump(&mut self, cells: usize) -> Option<u32> {
        if cells > self.room() as usize {
            return None;
        }
        let at = self.position.cursor();
        self.position = LanePosition(self.position.0 - step(cells as u64));
        Some(at)
    }

    /// Takes cells from the last chunk, fewer than [`LONG`](crate::heap::LONG), if it has them: no cursor is so large that it would not
    /// do to see whether the room borrows.
    #[inline]
    pub(crate) fn bump_few(&mut self, cells: usize) -> Option<u32> {
        let at = self.position.cursor();
        self.position = LanePosition(self.position.0.checked_sub(step(cells as u64))?);
        Some(at)
    }

    /// The cells that are left of the last chunk.
    #[inline]
    pub(crate) fn room(&self) -> u32 {
        self.position.room()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.position == LanePosition::START
    }
}

/// Memory that is given back as a whole, or back to a mark.
///
/// A region belongs to the heap that opened it and is used with no other. It holds no memory before something is made in
/// it. It is not given back by dropping it, since it does not know its heap: pass it to [`Heap::close`](crate::Heap::close).
///
/// Closing takes the region, so that it cannot be closed twice:
///
/// ```compile_fail,E0382
/// let mut heap = region::Heap::new();
/// let region = heap.open();
/// heap.close(region);
/// heap.close(region);
/// ```
#[derive(Debug)]
#[must_use = "a region is given back by `Heap::close`"]
pub struct Region {
    pub(crate) expressions: Lane,
    pub(crate) variables: Lane,
    pub(crate) numbers: Lane,
}

impl Region {
    pub(crate) const EMPTY: Region = Region { expressions: Lane::EMPTY, variables: Lane::EMPTY, numbers: Lane::EMPTY };

    /// Sets how many bytes of cells the region may hold, counted in whole chunks of 512 bytes. Only [`Heap::close`] forgets it.
    ///
    /// It is looked at where a chunk is taken and nowhere else. What it refuses fails with [`Limit::Region`]; where a region
    /// holds more than that already, so does everything that needs another chunk. A long expression counts as what it would
    /// take in chunks of its own, even if it would fit partly where the last one ends.
    ///
    /// [`Heap::close`]: crate::Heap::close
    /// [`Limit::Region`]: crate::Limit::Region
    pub fn set_limit(&mut self, bytes: Option<usize>) {
        let chunks = bytes.map_or(u32::MAX as usize, |bytes| bytes / CHUNK_BYTES);
        self.expressions.quota = chunks.min(u32::MAX as usize) as u32;
    }

    pub(crate) fn lanes(&self) -> [Lane; 3] {
        [self.expressions, self.variables, self.numbers]
    }

    pub(crate) fn lane_mut(&mut self, kind: LaneKind) -> &mut Lane {
        match kind {
            LaneKind::Expressions => &mut self.expressions,
            LaneKind::Variables => &mut self.variables,
            LaneKind::Numbers => &mut self.numbers,
        }
    }

    pub(crate) fn lane(&self, kind: LaneKind) -> &Lane {
        match kind {
            LaneKind::Expressions => &self.expressions,
            LaneKind::Variables => &self.variables,
            LaneKind::Numbers => &self.numbers,
        }
    }
}

/// Where a region stood. It means nothing for another region, nor after its region was rewound to an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    pub(crate) expressions: LanePosition,
    pub(crate) variables: LanePosition,
    pub(crate) numbers: LanePosition,
}

impl Mark {
    /// Where every region begins: everything in it was made after this.
    pub const START: Mark =
        Mark { expressions: LanePosition::START, variables: LanePosition::START, numbers: LanePosition::START };
}
