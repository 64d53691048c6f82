//! The live queries of an engine, and what hands commits to them.

use super::board::Board;
use super::queries::{LiveQueries, LiveQueriesStatistics};
use metta::{AnswerChange, Commit, CommitSink, CommitStamp, LiveDefinition, LiveError, Program, SinkError};
use space::ChangeDetail;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The live queries of an engine, on the thread that writes.
#[derive(Clone, Default)]
pub(crate) struct LiveHub {
    queries: Rc<RefCell<LiveQueries>>,
    board: Arc<Board>,
}

impl LiveHub {
    /// What hands commits to the queries.
    pub(crate) fn sink(&self) -> Box<dyn CommitSink> {
        Box::new(LiveSink(self.clone()))
    }

    /// Adds a query of a program, whose queue has so much room; gives its number, and what it knows of its answers.
    ///
    /// # Errors
    /// It asks for something that cannot be kept up to date.
    pub(crate) fn add(
        &self,
        definition: &LiveDefinition,
        program: &mut Program,
        (waiting_max, epoch): (usize, u64),
    ) -> Result<Joined, LiveError> {
        let mut queries = self.queries.borrow_mut();
        let number = queries.add(definition, program)?;
        self.board.join(number, waiting_max, epoch);
        Ok(Joined { number, known: queries.known(number), board: Arc::clone(&self.board) })
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

struct LiveSink(LiveHub);

impl CommitSink for LiveSink {
    fn name(&self) -> &'static str {
        "the live queries"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Changes
    }

    fn take(&mut self, _: &Program, commit: &Commit, stamp: &mut CommitStamp) -> Result<(), SinkError> {
        let LiveHub { queries, board } = &self.0;
        let mut queries = queries.borrow_mut();
        board.left().into_iter().for_each(|number| queries.remove(number));
        if !commit.is_empty() && !queries.is_empty() {
            let changes = queries.take(commit);
            board.put(stamp.epoch.unwrap_or_default(), changes);
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
