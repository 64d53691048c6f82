//! The next chunks of a lane, where the free list has them: what a long lane pays for every few chunks, and a short one to begin.
//!
//! It does what [`Chunks::extend`] does, in the case that needs neither search nor call: the first chunks of the free list,
//! for at most a chunk of cells, by a lane that wastes nothing by it. A caller that gets nothing here asks there.
//!
//! A lane takes as many as precede its last chunk, at least one and up to [`AHEAD_MAX`], if that many of the free list lie one after
//! the other: it is likely to need them, and goes through them without asking again. In a heap with a limit it takes one, since what
//! lies ahead of one region would be refused to another.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{CHUNKS_MAX, Chunks, Link, NONE, last_chunk};
use crate::layout::{CHUNK_CELLS, LaneKind, NO_LANE};
use crate::region::LanePosition;

/// The most chunks that a lane takes at once before it needs them all: 8 KiB.
pub(super) const AHEAD_MAX: u32 = 16;

impl Chunks {
    /// The first chunk of a lane that has none, and where the lane stands in it that would stand here in the chunk 0.
    /// The start, if it cannot be had.
    #[inline(always)]
    pub(crate) fn begin(&mut self, kind: LaneKind, stands: LanePosition) -> (LanePosition, u32) {
        let chunk = self.free;
        if self.taken < self.bound
            && let Some(link) = self.links.get_mut(chunk as usize)
        {
            let home = AtomicU64::new(u64::from(chunk) << 32);
            let free =
                std::mem::replace(link, Link { next: NONE, kind, is_first: true, used: CHUNK_CELLS as u16, home });
            self.free = free.next;
            self.taken += 1;
            return (stands.ahead_by(chunk * CHUNK_CELLS), chunk);
        }
        (LanePosition::START, NO_LANE)
    }

    /// The place of a lane that has chunks after `cells` in its next ones, whose last one has not that many left, at most a
    /// chunk's. The start, if they cannot be had.
    #[inline(always)]
    pub(crate) fn go_on_in_free(&mut self, position: LanePosition, kind: LaneKind, cells: u32) -> LanePosition {
        let first = self.free;
        let start = first.wrapping_mul(CHUNK_CELLS);
        let at = if start == position.end() { position.cursor() } else { start };
        if self.taken >= self.bound || at == start && position.room() != 0 {
            return LanePosition::START;
        }
        let Some(last) = self.links.get_mut(last_chunk(position) as usize) else { return LanePosition::START };
        last.next = first;
        let home = last.segment_bits(last_chunk(position));
        let most = self.most_ahead(first, kind, home).min((self.bound - self.taken) as u32);
        let count = self.link_free(first, kind, home, most);
        LanePosition::new(at + cells, start + count * CHUNK_CELLS)
    }

    /// How many chunks a lane of a kind may take from this one on, whose last chunk lies here; no less than one is meant.
    #[inline(always)]
    fn most_ahead(&self, first: u32, kind: LaneKind, home: u64) -> u32 {
        if self.limit != CHUNKS_MAX {
            return 1;
        }
        let most = AHEAD_MAX.min(home as u32);
        if kind == LaneKind::Numbers { most.min(self.number_limit.saturating_sub(first)) } else { most }
    }

    /// Takes chunks that follow each other, from the first one of the free list on, and links them as the end of a lane whose
    /// last chunk lies here. Gives how many: at most `most`, and at least one.
    #[inline(always)]
    fn link_free(&mut self, first: u32, kind: LaneKind, mut home: u64, most: u32) -> u32 {
        let (mut chunk, mut count) = (first, 1);
        let behind = loop {
            home += 1;
            // More chunks are free than none, so there is one.
            let link = &mut self.links[chunk as usize];
            let used = CHUNK_CELLS as u16;
            let new = Link { next: chunk + 1, kind, is_first: false, used, home: AtomicU64::new(home) };
            let free = std::mem::replace(link, new);
            if count >= most || free.next != chunk + 1 {
                link.next = NONE;
                break free.next;
            }
            (chunk, count) = (chunk + 1, count + 1);
        };
        self.free = behind;
        self.taken += u64::from(count);
        count
    }
}

impl Link {
    /// [`Link::segment`] in one word: the order below.
    #[inline(always)]
    pub(super) fn segment_bits(&self, chunk: u32) -> u64 {
        if self.is_first { u64::from(chunk) << 32 } else { self.home.load(Ordering::Relaxed) }
    }
}
