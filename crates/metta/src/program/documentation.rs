//! What is documented in a program.

use super::Program;
use super::modules::ModuleId;
use crate::documentation::{Documentation, facts_about};
use crate::operation::Operation;
use crate::stdlib::VALUE_WORDS;
use space::{Atom, HostValue as _, SharedSpace};

impl Program {
    /// What is documented about an atom in a module; if nothing is, what the library has under the name that it uses itself.
    pub fn documentation(&mut self, module: ModuleId, atom: &Atom) -> Vec<Documentation> {
        let Some(space) = self.space_of(module).cloned() else { return Vec::new() };
        self.documentation_in(&space, module, atom)
    }

    /// What is documented about an atom in a space; if nothing is, what the library has. Words mean what they mean to a module.
    pub(crate) fn documentation_in(
        &mut self,
        space: &SharedSpace,
        module: ModuleId,
        atom: &Atom,
    ) -> Vec<Documentation> {
        let found = facts_about(space, atom, &mut self.variables);
        match self.name_in_library(module, atom) {
            Some(name) if found.is_empty() => facts_about(space, &name, &mut self.variables),
            _ => found,
        }
    }

    /// The atom that the library documents, when it is another one: the word that stands for a value, or its own copy of
    /// a function that each module has a copy of.
    fn name_in_library(&self, module: ModuleId, atom: &Atom) -> Option<Atom> {
        let library = &self.module(ModuleId::LIBRARY).tokenizer;
        let operation = Operation::of(atom).map(|operation| library.atom(operation.name()));
        operation.or_else(|| self.value_word(module, atom))
    }

    /// The word of the library that stands for a value in a module.
    pub(crate) fn value_word(&self, module: ModuleId, atom: &Atom) -> Option<Atom> {
        let here = &self.module(module).tokenizer;
        VALUE_WORDS.into_iter().find(|word| here.atom(word) == *atom).map(Atom::symbol)
    }
}
