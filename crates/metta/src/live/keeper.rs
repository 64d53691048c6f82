//! What follows the named live queries of a run.
//!
//! A program says which queries there are and asks for what has changed; it does not know how they are followed. The host gives
//! the run a keeper, or the run has none, and a program that asks hears that.

use super::change::AnswerChange;
use super::named::{LiveNews, NamedQuery};
use crate::commit::CommitSink;
use crate::program::Program;
use space::{Atom, Changes};

/// What is to be called for a change.
pub struct LiveCall {
    /// The query whose answers have changed.
    pub name: String,
    /// The functions that were asked for before the commit.
    pub functions: Vec<Atom>,
    /// The change.
    pub news: LiveNews,
}

/// What a keeper has of a query.
pub struct LiveKept {
    /// All changes of commits after this one are there; `None` if no changes are kept.
    pub after: Option<u64>,
    /// The changes, in order.
    pub news: Vec<LiveNews>,
}

/// Follows the named live queries of a run.
pub trait LiveKeeper {
    /// Follows these queries from now on, and no others. The program is as the commit of this number has left it. Gives what is to take commits
    /// from now on, if that is the first time that there is something to follow; says with it whether it is to be asked again after the
    /// next commit, although nothing may have been registered.
    fn follow(&mut self, program: &Program, named: &[NamedQuery], epoch: u64) -> (Option<Box<dyn CommitSink>>, bool);

    /// The answers of a query after the last commit, although the program may have changed since, and how.
    ///
    /// # Errors
    /// Why they are not kept up to date.
    fn answers(&mut self, name: &str, uncommitted: &Changes) -> Result<Vec<AnswerChange>, String>;

    /// What is kept of the changes of a query; `None` if it is not followed yet, since it was not committed.
    fn kept(&self, name: &str) -> Option<LiveKept>;

    /// What is to be called for the commits so far; nothing of it is handed out again.
    fn take_calls(&mut self) -> Vec<LiveCall>;
}
