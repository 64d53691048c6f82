//! How a store is kept.

use journal::Identity;

/// How much a memtable takes before it becomes a run, in bytes.
pub const MEMTABLE_BYTES_DEFAULT: usize = 64 << 20;
/// How long a part of the base gets, in bytes.
pub const PART_BYTES_DEFAULT: u64 = 64 << 20;
/// How many first-level runs are merged into the base at once.
pub const FIRST_LEVEL_RUNS_DEFAULT: usize = 4;
/// How many first-level runs there may be before a commit waits for a merge.
pub const FIRST_LEVEL_RUNS_MAX_DEFAULT: usize = 12;

/// How much memory a store may hold, in bytes.
pub const MEMORY_BYTES_DEFAULT: usize = 1 << 30;

/// What makes batches durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// The store, by a journal of its own.
    Own,
    /// The owner, by a journal of its own: see [`Options::log`].
    Owners,
}

/// What writes runs and merges them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maintenance {
    /// Threads of the store: one takes the log to the disk, one writes runs, one merges them.
    Background,
    /// The thread whose commit fills a memtable, before its commit returns. Every operation of the disk then happens in the same order
    /// each time.
    Inline,
}

/// How a store is kept. None of this is recorded, except the identity.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) memtable_bytes: usize,
    pub(crate) memory_bytes: usize,
    pub(crate) part_bytes: u64,
    pub(crate) first_level_runs: usize,
    pub(crate) first_level_runs_max: usize,
    pub(crate) log: Log,
    pub(crate) maintenance: Maintenance,
    pub(crate) identity: Identity,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memtable_bytes: MEMTABLE_BYTES_DEFAULT,
            memory_bytes: MEMORY_BYTES_DEFAULT,
            part_bytes: PART_BYTES_DEFAULT,
            first_level_runs: FIRST_LEVEL_RUNS_DEFAULT,
            first_level_runs_max: FIRST_LEVEL_RUNS_MAX_DEFAULT,
            log: Log::Own,
            maintenance: Maintenance::Background,
            identity: Identity::default(),
        }
    }
}

impl Options {
    /// How much a memtable takes before it becomes a run, in bytes. Two of them may be in memory.
    #[must_use]
    pub fn memtable_bytes(mut self, bytes: usize) -> Self {
        self.memtable_bytes = bytes;
        self
    }

    /// How much memory the store may hold, in bytes: a quarter of it at most for each of two memtables, the rest for the indexes of runs.
    /// Where it is used up, indexes stay in their files, where the system keeps or drops them as it does with pages.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: usize) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// How much a memtable may take within the budget.
    pub(crate) fn memtable_limit(&self) -> usize {
        self.memtable_bytes.min(self.memory_bytes / 4)
    }

    /// What is left of the budget for indexes.
    pub(crate) fn index_limit(&self) -> usize {
        self.memory_bytes - 2 * self.memtable_limit()
    }

    /// What makes batches durable. With [`Log::Owners`] the store writes no log: its owner writes each batch into a journal of its own first,
    /// commits it here with [`Durability::None`](journal::Durability::None), and after opening commits those again that came after
    /// [`Snapshot::sequence`](crate::Snapshot::sequence). What the store has written as runs, it makes durable itself.
    #[must_use]
    pub fn log(mut self, log: Log) -> Self {
        self.log = log;
        self
    }

    /// How long a part of a run gets, in bytes.
    #[must_use]
    pub fn part_bytes(mut self, bytes: u64) -> Self {
        self.part_bytes = bytes;
        self
    }

    /// How many first-level runs are merged into the base at once, and how many there may be before commits wait.
    #[must_use]
    pub fn first_level_runs(mut self, merged: usize, most: usize) -> Self {
        self.first_level_runs = merged.max(1);
        self.first_level_runs_max = most.max(self.first_level_runs);
        self
    }

    /// What writes runs and merges them.
    #[must_use]
    pub fn maintenance(mut self, maintenance: Maintenance) -> Self {
        self.maintenance = maintenance;
        self
    }

    /// Which store a new one is. Zeros unless chosen: a value of its own keeps the files of two stores apart.
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }
}
