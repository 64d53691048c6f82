//! Types of values at run time, and calls of typed functions without code of their own.
//!
//! 1. What an expression has been noted as in normal form has well-typed arguments, so the result type of its head is its type.
//! 2. Of any other expression whose head has one plain function type, the arguments are looked at in turn.
//! 3. Terms of the dictionary never change: what is found out about them is kept until types change.
//! 4. Only a *yes* is certain here. Otherwise the types are found as the specification has it ([`crate::types`]).

use super::begun_again::type_slot;
use super::code::{HEADER, Slot, TypeId};
use super::evaluate::{CHILDREN, EXPRESSION, SHAPE, TYPED, slots_of_typed};
use super::kept_types::ARITY_MAX;
use super::notes::Told;
use super::schemes::Types;
use super::types::{Formal, HeadKind, Signature};
use super::words::raw;
use super::words::{EMPTY, SYMBOL, TERM, plain, term_of};
use super::{Halt, Running};
use crate::names;
use region::{Ref, tag};
use space::{Atom, Symbol};

/// In place of a type: the argument is taken as it stands.
const AS_IT_STANDS: u32 = 1 << 16;

/// A question: is the value of this type, as the argument of a function inside an expression or at its top?
struct TypeQuestion {
    value: Ref,
    type_id: TypeId,
    is_deep: bool,
}

impl Running<'_> {
    /// Whether an expression is of a type for certain.
    pub(super) fn expression_has_type(&mut self, value: Ref, type_id: TypeId, is_deep: bool) -> bool {
        let note = self.m.values.heap.note(value);
        match self.m.type_cache.schemes.noted.told(self.m.type_cache.notes, note) {
            Some(Told::Whole(scheme)) => {
                self.scheme_of_type(type_id) == Some(scheme) || self.scheme_agrees(value, type_id, is_deep)
            }
            Some(Told::Partly(scheme)) if self.each_agrees_with(scheme, type_id) => true,
            Some(Told::Partly(_)) | None => self.all_certain(vec![TypeQuestion { value, type_id, is_deep }]),
        }
    }

    /// Whether the arguments of an expression are of the types that a signature names, for certain.
    fn arguments_have_types(&mut self, expression: Ref, signature: &Signature) -> bool {
        let mut work = Vec::new();
        for (index, formal) in signature.formals.iter().enumerate() {
            let value = self.m.values.heap.walk(self.m.values.heap.child(expression, index + 1));
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
    pub(super) fn has_no_type_error(&mut self, value: Ref) -> bool {
        let value = self.m.values.heap.walk(value);
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
        if !value.is_expression() || self.m.values.heap.length(value) == 0 {
            return None;
        }
        let head = self.m.values.heap.walk(self.m.values.heap.child(value, 0));
        if head.tag() != SYMBOL {
            return None;
        }
        match self.head_kind(head, self.m.values.heap.length(value) - 1) {
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
        let value = self.m.values.heap.walk(value);
        if value.tag() == tag::VARIABLE || is_deep && type_id == self.m.type_cache.atom_type {
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
        let head = self.m.values.heap.walk(self.m.values.heap.child(value, 0));
        if head.tag() != SYMBOL {
            return false;
        }
        let signature = match self.head_kind(head, self.m.values.heap.length(value) - 1) {
            HeadKind::Typed(signature) => signature,
            HeadKind::Raw { result } => Signature::raw(0, result),
            HeadKind::Parametric(_) => return self.scheme_agrees(value, type_id, is_deep),
            _ => return false,
        };
        if !signature.result.is_some_and(|result| self.results_agree(result, type_id, is_deep)) {
            return false;
        }
        if self.m.type_cache.notes.hold(self.m.values.heap.note(value)) {
            return true;
        }
        for (index, formal) in signature.formals.iter().enumerate() {
            let value = self.m.values.heap.walk(self.m.values.heap.child(value, index + 1));
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
            Some(scheme) if is_plain(&self.m.code.types[usize::from(type_id)]) => {
                self.scheme_agrees_with(scheme, type_id, is_deep)
            }
            _ => false,
        }
    }

    fn is_of_typed_function(&mut self, value: Ref) -> bool {
        if !value.is_expression() || self.m.values.heap.length(value) == 0 {
            return false;
        }
        let head = self.m.values.heap.walk(self.m.values.heap.child(value, 0));
        let arity = self.m.values.heap.length(value) - 1;
        head.tag() == SYMBOL && matches!(self.head_kind(head, arity), HeadKind::Typed(_))
    }

    /// Whether a result of one type may stand where another is expected; kept for ever, as types do not change.
    pub(super) fn results_agree(&mut self, result: TypeId, type_id: TypeId, is_deep: bool) -> bool {
        if result == type_id || result == 0 {
            return true;
        }
        if let Some(&known) = self.m.type_cache.agreeing.get(&(result, type_id, is_deep)) {
            return known;
        }
        let agree = if is_deep { self.agrees_deeply(result, type_id) } else { self.agrees_statically(result, type_id) };
        self.m.type_cache.agreeing.insert((result, type_id, is_deep), agree);
        agree
    }

    /// Whether a term of the dictionary is of a type.
    pub(super) fn term_has_type(&mut self, term: Ref, type_id: TypeId, is_deep: bool) -> bool {
        let term = plain(term);
        if let Some(&known) = self.m.type_cache.typed.get(&(term, type_id, is_deep)) {
            return known;
        }
        // Its parts are looked at once, whatever they are in.
        if self.scheme_agrees(term, type_id, is_deep) {
            return true;
        }
        let terms = self.m.values.terms.clone();
        let atom = terms.read().expect("no panic while terms are locked").atom(term_of(term)).clone();
        let has = self.atom_has_type(&atom, type_id, is_deep);
        self.m.type_cache.typed.insert((term, type_id, is_deep), has);
        has
    }

    /// Whether an expression is noted as in normal form, and of a type for certain: evaluated to that type it is its own result.
    pub(super) fn is_normal_to(&mut self, value: Ref, type_id: TypeId) -> bool {
        self.m.type_cache.notes.hold(self.m.values.heap.note(value)) && self.expression_has_type(value, type_id, false)
    }

    /// Notes what a call has come to without a rule as in normal form, if its arguments are, and for certain of the types that its head
    /// asks for.
    pub(super) fn note_made(&mut self, call: Ref) {
        let head = self.m.values.heap.child(call, 0);
        let is_well_made = match self.head_kind(head, self.m.values.heap.length(call) - 1) {
            HeadKind::Typed(signature) => self.is_well_made(call, &signature),
            HeadKind::Untyped | HeadKind::Raw { .. } => true,
            HeadKind::Parametric(_) => {
                self.note_by_arguments(call);
                false
            }
            HeadKind::Other => false,
        };
        if is_well_made {
            self.m.note_normal(call);
        }
    }

    fn is_well_made(&mut self, call: Ref, signature: &Signature) -> bool {
        let mut work = Vec::new();
        for (index, formal) in signature.formals.iter().enumerate() {
            if let Formal::Typed(type_id) = formal {
                let value = self.m.values.heap.child(call, index + 1);
                work.push(TypeQuestion { value, type_id: *type_id, is_deep: true });
            }
        }
        self.all_certain(work)
    }

    /// The only type of a value in normal form, if it is known for certain.
    pub(super) fn only_type_of(&mut self, value: Ref) -> Option<TypeId> {
        match value.tag() {
            tag::EXPRESSION | tag::MARKED if self.m.type_cache.notes.hold(self.m.values.heap.note(value)) => {
                let head = self.m.values.heap.walk(*self.m.values.heap.children(value).first()?);
                let may_have_more = self.may_have_whole_type(head, self.m.values.heap.length(value) - 1);
                if may_have_more { None } else { self.result_of_head(value) }
            }
            SYMBOL => self.only_type_of_symbol(value),
            _ => None,
        }
    }

    fn only_type_of_symbol(&mut self, symbol: Ref) -> Option<TypeId> {
        if let Some(&known) = self.m.type_cache.only_types.get(&symbol) {
            return known;
        }
        let atom = self.m.values.leaf_atom(symbol);
        let found = crate::types::types_of(&self.space, &atom, self.session.program.variables());
        let only = match found.as_slice() {
            [only] if only.is_valid() && only.atom.is_ground() && !only.is_function() => {
                self.m.code.type_id(&only.atom)
            }
            _ => None,
        };
        self.m.type_cache.only_types.insert(symbol, only);
        only
    }

    /// Whether two values in normal form have one type, each only that.
    pub(super) fn share_a_type(&mut self, left: Ref, right: Ref) -> bool {
        let Some(found) = self.only_type_of(left) else { return false };
        found != 0 && found != self.m.type_cache.atom_type && self.only_type_of(right) == Some(found)
    }

    /// Whether an expression of the heap is a call that can be evaluated argument by argument.
    pub(super) fn is_typed_call(&mut self, value: Ref, signature: &Signature, type_id: TypeId) -> bool {
        let result = signature.result.unwrap_or(type_id);
        self.results_agree_at_top(result, type_id) && self.arguments_have_types(value, signature)
    }

    /// Whether an argument is an error that is passed on as it stands: a whole one, if its type is the expected one.
    pub(super) fn is_passed_on(&mut self, value: Ref, type_id: TypeId) -> bool {
        if !self.m.is_error(value) {
            return false;
        }
        let is_whole = match value.is_expression() {
            true => self.m.values.heap.length(value) == 3,
            false => self.m.values.term_shape(value, 3, None),
        };
        is_whole && self.has_type(value, type_id, false)
    }

    fn results_agree_at_top(&mut self, result: TypeId, type_id: TypeId) -> bool {
        type_id == 0 || self.results_agree(result, type_id, false)
    }

    /// Evaluates the arguments of a call to their types, in a frame that holds the types behind them.
    pub(super) fn begin_typed(
        &mut self,
        value: Ref,
        signature: &Signature,
        type_id: TypeId,
        types: Types,
    ) -> Result<(), Halt> {
        let length = self.m.values.heap.length(value);
        let result = signature.result.map_or(type_id, |result| self.m.evaluated_as(result));
        self.m.own_frame(slots_of_typed(length) + HEADER)?;
        self.m.set_slot(SHAPE, raw(usize::from(result) | (length | TYPED) << 16));
        self.m.set_slot(EXPRESSION, value);
        self.m.note_beginning(length, types);
        let head = self.original_child(0);
        self.m.set_slot(CHILDREN, head);
        self.m.set_slot(type_slot(length), raw(usize::from(type_id)));
        for (index, formal) in signature.formals.iter().enumerate() {
            self.m.set_slot(CHILDREN + (length + index + 1) as Slot, formal_word(*formal));
        }
        self.walk_typed(1, length)
    }

    /// Whether the values of a call's arguments agree with its type, where that was open for more than one of them. Which of
    /// them has bound it does not matter then, and the type of the result is known; otherwise the call is evaluated as it was, before
    /// its arguments bound anything.
    fn values_agree(&mut self, length: usize) -> Result<bool, Halt> {
        let values: Vec<Ref> = (0..length).map(|index| self.m.read(CHILDREN + index as Slot)).collect();
        let type_id = (self.m.slot(SHAPE).payload() & 0xffff) as TypeId;
        let mut says_type = [true; ARITY_MAX];
        for index in 1..length {
            says_type[index - 1] = self.says_type(index)?;
        }
        let says_type = &says_type[..length - 1];
        if let Some(result) = self.result_of_values(values[0], &values[1..], says_type, type_id)? {
            let result = self.m.evaluated_as(result);
            self.own_typed(length)?;
            self.m.set_slot(SHAPE, raw(usize::from(result) | (length | TYPED) << 16));
            return Ok(true);
        }
        Ok(!self.is_begun_again(length)?)
    }

    /// Puts what the arguments before one have come to into the type that it is evaluated to, if that is still open; says whether the call
    /// is begun again instead, since the machine cannot say what is known.
    ///
    /// What may have been said or not is taken for said: if the values do not agree with that, the call is begun again.
    fn say_types(&mut self, index: usize, length: usize) -> Result<bool, Halt> {
        let place = |index: usize| CHILDREN + (length + index) as Slot;
        let formal = self.m.slot(place(index)).payload();
        if index == 1 || !self.m.restart().is_open() || !self.is_open_type(formal) {
            return Ok(false);
        }
        let (head, type_id) = (self.m.read(CHILDREN), (self.m.slot(SHAPE).payload() & 0xffff) as TypeId);
        let (mut values, mut says_type) = ([EMPTY; ARITY_MAX], [true; ARITY_MAX]);
        for place in 1..length {
            (values[place - 1], says_type[place - 1]) = match place < index {
                true => (self.m.read(CHILDREN + place as Slot), self.says_type(place)?),
                false => (self.original_child(place), true),
            };
        }
        let (values, says_type) = (&values[..length - 1], &says_type[..length - 1]);
        let Some(signature) = self.signature_for_values(head, values, says_type, type_id) else {
            return self.is_begun_again(length);
        };
        self.own_typed(length)?;
        let result = signature.result.map_or(type_id, |result| self.m.evaluated_as(result));
        self.m.set_slot(SHAPE, raw(usize::from(result) | (length | TYPED) << 16));
        for (formal, index) in signature.formals.iter().zip(1..).skip(index - 1) {
            self.m.set_slot(place(index), formal_word(*formal));
        }
        Ok(false)
    }

    /// Whether the type of an argument has variables.
    fn is_open_type(&self, formal: u32) -> bool {
        formal != AS_IT_STANDS && (formal == 0 || !self.m.code.types[formal as usize].is_ground())
    }

    /// Makes the frame of a typed call the own one of an alternative: another one goes on with what was there before.
    fn own_typed(&mut self, length: usize) -> Result<(), Halt> {
        if self.m.frames.base >= self.m.choices.protected {
            return Ok(());
        }
        let slots = slots_of_typed(length);
        self.m.move_up(self.m.frames.base + HEADER + slots, slots + HEADER)?;
        if self.m.restart().bound().is_some() {
            self.m.note_moved(length);
        }
        Ok(())
    }

    /// Whether the evaluation of an argument says of which type it is.
    fn says_type(&mut self, index: usize) -> Result<bool, Halt> {
        Ok(self.type_flow(self.original_child(index))?.is_said())
    }

    /// An argument of the call at hand, or a part of the tuple, has come to an error: that is the result of the whole, unless it is about types
    /// and the types of the call follow from what earlier arguments may have said or not.
    pub(super) fn child_has_failed(&mut self) -> Result<(), Halt> {
        let error = self.m.frames.acc;
        let length = (self.m.slot(SHAPE).payload() >> 16) as usize;
        if length & TYPED != 0 {
            let length = length & !TYPED;
            if self.note_arrival(length)? {
                return Ok(());
            }
            let may_begin_again = self.m.restart().bound().is_some();
            if may_begin_again && self.is_about_types(error)? && self.is_begun_again(length)? {
                return Ok(());
            }
            self.note_passed(length);
        }
        self.give(error)
    }

    /// Whether an error says that a type does not agree. It may name a type of the call, or one inside of it.
    pub(super) fn is_about_types(&mut self, error: Ref) -> Result<bool, Halt> {
        let Some(reason) = self.reason_of(error)? else { return Ok(false) };
        let reason = if reason.tag() == TERM { self.m.values.open_term(reason)? } else { reason };
        let Some(&head) = reason.is_expression().then(|| self.m.values.heap.children(reason)).and_then(<[Ref]>::first)
        else {
            return Ok(false);
        };
        let head = self.m.values.heap.walk(head);
        Ok([names::BAD_TYPE, names::BAD_ARG_TYPE].iter().any(|name| self.m.values.symbol(&Symbol::new(name)) == head))
    }

    /// The reason of an error that has one.
    fn reason_of(&mut self, error: Ref) -> Result<Option<Ref>, Halt> {
        let error = if error.tag() == TERM { self.m.values.open_term(error)? } else { error };
        let has_reason = error.is_expression() && self.m.values.heap.length(error) == 3;
        Ok(has_reason.then(|| self.m.values.heap.walk(self.m.values.heap.child(error, 2))))
    }

    /// Goes on with the arguments of a typed call from this one on.
    pub(super) fn walk_typed(&mut self, from: usize, length: usize) -> Result<(), Halt> {
        for index in from..length {
            if self.say_types(index, length)? {
                return Ok(());
            }
            let child = self.original_child(index);
            let formal = self.m.slot(CHILDREN + (length + index) as Slot).payload();
            let is_final = formal == AS_IT_STANDS || child == EMPTY || self.is_passed_on(child, formal as TypeId);
            let normal = match is_final {
                true => Some(child),
                false => self.normal(child, formal as TypeId),
            };
            match normal {
                Some(normal) => self.m.set_slot(CHILDREN + index as Slot, normal),
                None => {
                    self.note_evaluation(length);
                    return self.evaluate_child(index, slots_of_typed(length), child, formal as TypeId);
                }
            }
        }
        if self.m.restart().is_open() && !self.values_agree(length)? {
            return Ok(());
        }
        self.note_passed(length);
        let type_id = self.m.slot(SHAPE).payload() & 0xffff;
        let head = self.m.slot(CHILDREN);
        if head.tag() != SYMBOL {
            return self.operate_here(length, type_id as TypeId);
        }
        let function = self.m.code.function(head, (length - 1) as Slot, type_id as TypeId);
        if self.is_constructor(function)? {
            return self.give_typed(length);
        }
        let from = self.m.frames.base + HEADER + usize::from(CHILDREN) + 1;
        self.m.frames.pc = self.how_children_came(length)?;
        self.tail_with(function, from, length - 1)
    }
}

/// What a formal type is as a word of a slot.
fn formal_word(formal: Formal) -> Ref {
    raw(match formal {
        Formal::Typed(type_id) => usize::from(type_id),
        Formal::Raw | Formal::Expression => AS_IT_STANDS as usize,
    })
}
