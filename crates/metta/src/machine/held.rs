//! Variables that an earlier part of the same expression binds.
//!
//! 1. An unbound variable is its own result. In the interpreter it stays that if a part of the expression that is evaluated
//!    later, or was evaluated before it, binds it: what it stands for is not evaluated as that part.
//! 2. Code notes with `hold` what is unbound when an expression begins, and asks with `held` when its turn comes. What is
//!    evaluated without code has a slot with a bit for each of the first children.

use super::Running;
use super::code::Slot;
use super::evaluate::HELD;
use super::run::raw;
use super::values::{FALSE, TRUE};
use region::{Ref, tag};

/// Of so many children it is known.
const CHILDREN_MAX: usize = 24;

impl Running<'_> {
    /// Notes whether a slot holds an unbound variable.
    pub(super) fn hold(&mut self, slot: Slot, dst: Slot) {
        let is_unbound = self.m.read(slot).tag() == tag::VARIABLE;
        self.m.set_slot(dst, if is_unbound { TRUE } else { FALSE });
    }

    /// Gives what a variable stands for that was unbound then, and leaves out its evaluation.
    pub(super) fn held(&mut self, flag: Slot, slot: Slot, dst: Slot) {
        if self.m.read(flag) == TRUE {
            let value = self.m.read(slot);
            self.m.set_slot(dst, value);
            self.m.pc += 1;
        }
    }

    /// Notes which children of an expression are unbound variables.
    pub(super) fn hold_children(&mut self, value: Ref, length: usize) {
        let heap = &self.m.values.heap;
        let is_unbound = |index: &usize| heap.walk(heap.child(value, *index)).tag() == tag::VARIABLE;
        let bits = (0..length.min(CHILDREN_MAX)).filter(is_unbound).fold(0, |bits, index| bits | 1 << index);
        self.m.set_slot(HELD, raw(bits));
    }

    /// Whether a child of the expression at hand was an unbound variable.
    pub(super) fn is_held(&self, index: usize) -> bool {
        index < CHILDREN_MAX && self.m.slot(HELD).payload() >> index & 1 == 1
    }
}
