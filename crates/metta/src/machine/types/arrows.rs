//! Functions that functions take.

use super::rules::FunctionTypes;
use crate::machine::code::Slot;
use crate::names;
use crate::types;
use region::Ref;
use space::{Atom, distinct_parts};
use std::rc::Rc;

impl FunctionTypes<'_> {
    /// The only type of a symbol, if that is a function type.
    pub(super) fn only_function_type(&mut self, head: Ref) -> Option<Atom> {
        let mut types = self.rules.types();
        let head = types.values.leaf_atom(head);
        types.only_type(&head).filter(types::is_function)
    }

    /// For each argument of a function: if it is a function, how many arguments that takes. Kept until rules change.
    pub(in crate::machine) fn arrows_of(&mut self, head: Ref) -> Option<Rc<[Option<Slot>]>> {
        if let Some(known) = self.rules.types().types.well_typed.arrows.get(&head) {
            return known.clone();
        }
        let arrows = self.only_function_type(head).map(|function| {
            let (formals, _) = types::function_parts(&function);
            formals.iter().map(arity_of_arrow).collect()
        });
        self.rules.types().types.well_typed.arrows.insert(head, arrows.clone());
        arrows
    }

    /// Whether a symbol has one function type, by which no argument is a function.
    pub(super) fn takes_no_functions(&mut self, head: Ref) -> bool {
        self.arrows_of(head).is_some_and(|arrows| arrows.iter().all(Option::is_none))
    }
}

/// How many arguments the functions of a type take, if it is a function type.
pub(super) fn arity_of_arrow(found: &Atom) -> Option<Slot> {
    types::is_function(found).then(|| (found.children().unwrap_or_default().len() - 2) as Slot)
}

/// Whether a function type occurs in a type.
pub(super) fn holds_arrow(found: &Atom) -> bool {
    distinct_parts(found).any(|part| part.is_symbol(names::ARROW))
}
