//! The search for references that lead out of the regions they should stay in: for tests, and for hunting a defect.

use crate::heap::Heap;
use crate::layout::{CHUNK_CELLS, LaneKind};
use crate::reference::{Ref, tag};
use crate::region::{LanePosition, Region};

/// What a chunk is to the regions that are looked at: the kind of the lane that has it, and where the cells in use end.
#[derive(Clone, Copy)]
struct ChunkUse {
    kind: LaneKind,
    end: u32,
}

impl Heap {
    /// The first reference that roots lead to, over children and bindings, and that refers to nothing in these regions: to
    /// another region, to memory that was given back, or to words that are not an expression.
    ///
    /// Such a reference is sound only while what it refers to is kept. Linear in what is reachable and in the chunks of the
    /// regions; takes memory for a bit for each cell of the heap.
    pub fn dangling(&self, regions: &[&Region], roots: &[Ref]) -> Option<Ref> {
        let used = self.used_by(regions);
        let mut seen = vec![0_u64; self.chunks.count() as usize];
        // No two expressions have a word in common: more of them than there are words are none.
        let (mut open, mut words_left) = (roots.to_vec(), self.words().len());
        while let Some(reference) = open.pop() {
            if reference.is_immediate() {
                continue;
            }
            let there = used.get((reference.cell() / CHUNK_CELLS) as usize).copied().flatten();
            if there.is_none_or(|there| there.kind != kind_of(reference) || reference.cell() >= there.end) {
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
                _ => match self.expression_words(reference) {
                    Some([_, children @ ..]) if children.len() < words_left => {
                        words_left -= 1 + children.len();
                        open.extend_from_slice(children);
                    }
                    _ => return Some(reference),
                },
            }
        }
        None
    }

    /// What each chunk is to these regions.
    fn used_by(&self, regions: &[&Region]) -> Vec<Option<ChunkUse>> {
        let mut used = vec![None; self.chunks.count() as usize];
        for region in regions {
            for kind in LaneKind::ALL {
                for (start, end) in self.chunks.extents(region.lane(kind), LanePosition::START) {
                    used[(start / CHUNK_CELLS) as usize] = Some(ChunkUse { kind, end });
                }
            }
        }
        used
    }

    /// Whether something lies in the memory that a region uses. An immediate lies nowhere. O(1).
    ///
    /// Of memory that the region gave back by a rewind this may say so as well, if the region has taken as much elsewhere since:
    /// only [`Heap::dangling`] knows the chunks one by one.
    pub fn holds(&self, region: &Region, reference: Ref) -> bool {
        if reference.is_immediate() {
            return false;
        }
        let lane = region.lane(kind_of(reference));
        let used = self.chunks.since(lane, LanePosition::START);
        let left = self.chunks.since(lane, lane.position.within_chunk());
        let cell = reference.cell();
        cell / CHUNK_CELLS < self.chunks.count()
            && self.chunks.contains(&used, cell)
            && !self.chunks.contains(&left, cell)
    }
}

/// The kind of lane for what is not an immediate.
#[inline]
pub(super) fn kind_of(reference: Ref) -> LaneKind {
    match reference.tag() {
        tag::NUMBER => LaneKind::Numbers,
        tag::VARIABLE => LaneKind::Variables,
        _ => LaneKind::Expressions,
    }
}
