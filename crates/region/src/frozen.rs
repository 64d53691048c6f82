//! Freezing: what roots lead to, copied out of a region into storage that nobody writes again, for all threads to read.
//!
//! 1. What the roots lead to is [copied](Heap::copy) into a region of its own, so that it lies together.
//! 2. The three lanes of that region are laid out one after the other in a heap of their own, and each reference is moved by
//!    as much as what it refers to. One that leads out of the region is refused: nobody could know how long it is good for.
//! 3. The heap goes to a slot that is never freed, whose word says who reads it: see the modules `tether::word` and
//!    `tether::storage`.
//!
//! Thawing is the second step once more, to the end of a region of another heap. There each lane lies together already, so
//! that a number for each lane moves all references.
//!
//! Cost: linear in what is frozen. The memory is exactly its chunks, three of them partly filled, and 16 bytes for each.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::ops::{Deref, Range};

use crate::chunks::Chunks;
use crate::copy::Bound;
use crate::heap::{FrozenHeap, Heap};
use crate::layout::{CHUNK_CELLS, CHUNK_WORDS, LaneKind};
use crate::limit::Full;
use crate::reference::{Ref, tag};
use crate::region::{Lane, LanePosition, Mark, Region};
use crate::tether::{FrozenContent, FrozenHandle, NoSlot, Tether, store_frozen};
use crate::words::Words;

/// Why nothing was frozen. The heap and its regions are as they were.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FreezeError {
    /// A limit was reached.
    Full(Full),
    /// Something refers to what lies in no region that is frozen: in another region, or in memory that was given back.
    Dangling(Ref),
    /// This many regions are frozen, and there can be no more.
    NoSlot(u32),
}

impl fmt::Display for FreezeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FreezeError::Full(full) => write!(f, "cannot freeze: {full}"),
            FreezeError::Dangling(reference) => {
                let (tag, payload) = (reference.tag(), reference.payload());
                write!(
                    f,
                    "cannot freeze: a reference of tag {tag} leads out of the region, to {payload}; copy that first"
                )
            }
            FreezeError::NoSlot(slots) => {
                write!(f, "cannot freeze: {slots} regions are frozen and there can be no more; close some")
            }
        }
    }
}

impl Error for FreezeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            FreezeError::Full(full) => Some(full),
            _ => None,
        }
    }
}

impl From<Full> for FreezeError {
    fn from(full: Full) -> FreezeError {
        FreezeError::Full(full)
    }
}

/// The owner of a frozen region. It reads it as a tether does; dropped, it closes the region and ends that tether.
///
/// The memory is given back when the last tether ends, or later, if a [`Reader`](crate::Reader) is reading.
///
/// What is frozen cannot be changed, nor can its chunks go anywhere else: that would take the heap for its own.
///
/// ```compile_fail,E0596
/// fn change(frozen: region::Frozen) {
///     frozen.open();
/// }
/// ```
#[must_use = "a frozen region is closed when its owner is dropped"]
#[derive(Debug)]
pub struct Frozen {
    tether: Option<Tether>,
}

impl Frozen {
    /// Lets no more tethers start, and gives the memory back now or when the last tether ends. The same as dropping it.
    pub fn close(self) {
        drop(self);
    }

    /// Gives the region up without closing it: a holder of its name may [close](FrozenHandle::close) it. Until then it takes memory.
    pub fn into_handle(mut self) -> FrozenHandle {
        let tether = self.tether.take().expect("it is there until the owner is gone");
        tether.handle()
    }
}

impl Deref for Frozen {
    type Target = Tether;

    #[inline]
    fn deref(&self) -> &Tether {
        self.tether.as_ref().expect("it is there until the owner is gone")
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        if let Some(tether) = self.tether.take() {
            // Somebody may have closed it by its name.
            let _ = tether.handle().close();
        }
    }
}

impl Heap {
    /// Copies what roots lead to out of a region into storage of its own, which never moves and which any thread may read. The
    /// region is not changed.
    ///
    /// `bound` and `foreign` are as for [`Heap::copy`]. The heap needs room for a second copy while this runs.
    pub fn freeze(
        &mut self,
        from: &Region,
        roots: &[Ref],
        bound: Bound,
        foreign: impl FnMut(Ref) -> Ref,
    ) -> Result<Frozen, FreezeError> {
        let mut gathered = self.open();
        let content = self.gather(from, roots, bound, &mut gathered, foreign);
        let content = content.and_then(|roots| self.lift(&gathered, roots));
        self.close(gathered);
        let tether = store_frozen(Box::new(content?)).map_err(|NoSlot { slots }| FreezeError::NoSlot(slots))?;
        Ok(Frozen { tether: Some(tether) })
    }

    /// Copies what roots lead to into an empty region. Gives the roots of the copy.
    fn gather(
        &mut self,
        from: &Region,
        roots: &[Ref],
        bound: Bound,
        to: &mut Region,
        foreign: impl FnMut(Ref) -> Ref,
    ) -> Result<Box<[Ref]>, FreezeError> {
        let mut copying = self.copy(from, Mark::START, bound, to, foreign)?;
        let roots = roots.iter().map(|root| copying.root(*root)).collect::<Result<Box<[Ref]>, Full>>()?;
        copying.scan()?;
        Ok(roots)
    }

    /// Copies all of a region into a heap of its own.
    fn lift(&mut self, from: &Region, mut roots: Box<[Ref]>) -> Result<FrozenContent, FreezeError> {
        if !self.forwarding.grow((self.chunks.count() * CHUNK_CELLS) as usize) {
            return Err(self.no_memory().into());
        }
        let cells = lanes(from).map(|lane| self.cells_of(lane));
        let chunks = cells.iter().map(|cells| cells.div_ceil(CHUNK_CELLS)).sum();
        let (Some(words), Some(made)) = (zeros(chunks as usize * CHUNK_WORDS), Chunks::exact(chunks)) else {
            return Err(self.no_memory().into());
        };
        let mut heap = Heap::of(words, made);
        let (region, parts) = heap.lay_out(cells);
        for (lane, part) in lanes(from).into_iter().zip(&parts) {
            heap.fill_part(part, self, lane);
        }
        self.forwarding.begin();
        for (lane, part) in lanes(from).into_iter().zip(&parts) {
            for (order, chunk) in (0..).zip(self.chunks.of_lane(lane)) {
                self.forwarding.set(chunk * CHUNK_CELLS, part.start + order * CHUNK_CELLS);
            }
        }
        let moved = |reference: Ref| -> Result<Ref, FreezeError> {
            if reference.is_immediate() {
                return Ok(reference);
            }
            let cell = reference.cell();
            let chunk =
                self.forwarding.get(cell / CHUNK_CELLS * CHUNK_CELLS).ok_or(FreezeError::Dangling(reference))?;
            Ok(reference.at_cell(chunk + cell % CHUNK_CELLS))
        };
        heap.each_reference(&parts, moved)?;
        for root in &mut roots {
            *root = moved(*root)?;
        }
        if self.has_maps() {
            // Keys are found by where they lie.
            heap.maps_made = true;
            heap.reindex_maps(&region, Mark::START);
        }
        Ok(FrozenContent { heap, region, roots })
    }

    /// Copies the cells of a region of another heap to the end of a region, each lane to where it lies together. Says where.
    fn append<W: Words>(&mut self, to: &mut Region, from: &Heap<W>, region: &Region) -> Result<LaneCells, Full> {
        let mut parts = [const { 0..0 }; 3];
        let start = self.mark(to);
        for (at, kind) in KINDS.into_iter().enumerate() {
            let lane = lanes(region)[at];
            match self.allot_part(to, kind, from.cells_of(lane)) {
                Ok(part) => parts[at] = part,
                Err(full) => {
                    self.rewind(to, start);
                    return Err(full);
                }
            }
            self.fill_part(&parts[at], from, lane);
        }
        Ok(parts)
    }

    fn allot_part(&mut self, to: &mut Region, kind: LaneKind, cells: u32) -> Result<Range<u32>, Full> {
        let at = match to.lane_mut(kind).bump(cells as usize) {
            Some(at) => at,
            None if kind == LaneKind::Numbers => self.chunks.extend_numbers(&mut self.words, to, cells as usize)?,
            None => self.chunks.allot(&mut self.words, to, kind, cells as usize)?,
        };
        Ok(at..at + cells)
    }
}

impl FrozenHeap {
    /// A region whose lanes have these numbers of cells, and where they are.
    fn lay_out(&mut self, cells: [u32; 3]) -> (Region, LaneCells) {
        let (mut region, mut parts) = (Region::EMPTY, [const { 0..0 }; 3]);
        for (at, kind) in KINDS.into_iter().enumerate().filter(|(at, _)| cells[*at] > 0) {
            let lane = region.lane_mut(kind);
            *lane = self.chunks.lay_out(kind, cells[at]);
            let start = lane.first * CHUNK_CELLS;
            parts[at] = start..start + cells[at];
            self.chunks.hand_out(u64::from(cells[at]) + u64::from(lane.room()));
        }
        (region, parts)
    }
}

impl<W: Words> Heap<W> {
    /// The cells of a lane, up to where it stands.
    fn cells_of(&self, lane: &Lane) -> u32 {
        (self.chunks.of_lane(lane).count() as u32 * CHUNK_CELLS).saturating_sub(lane.room())
    }

    /// Copies the cells of a lane of another heap to where they lie together. What no walk visits there is not copied.
    fn fill_part(&mut self, part: &Range<u32>, from: &Heap<impl Words>, lane: &Lane) {
        let start = words_of(part).start;
        for (order, (at, end)) in from.chunks.extents(lane, LanePosition::START).enumerate() {
            let (words, to) = (words_of(&(at..end)), start + order * CHUNK_WORDS);
            self.words[to..to + words.len()].copy_from_slice(&from.words[words]);
        }
    }

    /// Replaces the words of parts that are references or look like immediates: every other one of variables, all of expressions.
    fn each_reference<E>(&mut self, parts: &LaneCells, mut moved: impl FnMut(Ref) -> Result<Ref, E>) -> Result<(), E> {
        let [_, variables, expressions] = parts;
        for variable in self.words[words_of(variables)].chunks_exact_mut(2) {
            variable[0] = moved(variable[0])?;
        }
        for word in &mut self.words[words_of(expressions)] {
            *word = moved(*word)?;
        }
        Ok(())
    }
}

/// Makes `words` zeros, if there is memory for them.
fn zeros(words: usize) -> Option<Box<[Ref]>> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(words).ok()?;
    zeros.resize(words, Ref::from_bits(0));
    Some(zeros.into_boxed_slice())
}

/// Where the lanes of a region went, in the order of [`KINDS`].
type LaneCells = [Range<u32>; 3];

/// Numbers come first: what can refer to them reaches half as far.
const KINDS: [LaneKind; 3] = [LaneKind::Numbers, LaneKind::Variables, LaneKind::Expressions];

fn lanes(region: &Region) -> [&Lane; 3] {
    KINDS.map(|kind| region.lane(kind))
}

fn words_of(cells: &Range<u32>) -> Range<usize> {
    cells.start as usize * 2..cells.end as usize * 2
}

impl FrozenContent {
    /// Copies everything to the end of a region of another heap. Gives the roots of the copy.
    ///
    /// After an error the region is as it was.
    pub(crate) fn thaw(
        &self,
        heap: &mut Heap,
        region: &mut Region,
        mut foreign: impl FnMut(Ref) -> Ref,
    ) -> Result<Vec<Ref>, Full> {
        let start = heap.mark(region);
        let parts = heap.append(region, &self.heap, &self.region)?;
        // Each lane lies together here and there, so what begins it says how far all of it was moved.
        let [numbers, variables, expressions] = lanes(&self.region).map(|lane| lane.first.wrapping_mul(CHUNK_CELLS));
        let moved = [&parts[0], &parts[1], &parts[2]].map(|part| part.start);
        let [numbers, variables, expressions] =
            [moved[0].wrapping_sub(numbers), moved[1].wrapping_sub(variables), moved[2].wrapping_sub(expressions)];
        let mut moved = |reference: Ref| match reference.tag() {
            tag::NUMBER => reference.at_cell(reference.cell().wrapping_add(numbers)),
            tag::VARIABLE => reference.at_cell(reference.cell().wrapping_add(variables)),
            tag::EXPRESSION | tag::MARKED => reference.at_cell(reference.cell().wrapping_add(expressions)),
            tag::IMMEDIATE_3 => foreign(reference),
            _ => reference,
        };
        let Ok(()) = heap.each_reference(&parts, |word| Ok::<Ref, Infallible>(moved(word)));
        if self.heap.has_maps() {
            heap.maps_made = true;
            heap.reindex_maps(region, start);
        }
        Ok(self.roots.iter().map(|root| moved(*root)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;

    #[test]
    fn numbers_that_cannot_be_addressed_stay_frozen() -> Result<(), FreezeError> {
        let (mut heap, mut other) = (Heap::new(), Heap::new());
        let (mut region, mut far) = (heap.open(), other.open());
        let numbers =
            (0..=3 * CHUNK_CELLS).map(|_| heap.number(&mut region, 0, 7)).collect::<Result<Vec<Ref>, Full>>()?;
        let frozen = heap.freeze(&region, &numbers, Bound::Kept, |met| met)?;
        for (limit, is_there) in [(3, false), (4, true)] {
            other.chunks.number_limit = limit;
            let thawed = frozen.thaw(&mut other, &mut far, |met| met);
            let refused = thawed.map(drop).map_err(|full| full.limit());
            assert_eq!(refused, if is_there { Ok(()) } else { Err(Limit::NumberAddresses) });
            assert_eq!(other.chunks.live_count(), if is_there { 4 } else { 0 });
        }
        heap.close(region);
        other.close(far);
        Ok(())
    }
}
