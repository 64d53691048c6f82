//! How results leave a region before it closes: by the cheapest way that is sound.
//!
//! Within a heap, when the region closes ([`Heap::transmigrate`]):
//!
//! 1. It is copied, as long as the copy has at most one cell for every 16 that the region holds. So a small result is all
//!    that stays of a large region, and the attempt costs less than a third of what filling the region has cost at least.
//! 2. Otherwise the region is [joined](Heap::splice) to the other one, which costs nothing and keeps its garbage.
//!
//! The path that is taken needs at most twice the time of the better one. The reasons are in
//! `docs/decisions/0015-results-are-joined-or-copied.md`.

use std::cell::Cell;

use crate::chunks::Chunks;
use crate::copy::{Bound, CopySource, Copying};
use crate::forwarding::ForwardingTable;
use crate::heap::Heap;
use crate::layout::CHUNK_CELLS;
use crate::limit::{Full, Limit};
use crate::origin::{ForwardingMap, Origin, SameHeap, WithMap};
use crate::reference::Ref;
use crate::region::{Mark, Region};
use crate::splice::StillOpen;

/// Within a heap, a copy is made of at most one cell for this many of the region.
const SHARE_WITHIN: u64 = 16;
/// Regions of fewer chunks are joined as they are.
const CHUNKS_MIN: u32 = 4;
/// A table is made, or made longer, by at most this many cells for each cell of the region that is copied from; ...
const TABLE_SHARE: u64 = 4;
/// ... or by this many for each cell that maps have served so far, since that is what they have cost.
const TABLE_EARNED: u64 = 8;

/// A table that lacks more cells than this, and has not earned them, is not made longer before it was tried to copy few cells with a map: that takes
/// less time than clearing it.
const TABLE_LACKS_MAX: u64 = 1 << 18;
const FEW_CELLS: u64 = 1 << 10;

/// The way that something took to another region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EscapePath {
    /// The region was joined to the other one.
    Spliced,
    /// It was copied, with forwarding addresses in the table of the heap.
    Copied,
    /// It was copied, with forwarding addresses in a map: the heap is large, and its table was not.
    CopiedByMap,
}

/// What a transmigration has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EscapeReport {
    /// How it went.
    pub path: EscapePath,
    /// Cells of the other region that were written: none by [`EscapePath::Spliced`].
    pub cells: u64,
    /// Cells that were copied before that in vain, since more would have followed.
    pub cells_in_vain: u64,
}

/// The outcome of an attempt to copy.
pub(crate) enum CopyAttempt {
    Copied(EscapeReport),
    /// There was more to copy than was wanted, and nothing is left of the copy.
    Dropped,
}

/// What a copy is made of, and where it remembers what went where.
pub(crate) struct CopyJob<'r> {
    pub(crate) roots: &'r mut [Ref],
    /// The most cells that it may take.
    pub(crate) most: u64,
    /// Whether immediates of [`IMMEDIATE_3`](crate::tag::IMMEDIATE_3) were met.
    pub(crate) met_foreign: &'r Cell<bool>,
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
    /// use region::{EscapePath, Heap, Ref, tag};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut heap = Heap::new();
    /// let (mut results, mut evaluation) = (heap.open(), heap.open());
    /// let one = Ref::new(tag::IMMEDIATE_0, 1);
    /// for _ in 0..10_000 {
    ///     heap.expression(&mut evaluation, &[one, one])?;
    /// }
    /// let mut root = [heap.expression(&mut evaluation, &[one])?];
    /// let report = heap.transmigrate(&mut root, evaluation, &mut results)?;
    /// assert_eq!((report.path, report.cells), (EscapePath::Copied, 1));
    /// assert_eq!(heap.children(root[0]), [one]);
    /// # heap.close(results);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transmigrate(
        &mut self,
        roots: &mut [Ref],
        from: Region,
        to: &mut Region,
    ) -> Result<EscapeReport, StillOpen> {
        let cells = u64::from(self.chunks.reached(&from)) * u64::from(CHUNK_CELLS);
        let mut in_vain = 0;
        if cells >= u64::from(CHUNKS_MIN * CHUNK_CELLS) {
            let (failures, copied) = (self.chunks.failures, self.forwarding.cells_copied);
            if let Ok(CopyAttempt::Copied(report)) = self.copy_some(roots, &from, cells, to, cells / SHARE_WITHIN) {
                return Ok(self.left(from, report));
            }
            // If a limit was reached, the copy would have taken more.
            self.chunks.failures = failures;
            in_vain = self.forwarding.cells_copied - copied;
        }
        let failures = self.chunks.failures;
        let StillOpen { full, region } = match self.splice(from, to) {
            Ok(()) => {
                self.counts.escapes.spliced += 1;
                return Ok(EscapeReport { path: EscapePath::Spliced, cells: 0, cells_in_vain: in_vain });
            }
            Err(refused) => refused,
        };
        match self.copy_some(roots, &region, cells, to, u64::MAX) {
            Ok(CopyAttempt::Copied(report)) => {
                self.chunks.failures = failures;
                Ok(self.left(region, EscapeReport { cells_in_vain: in_vain, ..report }))
            }
            _ => {
                self.chunks.failures = failures + 1;
                Err(StillOpen { full, region })
            }
        }
    }

    /// Closes a region that was copied.
    fn left(&mut self, region: Region, report: EscapeReport) -> EscapeReport {
        self.close(region);
        report
    }

    /// Copies what roots lead to in a region of `cells` cells if the copy takes at most `most`.
    pub(crate) fn copy_some(
        &mut self,
        roots: &mut [Ref],
        from: &Region,
        cells: u64,
        to: &mut Region,
        most: u64,
    ) -> Result<CopyAttempt, Full> {
        let missing = missing_cells(&self.chunks, &self.forwarding);
        let is_costly = missing > TABLE_LACKS_MAX && missing > earned_cells(&self.forwarding);
        if is_costly && let CopyAttempt::Copied(report) = self.copy_by(false, roots, from, to, most.min(FEW_CELLS))? {
            return Ok(CopyAttempt::Copied(report));
        }
        let has_table = prepare(&self.chunks, &mut self.forwarding, cells);
        self.copy_by(has_table, roots, from, to, most)
    }

    /// Copies what roots lead to, with the table or with a map.
    fn copy_by(
        &mut self,
        has_table: bool,
        roots: &mut [Ref],
        from: &Region,
        to: &mut Region,
        most: u64,
    ) -> Result<CopyAttempt, Full> {
        let met_foreign = Cell::new(false);
        let source = CopySource::new(self, from, Mark::START);
        let job = CopyJob { roots, most, met_foreign: &met_foreign };
        let copied = self.forwarding.cells_copied;
        if has_table {
            self.forwarding.begin();
            return job.run(self, SameHeap, source, to, EscapePath::Copied);
        }
        let origin = WithMap { elsewhere: None, map: ForwardingMap::default() };
        let attempt = job.run(self, origin, source, to, EscapePath::CopiedByMap);
        self.forwarding.rented += self.forwarding.cells_copied - copied;
        attempt
    }
}

/// Makes sure of a table for a copy out of a region of `cells` cells, if it is worth its memory.
pub(crate) fn prepare(chunks: &Chunks, forwarding: &mut ForwardingTable, cells: u64) -> bool {
    let worth = cells.saturating_mul(TABLE_SHARE).max(earned_cells(forwarding));
    missing_cells(chunks, forwarding) <= worth && forwarding.grow(cells_of(chunks))
}

fn cells_of(chunks: &Chunks) -> usize {
    chunks.count() as usize * CHUNK_CELLS as usize
}

/// The cells that a table lacks.
fn missing_cells(chunks: &Chunks, forwarding: &ForwardingTable) -> u64 {
    cells_of(chunks).saturating_sub(forwarding.length()) as u64
}

/// How many cells of a table are worth what maps have cost.
fn earned_cells(forwarding: &ForwardingTable) -> u64 {
    forwarding.rented.saturating_mul(TABLE_EARNED)
}

impl CopyJob<'_> {
    /// Copies. After an error, or if there is too much, the other region is as it was.
    pub(crate) fn run<O: Origin>(
        self,
        heap: &mut Heap,
        origin: O,
        source: CopySource,
        to: &mut Region,
        path: EscapePath,
    ) -> Result<CopyAttempt, Full> {
        if self.most == u64::MAX {
            return self.copy(heap, origin, source, to, path);
        }
        let quota = to.expressions.quota;
        // What the copy makes before the scan has counted it, long expressions for instance, is bounded by this.
        let chunks = (self.most / u64::from(CHUNK_CELLS)).saturating_add(3 + u64::from(heap.chunks.of_region(to)));
        let within = quota.min(u32::try_from(chunks).unwrap_or(u32::MAX));
        to.expressions.quota = within;
        let result = self.copy(heap, origin, source, to, path);
        to.expressions.quota = quota;
        match result {
            Err(full) if within < quota && full.limit() == Limit::Region => {
                heap.chunks.failures -= 1;
                Ok(CopyAttempt::Dropped)
            }
            result => result,
        }
    }

    fn copy<O: Origin>(
        self,
        heap: &mut Heap,
        origin: O,
        source: CopySource,
        to: &mut Region,
        path: EscapePath,
    ) -> Result<CopyAttempt, Full> {
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
            return Ok(CopyAttempt::Dropped);
        }
        let cells = copying.cells();
        // Each is looked up now.
        for root in self.roots {
            *root = copying.root(*root)?;
        }
        let escapes = &mut heap.counts.escapes;
        match path {
            EscapePath::CopiedByMap => escapes.copied_by_map += 1,
            _ => escapes.copied += 1,
        }
        Ok(CopyAttempt::Copied(EscapeReport { path, cells, cells_in_vain: 0 }))
    }
}
