//! The terms of what was interned last.

use super::words::EMPTY;
use region::Ref;
use space::{NO_TERM, Term};

/// How many expressions are remembered with their terms.
const REMEMBERED: usize = 64;

/// The terms of expressions of the heap that were interned last. What grows step by step is stored again at each step, with all
/// that was stored before inside of it.
///
/// They hold no variable and are never written again, so this holds until the heap gives memory back.
pub(super) struct Interned {
    pub(super) pairs: [(Ref, Term); REMEMBERED],
    /// Whether nothing of that holds any more.
    pub(super) is_over: bool,
    /// Room for what is being interned.
    pub(super) room: (Vec<Opened>, Vec<Term>),
}

impl Default for Interned {
    fn default() -> Self {
        Self { pairs: [(EMPTY, NO_TERM); REMEMBERED], is_over: false, room: Default::default() }
    }
}

impl Interned {
    #[inline]
    pub(super) fn term(&self, expression: Ref) -> Option<Term> {
        let expression = expression.unmarked();
        let (known, term) = self.pairs[Self::place(expression)];
        (known == expression && !self.is_over).then_some(term)
    }

    pub(super) fn keep(&mut self, expression: Ref, term: Term) {
        if self.is_over {
            self.pairs = Self::default().pairs;
            self.is_over = false;
        }
        let expression = expression.unmarked();
        self.pairs[Self::place(expression)] = (expression, term);
    }

    /// To be called when memory of the heap is given back: something else may lie there soon.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.is_over = true;
    }

    pub(super) fn place(expression: Ref) -> usize {
        expression.payload() as usize % REMEMBERED
    }
}

/// An expression that is being interned.
pub(super) struct Opened {
    pub(super) expression: Ref,
    /// Where its children begin among those that are done.
    pub(super) from: usize,
    /// Whether no variable was met, bound or not.
    pub(super) is_ground: bool,
}
