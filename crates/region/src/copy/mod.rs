//! Copies of what a region holds, with sharing and cycles kept.
//!
//! 1. [`Heap::copy`] begins one: it raises the stamp.
//! 2. A root is *forwarded*: what it refers to is copied as it is to the end of the other region, and the forwarding table
//!    remembers, under the stamp, where it went. What was forwarded already is looked up there.
//! 3. [`Copying::scan`] walks once over what was copied and forwards what that refers to, which is copied after it. When
//!    the walk reaches the end, so did the copy.
//!
//! This is Cheney's algorithm (C. J. Cheney, *A nonrecursive list compacting algorithm*, 1970), with one difference: it
//! leaves forwarding addresses in what it copies from, this in a table beside it. So the source is never written and stays
//! as it was if the copy fails. The table is not cleared either: an entry with an older stamp is not an entry.
//!
//! Cost: linear in the cells copied and in their references; nothing depends on the size of the region or of the heap, but
//! that the table grows with the heap. No native recursion, and no list of what is still to be done.

mod objects;
mod short;

use crate::chunks::LaneRange;
use crate::heap::{Heap, LONG_PREFIX_CELLS, NOTE_BITS, cells_of, length_in};
use crate::layout::CHUNK_CELLS;
use crate::limit::Full;
use crate::number::bits_in;
use crate::origin::{Forwarded, Origin, SameHeap};
use crate::reference::{Ref, tag};
use crate::region::{Lane, LanePosition, Mark, Region};
use crate::variable::walk_in;
use crate::words::{Words, word_of};

pub(crate) use short::{SourceCells, Stop, Walk};

/// A scan looks at this many expressions one by one, and then walks over many: to get ready for that costs what two of them do.
const FEW: u32 = 4;

/// What a copy makes of a variable that is bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// A variable, bound to the copy of its value: the binding may still be undone.
    Kept,
    /// Nothing: whatever refers to it refers to its value.
    Replaced,
}

/// A copy under way, see [`Heap::copy`].
#[derive(Debug)]
pub struct Copying<'h, F, O = SameHeap> {
    /// Where the copy is made.
    heap: &'h mut Heap,
    origin: O,
    source: CopySource,
    bound: Bound,
    to: &'h mut Region,
    foreign: F,
    /// Where the other region stood when the copy began.
    start: Mark,
    /// [`Chunks::given`](crate::chunks::Chunks::given) when the cells copied were counted last.
    counted: u64,
    /// [`Chunks::given`](crate::chunks::Chunks::given) when the copy began.
    began: u64,
    expressions: Scan,
    variables: Scan,
    /// After the expressions whose maps have their indexes.
    indexed: Scan,
    met_map: bool,
}

/// What is copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopySource {
    expressions: LaneRange,
    variables: LaneRange,
    numbers: LaneRange,
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
        if !self.forwarding.grow(cells as usize) {
            return Err(self.no_memory());
        }
        self.forwarding.begin();
        let source = CopySource::new(self, from, since);
        Ok(Copying::new(self, SameHeap, source, bound, to, foreign))
    }
}

impl<'h, F, O> Copying<'h, F, O> {
    pub(crate) fn new(
        heap: &'h mut Heap,
        origin: O,
        source: CopySource,
        bound: Bound,
        to: &'h mut Region,
        foreign: F,
    ) -> Copying<'h, F, O> {
        let start = heap.mark(to);
        let (expressions, variables) = (Scan::from(start.expressions), Scan::from(start.variables));
        let counted = heap.chunks.given(to);
        Copying {
            heap,
            origin,
            source,
            bound,
            to,
            foreign,
            start,
            counted,
            began: counted,
            expressions,
            variables,
            indexed: expressions,
            met_map: false,
        }
    }
}

impl Heap {
    /// Gives each variable of a region the label that this makes of its own: for an owner whose labels mean something in a
    /// table that has shrunk.
    pub fn relabel(&mut self, region: &Region, mut relabelled: impl FnMut(u32) -> u32) {
        let mut scan = Scan::from(LanePosition::START);
        while let Some(at) = scan.next(&region.variables, self) {
            scan.at += 1;
            let label = &mut self.words[word_of(at) + 1];
            *label = Ref::from_bits(relabelled(label.bits()));
        }
    }
}

impl<F: FnMut(Ref) -> Ref, O: Origin> Copying<'_, F, O> {
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

    /// Completes what was copied so far, unless that takes more than `cells` cells of expressions. What was copied until that
    /// was noticed is for the caller to [undo](Copying::undo).
    pub(crate) fn scan_within(&mut self, cells: u64) -> Result<bool, Full> {
        let result = self.scan_up_to(cells);
        if self.met_map && result == Ok(true) {
            self.index_maps();
        }
        self.count();
        result.map_err(|full| self.abandon(full))
    }

    fn scan_all(&mut self) -> Result<(), Full> {
        let mut few = FEW;
        loop {
            while let Some(at) = self.expressions.next(&self.to.expressions, self.heap) {
                if few == 0 {
                    self.scan_some(self.expressions.end)?;
                } else {
                    few -= 1;
                    self.scan_expression(at)?;
                }
            }
            let Some(at) = self.variables.next(&self.to.variables, self.heap) else { return Ok(()) };
            self.variables.at += 1;
            self.scan_word(word_of(at))?;
        }
    }

    /// What was scanned is counted, and not what was made, since that is known without asking.
    fn scan_up_to(&mut self, most: u64) -> Result<bool, Full> {
        let mut scanned = 0;
        loop {
            while let Some(at) = self.expressions.next(&self.to.expressions, self.heap) {
                let end = u64::from(at).saturating_add(most - scanned).saturating_add(1);
                self.scan_some(end.min(u64::from(self.expressions.end)) as u32)?;
                scanned += u64::from(self.expressions.at - at);
                if scanned > most {
                    return Ok(false);
                }
            }
            let Some(at) = self.variables.next(&self.to.variables, self.heap) else { return Ok(true) };
            self.variables.at += 1;
            self.scan_word(word_of(at))?;
        }
    }

    /// How many cells were copied so far.
    pub(crate) fn cells(&self) -> u64 {
        self.heap.chunks.given(self.to) - self.began
    }

    /// Where the copy stands: what the roots so far lead to was made before this, once it is scanned.
    pub fn mark(&self) -> Mark {
        self.heap.mark(self.to)
    }

    #[inline]
    fn resolve(&self, reference: Ref) -> Ref {
        match self.bound {
            Bound::Replaced => walk_in(self.origin.words(self.heap), reference),
            Bound::Kept => reference,
        }
    }

    /// The reference that the copy has in place of this one.
    #[inline(always)]
    fn forward(&mut self, reference: Ref) -> Result<Ref, Full> {
        if reference.is_expression() { self.forward_expression(reference) } else { self.forward_other(reference) }
    }

    #[inline(always)]
    fn forward_expression(&mut self, reference: Ref) -> Result<Ref, Full> {
        match self.origin.forward(self.heap, self.to, &self.source.expressions, reference.payload()) {
            Forwarded::To(to) => Ok(Ref::new(reference.tag(), to)),
            Forwarded::Shared => Ok(reference),
            Forwarded::Not => self.forward_by_steps(reference),
        }
    }

    #[inline(never)]
    fn forward_by_steps(&mut self, reference: Ref) -> Result<Ref, Full> {
        let from = reference.payload();
        if let Some(to) = self.origin.get(self.heap, from) {
            return Ok(reference.at_cell(to));
        }
        if !self.origin.holds(self.heap, &self.source.expressions, from) {
            return Ok(reference);
        }
        let length = length_in(self.origin.words(self.heap), from);
        let to = self.heap.allot(self.to, length)?;
        self.origin.copy_cells(self.heap, from, to, cells_of(length));
        self.origin.set(self.heap, from, to)?;
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
        if let Some(to) = self.origin.get(self.heap, from) {
            return Ok(number.at_cell(to));
        }
        if !self.origin.holds(self.heap, &self.source.numbers, from) {
            return Ok(number);
        }
        let bits = bits_in(self.origin.words(self.heap), from);
        let copy = self.heap.number(self.to, number.payload() & 1, bits)?;
        self.origin.set(self.heap, from, copy.cell())?;
        Ok(copy)
    }

    /// A variable that stays one. If it is bound, its value is forwarded by the scan.
    fn forward_variable(&mut self, variable: Ref) -> Result<Ref, Full> {
        let from = variable.cell();
        if let Some(to) = self.origin.get(self.heap, from) {
            return Ok(variable.at_cell(to));
        }
        if !self.origin.holds(self.heap, &self.source.variables, from) {
            return Ok(variable);
        }
        let words = self.origin.words(self.heap);
        let (value, label) = (words[word_of(from)], words[word_of(from) + 1]);
        let copy = self.heap.variable(self.to, label.bits())?;
        // An unbound variable is bound to itself; the copy of one already is. Out of another heap it is taken for a variable
        // that is to be copied until the scan finds that it was.
        if value != variable || self.origin.is_elsewhere() {
            self.heap.write_binding(copy, value);
        }
        self.origin.set(self.heap, from, copy.cell())?;
        Ok(copy)
    }

    /// Short expressions are read once, as a whole.
    #[inline(always)]
    fn scan_expression(&mut self, at: u32) -> Result<(), Full> {
        let first = word_of(at);
        let words = self.heap.words.get(first..first + 4).and_then(<[Ref]>::first_chunk::<4>);
        let Some(&[header, one, two, three]) = words else { return self.scan_long(at) };
        let length = (header.payload() >> NOTE_BITS) as usize;
        if header.tag() != tag::IMMEDIATE_0 || length > 3 {
            return self.scan_long(at);
        }
        self.expressions.at += cells_of(length) as u32;
        if length >= 1 {
            self.scan_child(first + 1, one)?;
        }
        if length >= 2 {
            self.scan_child(first + 2, two)?;
        }
        if length >= 3 {
            self.scan_child(first + 3, three)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn scan_child(&mut self, word: usize, child: Ref) -> Result<(), Full> {
        if child.tag() < tag::IMMEDIATE_3 {
            return Ok(());
        }
        if child.is_expression() {
            match self.origin.forward(self.heap, self.to, &self.source.expressions, child.payload()) {
                Forwarded::To(to) => self.heap.words[word] = Ref::new(child.tag(), to),
                Forwarded::Shared => {}
                Forwarded::Not => return self.scan_by_steps(word, child),
            }
            return Ok(());
        }
        self.scan_by_steps(word, child)
    }

    /// Scans at least one expression, and no more than begin before this cell of the same chunk.
    #[inline(always)]
    fn scan_some(&mut self, end: u32) -> Result<(), Full> {
        match self.origin.walk(self.heap, self.to, &self.source.expressions, &mut self.expressions.at, end) {
            Stop::End => Ok(()),
            Stop::Long => self.scan_long(self.expressions.at),
            Stop::Child { word, words } => {
                let first = word_of(self.expressions.at) - words;
                self.scan_words_from(first + word, first + words)
            }
        }
    }

    #[inline(never)]
    fn scan_words_from(&mut self, first: usize, end: usize) -> Result<(), Full> {
        (first..end).try_for_each(|word| self.scan_word(word))
    }

    #[inline(never)]
    fn scan_by_steps(&mut self, word: usize, child: Ref) -> Result<(), Full> {
        let copy = if child.is_expression() { self.forward_by_steps(child) } else { self.forward_other(child) }?;
        self.heap.words[word] = copy;
        Ok(())
    }

    #[inline(never)]
    fn scan_long(&mut self, at: u32) -> Result<(), Full> {
        let header = self.heap.words[word_of(at)];
        if header.tag() == tag::IMMEDIATE_1 {
            self.expressions.at += LONG_PREFIX_CELLS as u32;
            return Ok(());
        }
        if header.tag() == tag::IMMEDIATE_2 {
            return self.scan_object(at);
        }
        let length = self.heap.length_at(at);
        self.expressions.at += cells_of(length) as u32;
        let first = word_of(at) + 1;
        for word in first..first + length {
            self.scan_word(word)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn scan_word(&mut self, word: usize) -> Result<(), Full> {
        let reference = self.heap.words[word];
        if reference.tag() >= tag::IMMEDIATE_3 {
            self.heap.words[word] = self.forward(reference)?;
        }
        Ok(())
    }

    /// Adds what was copied since the last time to the statistics.
    fn count(&mut self) {
        let given = self.heap.chunks.given(self.to);
        self.heap.forwarding.cells_copied += given - self.counted;
        self.counted = given;
    }

    /// Undoes what was copied.
    #[cold]
    fn abandon(&mut self, full: Full) -> Full {
        self.undo();
        full
    }

    pub(crate) fn undo(&mut self) {
        self.count();
        self.heap.rewind(self.to, self.start);
        self.origin.forget(self.heap);
        self.expressions = Scan::from(self.start.expressions);
        self.variables = Scan::from(self.start.variables);
        {
            (self.indexed, self.met_map) = (self.expressions, false);
        }
    }
}

impl<F: FnMut(Ref) -> Ref> Copying<'_, F> {
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
        if let Some(cell) = self.heap.forwarding.get(variable.cell()) {
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
        match self.heap.forwarding.get(reference.cell()) {
            Some(cell) => Some(reference.at_cell(cell)),
            None if self.heap.chunks.contains(part, reference.cell()) => None,
            None => Some(reference),
        }
    }
}

impl CopySource {
    pub(crate) fn new(heap: &Heap, from: &Region, since: Mark) -> CopySource {
        CopySource {
            expressions: heap.chunks.since(&from.expressions, since.expressions),
            variables: heap.chunks.since(&from.variables, since.variables),
            numbers: heap.chunks.since(&from.numbers, since.numbers),
        }
    }

    /// The lane that a reference points to; none for an immediate.
    #[inline]
    fn part(&self, reference: Ref) -> Option<&LaneRange> {
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
    fn from(position: LanePosition) -> Scan {
        Scan { at: position.cursor(), end: position.end() }
    }

    /// A walk from a place where the lane stood before: another one may have been joined after it since.
    fn since(position: LanePosition, heap: &Heap<impl Words>) -> Scan {
        let end =
            if position == LanePosition::START { 0 } else { heap.chunks.walked_to(position.end() / CHUNK_CELLS - 1) };
        Scan { at: position.cursor(), end }
    }

    /// The next cell, unless the lane ends.
    #[inline]
    fn next(&mut self, lane: &Lane, heap: &Heap<impl Words>) -> Option<u32> {
        if self.at == lane.position.cursor() {
            return None;
        }
        if self.at >= self.end {
            self.follow(lane, heap);
        }
        Some(self.at)
    }

    #[cold]
    fn follow(&mut self, lane: &Lane, heap: &Heap<impl Words>) {
        if self.end == 0 {
            (self.at, self.end) = (lane.first * CHUNK_CELLS, heap.chunks.walked_to(lane.first));
        }
        while self.at >= self.end {
            (self.at, self.end) = heap.chunks.go_on(self.at, self.end);
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
        assert_eq!((moved, heap.forwarding.stamp), (None, 1));
        // The last stamp, for a copy that touches nothing.
        heap.forwarding.stamp = u32::MAX - 1;
        heap.copy(&region, Mark::START, Bound::Kept, &mut to, |foreign| foreign).expect("no limit");
        let (moved, second) = copy(&mut heap, &mut to);
        assert_eq!((moved, heap.forwarding.stamp), (None, 1));
        assert_ne!(first, second);
    }
}
