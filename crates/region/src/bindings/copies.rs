//! Copies by one call: of what roots lead to, to another region of the heap or to another heap.
//!
//! How a copy goes is said in [`crate::copy`], and where it remembers what went where in [`crate::origin`].

use std::cell::Cell;

use crate::cells::copy_cells_from;
use crate::chunks::LaneRange;
use crate::copy::{CopySource, SourceCells, Stop};
use crate::forwarding::ForwardingTable;
use crate::heap::Heap;
use crate::layout::CHUNK_CELLS;
use crate::limit::Full;
use crate::origin::{ForwardingMap, Origin, WithMap, walk};
use crate::reference::{Ref, tag};
use crate::region::{Mark, Region};
use crate::transmigrate::{CopyAttempt, CopyJob, EscapePath, EscapeReport, prepare};
use crate::words::AllWords;

impl Heap {
    /// Copies what roots lead to in a region to another region of this heap; the first one stays as it is. What is kept and
    /// what is shared is as with [`Heap::transmigrate`], which this is a part of; [`Heap::copy`] has more to choose from.
    ///
    /// After an error the other region is as it was, and so are the roots.
    pub fn copy_within(&mut self, roots: &mut [Ref], from: &Region, to: &mut Region) -> Result<EscapeReport, Full> {
        let cells = u64::from(self.chunks.reached(from)) * u64::from(CHUNK_CELLS);
        match self.copy_some(roots, from, cells, to, u64::MAX)? {
            CopyAttempt::Copied(report) => Ok(report),
            CopyAttempt::Dropped => unreachable!("no copy has more cells than that"),
        }
    }

    /// Copies what roots lead to, over children and bindings, to a region of another heap, whichever regions of this heap it
    /// lies in: nothing can be shared. The roots become references of the other heap. Sharing, cycles, bindings, labels, notes
    /// and the marks of references are kept.
    ///
    /// `foreign` is called for each immediate of [`tag::IMMEDIATE_3`], once for each place where it stands, when all is
    /// copied, and gives what the other heap has in its place.
    ///
    /// `from` is the region that most of it lies in: out of a small region of a large heap it is copied with a map, since the
    /// table of that heap would cost more. This heap is not written. After an error the other region is as it was, and so are
    /// the roots.
    pub fn copy_to(
        &mut self,
        roots: &mut [Ref],
        from: &Region,
        target: &mut Heap,
        to: &mut Region,
        mut foreign: impl FnMut(Ref) -> Ref,
    ) -> Result<EscapeReport, Full> {
        let cells = u64::from(self.chunks.reached(from)) * u64::from(CHUNK_CELLS);
        let met_foreign = Cell::new(false);
        let mark = target.mark(to);
        let has_table = prepare(&self.chunks, &mut self.forwarding, cells);
        let source = CopySource::new(self, &Region::EMPTY, Mark::START);
        let job = CopyJob { roots: &mut *roots, most: u64::MAX, met_foreign: &met_foreign };
        let copied = target.forwarding.cells_copied;
        let attempt = if has_table {
            self.forwarding.begin();
            let there = OtherHeap { words: &self.words, forwarding: &mut self.forwarding };
            job.run(target, there, source, to, EscapePath::Copied)
        } else {
            let map = WithMap { elsewhere: Some(&self.words), map: ForwardingMap::default() };
            job.run(target, map, source, to, EscapePath::CopiedByMap)
        };
        if !has_table {
            self.forwarding.rented += target.forwarding.cells_copied - copied;
        }
        let CopyAttempt::Copied(report) = attempt? else { unreachable!("no copy has more cells than that") };
        if met_foreign.get() {
            target.replace_foreign(roots, to, mark, &mut foreign);
        }
        Ok(report)
    }

    /// Replaces the foreign immediates among roots and in what a region made since a mark.
    pub(crate) fn replace_foreign(
        &mut self,
        roots: &mut [Ref],
        region: &Region,
        since: Mark,
        foreign: &mut impl FnMut(Ref) -> Ref,
    ) {
        let mut replace = |word: &mut Ref| {
            if word.tag() == tag::IMMEDIATE_3 {
                *word = foreign(*word);
            }
        };
        roots.iter_mut().for_each(&mut replace);
        let extents: Vec<(u32, u32)> = self.chunks.extents(&region.expressions, since.expressions).collect();
        for (start, end) in extents {
            self.words[start as usize * 2..end as usize * 2].iter_mut().for_each(&mut replace);
        }
        let extents: Vec<(u32, u32)> = self.chunks.extents(&region.variables, since.variables).collect();
        for (start, end) in extents {
            self.words[start as usize * 2..end as usize * 2].iter_mut().step_by(2).for_each(&mut replace);
        }
        if self.has_maps() {
            self.reindex_maps(region, since);
        }
    }
}

/// The cells of another heap, all of which are to be copied.
impl SourceCells for &[[Ref; 2]] {
    #[inline(always)]
    fn cells<'a>(&'a self, _: &'a [[Ref; 2]]) -> &'a [[Ref; 2]] {
        self
    }

    #[inline(always)]
    fn holds(&self, _: u32) -> bool {
        true
    }
}

/// Another heap: what is copied, and its table.
#[derive(Debug)]
struct OtherHeap<'s> {
    words: &'s AllWords,
    forwarding: &'s mut ForwardingTable,
}

impl Origin for OtherHeap<'_> {
    #[inline(always)]
    fn words<'a>(&'a self, _: &'a Heap) -> &'a AllWords {
        self.words
    }

    #[inline(always)]
    fn holds(&self, _: &Heap, _: &LaneRange, _: u32) -> bool {
        true
    }

    #[inline(always)]
    fn is_elsewhere(&self) -> bool {
        true
    }

    #[inline(always)]
    fn copy_cells(&self, heap: &mut Heap, from: u32, to: u32, count: usize) {
        copy_cells_from(&mut heap.words, self.words, from, to, count);
    }

    #[inline(always)]
    fn get(&self, _: &Heap, cell: u32) -> Option<u32> {
        self.forwarding.get(cell)
    }

    #[inline(always)]
    fn set(&mut self, _: &mut Heap, cell: u32, to: u32) -> Result<(), Full> {
        self.forwarding.set(cell, to);
        Ok(())
    }

    fn forget(&mut self, _: &mut Heap) {
        self.forwarding.begin();
    }

    #[inline(always)]
    fn walk(&mut self, heap: &mut Heap, to: &mut Region, _: &LaneRange, at: &mut u32, end: u32) -> Stop {
        walk(self.words.as_chunks().0, &mut heap.words[..], self.forwarding, to, at, end)
    }
}
