//! States that are used one after the other, with the memory of those before.

use crate::Options;
use crate::function::Functions;
use crate::log::Log;
use crate::state::State;
use std::path::Path;

/// States to be used one after the other: one that is given back is as a new one, and keeps the memory of its tables and up to 16 MiB of pages.
/// The pool keeps a limited number of them.
pub struct Pool {
    functions: Functions,
    options: Options,
    free: Vec<State>,
    kept_max: usize,
    counts: PoolCounts,
}

/// What a pool has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolCounts {
    /// States that it made, because none was free.
    pub made: u64,
    /// States that were given back before, and were taken again.
    pub reused: u64,
    /// States that were given back and kept.
    pub kept: u64,
    /// States that were given back and dropped, because it was full.
    pub dropped: u64,
}

impl Pool {
    /// A pool whose states have these functions and options, and which keeps at most `kept_max` that nobody uses.
    pub fn new(functions: Functions, options: Options, kept_max: usize) -> Self {
        Self { functions, options, free: Vec::new(), kept_max, counts: PoolCounts::default() }
    }

    /// A state without pages that keeps no log.
    pub fn take(&mut self) -> State {
        if let Some(state) = self.free.pop() {
            self.counts.reused += 1;
            return state;
        }
        self.counts.made += 1;
        State::new(self.functions.clone(), self.options.clone())
    }

    /// A state without pages that keeps its log in a folder, as [`State::create_in`] makes one.
    pub fn take_in(&mut self, folder: impl AsRef<Path>) -> State {
        let mut state = self.take();
        state.log = Log::awaiting(folder.as_ref(), &self.options);
        state
    }

    /// Takes a state back, wherever it was made. Its log stays where it is, its folder is free, and its subscriptions end.
    pub fn give(&mut self, mut state: State) {
        if self.free.len() >= self.kept_max {
            self.counts.dropped += 1;
            return;
        }
        self.counts.kept += 1;
        state.functions.clone_from(&self.functions);
        state.options.clone_from(&self.options);
        state.reset(None);
        self.free.push(state);
    }

    /// How many states it keeps that nobody uses.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// What it has done.
    pub fn counts(&self) -> PoolCounts {
        self.counts
    }
}
