//! Forms whose rules may change while their arguments are evaluated: see [`crate::machine::changing`].
//!
//! Code for a form stands for the rules it has in the library. Where an argument has been evaluated since that was looked at,
//! exact code looks again; if they have changed, the form is called as rules stand then, on what the argument came to.

use super::answers::OddAnswer;
use super::{Compiler, Dest, Label, Later};
use crate::machine::code::{Instruction, Slot};
use space::Atom;

impl Compiler<'_, '_> {
    /// Goes to a label if what special forms mean may have changed since they were looked at.
    pub(super) fn or_changed(&mut self, label: Label) -> bool {
        let is_exact = self.run.m.code.is_exact && self.state.is_stale;
        if is_exact {
            let shapes = self.run.m.code.type_epoch;
            self.emit_to(Instruction::GuardTypeEpoch { shapes, or: 0 }, label);
            self.state.is_stale = false;
        }
        is_exact
    }

    /// A form whose argument is evaluated, in a slot: if its rules have changed meanwhile, it is called on that.
    pub(super) fn or_called(&mut self, slot: Slot, dest: Dest, call: impl FnOnce(Atom) -> Vec<Atom>) {
        let label = self.label();
        if self.or_changed(label) {
            let join = self.join(dest);
            let call = Atom::expression(call(self.stand_in(slot)));
            let (state, errors) = (self.state.clone(), self.errors);
            self.write_behind(Later::Called { label, call, dest, state, join, errors });
        }
    }

    /// Calls a form on arguments that are evaluated.
    pub(super) fn called(&mut self, call: &Atom, dest: Dest) {
        let template = self.template(call);
        let slot = self.slot();
        self.emit(Instruction::Build { dst: slot, template });
        self.mark_live(slot);
        let dst = self.target(dest);
        let return_point = self.return_point(dst, None);
        self.emit(Instruction::Interpret { slot, type_id: 0, return_point });
        self.state.is_stale = true;
        self.finish(dst, dest);
    }

    /// A subject of a `case`: if what the form calls has changed, that chooses the branch.
    pub(super) fn or_subject(&mut self, subject: Slot, branches: &Atom, atom: &Atom, dest: Dest) {
        let label = self.label();
        if self.or_changed(label) {
            let join = self.join(dest);
            let call = Self::first_branch(self.stand_in(subject), branches);
            let chosen = Atom::expression([Atom::symbol("eval"), call]);
            let (state, errors) = (self.state.clone(), self.errors);
            self.write_behind(Later::Subject { label, chosen, atom: atom.clone(), dest, state, join, errors });
        }
    }

    /// The rest of a `case`, its branch chosen by a call.
    pub(super) fn subject(&mut self, chosen: &Atom, atom: &Atom, dest: Dest) {
        let template = self.template(chosen);
        let (slot, answer) = (self.slot(), self.slot());
        self.emit(Instruction::Build { dst: slot, template });
        self.run_minimal(slot, answer, false);
        let odd = OddAnswer::Stands(atom.clone());
        self.or_odd(answer, &odd, 0, dest, |compiler| compiler.value_of_slot(answer, 0, dest));
    }
}
