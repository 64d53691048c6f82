//! The types of data, known once.
//!
//! 1. The *scheme* of a value is its only type, variables included, if it has one and holds no type error: `(List Number)` of
//!    `(Cons 1 Nil)`, `(List $t)` of `Nil`. A value without any type has the scheme
//!    [`Scheme::UNKNOWN`].
//! 2. Schemes of leaves and of terms of the dictionary are kept until types change. So is what a head makes of arguments of
//!    certain schemes: types are unified once for each combination, in a time that does not depend on their sizes
//!    ([`super::type_table`]).
//! 3. The scheme of an expression in normal form is kept with it, in its note ([`crate::machine::notes`]). So to find out the type of
//!    `(Cons $x $xs)` takes one look at `$x` and `$xs`.
//! 4. Nothing is known here where an atom has several types, a type holds `%Undefined%` or a metatype, or types of whole
//!    expressions are declared: the specification is followed there, step by step ([`crate::types`]).
//! 5. Evaluation by a function type with variables goes by the schemes of the arguments as they stand. If a type is still open
//!    then, for more than one that is to be evaluated, what they come to must agree as well ([`crate::machine::typed`]).

use super::Types;
use super::indexed::IndexedTypes;
use super::instances::Instance;
use super::kept_types::Application;
use super::type_graph::{self, Graph};
use super::type_table::{Scheme, TypeTable};
use crate::machine::code::TypeId;
use crate::machine::notes::{NotedTypes, Notes};
use crate::machine::words::is_lasting;
use crate::names;
use crate::types;
use region::Ref;
use rustc_hash::FxHashMap;
use space::{Atom, Bindings, VariableSource, make_fresh};

/// What is kept of types.
pub(super) struct Schemes {
    pub(super) table: TypeTable,
    pub(super) noted: NotedTypes,
    pub(super) number: Scheme,
    pub(super) indexed: IndexedTypes,
    /// What the only function types of heads declare of results, where that has no variable.
    pub(super) declared: FxHashMap<Ref, Option<TypeId>>,
    /// Of leaves and terms, and of types that evaluation expects.
    pub(super) known: FxHashMap<Ref, Option<Scheme>>,
    by_type: Vec<Option<Option<Scheme>>>,
    agreeing: FxHashMap<(Scheme, TypeId, bool), bool>,
    applied: FxHashMap<Application, Option<Applied>>,
    pub(super) instances: FxHashMap<(Application, TypeId), Option<Instance>>,
}

impl Default for Schemes {
    fn default() -> Self {
        let mut table = TypeTable::default();
        let number = table.of_atom(&Atom::symbol(names::NUMBER));
        Self {
            table,
            noted: NotedTypes::default(),
            number,
            indexed: IndexedTypes::default(),
            declared: FxHashMap::default(),
            known: FxHashMap::default(),
            by_type: Vec::new(),
            agreeing: FxHashMap::default(),
            applied: FxHashMap::default(),
            instances: FxHashMap::default(),
        }
    }
}

impl Schemes {
    /// Types have changed; the notes of the rules before them are out of date.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether a note tells exactly this type, if the scheme of the type was asked for before.
    pub(super) fn tells(&self, notes: Notes, note: u16, type_id: TypeId) -> bool {
        let told = self.noted.of(notes, note);
        told.is_some() && self.by_type.get(usize::from(type_id)) == Some(&Some(told))
    }
}

/// What the function type of a head makes of that: the scheme of the whole, if it has one.
pub(super) type Applied = Option<Scheme>;

impl Types {
    /// Whether what has a scheme may stand where a type is expected; kept until types change.
    pub(super) fn scheme_agrees_with(
        &mut self,
        scheme: Scheme,
        type_id: TypeId,
        is_deep: bool,
        variables: &mut VariableSource,
    ) -> bool {
        if !scheme.is_known() || type_id == 0 || self.scheme_of_type(type_id) == Some(scheme) {
            return true;
        }
        if let Some(&known) = self.schemes.agreeing.get(&(scheme, type_id, is_deep)) {
            return known;
        }
        let (actual, expected) = (self.atom_of_scheme(scheme, variables), self.ids.renamed(type_id, variables));
        let agree = if is_deep { types::agree_deeply } else { types::agree };
        let agrees = !agree(&actual, &expected, &Bindings::default(), variables).is_empty();
        self.schemes.agreeing.insert((scheme, type_id, is_deep), agrees);
        agrees
    }

    /// What the function type of a head makes of arguments with these schemes, if it applies in one way.
    pub(super) fn applied_to(
        &mut self,
        head: Ref,
        function: &Atom,
        arguments: &[Scheme],
        variables: &mut VariableSource,
    ) -> Option<Applied> {
        let asked = Application::new(head, arguments);
        if let Some(&applied) = self.schemes.applied.get(&asked).filter(|_| is_lasting(head)) {
            return applied;
        }
        let applied = match self.applied_in_graph(function, arguments, Scheme::UNKNOWN) {
            Unified::Destination(scheme) => Some(scheme),
            Unified::Not => None,
            Unified::Unknown => self.bindings_of(function, arguments, variables).map(|bindings| {
                let (_, result) = types::function_parts(function);
                self.intern_scheme(&bindings.resolve(result))
            }),
        };
        self.schemes.applied.insert(asked, applied);
        applied
    }

    /// A scheme as a type, its variables renamed apart.
    pub(super) fn atom_of_scheme(&self, scheme: Scheme, variables: &mut VariableSource) -> Atom {
        let found = self.schemes.table.atom(scheme);
        if found.is_ground() { found } else { make_fresh(&found, &[], variables) }
    }

    /// A type as a scheme, if it can be one.
    pub(super) fn scheme_of_type(&mut self, type_id: TypeId) -> Option<Scheme> {
        let place = usize::from(type_id);
        if let Some(&Some(known)) = self.schemes.by_type.get(place) {
            return known;
        }
        let found = self.ids.atom(type_id).clone();
        let scheme = self.intern_scheme(&found);
        let by_type = &mut self.schemes.by_type;
        by_type.resize(by_type.len().max(place + 1), None);
        by_type[place] = Some(scheme);
        scheme
    }

    /// The scheme that a type is.
    pub(super) fn intern_scheme(&mut self, found: &Atom) -> Option<Scheme> {
        if found.is_symbol(names::UNDEFINED) {
            return Some(Scheme::UNKNOWN);
        }
        if types::says_how(found) { None } else { Some(self.schemes.table.of_atom(found)) }
    }

    /// What a function type makes of arguments with these schemes, by a graph of types, if it agrees with what is expected. Unknown if
    /// types inside say how arguments are taken.
    fn applied_in_graph(&mut self, function: &Atom, arguments: &[Scheme], expected: Scheme) -> Unified {
        let (formals, result) = types::function_parts(function);
        let (mut graph, mut variables) = (Graph::default(), type_graph::Instance::default());
        let table = &mut self.schemes.table;
        for (formal, &argument) in formals.iter().zip(arguments) {
            if formal.is_symbol(names::ATOM) || formal.is_symbol(names::UNDEFINED) {
                continue;
            }
            let Some(formal) = graph.instance(formal, &mut variables) else { return Unified::Unknown };
            if argument.is_known() {
                let actual = graph.import(argument, table);
                if !graph.unify(formal, actual, table) {
                    return Unified::Not;
                }
            }
        }
        if result.is_symbol(names::UNDEFINED) {
            return Unified::Destination(Some(Scheme::UNKNOWN));
        }
        let Some(result) = graph.instance(result, &mut variables) else { return Unified::Unknown };
        let scheme = graph.scheme_of(result, table);
        if expected.is_known() {
            let expected = graph.import(expected, table);
            if !graph.unify(result, expected, table) {
                return Unified::Not;
            }
        }
        Unified::Destination(Some(scheme))
    }

    /// The scheme of a call by a function type that does not say how arguments are taken, if those with these schemes agree with
    /// it, and what is expected of the result does.
    pub(super) fn result_of_schemes(
        &mut self,
        function: &Atom,
        arguments: &[Scheme],
        expected: Scheme,
    ) -> Option<Scheme> {
        match self.applied_in_graph(function, arguments, expected) {
            Unified::Destination(scheme) => scheme,
            Unified::Not | Unified::Unknown => None,
        }
    }
}

/// What came of unifying types.
enum Unified {
    Destination(Applied),
    Not,
    /// It takes more than unification.
    Unknown,
}
