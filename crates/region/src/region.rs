//! Regions and marks: small values that say where in a heap something lies.

use crate::chunks::CHUNK_CELLS;
use crate::reference::{Ref, tag};

/// One of the three lists of chunks of a region, bumped at its end.
///
/// Nothing of it is in the heap, and nothing is stored that follows from the rest: the last chunk is the one before
/// `end`, and the number of chunks follows from the order of the last.
///
/// The order of the fields keeps `cursor` and `end` apart. Side by side, a mark would load both as one word, and a processor
/// waits for such a load until the cursor that was just stored has reached the cache: 10 ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct Lane {
    /// The next free cell.
    pub(crate) cursor: u32,
    /// The first chunk, if `end` is not 0.
    pub(crate) first: u32,
    /// The end of the last chunk; 0 while there is none.
    pub(crate) end: u32,
}

impl Lane {
    pub(crate) const EMPTY: Lane = Lane { cursor: 0, first: 0, end: 0 };

    /// Takes cells from the last chunk, if it has them.
    #[inline]
    pub(crate) fn bump(&mut self, cells: usize) -> Option<u32> {
        let at = self.cursor;
        if cells > (self.end - at) as usize {
            return None;
        }
        self.cursor = at + cells as u32;
        Some(at)
    }

    #[inline]
    pub(crate) fn room(&self) -> u32 {
        self.end - self.cursor
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.end == 0
    }

    #[inline]
    pub(crate) fn place(&self) -> Place {
        Place { cursor: self.cursor, end: self.end }
    }
}

/// Where a lane stood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) cursor: u32,
    pub(crate) end: u32,
}

impl Place {
    pub(crate) const START: Place = Place { cursor: 0, end: 0 };

    /// The cells used of the last chunk: what statistics do not count before the chunk is left.
    #[inline]
    pub(crate) fn pending(self) -> u64 {
        u64::from(if self.end == 0 { 0 } else { self.cursor + CHUNK_CELLS - self.end })
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

    /// The lane for what is no immediate.
    pub(crate) fn lane(&self, reference: Ref) -> &Lane {
        match reference.tag() {
            tag::NUMBER => &self.numbers,
            tag::VARIABLE => &self.variables,
            _ => &self.expressions,
        }
    }
}

/// Where a region stood. It means nothing for another region, nor after its region was rewound to an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    pub(crate) expressions: Place,
    pub(crate) variables: Place,
    pub(crate) numbers: Place,
}

impl Mark {
    /// Where every region begins: everything in it was made after this.
    pub const START: Mark = Mark { expressions: Place::START, variables: Place::START, numbers: Place::START };
}
