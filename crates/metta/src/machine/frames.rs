//! The frames of the machine: its stack, and where it is in the code.

use super::code::{Pc, TypeId};
use region::Ref;

/// Words that the stack begins with.
const STACK_BEGIN: usize = 1 << 12;
/// Words that it grows by at least.
const GROWTH_MIN: usize = 1 << 14;

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
    /// Words that the limit of memory has left for it, when it was looked at last.
    pub(super) words_left: usize,
}

impl Frames {
    pub(super) fn new(acc: Ref) -> Self {
        Self { stack: vec![0; STACK_BEGIN], base: 0, pc: 0, acc, pending: None, stack_max: 0, words_left: usize::MAX }
    }

    /// Lets the stack have this many words, and as many again as the limits leave: it is written to at once.
    pub(super) fn grow_to(&mut self, needed: usize) {
        let more = needed.min(self.words_left).max(GROWTH_MIN);
        self.stack.resize(needed.saturating_add(more).min(self.stack_max).max(needed), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_grows_by_what_a_limit_leaves() {
        let mut frames = Frames::new(Ref::from_bits(0));
        frames.stack_max = usize::MAX;
        frames.grow_to(1 << 20);
        assert_eq!(frames.stack.len(), 2 << 20, "by as much again without a limit");
        frames.words_left = 1 << 18;
        frames.grow_to(3 << 20);
        assert_eq!(frames.stack.len(), (3 << 20) + (1 << 18));
        frames.words_left = 0;
        frames.grow_to(4 << 20);
        assert_eq!(frames.stack.len(), (4 << 20) + GROWTH_MIN);
        frames.stack_max = (4 << 20) + GROWTH_MIN + 1;
        frames.grow_to(frames.stack_max);
        assert_eq!(frames.stack.len(), frames.stack_max, "never by more than a stack may have");
    }
}
