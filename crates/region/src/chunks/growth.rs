//! New chunks, and what the system has given for them.

use super::{CHUNK_BYTES, Chunks, GROWTH_MIN, LARGE_CHUNKS, Link, NONE, Run, SMALL_CHUNKS, Wanted};
use crate::limit::{Full, Limit};
use crate::words::word_of;

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
        self.settle_peak();
        self.links.resize_with((start + count) as usize, Link::unused);
        self.level();
        self.reach(start + count);
        Ok(Run { start, count })
    }

    /// Notes that chunks up to this one will be written, and asks for large pages ahead if the heap is large.
    fn reach(&mut self, chunks: u32) {
        self.words.reach(chunks as usize * CHUNK_BYTES);
        if self.needs_large(chunks) {
            let end = self.large_end();
            self.words.enlarge_pages(self.large as usize * CHUNK_BYTES..end as usize * CHUNK_BYTES);
            self.large = end;
        }
    }

    /// Whether chunks up to this one lie where large pages are still to be asked for.
    fn needs_large(&self, chunks: u32) -> bool {
        chunks > self.large && self.large < self.large_end()
    }

    /// Where the last large page ends that is within the limit.
    fn large_end(&self) -> u32 {
        self.limit / LARGE_CHUNKS * LARGE_CHUNKS
    }

    /// Gives an empty free list a new chunk if that takes no more than a link, within the limit.
    pub(crate) fn supply(&mut self) -> bool {
        let chunk = self.count();
        let is_ready = self.links.len() < self.links.capacity() && !self.needs_large(chunk + 1);
        if self.free != NONE || chunk >= self.limit || !is_ready {
            return false;
        }
        self.settle_peak();
        self.links.push(Link::unused());
        (self.free, self.free_count) = (chunk, 1);
        self.level();
        self.reach(chunk + 1);
        true
    }

    /// Makes sure of links for so many chunks: twice what there were, within the limit. Where the system refuses that much,
    /// ever less is asked for, but no less than is needed.
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

    /// Copies the content of cells. A few are copied faster than a call is made.
    #[inline(always)]
    pub(crate) fn copy_cells(&mut self, from: u32, to: u32, count: usize) {
        let (from, to) = (word_of(from), word_of(to));
        match count {
            1 => self.words.copy_within(from..from + 2, to),
            2 => self.words.copy_within(from..from + 4, to),
            3 => self.words.copy_within(from..from + 6, to),
            _ => self.words.copy_within(from..from + count * 2, to),
        }
    }

    /// The same out of another heap.
    #[inline(always)]
    pub(crate) fn copy_cells_from(&mut self, source: &Chunks, from: u32, to: u32, count: usize) {
        let (from, to) = (word_of(from), word_of(to));
        match count {
            1 => self.words[to..to + 2].copy_from_slice(&source.words[from..from + 2]),
            2 => self.words[to..to + 4].copy_from_slice(&source.words[from..from + 4]),
            3 => self.words[to..to + 6].copy_from_slice(&source.words[from..from + 6]),
            _ => self.words[to..to + count * 2].copy_from_slice(&source.words[from..from + count * 2]),
        }
    }
}

impl<W> Chunks<W> {
    /// Bytes of the pages that the system has given for chunks, or of the chunks where it gives small ones.
    pub(crate) fn held(&self) -> usize {
        let chunks = match self.count() {
            count if count <= SMALL_CHUNKS => count,
            count => count.max(count.next_multiple_of(LARGE_CHUNKS).min(self.large)),
        };
        chunks as usize * CHUNK_BYTES
    }

    /// Bytes of the links.
    pub(crate) fn link_bytes(&self) -> usize {
        self.links.capacity() * size_of::<Link>()
    }
}
