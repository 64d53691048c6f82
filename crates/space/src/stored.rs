//! An atom as a discrimination tree stores it, and an atom of a space that matched a query.

use crate::atom::{Atom, Symbol, Variable, VariableSource};
use crate::bindings::Bindings;
use crate::canonical;
use crate::rewrite::{Rewrite, instantiate, rewrite, unmarked};
use crate::unify::Deferred;
use rustc_hash::FxHashMap;

/// An atom with its variables numbered in the order of their first occurrence.
#[derive(Clone)]
pub struct Stored {
    pub(crate) atom: Atom,
    pub(crate) names: Vec<Symbol>,
}

impl Stored {
    /// Numbers the variables of an atom, and takes away the evaluator's marks: what is looked up later is evaluated then.
    pub fn new(atom: &Atom) -> Self {
        let atom = &unmarked(atom);
        let mut slots: FxHashMap<Variable, u64> = FxHashMap::default();
        let mut names = Vec::new();
        let numbered = rewrite(atom, |variable| {
            let slot = *slots.entry(variable.clone()).or_insert_with(|| {
                names.push(variable.name().clone());
                names.len() as u64 - 1
            });
            Rewrite::Replace(Atom::Variable(Variable::with_id(variable.name().clone(), slot)))
        });
        Self { atom: numbered.unwrap_or_else(|| atom.clone()), names }
    }

    /// Whether both are one atom up to the names of variables, kinds of numbers kept apart.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.names.len() == other.names.len() && canonical::same_form(&self.atom, &other.atom)
    }

    /// The atom with fresh variables.
    pub(crate) fn fresh(&self, source: &mut VariableSource) -> Atom {
        instantiate(&self.atom, &mut vec![None; self.names.len()], source)
    }
}

/// One atom of a space that matched a query.
pub struct Match {
    /// What the match bound.
    pub bindings: Bindings,
    /// How many copies of the atom there are: as many solutions.
    pub copies: u32,
    /// Queries of other spaces that must have an answer too.
    pub(crate) deferred: Deferred,
    pub(crate) number: u64,
}
