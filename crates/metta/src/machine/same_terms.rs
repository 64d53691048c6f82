//! Evaluated expressions that were found to be the same as interned ones.

use super::words::{EMPTY, TERM, plain};
use region::{Ref, tag};

/// How many pairs are remembered that were found to be the same.
const REMEMBERED: usize = 64;

/// Evaluated expressions that were found to be the same as interned ones. What is nested deep comes to itself level by level, and
/// each level is compared with what it was: what lies inside it was compared just before.
///
/// What is marked is ground and never written again, so this holds until the heap gives memory back.
pub(super) struct SameTerms {
    pairs: [(Ref, Ref); REMEMBERED],
    /// Whether nothing of that holds any more.
    is_over: bool,
}

impl SameTerms {
    pub(super) fn new() -> Self {
        Self { pairs: [(EMPTY, EMPTY); REMEMBERED], is_over: false }
    }

    pub(super) fn holds(&self, left: Ref, right: Ref) -> bool {
        !self.is_over && self.pairs[Self::place(left)] == (left, plain(right))
    }

    pub(super) fn note(&mut self, left: Ref, right: Ref) {
        if left.tag() != tag::MARKED || right.tag() != TERM {
            return;
        }
        if self.is_over {
            *self = Self::new();
        }
        self.pairs[Self::place(left)] = (left, plain(right));
    }

    /// To be called when memory of the heap is given back: something else may lie there soon.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.is_over = true;
    }

    /// Expressions take a cell at least.
    fn place(left: Ref) -> usize {
        left.payload() as usize % REMEMBERED
    }
}
