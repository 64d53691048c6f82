//! Bindings: what unification has found out about variables.
//!
//! A triangular substitution: a value may mention variables that are bound in turn. Of two variables made equal,
//! the younger is bound to the older, so that the name the caller wrote survives.

use crate::atom::{Atom, Solution, Variable};
use crate::rewrite::{replaced_unless, variables};
use rustc_hash::FxHashMap;

/// From this many bindings on, a hash index finds them.
const LINEAR_MAX: usize = 12;

/// A set of bindings of variables to atoms.
#[derive(Clone, Default, Debug)]
pub struct Bindings {
    entries: Vec<(Variable, Atom)>,
    index: FxHashMap<Variable, usize>,
}

impl FromIterator<(Variable, Atom)> for Bindings {
    /// Bindings of different variables.
    fn from_iter<T: IntoIterator<Item = (Variable, Atom)>>(found: T) -> Self {
        let mut bindings = Self::default();
        found.into_iter().for_each(|(variable, value)| bindings.bind(variable, value));
        bindings
    }
}

impl Bindings {
    /// Whether nothing is bound.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What a variable is bound to directly.
    pub fn get(&self, variable: &Variable) -> Option<&Atom> {
        if self.index.is_empty() {
            return self.entries.iter().find(|(bound, _)| bound == variable).map(|(_, value)| value);
        }
        self.index.get(variable).map(|&position| &self.entries[position].1)
    }

    /// Binds a variable that is not bound yet.
    pub fn bind(&mut self, variable: Variable, value: Atom) {
        debug_assert!(self.get(&variable).is_none(), "a variable is bound once");
        if !self.index.is_empty() {
            self.index.insert(variable.clone(), self.entries.len());
        }
        self.entries.push((variable, value));
        if self.index.is_empty() && self.entries.len() > LINEAR_MAX {
            let positions = self.entries.iter().enumerate();
            self.index = positions.map(|(position, (variable, _))| (variable.clone(), position)).collect();
        }
    }

    /// Adds bindings of other variables.
    pub(crate) fn extend(&mut self, other: Self) {
        for (variable, value) in other.entries {
            self.bind(variable, value);
        }
    }

    /// Follows bindings of variables to variables: the last variable of the chain, or the value at its end.
    pub fn walk<'a>(&'a self, mut atom: &'a Atom) -> &'a Atom {
        while let Atom::Variable(variable) = atom {
            match self.get(variable) {
                Some(value) => atom = value,
                None => break,
            }
        }
        atom
    }

    /// The atom with every bound variable replaced, as far as it goes. The bindings must be free of loops.
    pub fn resolve(&self, atom: &Atom) -> Atom {
        self.resolve_unless(atom, &|| false).expect("nobody gives up")
    }

    /// The atom with every bound variable replaced, as far as it goes; `None` if the caller has given up. An atom doubles with each
    /// variable that occurs twice in the value of the one before, so a few dozen bindings may make more than any memory holds.
    pub fn resolve_unless(&self, atom: &Atom, should_stop: &dyn Fn() -> bool) -> Option<Atom> {
        if self.is_empty() {
            return Some(atom.clone());
        }
        replaced_unless(atom, |variable| self.get(variable), should_stop)
    }

    /// Whether a variable occurs in its own value, through any number of others.
    pub fn has_loop(&self) -> bool {
        let mut state: FxHashMap<&Variable, bool> = FxHashMap::default();
        self.entries.iter().any(|(variable, _)| self.reaches_itself(variable, &mut state))
    }

    /// Depth-first search; a variable is `true` while on the path and `false` when done.
    fn reaches_itself<'a>(&'a self, start: &'a Variable, state: &mut FxHashMap<&'a Variable, bool>) -> bool {
        if state.contains_key(start) {
            return false;
        }
        let mut path: Vec<(&Variable, Vec<Variable>)> = vec![(start, self.mentioned(start))];
        state.insert(start, true);
        while let Some((variable, pending)) = path.last_mut() {
            let Some(next) = pending.pop() else {
                state.insert(variable, false);
                path.pop();
                continue;
            };
            let Some((next, _)) = self.entry(&next) else { continue };
            match state.get(next) {
                Some(true) => return true,
                Some(false) => {}
                None => {
                    state.insert(next, true);
                    path.push((next, self.mentioned(next)));
                }
            }
        }
        false
    }

    fn entry(&self, variable: &Variable) -> Option<&(Variable, Atom)> {
        if self.index.is_empty() {
            return self.entries.iter().find(|(bound, _)| bound == variable);
        }
        self.index.get(variable).map(|&position| &self.entries[position])
    }

    fn mentioned(&self, variable: &Variable) -> Vec<Variable> {
        self.get(variable).map(variables).unwrap_or_default()
    }

    /// The values these bindings give to some variables, resolved; variables they say nothing of are left out.
    pub fn solution_for(&self, wanted: &[Variable]) -> Solution {
        self.solution_unless(wanted, &|| false).expect("nobody gives up")
    }

    /// The values these bindings give to some variables, resolved; `None` if the caller has given up.
    pub fn solution_unless(&self, wanted: &[Variable], should_stop: &dyn Fn() -> bool) -> Option<Solution> {
        let mut solution = Solution::with_capacity(wanted.len().min(self.entries.len()));
        for variable in wanted {
            if let Some(value) = self.get(variable) {
                solution.push((variable.clone(), self.resolve_unless(value, should_stop)?));
            }
        }
        Some(solution)
    }

    /// The values of some variables and of those that a matcher has named, which are all that nothing has renamed; `None` if the caller
    /// has given up.
    pub(crate) fn solution_with_names(&self, wanted: &[Variable], should_stop: &dyn Fn() -> bool) -> Option<Solution> {
        let mut solution = self.solution_unless(wanted, should_stop)?;
        let is_named = |(variable, _): &&(Variable, Atom)| variable.id() == 0 && !wanted.contains(variable);
        for (variable, value) in self.entries.iter().filter(is_named) {
            solution.push((variable.clone(), self.resolve_unless(value, should_stop)?));
        }
        Some(solution)
    }

    /// These bindings and more of them, for variables that are not bound yet.
    pub(crate) fn with(&self, more: Solution) -> Self {
        let mut entries = Vec::with_capacity(self.entries.len() + more.len());
        entries.extend_from_slice(&self.entries);
        let mut extended = Self { entries, index: self.index.clone() };
        more.into_iter().for_each(|(variable, value)| extended.bind(variable, value));
        extended
    }
}
