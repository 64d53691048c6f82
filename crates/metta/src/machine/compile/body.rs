//! What code is made of: values in slots, tests, places to go on at, calls and barriers.

use super::origins::CallOrigin;
use super::{Compiler, Dest, Errors, Label, Later};
use crate::machine::code::{ArgumentSource, Guard, HEADER, Instruction, Slot};
use crate::machine::core::{Apply, Core, Test};
use crate::machine::words::EMPTY;
use region::Ref;
use space::{Atom, Variable};
use std::rc::Rc;

impl Compiler<'_, '_> {
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

    /// A tuple whose head is known when it is evaluated.
    pub(super) fn apply(&mut self, parts: &Apply, dest: Dest) {
        let Apply { children, held, as_written, is_same, type_id } = parts;
        let block = self.slots(HEADER + children.len() - 1);
        let head = self.slot();
        let place_of = |index: usize| if index == 0 { head } else { block + (HEADER + index - 1) as Slot };
        // Variables first: if one does not stand for its own result, nothing is evaluated yet.
        let mut elsewhere = None;
        for (index, child) in children.iter().enumerate() {
            match child {
                Core::Variable(_) => self.node(child, Dest::Slot(place_of(index))),
                Core::Evaluate { variable, .. } => {
                    let (slot, dst) = (self.state.variables[variable], place_of(index));
                    let label = *elsewhere.get_or_insert_with(|| self.elsewhere(Rc::clone(as_written), dest));
                    let may_be_bound = held.contains(variable);
                    self.emit_to(Instruction::Settled { slot, dst, may_be_bound, or: 0 }, label);
                    self.mark_live(dst);
                }
                _ => {}
            }
        }
        let outer = self.errors;
        let label = (dest != Dest::Tail).then(|| self.begin_barrier(block + 2));
        let evaluated = children.iter().enumerate().filter(|(_, child)| !child.is_variable());
        evaluated.for_each(|(index, child)| self.node(child, Dest::Slot(place_of(index))));
        self.errors = outer;
        let (count, same, type_id) = ((children.len() - 1) as Slot, *is_same, *type_id);
        let dst = if let Dest::Slot(dst) = dest { dst } else { 0 };
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
                Test::Is(..) | Test::Says(..) | Test::Unchanged => return None,
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

    /// Goes to a label unless a test holds.
    pub(super) fn test_or(&mut self, test: &Test, or: Label) {
        let slot = |variable: &Variable| self.state.variables[variable];
        match test {
            Test::Is(variable, guard) => {
                let (slot, guard) = (slot(variable), *guard);
                self.emit_to(Instruction::Guard { slot, guard, or: 0 }, or);
            }
            Test::SameType(left, right) => {
                let (left, right) = (slot(left), slot(right));
                self.emit_to(Instruction::GuardSame { left, right, or: 0 }, or);
            }
            Test::Says(function, said) => {
                self.emit_to(Instruction::GuardSays { function: *function, said: *said, or: 0 }, or);
            }
            Test::Unchanged => {
                let shapes = self.run.m.code.type_epoch;
                self.emit_to(Instruction::GuardTypeEpoch { shapes, or: 0 }, or);
                self.state.is_stale = false;
            }
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
