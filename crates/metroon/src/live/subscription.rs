//! Subscriptions: live queries of a knowledge base that is open in this process.
//!
//! 1. A subscription is made by the thread that writes, between two commits. That takes as long as finding the answers once if
//!    something is made of them, and else no time: they are found by who follows, in the view of that moment.
//! 2. After each commit that thread leaves what it changed on the [board](super::board).
//! 3. A subscriber that begins after an earlier commit is told of those between by the journal, and then by the board.

use super::board::{Board, Found};
use super::event::LiveEvent;
use super::follower::{FollowError, LiveFollower, answers_in};
use super::hub::{Joined, NotJoined};
use super::request::{LiveRequest, LiveRequestError};
use crate::commit_journal::KnowledgeBaseError;
use crate::view::{View, ViewError};
use crate::writer::WriterError;
use metta::LiveDefinition;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many changes wait for who follows before some are dropped, unless set otherwise.
pub const CHANGES_WAITING_DEFAULT: usize = 1 << 16;

/// Why a live query is not followed any more, or cannot be.
#[derive(Debug)]
#[non_exhaustive]
pub enum SubscribeError {
    /// It is none.
    Request(LiveRequestError),
    /// The commits before cannot be read.
    KnowledgeBase(KnowledgeBaseError),
    /// The answers of the beginning cannot be read.
    View(ViewError),
    /// The thread that writes did not take it.
    Writer(WriterError),
    /// The answers of its beginning have no room beside what waits for others who follow queries of this base.
    Full {
        /// How many bytes wait.
        waiting: usize,
        /// How many may.
        waiting_max: usize,
    },
}

impl fmt::Display for SubscribeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => error.fmt(formatter),
            Self::KnowledgeBase(error) => error.fmt(formatter),
            Self::View(error) => error.fmt(formatter),
            Self::Writer(error) => error.fmt(formatter),
            Self::Full { waiting, waiting_max } => write!(
                formatter,
                "{waiting} bytes wait for those who follow queries of this base, of {waiting_max} that may, and the answers of another query \
                 have no room: take what waits, close subscriptions that nobody reads, or open the base with more room"
            ),
        }
    }
}

impl std::error::Error for SubscribeError {}

impl From<LiveRequestError> for SubscribeError {
    fn from(error: LiveRequestError) -> Self {
        Self::Request(error)
    }
}

impl From<WriterError> for SubscribeError {
    fn from(error: WriterError) -> Self {
        Self::Writer(error)
    }
}

impl From<NotJoined> for SubscribeError {
    fn from(error: NotJoined) -> Self {
        match error {
            NotJoined::Unfit(error) => Self::Request(LiveRequestError::Unfit(error)),
            NotJoined::Full(full) => Self::Full { waiting: full.waiting, waiting_max: full.waiting_max },
        }
    }
}

impl From<FollowError> for SubscribeError {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Request(error) => Self::Request(error),
            FollowError::KnowledgeBase(error) => Self::KnowledgeBase(error),
        }
    }
}

/// A live query that somebody follows, on any thread. It ends when it is dropped.
///
/// As an iterator it waits for each event, and ends when the knowledge base is closed.
pub struct Subscription {
    board: Arc<Board>,
    number: usize,
    /// What comes before the board.
    waiting: VecDeque<LiveEvent>,
    /// Whose answers are to be found first, in which view.
    first: Option<(LiveDefinition, View)>,
    /// The commits between, and the last of them.
    missed: Option<(Box<LiveFollowing>, u64)>,
    /// The last commit that was told of.
    told: u64,
    is_over: bool,
}

/// What is to be followed through the journal, when somebody first asks: it belongs to their thread.
pub(crate) struct LiveFollowing {
    pub(crate) journal: crate::commit_journal::CommitJournal,
    pub(crate) request: LiveRequest,
    pub(crate) after: u64,
}

impl Subscription {
    /// One that begins with the answers in a view.
    pub(crate) fn of_now(joined: Joined, definition: LiveDefinition, view: View) -> Self {
        let Joined { number, known, board } = joined;
        let told = view.epoch();
        let (first, waiting) = match known {
            Some(known) => (None, super::event::snapshot(told, known)),
            None => (Some((definition, view)), VecDeque::new()),
        };
        Self { board, number, waiting, first, missed: None, told, is_over: false }
    }

    /// One that begins after an earlier commit; `last` is the last that the board does not tell of.
    pub(crate) fn of_before(joined: Joined, following: LiveFollowing, last: u64) -> Self {
        let Joined { number, board, .. } = joined;
        // The answers that are known are not told.
        board.begun(number);
        let told = following.after;
        let missed = Some((Box::new(following), last));
        Self { board, number, waiting: VecDeque::new(), first: None, missed, told, is_over: false }
    }

    /// What comes next; nothing if nothing comes within a time. Commits that changed nothing are told of as
    /// [`LiveEvent::Progress`] where nothing else waits.
    ///
    /// # Errors
    /// Commits that were made before cannot be read.
    pub fn next_within(&mut self, time: Duration) -> Result<Option<LiveEvent>, SubscribeError> {
        self.take(Instant::now().checked_add(time))
    }

    /// What waits; nothing if nothing does.
    ///
    /// # Errors
    /// Commits that were made before cannot be read.
    pub fn try_next(&mut self) -> Result<Option<LiveEvent>, SubscribeError> {
        self.next_within(Duration::ZERO)
    }

    /// Whether all events of a knowledge base that was closed were taken.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    fn take(&mut self, until: Option<Instant>) -> Result<Option<LiveEvent>, SubscribeError> {
        self.begin()?;
        if let Some(event) = self.waiting.pop_front() {
            if self.waiting.is_empty() {
                self.board.begun(self.number);
            }
            self.told = self.told.max(event.epoch());
            return Ok(Some(event));
        }
        let event = match self.board.take(self.number, self.told, until) {
            Found::Event(event) => event,
            Found::Nothing(epoch) if epoch > self.told => LiveEvent::Progress { epoch },
            Found::Nothing(_) => return Ok(None),
            Found::Closed => {
                self.is_over = true;
                return Ok(None);
            }
        };
        self.told = event.epoch();
        Ok(Some(event))
    }

    /// Finds what comes before the board.
    fn begin(&mut self) -> Result<(), SubscribeError> {
        if let Some((definition, view)) = self.first.take() {
            let answers = view.undamaged(|view| answers_in(&definition, view)).map_err(SubscribeError::View)?;
            self.waiting = super::event::snapshot(view.epoch(), answers?);
        }
        let Some((following, last)) = self.missed.take() else { return Ok(()) };
        let LiveFollowing { mut journal, request, after } = *following;
        journal.end_at(last);
        let mut follower = LiveFollower::of_journal(&journal, &request, Some(after))?;
        while let Some(event) = follower.next_event().map_err(SubscribeError::KnowledgeBase)? {
            self.waiting.push_back(event);
        }
        Ok(())
    }
}

impl Iterator for Subscription {
    type Item = Result<LiveEvent, SubscribeError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.take(None).transpose()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.board.leave(self.number);
    }
}
