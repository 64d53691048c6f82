//! Cursors over the things a view consists of, in one direction.
//!
//! A cursor is at an entry or at its end. It begins at the first entry inside its bounds on its side; where it has to end is the
//! business of the [merge](crate::merge) above, which knows the other bound.

use crate::error::Damage;
use crate::memtable::{Direction, Memtable, Written};
use crate::run::{Placed, Run, SortedRun};
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

/// How many entries of a memtable are copied at first, and at most at once.
const CHUNK_MIN: usize = 8;
const CHUNK_MAX: usize = 256;

/// Both ends of a range of keys.
pub(crate) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

pub(crate) fn borrowed(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// A cursor over one thing.
pub(crate) enum Cursor {
    Memory(MemoryCursor),
    Run(RunCursor),
}

impl Cursor {
    /// The key where it is; `None` at the end.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(cursor) => cursor.entries.front().map(|(key, _)| &**key),
            Self::Run(cursor) => (!cursor.is_done).then_some(&cursor.key[..]),
        }
    }

    /// The value where it is; `None` for a deletion.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(cursor) => cursor.entries.front()?.1.as_deref(),
            Self::Run(cursor) => {
                let (from, to) = cursor.value?;
                Some(&cursor.bytes()[from..to])
            }
        }
    }

    pub(crate) fn step(&mut self) -> Result<(), Damage> {
        match self {
            Self::Memory(cursor) => {
                cursor.step();
                Ok(())
            }
            Self::Run(cursor) => cursor.step(),
        }
    }
}

/// A cursor over a keyspace of a memtable.
pub(crate) struct MemoryCursor {
    memtable: Arc<Memtable>,
    keyspace: u32,
    sequence: u64,
    direction: Direction,
    /// What is left after the entries that were copied.
    rest: Bounds,
    entries: VecDeque<(Arc<[u8]>, Written)>,
    count: usize,
}

impl MemoryCursor {
    pub(crate) fn new(
        memtable: &Arc<Memtable>,
        keyspace: u32,
        sequence: u64,
        direction: Direction,
        bounds: &Bounds,
    ) -> Self {
        let mut cursor = Self {
            memtable: memtable.clone(),
            keyspace,
            sequence,
            direction,
            rest: bounds.clone(),
            entries: VecDeque::new(),
            count: CHUNK_MIN,
        };
        cursor.fill();
        cursor
    }

    fn fill(&mut self) {
        let bounds = (borrowed(&self.rest.0), borrowed(&self.rest.1));
        let chunk = self.memtable.chunk(self.keyspace, bounds, self.sequence, self.direction, self.count);
        if let Some((last, _)) = chunk.last() {
            let last = Bound::Excluded(last.to_vec());
            match self.direction {
                Direction::Forward => self.rest.0 = last,
                Direction::Backward => self.rest.1 = last,
            }
        }
        self.count = (self.count * 2).min(CHUNK_MAX);
        self.entries = chunk.into();
    }

    fn step(&mut self) {
        self.entries.pop_front();
        if self.entries.is_empty() {
            self.fill();
        }
    }
}

/// A cursor over a run in parts.
pub(crate) struct RunCursor {
    run: SortedRun,
    direction: Direction,
    part: usize,
    block: usize,
    slot: usize,
    placed: Placed,
    /// The bytes of the block, if it was packed.
    unpacked: Vec<u8>,
    key: Vec<u8>,
    /// Where the value lies in the block; `None` for a deletion.
    value: Option<(usize, usize)>,
    is_done: bool,
}

impl RunCursor {
    pub(crate) fn new(run: SortedRun, direction: Direction, bounds: &Bounds) -> Result<Self, Damage> {
        let mut cursor = Self {
            run,
            direction,
            part: 0,
            block: 0,
            slot: 0,
            placed: Placed::default(),
            unpacked: Vec::new(),
            key: Vec::new(),
            value: None,
            is_done: false,
        };
        match direction {
            Direction::Forward => cursor.begin(&bounds.0)?,
            Direction::Backward => cursor.begin_backward(&bounds.1)?,
        }
        Ok(cursor)
    }

    fn part(&self) -> &Arc<Run> {
        &self.run.parts[self.part]
    }

    fn bytes(&self) -> &[u8] {
        self.part().bytes_of(&self.placed, &self.unpacked)
    }

    /// Goes to the first key that is not less than this one, or to the end.
    fn seek(&mut self, key: &[u8]) -> Result<(), Damage> {
        self.part = self.run.parts.partition_point(|part| part.last_key() < key);
        let Some(part) = self.run.parts.get(self.part) else {
            self.is_done = true;
            return Ok(());
        };
        let (block, slot) = part.seek(key, &mut self.unpacked)?;
        if block == part.blocks() { self.enter_part(self.part + 1) } else { self.enter(block, slot) }
    }

    fn begin(&mut self, from: &Bound<Vec<u8>>) -> Result<(), Damage> {
        match from {
            Bound::Unbounded => self.enter_part(0),
            Bound::Included(key) => self.seek(key),
            Bound::Excluded(key) => {
                self.seek(key)?;
                if !self.is_done && self.key == *key { self.forward() } else { Ok(()) }
            }
        }
    }

    fn begin_backward(&mut self, to: &Bound<Vec<u8>>) -> Result<(), Damage> {
        let (key, is_included) = match to {
            Bound::Unbounded => return self.enter_last(self.run.parts.len()),
            Bound::Included(key) => (key, true),
            Bound::Excluded(key) => (key, false),
        };
        self.seek(key)?;
        if self.is_done {
            self.is_done = false;
            return self.enter_last(self.run.parts.len());
        }
        if is_included && self.key == *key { Ok(()) } else { self.backward() }
    }

    /// Goes to the first record of a part, or to the end.
    fn enter_part(&mut self, part: usize) -> Result<(), Damage> {
        self.part = part;
        if part == self.run.parts.len() {
            self.is_done = true;
            return Ok(());
        }
        self.enter(0, 0)
    }

    /// Goes to the last record before a part, or to the end.
    fn enter_last(&mut self, part: usize) -> Result<(), Damage> {
        let Some(part) = part.checked_sub(1) else {
            self.is_done = true;
            return Ok(());
        };
        self.part = part;
        self.enter_block_end(self.part().blocks() - 1)
    }

    fn enter_block_end(&mut self, block: usize) -> Result<(), Damage> {
        self.placed = self.run.parts[self.part].block(block, &mut self.unpacked)?;
        self.block = block;
        self.slot = self.placed.block.count() - 1;
        self.read()
    }

    fn enter(&mut self, block: usize, slot: usize) -> Result<(), Damage> {
        self.placed = self.run.parts[self.part].block(block, &mut self.unpacked)?;
        (self.block, self.slot) = (block, slot);
        self.read()
    }

    fn read(&mut self) -> Result<(), Damage> {
        let part = &self.run.parts[self.part];
        let bytes = part.bytes_of(&self.placed, &self.unpacked);
        let key = self.placed.block.read_key(bytes, self.slot, &mut self.key);
        match (key, self.placed.block.value(bytes, self.slot)) {
            (Some(()), Some(value)) => self.value = value,
            _ => return Err(part.impossible(&self.placed)),
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Damage> {
        match self.direction {
            Direction::Forward => self.forward(),
            Direction::Backward => self.backward(),
        }
    }

    fn forward(&mut self) -> Result<(), Damage> {
        if self.slot + 1 < self.placed.block.count() {
            self.slot += 1;
            return self.read();
        }
        if self.block + 1 < self.part().blocks() {
            self.part().read_ahead(self.block + 1);
            return self.enter(self.block + 1, 0);
        }
        self.enter_part(self.part + 1)
    }

    fn backward(&mut self) -> Result<(), Damage> {
        if self.slot > 0 {
            self.slot -= 1;
            return self.read();
        }
        match self.block.checked_sub(1) {
            Some(block) => self.enter_block_end(block),
            None => self.enter_last(self.part),
        }
    }
}
