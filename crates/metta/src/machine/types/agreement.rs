//! Whether types agree, and whether values are of a type.

use super::{TypeChecker, Types};
use crate::machine::code::TypeId;
use crate::machine::values::{Scope, Values};
use crate::machine::words::{FALSE, FOREIGN, INTEGER, SYMBOL, TERM, TRUE, is_lasting};
use crate::types;
use region::{Ref, tag};
use space::{Atom, Bindings};

/// Of no more leaves than this it is remembered whether they have a type.
const LEAVES_MAX: usize = 1 << 10;

impl TypeChecker<'_> {
    /// The only type of an atom, which may be `%Undefined%`; `None` if it has several, or an error.
    pub(in crate::machine) fn only_type(&mut self, atom: &Atom) -> Option<Atom> {
        let mut found = types::types_of(self.space, atom, self.variables);
        let only = found.pop().filter(|only| found.is_empty() && only.is_valid())?;
        Some(only.atom)
    }

    /// A type of the table, its variables renamed apart.
    pub(in crate::machine) fn type_atom(&mut self, type_id: TypeId) -> Atom {
        self.types.ids.renamed(type_id, self.variables)
    }

    /// Whether a value is of a type in one way, which binds nothing. What is asked of a symbol or constant is kept.
    pub(in crate::machine) fn has_type(&mut self, value: Ref, type_id: TypeId, is_deep: bool) -> bool {
        if type_id == 0 {
            return true;
        }
        match value.tag() {
            INTEGER | tag::NUMBER => return type_id == self.types.number_type,
            tag::VARIABLE => return true,
            TERM => return self.term_has_type(value, type_id, is_deep),
            tag::EXPRESSION | tag::MARKED if self.expression_has_type(value, type_id, is_deep) => return true,
            _ => {}
        }
        if value == TRUE || value == FALSE {
            return type_id == self.types.bool_type;
        }
        let is_kept = matches!(value.tag(), SYMBOL | FOREIGN) && is_lasting(value);
        if let Some(&known) = self.types.typed.get(&(value, type_id, is_deep)).filter(|_| is_kept) {
            return known;
        }
        if self.types.is_state_of(self.values, value, type_id) {
            return true;
        }
        let mut scope = Scope::default();
        let atom = self.values.store_whole(value, &mut scope, self.variables);
        let has = self.atom_has_type(&atom, type_id, is_deep);
        if is_kept {
            self.types.typed.insert((value, type_id, is_deep), has);
        }
        has
    }

    /// Whether an atom is of a type in one way, which binds nothing.
    pub(super) fn atom_has_type(&mut self, atom: &Atom, type_id: TypeId, is_deep: bool) -> bool {
        let expected = self.type_atom(type_id);
        if !atom.is_ground() || !expected.is_ground() || types::accepts_raw(&expected, atom) {
            return false;
        }
        let found = types::types_of(self.space, atom, self.variables);
        found.iter().all(types::AtomType::is_valid)
            && found.iter().any(|found| {
                let source = &mut *self.variables;
                let agree = if is_deep { types::agree_deeply } else { types::agree };
                !agree(&expected, &found.atom, &Bindings::default(), source).is_empty()
            })
    }

    /// Whether a leaf of code has a type.
    pub(in crate::machine) fn leaf_has_type(&mut self, atom: &Atom, leaf: Ref, type_id: TypeId, is_deep: bool) -> bool {
        if type_id == 0 {
            return true;
        }
        if let Some(&known) = self.types.typed.get(&(leaf, type_id, is_deep)) {
            return known;
        }
        let has = self.atom_has_type(atom, type_id, is_deep);
        // Forms may hold ever new numbers.
        if self.types.typed.len() == LEAVES_MAX {
            self.types.typed.clear();
        }
        self.types.typed.insert((leaf, type_id, is_deep), has);
        has
    }

    /// Whether two values have types that agree, as `==` asks for.
    pub(in crate::machine) fn have_one_type(&mut self, left: Ref, right: Ref) -> bool {
        let is_number = |values: &Values, value: Ref| value.tag() == INTEGER || values.number_of(value).is_some();
        let is_bool = |value: Ref| value == TRUE || value == FALSE;
        is_number(self.values, left) && is_number(self.values, right)
            || is_bool(left) && is_bool(right)
            || self.is_open(left) && self.has_no_type_error(right)
            || self.is_open(right) && self.has_no_type_error(left)
            || self.share_a_type(left, right)
    }

    /// Whether a result of one type may stand where another is expected. If both are inside a type, `Atom` is a type like any other there.
    fn agrees(&mut self, actual: TypeId, expected: TypeId, is_deep: bool) -> bool {
        if actual == 0 || expected == 0 || actual == expected {
            return true;
        }
        let (actual, expected) = (self.type_atom(actual), self.type_atom(expected));
        let agree = if is_deep { types::agree_deeply } else { types::agree };
        !agree(&actual, &expected, &Bindings::default(), self.variables).is_empty()
    }

    /// Whether a result of one type may stand where another is expected, as things stand.
    pub(in crate::machine) fn agrees_statically(&mut self, actual: TypeId, expected: TypeId) -> bool {
        self.agrees(actual, expected, false)
    }

    /// Whether it may if both are inside a type.
    pub(in crate::machine) fn agrees_deeply(&mut self, actual: TypeId, expected: TypeId) -> bool {
        self.agrees(actual, expected, true)
    }

    /// Whether a result of one type may stand where another is expected; kept for ever, as types do not change.
    pub(super) fn results_agree(&mut self, result: TypeId, type_id: TypeId, is_deep: bool) -> bool {
        if result == type_id || result == 0 {
            return true;
        }
        if let Some(&known) = self.types.agreeing.get(&(result, type_id, is_deep)) {
            return known;
        }
        let agree = self.agrees(result, type_id, is_deep);
        self.types.agreeing.insert((result, type_id, is_deep), agree);
        agree
    }
}

impl Types {
    /// Whether a value is a state of exactly this type.
    pub(in crate::machine) fn is_state_of(&self, values: &Values, value: Ref, type_id: TypeId) -> bool {
        values.state_of(value).is_some_and(|state| *state.type_atom() == *self.ids.atom(type_id))
    }

    /// What results are evaluated to, given the type that is declared: `Expression` would otherwise end the evaluation as
    /// `Atom` does.
    pub(in crate::machine) fn evaluated_as(&self, declared: TypeId) -> TypeId {
        if declared == self.expression_type { 0 } else { declared }
    }
}
