//! Calls that nothing reduces, and those that are left to the interpreter as a whole.

use super::code::{Kind, Pc, REDUCE};
use super::control::choices::Destination;
use super::words::NOT_REDUCIBLE;
use super::{Halt, Running};
use crate::interpreter::Task;
use crate::tables::Policy;
use region::Ref;

impl Running<'_> {
    /// The call of a function on the arguments of the frame at hand, as data.
    pub(super) fn give_unreduced(&mut self, function: u32, from: Pc) -> Result<(), Halt> {
        if self.m.code.functions[function as usize].type_id == REDUCE {
            return self.give(NOT_REDUCIBLE);
        }
        let call = self.m.call_of(function)?;
        self.types().note_made(call);
        self.give_as_called(call, from)
    }

    /// A call that stands for itself; behind which place it was made.
    pub(super) fn give_as_called(&mut self, call: Ref, from: Pc) -> Result<(), Halt> {
        let value = if self.m.unchanged_calls().is_call_unchanged(call, from)? { self.m.evaluated(call) } else { call };
        self.give(value)
    }

    /// Hands the call of a function on the arguments of the frame at hand to the interpreter.
    pub(super) fn interpret_call(&mut self, function: u32, from: Pc) -> Result<(), Halt> {
        let call = self.m.call_of(function)?;
        let changed = !self.m.unchanged_calls().is_call_unchanged(call, from)?;
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
}
