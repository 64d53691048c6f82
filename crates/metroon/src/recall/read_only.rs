//! A run that goes on from a base and changes nothing in it, while another process may write to the base.
//!
//! 1. The run begins after the last commit that was complete when it began, and sees none that comes later.
//! 2. Sources are known again as in a run that writes: a file that the base has run to its end states nothing anew.
//! 3. A transaction that changed nothing is as it always is. One that did ends the run, with the place of its form and the first of its
//!    changes; nothing of it is kept.

use super::knowledge_base::KnowledgeBase;
use super::knowledge_base_error::KnowledgeBaseError;
use super::sinks::{SharedLedger, describe};
use super::{Recall, RecallError, Remembered, TapeMode, plain};
use crate::load::imports as load_formats;
use metta::{Cause, Commit, CommitSink, CommitStamp, Event, Runner, SinkError, World};
use space::{Change, ChangeDetail};

impl Remembered {
    /// A run that goes on from a base that is open for reading, and may change nothing in it.
    pub(crate) fn read_only(world: Box<dyn World>, base: KnowledgeBase) -> Result<Self, RecallError> {
        let mut runner = Runner::new(world);
        runner.set_formats(load_formats());
        Recall::follow(Some(base), TapeMode::None, &mut runner)?;
        Ok(Self { runner, follower: None })
    }
}

/// Refuses commits that change something. It comes before all other sinks.
pub(super) struct ReadOnlySink {
    pub(super) ledger: SharedLedger,
}

impl CommitSink for ReadOnlySink {
    fn name(&self) -> &'static str {
        "the knowledge base that is only read"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Changes
    }

    fn take(&mut self, commit: &Commit, _: &mut CommitStamp) -> Result<(), SinkError> {
        if commit.is_empty() {
            return Ok(());
        }
        let (change, cause) = first_change(commit);
        let (origin, line, column) = self.ledger.borrow().place(cause);
        let refused = KnowledgeBaseError::WouldChange { origin, line, column, change };
        Err(SinkError::Ended(Box::new(refused)))
    }
}

/// The first change of a commit, for people, and its cause: what changed first may have been changed by a plain form before the
/// one that was run last.
fn first_change(commit: &Commit) -> (String, Cause) {
    let mut first = None;
    // The walk ends at the first change.
    let _ = commit.changes.each(|change| {
        first = Some(match change {
            Change::Row(delta) => {
                let sign = if delta.count > 0 { '+' } else { '-' };
                (format!("{sign} {}", plain(&delta.atom())), delta.cause)
            }
            Change::Set { state, cause } => (format!("state {} = {}", state.serial(), plain(&state.value())), cause),
        });
        Err(())
    });
    let cause = first.as_ref().and_then(|(_, cause)| commit.causes.get(*cause as usize)).copied();
    let event = commit.events.iter().find(|event| !matches!(event, Event::Unstated { .. })).map(describe);
    let change = event.or(first.map(|(change, _)| change)).unwrap_or_else(|| "it states less than before".to_owned());
    (change, cause.unwrap_or(commit.current))
}
