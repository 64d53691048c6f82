//! Function types with what is known of their variables put in: how calls by them are evaluated.

use super::Types;
use super::kept_types::Application;
use super::signatures::{Formal, Signature};
use super::type_ids::TypeIds;
use super::type_table::Scheme;
use crate::machine::code::TypeId;
use crate::machine::words::is_lasting;
use crate::names;
use crate::types;
use region::Ref;
use space::{Atom, Bindings, Rewrite, Variable, VariableSource, rewrite};
use std::rc::Rc;

/// A function type with what is known of its variables put in.
#[derive(Clone)]
pub(super) struct Instance {
    pub(super) signature: Signature,
    /// The arguments whose types still hold variables, a bit for each.
    pub(super) open: u32,
}

impl Types {
    /// What the variables of a function type are for arguments with these schemes, if they agree in one way.
    pub(super) fn bindings_of(
        &self,
        function: &Atom,
        arguments: &[Scheme],
        variables: &mut VariableSource,
    ) -> Option<Bindings> {
        let (formals, _) = types::function_parts(function);
        let mut bindings = Bindings::default();
        for (formal, &argument) in formals.iter().zip(arguments) {
            if formal.is_symbol(names::ATOM) {
                continue;
            }
            if names::is_metatype(formal) {
                return None;
            }
            if argument.is_known() && !formal.is_symbol(names::UNDEFINED) {
                let actual = self.atom_of_scheme(argument, variables);
                bindings = only(types::agree(&actual, formal, &bindings, variables))?;
            }
        }
        Some(bindings)
    }

    /// How a call by a function type is evaluated, for arguments with these schemes and a type that is expected.
    pub(super) fn instance_for(
        &mut self,
        head: Ref,
        function: &Atom,
        arguments: &[Scheme],
        expected: TypeId,
        variables: &mut VariableSource,
    ) -> Option<Instance> {
        let asked = (Application::new(head, arguments), expected);
        if let Some(known) = self.schemes.instances.get(&asked).filter(|_| is_lasting(head)) {
            return known.clone();
        }
        let (_, result) = types::function_parts(function);
        let bindings = self.bindings_of(function, arguments, variables).and_then(|bindings| {
            if expected == 0 {
                return Some(bindings);
            }
            let expected = self.ids.renamed(expected, variables);
            only(types::agree(result, &expected, &bindings, variables))
        });
        let instance = bindings.and_then(|bindings| self.ids.instance(function, &bindings));
        self.schemes.instances.insert(asked, instance.clone());
        instance
    }
}

impl TypeIds {
    /// How a call by a function type is evaluated, given what its variables are.
    fn instance(&mut self, function: &Atom, bindings: &Bindings) -> Option<Instance> {
        let known = Atom::Expression(types::instantiated(function, bindings));
        let (formals, result) = types::function_parts(&known);
        let mut open = 0;
        let mut found = Vec::with_capacity(formals.len());
        for (place, formal) in formals.iter().enumerate() {
            found.push(match formal {
                formal if formal.is_symbol(names::ATOM) => Formal::Raw,
                formal if names::is_metatype(formal) => return None,
                formal => Formal::Typed(self.intern_type(formal)?),
            });
            open |= u32::from(!formal.is_ground()) << place;
        }
        let is_left_to_others = names::is_metatype(result) && !result.is_symbol(names::ATOM);
        let result = if is_left_to_others { return None } else { self.intern_type(result)? };
        Some(Instance { signature: Signature { formals: Rc::from(found), result: Some(result) }, open })
    }

    /// A type of the table of types, its variables named in the order in which they are met. A variable alone says nothing.
    pub(in crate::machine) fn intern_type(&mut self, found: &Atom) -> Option<TypeId> {
        match found {
            Atom::Variable(_) => Some(0),
            ground if ground.is_ground() => self.id(ground),
            open => self.id(&with_ordered_variables(open)),
        }
    }
}

/// The only one of some ways to agree.
fn only(mut found: Vec<Bindings>) -> Option<Bindings> {
    let last = found.pop();
    if found.is_empty() { last } else { None }
}

/// A type with its variables numbered in the order in which they are met.
fn with_ordered_variables(found: &Atom) -> Atom {
    let mut met: Vec<Variable> = Vec::new();
    let renamed = rewrite(found, |variable| {
        let place = met.iter().position(|known| known == variable).unwrap_or_else(|| {
            met.push(variable.clone());
            met.len() - 1
        });
        Rewrite::Replace(Atom::Variable(Variable::with_id(variable.name().clone(), place as u64 + 1)))
    });
    renamed.unwrap_or_else(|| found.clone())
}
