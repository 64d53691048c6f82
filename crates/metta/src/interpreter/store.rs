//! The store: what the alternative being evaluated has bound.
//!
//! Bindings are made along one path of the evaluation and undone when it is left: the trail lists them in the order
//! in which they were made. A binding that nothing can reach any more is forgotten from time to time.

use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, Solution, Variable, replaced_unless, variables};

/// From this many bindings on, unreachable ones are looked for.
const COLLECT_FROM: usize = 4096;

#[derive(Default)]
pub(super) struct Store {
    values: FxHashMap<Variable, Atom>,
    trail: Vec<Variable>,
    /// How many bindings there may be before the next collection.
    crowd: usize,
}

impl Store {
    /// Where the trail stands now.
    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Binds the variables of a solution; none of them is bound yet.
    pub(super) fn bind_all(&mut self, solution: Solution) {
        for (variable, value) in solution {
            self.trail.push(variable.clone());
            self.values.insert(variable, value);
        }
    }

    /// Forgets what was bound since a mark.
    pub(super) fn undo_to(&mut self, mark: usize) {
        for variable in self.trail.drain(mark..) {
            self.values.remove(&variable);
        }
    }

    /// The atom with every bound variable replaced; `None` if the caller has given up.
    pub(super) fn resolve(&self, atom: &Atom, should_stop: &dyn Fn() -> bool) -> Option<Atom> {
        if self.values.is_empty() {
            return Some(atom.clone());
        }
        replaced_unless(atom, |variable| self.values.get(variable), should_stop)
    }

    /// What was bound since a mark to variables not younger than `last_visible`, resolved; `None` if the caller has given up.
    pub(super) fn since(&self, mark: usize, last_visible: u64, should_stop: &dyn Fn() -> bool) -> Option<Solution> {
        let visible = self.trail[mark..].iter().filter(|variable| variable.id() <= last_visible);
        let value = |variable: &Variable| self.resolve(&self.values[variable], should_stop);
        visible.map(|variable| Some((variable.clone(), value(variable)?))).collect()
    }

    /// Whether it is time to look for unreachable bindings.
    pub(super) fn is_crowded(&self) -> bool {
        self.values.len() > self.crowd.max(COLLECT_FROM)
    }

    /// Forgets the bindings that cannot be reached from these variables, and shortens the trail accordingly.
    /// `marks` are positions in the trail, in ascending order; they are moved along. `looked_at` is how much was
    /// looked at to find the roots: the next collection waits until as much can be found again.
    pub(super) fn collect(&mut self, roots: Vec<Variable>, marks: &mut [&mut usize], looked_at: usize) {
        let reachable = self.reachable(roots);
        self.values.retain(|variable, _| reachable.contains(variable));
        let old = std::mem::take(&mut self.trail);
        let mut marks = marks.iter_mut().peekable();
        for (position, variable) in old.into_iter().enumerate() {
            while let Some(mark) = marks.next_if(|mark| ***mark == position) {
                **mark = self.trail.len();
            }
            if reachable.contains(&variable) {
                self.trail.push(variable);
            }
        }
        for mark in marks {
            **mark = self.trail.len();
        }
        self.crowd = 2 * self.values.len() + looked_at;
    }

    fn reachable(&self, roots: Vec<Variable>) -> FxHashSet<Variable> {
        let mut reachable = FxHashSet::default();
        let mut work = roots;
        while let Some(variable) = work.pop() {
            if let Some(value) = self.values.get(&variable)
                && reachable.insert(variable)
            {
                work.extend(variables(value));
            }
        }
        reachable
    }
}
