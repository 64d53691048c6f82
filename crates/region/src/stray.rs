//! The search for references that lead out of the regions they should stay in: for tests, and for hunting a defect.

use crate::chunks::CHUNK_CELLS;
use crate::heap::Heap;
use crate::reference::{Ref, tag};
use crate::region::{Place, Region};

impl Heap {
    /// The first reference that roots lead to, over children and bindings, and that refers to nothing in these regions: to
    /// another region, or to memory that was given back.
    ///
    /// Such a reference is sound only while what it refers to is kept. Linear in what is reachable; takes memory for a bit
    /// for each cell of the heap.
    pub fn stray(&self, regions: &[&Region], roots: &[Ref]) -> Option<Ref> {
        let mut seen = vec![0_u64; self.chunks.count() as usize];
        let mut open = roots.to_vec();
        while let Some(reference) = open.pop() {
            if reference.is_immediate() {
                continue;
            }
            if !regions.iter().any(|region| self.holds(region, reference)) {
                return Some(reference);
            }
            let (chunk, bit) = ((reference.cell() / CHUNK_CELLS) as usize, 1 << (reference.cell() % CHUNK_CELLS));
            if seen[chunk] & bit != 0 {
                continue;
            }
            seen[chunk] |= bit;
            match reference.tag() {
                tag::VARIABLE => open.extend(self.binding(reference)),
                tag::NUMBER => {}
                _ => open.extend_from_slice(self.children(reference)),
            }
        }
        None
    }

    /// Whether something lies in the memory that a region uses.
    pub(crate) fn holds(&self, region: &Region, reference: Ref) -> bool {
        let lane = region.lane(reference);
        let used = self.chunks.since(lane, Place::START);
        let left = self.chunks.since(lane, lane.place);
        let cell = reference.cell();
        cell / CHUNK_CELLS < self.chunks.count()
            && self.chunks.contains(&used, cell)
            && !self.chunks.contains(&left, cell)
    }
}
