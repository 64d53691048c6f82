//! Expressions in which no variable is bound.
//!
//! Data with variables that grows step by step is looked into at each step, to find out whether something in it was bound. What was found
//! to hold unbound variables only does so until the next variable is bound, so the last of it is remembered, with the count of all that
//! was ever bound: then each step looks at what is new.

use super::words::EMPTY;
use region::Ref;
use std::cell::Cell;

/// How many expressions are remembered.
pub(super) const REMEMBERED: usize = 64;

#[derive(Clone, Copy)]
struct Remembered {
    expression: Ref,
    /// How often a variable had been bound.
    binds: u64,
    has_variables: bool,
}

const NOTHING: Remembered = Remembered { expression: EMPTY, binds: 0, has_variables: false };

/// The last expressions of the heap in which nothing was bound.
pub(super) struct OpenData {
    known: [Cell<Remembered>; REMEMBERED],
    /// How often a variable was bound; 0 is never, so what is remembered under it is nothing.
    binds: u64,
    /// Room for the expressions that are still to be looked into.
    room: Cell<Vec<Ref>>,
}

impl Default for OpenData {
    fn default() -> Self {
        Self { known: std::array::from_fn(|_| Cell::new(NOTHING)), binds: 1, room: Cell::default() }
    }
}

impl OpenData {
    /// Whether variables are in an expression, if it is remembered that none of them is bound.
    #[inline]
    pub(super) fn of(&self, expression: Ref) -> Option<bool> {
        let known = self.known[Self::place(expression)].get();
        (known.expression == expression && known.binds == self.binds).then_some(known.has_variables)
    }

    /// Nothing was found to be bound in an expression; whether there are variables.
    pub(super) fn note(&self, expression: Ref, has_variables: bool) {
        self.known[Self::place(expression)].set(Remembered { expression, binds: self.binds, has_variables });
    }

    /// Looks into an expression, with room for what is in it.
    pub(super) fn look_into<R>(&self, expression: Ref, look: impl FnOnce(&mut Vec<Ref>) -> R) -> R {
        let mut work = self.room.take();
        work.clear();
        work.push(expression);
        let found = look(&mut work);
        self.room.set(work);
        found
    }

    /// How often a variable was bound. What holds as long as nothing is bound does so as long as this stays.
    #[inline]
    pub(super) fn binds(&self) -> u64 {
        self.binds
    }

    /// To be called when a variable is bound, and when memory of the heap is given back: something else may lie there
    /// soon.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.binds += 1;
    }

    pub(super) fn place(expression: Ref) -> usize {
        expression.payload() as usize % REMEMBERED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use region::tag;

    #[test]
    fn what_is_remembered_holds_until_something_is_bound() {
        let mut open = OpenData::default();
        let [one, other] = [2, 2 + REMEMBERED as u32].map(|place| Ref::new(tag::EXPRESSION, place));
        assert_eq!(open.of(one), None);
        open.note(one, true);
        assert_eq!([open.of(one), open.of(other)], [Some(true), None]);
        open.forget();
        assert_eq!(open.of(one), None);
        open.note(one, true);
        open.note(other, false);
        assert_eq!([open.of(one), open.of(other)], [None, Some(false)]);
    }
}
