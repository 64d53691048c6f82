//! Merging first-level runs into the base, and writing what is sorted as runs.
//!
//! A merge takes the oldest runs of the first level, and those parts of the base that they overlap:
//!
//! 1. A part that overlaps no other, has no deletions and is not small stays the file that it is, and becomes a part of the base.
//! 2. Everything else is merged. Since nothing lies below the base, deletions end there.
//! 3. The new parts are cut where they get long enough, and where a part that stays begins.
//!
//! What comes out depends on the runs that go in and on nothing else. While a merge goes on, its input and its output lie on the
//! disk: at most twice what it takes in.

use crate::builder::{RunBuilder, Written};
use crate::cursor::{Cursor, RunCursor};
use crate::error::{Failure, WriteError};
use crate::footer::Header;
use crate::levels::Level;
use crate::manifest::RunName;
use crate::memtable::Direction;
use crate::merge::Merge;
use crate::pack::Compression;
use crate::page::Ahead;
use crate::run::{Run, SortedRun};
use journal::Disk;
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::thread::JoinHandle;

/// After how many records a merge looks whether it is told to end.
const RECORDS_BETWEEN_LOOKS: u64 = 4096;
/// A part shorter than this share of the longest is merged with its neighbours.
const SMALL_SHARE: u64 = 4;

/// Writes records in ascending order as a run in parts.
pub(crate) struct PartsWriter<'a> {
    pub(crate) disk: &'a dyn Disk,
    pub(crate) header: Header,
    pub(crate) compression: Compression,
    /// The names of the parts are this, a number and a suffix.
    pub(crate) stem: String,
    pub(crate) part_bytes: u64,
    pub(crate) ahead: Ahead,
    pub(crate) last_sequence: u64,
    pub(crate) builder: Option<RunBuilder>,
    /// The part before that one, if it is ended by a thread of its own.
    ending: Option<JoinHandle<Result<Written, Failure>>>,
    parts: usize,
    pub(crate) written: Vec<RunName>,
}

impl<'a> PartsWriter<'a> {
    pub(crate) fn new(
        disk: &'a dyn Disk,
        (header, compression): (Header, Compression),
        stem: String,
        (part_bytes, ahead): (u64, Ahead),
        last_sequence: u64,
    ) -> Self {
        let (builder, ending, parts, written) = (None, None, 0, Vec::new());
        Self { disk, header, compression, stem, part_bytes, ahead, last_sequence, builder, ending, parts, written }
    }

    pub(crate) fn push(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Failure> {
        if self.builder.as_ref().is_some_and(|builder| builder.bytes() >= self.part_bytes) {
            self.end_part()?;
        }
        let builder = match &mut self.builder {
            Some(builder) => builder,
            None => {
                let name = format!("{}-{}.run", self.stem, self.parts);
                self.parts += 1;
                self.builder.insert(RunBuilder::create(self.disk, &name, self.header, (self.compression, self.ahead))?)
            }
        };
        builder.push(key, value)
    }

    pub(crate) fn end_part(&mut self) -> Result<(), Failure> {
        self.wait_for_ending()?;
        let Some(builder) = self.builder.take() else { return Ok(()) };
        let last_sequence = self.last_sequence;
        if self.ahead == Ahead::Beside {
            let failed = Failure::of("start a thread for", &self.stem);
            let thread = std::thread::Builder::new().name("store-end".to_owned());
            self.ending = Some(thread.spawn(move || builder.finish(last_sequence)).map_err(failed)?);
        } else {
            self.written.push(builder.finish(last_sequence)?.into());
        }
        Ok(())
    }

    fn wait_for_ending(&mut self) -> Result<(), Failure> {
        let Some(thread) = self.ending.take() else { return Ok(()) };
        let panicked =
            |_| Err(Failure::of("write", &self.stem)(io::Error::other("the thread that ends a part panicked")));
        self.written.push(thread.join().unwrap_or_else(panicked)?.into());
        Ok(())
    }

    /// Ends the last part; all parts, durable but for their names.
    pub(crate) fn finish(mut self) -> Result<Vec<RunName>, Failure> {
        self.end_part()?;
        self.wait_for_ending()?;
        Ok(self.written)
    }
}

/// The name that a manifest has of an open run.
pub(crate) fn name_of(run: &Run) -> RunName {
    RunName { name: run.name().to_owned(), first_key: run.first_key().to_vec(), last_key: run.last_key().to_vec() }
}

/// What a merge takes in, and what stays.
pub(crate) struct Plan {
    /// To be merged, newest first.
    merged: Vec<SortedRun>,
    /// Parts of the new base that exist already, in order.
    kept: Vec<Arc<Run>>,
}

fn overlap(one: &Run, other: &Run) -> bool {
    one.first_key() <= other.last_key() && other.first_key() <= one.last_key()
}

impl Plan {
    /// How to merge the oldest `count` runs of the first level into the base.
    pub(crate) fn new(level: &Level, count: usize, part_bytes: u64) -> Self {
        let inputs = &level.first[level.first.len() - count..];
        let newer: Vec<&Arc<Run>> = inputs.iter().flat_map(|run| &*run.parts).collect();
        let is_small = |run: &Run| (run.bytes().len() as u64) < part_bytes / SMALL_SHARE;
        let overlaps_newer = |run: &Arc<Run>| newer.iter().any(|other| !Arc::ptr_eq(run, other) && overlap(run, other));
        let moves = |run: &Arc<Run>| {
            run.footer().deletions == 0
                && !is_small(run)
                && !overlaps_newer(run)
                && !level.base.parts.iter().any(|part| overlap(part, run))
        };
        // A small part of the base is merged with what comes, so that small parts do not gather.
        let stays = |run: &Arc<Run>| !overlaps_newer(run) && !is_small(run);
        let split = |run: &SortedRun, keeps: &dyn Fn(&Arc<Run>) -> bool| {
            let (kept, merged): (Vec<_>, Vec<_>) = run.parts.iter().cloned().partition(|part| keeps(part));
            (kept, SortedRun::new(merged))
        };
        let mut plan = Self { merged: Vec::new(), kept: Vec::new() };
        let first = inputs.iter().map(|run| split(run, &moves));
        for (kept, merged) in first.chain([split(&level.base, &stays)]) {
            plan.kept.extend(kept);
            plan.merged.extend(Some(merged).filter(|run| !run.parts.is_empty()));
        }
        plan.kept.sort_by(|one, other| one.first_key().cmp(other.first_key()));
        plan
    }

    /// Writes what is merged, through a writer of parts; the parts of the new base, in order. `None` if it was told to end before:
    /// what it wrote by then goes when the store is opened again.
    pub(crate) fn carry_out(
        &self,
        mut out: PartsWriter<'_>,
        is_ending: impl Fn() -> bool,
    ) -> Result<Option<Vec<RunName>>, WriteError> {
        let everything = (Bound::Unbounded, Bound::Unbounded);
        let cursors: Result<Vec<Cursor>, _> = self
            .merged
            .iter()
            .map(|run| RunCursor::new(run.clone(), Direction::Forward, &everything).map(Cursor::Run))
            .collect();
        let mut merge = Merge::new(cursors?, Direction::Forward, Bound::Unbounded);
        let mut borders = self.kept.iter().map(|run| run.first_key()).peekable();
        let mut count = 0_u64;
        while merge.advance()? {
            count += 1;
            if count.is_multiple_of(RECORDS_BETWEEN_LOOKS) && is_ending() {
                return Ok(None);
            }
            let Some((key, value)) = merge.entry() else { break };
            // No part may reach around one that stays.
            while borders.next_if(|border| *border < key).is_some() {
                out.end_part()?;
            }
            out.push(key, Some(value))?;
        }
        let mut parts = out.finish()?;
        parts.extend(self.kept.iter().map(|run| name_of(run)));
        parts.sort_by(|one, other| one.first_key.cmp(&other.first_key));
        Ok(Some(parts))
    }

    /// The newest batch that the output has something of.
    pub(crate) fn last_sequence(&self) -> u64 {
        let sequences = self.merged.iter().flat_map(|run| &*run.parts).map(|part| part.footer().last_sequence);
        sequences.max().unwrap_or(0)
    }
}
