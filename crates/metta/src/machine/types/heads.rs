//! How calls are evaluated, by the type of their head.

use super::TypeChecker;
use super::signatures::{Formal, HeadKind, Signature};
use super::type_ids::TypeIds;
use crate::machine::code::TypeId;
use crate::machine::words::{COMPOUND, EMPTY, ERROR, FOREIGN, INTEGER, SYMBOL, TERM, is_lasting};
use crate::names;
use crate::operation::Operation;
use crate::types;
use region::{Ref, tag};
use space::Atom;
use std::rc::Rc;

impl TypeChecker<'_> {
    /// What the only function type of a head says of results, if that has no variable.
    pub(in crate::machine) fn declared_result(&mut self, head: Ref) -> Option<TypeId> {
        if let Some(&known) = self.types.schemes.declared.get(&head) {
            return known;
        }
        let atom = self.values.leaf_atom(head);
        let declared = self.only_type(&atom).filter(types::is_function).and_then(|function| {
            let (_, result) = types::function_parts(&function);
            if result.is_ground() { self.types.ids.id(result) } else { None }
        });
        if is_lasting(head) {
            self.types.schemes.declared.insert(head, declared);
        }
        declared
    }

    /// How calls of a head with `arity` arguments are evaluated.
    pub(in crate::machine) fn head_kind(&mut self, head: Ref, arity: usize) -> HeadKind {
        if head.tag() == tag::VARIABLE || matches!(head.tag(), INTEGER | tag::NUMBER) {
            return HeadKind::Untyped;
        }
        if !matches!(head.tag(), SYMBOL | FOREIGN) {
            return HeadKind::Other;
        }
        if let Some(known) = self.types.heads.get(&(head, arity)) {
            return known.clone();
        }
        let atom = self.values.leaf_atom(head);
        let kind = match self.kind_of(&atom, arity) {
            // As a head `Empty` is no result; code looks for that only where there is no function type.
            HeadKind::Raw { .. } | HeadKind::Typed(_) | HeadKind::Parametric(_) if head == EMPTY => HeadKind::Other,
            kind => kind,
        };
        if is_lasting(head) {
            self.types.heads.insert((head, arity), kind.clone());
        }
        kind
    }

    fn kind_of(&mut self, head: &Atom, arity: usize) -> HeadKind {
        // With `(: $any Thing)` whatever there is has a type: that is left to the interpreter.
        if !self.has_no_type(COMPOUND) {
            return HeadKind::Other;
        }
        let found = types::types_of(self.space, head, self.variables);
        if found.iter().any(|found| found.atom.is_symbol(names::ARROW)) {
            // Calls of it, whose types begin like this one, are of function types.
            return HeadKind::Other;
        }
        if found.iter().all(|found| found.is_valid() && !found.is_function()) {
            return if Operation::of(head).is_some() { HeadKind::Other } else { HeadKind::Untyped };
        }
        let [only] = found.as_slice() else { return HeadKind::Other };
        if !only.is_valid() || !only.is_function() {
            return HeadKind::Other;
        }
        if !only.atom.is_ground() {
            // With variables in its result alone it may do as it is.
            return match self.types.ids.kind_of_type(&only.atom, arity) {
                HeadKind::Other if types::function_parts(&only.atom).0.len() == arity => {
                    HeadKind::Parametric(only.atom.clone())
                }
                known => known,
            };
        }
        self.types.ids.kind_of_type(&only.atom, arity)
    }

    /// Whether an expression with this value as its head is a tuple.
    pub(in crate::machine) fn makes_a_tuple(&mut self, head: Ref, arity: usize) -> bool {
        match head.tag() {
            SYMBOL => matches!(self.head_kind(head, arity), HeadKind::Untyped) && head != ERROR,
            tag::VARIABLE | INTEGER | tag::NUMBER => true,
            tag::EXPRESSION | tag::MARKED | TERM => self.is_open(head),
            _ => false,
        }
    }
}

impl TypeIds {
    /// How calls by a function type are evaluated.
    pub(in crate::machine) fn kind_of_type(&mut self, function: &Atom, arity: usize) -> HeadKind {
        let (formals, result) = types::function_parts(function);
        if formals.len() != arity {
            return HeadKind::Other;
        }
        let Some(result) = self.result_of(result, formals) else { return HeadKind::Other };
        let formals: Option<Rc<[Formal]>> = formals.iter().map(|formal| self.formal_of(formal)).collect();
        match (formals, result) {
            (None, _) => HeadKind::Other,
            (Some(formals), Some(result)) if formals.iter().all(|formal| *formal == Formal::Raw) => {
                HeadKind::Raw { result }
            }
            (Some(formals), result) => HeadKind::Typed(Signature { formals, result }),
        }
    }

    /// The type of the result as evaluation expects it; `None` if that depends on the arguments.
    fn result_of(&mut self, result: &Atom, formals: &[Atom]) -> Option<Option<TypeId>> {
        match result {
            Atom::Variable(_) if formals.iter().all(|formal| formal.is_ground()) => Some(None),
            Atom::Symbol(name) if [names::SYMBOL, names::VARIABLE, names::GROUNDED].contains(&name.as_str()) => None,
            ground if ground.is_ground() => self.id(ground).map(Some),
            _ => None,
        }
    }

    fn formal_of(&mut self, formal: &Atom) -> Option<Formal> {
        match formal {
            Atom::Symbol(name) => match name.as_str() {
                names::ATOM => Some(Formal::Raw),
                names::EXPRESSION => Some(Formal::Expression),
                names::SYMBOL | names::VARIABLE | names::GROUNDED => None,
                _ => self.id(formal).map(Formal::Typed),
            },
            _ if formal.is_ground() => self.id(formal).map(Formal::Typed),
            _ => None,
        }
    }
}
