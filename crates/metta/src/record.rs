//! What is on record of a run beside its commits: its sources, and where its forms were ended; and the history of what it keeps.
//!
//! A [`RunRecord`] tells a run which of its sources ran before, and hears where sources begin and end. A run that goes on where an
//! earlier one ended, is recorded, or is replayed has one. Commits go to the run's [sinks](crate::CommitSink).

use crate::commit::{Cause, CommitTrigger};
use crate::limits::Halted;
use crate::live::{LiveDefinition, LiveNews};
use crate::program::Program;
use crate::program::history::{Reason, SourceId};
use crate::program::modules::ModuleId;
use crate::world::World;
use space::{Atom, SharedSpace};
use statistics::Entries;
use std::sync::Arc;

/// Why a record could not do its part. The run ends, since what follows could not be told from what is lost.
pub type RunRecordError = Box<dyn std::error::Error + Send + Sync>;

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

/// Makes the hash by which a record knows a content that is read piece by piece.
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

/// What is on record of a run, beside its commits.
pub trait RunRecord {
    /// What people should know of the sources that have begun.
    fn notices(&self) -> &[String] {
        &[]
    }

    /// A source begins to run.
    ///
    /// # Errors
    /// What is known of it cannot be read, or the run is not the one that is remembered.
    fn begin_source(
        &mut self,
        program: &mut Program,
        world: &mut dyn World,
        source: &SourceText<'_>,
    ) -> Result<Begun, RunRecordError>;

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
    fn begin_evaluation(&mut self, evaluations: u64, form: Cause) -> Result<Option<Halted>, RunRecordError>;

    /// A transaction ended, and the sinks have taken its commit if there was something to take.
    ///
    /// # Errors
    /// What has ended with it cannot be kept.
    fn committed(&mut self, trigger: CommitTrigger) -> Result<(), RunRecordError>;

    /// A form was ended from outside. If its time was up or somebody cancelled it, and the record is durable, what was done
    /// since the last commit is undone; else a commit follows.
    ///
    /// # Errors
    /// That cannot be kept.
    fn halt(&mut self, halted: Halted) -> Result<(), RunRecordError>;

    /// The run is over, and its sinks are gone: what is held back is written and made durable.
    ///
    /// # Errors
    /// That fails. Every commit was kept.
    fn close(&mut self) -> Result<(), RunRecordError>;

    /// Whether what it keeps outlives the process, so that only atoms that can be made again may be kept.
    fn is_durable(&self) -> bool;

    /// How many commits the run has made.
    fn commits(&self) -> u64;

    /// The number of the last commit; `None` if commits are not counted here.
    fn epoch(&self) -> Option<u64>;

    /// What those count that the run is kept in: a group for a knowledge base and one for a tape, where there is one.
    fn entries(&self, to: &mut Entries);

    /// One number for all that the run holds after the last commit; `None` if none is kept.
    fn state_hash(&self) -> Option<u128> {
        None
    }

    /// The history of what is kept, if that can be asked.
    fn history(&mut self) -> Option<&mut dyn History> {
        None
    }
}

/// Answers questions about the past of what a run keeps.
pub trait History {
    /// A space as it was after a commit.
    ///
    /// # Errors
    /// There is no such commit or space, or the past is not kept.
    fn as_of(&mut self, program: &mut Program, space: &SharedSpace, epoch: u64) -> Result<SharedSpace, RunRecordError>;

    /// Where the atoms come from that match a pattern and that a space has now, or had after a commit, in the order of the commits.
    ///
    /// # Errors
    /// There is no such commit, or the past is not kept.
    fn why(
        &mut self,
        program: &mut Program,
        space: &SharedSpace,
        pattern: &Atom,
        epoch: Option<u64>,
    ) -> Result<Vec<Reason>, RunRecordError>;

    /// What commits have changed in the answers of a live query: those after the one, up to the other.
    ///
    /// # Errors
    /// The past is not kept, or the query could not be kept up to date.
    fn live_changes(
        &mut self,
        program: &mut Program,
        definition: &LiveDefinition,
        commits: (u64, u64),
    ) -> Result<Vec<LiveNews>, RunRecordError>;
}
