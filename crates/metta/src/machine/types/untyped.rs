//! What has no type: it agrees with every type.

use super::TypeChecker;
use super::signatures::HeadKind;
use crate::machine::code::TypeId;
use crate::machine::open_data::{OpenData, REMEMBERED};
use crate::machine::values::{LOOKS_BETWEEN_LIMITS, Scope};
use crate::machine::words::{COMPOUND, EMPTY, FOREIGN, INTEGER, SYMBOL, TERM, is_lasting};
use crate::names;
use crate::types;
use region::{Ref, tag};
use space::Atom;
use std::cell::Cell;

/// The heads of the expressions for which the library declares a type, as it does for `(@kind function)`, each with its number of
/// arguments. A test compares them with the library.
const LIBRARY_WHOLE_TYPES: [(&str, usize); 1] = [("@kind", 1)];

/// Stands in place of a type where it is kept of a symbol whether it has none.
const NONE: TypeId = TypeId::MAX;

/// How many heads are near, and how many are remembered of those that an answer holds of.
const NEAR: usize = 32;
const ON_WAY_MAX: usize = NEAR + usize::BITS as usize;

/// A kind of type that an expression lacks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::machine) enum Lack {
    /// Any type.
    Type,
    /// A function type.
    FunctionType,
}

/// Whether expressions have no type, as long as nothing is bound, and whether they have no function type.
pub(super) struct Lacking([[Cell<(Ref, u64, bool)>; REMEMBERED]; 2]);

impl Default for Lacking {
    /// A variable was never bound no times: what is remembered under that is nothing.
    fn default() -> Self {
        Self(std::array::from_fn(|_| std::array::from_fn(|_| Cell::new((EMPTY, 0, false)))))
    }
}

impl Lacking {
    /// Whether an expression has none of these types, if that is remembered for as often as a variable was bound.
    fn known(&self, expression: Ref, lack: Lack, binds: u64) -> Option<bool> {
        let (known, since, lacks) = self.0[lack as usize][OpenData::place(expression)].get();
        (known == expression && since == binds).then_some(lacks)
    }

    /// It was found whether an expression has none of these types.
    fn note(&self, expression: Ref, lack: Lack, binds: u64, lacks: bool) {
        self.0[lack as usize][OpenData::place(expression)].set((expression, binds, lacks));
    }

    /// Types have changed.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

impl TypeChecker<'_> {
    /// Whether an expression with this head and number of arguments may have a type declared for the whole. An unbound variable may
    /// be any head.
    pub(in crate::machine) fn may_have_whole_type(&mut self, head: Ref, arity: usize) -> bool {
        if !self.types.has_whole_types {
            return self.library_has_whole_type(head, arity);
        }
        let is_known = matches!(head.tag(), SYMBOL | FOREIGN) && is_lasting(head);
        let head = if is_known { head } else { COMPOUND };
        if let Some(&known) = self.types.whole_types.get(&(head, arity)) {
            return known;
        }
        // Of any other head nothing is known.
        let known = (head != COMPOUND).then(|| self.values.leaf_atom(head));
        let source = &mut *self.variables;
        let mut children = vec![known.unwrap_or_else(|| Atom::Variable(source.fresh(names::asked())))];
        children.extend((0..arity).map(|_| Atom::Variable(source.fresh(names::asked()))));
        let wanted = Atom::Variable(source.fresh(names::asked()));
        let query = Atom::expression([Atom::symbol(names::HAS_TYPE), Atom::expression(children), wanted]);
        let may_have = !self.space.query(&query, source).is_empty();
        self.types.whole_types.insert((head, arity), may_have);
        may_have
    }

    /// Whether the library declares a type for expressions with this head and number of arguments.
    fn library_has_whole_type(&self, head: Ref, arity: usize) -> bool {
        let is_head = |name: &str| match head.tag() {
            tag::VARIABLE => true,
            SYMBOL => self.values.symbol_of(head).as_str() == name,
            _ => false,
        };
        LIBRARY_WHOLE_TYPES.iter().any(|&(name, count)| count == arity && is_head(name))
    }

    /// Whether the program declares no types at all.
    pub(in crate::machine) fn has_no_types(&self) -> bool {
        !self.types.has_types && !self.types.has_whole_types
    }

    /// Whether no expression with this value as its head and this number of arguments has a type.
    pub(in crate::machine) fn makes_open(&mut self, head: Ref, arity: usize) -> bool {
        self.is_open(head) && !self.may_have_whole_type(head, arity)
    }

    /// Whether a value has no type at all, so that it agrees with every type.
    pub(in crate::machine) fn is_open(&mut self, value: Ref) -> bool {
        match value.tag() {
            SYMBOL => self.has_no_type(value),
            tag::VARIABLE => true,
            tag::EXPRESSION | tag::MARKED | TERM => self.lacks(value, Lack::Type),
            _ => false,
        }
    }

    /// Whether a value was evaluated to no type: it has none, or is a tuple, or its types are errors.
    pub(in crate::machine) fn is_untyped(&mut self, value: Ref) -> bool {
        if self.is_open(value) {
            return true;
        }
        if !value.is_expression() && value.tag() != TERM {
            return false;
        }
        let atom = self.values.store_whole(value, &mut Scope::default(), self.variables);
        let is_typed = |atom: &Atom, types: &mut Self| {
            types::types_of(types.space, atom, types.variables)
                .iter()
                .any(|found| found.is_valid() && found.is_function())
        };
        !atom.head().is_some_and(|head| is_typed(head, self))
            || types::types_of(self.space, &atom, self.variables).iter().all(|found| !found.is_valid())
    }

    /// Whether an expression has none of these types. What was found is remembered, since a tuple may be headed by the one that is asked
    /// about before it or after it.
    pub(in crate::machine) fn lacks(&mut self, whole: Ref, lack: Lack) -> bool {
        let mut on_way = ([EMPTY; ON_WAY_MAX], 0);
        let lacks = self.lacks_by_heads(whole, lack, &mut on_way);
        if let Some(lacks) = lacks {
            let ((on_way, count), binds) = (on_way, self.values.open_data.binds());
            on_way[..count].iter().rev().for_each(|&value| self.types.lacking.note(value, lack, binds, lacks));
        }
        lacks == Some(true)
    }

    /// See [`lacks`](Self::lacks); `None` if the memory does not suffice to find out. On the way are heads of which the answer holds as well:
    /// the first ones, and fewer of those that are farther away.
    fn lacks_by_heads(
        &mut self,
        mut value: Ref,
        lack: Lack,
        (on_way, count): &mut ([Ref; ON_WAY_MAX], usize),
    ) -> Option<bool> {
        let mut looks = 0_usize;
        loop {
            looks += 1;
            if looks.is_multiple_of(LOOKS_BETWEEN_LIMITS) && self.values.ceiling.is_passed() {
                return None;
            }
            if let Some(lacks) = self.types.lacking.known(value.unmarked(), lack, self.values.open_data.binds()) {
                return Some(lacks);
            }
            if looks < NEAR || looks.is_power_of_two() {
                on_way[*count] = value.unmarked();
                *count += 1;
            }
            let (head, arity) = match value.tag() {
                TERM => match self.values.shape_of_term(value) {
                    Some((head, length)) => (head, length - 1),
                    None => return Some(false),
                },
                _ => match self.values.heap.children(value) {
                    [] => return Some(true),
                    &[head, ref arguments @ ..] => (self.values.heap.walk(head), arguments.len()),
                },
            };
            let class = if matches!(head.tag(), SYMBOL | FOREIGN) { head } else { COMPOUND };
            if self.may_have_whole_type(class, arity) {
                return Some(false);
            }
            match (head.tag(), lack) {
                (tag::EXPRESSION | tag::MARKED | TERM, _) => value = head,
                (SYMBOL, Lack::Type) => return Some(self.has_no_type(head)),
                (SYMBOL | FOREIGN, Lack::FunctionType) => {
                    return Some(matches!(self.head_kind(head, arity), HeadKind::Untyped));
                }
                (INTEGER | tag::NUMBER, Lack::FunctionType) => return Some(true),
                _ => return Some(false),
            }
        }
    }

    pub(super) fn has_no_type(&mut self, symbol: Ref) -> bool {
        if let Some(&known) = self.types.typed.get(&(symbol, NONE, false)) {
            return known;
        }
        let atom = self.values.leaf_atom(symbol);
        let is_open = self.is_undeclared(&atom);
        self.types.typed.insert((symbol, NONE, false), is_open);
        is_open
    }

    /// Whether nobody has given `()` a type.
    pub(in crate::machine) fn is_unit_open(&mut self) -> bool {
        self.is_undeclared(&Atom::unit())
    }

    /// Whether an atom has no type at all.
    fn is_undeclared(&mut self, atom: &Atom) -> bool {
        let found = types::types_of(self.space, atom, self.variables);
        found.iter().all(|found| found.atom.is_symbol(names::UNDEFINED))
    }
}
