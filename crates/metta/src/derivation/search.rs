//! The search for derivations, the shortest first.

use super::goals::{Alternatives, Goal, alternatives, alternatives_of_test};
use super::tree::{Derivation, DerivationNode, Ground, ROOT, trees};
use crate::names;
use rustc_hash::FxHashMap;
use space::{
    Atom, Bindings, Candidate, SharedSpace, Unifier, Variable, VariableSource, canonical, conjunction, instantiate,
    variables,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// After how many states the search gives up, unless set otherwise.
pub const STATES_MAX_DEFAULT: usize = 100_000;

/// Derivations of more rules, facts and tests are not looked for.
const NODES_MAX: usize = 256;

/// How many of the nearest misses are kept.
const MISSES_MAX: usize = 3;

/// What was found.
#[derive(Debug, Default)]
pub struct Derivations {
    /// The derivations, the shortest first.
    pub found: Vec<Derivation>,
    /// If there are none: where the search came nearest.
    pub misses: Vec<NearMiss>,
    /// Whether the search was given up: after as many states as it may look at, or where derivations became too long.
    pub is_given_up: bool,
    /// Forms in the bodies of rules that are not looked into, each once.
    pub not_looked_into: Vec<String>,
}

/// A derivation that lacks something.
#[derive(Clone, Debug, PartialEq)]
pub struct NearMiss {
    /// The rules that lead to it, from the outermost on; none if no rule does.
    pub rules: Vec<Atom>,
    /// What was found on the way.
    pub found: Vec<Atom>,
    /// What is lacking: a fact, a test that fails, or a value that another one should be.
    pub lacking: Atom,
    /// How many goals were left, this one included.
    pub left: usize,
}

#[derive(Clone)]
struct SearchState {
    /// What is left, the next one last.
    goals: Vec<Goal>,
    bindings: Bindings,
    nodes: Vec<DerivationNode>,
}

struct Search<'a> {
    space: &'a SharedSpace,
    source: &'a mut VariableSource,
    states: Vec<Option<SearchState>>,
    /// The states to take up: by how many nodes they have, then by when they were met.
    queue: BinaryHeap<Reverse<(usize, usize)>>,
    /// How often a state with these goals was taken up.
    seen: FxHashMap<Vec<u8>, usize>,
    misses: Vec<(usize, usize, NearMiss)>,
    outcome: Derivations,
}

/// The shortest derivations of a goal, at most `most`: of a stored atom, of a conjunction `(, ATOM …)` of such, or of `(= CALL RESULT)`;
/// each may have variables. `space` is where rules and facts are, with its imports.
pub fn derivations(
    goal: &Atom,
    most: usize,
    states_max: usize,
    space: &SharedSpace,
    source: &mut VariableSource,
) -> Derivations {
    let state = beginning(goal);
    let (states, queue, seen, misses, outcome) = Default::default();
    let mut search = Search { space, source, states, queue, seen, misses, outcome };
    search.put(state);
    search.run(goal, most, states_max);
    let Search { mut outcome, mut misses, .. } = search;
    misses.sort_by_key(|(left, nodes, _)| (*left, *nodes));
    if outcome.found.is_empty() {
        outcome.misses = misses.into_iter().map(|(_, _, miss)| miss).take(MISSES_MAX).collect();
    }
    outcome
}

/// What a search begins with.
fn beginning(goal: &Atom) -> SearchState {
    let (mut goals, mut nodes) = (Vec::new(), Vec::new());
    match (goal.children(), conjunction(goal)) {
        (_, Some(patterns)) => {
            nodes.push(DerivationNode { parent: ROOT, conclusion: goal.clone(), ground: Ground::Conjunction });
            // The next one is the last.
            goals.extend(patterns.iter().rev().map(|pattern| Goal::Fact { pattern: pattern.clone(), parent: 0 }));
        }
        (Some([head, call, result]), None) if head.is_symbol(names::EQUAL) => {
            goals.push(Goal::Value { expression: call.clone(), result: result.clone(), parent: ROOT });
        }
        _ => goals.push(Goal::Fact { pattern: goal.clone(), parent: ROOT }),
    }
    SearchState { goals, bindings: Bindings::default(), nodes }
}

impl Search<'_> {
    fn run(&mut self, goal: &Atom, most: usize, states_max: usize) {
        while let Some(Reverse((_, place))) = self.queue.pop() {
            let Some(mut state) = self.states[place].take() else { continue };
            let Some(next) = state.goals.pop() else {
                let found = trees(&state.nodes, &state.bindings);
                self.outcome.found.extend(found.into_iter().next());
                if self.outcome.found.len() >= most {
                    return;
                }
                continue;
            };
            if self.states.len() > states_max {
                self.outcome.is_given_up = true;
                return;
            }
            let times = self.seen.entry(identity(&state, &next, goal)).or_default();
            *times += 1;
            if *times <= most {
                self.take(state, next);
            }
        }
    }

    fn put(&mut self, state: SearchState) {
        if state.nodes.len() > NODES_MAX {
            self.outcome.is_given_up = true;
            return;
        }
        self.queue.push(Reverse((state.nodes.len(), self.states.len())));
        self.states.push(Some(state));
    }

    /// Replaces a goal by what it takes.
    fn take(&mut self, state: SearchState, goal: Goal) {
        match goal {
            Goal::Value { expression, result, parent } => {
                let [expression, result] = [expression, result].map(|atom| state.bindings.resolve(&atom));
                let found = alternatives(&expression, &result, parent, (self.space, self.source));
                self.replace(state, found, None);
            }
            Goal::Same { left, right } => {
                let lacking = || Atom::expression([Atom::symbol("=="), left.clone(), right.clone()]);
                match self.unified(&state.bindings, &left, &right) {
                    Some(bindings) => self.put(SearchState { bindings, ..state }),
                    None => self.miss(&state, &lacking()),
                }
            }
            Goal::Test { condition, truth, parent } => {
                let condition = state.bindings.resolve(&condition);
                let found = alternatives_of_test(&condition, truth, parent, (self.space, self.source));
                let is_decided = found.as_ref().is_ok_and(|found| found.iter().all(Vec::is_empty));
                let not = |condition: Atom| Atom::expression([Atom::symbol("not"), condition]);
                let tested = if truth { condition } else { not(condition) };
                self.replace(state, found, is_decided.then_some((tested, parent)));
            }
            Goal::Absence { query, parent } => {
                let query = state.bindings.resolve(&query);
                let conclusion = Atom::expression([Atom::symbol("not"), query.clone()]);
                if self.space.query(&query, self.source).is_empty() {
                    self.put(with_node(state, conclusion, Ground::Test, parent));
                } else {
                    self.miss(&state, &conclusion);
                }
            }
            Goal::Fact { pattern, parent } => self.take_fact(state, &pattern, parent),
            Goal::Call { call, result, parent } => self.take_call(state, (&call, &result), parent),
        }
    }

    /// Goes on with each of some lists of goals; of a test that was decided, a node says so.
    fn replace(&mut self, state: SearchState, found: Result<Alternatives, String>, decided: Option<(Atom, usize)>) {
        match found {
            Ok(found) if found.is_empty() => {
                if let Some((tested, _)) = decided {
                    self.miss(&state, &tested);
                }
            }
            Ok(found) => {
                for goals in found {
                    let mut next = state.clone();
                    if let Some((tested, parent)) = &decided {
                        next = with_node(next, tested.clone(), Ground::Test, *parent);
                    }
                    next.goals.extend(goals.into_iter().rev());
                    self.put(next);
                }
            }
            Err(form) => {
                let seen = &mut self.outcome.not_looked_into;
                if !seen.contains(&form) {
                    seen.push(form);
                }
            }
        }
    }

    fn take_fact(&mut self, state: SearchState, pattern: &Atom, parent: usize) {
        let pattern = state.bindings.resolve(pattern);
        let found = self.space.query(&pattern, self.source);
        if found.is_empty() {
            return self.miss(&state, &pattern);
        }
        for solution in found {
            let mut next = state.clone();
            solution.into_iter().for_each(|(variable, value)| next.bindings.bind(variable, value));
            self.put(with_node(next, pattern.clone(), Ground::Fact, parent));
        }
    }

    fn take_call(&mut self, state: SearchState, (call, result): (&Atom, &Atom), parent: usize) {
        let call = state.bindings.resolve(call);
        let asked = Atom::expression([Atom::symbol(names::EQUAL), call.clone(), Atom::variable("body")]);
        let mut has_rule = false;
        for candidate in self.space.candidates(&asked, usize::MAX).unwrap_or_default() {
            let rule = instantiated(&candidate, self.source);
            let Some([_, head, body]) = rule.children() else { continue };
            let Some(bindings) = self.unified(&state.bindings, &call, head) else { continue };
            has_rule = true;
            let conclusion = Atom::expression([Atom::symbol(names::EQUAL), call.clone(), result.clone()]);
            let ground = Ground::Rule(named(&candidate));
            let mut next = with_node(SearchState { bindings, ..state.clone() }, conclusion, ground, parent);
            let parent = next.nodes.len() - 1;
            next.goals.push(Goal::Value { expression: body.clone(), result: result.clone(), parent });
            self.put(next);
        }
        if has_rule {
            return;
        }
        // It stays as it is: what would make it another result is a rule.
        match self.unified(&state.bindings, &call, result) {
            Some(bindings) => self.put(SearchState { bindings, ..state }),
            None => self.miss(&state, &Atom::expression([Atom::symbol(names::EQUAL), call, result.clone()])),
        }
    }

    fn unified(&mut self, bindings: &Bindings, left: &Atom, right: &Atom) -> Option<Bindings> {
        let mut unifier = Unifier::under(bindings.clone(), self.source);
        if unifier.unify(left, right) { unifier.into_bindings() } else { None }
    }

    /// Notes that a goal failed.
    fn miss(&mut self, state: &SearchState, lacking: &Atom) {
        let rule = |node: &DerivationNode| match &node.ground {
            Ground::Rule(rule) => Some(rule.clone()),
            _ => None,
        };
        let fact =
            |node: &DerivationNode| (node.ground == Ground::Fact).then(|| state.bindings.resolve(&node.conclusion));
        let miss = NearMiss {
            rules: state.nodes.iter().filter_map(rule).collect(),
            found: state.nodes.iter().filter_map(fact).collect(),
            lacking: state.bindings.resolve(lacking),
            left: state.goals.len() + 1,
        };
        let (left, nodes) = (miss.left, state.nodes.len());
        if self.misses.iter().any(|(_, _, known)| known.lacking == miss.lacking && known.rules == miss.rules) {
            return;
        }
        self.misses.push((left, nodes, miss));
        // The nearest are kept.
        if self.misses.len() > 2 * MISSES_MAX {
            self.misses.sort_by_key(|(left, nodes, _)| (*left, *nodes));
            self.misses.truncate(MISSES_MAX);
        }
    }
}

fn with_node(mut state: SearchState, conclusion: Atom, ground: Ground, parent: usize) -> SearchState {
    state.nodes.push(DerivationNode { parent, conclusion, ground });
    state
}

/// What tells a state apart: what is left to do, and what it does to what was asked.
fn identity(state: &SearchState, next: &Goal, asked: &Atom) -> Vec<u8> {
    let mut atoms = vec![state.bindings.resolve(asked)];
    let mut bytes = Vec::new();
    for goal in state.goals.iter().chain([next]) {
        bytes.push(goal.kind());
        atoms.extend(goal.atoms().into_iter().map(|atom| state.bindings.resolve(atom)));
    }
    // Variables are numbered over all of them.
    canonical::key_naming(&Atom::expression(atoms), &mut bytes, |_| {});
    bytes
}

/// A candidate with variables of its own.
fn instantiated(candidate: &Candidate, source: &mut VariableSource) -> Atom {
    instantiate(&candidate.atom, &mut vec![None; candidate.names.len()], source)
}

/// A candidate as it is written.
fn named(candidate: &Candidate) -> Atom {
    let mut atom = candidate.atom.clone();
    for slot in variables(&candidate.atom) {
        let name = candidate.names.get(usize::try_from(slot.id()).unwrap_or(usize::MAX));
        if let Some(name) = name {
            atom = space::substitute(&atom, &slot, &Atom::Variable(Variable::new(name.as_str())));
        }
    }
    atom
}
