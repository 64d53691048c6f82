//! Objects: strings, byte buffers, arrays and maps, which lie among expressions.
//!
//! An object is an expression whose header has another tag, so a walk over the lane finds its end as that of any
//! expression, and pays for objects only where there are some. Its words, the header first:
//!
//! ```text
//!   bytes │ header length │ run  zero  │                  run: cells of the number lane; its kind: a string or a buffer
//!   array │ header length │ room size  │                  room: an expression of that size
//!   map   │ header count  │ table index │ bits used │     index: cells of the number lane; used: entries of the table
//!   table │ header zero   │ map  key   │ value key │ …    in the order of insertion; made for one map, seen by nobody else
//! ```
//!
//! The tag of the word after the header says which of them it is. It is an immediate, as the counts are, so those words are
//! references or zeros as all words of the lane are; raw data lies in the number lane, which nobody walks over.
//!
//! An array and a map are what refers to their elements; when these need more room, they move, and what refers to the array
//! or the map need not know. The room that they leave is given back with the region.
//!
//! To ask an object for what another kind has breaks an invariant: a debug build says so, a release build does not look.

use crate::chunks::CHUNKS_MAX;
use crate::heap::{Heap, LONG, NOTE_BITS, ZERO, cells_of};
use crate::layout::{CHUNK_CELLS, LaneKind};
use crate::limit::{Full, Limit};
use crate::reference::{Ref, tag};
use crate::region::Region;
use crate::words::Words;

/// What a reference to an expression refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Object {
    /// No object: an expression.
    Expression,
    /// Bytes that can be changed: see [`Heap::buffer`].
    Buffer,
    /// Bytes that are UTF-8 and stay as they are: see [`Heap::string`].
    String,
    /// See [`Heap::array`].
    Array,
    /// See [`Heap::map`].
    Map,
}

/// The tag of the word after a header.
pub(crate) const BYTES: u32 = tag::IMMEDIATE_0;
pub(crate) const ARRAY: u32 = tag::IMMEDIATE_1;
/// Of maps, and of their tables.
pub(crate) const MAP: u32 = tag::IMMEDIATE_2;

impl<W: Words> Heap<W> {
    /// Whether a reference to an expression refers to an object, and to which kind.
    ///
    /// What is said of expressions holds for objects only as far as marks, notes and copies go. Their children are their
    /// own affair.
    #[inline]
    pub fn object(&self, expression: Ref) -> Object {
        debug_assert!(expression.is_expression());
        let first = expression.payload() as usize * 2;
        if self.words[first].tag() != tag::IMMEDIATE_2 {
            return Object::Expression;
        }
        match self.words[first + 1].tag() {
            BYTES if self.words[first + 2].payload() & 1 == 0 => Object::Buffer,
            BYTES => Object::String,
            ARRAY => Object::Array,
            _ => Object::Map,
        }
    }

    /// Whether something is an object of a kind.
    #[inline]
    pub(crate) fn is_object(&self, reference: Ref, kind: u32) -> bool {
        let first = reference.payload() as usize * 2;
        reference.is_expression() && self.words[first].tag() == tag::IMMEDIATE_2 && self.words[first + 1].tag() == kind
    }

    /// A word of an expression, its header being the first.
    #[inline]
    pub(crate) fn word(&self, expression: Ref, index: usize) -> Ref {
        self.words[expression.payload() as usize * 2 + index]
    }

    #[inline]
    pub(crate) fn set_word(&mut self, expression: Ref, index: usize, word: Ref) {
        self.words[expression.payload() as usize * 2 + index] = word;
    }
}

impl Heap {
    /// Takes cells of the lane of expressions that lie one after the other.
    #[inline]
    pub(crate) fn take(&mut self, region: &mut Region, cells: usize) -> Result<u32, Full> {
        match region.expressions.bump(cells) {
            Some(at) => Ok(at),
            None => self.take_late(region, cells),
        }
    }

    /// Takes cells of the lane of expressions where the last chunk has too few.
    #[cold]
    #[inline(never)]
    fn take_late(&mut self, region: &mut Region, cells: usize) -> Result<u32, Full> {
        if cells <= CHUNK_CELLS as usize {
            return self.chunks.extend_by_one(&mut self.words, region, LaneKind::Expressions, cells);
        }
        if cells > (CHUNKS_MAX * CHUNK_CELLS) as usize {
            return Err(self.chunks.refuse(Limit::Addresses, CHUNKS_MAX));
        }
        self.chunks.allot(&mut self.words, region, LaneKind::Expressions, cells)
    }

    /// Takes cells of the lane of numbers that lie one after the other.
    #[inline]
    pub(crate) fn take_run(&mut self, region: &mut Region, cells: usize) -> Result<u32, Full> {
        match region.numbers.bump(cells) {
            Some(at) => Ok(at),
            None => self.chunks.extend_numbers(&mut self.words, region, cells),
        }
    }

    /// Takes a run of the number lane, and then cells of the lane of expressions; both, or neither.
    #[inline]
    pub(crate) fn take_both(&mut self, region: &mut Region, run: usize, cells: usize) -> Result<(u32, u32), Full> {
        let before = region.numbers.position.within_chunk();
        let run_at = self.take_run(region, run)?;
        match self.take(region, cells) {
            Ok(at) => Ok((run_at, at)),
            Err(full) => {
                self.chunks.untake(&mut region.numbers, before, run);
                Err(full)
            }
        }
    }

    /// Writes an object of a few words; fills up its last cell.
    #[inline]
    pub(crate) fn write_object<const N: usize>(&mut self, at: u32, words: [Ref; N]) -> Ref {
        let first = at as usize * 2;
        let cells = &mut self.words[first..first + cells_of(N) * 2];
        cells[0] = Ref::new(tag::IMMEDIATE_2, (N as u32) << NOTE_BITS);
        cells[1..1 + N].copy_from_slice(&words);
        cells[1 + N..].fill(ZERO);
        Ref::new(tag::EXPRESSION, at)
    }

    /// Writes the header of an expression and its prefix, if it needs one, into [`cells_with_prefix`]. Gives the expression.
    pub(crate) fn write_prefix(&mut self, at: u32, length: usize) -> Ref {
        let at = if length < LONG {
            at
        } else {
            self.write_cell(at, [Ref::new(tag::IMMEDIATE_1, length as u32), ZERO]);
            at + 1
        };
        self.write_header(at, length);
        Ref::new(tag::EXPRESSION, at)
    }
}

/// The cells of an expression of this length, its prefix included.
#[inline]
pub(crate) fn cells_with_prefix(length: usize) -> usize {
    cells_of(length) + usize::from(length >= LONG)
}
