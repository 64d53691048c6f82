//! Large data on its way between the heap and atoms: what states hold, and what native functions are called on.
//!
//! It is remembered with the atom that it was made from or became, and so are the large parts of it. So what is put into a state and taken
//! out again with something around it each time, or what a native function takes and gives back with a few parts exchanged, goes the way of
//! what is new.
//!
//! What is remembered holds no variable and is never written again, so it is the same until the heap gives memory back.

use region::{Heap, Ref, tag};
use rustc_hash::FxHashMap;
use space::{Atom, Expression};

use crate::machine::words::{CHANGED_DATA, EVALUATED_OPEN};

/// What has fewer expressions in it is made again in no time. What is remembered counts as this many.
const LARGE: usize = 16;

/// Everything is forgotten once this many words were remembered, or a few times as many as the largest data has.
const WORDS_MIN: usize = 1 << 18;
const TIMES_THE_LARGEST: usize = 4;

/// What an expression has in it, as far as it was walked into.
#[derive(Clone, Copy, Default)]
pub(in crate::machine) struct Size {
    expressions: usize,
    words: usize,
}

impl Size {
    /// That of an expression with this number of children, without what is in them.
    pub(in crate::machine) fn of_one(children: usize) -> Self {
        Self { expressions: 1, words: children }
    }

    /// That of what is remembered, or of what was met before in the same walk.
    pub(in crate::machine) const KNOWN: Self = Self { expressions: LARGE, words: 0 };

    pub(in crate::machine) fn add(&mut self, other: Self) {
        self.expressions = self.expressions.saturating_add(other.expressions);
        self.words = self.words.saturating_add(other.words);
    }
}

/// Large data of which both forms are known.
#[derive(Default)]
pub(in crate::machine) struct Kept {
    pairs: Vec<(Ref, Atom)>,
    /// The last pair of each expression of the heap, marked or not.
    by_reference: FxHashMap<Ref, usize>,
    /// The last pair of each expression, by where it lies and whether it is marked.
    by_place: FxHashMap<usize, usize>,
    words: usize,
    most: usize,
}

fn place_of(expression: &Expression) -> usize {
    expression.place() | usize::from(expression.is_evaluated())
}

impl Kept {
    /// The atom of an expression of the heap, marked as evaluated if that is.
    #[inline]
    pub(in crate::machine) fn atom(&self, expression: Ref) -> Option<Atom> {
        if self.pairs.is_empty() {
            return None;
        }
        let (known, atom) = &self.pairs[*self.by_reference.get(&expression.unmarked())?];
        match (known.tag(), expression.tag(), atom.clone()) {
            (tag::EXPRESSION, tag::MARKED, Atom::Expression(atom)) => Some(atom.into_evaluated().into()),
            (tag::MARKED, tag::EXPRESSION, _) => None,
            (.., atom) => Some(atom),
        }
    }

    /// The expression of the heap that an atom is, which counts as evaluated if the atom does.
    #[inline]
    pub(in crate::machine) fn reference(&self, expression: &Expression) -> Option<Ref> {
        if self.pairs.is_empty() {
            return None;
        }
        self.by_place.get(&place_of(expression)).map(|&pair| self.pairs[pair].0)
    }

    /// Remembers an expression of this size with its reference, if it is large.
    #[inline]
    pub(in crate::machine) fn keep(&mut self, reference: Ref, expression: &Expression, size: Size) {
        if size.expressions >= LARGE {
            self.keep_large(reference, expression, size);
        }
    }

    fn keep_large(&mut self, reference: Ref, expression: &Expression, size: Size) {
        self.most = self.most.max(size.words);
        self.words += expression.len();
        if self.words > WORDS_MIN.max(self.most.saturating_mul(TIMES_THE_LARGEST)) {
            let most = self.most;
            *self = Self { words: expression.len(), most, ..Self::default() };
        }
        let pair = self.pairs.len();
        self.pairs.push((reference, expression.clone().into()));
        self.by_reference.insert(reference.unmarked(), pair);
        self.by_place.insert(place_of(expression), pair);
    }

    /// To be called when memory of the heap is given back: something else may lie there soon.
    #[inline]
    pub(in crate::machine) fn forget(&mut self) {
        if !self.pairs.is_empty() {
            *self = Self::default();
        }
    }
}

/// Whether it is plain to see that an expression holds no variable: it is marked, or was once noted as in normal form.
pub(in crate::machine) fn is_plainly_ground(heap: &Heap, expression: Ref) -> bool {
    expression.tag() == tag::MARKED
        || expression.tag() == tag::EXPRESSION && ![0, EVALUATED_OPEN, CHANGED_DATA].contains(&heap.note(expression))
}
