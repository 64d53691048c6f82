//! Where a copy reads, and how it remembers what went where.
//!
//! | origin | reads | remembers in |
//! |---|---|---|
//! | [`SameHeap`] | the heap where the copy is made | the table of that heap |
//! | `OtherHeap` | another heap | the table of the other heap |
//! | [`WithMap`] | either | a map |
//!
//! The table takes eight bytes for each cell of the heap and is as fast as memory; it is made once, and then only grows. The
//! map takes memory for what is copied, and several times as long. A copy is compiled for each of them, so that it pays for
//! none of the others.

use rustc_hash::FxHashMap;

use crate::cells::{copy_cells, copy_cells_from, move_few};
use crate::chunks::{LaneMembership, LaneRange};
use crate::copy::{SourceCells, Stop, Walk};
use crate::forwarding::{ForwardingEntry, ForwardingTable};
use crate::heap::Heap;
use crate::limit::Full;
use crate::reference::Ref;
use crate::region::{LanePosition, Region};
use crate::words::AllWords;

/// What a copy asks of where it reads. `heap` is where it writes.
pub trait Origin {
    /// All words of the heap that is read.
    fn words<'a>(&'a self, heap: &'a Heap) -> &'a AllWords;

    /// Whether a cell is to be copied, given the part of its lane that is. What lies in another heap cannot be shared.
    fn holds(&self, heap: &Heap, part: &LaneRange, cell: u32) -> bool;

    /// Whether another heap is read.
    fn is_elsewhere(&self) -> bool;

    /// Copies the content of cells.
    fn copy_cells(&self, heap: &mut Heap, from: u32, to: u32, count: usize);

    /// Where a cell went, if it was copied.
    fn get(&self, heap: &Heap, cell: u32) -> Option<u32>;

    /// Remembers where a cell went. Fails if there is not memory for it.
    fn set(&mut self, heap: &mut Heap, cell: u32, to: u32) -> Result<(), Full>;

    /// Forgets where everything went.
    fn forget(&mut self, heap: &mut Heap);

    /// Forwards an expression of `part` in one step, if it can: what is short, and fits where the lane of `to` stands.
    #[inline(always)]
    fn forward(&mut self, _heap: &mut Heap, _to: &mut Region, _part: &LaneRange, _from: u32) -> Forwarded {
        Forwarded::Not
    }

    /// Walks over short expressions at the end of the lane of `to`, from `at` up to `end`, and forwards what they refer to.
    #[inline(always)]
    fn walk(&mut self, _heap: &mut Heap, _to: &mut Region, _part: &LaneRange, _at: &mut u32, _end: u32) -> Stop {
        Stop::Long
    }
}

/// What became of an expression that was to be forwarded in one step.
#[derive(Clone, Copy, Debug)]
pub enum Forwarded {
    /// It is here now, or was before.
    To(u32),
    /// It is not to be copied.
    Shared,
    /// It takes more than a step.
    Not,
}

/// See the module.
#[derive(Debug)]
pub struct SameHeap;

impl Origin for SameHeap {
    #[inline(always)]
    fn words<'a>(&'a self, heap: &'a Heap) -> &'a AllWords {
        &heap.words
    }

    #[inline(always)]
    fn holds(&self, heap: &Heap, part: &LaneRange, cell: u32) -> bool {
        heap.chunks.contains(part, cell)
    }

    #[inline(always)]
    fn is_elsewhere(&self) -> bool {
        false
    }

    #[inline(always)]
    fn copy_cells(&self, heap: &mut Heap, from: u32, to: u32, count: usize) {
        copy_cells(&mut heap.words, from, to, count);
    }

    #[inline(always)]
    fn get(&self, heap: &Heap, cell: u32) -> Option<u32> {
        heap.forwarding.get(cell)
    }

    #[inline(always)]
    fn set(&mut self, heap: &mut Heap, cell: u32, to: u32) -> Result<(), Full> {
        heap.forwarding.set(cell, to);
        Ok(())
    }

    #[inline]
    fn forget(&mut self, heap: &mut Heap) {
        heap.forwarding.begin();
    }

    /// The path that most references take: each table is looked at once, and one or two cells are moved as a whole.
    #[inline(always)]
    fn forward(&mut self, heap: &mut Heap, to: &mut Region, part: &LaneRange, from: u32) -> Forwarded {
        let Heap { words, chunks, forwarding, .. } = heap;
        // A cell that the table does not cover was made after the copy began.
        let Some((entry, stamp)) = forwarding.entry(from) else { return Forwarded::Shared };
        if entry.stamp == stamp {
            return Forwarded::To(entry.to);
        }
        if !chunks.contains(part, from) {
            return Forwarded::Shared;
        }
        let Some(to) = move_few(words, &mut to.expressions, from) else { return Forwarded::Not };
        *entry = ForwardingEntry { to, stamp };
        Forwarded::To(to)
    }

    #[inline(always)]
    fn walk(&mut self, heap: &mut Heap, to: &mut Region, part: &LaneRange, at: &mut u32, end: u32) -> Stop {
        let Heap { words, chunks, forwarding, .. } = heap;
        walk(chunks.holder(part), &mut words[..], forwarding, to, at, end)
    }
}

/// The walk, and what it changes.
#[inline(always)]
pub(crate) fn walk(
    source: impl SourceCells,
    words: &mut [Ref],
    forwarding: &mut ForwardingTable,
    to: &mut Region,
    at: &mut u32,
    end: u32,
) -> Stop {
    let (entries, stamp) = forwarding.all();
    let cells = words.as_chunks_mut().0;
    let position = &mut to.expressions.position;
    let mut walk = Walk { source, cells, entries, stamp, cursor: position.cursor(), room: position.end(), at: *at };
    let stop = walk.go(end);
    (*position, *at) = (LanePosition::new(walk.cursor, walk.room), walk.at);
    stop
}

impl SourceCells for LaneMembership<'_> {
    #[inline(always)]
    fn cells<'a>(&'a self, target: &'a [[Ref; 2]]) -> &'a [[Ref; 2]] {
        target
    }

    #[inline(always)]
    fn holds(&self, cell: u32) -> bool {
        LaneMembership::holds(self, cell)
    }
}

/// Where cells went, by their number.
pub(crate) type ForwardingMap = FxHashMap<u32, u32>;

/// See the module.
#[derive(Debug)]
pub(crate) struct WithMap<'s> {
    /// The words of the other heap, if it is one.
    pub(crate) elsewhere: Option<&'s AllWords>,
    pub(crate) map: ForwardingMap,
}

impl Origin for WithMap<'_> {
    fn words<'a>(&'a self, heap: &'a Heap) -> &'a AllWords {
        self.elsewhere.unwrap_or(&heap.words)
    }

    fn holds(&self, heap: &Heap, part: &LaneRange, cell: u32) -> bool {
        self.elsewhere.is_some() || heap.chunks.contains(part, cell)
    }

    #[inline(always)]
    fn is_elsewhere(&self) -> bool {
        self.elsewhere.is_some()
    }

    fn copy_cells(&self, heap: &mut Heap, from: u32, to: u32, count: usize) {
        match self.elsewhere {
            Some(words) => copy_cells_from(&mut heap.words, words, from, to, count),
            None => copy_cells(&mut heap.words, from, to, count),
        }
    }

    fn get(&self, _: &Heap, cell: u32) -> Option<u32> {
        self.map.get(&cell).copied()
    }

    fn set(&mut self, heap: &mut Heap, cell: u32, to: u32) -> Result<(), Full> {
        if self.map.try_reserve(1).is_err() {
            return Err(heap.no_memory());
        }
        self.map.insert(cell, to);
        Ok(())
    }

    fn forget(&mut self, _: &mut Heap) {
        self.map.clear();
    }
}
