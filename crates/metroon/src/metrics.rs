//! What a knowledge base has done since it was opened, as numbers that any thread reads without waiting.
//!
//! A commit adds to a handful of atomic counters; nothing is kept for each commit, and no clock is read. What happened, and when, is told
//! by the events of [`tracing`]: see [`crate::logs`].

use metta::{Commit, CommitSink, CommitStamp, Program, SinkError};
use space::ChangeDetail;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a [`KnowledgeBase`](crate::KnowledgeBase) has done since it was opened, and what it holds.
///
/// The numbers are read one after the other while the writer goes on: each is true of some moment of the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// The last commit.
    pub epoch: u64,
    /// How many atoms the program's own space holds after it, copies counted.
    pub atoms: u64,
    /// How many commits changed something.
    pub commits: u64,
    /// How many copies of atoms commits have added, in all spaces.
    pub atoms_added: u64,
    /// How many they have removed.
    pub atoms_removed: u64,
    /// How many values of states they have set.
    pub states_set: u64,
    /// What the writer was asked to do: runs, loads, transactions, subscriptions.
    pub requests: u64,
    /// How much of that it has not begun yet. If as much waits as may, the next caller waits for room.
    pub requests_waiting: u64,
}

impl statistics::Statistics for Metrics {
    fn what(&self) -> &'static str {
        "open knowledge base"
    }

    fn entries(&self, to: &mut statistics::Entries) {
        to.count("epoch", "The last commit.", self.epoch);
        to.count("atoms", "Atoms that the program's own space holds after it, copies counted.", self.atoms);
        to.count("commits", "Commits that changed something since it was opened.", self.commits);
        to.count("atoms_added", "Copies of atoms that they added, in all spaces.", self.atoms_added);
        to.count("atoms_removed", "Copies of atoms that they removed.", self.atoms_removed);
        to.count("states_set", "Values of states that they set.", self.states_set);
        to.count("requests", "What the writer was asked to do.", self.requests);
        to.count("requests_waiting", "How much of that has not begun yet.", self.requests_waiting);
    }
}

/// The counters behind [`Metrics`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    commits: AtomicU64,
    atoms_added: AtomicU64,
    atoms_removed: AtomicU64,
    states_set: AtomicU64,
    requests: AtomicU64,
    requests_begun: AtomicU64,
}

impl Counters {
    /// The writer was asked to do something.
    pub(crate) fn asked(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// It will not do what it was asked.
    pub(crate) fn refused(&self) {
        self.requests.fetch_sub(1, Ordering::Relaxed);
    }

    /// It begins to do it.
    pub(crate) fn begun(&self) {
        self.requests_begun.fetch_add(1, Ordering::Relaxed);
    }

    /// The numbers of now, for a knowledge base that is as given.
    pub(crate) fn read(&self, epoch: u64, atoms: u64) -> Metrics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        // What has begun is read first, so that nothing counts as begun that does not count as asked.
        let begun = read(&self.requests_begun);
        let requests = read(&self.requests);
        Metrics {
            epoch,
            atoms,
            commits: read(&self.commits),
            atoms_added: read(&self.atoms_added),
            atoms_removed: read(&self.atoms_removed),
            states_set: read(&self.states_set),
            requests,
            requests_waiting: requests.saturating_sub(begun),
        }
    }
}

/// Counts what commits change.
pub(crate) struct CountingSink(pub(crate) Arc<Counters>);

impl CommitSink for CountingSink {
    fn name(&self) -> &'static str {
        "the metrics of the knowledge base"
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Counts
    }

    fn take(&mut self, _: &Program, commit: &Commit, _: &mut CommitStamp) -> Result<(), SinkError> {
        if commit.is_empty() {
            return Ok(());
        }
        let add = |counter: &AtomicU64, more: u64| counter.fetch_add(more, Ordering::Relaxed);
        add(&self.0.commits, 1);
        add(&self.0.atoms_added, commit.changes.added);
        add(&self.0.atoms_removed, commit.changes.removed);
        add(&self.0.states_set, commit.changes.states().count() as u64);
        Ok(())
    }
}
