//! What a runner of a snapshot refuses: operations that change what it began with, or reach outside.
//!
//! A refused operation ends its form, whatever alternatives are left: if it were an error atom, other results could hide it.
//! What a form makes itself, a space or a state, it may change; nobody else sees it.

use space::{Atom, Grounded};
use std::fmt;

/// What a runner is a view of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Viewed {
    /// The number of the last commit before it, if commits were counted.
    pub(crate) epoch: Option<u64>,
}

/// Why an operation is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EffectKind {
    /// It changes spaces, states, words, modules or settings.
    Change,
    /// It prints, or asks for files, the clock, random numbers or the environment.
    Outside,
    /// It asks for the history of commits.
    History,
}

/// An operation that a runner of a snapshot does not carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectRefused {
    /// Its name.
    pub operation: &'static str,
    /// Why.
    pub kind: EffectKind,
}

impl EffectRefused {
    /// Of a form without `!`, which states an atom.
    pub(crate) const STATEMENT: Self = Self { operation: "a form without !", kind: EffectKind::Change };
}

impl fmt::Display for EffectRefused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = match self.kind {
            EffectKind::Change => "changes the program",
            EffectKind::Outside => "reaches outside the program",
            EffectKind::History => "asks for the history of the program",
        };
        let operation = self.operation;
        write!(formatter, "{operation} {does}, and a view only answers: let the writer of the knowledge base run it")
    }
}

impl std::error::Error for EffectRefused {}

/// The operations that change the space or state that is their first argument.
const CHANGES_ARGUMENT: [&str; 7] =
    ["add-atom", "add-atoms", "add-reduct", "add-reducts", "remove-atom", "remove-atoms", "change-state!"];

const CHANGES: [&str; 9] = [
    "bind!",
    "pragma!",
    "import!",
    "include",
    "mod-space!",
    "module-space-no-deps",
    "register-module!",
    "git-module!",
    "commit!",
];

const REACHES_OUTSIDE: [&str; 22] = [
    "println!",
    "trace!",
    "print-alternatives!",
    "print-mods!",
    "help-internal!",
    "help-space!",
    "help-param!",
    "file-open!",
    "file-read-to-string!",
    "file-write!",
    "file-seek!",
    "file-read-exact!",
    "file-get-size!",
    "file-close!",
    "current-time",
    "environment-variable",
    "random-int",
    "random-float",
    "set-random-seed",
    "new-random-generator",
    "reset-random-generator",
    "flip",
];

const ASKS_HISTORY: [&str; 2] = ["as-of", "why"];

/// Why a runner of a snapshot refuses an operation, if it does. Everything that the snapshot holds is frozen.
pub(crate) fn refuse(operation: &'static str, arguments: &[Atom]) -> Option<EffectRefused> {
    let kind = if CHANGES_ARGUMENT.contains(&operation) {
        let is_held = match arguments.first() {
            Some(Atom::Grounded(Grounded::Space(space))) => space.is_frozen(),
            Some(Atom::Grounded(Grounded::State(state))) => state.is_frozen(),
            _ => false,
        };
        is_held.then_some(EffectKind::Change)?
    } else if CHANGES.contains(&operation) {
        EffectKind::Change
    } else if ASKS_HISTORY.contains(&operation) {
        EffectKind::History
    } else if REACHES_OUTSIDE.contains(&operation) {
        EffectKind::Outside
    } else {
        return None;
    };
    Some(EffectRefused { operation, kind })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundled::BUNDLES;
    use crate::stdlib;

    /// Whoever adds an operation that acts decides here whether a view carries it out.
    #[test]
    fn operations_that_act_are_refused() {
        let bundled: Vec<&str> = BUNDLES.iter().flat_map(|bundle| bundle.operations).map(|spec| spec.name).collect();
        let all: Vec<&str> = stdlib::operations().map(|spec| spec.name).chain(bundled.iter().copied()).collect();
        let lists = [&CHANGES_ARGUMENT[..], &CHANGES[..], &REACHES_OUTSIDE[..], &ASKS_HISTORY[..]].concat();
        for name in &all {
            if name.ends_with('!') || bundled.contains(name) {
                assert!(lists.contains(name), "{name} acts, and is not refused");
            }
        }
        for name in &lists {
            assert!(all.contains(name), "{name} is no operation");
        }
    }
}
