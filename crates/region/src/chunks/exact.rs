//! Chunks that are laid out all at once, those of what is frozen.

use super::{Chunks, Home, Link, Run};
use crate::layout::{CHUNK_CELLS, LaneKind};
use crate::region::{Lane, LanePosition};

impl Chunks {
    /// No chunk yet, and links for `chunks` of them; nothing if there is not memory for them.
    pub(crate) fn exact(chunks: u32) -> Option<Chunks> {
        let mut made = Chunks::new();
        made.links.try_reserve_exact(chunks as usize).ok()?;
        Some(made)
    }

    /// A lane of `cells` cells, at least one, in the next chunks.
    pub(crate) fn lay_out(&mut self, kind: LaneKind, cells: u32) -> Lane {
        let run = Run { start: self.count(), count: cells.div_ceil(CHUNK_CELLS) };
        self.links.resize_with((run.start + run.count) as usize, Link::unused);
        self.adopt(&run, Home { lane: run.start, order: 0 }, kind);
        let start = run.start * CHUNK_CELLS;
        Lane {
            position: LanePosition::new(start + cells, start + run.count * CHUNK_CELLS),
            first: run.start,
            ..Lane::EMPTY
        }
    }
}
