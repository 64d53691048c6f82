//! Lists: what takes them apart and puts them together, without a way through atoms.
//!
//! A part of a list whose children are in normal form is in normal form itself unless its new head calls something; it is noted then, so
//! that the rest of a list is not evaluated element by element each time it is taken.

use super::choices::Destination;
use super::code::{Pc, Slot};
use super::rule_cache::{FEW, InertArities, RuleHeads};
use super::types::HeadKind;
use super::values::Values;
use super::words::{COMPOUND, EMPTY, ERROR, FOREIGN, INTEGER, NOT_REDUCIBLE, SYMBOL, TERM, is_small, small, word};
use super::{Halt, Machine, Running};
use crate::instructions::is_instruction_name;
use crate::interpreter::Task;
use crate::names;
use region::{Full, Ref, tag};
use space::{Atom, Grounded};

/// From how many elements on the making of a list, which takes some microseconds, is followed by a look at the limits.
const LONG: usize = 1 << 14;

/// Lists of up to this many elements are put together on the native stack.
const SHORT: usize = 16;

impl Running<'_> {
    pub(super) fn list_tail(&mut self, slot: Slot, dst: Slot, or: Pc) -> Result<(), Halt> {
        match self.list(slot)?.filter(|&list| self.m.values.heap.length(list) > 0) {
            Some(list) => {
                let tail = self.tail(list)?;
                self.m.set_slot(dst, tail);
                self.made_list(tail);
            }
            None => self.m.frames.pc = or,
        }
        Ok(())
    }

    pub(super) fn size(&mut self, slot: Slot, dst: Slot, or: Pc) -> Result<(), Halt> {
        let size = self.list(slot)?.and_then(|list| small(self.m.values.heap.length(list) as i64));
        match size {
            Some(size) => self.m.set_slot(dst, size),
            None => self.m.frames.pc = or,
        }
        Ok(())
    }

    pub(super) fn element(&mut self, slot: Slot, index: Slot, dst: Slot, or: Pc) -> Result<(), Halt> {
        let (list, index) = (self.list(slot)?, self.m.read(index));
        let position = if is_small(index) { usize::try_from(word(index)).ok() } else { None };
        let element = list.zip(position).and_then(|(list, at)| self.m.values.heap.children(list).get(at).copied());
        match element {
            // What a native function comes to is run if it is code.
            Some(element)
                if element != NOT_REDUCIBLE && !self.m.is_error(element) && !self.is_code(element, true)? =>
            {
                self.m.set_slot(dst, element)
            }
            _ => self.m.frames.pc = or,
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
        let read = |first: Slot| (first..first + count).map(|slot| self.m.read(slot)).collect::<Vec<_>>();
        let (variables, values, template) = (read(variables), read(values), self.m.read(template));
        let made = self.substitute(template, &variables, &values, renames)?;
        self.m.put(dst, made)
    }

    /// The expression that a slot holds.
    pub(super) fn list(&mut self, slot: Slot) -> Result<Option<Ref>, Halt> {
        let value = self.m.read(slot);
        if value.is_expression() {
            return Ok(Some(value));
        }
        if value.tag() == TERM { self.opened(value).map(Some) } else { Ok(None) }
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
        let Some(tail) = self.list(tail)? else {
            self.m.frames.pc = or;
            return Ok(());
        };
        let head = self.m.read(head);
        if head == ERROR {
            self.m.frames.pc = or;
            return Ok(());
        }
        let is_normal = self.m.values.is_normal(head, self.m.types.notes) && self.m.is_normal_tail(tail);
        let made = self.m.values.put_before(head, tail)?;
        if is_normal && self.heads_data(made)? {
            self.m.values.heap.set_note(made, self.m.types.notes.normal());
        }
        self.m.set_slot(dst, made);
        self.made_list(made);
        Ok(())
    }

    /// To be called with each list that was made as a copy of another.
    fn made_list(&mut self, made: Ref) {
        self.look_soon_if_long(made);
        self.collect_soon();
    }

    /// A long list takes as long as many steps: limits are looked at before more is done.
    pub(super) fn look_soon_if_long(&mut self, made: Ref) {
        if self.m.values.heap.length(made) >= LONG {
            self.look_within(1);
        }
    }

    pub(super) fn decons(&mut self, slot: Slot, dst: Slot, or: u32) -> Result<(), Halt> {
        match self.list(slot)?.filter(|&list| self.m.values.heap.length(list) > 0) {
            Some(list) => {
                let head = self.m.values.heap.child(list, 0);
                let tail = self.tail(list)?;
                let pair = self.m.values.heap.expression(&mut self.m.values.region, &[head, tail])?;
                self.m.set_slot(dst, pair);
                self.made_list(tail);
            }
            None => self.m.frames.pc = or,
        }
        Ok(())
    }

    /// The next element of a loop.
    pub(super) fn next(&mut self, list: Slot, index: Slot, dst: Slot, or: u32) -> Result<(), Halt> {
        let position = self.m.slot(index).payload() as usize;
        let elements = self.list(list)?.expect("a loop goes over an expression");
        // An interned list is opened once.
        self.m.set_slot(list, elements);
        match self.m.values.heap.children(elements).get(position).copied() {
            Some(element) => {
                self.m.set_slot(dst, element);
                self.m.set_slot(dst + 1, super::words::raw(position + 1));
            }
            None => self.m.frames.pc = or,
        }
        Ok(())
    }

    /// `(last (before (… ())))` as a list.
    pub(super) fn gathered(&mut self, slot: Slot, dst: Slot) -> Result<(), Halt> {
        let mut found = Vec::new();
        let mut rest = self.m.read(slot);
        while let &[last, before] = self.m.values.heap.children(rest) {
            found.push(last);
            rest = before;
        }
        found.reverse();
        let list = self.m.values.heap.expression(&mut self.m.values.region, &found)?;
        self.m.set_slot(dst, list);
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
        if self.m.is_operation(head) {
            let arguments = self.m.values.heap.children(list)[1..].to_vec();
            return self.operate_on(head, &arguments, true, 0);
        }
        if head.is_expression() || head.tag() == TERM {
            let arity = self.m.values.heap.length(list) - 1;
            return if self.is_inert(arity)? { self.give(list) } else { self.reduce_compound(list, true, 0) };
        }
        self.interpret(list, Destination::Frame, |list| Task::Call(list, names::undefined(), true))
    }

    /// Whether a list is in normal form though nobody has noted it.
    pub(super) fn is_normal_list(&mut self, list: Ref) -> Result<bool, Halt> {
        let m = &self.m;
        let is_normal = m.values.heap.children(list).iter().all(|&child| m.values.is_normal(child, m.types.notes));
        Ok(is_normal && self.heads_data(list)?)
    }

    /// Whether a value is a list in normal form that begins with a number: its types hold no error.
    pub(super) fn is_normal_numbers(&self, value: Ref) -> bool {
        let heap = &self.m.values.heap;
        value.is_expression()
            && self.m.types.notes.hold(heap.note(value))
            && heap.children(value).first().is_some_and(|first| matches!(first.tag(), INTEGER | tag::NUMBER))
    }

    /// Whether the head of an expression of children in normal form makes it data.
    pub(super) fn heads_data(&mut self, list: Ref) -> Result<bool, Halt> {
        let head = self.m.values.heap.walk(self.m.values.heap.child(list, 0));
        let arity = self.m.values.heap.length(list) - 1;
        self.makes_data(head, arity)
    }

    /// Whether a symbol with `arity` arguments, whatever its type, has no rules.
    pub(super) fn is_named_constructor(&mut self, head: Ref, arity: usize) -> Result<bool, Halt> {
        if head == ERROR || head == EMPTY || arity > FEW {
            return Ok(false);
        }
        let function = self.m.code.function(head, arity as Slot, 0);
        self.is_constructor(function)
    }

    /// Whether a head makes data of `arity` arguments in normal form.
    pub(super) fn makes_data(&mut self, head: Ref, arity: usize) -> Result<bool, Halt> {
        match head.tag() {
            SYMBOL if head == ERROR || head == EMPTY => Ok(false),
            SYMBOL if arity <= FEW => {
                let is_untyped = matches!(self.types().head_kind(head, arity), HeadKind::Untyped);
                Ok(is_untyped && self.is_named_constructor(head, arity)?)
            }
            SYMBOL => {
                let name = self.m.values.symbol_of(head).as_str();
                let is_open = !is_instruction_name(name) && self.types().is_open(head);
                let heads = self.rule_heads();
                Ok(is_open && !heads.others && !heads.symbols.contains(&head) && self.is_supported(head))
            }
            INTEGER | tag::NUMBER => self.is_inert(arity),
            FOREIGN => {
                let is_value = matches!(
                    self.m.values.foreign_of(head),
                    Atom::Grounded(Grounded::Bool(_) | Grounded::Number(_) | Grounded::Text(_))
                );
                Ok(is_value && self.is_inert(arity)?)
            }
            tag::EXPRESSION | tag::MARKED => {
                let first = self.m.values.heap.children(head).first().map(|&first| self.m.values.heap.walk(first));
                let is_number = first.is_some_and(|first| matches!(first.tag(), INTEGER | tag::NUMBER));
                Ok((is_number || self.types().is_open(head)) && self.is_inert(arity)?)
            }
            TERM => Ok(self.types().is_open(head) && self.is_inert(arity)?),
            _ => Ok(false),
        }
    }

    fn is_supported(&self, head: Ref) -> bool {
        let call = Atom::expression([Atom::Symbol(self.m.values.symbol_of(head).clone())]);
        crate::stdlib::not_supported(&call).is_none()
    }

    /// Whether no rule reduces an expression whose head is no symbol.
    fn is_inert(&mut self, arity: usize) -> Result<bool, Halt> {
        if arity > FEW {
            return Ok(!self.rule_heads().others);
        }
        let inert = &mut self.m.rule_cache.inert_arities;
        if inert.version != self.m.code.version {
            *inert = InertArities { version: self.m.code.version, ..InertArities::default() };
        }
        if let Some(known) = inert.known[arity] {
            return Ok(known);
        }
        let function = self.m.code.function(COMPOUND, arity as Slot, 0);
        let is_inert = self.is_constructor(function)?;
        self.m.rule_cache.inert_arities.known[arity] = Some(is_inert);
        Ok(is_inert)
    }

    /// What has rules as things stand.
    fn rule_heads(&mut self) -> &RuleHeads {
        if self.m.rule_cache.rule_heads.version != self.m.code.version {
            let source = self.session.program.variables();
            let [call, body] = [(); 2].map(|()| source.fresh(names::asked()));
            let rule = Atom::expression([names::equal(), Atom::Variable(call.clone()), Atom::Variable(body)]);
            let found = self.space.query(&rule, source);
            let mut heads = RuleHeads { version: self.m.code.version, ..RuleHeads::default() };
            for solution in found {
                let called = solution.iter().find(|(bound, _)| *bound == call).map(|(_, value)| value);
                match called.map(|called| called.head().unwrap_or(called)) {
                    Some(Atom::Symbol(symbol)) => {
                        heads.symbols.insert(self.m.values.symbol(symbol));
                    }
                    _ => heads.others = true,
                }
            }
            self.m.rule_cache.rule_heads = heads;
        }
        &self.m.rule_cache.rule_heads
    }
}

impl Machine {
    /// Whether a list is in normal form, or would be if another element stood first.
    #[inline]
    pub(super) fn is_normal_tail(&self, tail: Ref) -> bool {
        let heap = &self.values.heap;
        heap.length(tail) == 0 || self.types.notes.hold(heap.note(tail))
    }
}

impl Values {
    /// The list of an element and those of another list.
    fn put_before(&mut self, head: Ref, tail: Ref) -> Result<Ref, Full> {
        let children = self.heap.children(tail);
        if children.len() < SHORT {
            let (mut list, length) = ([EMPTY; SHORT], children.len() + 1);
            list[0] = head;
            list[1..length].copy_from_slice(children);
            return self.heap.expression(&mut self.region, &list[..length]);
        }
        let list: Vec<Ref> = std::iter::once(head).chain(children.iter().copied()).collect();
        self.heap.expression(&mut self.region, &list)
    }
}
