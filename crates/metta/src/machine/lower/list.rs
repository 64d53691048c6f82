//! Lists taken apart and put together, and tests of atoms as they stand.

use super::{Lower, OddAnswer, Place, Whole};
use crate::instructions::is_odd;
use crate::lowering::{Form, Lowering};
use crate::machine::code::{Guard, Position};
use crate::machine::core::{AtomTest, Core, IfAtoms, List, ListOperation, Test};
use crate::machine::types::Formal;
use space::Atom;
use std::rc::Rc;

impl Lower<'_> {
    /// `car-atom`, `cdr-atom`, `cons-atom`, `decons-atom`; `None` if the library's rule says what they come to.
    pub(super) fn list_form(&mut self, form: Form, whole: Whole<'_>) -> Option<Core> {
        let Whole { atom, type_id } = whole;
        let arguments = &atom.children().expect("a form is an expression")[1..];
        let operation = match form {
            Form::Head => ListOperation::Head,
            Form::Tail => ListOperation::Tail,
            Form::Cons => ListOperation::Cons,
            _ => ListOperation::Decons,
        };
        let is_raw = matches!(operation, ListOperation::Cons | ListOperation::Decons);
        let result = if is_raw { self.facts.run.machine().types.atom_type } else { 0 };
        let mut tests = Vec::new();
        let list = arguments.last().expect("the form has arguments");
        if !self.facts.run.types().agrees_statically(result, type_id) || !self.facts.is_raw_expression(list, &mut tests)
        {
            return None;
        }
        Some(self.guarded(tests, whole, |lower| {
            // The list is there before what is put in front of it.
            let operands = arguments.iter().rev().map(|argument| lower.quote(argument)).collect();
            let node = lower.list(operation, operands, whole);
            if is_raw {
                return node;
            }
            // What is taken out of a list is evaluated.
            let part = lower.local();
            let tests = match operation {
                ListOperation::Head => vec![Test::Is(part.clone(), Guard::Reducible)],
                _ => Vec::new(),
            };
            let evaluated = Core::Evaluate { variable: part.clone(), type_id: 0, position: Position::Answer };
            let then = Box::new(Core::guarded(tests, evaluated, lower.written(atom, type_id)));
            Core::Let { variable: part, value: Box::new(node), then }
        }))
    }

    fn list(&self, operation: ListOperation, operands: Vec<Core>, whole: Whole<'_>) -> Core {
        let as_written = Rc::new(self.written(whole.atom, whole.type_id));
        Core::List(Box::new(List { operation, operands, as_written }))
    }

    /// Native functions on lists, and tests of atoms, that have nodes of their own; `None` if this is none, or none that can be lowered so.
    pub(super) fn list_operation(&mut self, lowering: Lowering, whole: Whole<'_>, place: Place) -> Option<Core> {
        let arguments = &whole.atom.children().expect("a call is an expression")[1..];
        match (lowering, arguments) {
            (Lowering::Size, [list]) => self.size(list, whole),
            (Lowering::Element, [list, index]) => self.element(list, index, whole),
            (Lowering::IfEqual, [left, right, then, otherwise]) => {
                self.if_atoms(AtomTest::AreEqual, &[left, right], [then, otherwise], whole, place)
            }
            (Lowering::IfError, [tested, then, otherwise]) => {
                self.if_atoms(AtomTest::IsError, &[tested], [then, otherwise], whole, place)
            }
            _ => None,
        }
    }

    fn size(&mut self, list: &Atom, whole: Whole<'_>) -> Option<Core> {
        let mut tests = Vec::new();
        let number = self.facts.run.machine().types.number_type;
        if !self.facts.run.types().agrees_statically(number, whole.type_id)
            || !self.facts.is_raw_expression(list, &mut tests)
        {
            return None;
        }
        Some(self.guarded(tests, whole, |lower| {
            let operands = vec![lower.quote(list)];
            lower.list(ListOperation::Size, operands, whole)
        }))
    }

    fn element(&mut self, list: &Atom, index: &Atom, whole: Whole<'_>) -> Option<Core> {
        let mut tests = Vec::new();
        let formals = [Formal::Expression, Formal::Typed(self.facts.run.machine().types.number_type)];
        let arguments = [list.clone(), index.clone()];
        let atom_type = self.facts.run.machine().types.atom_type;
        let is_plain =
            matches!(index, Atom::Variable(_)) || self.facts.run.machine_mut().values.constant_leaf(index).is_some();
        if !is_plain
            || !self.facts.run.types().agrees_statically(atom_type, whole.type_id)
            || !self.facts.arguments_agree(&formals, &arguments, &mut tests)
        {
            return None;
        }
        Some(self.guarded(tests, whole, |lower| {
            let operands = vec![lower.quote(list), lower.quote(index)];
            lower.list(ListOperation::Element, operands, whole)
        }))
    }

    /// A test of atoms as they stand, and a branch.
    fn if_atoms(
        &mut self,
        asks: AtomTest,
        tested: &[&Atom],
        [then, otherwise]: [&Atom; 2],
        whole: Whole<'_>,
        place: Place,
    ) -> Option<Core> {
        if is_odd(then) || is_odd(otherwise) {
            return None;
        }
        let fresh = self.shared_by_branches(&[then, otherwise]);
        let operands = tested.iter().map(|tested| self.quote(tested)).collect();
        let [then, otherwise] = [then, otherwise].map(|branch| {
            let mark = self.facts.scope.mark();
            let node = self.answered(branch, 0, place, |_| OddAnswer::Enters(whole.atom.clone()));
            self.facts.scope.forget_from(mark);
            node
        });
        Some(Core::fresh(fresh, Core::IfAtoms(Box::new(IfAtoms { asks, operands, then, otherwise }))))
    }
}
