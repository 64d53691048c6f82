//! Following a live query through the journal of a knowledge base that another process may write to, or that was written before.
//!
//! 1. What there was after the commit to begin with is made of the newest checkpoint that is not of a later commit, and of the commits after
//!    it, or of all commits. If a checkpoint turns out to be damaged, all is made again without it, and nothing is told twice.
//! 2. Each commit after it is made to happen, and what it changed in the spaces changes the answers.
//! 3. Where the journal ends for now, there is nothing to be told, and may be later.
//!
//! It takes no lock and writes nothing. It holds what the knowledge base holds.

use super::event::{LiveEvent, snapshot};
use super::queries::{LiveQueries, LiveQueriesStatistics};
use super::request::{LiveRequest, LiveRequestError};
use crate::commit_journal::load::Loaded;
use crate::commit_journal::{CommitJournal, Commits, KnowledgeBaseError};
use crate::history::shown;
use crate::view::View;
use metta::{AnswerChange, ChangeExtent, LiveDefinition, LiveQuery, LiveRulesStatistics, LiveStatistics, Session};
use space::{Atom, ImageDamage, catching_damage};
use std::collections::VecDeque;
use std::fmt;
use std::path::Path;

/// Follows a live query through a journal.
pub struct LiveFollower {
    journal: CommitJournal,
    request: LiveRequest,
    following: Following,
    waiting: VecDeque<LiveEvent>,
    /// The last commit that was told of.
    told: u64,
}

/// A run that is made to happen again, and the query that is followed.
struct Following {
    session: Session,
    loaded: Loaded,
    commits: Commits,
    queries: LiveQueries,
    number: usize,
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
        let journal = journal.reader();
        // A name means what it means now, wherever following begins.
        let request = &match after {
            Some(_) if request.is_named() => request.as_of_now(&View::up_to(journal.reader(), u64::MAX)?)?,
            _ => request.clone(),
        };
        let (journal, (following, waiting)) = match catching_damage(|| Following::begin(&journal, request, after)) {
            Ok(begun) => (journal, begun?),
            Err(damage) => {
                let journal = without_checkpoints(&journal, &damage);
                let begun = Following::begin(&journal, request, after)?;
                (journal, begun)
            }
        };
        let told = following.loaded.epoch;
        Ok(Self { journal, request: request.clone(), following, waiting, told })
    }

    /// What there is to be told next; nothing where the journal ends for now.
    ///
    /// # Errors
    /// The journal is damaged.
    pub fn next_event(&mut self) -> Result<Option<LiveEvent>, KnowledgeBaseError> {
        if let Some(event) = self.waiting.pop_front() {
            return Ok(Some(event));
        }
        let found = match catching_damage(|| self.following.next_event()) {
            Ok(found) => found?,
            Err(damage) => {
                self.follow_without_checkpoints(&damage)?;
                self.following.next_event()?
            }
        };
        let epoch = self.following.loaded.epoch;
        let is_news = std::mem::replace(&mut self.told, epoch) < epoch;
        Ok(found.or_else(|| is_news.then_some(LiveEvent::Progress { epoch })))
    }

    /// Begins anew after the last commit that was told of, from the first commit: the checkpoint that was used is damaged.
    fn follow_without_checkpoints(&mut self, damage: &ImageDamage) -> Result<(), KnowledgeBaseError> {
        let journal = without_checkpoints(&self.journal, damage);
        let begun = Following::begin(&journal, &self.request, Some(self.told));
        (self.following, _) = begun.map_err(|error| match error {
            FollowError::KnowledgeBase(error) => error,
            // Rows did not answer the rules when it was told last.
            FollowError::Request(error) => KnowledgeBaseError::Checkpoint {
                name: "that it was read from".to_owned(),
                reason: format!("{damage}, and following cannot begin anew after commit {}: {error}", self.told),
                is_removed: false,
            },
        })?;
        self.journal = journal;
        Ok(())
    }

    /// What could not be used so far, such as a checkpoint that is damaged.
    pub fn warnings(&self) -> Vec<String> {
        self.journal.warnings()
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
        self.following.loaded.epoch
    }

    /// What the commits that were followed came to.
    pub fn queries_statistics(&self) -> LiveQueriesStatistics {
        self.following.queries.statistics()
    }

    /// What was done to keep the rows of the call up to date, if its answers are followed.
    pub fn rules_statistics(&self) -> Option<LiveRulesStatistics> {
        self.following.queries.rules_statistics(self.following.number)
    }

    /// What was done to keep the answers up to date.
    pub fn statistics(&self) -> LiveStatistics {
        self.following.queries.get(self.following.number).map(LiveQuery::statistics).unwrap_or_default()
    }
}

/// The commits of a journal without the checkpoints, one of which is damaged.
fn without_checkpoints(journal: &CommitJournal, damage: &ImageDamage) -> CommitJournal {
    let without = journal.reader().without_checkpoints();
    journal.warnings().into_iter().for_each(|warning| without.warn(warning));
    without.warn(format!("a checkpoint is damaged ({damage}), and all commits are read instead"));
    without
}

impl Following {
    /// Begins after a commit, or after the last for now: then what is to be told first comes with it.
    fn begin(
        journal: &CommitJournal,
        request: &LiveRequest,
        after: Option<u64>,
    ) -> Result<(Self, VecDeque<LiveEvent>), FollowError> {
        let (mut session, loaded, commits) = Loaded::begin_after(journal, after)?;
        session.note_changes();
        let now = session.program().snapshot(Some(loaded.epoch), None);
        let view = View::new(now, loaded.epoch, loaded.hash.value(), None);
        let definition = request.read(&view, session.program_mut())?;
        let mut queries = LiveQueries::default();
        let number = queries.add(&definition, session.program()).map_err(LiveRequestError::Unfit)?;
        let waiting = match after {
            Some(_) => VecDeque::new(),
            None => {
                let known = queries.known(number).map_or_else(|| answers_in(&definition, &view), Ok)?;
                snapshot(loaded.epoch, known)
            }
        };
        Ok((Self { session, loaded, commits, queries, number }, waiting))
    }

    /// What the next commit changes that changes something; nothing where the journal ends for now.
    fn next_event(&mut self) -> Result<Option<LiveEvent>, KnowledgeBaseError> {
        loop {
            let (before, others) = (self.loaded.epoch, self.loaded.others);
            if !self.loaded.take_next(&mut self.commits, &mut self.session)? {
                return Ok(None);
            }
            let changes = self.session.take_changes();
            let has_others = self.loaded.others > others;
            let extent = ChangeExtent { states: has_others, modules: has_others };
            let variables = self.session.program_mut().variables().last();
            let changed = self.queries.take_changes(&changes, extent, variables);
            let epoch = self.loaded.epoch;
            if let Some((_, change)) = changed.into_iter().next() {
                debug_assert!(epoch > before, "a note between two commits changes nothing");
                return Ok(Some(LiveEvent::of(epoch, change)));
            }
        }
    }
}

/// The answers of a query that rows answer, in a view.
pub(super) fn answers_in(definition: &LiveDefinition, view: &View) -> Result<Vec<AnswerChange>, LiveRequestError> {
    let found = LiveQuery::answers_in(definition, view.live_space(), &view.snapshot().top_space_with_imports())?;
    Ok(found.expect("rows answered the query when this view was made"))
}
