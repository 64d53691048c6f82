//! Subscribers, and what they are told has changed.
//!
//! A subscriber gets one notice a commit that changes something it asked for, after the commit. Its queue has room for a number of
//! notices. If it is full, the newest notice in it grows: it says then from which epoch to which it goes, and which pages have changed in
//! between. So a slow subscriber loses how often a page changed, and never that it did.

use crate::Epoch;
use crate::page::{PageId, PageTable};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Which pages a subscriber is told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// All.
    All,
    /// These.
    Pages(BTreeSet<PageId>),
}

impl Filter {
    fn asks_for(&self, page: PageId) -> bool {
        match self {
            Self::All => true,
            Self::Pages(pages) => pages.contains(&page),
        }
    }
}

/// What has happened to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was made.
    Created,
    /// It holds other bytes: `bytes` of them, added up over the commits of a notice. Not known of commits before the subscription.
    Written {
        /// How many bytes.
        bytes: Option<u64>,
    },
    /// It was deleted.
    Deleted,
}

/// What has changed from one commit to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The last commit before.
    pub from: Epoch,
    /// The last commit that is part of it.
    pub to: Epoch,
    /// Of how many notices it is made: more than one if the subscriber was slow.
    pub merged: u64,
    /// What has happened to which pages.
    pub changes: BTreeMap<PageId, Change>,
}

impl Notice {
    /// Adds what happened next.
    fn extend(&mut self, next: Self) {
        self.to = next.to;
        self.merged += next.merged;
        for (page, change) in next.changes {
            match (self.changes.get(&page), change) {
                (Some(Change::Created), Change::Written { .. }) => {}
                // Nobody was told of it, and it is not there any more.
                (Some(Change::Created), Change::Deleted) => {
                    self.changes.remove(&page);
                }
                (Some(Change::Written { bytes: Some(before) }), Change::Written { bytes: Some(bytes) }) => {
                    self.changes.insert(page, Change::Written { bytes: Some(before + bytes) });
                }
                (Some(Change::Written { .. }), Change::Written { .. }) => {
                    self.changes.insert(page, Change::Written { bytes: None });
                }
                _ => {
                    self.changes.insert(page, change);
                }
            }
        }
    }
}

/// Gets notices. Dropping it ends the subscription.
pub struct Subscription {
    queue: Arc<Queue>,
}

struct Queue {
    notices: Mutex<VecDeque<Notice>>,
    came: Condvar,
    filter: Filter,
    capacity: usize,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Notice>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, notice: Notice) {
        let mut notices = self.lock();
        let is_full = notices.len() >= self.capacity;
        match notices.back_mut() {
            Some(newest) if is_full => newest.extend(notice),
            _ => notices.push_back(notice),
        }
        self.came.notify_one();
    }
}

impl Subscription {
    /// The oldest notice that was not taken yet.
    pub fn try_next(&self) -> Option<Notice> {
        self.queue.lock().pop_front()
    }

    /// The oldest notice that was not taken yet; waits for one, at most for `time`.
    pub fn next_within(&self, time: Duration) -> Option<Notice> {
        let notices = self.queue.lock();
        let waited = self.queue.came.wait_timeout_while(notices, time, |notices| notices.is_empty());
        waited.unwrap_or_else(PoisonError::into_inner).0.pop_front()
    }

    /// Whether no notice will come any more, since the state is gone or was reset. Those that were not taken yet stay.
    pub fn is_over(&self) -> bool {
        // The state has the only weak reference, and gives it up with the state.
        Arc::weak_count(&self.queue) == 0
    }
}

/// The subscribers of a state.
#[derive(Default)]
pub(crate) struct Subscribers {
    queues: Vec<Weak<Queue>>,
}

impl Subscribers {
    /// Whether there are none. One that has ended is noticed with the next commit.
    pub(crate) fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Adds one, with what it is told first.
    pub(crate) fn add(&mut self, filter: Filter, capacity: usize, first: Option<Notice>) -> Subscription {
        let queue = Queue { notices: Mutex::default(), came: Condvar::new(), filter, capacity: capacity.max(1) };
        let queue = Arc::new(queue);
        if let Some(mut notice) = first {
            notice.changes.retain(|&page, _| queue.filter.asks_for(page));
            queue.push(notice);
        }
        self.queues.push(Arc::downgrade(&queue));
        Subscription { queue }
    }

    /// Tells them of a commit.
    pub(crate) fn publish(&mut self, epoch: Epoch, changes: &[(PageId, Change)]) {
        self.queues.retain(|queue| {
            let Some(queue) = queue.upgrade() else { return false };
            let asked: BTreeMap<_, _> =
                changes.iter().copied().filter(|(page, _)| queue.filter.asks_for(*page)).collect();
            if !asked.is_empty() {
                queue.push(Notice { from: epoch - 1, to: epoch, merged: 1, changes: asked });
            }
            true
        });
    }
}

/// What has changed since a commit, as far as the pages that are there tell.
pub(crate) fn since(pages: &PageTable, from: Epoch, to: Epoch) -> Notice {
    let mut changes = BTreeMap::new();
    for (page, entry) in pages.places().filter(|(_, entry)| entry.changed > from) {
        if entry.bytes.is_some() {
            let is_new = entry.created > from;
            changes.insert(page, if is_new { Change::Created } else { Change::Written { bytes: None } });
        }
        // The pages that were there before: whether they went before or after that commit is not known.
        let went = entry.bytes.is_none() || entry.created > from;
        if let Some(generation) = page.generation.checked_sub(1).filter(|_| went) {
            changes.insert(PageId { slot: page.slot, generation }, Change::Deleted);
        }
    }
    Notice { from, to, merged: 1, changes }
}
