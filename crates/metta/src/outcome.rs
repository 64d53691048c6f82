//! What the call of a native function comes to.

use crate::limits::LimitReached;
use crate::refusal::EffectRefused;
use crate::world::WorldError;
use space::{Atom, Solution};
use std::sync::Arc;

/// Why a form, or the whole run, ends at once.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Stop {
    /// The world failed while printing.
    World(WorldError),
    /// A tabled call depends on all results of calls that depend on it: the error that the form comes to.
    NotStratified(Atom),
    /// A form that was run inside the one that is being run was told to end.
    Limit(LimitReached),
    /// A runner of a snapshot does not carry out an operation.
    Effect(EffectRefused),
    /// What is on record of the run, or a sink of its commits, failed.
    RunRecord(Arc<dyn std::error::Error + Send + Sync>),
}

/// Why an effect on the world outside, or a commit, may not be.
#[derive(Clone, Debug)]
pub enum Refused {
    /// A `(transaction …)` is open; the message says what is not allowed inside one.
    InTransaction(&'static str),
    /// The run ends.
    Stop(Stop),
}

/// What a native function gives back.
pub enum Outcome {
    /// These results, each evaluated further as the function's type says; none is `Empty`.
    Results(Vec<Atom>),
    /// Results that bind variables.
    Solutions(Vec<(Solution, Atom)>),
    /// The function does not apply to these arguments: the call stays as it is.
    NotReducible,
    /// The call is an error, with this message.
    Failure(Atom),
    /// The run ends here.
    Stop(Stop),
}

impl Outcome {
    /// One result.
    pub fn one(atom: impl Into<Atom>) -> Self {
        Self::Results(vec![atom.into()])
    }

    /// The unit result, `()`.
    pub fn unit() -> Self {
        Self::Results(vec![Atom::unit()])
    }

    /// A failure whose message is a symbol of this text.
    pub fn failure(message: impl AsRef<str>) -> Self {
        Self::Failure(Atom::symbol(message.as_ref()))
    }
}

impl From<Refused> for Outcome {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::InTransaction(message) => Self::failure(message),
            Refused::Stop(stop) => Self::Stop(stop),
        }
    }
}
