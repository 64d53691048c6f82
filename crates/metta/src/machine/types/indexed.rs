//! Types whose parameters differ from level to level of the data, such as the length of a vector.
//!
//! 1. A constructor *changes* a parameter if the type of one argument has a variable there that is in the type of no other, and the type of
//!    the whole has something else: `(-> $t (Vec $t $n) (Vec $t (S $n)))` changes the second one. Whatever that variable
//!    stands for, the arguments agree. (Types like this are known as indexed families; Dybjer, 1994.)
//! 2. So data of this constructor is noted with what holds at all levels, `(Vec Number (S $n))`: one note for vectors of all lengths, which
//!    is found out once. The whole type is found out by [`super::schemes`] if something asks for it.
//! 3. An argument of which only this much is known is of a type that agrees if it does whatever stands in place of the variables.
//!    Only a *yes* is certain.

use super::Types;
use super::kept_types::{ARITY_MAX, Application};
use super::type_graph::{Graph, Instance};
use super::type_table::Scheme;
use crate::machine::code::TypeId;
use crate::machine::notes::Told;
use crate::machine::words::is_lasting;
use crate::types;
use region::Ref;
use rustc_hash::FxHashMap;
use space::{Atom, Variable, variables};
use std::rc::Rc;

/// A parameter that a constructor changes: which argument has it, where in the type of that, and as which variable.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Changed {
    pub(in crate::machine) argument: usize,
    pub(in crate::machine) parameter: usize,
    variable: Variable,
}

/// What is kept of such types.
#[derive(Default)]
pub(super) struct IndexedTypes {
    changed: FxHashMap<Ref, Rc<[Changed]>>,
    /// What is made of arguments; a bit for each that is known partly.
    pub(super) applied: FxHashMap<(Application, u8), Option<Scheme>>,
    agreeing: FxHashMap<(Scheme, TypeId), bool>,
}

impl Types {
    /// The parameters that a head with this type changes.
    pub(in crate::machine) fn changed_parameters(&mut self, head: Ref, function: &Atom) -> Rc<[Changed]> {
        if let Some(known) = self.schemes.indexed.changed.get(&head) {
            return Rc::clone(known);
        }
        let changed: Rc<[Changed]> = changed_by(function).into();
        if is_lasting(head) {
            self.schemes.indexed.changed.insert(head, Rc::clone(&changed));
        }
        changed
    }

    /// What is known of the type of what will be evaluated to a type.
    pub(super) fn told_of_type(&mut self, type_id: TypeId) -> Option<Told> {
        let scheme = self.scheme_of_type(type_id)?;
        Some(if self.schemes.table.is_ground(scheme) { Told::Whole(scheme) } else { Told::Partly(scheme) })
    }

    /// What a function type makes of arguments, but for what it changes; of some of them the types are known partly.
    pub(super) fn apply_partly(
        &mut self,
        function: &Atom,
        changed: &[Changed],
        arguments: &[Scheme],
        partly: u8,
    ) -> Option<Scheme> {
        let (formals, result) = types::function_parts(function);
        let (mut graph, mut instance) = (Graph::default(), Instance::default());
        let table = &mut self.schemes.table;
        for (place, (formal, &argument)) in formals.iter().zip(arguments).enumerate() {
            let formal = graph.instance(formal, &mut instance)?;
            let actual = match partly >> place & 1 {
                _ if !argument.is_known() => continue,
                1 => graph.import_frozen(argument, table),
                _ => graph.import(argument, table),
            };
            if !graph.unify(formal, actual, table) {
                return None;
            }
        }
        for changed in changed {
            instance.remove(&changed.variable);
        }
        let result = graph.instance(result, &mut instance)?;
        Some(graph.scheme_of(result, table))
    }

    /// Whether all that a type with variables may be agrees with an expected type, for certain; kept until types change.
    pub(super) fn each_agrees_with(&mut self, scheme: Scheme, type_id: TypeId) -> bool {
        if type_id == 0 {
            return true;
        }
        if let Some(&known) = self.schemes.indexed.agreeing.get(&(scheme, type_id)) {
            return known;
        }
        let expected = self.ids.atom(type_id);
        let mut graph = Graph::default();
        let agrees = graph.instance(expected, &mut Instance::default()).is_some_and(|expected| {
            let table = &self.schemes.table;
            let actual = graph.import_frozen(scheme, table);
            graph.unify(expected, actual, table)
        });
        self.schemes.indexed.agreeing.insert((scheme, type_id), agrees);
        agrees
    }
}

/// The parameters that a function type changes, if it says nothing of how arguments are taken.
fn changed_by(function: &Atom) -> Vec<Changed> {
    let (formals, result) = types::function_parts(function);
    let Some([made, makes @ ..]) = result.children() else { return Vec::new() };
    if types::says_how(function) || formals.len() > ARITY_MAX {
        return Vec::new();
    }
    let mut changed = Vec::new();
    for (argument, formal) in formals.iter().enumerate() {
        let Some([taken, takes @ ..]) = formal.children() else { continue };
        if taken != made || takes.len() != makes.len() {
            continue;
        }
        for (parameter, (takes, makes)) in takes.iter().zip(makes).enumerate() {
            if let Atom::Variable(variable) = takes
                && takes != makes
                && formals.iter().filter(|formal| variables(formal).contains(variable)).count() == 1
            {
                changed.push(Changed { argument, parameter, variable: variable.clone() });
            }
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::super::type_table::parse;
    use super::*;

    #[test]
    fn a_changed_parameter_is_that_of_one_argument() {
        let places = |text: &str| -> Vec<(usize, usize)> {
            changed_by(&parse(text)).iter().map(|changed| (changed.argument, changed.parameter)).collect()
        };
        assert_eq!(places("(-> $t (Vec $t $n) (Vec $t (S $n)))"), [(1, 1)]);
        assert_eq!(places("(-> (Vec $t $n) (Vec $t $m) (Vec $t (Plus $n $m)))"), [(0, 1), (1, 1)]);
        assert_eq!(places("(-> (Vec $t $n) (Vec $t $n) (Vec $t (Plus $n $n)))"), []);
        assert_eq!(places("(-> $a (List $a) (List $a))"), []);
        assert_eq!(places("(-> (List $a) (Box $a))"), []);
        assert_eq!(places("(-> (Vec Atom $n) (Vec Atom (S $n)))"), []);
    }
}
