//! Calls of typed functions without code of their own: their arguments are evaluated to the types that are known of them.

use super::begun_again::type_slot;
use super::code::{HEADER, Slot, TypeId};
use super::evaluate::{CHILDREN, EXPRESSION, SHAPE, TUPLE_MAX, TYPED, slots_of_typed};
use super::types::kept_types::ARITY_MAX;
use super::types::{Formal, KnownTypes, Signature};
use super::words::{EMPTY, ERROR, SYMBOL, TERM, raw};
use super::{Halt, Running};
use crate::names;
use region::Ref;
use space::Symbol;

/// Calls with more arguments whose types are not known are left to the interpreter.
const SPECIFIED_ARITY_MAX: usize = 64;

/// In place of a type: the argument is taken as it stands.
const AS_IT_STANDS: u32 = 1 << 16;

impl Running<'_> {
    /// Evaluates an expression by the function type of its head that applies, as the result of the frame at hand.
    pub(super) fn begin_as_specified(&mut self, value: Ref, head: Ref, type_id: TypeId) -> Result<(), Halt> {
        let arity = self.m.values.heap.length(value) - 1;
        let is_named = head.tag() == SYMBOL && head != ERROR && head != EMPTY;
        if arity <= SPECIFIED_ARITY_MAX && (is_named || self.m.is_operation(head)) {
            let found = self.types().applicable(value, type_id)?;
            if let Some(signature) = found {
                return self.begin_typed(value, &signature, type_id, KnownTypes::Declared);
            }
        }
        if arity < TUPLE_MAX && !is_named && self.types().heads_tuples(head)? {
            return self.begin_tuple(value, type_id);
        }
        self.interpret_here(value, type_id)
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
        is_whole && self.types().has_type(value, type_id, false)
    }

    /// Evaluates the arguments of a call to their types, in a frame that holds the types behind them.
    pub(super) fn begin_typed(
        &mut self,
        value: Ref,
        signature: &Signature,
        type_id: TypeId,
        types: KnownTypes,
    ) -> Result<(), Halt> {
        let length = self.m.values.heap.length(value);
        let result = signature.result.map_or(type_id, |result| self.m.types.evaluated_as(result));
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
        if let Some(result) = self.function_types().result_of_values(values[0], &values[1..], says_type, type_id)? {
            let result = self.m.types.evaluated_as(result);
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
        let Some(signature) = self.function_types().signature_for_values(head, values, says_type, type_id) else {
            return self.is_begun_again(length);
        };
        self.own_typed(length)?;
        let result = signature.result.map_or(type_id, |result| self.m.types.evaluated_as(result));
        self.m.set_slot(SHAPE, raw(usize::from(result) | (length | TYPED) << 16));
        for (formal, index) in signature.formals.iter().zip(1..).skip(index - 1) {
            self.m.set_slot(place(index), formal_word(*formal));
        }
        Ok(false)
    }

    /// Whether the type of an argument has variables.
    fn is_open_type(&self, formal: u32) -> bool {
        formal != AS_IT_STANDS && (formal == 0 || !self.m.types.ids.atom(formal as TypeId).is_ground())
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
        let argument = self.original_child(index);
        Ok(self.function_types().type_flow(argument)?.is_said())
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
