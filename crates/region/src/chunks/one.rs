//! The next chunk of a lane, where the free list has one: what a long lane pays for every 64 cells, and a short one to begin.
//!
//! It does what [`Chunks::extend`] does, in the case that needs neither search nor call: the first chunk of the free list,
//! for at most a chunk of cells, by a lane that wastes nothing by it. Whoever gets nothing here asks there.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{CHUNK_CELLS, Chunks, Kind, Link, NONE, STEPS_EARNED, last_chunk};
use crate::region::{Lane, Place};

impl Chunks {
    /// The first chunk of a lane that has none, and the first `cells` of it, at most all.
    #[inline(always)]
    pub(crate) fn begin(&mut self, lane: &mut Lane, kind: Kind, cells: u32) -> Option<u32> {
        let chunk = self.first_free()?;
        // An empty list ends at no chunk, which has no link.
        let link = self.links.get_mut(chunk as usize)?;
        let home = AtomicU64::new(u64::from(chunk) << 32);
        let free = std::mem::replace(link, Link { next: NONE, kind, is_first: true, used: CHUNK_CELLS as u16, home });
        self.take_one(free.next);
        let at = chunk * CHUNK_CELLS;
        lane.first = chunk;
        lane.place = Place::new(at + cells, at + CHUNK_CELLS);
        Some(at)
    }

    /// The next chunk of a lane whose last one has not `cells` left, at most a chunk's. Leaves a chunk's cells to be counted as
    /// handed out, see [`Place::pending`].
    #[inline(always)]
    pub(crate) fn go_on_in_one(&mut self, lane: &mut Lane, kind: Kind, cells: u32) -> Option<u32> {
        let (chunk, place) = (self.first_free()?, lane.place);
        let start = chunk.wrapping_mul(CHUNK_CELLS);
        let at = if start == place.end() { place.cursor() } else { start };
        if at == start && place.room() != 0 {
            return None;
        }
        let last = self.links.get_mut(last_chunk(place) as usize)?;
        last.next = chunk;
        let home = AtomicU64::new(last.segment_bits(last_chunk(place)) + 1);
        // More chunks are free than none, so there is one.
        let link = &mut self.links[chunk as usize];
        let free = std::mem::replace(link, Link { next: NONE, kind, is_first: false, used: CHUNK_CELLS as u16, home });
        self.take_one(free.next);
        lane.place = Place::new(at + cells, start + CHUNK_CELLS);
        Some(at)
    }

    /// The chunk that a lane may have, or what is no chunk.
    #[inline(always)]
    fn first_free(&self) -> Option<u32> {
        (self.free_count > self.floor).then_some(self.free)
    }

    /// Counts that the first chunk of the free list was taken, and lets the list begin behind it.
    #[inline(always)]
    fn take_one(&mut self, behind: u32) {
        self.free = behind;
        self.free_count -= 1;
        self.credit += STEPS_EARNED;
    }
}

impl Link {
    /// [`Link::segment`] in one word: the order below.
    #[inline(always)]
    pub(super) fn segment_bits(&self, chunk: u32) -> u64 {
        if self.is_first { u64::from(chunk) << 32 } else { self.home.load(Ordering::Relaxed) }
    }
}
