//! A `match` inside the template of a `match`, and tests whether another one has results: they become one query.
//!
//! 1. `(match a p (match b q body))` asks for the pairs of atoms that `(, p q)` asks for if the patterns may ask different spaces: in the
//!    same order, first by that of `p`. So the patterns are planned together.
//! 2. `(if (has-result (match b q found)) (empty) body)` drops the answers for which `q` has one, as do
//!    `(if (== () (collapse (match …))) body (empty))` and `(case (match …) ((Empty body)))`: this is a filter of the plan.
//! 3. Nothing may change a space, or see the difference, between two of these: `body` is data around variables, and when answers are
//!    there it is looked whether the variables stand for data.
//! 4. A space is known when the query begins: it is written out or in a slot that the query does not bind.
//!
//! If any of this does not hold when the code runs, if a space has other atoms than rows that may match or a filter was undecided, the
//! code goes on with the `match` as it is written.

use super::Facts;
use super::filters::{Tested, Tests};
use crate::lowering::{Comparison, Form, Logic, Lowering, Wanted};
use crate::machine::core::QueryTest;
use crate::names;
use crate::operation::lowering_of;
use crate::stdlib::forms::special_form;
use space::{Atom, Filter, FilterPart, Grounded, Variable, conjunction, variables};

/// More spaces than this are not asked together.
const SPACES_MAX: usize = 16;
/// More variables than this are not bound together.
const VARIABLES_MAX: usize = 64;

/// What a query is made of whose template asks again.
pub(super) struct Fusion<'a> {
    /// The spaces, as they are written; the first is that of the outer `match`.
    pub(super) spaces: Vec<&'a Atom>,
    /// The patterns, and which of the spaces each asks.
    pub(super) patterns: Vec<(u8, &'a Atom)>,
    pub(super) filters: Vec<QueryTest>,
    pub(super) tests: Tests,
    /// How many `match` are asked together.
    matches: usize,
    pub(super) body: &'a Atom,
}

/// A `match` whose results are only asked whether there are any.
struct Existence<'a> {
    arguments: &'a [Atom],
    /// The truth value of the test if there are any.
    truth: bool,
}

impl<'a> Fusion<'a> {
    /// Adds what a `match` asks; `false` if it is not known now what that is.
    fn add(&mut self, space: &'a Atom, pattern: &'a Atom, facts: &Facts<'_>) -> bool {
        let Some(patterns) = self.patterns_of(space, pattern, facts) else { return false };
        self.patterns.extend(patterns);
        for variable in variables(pattern) {
            if !facts.scope.is_known(&variable) && !self.tests.new.contains(&variable) {
                self.tests.new.push(variable);
            }
        }
        self.tests.new.len() <= VARIABLES_MAX
    }

    fn patterns_of(&mut self, space: &'a Atom, pattern: &'a Atom, facts: &Facts<'_>) -> Option<Vec<(u8, &'a Atom)>> {
        let is_known = match space {
            Atom::Variable(variable) => facts.scope.is_known(variable),
            Atom::Grounded(Grounded::Space(_)) => true,
            _ => false,
        };
        let place = self.spaces.iter().position(|known| *known == space).unwrap_or_else(|| {
            self.spaces.push(space);
            self.spaces.len() - 1
        });
        let patterns = conjunction(pattern).unwrap_or(std::slice::from_ref(pattern));
        // A head that is a variable may turn out to be a comma.
        let is_row = |pattern: &Atom| matches!(pattern.children(), Some([head, ..]) if !matches!(head, Atom::Variable(_)) && !head.is_symbol(","));
        let are_asked = is_known && place < SPACES_MAX && !patterns.is_empty() && patterns.iter().all(is_row);
        are_asked.then(|| patterns.iter().map(|pattern| (place as u8, pattern)).collect())
    }

    /// Adds a test whether a `match` has results; `false` if that is not known before they are evaluated.
    fn add_existence(&mut self, existence: &Existence<'a>, drops: bool, facts: &Facts<'_>) -> bool {
        let [space, pattern, template] = existence.arguments else { return false };
        let Some(patterns) = self.patterns_of(space, pattern, facts) else { return false };
        if matches!(template, Atom::Expression(_)) || template.is_symbol(names::EMPTY) {
            return false;
        }
        if let Atom::Variable(variable) = template {
            // What it stands for must be a result.
            let Some(number) = self.tests.new.iter().position(|new| new == variable) else { return false };
            let parts = vec![FilterPart::Variable(number as u32), FilterPart::IsDecided];
            self.filters.extend(Filter::of_parts(parts, false).map(QueryTest::Values));
        }
        let is_own = |variable: &Variable| !facts.scope.is_known(variable) && !self.tests.new.contains(variable);
        let own: Vec<Variable> = variables(pattern).into_iter().filter(is_own).collect();
        let patterns = patterns.into_iter().map(|(place, pattern)| (place, pattern.clone())).collect();
        self.filters.push(QueryTest::Absence { patterns, own, drops: drops == existence.truth });
        true
    }

    /// Whether it asks more than one `match` does, and what its tests bind for themselves occurs nowhere else.
    fn is_of_use(&self) -> bool {
        let body = variables(self.body);
        let mut absences = 0;
        let are_apart = self.filters.iter().all(|filter| match filter {
            QueryTest::Values(_) => true,
            QueryTest::Absence { own, .. } => {
                absences += 1;
                !own.iter().any(|own| body.contains(own) || self.tests.new.contains(own))
            }
        });
        are_apart && (self.matches > 1 || absences > 0)
    }
}

impl Facts<'_> {
    /// What a `match` and its template ask together, if that is more than the `match` does.
    pub(super) fn fusion<'a>(&mut self, space: &'a Atom, pattern: &'a Atom, template: &'a Atom) -> Option<Fusion<'a>> {
        if !asks(template) {
            return None;
        }
        let mut fusion = Fusion {
            spaces: vec![space],
            patterns: Vec::new(),
            filters: Vec::new(),
            tests: Tests::default(),
            matches: 1,
            body: template,
        };
        if !fusion.add(space, pattern, self) {
            return None;
        }
        loop {
            let rest = fusion.body;
            if let Some(Tested { condition, drops, body }) = self.tested(rest) {
                if let Some(filter) = self.test(condition, drops, &mut fusion.tests) {
                    fusion.filters.push(QueryTest::Values(filter));
                } else if !self
                    .existence(condition, true)
                    .is_some_and(|existence| fusion.add_existence(&existence, drops, self))
                {
                    break;
                }
                fusion.body = body;
            } else if let Some((arguments, body)) = self.unless_any(rest) {
                let existence = Existence { arguments, truth: true };
                if !fusion.add_existence(&existence, true, self) {
                    break;
                }
                fusion.body = body;
            } else if let Some([space, pattern, body]) = query_of(rest) {
                if !fusion.add(space, pattern, self) {
                    break;
                }
                fusion.matches += 1;
                fusion.body = body;
            } else {
                break;
            }
        }
        (fusion.is_of_use() && self.may_be_data(fusion.body)).then_some(fusion)
    }

    /// Whether a template may be data: the rest is known when it runs.
    fn may_be_data(&self, template: &Atom) -> bool {
        let reserved = [names::EMPTY, names::ERROR, names::NOT_REDUCIBLE];
        match template.children() {
            None => !matches!(template, Atom::Symbol(name) if reserved.contains(&name.as_str())),
            Some([]) => true,
            Some([head, arguments @ ..]) => {
                let is_head = match head {
                    Atom::Symbol(name) => special_form(name.as_str()).is_none(),
                    head => matches!(head, Atom::Variable(_)),
                };
                is_head && self.may_be_data(head) && arguments.iter().all(|argument| self.may_be_data(argument))
            }
        }
    }

    /// A test whether a `match` has results.
    fn existence<'a>(&mut self, condition: &'a Atom, truth: bool) -> Option<Existence<'a>> {
        let [head, arguments @ ..] = condition.children()? else { return None };
        match (lowering_of(head), arguments) {
            (Some(Lowering::Logic(Logic::Not)), [only]) => self.existence(only, !truth),
            (Some(Lowering::Comparison(Comparison::Equal)), [left, right]) => {
                let collapsed = match (left.children(), right.children()) {
                    (Some([]), _) => right,
                    (_, Some([])) => left,
                    _ => return None,
                };
                let query = self.argument_of(collapsed, Form::Collapse)?;
                Some(Existence { arguments: query_of(query)?, truth: !truth })
            }
            _ => {
                let query = self.argument_of(condition, Form::Some(Wanted::Whether))?;
                Some(Existence { arguments: query_of(query)?, truth })
            }
        }
    }

    /// The only argument of a special form.
    fn argument_of<'a>(&mut self, atom: &'a Atom, form: Form) -> Option<&'a Atom> {
        let [Atom::Symbol(name), argument] = atom.children()? else { return None };
        (self.run.special_form(name.as_str(), 1) == Some(form)).then_some(argument)
    }

    /// What is asked, and what there is if that has no results: `(case (match …) ((Empty body)))`.
    fn unless_any<'a>(&mut self, atom: &'a Atom) -> Option<(&'a [Atom], &'a Atom)> {
        let [Atom::Symbol(name), subject, branches] = atom.children()? else { return None };
        let [branch] = branches.children()? else { return None };
        let [pattern, body] = branch.children()? else { return None };
        if !pattern.is_symbol(names::EMPTY) || self.run.special_form(name.as_str(), 2) != Some(Form::Case) {
            return None;
        }
        Some((query_of(subject)?, body))
    }
}

/// Whether there is a `match` in a template, which is no deeper than what is compiled.
fn asks(template: &Atom) -> bool {
    query_of(template).is_some() || template.children().is_some_and(|children| children.iter().any(asks))
}

/// The arguments of a `match`.
fn query_of(atom: &Atom) -> Option<&[Atom]> {
    let [head, arguments @ ..] = atom.children()? else { return None };
    (arguments.len() == 3 && lowering_of(head) == Some(Lowering::Query)).then_some(arguments)
}
