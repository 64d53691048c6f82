//! Counts of a heap.

/// What a heap has done since it was made, and what it holds now. A cell has eight bytes, a chunk 64 cells.
///
/// All of it follows from what was asked of the heap, so the same program gives the same counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Cells given to expressions, variables and numbers, whether or not they were given back since. Cells are counted when
    /// their chunk is taken: those that open regions have left of their chunks are in it already, see
    /// [`Heap::cells_ahead`](crate::Heap::cells_ahead).
    pub cells_handed_out: u64,
    /// Cells that copies have made, in `cells_handed_out` as well.
    pub cells_copied: u64,
    /// Chunks there are, in regions or free.
    pub chunks: usize,
    /// Chunks that no region holds.
    pub chunks_free: usize,
    /// Bytes of the chunks that regions hold, unused cells included.
    pub bytes_live: usize,
    /// The most that `bytes_live` ever was.
    pub bytes_live_peak: usize,
    /// Bytes of the chunks there are, in regions or free: what the limit bounds. The system has given the pages that they lie in.
    pub bytes_held: usize,
    /// Bytes of the tables beside the cells: the links of chunks, 16 bytes each, and the table that copies use, 8 bytes for
    /// each cell there was when the largest copy began, with room for an eighth more.
    pub bytes_beside: usize,
    /// Cells left unused at the ends of chunks since the heap was made: where an expression did not fit, and where a region
    /// was joined to another one. Chunks that were given back since are counted as well.
    pub cells_left: u64,
    /// How often a region was joined to another one.
    pub splices: u64,
    /// How often something left its region for another one of this heap, by the path that it took.
    pub escapes: Escapes,
    /// How often something was refused because a limit was reached.
    pub limit_failures: u64,
}

/// How often each [`EscapePath`](crate::EscapePath) was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Escapes {
    /// By joining the region.
    pub spliced: u64,
    /// By a copy that kept forwarding addresses in the table of the heap.
    pub copied: u64,
    /// By a copy that kept them in a hash map.
    pub copied_by_map: u64,
}

/// What a heap counts of what is joined or copied into it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) splices: u64,
    pub(crate) escapes: Escapes,
}
