//! An ordered key-value store on disk, beside SQLite, LMDB, redb, fjall and RocksDB.
//!
//! 1. [`rows`] makes keys of four distributions, values, and what is asked for. [`engine`] says what every engine does; each peer is a
//!    module. [`field`] has them do it in turn.
//! 2. [`sizes`] loads and asks at each size, and measures bytes on the disk and opening.
//! 3. [`report`] is the protocol of the report that the store is to beat, as its code has it.
//! 4. [`mixed`], [`cold`], [`stalls`], [`memory`] and [`stages`] are about one thing each; [`maps`], [`choices`] and [`searches`] have the figures that
//!    decisions are founded on.
//!
//! RocksDB is there if the feature `rocksdb` is on: its C++ takes longest to build.

mod choices;
mod cold;
mod engine;
mod field;
mod fjall;
mod lmdb;
mod maps;
mod memory;
mod mixed;
mod ours;
mod redb;
mod report;
#[cfg(feature = "rocksdb")]
mod rocks;
mod rows;
mod searches;
mod sizes;
mod sqlite;
mod stages;
mod stalls;

use crate::{Part, Plan, Rows, Suite};
use engine::Kind;
use std::path::Path;

const SUITE: &str = "store";

const PARTS: &[Part] = &[
    ("report", report::rows),
    ("small", sizes::small),
    ("million", sizes::million),
    ("ten-million", sizes::ten_million),
    ("mixed", mixed::rows),
    ("cold", cold::rows),
    ("stages", stages::rows),
    ("stalls", stalls::rows),
    ("memory", memory::rows),
    ("memtable", maps::rows),
    ("choices", choices::rows),
    ("searches", searches::rows),
];

/// What runs in a process of its own, since it measures the memory of the process.
pub(crate) const ALONE: Suite = Suite { name: memory::NAME, has_programs: true, run: memory::alone };

const OURS: Kind = Kind { name: "ours", note: "", open: ours::open };
const OURS_IN_BATCHES: Kind = Kind { name: "ours, in batches", note: "", open: ours::open_for_batches };
const SQLITE_PLAIN: Kind = Kind {
    name: "SQLite 3.54.1, as in the report",
    note: "no settings, statements prepared for every row, one durable transaction",
    open: sqlite::open_plain,
};
const SQLITE: Kind = Kind {
    name: "SQLite 3.54.1, fair",
    note: "write-ahead log, synchronous FULL, a cache of 2 GB, mapped reads, prepared once, one durable transaction",
    open: sqlite::open_fair,
};
const LMDB: Kind = Kind {
    name: "LMDB 0.9.70 (heed 0.22.1)",
    note: "one durable transaction, APPEND if keys ascend",
    open: lmdb::open,
};
const LMDB_UNSYNCED: Kind = Kind { name: "LMDB 0.9.70 (heed 0.22.1)", note: "NOSYNC", open: lmdb::open_unsynced };
const REDB: Kind = Kind { name: "redb 4.4.0", note: "a cache of 4 GiB, one durable transaction", open: redb::open };
const FJALL: Kind = Kind {
    name: "fjall 3.1.13",
    note: "a cache of 2 GiB, batches of 100,000 rows, one sync at the end; compacted before it is asked",
    open: fjall::open,
};

/// RocksDB where it is built.
fn rocks() -> Vec<Kind> {
    #[cfg(feature = "rocksdb")]
    return vec![
        Kind {
            name: "RocksDB 11.8.1",
            note: "a cache of 4 GiB, 4 KiB blocks with hash index, filters, batches of 100,000 rows, one sync of its log at the end; \
                   compacted before it is asked",
            open: rocks::open,
        },
        Kind {
            name: "RocksDB 11.8.1, interpolating",
            note: "index blocks searched by interpolation",
            open: rocks::open_interpolating,
        },
    ];
    #[cfg(not(feature = "rocksdb"))]
    Vec::new()
}

/// Ours and all that are durable.
fn kinds() -> Vec<Kind> {
    [vec![OURS, SQLITE, LMDB, REDB, FJALL], rocks()].concat()
}

/// Whether an engine merges in the background.
fn is_log_structured(name: &str) -> bool {
    [OURS.name, FJALL.name].contains(&name) || name.starts_with("RocksDB")
}

/// Runs the suite.
pub(crate) fn run(plan: &Plan) -> Rows {
    crate::rows_of(SUITE, PARTS, plan)
}

/// How many rows there are where `full` are due: a million at most in a quick run.
fn scaled(plan: &Plan, full: u64) -> u64 {
    if plan.is_quick { plan.scaled(full).min(1_000_000) } else { full }
}

/// How much space the files in a folder take, in bytes.
fn disk_bytes(folder: &Path) -> std::io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { disk_bytes(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{kept_names, names};
    use std::collections::BTreeSet;

    #[test]
    fn every_part_runs_small() {
        let scratch = std::env::temp_dir().join(format!("metroon-bench-store-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).unwrap();
        let plan = Plan { is_quick: true, divisor: 2000, only: None, may_install: false, scratch: scratch.clone() };
        // What has a process of its own needs the program, which a test is not.
        let parts: Vec<Part> = PARTS.iter().filter(|part| part.0 != "memory").copied().collect();
        let rows = crate::rows_of(SUITE, &parts, &plan).unwrap();
        std::fs::remove_dir_all(scratch).unwrap();
        let names: BTreeSet<String> = names(&rows).lines().map(str::to_owned).collect();
        let is_run = |line: &String| !line.starts_with(memory::BEGINNING) && !line.contains("RocksDB");
        let kept: BTreeSet<String> = kept_names(SUITE).into_iter().filter(is_run).collect();
        let names: BTreeSet<String> = names.into_iter().filter(is_run).collect();
        let different: Vec<_> = names.symmetric_difference(&kept).collect();
        assert!(different.is_empty(), "{different:?}: `cargo xtask bench store --quick` writes the list anew");
    }
}
