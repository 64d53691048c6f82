//! Tests in the template of a `match` that drop answers: they become filters of its plan.
//!
//! `(match space pattern (if test body (empty)))` has no result for an answer whose test is false, nor has
//! `(if test (empty) body)` for one whose test is true. A test that is made of comparisons, arithmetic and logic of the library around
//! variables and constants is made while answers are found. The template stays as it is: what a filter leaves is tested there
//! again, since a filter decides only about what is certain.

use super::Facts;
use crate::lowering::{Comparison, Form, Logic, Lowering};
use crate::machine::code::TypeId;
use crate::machine::core::{Given, QueryTest};
use crate::machine::types::{Formal, HeadKind};
use crate::names;
use crate::operation::lowering_of;
use crate::passes::Pass;
use space::{Atom, Filter, FilterPart, Variable};

/// More parts than this are not put into one test.
const TEST_PARTS_MAX: usize = 64;

/// Where the values of tests come from.
#[derive(Default)]
pub(super) struct Tests {
    /// The variables that the query binds, in the order of their numbers.
    pub(super) new: Vec<Variable>,
    /// What they compare with.
    pub(super) given: Vec<Given>,
}

/// What stands behind the test of a conditional that drops an answer, and what drops it.
pub(super) struct Tested<'a> {
    pub(super) condition: &'a Atom,
    /// The truth value that drops an answer.
    pub(super) drops: bool,
    pub(super) body: &'a Atom,
}

impl Facts<'_> {
    /// A conditional one of whose branches has no result.
    pub(super) fn tested<'t>(&mut self, template: &'t Atom) -> Option<Tested<'t>> {
        let [head, condition, then, otherwise] = template.children()? else { return None };
        let Atom::Symbol(name) = head else { return None };
        if self.run.special_form(name.as_str(), 3) != Some(Form::If) {
            return None;
        }
        match (self.has_no_result(then), self.has_no_result(otherwise)) {
            (false, true) => Some(Tested { condition, drops: false, body: then }),
            (true, false) => Some(Tested { condition, drops: true, body: otherwise }),
            _ => None,
        }
    }

    /// Whether an atom is `(empty)` or `Empty`.
    pub(super) fn has_no_result(&mut self, atom: &Atom) -> bool {
        match atom {
            Atom::Symbol(name) => name.as_str() == names::EMPTY,
            _ => match atom.children() {
                Some([Atom::Symbol(name)]) => self.run.special_form(name.as_str(), 0) == Some(Form::Empty),
                _ => false,
            },
        }
    }

    /// The tests that a template begins with, what they compare with, and what is left of it. The query binds these variables.
    pub(super) fn tests_of<'t>(
        &mut self,
        template: &'t Atom,
        new: &[Variable],
    ) -> (Vec<QueryTest>, Vec<Given>, &'t Atom) {
        let (mut rest, mut filters) = (template, Vec::new());
        let mut tests = Tests { new: new.to_vec(), given: Vec::new() };
        while let Some(Tested { condition, drops, body }) = self.tested(rest) {
            let Some(filter) = self.test(condition, drops, &mut tests) else { break };
            if !self.makes(Pass::QueryFilters) {
                break;
            }
            filters.push(QueryTest::Values(filter));
            rest = body;
        }
        (filters, tests.given, rest)
    }

    /// A condition as a filter, if it can be one.
    pub(super) fn test(&mut self, condition: &Atom, drops: bool, tests: &mut Tests) -> Option<Filter> {
        let (mut parts, before) = (Vec::new(), tests.given.len());
        let filter = if self.put_truth(condition, &mut parts, tests) { Filter::of_parts(parts, drops) } else { None };
        if filter.is_none() {
            tests.given.truncate(before);
        }
        filter
    }

    /// Puts down what comes to a truth value; `false` if it cannot be put down.
    fn put_truth(&mut self, atom: &Atom, parts: &mut Vec<FilterPart>, tests: &mut Tests) -> bool {
        if parts.len() > TEST_PARTS_MAX {
            return false;
        }
        let Some([head, arguments @ ..]) = atom.children() else { return self.put_value(atom, parts, tests) };
        let bool_type = self.run.machine().types.bool_type;
        let number = self.run.machine().types.number_type;
        match (lowering_of(head), arguments) {
            (Some(Lowering::Comparison(Comparison::Equal)), [left, right]) => {
                let are_put = self.put_side(left, parts, tests) && self.put_side(right, parts, tests);
                parts.push(FilterPart::Equal);
                are_put
            }
            (Some(Lowering::Comparison(comparison)), [left, right]) if self.takes(head, 2, [number, bool_type]) => {
                let are_put = self.put_number(left, parts, tests) && self.put_number(right, parts, tests);
                parts.push(FilterPart::Compare(comparison.holds()));
                are_put
            }
            (Some(Lowering::Logic(Logic::Not)), [only]) if self.takes(head, 1, [bool_type; 2]) => {
                let is_put = self.put_truth(only, parts, tests);
                parts.push(FilterPart::Not);
                is_put
            }
            (Some(Lowering::Logic(logic)), [left, right]) if self.takes(head, 2, [bool_type; 2]) => {
                let are_put = self.put_truth(left, parts, tests) && self.put_truth(right, parts, tests);
                parts.push(FilterPart::Logic(logic.truth()));
                are_put
            }
            _ => false,
        }
    }

    /// Puts down a side of `==`.
    fn put_side(&mut self, atom: &Atom, parts: &mut Vec<FilterPart>, tests: &mut Tests) -> bool {
        match atom.children() {
            Some(_) => self.put_number(atom, parts, tests),
            None => self.put_value(atom, parts, tests),
        }
    }

    /// Puts down what comes to a number.
    fn put_number(&mut self, atom: &Atom, parts: &mut Vec<FilterPart>, tests: &mut Tests) -> bool {
        let Some(children) = atom.children() else { return self.put_value(atom, parts, tests) };
        let [head, left, right] = children else { return false };
        let Some(Lowering::Arithmetic(arithmetic)) = lowering_of(head) else { return false };
        let number = self.run.machine().types.number_type;
        let are_put = parts.len() < TEST_PARTS_MAX
            && self.takes(head, 2, [number; 2])
            && self.put_number(left, parts, tests)
            && self.put_number(right, parts, tests);
        parts.push(FilterPart::Arithmetic(arithmetic.operation()));
        are_put
    }

    /// Puts down a variable or a constant.
    fn put_value(&mut self, atom: &Atom, parts: &mut Vec<FilterPart>, tests: &mut Tests) -> bool {
        let value = match atom {
            Atom::Variable(variable) => {
                if let Some(number) = tests.new.iter().position(|new| new == variable) {
                    parts.push(FilterPart::Variable(number as u32));
                    return true;
                }
                self.scope.is_known(variable).then(|| Given::Variable(variable.clone()))
            }
            leaf => self.run.machine_mut().values.constant_leaf(leaf).map(Given::Leaf),
        };
        let Some(value) = value else { return false };
        parts.push(FilterPart::Given(tests.given.len() as u32));
        tests.given.push(value);
        true
    }

    /// Whether an operation takes `count` arguments of a type, and has results of another, as the library says.
    fn takes(&mut self, head: &Atom, count: usize, [argument, result]: [TypeId; 2]) -> bool {
        let Some(head) = self.run.machine_mut().values.constant_leaf(head) else { return false };
        match self.run.types().head_kind(head, count) {
            HeadKind::Typed(signature) => {
                let is_argument = |formal: &Formal| matches!(formal, Formal::Typed(typed) if *typed == argument);
                signature.result == Some(result) && signature.formals.iter().all(is_argument)
            }
            _ => false,
        }
    }
}
