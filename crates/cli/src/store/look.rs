//! Looking at a store, and checking it.

use super::arguments::{GetArguments, KeyArguments, KeyspaceArguments, ScanArguments, StatsArguments};
use crate::end::End;
use crate::journal::escaped;
use crate::output::{Ended, Out, counted, fail};
use crate::{counts, render};
use std::ops::Bound;
use std::path::Path;
use store::{Damage, Keyspace, KeyspaceStats, OpenError, ReadError, RunStats, Snapshot, Step, Steps, Store};

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

pub(super) fn stats(arguments: &StatsArguments) -> Ended {
    let path = &arguments.path;
    let stats = open(path)?.stats().map_err(|damage| not_read(path, &damage.into()))?;
    let mut out = Out::new();
    counts::print(&mut out, &stats, arguments.json)?;
    out.end()
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
    let in_log: u64 = stats.keyspaces.iter().map(|keyspace| keyspace.memory_keys).sum();
    let mut out = Out::new();
    out.line(&format!(
        "{}: sound: {} in {}, {} in the log, {}",
        path.display(),
        counted(records, "record"),
        counted(runs.len() as u64, "run"),
        counted(in_log, "record"),
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
