//! Following a live query through the journal of a knowledge base that another process may write to, or that was written before.
//!
//! 1. The commits up to the one to begin with are made to happen again, as when a base is opened.
//! 2. Each commit after it is made to happen, and what it changed in the spaces changes the answers.
//! 3. Where the journal ends for now, there is nothing to be told, and may be later.
//!
//! It takes no lock and writes nothing. It holds what the knowledge base holds.

use super::event::{LiveEvent, snapshot};
use super::queries::{LiveQueries, LiveQueriesStatistics};
use super::request::{LiveRequest, LiveRequestError};
use crate::commit_journal::load::{Loaded, new_runner};
use crate::commit_journal::{CommitJournal, Commits, KnowledgeBaseError};
use crate::history::shown;
use crate::view::View;
use metta::{AnswerChange, ChangeExtent, LiveDefinition, LiveQuery, LiveRulesStatistics, LiveStatistics, Runner};
use space::Atom;
use std::collections::VecDeque;
use std::fmt;
use std::path::Path;

/// Follows a live query through a journal.
pub struct LiveFollower {
    runner: Runner,
    loaded: Loaded,
    commits: Commits,
    queries: LiveQueries,
    number: usize,
    waiting: VecDeque<LiveEvent>,
    /// The last commit that was told of.
    told: u64,
}

/// Why a live query cannot be followed.
#[derive(Debug)]
#[non_exhaustive]
pub enum FollowError {
    /// It is none.
    Request(LiveRequestError),
    /// There is no knowledge base, or it is damaged.
    KnowledgeBase(KnowledgeBaseError),
}

impl fmt::Display for FollowError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => error.fmt(formatter),
            Self::KnowledgeBase(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for FollowError {}

impl From<KnowledgeBaseError> for FollowError {
    fn from(error: KnowledgeBaseError) -> Self {
        Self::KnowledgeBase(error)
    }
}

impl From<LiveRequestError> for FollowError {
    fn from(error: LiveRequestError) -> Self {
        Self::Request(error)
    }
}

impl LiveFollower {
    /// Begins with the answers that there are in the knowledge base of a directory, or else after a commit, whose answers are not told: so goes on
    /// who was told up to that commit before.
    ///
    /// # Errors
    /// There is no knowledge base or no such commit, it is damaged, or the query is none.
    pub fn open(directory: impl AsRef<Path>, request: &LiveRequest, after: Option<u64>) -> Result<Self, FollowError> {
        Self::of_journal(&CommitJournal::read(directory)?, request, after)
    }

    pub(crate) fn of_journal(
        journal: &CommitJournal,
        request: &LiveRequest,
        after: Option<u64>,
    ) -> Result<Self, FollowError> {
        let (mut runner, mut loaded, mut commits) = (new_runner(), Loaded::default(), journal.commits()?);
        runner.keep_hashes();
        while after.is_none_or(|after| loaded.epoch < after) && loaded.take_next(&mut commits, &mut runner)? {}
        if let Some(epoch) = after
            && epoch > loaded.epoch
        {
            return Err(KnowledgeBaseError::NoEpoch { epoch, last: loaded.epoch }.into());
        }
        runner.note_changes();
        let now = runner.program().snapshot(Some(loaded.epoch), None);
        let view = View::new(now, loaded.epoch, loaded.hash.value(), None);
        let definition = request.read(&view)?;
        let (mut queries, told) = (LiveQueries::default(), loaded.epoch);
        let number = queries.add(&definition, runner.program_mut()).map_err(LiveRequestError::Unfit)?;
        let waiting = match after {
            Some(_) => VecDeque::new(),
            None => {
                let known = queries.known(number).map_or_else(|| answers_in(&definition, &view), Ok)?;
                snapshot(told, known)
            }
        };
        Ok(Self { runner, loaded, commits, queries, number, waiting, told })
    }

    /// What there is to be told next; nothing where the journal ends for now.
    ///
    /// # Errors
    /// The journal is damaged.
    pub fn next_event(&mut self) -> Result<Option<LiveEvent>, KnowledgeBaseError> {
        if let Some(event) = self.waiting.pop_front() {
            return Ok(Some(event));
        }
        loop {
            let (before, others) = (self.loaded.epoch, self.loaded.others);
            if !self.loaded.take_next(&mut self.commits, &mut self.runner)? {
                let epoch = self.loaded.epoch;
                let is_news = std::mem::replace(&mut self.told, epoch) < epoch;
                return Ok(is_news.then_some(LiveEvent::Progress { epoch }));
            }
            let changes = self.runner.take_changes();
            let has_others = self.loaded.others > others;
            let extent = ChangeExtent { states: has_others, modules: has_others };
            let variables = self.runner.program_mut().variables().last();
            let changed = self.queries.take_changes(&changes, extent, variables);
            let epoch = self.loaded.epoch;
            if let Some((_, change)) = changed.into_iter().next() {
                debug_assert!(epoch > before, "a note between two commits changes nothing");
                self.told = epoch;
                return Ok(Some(LiveEvent::of(epoch, change)));
            }
        }
    }

    /// Whether something is to be told that was found already.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// An answer as a source of the knowledge base's program would have it, as far as it can be written.
    pub fn text(answer: &Atom) -> String {
        shown(answer)
    }

    /// The last commit that was looked at.
    pub fn epoch(&self) -> u64 {
        self.loaded.epoch
    }

    /// What the commits that were followed came to.
    pub fn queries_statistics(&self) -> LiveQueriesStatistics {
        self.queries.statistics()
    }

    /// What was done to keep the rows of the call up to date, if its answers are followed.
    pub fn rules_statistics(&self) -> Option<LiveRulesStatistics> {
        self.queries.rules_statistics(self.number)
    }

    /// What was done to keep the answers up to date.
    pub fn statistics(&self) -> LiveStatistics {
        self.queries.get(self.number).map(LiveQuery::statistics).unwrap_or_default()
    }
}

/// The answers of a query that rows answer, in a view.
pub(super) fn answers_in(definition: &LiveDefinition, view: &View) -> Result<Vec<AnswerChange>, LiveRequestError> {
    let found = LiveQuery::answers_in(definition, view.live_space(), &view.snapshot().top_space_with_imports())?;
    Ok(found.expect("rows answered the query when this view was made"))
}
