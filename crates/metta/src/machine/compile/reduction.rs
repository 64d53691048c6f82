//! One step of reduction, minimal code that is run, and two atoms that are made one.
//!
//! A choice may need what lies above the slots of this frame, since nothing is collected: so the frame moves above it (`ReserveFrame`).

use super::head::Or;
use super::{CodeState, Compiler, Dest, Errors, Label, Later};
use crate::instructions::has_space;
use crate::machine::code::{HEADER, Instruction, NO_FUNCTION, OPEN, Slot, TemplatePart};
use crate::machine::core::{Called, Core, IfDecons, Leave, Reduce, Reducer, Substitute, Unify};
use region::Ref;
use space::{Atom, Variable, variables};

impl Compiler<'_, '_> {
    /// What a call is reduced to, as it stands.
    pub(super) fn reduce(&mut self, reduce: &Reduce, dest: Dest) {
        let dst = match reduce.by {
            Reducer::Function(function) => self.reduce_by_rules(function, &reduce.operands, dest),
            Reducer::Native(operation) => self.reduce_natively(operation, &reduce.operands, dest),
            Reducer::Head => {
                let slot = self.slot_of_node(&reduce.operands[0]);
                let dst = self.target(dest);
                let (return_point, back) = self.raw_return_point(dst, None);
                let at = self.run.m.code.return_points[return_point as usize].at;
                self.emit(Instruction::Reduce { slot, return_point });
                self.place(back);
                self.reserve_frame(at);
                dst
            }
        };
        self.mark_live(dst);
        self.state.is_stale = true;
        self.finish(dst, dest);
    }

    fn reduce_by_rules(&mut self, function: u32, operands: &[Core], dest: Dest) -> Slot {
        let dst = self.target(dest);
        let block = self.slots(HEADER + operands.len());
        let live = self.state.live.clone();
        for (slot, operand) in (block + HEADER as Slot..).zip(operands) {
            self.node(operand, Dest::Slot(slot));
        }
        self.state.live = live;
        self.emit(Instruction::Load { dst: block + 2, value: Ref::from_bits(OPEN) });
        let (return_point, back) = self.raw_return_point(dst, Some(block));
        self.emit(Instruction::Call { function, return_point, begun: true });
        self.place(back);
        self.reserve_frame(block);
        dst
    }

    fn reduce_natively(&mut self, operation: Ref, operands: &[Core], dest: Dest) -> Slot {
        let first = self.slots(operands.len());
        for (slot, operand) in (first..).zip(operands) {
            self.node(operand, Dest::Slot(slot));
        }
        let dst = self.target(dest);
        let (return_point, back) = self.raw_return_point(dst, None);
        self.emit(Instruction::ReduceNative { operation, first, count: operands.len() as Slot, return_point });
        self.place(back);
        dst
    }

    /// Runs what minimal code is.
    pub(super) fn run_code(&mut self, code: &Core, only_function: bool, dest: Dest) {
        let slot = self.slot_of_node(code);
        self.mark_live(slot);
        let dst = self.target(dest);
        let (return_point, back) = self.raw_return_point(dst, None);
        let at = self.run.m.code.return_points[return_point as usize].at;
        self.emit(Instruction::RunMinimal { slot, return_point, only_function });
        self.place(back);
        self.reserve_frame(at);
        self.finish(dst, dest);
    }

    /// A return point whose errors are values; code goes on at the label behind it with them, too.
    pub(super) fn raw_return_point(&mut self, dst: Slot, at: Option<Slot>) -> (u32, Label) {
        let (label, back) = (self.label(), self.label());
        let outer = std::mem::replace(&mut self.errors, Errors::Destination(label));
        let return_point = self.return_point(dst, at);
        self.errors = outer;
        self.write_behind(Later::Raw { label, dst, back });
        (return_point, back)
    }

    fn reserve_frame(&mut self, at: Slot) {
        let place = self.emit(Instruction::ReserveFrame { at, slots: 0 });
        self.reserved.push(place);
    }

    /// Every frame that moves has as many slots as the code needs.
    pub(super) fn patch_reserved(&mut self) {
        for place in std::mem::take(&mut self.reserved) {
            if let Instruction::ReserveFrame { slots, .. } = &mut self.run.m.code.instructions[place] {
                *slots = self.most as Slot;
            }
        }
    }

    /// Errors, and `Empty`, are values like any other.
    pub(super) fn as_value(&mut self, node: &Core, dest: Dest) {
        let dst = self.target(dest);
        let (label, back) = (self.label(), self.label());
        let outer = std::mem::replace(&mut self.errors, Errors::Destination(label));
        let before = self.state.clone();
        self.node(node, Dest::Slot(dst));
        self.errors = outer;
        self.write_behind(Later::Raw { label, dst, back });
        self.joined_at(back, before, dst);
        self.finish(dst, dest);
    }

    /// The code goes on here with a value in a slot, whatever path leads here.
    fn joined_at(&mut self, join: Label, before: CodeState, dst: Slot) {
        self.place(join);
        self.state = before;
        self.state.is_stale = true;
        self.mark_live(dst);
    }

    /// What the body of a `function` returns.
    pub(super) fn function_body(&mut self, call: &Called, body: &Core, dest: Dest) {
        let call = self.called(call);
        let dst = self.target(dest);
        let before = self.state.clone();
        self.functions.push(call);
        self.node(body, Dest::Slot(dst));
        self.functions.pop();
        let join = self.label();
        self.joined_at(join, before, dst);
        self.finish(dst, dest);
    }

    /// The code of a `function` goes on with a result.
    pub(super) fn proceed(&mut self, value: &Core, dest: Dest) {
        let call = *self.functions.last().expect("it is in a function");
        let slot = self.slot_of_node(value);
        self.mark_live(slot);
        let dst = self.target(dest);
        let (return_point, back) = self.raw_return_point(dst, None);
        self.emit(Instruction::LeaveFunction { slot, call, return_point });
        self.place(back);
        self.finish(dst, dest);
    }

    /// The template of a call that is shown.
    fn called(&mut self, call: &Called) -> u32 {
        match call {
            Called::Own(count) => {
                let head = self.run.m.code.functions[self.function as usize].head;
                let mut parts = vec![TemplatePart::Leaf(head)];
                parts.extend((0..*count).map(|slot| TemplatePart::Slot(slot as Slot)));
                parts.push(TemplatePart::Expression(*count as u32 + 1));
                self.add_template(parts)
            }
            Called::Written { atom, anew } => self.shown(anew, |compiler| compiler.template(atom)),
        }
    }

    /// Lets `write` write what is shown: there the variables of a form keep their names, and some variables are made anew.
    pub(super) fn shown<T>(&mut self, anew: &[Variable], write: impl FnOnce(&mut Self) -> T) -> T {
        let is_form = std::mem::replace(&mut self.is_form, self.shows_form);
        let hidden: Vec<(Variable, Slot)> =
            anew.iter().filter_map(|variable| self.state.variables.remove_entry(variable)).collect();
        let written = write(self);
        anew.iter().for_each(|variable| _ = self.state.variables.remove(variable));
        self.state.variables.extend(hidden);
        self.is_form = is_form;
        written
    }

    /// What stands for a call becomes the result of the frame.
    pub(super) fn leave(&mut self, leave: &Leave) {
        let Leave { value, call, type_id, is_rule, is_code } = leave;
        let (type_id, function) = (*type_id, if *is_rule { self.function } else { NO_FUNCTION });
        // What tells whether the call came to itself is gone when the code has run.
        let came = (*is_rule && self.run.m.code.is_exact).then(|| {
            let dst = self.slot();
            self.emit(Instruction::NoteUnchangedCall { function, dst });
            self.mark_live(dst);
            dst
        });
        let mut slot = self.slot_of_node(value);
        if !is_code {
            let dst = self.slot();
            self.emit(Instruction::Resolve { slot, dst });
            self.mark_live(dst);
            slot = dst;
        }
        let call = self.called(call);
        self.emit(match came {
            None => Instruction::Leave { slot, type_id, call, function },
            Some(came) => Instruction::LeaveKnown { slot, type_id, call, came },
        });
    }

    /// Two atoms are made one: one piece of code for each way, another if there is none.
    pub(super) fn unify(&mut self, parts: &Unify, dest: Dest) {
        let Unify { left, pattern, then, otherwise } = parts;
        let slot = self.slot_of_node(left);
        self.mark_live(slot);
        let before = self.state.clone();
        let marks = self.slot();
        self.emit(Instruction::Remember { slot: marks });
        let (or, matched, spaces) = (self.label(), self.label(), self.label());
        if has_space(pattern) {
            self.jump(spaces);
        }
        self.pattern(slot, pattern, Or::Destination(or));
        self.place(matched);
        let new = variables(pattern).into_iter().filter(|variable| !before.variables.contains_key(variable));
        let new: Vec<(Variable, Slot)> =
            new.map(|variable| (variable.clone(), self.state.variables[&variable])).collect();
        let inside = self.state.clone();
        self.state.is_stale = true;
        self.branch(then, dest);
        self.place(or);
        let here = self.here();
        self.state = before.clone();
        self.emit(Instruction::Undo { slot: marks });
        self.branch(otherwise, dest);
        // A pattern that has met a space: the same with variables in place of slots.
        self.place(spaces);
        let place = self.here();
        self.run.m.code.spaces.insert(here, place);
        self.state = CodeState { variables: inside.variables, ..before.clone() };
        self.emit(Instruction::Undo { slot: marks });
        new.iter().for_each(|(variable, slot)| self.emit_variable(variable, *slot));
        let right = self.slot();
        self.raw(pattern, Dest::Slot(right));
        let dst = self.slot();
        let return_point = self.return_point(dst, None);
        self.emit_to(Instruction::Unify { left: slot, right, return_point, or: 0 }, or);
        self.jump(matched);
        self.state = before;
        self.state.is_stale = true;
    }

    /// A list is taken apart, if it can be.
    pub(super) fn if_decons(&mut self, parts: &IfDecons, dest: Dest) {
        let IfDecons { list, position, element, rest, then, otherwise } = parts;
        let list = self.slot_of_node(list);
        let first = self.slots(2);
        let binds = [element, rest].into_iter().any(|pattern| match pattern {
            Atom::Variable(variable) => self.state.variables.contains_key(variable),
            _ => true,
        });
        let marks = binds.then(|| self.slot());
        if let Some(slot) = marks {
            self.emit(Instruction::Remember { slot });
        }
        let before = self.state.clone();
        let or = self.label();
        match position {
            Some(position) => {
                let index = self.state.variables[position];
                self.emit_to(Instruction::Next { list, index, dst: first, or: 0 }, or);
            }
            None => {
                self.emit_to(Instruction::Head { slot: list, dst: first, or: 0 }, or);
                self.emit_to(Instruction::Tail { slot: list, dst: first + 1, or: 0 }, or);
            }
        }
        self.mark_live(first);
        self.mark_live(first + 1);
        self.pattern(first, element, Or::Destination(or));
        self.pattern(first + 1, rest, Or::Destination(or));
        self.branch(then, dest);
        self.place(or);
        self.state = before;
        if let Some(slot) = marks {
            self.emit(Instruction::Undo { slot });
        }
        self.node(otherwise, dest);
    }

    /// The values of some variables in the place of others.
    pub(super) fn substitute(&mut self, parts: &Substitute, dest: Dest) {
        let Substitute { template, pairs, renames } = parts;
        let template = self.state.variables[template];
        let variables = self.in_a_row(pairs.iter().map(|(variable, _)| variable));
        let values = self.in_a_row(pairs.iter().map(|(_, value)| value));
        let (dst, count, renames) = (self.target(dest), pairs.len() as Slot, *renames);
        self.emit(Instruction::Substitute { template, variables, values, count, dst, renames });
        self.finish(dst, dest);
    }

    /// The first of slots in a row that hold what variables stand for.
    fn in_a_row<'v>(&mut self, variables: impl Iterator<Item = &'v Variable>) -> Slot {
        let slots: Vec<Slot> = variables.map(|variable| self.state.variables[variable]).collect();
        if slots.iter().zip(slots[0]..).all(|(&slot, place)| slot == place) {
            return slots[0];
        }
        let first = self.slots(slots.len());
        for (dst, src) in (first..).zip(slots) {
            self.emit(Instruction::Move { dst, src });
        }
        first
    }
}

/// What a variable stands for, unless it needs to be evaluated.
pub(super) fn unless_evaluated(compiler: &mut Compiler<'_, '_>, variable: &Variable, otherwise: &Core, dest: Dest) {
    let (slot, dst) = (compiler.state.variables[variable], compiler.target(dest));
    let (before, join) = (compiler.state.clone(), compiler.label());
    compiler.emit_to(Instruction::KeepEvaluated { slot, dst, or: 0 }, join);
    compiler.node(otherwise, Dest::Slot(dst));
    compiler.joined_at(join, before, dst);
    compiler.finish(dst, dest);
}
