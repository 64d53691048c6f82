//! A plan that is kept with a query whose patterns have *slots*, which hold something else each time that it is asked.
//!
//! 1. What has a match key in a slot is a parameter of the plan. If a slot holds a variable where it held a key, or the other way
//!    round, the patterns are written again. Where that is done each time, plans do not pay.
//! 2. Where rows alone do not answer the query they mostly do not the next time: for a while they are not asked.

use super::pattern::{NO_TERM, PatternPart};
use super::plan::Plan;
use crate::term::Term;

/// How often rows are not asked after they did not answer.
const RESTS: u8 = 15;

/// After how many plans in a row that did not serve again something else than a plan is worth making.
const REWRITTEN_MIN: u8 = 2;

/// What a slot of a pattern holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotValue {
    /// Something that has this match key.
    Key(Term),
    /// A variable from outside, by its number.
    Variable(u32),
    /// Something else, for which patterns are always written again.
    Other,
}

/// A plan, and what its slots held when it was written.
#[derive(Default)]
pub struct KeptPlan {
    /// The plan.
    pub plan: Plan,
    /// The variable from outside that each slot held, or none: then its key is a parameter.
    slots: Vec<Option<u32>>,
    serves_again: bool,
    /// Whether something in a pattern was never interned.
    lacks_key: bool,
    /// How many times more rows are not asked.
    rests: u8,
    /// How often in a row the patterns were written again.
    rewritten: u8,
}

impl KeptPlan {
    /// Whether the plan serves for what its slots hold now, whose keys are put with the parameters; if not, its patterns are to be written.
    #[inline]
    pub fn serves(&mut self, values: impl Iterator<Item = SlotValue>, parameters: &mut Vec<Term>) -> bool {
        parameters.clear();
        let serves = self.serves_again && self.are_as_before(values, parameters);
        self.rewritten = if serves { 0 } else { self.rewritten.saturating_add(1) };
        serves
    }

    fn are_as_before(&self, mut values: impl Iterator<Item = SlotValue>, parameters: &mut Vec<Term>) -> bool {
        let mut before = self.slots.iter();
        values.all(|value| match (value, before.next()) {
            (SlotValue::Key(key), Some(None)) => {
                parameters.push(key);
                true
            }
            (SlotValue::Variable(number), Some(&Some(before))) => number == before,
            _ => false,
        })
    }

    /// Takes everything out, to write other patterns.
    pub fn begin(&mut self) {
        self.plan.clear();
        self.slots.clear();
        (self.serves_again, self.lacks_key) = (true, false);
    }

    /// Adds what is known whatever slots hold. What was never interned may be later: then the plan serves once.
    pub fn push_key(&mut self, key: Term) {
        self.lacks_key |= key == NO_TERM;
        self.serves_again &= key != NO_TERM;
        self.plan.push(PatternPart::Key(key));
    }

    /// Adds what a slot holds: a key, which is put with the parameters, or a variable, numbered from `first_outer` on.
    /// Something else is added in parts, so the plan serves once.
    pub fn push_slot(&mut self, value: SlotValue, first_outer: u32, parameters: &mut Vec<Term>) {
        match value {
            SlotValue::Key(key) => {
                self.plan.push(PatternPart::Parameter(parameters.len() as u32));
                parameters.push(key);
                self.slots.push(None);
            }
            SlotValue::Variable(number) => {
                self.plan.push(PatternPart::Variable(first_outer + number));
                self.slots.push(Some(number));
            }
            SlotValue::Other => self.serve_once(),
        }
    }

    /// The patterns are written again the next time.
    pub fn serve_once(&mut self) {
        self.serves_again = false;
    }

    /// Rows alone did not answer. Unless something was never interned, which may change with the next fact, they are not asked for a while.
    pub fn put_off(&mut self) {
        if !self.lacks_key {
            self.rests = RESTS;
        }
    }

    /// Whether rows are not asked; this is one of the times that was put off.
    #[inline]
    pub fn rests(&mut self) -> bool {
        let rests = self.rests > 0;
        self.rests = self.rests.saturating_sub(1);
        rests
    }

    /// Whether rows would not be asked now.
    pub fn is_put_off(&self) -> bool {
        self.rests > 0
    }

    /// Whether the patterns are written again and again.
    pub fn is_rewritten_often(&self) -> bool {
        self.rewritten >= REWRITTEN_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_serves_while_its_slots_hold_keys_and_variables_as_before() {
        let (mut kept, mut parameters) = (KeptPlan::default(), Vec::new());
        let [one, other] = [Term::new(1), Term::new(2)].map(SlotValue::Key);
        assert!(!kept.serves([one, SlotValue::Variable(0)].into_iter(), &mut parameters));
        kept.begin();
        [one, SlotValue::Variable(0)].into_iter().for_each(|value| kept.push_slot(value, 3, &mut parameters));
        assert!(kept.serves([other, SlotValue::Variable(0)].into_iter(), &mut parameters));
        assert_eq!(parameters, [Term::new(2)]);
        assert!(!kept.serves([other, one].into_iter(), &mut parameters));
        assert!(!kept.is_rewritten_often());
        assert!(!kept.serves([one, SlotValue::Variable(1)].into_iter(), &mut parameters));
        assert!(kept.is_rewritten_often());
    }

    #[test]
    fn rows_that_did_not_answer_rest_unless_a_key_is_lacking() {
        let mut kept = KeptPlan::default();
        kept.put_off();
        assert_eq!((0..20).filter(|_| kept.rests()).count(), usize::from(RESTS));
        kept.begin();
        kept.push_key(NO_TERM);
        kept.put_off();
        assert!(!kept.is_put_off());
    }
}
