//! The live queries of an engine, and what hands commits to them.

use super::board::{Board, BoardFull};
use super::named::NamedQueries;
use super::queries::{LiveQueries, LiveQueriesStatistics};
use metta::{
    AnswerChange, Commit, CommitSink, CommitStamp, LiveCall, LiveDefinition, LiveError, LiveKeeper, LiveKept,
    NamedQuery, Program, SinkError,
};
use space::{ChangeDetail, Changes};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// The live queries of an engine, on the thread that writes.
#[derive(Clone, Default)]
pub(crate) struct LiveHub {
    queries: Rc<RefCell<LiveQueries>>,
    named: Rc<RefCell<NamedQueries>>,
    board: Arc<Board>,
    /// Whether commits are handed to it.
    has_sink: Rc<Cell<bool>>,
}

impl LiveHub {
    /// What hands commits to the queries, if nothing does yet.
    pub(crate) fn first_sink(&self) -> Option<Box<dyn CommitSink>> {
        (!self.has_sink.replace(true)).then(|| Box::new(LiveSink(self.clone())) as Box<dyn CommitSink>)
    }

    /// What follows the queries that a program names.
    pub(crate) fn keeper(&self) -> Box<dyn LiveKeeper> {
        Box::new(HubKeeper(self.clone()))
    }

    /// Adds a query of a program, whose queue has room for `waiting_max`; gives its number, and what it knows of its answers.
    ///
    /// # Errors
    /// It asks for something that cannot be kept up to date, or too much waits for others.
    pub(crate) fn add(
        &self,
        definition: &LiveDefinition,
        program: &Program,
        (waiting_max, epoch): (usize, u64),
    ) -> Result<Joined, NotJoined> {
        let mut queries = self.queries.borrow_mut();
        let number = queries.add(definition, program).map_err(NotJoined::Unfit)?;
        let known = queries.known(number);
        if let Err(full) = self.board.join(number, (waiting_max, epoch), known.as_deref()) {
            queries.remove(number);
            return Err(NotJoined::Full(full));
        }
        Ok(Joined { number, known, board: Arc::clone(&self.board) })
    }

    /// Says how many bytes of changes may wait for all who follow.
    pub(crate) fn set_waiting_bytes_max(&self, bytes: usize) {
        self.board.set_bytes_max(bytes);
    }

    /// Nothing is told any more.
    pub(crate) fn end(&self) {
        self.board.close();
    }

    /// What the queries have done.
    pub(crate) fn statistics(&self) -> LiveQueriesStatistics {
        self.queries.borrow().statistics()
    }
}

/// A query that has been added.
pub(crate) struct Joined {
    pub(super) number: usize,
    pub(super) known: Option<Vec<AnswerChange>>,
    pub(super) board: Arc<Board>,
}

/// Why a query was not added.
pub(crate) enum NotJoined {
    /// It asks for something that cannot be kept up to date.
    Unfit(LiveError),
    /// Too much waits for others.
    Full(BoardFull),
}

/// What follows the named queries of an engine for its run.
struct HubKeeper(LiveHub);

impl LiveKeeper for HubKeeper {
    fn follow(&mut self, program: &Program, named: &[NamedQuery], epoch: u64) -> (Option<Box<dyn CommitSink>>, bool) {
        let hub = &self.0;
        let cannot = hub.named.borrow_mut().follow(&mut hub.queries.borrow_mut(), program, named, epoch);
        let sink = if named.is_empty() { None } else { hub.first_sink() };
        (sink, cannot)
    }

    fn answers(&mut self, name: &str, uncommitted: &Changes) -> Result<Vec<AnswerChange>, String> {
        let number = self.0.named.borrow().number(name)?;
        let mut queries = self.0.queries.borrow_mut();
        match queries.stopped(number) {
            Some(reason) => Err(reason.to_owned()),
            None => Ok(queries.known_before(number, uncommitted)),
        }
    }

    fn kept(&self, name: &str) -> Option<LiveKept> {
        self.0.named.borrow().kept(name)
    }

    fn take_calls(&mut self) -> Vec<LiveCall> {
        self.0.named.borrow_mut().take_calls()
    }
}

struct LiveSink(LiveHub);

impl CommitSink for LiveSink {
    fn name(&self) -> &'static str {
        "the live queries"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Changes
    }

    fn take(&mut self, program: &Program, commit: &Commit, stamp: &mut CommitStamp) -> Result<(), SinkError> {
        let LiveHub { queries, named, board, .. } = &self.0;
        let mut queries = queries.borrow_mut();
        board.left().into_iter().for_each(|number| queries.remove(number));
        if !commit.is_empty() && !queries.is_empty() {
            let changes = queries.take(commit);
            let epoch = stamp.epoch.unwrap_or_default();
            named.borrow_mut().put(program, epoch, &changes);
            board.put(epoch, changes);
        }
        Ok(())
    }
}

impl Drop for LiveSink {
    /// The run has ended.
    fn drop(&mut self) {
        self.0.board.close();
    }
}
