//! What somebody hears who follows a live query.

use metta::AnswerChange;
use std::collections::VecDeque;

/// So many answers at most are handed out at once at the beginning.
const ANSWERS_AT_ONCE_MAX: usize = 1_024;

/// What happened to the answers of a live query, in the order of commits.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LiveEvent {
    /// Some of the answers there were at the beginning, after this commit.
    Answers {
        /// The commit.
        epoch: u64,
        /// The answers; each came.
        changes: Vec<AnswerChange>,
    },
    /// All answers have been handed out that there were after this commit; what comes are changes.
    SnapshotEnd {
        /// The commit.
        epoch: u64,
        /// How many answers there were, copies counted.
        answers: u64,
    },
    /// What a commit changed.
    Changes {
        /// The commit.
        epoch: u64,
        /// In the order of what caused them.
        changes: Vec<AnswerChange>,
    },
    /// All commits up to this one were looked at, and nothing has changed since the last event.
    Progress {
        /// The commit.
        epoch: u64,
    },
    /// Nobody took what waited, and the queue was full: what these commits changed is not handed out. Who follows the query anew after the
    /// commit before them gets it.
    Dropped {
        /// The first of them that changed something.
        from: u64,
        /// The last.
        to: u64,
    },
}

impl LiveEvent {
    /// The last commit that it tells of.
    pub fn epoch(&self) -> u64 {
        match self {
            Self::Answers { epoch, .. }
            | Self::SnapshotEnd { epoch, .. }
            | Self::Changes { epoch, .. }
            | Self::Progress { epoch }
            | Self::Dropped { to: epoch, .. } => *epoch,
        }
    }
}

/// The answers of the beginning, in pieces, and then their end.
pub(super) fn snapshot(epoch: u64, answers: Vec<AnswerChange>) -> VecDeque<LiveEvent> {
    let count = answers.iter().map(|answer| answer.copies).sum();
    let mut events = VecDeque::new();
    let mut rest = answers.into_iter();
    loop {
        let changes: Vec<AnswerChange> = rest.by_ref().take(ANSWERS_AT_ONCE_MAX).collect();
        if changes.is_empty() {
            events.push_back(LiveEvent::SnapshotEnd { epoch, answers: count });
            return events;
        }
        events.push_back(LiveEvent::Answers { epoch, changes });
    }
}
