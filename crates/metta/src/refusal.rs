//! What a runner of a snapshot refuses: operations that change what it began with, or reach outside.
//!
//! A refused operation ends its form, whatever alternatives are left: if it were an error atom, other results could hide it.
//! What a form makes itself, a space or a state, it may change; nobody else sees it.

use crate::effects::Effects;
use space::{Atom, Grounded};
use std::borrow::Cow;
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
    pub operation: Cow<'static, str>,
    /// Why.
    pub kind: EffectKind,
}

impl EffectRefused {
    /// Of a form without `!`, which states an atom.
    pub(crate) const STATEMENT: Self = Self { operation: Cow::Borrowed("a form without !"), kind: EffectKind::Change };
}

impl fmt::Display for EffectRefused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = match self.kind {
            EffectKind::Change => "changes the program",
            EffectKind::Outside => "reaches outside the program",
            EffectKind::History => "asks for the history of the program",
        };
        let operation = &self.operation;
        write!(formatter, "{operation} {does}, and a view only answers: let the writer of the knowledge base run it")
    }
}

impl std::error::Error for EffectRefused {}

/// What a transaction of a form changes is undone with the form.
const TRANSACTIONS: [&str; 2] = ["_open-transaction", "_close-transaction"];

/// These read what a snapshot does not have.
const HISTORY: [&str; 6] = ["as-of", "why", "why-tree", "why-trees", "why-not", "_changes-after"];

/// These change which live queries there are, or what was told of them: no argument says so.
const LIVE: [&str; 5] = ["live", "live-with", "live-end", "on-change", "_changes"];

/// Why a runner of a snapshot refuses a call of an operation with these effects, if it does.
pub(crate) fn refuse(operation: &str, effects: Effects, arguments: &[Atom]) -> Option<EffectRefused> {
    let kind = match operation {
        _ if HISTORY.contains(&operation) => EffectKind::History,
        _ if TRANSACTIONS.contains(&operation) => return None,
        _ if LIVE.contains(&operation) => EffectKind::Change,
        _ => kind_of(effects, arguments)?,
    };
    Some(EffectRefused { operation: operation.to_owned().into(), kind })
}

/// Why an operation with these effects is not carried out a second time, if it is not: it would change something, or ask for another
/// answer. What is printed goes nowhere then.
pub(crate) fn refuse_again(operation: &str, effects: Effects) -> Option<EffectRefused> {
    let acts = effects.without(Effects::READS).without(Effects::MAKES).without(Effects::TELLS);
    (acts != Effects::NONE).then(|| EffectRefused { operation: operation.to_owned().into(), kind: EffectKind::Change })
}

/// Everything that the snapshot holds is frozen.
fn kind_of(effects: Effects, arguments: &[Atom]) -> Option<EffectKind> {
    let acts = effects.without(Effects::READS).without(Effects::MAKES);
    if acts == Effects::NONE {
        return None;
    }
    let reaches_outside = acts.have(Effects::ASKS) || acts.have(Effects::TELLS);
    if acts.have(Effects::CHANGES_RULES) || acts.have(Effects::DEFINES) || !reaches_outside {
        let is_change_of_first = !reaches_outside && !acts.have(Effects::DEFINES);
        let is_own = is_change_of_first && arguments.first().is_some_and(|changed| !may_be_held(changed));
        return (!is_own).then_some(EffectKind::Change);
    }
    Some(EffectKind::Outside)
}

/// Whether what a call changes may be of the snapshot. What is no grounded value is nothing that could be changed: the call fails.
fn may_be_held(changed: &Atom) -> bool {
    match changed {
        Atom::Grounded(Grounded::Space(space)) => space.is_frozen(),
        Atom::Grounded(Grounded::State(state)) => state.is_frozen(),
        changed => matches!(changed, Atom::Grounded(_)),
    }
}
