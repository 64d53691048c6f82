//! Types of values that are certain.
//!
//! 1. What an expression has been noted as in normal form has well-typed arguments, so the result type of its head is its type.
//! 2. Of any other expression whose head has one plain function type, the arguments are looked at in turn.
//! 3. Terms of the dictionary never change: what is found out about them is kept until types change.
//! 4. Only a *yes* is certain here. Otherwise the types are found as the specification has it ([`crate::types`]).

use super::TypeChecker;
use super::signatures::{Formal, HeadKind, Signature};
use crate::machine::code::TypeId;
use crate::machine::notes::Told;
use crate::machine::words::{SYMBOL, TERM, plain, term_of};
use crate::names;
use crate::types;
use region::{Ref, tag};
use space::Atom;

/// A question: is the value of this type, as the argument of a function inside an expression or at its top?
struct TypeQuestion {
    value: Ref,
    type_id: TypeId,
    is_deep: bool,
}

impl TypeChecker<'_> {
    /// Whether an expression is of a type for certain.
    pub(super) fn expression_has_type(&mut self, value: Ref, type_id: TypeId, is_deep: bool) -> bool {
        let note = self.values.heap.note(value);
        match self.types.schemes.noted.told(self.types.notes, note) {
            Some(Told::Whole(scheme)) => {
                self.types.scheme_of_type(type_id) == Some(scheme) || self.scheme_agrees(value, type_id, is_deep)
            }
            Some(Told::Partly(scheme)) if self.types.each_agrees_with(scheme, type_id) => true,
            Some(Told::Partly(_)) | None => self.all_certain(vec![TypeQuestion { value, type_id, is_deep }]),
        }
    }

    /// Whether the arguments of an expression are of the types that a signature names, for certain.
    fn arguments_have_types(&mut self, expression: Ref, signature: &Signature) -> bool {
        let mut work = Vec::new();
        for (index, formal) in signature.formals.iter().enumerate() {
            let value = self.values.heap.walk(self.values.heap.child(expression, index + 1));
            match formal {
                Formal::Raw => {}
                Formal::Expression if value.is_expression() || value.tag() == TERM => {}
                Formal::Expression => return false,
                Formal::Typed(0) if !self.has_no_type_error(value) => return false,
                Formal::Typed(type_id) => work.push(TypeQuestion { value, type_id: *type_id, is_deep: false }),
            }
        }
        self.all_certain(work)
    }

    /// Whether the types of a value hold no error, for certain.
    pub(in crate::machine) fn has_no_type_error(&mut self, value: Ref) -> bool {
        let value = self.values.heap.walk(value);
        if !value.is_expression() && value.tag() != TERM || self.is_open(value) {
            return true;
        }
        match self.result_of_head(value) {
            Some(result) => self.all_certain(vec![TypeQuestion { value, type_id: result, is_deep: false }]),
            None => self.scheme_of(value).is_some(),
        }
    }

    /// The result type of an expression's head, if it has one plain function type.
    fn result_of_head(&mut self, value: Ref) -> Option<TypeId> {
        if !value.is_expression() || self.values.heap.length(value) == 0 {
            return None;
        }
        let head = self.values.heap.walk(self.values.heap.child(value, 0));
        if head.tag() != SYMBOL {
            return None;
        }
        match self.head_kind(head, self.values.heap.length(value) - 1) {
            HeadKind::Typed(signature) => signature.result,
            HeadKind::Raw { result } => Some(result),
            _ => None,
        }
    }

    fn all_certain(&mut self, mut work: Vec<TypeQuestion>) -> bool {
        while let Some(asked) = work.pop() {
            if !self.is_certain(&asked, &mut work) {
                return false;
            }
        }
        true
    }

    /// Whether a value is of a type for certain, if what it adds to the work is.
    fn is_certain(&mut self, asked: &TypeQuestion, work: &mut Vec<TypeQuestion>) -> bool {
        let TypeQuestion { value, type_id, is_deep } = *asked;
        let value = self.values.heap.walk(value);
        if value.tag() == tag::VARIABLE || is_deep && type_id == self.types.atom_type {
            return true;
        }
        // Of what may be of any type, only a call of a typed function can hold an error.
        if type_id == 0 && !self.is_of_typed_function(value) {
            return true;
        }
        if value.tag() == TERM {
            return self.term_has_type(value, type_id, is_deep);
        }
        if !value.is_expression() {
            return self.has_type(value, type_id, is_deep);
        }
        if self.is_open(value) {
            return true;
        }
        let head = self.values.heap.walk(self.values.heap.child(value, 0));
        if head.tag() != SYMBOL {
            return false;
        }
        let signature = match self.head_kind(head, self.values.heap.length(value) - 1) {
            HeadKind::Typed(signature) => signature,
            HeadKind::Raw { result } => Signature::raw(0, result),
            HeadKind::Parametric(_) => return self.scheme_agrees(value, type_id, is_deep),
            _ => return false,
        };
        if !signature.result.is_some_and(|result| self.results_agree(result, type_id, is_deep)) {
            return false;
        }
        if self.types.notes.hold(self.values.heap.note(value)) {
            return true;
        }
        for (index, formal) in signature.formals.iter().enumerate() {
            let value = self.values.heap.walk(self.values.heap.child(value, index + 1));
            match formal {
                Formal::Typed(type_id) => work.push(TypeQuestion { value, type_id: *type_id, is_deep: true }),
                Formal::Expression if !value.is_expression() && value.tag() != TERM => return false,
                Formal::Raw | Formal::Expression => {}
            }
        }
        true
    }

    /// Whether the scheme of a value is known and agrees with a type.
    fn scheme_agrees(&mut self, value: Ref, type_id: TypeId, is_deep: bool) -> bool {
        let is_plain = |expected: &Atom| !names::is_metatype(expected);
        match self.scheme_of(value) {
            Some(scheme) if is_plain(self.types.ids.atom(type_id)) => {
                self.types.scheme_agrees_with(scheme, type_id, is_deep, self.variables)
            }
            _ => false,
        }
    }

    fn is_of_typed_function(&mut self, value: Ref) -> bool {
        if !value.is_expression() || self.values.heap.length(value) == 0 {
            return false;
        }
        let head = self.values.heap.walk(self.values.heap.child(value, 0));
        let arity = self.values.heap.length(value) - 1;
        head.tag() == SYMBOL && matches!(self.head_kind(head, arity), HeadKind::Typed(_))
    }

    /// Whether a term of the dictionary is of a type.
    pub(in crate::machine) fn term_has_type(&mut self, term: Ref, type_id: TypeId, is_deep: bool) -> bool {
        let term = plain(term);
        if let Some(&known) = self.types.typed.get(&(term, type_id, is_deep)) {
            return known;
        }
        // Its parts are looked at once, whatever they are in.
        if self.scheme_agrees(term, type_id, is_deep) {
            return true;
        }
        let terms = self.values.terms.clone();
        let atom = terms.read().expect("no panic while terms are locked").atom(term_of(term)).clone();
        let has = self.atom_has_type(&atom, type_id, is_deep);
        self.types.typed.insert((term, type_id, is_deep), has);
        has
    }

    /// Whether an expression is noted as in normal form, and of a type for certain: evaluated to that type it is its own result.
    pub(in crate::machine) fn is_normal_to(&mut self, value: Ref, type_id: TypeId) -> bool {
        self.types.notes.hold(self.values.heap.note(value)) && self.expression_has_type(value, type_id, false)
    }

    fn is_well_made(&mut self, call: Ref, signature: &Signature) -> bool {
        let mut work = Vec::new();
        for (index, formal) in signature.formals.iter().enumerate() {
            if let Formal::Typed(type_id) = formal {
                let value = self.values.heap.child(call, index + 1);
                work.push(TypeQuestion { value, type_id: *type_id, is_deep: true });
            }
        }
        self.all_certain(work)
    }

    /// The only type of a value in normal form, if it is known for certain.
    fn only_type_of(&mut self, value: Ref) -> Option<TypeId> {
        match value.tag() {
            tag::EXPRESSION | tag::MARKED if self.types.notes.hold(self.values.heap.note(value)) => {
                let head = self.values.heap.walk(*self.values.heap.children(value).first()?);
                let may_have_more = self.may_have_whole_type(head, self.values.heap.length(value) - 1);
                if may_have_more { None } else { self.result_of_head(value) }
            }
            SYMBOL => self.only_type_of_symbol(value),
            _ => None,
        }
    }

    fn only_type_of_symbol(&mut self, symbol: Ref) -> Option<TypeId> {
        if let Some(&known) = self.types.only_types.get(&symbol) {
            return known;
        }
        let atom = self.values.leaf_atom(symbol);
        let only = self.only_type(&atom).filter(|only| only.is_ground() && !types::is_function(only));
        let only = only.and_then(|only| self.types.ids.id(&only));
        self.types.only_types.insert(symbol, only);
        only
    }

    /// Whether two values in normal form have one type, each only that.
    pub(super) fn share_a_type(&mut self, left: Ref, right: Ref) -> bool {
        let Some(found) = self.only_type_of(left) else { return false };
        found != 0 && found != self.types.atom_type && self.only_type_of(right) == Some(found)
    }

    /// Whether an expression of the heap is a call that can be evaluated argument by argument.
    pub(in crate::machine) fn is_typed_call(&mut self, value: Ref, signature: &Signature, type_id: TypeId) -> bool {
        let result = signature.result.unwrap_or(type_id);
        self.results_agree_at_top(result, type_id) && self.arguments_have_types(value, signature)
    }

    fn results_agree_at_top(&mut self, result: TypeId, type_id: TypeId) -> bool {
        type_id == 0 || self.results_agree(result, type_id, false)
    }

    /// Notes what a call has come to without a rule as in normal form, if its arguments are, and for certain of the types that its head
    /// asks for.
    pub(in crate::machine) fn note_made(&mut self, call: Ref) {
        let head = self.values.heap.child(call, 0);
        let is_well_made = match self.head_kind(head, self.values.heap.length(call) - 1) {
            HeadKind::Typed(signature) => self.is_well_made(call, &signature),
            HeadKind::Untyped | HeadKind::Raw { .. } => true,
            HeadKind::Parametric(_) => {
                self.note_by_arguments(call);
                false
            }
            HeadKind::Other => false,
        };
        if is_well_made {
            self.values.note_normal(call, self.types.notes);
        }
    }
}
