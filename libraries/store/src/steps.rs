//! What a lookup does, step by step: counted for the [tally](crate::tally) of the store, and for those who watch one lookup.
//!
//! A lookup asks memtables, filters, the index of a run and one of its blocks. There is one way through the code; a
//! [`Witness`] counts its steps, and may end it after one, so that each can be timed.

use crate::model::Probes;

/// A step of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Memtables are asked.
    Memory,
    /// The filters of runs are asked.
    Filter,
    /// The index says which block it is.
    Index,
    /// The pages of the block are checked if they were not, and the key is searched in them.
    Page,
    /// The value is found.
    Value,
}

/// What a lookup did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Steps {
    /// How many memtables were asked.
    pub memtables: u64,
    /// How many filters were asked.
    pub filters: u64,
    /// How many of them said that the key is not there.
    pub denied: u64,
    /// How many comparisons indexes took.
    pub comparisons: u64,
    /// How many pages of files were read, those of an index left out: it is held in memory.
    pub pages: u64,
    /// 1 if a memtable had the key, so that no run was asked; else 0.
    pub answered_in_memory: u64,
}

/// Watches a lookup.
pub(crate) trait Witness: Probes {
    /// A step is about to begin; whether it should.
    fn goes_on(&mut self, _: Step) -> bool {
        true
    }

    fn asked_memtable(&mut self) {}

    fn answered_in_memory(&mut self) {}

    fn asked_filter(&mut self, _is_denied: bool) {}

    fn read_pages(&mut self, _: usize) {}
}

impl Witness for () {}

impl Probes for Steps {
    fn add(&mut self, count: u64) {
        self.comparisons += count;
    }
}

/// Counts, and lets a lookup go on to its end.
impl Witness for Steps {
    fn asked_memtable(&mut self) {
        self.memtables += 1;
    }

    fn answered_in_memory(&mut self) {
        self.answered_in_memory = 1;
    }

    fn asked_filter(&mut self, is_denied: bool) {
        self.filters += 1;
        self.denied += u64::from(is_denied);
    }

    fn read_pages(&mut self, count: usize) {
        self.pages += count as u64;
    }
}

/// Counts, and ends a lookup after a step.
pub(crate) struct Watch {
    pub(crate) steps: Steps,
    pub(crate) until: Step,
}

impl Probes for Watch {
    fn add(&mut self, count: u64) {
        self.steps.add(count);
    }
}

impl Witness for Watch {
    fn goes_on(&mut self, step: Step) -> bool {
        step <= self.until
    }

    fn asked_memtable(&mut self) {
        self.steps.asked_memtable();
    }

    fn answered_in_memory(&mut self) {
        self.steps.answered_in_memory();
    }

    fn asked_filter(&mut self, is_denied: bool) {
        self.steps.asked_filter(is_denied);
    }

    fn read_pages(&mut self, count: usize) {
        self.steps.read_pages(count);
    }
}
