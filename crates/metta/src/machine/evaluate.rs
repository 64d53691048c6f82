//! Evaluating an expression as it stands, without code of its own: what a match has found, what a variable holds.
//!
//! 1. What is in normal form is its own result.
//! 2. A head without types makes a tuple: the children are evaluated from left to right, in a frame that holds those that
//!    are done, and then the call is made as any other.
//! 3. A head whose type takes all its arguments raw is called at once.
//! 4. Everything else goes to the reference interpreter.

use super::code::{CHANGED, CHILD_FAILED, Code, HEADER, Instruction, ReturnPoint, Slot, TypeId, UNCHANGED, WELL_TYPED};
use super::control::choices::Destination;
use super::inert::LONG;
use super::tuple_frame::{CHILDREN, EXPRESSION, SHAPE, TYPED};
use super::types::{HeadKind, KnownTypes, Signature};
use super::values::Values;
use super::words::{COMPOUND, EMPTY, ERROR, FOREIGN, INTEGER, SYMBOL, TERM, evaluated_term, raw};
use super::{Halt, Machine, Running};
use crate::interpreter::Task;
use crate::operation::Operation;
use region::{Ref, tag};

/// Longer tuples are left to the interpreter: their length must fit a slot beside a type.
pub(super) const TUPLE_MAX: usize = 4_000;

impl Code {
    /// The return point where an expression that is evaluated child by child takes the result of a child.
    fn child_return_point(&mut self, index: usize) -> u32 {
        while self.child_return_points.len() <= index {
            let child = self.child_return_points.len();
            let pc = self.instructions.len() as u32;
            self.instructions.push(Instruction::Child { index: child as Slot });
            self.return_points.push(ReturnPoint {
                pc,
                dst: CHILDREN + child as Slot,
                error: CHILD_FAILED,
                ..ReturnPoint::default()
            });
            self.child_return_points.push((self.return_points.len() - 1) as u32);
            self.end_piece();
        }
        self.child_return_points[index]
    }
}

impl Running<'_> {
    /// Evaluates a value in place of the frame at hand. An answer that is an error is final.
    pub(super) fn evaluate_last(&mut self, value: Ref, type_id: TypeId, is_answer: bool) -> Result<(), Halt> {
        if is_answer && self.m.values.is_error(self.m.values.heap.walk(value)) {
            return self.m.resolve(value).and_then(|error| self.give(error.unmarked()));
        }
        self.evaluate_here(value, type_id)
    }

    /// Evaluates a value at a return point.
    pub(super) fn evaluate_value(&mut self, value: Ref, type_id: TypeId, return_point: u32) -> Result<(), Halt> {
        let at = self.m.code.return_point(return_point).at;
        let level = self.m.choices.stack.len() as u32;
        self.m.frames.ensure(usize::from(at) + HEADER)?;
        self.m.frames.set_slot(at + 2, Ref::from_bits(level));
        self.m.frames.enter_plain(&self.m.code, return_point)?;
        self.evaluate_here(value, type_id)
    }

    /// Evaluates a value as the result of the frame at hand.
    pub(super) fn evaluate_here(&mut self, value: Ref, type_id: TypeId) -> Result<(), Halt> {
        self.begin_here(value, type_id)?;
        self.evaluate_pending()
    }

    /// Evaluates the children that were met first, one inside the other: no native stack is used for it.
    fn evaluate_pending(&mut self) -> Result<(), Halt> {
        while let Some((child, type_id)) = self.m.frames.pending.take() {
            self.begin_here(child, type_id)?;
        }
        Ok(())
    }

    /// Begins to evaluate a value. If a child of it is to be evaluated first, that is pending then, its frame made.
    fn begin_here(&mut self, value: Ref, type_id: TypeId) -> Result<(), Halt> {
        self.count_step()?;
        let mut value = self.m.values.heap.walk(value);
        if let Some(normal) = self.m.normal(value, type_id) {
            return self.give(normal);
        }
        if value.is_expression() && self.types().is_normal_to(value, type_id) {
            return self.give(value.marked());
        }
        if value.tag() == TERM {
            match self.evaluated_or_opened(value, type_id)? {
                evaluated if evaluated.tag() == TERM => return self.give(evaluated),
                opened => value = opened,
            }
        }
        if !value.is_expression() || self.m.values.heap.length(value) == 0 {
            return self.cast_here(value, type_id);
        }
        if self.is_passed_on(value, type_id) {
            return self.give(value);
        }
        let head = self.m.values.heap.walk(self.m.values.heap.child(value, 0));
        let arity = self.m.values.heap.length(value) - 1;
        if head.tag() == SYMBOL
            && arity < LONG
            && !self.m.code.is_exact
            && let Some(given) = self.inert(value)?
        {
            return self.give(given);
        }
        if arity >= LONG && self.is_normal_list(value)? {
            self.m.values.heap.set_note(value, self.m.types.notes.normal());
            return self.give(value.marked());
        }
        match self.types().head_kind(head, arity) {
            HeadKind::Untyped if arity < TUPLE_MAX => self.begin_tuple(value, type_id),
            HeadKind::Raw { result } if head.tag() == SYMBOL && self.types().agrees_statically(result, type_id) => {
                let result = self.m.types.evaluated_as(result);
                self.call_raw(value, head, arity, result)
            }
            HeadKind::Raw { result }
                if self.m.values.is_operation(head) && self.types().agrees_statically(result, type_id) =>
            {
                self.begin_typed(value, &Signature::raw(arity, result), type_id, KnownTypes::Declared)
            }
            HeadKind::Typed(signature)
                if (head.tag() == SYMBOL && arity < TUPLE_MAX || self.m.values.is_operation(head))
                    && self.types().is_typed_call(value, &signature, type_id) =>
            {
                self.begin_typed(value, &signature, type_id, KnownTypes::Declared)
            }
            HeadKind::Parametric(function) if head.tag() == SYMBOL || self.m.values.is_operation(head) => {
                match self.function_types().instance_of_call(value, head, &function, type_id)? {
                    Some((signature, types)) => self.begin_typed(value, &signature, type_id, types),
                    None => self.begin_as_specified(value, head, type_id),
                }
            }
            HeadKind::Other if arity < TUPLE_MAX && self.types().makes_a_tuple(head, arity) => {
                self.begin_tuple(value, type_id)
            }
            _ => self.begin_as_specified(value, head, type_id),
        }
    }

    /// A term, marked as evaluated if it is its own result; as an expression of the heap otherwise.
    #[inline(never)]
    fn evaluated_or_opened(&mut self, term: Ref, type_id: TypeId) -> Result<Ref, Halt> {
        if self.settles(term)? && (type_id == 0 || self.types().term_has_type(term, type_id, false)) {
            return Ok(evaluated_term(term));
        }
        Ok(self.m.values.open_term(term)?)
    }

    /// A leaf with an expected type: itself if one of its types agrees.
    fn cast_here(&mut self, value: Ref, type_id: TypeId) -> Result<(), Halt> {
        if type_id == 0 || self.types().has_type(value, type_id, false) {
            return self.give(value);
        }
        if self.types().is_cast(value, type_id)? {
            return self.give(value);
        }
        self.interpret_here(value, type_id)
    }

    fn call_raw(&mut self, value: Ref, head: Ref, arity: usize, result: TypeId) -> Result<(), Halt> {
        let function = self.m.code.function(head, arity as Slot, result);
        self.m.frames.own(arity)?;
        for index in 0..arity {
            let child = self.m.values.heap.child(value, index + 1);
            self.m.frames.set_slot(index as Slot, child);
        }
        self.m.frames.pc = UNCHANGED;
        self.enter(function)
    }

    pub(super) fn begin_tuple(&mut self, value: Ref, type_id: TypeId) -> Result<(), Halt> {
        let length = self.m.values.heap.length(value);
        self.m.frames.own(usize::from(CHILDREN) + length + HEADER)?;
        self.m.frames.set_slot(SHAPE, raw(usize::from(type_id) | length << 16));
        self.m.frames.set_slot(EXPRESSION, value);
        self.m.slots().note_open_children(value, length)?;
        self.walk_tuple(0, length)
    }

    /// A child has come to a result.
    pub(super) fn next_child(&mut self, index: Slot) -> Result<(), Halt> {
        let length = (self.m.frames.slot(SHAPE).payload() >> 16) as usize;
        let next = usize::from(index) + 1;
        if length & TYPED == 0 {
            self.walk_tuple(next, length)?
        } else {
            let length = length & !TYPED;
            if !self.note_arrival(length)? {
                self.walk_typed(next, length)?
            }
        }
        self.evaluate_pending()
    }

    /// Goes on with the children of a tuple from this one on.
    fn walk_tuple(&mut self, from: usize, length: usize) -> Result<(), Halt> {
        for index in from..length {
            let child = self.m.original_child(index);
            let normal = if self.m.slots().is_held(index) { Some(child) } else { self.m.normal(child, 0) };
            match normal {
                Some(EMPTY) if !self.m.slots().is_held(index) => return self.fail(),
                Some(normal) => self.m.frames.set_slot(CHILDREN + index as Slot, normal),
                None => return evaluate_child(&mut self.m, index, usize::from(CHILDREN) + length, (child, 0)),
            }
        }
        let type_id = self.m.frames.slot(SHAPE).payload() & 0xffff;
        self.call_tuple(type_id as TypeId, length)
    }

    /// All children are evaluated: the call is made in place of the tuple's frame.
    fn call_tuple(&mut self, type_id: TypeId, length: usize) -> Result<(), Halt> {
        let head = self.m.read(CHILDREN);
        if self.m.values.is_operation(head) {
            return self.operate_here(length, type_id);
        }
        if let Some(function) = function_of(&mut self.m.code, &self.m.values, head, (length - 1) as Slot, type_id) {
            let is_compound = head.tag() != SYMBOL;
            if is_compound && !self.is_constructor(function)? {
                let changed = self.m.unchanged_calls().how_children_came(length)? != UNCHANGED;
                let call = self.m.tuple_of(length)?;
                return self.reduce_compound(call, changed, type_id);
            }
            if self.is_constructor(function)? {
                return self.give_called(head, length);
            }
            let from = self.m.frames.base + HEADER + usize::from(CHILDREN) + 1;
            self.m.frames.pc = self.m.unchanged_calls().how_children_came(length)?;
            return self.tail_with(function, from, length - 1);
        }
        if head.tag() == tag::VARIABLE || head == ERROR {
            return self.give_tuple(length);
        }
        let changed = self.m.unchanged_calls().how_children_came(length)? != UNCHANGED;
        let call = self.m.tuple_of(length)?;
        let type_atom = self.types().type_atom(type_id);
        self.interpret(call, Destination::Frame, |atom| Task::Call(atom, type_atom, changed))
    }

    /// A call whose head is in a slot, its arguments at the return point's frame.
    pub(super) fn apply(
        &mut self,
        head: Slot,
        count: Slot,
        (type_id, same): (TypeId, bool),
        return_point: u32,
        tail: bool,
    ) -> Result<(), Halt> {
        let head = self.m.read(head);
        let block = self.m.code.return_point(return_point).at;
        // Well-typed code calls names by code of their own, and native functions as others do.
        let type_id = if type_id == WELL_TYPED && head.tag() != SYMBOL { 0 } else { type_id };
        let function = function_of(&mut self.m.code, &self.m.values, head, count, type_id);
        let is_data = match function {
            Some(function) => self.is_constructor(function)?,
            None => head.tag() == tag::VARIABLE || head == ERROR,
        };
        if let (Some(function), false, SYMBOL) = (function, is_data, head.tag()) {
            return if tail { self.tail_call(function, block) } else { self.call(function, return_point, true) };
        }
        let mut parts =
            std::iter::once(head).chain((0..count).map(|index| self.m.read(block + HEADER as Slot + index)));
        let same = same && !parts.any(|part| self.m.values.is_changed_data(part));
        if !is_data && self.m.values.is_operation(head) {
            let arguments: Vec<Ref> = (0..count).map(|index| self.m.read(block + HEADER as Slot + index)).collect();
            if !tail {
                self.m.frames.enter_plain(&self.m.code, return_point)?;
            }
            return self.operate_on(head, &arguments, !same, type_id);
        }
        let call = self.m.slots().applied(head, block, count)?;
        if !is_data {
            if !tail {
                // Its results are results of the call's frame, which knows when the expression began.
                self.m.frames.enter_plain(&self.m.code, return_point)?;
            }
            if function.is_some() {
                return self.reduce_compound(call, !same, type_id);
            }
            let type_atom = self.types().type_atom(type_id);
            return self.interpret(call, Destination::Frame, |atom| Task::Call(atom, type_atom, !same));
        }
        let value = match self.is_certainly_data(head, usize::from(count)) {
            true if same => {
                self.m.values.note_normal(call, self.m.types.notes);
                self.m.evaluated(call)
            }
            true => self.m.values.note_normal(call, self.m.types.notes).unmarked(),
            // It came to itself.
            false if same => self.m.evaluated(call),
            false => call,
        };
        if tail {
            return self.give(value);
        }
        // The barrier of the call: its arguments may have further results.
        let level = self.m.frames.slot(block + 2).bits();
        if self.m.choices.stack.len() as u32 == level {
            return self.resume(return_point, value);
        }
        let base = self.m.frames.base as u32;
        self.gather(value, level, return_point, base)
    }

    /// Nothing reduces a tuple whose head came to this.
    fn give_called(&mut self, head: Ref, length: usize) -> Result<(), Halt> {
        if self.is_certainly_data(head, length - 1) {
            return self.give_tuple(length);
        }
        let call = self.m.tuple_of(length)?;
        self.give_as_it_came(call, length)
    }

    /// Nothing reduces a tuple whose children are evaluated.
    pub(super) fn give_tuple(&mut self, length: usize) -> Result<(), Halt> {
        let call = self.m.tuple_of(length)?;
        self.m.values.note_normal(call, self.m.types.notes);
        self.give_as_it_came(call, length)
    }

    /// Nothing reduces a call of a typed function whose arguments are evaluated: it is noted as having arguments of its types.
    pub(super) fn give_typed(&mut self, length: usize) -> Result<(), Halt> {
        let call = self.m.tuple_of(length)?;
        self.types().note_made(call);
        self.give_as_it_came(call, length)
    }

    fn give_as_it_came(&mut self, call: Ref, length: usize) -> Result<(), Halt> {
        let is_same = self.m.unchanged_calls().how_children_came(length)? == UNCHANGED;
        let value = if is_same { self.m.evaluated(call) } else { call };
        self.give(value)
    }

    /// Makes a call whose arguments are evaluated, at a return point.
    pub(super) fn interpret_at(&mut self, value: Ref, type_id: TypeId, return_point: u32) -> Result<(), Halt> {
        let head = self.m.values.heap.walk(self.m.values.heap.child(value, 0));
        if head.tag() == SYMBOL && head != ERROR {
            let arguments = self.m.values.heap.children(value)[1..].to_vec();
            let function = self.m.code.function(head, arguments.len() as Slot, type_id);
            self.m.frames.enter_plain(&self.m.code, return_point)?;
            self.m.frames.ensure(arguments.len() + HEADER)?;
            let level = self.m.choices.stack.len() as u32;
            let base = self.m.frames.base;
            self.m.frames.stack[base + 2] = level;
            for (place, argument) in arguments.iter().enumerate() {
                self.m.frames.set_slot(place as Slot, *argument);
            }
            self.m.frames.pc = CHANGED;
            return self.enter(function);
        }
        let type_atom = self.types().type_atom(type_id);
        self.interpret(value, Destination::ReturnPoint(return_point), |atom| Task::Call(atom, type_atom, true))
    }
}

/// The function that a head and `count` arguments call, if it is known: what a space calls is what it is asked for.
fn function_of(code: &mut Code, values: &Values, head: Ref, count: Slot, type_id: TypeId) -> Option<u32> {
    match head.tag() {
        SYMBOL if head != ERROR => Some(code.function(head, count, type_id)),
        tag::EXPRESSION | tag::MARKED | TERM | INTEGER | tag::NUMBER => Some(code.function(COMPOUND, count, type_id)),
        FOREIGN if values.space_of(head).is_some() => None,
        FOREIGN if Operation::of(values.foreign_of(head)).is_none() => Some(code.function(COMPOUND, count, type_id)),
        _ => None,
    }
}

/// Makes the frame of a child that is evaluated next; `at` is where it lies in the frame at hand.
pub(super) fn evaluate_child(
    m: &mut Machine,
    index: usize,
    at: usize,
    (child, type_id): (Ref, TypeId),
) -> Result<(), Halt> {
    m.frames.ensure(at + 2 * HEADER)?;
    let place = m.frames.base + HEADER + at;
    let return_point = m.code.child_return_point(index);
    m.frames.write_header(place, return_point);
    m.frames.stack[place + 2] = m.choices.stack.len() as u32;
    m.frames.base = m.frames.frame_at(at as Slot, 0)?;
    m.frames.pending = Some((child, type_id));
    Ok(())
}
