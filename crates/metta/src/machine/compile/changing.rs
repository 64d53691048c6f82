//! Forms whose rules may change while their arguments are evaluated: see [`crate::machine::changing`].
//!
//! Code for a form stands for the rules it has in the library. Where an argument has been evaluated since that was looked at,
//! exact code looks again; if they have changed, the form is called as rules stand then, on what the argument came to.

use super::{Compiler, Label};
use crate::machine::core::{Core, Evaluator, Test, Written};
use space::Atom;
use std::rc::Rc;

impl Compiler<'_, '_> {
    /// Goes to a label if what special forms mean may have changed since they were looked at.
    pub(super) fn or_changed(&mut self, label: Label) {
        if self.run.m.code.is_exact && self.state.is_stale {
            self.test_or(&Test::Unchanged, label);
        }
    }
}

/// A form that is called on arguments which are evaluated.
pub(super) fn called(call: Atom) -> Rc<Core> {
    Rc::new(Core::Written(Written { atom: call, type_id: 0, by: Evaluator::Interpreter }))
}
