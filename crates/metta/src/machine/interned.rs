//! The terms of what was interned last.

use super::words::EMPTY;
use region::Ref;
use space::{NO_TERM, Term};

/// How many expressions are remembered with their terms: enough that what a search has in hand outlasts the smaller branches of it.
const REMEMBERED: usize = 1 << 10;

/// The terms of expressions of the heap that were interned last. What grows step by step is stored again at each step, with all
/// that was stored before inside of it.
///
/// They hold no variable and are never written again, so this holds until the heap gives memory back.
pub(super) struct Interned {
    remembered: Box<[Remembered]>,
    /// What was remembered in another generation holds no more.
    generation: u32,
    /// Whether nothing of that holds any more.
    is_over: bool,
    /// Room for what is being interned.
    pub(super) room: (Vec<Opened>, Vec<Term>),
}

/// An expression with its term.
#[derive(Clone, Copy)]
struct Remembered {
    expression: Ref,
    term: Term,
    generation: u32,
}

impl Default for Interned {
    fn default() -> Self {
        let none = Remembered { expression: EMPTY, term: NO_TERM, generation: 0 };
        Self { remembered: vec![none; REMEMBERED].into(), generation: 0, is_over: false, room: Default::default() }
    }
}

impl Interned {
    #[inline]
    pub(super) fn term(&self, expression: Ref) -> Option<Term> {
        let sought = expression.unmarked();
        let Remembered { expression, term, generation } = self.remembered[Self::place(sought)];
        (expression == sought && generation == self.generation && !self.is_over).then_some(term)
    }

    pub(super) fn keep(&mut self, expression: Ref, term: Term) {
        if self.is_over {
            self.begin_generation();
        }
        let expression = expression.unmarked();
        self.remembered[Self::place(expression)] = Remembered { expression, term, generation: self.generation };
    }

    fn begin_generation(&mut self) {
        self.is_over = false;
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            *self = Self { room: std::mem::take(&mut self.room), ..Self::default() };
        }
    }

    /// To be called when memory of the heap is given back: something else may lie there soon.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.is_over = true;
    }

    fn place(expression: Ref) -> usize {
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
