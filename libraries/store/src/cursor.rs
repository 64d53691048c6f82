//! Cursors over the things a view consists of, in one direction.
//!
//! A cursor is at an entry or at its end. It begins at the first entry inside its bounds on its side; where it has to end is the
//! business of the [merge](crate::merge) above, which knows the other bound.

use crate::error::Damage;
use crate::memtable::{Direction, Key, Memtable, Written};
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
    /// Whether it is at its end.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Memory(cursor) => cursor.entries.is_empty(),
            Self::Run(cursor) => cursor.is_done,
        }
    }

    /// Whether there is no value where it is, which is not the end.
    #[inline]
    pub(crate) fn is_deletion(&self) -> bool {
        match self {
            Self::Memory(cursor) => cursor.entries.front().is_some_and(|(_, value)| value.is_none()),
            Self::Run(cursor) => cursor.value.is_none(),
        }
    }

    /// Goes forward to the next record if it lies in the same block of a run, at a known distance; whether it does.
    #[inline]
    pub(crate) fn stride(&mut self) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::Run(cursor) => cursor.direction == Direction::Forward && cursor.stride(),
        }
    }

    /// The last key of the block that it is in, if it is in one and the key lies in one piece.
    pub(crate) fn last_key_of_block(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(_) => None,
            Self::Run(cursor) => cursor.last_key_of_block(),
        }
    }

    /// The key where it is; `None` at the end.
    #[inline]
    pub(crate) fn key(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(cursor) => cursor.entries.front().map(|(key, _)| key.bytes()),
            Self::Run(cursor) => (!cursor.is_done).then(|| cursor.key()),
        }
    }

    /// The value where it is; `None` for a deletion.
    #[inline]
    pub(crate) fn value(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(cursor) => cursor.entries.front()?.1.as_deref(),
            Self::Run(cursor) => {
                let (from, to) = cursor.value?;
                Some(&cursor.bytes()[from..to])
            }
        }
    }

    #[inline]
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
    entries: VecDeque<(Key, Written)>,
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
            let last = Bound::Excluded(last.bytes().to_vec());
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
    /// Where the key lies, if it lies in one piece.
    key_place: Option<(usize, usize)>,
    /// The key, if it does not.
    key: Vec<u8>,
    /// Where the value lies; `None` for a deletion.
    value: Option<(usize, usize)>,
    /// How far the next key and the next value of the block are, if that is always the same.
    strides: Option<(usize, usize)>,
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
            key_place: None,
            key: Vec::new(),
            value: None,
            strides: None,
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

    fn key(&self) -> &[u8] {
        match self.key_place {
            Some((from, to)) => &self.bytes()[from..to],
            None => &self.key,
        }
    }

    /// What places are places in: the file, or the block that was unpacked.
    fn bytes(&self) -> &[u8] {
        if self.placed.is_packed() { &self.unpacked } else { self.run.parts[self.part].bytes() }
    }

    /// Goes to the first key that is not less than this one, or to the end.
    fn seek(&mut self, key: &[u8]) -> Result<(), Damage> {
        self.part = self.run.parts_before(key);
        let Some(part) = self.run.parts.get(self.part) else {
            self.is_done = true;
            return Ok(());
        };
        (self.block, self.slot, self.placed) = part.seek(key, &mut self.unpacked)?;
        if self.slot < self.placed.block.count() {
            return self.read();
        }
        if self.block + 1 < part.blocks() { self.enter(self.block + 1, 0) } else { self.enter_part(self.part + 1) }
    }

    fn begin(&mut self, from: &Bound<Vec<u8>>) -> Result<(), Damage> {
        match from {
            Bound::Unbounded => self.enter_part(0),
            Bound::Included(key) => self.seek(key),
            Bound::Excluded(key) => {
                self.seek(key)?;
                if !self.is_done && self.key() == key { self.forward() } else { Ok(()) }
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
        if is_included && self.key() == key { Ok(()) } else { self.backward() }
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

    /// Notes where the record lies.
    fn read(&mut self) -> Result<(), Damage> {
        let part = &self.run.parts[self.part];
        let (block, begins) = (&self.placed.block, self.placed.begins());
        let bytes = part.bytes_of(&self.placed, &self.unpacked);
        let moved = |(from, to): (usize, usize)| (begins + from, begins + to);
        let key_place = block.key_place(self.slot).filter(|(_, to)| *to <= bytes.len());
        let is_read = key_place.is_some() || block.read_key(bytes, self.slot, &mut self.key).is_some();
        let Some(value) = block.value(bytes, self.slot).filter(|_| is_read) else {
            return Err(part.impossible(&self.placed));
        };
        (self.key_place, self.value) = (key_place.map(moved), value.map(moved));
        // If the last one lies inside, all between do.
        self.strides = block.strides().filter(|_| block.value(bytes, block.count() - 1).is_some());
        Ok(())
    }

    fn step(&mut self) -> Result<(), Damage> {
        match self.direction {
            Direction::Forward => self.forward(),
            Direction::Backward => self.backward(),
        }
    }

    fn forward(&mut self) -> Result<(), Damage> {
        if self.stride() {
            return Ok(());
        }
        if self.slot + 1 == self.placed.block.count() {
            return self.forward_to_block();
        }
        self.slot += 1;
        self.read()
    }

    /// Goes to the next record if it lies in the same block, a stride further; whether it does.
    #[inline]
    fn stride(&mut self) -> bool {
        if self.slot + 1 >= self.placed.block.count() {
            return false;
        }
        let (Some((key, value)), Some(key_place), Some(value_place)) =
            (self.strides, &mut self.key_place, &mut self.value)
        else {
            return false;
        };
        self.slot += 1;
        *key_place = (key_place.0 + key, key_place.1 + key);
        *value_place = (value_place.0 + value, value_place.1 + value);
        true
    }

    /// The last key of the block, if it lies in one piece.
    fn last_key_of_block(&self) -> Option<&[u8]> {
        let (from, to) = self.placed.block.key_place(self.placed.block.count() - 1)?;
        let begins = self.placed.begins();
        self.bytes().get(begins + from..begins + to)
    }

    /// Goes to the first record of the next block.
    fn forward_to_block(&mut self) -> Result<(), Damage> {
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
