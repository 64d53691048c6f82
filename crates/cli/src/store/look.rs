//! Looking at a store, and checking it.

use super::arguments::{GetArguments, KeyArguments, KeyspaceArguments, ScanArguments};
use crate::end::End;
use crate::journal::escaped;
use crate::output::{Ended, Out, counted, fail};
use crate::render;
use std::ops::Bound;
use std::path::Path;
use store::{
    Compression, Damage, Keyspace, KeyspaceStats, Kind, Lookups, OpenError, ReadError, RunStats, Snapshot, Step, Steps,
    Store,
};

/// How many places of damage are listed.
const DAMAGE_LISTED_MAX: usize = 20;

/// The store as it is now.
pub(super) fn open(path: &Path) -> Result<Snapshot, End> {
    Store::open_read_only(path).map_err(|error| not_opened(path, &error))
}

/// Tells why a store cannot be opened.
pub(super) fn not_opened(path: &Path, error: &OpenError) -> End {
    let name = path.display();
    let (help, end) = match error {
        OpenError::Absent => {
            return fail(
                &format!("there is no store in {name}"),
                "`metroon store put` and `metroon store load` make one",
                End::Usage,
            );
        }
        OpenError::Foreign => {
            let help = "of a damaged store, `metroon store salvage` carries what can be read into a new one";
            return fail(&format!("{name} is not a store: {error}"), help, End::Usage);
        }
        OpenError::Damaged(_) | OpenError::ReadLog(_) | OpenError::Log(journal::OpenError::Damaged(_)) => {
            (way_out(path), End::Damaged)
        }
        OpenError::Version { .. } | OpenError::Occupied => (String::new(), End::Usage),
        _ => ("check the path, and that you may read and write there".to_owned(), End::Error),
    };
    fail(&format!("{name}: {error}"), &help, end)
}

/// Tells why something cannot be read.
pub(super) fn not_read(path: &Path, error: &ReadError) -> End {
    match error {
        ReadError::Damaged(_) => fail(&format!("{}: {error}", path.display()), &way_out(path), End::Damaged),
        _ => {
            fail(&error.to_string(), "`metroon store stats` shows what the keys of each keyspace are like", End::Usage)
        }
    }
}

fn way_out(path: &Path) -> String {
    format!("`metroon store salvage {} --to NEW` carries what can be read into a new store", path.display())
}

/// The bytes of a key that was typed.
pub(super) fn key_of(keyspace: &KeyspaceArguments, text: &str) -> Result<Vec<u8>, End> {
    let help = "--keys says how keys are written: text, number or hex";
    keyspace.keys.read(text.as_bytes()).map_err(|message| fail(&message, help, End::Usage))
}

/// The keyspace of a name, which exists.
pub(super) fn find(snapshot: &Snapshot, arguments: &KeyspaceArguments) -> Result<Keyspace, End> {
    let name = &arguments.keyspace;
    snapshot.keyspace(name).ok_or_else(|| {
        let names: Vec<&str> = snapshot.keyspaces().iter().map(|known| known.name.as_str()).collect();
        let help = if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
        fail(&format!("the store has no keyspace {name}"), &help, End::Usage)
    })
}

pub(super) fn get(arguments: &GetArguments) -> Ended {
    let KeyArguments { path, key, keyspace } = &arguments.of;
    let snapshot = open(path)?;
    let found = find(&snapshot, keyspace)?;
    let watched = snapshot.watch(found, key_of(keyspace, key)?, Step::Value);
    let (value, steps) = watched.map_err(|error| not_read(path, &error))?;
    if arguments.steps {
        tell_steps(&steps);
    }
    let Some(value) = value else {
        return Err(fail(&format!("there is no key {key} in {}", keyspace.keyspace), "", End::Error));
    };
    let mut out = Out::new();
    out.bytes(&value)?;
    out.bytes(b"\n")?;
    out.end()
}

fn tell_steps(steps: &Steps) {
    let lines = [
        ("memtables asked", steps.memtables),
        ("filters asked", steps.filters),
        ("of them denied", steps.denied),
        ("comparisons of indexes", steps.comparisons),
        ("pages read", steps.pages),
    ];
    lines.iter().for_each(|(name, count)| render::say(&format!("{name:<22}  {count}")));
}

pub(super) fn scan(arguments: &ScanArguments) -> Ended {
    let ScanArguments { path, keyspace, .. } = arguments;
    let snapshot = open(path)?;
    let found = find(&snapshot, keyspace)?;
    let bound = |text: &Option<String>| text.as_ref().map(|text| key_of(keyspace, text)).transpose();
    let (from, to) = (bound(&arguments.from)?, bound(&arguments.to)?);
    let bounds = (from.map_or(Bound::Unbounded, Bound::Included), to.map_or(Bound::Unbounded, Bound::Excluded));
    let mut range = snapshot.range(found, bounds).map_err(|error| not_read(path, &error))?;
    let mut out = Out::new();
    for _ in 0..arguments.limit.unwrap_or(u64::MAX) {
        let entry = if arguments.reverse { range.next_back() } else { range.next() };
        match entry {
            Ok(Some((key, value))) => out.line(&format!("{}\t{}", keyspace.keys.show(key), escaped(value)))?,
            Ok(None) => break,
            Err(error) => {
                out.end()?;
                return Err(not_read(path, &error));
            }
        }
    }
    out.end()
}

pub(super) fn stats(path: &Path) -> Ended {
    let stats = open(path)?.stats().map_err(|damage| not_read(path, &damage.into()))?;
    let mut out = Out::new();
    out.line(&format!("batches        {}", stats.batches))?;
    out.line(&format!("keyspaces      {}", stats.keyspaces.len()))?;
    out.line(&format!(
        "in memory      {}, and {} of indexes",
        bytes(stats.memory.memtables),
        bytes(stats.memory.indexes)
    ))?;
    match &stats.lookups {
        Some(lookups) => lookup_stats(&mut out, lookups)?,
        None => out.line("lookups        not known: the file COUNTERS is damaged, and counting begins again")?,
    }
    for keyspace in &stats.keyspaces {
        keyspace_stats(&mut out, keyspace)?;
    }
    out.end()
}

/// How lookups ended, since the store was made.
fn lookup_stats(out: &mut Out, lookups: &Lookups) -> Result<(), End> {
    let each = |count: u64| if lookups.all() == 0 { 0.0 } else { count as f64 / lookups.all() as f64 };
    let lines = [
        ("lookups", lookups.all().to_string()),
        ("hits", format!("{}, {} of them in memory", lookups.hits, lookups.hits_in_memory)),
        ("misses", lookups.misses.to_string()),
        ("filters asked", format!("{}, {} said no", lookups.filters, lookups.denied)),
        ("comparisons", format!("{} of indexes, {:.2} a lookup", lookups.comparisons, each(lookups.comparisons))),
        ("pages read", format!("{}, {:.2} a lookup", lookups.pages, each(lookups.pages))),
    ];
    lines.iter().try_for_each(|(name, value)| out.line(&format!("{name:<13}  {value}")))
}

fn bytes(count: u64) -> String {
    counted(count, "byte")
}

fn keyspace_stats(out: &mut Out, keyspace: &KeyspaceStats) -> Result<(), End> {
    let sum = |count: fn(&RunStats) -> u64| keyspace.runs().map(count).sum::<u64>();
    out.line("")?;
    let compressed = if keyspace.compression == Compression::Lz4 { ", compressed by LZ4" } else { "" };
    out.line(&format!("keyspace {}: {}{compressed}", keyspace.name, keyspace.shape))?;
    let lines = [
        ("in memory", keyspace.memory_keys),
        ("first level", keyspace.first.len() as u64),
        ("base parts", keyspace.base.len() as u64),
        ("records", sum(|run| run.records)),
        ("deletions", sum(|run| run.deletions)),
        ("bytes", sum(|run| run.bytes)),
    ];
    for (name, value) in lines {
        out.line(&format!("  {name:<11}  {value}"))?;
    }
    for run in keyspace.runs() {
        out.line(&format!("  {}", run_line(run)))?;
    }
    Ok(())
}

fn run_line(run: &RunStats) -> String {
    let model = match run.model {
        Kind::Line => format!("a line, off by {} at most", run.model_error),
        Kind::Pieces => format!("lines in pieces, off by {} at most", run.model_error),
        _ => "binary search".to_owned(),
    };
    let index = run.index_bytes as f64 / run.records as f64;
    let filter = run.filter_bytes as f64 / run.records as f64;
    format!(
        "{}  {} in {}, index: {model}, {index:.2} bytes a key, filter: {filter:.2}",
        run.file,
        counted(run.records, "record"),
        counted(run.blocks, "block"),
    )
}

pub(super) fn verify(path: &Path) -> Ended {
    let snapshot = open(path)?;
    let damage = snapshot.verify();
    if !damage.is_empty() {
        return Err(tell(path, &damage));
    }
    let stats = snapshot.stats().map_err(|damage| tell(path, &[damage]))?;
    let runs: Vec<&RunStats> = stats.keyspaces.iter().flat_map(KeyspaceStats::runs).collect();
    let records: u64 = runs.iter().map(|run| run.records).sum();
    let mut out = Out::new();
    out.line(&format!(
        "{}: sound: {} in {}, {}",
        path.display(),
        counted(records, "record"),
        counted(runs.len() as u64, "run"),
        if stats.batches == 1 { "1 batch".to_owned() } else { format!("{} batches", stats.batches) },
    ))?;
    out.end()
}

fn tell(path: &Path, damage: &[Damage]) -> End {
    render::error(&format!("{} is damaged", path.display()), None);
    for damage in damage.iter().take(DAMAGE_LISTED_MAX) {
        render::say(&format!("  {} at byte {}: {}", damage.file, damage.offset, damage.what));
    }
    if damage.len() > DAMAGE_LISTED_MAX {
        render::say(&format!("  and {} more", damage.len() - DAMAGE_LISTED_MAX));
    }
    render::say(&format!("help: {}", way_out(path)));
    End::Damaged
}
