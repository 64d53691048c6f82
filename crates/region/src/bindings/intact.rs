//! Whether what a reference refers to lies in the heap as a whole: for references that come from outside, such as another language.
//!
//! A reference that outlived its region refers to some cell, where anything may lie by now: the middle of an expression, a number's
//! bits, an object whose elements were given back. To read it as what it was is to believe a length that nobody wrote. Here the
//! words that say how long something is, and where its parts lie, are compared with the end of the heap and with each other. O(1).
//!
//! What is found to be whole may still not be what the owner meant, and the index of a map may be damaged: a search in it panics
//! rather than go on for ever.

use super::dangling::kind_of;
use super::object::{ARRAY, BYTES, MAP};
use crate::bindings::map;
use crate::heap::{Heap, LONG, NOTE_BITS};
use crate::layout::LaneKind;
use crate::reference::{Ref, tag};
use crate::words::Words;

/// Words of a cell.
const CELL_WORDS: usize = 2;

impl<W: Words> Heap<W> {
    /// Whether what a reference refers to, and what this consists of, lies within the heap. So it is for an immediate.
    ///
    /// To be asked before anything is read by a reference that may have outlived what it referred to.
    pub fn is_whole(&self, reference: Ref) -> bool {
        if reference.is_immediate() {
            return true;
        }
        let first = reference.cell() as usize * CELL_WORDS;
        if first + CELL_WORDS > self.words().len() {
            return false;
        }
        kind_of(reference) != LaneKind::Expressions
            || match self.words()[first].tag() {
                tag::IMMEDIATE_0 => self.expression_words(reference).is_some(),
                tag::IMMEDIATE_2 => self.is_whole_object(reference),
                _ => false,
            }
    }

    /// The header and the other words of an expression or an object, if they lie within the heap.
    pub(crate) fn expression_words(&self, expression: Ref) -> Option<&[Ref]> {
        let (words, first) = (self.words(), expression.payload() as usize * CELL_WORDS);
        let length = match (words.get(first)?.payload() >> NOTE_BITS) as usize {
            LONG => {
                words.get(first.checked_sub(CELL_WORDS)?).filter(|prefix| prefix.tag() == tag::IMMEDIATE_1)?.payload()
                    as usize
            }
            short => short,
        };
        words.get(first..first + 1 + length)
    }

    fn is_whole_object(&self, object: Ref) -> bool {
        let Some([_, words @ ..]) = self.expression_words(object) else { return false };
        match (words, words.first().map(|word| word.tag())) {
            (&[length, run], Some(BYTES)) => self.has_run(run, (length.payload() as usize).div_ceil(size_of::<Ref>())),
            (&[length, room, size], Some(ARRAY)) => self.is_room(room, length, size),
            (words, Some(MAP)) => words.len() == map::WORDS && self.is_whole_map(object),
            _ => false,
        }
    }

    /// Whether `count` words from a cell of the number lane on lie within the heap.
    pub(crate) fn has_run(&self, run: Ref, count: usize) -> bool {
        run.is_number() && run.cell() as usize * CELL_WORDS + count <= self.words().len()
    }

    /// Whether a word of an array refers to room for as many elements as another word says, of which no more are in use.
    fn is_room(&self, room: Ref, length: Ref, size: Ref) -> bool {
        let words = if room.tag() == tag::EXPRESSION { self.expression_words(room) } else { None };
        let is_expression = words.is_some_and(|words| words[0].tag() == tag::IMMEDIATE_0);
        is_expression
            && words.is_some_and(|words| words.len() - 1 == size.payload() as usize)
            && length.payload() <= size.payload()
    }

    /// The children of the table of a map, if they lie within the heap.
    pub(crate) fn table_words(&self, table: Ref) -> Option<&[Ref]> {
        let words = if table.tag() == tag::EXPRESSION { self.expression_words(table)? } else { return None };
        (words[0].tag() == tag::IMMEDIATE_2).then(|| &words[1..])
    }
}
