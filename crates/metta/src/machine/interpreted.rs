//! What the machine has left to the interpreter, by what it was.
//!
//! 1. Where an expression is handed over, its *kind* is counted: the name of its head, or what stands in place of a name.
//! 2. Only `KINDS_MAX` kinds are told apart; what comes after those is counted together, so that a program that makes names of its
//!    own takes no memory by it.
//! 3. A program of which nothing is interpreted pays nothing.

use crate::interpreter::Task;
use crate::operation::Operation;
use rustc_hash::FxHashMap;
use space::{Atom, HostValue as _, Symbol};
use std::fmt;

/// More kinds are not told apart.
const KINDS_MAX: usize = 1_000;

/// What an expression that was interpreted is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// Its head is this name.
    Named(Symbol),
    /// Its head is this native function.
    Native(String),
    /// It is one reduction of what this is.
    Reduction(Box<Kind>),
    HeadedByVariable,
    HeadedByExpression,
    HeadedByValue,
    /// It is no expression with a head, and its type is asked for.
    Leaf,
    Other,
}

impl Kind {
    fn of(atom: &Atom) -> Self {
        match atom.children() {
            Some([eval, call]) if eval.is_symbol("eval") => Self::Reduction(Box::new(Self::of_head(call))),
            _ => Self::of_head(atom),
        }
    }

    fn of_head(atom: &Atom) -> Self {
        match atom.head() {
            None => Self::Leaf,
            Some(Atom::Symbol(name)) => Self::Named(name.clone()),
            Some(Atom::Variable(_)) => Self::HeadedByVariable,
            Some(Atom::Expression(_)) => Self::HeadedByExpression,
            Some(head) => match Operation::of(head) {
                Some(operation) => Self::Native(operation.name().to_owned()),
                None => Self::HeadedByValue,
            },
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name.as_str()),
            Self::Native(name) => f.write_str(name),
            Self::Reduction(reduced) => write!(f, "eval of {reduced}"),
            Self::HeadedByVariable => f.write_str("an expression whose head is a variable"),
            Self::HeadedByExpression => f.write_str("an expression whose head is an expression"),
            Self::HeadedByValue => f.write_str("an expression whose head is a value"),
            Self::Leaf => f.write_str("an atom that is not a call"),
            Self::Other => f.write_str("others"),
        }
    }
}

/// How often what was interpreted.
#[derive(Debug, Default)]
pub(crate) struct Interpreted {
    counts: FxHashMap<Kind, u64>,
}

impl Interpreted {
    pub(super) fn note(&mut self, task: &Task) {
        let atom = match task {
            Task::Metta(atom, _) | Task::Call(atom, ..) | Task::Untabled(atom, _) | Task::Minimal(atom) => atom,
            Task::Behind { call, .. } | Task::Code { call, .. } | Task::Function(_, call) => call,
        };
        let kind = Kind::of(atom);
        let is_told_apart = self.counts.len() < KINDS_MAX || self.counts.contains_key(&kind);
        *self.counts.entry(if is_told_apart { kind } else { Kind::Other }).or_default() += 1;
    }

    /// The kinds with how often each was, the most frequent first, equally frequent ones by name.
    pub(crate) fn kinds(&self) -> Vec<(String, u64)> {
        let mut kinds: Vec<(String, u64)> =
            self.counts.iter().map(|(kind, &count)| (kind.to_string(), count)).collect();
        kinds.sort_by(|(name, count), (other, count_of_other)| count_of_other.cmp(count).then(name.cmp(other)));
        kinds
    }
}
