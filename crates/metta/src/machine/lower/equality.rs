//! `==` takes two values of one type: which one that is.

use super::Facts;
use crate::lowering::Lowering;
use crate::machine::code::{Callee, Guard, Slot, TypeId};
use crate::machine::core::Fact;
use crate::machine::core::Test;
use crate::machine::types::HeadKind;
use crate::operation::lowering_of;
use space::{Atom, Variable};

/// What one side of `==` is.
#[derive(Clone)]
pub(super) enum Side {
    /// A number, or arithmetic.
    Number,
    /// A variable.
    Variable(Variable),
    /// What has this one type.
    Typed(TypeId),
    /// A symbol without types.
    Open,
    /// A call of a function without types, of no type itself.
    Call,
    Other,
}

impl Facts<'_> {
    /// The type that both sides of `==` are evaluated to, if their types agree and the guards hold.
    pub(in crate::machine) fn sides_agree(
        &mut self,
        left: &Atom,
        right: &Atom,
        is_nested: bool,
        guards: &mut Vec<Test>,
    ) -> Option<TypeId> {
        let number = self.run.machine().types.number_type;
        let (first, second) = (self.side(left), self.side(right));
        match (first, second) {
            (Side::Number, _) | (_, Side::Number) if self.is_well_typed => {
                let agree =
                    self.agrees(left, number, is_nested, guards) && self.agrees(right, number, is_nested, guards);
                agree.then_some(number)
            }
            _ if self.is_well_typed => Some(0),
            (Side::Variable(left), Side::Variable(right)) => {
                guards.push(Test::SameType(left, right));
                Some(0)
            }
            (Side::Number, _) | (_, Side::Number) => {
                let agree =
                    self.agrees(left, number, is_nested, guards) && self.agrees(right, number, is_nested, guards);
                agree.then_some(number)
            }
            (Side::Open, Side::Variable(variable)) | (Side::Variable(variable), Side::Open) => {
                guards.push(Test::Is(variable, Guard::Plain));
                Some(0)
            }
            (Side::Call, Side::Variable(_)) | (Side::Variable(_), Side::Call) => {
                let agree =
                    self.agrees(left, number, is_nested, guards) && self.agrees(right, number, is_nested, guards);
                agree.then_some(number)
            }
            (Side::Open | Side::Call, Side::Open | Side::Call) => Some(0),
            (Side::Typed(one), Side::Typed(other)) if one == other => {
                let agree = self.agrees(left, one, is_nested, guards) && self.agrees(right, one, is_nested, guards);
                agree.then_some(one)
            }
            (Side::Typed(_), _) | (_, Side::Typed(_)) | (Side::Other, _) | (_, Side::Other) => None,
        }
    }

    fn side(&mut self, atom: &Atom) -> Side {
        match self.side_without_type(atom) {
            Side::Other => match self.only_type(atom).and_then(|found| self.run.machine_mut().types.ids.id(&found)) {
                Some(number) if number == self.run.machine().types.number_type => Side::Number,
                Some(found) => Side::Typed(found),
                None => Side::Other,
            },
            known => known,
        }
    }

    fn side_without_type(&mut self, atom: &Atom) -> Side {
        match atom {
            Atom::Variable(variable) if !self.scope.is_known(variable) => Side::Other,
            Atom::Variable(variable) => match self.scope.fact(variable) {
                Some(Fact::Number) => Side::Number,
                _ => Side::Variable(variable.clone()),
            },
            Atom::Grounded(space::Grounded::Number(_)) => Side::Number,
            Atom::Expression(expression) if expression.is_empty() && self.run.types().is_unit_open() => Side::Open,
            Atom::Symbol(_) => {
                let leaf = self.run.machine_mut().values.constant_leaf(atom).expect("it is a leaf");
                if self.run.types().is_open(leaf) { Side::Open } else { Side::Other }
            }
            Atom::Expression(expression) if !expression.is_empty() => {
                let head = &expression.children()[0];
                if matches!(lowering_of(head), Some(Lowering::Arithmetic(_))) {
                    return Side::Number;
                }
                let Atom::Symbol(_) = head else { return Side::Other };
                let leaf = self.run.machine_mut().values.constant_leaf(head).expect("it is a leaf");
                let arity = expression.len() - 1;
                let is_open = match self.run.types().head_kind(leaf, arity) {
                    HeadKind::Untyped => self.run.types().makes_open(leaf, arity),
                    HeadKind::Raw { result } => {
                        result == self.run.machine().types.atom_type
                            && !self.run.types().may_have_whole_type(leaf, arity)
                    }
                    _ => false,
                };
                if is_open { Side::Call } else { Side::Other }
            }
            _ => Side::Other,
        }
    }

    /// The function that a call is of.
    pub(in crate::machine) fn callee(&mut self, call: &Atom) -> Callee {
        let (head, arguments) = call.children().and_then(|children| children.split_first()).expect("it is a call");
        let head = self.run.machine_mut().values.constant_leaf(head).expect("its head is a leaf");
        (head, arguments.len() as Slot)
    }

    /// Whether an atom is a call of a function without types, of no type itself, whose results are evaluated to the type that is expected.
    pub(in crate::machine) fn is_untyped_call(&mut self, atom: &Atom) -> bool {
        let Some([head, arguments @ ..]) = atom.children() else { return false };
        matches!(self.side_without_type(atom), Side::Call)
            && self.run.machine_mut().values.constant_leaf(head).is_some_and(|head| {
                matches!(self.run.types().head_kind(head, arguments.len()), HeadKind::Untyped)
                    && self.run.has_rules((head, arguments.len() as Slot))
            })
    }
}
