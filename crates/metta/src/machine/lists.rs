//! Lists: what takes them apart and puts them together, without a way through atoms.
//!
//! A part of a list whose children are in normal form is in normal form itself unless its new head calls something; it is noted then, so
//! that the rest of a list is not evaluated element by element each time it is taken.

use super::code::{Pc, Slot};
use super::control::choices::Destination;
use super::slots::Slots;
use super::substitute::substitute;
use super::values::Values;
use super::words::{EMPTY, ERROR, NOT_REDUCIBLE, TERM, is_small, small, word};
use super::{Halt, Running};
use crate::interpreter::Task;
use crate::names;
use region::{Full, Ref, tag};

/// Lists of up to this many elements are put together on the native stack.
const SHORT: usize = 16;

impl Slots<'_> {
    pub(super) fn size(&mut self, slot: Slot, dst: Slot, or: Pc) -> Result<(), Halt> {
        let size = self.list(slot)?.and_then(|list| small(self.values.heap.length(list) as i64));
        match size {
            Some(size) => self.frames.set_slot(dst, size),
            None => self.frames.pc = or,
        }
        Ok(())
    }

    pub(super) fn element(&mut self, slot: Slot, index: Slot, dst: Slot, or: Pc) -> Result<(), Halt> {
        let (list, index) = (self.list(slot)?, self.read(index));
        let position = if is_small(index) { usize::try_from(word(index)).ok() } else { None };
        let element = list.zip(position).and_then(|(list, at)| self.values.heap.children(list).get(at).copied());
        match element {
            // What a native function comes to is run if it is code.
            Some(element)
                if element != NOT_REDUCIBLE
                    && !self.values.is_error(element)
                    && !self.values.is_code(element, true)? =>
            {
                self.frames.set_slot(dst, element)
            }
            _ => self.frames.pc = or,
        }
        Ok(())
    }

    /// Puts the values of some slots in the place of the variables of others.
    pub(super) fn substitute_slots(
        &mut self,
        template: Slot,
        (variables, values, count): (Slot, Slot, Slot),
        dst: Slot,
        renames: bool,
    ) -> Result<(), Halt> {
        let read = |first: Slot| (first..first + count).map(|slot| self.read(slot)).collect::<Vec<_>>();
        let (variables, values, template) = (read(variables), read(values), self.read(template));
        let made = substitute(self.values, self.notes, template, (&variables, &values), renames)?;
        self.frames.put(dst, made)
    }

    /// The expression that a slot holds.
    pub(super) fn list(&mut self, slot: Slot) -> Result<Option<Ref>, Halt> {
        let value = self.read(slot);
        if value.is_expression() {
            return Ok(Some(value));
        }
        if value.tag() == TERM { Ok(Some(self.values.open_term(value)?)) } else { Ok(None) }
    }

    /// The next element of a loop.
    pub(super) fn next(&mut self, list: Slot, index: Slot, dst: Slot, or: u32) -> Result<(), Halt> {
        let position = self.frames.slot(index).payload() as usize;
        let elements = self.list(list)?.expect("a loop goes over an expression");
        // An interned list is opened once.
        self.frames.set_slot(list, elements);
        match self.values.heap.children(elements).get(position).copied() {
            Some(element) => {
                self.frames.set_slot(dst, element);
                self.frames.set_slot(dst + 1, super::words::raw(position + 1));
            }
            None => self.frames.pc = or,
        }
        Ok(())
    }

    /// `(last (before (… ())))` as a list.
    pub(super) fn gathered(&mut self, slot: Slot, dst: Slot) -> Result<(), Halt> {
        let mut found = Vec::new();
        let mut rest = self.read(slot);
        while let &[last, before] = self.values.heap.children(rest) {
            found.push(last);
            rest = before;
        }
        found.reverse();
        let list = self.values.heap.expression(&mut self.values.region, &found)?;
        self.frames.set_slot(dst, list);
        Ok(())
    }
}

impl Running<'_> {
    pub(super) fn list_tail(&mut self, slot: Slot, dst: Slot, or: Pc) -> Result<(), Halt> {
        match self.m.slots().list(slot)?.filter(|&list| self.m.values.heap.length(list) > 0) {
            Some(list) => {
                let tail = self.tail(list)?;
                self.m.frames.set_slot(dst, tail);
                self.made_list(tail);
            }
            None => self.m.frames.pc = or,
        }
        Ok(())
    }

    fn tail(&mut self, list: Ref) -> Result<Ref, Halt> {
        let tail = self.m.values.heap.children(list)[1..].to_vec();
        let is_normal = self.m.types.notes.hold(self.m.values.heap.note(list));
        let made = self.m.values.heap.expression(&mut self.m.values.region, &tail)?;
        if is_normal && (tail.is_empty() || self.heads_data(made)?) {
            self.m.values.heap.set_note(made, self.m.types.notes.normal());
        }
        Ok(made)
    }

    pub(super) fn cons(&mut self, head: Slot, tail: Slot, dst: Slot, or: u32) -> Result<(), Halt> {
        let Some(tail) = self.m.slots().list(tail)? else {
            self.m.frames.pc = or;
            return Ok(());
        };
        let head = self.m.read(head);
        if head == ERROR {
            self.m.frames.pc = or;
            return Ok(());
        }
        let is_normal =
            self.m.values.is_normal(head, self.m.types.notes) && self.m.values.is_normal_tail(tail, self.m.types.notes);
        let made = put_before(&mut self.m.values, head, tail)?;
        if is_normal && self.heads_data(made)? {
            self.m.values.heap.set_note(made, self.m.types.notes.normal());
        }
        self.m.frames.set_slot(dst, made);
        self.made_list(made);
        Ok(())
    }

    /// To be called with each list that was made as a copy of another.
    fn made_list(&mut self, made: Ref) {
        self.limits().look_soon_if_long(made);
        self.limits().collect_soon();
    }

    pub(super) fn decons(&mut self, slot: Slot, dst: Slot, or: u32) -> Result<(), Halt> {
        match self.m.slots().list(slot)?.filter(|&list| self.m.values.heap.length(list) > 0) {
            Some(list) => {
                let head = self.m.values.heap.child(list, 0);
                let tail = self.tail(list)?;
                let pair = self.m.values.heap.expression(&mut self.m.values.region, &[head, tail])?;
                self.m.frames.set_slot(dst, pair);
                self.made_list(tail);
            }
            None => self.m.frames.pc = or,
        }
        Ok(())
    }

    /// A list of evaluated children is the result of the frame at hand, unless it is a call.
    pub(super) fn leave_list(&mut self, slot: Slot) -> Result<(), Halt> {
        let list = self.m.read(slot);
        let head = self.m.values.heap.children(list).first().map(|&head| self.m.values.heap.walk(head));
        if head.is_none_or(|head| head.tag() == tag::VARIABLE) {
            return self.give(list);
        }
        if self.heads_data(list)? {
            let value = self.m.values.note_normal(list, self.m.types.notes).unmarked();
            return self.give(value);
        }
        let head = head.expect("a list without a head is its own result");
        if self.m.values.is_operation(head) {
            let arguments = self.m.values.heap.children(list)[1..].to_vec();
            return self.operate_on(head, &arguments, true, 0);
        }
        if head.is_expression() || head.tag() == TERM {
            let arity = self.m.values.heap.length(list) - 1;
            return if self.is_inert(arity)? { self.give(list) } else { self.reduce_compound(list, true, 0) };
        }
        self.interpret(list, Destination::Frame, |list| Task::Call(list, names::undefined(), true))
    }
}

/// The list of an element and those of another list.
fn put_before(values: &mut Values, head: Ref, tail: Ref) -> Result<Ref, Full> {
    let children = values.heap.children(tail);
    if children.len() < SHORT {
        let (mut list, length) = ([EMPTY; SHORT], children.len() + 1);
        list[0] = head;
        list[1..length].copy_from_slice(children);
        return values.heap.expression(&mut values.region, &list[..length]);
    }
    let list: Vec<Ref> = std::iter::once(head).chain(children.iter().copied()).collect();
    values.heap.expression(&mut values.region, &list)
}
