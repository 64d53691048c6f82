//! Looking at a store: figures, and whether everything is as it was written.

use crate::error::Damage;
use crate::keyspace::NamedKeyspace;
use crate::levels::View;
use crate::memtable::Memtable;
use crate::model::Kind;
use crate::pack::Compression;
use crate::run::{RunStats, SortedRun};
use crate::shape::KeyShape;
use crate::snapshot::Snapshot;
use crate::tally::Lookups;
use statistics::{Entries, Statistics};

/// A store, in figures.
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

impl Statistics for Stats {
    fn what(&self) -> &'static str {
        "store"
    }

    fn entries(&self, to: &mut Entries) {
        to.count("batches", "Batches that were ever committed.", self.batches);
        to.bytes(
            "memtable_bytes",
            "Batches that are held in memory, since they are in no run yet.",
            self.memory.memtables,
        );
        to.bytes("index_bytes", "Copies of the indexes of runs, held in memory.", self.memory.indexes);
        let meaning = "How lookups ended since the store was made, if the file that says it is not damaged.";
        to.part("lookups", meaning, self.lookups.as_ref().map(|lookups| lookups as &dyn Statistics));
        let keyspaces = self.keyspaces.iter().map(|keyspace| (keyspace.name.clone(), keyspace));
        to.each("keyspaces", "What each keyspace holds.", keyspaces, |keyspace, to| keyspace.entries(to));
    }
}

impl Statistics for Lookups {
    fn what(&self) -> &'static str {
        "lookups"
    }

    fn entries(&self, to: &mut Entries) {
        let each = |count: u64| (self.all() > 0).then(|| count as f64 / self.all() as f64);
        to.count("all", "Keys that were looked for.", self.all());
        to.count("hits", "Lookups that found a value.", self.hits);
        to.count("hits_in_memory", "Those of them that asked no run.", self.hits_in_memory);
        to.count("misses", "Lookups that found none.", self.misses);
        to.count("filters", "Filters of runs that were asked.", self.filters);
        to.count("denied", "Those of them that said no, so that the run was skipped.", self.denied);
        to.count("comparisons", "Comparisons that the indexes of runs took.", self.comparisons);
        to.ratio("comparisons_each", "Comparisons for each lookup.", each(self.comparisons));
        to.count("pages", "Pages of files that were read, without those of indexes.", self.pages);
        to.ratio("pages_each", "Pages for each lookup.", each(self.pages));
    }
}

impl Statistics for KeyspaceStats {
    fn what(&self) -> &'static str {
        "keyspace"
    }

    fn entries(&self, to: &mut Entries) {
        let sum = |count: fn(&RunStats) -> u64| self.runs().map(count).sum::<u64>();
        to.text("keys", "What its keys look like.", self.shape.to_string());
        let compression = if self.compression == Compression::Lz4 { "LZ4" } else { "none" };
        to.text("compression", "How what is written to it is compressed.", compression.to_owned());
        to.count("keys_in_memory", "Keys that are in no run yet, deleted ones as well.", self.memory_keys);
        to.count("first_level", "Runs of the first level.", self.first.len() as u64);
        to.count("base_parts", "Parts of the base.", self.base.len() as u64);
        to.count("records", "Keys in runs, deleted ones as well.", sum(|run| run.records));
        to.count("deletions", "Those of them that are deleted.", sum(|run| run.deletions));
        to.bytes("bytes", "The files of the runs.", sum(|run| run.bytes));
        to.count("runs", "The parts of runs, each a file.", self.runs().count() as u64);
        let files = self.runs().map(|run| (run.file.clone(), run));
        to.each("files", "Each file of a run.", files, |run, to| run.entries(to));
    }
}

impl Statistics for RunStats {
    fn what(&self) -> &'static str {
        "run"
    }

    fn entries(&self, to: &mut Entries) {
        let each = |bytes: u64| bytes as f64 / self.records as f64;
        let model = match self.model {
            Kind::Line => "line",
            Kind::Pieces => "lines in pieces",
            _ => "binary search",
        };
        to.count("records", "Keys in it, deleted ones as well.", self.records);
        to.count("deletions", "Those of them that are deleted.", self.deletions);
        to.count("blocks", "Blocks that the keys lie in.", self.blocks);
        to.bytes("bytes", "The file.", self.bytes);
        to.text("model", "How its index finds the block of a key.", model.to_owned());
        to.count("model_error", "How many blocks the index may be off.", u64::from(self.model_error));
        to.bytes("index_bytes", "The index in the file.", self.index_bytes);
        to.ratio("index_bytes_each", "Bytes of the index for each key.", each(self.index_bytes));
        to.bytes("filter_bytes", "The filter in the file.", self.filter_bytes);
        to.ratio("filter_bytes_each", "Bytes of the filter for each key.", each(self.filter_bytes));
        to.bytes("held_bytes", "What is held of index and filter in memory.", self.held_bytes);
    }
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
        let view = &self.inner.view;
        let in_runs = view.levels.iter().flat_map(|level| level.runs()).flat_map(|run| run.verify());
        in_runs.chain(view.memtables().flat_map(|memtable| self.verify_memtable(memtable))).collect()
    }

    /// What is wrong with the records of a memtable: keys that no lookup finds.
    fn verify_memtable(&self, memtable: &Memtable) -> Vec<Damage> {
        let known = self.keyspaces();
        let check = |id: u32| {
            let Some(NamedKeyspace { name, keyspace, .. }) = known.iter().find(|known| known.keyspace.id == id) else {
                return Err(format!("it has records of keyspace number {id}, which the manifest does not have"));
            };
            memtable.for_each(id, |key, _| match keyspace.shape.width() {
                Some(width) if width != key.len() => Err(format!(
                    "it has a key of {} bytes in the keyspace {name}, which has {}",
                    key.len(),
                    keyspace.shape
                )),
                _ => Ok(()),
            })
        };
        let wrong = memtable.keyspaces().into_iter().filter_map(|id| check(id).err());
        wrong.map(|what| Damage::new("the log", 0, what)).collect()
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
