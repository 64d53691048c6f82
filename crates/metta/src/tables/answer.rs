//! Answers: what calls have come to.

use crate::datalog::RowAnswers;
use crate::names;
use crate::program::history::PAST_SERIALS;
use rustc_hash::FxHashMap;
use space::{
    Atom, Grounded, Rewrite, Solution, Variable, VariableSource, canonical, distinct_open_parts, distinct_parts,
    rewrite,
};
use std::rc::Rc;

/// A result of a call, and what it has bound: the values of the variables of the call.
#[derive(Clone)]
pub(crate) struct Answer {
    result: Atom,
    values: Box<[Atom]>,
    is_ground: bool,
}

/// The answers of a call.
#[derive(Clone)]
pub(crate) enum Answers {
    /// Those that an evaluation has found, in their order.
    Found(Rc<[Answer]>),
    /// Those that were found over rows.
    Rows(Rc<RowAnswers>),
}

/// How much of the text of a thing of the past tells it apart, in characters.
const PAST_CHARACTERS: usize = 1 << 16;

/// Whether an atom is a space or state as it was once.
pub(super) fn is_past(atom: &Atom) -> bool {
    match atom {
        Atom::Grounded(Grounded::Space(space)) => space.serial() >= PAST_SERIALS,
        Atom::Grounded(Grounded::State(state)) => state.serial() >= PAST_SERIALS,
        _ => false,
    }
}

impl Answer {
    pub(crate) fn new(result: Atom, values: Box<[Atom]>) -> Self {
        let is_ground = result.is_ground() && values.iter().all(Atom::is_ground);
        Self { result, values, is_ground }
    }

    /// Whether it is an error that counts only if there is nothing else.
    pub(super) fn is_needless_error(&self) -> bool {
        self.is_error() && !names::is_never_hidden(&self.result)
    }

    pub(super) fn is_error(&self) -> bool {
        names::is_error(&self.result)
    }

    /// How many leaves and expressions its result has, a shared part counted once.
    pub(crate) fn parts(&self) -> usize {
        match &self.result {
            Atom::Symbol(_) | Atom::Grounded(Grounded::Number(_)) => 1,
            result => distinct_parts(result).count(),
        }
    }

    /// What tells it from other answers: its canonical bytes, and the names of things of the past, whose numbers do not.
    pub(super) fn key(&self) -> Vec<u8> {
        let whole = match &*self.values {
            [] => self.result.clone(),
            values => Atom::expression(values.iter().chain([&self.result]).cloned().collect::<Vec<_>>()),
        };
        let mut key = canonical::key(&whole);
        for part in distinct_open_parts(&whole).filter(|part| is_past(part)) {
            key.extend(space::beginning(part, PAST_CHARACTERS).bytes());
        }
        key
    }

    /// What it binds for a call with these variables, and the result.
    pub(crate) fn given(&self, variables: &[Variable], source: &mut VariableSource) -> (Solution, Atom) {
        if self.is_ground {
            let bound = variables.iter().cloned().zip(self.values.iter().cloned());
            return (bound.collect(), self.result.clone());
        }
        self.renamed(variables, source)
    }

    /// What the answer leaves unbound is the call's own; other variables are new.
    fn renamed(&self, variables: &[Variable], source: &mut VariableSource) -> (Solution, Atom) {
        let mut names: FxHashMap<&Variable, Variable> = FxHashMap::default();
        let mut bound = Vec::new();
        for (variable, value) in variables.iter().zip(&self.values) {
            match value {
                Atom::Variable(kept) if !names.contains_key(kept) => _ = names.insert(kept, variable.clone()),
                value => bound.push((variable, value)),
            }
        }
        let mut others: FxHashMap<Variable, Variable> = FxHashMap::default();
        let mut rename = |atom: &Atom| {
            let made = rewrite(atom, |variable| {
                let known = names.get(variable).cloned();
                let name = known.unwrap_or_else(|| {
                    others.entry(variable.clone()).or_insert_with(|| source.fresh(variable.name())).clone()
                });
                Rewrite::Replace(Atom::Variable(name))
            });
            made.unwrap_or_else(|| atom.clone())
        };
        let solution = bound.into_iter().map(|(variable, value)| (variable.clone(), rename(value))).collect();
        (solution, rename(&self.result))
    }
}

impl Answers {
    /// Each of them for a call with these variables: what it binds, and the result.
    pub(crate) fn given(&self, variables: &[Variable], source: &mut VariableSource) -> Vec<(Solution, Atom)> {
        match self {
            Self::Found(answers) => answers.iter().map(|answer| answer.given(variables, source)).collect(),
            Self::Rows(rows) => (0..rows.len()).map(|place| rows.answer(place, variables)).collect(),
        }
    }
}
