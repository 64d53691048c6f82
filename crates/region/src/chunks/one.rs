//! The next chunk of a lane, where the free list has one: what a long lane pays for every 64 cells, and a short one to begin.
//!
//! It does what [`Chunks::extend`] does, in the case that needs neither search nor call: the first chunk of the free list,
//! for at most a chunk of cells, by a lane that wastes nothing by it. Whoever gets nothing here asks there.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{CHUNK_CELLS, Chunks, Kind, Link, NONE, STEPS_EARNED, last_chunk};
use crate::heap::{NOTE_BITS, cells_of};
use crate::region::{Lane, Place};

/// What was taken.
pub(crate) struct Taken {
    /// The first cell.
    pub(crate) at: u32,
    /// The cells of the chunk that the lane has left, which are counted now. See [`Place::pending`].
    pub(crate) settled: u64,
}

impl Chunks {
    /// Takes `cells`, at most those of a chunk, for a lane whose last chunk has not that many left.
    #[inline(always)]
    pub(crate) fn extend_by_one(&mut self, lane: &mut Lane, kind: Kind, cells: u32) -> Option<Taken> {
        let (chunk, place) = (self.free, lane.place);
        let start = chunk.wrapping_mul(CHUNK_CELLS);
        let joins = start == place.end();
        // An empty list ends at no chunk, which has no link.
        let behind = self.links.get(chunk as usize)?.next;
        if self.live_count() >= self.limit || !joins && place.cursor() != place.end() {
            return None;
        }
        let (is_first, home, settled) = if lane.is_empty() {
            lane.first = chunk;
            (true, u64::from(chunk) << 32, 0)
        } else {
            let last = &mut self.links[last_chunk(place) as usize];
            last.next = chunk;
            (false, last.segment_bits(last_chunk(place)) + 1, u64::from(CHUNK_CELLS))
        };
        let home = AtomicU64::new(home);
        self.links[chunk as usize] = Link { next: NONE, kind, is_first, used: CHUNK_CELLS as u8, home };
        let at = if joins { place.cursor() } else { start };
        lane.place = Place::new(at + cells, start + CHUNK_CELLS);
        self.free = behind;
        self.free_count -= 1;
        self.credit += STEPS_EARNED;
        self.live_peak = self.live_peak.max(self.live_count());
        Some(Taken { at, settled })
    }
}

impl Chunks {
    /// Copies an expression of one or two cells, if the last chunk of a lane has them left. A few words are copied faster as
    /// a whole than one by one, and their header is among them.
    #[inline(always)]
    pub(crate) fn move_few(&mut self, to: &mut Lane, from: u32) -> Option<u32> {
        let first = from as usize * 2;
        // Two cells can be read wherever an expression lies, but at the very end.
        let &[header, one, two, three] = self.words.get(first..first + 4)?.first_chunk()?;
        match cells_of((header.payload() >> NOTE_BITS) as usize) {
            2 => {
                let at = to.bump_few(2)?;
                let first = at as usize * 2;
                self.words[first..first + 4].copy_from_slice(&[header, one, two, three]);
                Some(at)
            }
            1 => {
                let at = to.bump_few(1)?;
                let first = at as usize * 2;
                self.words[first..first + 2].copy_from_slice(&[header, one]);
                Some(at)
            }
            _ => None,
        }
    }
}

impl Link {
    /// [`Link::segment`] in one word: the order below.
    #[inline(always)]
    fn segment_bits(&self, chunk: u32) -> u64 {
        if self.is_first { u64::from(chunk) << 32 } else { self.home.load(Ordering::Relaxed) }
    }
}
