//! Chunks in exactly as many words as they have, all of them in use: those of what is frozen.

use super::{CHUNK_CELLS, CHUNK_WORDS, Chunks, Home, Kind, Link, Run};
use crate::reference::Ref;
use crate::region::{Lane, Place};

impl Chunks<Box<[Ref]>> {
    /// No chunk yet, and words and links for so many; nothing if there is no memory for them.
    pub(crate) fn exact(chunks: u32) -> Option<Self> {
        let (count, mut words) = (chunks as usize * CHUNK_WORDS, Vec::new());
        words.try_reserve_exact(count).ok()?;
        words.resize(count, Ref::from_bits(0));
        let mut chunks = Chunks::with(words.into_boxed_slice());
        chunks.links.try_reserve_exact(count / CHUNK_WORDS).ok()?;
        Some(chunks)
    }

    /// A lane of so many cells, at least one, in the next chunks.
    pub(crate) fn lay_out(&mut self, kind: Kind, cells: u32) -> Lane {
        let run = Run { start: self.count(), count: cells.div_ceil(CHUNK_CELLS) };
        self.links.resize_with((run.start + run.count) as usize, Link::unused);
        self.adopt(&run, Home { lane: run.start, order: 0 }, kind);
        let start = run.start * CHUNK_CELLS;
        Lane { place: Place::new(start + cells, start + run.count * CHUNK_CELLS), first: run.start, ..Lane::EMPTY }
    }
}
