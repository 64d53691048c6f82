//! The frame of an expression that is evaluated child by child: what is in its slots.

use super::code::Slot;
use region::Ref;

/// Slots of the frame of a tuple that is evaluated child by child.
pub(super) const SHAPE: Slot = 0;
pub(super) const HELD: Slot = 1;
pub(super) const EXPRESSION: Slot = 2;
pub(super) const CHILDREN: Slot = 3;
/// A bit of the length: the children are evaluated to types (`typed.rs`).
pub(super) const TYPED: usize = 1 << 12;

/// The slots of such a frame that hold something while the child that goes to a slot is evaluated.
pub(super) fn slots_of_tuple(child: Slot) -> impl Iterator<Item = Slot> {
    HELD..child
}

/// How many slots a frame has whose `length` children are evaluated to types: behind the children lie their types, the type of the
/// whole, and what is needed to begin the call again.
pub(super) fn slots_of_typed(length: usize) -> usize {
    usize::from(CHILDREN) + 2 * length + 5
}

/// How many slots such a frame has, given the word of its first.
pub(super) fn slots_of_whole_tuple(shape: u32) -> usize {
    let length = (Ref::from_bits(shape).payload() >> 16) as usize;
    if length & TYPED == 0 { usize::from(CHILDREN) + length } else { slots_of_typed(length & !TYPED) }
}
