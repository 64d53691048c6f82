//! What code is made of: values in slots, tests, places to go on at, calls and barriers.

use super::origins::CallOrigin;
use super::{Compiler, Dest, Errors, Fact, Label, Later};
use crate::lowering::Lowering;
use crate::machine::code::{ArgumentSource, Guard, HEADER, Instruction, Slot, TypeId, WELL_TYPED};
use crate::machine::core::{Core, Evaluator, Test, Written};
use crate::machine::lower::{OddAnswer, Whole};
use crate::machine::words::EMPTY;
use crate::operation::Operation;
use region::Ref;
use space::{Atom, Variable};
use std::rc::Rc;

impl Compiler<'_, '_> {
    /// Evaluates an atom to a type.
    pub(super) fn value(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) {
        self.lowered(dest, |lower, place| lower.value(atom, type_id, place));
    }

    /// Evaluates what a rule or a form says: an error there is final, also one that is not a whole one.
    pub(super) fn reduct(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) {
        self.lowered(dest, |lower, place| lower.reduct(atom, type_id, place));
    }

    /// Evaluates what a form answers with.
    pub(super) fn answer(&mut self, body: &Atom, type_id: TypeId, dest: Dest, odd: OddAnswer) {
        self.lowered(dest, |lower, place| lower.answered(body, type_id, place, |_| odd));
    }

    /// An argument of a typed function: what is an error as it stands is passed on.
    pub(super) fn argument(&mut self, atom: &Atom, type_id: TypeId, dst: Slot) {
        self.lowered(Dest::Slot(dst), |lower, _| lower.argument(atom, type_id));
    }

    /// The slot of an argument of a native function: one that is `Empty` or an error as it stands is passed on.
    pub(super) fn native_operand(&mut self, atom: &Atom, type_id: TypeId) -> Slot {
        self.lowered_operand(|lower| lower.argument(atom, type_id))
    }

    /// An expression whose code is written from the atom.
    pub(super) fn by_head(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) {
        let children = atom.children().expect("it is an expression");
        match &children[0] {
            head @ Atom::Grounded(_) if Operation::of(head).is_some() => match children {
                [_, goal] => {
                    if !self.capture(atom, goal, type_id, dest) {
                        self.lowered(dest, |lower, place| {
                            lower.called(Lowering::Capture, Whole { atom, type_id }, place)
                        });
                    }
                }
                _ => self.query_form(atom, type_id, dest),
            },
            Atom::Symbol(name) => match self.run.special_form(name.as_str(), children.len() - 1) {
                Some(form) => self.library_form(form, atom, type_id, dest),
                None => unreachable!("{name} has nodes of its own"),
            },
            _ => self.apply(children, if self.is_well_typed { WELL_TYPED } else { type_id }, dest),
        }
    }

    /// An atom as it stands.
    pub(super) fn raw(&mut self, atom: &Atom, dest: Dest) {
        if let Atom::Variable(variable) = atom {
            let slot = self.slot_of(variable);
            return self.finish(slot, dest);
        }
        match (self.run.m.values.constant_leaf(atom), dest) {
            // As an argument that is not evaluated `Empty` is an atom like any other.
            (Some(EMPTY), Dest::Slot(dst)) => {
                self.emit(Instruction::Load { dst, value: EMPTY });
                return self.mark_live(dst);
            }
            (Some(leaf), _) => return self.load(leaf, dest),
            (None, _) => {}
        }
        let template = self.template(atom);
        let dst = self.target(dest);
        self.emit(Instruction::Build { dst, template });
        self.finish(dst, dest);
    }

    /// The slot that a destination names, or a new one.
    pub(super) fn target(&mut self, dest: Dest) -> Slot {
        match dest {
            Dest::Slot(slot) => slot,
            Dest::Tail => self.slot(),
        }
    }

    /// What is in a slot is the value.
    pub(super) fn finish(&mut self, slot: Slot, dest: Dest) {
        match dest {
            Dest::Tail => {
                self.emit(Instruction::Return { slot });
            }
            Dest::Slot(dst) => {
                if dst != slot {
                    self.emit(Instruction::Move { dst, src: slot });
                    if let Some(&fact) = self.state.facts.get(&slot) {
                        self.know(dst, fact);
                    }
                }
                self.mark_live(dst);
            }
        }
    }

    pub(super) fn load(&mut self, value: Ref, dest: Dest) {
        if value == EMPTY {
            self.emit(Instruction::Fail);
            return;
        }
        let dst = self.target(dest);
        self.emit(Instruction::Load { dst, value });
        self.finish(dst, dest);
    }

    pub(super) fn slot_of(&mut self, variable: &Variable) -> Slot {
        match self.state.variables.get(variable) {
            Some(&slot) => slot,
            None => self.make_variable(variable),
        }
    }

    /// A rule that says what one of its variables stands for.
    pub(super) fn variable_body(&mut self, variable: &Variable, type_id: TypeId) {
        let (slot, function) = (self.slot_of(variable), self.function);
        if self.is_normal(slot, type_id) {
            return self.finish(slot, Dest::Tail);
        }
        self.emit(Instruction::Body { slot, type_id, function });
    }

    pub(super) fn is_normal(&self, slot: Slot, type_id: TypeId) -> bool {
        match self.state.facts.get(&slot) {
            Some(Fact::Number) => type_id == 0 || type_id == self.run.m.types.number_type,
            Some(Fact::Bool) => type_id == 0 || type_id == self.run.m.types.bool_type,
            None => false,
        }
    }

    /// A tuple whose head is known only when it is evaluated.
    fn apply(&mut self, children: &[Atom], type_id: TypeId, dest: Dest) {
        children.iter().for_each(|child| self.make_shared(child));
        self.make_ahead_of_parts(children);
        let block = self.slots(HEADER + children.len() - 1);
        let head = self.slot();
        let place_of = |index: usize| if index == 0 { head } else { block + (HEADER + index - 1) as Slot };
        self.settled_variables(children, place_of, type_id, dest);
        let outer = self.errors;
        let label = (dest != Dest::Tail).then(|| self.begin_barrier(block + 2));
        let held = if self.is_well_typed { Vec::new() } else { self.lower().held(children) };
        let held = self.hold(&held);
        for (index, child) in children.iter().enumerate().filter(|(_, child)| !matches!(child, Atom::Variable(_))) {
            self.value(child, 0, Dest::Slot(place_of(index)));
        }
        self.held = held;
        self.errors = outer;
        let same = children.iter().all(|child| self.facts().is_same(child));
        let count = (children.len() - 1) as Slot;
        let dst = match dest {
            Dest::Slot(dst) => dst,
            Dest::Tail => 0,
        };
        let return_point = self.return_point(dst, Some(block));
        self.emit(Instruction::Apply { head, count, type_id, return_point, tail: dest == Dest::Tail, same });
        self.note_call(if same { CallOrigin::Same } else { CallOrigin::Other }, false);
        if dest != Dest::Tail {
            self.forget_from(block);
            self.mark_live(dst);
            self.state.is_stale = true;
            self.end_barrier(label, block + 2, return_point);
        }
    }

    /// The values of a tuple's variables go to slots, `place_of` of each, if they are their own results. If one is not, the tuple is
    /// not what is written and is evaluated as it stands.
    fn settled_variables(&mut self, tuple: &[Atom], place_of: impl Fn(usize) -> Slot, type_id: TypeId, dest: Dest) {
        let slots: Vec<(Slot, Slot)> = tuple
            .iter()
            .enumerate()
            .filter_map(|(index, child)| match child {
                Atom::Variable(variable) => Some((self.slot_of(variable), place_of(index))),
                _ => None,
            })
            .collect();
        let mut elsewhere = None;
        for (slot, dst) in slots {
            if self.is_normal(slot, 0) {
                self.finish(slot, Dest::Slot(dst));
                continue;
            }
            let label = *elsewhere.get_or_insert_with(|| {
                let type_id = if type_id == WELL_TYPED { 0 } else { type_id };
                self.plain_elsewhere(&Atom::expression(tuple), type_id, dest)
            });
            self.emit_to(Instruction::Settled { slot, dst, or: 0 }, label);
            self.mark_live(dst);
        }
    }

    /// An instruction that goes elsewhere when the code does not apply: there the expression is evaluated as it stands.
    pub(super) fn or_plain(&mut self, instruction: Instruction, atom: &Atom, type_id: TypeId, dest: Dest) {
        let label = self.plain_elsewhere(atom, type_id, dest);
        self.emit_to(instruction, label);
    }

    /// A place where an expression is evaluated as it stands. What follows may go there as long as it makes no variables.
    fn plain_elsewhere(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) -> Label {
        let by = if self.is_answer(atom) { Evaluator::MachineAsAnswer } else { Evaluator::Machine };
        let written = Written { atom: atom.clone(), type_id, by };
        self.elsewhere(Rc::new(Core::Written(written)), dest)
    }

    /// Where the code goes on behind the expression that is being compiled.
    pub(super) fn join(&mut self, dest: Dest) -> Option<Label> {
        match dest {
            Dest::Tail => None,
            Dest::Slot(_) => {
                let (join, is_used, _) = self.joins.last_mut().expect("an expression is being compiled");
                *is_used = true;
                Some(*join)
            }
        }
    }

    /// Lets `write` compile something whose value goes to a slot, and that may go on behind it from elsewhere.
    pub(super) fn joining(&mut self, dst: Slot, write: impl FnOnce(&mut Self)) {
        let before = self.state.clone();
        let join = self.label();
        self.joins.push((join, false, dst));
        write(self);
        let (_, is_used, _) = self.joins.pop().expect("it was pushed");
        self.place(join);
        if is_used {
            self.state = before;
            self.state.is_stale = true;
        }
        self.mark_live(dst);
    }

    /// The call itself, its arguments laid out; the label is that of its barrier, if it has one.
    pub(super) fn call_block(
        &mut self,
        function: u32,
        block: Slot,
        (label, origin): (Option<Label>, CallOrigin),
        dest: Dest,
    ) {
        match dest {
            Dest::Tail => {
                if let (true, CallOrigin::ArgumentOrigin(written)) = (self.run.m.code.is_exact, origin) {
                    return self.tail_call_if_written(function, block, written);
                }
                self.emit(Instruction::TailCall { function, at: block });
                self.note_call(origin, true);
            }
            Dest::Slot(dst) => {
                let return_point = self.return_point(dst, Some(block));
                self.emit(Instruction::Call { function, return_point, begun: label.is_some() });
                self.note_call(origin, false);
                self.forget_from(block);
                self.mark_live(dst);
                self.state.is_stale = true;
                self.end_barrier(label, block + 2, return_point);
            }
        }
    }

    /// Begins an expression whose alternatives are collected together; its errors go to the label.
    pub(super) fn begin_barrier(&mut self, slot: Slot) -> Label {
        self.emit(Instruction::Begin { slot });
        let label = self.label();
        self.errors = Errors::Destination(label);
        label
    }

    pub(super) fn end_barrier(&mut self, label: Option<Label>, begun: Slot, return_point: u32) {
        if let Some(label) = label {
            let value = self.slot();
            self.write_behind(Later::Barrier { label, begun, value, return_point });
        }
    }

    /// The slots that tests ask about, if all of them hold for small integers and the slots are few.
    pub(super) fn slots_tested(&self, tests: &[Test]) -> Option<[Slot; 3]> {
        let (mut slots, mut count) = ([0; 3], 0);
        for test in tests.iter().filter(|&test| *test != Test::Unchanged) {
            let of_test = match test {
                Test::Is(variable, Guard::Number) => [variable, variable],
                Test::SameType(left, right) => [left, right],
                Test::Is(..) | Test::Unchanged => return None,
            };
            let asked = of_test.map(|variable| self.state.variables[variable]);
            for slot in asked {
                if !slots[..count].contains(&slot) {
                    *slots.get_mut(count)? = slot;
                    count += 1;
                }
            }
        }
        let first = slots[0];
        slots[count..].fill(first);
        Some(slots)
    }

    /// Emits tests one after the other: where one does not hold, the whole expression is evaluated as it stands.
    pub(super) fn guard_each(&mut self, tests: &[Test], atom: &Atom, type_id: TypeId, dest: Dest) {
        let mut elsewhere = None;
        for test in tests {
            if self.holds(test) {
                continue;
            }
            let label = *elsewhere.get_or_insert_with(|| self.plain_elsewhere(atom, type_id, dest));
            self.test_or(test, label);
        }
    }

    /// Goes to a label unless a test holds; behind it, it is known that it does.
    pub(super) fn test_or(&mut self, test: &Test, or: Label) {
        let slot = |variable: &Variable| self.state.variables[variable];
        match test {
            Test::Is(variable, guard) => {
                let (slot, guard) = (slot(variable), *guard);
                self.emit_to(Instruction::Guard { slot, guard, or: 0 }, or);
                match guard {
                    Guard::Number => self.know(slot, Fact::Number),
                    Guard::Bool => self.know(slot, Fact::Bool),
                    _ => {}
                }
            }
            Test::SameType(left, right) => {
                let (left, right) = (slot(left), slot(right));
                self.emit_to(Instruction::GuardSame { left, right, or: 0 }, or);
            }
            Test::Unchanged => {
                let shapes = self.run.m.code.type_epoch;
                self.emit_to(Instruction::GuardTypeEpoch { shapes, or: 0 }, or);
                self.state.is_stale = false;
            }
        }
    }

    /// Whether what is known already makes a test needless.
    pub(super) fn holds(&self, test: &Test) -> bool {
        let fact = |variable: &Variable| self.state.facts.get(&self.state.variables[variable]).copied();
        match test {
            Test::Is(variable, guard) => match guard {
                Guard::Number => fact(variable) == Some(Fact::Number),
                Guard::Bool => fact(variable) == Some(Fact::Bool),
                Guard::Plain => fact(variable).is_some(),
                _ => false,
            },
            Test::SameType(left, right) => fact(left).is_some() && fact(left) == fact(right),
            Test::Unchanged => false,
        }
    }
}

/// The first slot above all that arguments are read from, and whether each can be written in place of the frame at hand before
/// the next is looked at: none is read from where one before it went, not even if a later one turns out to need evaluation and
/// all are read again.
pub(super) fn places_of(sources: &[ArgumentSource]) -> (Slot, bool) {
    let slots = || {
        sources.iter().map(|source| match *source {
            ArgumentSource::Leaf(_) => None,
            ArgumentSource::Slot(slot) | ArgumentSource::Normal(slot) => Some(slot),
        })
    };
    let last_look = sources.iter().rposition(|source| matches!(source, ArgumentSource::Normal(_))).unwrap_or(0);
    let is_direct = slots().enumerate().all(|(place, slot)| {
        slot.is_none_or(|slot| usize::from(slot) == place || usize::from(slot) >= place.max(last_look))
    });
    (slots().flatten().map(|slot| slot + 1).max().unwrap_or(0), is_direct)
}
