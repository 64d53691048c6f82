//! How a state is kept.

use journal::Durability;
use std::fmt;
use std::sync::Arc;

/// A clock, for statistics only: nothing that is logged, hashed or derived depends on it.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// How a state is kept.
#[derive(Clone)]
pub struct Options {
    pub(crate) durability: Durability,
    /// None: as many as the machine has, which is asked for when it matters, since that costs more than making a state.
    pub(crate) threads: Option<usize>,
    pub(crate) is_checked: bool,
    pub(crate) is_hashed: bool,
    pub(crate) logs_derived: bool,
    pub(crate) clock: Option<Clock>,
    pub(crate) journal: journal::Options,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Os,
            threads: None,
            is_checked: false,
            is_hashed: false,
            logs_derived: false,
            clock: None,
            journal: journal::Options::default(),
        }
    }
}

impl Options {
    /// What a commit waits for; [`Durability::Os`] unless said otherwise. With less, [`State::sync`](crate::State::sync) makes many
    /// commits durable at once.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// How many threads derive pages, where that is worth it; as many as the machine has, unless said otherwise. The outcome is the same
    /// for any number.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Runs each function twice and refuses the transaction if it writes two things.
    #[must_use]
    pub fn check_functions(mut self, is_checked: bool) -> Self {
        self.is_checked = is_checked;
        self
    }

    /// Logs the hash of the state with each commit. Whoever opens or replays the log finds out then, commit by commit, if a function
    /// derives something else than it did.
    #[must_use]
    pub fn log_hashes(mut self, is_hashed: bool) -> Self {
        self.is_hashed = is_hashed;
        self
    }

    /// Logs what derived pages hold as well. Nothing needs it: whoever opens or replays the log derives them, compares, and is told which page
    /// holds something else than it did. It takes as many bytes as change.
    #[must_use]
    pub fn log_derived(mut self, logs_derived: bool) -> Self {
        self.logs_derived = logs_derived;
        self
    }

    /// Measures the stages of commits ([`Stages`](crate::Stages)) by this clock.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// How the journal of the log is kept: its identity, how long its segments get, and how much is held back.
    #[must_use]
    pub fn journal(mut self, options: journal::Options) -> Self {
        self.journal = options;
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("durability", &self.durability)
            .field("threads", &self.threads)
            .field("is_checked", &self.is_checked)
            .field("is_hashed", &self.is_hashed)
            .field("logs_derived", &self.logs_derived)
            .finish_non_exhaustive()
    }
}
