//! What the call of a native function comes to.

use crate::limits::LimitReached;
use crate::world::WorldError;
use space::{Atom, Solution};
use std::sync::Arc;

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

/// Why a whole run ends at once.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Stop {
    /// The world failed while printing.
    World(WorldError),
    /// A form that was run inside the one that is being run was told to end.
    Limit(LimitReached),
    /// The memory of the run failed.
    Memory(Arc<dyn std::error::Error + Send + Sync>),
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
