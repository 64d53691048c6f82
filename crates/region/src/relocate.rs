//! Moving a region to another heap as a whole.
//!
//! 1. The other heap gives a run of chunks for each lane, as long as the lane.
//! 2. Words are copied lane by lane, in the order of the lane's chunks, and references are adjusted on the way: the new place
//!    of a cell follows from the order of its chunk in its lane, which the chunk knows. Most references lead to the chunk that
//!    they stand in. For those it is an addition, which is made for several words at once, without asking which they are.
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
use crate::words::{All, word_of};

/// Where the cells of the lane with this first chunk and so many chunks go: to a run that begins at a cell.
#[derive(Clone, Copy)]
struct Move {
    first: u32,
    length: u32,
    to: u32,
}

/// Words that are copied together. So many are compared and added by instructions on several at once.
const BLOCK: usize = 32;
/// If so many more words of a block lead elsewhere, those that lead where the first of them does are moved at once.
const MANY: u32 = 4;
/// The bits that references to expressions in one chunk have in common, with or without the owner's mark.
const CHUNK: u32 = !(CHUNK_CELLS - 1) << TAG_BITS | tag::EXPRESSION;

/// References to expressions in one chunk: they are moved by an addition.
#[derive(Clone, Copy)]
struct Near {
    /// What they have in common.
    bits: u32,
    delta: u32,
}

/// Where the cells of a region go.
struct Moves<'s> {
    words: &'s All,
    chunks: &'s Chunks,
    /// By tag.
    moves: [Move; 8],
    met_foreign: bool,
}

impl Heap {
    /// Copies all that a region holds, garbage included, to a region of another heap. The roots become references of the other
    /// heap. Everything is kept that [`Heap::copy_to`] keeps, and `foreign` is called in the same way, for garbage as well.
    ///
    /// `None` if a root, or something in the region, refers to another region or, in garbage, to what was given back: it has to
    /// be copied.
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
            target.chunks.admit(to, self.chunks.reached(from))?;
        }
        let (mut fresh, since) = (Region::EMPTY, target.mark(to));
        let result = self.relocate(roots, from, target, &mut fresh);
        let Ok(Some((cells, met_foreign))) = result else {
            target.drop_chunks(&mut fresh);
            return result.map(|_| None);
        };
        target.chunks.hand_out(cells + target.chunks.ahead(&fresh));
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
        for (kind, lane) in Kind::ALL.into_iter().zip(from.lanes()) {
            let chunks = self.chunks.length_to(&lane, lane.place.within_chunk());
            if chunks > 0 {
                target.chunks.extend(&mut target.words, fresh.lane_mut(kind), kind, chunks * CHUNK_CELLS)?;
            }
        }
        target.check_numbers(&fresh.numbers)?;
        let mut moves = Moves::new(&self.words, &self.chunks, from, fresh);
        let cells = Kind::ALL
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
        for kind in Kind::ALL {
            let lane = region.lane_mut(kind);
            if !lane.is_empty() {
                self.chunks.release(lane, Place::START);
            }
        }
    }
}

impl<'s> Moves<'s> {
    fn new(words: &'s All, chunks: &'s Chunks, from: &Region, to: &Region) -> Moves<'s> {
        let [expressions, variables, numbers] =
            [(from.expressions, to.expressions), (from.variables, to.variables), (from.numbers, to.numbers)].map(
                |(lane, to)| Move {
                    first: lane.first,
                    length: chunks.length_to(&lane, lane.place.within_chunk()),
                    to: to.first.wrapping_mul(CHUNK_CELLS),
                },
            );
        let mut moves = [expressions; 8];
        (moves[tag::VARIABLE as usize], moves[tag::NUMBER as usize]) = (variables, numbers);
        Moves { words, chunks, moves, met_foreign: false }
    }

    /// The reference in the other heap; `None` if it leads out of the region.
    #[inline]
    fn reference(&mut self, reference: Ref) -> Option<Ref> {
        if reference.is_immediate() {
            self.met_foreign |= reference.tag() == tag::IMMEDIATE_3;
            return Some(reference);
        }
        let at = self.moves[reference.tag() as usize];
        Some(reference.at_cell(self.chunk(at, reference.cell())? + reference.cell() % CHUNK_CELLS))
    }

    /// The same for an expression.
    #[inline(always)]
    fn expression(&self, expression: Ref, at: Move) -> Option<Ref> {
        let begins = self.chunk(at, expression.payload())? << TAG_BITS;
        Some(Ref::from_bits(begins | expression.bits() & !(CHUNK & !tag::EXPRESSION)))
    }

    /// The first cell of the chunk where a cell goes. A chunk that was given back may still name its place in the lane, which may
    /// be behind the end: garbage refers to such.
    #[inline(always)]
    fn chunk(&self, Move { first, length, to }: Move, cell: u32) -> Option<u32> {
        let order = self.chunks.order_of(first, cell)?;
        (order < length).then(|| to + order * CHUNK_CELLS)
    }

    /// Copies the words of a lane. Gives the number of cells, or nothing if one of them leads out of the region.
    fn lane(&mut self, kind: Kind, lane: &Lane, target: &mut Heap, fresh: &mut Lane) -> Option<u64> {
        let source = self.chunks;
        let (mut cells, mut chunk) = (0, fresh.first);
        for (start, end) in source.extents(lane, Place::START) {
            let from = &self.words[word_of(start)..word_of(start) + (end - start) as usize * 2];
            let at = chunk as usize * CHUNK_CELLS as usize * 2;
            let to = &mut target.words[at..at + from.len()];
            match kind {
                Kind::Expressions => self.expressions(from, to, Near::within(start, chunk * CHUNK_CELLS))?,
                Kind::Variables => self.variables(from, to)?,
                Kind::Numbers => to.copy_from_slice(from),
            }
            cells += u64::from(end - start);
            target.chunks.walk_to(chunk, chunk * CHUNK_CELLS + end - start);
            chunk += 1;
        }
        if !lane.is_empty() {
            // It stands in its last chunk where the old one does.
            let end = fresh.place.end();
            fresh.place = Place::new(end - lane.place.within_chunk().room(), end);
            target.chunks.walk_to(end / CHUNK_CELLS - 1, end);
        }
        Some(cells)
    }

    /// All words are references, headers of expressions, or zero; a header is an immediate and stays as it is.
    fn expressions(&mut self, from: &[Ref], to: &mut [Ref], mut near: Near) -> Option<()> {
        let ((from, last_from), (to, last_to)) = (from.as_chunks::<BLOCK>(), to.as_chunks_mut::<BLOCK>());
        for (from, to) in from.iter().zip(to) {
            let others = near.block(from, to);
            if others != 0 {
                near = self.others(others, from, to, near)?;
            }
        }
        for (from, to) in last_from.iter().zip(last_to) {
            *to = self.reference(*from)?;
        }
        Some(())
    }

    /// Moves those words of a block, one a bit, that are foreign or refer to what is not near. Gives what is near from then on:
    /// where the last of many led to.
    #[inline(always)]
    fn others(&mut self, mut others: u32, from: &[Ref; BLOCK], to: &mut [Ref; BLOCK], mut near: Near) -> Option<Near> {
        let expressions = self.moves[tag::EXPRESSION as usize];
        while others != 0 {
            let at = others.trailing_zeros() as usize;
            let reference = from[at];
            others &= others - 1;
            if !reference.is_expression() {
                to[at] = self.reference(reference)?;
                continue;
            }
            to[at] = self.expression(reference, expressions)?;
            if are_many(others) {
                // Most of them lead to one chunk, and the rest of the block leads there as well.
                near = Near::of(reference, to[at]);
                others &= !near.rest(from, to);
            }
        }
        Some(near)
    }

    /// A binding and a label each.
    fn variables(&mut self, from: &[Ref], to: &mut [Ref]) -> Option<()> {
        for (from, to) in from.as_chunks::<2>().0.iter().zip(to.as_chunks_mut::<2>().0) {
            *to = [self.reference(from[0])?, from[1]];
        }
        Some(())
    }
}

/// Whether at least [`MANY`] bits are set: processors that every build is for have no instruction that counts them.
#[inline(always)]
fn are_many(mut bits: u32) -> bool {
    for _ in 1..MANY {
        bits &= bits.wrapping_sub(1);
    }
    bits != 0
}

impl Near {
    /// Expressions in the chunk that begins with a cell, which goes to this one.
    fn within(from: u32, to: u32) -> Near {
        Near { bits: from << TAG_BITS | tag::EXPRESSION, delta: to.wrapping_sub(from) << TAG_BITS }
    }

    /// Expressions in the chunk where this one is.
    fn of(reference: Ref, moved: Ref) -> Near {
        Near { bits: reference.bits() & CHUNK, delta: moved.bits().wrapping_sub(reference.bits()) }
    }

    /// Copies a block of words and moves those that are near. Gives a bit for each other one that is no plain immediate.
    ///
    /// Nothing in it depends on a word but by masks: such a loop is compiled to instructions on several words.
    #[inline(always)]
    fn block(self, from: &[Ref; BLOCK], to: &mut [Ref; BLOCK]) -> u32 {
        let mut others = 0;
        for at in 0..BLOCK {
            let bits = from[at].bits();
            let is_near = if bits & CHUNK == self.bits { u32::MAX } else { 0 };
            let is_plain =
                if (bits & tag::MARKED).cast_signed() < tag::IMMEDIATE_3.cast_signed() { u32::MAX } else { 0 };
            to[at] = Ref::from_bits(bits.wrapping_add(is_near & self.delta));
            others |= !(is_near | is_plain) & 1 << at;
        }
        others
    }

    /// Moves those words of a block that are near, and leaves the others as they were moved before. Gives a bit for each.
    ///
    /// By itself, so that the loop that needs it now and then keeps its registers.
    #[inline(never)]
    fn rest(self, from: &[Ref; BLOCK], to: &mut [Ref; BLOCK]) -> u32 {
        let mut moved = 0;
        for at in 0..BLOCK {
            let bits = from[at].bits();
            let is_near = if bits & CHUNK == self.bits { u32::MAX } else { 0 };
            to[at] = Ref::from_bits(is_near & bits.wrapping_add(self.delta) | !is_near & to[at].bits());
            moved |= is_near & 1 << at;
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bits_are_many() {
        for bits in [0, 1, 3, 7, 0x8000_0011, 15, 0xf000_0000, 0x8001_0101, u32::MAX, u32::MAX << 29] {
            assert_eq!(are_many(bits), bits.count_ones() >= MANY, "{bits:x}");
        }
    }

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
