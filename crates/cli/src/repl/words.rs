//! What is known of words at the prompt: for completion, colours and hints.

use metroon::editing::{known_names, type_of};
use metroon::run::Program;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Words of the language and of the program.
#[derive(Clone, Default)]
pub(super) struct Words(Rc<RefCell<Known>>);

#[derive(Default)]
struct Known {
    names: Vec<String>,
    /// The types that were asked for.
    types: BTreeMap<String, Option<String>>,
}

impl Words {
    /// Takes the names that a program has now.
    pub(super) fn follow(&self, program: &mut Program) {
        let names = known_names(program);
        let types = names.iter().map(|name| (name.clone(), type_of(program, name))).collect();
        *self.0.borrow_mut() = Known { names: names.into_iter().collect(), types };
    }

    /// The names that begin so, in the order of the alphabet.
    pub(super) fn beginning_with(&self, beginning: &str) -> Vec<String> {
        let known = self.0.borrow();
        let from = known.names.partition_point(|name| name.as_str() < beginning);
        known.names[from..].iter().take_while(|name| name.starts_with(beginning)).cloned().collect()
    }

    pub(super) fn is_known(&self, name: &str) -> bool {
        self.0.borrow().names.binary_search_by(|known| known.as_str().cmp(name)).is_ok()
    }

    /// The type of a name, if it has one.
    pub(super) fn type_of(&self, name: &str) -> Option<String> {
        self.0.borrow().types.get(name).cloned().flatten()
    }
}
