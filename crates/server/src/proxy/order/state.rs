//! What is known of the answers of a cassette while it is replayed.

use super::moment::{Moment, RecordedSpan};
use super::settling::Settling;
use super::waiting::PATIENCE;
use cassette::Cassette;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How many requests come after they were given up until it is clear that the program asks in another order, or for fewer things at a time:
/// then the order is lost, and to wait for each of them would take all the time.
const LATE_MAX: u64 = 128;

pub(super) struct OrderState {
    /// By position: whether the request was there, or was waited for in vain.
    is_there: Vec<bool>,
    /// All requests before this position were.
    first_missing: usize,
    /// When the first of them was there that was not yet.
    missing: Option<RecordedSpan>,
    /// What was waited for in vain.
    given_up: HashSet<usize>,
    /// The answers that are not over, by when their next piece came.
    pub(super) live: BTreeMap<Moment, LiveState>,
    /// The positions of those that answer the same question.
    pub(super) asked_now: HashMap<usize, Vec<usize>>,
    /// Answers to the same question that were asked for at the same time now.
    pub(super) met: HashSet<(usize, usize)>,
    /// The answer with which the program is left alone.
    pub(super) settling: Option<Settling>,
    pub(super) last_activity: Instant,
    pub(super) patience: Duration,
    pub(super) late: u64,
    pub(super) untimed: u64,
}

pub(super) struct LiveState {
    /// Since when it is giving the piece before; nothing if it waits.
    pub(super) giving_since: Option<Instant>,
    pub(super) wake: Arc<Notify>,
}

impl OrderState {
    pub(super) fn new(exchanges: usize) -> Self {
        Self {
            is_there: vec![false; exchanges],
            first_missing: 0,
            missing: None,
            given_up: HashSet::new(),
            live: BTreeMap::new(),
            asked_now: HashMap::new(),
            met: HashSet::new(),
            settling: None,
            last_activity: Instant::now(),
            patience: PATIENCE,
            late: 0,
            untimed: 0,
        }
    }

    pub(super) fn arrive(&mut self, position: usize) {
        self.last_activity = Instant::now();
        if self.given_up.remove(&position) {
            self.late += 1;
            if self.late < LATE_MAX {
                // It was slow, and not gone.
                self.patience = (self.patience * 2).min(PATIENCE);
            }
        }
        self.leave_out(position);
    }

    /// A request is not waited for, or no longer.
    fn leave_out(&mut self, position: usize) {
        self.is_there[position] = true;
        if position == self.first_missing {
            self.missing = None;
        }
    }

    /// When the first request was there that is not yet.
    pub(super) fn first_missing(&mut self, cassette: &Cassette) -> Option<RecordedSpan> {
        while self.missing.is_none() && self.first_missing < self.is_there.len() {
            let at = self.first_missing;
            // What cannot be read says so when it is asked for.
            self.missing = match self.is_there[at] {
                false => cassette.outline(at).ok().map(|outline| RecordedSpan::of(&outline)),
                true => None,
            };
            if self.missing.is_none() {
                self.first_missing += 1;
            }
        }
        self.missing
    }

    /// An answer to a question is not under way any more.
    pub(super) fn answered(&mut self, question: usize, position: usize) {
        if let Some(others) = self.asked_now.get_mut(&question) {
            others.retain(|&other| other != position);
            if others.is_empty() {
                self.asked_now.remove(&question);
            }
        }
    }

    /// Wakes the first answer that waits: nothing but its turn can have come.
    pub(super) fn wake_first(&self) {
        if let Some(first) = self.live.values().find(|live| live.giving_since.is_none()) {
            first.wake.notify_one();
        }
    }

    /// Does not wait any more for requests that were there before a moment.
    pub(super) fn give_up(&mut self, cassette: &Cassette, before: Moment) {
        while self.first_missing(cassette).is_some_and(|missing| missing.asked < before) {
            self.given_up.insert(self.first_missing);
            self.leave_out(self.first_missing);
        }
        self.patience /= 2;
        self.last_activity = Instant::now();
    }
}
