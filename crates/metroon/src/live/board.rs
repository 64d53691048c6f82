//! Where the thread that writes leaves what it has found out for those who follow live queries.
//!
//! Each of them has a queue of bounded length. If it is full, what would come into it is dropped, and a notice of which commits that were
//! takes its place: the writer never waits for a reader. A commit that changes nothing for a query is not queued: there is one number for
//! all, that of the last commit.

use super::event::LiveEvent;
use super::queries::Changed;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The queues of all who follow.
#[derive(Default)]
pub(super) struct Board {
    state: Mutex<BoardState>,
    news: Condvar,
}

#[derive(Default)]
struct BoardState {
    epoch: u64,
    is_closed: bool,
    queues: BTreeMap<usize, Queue>,
    /// Whose queue is gone, and whose query is to go.
    left: Vec<usize>,
}

struct Queue {
    events: VecDeque<LiveEvent>,
    /// How many changes wait in it, and may.
    waiting: usize,
    waiting_max: usize,
}

/// What there was when somebody looked.
pub(super) enum Found {
    Event(LiveEvent),
    /// Nothing, and nothing has changed up to this commit.
    Nothing(u64),
    /// Nothing, and nothing will be.
    Closed,
}

impl Board {
    fn state(&self) -> MutexGuard<'_, BoardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a queue for a query, after this commit.
    pub(super) fn join(&self, number: usize, waiting_max: usize, epoch: u64) {
        let mut state = self.state();
        state.epoch = state.epoch.max(epoch);
        let queue = Queue { events: VecDeque::new(), waiting: 0, waiting_max };
        state.queues.insert(number, queue);
    }

    /// Ends the queue of a query.
    pub(super) fn leave(&self, number: usize) {
        let mut state = self.state();
        state.queues.remove(&number);
        state.left.push(number);
    }

    /// The queries that nobody follows any more.
    pub(super) fn left(&self) -> Vec<usize> {
        std::mem::take(&mut self.state().left)
    }

    /// Says what a commit changed.
    pub(super) fn put(&self, epoch: u64, changed: Changed) {
        let mut state = self.state();
        state.epoch = epoch;
        for (number, change) in changed {
            if let Some(queue) = state.queues.get_mut(&number) {
                queue.put(number, epoch, LiveEvent::of(epoch, change));
            }
        }
        drop(state);
        self.news.notify_all();
    }

    /// Nothing comes any more.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.news.notify_all();
    }

    /// Takes what comes next for a query. If there is nothing, and nothing has happened since a commit, it waits until then, or until
    /// something happens; for ever if no time is given.
    pub(super) fn take(&self, number: usize, since: u64, until: Option<Instant>) -> Found {
        let mut state = self.state();
        loop {
            let epoch = state.epoch;
            if let Some(event) = state.queues.get_mut(&number).and_then(Queue::take) {
                return Found::Event(event);
            }
            if epoch > since {
                return Found::Nothing(epoch);
            }
            if state.is_closed {
                return Found::Closed;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            state = match left {
                Some(left) if left.is_zero() => return Found::Nothing(epoch),
                Some(left) => self.news.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.news.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl Queue {
    fn put(&mut self, number: usize, epoch: u64, event: LiveEvent) {
        let more = self.waiting + event.changes();
        // One commit is taken whole, whatever it changes, if nothing else waits.
        if more <= self.waiting_max || self.events.is_empty() {
            self.waiting = more;
            self.events.push_back(event);
        } else if let Some(LiveEvent::Dropped { to, .. }) = self.events.back_mut() {
            *to = epoch;
        } else {
            tracing::warn!(target: crate::logs::LIVE, subscriber = number, epoch, "changes are dropped");
            self.events.push_back(LiveEvent::Dropped { from: epoch, to: epoch });
        }
    }

    fn take(&mut self) -> Option<LiveEvent> {
        let event = self.events.pop_front()?;
        self.waiting -= event.changes();
        Some(event)
    }
}
