//! Special forms: functions of the library that code has instructions for, as long as their rules are not changed.

use super::Running;
use crate::lowering::Form;
use crate::session::Session;
use crate::stdlib::forms::{self, special_form};
use space::SharedSpace;

impl Running<'_> {
    /// The special form that a call is, if it means what the library says.
    pub(super) fn special_form(&mut self, name: &str, arity: usize) -> Option<Form> {
        let special = special_form(name).filter(|special| special.arity == arity)?;
        let is_as_was = match self.m.rule_cache.special.get(special.name) {
            Some(&known) => known,
            None => {
                let mut parts = special.parts.iter();
                let is_as_was = means_what_the_library_says(self.session, &self.space, special.name, arity)
                    && parts.all(|(part, arity)| means_what_the_library_says(self.session, &self.space, part, *arity));
                self.m.rule_cache.special.insert(special.name, is_as_was);
                is_as_was
            }
        };
        is_as_was.then_some(special.form)
    }
}

fn means_what_the_library_says(session: &mut Session, space: &SharedSpace, form: &str, arity: usize) -> bool {
    let library = session.program.library_space();
    let source = session.program.variables();
    forms::means_what_the_library_says((space, &library), source, form, arity)
}
