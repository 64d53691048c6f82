//! Answers the queries that unification set aside: a space inside an atom stands for a query of that space.
//!
//! The answer to such a query may set further ones aside, through any number of spaces that hold each other. They are
//! answered depth first, with an explicit stack: solutions come in insertion order, those of the first query first.
//!
//! A query met inside the search for its own answer adds nothing to that answer, so it is dropped; without that,
//! spaces that hold each other would be searched for ever.

use crate::atom::{Atom, Solution, VariableSource, alpha_equivalent};
use crate::bindings::Bindings;
use crate::query::conjunction;
use crate::space_handle::SharedSpace;
use crate::stored::Match;
use crate::unify::{Deferred, Unifier};

/// Spaces stored in spaces are searched this deep; what lies deeper does not match.
const SPACES_NESTED_MAX: usize = 10_000;

/// A query to be answered, and the one (by its place in the list of all) whose answer depends on it.
#[derive(Clone)]
struct Goal {
    space: SharedSpace,
    pattern: Atom,
    inside: Option<usize>,
}

/// One way to a solution: what is bound so far, and what is still to be answered, the next one last.
#[derive(Clone)]
struct Branch {
    bindings: Bindings,
    goals: Vec<Goal>,
    copies: usize,
}

#[derive(Default)]
struct SolutionSearch {
    asked: Vec<Goal>,
    branches: Vec<Branch>,
    found: Vec<Bindings>,
}

/// All the ways in which bindings are completed by answers to the queries set aside. `root` is the query whose
/// answer needs them.
pub(crate) fn solve(
    bindings: Bindings,
    deferred: Deferred,
    root: Option<(&SharedSpace, &Atom)>,
    source: &mut VariableSource,
) -> Vec<Bindings> {
    if deferred.is_empty() {
        return vec![bindings];
    }
    let mut search = SolutionSearch::default();
    let root = root.map(|(space, pattern)| {
        search.asked.push(Goal { space: space.clone(), pattern: pattern.clone(), inside: None });
        0
    });
    search.branches.push(Branch { bindings, goals: goals(deferred, root).collect(), copies: 1 });
    while let Some(branch) = search.branches.pop() {
        search.advance(branch, source);
    }
    search.found
}

impl Unifier<'_> {
    /// All the ways in which what was unified so far can be completed: the queries set aside are asked, and
    /// bindings with a loop are dropped.
    pub fn finish(self) -> Vec<Bindings> {
        self.into_parts().map_or_else(Vec::new, |(bindings, deferred, source)| solve(bindings, deferred, None, source))
    }
}

/// All the ways in which what matched is completed, each as often as there are copies.
pub(crate) fn complete(
    matches: Vec<Match>,
    root: Option<(&SharedSpace, &Atom)>,
    source: &mut VariableSource,
) -> Vec<Bindings> {
    let mut found = Vec::with_capacity(matches.len());
    for matched in matches {
        for bindings in solve(matched.bindings, matched.deferred, root, source) {
            found.extend(std::iter::repeat_n(bindings, matched.copies as usize));
        }
    }
    found
}

/// Queries set aside, the first one last.
fn goals(deferred: Deferred, inside: Option<usize>) -> impl Iterator<Item = Goal> {
    deferred.into_iter().rev().map(move |(space, pattern)| Goal { space, pattern, inside })
}

impl Branch {
    /// The branch after a value has said in which way it matches; `None` if that cannot be.
    fn with_way(&self, way: &Solution, inside: Option<usize>, source: &mut VariableSource) -> Option<Self> {
        let mut unifier = Unifier::under(self.bindings.clone(), source);
        if !way.iter().all(|(variable, value)| unifier.unify(&variable.clone().into(), value)) {
            return None;
        }
        let (bindings, deferred, _) = unifier.into_parts()?;
        let goals = self.goals.iter().cloned().chain(goals(deferred, inside)).collect();
        Some(Self { bindings, goals, copies: self.copies })
    }
}

impl SolutionSearch {
    fn advance(&mut self, mut branch: Branch, source: &mut VariableSource) {
        let Some(Goal { space, pattern, inside }) = branch.goals.pop() else {
            return self.found.extend(std::iter::repeat_n(branch.bindings, branch.copies));
        };
        let pattern = branch.bindings.resolve(&pattern);
        if let Some(matcher) = space.matcher() {
            let ways = matcher.matches(&pattern).into_iter().rev();
            let further = ways.filter_map(|way| branch.with_way(&way, inside, source));
            return self.branches.extend(further);
        }
        if let Some(patterns) = conjunction(&pattern) {
            let all = patterns.iter().map(|pattern| (space.clone(), pattern.clone())).collect();
            branch.goals.extend(goals(all, inside));
            return self.branches.push(branch);
        }
        let goal = Goal { space, pattern, inside };
        if self.is_pointless(&goal) {
            return;
        }
        let place = self.asked.len();
        for matched in goal.space.matches(&goal.pattern, source).into_iter().rev() {
            let mut next = branch.clone();
            next.bindings.extend(matched.bindings);
            next.goals.extend(goals(matched.deferred, Some(place)));
            next.copies *= matched.copies as usize;
            self.branches.push(next);
        }
        self.asked.push(goal);
    }

    /// Whether a query occurs inside itself, or too deep.
    fn is_pointless(&self, goal: &Goal) -> bool {
        let around = std::iter::successors(goal.inside, |&place| self.asked[place].inside);
        let mut depth = 0;
        for place in around {
            depth += 1;
            let asked = &self.asked[place];
            if asked.space.is_same(&goal.space) && alpha_equivalent(&asked.pattern, &goal.pattern) {
                return true;
            }
        }
        depth >= SPACES_NESTED_MAX
    }
}
