//! Looking at a store: figures, and whether everything is as it was written.

use crate::error::Damage;
use crate::keyspace::NamedKeyspace;
use crate::levels::View;
use crate::pack::Compression;
use crate::run::{RunStats, SortedRun};
use crate::shape::KeyShape;
use crate::snapshot::Snapshot;
use crate::tally::Lookups;

/// A store, in figures.
use statistics::{Entries, Statistics};
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// How many batches were ever committed.
    pub batches: u64,
    /// How lookups ended and what they took, since the store was made. Those of this process count, and those of processes that had
    /// the store open for writing and have ended; a process that only read leaves no trace. `None` if the file that keeps them
    /// is damaged: they begin again with the next process that writes.
    pub lookups: Option<Lookups>,
    /// What it holds in memory.
    pub memory: MemoryStats,
    /// Its keyspaces.
    pub keyspaces: Vec<KeyspaceStats>,
}

/// What a store holds in memory, in bytes. Pages of files are the system's, and not among it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStats {
    /// Batches that are in no run yet.
    pub memtables: u64,
    /// Copies of the indexes of runs.
    pub indexes: u64,
}

/// A keyspace, in figures.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyspaceStats {
    /// Its name.
    pub name: String,
    /// What its keys look like.
    pub shape: KeyShape,
    /// How what is written to it is stored.
    pub compression: Compression,
    /// How many keys were written and are in no run yet, deleted ones as well.
    pub memory_keys: u64,
    /// First-level runs, newest first, each in parts.
    pub first: Vec<Vec<RunStats>>,
    /// The parts of the base, in the order of their keys.
    pub base: Vec<RunStats>,
}

impl KeyspaceStats {
    /// The parts of all runs.
    pub fn runs(&self) -> impl Iterator<Item = &RunStats> {
        self.first.iter().flatten().chain(&self.base)
    }
}

impl Snapshot {
    /// The store in figures. The index of every run is read.
    ///
    /// # Errors
    /// The index of a run is damaged.
    pub fn stats(&self) -> Result<Stats, Damage> {
        let view = &self.inner.view;
        let keyspaces: Result<Vec<_>, _> = self.keyspaces().iter().map(|known| stats_of(view, known)).collect();
        let keyspaces = keyspaces?;
        let memory = MemoryStats {
            memtables: view.memtables().map(|memtable| memtable.bytes() as u64).sum(),
            indexes: self.inner.memory.held() as u64,
        };
        Ok(Stats { batches: self.sequence(), lookups: self.inner.tally.all(), memory, keyspaces })
    }

    /// Reads every page of every run and compares it with its checksum, and looks whether each key is where it is searched. The batches that are
    /// in no run were compared with their checksums when the log was read; what they wrote is held in memory, and is compared with the
    /// keyspaces. What is damaged, with files and places.
    pub fn verify(&self) -> Vec<Damage> {
        self.inner.view.levels.iter().flat_map(|level| level.runs()).flat_map(|run| run.verify()).collect()
    }
}

fn stats_of(view: &View, known: &NamedKeyspace) -> Result<KeyspaceStats, Damage> {
    let NamedKeyspace { name, keyspace, compression } = known;
    let memory_keys = view.memtables().map(|memtable| memtable.keys(keyspace.id) as u64).sum();
    let parts = |run: &SortedRun| run.parts.iter().map(|part| part.stats()).collect::<Result<Vec<_>, _>>();
    let level = view.levels.get(keyspace.id as usize).cloned().unwrap_or_default();
    let first: Result<Vec<_>, _> = level.first.iter().map(parts).collect();
    let (name, shape, compression) = (name.clone(), keyspace.shape, *compression);
    Ok(KeyspaceStats { name, shape, compression, memory_keys, first: first?, base: parts(&level.base)? })
}
