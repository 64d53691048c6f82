//! Variables that an earlier part of the same expression binds.
//!
//! 1. An unbound variable is its own result. In the interpreter it stays that if a part of the expression that is evaluated
//!    later, or was evaluated before it, binds it: what it stands for is not evaluated as that part.
//! 2. Code notes with `note-unbound` what is unbound when an expression begins, and asks with `keep-unbound` when its turn comes. What is
//!    evaluated without code has a slot with a bit for each child, or an expression of such words.

use super::Halt;
use super::code::Slot;
use super::slots::Slots;
use super::tuple_frame::HELD;
use super::words::{FALSE, TRUE, raw};
use region::{Full, Ref, tag};
use std::ops::Range;

/// How many children have their bits in one word.
const IN_A_WORD: usize = 24;

impl Slots<'_> {
    /// Notes whether a slot holds an unbound variable.
    pub(super) fn note_unbound(&mut self, slot: Slot, dst: Slot) -> Result<(), Halt> {
        let is_unbound = self.read(slot).tag() == tag::VARIABLE;
        self.frames.put(dst, if is_unbound { TRUE } else { FALSE })
    }

    /// Gives what a variable stands for that was unbound then, and leaves out its evaluation.
    pub(super) fn keep_unbound(&mut self, flag: Slot, slot: Slot, dst: Slot) -> Result<(), Halt> {
        if self.read(flag) == TRUE {
            let value = self.read(slot);
            self.frames.set_slot(dst, value);
            self.frames.pc += 1;
        }
        Ok(())
    }

    /// Notes which children of an expression are unbound variables.
    pub(super) fn note_unbound_children(&mut self, value: Ref, length: usize) -> Result<(), Full> {
        let first = self.unbound_children(value, 0..length.min(IN_A_WORD));
        if length <= IN_A_WORD {
            self.frames.set_slot(HELD, first);
            return Ok(());
        }
        let mut words = vec![first];
        for from in (IN_A_WORD..length).step_by(IN_A_WORD) {
            words.push(self.unbound_children(value, from..length.min(from + IN_A_WORD)));
        }
        let is_any = words.iter().any(|word| word.payload() != 0);
        let held = if is_any { self.values.heap.expression(&mut self.values.region, &words)? } else { first };
        self.frames.set_slot(HELD, held);
        Ok(())
    }

    /// A bit for each of some children of an expression: whether it is an unbound variable.
    fn unbound_children(&self, value: Ref, range: Range<usize>) -> Ref {
        let heap = &self.values.heap;
        let is_unbound = |index: &usize| heap.walk(heap.child(value, *index)).tag() == tag::VARIABLE;
        let from = range.start;
        raw(range.filter(is_unbound).fold(0, |bits, index| bits | 1 << (index - from)))
    }

    /// Whether a child of the expression at hand was an unbound variable.
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
