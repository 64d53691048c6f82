//! Evaluation: what an evaluator is asked, and what it answers.
//!
//! There are two: the [machine](crate::machine) is fast, the [interpreter](crate::interpreter) is obvious. Both implement
//! [`Evaluate`]; a session knows them by nothing else, and calls them once for each form.

use crate::environment::Stop;
use crate::limits::LimitReached;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use space::{Atom, SharedSpace, SharedState};
use std::any::Any;
use std::rc::Rc;

/// What evaluates. New ones go to the end: tapes number them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evaluator {
    /// Rules compiled to code, on region memory.
    #[default]
    Machine,
    /// The reference interpreter: slow, obvious.
    Interpreter,
}

/// What an evaluation came to.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The results, in order.
    pub(crate) results: Vec<Atom>,
    /// The limit that ended it early, if one did.
    pub(crate) limit: Option<LimitReached>,
    /// Why the run must end, if it must.
    pub(crate) stop: Option<Stop>,
    /// How many steps it took.
    pub(crate) steps: u64,
    /// How deep its stack grew, in frames.
    pub(crate) depth_max: usize,
}

/// A call that a rule has reduced, as a trace notes it.
#[derive(Debug)]
pub(crate) struct TracedCall {
    /// The call, its arguments evaluated.
    pub(crate) call: Atom,
    /// What the rule made of it, before that was evaluated.
    pub(crate) body: Atom,
}

/// The calls that an error was made under.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallChain {
    /// From the innermost; those in the middle of a long chain are left out.
    pub(crate) calls: Vec<Rc<TracedCall>>,
    /// How many were left out, and after how many of those that are there.
    pub(crate) left_out: Option<(usize, usize)>,
}

/// What an evaluation that was traced has noted.
#[derive(Debug, Default)]
pub(crate) struct Traced {
    /// The chain of each error that was made, by the canonical bytes of the error.
    pub(crate) errors: FxHashMap<Vec<u8>, CallChain>,
    /// The names that have rules in the library: their calls are no part of a chain.
    pub(crate) library: FxHashSet<String>,
}

impl From<Vec<Atom>> for Answer {
    fn from(results: Vec<Atom>) -> Self {
        Self { results, ..Self::default() }
    }
}

/// Evaluates atoms in sessions. An evaluation may ask for another one, when a native function runs a source, before it has ended
/// itself. The kind of session is a parameter: evaluators know sessions, and so sessions are not known here.
pub(crate) trait Evaluate<Session>: Any {
    /// Evaluates an atom in a space.
    fn evaluate(&self, session: &mut Session, space: &SharedSpace, atom: &Atom) -> Answer;

    /// Evaluates an atom again in at most the given number of steps, and says which calls each error was made under. The session takes care
    /// that nothing is changed by it.
    fn trace(&self, _: &mut Session, _: &SharedSpace, _: &Atom, _steps_max: u64) -> Traced {
        Traced::default()
    }

    /// The bytes that it holds between evaluations.
    fn bytes_held(&self) -> usize {
        0
    }

    /// A native function is about to change what a state holds.
    fn state_changes(&self, state: &SharedState);
}

/// The evaluators of a session.
pub(crate) struct Evaluators<Session> {
    /// The one that evaluates MeTTa, unless a setting asks for what only the interpreter does.
    pub(crate) chosen: Evaluator,
    pub(crate) machine: Rc<dyn Evaluate<Session>>,
    pub(crate) interpreter: Rc<dyn Evaluate<Session>>,
    /// Evaluates minimal MeTTa.
    pub(crate) minimal: Rc<dyn Evaluate<Session>>,
}
