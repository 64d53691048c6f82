//! Large data on its way between the heap and atoms: what states hold, and what native functions are called on.
//!
//! The last of it is remembered with the atom that it was made from or became. So what is put into a state and taken out again, with
//! something around it each time, goes one step each way, and keeps what is known of it.
//!
//! What is remembered holds no variable and is never written again, so it is the same until the heap gives memory back.

use region::{Heap, Ref, tag};
use space::{Atom, Expression};

use super::words::{CHANGED_DATA, EVALUATED_OPEN};

/// How much is remembered.
const KEPT_MAX: usize = 4;

/// What has fewer expressions in it is made again in no time. What is remembered counts as this many.
pub(super) const LARGE: usize = 16;

/// The last large data.
#[derive(Default)]
pub(super) struct Kept {
    pairs: Vec<(Ref, Atom)>,
    /// Which is forgotten for the next one.
    oldest: usize,
}

impl Kept {
    /// Whether nothing is remembered.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The atom of an expression of the heap, marked as evaluated if that is.
    pub(super) fn atom(&self, expression: Ref) -> Option<Atom> {
        let (known, atom) = self.pairs.iter().find(|(known, _)| known.unmarked() == expression.unmarked())?;
        match (known.tag(), expression.tag(), atom.clone()) {
            (tag::EXPRESSION, tag::MARKED, Atom::Expression(atom)) => Some(atom.into_evaluated().into()),
            (tag::MARKED, tag::EXPRESSION, _) => None,
            (.., atom) => Some(atom),
        }
    }

    /// The expression of the heap that an atom is, which counts as evaluated if the atom does.
    pub(super) fn reference(&self, expression: &Expression) -> Option<Ref> {
        let is_same = |known: &Atom| match known {
            Atom::Expression(known) => {
                known.shares_storage(expression) && known.is_evaluated() == expression.is_evaluated()
            }
            _ => false,
        };
        self.pairs.iter().find(|(_, known)| is_same(known)).map(|(reference, _)| *reference)
    }

    /// Remembers an atom that has `expressions` expressions in it, with its reference.
    pub(super) fn keep(&mut self, reference: Ref, atom: &Atom, expressions: usize) {
        if expressions < LARGE {
            return;
        }
        if self.pairs.len() < KEPT_MAX {
            self.pairs.push((reference, atom.clone()));
        } else {
            self.pairs[self.oldest] = (reference, atom.clone());
            self.oldest = (self.oldest + 1) % KEPT_MAX;
        }
    }

    /// To be called when memory of the heap is given back: something else may lie there soon.
    #[inline]
    pub(super) fn forget(&mut self) {
        if !self.pairs.is_empty() {
            self.pairs.clear();
            self.oldest = 0;
        }
    }
}

/// Whether it is plain to see that an expression holds no variable: it is marked, or was once noted as in normal form.
pub(super) fn is_plainly_ground(heap: &Heap, expression: Ref) -> bool {
    expression.tag() == tag::MARKED
        || expression.tag() == tag::EXPRESSION && ![0, EVALUATED_OPEN, CHANGED_DATA].contains(&heap.note(expression))
}
