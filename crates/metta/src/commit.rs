//! Commits: what a run did, and who takes it.
//!
//! A run is a sequence of transactions: each top-level `!` form with the plain forms before it, and what follows the
//! last one. At the end of each, and wherever `(commit!)` or an outward effect asks for it, the session hands a [`Commit`] to
//! its [`CommitSink`]s, one after the other in the order in which they were added: what changed, as signed rows in order
//! ([`space::Delta`]), and why. What a rollback undid is in no commit.
//!
//! To follow a run, implement [`CommitSink`] and give it to [`Session::add_sink`](crate::Session::add_sink). A sink that only counts
//! says so by [`CommitSink::detail`]: where no sink asks for rows, none are kept.

use crate::program::history::{Event, SourceId};
use crate::program::{ChangeExtent, Program};
use crate::world::{World, WorldError};
use space::{ChangeDetail, Changes};
use std::error::Error;
use std::fmt;

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
#[derive(Debug)]
pub struct Commit {
    /// Why; changes name their cause by its place here.
    pub causes: Vec<Cause>,
    /// What was made and bound, in order. None of it needs the changes.
    pub events: Vec<Event>,
    /// What was added, removed and set: as much of it as the sink asks for that asks for most.
    pub changes: Changes,
    /// What changed beside the atoms of spaces. A word for a value of this process is none of the events, and is said here.
    pub extent: ChangeExtent,
    /// How many variables the run has numbered.
    pub variables: u64,
    /// What ended the transaction.
    pub trigger: CommitTrigger,
    /// The form that was run last.
    pub current: Cause,
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
    /// `(commit!)`, in the middle of a form; or a load has read enough to commit.
    Asked,
    /// An effect on the world outside, in the middle of a form.
    OutwardEffect,
    /// The end of a source.
    EndOfSource,
}

/// What the sinks before have found out about a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitStamp {
    /// The number of the last commit that changed something, this one included, if somebody counts them.
    pub epoch: Option<u64>,
    /// The hash of everything that the run holds, if somebody keeps it.
    pub state_hash: Option<u128>,
    /// When it was made, in nanoseconds since the beginning of 1970 in UTC, if a sink wants to know and the world has such times.
    pub time: Option<i64>,
}

/// Takes the commits of a run.
pub trait CommitSink {
    /// What it is, for messages: `the tape`.
    fn name(&self) -> &'static str;

    /// How much it is to be told of what changed. Others may ask for more.
    fn detail(&self) -> ChangeDetail;

    /// Whether it is to be told when a commit was made. Nothing else asks the world for that.
    fn wants_time(&self) -> bool {
        false
    }

    /// Takes a commit, after which the program is as given. Those in which nothing changed are handed out as well where a `!` form or
    /// a program asked for them.
    ///
    /// # Errors
    /// The run is not to go on. The sinks before have taken the commit, those after it have not.
    fn take(&mut self, program: &Program, commit: &Commit, stamp: &mut CommitStamp) -> Result<(), SinkError>;
}

/// Why a sink ends a run.
#[derive(Debug)]
pub enum SinkError {
    /// It could not take the commit. What would follow could not be told from what is lost, so nothing does.
    Failed(Box<dyn Error + Send + Sync>),
    /// It could, or needs not: the run has gone as far as it is to go.
    Ended(Box<dyn Error + Send + Sync>),
}

/// Why a commit was not taken by all sinks. What was committed before is.
#[derive(Debug)]
#[non_exhaustive]
pub enum CommitError {
    /// A sink could not take it.
    Failed {
        /// Which.
        sink: &'static str,
        /// Why.
        reason: Box<dyn Error + Send + Sync>,
    },
    /// A sink could not take a commit before this one.
    FailedBefore {
        /// Which.
        sink: &'static str,
        /// Why.
        reason: String,
    },
    /// A sink has ended the run.
    Ended {
        /// Which.
        sink: &'static str,
        /// Why.
        reason: Box<dyn Error + Send + Sync>,
    },
}

impl fmt::Display for CommitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { sink, reason } => write!(formatter, "{sink} cannot take the commit: {reason}"),
            Self::FailedBefore { sink, reason } => {
                write!(formatter, "nothing more is kept, since {sink} failed before: {reason}")
            }
            Self::Ended { reason, .. } => reason.fmt(formatter),
        }
    }
}

impl Error for CommitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed { reason, .. } | Self::Ended { reason, .. } => Some(&**reason),
            Self::FailedBefore { .. } => None,
        }
    }
}

/// The sinks of a run, in the order in which they take commits.
#[derive(Default)]
pub(crate) struct CommitSinks {
    sinks: Vec<Box<dyn CommitSink>>,
    /// Which sink failed, and why.
    failed: Option<(&'static str, String)>,
}

impl CommitSinks {
    /// Adds a sink, which takes a commit after those that are there.
    pub(crate) fn add(&mut self, sink: Box<dyn CommitSink>) {
        self.sinks.push(sink);
    }

    /// How much the one asks for that asks for most.
    pub(crate) fn detail(&self) -> ChangeDetail {
        self.sinks.iter().map(|sink| sink.detail()).max().unwrap_or_default()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.sinks.is_empty()
    }

    /// Whether none has failed.
    ///
    /// # Errors
    /// [`CommitError::FailedBefore`].
    pub(crate) fn check(&self) -> Result<(), CommitError> {
        match &self.failed {
            Some((sink, reason)) => Err(CommitError::FailedBefore { sink, reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Hands a commit of this number to each, until one ends the run.
    ///
    /// # Errors
    /// Says which did, and why.
    pub(crate) fn take(
        &mut self,
        program: &Program,
        world: &mut dyn World,
        commit: &Commit,
        epoch: u64,
    ) -> Result<(), CommitError> {
        self.check()?;
        let mut stamp = CommitStamp { epoch: Some(epoch), ..CommitStamp::default() };
        for sink in &mut self.sinks {
            let name = sink.name();
            let asks = sink.wants_time() && stamp.time.is_none() && !commit.is_empty();
            let time = if asks { world.commit_time().map_err(no_time) } else { Ok(stamp.time) };
            let taken = time.and_then(|time| {
                stamp.time = time;
                sink.take(program, commit, &mut stamp)
            });
            match taken {
                Ok(()) => {}
                Err(SinkError::Ended(reason)) => return Err(CommitError::Ended { sink: name, reason }),
                Err(SinkError::Failed(reason)) => {
                    self.failed = Some((name, reason.to_string()));
                    return Err(CommitError::Failed { sink: name, reason });
                }
            }
        }
        Ok(())
    }
}

/// What it means for a commit that the world does not say when it was made: where a run follows a tape, that it is not the recorded one.
fn no_time(error: WorldError) -> SinkError {
    match error {
        WorldError::ReplayEnded { .. } => SinkError::Ended(Box::new(error)),
        error => SinkError::Failed(Box::new(error)),
    }
}
