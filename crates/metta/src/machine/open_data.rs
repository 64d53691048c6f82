//! Expressions that hold variables, none of which is bound: what counts as evaluated without a mark.
//!
//! Data with variables that grows step by step is looked into at each step, to find out whether something in it was bound. What was found
//! to hold unbound variables only does so until the next variable is bound, so the last of it is remembered, with the count of all that
//! was ever bound: then each step looks at what is new.

use super::words::EMPTY;
use region::Ref;
use std::cell::Cell;

/// How many expressions are remembered.
const REMEMBERED: usize = 64;

/// The last expressions of the heap in which nothing was bound.
pub(super) struct OpenData {
    known: [Cell<(Ref, u64)>; REMEMBERED],
    /// How often a variable was bound; 0 is never, so what is remembered under it is nothing.
    binds: u64,
}

impl OpenData {
    pub(super) fn new() -> Self {
        Self { known: std::array::from_fn(|_| Cell::new((EMPTY, 0))), binds: 1 }
    }

    /// Whether nothing is bound in an expression, as far as is remembered.
    #[inline]
    pub(super) fn holds(&self, expression: Ref) -> bool {
        self.known[Self::place(expression)].get() == (expression, self.binds)
    }

    /// Nothing was found to be bound in an expression.
    pub(super) fn note(&self, expression: Ref) {
        self.known[Self::place(expression)].set((expression, self.binds));
    }

    /// To be called when a variable is bound, and when memory of the heap is given back: something else may lie there soon.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.binds += 1;
    }

    fn place(expression: Ref) -> usize {
        expression.payload() as usize % REMEMBERED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use region::tag;

    #[test]
    fn what_is_remembered_holds_until_something_is_bound() {
        let mut open = OpenData::new();
        let [one, other] = [2, 2 + REMEMBERED as u32].map(|place| Ref::new(tag::EXPRESSION, place));
        assert!(!open.holds(one));
        open.note(one);
        assert!(open.holds(one) && !open.holds(other));
        open.forget();
        assert!(!open.holds(one));
        open.note(one);
        open.note(other);
        assert!(!open.holds(one) && open.holds(other));
    }
}
