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
use crate::reference::{Ref, tag};
use crate::region::{Lane, Place, Region};
use crate::transmigrate::{Report, Way};

const KINDS: [Kind; 3] = [Kind::Expressions, Kind::Variables, Kind::Numbers];

/// Where the cells of a lane go.
#[derive(Clone, Copy)]
struct Move {
    lane: Lane,
    /// The first cell of the new chunks.
    to: u32,
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
        let cells = KINDS.into_iter().try_fold(0, |cells, kind| Some(cells + moves.lane(kind, target, fresh)?));
        let Some(cells) = cells else { return Ok(None) };
        if roots.iter().any(|root| moves.reference(*root).is_none()) {
            return Ok(None);
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
        let [expressions, variables, numbers] = from.lanes().map(|lane| chunks.in_a_row(&lane));
        let of = |lane: Lane, in_a_row: u32, to: &Lane, shift: u32| {
            let cells = in_a_row * CHUNK_CELLS;
            let (first, to) = (lane.first.wrapping_mul(CHUNK_CELLS), to.first.wrapping_mul(CHUNK_CELLS));
            // Where the bits of all references to the lane do not fit, none is taken for one.
            let length = if u64::from(cells) << shift > u64::from(u32::MAX) { 0 } else { cells << shift };
            Move { lane, to, low: first << shift, length, delta: to.wrapping_sub(first) << shift }
        };
        let expressions = of(from.expressions, expressions, &to.expressions, 3);
        let variables = of(from.variables, variables, &to.variables, 3);
        let numbers = of(from.numbers, numbers, &to.numbers, 4);
        let mut moves = [expressions; 8];
        (moves[tag::VARIABLE as usize], moves[tag::NUMBER as usize]) = (variables, numbers);
        Moves { chunks, moves, met_foreign: false }
    }

    /// The reference in the other heap; `None` if it leads out of the region.
    #[inline(always)]
    fn reference(&mut self, reference: Ref) -> Option<Ref> {
        let tag = reference.tag();
        if tag < tag::NUMBER {
            self.met_foreign |= tag == tag::IMMEDIATE_3;
            return Some(reference);
        }
        let bits = reference.bits();
        let to = &self.moves[(bits & tag::MARKED) as usize];
        if (bits.wrapping_sub(to.low)) < to.length {
            return Some(Ref::from_bits(bits.wrapping_add(to.delta)));
        }
        self.elsewhere(reference)
    }

    /// The same for what lies behind the first chunks in a row.
    fn elsewhere(&self, reference: Ref) -> Option<Ref> {
        let to = &self.moves[reference.tag() as usize];
        let order = self.chunks.order_of(&to.lane, reference.cell())?;
        Some(reference.at_cell(to.to + order * CHUNK_CELLS + reference.cell() % CHUNK_CELLS))
    }

    /// Copies the words of a lane. Gives the number of cells, or nothing if one of them leads out of the region.
    fn lane(&mut self, kind: Kind, target: &mut Heap, fresh: &mut Region) -> Option<u64> {
        let source = self.chunks;
        let lane = match kind {
            Kind::Expressions => self.moves[tag::EXPRESSION as usize].lane,
            Kind::Variables => self.moves[tag::VARIABLE as usize].lane,
            Kind::Numbers => self.moves[tag::NUMBER as usize].lane,
        };
        let (mut cells, mut chunk) = (0, fresh.lane_mut(kind).first);
        for (start, end) in source.extents(&lane, Place::START) {
            let from = &source.words[start as usize * 2..end as usize * 2];
            let at = chunk as usize * CHUNK_CELLS as usize * 2;
            let to = &mut target.chunks.words[at..at + from.len()];
            match kind {
                Kind::Expressions => self.expressions(from, to)?,
                Kind::Variables => self.variables(from, to)?,
                Kind::Numbers => to.copy_from_slice(from),
            }
            cells += u64::from(end - start);
            target.chunks.walk_to(chunk, chunk * CHUNK_CELLS + end - start);
            chunk += 1;
        }
        self.stand(&lane, fresh.lane_mut(kind), target);
        Some(cells)
    }

    /// The new lane stands in its last chunk where the old one does.
    fn stand(&self, lane: &Lane, fresh: &mut Lane, target: &mut Heap) {
        if lane.is_empty() {
            return;
        }
        let end = fresh.place.end();
        fresh.place = Place::new(end - lane.room(), end);
        target.chunks.walk_to(end / CHUNK_CELLS - 1, end);
    }

    /// All words are references, headers of expressions, or zero; a header is an immediate and stays as it is.
    fn expressions(&mut self, from: &[Ref], to: &mut [Ref]) -> Option<()> {
        for (to, from) in to.iter_mut().zip(from) {
            *to = self.reference(*from)?;
        }
        Some(())
    }

    /// A binding and a label each.
    fn variables(&mut self, from: &[Ref], to: &mut [Ref]) -> Option<()> {
        for (to, from) in to.chunks_exact_mut(2).zip(from.chunks_exact(2)) {
            (to[0], to[1]) = (self.reference(from[0])?, from[1]);
        }
        Some(())
    }
}
