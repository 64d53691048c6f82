//! The heap: what can be made in a region, read and changed.
//!
//! An expression is a header and its children, one word each, and lies on whole cells:
//!
//! ```text
//!   length 3     │ header child │ child child │
//!   length 2     │ header child │ child zero  │
//!   length 9,000 │ prefix zero  │ header child │ child child │ …
//! ```
//!
//! The header is an immediate of tag 0 whose payload has 13 bits of length and 16 bits of note. A length that does not fit
//! stands in front, in a prefix of tag 1. A header of tag 2 begins an object. So all words of the expression
//! lane are references or zeros, and a walk over them needs no types. A variable is its binding and its label; an
//! unbound one is bound to itself. A number is its lower and its upper half.

use crate::chunks::{CHUNKS_MAX, Chunks};
use crate::forwarding::ForwardingTable;
use crate::layout::{CHUNK_BYTES, CHUNK_CELLS, CHUNK_WORDS, LaneKind};
use crate::limit::{Full, Limit};
use crate::reference::{Ref, tag};
use crate::region::{Mark, Region};
use crate::statistics::{Counts, Statistics};
use crate::words::{Addressed, Reserved, Words, word_of};

pub(crate) const ZERO: Ref = Ref::from_bits(0);
pub(crate) const NOTE_BITS: u32 = 16;
/// The bits of a note in a header.
const NOTE_MASK: u32 = Ref::new(0, (1 << NOTE_BITS) - 1).bits();
/// In place of a length: it stands in the prefix.
pub(crate) const LONG: usize = (1 << (29 - NOTE_BITS)) - 1;
pub(crate) const LONG_PREFIX_CELLS: usize = 1;

/// Memory in chunks of 64 cells, which regions take and give back.
#[derive(Debug)]
pub struct Heap<W: Words = Reserved> {
    /// All cells, two words each, and those of chunks to come.
    pub(crate) words: W,
    pub(crate) chunks: Chunks,
    pub(crate) forwarding: ForwardingTable,
    pub(crate) counts: Counts,
    /// Whether there ever was a map, whose index depends on where keys lie.
    pub(crate) maps_made: bool,
}

/// What is frozen: it is read as any heap is, and lies in no more memory than it takes.
pub type FrozenHeap = Heap<Box<[Ref]>>;

impl Default for Heap {
    fn default() -> Heap {
        Heap::new()
    }
}

impl Heap {
    /// A heap that grows as far as references reach: 4 GiB of cells.
    ///
    /// # Panics
    ///
    /// If the system does not let the process reserve this much address space: see [`Heap::try_new`].
    pub fn new() -> Heap {
        Heap::try_new().unwrap_or_else(|full| panic!("no heap was made: {full}"))
    }

    /// A heap that grows as far as references reach; [`Limit::Reservation`] if the system does not let the process reserve address
    /// space for all cells.
    ///
    /// That is not memory, but a limit of address space (`ulimit -v`) counts it, and so does a system that gives out no more than
    /// it has (`vm.overcommit_memory=2`). A process may have about 30,000 heaps at a time.
    pub fn try_new() -> Result<Heap, Full> {
        let words = Reserved::new().ok_or(Full::new(Limit::Reservation, CHUNKS_MAX))?;
        Ok(Heap::of(words, Chunks::new()))
    }

    /// A heap whose cells take at most `bytes` bytes. See [`Heap::set_limit`].
    ///
    /// # Panics
    ///
    /// As [`Heap::new`]: what is reserved is the same.
    pub fn with_limit(bytes: usize) -> Heap {
        let mut heap = Heap::new();
        heap.set_limit(Some(bytes));
        heap
    }

    /// Sets how many bytes of cells there may be, counted in whole chunks of 512 bytes.
    ///
    /// A limit below what there is refuses growth and, as soon as regions hold that much, everything else. Tables beside the
    /// cells are not counted, see [`Statistics::bytes_beside`].
    pub fn set_limit(&mut self, bytes: Option<usize>) {
        self.chunks.set_limit(bytes);
    }

    /// A region with nothing in it. Takes no memory.
    pub fn open(&mut self) -> Region {
        Region::EMPTY
    }

    /// Gives back all memory of a region. References into it mean nothing from now on. O(1).
    #[inline]
    pub fn close(&mut self, region: Region) {
        self.chunks.close(region);
    }

    /// Where a region stands.
    #[inline]
    pub fn mark(&self, region: &Region) -> Mark {
        let [expressions, variables, numbers] =
            [&region.expressions, &region.variables, &region.numbers].map(|lane| lane.position.within_chunk());
        Mark { expressions, variables, numbers }
    }

    /// Gives back what a region made after a mark. O(1), whatever that is.
    ///
    /// Later marks mean nothing from now on. Older cells stay as they are: a binding that one of them was given since is the
    /// owner's to undo.
    #[inline]
    pub fn rewind(&mut self, region: &mut Region, mark: Mark) {
        self.chunks.rewind_lane(&mut region.expressions, mark.expressions);
        self.chunks.rewind_lane(&mut region.variables, mark.variables);
        self.chunks.rewind_lane(&mut region.numbers, mark.numbers);
    }

    /// Whether something was made before a mark of a region. What is not a cell of that region counts as earlier.
    #[inline]
    pub fn precedes(&self, reference: Ref, region: &Region, mark: Mark) -> bool {
        let (lane, position) = match reference.tag() {
            tag::EXPRESSION | tag::MARKED => (&region.expressions, mark.expressions),
            tag::VARIABLE => (&region.variables, mark.variables),
            tag::NUMBER => (&region.numbers, mark.numbers),
            _ => return true,
        };
        !self.chunks.contains(&self.chunks.since(lane, position), reference.cell())
    }

    /// Gives the table back that copies use: as many bytes as the cells had when the largest copy began. The next one makes
    /// another.
    pub fn drop_table(&mut self) {
        self.forwarding.give_back();
    }

    /// Refuses what the system gives no memory for, beside the cells.
    #[cold]
    pub(crate) fn no_memory(&mut self) -> Full {
        let chunks = self.chunks.count();
        self.chunks.refuse(Limit::Memory, chunks)
    }
}

/// Expressions.
impl Heap {
    /// Makes an expression of these children.
    #[inline]
    pub fn expression(&mut self, region: &mut Region, children: &[Ref]) -> Result<Ref, Full> {
        if children.len() >= LONG {
            return aside(region, |region| self.long_expression(region, children));
        }
        let at = match region.expressions.bump_few(cells_of(children.len())) {
            Some(at) => at,
            None => self.allot_chunks(region, children.len())?,
        };
        Ok(self.write_expression(at, children))
    }

    /// Makes an expression that needs a prefix: its length is compared where no loop that makes short ones is.
    #[cold]
    #[inline(never)]
    fn long_expression(&mut self, region: &mut Region, children: &[Ref]) -> Result<Ref, Full> {
        let at = self.allot_late(region, children.len())?;
        Ok(self.write_expression(at, children))
    }

    #[inline(always)]
    fn write_expression(&mut self, at: u32, children: &[Ref]) -> Ref {
        let (first, count) = (word_of(at), words_of(children.len()));
        write_expression(&mut self.words[first..first + count], children);
        Ref::new(tag::EXPRESSION, at)
    }

    /// Makes an expression of `length` children, all of them the reference of bits 0 until they are set.
    #[inline]
    pub fn reserve(&mut self, region: &mut Region, length: usize) -> Result<Ref, Full> {
        let at = self.allot(region, length)?;
        self.write_header(at, length)[1..1 + length].fill(ZERO);
        Ok(Ref::new(tag::EXPRESSION, at))
    }

    /// A place for an expression of this length, with its prefix if it needs one.
    #[inline]
    pub(crate) fn allot(&mut self, region: &mut Region, length: usize) -> Result<u32, Full> {
        match region.expressions.bump(cells_of(length)) {
            Some(at) => Ok(at),
            None => self.allot_chunks(region, length),
        }
    }

    /// A place for an expression where the last chunk has too little left, which is so for all lengths that need a prefix.
    #[inline(always)]
    fn allot_chunks(&mut self, region: &mut Region, length: usize) -> Result<u32, Full> {
        match self.chunks.allot_at_once(region, length) {
            Some(at) => Ok(at),
            None => aside(region, |region| self.allot_late(region, length)),
        }
    }

    /// A function of its own, so that its caller has no use for the words.
    #[cold]
    #[inline(never)]
    fn allot_late(&mut self, region: &mut Region, length: usize) -> Result<u32, Full> {
        self.chunks.allot_late(&mut self.words, region, length)
    }

    /// Writes the header of an expression, and zero where its last cell has a word too many. Gives all words of its cells.
    #[inline]
    pub(crate) fn write_header(&mut self, at: u32, length: usize) -> &mut [Ref] {
        let (first, count) = (word_of(at), cells_of(length) * 2);
        let words = &mut self.words[first..first + count];
        words[count - 1] = ZERO;
        words[0] = Ref::new(tag::IMMEDIATE_0, (length.min(LONG) as u32) << NOTE_BITS);
        words
    }

    #[inline]
    pub(crate) fn write_cell(&mut self, at: u32, words: [Ref; 2]) {
        let first = word_of(at);
        self.words[first..first + 2].copy_from_slice(&words);
    }

    /// Replaces a child of an expression. The index must be below its length; no check is made in a release build.
    #[inline]
    pub fn set_child(&mut self, expression: Ref, index: usize, child: Ref) {
        debug_assert!(index < self.length(expression), "an expression has no child {index}");
        self.words[expression.payload() as usize * 2 + 1 + index] = child;
    }

    /// Writes the owner's note on an expression.
    #[inline]
    pub fn set_note(&mut self, expression: Ref, note: u16) {
        debug_assert!(expression.is_expression());
        let header = &mut self.words[expression.payload() as usize * 2];
        *header = Ref::from_bits(header.bits() & !NOTE_MASK | Ref::new(0, u32::from(note)).bits());
    }

    /// Takes the notes off all expressions: for an owner whose numbers have run out.
    ///
    /// Walks over all expressions, those in free memory included: what lies there is written over anyway.
    pub fn clear_notes(&mut self) {
        for chunk in 0..self.chunks.count() {
            if self.chunks.starts(chunk, LaneKind::Expressions) {
                self.clear_notes_from(chunk * CHUNK_CELLS);
            }
        }
    }

    /// Takes the notes off the expressions of a lane. After its last expression lies what earlier ones have left.
    fn clear_notes_from(&mut self, start: u32) {
        let (mut at, mut end) = (start, self.chunks.walked_to(start / CHUNK_CELLS));
        loop {
            while at < end {
                let header = &mut self.words[word_of(at)];
                if header.tag() == tag::IMMEDIATE_1 {
                    at += LONG_PREFIX_CELLS as u32;
                    continue;
                }
                *header = Ref::from_bits(header.bits() & !NOTE_MASK);
                at = at.saturating_add(cells_of(self.length_at(at)) as u32);
            }
            match self.chunks.follow(at, end) {
                Some(next) => (at, end) = next,
                None => return,
            }
        }
    }
}

/// Reading expressions, of a heap that is frozen as well.
impl<W: Words> Heap<W> {
    /// How many children an expression has.
    #[inline]
    pub fn length(&self, expression: Ref) -> usize {
        debug_assert!(expression.is_expression());
        self.length_at(expression.payload())
    }

    #[inline]
    pub(crate) fn length_at(&self, at: u32) -> usize {
        length_in(&*self.words, at)
    }

    #[cold]
    fn prefix(&self, at: u32) -> usize {
        prefix_in(&*self.words, at)
    }

    /// A child of an expression. The index must be below its length; no check is made in a release build.
    #[inline]
    pub fn child(&self, expression: Ref, index: usize) -> Ref {
        debug_assert!(index < self.length(expression), "an expression has no child {index}");
        self.words[expression.payload() as usize * 2 + 1 + index]
    }

    /// The children of an expression.
    #[inline]
    pub fn children(&self, expression: Ref) -> &[Ref] {
        let first = expression.payload() as usize * 2 + 1;
        &self.words[first..first + self.length(expression)]
    }

    /// `count` children of an expression from a position on. They must be there; no check is made in a release build.
    #[inline]
    pub fn children_from(&self, expression: Ref, position: usize, count: usize) -> &[Ref] {
        debug_assert!(position + count <= self.length(expression), "an expression has not so many children");
        let first = expression.payload() as usize * 2 + 1 + position;
        &self.words[first..first + count]
    }

    /// How many children an expression has, and the first of them; of one without children, whatever follows it.
    #[inline]
    pub fn shape(&self, expression: Ref) -> (usize, Ref) {
        let header = expression.payload() as usize * 2;
        let words = &self.words[header..header + 2];
        let length = (words[0].payload() >> NOTE_BITS) as usize;
        (if length == LONG { self.prefix(expression.payload()) } else { length }, words[1])
    }

    /// Whether two expressions have the same length, the same note and the same first child.
    #[inline]
    pub fn alike(&self, one: Ref, other: Ref) -> bool {
        debug_assert!(one.is_expression() && other.is_expression());
        let [one, other] = [one, other].map(|expression| {
            let header = expression.payload() as usize * 2;
            let words = &self.words[header..header + 2];
            (words[0], words[1])
        });
        one == other && (one.0.payload() >> NOTE_BITS) as usize != LONG
    }

    /// The owner's note on an expression; 0 if there is none.
    #[inline]
    pub fn note(&self, expression: Ref) -> u16 {
        debug_assert!(expression.is_expression());
        self.words[expression.payload() as usize * 2].payload() as u16
    }

    /// The words of the chunks there are, two a cell, those of free memory included.
    #[inline]
    pub fn words(&self) -> &[Ref] {
        &self.words.slice()[..self.chunks.count() as usize * CHUNK_WORDS]
    }
}

impl<W: Words> Drop for Heap<W> {
    fn drop(&mut self) {
        self.words.end(self.chunks.bytes());
    }
}

impl<W: Words> Heap<W> {
    /// A heap of chunks whose words are these.
    pub(crate) fn of(words: W, chunks: Chunks) -> Heap<W> {
        Heap { words, chunks, forwarding: ForwardingTable::new(), counts: Counts::default(), maps_made: false }
    }
}

impl<W: Words> Heap<W> {
    /// Bytes of the chunks that regions hold: [`Statistics::bytes_live`] alone.
    #[inline]
    pub fn bytes_live(&self) -> usize {
        self.chunks.live_count() as usize * CHUNK_BYTES
    }

    /// Bytes of the chunks that a region holds, unused cells included.
    pub fn bytes_of(&self, region: &Region) -> usize {
        self.chunks.of_region(region) as usize * CHUNK_BYTES
    }

    /// Cells that are left of the chunks of a region, in all of its lanes, at most 1,024 each:
    /// [`Statistics::cells_handed_out`] counts them already.
    pub fn cells_ahead(&self, region: &Region) -> u64 {
        self.chunks.ahead(region)
    }

    /// Bytes that were got from the system, for cells and for the tables beside them.
    pub fn bytes_held(&self) -> usize {
        self.chunks.bytes() + self.chunks.link_bytes() + self.forwarding.bytes()
    }

    /// Bytes that a [copy](Heap::copy) of all that is held would still have to get from the system, at most: for cells that
    /// are not free, and for the table beside them.
    pub fn bytes_to_copy(&self) -> usize {
        let (live, free) = (self.chunks.live_count() as usize, self.chunks.free_count() as usize);
        let table = self.chunks.bytes().saturating_sub(self.forwarding.bytes());
        live.saturating_sub(free) * CHUNK_BYTES + table + table / 8
    }

    /// Bytes of the table that copies use.
    pub fn table_bytes(&self) -> usize {
        self.forwarding.bytes()
    }

    /// Whether there are addresses for a copy of all that is held.
    pub fn can_address_copy(&self) -> bool {
        self.chunks.live_count() <= CHUNKS_MAX / 2
    }

    /// What the heap has done and holds.
    pub fn statistics(&self) -> Statistics {
        let chunks = &self.chunks;
        Statistics {
            cells_handed_out: chunks.handed_out(),
            cells_copied: self.forwarding.cells_copied,
            chunks: chunks.count() as usize,
            chunks_free: chunks.free_count() as usize,
            bytes_live: chunks.live_count() as usize * CHUNK_BYTES,
            bytes_live_peak: chunks.live_peak() as usize * CHUNK_BYTES,
            bytes_held: chunks.bytes(),
            bytes_beside: chunks.link_bytes() + self.forwarding.bytes(),
            cells_left: chunks.cells_left,
            splices: self.counts.splices,
            escapes: self.counts.escapes,
            limit_failures: chunks.failures,
        }
    }
}

/// Moves a region to a place that others may know, for what is rarely done with it, and back: so that where it was, a
/// compiler has it in registers.
#[inline(always)]
pub(crate) fn aside<R>(region: &mut Region, work: impl FnOnce(&mut Region) -> R) -> R {
    let mut moved = std::mem::replace(region, Region::EMPTY);
    let result = work(&mut moved);
    *region = moved;
    result
}

/// The length of the expression that lies here in a heap of these words.
#[inline]
pub(crate) fn length_in(words: &(impl Addressed + ?Sized), at: u32) -> usize {
    let length = (words[word_of(at)].payload() >> NOTE_BITS) as usize;
    if length == LONG { prefix_in(words, at) } else { length }
}

#[cold]
fn prefix_in(words: &(impl Addressed + ?Sized), at: u32) -> usize {
    words[word_of(at) - 2].payload() as usize
}

/// The cells of an expression of this length, without a prefix: its words and the header's, two a cell.
#[inline]
pub(crate) const fn cells_of(length: usize) -> usize {
    length / 2 + 1
}

/// The words of the cells of an expression of this length, without a prefix: twice [`cells_of`], in a form from which a
/// compiler sees that the children have room.
#[inline]
pub(crate) const fn words_of(length: usize) -> usize {
    (length | 1) + 1
}

/// Writes header and children of an expression to the words of its cells, and zero where there is a word too many.
#[inline]
pub(crate) fn write_expression(words: &mut [Ref], children: &[Ref]) {
    let Some((header, behind)) = words.split_first_mut() else { unreachable!("an expression has a cell") };
    *header = Ref::new(tag::IMMEDIATE_0, (children.len().min(LONG) as u32) << NOTE_BITS);
    let end = behind.len() - 1;
    behind[end] = ZERO;
    copy_words(&mut behind[..children.len()], children);
}

/// Copies words. Most expressions are short, and a few words are copied faster than a call is made.
#[inline]
pub(crate) fn copy_words(to: &mut [Ref], from: &[Ref]) {
    #[inline]
    fn some<const N: usize>(to: &mut [Ref], from: &[Ref]) {
        if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
            *to = *from;
        }
    }
    match from.len() {
        0 => {}
        1 => some::<1>(to, from),
        2 => some::<2>(to, from),
        3 => some::<3>(to, from),
        4 => some::<4>(to, from),
        5 => some::<5>(to, from),
        6 => some::<6>(to, from),
        _ => to.copy_from_slice(from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_of_expressions_are_references_or_zero() -> Result<(), Full> {
        let mut heap = Heap::new();
        let mut region = heap.open();
        for _ in 0..3 * CHUNK_CELLS {
            heap.number(&mut region, 0, u64::MAX)?;
        }
        heap.rewind(&mut region, Mark::START);
        let child = Ref::new(tag::IMMEDIATE_2, 9);
        for length in [0, 1, 2, 30, 31, 62, 63, 100] {
            heap.expression(&mut region, &[child; 100][..length])?;
        }
        let used = region.expressions.position.cursor() as usize * 2;
        let ones = heap.words[..used].iter().filter(|word| word.bits() == u32::MAX);
        assert_eq!(ones.count(), 0);
        heap.close(region);
        Ok(())
    }

    /// What a freed chunk still holds must not lead a walk into memory in use: here a cell that looks like the header of a
    /// long expression, in front of a chunk of another region.
    #[test]
    fn clearing_notes_stays_out_of_what_is_in_use() -> Result<(), Full> {
        let mut heap = Heap::new();
        let (mut freed, mut used) = (heap.open(), heap.open());
        let header = Ref::new(tag::IMMEDIATE_0, 100 << NOTE_BITS);
        heap.expression(&mut freed, &[])?;
        let mark = heap.mark(&freed);
        heap.expression(&mut freed, &[header; 125])?;
        let numbers = (0..64).map(|_| heap.number(&mut used, 0, u64::MAX)).collect::<Result<Vec<Ref>, Full>>()?;
        heap.expression(&mut freed, &[header; 125])?;
        heap.rewind(&mut freed, mark);
        heap.expression(&mut freed, &[])?;
        heap.close(freed);
        heap.clear_notes();
        assert!(numbers.iter().all(|number| heap.number_bits(*number) == u64::MAX));
        heap.close(used);
        Ok(())
    }
}
