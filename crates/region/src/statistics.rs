//! Counts of a heap.

/// What a heap has done since it was made, and what it holds now. A cell has eight bytes, a chunk 64 cells.
///
/// All of it follows from what was asked of the heap, so the same program gives the same counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Cells given to expressions, variables and numbers, whether or not they were given back since. Cells are counted when
    /// their chunk is left and when a region is rewound or closed: at most 64 a lane of an open region are not in it yet.
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
    /// Bytes of cells that were got from the system, used or not: what the limit bounds.
    pub bytes_held: usize,
    /// Bytes of the tables beside the cells: the links of chunks, 16 bytes each, and the table that copies use, 8 bytes for
    /// each cell there was when the largest copy began.
    pub bytes_beside: usize,
    /// How often something was refused because a limit was reached.
    pub limit_failures: u64,
}
