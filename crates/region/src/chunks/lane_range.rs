//! Parts of lanes, and which cells they hold.

use std::sync::atomic::Ordering;

use super::{Chunks, Home, Link, find_in};
use crate::layout::CHUNK_CELLS;
use crate::region::{Lane, LanePosition};

/// The cells of a lane from some place on.
#[derive(Clone, Copy, Debug)]
pub struct LaneRange {
    from: Home,
    cursor: u32,
}

impl LaneRange {
    /// Whether a cell that lies in this chunk of the lane belongs to the part.
    #[inline]
    fn begins_before(&self, order: u32, cell: u32) -> bool {
        order > self.from.order || order == self.from.order && cell >= self.cursor
    }
}

impl Chunks {
    /// The cells of a lane from a place of it on.
    #[inline]
    pub(crate) fn since(&self, lane: &Lane, position: LanePosition) -> LaneRange {
        let order = if position == LanePosition::START { 0 } else { self.order(lane, position) };
        LaneRange { from: Home { lane: lane.first, order }, cursor: position.cursor() }
    }

    #[inline]
    pub(crate) fn contains(&self, part: &LaneRange, cell: u32) -> bool {
        let Some(home) = self.links.get((cell / CHUNK_CELLS) as usize).map(Link::home) else { return false };
        if home.lane == part.from.lane { part.begins_before(home.order, cell) } else { self.joined(part, home, cell) }
    }

    /// Whether the part holds a cell in a chunk of another segment.
    #[cold]
    fn joined(&self, part: &LaneRange, home: Home, cell: u32) -> bool {
        let home = self.find(home);
        home.lane == part.from.lane && part.begins_before(home.order, cell)
    }
}

/// What a part of a lane holds, to be asked for one cell after the other while the words of the heap are written. Whole chunks
/// of it are found by one comparison of their homes.
#[derive(Clone, Copy)]
pub(crate) struct LaneMembership<'c> {
    links: &'c [Link],
    part: &'c LaneRange,
    /// The home of the first chunk that belongs to the part as a whole, and how many homes there may be after it.
    low: u64,
    span: u64,
}

impl Chunks {
    /// What a part of a lane holds.
    #[inline(always)]
    pub(crate) fn holder<'c>(&'c self, part: &'c LaneRange) -> LaneMembership<'c> {
        let Home { lane, order } = part.from;
        // A lane that stands somewhere has used a cell of its last chunk.
        let first = order + u32::from(part.cursor != 0);
        let low = u64::from(lane) << 32 | u64::from(first);
        LaneMembership { links: &self.links, part, low, span: u64::from(u32::MAX - first) }
    }
}

impl LaneMembership<'_> {
    /// Whether the part holds a cell: see [`Chunks::contains`].
    #[inline(always)]
    pub(crate) fn holds(&self, cell: u32) -> bool {
        let Some(link) = self.links.get((cell / CHUNK_CELLS) as usize) else { return false };
        let home = link.home.load(Ordering::Relaxed);
        home.wrapping_sub(self.low) <= self.span || holds_some(self.links, self.part, home, cell)
    }
}

/// Whether the part holds a cell in its first chunk, or in a chunk of another segment.
#[inline(never)]
fn holds_some(links: &[Link], part: &LaneRange, home: u64, cell: u32) -> bool {
    let mut home = Home { lane: (home >> 32) as u32, order: home as u32 };
    if home.lane != part.from.lane {
        home = find_in(links, home);
    }
    home.lane == part.from.lane && part.begins_before(home.order, cell)
}
