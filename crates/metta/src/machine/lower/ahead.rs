//! Variables that are made before alternatives begin.
//!
//! A rule is renamed apart once for each call, so the alternatives of its body share its variables. The machine makes a
//! variable where it is first needed. If something that may have several results is evaluated before that place, each
//! of them would get a variable of its own: so the variable is made ahead of it.

use super::{Facts, Surroundings};
use crate::lowering::{Form, Loop, Lowering};
use crate::machine::types::HeadKind;
use crate::operation::lowering_of;
use crate::stdlib::forms::special_form;
use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, Variable, variables};

impl Facts<'_> {
    /// The variables to be made before the evaluation of an atom that may have several results, since they are needed after it. If `pattern`
    /// takes these apart, its variables are not needed before.
    pub(in crate::machine) fn needed_after<'a>(
        &mut self,
        first: &Atom,
        pattern: Option<&Atom>,
        later: impl IntoIterator<Item = &'a Atom>,
    ) -> Vec<Variable> {
        if self.has_one_result(first) {
            return Vec::new();
        }
        let mut needed = Needed::new(self.run);
        let bound = pattern.map(variables).unwrap_or_default();
        needed.bind(&bound);
        later.into_iter().for_each(|atom| needed.note(atom));
        let found = needed.found;
        self.in_order(found, first)
    }

    /// The variables to be made before the parts of an expression are evaluated, since they are needed after one that may have several
    /// results.
    pub(in crate::machine) fn needed_after_first(&mut self, parts: &[Atom]) -> Vec<Variable> {
        let first = parts.iter().position(|part| !self.has_one_result(part));
        first.map(|first| self.needed_after(&parts[first], None, &parts[first + 1..])).unwrap_or_default()
    }

    /// Those of some variables that are not known yet, and those before them in the rule that the evaluation of an atom needs: of two
    /// variables that become one the older stays, and that is the one that is written first.
    fn in_order(&mut self, mut wanted: Vec<Variable>, first: &Atom) -> Vec<Variable> {
        wanted.retain(|variable| !self.scope.is_known(variable));
        if wanted.is_empty() {
            return wanted;
        }
        let mut needed = Needed::new(self.run);
        needed.note(first);
        let needed = needed.is_found;
        let all: FxHashSet<Variable> = wanted.iter().cloned().collect();
        let mut written = variables(&self.whole);
        let last = written.iter().rposition(|variable| all.contains(variable));
        written.truncate(last.map_or(0, |last| last + 1));
        written.retain(|variable| all.contains(variable) || needed.contains(variable));
        written.retain(|variable| !self.scope.is_known(variable));
        for variable in wanted {
            if !written.contains(&variable) {
                written.push(variable);
            }
        }
        written
    }

    /// The variables of an expression that occur outside of it as well and are not known yet: each of its paths is to have the same ones.
    pub(in crate::machine) fn shared(&mut self, atom: &Atom) -> Vec<Variable> {
        let shared = self.seen_elsewhere(self.unknown(atom), &[atom]);
        self.in_order(shared, atom)
    }

    /// Those of some variables that are not known yet and occur in the rule elsewhere than in some of its parts.
    pub(in crate::machine) fn seen_elsewhere(&self, mut variables: Vec<Variable>, parts: &[&Atom]) -> Vec<Variable> {
        variables.retain(|variable| !self.scope.is_known(variable));
        if !variables.is_empty() {
            let all = self.counts.get_or_init(|| occurrences_of_each([&self.whole]));
            let inside = occurrences_of_each(parts.iter().copied());
            variables.retain(|variable| all.get(variable) > inside.get(variable));
        }
        variables
    }
}

/// How often each variable occurs in some atoms.
fn occurrences_of_each<'a>(atoms: impl IntoIterator<Item = &'a Atom>) -> FxHashMap<Variable, usize> {
    let mut counts = FxHashMap::default();
    atoms.into_iter().for_each(|atom| count_variables(atom, &mut counts));
    counts
}

fn count_variables(atom: &Atom, counts: &mut FxHashMap<Variable, usize>) {
    match atom {
        Atom::Variable(variable) => *counts.entry(variable.clone()).or_default() += 1,
        Atom::Expression(expression) if !atom.is_ground() => {
            expression.children().iter().for_each(|child| count_variables(child, counts));
        }
        _ => {}
    }
}

/// The variables that an evaluation needs and no pattern in it binds, in the order in which they are met.
struct Needed<'n> {
    run: &'n mut dyn Surroundings,
    found: Vec<Variable>,
    is_found: FxHashSet<Variable>,
    /// How many patterns around bind each variable.
    bound: FxHashMap<Variable, usize>,
}

impl<'n> Needed<'n> {
    fn new(run: &'n mut dyn Surroundings) -> Self {
        Self { run, found: Vec::new(), is_found: FxHashSet::default(), bound: FxHashMap::default() }
    }

    fn bind(&mut self, variables: &[Variable]) {
        variables.iter().for_each(|variable| *self.bound.entry(variable.clone()).or_default() += 1);
    }

    fn unbind(&mut self, variables: &[Variable]) {
        let bound = &mut self.bound;
        variables.iter().for_each(|variable| *bound.get_mut(variable).expect("it was bound") -= 1);
    }

    fn note(&mut self, atom: &Atom) {
        match atom {
            Atom::Variable(variable) => self.note_variable(variable),
            Atom::Expression(expression) if !atom.is_ground() => self.note_expression(expression.children()),
            _ => {}
        }
    }

    fn note_variable(&mut self, variable: &Variable) {
        let is_bound = self.bound.get(variable).is_some_and(|&patterns| patterns > 0);
        if !is_bound && self.is_found.insert(variable.clone()) {
            self.found.push(variable.clone());
        }
    }

    fn note_expression(&mut self, children: &[Atom]) {
        let Some((head, arguments)) = children.split_first() else { return };
        let Atom::Symbol(name) = head else { return self.note_operation(children) };
        match (special_form(name.as_str()).map(|special| special.form), arguments) {
            (Some(Form::Let), [pattern, value, body]) => {
                self.note(value);
                self.note_within(pattern, [body]);
            }
            (Some(Form::Case | Form::Switch), [subject, branches]) => {
                self.note(subject);
                for branch in branches.children().unwrap_or_default() {
                    match branch.children() {
                        Some([pattern, body]) => self.note_within(pattern, [body]),
                        _ => self.note(branch),
                    }
                }
            }
            (Some(Form::Unify), [atom, pattern, then, otherwise]) => {
                self.note(atom);
                self.note(otherwise);
                self.note_within(pattern, [then]);
            }
            (Some(Form::Chain | Form::Loop(Loop::Map | Loop::Filter)), [first, pattern, template]) => {
                self.note(first);
                self.note_within(pattern, [template]);
            }
            (Some(Form::Loop(Loop::Fold)), [list, start, result, item, body]) => {
                self.note(list);
                self.note(start);
                self.note_within(&Atom::expression([result.clone(), item.clone()]), [body]);
            }
            _ => {
                let is_form = self.run.special_form(name.as_str(), arguments.len()).is_some();
                self.note_call(children, is_form);
            }
        }
    }

    /// Notes what an expression needs whose head is not a name.
    fn note_operation(&mut self, children: &[Atom]) {
        match (lowering_of(&children[0]), &children[1..]) {
            (Some(Lowering::LetAll), [pairs, body]) => {
                let mut bound = Vec::new();
                for pair in pairs.children().unwrap_or_default() {
                    let Some([pattern, value]) = pair.children() else { continue };
                    self.note(value);
                    let binds = variables(pattern);
                    self.bind(&binds);
                    bound.extend(binds);
                }
                self.note(body);
                self.unbind(&bound);
            }
            (Some(Lowering::Query), [space, pattern, template]) => {
                self.note(space);
                self.note_within(pattern, [template]);
            }
            _ => self.note_call(children, false),
        }
    }

    /// Notes what a call needs that binds no variable for its parts.
    fn note_call(&mut self, children: &[Atom], is_form: bool) {
        if !is_form && self.may_be_shown(&children[0], children.len() - 1) {
            let met = children.iter().flat_map(variables);
            met.for_each(|variable| self.note(&Atom::Variable(variable)));
        } else {
            children.iter().for_each(|child| self.note(child));
        }
    }

    /// Whether there may be an error that shows the whole expression, patterns included: of arguments with other types.
    fn may_be_shown(&mut self, head: &Atom, arity: usize) -> bool {
        let Some(leaf) = self.run.machine_mut().values.constant_leaf(head) else { return false };
        !matches!(self.run.types().head_kind(leaf, arity), HeadKind::Untyped)
    }

    fn note_within<'a>(&mut self, pattern: &Atom, later: impl IntoIterator<Item = &'a Atom>) {
        let bound = variables(pattern);
        self.bind(&bound);
        later.into_iter().for_each(|atom| self.note(atom));
        self.unbind(&bound);
    }
}
