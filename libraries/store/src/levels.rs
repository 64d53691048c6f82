//! What a store consists of at a moment: memtables over a few first-level runs over one base level, for each keyspace.
//!
//! 1. What is newer hides what is older: the active memtable, sealed ones, first-level runs from the newest to the oldest, the base.
//! 2. Runs of the first level overlap each other; the base is one run in parts that do not.
//! 3. All of it is immutable but the active memtable. A change of the levels makes another [`View`], and a reader that has an older one
//!    keeps it, and the files of its runs, until it is dropped.

use crate::error::{Damage, ReadError};
use crate::keyspace::NamedKeyspace;
use crate::memtable::Memtable;
use crate::run::{Asked, Found, Run, SortedRun};
use crate::shared::Shared;
use crate::steps::{Step, Witness};
use crate::value::Value;
use std::sync::Arc;

/// The runs of one keyspace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    /// Newest first.
    pub(crate) first: Vec<SortedRun>,
    pub(crate) base: SortedRun,
}

impl Level {
    /// Every run.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &Arc<Run>> {
        self.first.iter().chain([&self.base]).flat_map(|run| &*run.parts)
    }
}

/// What a store consists of.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) keyspaces: Arc<Vec<NamedKeyspace>>,
    pub(crate) active: Arc<Memtable>,
    /// Newest first.
    pub(crate) sealed: Vec<Arc<Memtable>>,
    /// By the number of the keyspace.
    pub(crate) levels: Arc<Vec<Level>>,
}

impl View {
    /// Memtables, newest first.
    pub(crate) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(&self.sealed)
    }

    /// The value of a key, as a snapshot of this sequence number sees it.
    pub(crate) fn get<W: Witness>(
        &self,
        keyspace: u32,
        key: &[u8],
        sequence: u64,
        witness: &mut W,
    ) -> Result<Option<Value>, ReadError> {
        for memtable in self.memtables() {
            witness.asked_memtable();
            if let Some(written) = memtable.get(keyspace, key, sequence) {
                witness.answered_in_memory();
                return Ok(written.map(Value::in_memory));
            }
        }
        let Some(level) = self.levels.get(keyspace as usize) else { return Ok(None) };
        if witness.goes_on(Step::Filter) { Ok(level.get(key, witness)?) } else { Ok(None) }
    }
}

impl Level {
    fn get<W: Witness>(&self, key: &[u8], witness: &mut W) -> Result<Option<Value>, Damage> {
        let asked = Asked::new(key);
        let first = self.first.iter().map(|run| (run, false));
        for (run, is_likely) in first.chain([(&self.base, true)]) {
            let Some(part) = run.part_of(key) else { continue };
            match part.get(&asked, is_likely, witness)? {
                Found::Absent => {}
                Found::Deleted => return Ok(None),
                Found::Value(from, to) => return Ok(Some(Value::in_run(part, from, to))),
                Found::Unpacked(value) => return Ok(Some(Value::in_memory(Shared::all(value)))),
            }
        }
        Ok(None)
    }
}
