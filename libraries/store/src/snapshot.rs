//! A snapshot: the store as it was after a batch, for any thread, as long as it is kept.

use crate::cursor::{Bounds, Cursor, MemoryCursor, RunCursor};
use crate::error::{Damage, KeyError, ReadError};
use crate::keyspace::{Keyspace, NamedKeyspace};
use crate::levels::View;
use crate::memory::Memory;
use crate::memtable::Direction;
use crate::merge::Merge;
use crate::steps::{Step, Steps, Watch};
use crate::tally::Tally;
use crate::value::Value;
use journal::Identity;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, Mutex};

/// The sequence numbers that somebody reads at, and how many do.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    pub(crate) snapshots: Mutex<BTreeMap<u64, usize>>,
}

pub(crate) const UNHARMED: &str = "no thread panics while it holds this lock";

/// Takes a snapshot off the registry when it is dropped.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) registry: Arc<Registry>,
    pub(crate) sequence: u64,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let Ok(mut snapshots) = self.registry.snapshots.lock() else { return };
        if let Some(count) = snapshots.get_mut(&self.sequence) {
            *count -= 1;
            if *count == 0 {
                snapshots.remove(&self.sequence);
            }
        }
    }
}

/// The store as it was after a batch. Clones are the same snapshot.
///
/// It keeps the memory and the files that it needs: a snapshot that is kept for long keeps the space of what was deleted since.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) identity: Identity,
    pub(crate) memory: Arc<Memory>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) view: Arc<View>,
    pub(crate) sequence: u64,
    /// `None` if nobody writes in this process.
    pub(crate) _registered: Option<Registered>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("sequence", &self.inner.sequence).finish_non_exhaustive()
    }
}

/// An error unless a handle is one of these.
pub(crate) fn check_keyspace(keyspaces: &[NamedKeyspace], keyspace: Keyspace) -> Result<(), KeyError> {
    match keyspaces.get(keyspace.id as usize) {
        Some(known) if known.keyspace == keyspace => Ok(()),
        _ => Err(KeyError::NoKeyspace),
    }
}

impl Snapshot {
    /// The number of the last batch that it sees.
    pub fn sequence(&self) -> u64 {
        self.inner.sequence
    }

    /// The keyspaces, in the order in which they were made.
    pub fn keyspaces(&self) -> &[NamedKeyspace] {
        &self.inner.view.keyspaces
    }

    /// The keyspace of this name.
    pub fn keyspace(&self, name: &str) -> Option<Keyspace> {
        self.keyspaces().iter().find(|known| known.name == name).map(|known| known.keyspace)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// The key does not fit the keyspace, or what lies on the disk is damaged.
    pub fn get(&self, keyspace: Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Value>, ReadError> {
        let key = key.as_ref();
        check_keyspace(self.keyspaces(), keyspace)?;
        keyspace.shape.check(key)?;
        let mut steps = Steps::default();
        let value = self.inner.view.get(keyspace.id, key, self.inner.sequence, &mut steps)?;
        self.inner.tally.add(&steps, value.is_some());
        Ok(value)
    }

    /// Looks a key up as [`Snapshot::get`] does, and counts what is done. The lookup ends after a step, so that the steps before it can be
    /// timed; there is no value then.
    ///
    /// # Errors
    /// As [`Snapshot::get`].
    pub fn watch(
        &self,
        keyspace: Keyspace,
        key: impl AsRef<[u8]>,
        until: Step,
    ) -> Result<(Option<Value>, Steps), ReadError> {
        let key = key.as_ref();
        check_keyspace(self.keyspaces(), keyspace)?;
        keyspace.shape.check(key)?;
        let mut watch = Watch { steps: Steps::default(), until };
        let value = self.inner.view.get(keyspace.id, key, self.inner.sequence, &mut watch)?;
        if until == Step::Value {
            self.inner.tally.add(&watch.steps, value.is_some());
        }
        Ok((value, watch.steps))
    }

    /// The entries of a range of keys, from both ends. Bounds are any bytes, of any length.
    ///
    /// # Errors
    /// The handle belongs to another store. Damage is told when it is met.
    pub fn range<K: AsRef<[u8]>>(&self, keyspace: Keyspace, keys: impl RangeBounds<K>) -> Result<Range, ReadError> {
        check_keyspace(self.keyspaces(), keyspace)?;
        let owned = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        let bounds = (owned(keys.start_bound()), owned(keys.end_bound()));
        Ok(Range { inner: self.inner.clone(), keyspace: keyspace.id, bounds, front: None, back: None, is_done: false })
    }

    /// All entries of a keyspace.
    ///
    /// # Errors
    /// As [`Snapshot::range`].
    pub fn all(&self, keyspace: Keyspace) -> Result<Range, ReadError> {
        self.range::<&[u8]>(keyspace, ..)
    }

    /// The first entry whose key is not less than this one: its key and its value.
    ///
    /// # Errors
    /// As [`Snapshot::range`], or damage.
    pub fn seek(&self, keyspace: Keyspace, key: impl AsRef<[u8]>) -> Result<Option<OwnedEntry>, ReadError> {
        let mut range = self.range(keyspace, key.as_ref()..)?;
        Ok(range.next()?.map(|(key, value)| (key.to_vec(), value.to_vec())))
    }

    /// How many keys there are in a range. All of them are read.
    ///
    /// # Errors
    /// As [`Snapshot::range`], or damage.
    pub fn count<K: AsRef<[u8]>>(&self, keyspace: Keyspace, keys: impl RangeBounds<K>) -> Result<u64, ReadError> {
        let mut range = self.range(keyspace, keys)?;
        let mut count = 0;
        while range.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

/// A key and its value.
pub type OwnedEntry = (Vec<u8>, Vec<u8>);

/// A key and its value, lent.
pub type Entry<'a> = (&'a [u8], &'a [u8]);

/// The entries of a range of keys, lent one at a time.
pub struct Range {
    inner: Arc<Inner>,
    keyspace: u32,
    bounds: Bounds,
    front: Option<Merge>,
    back: Option<Merge>,
    /// Whether every entry was given.
    is_done: bool,
}

impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}

impl Range {
    /// The next entry from the front: its key and its value.
    ///
    /// # Errors
    /// What lies on the disk is damaged.
    #[allow(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        if self.back.is_none() && self.front.as_mut().is_some_and(Merge::advance_in_block) {
            return Ok(self.front.as_ref().and_then(Merge::entry));
        }
        self.give(Direction::Forward)
    }

    /// The next entry from the back.
    ///
    /// # Errors
    /// What lies on the disk is damaged.
    pub fn next_back(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        self.give(Direction::Backward)
    }

    fn give(&mut self, direction: Direction) -> Result<Option<Entry<'_>>, ReadError> {
        if self.is_done {
            return Ok(None);
        }
        let (side, other) = match direction {
            Direction::Forward => (&mut self.front, &self.back),
            Direction::Backward => (&mut self.back, &self.front),
        };
        let side = match side {
            Some(side) => side,
            None => {
                let Inner { view, sequence, .. } = &*self.inner;
                side.insert(merge(view, self.keyspace, *sequence, &self.bounds, direction)?)
            }
        };
        self.is_done = !side.advance()?;
        let entry = side.entry();
        // What the other side gave is not given again.
        if let (Some((met, _)), Some((key, _))) = (other.as_ref().and_then(Merge::entry), entry) {
            self.is_done = match direction {
                Direction::Forward => key >= met,
                Direction::Backward => key <= met,
            };
        }
        Ok(entry.filter(|_| !self.is_done))
    }
}

/// All entries of a keyspace that a view has in a range.
pub(crate) fn merge(
    view: &View,
    keyspace: u32,
    sequence: u64,
    bounds: &Bounds,
    direction: Direction,
) -> Result<Merge, Damage> {
    let mut cursors: Vec<Cursor> = Vec::new();
    for memtable in view.memtables().filter(|memtable| !memtable.is_empty()) {
        cursors.push(Cursor::Memory(MemoryCursor::new(memtable, keyspace, sequence, direction, bounds)));
    }
    let level = view.levels.get(keyspace as usize);
    for run in level.into_iter().flat_map(|level| level.first.iter().chain([&level.base])) {
        if !run.parts.is_empty() {
            cursors.push(Cursor::Run(RunCursor::new(run.clone(), direction, bounds)?));
        }
    }
    let end = match direction {
        Direction::Forward => bounds.1.clone(),
        Direction::Backward => bounds.0.clone(),
    };
    Ok(Merge::new(cursors, direction, end))
}
