//! Variables among the parts of an expression that an earlier part may bind: see [`crate::machine::held`].

use super::Compiler;
use crate::machine::code::{Instruction, Slot};
use space::{Atom, Variable};

impl Compiler<'_, '_> {
    /// Notes which of the parts that are evaluated are unbound. Gives what was noted for the expression around it, which is
    /// to be put back behind.
    pub(super) fn hold<'a>(&mut self, parts: impl Iterator<Item = &'a Atom>) -> Vec<(Variable, Slot)> {
        let (mut held, mut may_bind, mut calls) = (Vec::new(), false, Vec::new());
        for part in parts {
            match part {
                Atom::Variable(variable) if may_bind || !calls.is_empty() => {
                    let slot = self.slot_of(variable);
                    if self.state.facts.contains_key(&slot) {
                        continue;
                    }
                    // Arithmetic on numbers binds nothing.
                    may_bind |= calls.drain(..).any(|call| !self.is_same(call) && !self.has_one_result(call));
                    if may_bind {
                        let dst = self.slot();
                        self.emit(Instruction::NoteUnbound { slot, dst });
                        self.mark_live(dst);
                        held.push((variable.clone(), dst));
                    }
                }
                Atom::Expression(_) if !may_bind => calls.push(part),
                _ => {}
            }
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
