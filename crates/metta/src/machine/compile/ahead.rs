//! Makes variables before alternatives begin: see [`crate::machine::lower`].

use super::Compiler;
use space::{Atom, Variable};

impl Compiler<'_, '_> {
    /// Makes the variables that are needed after the evaluation of an atom, if that may have several results. If `pattern` takes these
    /// apart, its variables are not needed before.
    pub(super) fn make_ahead_of<'a>(
        &mut self,
        first: &Atom,
        pattern: Option<&Atom>,
        later: impl IntoIterator<Item = &'a Atom>,
    ) {
        let needed = self.facts().needed_after(first, pattern, later);
        self.make_each(&needed);
    }

    /// Makes the variables of an expression that occur outside of it as well, so that each of its paths has the same.
    pub(super) fn make_shared(&mut self, atom: &Atom) {
        let shared = self.facts().shared(atom);
        self.make_each(&shared);
    }

    /// Makes variables that have no slot yet.
    pub(super) fn make_each(&mut self, variables: &[Variable]) {
        variables.iter().for_each(|variable| _ = self.slot_of(variable));
    }

    /// Makes the variables of the parts of an expression that come after one that may have several results.
    pub(super) fn make_ahead_of_parts(&mut self, parts: &[Atom]) {
        let needed = self.facts().needed_after_first(parts);
        self.make_each(&needed);
    }
}
