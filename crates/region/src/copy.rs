//! Copies of what a region holds, with sharing and cycles kept.
//!
//! 1. [`Heap::copy`] begins one: it raises the stamp.
//! 2. A root is *forwarded*: what it refers to is copied as it is to the end of the other region, and the scratch table
//!    remembers, under the stamp, where it went. What was forwarded already is looked up there.
//! 3. [`Copying::scan`] walks once over what was copied and forwards what that refers to, which is copied behind it. When
//!    the walk reaches the end, so did the copy.
//!
//! This is Cheney's algorithm (C. J. Cheney, *A nonrecursive list compacting algorithm*, 1970), with one difference: it
//! leaves forwarding addresses in what it copies from, this in a table beside it. So the source is never written and stays
//! as it was if the copy fails. The table is not cleared either: an entry with an older stamp is no entry.
//!
//! Cost: linear in the cells copied and in their references; nothing depends on the size of the region or of the heap, but
//! that the table grows with the heap. No native recursion, and no list of what is still to be done.

mod objects;

use crate::chunks::{CHUNK_CELLS, Part};
use crate::heap::{Heap, cells_of};
use crate::limit::{Full, Limit};
use crate::reference::{Ref, tag};
use crate::region::{Lane, Mark, Place, Region};

/// What a copy makes of a variable that is bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// A variable, bound to the copy of its value: the binding may still be undone.
    Kept,
    /// Nothing: whatever refers to it refers to its value.
    Replaced,
}

/// Where cells went, by their number: the stamp of the copy above the new cell.
#[derive(Debug)]
pub(crate) struct Scratch {
    entries: Vec<u64>,
    stamp: u32,
    pub(crate) cells_copied: u64,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch { entries: Vec::new(), stamp: 0, cells_copied: 0 }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<u64>()
    }

    /// A stamp that no entry has.
    pub(crate) fn begin(&mut self) {
        if self.stamp == u32::MAX {
            self.entries.fill(0);
            self.stamp = 0;
        }
        self.stamp += 1;
    }

    /// Makes the table long enough for so many cells.
    pub(crate) fn grow(&mut self, cells: usize) -> bool {
        let missing = cells.saturating_sub(self.entries.len());
        if self.entries.try_reserve_exact(missing).is_err() {
            return false;
        }
        if missing > 0 {
            self.entries.resize(cells, 0);
        }
        true
    }

    #[inline]
    pub(crate) fn get(&self, cell: u32) -> Option<u32> {
        let entry = *self.entries.get(cell as usize)?;
        (entry >> 32 == u64::from(self.stamp)).then_some(entry as u32)
    }

    #[inline]
    pub(crate) fn set(&mut self, cell: u32, to: u32) {
        self.entries[cell as usize] = u64::from(self.stamp) << 32 | u64::from(to);
    }
}

/// A copy under way, see [`Heap::copy`].
#[derive(Debug)]
pub struct Copying<'h, F> {
    heap: &'h mut Heap,
    source: Source,
    bound: Bound,
    to: &'h mut Region,
    foreign: F,
    /// Where the other region stood when the copy began.
    start: Mark,
    /// [`Heap::given`] when the cells copied were counted last.
    counted: u64,
    expressions: Scan,
    variables: Scan,
    /// Behind the expressions whose maps have their indexes.
    indexed: Scan,
    met_map: bool,
}

/// What is copied.
#[derive(Clone, Copy, Debug)]
struct Source {
    expressions: Part,
    variables: Part,
    numbers: Part,
}

impl Heap {
    /// Begins to copy what a region made after a mark to another region. What is older, and what lies in other regions, is
    /// shared: the copy refers to it. Notes and labels are copied as they are, and so are the marks of references.
    ///
    /// `foreign` is called for each immediate of [`tag::IMMEDIATE_3`] that is met, once for each place where it stands, and
    /// gives what the copy has in its place.
    ///
    /// Everything goes to a fresh region, for instance, when garbage is collected:
    ///
    /// ```
    /// use region::{Bound, Heap, Mark, Ref, tag};
    /// # fn main() -> Result<(), region::Full> {
    /// let mut heap = Heap::new();
    /// let mut old = heap.open();
    /// let one = Ref::new(tag::IMMEDIATE_0, 1);
    /// let root = heap.expression(&mut old, &[one, one])?;
    /// let mut fresh = heap.open();
    /// let mut copying = heap.copy(&old, Mark::START, Bound::Kept, &mut fresh, |foreign| foreign)?;
    /// let root = copying.root(root)?;
    /// copying.scan()?;
    /// heap.close(old);
    /// assert_eq!(heap.children(root), [one, one]);
    /// # heap.close(fresh);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A result is copied with the mark that its region is about to be rewound to, and [`Bound::Replaced`]. Take care that
    /// what is older than the mark is shared *as it is*: a variable in an older expression is not replaced there, even if it
    /// was bound after the mark.
    pub fn copy<'h, F: FnMut(Ref) -> Ref>(
        &'h mut self,
        from: &Region,
        since: Mark,
        bound: Bound,
        to: &'h mut Region,
        foreign: F,
    ) -> Result<Copying<'h, F>, Full> {
        let cells = self.chunks.count() * CHUNK_CELLS;
        if !self.scratch.grow(cells as usize) {
            let chunks = self.chunks.count();
            return Err(self.chunks.refuse(Limit::Memory, chunks));
        }
        self.scratch.begin();
        let source = Source {
            expressions: self.chunks.since(&from.expressions, since.expressions),
            variables: self.chunks.since(&from.variables, since.variables),
            numbers: self.chunks.since(&from.numbers, since.numbers),
        };
        let start = self.mark(to);
        let (expressions, variables) = (Scan::from(start.expressions), Scan::from(start.variables));
        let counted = self.given(to);
        let (indexed, met_map) = (expressions, false);
        Ok(Copying { heap: self, source, bound, to, foreign, start, counted, expressions, variables, indexed, met_map })
    }
}

impl Heap {
    /// Gives each variable of a region the label that this makes of its own: for an owner whose labels mean something in a
    /// table that has shrunk.
    pub fn relabel(&mut self, region: &Region, mut relabelled: impl FnMut(u32) -> u32) {
        let mut scan = Scan::from(Place::START);
        while let Some(at) = scan.next(&region.variables, self) {
            scan.at += 1;
            let label = &mut self.chunks.words[at as usize * 2 + 1];
            *label = Ref::from_bits(relabelled(label.bits()));
        }
    }
}

impl<F: FnMut(Ref) -> Ref> Copying<'_, F> {
    /// Copies what a root refers to and gives the reference to the copy. Its children are right after the next
    /// [`Copying::scan`].
    ///
    /// After an error the other region is as it was when the copy began, and so is the source: there is no copy.
    #[inline]
    pub fn root(&mut self, root: Ref) -> Result<Ref, Full> {
        self.forward(root).map_err(|full| self.abandon(full))
    }

    /// Completes what was copied so far. There may be more roots afterwards, and another scan.
    ///
    /// After an error the other region is as it was when the copy began, and so is the source: there is no copy.
    pub fn scan(&mut self) -> Result<(), Full> {
        let result = self.scan_all();
        if self.met_map && result.is_ok() {
            self.index_maps();
        }
        self.count();
        result.map_err(|full| self.abandon(full))
    }

    /// Where the copy stands: what the roots so far lead to was made before this, once it is scanned.
    pub fn mark(&self) -> Mark {
        self.heap.mark(self.to)
    }

    /// Takes the binding of a variable of the source away, if it has one, until [`Copying::bind`] gives it back.
    pub fn unbind(&mut self, variable: Ref) -> Option<Ref> {
        let value = self.heap.binding(variable);
        self.heap.unbind(variable);
        value
    }

    /// Binds a variable of the source, and the copy that there may be of it.
    ///
    /// After an error the other region is as it was when the copy began: there is no copy.
    pub fn bind(&mut self, variable: Ref, value: Ref) -> Result<(), Full> {
        self.heap.bind(variable, value);
        if let Some(cell) = self.heap.scratch.get(variable.cell()) {
            let value = self.root(value)?;
            self.heap.write_binding(variable.at_cell(cell), value);
        }
        Ok(())
    }

    /// Where something went: to the copy if it was copied, nowhere if it is part of the source and no root leads to it. What
    /// is shared, or immediate, stays what it is. With [`Bound::Replaced`] a bound variable is where its value is.
    pub fn moved(&self, reference: Ref) -> Option<Ref> {
        let reference = self.resolve(reference);
        let Some(part) = self.source.part(reference) else { return Some(reference) };
        match self.heap.scratch.get(reference.cell()) {
            Some(cell) => Some(reference.at_cell(cell)),
            None if self.heap.chunks.contains(part, reference.cell()) => None,
            None => Some(reference),
        }
    }

    #[inline]
    fn resolve(&self, reference: Ref) -> Ref {
        if self.bound == Bound::Replaced { self.heap.walk(reference) } else { reference }
    }

    /// The reference that the copy has in place of this one.
    #[inline(always)]
    fn forward(&mut self, reference: Ref) -> Result<Ref, Full> {
        if reference.is_expression() { self.forward_expression(reference) } else { self.forward_other(reference) }
    }

    /// The path that most references take.
    #[inline(always)]
    fn forward_expression(&mut self, reference: Ref) -> Result<Ref, Full> {
        let from = reference.payload();
        if let Some(to) = self.heap.scratch.get(from) {
            return Ok(reference.at_cell(to));
        }
        if !self.heap.chunks.contains(&self.source.expressions, from) {
            return Ok(reference);
        }
        let length = self.heap.length_at(from);
        let to = self.heap.allot(self.to, length)?;
        self.heap.chunks.copy_cells(from, to, cells_of(length));
        self.heap.scratch.set(from, to);
        Ok(reference.at_cell(to))
    }

    #[inline(never)]
    fn forward_other(&mut self, reference: Ref) -> Result<Ref, Full> {
        match reference.tag() {
            tag::IMMEDIATE_3 => Ok((self.foreign)(reference)),
            tag::NUMBER => self.forward_number(reference),
            tag::VARIABLE => match self.resolve(reference) {
                variable if variable.is_variable() => self.forward_variable(variable),
                value => self.forward(value),
            },
            _ => Ok(reference),
        }
    }

    fn forward_number(&mut self, number: Ref) -> Result<Ref, Full> {
        let from = number.cell();
        if let Some(to) = self.heap.scratch.get(from) {
            return Ok(number.at_cell(to));
        }
        if !self.heap.chunks.contains(&self.source.numbers, from) {
            return Ok(number);
        }
        let copy = self.heap.number(self.to, number.payload() & 1, self.heap.number_bits(number))?;
        self.heap.scratch.set(from, copy.cell());
        Ok(copy)
    }

    /// A variable that stays one. If it is bound, its value is forwarded by the scan.
    fn forward_variable(&mut self, variable: Ref) -> Result<Ref, Full> {
        let from = variable.cell();
        if let Some(to) = self.heap.scratch.get(from) {
            return Ok(variable.at_cell(to));
        }
        if !self.heap.chunks.contains(&self.source.variables, from) {
            return Ok(variable);
        }
        let copy = self.heap.variable(self.to, self.heap.label(variable))?;
        if let Some(value) = self.heap.binding(variable) {
            self.heap.write_binding(copy, value);
        }
        self.heap.scratch.set(from, copy.cell());
        Ok(copy)
    }

    fn scan_all(&mut self) -> Result<(), Full> {
        loop {
            while let Some(at) = self.expressions.next(&self.to.expressions, self.heap) {
                self.scan_expression(at)?;
            }
            let Some(at) = self.variables.next(&self.to.variables, self.heap) else { return Ok(()) };
            self.variables.at += 1;
            self.scan_word(at as usize * 2)?;
        }
    }

    #[inline(always)]
    fn scan_expression(&mut self, at: u32) -> Result<(), Full> {
        if self.heap.chunks.words[at as usize * 2].tag() != tag::IMMEDIATE_0 {
            return self.scan_object(at);
        }
        let length = self.heap.length_at(at);
        self.expressions.at += cells_of(length) as u32;
        let first = at as usize * 2 + 1;
        for word in first..first + length {
            self.scan_word(word)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn scan_word(&mut self, word: usize) -> Result<(), Full> {
        let reference = self.heap.chunks.words[word];
        if reference.tag() >= tag::IMMEDIATE_3 {
            self.heap.chunks.words[word] = self.forward(reference)?;
        }
        Ok(())
    }

    /// Adds what was copied since the last time to the statistics.
    fn count(&mut self) {
        let given = self.heap.given(self.to);
        self.heap.scratch.cells_copied += given - self.counted;
        self.counted = given;
    }

    /// Undoes what was copied.
    #[cold]
    fn abandon(&mut self, full: Full) -> Full {
        self.count();
        self.heap.rewind(self.to, self.start);
        self.heap.scratch.begin();
        self.expressions = Scan::from(self.start.expressions);
        self.variables = Scan::from(self.start.variables);
        (self.indexed, self.met_map) = (self.expressions, false);
        full
    }
}

impl Source {
    /// The lane that a reference points to; none for an immediate.
    #[inline]
    fn part(&self, reference: Ref) -> Option<&Part> {
        match reference.tag() {
            tag::EXPRESSION | tag::MARKED => Some(&self.expressions),
            tag::VARIABLE => Some(&self.variables),
            tag::NUMBER => Some(&self.numbers),
            _ => None,
        }
    }
}

/// A walk over a lane that grows.
#[derive(Clone, Copy, Debug)]
struct Scan {
    at: u32,
    end: u32,
}

impl Scan {
    fn from(place: Place) -> Scan {
        Scan { at: place.cursor(), end: place.end() }
    }

    /// The next cell, unless the lane ends.
    #[inline]
    fn next(&mut self, lane: &Lane, heap: &Heap) -> Option<u32> {
        if self.at == lane.place.cursor() {
            return None;
        }
        if self.at >= self.end {
            self.follow(lane, heap);
        }
        Some(self.at)
    }

    #[cold]
    fn follow(&mut self, lane: &Lane, heap: &Heap) {
        if self.end == 0 {
            (self.at, self.end) = (lane.first * CHUNK_CELLS, (lane.first + 1) * CHUNK_CELLS);
        }
        while self.at >= self.end {
            (self.at, self.end) = heap.chunks.follow(self.at, self.end).expect("a lane goes on up to its cursor");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry of the copy 2^32 copies ago would be taken for one of this copy.
    #[test]
    fn stamps_wrap_without_a_trace() {
        let mut heap = Heap::new();
        let mut region = heap.open();
        let (mut to, zero) = (heap.open(), Ref::new(tag::IMMEDIATE_0, 0));
        let old = heap.expression(&mut region, &[zero]).expect("there is no limit");
        let copy = |heap: &mut Heap, to: &mut Region| {
            let mut copying = heap.copy(&region, Mark::START, Bound::Kept, to, |foreign| foreign).expect("no limit");
            let moved = copying.moved(old);
            (moved, copying.root(old).expect("no limit"))
        };
        let (moved, first) = copy(&mut heap, &mut to);
        assert_eq!((moved, heap.scratch.stamp), (None, 1));
        // The last stamp, for a copy that touches nothing.
        heap.scratch.stamp = u32::MAX - 1;
        heap.copy(&region, Mark::START, Bound::Kept, &mut to, |foreign| foreign).expect("no limit");
        let (moved, second) = copy(&mut heap, &mut to);
        assert_eq!((moved, heap.scratch.stamp), (None, 1));
        assert_ne!(first, second);
    }
}
