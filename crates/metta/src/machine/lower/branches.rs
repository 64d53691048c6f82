//! Forms that choose a branch by its pattern, and forms that collect all results of a goal.

use super::{Lower, OddAnswer, Place, Whole};
use crate::instructions::is_odd;
use crate::instructions::{has_space, is_function};
use crate::machine::code::{Guard, Position, TypeId};
use crate::machine::core::{Asked, Branch, Branches, Collected, Core, Evaluator, Test, Written};
use crate::names;
use crate::stdlib::forms::asks_for_absence;
use space::{Atom, Variable};
use std::rc::Rc;

/// The form whose branches are chosen from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chooser {
    Case,
    Switch,
}

impl Lower<'_> {
    /// `(collapse goal)`
    pub(super) fn collapse(&mut self, goal: &Atom) -> Core {
        let shared = self.facts.shared(goal);
        self.facts.scope.learn_each(&shared);
        Core::fresh(shared, self.collected(goal, Collected::List))
    }

    /// All results of a goal, whose variables that occur elsewhere are known.
    pub(super) fn collected(&mut self, goal: &Atom, into: Collected) -> Core {
        let mark = self.facts.scope.mark();
        let goal = Box::new(self.value(goal, 0, Place::Inside));
        self.facts.scope.forget_from(mark);
        Core::Collect { goal, into }
    }

    /// `(case subject branches)`
    pub(super) fn case(&mut self, whole: Whole<'_>, [subject, branches]: [&Atom; 2], place: Place) -> Core {
        let Whole { atom, type_id } = whole;
        let pairs = pairs_of(branches, |pattern, body| !has_space(pattern) && !is_odd(body));
        let Some(pairs) = pairs else { return self.written(atom, type_id) };
        let mut fresh = self.needed_after_subject(subject, &pairs);
        let shared = self.facts.shared(subject);
        self.add_fresh(&mut fresh, shared);
        let into = Collected::Subjects(Asked::Known { asks_for_absence: asks_for_absence(branches) });
        let subjects = Box::new(self.collected(subject, into));
        let found = self.local();
        self.facts.scope.learn(&found, None);
        let mut then = self.chosen(Chooser::Case, &found, (branches, &pairs), type_id, place);
        if self.facts.run.machine().code.is_exact {
            // What the form calls may have changed while its subject was evaluated: then that chooses the branch.
            let call = first_branch(Atom::Variable(found.clone()), branches);
            let as_written = self.chosen_by_call(call, atom);
            then = Core::guarded(vec![Test::Unchanged], then, as_written);
        }
        Core::fresh(fresh, Core::Let { variable: found, value: subjects, then: Box::new(then) })
    }

    /// `(switch subject branches)`, which takes its subject as an argument of any type; `None` if the library's rule says what it comes to.
    pub(super) fn switch(&mut self, whole: Whole<'_>, [subject, branches]: [&Atom; 2], place: Place) -> Option<Core> {
        let is_plain = |body: &Atom| !body.is_symbol(names::NOT_REDUCIBLE) && !is_function(body);
        let pairs = pairs_of(branches, |pattern, body| !has_space(pattern) && is_plain(body))?;
        let mut tests = Vec::new();
        if names::is_error(subject) || !self.facts.agrees(subject, 0, false, &mut tests) {
            return None;
        }
        let inside = if place == Place::Tail { place } else { Place::Gathered };
        Some(self.guarded(tests, whole, |lower| {
            let fresh = lower.needed_after_subject(subject, &pairs);
            let value = Box::new(lower.argument(subject, 0));
            let found = lower.local();
            let fact = lower.facts.fact_of(&value);
            lower.facts.scope.learn(&found, fact);
            let mut then = lower.chosen(Chooser::Switch, &found, (branches, &pairs), whole.type_id, inside);
            if lower.facts.run.machine().code.is_exact {
                let call = [Atom::symbol("switch"), Atom::Variable(found.clone()), branches.clone()];
                let call = Written { atom: Atom::expression(call), type_id: 0, by: Evaluator::Interpreter };
                then = Core::guarded(vec![Test::Unchanged], then, Core::Written(call));
            }
            let chosen = Core::Let { variable: found, value, then: Box::new(then) };
            Core::fresh(fresh, Core::Gathered(Box::new(chosen)))
        }))
    }

    /// The variables to be made before a subject is evaluated, since branches need them.
    fn needed_after_subject(&mut self, subject: &Atom, pairs: &[[&Atom; 2]]) -> Vec<Variable> {
        let mut fresh = Vec::new();
        for [pattern, body] in pairs {
            let needed = self.facts.needed_after(subject, Some(pattern), [*body]);
            self.add_fresh(&mut fresh, needed);
        }
        fresh
    }

    /// The first of some branches whose pattern matches what a local stands for.
    fn chosen(
        &mut self,
        chooser: Chooser,
        found: &Variable,
        (written, pairs): (&Atom, &[[&Atom; 2]]),
        type_id: TypeId,
        place: Place,
    ) -> Core {
        let branches = pairs.iter().map(|[pattern, body]| {
            let mark = self.facts.scope.mark();
            if let Atom::Variable(variable) = pattern
                && !self.facts.scope.is_known(variable)
            {
                let fact = self.facts.scope.known(found);
                self.facts.scope.learn(variable, fact);
            }
            let new = self.facts.unknown(pattern);
            self.facts.scope.learn_each(&new);
            let node = self.answered(body, 0, place, |_| match chooser {
                Chooser::Switch => OddAnswer::FailsOrEnters(Atom::expression([Atom::symbol("id"), (*body).clone()])),
                Chooser::Case => OddAnswer::Fails,
            });
            self.facts.scope.forget_from(mark);
            Branch { pattern: (*pattern).clone(), body: node }
        });
        let branches = branches.collect();
        let met_space = Rc::new(self.rest_as_written(chooser, found, written, type_id));
        Core::Branches(Box::new(Branches { subject: found.clone(), branches, met_space }))
    }

    /// What a `case` or a `switch` comes to once its subject is evaluated. Like the rule of the library, it takes the subject as it is:
    /// the form itself would evaluate it once more.
    fn rest_as_written(&mut self, chooser: Chooser, found: &Variable, branches: &Atom, type_id: TypeId) -> Core {
        let chosen = first_branch(Atom::Variable(found.clone()), branches);
        if chooser == Chooser::Switch {
            return self.written(&Atom::expression([Atom::symbol("id"), chosen]), type_id);
        }
        let answer = Atom::Variable(self.local());
        let returned = Atom::expression([Atom::symbol("return"), answer.clone()]);
        let chain = [Atom::symbol("chain"), Atom::expression([Atom::symbol("eval"), chosen]), answer, returned];
        let function = Atom::expression([Atom::symbol("function"), Atom::expression(chain)]);
        let value = Box::new(self.written(&function, 0));
        let variable = self.local();
        let then = Box::new(self.evaluated_answer(&variable, &OddAnswer::Fails, type_id));
        Core::Let { variable, value, then }
    }

    /// The branch that a call chooses, evaluated as the answer of a form.
    fn chosen_by_call(&mut self, call: Atom, form: &Atom) -> Core {
        let variable = self.local();
        let mark = self.facts.scope.mark();
        let code = Box::new(self.quote(&Atom::expression([Atom::symbol("eval"), call])));
        self.facts.scope.forget_from(mark);
        let value = Box::new(Core::Run { code, is_only_function: false });
        let then = Box::new(self.evaluated_answer(&variable, &OddAnswer::Stands(form.clone()), 0));
        Core::Let { variable, value, then }
    }

    /// What a local stands for, evaluated unless that is an odd answer.
    pub(super) fn evaluated_answer(&self, variable: &Variable, odd: &OddAnswer, type_id: TypeId) -> Core {
        let node = Core::Evaluate { variable: variable.clone(), type_id, position: Position::Answer };
        let value = || Box::new(Core::Variable(variable.clone()));
        let (guard, call) = match odd {
            OddAnswer::Fails => (Guard::Reducible, None),
            OddAnswer::Stands(call) => (Guard::Reducible, Some(call.clone())),
            OddAnswer::Enters(call) | OddAnswer::FailsOrEnters(call) => (Guard::Answer, Some(call.clone())),
        };
        let reduct = Core::Reduct { value: value(), call, type_id };
        Core::guarded(vec![Test::Is(variable.clone(), guard)], node, reduct)
    }
}

/// The call of the library that chooses the first branch whose pattern matches a subject, which it takes as it is.
fn first_branch(subject: Atom, branches: &Atom) -> Atom {
    Atom::expression([Atom::symbol("switch-minimal"), subject, branches.clone()])
}

/// Branches that are written out, each of a pattern and a body of which something holds.
fn pairs_of<'a>(branches: &'a Atom, holds: impl Fn(&Atom, &Atom) -> bool) -> Option<Vec<[&'a Atom; 2]>> {
    let pair = |branch: &'a Atom| match branch.children()? {
        [pattern, body] if holds(pattern, body) => Some([pattern, body]),
        _ => None,
    };
    branches.children()?.iter().map(pair).collect()
}
