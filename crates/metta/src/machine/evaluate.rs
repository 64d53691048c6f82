//! Evaluating an expression as it stands, without code of its own: what a match has found, what a variable holds.
//!
//! 1. What is settled is its own result.
//! 2. A head without types makes a tuple: the children are evaluated from left to right, in a frame that holds those that
//!    are done, and then the call is made as any other.
//! 3. A head whose type takes all its arguments raw is called at once.
//! 4. Everything else goes to the reference interpreter.

use super::choices::Gathered;
use super::code::{CHILD, HEADER, Kind, Slot, TypeId};
use super::run::{NONE, raw};
use super::types::HeadKind;
use super::values::{COMPOUND, EMPTY, ERROR, INTEGER, SYMBOL, Scope, TERM};
use super::{Halt, Running};
use crate::interpreter::{self, Task};
use region::{Ref, tag};
use space::Atom;

/// Slots of the frame of a tuple that is evaluated child by child.
const INDEX: Slot = 1;
const TYPE: Slot = 2;
const RESULT: Slot = 0;
const SAME: Slot = 3;
const CHILDREN: Slot = 4;

/// Longer tuples are left to the interpreter: a frame has 2^16 slots.
const TUPLE_MAX: usize = 8_000;

/// The slots of such a frame that hold something while a child is evaluated, given the frame's slots as words.
pub(super) fn slots_of_tuple(words: &[u32]) -> Vec<Slot> {
    let word = |slot: Slot| Ref::from_bits(words[usize::from(slot)]).payload();
    let (index, length) = (word(INDEX), word(TYPE) >> 16);
    (CHILDREN..CHILDREN + index as Slot).chain([CHILDREN + length as Slot]).collect()
}

impl Running<'_> {
    /// Evaluates what a slot holds at a site.
    pub(super) fn evaluate_at(&mut self, slot: Slot, type_id: TypeId, site: u32, begun: bool) -> Result<(), Halt> {
        let value = self.m.slot(slot);
        if !begun {
            let at = self.m.site(site).at;
            let level = self.m.choices.len() as u32;
            self.m.set_slot(at + 2, Ref::from_bits(level));
        }
        self.enter_plain(site)?;
        self.evaluate_here(value, type_id)
    }

    /// Evaluates a value at a site.
    pub(super) fn evaluate_value(&mut self, value: Ref, type_id: TypeId, site: u32) -> Result<(), Halt> {
        let at = self.m.site(site).at;
        let level = self.m.choices.len() as u32;
        self.m.ensure(usize::from(at) + HEADER)?;
        self.m.set_slot(at + 2, Ref::from_bits(level));
        self.enter_plain(site)?;
        self.evaluate_here(value, type_id)
    }

    /// Makes the frame of a site the frame at hand; its level is there already.
    fn enter_plain(&mut self, site: u32) -> Result<(), Halt> {
        let at = self.m.site(site).at;
        self.m.ensure(usize::from(at) + 2 * HEADER)?;
        let place = self.m.base + HEADER + usize::from(at);
        self.m.stack[place] = site;
        self.m.stack[place + 1] = self.m.base as u32;
        self.m.base = self.m.frame_at(at, 0)?;
        Ok(())
    }

    /// Evaluates a value as the result of the frame at hand.
    pub(super) fn evaluate_here(&mut self, value: Ref, type_id: TypeId) -> Result<(), Halt> {
        self.m.steps += 1;
        self.m.fuel -= 1;
        if self.m.fuel == 0 {
            self.look_without_call(value)?;
        }
        let mut value = self.m.values.heap.walk(value);
        if let Some(settled) = self.settled(value, type_id) {
            return self.give(settled);
        }
        if value.tag() == TERM {
            value = self.m.values.open_term(value)?;
        }
        if !value.is_expression() || self.m.values.heap.length(value) == 0 {
            return self.cast_here(value, type_id);
        }
        if self.m.is_error(value) && self.m.values.heap.length(value) == 3 {
            return self.give(value);
        }
        let head = self.m.values.heap.walk(self.m.values.heap.child(value, 0));
        let arity = self.m.values.heap.length(value) - 1;
        match self.head_kind(head, arity) {
            HeadKind::Untyped if arity < TUPLE_MAX => self.begin_tuple(value, type_id),
            HeadKind::Raw { result } if head.tag() == SYMBOL && self.agrees_statically(result, type_id) => {
                self.call_raw(value, head, arity, result)
            }
            _ => self.interpret_here(value, type_id),
        }
    }

    /// A leaf with an expected type: itself if one of its types agrees.
    fn cast_here(&mut self, value: Ref, type_id: TypeId) -> Result<(), Halt> {
        if type_id == 0 || self.has_type(value, type_id) {
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
        self.enter(function)
    }

    fn begin_tuple(&mut self, value: Ref, type_id: TypeId) -> Result<(), Halt> {
        let length = self.m.values.heap.length(value);
        self.m.own_frame(usize::from(CHILDREN) + length)?;
        // The slot of the expression is where results come in: the expression goes behind the children.
        self.m.set_slot(CHILDREN + length as Slot, value);
        self.m.set_slot(INDEX, raw(0));
        self.m.set_slot(TYPE, raw(usize::from(type_id)));
        self.m.set_slot(SAME, raw(1));
        self.walk_tuple(0, length)
    }

    /// A child has come to a result.
    pub(super) fn next_child(&mut self) -> Result<(), Halt> {
        let (result, index) = (self.m.read(RESULT), self.m.slot(INDEX).payload() as usize);
        let length = self.tuple_length();
        let original = self.tuple_child(index, length);
        self.accept_child(index, original, result);
        self.walk_tuple(index + 1, length)
    }

    fn tuple_length(&self) -> usize {
        (self.m.slot(TYPE).payload() >> 16) as usize
    }

    fn tuple_child(&self, index: usize, length: usize) -> Ref {
        let expression = self.m.slot(CHILDREN + length as Slot);
        self.m.values.heap.walk(self.m.values.heap.child(expression, index))
    }

    fn accept_child(&mut self, index: usize, original: Ref, result: Ref) {
        if result.unmarked() != original.unmarked() {
            self.m.set_slot(SAME, raw(0));
        }
        self.m.set_slot(CHILDREN + index as Slot, result);
    }

    /// Goes on with the children of a tuple from this one on.
    fn walk_tuple(&mut self, from: usize, length: usize) -> Result<(), Halt> {
        let type_id = self.m.slot(TYPE).payload() & 0xffff;
        self.m.set_slot(TYPE, raw(type_id as usize | length << 16));
        for index in from..length {
            let child = self.tuple_child(index, length);
            match self.settled(child, 0) {
                Some(EMPTY) => return self.fail(),
                Some(settled) => self.accept_child(index, child, settled),
                None => return self.evaluate_child(index, length, child),
            }
        }
        self.call_tuple(type_id as TypeId, length)
    }

    fn evaluate_child(&mut self, index: usize, length: usize, child: Ref) -> Result<(), Halt> {
        self.m.set_slot(INDEX, raw(index));
        let at = usize::from(CHILDREN) + length + 1;
        self.m.ensure(at + 2 * HEADER)?;
        let place = self.m.base + HEADER + at;
        self.m.stack[place] = CHILD;
        self.m.stack[place + 1] = self.m.base as u32;
        self.m.stack[place + 2] = self.m.choices.len() as u32;
        self.m.base = self.m.frame_at(at as Slot, 0)?;
        self.evaluate_here(child, 0)
    }

    /// All children are evaluated: the call is made in place of the tuple's frame.
    fn call_tuple(&mut self, type_id: TypeId, length: usize) -> Result<(), Halt> {
        let head = self.m.read(CHILDREN);
        if let Some(function) = self.function_of(head, (length - 1) as Slot, type_id) {
            let is_compound = head.tag() != SYMBOL;
            if is_compound && !self.is_constructor(function)? {
                let call = self.tuple_of(length)?;
                let type_atom = self.type_atom(type_id);
                return self.interpret(call, NONE, |atom| Task::Call(atom, type_atom));
            }
            if self.is_constructor(function)? {
                return self.give_tuple(length);
            }
            let from = self.m.base + HEADER + usize::from(CHILDREN) + 1;
            return self.tail_with(function, from, length - 1);
        }
        if head.tag() == tag::VARIABLE || head == ERROR {
            return self.give_tuple(length);
        }
        let call = self.tuple_of(length)?;
        let type_atom = self.m.code.types[usize::from(type_id)].clone();
        self.interpret(call, NONE, |atom| Task::Call(atom, type_atom))
    }

    /// A call whose head is in a slot, its arguments at the site's frame.
    pub(super) fn apply(
        &mut self,
        head: Slot,
        count: Slot,
        (type_id, same): (TypeId, bool),
        site: u32,
        tail: bool,
    ) -> Result<(), Halt> {
        let head = self.m.read(head);
        let block = self.m.site(site).at;
        let function = self.function_of(head, count, type_id);
        let is_data = match function {
            Some(function) => self.is_constructor(function)?,
            None => head.tag() == tag::VARIABLE || head == ERROR,
        };
        if let (Some(function), false, SYMBOL) = (function, is_data, head.tag()) {
            return if tail { self.tail_call(function, block) } else { self.call(function, site, true) };
        }
        let mut children = vec![head];
        children.extend((0..count).map(|index| self.m.read(block + HEADER as Slot + index)));
        let call = self.m.values.heap.expression(&mut self.m.values.region, &children)?;
        if !is_data {
            let type_atom = self.type_atom(type_id);
            let site = if tail { NONE } else { site };
            return self.interpret(call, site, |atom| Task::Call(atom, type_atom));
        }
        let value = self.m.note_normal(call);
        let value = if same { value } else { value.unmarked() };
        if tail {
            return self.give(value);
        }
        // The barrier of the call: its arguments may have further results.
        let level = self.m.slot(block + 2).bits();
        if self.m.choices.len() as u32 == level {
            return self.resume(site, value);
        }
        let base = self.m.base as u32;
        self.gather(value, level, site, base)
    }

    /// The function that a head and so many arguments call.
    fn function_of(&mut self, head: Ref, count: Slot, type_id: TypeId) -> Option<u32> {
        match head.tag() {
            SYMBOL if head != ERROR => Some(self.m.code.function(head, count, type_id)),
            tag::EXPRESSION | tag::MARKED | TERM | INTEGER | tag::NUMBER => {
                Some(self.m.code.function(COMPOUND, count, type_id))
            }
            _ => None,
        }
    }

    fn tuple_of(&mut self, length: usize) -> Result<Ref, Halt> {
        let children: Vec<Ref> = (0..length).map(|index| self.m.read(CHILDREN + index as Slot)).collect();
        Ok(self.m.values.heap.expression(&mut self.m.values.region, &children)?)
    }

    /// Nothing reduces a tuple whose children are evaluated.
    fn give_tuple(&mut self, length: usize) -> Result<(), Halt> {
        let is_same = self.m.slot(SAME).payload() == 1;
        let call = self.tuple_of(length)?;
        let value = self.m.note_normal(call);
        self.give(if is_same { value } else { value.unmarked() })
    }

    /// Whether a function is, as things stand, a constructor.
    pub(super) fn is_constructor(&mut self, function: u32) -> Result<bool, Halt> {
        if self.m.code.functions[function as usize].version != self.m.version {
            self.compile(function)?;
        }
        Ok(matches!(self.m.code.functions[function as usize].kind, Kind::Constructor))
    }

    /// The call of a function on the arguments of the frame at hand, as data.
    pub(super) fn give_unreduced(&mut self, function: u32) -> Result<(), Halt> {
        let call = self.call_of(function)?;
        let value = self.m.note_normal(call).unmarked();
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
    pub(super) fn interpret_call(&mut self, function: u32) -> Result<(), Halt> {
        let call = self.call_of(function)?;
        let type_id = self.m.code.functions[function as usize].type_id;
        let type_atom = self.m.code.types[usize::from(type_id)].clone();
        self.interpret(call, NONE, |atom| Task::Call(atom, type_atom))
    }

    /// Hands the evaluation of a value, as the result of the frame at hand, to the interpreter.
    fn interpret_here(&mut self, value: Ref, type_id: TypeId) -> Result<(), Halt> {
        let type_atom = self.m.code.types[usize::from(type_id)].clone();
        self.interpret(value, NONE, |atom| Task::Metta(atom, type_atom))
    }

    /// Hands a call whose arguments are evaluated to the interpreter, at a site.
    pub(super) fn interpret_at(&mut self, slot: Slot, type_id: TypeId, site: u32) -> Result<(), Halt> {
        let value = self.m.slot(slot);
        let type_atom = self.m.code.types[usize::from(type_id)].clone();
        self.interpret(value, site, |atom| Task::Call(atom, type_atom))
    }

    /// Lets the interpreter do something and goes on with its results.
    pub(super) fn interpret(&mut self, value: Ref, site: u32, task: impl FnOnce(Atom) -> Task) -> Result<(), Halt> {
        self.m.interpreted += 1;
        let mut scope = Scope::default();
        let atom = self.m.values.store(value, &mut scope, &mut self.runner.variables);
        let found = interpreter::solve(self.runner, &self.space, task(atom));
        self.m.steps += found.steps;
        self.m.depth_max = self.m.depth_max.max(found.depth_max);
        let mut results = Vec::with_capacity(found.results.len());
        for (solution, atom) in found.results {
            results.push(self.load_result(solution, &atom, &mut scope)?);
        }
        self.refresh();
        if let Some(stop) = found.stop {
            return Err(Halt::Stop(stop));
        }
        if let Some(limit) = found.limit {
            return Err(Halt::Limit(limit));
        }
        self.deliver_all(results, site)
    }

    /// A result of the interpreter or of a native function, with what it binds.
    pub(super) fn load_result(
        &mut self,
        solution: space::Solution,
        atom: &Atom,
        scope: &mut Scope,
    ) -> Result<Gathered, Halt> {
        let mut bound = Vec::new();
        for (variable, value) in solution {
            let value = self.m.values.load(&value, scope)?;
            if let Some(&variable) = scope.get(&variable) {
                bound.push((variable, value));
            }
        }
        Ok(Gathered { value: self.m.values.load(atom, scope)?, bound })
    }
}
