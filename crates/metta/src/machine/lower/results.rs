//! What is known of the results of an expression before it is evaluated.

use super::Facts;
use crate::lowering::{Arithmetic, Lowering};
use crate::machine::code::{Slot, TypeId};
use crate::machine::core::Fact;
use crate::machine::core::{self, Core};
use crate::machine::types::kept_types::ARITY_MAX;
use crate::machine::types::{Formal, HeadKind};
use crate::machine::words::{COMPOUND, EMPTY, ERROR, SYMBOL, is_small};
use crate::names;
use crate::operation::{Operation, lowering_of};
use crate::types;
use region::Ref;
use space::{Atom, Grounded, Variable};

impl Facts<'_> {
    /// Whether the evaluation of an atom may have several results or an effect.
    pub(in crate::machine) fn may_branch(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Variable(variable) => self.scope.is_known(variable) && self.scope.fact(variable).is_none(),
            Atom::Expression(expression) => !expression.is_empty(),
            _ => false,
        }
    }

    /// Whether the evaluation of an atom has one result and no effect, as far as is plain to see.
    pub(in crate::machine) fn has_one_result(&self, atom: &Atom) -> bool {
        match atom.children() {
            Some([head, arguments @ ..]) => {
                lowering_of(head).is_some_and(Lowering::is_plain)
                    && arguments.iter().all(|part| self.has_one_result(part))
            }
            _ => !self.may_branch(atom),
        }
    }

    /// Whether an atom evaluates to itself, whatever its variables hold.
    pub(in crate::machine) fn is_same(&mut self, atom: &Atom) -> bool {
        match atom {
            Atom::Variable(_) => true,
            Atom::Expression(expression) if !expression.is_empty() => {
                let children = expression.children();
                if !matches!(children[0], Atom::Symbol(_)) {
                    let is_data = match &children[0] {
                        head @ Atom::Grounded(_) => Operation::of(head).is_none(),
                        Atom::Expression(head) => head.is_empty() && self.run.types().is_unit_open(),
                        _ => false,
                    };
                    return is_data
                        && !(self.run.has_rules((COMPOUND, (children.len() - 1) as Slot))
                            && self.may_be_reduced(atom))
                        && children[1..].iter().all(|child| self.is_same(child));
                }
                let head = self.run.machine_mut().values.constant_leaf(&children[0]).expect("it is a leaf");
                let arity = children.len() - 1;
                let kind = self.run.types().head_kind(head, arity);
                let is_open = |place: usize| match &kind {
                    HeadKind::Untyped | HeadKind::Other => true,
                    HeadKind::Raw { .. } => false,
                    HeadKind::Typed(signature) => matches!(signature.formals[place], Formal::Typed(_)),
                    HeadKind::Parametric(function) => {
                        let formal = &types::function_parts(function).0[place];
                        !formal.is_symbol(names::ATOM) && !formal.is_symbol(names::EXPRESSION)
                    }
                };
                !matches!(kind, HeadKind::Other)
                    && !self.run.has_rules((head, arity as Slot))
                    && children[1..].iter().enumerate().all(|(place, child)| !is_open(place) || self.is_same(child))
            }
            _ => true,
        }
    }

    /// Whether a rule matches an expression as it stands, or may when its variables are bound.
    fn may_be_reduced(&mut self, atom: &Atom) -> bool {
        let source = self.run.variables();
        let body = Atom::Variable(source.fresh(names::asked()));
        let rule = Atom::expression([names::equal(), atom.clone(), body]);
        let space = self.run.space().clone();
        !space.query(&rule, self.run.variables()).is_empty()
    }

    /// Whether an atom calls a function with rules.
    pub(in crate::machine) fn is_call(&mut self, atom: &Atom) -> bool {
        let Some([Atom::Symbol(name), arguments @ ..]) = atom.children() else { return false };
        let head = self.run.machine_mut().values.symbol(name);
        !names::is_error(atom)
            && self.run.special_form(name.as_str(), arguments.len()).is_none()
            && self.run.has_rules((head, arguments.len() as Slot))
    }

    /// Whether an expression whose head has a type is data, as rules stand, and put together in place.
    pub(in crate::machine) fn is_data_by_type(&mut self, head: Ref, arguments: &[Atom]) -> bool {
        let is_plain = |argument: &Atom| !argument.is_symbol(names::EMPTY) && !names::is_error(argument);
        head.tag() == SYMBOL
            && head != EMPTY
            && head != ERROR
            && !self.run.machine().code.is_exact
            && arguments.len() <= ARITY_MAX
            && arguments.iter().all(is_plain)
            && !self.run.types().may_have_whole_type(head, arguments.len())
            && !self.run.has_rules((head, arguments.len() as Slot))
    }

    /// Whether the alternatives of data that is no result of a frame are collected together: what is evaluated later must not
    /// come between those of what is evaluated before. Where rules may change, nor may a rule for the data.
    pub(in crate::machine) fn is_gathered(&self, arguments: &[Atom]) -> bool {
        let branching = arguments.iter().filter(|argument| self.may_branch(argument)).count();
        branching > 1 && arguments.iter().any(|argument| matches!(argument, Atom::Expression(_)))
            || branching > 0 && self.run.machine().code.is_exact
    }

    /// Whether arguments are sums of numbers, leaves and variables without types, one of which may have several results.
    pub(in crate::machine) fn are_sums_and_variables(&self, arguments: &[Atom], formals: &[Formal]) -> bool {
        let number = self.run.machine().types.number_type;
        let fits = |(argument, formal): (&Atom, &Formal)| match (argument.children(), formal) {
            (Some(_), Formal::Typed(type_id)) => [0, number].contains(type_id) && self.is_sum_of_numbers(argument),
            (Some(_), Formal::Raw | Formal::Expression) => false,
            (None, formal) => matches!(formal, Formal::Typed(0) | Formal::Raw | Formal::Expression),
        };
        !self.run.machine().code.is_exact
            && arguments.iter().zip(formals).all(fits)
            && arguments.iter().any(|argument| argument.children().is_none() && self.may_branch(argument))
    }

    /// Whether an atom is a sum or a difference of what is known to be numbers: it comes to one number, and to no error.
    fn is_sum_of_numbers(&self, atom: &Atom) -> bool {
        let Some([head, left, right]) = atom.children() else { return false };
        let is_number = |part: &Atom| match part {
            Atom::Variable(variable) => self.scope.fact(variable) == Some(Fact::Number),
            part => matches!(part, Atom::Grounded(Grounded::Number(_))),
        };
        let sum = Some(Lowering::Arithmetic(Arithmetic::Add));
        let difference = Some(Lowering::Arithmetic(Arithmetic::Subtract));
        let lowering = lowering_of(head);
        (lowering == sum || lowering == difference) && is_number(left) && is_number(right)
    }

    /// Whether the results of an argument are of the types that it has itself, as it is evaluated anyway: then a type such as `(-> $t $t)` says
    /// nothing about them. What a call has a type by, other than a function type of its head, may be no type of its results.
    pub(super) fn is_evaluated_to_its_types(&mut self, argument: &Atom) -> bool {
        let Some([head, arguments @ ..]) = argument.children() else { return true };
        let Some(head) = self.run.machine_mut().values.constant_leaf(head) else {
            return self.run.types().has_no_types();
        };
        match self.run.types().head_kind(head, arguments.len()) {
            HeadKind::Untyped => self.run.types().makes_open(head, arguments.len()),
            _ => !self.run.types().may_have_whole_type(head, arguments.len()),
        }
    }

    /// Whether a type may be declared for a call as it is written, arguments included.
    pub(super) fn may_have_whole_type(&mut self, call: &Atom) -> bool {
        let Some([head, arguments @ ..]) = call.children() else { return false };
        let head = self.run.machine_mut().values.constant_leaf(head);
        head.is_some_and(|head| self.run.types().may_have_whole_type(head, arguments.len()))
    }

    /// Whether minimal code reduces one call with one result.
    pub(in crate::machine) fn has_one_answer(&self, code: &Atom) -> bool {
        match code.children() {
            Some([eval, call]) if eval.is_symbol("eval") => self.has_one_result(call),
            _ => false,
        }
    }

    /// Whether what a variable stands for is its own result, of a type.
    pub(super) fn is_normal(&self, variable: &Variable, type_id: TypeId) -> bool {
        let types = &self.run.machine().types;
        match self.scope.fact(variable) {
            Some(Fact::Number) => type_id == 0 || type_id == types.number_type,
            Some(Fact::Bool) => type_id == 0 || type_id == types.bool_type,
            Some(Fact::Expression) | None => false,
        }
    }

    /// What is known of the value of a node.
    pub(in crate::machine) fn fact_of(&self, node: &Core) -> Option<Fact> {
        match node {
            Core::Variable(variable) => self.scope.known(variable),
            Core::Compute(compute) => {
                let are_numbers = compute.operands.iter().all(|operand| self.is_number(operand));
                (matches!(compute.operation, core::Operation::Arithmetic(_)) && are_numbers).then_some(Fact::Number)
            }
            _ => None,
        }
    }

    fn is_number(&self, node: &Core) -> bool {
        match node {
            Core::Leaf(leaf) => is_small(*leaf),
            node => self.fact_of(node) == Some(Fact::Number),
        }
    }

    /// The variables of an atom, which is no deeper than what is compiled, that stand for nothing yet, in the order in which they are written.
    pub(super) fn unknown(&self, atom: &Atom) -> Vec<Variable> {
        let mut unknown = Vec::new();
        self.add_unknown(atom, &mut unknown);
        unknown
    }

    fn add_unknown(&self, atom: &Atom, unknown: &mut Vec<Variable>) {
        match atom {
            Atom::Variable(variable) if !self.scope.is_known(variable) && !unknown.contains(variable) => {
                unknown.push(variable.clone());
            }
            Atom::Expression(expression) if !atom.is_ground() => {
                expression.children().iter().for_each(|child| self.add_unknown(child, unknown));
            }
            _ => {}
        }
    }

    /// Whether something in an atom, which is no deeper than what is compiled, is known already.
    pub(super) fn mentions_known(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Variable(variable) => self.scope.is_known(variable),
            Atom::Expression(expression) if !atom.is_ground() => {
                expression.children().iter().any(|child| self.mentions_known(child))
            }
            _ => false,
        }
    }
}
