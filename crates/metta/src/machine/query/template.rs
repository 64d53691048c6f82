//! The template of a query beside its answers: whether what it comes to is seen without evaluating it.
//!
//! A template that is data around values in normal form is its own result, for each answer.

use super::QueryRoom;
use crate::machine::code::Slot;
use crate::machine::normal_terms::Makes;
use crate::machine::values::Values;
use crate::machine::words::{EMPTY, ERROR, FOREIGN, NOT_REDUCIBLE, TERM};
use crate::machine::{Halt, Running};
use crate::names;
use region::Ref;
use region::tag;
use space::{NO_TERM, Term};

/// The template of a query whose answers were found.
pub(super) struct Template<'a, 'r> {
    pub(super) run: &'a mut Running<'r>,
    pub(super) query: u32,
    pub(super) room: &'a QueryRoom,
}

impl<'a, 'r> Template<'a, 'r> {
    pub(super) fn new(run: &'a mut Running<'r>, query: u32, room: &'a QueryRoom) -> Self {
        Self { run, query, room }
    }

    /// Whether it comes to itself for each answer that was found.
    pub(super) fn comes_to_itself(&mut self) -> Result<bool, Halt> {
        let Some(template) = &self.run.m.code.queries[self.query as usize].template_data else { return Ok(false) };
        let count = template.slots.len();
        for place in 0..count {
            let template = self.run.m.code.queries[self.query as usize].template_data.as_ref();
            let (slot, arity) = template.expect("it is there").slots[place];
            let is_own = match self.column_of(slot) {
                Some(column) => self.is_own_column(column, arity)?,
                None => self.is_normal_value(slot, arity)?,
            };
            if !is_own {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether each term of a column of answers comes to itself where it is a result.
    fn is_own_column(&mut self, column: usize, arity: Option<usize>) -> Result<bool, Halt> {
        let Some(differing) = self.room.executor.answers().grouped_variables() else {
            let answers = self.room.executor.answers();
            return self.are_own(answers.count(), answers.column(column), arity);
        };
        let different = || self.room.executor.answers().different_others().flatten();
        match differing.iter().position(|&variable| variable as usize == column) {
            Some(place) => {
                let count = different().count() / differing.len();
                self.are_own(count, different().skip(place).step_by(differing.len()).copied(), arity)
            }
            None => {
                let count = self.room.executor.answers().groups().count();
                self.are_own(count, self.room.executor.answers().groups().map(|group| group.common[column]), arity)
            }
        }
    }

    /// Whether each of about `count` terms comes to itself where it is a result.
    fn are_own(&mut self, count: usize, terms: impl Iterator<Item = Term>, arity: Option<usize>) -> Result<bool, Halt> {
        let mut known = TermSet::for_answers(count);
        let mut last = NO_TERM;
        for term in terms {
            // Sorted and grouped answers have long runs of one value.
            if term == last && term != NO_TERM {
                continue;
            }
            if term == NO_TERM || (!known.has(term) && !self.is_its_own_result(term, arity)?) {
                return Ok(false);
            }
            known.insert(term);
            last = term;
        }
        Ok(true)
    }

    /// Which term of each answer is the value of a slot, if one is.
    pub(super) fn column_of(&self, slot: Slot) -> Option<usize> {
        let fresh = &self.run.m.code.queries[self.query as usize].fresh;
        let column = fresh.iter().position(|&(fresh, _)| fresh == slot);
        column.or_else(|| {
            let value = self.run.m.read(slot);
            let outer = self.room.outer().iter().position(|&variable| variable == value);
            outer.map(|outer| fresh.len() + outer)
        })
    }

    /// Whether a slot holds a value from outside that comes to itself, and makes data of `arity` arguments if it is a head.
    fn is_normal_value(&mut self, slot: Slot, arity: Option<usize>) -> Result<bool, Halt> {
        let value = self.run.m.read(slot);
        if value.tag() == tag::VARIABLE {
            return Ok(arity.is_none());
        }
        let is_normal = self.run.m.normal(value, 0).is_some_and(|normal| normal != EMPTY && normal != NOT_REDUCIBLE);
        Ok(is_normal
            && self.run.m.values.is_ground(value, self.run.m.types.notes)
            && self.makes_data_if_head(value, arity)?)
    }

    fn makes_data_if_head(&mut self, value: Ref, arity: Option<usize>) -> Result<bool, Halt> {
        match arity {
            None => Ok(true),
            Some(_) if value == ERROR => Ok(false),
            Some(arity) => Ok(self.run.makes(value, arity)? == Makes::Data),
        }
    }

    /// Whether a term comes to itself where it is a result, as rules stand, and makes data of `arity` arguments if it is a head.
    fn is_its_own_result(&mut self, term: Term, arity: Option<usize>) -> Result<bool, Halt> {
        let is_own = match is_own_leaf(&self.run.m.values, term) {
            Some(is_own) => is_own,
            None => match self.run.m.values.load_term(term)? {
                value if value.tag() == TERM => self.run.settles(value)?,
                _ => false,
            },
        };
        if !is_own || arity.is_none() {
            return Ok(is_own);
        }
        let value = self.run.m.values.load_term(term)?;
        self.makes_data_if_head(value, arity)
    }

    /// Whether each value of the template that no column holds is there as it is: no variable.
    pub(super) fn is_bound(&self) -> bool {
        let Some(template) = &self.run.m.code.queries[self.query as usize].template_data else { return false };
        template.slots.iter().all(|&(slot, _)| {
            self.column_of(slot).is_some() || self.run.m.values.heap.walk(self.run.m.read(slot)).tag() != tag::VARIABLE
        })
    }
}

/// Terms that were looked at, as bits by their numbers: those whose numbers are not far above how many answers there are, so that its memory
/// and the time to clear it are a part of that of the answers. Of other terms it has none.
struct TermSet {
    bits: Vec<u64>,
}

/// How many bits there are for each answer.
const BITS_PER_ANSWER: usize = 8;

impl TermSet {
    fn for_answers(count: usize) -> Self {
        Self { bits: vec![0; count * BITS_PER_ANSWER / u64::BITS as usize] }
    }

    fn place(term: Term) -> (usize, u64) {
        let number = term.number();
        ((number / u64::BITS) as usize, 1 << (number % u64::BITS))
    }

    #[inline]
    fn has(&self, term: Term) -> bool {
        let (word, bit) = Self::place(term);
        self.bits.get(word).is_some_and(|bits| bits & bit != 0)
    }

    #[inline]
    fn insert(&mut self, term: Term) {
        let (word, bit) = Self::place(term);
        if let Some(bits) = self.bits.get_mut(word) {
            *bits |= bit;
        }
    }
}

/// Whether a term is a leaf that comes to itself where it is a result; `None` if it is a compound.
fn is_own_leaf(values: &Values, term: Term) -> Option<bool> {
    if let Some(known) = values.known_term(term).filter(|known| ![TERM, FOREIGN].contains(&known.tag())) {
        return Some(known != EMPTY && known != NOT_REDUCIBLE);
    }
    let terms = values.terms.read().expect("no panic while terms are locked");
    if terms.children(term).is_some_and(|children| !children.is_empty()) {
        return None;
    }
    let atom = terms.atom(term);
    Some(!atom.is_symbol(names::EMPTY) && !atom.is_symbol(names::NOT_REDUCIBLE))
}
