//! Evaluating an expression as it stands, without code of its own: what a match has found, what a variable holds.
//!
//! 1. What is in normal form is its own result.
//! 2. A head without types makes a tuple: the children are evaluated from left to right, in a frame that holds those that
//!    are done, and then the call is made as any other.
//! 3. A head whose type takes all its arguments raw is called at once.
//! 4. Everything else goes to the reference interpreter.

use super::choices::Destination;
use super::code::{
    CHANGED, CHILD_FAILED, Code, HEADER, Instruction, Kind, Pc, REDUCE, ReturnPoint, Slot, TypeId, UNCHANGED,
    WELL_TYPED,
};
use super::collected::{CollectedResult, CollectedResults};
use super::types::{HeadKind, KnownTypes, Lack, Signature};
use super::values::Scope;
use super::words::raw;
use super::words::{COMPOUND, EMPTY, ERROR, FOREIGN, INTEGER, NOT_REDUCIBLE, SYMBOL, TERM, evaluated_term};
use super::{Halt, Machine, Running};
use crate::interpreter::Task;
use crate::operation::Operation;
use crate::tables::Policy;
use region::{Full, Ref, tag};
use space::Atom;

/// Slots of the frame of a tuple that is evaluated child by child.
pub(super) const SHAPE: Slot = 0;
pub(super) const HELD: Slot = 1;
pub(super) const EXPRESSION: Slot = 2;
pub(super) const CHILDREN: Slot = 3;
/// A bit of the length: the children are evaluated to types (`typed.rs`).
pub(super) const TYPED: usize = 1 << 12;

/// Longer tuples are left to the interpreter: their length must fit a slot beside a type.
pub(super) const TUPLE_MAX: usize = 4_000;
/// From here on it pays to look whether all children are in normal form already.
pub(super) const LONG: usize = 16;

/// The slots of such a frame that hold something while the child that goes to a slot is evaluated.
pub(super) fn slots_of_tuple(child: Slot) -> impl Iterator<Item = Slot> {
    HELD..child
}

/// How many slots a frame has whose `length` children are evaluated to types: behind the children lie their types, the type of the
/// whole, and what is needed to begin the call again.
pub(super) fn slots_of_typed(length: usize) -> usize {
    usize::from(CHILDREN) + 2 * length + 5
}

/// How many slots such a frame has, given the word of its first.
pub(super) fn slots_of_whole_tuple(shape: u32) -> usize {
    let length = (Ref::from_bits(shape).payload() >> 16) as usize;
    if length & TYPED == 0 { usize::from(CHILDREN) + length } else { slots_of_typed(length & !TYPED) }
}

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

impl Machine {
    /// The expression of a head and of `count` arguments that lie in the frame that would be called.
    fn applied(&mut self, head: Ref, block: Slot, count: Slot) -> Result<Ref, Full> {
        let call = self.values.heap.reserve(&mut self.values.region, usize::from(count) + 1)?;
        self.values.heap.set_child(call, 0, head);
        for index in 0..count {
            let argument = self.read(block + HEADER as Slot + index);
            self.values.heap.set_child(call, usize::from(index) + 1, argument);
        }
        Ok(call)
    }
}

impl Running<'_> {
    /// Evaluates a value in place of the frame at hand. An answer that is an error is final.
    pub(super) fn evaluate_last(&mut self, value: Ref, type_id: TypeId, is_answer: bool) -> Result<(), Halt> {
        if is_answer && self.m.is_error(self.m.values.heap.walk(value)) {
            return self.resolve(value).and_then(|error| self.give(error.unmarked()));
        }
        self.evaluate_here(value, type_id)
    }

    /// Evaluates a value at a return point.
    pub(super) fn evaluate_value(&mut self, value: Ref, type_id: TypeId, return_point: u32) -> Result<(), Halt> {
        let at = self.m.return_point(return_point).at;
        let level = self.m.choices.stack.len() as u32;
        self.m.ensure(usize::from(at) + HEADER)?;
        self.m.set_slot(at + 2, Ref::from_bits(level));
        self.enter_plain(return_point)?;
        self.evaluate_here(value, type_id)
    }

    /// Makes the frame of a return point the frame at hand; its level is there already.
    fn enter_plain(&mut self, return_point: u32) -> Result<(), Halt> {
        let at = self.m.return_point(return_point).at;
        self.m.ensure(usize::from(at) + 2 * HEADER)?;
        let place = self.m.frames.base + HEADER + usize::from(at);
        self.m.write_header(place, return_point);
        self.m.frames.base = self.m.frame_at(at, 0)?;
        Ok(())
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
        if let Some(normal) = self.normal(value, type_id) {
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
                if self.m.is_operation(head) && self.types().agrees_statically(result, type_id) =>
            {
                self.begin_typed(value, &Signature::raw(arity, result), type_id, KnownTypes::Declared)
            }
            HeadKind::Typed(signature)
                if (head.tag() == SYMBOL && arity < TUPLE_MAX || self.m.is_operation(head))
                    && self.types().is_typed_call(value, &signature, type_id) =>
            {
                self.begin_typed(value, &signature, type_id, KnownTypes::Declared)
            }
            HeadKind::Parametric(function) if head.tag() == SYMBOL || self.m.is_operation(head) => {
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
        self.m.own_frame(arity)?;
        for index in 0..arity {
            let child = self.m.values.heap.child(value, index + 1);
            self.m.set_slot(index as Slot, child);
        }
        self.m.frames.pc = UNCHANGED;
        self.enter(function)
    }

    pub(super) fn begin_tuple(&mut self, value: Ref, type_id: TypeId) -> Result<(), Halt> {
        let length = self.m.values.heap.length(value);
        self.m.own_frame(usize::from(CHILDREN) + length + HEADER)?;
        self.m.set_slot(SHAPE, raw(usize::from(type_id) | length << 16));
        self.m.set_slot(EXPRESSION, value);
        self.note_unbound_children(value, length)?;
        self.walk_tuple(0, length)
    }

    /// A child has come to a result.
    pub(super) fn next_child(&mut self, index: Slot) -> Result<(), Halt> {
        let length = (self.m.slot(SHAPE).payload() >> 16) as usize;
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

    pub(super) fn original_child(&self, index: usize) -> Ref {
        let expression = self.m.slot(EXPRESSION);
        self.m.values.heap.walk(self.m.values.heap.child(expression, index))
    }

    /// Goes on with the children of a tuple from this one on.
    fn walk_tuple(&mut self, from: usize, length: usize) -> Result<(), Halt> {
        for index in from..length {
            let child = self.original_child(index);
            let normal = if self.is_held(index) { Some(child) } else { self.normal(child, 0) };
            match normal {
                Some(EMPTY) if !self.is_held(index) => return self.fail(),
                Some(normal) => self.m.set_slot(CHILDREN + index as Slot, normal),
                None => return self.evaluate_child(index, usize::from(CHILDREN) + length, child, 0),
            }
        }
        let type_id = self.m.slot(SHAPE).payload() & 0xffff;
        self.call_tuple(type_id as TypeId, length)
    }

    pub(super) fn evaluate_child(&mut self, index: usize, at: usize, child: Ref, type_id: TypeId) -> Result<(), Halt> {
        self.m.ensure(at + 2 * HEADER)?;
        let place = self.m.frames.base + HEADER + at;
        let return_point = self.m.code.child_return_point(index);
        self.m.write_header(place, return_point);
        self.m.frames.stack[place + 2] = self.m.choices.stack.len() as u32;
        self.m.frames.base = self.m.frame_at(at as Slot, 0)?;
        self.m.frames.pending = Some((child, type_id));
        Ok(())
    }

    /// All children are evaluated: the call is made in place of the tuple's frame.
    fn call_tuple(&mut self, type_id: TypeId, length: usize) -> Result<(), Halt> {
        let head = self.m.read(CHILDREN);
        if self.m.is_operation(head) {
            return self.operate_here(length, type_id);
        }
        if let Some(function) = self.function_of(head, (length - 1) as Slot, type_id) {
            let is_compound = head.tag() != SYMBOL;
            if is_compound && !self.is_constructor(function)? {
                let changed = self.how_children_came(length)? != UNCHANGED;
                let call = self.tuple_of(length)?;
                return self.reduce_compound(call, changed, type_id);
            }
            if self.is_constructor(function)? {
                return self.give_called(head, length);
            }
            let from = self.m.frames.base + HEADER + usize::from(CHILDREN) + 1;
            self.m.frames.pc = self.how_children_came(length)?;
            return self.tail_with(function, from, length - 1);
        }
        if head.tag() == tag::VARIABLE || head == ERROR {
            return self.give_tuple(length);
        }
        let changed = self.how_children_came(length)? != UNCHANGED;
        let call = self.tuple_of(length)?;
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
        let block = self.m.return_point(return_point).at;
        // Well-typed code calls names by code of their own, and native functions as others do.
        let type_id = if type_id == WELL_TYPED && head.tag() != SYMBOL { 0 } else { type_id };
        let function = self.function_of(head, count, type_id);
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
        if !is_data && self.m.is_operation(head) {
            let arguments: Vec<Ref> = (0..count).map(|index| self.m.read(block + HEADER as Slot + index)).collect();
            if !tail {
                self.enter_plain(return_point)?;
            }
            return self.operate_on(head, &arguments, !same, type_id);
        }
        let call = self.m.applied(head, block, count)?;
        if !is_data {
            if !tail {
                // Its results are results of the call's frame, which knows when the expression began.
                self.enter_plain(return_point)?;
            }
            if function.is_some() {
                return self.reduce_compound(call, !same, type_id);
            }
            let type_atom = self.types().type_atom(type_id);
            return self.interpret(call, Destination::Frame, |atom| Task::Call(atom, type_atom, !same));
        }
        let value = match self.is_certainly_data(head, usize::from(count)) {
            true if same => self.m.values.note_normal(call, self.m.types.notes),
            true => self.m.values.note_normal(call, self.m.types.notes).unmarked(),
            false => call,
        };
        if tail {
            return self.give(value);
        }
        // The barrier of the call: its arguments may have further results.
        let level = self.m.slot(block + 2).bits();
        if self.m.choices.stack.len() as u32 == level {
            return self.resume(return_point, value);
        }
        let base = self.m.frames.base as u32;
        self.gather(value, level, return_point, base)
    }

    /// The function that a head and `count` arguments call, if it is known: what a space calls is what it is asked for.
    fn function_of(&mut self, head: Ref, count: Slot, type_id: TypeId) -> Option<u32> {
        match head.tag() {
            SYMBOL if head != ERROR => Some(self.m.code.function(head, count, type_id)),
            tag::EXPRESSION | tag::MARKED | TERM | INTEGER | tag::NUMBER => {
                Some(self.m.code.function(COMPOUND, count, type_id))
            }
            FOREIGN if self.m.values.space_of(head).is_some() => None,
            FOREIGN if Operation::of(self.m.values.foreign_of(head)).is_none() => {
                Some(self.m.code.function(COMPOUND, count, type_id))
            }
            _ => None,
        }
    }

    pub(super) fn tuple_of(&mut self, length: usize) -> Result<Ref, Halt> {
        let children: Vec<Ref> = (0..length).map(|index| self.m.read(CHILDREN + index as Slot)).collect();
        Ok(self.m.values.heap.expression(&mut self.m.values.region, &children)?)
    }

    /// Whether an expression that nothing reduces, whose head came to this, is in normal form: if that has a function type, evaluating the
    /// expression once more, where it is returned, looks at the types of its arguments.
    fn is_certainly_data(&mut self, head: Ref, arity: usize) -> bool {
        match head.tag() {
            SYMBOL => matches!(self.types().head_kind(head, arity), HeadKind::Untyped),
            tag::EXPRESSION | tag::MARKED | TERM => self.types().lacks(head, Lack::FunctionType),
            _ => true,
        }
    }

    /// Nothing reduces a tuple whose head came to this.
    fn give_called(&mut self, head: Ref, length: usize) -> Result<(), Halt> {
        if self.is_certainly_data(head, length - 1) {
            return self.give_tuple(length);
        }
        let call = self.tuple_of(length)?;
        self.give(call)
    }

    /// Nothing reduces a tuple whose children are evaluated.
    pub(super) fn give_tuple(&mut self, length: usize) -> Result<(), Halt> {
        let call = self.tuple_of(length)?;
        self.m.values.note_normal(call, self.m.types.notes);
        self.give_as_it_came(call, length)
    }

    /// Nothing reduces a call of a typed function whose arguments are evaluated: it is noted as having arguments of its types.
    pub(super) fn give_typed(&mut self, length: usize) -> Result<(), Halt> {
        let call = self.tuple_of(length)?;
        self.types().note_made(call);
        self.give_as_it_came(call, length)
    }

    fn give_as_it_came(&mut self, call: Ref, length: usize) -> Result<(), Halt> {
        let is_same = self.how_children_came(length)? == UNCHANGED;
        let value = if is_same { self.m.evaluated(call) } else { call };
        self.give(value)
    }

    /// Whether a function is, as things stand, a constructor.
    pub(super) fn is_constructor(&mut self, function: u32) -> Result<bool, Halt> {
        if self.m.code.functions[function as usize].version != self.m.code.version {
            self.compile(function)?;
        }
        Ok(matches!(self.m.code.functions[function as usize].kind, Kind::Constructor))
    }

    /// The call of a function on the arguments of the frame at hand, as data.
    pub(super) fn give_unreduced(&mut self, function: u32, from: Pc) -> Result<(), Halt> {
        if self.m.code.functions[function as usize].type_id == REDUCE {
            return self.give(NOT_REDUCIBLE);
        }
        let call = self.call_of(function)?;
        self.types().note_made(call);
        self.give_as_called(call, from)
    }

    /// A call that stands for itself; behind which place it was made.
    pub(super) fn give_as_called(&mut self, call: Ref, from: Pc) -> Result<(), Halt> {
        let value = if self.is_call_unchanged(call, from)? { self.m.evaluated(call) } else { call };
        self.give(value)
    }

    /// The call of a function on the arguments of the frame at hand.
    pub(super) fn call_of(&mut self, function: u32) -> Result<Ref, Halt> {
        let (head, count) = {
            let found = &self.m.code.functions[function as usize];
            (found.head, found.arguments)
        };
        let mut children = Vec::with_capacity(usize::from(count) + 1);
        children.push(head);
        children.extend((0..count).map(|slot| self.m.read(slot)));
        Ok(self.m.values.heap.expression(&mut self.m.values.region, &children)?)
    }

    /// Hands the call of a function on the arguments of the frame at hand to the interpreter.
    pub(super) fn interpret_call(&mut self, function: u32, from: Pc) -> Result<(), Halt> {
        let call = self.call_of(function)?;
        let changed = !self.is_call_unchanged(call, from)?;
        let found = self.m.code.functions[function as usize];
        let (type_id, kind) = (found.expected(), found.kind);
        if type_id == REDUCE {
            return self.interpret_reduction(call, Destination::Frame);
        }
        let type_atom = self.types().type_atom(type_id);
        // The table of a tabled function is filled here.
        let is_tabled = matches!(kind, Kind::Tabled(Policy::Declared));
        self.interpret(call, Destination::Frame, |atom| {
            if is_tabled { Task::Untabled(atom, type_atom) } else { Task::Call(atom, type_atom, changed) }
        })
    }

    /// Hands the evaluation of a value, as the result of the frame at hand, to the interpreter.
    pub(super) fn interpret_here(&mut self, value: Ref, type_id: TypeId) -> Result<(), Halt> {
        let type_atom = self.types().type_atom(type_id);
        self.interpret(value, Destination::Frame, |atom| Task::Metta(atom, type_atom))
    }

    /// Makes a call whose arguments are evaluated, at a return point.
    pub(super) fn interpret_at(&mut self, value: Ref, type_id: TypeId, return_point: u32) -> Result<(), Halt> {
        let head = self.m.values.heap.walk(self.m.values.heap.child(value, 0));
        if head.tag() == SYMBOL && head != ERROR {
            let arguments = self.m.values.heap.children(value)[1..].to_vec();
            let function = self.m.code.function(head, arguments.len() as Slot, type_id);
            self.enter_plain(return_point)?;
            self.m.ensure(arguments.len() + HEADER)?;
            let level = self.m.choices.stack.len() as u32;
            let base = self.m.frames.base;
            self.m.frames.stack[base + 2] = level;
            for (place, argument) in arguments.iter().enumerate() {
                self.m.set_slot(place as Slot, *argument);
            }
            self.m.frames.pc = CHANGED;
            return self.enter(function);
        }
        let type_atom = self.types().type_atom(type_id);
        self.interpret(value, Destination::ReturnPoint(return_point), |atom| Task::Call(atom, type_atom, true))
    }

    /// Lets the interpreter do something and goes on with its results.
    pub(super) fn interpret(
        &mut self,
        value: Ref,
        to: Destination,
        task: impl FnOnce(Atom) -> Task,
    ) -> Result<(), Halt> {
        let mut scope = Scope::default();
        let atom = self.m.values.store(value, &mut scope, self.session.program.variables())?;
        let most = if to == Destination::Frame { self.m.results_left() } else { None };
        let found = self.hand_over(task(atom), most)?;
        let mut results = CollectedResults::default();
        for (solution, atom) in self.accept_found(found)? {
            results.push(self.load_result(solution, &atom, &mut scope)?);
        }
        self.deliver_all(results, to)
    }

    /// A result of the interpreter or of a native function, with what it binds.
    pub(super) fn load_result(
        &mut self,
        solution: space::Solution,
        atom: &Atom,
        scope: &mut Scope,
    ) -> Result<CollectedResult, Halt> {
        let mut bound = Vec::new();
        for (variable, value) in solution {
            let value = self.m.values.load(&value, scope)?;
            if let Some(&variable) = scope.get(&variable) {
                bound.push((variable, value));
            }
        }
        Ok(CollectedResult { value: self.m.values.load(atom, scope)?, bound })
    }
}
