//! The memory of a run that goes on from a base and changes nothing in it, while another process may write to the base.
//!
//! 1. The run begins after the last commit that was complete when it began, and sees none that comes later.
//! 2. Sources are known again as in a run that writes: a file that the base has run to its end states nothing anew.
//! 3. A transaction that changed nothing is as it always is. One that did ends the run, with the place of its form and the first of its
//!    changes; nothing of it is kept.

use super::knowledge_base::KnowledgeBase;
use super::knowledge_base_error::KnowledgeBaseError;
use super::{Recall, RecallError, Remembered, TapeMode, describe, plain};
use crate::load::imports as load_formats;
use metta::{
    Begun, Cause, Commit, CommitTrigger, ContentHasher, Event, Halted, Memory, MemoryError, ModuleId, Program, Reason,
    Runner, SourceId, SourceText, World,
};
use space::{Atom, ChangeKind, SharedSpace};

/// Refuses commits that change something.
struct ReadOnly(Recall);

impl Remembered {
    /// A run that goes on from a base that is open for reading, and may change nothing in it.
    pub(crate) fn read_only(world: Box<dyn World>, base: KnowledgeBase) -> Result<Self, RecallError> {
        let mut runner = Runner::new(world);
        runner.set_formats(load_formats());
        let mut recall = Recall::new(Some(base), TapeMode::None, &mut runner)?;
        let last = recall.epoch;
        if let Some(base) = &mut recall.base {
            base.end_at(last);
        }
        runner.set_memory(Box::new(ReadOnly(recall)));
        Ok(Self { runner, follower: None })
    }
}

/// The first change of a commit, for people.
fn first_change(commit: &Commit) -> String {
    let changes = commit.changes.changes.iter().map(|change| match &change.kind {
        ChangeKind::Added { atom, .. } => format!("+ {}", plain(atom)),
        ChangeKind::Removed { atom, .. } => format!("- {}", plain(atom)),
        ChangeKind::Set { state, .. } => format!("state {} = {}", state.serial(), plain(&state.value())),
    });
    let is_unstated = |event: &&Event| matches!(event, Event::Unstated { .. });
    let events = commit.events.iter().filter(|event| !is_unstated(event)).map(describe);
    events.chain(changes).next().unwrap_or_else(|| "it states less than before".to_owned())
}

impl Memory for ReadOnly {
    fn begin_source(
        &mut self,
        program: &mut Program,
        world: &mut dyn World,
        source: &SourceText<'_>,
    ) -> Result<Begun, MemoryError> {
        self.0.begin_source(program, world, source)
    }

    fn content_hasher(&self) -> Option<Box<dyn ContentHasher>> {
        self.0.content_hasher()
    }

    fn is_source_of(&self, module: ModuleId, file: &str) -> bool {
        self.0.is_source_of(module, file)
    }

    fn sources_begun(&self) -> usize {
        self.0.sources_begun()
    }

    fn undo_sources(&mut self, kept: usize) {
        self.0.undo_sources(kept);
    }

    /// A base is not told of sources that have run in a run that only reads.
    fn end_source(&mut self, _: SourceId) {}

    fn begin_evaluation(&mut self, evaluations: u64, form: Cause) -> Result<Option<Halted>, MemoryError> {
        self.0.begin_evaluation(evaluations, form)
    }

    fn commit(&mut self, commit: Commit, trigger: CommitTrigger, current: Cause) -> Result<(), MemoryError> {
        if commit.is_empty() {
            return self.0.commit(commit, trigger, current);
        }
        // What changed first may have been changed by a plain form before this one.
        let first = commit.changes.changes.first().and_then(|change| commit.causes.get(change.cause as usize));
        let cause = first.copied().unwrap_or(current);
        let (origin, line, column) = self.0.place(cause);
        let refused = KnowledgeBaseError::WouldChange { origin, line, column, change: first_change(&commit) };
        self.0.noting_failure(Err(refused.into()))
    }

    fn halt(&mut self, halted: Halted) -> Result<(), MemoryError> {
        self.0.halt(halted)
    }

    fn close(&mut self) -> Result<(), MemoryError> {
        self.0.close()
    }

    fn is_durable(&self) -> bool {
        true
    }

    fn commits(&self) -> u64 {
        self.0.commits()
    }

    fn epoch(&self) -> Option<u64> {
        self.0.epoch()
    }

    fn state_hash(&self) -> Option<u128> {
        self.0.state_hash()
    }

    fn as_of(&mut self, program: &mut Program, space: &SharedSpace, epoch: u64) -> Result<SharedSpace, MemoryError> {
        self.0.as_of(program, space, epoch)
    }

    fn why(&mut self, program: &mut Program, space: &SharedSpace, pattern: &Atom) -> Result<Vec<Reason>, MemoryError> {
        self.0.why(program, space, pattern)
    }
}
