//! A run that goes on from a base and changes nothing in it, while another process may write to the base.
//!
//! 1. The run begins after the last commit that was complete when it began, and sees none that comes later.
//! 2. Sources are known again as in a run that writes: a file that the base has run to its end states nothing anew.
//! 3. What a program makes for itself, such as spaces, states, words, settings and imports, lasts as long as the run. A form that changes
//!    a space or a state of the base ends the run, with the place of the form and the first such change.

use super::{BegunRun, Recall, RecallError, TapeMode};
use crate::commit_journal::ledger::SharedLedger;
use crate::commit_journal::{CommitJournal, KnowledgeBaseError};
use metta::{Cause, Commit, CommitSink, CommitStamp, Program, SinkError, World};
use space::{Change, ChangeDetail};

impl BegunRun {
    /// A run that goes on from a base that is open for reading, and may change nothing in it.
    pub(crate) fn read_only(world: Box<dyn World>, base: CommitJournal) -> Result<Self, RecallError> {
        Ok(Recall::follow(Some(base), TapeMode::None, world)?)
    }
}

/// Refuses commits that change a space or a state of the base. Commits of anything else are counted and forgotten.
pub(super) struct ReadOnlySink {
    pub(super) ledger: SharedLedger,
    /// How many spaces the base has; those that the run makes have serial numbers from there on.
    pub(super) spaces: u64,
    /// How many states it has; those that the run makes have greater serial numbers.
    pub(super) states: u64,
}

impl CommitSink for ReadOnlySink {
    fn name(&self) -> &'static str {
        "the knowledge base that is only read"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Changes
    }

    fn take(&mut self, _: &Program, commit: &Commit, _: &mut CommitStamp) -> Result<(), SinkError> {
        let Some((change, cause)) = self.first_change(commit) else {
            self.ledger.borrow_mut().commits += 1;
            return Ok(());
        };
        let (origin, line, column) = self.ledger.borrow().place(cause);
        let refused = KnowledgeBaseError::WouldChange { origin, line, column, change };
        Err(SinkError::Ended(Box::new(refused)))
    }
}

impl ReadOnlySink {
    /// The first change of what belongs to the base, for people, and its cause: a plain form may have made it before the form that
    /// was run last.
    fn first_change(&self, commit: &Commit) -> Option<(String, Cause)> {
        let walk = commit.changes.each(|change| match change {
            Change::Row(delta) if delta.space.serial() < self.spaces => {
                let sign = if delta.count > 0 { '+' } else { '-' };
                Err((format!("{sign} {}", space::named_as_in_source(&delta.atom())), delta.cause))
            }
            Change::Set { state, cause } if state.serial() <= self.states => {
                Err((format!("state {} = {}", state.serial(), space::named_as_in_source(&state.value())), cause))
            }
            Change::Row(_) | Change::Set { .. } => Ok(()),
        });
        let (change, cause) = walk.err()?;
        Some((change, commit.causes.get(cause as usize).copied().unwrap_or(commit.current)))
    }
}
