//! What a form answers with, where that is in a slot: see [`crate::machine::lower`].

use super::{Compiler, Dest};
use crate::machine::code::{Instruction, Slot, Template, TypeId};
use space::Atom;

impl Compiler<'_, '_> {
    /// The call stands for itself or enters the code that a slot holds.
    pub(super) fn check_reduct(&mut self, slot: Slot, call: Option<&Atom>, type_id: TypeId, dest: Dest) {
        let template = call.map(|call| self.template(call)).and_then(Template::new);
        let dst = self.target(dest);
        let return_point = self.return_point(dst, None);
        self.emit(Instruction::CheckReduct { slot, template, type_id, return_point });
        self.finish(dst, dest);
    }
}
