//! The types that code and tables name, each by a number.

use crate::machine::code::{TypeId, WELL_TYPED};
use crate::names;
use rustc_hash::FxHashMap;
use space::{Atom, VariableSource, make_fresh};

/// The table of types. The first is `%Undefined%`.
pub(in crate::machine) struct TypeIds {
    types: Vec<Atom>,
    index: FxHashMap<Atom, TypeId>,
}

impl Default for TypeIds {
    fn default() -> Self {
        let mut ids = Self { types: Vec::new(), index: FxHashMap::default() };
        ids.id(&names::undefined());
        ids
    }
}

impl TypeIds {
    /// The number of a type; `None` when the table is full.
    pub(in crate::machine) fn id(&mut self, type_atom: &Atom) -> Option<TypeId> {
        if let Some(&known) = self.index.get(type_atom) {
            return Some(known);
        }
        let id = TypeId::try_from(self.types.len()).ok().filter(|&id| id < WELL_TYPED)?;
        self.types.push(type_atom.clone());
        self.index.insert(type_atom.clone(), id);
        Some(id)
    }

    /// The type with a number.
    pub(in crate::machine) fn atom(&self, id: TypeId) -> &Atom {
        &self.types[usize::from(id)]
    }

    /// The type with a number, its variables renamed apart.
    pub(super) fn renamed(&self, id: TypeId, variables: &mut VariableSource) -> Atom {
        let found = self.atom(id);
        if found.is_ground() { found.clone() } else { make_fresh(found, &[], variables) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::type_table::parse;
    use super::*;

    #[test]
    fn equal_types_have_one_number_and_the_undefined_one_is_the_first() {
        let mut ids = TypeIds::default();
        assert_eq!(ids.id(&names::undefined()), Some(0));
        let list = ids.id(&parse("(List Number)"));
        assert_eq!((list, ids.id(&parse("(List Number)"))), (Some(1), Some(1)));
        assert_eq!(ids.atom(1), &parse("(List Number)"));
    }

    #[test]
    fn a_full_table_has_numbers_for_the_types_in_it_alone() {
        let mut ids = TypeIds::default();
        let numbers =
            (0..u64::from(TypeId::MAX)).map(|number| ids.id(&Atom::from(space::Number::from(number as usize))));
        assert_eq!(numbers.flatten().last(), Some(WELL_TYPED - 1));
        assert_eq!(ids.id(&Atom::symbol("OneMore")), None);
        assert_eq!(ids.id(&names::undefined()), Some(0));
    }
}
