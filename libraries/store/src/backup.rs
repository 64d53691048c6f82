//! Copying a store while it is used.
//!
//! A backup is what a snapshot sees, as a store of its own:
//!
//! 1. The files of the runs are checked and copied as they are; nobody changes them, and the snapshot keeps them.
//! 2. What is in memory becomes one more run of the first level.
//! 3. The manifest is written last: a backup that did not end is not a store.

use crate::compaction::{PartsWriter, name_of};
use crate::cursor::{Cursor, MemoryCursor};
use crate::error::{Damage, Failure};
use crate::footer::Header;
use crate::keyspace::NamedKeyspace;
use crate::levels::Level;
use crate::manifest::{Manifest, RunName, Space};
use crate::memtable::Direction;
use crate::merge::Merge;
use crate::page::Ahead;
use crate::run::{Run, SortedRun};
use crate::snapshot::Snapshot;
use journal::{Directory, Disk};
use std::fmt;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

/// How much is copied at once.
const COPY_BYTES: usize = 1 << 20;

/// Why there is no backup.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BackupError {
    /// The folder is not empty.
    Occupied,
    /// The disk of the backup failed.
    Disk(Failure),
    /// The store is damaged, and a copy of it would be.
    Damaged(Damage),
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Occupied => f.write_str("the folder is not empty: name one that is empty or does not exist yet"),
            Self::Disk(failure) => write!(f, "the backup cannot be written: {failure}"),
            Self::Damaged(damage) => write!(f, "the store is damaged, and a copy of it would be: {damage}"),
        }
    }
}

impl std::error::Error for BackupError {}

impl From<Failure> for BackupError {
    fn from(failure: Failure) -> Self {
        Self::Disk(failure)
    }
}

impl From<Damage> for BackupError {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

impl Snapshot {
    /// Makes a store of its own of what the snapshot sees, in a folder that is empty or does not exist yet. Commits go on meanwhile.
    ///
    /// # Errors
    /// The folder is not empty, the disk refuses, or the store is damaged. What was written is not a store then.
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<(), BackupError> {
        let directory = Directory::create(path.as_ref()).map_err(Failure::of("create", ""))?;
        self.backup_to(&directory)
    }

    /// As [`Snapshot::backup`], on any disk.
    ///
    /// # Errors
    /// As [`Snapshot::backup`].
    pub fn backup_to(&self, disk: &dyn Disk) -> Result<(), BackupError> {
        if !disk.list().map_err(Failure::of("list", ""))?.is_empty() {
            return Err(BackupError::Occupied);
        }
        // Every run holds something of a batch of its own, so no name that comes later has a number that was used.
        let sequence = self.sequence();
        let mut manifest = Manifest::new(self.inner.identity);
        (manifest.flushed, manifest.flushes) = (sequence, sequence);
        for (known, level) in self.keyspaces().iter().zip(self.inner.view.levels.iter()) {
            manifest.spaces.push(self.back_up(disk, known, level)?);
        }
        Ok(manifest.write(disk)?)
    }

    fn back_up(&self, disk: &dyn Disk, known: &NamedKeyspace, level: &Level) -> Result<Space, BackupError> {
        level.runs().try_for_each(|run| copy(run, disk))?;
        let names = |run: &SortedRun| run.parts.iter().map(|part: &Arc<Run>| name_of(part)).collect::<Vec<RunName>>();
        let mut first: Vec<Vec<RunName>> = level.first.iter().map(names).collect();
        let memory = self.write_memory(disk, known)?;
        if !memory.is_empty() {
            first.insert(0, memory);
        }
        let (name, shape, compression) = (known.name.clone(), known.keyspace.shape, known.compression);
        Ok(Space { name, shape, compression, compactions: self.sequence(), first, base: names(&level.base) })
    }

    /// Writes what is in no run yet.
    fn write_memory(&self, disk: &dyn Disk, known: &NamedKeyspace) -> Result<Vec<RunName>, BackupError> {
        let (keyspace, sequence) = (known.keyspace, self.sequence());
        let header = Header { identity: self.inner.identity, keyspace: keyspace.id, shape: keyspace.shape };
        let stem = format!("k{}-b{sequence}", keyspace.id);
        let mut out = PartsWriter::new(
            disk,
            (header, known.compression),
            stem,
            (crate::options::PART_BYTES_DEFAULT, Ahead::Never),
            sequence,
        );
        let everything = (Bound::Unbounded, Bound::Unbounded);
        let cursor = |memtable| MemoryCursor::new(memtable, keyspace.id, sequence, Direction::Forward, &everything);
        let cursors = self.inner.view.memtables().map(|memtable| Cursor::Memory(cursor(memtable))).collect();
        let mut merge = Merge::new(cursors, Direction::Forward, Bound::Unbounded);
        while merge.advance_to_any()? {
            if let Some((key, value)) = merge.written() {
                out.push(key, value)?;
            }
        }
        Ok(out.finish()?)
    }
}

fn copy(run: &Run, disk: &dyn Disk) -> Result<(), BackupError> {
    if let Some(damage) = run.verify().into_iter().next() {
        return Err(damage.into());
    }
    let name = run.name();
    let file = disk.create(name).map_err(Failure::of("create", name))?;
    for (index, bytes) in run.bytes().chunks(COPY_BYTES).enumerate() {
        file.write_full((index * COPY_BYTES) as u64, bytes).map_err(Failure::of("write", name))?;
    }
    file.sync().map_err(Failure::of("sync", name))?;
    Ok(())
}
