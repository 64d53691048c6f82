//! Results that are collected, and barriers: all results of something are found before what is around it goes on.

use super::{Compiler, Dest, Errors, Later};
use crate::lowering::Wanted;
use crate::machine::code::{Branches, CollectedInto, Instruction, Slot};
use crate::machine::core::{Asked, Collected, Core};
use space::Variable;

impl Compiler<'_, '_> {
    /// What becomes of the results of a goal, into a slot.
    pub(super) fn collect(&mut self, goal: &Core, into: &Collected, dst: Slot) {
        let into = match into {
            Collected::List => CollectedInto::List,
            Collected::Subjects(Asked::Known { asks_for_absence }) => {
                CollectedInto::Subjects(Branches::Known { asks_for_absence: *asks_for_absence })
            }
            Collected::Subjects(Asked::Of(branches)) => {
                CollectedInto::Subjects(Branches::In(self.state.variables[branches]))
            }
            Collected::Transaction => {
                let begin = |slot, return_point| Instruction::Transact { slot, return_point };
                return self.collected_by(goal, dst, false, begin);
            }
            Collected::Wanted { wanted, most } => return self.collect_some(goal, *wanted, most, dst),
        };
        let begin = |slot, return_point| Instruction::Collect { slot, return_point, into };
        self.collected_by(goal, dst, into == CollectedInto::List, begin);
    }

    /// All results of a goal. `begin` makes the instruction that begins to collect them: it gets the slot that this is noted in, and the
    /// return point of what they become. `is_list` says whether they become a list.
    fn collected_by(&mut self, goal: &Core, dst: Slot, is_list: bool, begin: impl FnOnce(Slot, u32) -> Instruction) {
        let (begun, value) = (self.slot(), self.slot());
        let at = self.next as Slot;
        let outer = self.errors;
        let label = self.label();
        let place = self.emit(Instruction::Fail);
        self.errors = Errors::Destination(label);
        let state = self.state.clone();
        let gathers = std::mem::replace(&mut self.gathers, is_list.then_some([begun, value]));
        self.node(goal, Dest::Slot(value));
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

    /// As many results of a goal as are wanted, or what there is to say about them. The goal is called in an open frame, and its errors are
    /// results.
    fn collect_some(&mut self, goal: &Core, wanted: Wanted, most: &Variable, dst: Slot) {
        let (begun, value) = (self.slot(), self.slot());
        let (most, at) = (self.state.variables[most], self.next as Slot);
        let place = self.emit(Instruction::Fail);
        let state = self.state.clone();
        self.node(goal, Dest::Slot(value));
        self.emit(Instruction::Collected { begun, slot: value });
        self.state = state;
        let return_point = self.return_point(dst, Some(at));
        self.run.m.code.return_points[return_point as usize].pc = self.here();
        self.run.m.code.instructions[place] = Instruction::CollectSome { slot: begun, most, wanted, return_point };
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
}
