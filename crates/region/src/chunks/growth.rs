//! New chunks: links for them, since their cells are reserved.

use super::{Chunks, GROWTH_MIN, Link, NONE, Run, Wanted};
use crate::layout::CHUNK_BYTES;
use crate::limit::{Full, Limit};
use crate::memory;

impl Chunks {
    /// New chunks at the end.
    pub(super) fn grow(&mut self, wanted: &Wanted) -> Result<Run, Full> {
        let start = self.count();
        let count = wanted.count(start);
        if self.limit.saturating_sub(start) < count {
            return self.last_resort(wanted);
        }
        if !self.make_room(start + count) {
            return Err(self.refuse(Limit::Memory, start));
        }
        self.links.resize_with((start + count) as usize, Link::unused);
        memory::count((count as usize * CHUNK_BYTES) as isize);
        Ok(Run { start, count })
    }

    /// Gives an empty free list a new chunk if that takes no more than a link. Whether there is one that the limit
    /// lets be taken.
    pub(crate) fn supply(&mut self) -> bool {
        if self.live_count() >= self.limit {
            return false;
        }
        if self.free == NONE {
            if self.links.len() == self.links.capacity() {
                return false;
            }
            self.free = self.count();
            self.links.push(Link::unused());
            memory::count(CHUNK_BYTES as isize);
        }
        true
    }

    /// Makes sure of links for `chunks` chunks: twice what there were, within the limit. Where the system refuses that much, ever less
    /// is asked for, but no less than is needed.
    fn make_room(&mut self, chunks: u32) -> bool {
        let room = self.links.capacity() as u32;
        if chunks <= room {
            return true;
        }
        let (needed, mut more) = (chunks - room, room.max(GROWTH_MIN).min(self.limit - room).max(chunks - room));
        while !self.reserve(room + more) {
            if more == needed {
                return false;
            }
            more = (more / 2).max(needed);
        }
        true
    }

    fn reserve(&mut self, chunks: u32) -> bool {
        self.links.try_reserve_exact(chunks as usize - self.links.len()).is_ok()
    }

    /// Bytes of the chunks.
    pub(crate) fn bytes(&self) -> usize {
        self.count() as usize * CHUNK_BYTES
    }

    /// Bytes of the links.
    pub(crate) fn link_bytes(&self) -> usize {
        self.links.capacity() * size_of::<Link>()
    }
}
