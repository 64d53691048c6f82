//! Counts of a heap.

use ::statistics::Entries;

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

impl ::statistics::Statistics for Statistics {
    fn what(&self) -> &'static str {
        "heap"
    }

    fn entries(&self, to: &mut Entries) {
        to.count(
            "cells_handed_out",
            "Cells of eight bytes that were given out, whether or not they came back.",
            self.cells_handed_out,
        );
        to.count("cells_copied", "Those of them that copies have made.", self.cells_copied);
        to.count("cells_left", "Cells left unused at the ends of chunks.", self.cells_left);
        to.count("chunks", "Chunks of 64 cells, in regions or free.", self.chunks as u64);
        to.count("chunks_free", "Those of them that no region holds.", self.chunks_free as u64);
        to.bytes("bytes_live", "The chunks that regions hold.", self.bytes_live as u64);
        to.bytes("bytes_live_peak", "The most that regions ever held.", self.bytes_live_peak as u64);
        to.bytes("bytes_held", "All chunks, which the limit bounds.", self.bytes_held as u64);
        to.bytes("bytes_beside", "The tables beside the cells.", self.bytes_beside as u64);
        to.count("splices", "How often a region was joined to another one.", self.splices);
        to.group("escapes", "How often something left its region, by the way that it took.", |to| {
            to.count("spliced", "By joining the region.", self.escapes.spliced);
            to.count("copied", "By a copy that kept addresses in the table of the heap.", self.escapes.copied);
            to.count("copied_by_map", "By a copy that kept addresses in a hash map.", self.escapes.copied_by_map);
        });
        to.count("limit_failures", "How often something was refused because a limit was reached.", self.limit_failures);
    }
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

#[cfg(test)]
mod tests {
    use crate::{FrozenStatistics, Statistics};
    use ::statistics::Statistics as _;

    #[test]
    fn every_count_has_a_name_and_a_meaning() {
        for report in [Statistics::default().report(), FrozenStatistics::default().report()] {
            assert_eq!(report.defects(), Vec::<String>::new(), "{}", report.what);
        }
    }
}
