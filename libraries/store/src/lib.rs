//! An ordered key-value store: where does it lie on disk, and how is it found?
//!
//! A [`Store`] takes [`Batch`]es of changes to [`Keyspace`]s and gives values by key, and entries in the order of their keys. It
//! knows nothing of what keys and values mean.
//!
//! # What is promised
//!
//! 1. **All or nothing.** What opens after a crash is a prefix of the batches, each whole, and holds every one that was acknowledged
//!    with [`Durability::Fsync`]; after the death of the program alone also every one with
//!    [`Durability::Os`]. No reader sees half a batch.
//! 2. **No silent damage.** Every page has a checksum, which is compared before anything in it is used for the first time. Bytes that
//!    have changed are an error that names file and offset.
//! 3. **No second try.** After a failed write or sync nothing is acknowledged any more.
//! 4. **Keys are compared whole.** Filters and learned indexes only narrow the search.
//! 5. **The same batches give the same bytes**, with [`Maintenance::Inline`]; with threads the same entries.
//!
//! # Where things are
//!
//! `engine` is the heart: [`batch`](Batch) and `log` (a journal) on the way in, `memtable` in memory, `builder` and `run` on disk,
//! `compaction` between runs, `manifest` for what belongs together. A run is `page`s of `block`s, with a `filter` and a `model` that
//! says which block a key lies in. Reading goes up through `cursor`, `merge` and [`Snapshot`]. `docs/formats.md` draws the bytes.
#![forbid(unsafe_code)]

mod backup;
mod batch;
mod block;
mod builder;
mod compaction;
mod cursor;
mod engine;
mod error;
mod fields;
mod filter;
mod footer;
mod index;
mod keyspace;
mod levels;
mod limits;
mod log;
mod manifest;
mod memory;
mod memtable;
mod merge;
mod model;
mod options;
mod pack;
mod page;
mod report;
mod run;
mod salvage;
mod shape;
mod shared;
mod snapshot;
mod steps;
mod store;
mod tally;
mod value;

pub use backup::BackupError;
pub use batch::Batch;
pub use error::{Damage, Failure, IngestError, KeyError, OpenError, ReadError, WriteError};
pub use journal::Durability;
pub use keyspace::{Keyspace, NamedKeyspace, signed_key, signed_number};
pub use limits::{BATCH_BYTES_MAX, KEY_BYTES_MAX, KEYSPACES_MAX, NAME_BYTES_MAX, VALUE_BYTES_MAX, VERSION, WIDTH_MAX};
pub use model::Kind;
pub use options::{
    FIRST_LEVEL_RUNS_DEFAULT, FIRST_LEVEL_RUNS_MAX_DEFAULT, Log, MEMORY_BYTES_DEFAULT, MEMTABLE_BYTES_DEFAULT,
    Maintenance, Options, PART_BYTES_DEFAULT,
};
pub use pack::Compression;
pub use report::{KeyspaceStats, MemoryStats, Stats};
pub use run::RunStats;
pub use salvage::{SalvageError, Salvaged, salvage};
pub use shape::KeyShape;
pub use snapshot::{Entry, OwnedEntry, Range, Snapshot};
pub use steps::{Step, Steps};
pub use store::Store;
pub use tally::Lookups;
pub use value::Value;
