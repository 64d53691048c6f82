//! Variables among the parts of an expression that an earlier part may bind: see [`crate::machine::held`].

use super::Compiler;
use crate::machine::code::{Instruction, Slot};
use space::Variable;

impl Compiler<'_, '_> {
    /// Notes which of some variables among the parts of an expression are unbound. Gives what was noted for the expression around it, which
    /// is to be put back behind.
    pub(super) fn hold(&mut self, variables: &[Variable]) -> Vec<(Variable, Slot)> {
        let mut held = Vec::with_capacity(variables.len());
        for variable in variables {
            let slot = self.slot_of(variable);
            let dst = self.slot();
            self.emit(Instruction::NoteUnbound { slot, dst });
            self.mark_live(dst);
            held.push((variable.clone(), dst));
        }
        std::mem::replace(&mut self.held, held)
    }

    /// Leaves out the next instruction if the variable was unbound when the expression around it began.
    pub(super) fn unless_held(&mut self, variable: &Variable, slot: Slot, dst: Slot) {
        if let Some((_, flag)) = self.held.iter().find(|(known, _)| known == variable) {
            self.emit(Instruction::KeepUnbound { flag: *flag, slot, dst });
        }
    }
}
