//! How what is to outlive its region leaves it: by the cheapest way that is sound.
//!
//! Within a heap, when the region closes ([`Heap::transmigrate`]):
//!
//! 1. It is copied, as long as the copy has at most one cell for every 16 that the region holds. So a small result is all
//!    that stays of a large region, and the attempt costs less than a third of what filling the region has cost at least.
//! 2. Otherwise the region is [joined](Heap::splice) to the other one, which costs nothing and keeps its garbage.
//!
//! To a region of another heap everything that the roots lead to is [copied](Heap::copy_to).
//!
//! The path that is taken needs at most twice the time of the better one. The figures are of decision 0012.

use std::cell::Cell;

use crate::chunks::{CHUNK_CELLS, Chunks};
use crate::copy::{Bound, Copying, Scratch, Source};
use crate::heap::Heap;
use crate::limit::{Full, Limit};
use crate::origin::{Here, Map, Mapped, Origin, There};
use crate::reference::{Ref, tag};
use crate::region::{Mark, Region};
use crate::splice::StillOpen;

/// Within a heap, a copy is made of at most one cell for so many of the region.
const SHARE_WITHIN: u64 = 16;
/// Regions of fewer chunks are joined as they are.
const CHUNKS_MIN: u32 = 4;
/// A table is made, or made longer, by at most so many cells for each cell of the region that is copied from; ...
const TABLE_SHARE: u64 = 4;
/// ... or by so many for each cell that maps have served so far, since that is what they have cost.
const TABLE_EARNED: u64 = 8;

/// The way that something took to another region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Way {
    /// The region was joined to the other one.
    Spliced,
    /// It was copied, with forwarding addresses in the table of the heap.
    Copied,
    /// It was copied, with forwarding addresses in a map: the heap is large, and its table was not.
    Mapped,
}

/// What a transmigration has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// How it went.
    pub way: Way,
    /// Cells of the other region that were written: none by [`Way::Spliced`].
    pub cells: u64,
    /// Cells that were copied before that in vain, since more would have followed.
    pub cells_in_vain: u64,
}

/// What an attempt to copy came to.
enum Attempt {
    Copied(Report),
    /// There was more to copy than was wanted, and nothing is left of the copy.
    Dropped,
}

/// What a copy is made of, and where it remembers what went where.
struct Job<'r> {
    roots: &'r mut [Ref],
    /// The most cells that it may come to.
    most: u64,
    /// Whether immediates of [`tag::IMMEDIATE_3`] were met.
    met_foreign: &'r Cell<bool>,
}

impl Heap {
    /// Closes a region and moves what roots lead to, over children and bindings, to another region of this heap: as a copy if
    /// that is little of what the region holds, and otherwise by [splicing](Heap::splice). The roots become references to where
    /// it is now. What lies in other regions is shared. Sharing, cycles, bindings, labels, notes and the marks of references
    /// are kept; immediates stay as they are.
    ///
    /// O(1), but for the attempt to copy: about a sixteenth of what the region holds, and nothing of regions below 2 KiB.
    ///
    /// [`StillOpen`] only if the other region has a [limit](Region::set_limit) and would hold more than that by either way; both
    /// regions are as they were.
    ///
    /// ```
    /// use region::{Heap, Ref, Way, tag};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut heap = Heap::new();
    /// let (mut results, mut evaluation) = (heap.open(), heap.open());
    /// let one = Ref::new(tag::IMMEDIATE_0, 1);
    /// for _ in 0..10_000 {
    ///     heap.expression(&mut evaluation, &[one, one])?;
    /// }
    /// let mut root = [heap.expression(&mut evaluation, &[one])?];
    /// let report = heap.transmigrate(&mut root, evaluation, &mut results)?;
    /// assert_eq!((report.way, report.cells), (Way::Copied, 1));
    /// assert_eq!(heap.children(root[0]), [one]);
    /// # heap.close(results);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transmigrate(&mut self, roots: &mut [Ref], from: Region, to: &mut Region) -> Result<Report, StillOpen> {
        let cells = u64::from(self.chunks.reached(&from)) * u64::from(CHUNK_CELLS);
        let mut in_vain = 0;
        if cells >= u64::from(CHUNKS_MIN * CHUNK_CELLS) {
            let (failures, copied) = (self.chunks.failures, self.scratch.cells_copied);
            if let Ok(Attempt::Copied(report)) = self.copy_some(roots, &from, cells, to, cells / SHARE_WITHIN) {
                return Ok(self.left(from, report));
            }
            // That a limit was reached means that it came to more.
            self.chunks.failures = failures;
            in_vain = self.scratch.cells_copied - copied;
        }
        let failures = self.chunks.failures;
        let StillOpen { full, region } = match self.splice(from, to) {
            Ok(()) => {
                self.counts.escapes.spliced += 1;
                return Ok(Report { way: Way::Spliced, cells: 0, cells_in_vain: in_vain });
            }
            Err(refused) => refused,
        };
        match self.copy_some(roots, &region, cells, to, u64::MAX) {
            Ok(Attempt::Copied(report)) => {
                self.chunks.failures = failures;
                Ok(self.left(region, Report { cells_in_vain: in_vain, ..report }))
            }
            _ => {
                self.chunks.failures = failures + 1;
                Err(StillOpen { full, region })
            }
        }
    }

    /// Closes a region that was copied.
    fn left(&mut self, region: Region, report: Report) -> Report {
        self.close(region);
        report
    }

    /// Copies what roots lead to in a region to another region of this heap; the first one stays as it is. What is kept and
    /// what is shared is as with [`Heap::transmigrate`], which this is a part of; [`Heap::copy`] has more to choose from.
    ///
    /// After an error the other region is as it was, and so are the roots.
    pub fn copy_within(&mut self, roots: &mut [Ref], from: &Region, to: &mut Region) -> Result<Report, Full> {
        let cells = u64::from(self.chunks.reached(from)) * u64::from(CHUNK_CELLS);
        match self.copy_some(roots, from, cells, to, u64::MAX)? {
            Attempt::Copied(report) => Ok(report),
            Attempt::Dropped => unreachable!("no copy has more cells than that"),
        }
    }

    /// Copies what roots lead to in a region of so many cells if it comes to at most so many.
    fn copy_some(
        &mut self,
        roots: &mut [Ref],
        from: &Region,
        cells: u64,
        to: &mut Region,
        most: u64,
    ) -> Result<Attempt, Full> {
        let met_foreign = Cell::new(false);
        let source = Source::new(self, from, Mark::START);
        let has_table = prepare(&self.chunks, &mut self.scratch, cells);
        let job = Job { roots, most, met_foreign: &met_foreign };
        let copied = self.scratch.cells_copied;
        let attempt = if has_table {
            self.scratch.begin();
            job.run(self, Here, source, to, Way::Copied)
        } else {
            job.run(self, Mapped { elsewhere: None, map: Map::default() }, source, to, Way::Mapped)
        };
        if !has_table {
            self.scratch.rented += self.scratch.cells_copied - copied;
        }
        attempt
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
    ) -> Result<Report, Full> {
        let cells = u64::from(self.chunks.reached(from)) * u64::from(CHUNK_CELLS);
        let met_foreign = Cell::new(false);
        let mark = target.mark(to);
        let has_table = prepare(&self.chunks, &mut self.scratch, cells);
        let source = Source::new(self, &Region::EMPTY, Mark::START);
        let job = Job { roots: &mut *roots, most: u64::MAX, met_foreign: &met_foreign };
        let copied = target.scratch.cells_copied;
        let attempt = if has_table {
            self.scratch.begin();
            let there = There { words: &self.words, scratch: &mut self.scratch };
            job.run(target, there, source, to, Way::Copied)
        } else {
            let map = Mapped { elsewhere: Some(&self.words), map: Map::default() };
            job.run(target, map, source, to, Way::Mapped)
        };
        if !has_table {
            self.scratch.rented += target.scratch.cells_copied - copied;
        }
        let Attempt::Copied(report) = attempt? else { unreachable!("no copy has more cells than that") };
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

/// Makes sure of a table for a copy out of a region of so many cells, if it is worth its memory.
fn prepare(chunks: &Chunks, scratch: &mut Scratch, cells: u64) -> bool {
    let wanted = chunks.count() as usize * CHUNK_CELLS as usize;
    let missing = wanted.saturating_sub(scratch.length()) as u64;
    let worth = cells.saturating_mul(TABLE_SHARE).max(scratch.rented.saturating_mul(TABLE_EARNED));
    missing <= worth && scratch.grow(wanted)
}

impl Job<'_> {
    /// Copies. After an error, or if there is too much, the other region is as it was.
    fn run<O: Origin>(
        self,
        heap: &mut Heap,
        origin: O,
        source: Source,
        to: &mut Region,
        way: Way,
    ) -> Result<Attempt, Full> {
        if self.most == u64::MAX {
            return self.copy(heap, origin, source, to, way);
        }
        let quota = to.expressions.quota;
        // What the copy makes before the scan has counted it, long expressions for instance, is bounded by this.
        let chunks = (self.most / u64::from(CHUNK_CELLS)).saturating_add(3 + u64::from(heap.chunks.of_region(to)));
        let within = quota.min(u32::try_from(chunks).unwrap_or(u32::MAX));
        to.expressions.quota = within;
        let result = self.copy(heap, origin, source, to, way);
        to.expressions.quota = quota;
        match result {
            Err(full) if within < quota && full.limit() == Limit::Region => {
                heap.chunks.failures -= 1;
                Ok(Attempt::Dropped)
            }
            result => result,
        }
    }

    fn copy<O: Origin>(
        self,
        heap: &mut Heap,
        origin: O,
        source: Source,
        to: &mut Region,
        way: Way,
    ) -> Result<Attempt, Full> {
        let met_foreign = self.met_foreign;
        let foreign = |reference| {
            met_foreign.set(true);
            reference
        };
        let mut copying = Copying::new(heap, origin, source, Bound::Kept, to, foreign);
        for root in &*self.roots {
            copying.root(*root)?;
        }
        let is_all = copying.scan_within(self.most)?;
        if !is_all {
            copying.undo();
            return Ok(Attempt::Dropped);
        }
        let cells = copying.cells();
        // Each is looked up now.
        for root in self.roots {
            *root = copying.root(*root)?;
        }
        let escapes = &mut heap.counts.escapes;
        match way {
            Way::Mapped => escapes.mapped += 1,
            _ => escapes.copied += 1,
        }
        Ok(Attempt::Copied(Report { way, cells, cells_in_vain: 0 }))
    }
}
