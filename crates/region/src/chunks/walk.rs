//! Walks over lanes, chunk by chunk.

use super::{Chunks, Home, last_chunk};
use crate::layout::{CHUNK_CELLS, LaneKind};
use crate::region::{Lane, LanePosition};

impl Chunks {
    /// Where a walk over a lane goes on that has come to the end of a chunk or, inside of an expression, past it: the place, and
    /// the end of the next chunk. There is one, since such a walk ends at the cursor.
    pub(crate) fn go_on(&self, at: u32, end: u32) -> (u32, u32) {
        let next = self.links[((end - 1) / CHUNK_CELLS) as usize].next;
        debug_assert!(at == end || next * CHUNK_CELLS == end, "an expression lies on chunks in a row");
        self.entered(at, end, next)
    }

    fn entered(&self, at: u32, end: u32, chunk: u32) -> (u32, u32) {
        let start = chunk * CHUNK_CELLS;
        (if at == end { start } else { at }, self.walked_to(chunk))
    }

    /// Where the cells of a chunk end that a walk visits.
    pub(crate) fn walked_to(&self, chunk: u32) -> u32 {
        chunk * CHUNK_CELLS + u32::from(self.links[chunk as usize].used)
    }

    /// Where a walk over a segment goes on. Nowhere if the segment ends, or if what was walked over was left after its end.
    pub(crate) fn follow(&self, at: u32, end: u32) -> Option<(u32, u32)> {
        let chunk = (end - 1) / CHUNK_CELLS;
        let next = self.links[chunk as usize].next;
        let (here, link) = (self.segment(chunk), self.links.get(next as usize)?);
        let goes_on = !link.is_first && link.home() == Home { lane: here.lane, order: here.order + 1 };
        (goes_on && (at == end || next * CHUNK_CELLS == end)).then(|| self.entered(at, end, next))
    }

    /// The cells of a lane from a place of it on that a walk visits, chunk by chunk: the first one, and the end.
    pub(crate) fn extents(&self, lane: &Lane, since: LanePosition) -> impl Iterator<Item = (u32, u32)> {
        let (last, mut next) = (lane.position.within_chunk(), None);
        if since != last {
            next = Some(if since == LanePosition::START {
                (lane.first, lane.first * CHUNK_CELLS)
            } else {
                (last_chunk(since), since.cursor())
            });
        }
        std::iter::from_fn(move || {
            let (chunk, start) = next?;
            if chunk == last_chunk(last) {
                next = None;
                return Some((start, last.cursor()));
            }
            let behind = self.links[chunk as usize].next;
            next = Some((behind, behind * CHUNK_CELLS));
            Some((start, self.walked_to(chunk)))
        })
    }

    /// Whether a chunk is the first of a segment of a kind, or was before it was freed.
    pub(crate) fn starts(&self, chunk: u32, kind: LaneKind) -> bool {
        let link = &self.links[chunk as usize];
        link.is_first && link.kind == kind
    }
}
