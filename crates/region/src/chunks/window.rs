//! The window of a lane: the cells that it may take next without being asked.

use std::sync::atomic::AtomicU64;

use super::{CHUNK_CELLS, Chunks, Kind, Link, NONE, STEPS_EARNED, last_chunk};
use crate::region::{Lane, Place};

/// A window goes on over so many free chunks: 8 KiB. To look at them is a step each.
const WINDOW_CHUNKS: u32 = 16;

impl Chunks {
    /// Where the cells end that a lane may take next: those of its last chunk, and of at most so many free ones that lie behind
    /// it in the order of the free list. The lane has chunks.
    pub(crate) fn window_end(&self, lane: &Lane, kind: Kind, most: u32) -> u32 {
        let end_max = if kind == Kind::Numbers { self.number_limit * CHUNK_CELLS } else { u32::MAX };
        let most = most.min(self.limit.saturating_sub(self.live_count())).min(WINDOW_CHUNKS);
        let (mut end, mut next) = (lane.place.end(), self.free);
        for _ in 0..most {
            // An empty list ends at no chunk, which lies behind nothing.
            if next == NONE || next * CHUNK_CELLS != end || end >= end_max {
                break;
            }
            (end, next) = (end + CHUNK_CELLS, self.links[next as usize].next);
        }
        end
    }

    /// Lets a lane stand at a place of its window behind its last chunk, and takes the chunks up to there.
    pub(crate) fn take_window(&mut self, lane: &mut Lane, kind: Kind, cursor: u32) {
        let last = last_chunk(lane.place);
        let (start, count) = (self.free, (cursor - lane.place.end()).div_ceil(CHUNK_CELLS));
        debug_assert_eq!(start, last + 1, "a window goes on over the first free chunks");
        let behind = self.links[(last + count) as usize].next;
        let (mut chunk, mut home) = (start, self.links[last as usize].segment_bits(last));
        for link in &mut self.links[start as usize..(start + count) as usize] {
            (chunk, home) = (chunk + 1, home + 1);
            let used = CHUNK_CELLS as u16;
            *link = Link { next: chunk, kind, is_first: false, used, home: AtomicU64::new(home) };
        }
        self.links[last as usize].next = start;
        let end = last + count;
        self.links[end as usize].next = NONE;
        self.free = behind;
        self.free_count -= count;
        self.credit += u64::from(count) * STEPS_EARNED;
        lane.place = Place::new(cursor, (end + 1) * CHUNK_CELLS);
    }
}
