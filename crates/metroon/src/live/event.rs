//! What somebody hears who follows a live query.

use super::queries::LiveChange;
use metta::AnswerChange;
use space::{Atom, Grounded, distinct_parts_in};
use std::collections::VecDeque;

/// How many nodes of an answer are looked at to tell how much memory it takes. What it shares is counted once, but for its first thousand
/// expressions.
const NODES_MAX: usize = 1 << 14;
/// What an expression, a text or a symbol takes beside what it holds.
const NODE_BYTES: usize = 32;

/// How many answers at most are handed out at once at the beginning.
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
    /// Since this commit the answers are not kept up to date: rows do not answer the rules of the call any more. They are again as soon as rows
    /// do, and then [`LiveEvent::Changes`] has what has changed since, which may be nothing.
    Stopped {
        /// The commit.
        epoch: u64,
        /// Why.
        reason: String,
    },
    /// Nobody took what waited, and the queue was full: what these commits changed is not handed out. It is
    /// told to those who follow the query anew after the commit before them.
    Dropped {
        /// The first of them that changed something.
        from: u64,
        /// The last.
        to: u64,
    },
}

impl LiveEvent {
    /// What a commit came to.
    pub(super) fn of(epoch: u64, change: LiveChange) -> Self {
        match change {
            LiveChange::Answers(changes) => Self::Changes { epoch, changes },
            LiveChange::Stopped(reason) => Self::Stopped { epoch, reason: reason.to_owned() },
        }
    }

    /// How many changes it has.
    pub(super) fn changes(&self) -> usize {
        match self {
            Self::Answers { changes, .. } | Self::Changes { changes, .. } => changes.len(),
            _ => 0,
        }
    }

    /// How many bytes of memory it takes, about.
    pub(super) fn bytes(&self) -> usize {
        let changes = match self {
            Self::Answers { changes, .. } | Self::Changes { changes, .. } => bytes_of(changes),
            _ => 0,
        };
        size_of::<Self>() + changes
    }

    /// The last commit that it tells of.
    pub fn epoch(&self) -> u64 {
        match self {
            Self::Answers { epoch, .. }
            | Self::SnapshotEnd { epoch, .. }
            | Self::Changes { epoch, .. }
            | Self::Progress { epoch }
            | Self::Stopped { epoch, .. }
            | Self::Dropped { to: epoch, .. } => *epoch,
        }
    }
}

/// How many bytes of memory changes take, about.
pub(super) fn bytes_of(changes: &[AnswerChange]) -> usize {
    let sides = changes.iter().flat_map(|change| change.before.iter().chain(&change.after));
    size_of_val(changes) + sides.map(bytes_of_atom).sum::<usize>()
}

fn bytes_of_atom(atom: &Atom) -> usize {
    let bytes = |part: &Atom| match part {
        Atom::Expression(expression) => NODE_BYTES + size_of_val(expression.children()),
        Atom::Grounded(Grounded::Text(text)) => NODE_BYTES + text.len(),
        Atom::Grounded(Grounded::Number(_) | Grounded::Bool(_)) => 0,
        _ => NODE_BYTES,
    };
    distinct_parts_in(atom, |part| matches!(part, Atom::Expression(_))).take(NODES_MAX).map(bytes).sum()
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
