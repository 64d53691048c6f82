//! Whether the types of expressions agree with what is expected of them, and the tests that have to hold for that.

use super::Facts;
use crate::lowering::{Comparison, Form, Loop, Lowering};
use crate::machine::code::{Guard, Slot, TypeId};
use crate::machine::core::Test;
use crate::machine::types::{Formal, HeadKind, Signature};
use crate::machine::words::{ANY, COMPOUND};
use crate::operation::{Operation, lowering_of};
use region::Ref;
use space::{Atom, Variable};

impl Facts<'_> {
    /// Whether arguments agree with what a function type says, if the guards hold.
    pub(in crate::machine) fn arguments_agree(
        &mut self,
        formals: &[Formal],
        arguments: &[Atom],
        guards: &mut Vec<Test>,
    ) -> bool {
        formals.iter().zip(arguments).all(|(formal, argument)| match formal {
            Formal::Raw => true,
            Formal::Expression => self.is_raw_expression(argument, guards),
            Formal::Typed(type_id) => self.agrees(argument, *type_id, false, guards),
        })
    }

    pub(in crate::machine) fn is_raw_expression(&mut self, argument: &Atom, guards: &mut Vec<Test>) -> bool {
        match argument {
            Atom::Expression(_) => true,
            Atom::Variable(variable) => {
                if !self.scope.is_known(variable) {
                    return false;
                }
                guards.push(Test::Is(variable.clone(), Guard::Expression));
                true
            }
            _ => false,
        }
    }

    /// Whether the types of an atom as it stands agree with an expected one, if the guards hold.
    pub(in crate::machine) fn agrees(
        &mut self,
        atom: &Atom,
        type_id: TypeId,
        is_nested: bool,
        guards: &mut Vec<Test>,
    ) -> bool {
        if is_nested && (type_id == 0 || type_id == self.run.machine().types.atom_type) {
            return true;
        }
        match atom {
            Atom::Variable(variable) => {
                if !self.scope.is_known(variable) {
                    return true;
                }
                let guard = self.guard_for(type_id, is_nested);
                // That something has the type of numbers does not make it one.
                if !self.is_well_typed || matches!(guard, Guard::Number | Guard::Bool) {
                    guards.push(Test::Is(variable.clone(), guard));
                }
                true
            }
            // Guards make numbers of the variables of arithmetic.
            _ if self.is_well_typed => {
                if atom.head().is_some_and(|head| lowering_of(head).is_some()) {
                    self.call_agrees(atom, type_id, is_nested, guards);
                }
                true
            }
            Atom::Expression(expression) if !expression.is_empty() => {
                self.call_agrees(atom, type_id, is_nested, guards)
            }
            leaf => match self.run.machine_mut().values.constant_leaf(leaf) {
                Some(known) => self.run.types().leaf_has_type(leaf, known, type_id, is_nested),
                None => type_id == 0,
            },
        }
    }

    fn result_agrees(&mut self, result: TypeId, type_id: TypeId, is_nested: bool) -> bool {
        if is_nested {
            self.run.types().agrees_deeply(result, type_id)
        } else {
            self.run.types().agrees_statically(result, type_id)
        }
    }

    /// Whether what stands first in an expression has no function type, so that the expression is a tuple; or, as the guard asks, that
    /// the expression has no type at all.
    pub(in crate::machine) fn head_is_open(&mut self, head: &Atom, guard: Guard, guards: &mut Vec<Test>) -> bool {
        let mut may_have_whole_type = |head: Ref| match guard {
            Guard::OpenHead(arity) => self.run.types().may_have_whole_type(head, usize::from(arity)),
            _ => false,
        };
        match head {
            Atom::Variable(variable) if self.scope.is_known(variable) => {
                guards.push(Test::Is(variable.clone(), guard));
                true
            }
            Atom::Variable(_) => !may_have_whole_type(ANY),
            Atom::Expression(_) if may_have_whole_type(COMPOUND) => false,
            Atom::Expression(expression) => match expression.children().first() {
                None => true,
                Some(inner @ Atom::Symbol(_)) => {
                    let inner = self.run.machine_mut().values.constant_leaf(inner).expect("it is a leaf");
                    self.run.types().makes_open(inner, expression.len() - 1)
                }
                Some(inner @ Atom::Expression(_)) => {
                    let arity = (expression.len() - 1) as Slot;
                    self.head_is_open(inner, Guard::OpenHead(arity), guards)
                }
                // Such a tuple has a type of its own, which agrees with none but what is unknown.
                Some(inner) if Operation::of(inner).is_some() && matches!(guard, Guard::Head(_)) => {
                    let found = self.only_type(head).and_then(|found| self.run.machine_mut().types.ids.id(&found));
                    found.is_some_and(|found| self.agrees(head, found, false, guards))
                }
                Some(_) => false,
            },
            _ => false,
        }
    }

    fn guard_for(&self, type_id: TypeId, is_nested: bool) -> Guard {
        match type_id {
            0 => Guard::Plain,
            number if number == self.run.machine().types.number_type => Guard::Number,
            bool if bool == self.run.machine().types.bool_type => Guard::Bool,
            other if is_nested => Guard::TypeInside(other),
            other => Guard::Type(other),
        }
    }

    fn call_agrees(&mut self, call: &Atom, type_id: TypeId, is_nested: bool, guards: &mut Vec<Test>) -> bool {
        let children = call.children().expect("a call is an expression");
        let arity = children.len() - 1;
        let Some(head) = self.run.machine_mut().values.constant_leaf(&children[0]) else {
            let guard = if type_id == 0 { Guard::Head(arity as Slot) } else { Guard::OpenHead(arity as Slot) };
            return self.head_is_open(&children[0], guard, guards);
        };
        let equal = Lowering::Comparison(Comparison::Equal);
        if let ([_, left, right], true) = (children, lowering_of(&children[0]) == Some(equal)) {
            let bool_type = self.run.machine().types.bool_type;
            return self.run.types().agrees_statically(bool_type, type_id)
                && self.sides_agree(left, right, true, guards).is_some();
        }
        match self.run.types().head_kind(head, arity) {
            HeadKind::Untyped => type_id == 0 || self.run.types().makes_open(head, arity),
            HeadKind::Raw { result } => self.result_agrees(result, type_id, is_nested),
            HeadKind::Typed(signature) => self.signature_agrees(&signature, &children[1..], type_id, is_nested, guards),
            HeadKind::Parametric(function) => match self.instantiated(&function, &children[1..], type_id) {
                Some((signature, more)) => {
                    guards.extend(more);
                    self.signature_agrees(&signature, &children[1..], type_id, is_nested, guards)
                }
                None => false,
            },
            HeadKind::Other => self.form_agrees(call, type_id, guards),
        }
    }

    /// Whether a call with this signature agrees with an expected type, if the guards hold.
    fn signature_agrees(
        &mut self,
        signature: &Signature,
        arguments: &[Atom],
        type_id: TypeId,
        is_nested: bool,
        guards: &mut Vec<Test>,
    ) -> bool {
        let result = signature.result.unwrap_or(type_id);
        self.result_agrees(result, type_id, is_nested)
            && signature.formals.iter().zip(arguments).all(|(formal, child)| match formal {
                Formal::Raw => true,
                Formal::Expression => self.is_raw_expression(child, guards),
                Formal::Typed(formal) => self.agrees(child, *formal, true, guards),
            })
    }

    /// Whether the declared result of a form agrees with what is expected.
    pub(in crate::machine) fn form_has_type(&mut self, atom: &Atom, arity: usize, type_id: TypeId) -> bool {
        let Some(head) = atom.head().and_then(|head| self.run.machine_mut().values.constant_leaf(head)) else {
            return true;
        };
        match self.run.types().head_kind(head, arity) {
            HeadKind::Raw { result } => self.run.types().agrees_statically(result, type_id),
            HeadKind::Typed(signature) => {
                signature.result.is_none_or(|result| self.run.types().agrees_statically(result, type_id))
            }
            HeadKind::Other => self
                .run
                .types()
                .declared_result(head)
                .is_none_or(|result| self.run.types().agrees_statically(result, type_id)),
            HeadKind::Untyped | HeadKind::Parametric(_) => true,
        }
    }

    /// Whether a form whose type has variables or takes some agrees with an expected type, if the guards hold.
    pub(in crate::machine) fn form_agrees(&mut self, call: &Atom, type_id: TypeId, guards: &mut Vec<Test>) -> bool {
        let Some([Atom::Symbol(name), arguments @ ..]) = call.children() else { return false };
        let Some(form) = self.run.special_form(name.as_str(), arguments.len()) else { return false };
        let own: Vec<&Variable> = match (form, arguments) {
            (Form::Loop(Loop::Map | Loop::Filter), [_, Atom::Variable(item), _]) if type_id == 0 => vec![item],
            (Form::Loop(Loop::Fold), [_, _, Atom::Variable(found), Atom::Variable(item), _]) => vec![found, item],
            (Form::IfDecons, [_, Atom::Variable(head), Atom::Variable(tail), _, _]) => vec![head, tail],
            _ => return false,
        };
        guards.extend(own.into_iter().filter_map(|variable| self.slot_guard(variable, Guard::Unbound)));
        self.is_raw_expression(&arguments[0], guards)
    }

    /// A guard that a slot holds no unbound variable, or only one.
    pub(in crate::machine) fn slot_guard(&self, variable: &Variable, guard: Guard) -> Option<Test> {
        self.scope.is_known(variable).then(|| Test::Is(variable.clone(), guard))
    }
}
