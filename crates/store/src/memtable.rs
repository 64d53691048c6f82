//! What was committed and is not in a run yet: an ordered map in memory.
//!
//! 1. Each key has its newest version in place, and older ones beside it as long as a snapshot may read them.
//! 2. A batch is applied under one lock, so that a reader sees all of it or nothing.
//! 3. Iterators copy a few entries at a time ([`Memtable::chunk`]), so that they hold no lock while their caller works.
//!
//! It is the map of the standard library under a lock. There is one writer, so a lock-free map would spare readers only the
//! short time in which a batch is applied, and would cost the writer a tower of pointers for each version.

use crate::batch::Change;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, RwLock, RwLockReadGuard};

/// What an entry takes beside its key and value: two reference counts with their lengths, a version, its share of a node.
const ENTRY_BYTES: usize = 112;

/// A value, or a deletion.
pub(crate) type Written = Option<Arc<[u8]>>;

/// Batches that are in no run yet.
#[derive(Debug, Default)]
pub(crate) struct Memtable {
    maps: RwLock<Maps>,
    bytes: AtomicUsize,
    end: OnceLock<End>,
}

/// How far a sealed memtable goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// The newest batch in it.
    pub(crate) sequence: u64,
    /// The last log that has batches of it.
    pub(crate) log: u64,
}

type Maps = BTreeMap<u32, Map>;
type Map = BTreeMap<Arc<[u8]>, Versions>;

#[derive(Debug)]
struct Versions {
    newest: Version,
    /// Oldest first.
    older: Vec<Version>,
}

#[derive(Debug)]
struct Version {
    sequence: u64,
    value: Written,
}

/// A direction of iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

impl Versions {
    /// The newest version that a snapshot of this sequence number sees.
    fn at(&self, sequence: u64) -> Option<&Version> {
        if self.newest.sequence <= sequence {
            return Some(&self.newest);
        }
        self.older.iter().rev().find(|version| version.sequence <= sequence)
    }

    /// Adds a version, and drops those that no snapshot sees. How many bytes of values came and went.
    fn push(&mut self, version: Version, snapshots: &BTreeMap<u64, usize>) -> (usize, usize) {
        let came = value_bytes(&version.value);
        let before = std::mem::replace(&mut self.newest, version);
        if before.sequence == self.newest.sequence {
            return (came, value_bytes(&before.value));
        }
        self.older.push(before);
        let held = |versions: &[Version]| versions.iter().map(|version| value_bytes(&version.value)).sum::<usize>();
        let bytes_before = held(&self.older);
        let mut next = self.newest.sequence;
        let mut kept: Vec<Version> = Vec::new();
        while let Some(version) = self.older.pop() {
            let until = std::mem::replace(&mut next, version.sequence);
            if snapshots.range(version.sequence..until).next().is_some() {
                kept.push(version);
            }
        }
        kept.reverse();
        self.older = kept;
        (came, bytes_before - held(&self.older))
    }
}

fn value_bytes(value: &Written) -> usize {
    value.as_ref().map_or(0, |value| value.len())
}

impl Memtable {
    /// Applies a batch. `snapshots` are the sequence numbers that somebody reads at.
    pub(crate) fn apply<'a>(
        &self,
        sequence: u64,
        changes: impl Iterator<Item = Change<'a>>,
        snapshots: &BTreeMap<u64, usize>,
    ) {
        let mut maps = self.maps.write().expect(UNHARMED);
        let (mut came, mut went) = (0, 0);
        for change in changes {
            let map = maps.entry(change.keyspace).or_default();
            let version = Version { sequence, value: change.value.map(Arc::from) };
            if let Some(versions) = map.get_mut(change.key) {
                let (more, less) = versions.push(version, snapshots);
                came += more;
                went += less;
            } else {
                came += change.key.len() + value_bytes(&version.value) + ENTRY_BYTES;
                map.insert(Arc::from(change.key), Versions { newest: version, older: Vec::new() });
            }
        }
        let bytes = self.bytes.load(Ordering::Relaxed);
        self.bytes.store((bytes + came).saturating_sub(went), Ordering::Relaxed);
    }

    /// Nothing is applied any more.
    pub(crate) fn seal(&self, end: End) {
        self.end.set(end).expect("a memtable is sealed once");
    }

    /// How far it goes. It is sealed.
    pub(crate) fn end(&self) -> End {
        *self.end.get().expect("the memtable is sealed")
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// How many keys of a keyspace it has, deleted ones as well.
    pub(crate) fn keys(&self, keyspace: u32) -> usize {
        self.read().get(&keyspace).map_or(0, BTreeMap::len)
    }

    /// The keyspaces that it has entries of, in order.
    pub(crate) fn keyspaces(&self) -> Vec<u32> {
        self.read().keys().copied().collect()
    }

    /// What a key was given last, as a snapshot sees it; `None` if that is not here.
    pub(crate) fn get(&self, keyspace: u32, key: &[u8], sequence: u64) -> Option<Written> {
        if self.is_empty() {
            return None;
        }
        let maps = self.read();
        let version = maps.get(&keyspace)?.get(key)?.at(sequence)?;
        Some(version.value.clone())
    }

    /// The next entries in a direction, at most `count`, and whether there may be more.
    pub(crate) fn chunk(
        &self,
        keyspace: u32,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        sequence: u64,
        direction: Direction,
        count: usize,
    ) -> Vec<(Arc<[u8]>, Written)> {
        let maps = self.read();
        let Some(map) = maps.get(&keyspace) else { return Vec::new() };
        if is_empty_range(&bounds) {
            return Vec::new();
        }
        let seen = |(key, versions): (&Arc<[u8]>, &Versions)| {
            versions.at(sequence).map(|version| (key.clone(), version.value.clone()))
        };
        let range = map.range::<[u8], _>(bounds);
        match direction {
            Direction::Forward => range.filter_map(seen).take(count).collect(),
            Direction::Backward => range.rev().filter_map(seen).take(count).collect(),
        }
    }

    /// Calls for each key of a keyspace, in order, with what it was given last.
    pub(crate) fn for_each<E>(
        &self,
        keyspace: u32,
        mut call: impl FnMut(&[u8], Option<&[u8]>) -> Result<(), E>,
    ) -> Result<(), E> {
        let maps = self.read();
        let entries = maps.get(&keyspace).into_iter().flatten();
        for (key, versions) in entries {
            call(key, versions.newest.value.as_deref())?;
        }
        Ok(())
    }

    fn read(&self) -> RwLockReadGuard<'_, Maps> {
        self.maps.read().expect(UNHARMED)
    }
}

const UNHARMED: &str = "no thread panics while it writes the memtable";

/// Whether bounds contain no key; the map of the standard library panics for some of those.
pub(crate) fn is_empty_range(bounds: &(Bound<&[u8]>, Bound<&[u8]>)) -> bool {
    match bounds {
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to))
        | (Bound::Excluded(from), Bound::Included(to)) => from >= to,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(table: &Memtable, sequence: u64, value: &[u8], snapshots: &BTreeMap<u64, usize>) {
        let change = Change { keyspace: 0, key: b"k", value: Some(value) };
        table.apply(sequence, std::iter::once(change), snapshots);
    }

    #[test]
    fn a_version_stays_while_a_snapshot_sees_it() {
        let (table, none) = (Memtable::default(), BTreeMap::new());
        put(&table, 1, b"a", &none);
        let snapshots = BTreeMap::from([(1, 1)]);
        put(&table, 2, b"bb", &snapshots);
        put(&table, 3, b"ccc", &snapshots);
        let seen = |sequence| table.get(0, b"k", sequence).map(|value| value.unwrap().to_vec());
        assert_eq!((seen(0), seen(1), seen(3)), (None, Some(b"a".to_vec()), Some(b"ccc".to_vec())));
        assert_eq!(seen(2), seen(1), "nobody reads at 2, so it was dropped");
        put(&table, 4, b"d", &none);
        assert_eq!(table.bytes(), 2 + ENTRY_BYTES, "one version is left");
    }
}
