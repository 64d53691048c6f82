//! Parts of an expression that are not evaluated whatever an earlier part of the same expression binds.
//!
//! 1. An unbound variable is its own result. In the interpreter it stays that if a part of the expression that is evaluated
//!    later, or was evaluated before it, binds it: what it stands for is not evaluated as that part. Where parts are evaluated to types, it is.
//! 2. So is data with variables that was evaluated, whatever these are bound to: an expression keeps its mark until what is bound is put
//!    into it, as is done where the expression around it begins.
//! 3. Code notes with `note-open` what is open when an expression begins, and asks with `keep-open` when its turn comes. What is
//!    evaluated without code has a slot with a bit for each child, or an expression of such words; a call that is evaluated to types
//!    takes such data as it stands.
//! 4. That needs data to be known as evaluated: see [`Values::note_open`](super::values::Values::note_open).

use super::Halt;
use super::code::{Pc, Slot};
use super::notes::Notes;
use super::slots::Slots;
use super::tuple_frame::HELD;
use super::values::{Values, holds_bound};
use super::words::{EVALUATED_OPEN, FALSE, TRUE, raw};
use region::{Full, Ref, tag};
use std::ops::Range;

/// How many children have their bits in one word.
const IN_A_WORD: usize = 24;

impl Slots<'_> {
    /// Notes whether a slot holds an unbound variable or evaluated data with such, or only whether it holds that data.
    pub(super) fn note_open(&mut self, slot: Slot, dst: Slot, only_data: bool) -> Result<(), Halt> {
        let value = self.read(slot);
        let is_open = !only_data && value.tag() == tag::VARIABLE || is_open_data(self.values, value, self.notes);
        self.frames.put(dst, if is_open { TRUE } else { FALSE })
    }

    /// Gives what a slot holds if the interpreter would not evaluate it, whatever was bound in it since it was resolved.
    pub(super) fn keep_evaluated(&mut self, slot: Slot, dst: Slot, then: Pc) -> Result<(), Halt> {
        let value = self.frames.slot(slot);
        if value.tag() == tag::VARIABLE || is_evaluated_open(self.values, value) {
            self.frames.set_slot(dst, value);
            self.frames.pc = then;
        }
        Ok(())
    }

    /// Gives what a slot holds that was open then, and leaves out its evaluation.
    pub(super) fn keep_open(&mut self, flag: Slot, slot: Slot, dst: Slot) -> Result<(), Halt> {
        if self.read(flag) == TRUE {
            let value = self.read(slot);
            self.frames.set_slot(dst, value);
            self.frames.pc += 1;
        }
        Ok(())
    }

    /// Notes which children of an expression are open.
    pub(super) fn note_open_children(&mut self, value: Ref, length: usize) -> Result<(), Full> {
        let first = self.open_children(value, 0..length.min(IN_A_WORD));
        if length <= IN_A_WORD {
            self.frames.set_slot(HELD, first);
            return Ok(());
        }
        let mut words = vec![first];
        for from in (IN_A_WORD..length).step_by(IN_A_WORD) {
            words.push(self.open_children(value, from..length.min(from + IN_A_WORD)));
        }
        let is_any = words.iter().any(|word| word.payload() != 0);
        let held = if is_any { self.values.heap.expression(&mut self.values.region, &words)? } else { first };
        self.frames.set_slot(HELD, held);
        Ok(())
    }

    /// A bit for each of some children of an expression: whether it is open.
    fn open_children(&self, value: Ref, range: Range<usize>) -> Ref {
        let heap = &self.values.heap;
        let is_open = |index: &usize| {
            let child = heap.walk(heap.child(value, *index));
            child.tag() == tag::VARIABLE || is_open_data(self.values, child, self.notes)
        };
        let from = range.start;
        raw(range.filter(is_open).fold(0, |bits, index| bits | 1 << (index - from)))
    }

    /// Whether a child of the expression at hand was open.
    pub(super) fn is_held(&self, index: usize) -> bool {
        let held = self.frames.slot(HELD);
        let word = match held.is_expression() {
            true => self.values.heap.child(held, index / IN_A_WORD),
            false if index < IN_A_WORD => held,
            false => return false,
        };
        word.payload() >> (index % IN_A_WORD) & 1 == 1
    }
}

/// Whether a value is an expression with variables that came to itself, and none of them is bound.
#[inline]
pub(super) fn is_open_data(values: &Values, value: Ref, notes: Notes) -> bool {
    is_evaluated_open(values, value) && !holds_bound(values, value, notes)
}

/// Whether a value is an expression with variables that came to itself, bound since or not.
#[inline]
pub(super) fn is_evaluated_open(values: &Values, value: Ref) -> bool {
    value.tag() == tag::EXPRESSION && values.heap.note(value) == EVALUATED_OPEN
}
