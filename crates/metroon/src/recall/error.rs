//! Why a run cannot be remembered.

use crate::commit_journal::KnowledgeBaseError;
use crate::tape::TapeError;
use crate::tape::replaying::ReplayEnd;
use metta::RunRecordError;
use std::error::Error;

/// Why a run cannot be remembered, or not any more.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecallError {
    /// Its base.
    KnowledgeBase(KnowledgeBaseError),
    /// Its tape.
    Tape(TapeError),
    /// It is not the run that was recorded, or the recorded one ended before.
    Replay(ReplayEnd),
}

impl std::fmt::Display for RecallError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::KnowledgeBase(error) => error.fmt(formatter),
            Self::Tape(error) => error.fmt(formatter),
            Self::Replay(end) => end.fmt(formatter),
        }
    }
}

impl Error for RecallError {}

impl RecallError {
    /// The error of a [`Recall`] as a record gives it.
    pub(crate) fn of(error: RunRecordError) -> Self {
        match error.downcast::<KnowledgeBaseError>() {
            Ok(base) => Self::KnowledgeBase(*base),
            Err(error) => match error.downcast::<TapeError>() {
                Ok(tape) => Self::Tape(*tape),
                Err(error) => match error.downcast::<ReplayEnd>() {
                    Ok(end) => Self::Replay(*end),
                    Err(error) => unreachable!("a record of another kind fails: {error}"),
                },
            },
        }
    }
}

impl From<KnowledgeBaseError> for RecallError {
    fn from(error: KnowledgeBaseError) -> Self {
        Self::KnowledgeBase(error)
    }
}

impl From<TapeError> for RecallError {
    fn from(error: TapeError) -> Self {
        Self::Tape(error)
    }
}

/// The error of a kind that another one is, or is caused by.
pub fn find_error<'a, T: Error + 'static>(error: &'a (dyn Error + Send + Sync + 'static)) -> Option<&'a T> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}
