//! Moving a region to another heap as a whole.
//!
//! 1. The other heap gives a run of chunks for each lane, as long as the lane.
//! 2. Words are copied lane by lane, in the order of the lane's chunks, and references are adjusted on the way: the new place
//!    of a cell follows from the order of its chunk in its lane, which the chunk knows. Most references lead to the chunk that
//!    they stand in. For those it is an addition, which is made for several words [at once](near), without asking which they
//!    are, by the widest instructions that [the processor](width) has.
//! 3. Words that lead elsewhere are looked up one by one; where they are many, those that lead to one chunk are moved at once.
//! 4. What was made so is joined to the region where it is to go.
//!
//! No reference is followed, so the cost is linear in what the region holds, garbage included, and does not depend on what
//! refers to what. A reference to another region, of which there may be one in garbage, ends the attempt.

mod near;
#[cfg(test)]
mod tests;
mod width;

use crate::chunks::{CHUNK_CELLS, CHUNK_WORDS, Chunks, Kind};
use crate::heap::Heap;
use crate::limit::{Full, Limit};
use crate::reference::{Ref, tag};
use crate::region::{Lane, Mark, Place, Region};
use crate::transmigrate::{Report, Way};
use crate::words::{All, word_of};

use near::{Half, Near, Words};
use width::Width;

/// Where the cells of the lane with this first chunk and so many chunks go: to a run that begins at a cell.
#[derive(Clone, Copy)]
struct Move {
    first: u32,
    length: u32,
    to: u32,
}

/// If no fewer words of half a chunk lead elsewhere, those that lead where the first of them does are moved at once.
const MANY: u32 = 5;

/// Where the cells of a region go.
struct Moves<'s> {
    words: &'s All,
    chunks: &'s Chunks,
    /// By tag.
    moves: [Move; 8],
    met_foreign: bool,
    width: Width,
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
        foreign: impl FnMut(Ref) -> Ref,
    ) -> Result<Option<Report>, Full> {
        self.relocate_by(Width::widest(), roots, from, target, to, foreign)
    }

    fn relocate_by(
        &self,
        width: Width,
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
        let result = self.relocate(width, roots, from, target, &mut fresh);
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
        width: Width,
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
        let mut moves = Moves::new(width, self, from, fresh);
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
    fn new(width: Width, source: &'s Heap, from: &Region, to: &Region) -> Moves<'s> {
        let Heap { words, chunks, .. } = source;
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
        Moves { words, chunks, moves, met_foreign: false, width }
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
        Some(expression.in_chunk(self.chunk(at, expression.payload())?))
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
        let cells = match kind {
            Kind::Expressions => self.chunk_by_chunk(lane, target, fresh, Moves::expressions),
            Kind::Variables => self.chunk_by_chunk(lane, target, fresh, Moves::variables),
            Kind::Numbers => self.chunk_by_chunk(lane, target, fresh, Moves::numbers),
        }?;
        if !lane.is_empty() {
            // It stands in its last chunk where the old one does.
            let end = fresh.place.end();
            fresh.place = Place::new(end - lane.place.within_chunk().room(), end);
            target.chunks.walk_to(end / CHUNK_CELLS - 1, end);
        }
        Some(cells)
    }

    /// Copies the chunks of a lane one by one. The function is given a chunk of each heap, what refers to the first one, and
    /// how many words of it are the lane's.
    #[inline(always)]
    fn chunk_by_chunk(
        &mut self,
        lane: &Lane,
        target: &mut Heap,
        fresh: &Lane,
        copy: impl Fn(&mut Self, &Words, &mut Words, Near, usize) -> Option<()>,
    ) -> Option<u64> {
        let (source, mut cells) = (self.chunks, 0);
        for ((start, end), chunk) in source.extents(lane, Place::START).zip(fresh.first..) {
            let begins = chunk * CHUNK_CELLS;
            let from = &self.words.as_chunks().0[word_of(start) / CHUNK_WORDS];
            let to = &mut target.words.as_chunks_mut().0[word_of(begins) / CHUNK_WORDS];
            copy(self, from, to, Near::within(start, begins), (end - start) as usize * 2)?;
            if end - start < CHUNK_CELLS {
                target.chunks.walk_to(chunk, begins + end - start);
            }
            cells += u64::from(end - start);
        }
        Some(cells)
    }

    /// All words are references, headers of expressions, or zero; a header is an immediate and stays as it is. The chunk is
    /// copied as a whole: what lies behind the words of the lane means as little there as here.
    #[inline(always)]
    fn expressions(&mut self, from: &Words, to: &mut Words, near: Near, words: usize) -> Option<()> {
        let mut others = self.width.copy(near, from, to);
        if words < CHUNK_WORDS {
            others &= (1 << words) - 1;
        }
        let (from, to) = (from.as_chunks().0, to.as_chunks_mut().0);
        self.others(others as u64, &from[0], &mut to[0])?;
        self.others((others >> u64::BITS) as u64, &from[1], &mut to[1])
    }

    /// Moves the words of half a chunk that have a bit here: those that are foreign or refer to what is not near.
    #[inline(always)]
    fn others(&mut self, others: u64, from: &Half, to: &mut Half) -> Option<()> {
        if are_many(others) { self.many(others, from, to) } else { self.one_by_one(others, from, to) }
    }

    #[inline(always)]
    fn one_by_one(&mut self, mut others: u64, from: &Half, to: &mut Half) -> Option<()> {
        let expressions = self.moves[tag::EXPRESSION as usize];
        while others != 0 {
            let at = others.trailing_zeros() as usize;
            to[at] = match from[at] {
                expression if expression.is_expression() => self.expression(expression, expressions)?,
                other => self.reference(other)?,
            };
            others &= others - 1;
        }
        Some(())
    }

    /// The same for many of them: those that lead where the first one does are moved at once, as long as these are many.
    ///
    /// By itself, so that the loop that needs it now and then keeps its registers.
    #[inline(never)]
    fn many(&mut self, mut others: u64, from: &Half, to: &mut Half) -> Option<()> {
        while are_many(others) {
            let first = from[others.trailing_zeros() as usize];
            if !first.is_expression() {
                break;
            }
            let moved = self.width.go_on(Near::of(first, self.reference(first)?), from, to) & others;
            others &= !moved;
            if !are_many(moved) {
                break;
            }
        }
        self.one_by_one(others, from, to)
    }

    /// A binding and a label each.
    fn variables(&mut self, from: &Words, to: &mut Words, _: Near, words: usize) -> Option<()> {
        for (from, to) in from[..words].as_chunks::<2>().0.iter().zip(to.as_chunks_mut::<2>().0) {
            *to = [self.reference(from[0])?, from[1]];
        }
        Some(())
    }

    fn numbers(&mut self, from: &Words, to: &mut Words, _: Near, words: usize) -> Option<()> {
        to[..words].copy_from_slice(&from[..words]);
        Some(())
    }
}

/// Whether at least [`MANY`] bits are set: processors that every build is for have no instruction that counts them.
#[inline(always)]
fn are_many(mut bits: u64) -> bool {
    for _ in 1..MANY {
        bits &= bits.wrapping_sub(1);
    }
    bits != 0
}
