//! Calls of typed functions without code of their own: their arguments are evaluated to the types that are known of them.

use super::code::{HEADER, Slot, TypeId};
use super::evaluate::{TUPLE_MAX, evaluate_child};
use super::held::is_open_data;
use super::restart::type_slot;
use super::tuple_frame::{CHILDREN, EXPRESSION, SHAPE, TYPED, slots_of_typed};
use super::type_errors::is_about_types;
use super::types::kept_types::ARITY_MAX;
use super::types::{Formal, KnownTypes, Signature, Types};
use super::words::{EMPTY, ERROR, SYMBOL, raw};
use super::{Halt, Running};
use region::Ref;

/// Calls with more arguments whose types are not known are left to the interpreter.
const SPECIFIED_ARITY_MAX: usize = 64;

/// In place of a type: the argument is taken as it stands.
const AS_IT_STANDS: u32 = 1 << 16;

impl Running<'_> {
    /// Evaluates an expression by the function type of its head that applies, as the result of the frame at hand.
    pub(super) fn begin_as_specified(&mut self, value: Ref, head: Ref, type_id: TypeId) -> Result<(), Halt> {
        let arity = self.m.values.heap.length(value) - 1;
        let is_named = head.tag() == SYMBOL && head != ERROR && head != EMPTY;
        if arity <= SPECIFIED_ARITY_MAX && (is_named || self.m.values.is_operation(head)) {
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
        if !self.m.values.is_error(value) {
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
        self.m.frames.own(slots_of_typed(length) + HEADER)?;
        self.m.frames.set_slot(SHAPE, raw(usize::from(result) | (length | TYPED) << 16));
        self.m.frames.set_slot(EXPRESSION, value);
        self.m.frames.note_beginning(length, types, self.m.choices.bindings.trail.len());
        let head = self.m.original_child(0);
        self.m.frames.set_slot(CHILDREN, head);
        self.m.frames.set_slot(type_slot(length), raw(usize::from(type_id)));
        for (index, formal) in signature.formals.iter().enumerate() {
            let is_open = is_open_data(&self.m.values, self.m.original_child(index + 1), self.m.types.notes);
            let formal = if is_open { Formal::Raw } else { *formal };
            self.m.frames.set_slot(CHILDREN + (length + index + 1) as Slot, formal_word(formal));
        }
        self.walk_typed(1, length)
    }

    /// Whether the values of a call's arguments agree with its type, where that was open for more than one of them. Which of
    /// them has bound it does not matter then, and the type of the result is known; otherwise the call is evaluated as it was, before
    /// its arguments bound anything.
    fn values_agree(&mut self, length: usize) -> Result<bool, Halt> {
        let values: Vec<Ref> = (0..length).map(|index| self.m.read(CHILDREN + index as Slot)).collect();
        let type_id = (self.m.frames.slot(SHAPE).payload() & 0xffff) as TypeId;
        let mut says_type = [true; ARITY_MAX];
        for index in 1..length {
            says_type[index - 1] = self.says_type(index)?;
        }
        let says_type = &says_type[..length - 1];
        if let Some(result) = self.function_types().result_of_values(values[0], &values[1..], says_type, type_id)? {
            let result = self.m.types.evaluated_as(result);
            self.m.frames.own_typed(length)?;
            self.m.frames.set_slot(SHAPE, raw(usize::from(result) | (length | TYPED) << 16));
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
        let formal = self.m.frames.slot(place(index)).payload();
        if index == 1 || !self.m.frames.restart().is_open() || !is_open_type(&self.m.types, formal) {
            return Ok(false);
        }
        let (head, type_id) = (self.m.read(CHILDREN), (self.m.frames.slot(SHAPE).payload() & 0xffff) as TypeId);
        let (mut values, mut says_type) = ([EMPTY; ARITY_MAX], [true; ARITY_MAX]);
        for place in 1..length {
            (values[place - 1], says_type[place - 1]) = match place < index {
                true => (self.m.read(CHILDREN + place as Slot), self.says_type(place)?),
                false => (self.m.original_child(place), true),
            };
        }
        let (values, says_type) = (&values[..length - 1], &says_type[..length - 1]);
        let Some(signature) = self.function_types().signature_for_values(head, values, says_type, type_id) else {
            return self.is_begun_again(length);
        };
        self.m.frames.own_typed(length)?;
        let result = signature.result.map_or(type_id, |result| self.m.types.evaluated_as(result));
        self.m.frames.set_slot(SHAPE, raw(usize::from(result) | (length | TYPED) << 16));
        for (formal, index) in signature.formals.iter().zip(1..).skip(index - 1) {
            if self.m.frames.slot(place(index)).payload() != AS_IT_STANDS {
                self.m.frames.set_slot(place(index), formal_word(*formal));
            }
        }
        Ok(false)
    }

    /// Whether the evaluation of an argument says of which type it is.
    fn says_type(&mut self, index: usize) -> Result<bool, Halt> {
        let argument = self.m.original_child(index);
        Ok(self.function_types().type_flow(argument)?.is_said())
    }

    /// An argument of the call at hand, or a part of the tuple, has come to an error: that is the result of the whole, unless it is about types
    /// and the types of the call follow from what earlier arguments may have said or not.
    pub(super) fn child_has_failed(&mut self) -> Result<(), Halt> {
        let error = self.m.frames.acc;
        let length = (self.m.frames.slot(SHAPE).payload() >> 16) as usize;
        if length & TYPED != 0 {
            let length = length & !TYPED;
            if self.note_arrival(length)? {
                return Ok(());
            }
            let is_declared = self.m.frames.restart().is_declared();
            if !is_declared && is_about_types(&mut self.m.values, error)? && self.is_begun_again(length)? {
                return Ok(());
            }
            self.m.choices.note_passed(&mut self.m.frames, length);
        }
        self.give(error)
    }

    /// Goes on with the arguments of a typed call from this one on.
    pub(super) fn walk_typed(&mut self, from: usize, length: usize) -> Result<(), Halt> {
        for index in from..length {
            if self.say_types(index, length)? {
                return Ok(());
            }
            let child = self.m.original_child(index);
            let formal = self.m.frames.slot(CHILDREN + (length + index) as Slot).payload();
            let is_final = formal == AS_IT_STANDS || child == EMPTY || self.is_passed_on(child, formal as TypeId);
            let normal = match is_final {
                true => Some(child),
                false => self.m.normal(child, formal as TypeId),
            };
            match normal {
                Some(normal) => self.m.frames.set_slot(CHILDREN + index as Slot, normal),
                None => {
                    self.note_evaluation(length);
                    return evaluate_child(&mut self.m, index, slots_of_typed(length), (child, formal as TypeId));
                }
            }
        }
        if self.m.frames.restart().is_open() && !self.values_agree(length)? {
            return Ok(());
        }
        self.m.choices.note_passed(&mut self.m.frames, length);
        let type_id = self.m.frames.slot(SHAPE).payload() & 0xffff;
        let head = self.m.frames.slot(CHILDREN);
        if head.tag() != SYMBOL {
            return self.operate_here(length, type_id as TypeId);
        }
        let function = self.m.code.function(head, (length - 1) as Slot, type_id as TypeId);
        if self.is_constructor(function)? {
            return self.give_typed(length);
        }
        let from = self.m.frames.base + HEADER + usize::from(CHILDREN) + 1;
        self.m.frames.pc = self.m.unchanged_calls().how_children_came(length)?;
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

/// Whether the type of an argument has variables.
fn is_open_type(types: &Types, formal: u32) -> bool {
    formal != AS_IT_STANDS && (formal == 0 || !types.ids.atom(formal as TypeId).is_ground())
}
