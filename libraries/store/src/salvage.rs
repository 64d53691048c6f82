//! Carrying what can be read of a damaged store into a new one.
//!
//! 1. Runs are read from the oldest to the newest, block by block, around what is damaged, and their records committed to the new
//!    store; then the logs, around damage as well. What is newer replaces what is older, as it did before.
//! 2. Where something newer is lost, something older may be back: each loss is reported with its place.
//! 3. Without a manifest, all files of runs are read, in the order of their newest batches, and keyspaces get the names
//!    `keyspace-0` and so on. Deleted entries may be back then.
//!
//! The damaged store is not touched.

use crate::batch::{Batch, changes};
use crate::error::{Damage, Failure, OpenError, WriteError};
use crate::footer::{Footer, Header};
use crate::keyspace::Keyspace;
use crate::log;
use crate::manifest::{Manifest, RunName};
use crate::memory::Memory;
use crate::pack::Compression;
use crate::page::Salt;
use crate::run::Run;
use crate::shape::KeyShape;
use crate::store::Store;
use journal::{Disk, Durability, MemoryDisk};
use std::fmt;
use std::sync::Arc;

/// How many bytes of changes are committed together.
const BATCH_BYTES: usize = 1 << 20;

/// What a salvage did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Salvaged {
    /// How many records of runs were carried over, those included that newer ones replaced.
    pub records: u64,
    /// How many batches of logs were carried over.
    pub batches: u64,
    /// What could not be read, with its place.
    pub lost: Vec<String>,
}

/// Why a salvage did not end.
#[derive(Debug)]
#[non_exhaustive]
pub enum SalvageError {
    /// The disk of the damaged store failed.
    Disk(Failure),
    /// There is nothing of a store.
    Absent,
    /// The new store cannot be written.
    Write(WriteError),
}

impl fmt::Display for SalvageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(failure) => write!(f, "the damaged store cannot be read: {failure}"),
            Self::Absent => f.write_str("there is nothing of a store here: nothing to salvage"),
            Self::Write(error) => write!(f, "what was salvaged cannot be kept: {error}"),
        }
    }
}

impl std::error::Error for SalvageError {}

impl From<Failure> for SalvageError {
    fn from(failure: Failure) -> Self {
        Self::Disk(failure)
    }
}

impl From<WriteError> for SalvageError {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}

/// Reads a damaged store and commits what is whole to a new one, which is empty.
///
/// # Errors
/// A disk fails, or there is nothing of a store.
pub fn salvage(damaged: &Arc<dyn Disk>, to: &Store) -> Result<Salvaged, SalvageError> {
    let names = damaged.list().map_err(Failure::of("list", ""))?;
    let mut salvaged = Salvaged::default();
    let (manifest, runs) = match Manifest::read(&**damaged) {
        Ok(manifest) => {
            let runs = runs_of(&manifest);
            (manifest, runs)
        }
        Err(OpenError::Disk(failure)) => return Err(failure.into()),
        Err(error) => {
            let (manifest, runs) = guess(&**damaged, &names)?.ok_or(SalvageError::Absent)?;
            salvaged.lost.push(format!("{error}; the files of runs were read in the order of their newest batches"));
            (manifest, runs)
        }
    };
    let mut keyspaces = Vec::new();
    for space in &manifest.spaces {
        keyspaces.push(to.keyspace_with(&space.name, space.shape, space.compression)?);
    }
    let mut out = Output { to, batch: Batch::new(), failure: None };
    for run in runs {
        carry_run(&**damaged, &manifest, &run, &keyspaces, &mut out, &mut salvaged)?;
    }
    carry_logs(damaged, &manifest, &names, &keyspaces, &mut out, &mut salvaged);
    out.commit();
    out.failure.map_or(Ok(()), Err)?;
    to.flush()?;
    Ok(salvaged)
}

/// Where what was read goes.
struct Output<'a> {
    to: &'a Store,
    batch: Batch,
    failure: Option<WriteError>,
}

impl Output<'_> {
    fn change(&mut self, keyspace: Keyspace, key: &[u8], value: Option<&[u8]>) {
        match value {
            Some(value) => self.batch.put(keyspace, key, value),
            None => self.batch.delete(keyspace, key),
        }
        if self.batch.bytes() >= BATCH_BYTES {
            self.commit();
        }
    }

    fn commit(&mut self) {
        if self.failure.is_none() {
            self.failure = self.to.commit(&self.batch, Durability::None).err();
        }
        self.batch.clear();
    }
}

/// A run, and the keyspace that it belongs to.
struct FoundRun {
    keyspace: u32,
    name: RunName,
}

/// The runs of a manifest, oldest first.
fn runs_of(manifest: &Manifest) -> Vec<FoundRun> {
    let mut runs = Vec::new();
    for (number, space) in manifest.spaces.iter().enumerate() {
        let parts = space.base.iter().chain(space.first.iter().rev().flatten());
        runs.extend(parts.map(|name| FoundRun { keyspace: number as u32, name: name.clone() }));
    }
    runs
}

/// What the manifest may have been, by the files of runs; `None` if there are none.
fn guess(disk: &dyn Disk, names: &[String]) -> Result<Option<(Manifest, Vec<FoundRun>)>, SalvageError> {
    let mut runs: Vec<(u64, FoundRun)> = Vec::new();
    let mut shapes: Vec<Option<KeyShape>> = Vec::new();
    let mut manifest = Manifest::new(journal::Identity::default());
    for name in names.iter().filter(|name| name.ends_with(".run")) {
        let bytes = disk.map(name).map_err(Failure::of("open", name))?;
        let Some(header) = Header::decode(&bytes) else { continue };
        let salt = Salt::new(header.identity, name);
        let Ok(footer) = Footer::read(&bytes, name, salt) else { continue };
        manifest.identity = header.identity;
        let keyspace = header.keyspace as usize;
        if keyspace >= crate::limits::KEYSPACES_MAX {
            continue;
        }
        shapes.resize(shapes.len().max(keyspace + 1), None);
        shapes[keyspace] = Some(header.shape);
        let at = footer.last_key.at as usize;
        let last_key = bytes[at..at + footer.last_key.bytes as usize].to_vec();
        let name = RunName { name: name.clone(), first_key: Vec::new(), last_key };
        runs.push((footer.last_sequence, FoundRun { keyspace: header.keyspace, name }));
    }
    runs.sort_by(|one, other| (one.0, &one.1.name.name).cmp(&(other.0, &other.1.name.name)));
    manifest.log = names.iter().filter_map(|name| log::number_of(name)).min().unwrap_or(1);
    manifest.spaces = shapes.into_iter().enumerate().map(|(number, shape)| space(number, shape)).collect();
    let is_something = !runs.is_empty();
    Ok(is_something.then(|| (manifest, runs.into_iter().map(|(_, run)| run).collect())))
}

fn space(number: usize, shape: Option<KeyShape>) -> crate::manifest::Space {
    let shape = shape.unwrap_or(KeyShape::Bytes);
    crate::manifest::Space::new(&format!("keyspace-{number}"), shape, Compression::None)
}

fn carry_run(
    disk: &dyn Disk,
    manifest: &Manifest,
    found: &FoundRun,
    keyspaces: &[Keyspace],
    out: &mut Output<'_>,
    salvaged: &mut Salvaged,
) -> Result<(), SalvageError> {
    let name = &found.name;
    let keys = (name.first_key.clone(), name.last_key.clone());
    // Each run is read once, so nothing of it is worth holding.
    let run = match Run::open(disk, manifest.identity, &name.name, keys, &Memory::new(0)) {
        Ok(run) => run,
        Err(OpenError::Disk(failure)) if failure.error.kind() != std::io::ErrorKind::NotFound => {
            return Err(failure.into());
        }
        Err(error) => {
            salvaged.lost.push(error.to_string());
            return Ok(());
        }
    };
    let keyspace = keyspaces[found.keyspace as usize];
    let lost = run.read_what_is_whole(&mut |key, value| {
        if keyspace.shape.check(key).is_ok() {
            out.change(keyspace, key, value);
            salvaged.records += 1;
        }
    });
    salvaged.lost.extend(lost.iter().map(Damage::to_string));
    // What is newer comes after what is older.
    out.commit();
    Ok(())
}

fn carry_logs(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    names: &[String],
    keyspaces: &[Keyspace],
    out: &mut Output<'_>,
    salvaged: &mut Salvaged,
) {
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| log::number_of(name)).collect();
    numbers.retain(|number| *number >= manifest.log);
    numbers.sort_unstable();
    numbers.dedup();
    for number in numbers {
        let whole: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let options = journal::Options::default();
        match journal::salvage(log::disk_of(disk, number), log::disk_of(&whole, number), options) {
            Ok(kept) => salvaged.lost.extend(kept.lost.iter().map(|lost| format!("log {number}: {lost}"))),
            Err(error) => salvaged.lost.push(format!("log {number}: {error}")),
        }
        let mut batches = 0;
        let read = log::read(&whole, number, |sequence, batch| {
            if sequence > manifest.flushed {
                for change in changes(batch).map_while(|change| change) {
                    if let Some(keyspace) = keyspaces.get(change.keyspace as usize) {
                        out.change(*keyspace, change.key, change.value);
                    }
                }
                out.commit();
                batches += 1;
            }
            Ok(())
        });
        salvaged.batches += batches;
        salvaged.lost.extend(read.err().map(|error| format!("log {number}: {error}")));
    }
}
