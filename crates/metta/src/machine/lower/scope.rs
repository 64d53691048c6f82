//! What is known at a place of a rule: which variables stand for something already, and what of.

use crate::machine::code::Guard;
use crate::machine::code::Slot;
use crate::machine::core::{Fact, Test};
use rustc_hash::FxHashMap;
use space::Variable;

/// What is known at a place.
pub(in crate::machine) struct Scope<'l> {
    /// The variables that code before this has put into slots.
    around: &'l FxHashMap<Variable, Slot>,
    /// What is known since, the last first.
    since: Vec<(Variable, Option<Fact>)>,
}

impl<'l> Scope<'l> {
    pub(in crate::machine) fn new(around: &'l FxHashMap<Variable, Slot>) -> Self {
        Self { around, since: Vec::new() }
    }

    /// Whether a variable stands for something, or was made.
    pub(in crate::machine) fn is_known(&self, variable: &Variable) -> bool {
        self.since.iter().any(|(known, _)| known == variable) || self.around.contains_key(variable)
    }

    /// The variables that stand for something, or were made.
    pub(in crate::machine) fn all(&self) -> impl Iterator<Item = &Variable> {
        self.around.keys().chain(self.since.iter().map(|(variable, _)| variable))
    }

    /// What is known of what a variable stands for.
    pub(in crate::machine) fn known(&self, variable: &Variable) -> Option<Fact> {
        self.since.iter().rev().filter(|(known, _)| known == variable).find_map(|(_, fact)| *fact)
    }

    /// What leaf, as its own result, a variable is known to stand for.
    pub(in crate::machine) fn fact(&self, variable: &Variable) -> Option<Fact> {
        self.known(variable).filter(|fact| *fact != Fact::Expression)
    }

    /// A variable stands for something from here on.
    pub(in crate::machine) fn learn(&mut self, variable: &Variable, fact: Option<Fact>) {
        self.since.push((variable.clone(), fact));
    }

    /// A variable is met: says whether it was not known, as it is from here on.
    pub(super) fn meets(&mut self, variable: &Variable) -> bool {
        let is_new = !self.is_known(variable);
        if is_new {
            self.learn(variable, None);
        }
        is_new
    }

    /// Variables stand for something from here on, of which nothing is known.
    pub(in crate::machine) fn learn_each(&mut self, variables: &[Variable]) {
        self.since.extend(variables.iter().map(|variable| (variable.clone(), None)));
    }

    /// These tests hold from here on.
    pub(in crate::machine) fn learn_from(&mut self, tests: &[Test]) {
        for test in tests {
            match test {
                Test::Is(variable, Guard::Number) => self.learn(variable, Some(Fact::Number)),
                Test::Is(variable, Guard::Bool) => self.learn(variable, Some(Fact::Bool)),
                Test::Is(variable, Guard::Expression) => self.learn(variable, Some(Fact::Expression)),
                Test::Is(..) | Test::SameType(..) | Test::Says(..) | Test::Unchanged => {}
            }
        }
    }

    /// Whether what is known makes a test needless.
    pub(in crate::machine) fn holds(&self, test: &Test) -> bool {
        match test {
            Test::Is(variable, guard) => match guard {
                Guard::Number => self.fact(variable) == Some(Fact::Number),
                Guard::Bool => self.fact(variable) == Some(Fact::Bool),
                Guard::Plain => self.fact(variable).is_some(),
                Guard::Expression => self.known(variable) == Some(Fact::Expression),
                _ => false,
            },
            Test::SameType(left, right) => self.fact(left).is_some() && self.fact(left) == self.fact(right),
            Test::Says(..) | Test::Unchanged => false,
        }
    }

    /// A place that may be gone back to.
    pub(in crate::machine) fn mark(&self) -> usize {
        self.since.len()
    }

    /// What was learned since a place holds no more.
    pub(in crate::machine) fn forget_from(&mut self, mark: usize) {
        self.since.truncate(mark);
    }

    /// What was learned of values since a place holds no more; variables that were made stay.
    pub(super) fn forget_facts_from(&mut self, mark: usize) {
        self.since[mark..].iter_mut().for_each(|(_, fact)| *fact = None);
    }
}
