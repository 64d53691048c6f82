//! Making two values equal.
//!
//! 1. An unbound variable of either side is bound to what faces it.
//! 2. A variable is not bound to something around itself: where that would happen, nothing matches.

use super::Bindings;
use crate::machine::halt::Halt;
use crate::machine::notes::Notes;
use crate::machine::values::Values;
use crate::machine::words::{SYMBOL, TERM, plain};
use region::{Ref, tag};
use space::Met;

/// How two values compare.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::machine) enum Unified {
    Yes,
    No,
    /// One of them is a space, which stands for a query.
    Custom,
}

/// Two expressions of the same length that are gone through side by side.
pub(in crate::machine) struct Pair {
    left: Ref,
    right: Ref,
    length: usize,
    /// The children that come next.
    next: usize,
}

/// How two expressions compare as far as words and variables go.
enum WordComparison {
    Same,
    Different,
    /// Up to these two.
    Others(Ref, Ref),
}

/// What comes after two values were looked at.
enum UnifyStep {
    /// The ones behind them.
    Over,
    /// Their children.
    Into(Pair),
    /// Nothing.
    Out(Unified),
}

impl Bindings {
    /// Makes two values equal, if that can be.
    pub(in crate::machine) fn unify(
        &mut self,
        values: &mut Values,
        notes: Notes,
        left: Ref,
        right: Ref,
    ) -> Result<Unified, Halt> {
        let (left, right) = (values.heap.walk(left), values.heap.walk(right));
        if plain(left) == plain(right) {
            return Ok(Unified::Yes);
        }
        let mut inside = match pair(values, left, right) {
            Some(pair) => pair,
            None => match self.unify_different(values, notes, left, right)? {
                UnifyStep::Into(pair) => pair,
                UnifyStep::Over => return Ok(Unified::Yes),
                UnifyStep::Out(unified) => return Ok(unified),
            },
        };
        match self.unify_words(values, &mut inside) {
            WordComparison::Same => Ok(Unified::Yes),
            WordComparison::Different => Ok(Unified::No),
            WordComparison::Others(left, right) => {
                let mut open = std::mem::take(&mut self.pairs);
                open.clear();
                let unified = self.unify_inside((values, notes), inside, (left, right), &mut open);
                self.pairs = open;
                unified
            }
        }
    }

    /// Goes through two expressions side by side from these two children on, depth first; `open` has the expressions that
    /// it is inside of.
    #[inline(never)]
    fn unify_inside(
        &mut self,
        (values, notes): (&mut Values, Notes),
        mut inside: Pair,
        (mut left, mut right): (Ref, Ref),
        open: &mut Vec<Pair>,
    ) -> Result<Unified, Halt> {
        let mut met = Met::of_fast_walk();
        loop {
            let is_compound = |side: Ref| side.is_expression() || side.tag() == TERM;
            // What was made equal is equal wherever it is met again.
            let is_done = is_compound(left) && is_compound(right) && !met.is_new((plain(left), plain(right)));
            match if is_done { UnifyStep::Over } else { self.unify_different(values, notes, left, right)? } {
                UnifyStep::Over => {}
                UnifyStep::Into(pair) => {
                    // What is complete is not returned to: lists need no memory.
                    if inside.next < inside.length {
                        open.push(inside);
                    }
                    inside = pair;
                }
                UnifyStep::Out(unified) => return Ok(unified),
            }
            (left, right) = loop {
                match self.unify_words(values, &mut inside) {
                    WordComparison::Others(left, right) => break (left, right),
                    WordComparison::Different => return Ok(Unified::No),
                    WordComparison::Same => match open.pop() {
                        Some(around) => inside = around,
                        None => return Ok(Unified::Yes),
                    },
                }
            };
        }
    }

    /// Makes two values equal that are not the same word, bindings followed.
    fn unify_different(&mut self, values: &mut Values, notes: Notes, left: Ref, right: Ref) -> Result<UnifyStep, Halt> {
        match (left.tag() == tag::VARIABLE, right.tag() == tag::VARIABLE) {
            (true, true) => self.unify_variables(values, left, right),
            (true, false) => return Ok(self.unify_variable(values, notes, left, right)),
            (false, true) => return Ok(self.unify_variable(values, notes, right, left)),
            (false, false) => return unify_values(values, left, right),
        }
        Ok(UnifyStep::Over)
    }

    fn unify_variable(&mut self, values: &mut Values, notes: Notes, variable: Ref, value: Ref) -> UnifyStep {
        if value.is_expression() && self.occurs(values, notes, variable, value) {
            return UnifyStep::Out(Unified::No);
        }
        self.bind(values, variable, value);
        UnifyStep::Over
    }

    /// Goes through two expressions side by side as long as that takes nothing but comparing words and binding variables.
    #[inline(always)]
    fn unify_words(&mut self, values: &mut Values, pair: &mut Pair) -> WordComparison {
        for place in pair.next..pair.length {
            let heap = &values.heap;
            let (left, right) = (heap.child(pair.left, place), heap.child(pair.right, place));
            if left == right {
                continue;
            }
            let (left, right) = (heap.walk(left), heap.walk(right));
            if left == right {
                continue;
            }
            match (left.tag(), right.tag()) {
                (tag::VARIABLE, tag::VARIABLE) => self.unify_variables(values, left, right),
                (tag::VARIABLE, _) if !right.is_expression() => self.bind(values, left, right),
                (_, tag::VARIABLE) if !left.is_expression() => self.bind(values, right, left),
                (SYMBOL, SYMBOL | tag::EXPRESSION | tag::MARKED) | (tag::EXPRESSION | tag::MARKED, SYMBOL) => {
                    return WordComparison::Different;
                }
                _ => {
                    pair.next = place + 1;
                    return WordComparison::Others(left, right);
                }
            }
        }
        WordComparison::Same
    }

    /// The younger is bound to the older, and what a rule has made to what the form wrote; of two that the form wrote, the
    /// second to the first.
    #[inline(always)]
    fn unify_variables(&mut self, values: &mut Values, left: Ref, right: Ref) {
        let left_stays = values.is_written(left) || left.payload() < right.payload() && !values.is_written(right);
        if left_stays { self.bind(values, right, left) } else { self.bind(values, left, right) }
    }

    /// Whether a variable occurs in a value.
    pub(in crate::machine) fn occurs(&mut self, values: &Values, notes: Notes, variable: Ref, value: Ref) -> bool {
        if !value.is_expression() || value.tag() == tag::MARKED || notes.hold(values.heap.note(value)) {
            return false;
        }
        let mut work = std::mem::take(&mut self.work);
        work.clear();
        work.push(value);
        let occurs = occurs_in_any(values, notes, variable, &mut work);
        self.work = work;
        occurs
    }
}

fn unify_values(values: &mut Values, left: Ref, right: Ref) -> Result<UnifyStep, Halt> {
    let is_compound = |side: Ref| side.is_expression() || side.tag() == TERM;
    match (is_compound(left), is_compound(right)) {
        (true, true) if plain(left) == plain(right) => Ok(UnifyStep::Over),
        (true, true) => {
            let mut opened = |value: Ref| if value.tag() == TERM { values.open_term(value) } else { Ok(value) };
            let (left, right) = (opened(left)?, opened(right)?);
            let length = values.heap.length(left);
            if length != values.heap.length(right) {
                return Ok(UnifyStep::Out(Unified::No));
            }
            Ok(UnifyStep::Into(Pair { left, right, length, next: 0 }))
        }
        (false, false) if values.equal_leaves(left, right) => Ok(UnifyStep::Over),
        _ => {
            let space = values.space_of(left).or(values.space_of(right));
            Ok(UnifyStep::Out(if space.is_some() { Unified::Custom } else { Unified::No }))
        }
    }
}

fn occurs_in_any(values: &Values, notes: Notes, variable: Ref, work: &mut Vec<Ref>) -> bool {
    let mut met = Met::default();
    while let Some(expression) = work.pop() {
        for &child in values.heap.children(expression) {
            let child = values.heap.walk(child);
            if child == variable {
                return true;
            }
            let may_hold = child.tag() == tag::EXPRESSION && !notes.hold(values.heap.note(child));
            if may_hold && met.is_new(child) {
                work.push(child);
            }
        }
    }
    false
}

/// Two expressions of the same length.
#[inline]
fn pair(values: &Values, left: Ref, right: Ref) -> Option<Pair> {
    if !left.is_expression() || !right.is_expression() {
        return None;
    }
    let length = values.heap.length(left);
    (length == values.heap.length(right)).then_some(Pair { left, right, length, next: 0 })
}
