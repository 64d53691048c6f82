//! Where the thread that writes leaves what it has found out for those who follow live queries.
//!
//! 1. Each of them has a queue of bounded length. If it is full, what would come into it is dropped, and a notice of which commits that were
//!    takes its place: the writer never waits for a reader.
//! 2. All queues together have a largest number of bytes. If they are full, each is entitled to an equal share: what comes to a queue that has more is
//!    dropped, and what comes to another one takes the place of the newest that waits in the longest queue. One commit's changes are taken
//!    whole, however many bytes they have, if nothing else waits anywhere.
//! 3. A commit that changes nothing for a query is not queued: there is one number for all, that of the last commit.
//!
//! Cost: a look at all queues when one that has less than its share meets full ones; the longest is then cut to its share.

use super::event::{LiveEvent, bytes_of};
use super::queries::Changed;
use metta::AnswerChange;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// How many bytes wait for all who follow the live queries of a base before some are dropped, unless set otherwise.
pub const CHANGES_WAITING_BYTES_DEFAULT: usize = 64 << 20;

/// The queues of all who follow.
#[derive(Default)]
pub(super) struct Board {
    state: Mutex<BoardState>,
    news: Condvar,
}

struct BoardState {
    /// How many bytes wait in all queues, and may.
    bytes: usize,
    bytes_max: usize,
    epoch: u64,
    is_closed: bool,
    queues: BTreeMap<usize, Queue>,
    /// Whose queue is gone, and whose query is to go.
    left: Vec<usize>,
}

struct Queue {
    /// What waits, with how many bytes each has.
    events: VecDeque<(LiveEvent, usize)>,
    /// How many changes wait in it, and may.
    waiting: usize,
    waiting_max: usize,
    /// How many bytes wait in it.
    bytes: usize,
    /// How many bytes the answers of the beginning have, until they were taken.
    held: usize,
}

/// Why nobody else can follow a query: the bytes that wait for others already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoardFull {
    pub(super) waiting: usize,
    pub(super) waiting_max: usize,
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

    /// Says how many bytes may wait in all queues.
    pub(super) fn set_bytes_max(&self, bytes: usize) {
        self.state().bytes_max = bytes;
    }

    /// Begins a queue for a query, after this commit, for somebody who begins with these answers.
    ///
    /// # Errors
    /// The answers would be more than may wait.
    pub(super) fn join(
        &self,
        number: usize,
        (waiting_max, epoch): (usize, u64),
        known: Option<&[AnswerChange]>,
    ) -> Result<(), BoardFull> {
        let held = known.map_or(0, bytes_of);
        let mut state = self.state();
        if state.bytes > 0 && state.bytes.saturating_add(held) > state.bytes_max {
            return Err(BoardFull { waiting: state.bytes, waiting_max: state.bytes_max });
        }
        state.epoch = state.epoch.max(epoch);
        state.bytes += held;
        let queue = Queue { events: VecDeque::new(), waiting: 0, waiting_max, bytes: 0, held };
        state.queues.insert(number, queue);
        Ok(())
    }

    /// The answers of the beginning were taken.
    pub(super) fn begun(&self, number: usize) {
        let mut state = self.state();
        let held = state.queues.get_mut(&number).map_or(0, |queue| std::mem::take(&mut queue.held));
        state.bytes -= held;
    }

    /// Ends the queue of a query.
    pub(super) fn leave(&self, number: usize) {
        let mut state = self.state();
        let left = state.queues.remove(&number).map_or(0, |queue| queue.bytes + queue.held);
        state.bytes -= left;
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
            state.put(number, epoch, LiveEvent::of(epoch, change));
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
            if let Some((event, bytes)) = state.queues.get_mut(&number).and_then(Queue::take) {
                state.bytes -= bytes;
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

impl Default for BoardState {
    fn default() -> Self {
        Self {
            bytes: 0,
            bytes_max: CHANGES_WAITING_BYTES_DEFAULT,
            epoch: 0,
            is_closed: false,
            queues: BTreeMap::new(),
            left: Vec::new(),
        }
    }
}

impl BoardState {
    /// Puts what a commit changed for a query into its queue, if somebody follows it.
    fn put(&mut self, number: usize, epoch: u64, event: LiveEvent) {
        let bytes = event.bytes();
        if self.queues.contains_key(&number) {
            self.make_room(number, bytes);
        }
        let has_room = self.has_room(bytes);
        if let Some(queue) = self.queues.get_mut(&number) {
            let before = queue.bytes;
            queue.put(number, epoch, (event, bytes), has_room);
            self.bytes += queue.bytes - before;
        }
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.bytes == 0 || self.bytes.saturating_add(bytes) <= self.bytes_max
    }

    /// Makes room for what comes to a queue, if that has no more than its share with it: the longest queue is cut to its share.
    fn make_room(&mut self, number: usize, bytes: usize) {
        let share = self.bytes_max / self.queues.len().max(1);
        let mine = self.queues.get(&number).map_or(0, |queue| queue.bytes + queue.held);
        while !self.has_room(bytes) && mine + bytes <= share {
            let longest = self.queues.iter_mut().max_by_key(|(_, queue)| queue.bytes);
            let Some((&longest, queue)) = longest.filter(|(_, queue)| queue.bytes > share) else { return };
            let before = queue.bytes;
            queue.cut(longest, share);
            self.bytes -= before - queue.bytes;
        }
    }
}

/// How many bytes a notice of what was dropped has.
const NOTICE_BYTES: usize = size_of::<LiveEvent>();

impl Queue {
    fn put(&mut self, number: usize, epoch: u64, (event, bytes): (LiveEvent, usize), has_room: bool) {
        let more = self.waiting + event.changes();
        // One commit is taken whole, however many changes it has, if nothing else waits.
        if has_room && (more <= self.waiting_max || self.events.is_empty()) {
            self.waiting = more;
            self.bytes += bytes;
            self.events.push_back((event, bytes));
        } else {
            self.drop_from(number, epoch, epoch);
        }
    }

    /// Notes that what these commits changed is not handed out.
    fn drop_from(&mut self, number: usize, from: u64, to: u64) {
        if let Some((LiveEvent::Dropped { to: last, .. }, _)) = self.events.back_mut() {
            *last = to;
            return;
        }
        tracing::warn!(target: crate::logs::LIVE, subscriber = number, epoch = to, "changes are dropped");
        self.bytes += NOTICE_BYTES;
        self.events.push_back((LiveEvent::Dropped { from, to }, NOTICE_BYTES));
    }

    /// Drops the newest of what waits until at most `bytes_max` bytes do.
    fn cut(&mut self, number: usize, bytes_max: usize) {
        let mut dropped: Option<(u64, u64)> = None;
        while self.bytes + NOTICE_BYTES > bytes_max {
            let Some((event, _)) = self.take_back() else { break };
            let (from, to) = match event {
                LiveEvent::Dropped { from, to } => (from, to),
                event => (event.epoch(), event.epoch()),
            };
            dropped = Some((from, dropped.map_or(to, |(_, last)| last)));
        }
        if let Some((from, to)) = dropped {
            self.drop_from(number, from, to);
        }
    }

    fn take(&mut self) -> Option<(LiveEvent, usize)> {
        let taken = self.events.pop_front();
        self.without(taken)
    }

    fn take_back(&mut self) -> Option<(LiveEvent, usize)> {
        let taken = self.events.pop_back();
        self.without(taken)
    }

    fn without(&mut self, taken: Option<(LiveEvent, usize)>) -> Option<(LiveEvent, usize)> {
        let (event, bytes) = taken?;
        self.waiting -= event.changes();
        self.bytes -= bytes;
        Some((event, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::super::queries::LiveChange;
    use super::*;
    use space::Atom;

    fn change(text: &str) -> LiveChange {
        LiveChange::Answers(vec![AnswerChange { before: None, after: Some(Atom::from(text)), copies: 1 }])
    }

    fn waiting(board: &Board) -> (usize, usize) {
        let state = board.state();
        let held: usize = state.queues.values().map(|queue| queue.bytes + queue.held).sum();
        assert_eq!(state.bytes, held, "the sum is that of the queues");
        (state.bytes, state.queues.values().map(|queue| queue.events.len()).sum())
    }

    /// What is told next: the commits whose changes are, and those whose are not.
    fn next(board: &Board, number: usize) -> Option<(u64, u64, bool)> {
        match board.take(number, u64::MAX, Some(Instant::now())) {
            Found::Event(LiveEvent::Dropped { from, to }) => Some((from, to, false)),
            Found::Event(event) => Some((event.epoch(), event.epoch(), true)),
            _ => None,
        }
    }

    #[test]
    fn all_queues_together_are_bounded_and_each_commit_is_told_or_named() {
        for (queues, bytes_max) in [(1, 2_000), (3, 5_000), (50, 20_000)] {
            let board = Board::default();
            board.set_bytes_max(bytes_max);
            (0..queues).for_each(|number| board.join(number, (1 << 16, 0), None).expect("it has room"));
            let mut told = vec![Vec::new(); queues];
            for epoch in 1..=300 {
                let text = "x".repeat(epoch as usize * 7 % 60);
                board.put(epoch, (0..queues).map(|number| (number, change(&text))).collect());
                // Notices have bytes too, one for each queue.
                assert!(waiting(&board).0 <= bytes_max + queues * NOTICE_BYTES, "{:?}", waiting(&board));
                // The first reads all, the others from time to time, and the last never.
                told[0].extend(std::iter::from_fn(|| next(&board, 0)));
                let reader = epoch as usize % queues;
                if reader + 1 < queues {
                    told[reader].extend(next(&board, reader));
                }
            }
            for (number, told) in told.iter_mut().enumerate() {
                told.extend(std::iter::from_fn(|| next(&board, number)));
                let mut last = 0;
                for &(from, to, _) in &*told {
                    assert_eq!((from, from <= to), (last + 1, true), "queue {number} of {queues}: {told:?}");
                    last = to;
                }
                assert_eq!(last, 300, "queue {number} of {queues}: {told:?}");
            }
            assert!(told[0].iter().all(|&(_, _, is_told)| is_told), "who reads at once misses nothing");
            assert_eq!(waiting(&board), (0, 0));
        }
    }

    #[test]
    fn answers_of_a_beginning_count_until_they_are_taken() {
        let LiveChange::Answers(answers) = change(&"x".repeat(600)) else { unreachable!() };
        let board = Board::default();
        board.set_bytes_max(1_000);
        board.join(0, (10, 0), Some(&answers)).expect("nothing waits");
        let full = board.join(1, (10, 0), Some(&answers)).expect_err("two have no room");
        assert!(full.waiting > 600 && full.waiting_max == 1_000, "{full:?}");
        board.begun(0);
        board.join(1, (10, 0), Some(&answers)).expect("the first was taken");
        board.leave(1);
        board.leave(0);
        assert_eq!(waiting(&board), (0, 0));
    }
}
