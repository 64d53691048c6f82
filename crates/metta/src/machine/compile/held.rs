//! Parts of an expression that are not evaluated whatever an earlier part binds: see [`crate::machine::held`].

use super::Compiler;
use crate::machine::code::{Instruction, Slot};
use crate::machine::core::Core;
use space::Variable;

/// Variables, each with the slot that says whether what it stands for was open.
pub(super) type Held = Vec<(Variable, Slot)>;

impl Compiler<'_, '_> {
    /// Notes which of some variables among the parts of an expression are unbound, or hold evaluated data with unbound variables. Gives what
    /// was noted for the expression around it, which is to be put back behind.
    pub(super) fn hold(&mut self, variables: &[Variable]) -> Held {
        let held = variables.iter().map(|variable| held_from_here(self, variable, false)).collect();
        std::mem::replace(&mut self.held, held)
    }

    /// Leaves out the next instruction if the variable was open when the expression around it began.
    pub(super) fn unless_held(&mut self, variable: &Variable, slot: Slot, dst: Slot) {
        if let Some((_, flag)) = self.held.iter().find(|(known, _)| known == variable) {
            self.emit(Instruction::KeepOpen { flag: *flag, slot, dst });
        }
    }
}

/// Does what `hold` does for operands that are evaluated to types, of which only data is not evaluated.
pub(super) fn hold_data(compiler: &mut Compiler<'_, '_>, operands: &[Core]) -> Held {
    let is_exact = compiler.run.m.code.is_exact;
    let binds = |operand: &Core| may_bind(operand) || is_exact && matches!(operand, Core::Evaluate { .. });
    let first = operands.iter().position(binds).map_or(operands.len(), |first| first + 1);
    hold_each(compiler, &operands[first..], true)
}

/// Does so for all parts that are variables.
pub(super) fn hold_all(compiler: &mut Compiler<'_, '_>, parts: &[Core]) -> Held {
    let first = parts.iter().position(|part| !matches!(part, Core::Leaf(_))).map_or(parts.len(), |first| first + 1);
    hold_each(compiler, &parts[first..], false)
}

fn hold_each(compiler: &mut Compiler<'_, '_>, parts: &[Core], only_data: bool) -> Held {
    let known = parts.iter().filter_map(|part| match part {
        Core::Evaluate { variable, .. } if compiler.state.variables.contains_key(variable) => Some(variable),
        _ => None,
    });
    let known: Vec<&Variable> = known.collect();
    let held = known.into_iter().map(|variable| held_from_here(compiler, variable, only_data)).collect();
    std::mem::replace(&mut compiler.held, held)
}

/// A variable, and the slot in which it is noted whether what it stands for is open.
fn held_from_here(compiler: &mut Compiler<'_, '_>, variable: &Variable, only_data: bool) -> (Variable, Slot) {
    let slot = compiler.slot_of(variable);
    (variable.clone(), open_flag(compiler, slot, only_data))
}

/// Notes whether a slot is open, in another slot.
pub(super) fn open_flag(compiler: &mut Compiler<'_, '_>, slot: Slot, only_data: bool) -> Slot {
    let dst = compiler.slot();
    compiler.emit(Instruction::NoteOpen { slot, dst, only_data });
    compiler.mark_live(dst);
    dst
}

/// Whether the evaluation of a part may bind variables. What a variable stands for is most often evaluated already.
fn may_bind(node: &Core) -> bool {
    match node {
        Core::Fail
        | Core::Leaf(_)
        | Core::Quote(_)
        | Core::Variable(_)
        | Core::Evaluate { .. }
        | Core::Evaluated(_) => false,
        Core::Fresh { then, .. } | Core::Gathered(then) => may_bind(then),
        Core::Guarded(guarded) => may_bind(&guarded.fast),
        Core::Compute(compute) => compute.operands.iter().any(may_bind),
        Core::Data(data) => {
            let holds = |child: &Core| matches!(child, Core::Evaluate { .. }) || may_bind(child);
            data.around.is_some() || data.children.iter().any(holds)
        }
        _ => true,
    }
}
