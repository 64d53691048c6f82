//! Pages: bytes of a fixed length under a number, in versions that a snapshot keeps.
//!
//! A [`PageTable`] is a list of chunks of pages, and each page has its bytes. Chunks and bytes are shared with snapshots: taking
//! one copies the list of chunks, and whoever writes afterwards copies a chunk, and the bytes of a page, once.
//!
//! Cost: a page takes its bytes and some 60 bytes; a snapshot 8 bytes for each [`CHUNK_PAGES`] pages.

use crate::Epoch;
use std::fmt;
use std::sync::Arc;

/// The longest a page may be, in bytes.
pub const PAGE_BYTES_MAX: usize = 1 << 30;
/// How many pages are shared with a snapshot, or copied, together.
const CHUNK_PAGES: usize = 64;

/// Names a page of a state. A page that takes the place of a deleted one has another generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl PageId {
    /// The name that a state gave to a page, put together again from its two numbers: by a program that has kept them.
    pub fn new(slot: u32, generation: u32) -> Self {
        Self { slot, generation }
    }

    /// Its place among the pages of the state.
    pub fn slot(self) -> u32 {
        self.slot
    }

    /// How many pages had that place before it.
    pub fn generation(self) -> u32 {
        self.generation
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.generation == 0 {
            write!(f, "page {}", self.slot)
        } else {
            write!(f, "page {}.{}", self.slot, self.generation)
        }
    }
}

/// A page as it is in one version of a state.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// What it holds; none where there is no page, before the first one or after the last.
    pub(crate) bytes: Option<Arc<[u8]>>,
    /// Of the page that is there, or of the next one.
    pub(crate) generation: u32,
    /// The commit that made the page.
    pub(crate) created: Epoch,
    /// The last commit that changed what it holds, or deleted the page before.
    pub(crate) changed: Epoch,
}

/// All pages of a state.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageTable {
    chunks: Vec<Arc<Vec<Page>>>,
    slots: u32,
}

impl PageTable {
    /// How many places there are, with and without a page.
    pub(crate) fn slots(&self) -> u32 {
        self.slots
    }

    /// What is at a place.
    pub(crate) fn at(&self, slot: u32) -> Option<&Page> {
        self.chunks.get(slot as usize / CHUNK_PAGES)?.get(slot as usize % CHUNK_PAGES)
    }

    /// The page of this name, if it is there.
    pub(crate) fn get(&self, id: PageId) -> Option<&Page> {
        self.at(id.slot).filter(|page| page.generation == id.generation && page.bytes.is_some())
    }

    /// What a page holds, if it is there.
    pub(crate) fn bytes(&self, id: PageId) -> Option<&[u8]> {
        self.get(id)?.bytes.as_deref()
    }

    /// What is at a place that exists, to be changed. A snapshot that has it keeps what it has.
    pub(crate) fn at_mut(&mut self, slot: u32) -> &mut Page {
        &mut Arc::make_mut(&mut self.chunks[slot as usize / CHUNK_PAGES])[slot as usize % CHUNK_PAGES]
    }

    /// Adds a place, without a page.
    pub(crate) fn push(&mut self) -> u32 {
        let slot = self.slots;
        if slot as usize == self.chunks.len() * CHUNK_PAGES {
            self.chunks.push(Arc::default());
        }
        let chunk = self.chunks.last_mut().expect("a chunk with room was added");
        Arc::make_mut(chunk).push(Page { bytes: None, generation: 0, created: 0, changed: 0 });
        self.slots += 1;
        slot
    }

    /// Takes the last places away until there are `slots`.
    pub(crate) fn truncate(&mut self, slots: u32) {
        self.chunks.truncate((slots as usize).div_ceil(CHUNK_PAGES));
        if let (Some(last), count @ 1..) = (self.chunks.last_mut(), slots as usize % CHUNK_PAGES) {
            Arc::make_mut(last).truncate(count);
        }
        self.slots = slots;
    }

    /// The pages that are there, in the order of their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PageId, &Page)> {
        self.places().filter(|(_, page)| page.bytes.is_some())
    }

    /// What was at each place. What a snapshot has is copied.
    pub(crate) fn into_pages(self) -> impl Iterator<Item = (u32, Page)> {
        (0..).zip(self.chunks.into_iter().flat_map(Arc::unwrap_or_clone))
    }

    /// All places, in order, under the name of the page that is there or comes next.
    pub(crate) fn places(&self) -> impl Iterator<Item = (PageId, &Page)> {
        let pages = self.chunks.iter().flat_map(|chunk| chunk.iter());
        (0..).zip(pages).map(|(slot, page)| (PageId { slot, generation: page.generation }, page))
    }
}

/// A state as it was after a commit, for any thread to read. It keeps what the state has changed since.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) pages: PageTable,
    pub(crate) epoch: Epoch,
}

impl Snapshot {
    /// The number of the commit after which it was taken.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// What a page held; none if it was not there.
    pub fn read(&self, page: PageId) -> Option<&[u8]> {
        self.pages.bytes(page)
    }

    /// What a page held, to be kept as long as it is wanted, without a copy; none if it was not there.
    pub fn share(&self, page: PageId) -> Option<Arc<[u8]>> {
        self.pages.get(page)?.bytes.clone()
    }

    /// The last commit that had changed a page; none if it was not there.
    pub fn changed(&self, page: PageId) -> Option<Epoch> {
        Some(self.pages.get(page)?.changed)
    }

    /// The pages that were there, in the order of their places.
    pub fn pages(&self) -> impl Iterator<Item = PageId> {
        self.pages.iter().map(|(id, _)| id)
    }
}

/// Bytes of pages that nobody has any more, to be used again.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// By length; a state has few.
    free: Vec<(usize, Vec<Arc<[u8]>>)>,
    bytes: usize,
}

/// How many bytes a state keeps to use again.
const SPARE_BYTES_MAX: usize = 16 << 20;

impl Buffers {
    /// Bytes of this length. What they are is not said.
    pub(crate) fn take(&mut self, length: usize) -> Arc<[u8]> {
        if let Some(mut buffer) = self.take_spare(length)
            && Arc::get_mut(&mut buffer).is_some()
        {
            return buffer;
        }
        zeros(length)
    }

    /// Bytes of this length that are kept; maybe a snapshot has them.
    fn take_spare(&mut self, length: usize) -> Option<Arc<[u8]>> {
        let (_, free) = self.free.iter_mut().find(|(other, _)| *other == length)?;
        let buffer = free.pop()?;
        self.bytes -= length;
        Some(buffer)
    }

    /// Bytes of this length that a function fills: zeros.
    pub(crate) fn take_zeroed(&mut self, length: usize) -> Arc<[u8]> {
        if let Some(mut buffer) = self.take_spare(length)
            && let Some(bytes) = Arc::get_mut(&mut buffer)
        {
            bytes.fill(0);
            return buffer;
        }
        zeros(length)
    }

    /// A copy.
    pub(crate) fn copy(&mut self, bytes: &[u8]) -> Arc<[u8]> {
        let mut buffer = self.take(bytes.len());
        contents(&mut buffer).copy_from_slice(bytes);
        buffer
    }

    /// How many bytes are kept to be used again.
    pub(crate) fn spare_bytes(&self) -> usize {
        self.bytes
    }

    /// Takes bytes back that the state does not need. Those that a snapshot still has are noticed when they are wanted.
    pub(crate) fn give(&mut self, buffer: Arc<[u8]>) {
        let length = buffer.len();
        if self.bytes + length > SPARE_BYTES_MAX {
            return;
        }
        self.bytes += length;
        match self.free.iter_mut().find(|(other, _)| *other == length) {
            Some((_, free)) => free.push(buffer),
            None => self.free.push((length, vec![buffer])),
        }
    }
}

fn zeros(length: usize) -> Arc<[u8]> {
    std::iter::repeat_n(0, length).collect()
}

/// What a buffer holds, to be written: one that nobody else has, as [`Buffers::take`] gives it.
pub(crate) fn contents(buffer: &mut Arc<[u8]>) -> &mut [u8] {
    Arc::get_mut(buffer).expect("the buffer was taken and is not shared yet")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_keeps_what_is_changed_afterwards() {
        let mut table = PageTable::default();
        for value in 0..200_u8 {
            let slot = table.push();
            table.at_mut(slot).bytes = Some(Arc::from([value]));
        }
        let before = table.clone();
        table.at_mut(70).bytes = Some(Arc::from([255]));
        table.truncate(129);
        let id = |slot| PageId { slot, generation: 0 };
        assert_eq!((before.bytes(id(70)), table.bytes(id(70))), (Some(&[70][..]), Some(&[255][..])));
        assert_eq!((before.slots(), table.slots(), table.iter().count()), (200, 129, 129));
        assert_eq!((before.bytes(id(150)), table.bytes(id(150))), (Some(&[150][..]), None));
    }

    #[test]
    fn bytes_that_a_snapshot_has_are_not_used_again() {
        let mut buffers = Buffers::default();
        let kept = buffers.copy(b"kept");
        buffers.give(kept.clone());
        let mut other = buffers.take(4);
        contents(&mut other).copy_from_slice(b"new!");
        assert_eq!(&*kept, b"kept");
        drop(kept);
        buffers.give(other);
        assert_eq!(&*buffers.take_zeroed(4), &[0; 4]);
    }
}
