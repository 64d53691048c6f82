//! Moving a region to another heap as a whole.
//!
//! 1. The other heap gives a run of chunks for each lane, as long as the lane.
//! 2. Words are copied lane by lane, in the order of the lane's chunks, and references are adjusted on the way: the new place
//!    of a cell follows from the order of its chunk in its lane, which the chunk knows. Where a lane begins with chunks that
//!    lie in a row, which is all of it in a heap of one region, that is an addition.
//! 3. What was made so is joined to the region where it is to go.
//!
//! No reference is followed, so the cost is linear in what the region holds, garbage included, and does not depend on what
//! refers to what. A reference to another region, of which there may be one in garbage, ends the attempt.

use crate::chunks::{CHUNK_CELLS, Chunks, Kind};
use crate::heap::Heap;
use crate::limit::{Full, Limit};
use crate::reference::{Ref, TAG_BITS, tag};
use crate::region::{Lane, Mark, Place, Region};
use crate::transmigrate::{Report, Way};

const KINDS: [Kind; 3] = [Kind::Expressions, Kind::Variables, Kind::Numbers];

/// Where the cells of a lane go: to a run that begins here.
#[derive(Clone, Copy)]
struct Move {
    lane: Lane,
    to: u32,
}

/// References to expressions whose chunks lie in a row here and there: the last ones met, or all of them.
#[derive(Clone, Copy)]
struct Near {
    /// References from this one on, so many bits further, ...
    low: u32,
    length: u32,
    /// ... are moved by adding this.
    delta: u32,
}

/// Where the cells of a region go.
struct Moves<'s> {
    chunks: &'s Chunks,
    /// By tag.
    moves: [Move; 8],
    near: Near,
    met_foreign: bool,
}

impl Heap {
    /// Copies all that a region holds, garbage included, to a region of another heap. The roots become references of the other
    /// heap. Everything is kept that [`Heap::copy_to`] keeps, and `foreign` is called in the same way, for garbage as well.
    ///
    /// `None` if a root, or something in the region, refers to another region: it has to be copied.
    ///
    /// Linear in what the region holds, by copying memory; no reference is followed. Needs a run of chunks in the other heap
    /// for each lane. This heap is not written. After an error, and without a report, everything is as it was.
    pub fn relocate_to(
        &self,
        roots: &mut [Ref],
        from: &Region,
        target: &mut Heap,
        to: &mut Region,
        mut foreign: impl FnMut(Ref) -> Ref,
    ) -> Result<Option<Report>, Full> {
        if to.expressions.quota != u32::MAX {
            target.admit(to, self.chunks_of(from))?;
        }
        let (mut fresh, since) = (Region::EMPTY, target.mark(to));
        let result = self.relocate(roots, from, target, &mut fresh);
        let Ok(Some((cells, met_foreign))) = result else {
            target.drop_chunks(&mut fresh);
            return result.map(|_| None);
        };
        target.handed_out += cells - fresh.lanes().iter().map(|lane| lane.place.pending()).sum::<u64>();
        target.join(fresh, to);
        if met_foreign {
            target.replace_foreign(roots, to, since, &mut foreign);
        }
        target.counts.relocations += 1;
        target.counts.cells_relocated += cells;
        target.counts.escapes.relocated += 1;
        Ok(Some(Report { way: Way::Relocated, cells, cells_in_vain: 0 }))
    }

    /// Gives the cells relocated, and whether there are foreign immediates among them.
    fn relocate(
        &self,
        roots: &mut [Ref],
        from: &Region,
        target: &mut Heap,
        fresh: &mut Region,
    ) -> Result<Option<(u64, bool)>, Full> {
        for (kind, lane) in KINDS.into_iter().zip(from.lanes()) {
            let chunks = self.chunks.length(&lane);
            if chunks > 0 {
                target.chunks.extend(fresh.lane_mut(kind), kind, chunks * CHUNK_CELLS)?;
            }
        }
        target.check_numbers(&fresh.numbers)?;
        let mut moves = Moves::new(&self.chunks, from, fresh);
        let cells = KINDS
            .into_iter()
            .zip(from.lanes())
            .try_fold(0, |cells, (kind, lane)| Some(cells + moves.lane(kind, &lane, target, fresh.lane_mut(kind))?));
        let Some(cells) = cells else { return Ok(None) };
        if roots.iter().any(|root| moves.reference(*root).is_none()) {
            return Ok(None);
        }
        if self.has_maps() {
            target.maps_made = true;
            target.reindex_maps(fresh, Mark::START);
        }
        for root in roots {
            *root = moves.reference(*root).unwrap_or(*root);
        }
        Ok(Some((cells, moves.met_foreign)))
    }

    fn check_numbers(&mut self, numbers: &Lane) -> Result<(), Full> {
        let limit = self.chunks.number_limit;
        if numbers.place.end() / CHUNK_CELLS > limit {
            return Err(self.chunks.refuse(Limit::NumberAddresses, limit));
        }
        Ok(())
    }

    /// Frees chunks of which nothing was counted yet.
    fn drop_chunks(&mut self, region: &mut Region) {
        for kind in KINDS {
            let lane = region.lane_mut(kind);
            if !lane.is_empty() {
                self.chunks.release(lane, Place::START);
            }
        }
    }
}

impl<'s> Moves<'s> {
    fn new(chunks: &'s Chunks, from: &Region, to: &Region) -> Moves<'s> {
        let [expressions, variables, numbers] =
            [(from.expressions, to.expressions), (from.variables, to.variables), (from.numbers, to.numbers)]
                .map(|(lane, to)| Move { lane, to: to.first.wrapping_mul(CHUNK_CELLS) });
        let mut moves = [expressions; 8];
        (moves[tag::VARIABLE as usize], moves[tag::NUMBER as usize]) = (variables, numbers);
        Moves { chunks, moves, near: Near::first(chunks, &expressions), met_foreign: false }
    }

    /// The reference in the other heap; `None` if it leads out of the region.
    fn reference(&mut self, reference: Ref) -> Option<Ref> {
        if reference.is_immediate() {
            self.met_foreign |= reference.tag() == tag::IMMEDIATE_3;
            return Some(reference);
        }
        let Move { lane, to } = self.moves[reference.tag() as usize];
        let order = self.chunks.order_of(&lane, reference.cell())?;
        Some(reference.at_cell(to + order * CHUNK_CELLS + reference.cell() % CHUNK_CELLS))
    }

    /// The same for an expression that is not near the last one.
    #[inline(never)]
    fn far(&mut self, reference: Ref, near: &mut Near) -> Option<Ref> {
        let moved = self.reference(reference)?;
        if reference.is_expression() {
            let first = reference.cell() / CHUNK_CELLS * CHUNK_CELLS;
            *near = Near {
                low: first << TAG_BITS,
                length: CHUNK_CELLS << TAG_BITS,
                delta: moved.bits().wrapping_sub(reference.bits()),
            };
        }
        Some(moved)
    }

    /// Copies the words of a lane. Gives the number of cells, or nothing if one of them leads out of the region.
    fn lane(&mut self, kind: Kind, lane: &Lane, target: &mut Heap, fresh: &mut Lane) -> Option<u64> {
        let source = self.chunks;
        let (mut cells, mut chunk) = (0, fresh.first);
        for (start, end) in source.extents(lane, Place::START) {
            let from = &source.words[start as usize * 2..end as usize * 2];
            let at = chunk as usize * CHUNK_CELLS as usize * 2;
            let to = &mut target.chunks.words[at..at + from.len()];
            to.copy_from_slice(from);
            match kind {
                Kind::Expressions => self.expressions(to)?,
                Kind::Variables => self.variables(to)?,
                Kind::Numbers => {}
            }
            cells += u64::from(end - start);
            target.chunks.walk_to(chunk, chunk * CHUNK_CELLS + end - start);
            chunk += 1;
        }
        if !lane.is_empty() {
            // It stands in its last chunk where the old one does.
            let end = fresh.place.end();
            fresh.place = Place::new(end - lane.room(), end);
            target.chunks.walk_to(end / CHUNK_CELLS - 1, end);
        }
        Some(cells)
    }

    /// All words are references, headers of expressions, or zero; a header is an immediate and stays as it is.
    ///
    /// Most cells hold no reference, and one look at a cell's two words finds that out.
    fn expressions(&mut self, words: &mut [Ref]) -> Option<()> {
        const FOLLOWED: u64 = (tag::NUMBER as u64) << 32 | tag::NUMBER as u64;
        self.met_foreign |= has_foreign(words);
        let mut near = self.near;
        for cell in words.as_chunks_mut::<2>().0 {
            if (u64::from(cell[1].bits()) << 32 | u64::from(cell[0].bits())) & FOLLOWED == 0 {
                continue;
            }
            for word in cell {
                let bits = word.bits();
                if bits & tag::EXPRESSION == tag::EXPRESSION && bits.wrapping_sub(near.low) < near.length {
                    *word = Ref::from_bits(bits.wrapping_add(near.delta));
                } else if bits & tag::NUMBER != 0 {
                    *word = self.far(*word, &mut near)?;
                }
            }
        }
        self.near = near;
        Some(())
    }

    /// A binding and a label each.
    fn variables(&mut self, words: &mut [Ref]) -> Option<()> {
        for binding in words.iter_mut().step_by(2) {
            *binding = self.reference(*binding)?;
        }
        Some(())
    }
}

/// Whether there is a foreign immediate among words. Written so that several words are looked at at once.
fn has_foreign(words: &[Ref]) -> bool {
    words.iter().fold(false, |met, word| met | (word.tag() == tag::IMMEDIATE_3))
}

impl Near {
    /// All of a lane, if its chunks lie in a row; otherwise the first of them.
    fn first(chunks: &Chunks, expressions: &Move) -> Near {
        let first = expressions.lane.first.wrapping_mul(CHUNK_CELLS);
        let length = chunks.length(&expressions.lane);
        let near = if chunks.in_a_row(&expressions.lane) == length { length } else { 1 };
        let cells = u64::from(near) * u64::from(CHUNK_CELLS);
        Near {
            low: first << TAG_BITS,
            // Where the bits of all references to the lane do not fit, none is near.
            length: u32::try_from(cells << TAG_BITS).unwrap_or(0),
            delta: expressions.to.wrapping_sub(first) << TAG_BITS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_cannot_be_addressed_stay_where_they_are() -> Result<(), Full> {
        let (mut heap, mut other) = (Heap::new(), Heap::new());
        let (mut region, mut far) = (heap.open(), other.open());
        for _ in 0..=3 * CHUNK_CELLS {
            heap.number(&mut region, 0, 7)?;
        }
        for (limit, is_there) in [(3, false), (4, true)] {
            other.chunks.number_limit = limit;
            let moved = heap.relocate_to(&mut [], &region, &mut other, &mut far, |met| met);
            assert_eq!(moved.map_err(|full| full.limit()).is_ok(), is_there);
            assert_eq!(other.chunks.live_count(), if is_there { 4 } else { 0 });
        }
        heap.close(region);
        other.close(far);
        Ok(())
    }
}
