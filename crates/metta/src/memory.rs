//! The memory of a run: it takes the run's commits, and answers questions about the past.
//!
//! A run is a sequence of transactions: each top-level `!` form with the plain forms before it, and what follows the
//! last one. At the end of each, and wherever `(commit!)` or an outward effect asks for it, the [`Runner`](crate::Runner) hands a
//! [`Commit`] to its [`Memory`]: what changed, in order, and why. A memory that keeps commits can give them back to a
//! new runner, which then goes on where the old one ended.

use crate::limits::Halted;
use crate::program::Program;
use crate::program::history::{Event, Reason, SourceId};
use crate::program::modules::ModuleId;
use crate::world::World;
use space::{Atom, Changes, SharedSpace};
use std::sync::Arc;

/// Why a memory could not do its part. The run ends, since what follows could not be remembered.
pub type MemoryError = Box<dyn std::error::Error + Send + Sync>;

/// What is said of the past of a run that keeps none.
pub const NO_HISTORY: &str = "no history is kept of this run; name a knowledge base with --kb DIR";

/// A text that begins to run.
#[derive(Clone, Copy, Debug)]
pub struct SourceText<'a> {
    /// What it is called in messages.
    pub origin: &'a str,
    /// Its absolute path, if it is a file. Texts without one are not known again.
    pub file: Option<&'a str>,
    /// What is in it.
    pub content: SourceContent<'a>,
    /// The module it runs in.
    pub module: ModuleId,
}

/// The content of a source.
#[derive(Clone, Copy, Debug)]
pub enum SourceContent<'a> {
    /// A text; places in it are offsets.
    Text(&'a Arc<str>),
    /// Records that are read piece by piece, by the hash that a [`ContentHasher`] has made of them; places are lines.
    Rows([u8; 32]),
}

/// Makes the hash by which a memory knows a content that is read piece by piece.
pub trait ContentHasher {
    /// Takes the next bytes.
    fn update(&mut self, bytes: &[u8]);

    /// The hash of all bytes so far.
    fn finish(&self) -> [u8; 32];
}

/// A source that has begun.
#[derive(Debug)]
pub struct Begun {
    /// Its number.
    pub id: SourceId,
    /// What is known of it.
    pub known: Known,
}

/// What is known of a source that begins to run.
#[derive(Debug)]
pub enum Known {
    /// Nothing: all of it is to be run.
    New,
    /// This very text has run to its end: what it states is there, or was removed by a program.
    Unchanged,
    /// Another text of the same file has run, or this one without reaching its end; these are the atoms it stated.
    Changed(Vec<Atom>),
}

/// Why something changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The source of the form that was run.
    pub source: SourceId,
    /// What kind of form.
    pub kind: CauseKind,
    /// Where the form begins, in bytes from the beginning of the text; its line, where a content is read as rows.
    pub offset: u32,
}

/// What kind of form changed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseKind {
    /// A plain form, which states an atom.
    Statement,
    /// A form after `!`.
    Evaluation,
    /// A plain form that an edited source no longer has.
    Retraction,
}

/// What a run did since its last commit.
#[derive(Debug, Default)]
pub struct Commit {
    /// Why; changes name their cause by its place here.
    pub causes: Vec<Cause>,
    /// What was made and bound, in order. None of it needs the changes.
    pub events: Vec<Event>,
    /// What was added, removed and set: everything if the memory is durable, else counts, a sample and the states set.
    pub changes: Changes,
    /// How many variables the run has numbered.
    pub variables: u64,
}

impl Commit {
    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.changes.is_empty()
    }
}

/// What a transaction ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommitTrigger {
    /// The answer of a `!` form.
    Answer,
    /// `(commit!)`, in the middle of a form; or a load has read so much that it commits.
    Asked,
    /// An effect on the world outside, in the middle of a form.
    OutwardEffect,
    /// The end of a source.
    EndOfSource,
}

/// What remembers a run.
pub trait Memory {
    /// A source begins to run.
    ///
    /// # Errors
    /// What is known of it cannot be read, or the run is not the one that is remembered.
    fn begin_source(
        &mut self,
        program: &mut Program,
        world: &mut dyn World,
        source: &SourceText<'_>,
    ) -> Result<Begun, MemoryError>;

    /// What makes hashes of contents, if sources are known again by them.
    fn content_hasher(&self) -> Option<Box<dyn ContentHasher>> {
        None
    }

    /// Whether a file, by its absolute path, is one that a module was read from before. Where nothing is kept, any is.
    fn is_source_of(&self, module: ModuleId, file: &str) -> bool;

    /// How many sources have begun since the last commit.
    fn sources_begun(&self) -> usize;

    /// What the sources did that have begun since then, all but this many of the first, is undone.
    fn undo_sources(&mut self, kept: usize);

    /// A source has run to its end.
    fn end_source(&mut self, source: SourceId);

    /// A `!` form of the program begins, after this many evaluations. Gives where it is to be ended, if the run is one that
    /// was ended in it from outside.
    ///
    /// # Errors
    /// The run is not to go on.
    fn begin_evaluation(&mut self, evaluations: u64, form: Cause) -> Result<Option<Halted>, MemoryError>;

    /// A transaction ended. `current` is the form that was run last.
    ///
    /// # Errors
    /// It cannot be kept, or is not the one that is remembered.
    fn commit(&mut self, commit: Commit, trigger: CommitTrigger, current: Cause) -> Result<(), MemoryError>;

    /// A form was ended from outside. If its time was up or somebody cancelled it, and the memory is durable, what was done
    /// since the last commit is undone; else a commit follows.
    ///
    /// # Errors
    /// That cannot be kept.
    fn halt(&mut self, halted: Halted) -> Result<(), MemoryError>;

    /// The run is over: what is held back is written and made durable.
    ///
    /// # Errors
    /// That fails. Every commit was kept.
    fn close(&mut self) -> Result<(), MemoryError>;

    /// Whether what it keeps outlives the process, so that only atoms that can be made again may be kept.
    fn is_durable(&self) -> bool;

    /// How many commits the run has made.
    fn commits(&self) -> u64;

    /// The number of the last commit; `None` if commits are not counted here.
    fn epoch(&self) -> Option<u64>;

    /// A space as it was after a commit.
    ///
    /// # Errors
    /// There is no such commit or space, or the past is not kept.
    fn as_of(&mut self, program: &mut Program, space: &SharedSpace, epoch: u64) -> Result<SharedSpace, MemoryError>;

    /// Where the atoms of a space that match a pattern come from, in the order of the commits.
    ///
    /// # Errors
    /// The past is not kept.
    fn why(&mut self, program: &mut Program, space: &SharedSpace, pattern: &Atom) -> Result<Vec<Reason>, MemoryError>;
}
