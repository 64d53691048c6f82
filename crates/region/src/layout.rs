//! How large cells and chunks are, and what the cells of a lane hold.

/// Cells of a chunk.
pub(crate) const CHUNK_CELLS: u32 = 64;
/// Bytes of a chunk; a cell has eight.
pub(crate) const CHUNK_BYTES: usize = CHUNK_CELLS as usize * 8;
/// Words of a chunk; a cell has two.
pub(crate) const CHUNK_WORDS: usize = CHUNK_CELLS as usize * 2;
/// The name of a lane without chunks.
pub(crate) const NO_LANE: u32 = u32::MAX - 1;

/// What the cells of a lane hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LaneKind {
    Expressions,
    Variables,
    Numbers,
}

impl LaneKind {
    pub(crate) const ALL: [LaneKind; 3] = [LaneKind::Expressions, LaneKind::Variables, LaneKind::Numbers];
}
