//! Parts of code that several forms share: results that are collected, barriers, and slots that stand in expressions.

use super::{Compiler, Dest, Errors, Later};
use crate::machine::code::{Instruction, Position, Slot, TypeId};
use crate::names;
use space::Atom;

impl Compiler<'_, '_> {
    /// A variable that stands for what is in a slot, in an expression evaluated as it stands.
    pub(super) fn stand_in(&mut self, slot: Slot) -> Atom {
        let variable = space::Variable::with_id(names::asked().clone(), u64::MAX - u64::from(slot));
        self.state.variables.insert(variable.clone(), slot);
        Atom::Variable(variable)
    }

    /// All results of a goal. `begin` makes the instruction that begins to collect them: it gets the slot that this is noted in, and the
    /// return point of what they become. `is_list` says whether they become a list. `evaluate` writes the code of the goal.
    pub(super) fn collected_by(
        &mut self,
        dst: Slot,
        is_list: bool,
        begin: impl FnOnce(Slot, u32) -> Instruction,
        evaluate: impl FnOnce(&mut Self, Dest),
    ) {
        let (begun, value) = (self.slot(), self.slot());
        let at = self.next as Slot;
        let outer = self.errors;
        let label = self.label();
        let place = self.emit(Instruction::Fail);
        self.errors = Errors::Destination(label);
        let state = self.state.clone();
        let gathers = std::mem::replace(&mut self.gathers, is_list.then_some([begun, value]));
        evaluate(self, Dest::Slot(value));
        self.gathers = gathers;
        self.emit(Instruction::Collected { begun, slot: value });
        self.write_behind(Later::Caught { label, begun, value });
        self.state = state;
        self.errors = outer;
        let return_point = self.return_point(dst, Some(at));
        self.run.m.code.return_points[return_point as usize].pc = self.here();
        self.run.m.code.instructions[place] = begin(begun, return_point);
        self.mark_live(dst);
        self.state.is_stale = true;
    }

    pub(super) fn within_barrier(&mut self, dest: Dest, write: impl FnOnce(&mut Self, Dest)) {
        let Dest::Slot(target) = dest else { return write(self, dest) };
        let begun = self.slot();
        let outer = self.errors;
        let label = self.begin_barrier(begun);
        let value = self.slot();
        write(self, Dest::Slot(value));
        self.errors = outer;
        // An error ends it before all of its slots hold something.
        self.forget_from(begun);
        let return_point = self.return_point(target, None);
        self.emit(Instruction::End { begun, value, return_point });
        self.end_barrier(Some(label), begun, return_point);
        self.mark_live(target);
        self.state.is_stale = true;
    }

    /// Evaluates what a slot holds, which a call was reduced to.
    pub(super) fn value_of_slot(&mut self, slot: Slot, type_id: TypeId, dest: Dest) {
        match dest {
            Dest::Tail => {
                self.emit(Instruction::TailEvaluate { slot, type_id, is_answer: true });
            }
            Dest::Slot(dst) => {
                let return_point = self.return_point(dst, None);
                self.emit(Instruction::Value { slot, dst, type_id, return_point, position: Position::Answer });
                self.mark_live(dst);
                self.state.is_stale = true;
            }
        }
    }
}
