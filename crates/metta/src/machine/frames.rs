//! The frames of the machine: its stack, and where it is in the code.

use super::code::{Pc, TypeId};
use region::Ref;

/// Words that the stack begins with.
const STACK_BEGIN: usize = 1 << 12;

/// The frames, and what the frame at hand is about to do.
pub(super) struct Frames {
    pub(super) stack: Vec<u32>,
    /// Where the frame at hand begins.
    pub(super) base: usize,
    pub(super) pc: Pc,
    /// The result that came last.
    pub(super) acc: Ref,
    /// A child that is to be evaluated next, as the result of the frame at hand.
    pub(super) pending: Option<(Ref, TypeId)>,
    /// Words that the stack may have.
    pub(super) stack_max: usize,
}

impl Frames {
    pub(super) fn new(acc: Ref) -> Self {
        Self { stack: vec![0; STACK_BEGIN], base: 0, pc: 0, acc, pending: None, stack_max: 0 }
    }
}
