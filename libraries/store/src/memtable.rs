//! What was committed and is not in a run yet: an ordered map in memory.
//!
//! 1. A batch is copied once, as a whole; its keys and values are parts of that copy.
//! 2. Each key has its newest version in place, and older ones beside it as long as a snapshot may read them.
//! 3. A batch is applied under one lock, so that a reader sees all of it or nothing.
//! 4. Iterators copy a few entries at a time ([`Memtable::chunk`]), so that they hold no lock while their caller works.
//!
//! It is the map of the standard library under a lock. There is one writer, so a lock-free map would spare readers only the
//! short time in which a batch is applied. The first eight bytes of a key lie in the map itself, so most comparisons look nowhere else.

use crate::batch::changes;
use crate::builder::{HEAD_BYTES, head_of};
use crate::shared::Shared;
use std::cmp::Ordering as Order;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, RwLock, RwLockReadGuard};

/// What an entry takes beside its batch: its share of a node of the map.
const ENTRY_BYTES: usize = 104;

/// A value, or a deletion.
pub(crate) type Written = Option<Shared>;

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
type Map = BTreeMap<Key, Versions>;

/// A key.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// Its first bytes, and zeros after its end.
    head: [u8; HEAD_BYTES],
    length: u32,
    /// All of it, if it is longer than that.
    whole: Option<Shared>,
}

impl Key {
    fn new(bytes: &[u8], whole: impl FnOnce() -> Shared) -> Self {
        let whole = (bytes.len() > HEAD_BYTES).then(whole);
        Self { head: head_of(bytes, 0).to_be_bytes(), length: bytes.len() as u32, whole }
    }

    /// A key to search with.
    fn wanted(bytes: &[u8]) -> Self {
        Self::new(bytes, || Shared::all(Arc::from(bytes)))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.whole {
            Some(whole) => whole,
            None => &self.head[..self.length as usize],
        }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Order {
        let heads = u64::from_be_bytes(self.head).cmp(&u64::from_be_bytes(other.head));
        // Keys with equal heads differ after them, or one ends within the head and the other goes on with zeros.
        heads.then_with(|| match (&self.whole, &other.whole) {
            (None, None) => self.length.cmp(&other.length),
            _ => self.bytes().cmp(other.bytes()),
        })
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Order::Equal
    }
}

impl Eq for Key {}

/// What a key was given.
#[derive(Debug)]
struct Versions {
    newest: Version,
    /// Oldest first; most keys have none.
    #[allow(clippy::box_collection, reason = "every entry has it, and a vector is three times as large")]
    older: Option<Box<Vec<Version>>>,
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
        self.older.as_ref()?.iter().rev().find(|version| version.sequence <= sequence)
    }

    /// Adds a version, and drops those that no snapshot sees.
    fn push(&mut self, version: Version, snapshots: &BTreeMap<u64, usize>) {
        let before = std::mem::replace(&mut self.newest, version);
        if before.sequence == self.newest.sequence || self.older.is_none() && snapshots.is_empty() {
            return;
        }
        let mut older = self.older.take().unwrap_or_default();
        older.push(before);
        let mut next = self.newest.sequence;
        let mut kept: Vec<Version> = Vec::new();
        while let Some(version) = older.pop() {
            let until = std::mem::replace(&mut next, version.sequence);
            if snapshots.range(version.sequence..until).next().is_some() {
                kept.push(version);
            }
        }
        kept.reverse();
        self.older = (!kept.is_empty()).then(|| Box::new(kept));
    }
}

impl Memtable {
    /// Applies a batch, encoded and sound. `snapshots` are the sequence numbers that somebody reads at.
    pub(crate) fn apply(&self, sequence: u64, encoded: &[u8], snapshots: &BTreeMap<u64, usize>) {
        let batch: Arc<[u8]> = Arc::from(encoded);
        let mut maps = self.maps.write().expect(UNHARMED);
        let (mut current, mut map) = (None, &mut Map::new());
        let mut more = batch.len();
        for change in changes(&batch).map_while(|change| change) {
            if current != Some(change.keyspace) {
                map = maps.entry(change.keyspace).or_default();
                current = Some(change.keyspace);
            }
            let value = change.value.map(|value| Shared::part(&batch, value));
            let version = Version { sequence, value };
            match map.entry(Key::new(change.key, || Shared::part(&batch, change.key))) {
                Entry::Occupied(mut versions) => versions.get_mut().push(version, snapshots),
                Entry::Vacant(place) => {
                    more += ENTRY_BYTES;
                    place.insert(Versions { newest: version, older: None });
                }
            }
        }
        self.bytes.fetch_add(more, Ordering::Relaxed);
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
        let version = maps.get(&keyspace)?.get(&Key::wanted(key))?.at(sequence)?;
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
    ) -> Vec<(Key, Written)> {
        let maps = self.read();
        let Some(map) = maps.get(&keyspace) else { return Vec::new() };
        if is_empty_range(&bounds) {
            return Vec::new();
        }
        let seen = |(key, versions): (&Key, &Versions)| {
            versions.at(sequence).map(|version| (key.clone(), version.value.clone()))
        };
        let wanted = |bound: Bound<&[u8]>| bound.map(Key::wanted);
        let range = map.range((wanted(bounds.0), wanted(bounds.1)));
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
            call(key.bytes(), versions.newest.value.as_deref())?;
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
    use crate::batch::Batch;
    use crate::keyspace::Keyspace;
    use crate::shape::KeyShape;

    fn put(table: &Memtable, sequence: u64, value: &[u8], snapshots: &BTreeMap<u64, usize>) {
        let mut batch = Batch::new();
        batch.put(Keyspace { id: 0, shape: KeyShape::Bytes }, "k", value);
        table.apply(sequence, batch.encoded().unwrap(), snapshots);
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
        assert_eq!((seen(1), seen(4)), (None, Some(b"d".to_vec())), "one version is left");
    }

    #[test]
    fn keys_are_in_the_order_of_their_bytes() {
        let zeros = [0; 12];
        let mut keys: Vec<&[u8]> = (0..=12).map(|length| &zeros[..length]).collect();
        keys.extend([&b"a"[..], b"a\0", b"abcdefgh", b"abcdefgh\0", b"abcdefghi", b"abcdefgi", b"b"]);
        for one in &keys {
            for other in &keys {
                assert_eq!(Key::wanted(one).cmp(&Key::wanted(other)), one.cmp(other), "{one:?} and {other:?}");
            }
            assert_eq!(Key::wanted(one).bytes(), *one);
        }
    }
}
