//! Any sequence of calls gives what the map of the standard library gives.

use crate::history::{Map, Random, check, create, numbers, read, shared, small, words};
use journal::Durability;
use proptest::collection::vec;
use proptest::prelude::*;
use std::ops::Bound;
use store::{Batch, Keyspace, Options, Snapshot, Store};

/// Something that a user may do.
#[derive(Clone, Debug)]
enum Call {
    /// Changes of both keyspaces: which, a key's number, a value's length or a deletion.
    Commit(Vec<(bool, u16, Option<u16>)>),
    Flush,
    Compact,
    Reopen,
    Snapshot,
    Ingest(u16, u8),
}

fn call() -> impl Strategy<Value = Call> {
    let change = (any::<bool>(), 0..600_u16, prop::option::weighted(0.75, 0..400_u16));
    prop_oneof![
        12 => vec(change, 1..40).prop_map(Call::Commit),
        1 => Just(Call::Flush),
        1 => Just(Call::Compact),
        1 => Just(Call::Reopen),
        2 => Just(Call::Snapshot),
        1 => (0..600_u16, 1..60_u8).prop_map(|(from, count)| Call::Ingest(from, count)),
    ]
}

/// A key by its number: gaps, keys that begin as others do, the least and the greatest.
fn number_key(number: u16) -> [u8; 8] {
    let number = u64::from(number);
    let key = match number % 5 {
        0 => number,
        1 => u64::MAX - number,
        2 => number << 40,
        3 => 1 << 63 | number,
        _ => number * number * number,
    };
    key.to_be_bytes()
}

fn word_key(number: u16) -> Vec<u8> {
    let mut key = vec![b'x'; usize::from(number % 4) * 11];
    match number % 3 {
        0 => key.extend_from_slice(&number.to_be_bytes()),
        1 => key.extend(std::iter::repeat_n(0, usize::from(number % 29))),
        _ => key.extend_from_slice(format!("word {number}").as_bytes()),
    }
    key
}

/// A store, and what it should hold.
struct Pair {
    disk: journal::simulated::SimulatedDisk,
    options: Options,
    store: Option<Store>,
    keyspaces: [Keyspace; 2],
    maps: [Map; 2],
    snapshots: Vec<(Snapshot, [Map; 2])>,
    count: u32,
}

impl Pair {
    fn new(options: Options) -> Self {
        let (disk, store) = create(&options);
        let keyspaces = [numbers(&store), words(&store)];
        Self { disk, options, store: Some(store), keyspaces, maps: Default::default(), snapshots: Vec::new(), count: 0 }
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn key(which: usize, number: u16) -> Vec<u8> {
        if which == 0 { number_key(number).to_vec() } else { word_key(number) }
    }

    fn value(&mut self, length: u16) -> Vec<u8> {
        self.count += 1;
        let mut value = self.count.to_le_bytes().to_vec();
        value.resize(usize::from(length), self.count as u8);
        value
    }

    fn commit(&mut self, changes: &[(bool, u16, Option<u16>)]) {
        let mut batch = Batch::new();
        for (which, number, length) in changes {
            let which = usize::from(*which);
            let (keyspace, key) = (self.keyspaces[which], Self::key(which, *number));
            if let Some(length) = length {
                let value = self.value(*length);
                batch.put(keyspace, &key, &value);
                self.maps[which].insert(key, value);
            } else {
                batch.delete(keyspace, &key);
                self.maps[which].remove(&key);
            }
        }
        self.store().commit(&batch, Durability::Os).unwrap();
    }

    fn ingest(&mut self, from: u16, count: u8) {
        let new: Map = (from..from + u16::from(count)).map(|number| (word_key(number), self.value(9))).collect();
        self.store().ingest(self.keyspaces[1], &new).unwrap();
        self.maps[1].extend(new);
    }

    fn carry_out(&mut self, call: &Call) {
        match call {
            Call::Commit(changes) => self.commit(changes),
            Call::Flush => self.store().flush().unwrap(),
            Call::Compact => self.store().compact().unwrap(),
            Call::Reopen => {
                drop(self.store.take());
                self.store = Some(Store::open_on(shared(&self.disk), self.options.clone()).unwrap());
            }
            Call::Snapshot => self.snapshots.push((self.store().snapshot(), self.maps.clone())),
            Call::Ingest(from, count) => self.ingest(*from, *count),
        }
    }

    fn check(&self) {
        let snapshot = self.store().snapshot();
        for (keyspace, map) in self.keyspaces.into_iter().zip(&self.maps) {
            check(&snapshot, keyspace, map);
        }
        for (snapshot, maps) in &self.snapshots {
            for (keyspace, map) in self.keyspaces.into_iter().zip(maps) {
                assert_eq!(read(snapshot, keyspace).unwrap(), *map, "a snapshot changed");
            }
        }
        for number in 0..600 {
            for which in 0..2 {
                let key = Self::key(which, number);
                let found = self.store().get(self.keyspaces[which], &key).unwrap();
                assert_eq!(found.as_deref(), self.maps[which].get(&key).map(Vec::as_slice));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_calls_give_what_a_map_gives(calls in vec(call(), 1..60)) {
        let mut pair = Pair::new(small());
        calls.iter().for_each(|call| pair.carry_out(call));
        pair.check();
    }

    #[test]
    fn any_range_is_that_of_a_map(
        numbers in vec(0..600_u16, 0..200),
        bounds in vec((0..600_u16, 0..3_u8, 0..600_u16, 0..3_u8), 1..20),
        turns in vec(any::<bool>(), 1..50),
    ) {
        let mut pair = Pair::new(small());
        for chunk in numbers.chunks(20) {
            let changes: Vec<_> = chunk.iter().map(|number| (number % 2 == 0, *number, Some(40))).collect();
            pair.commit(&changes);
        }
        for which in 0..2 {
            for (from, from_kind, to, to_kind) in &bounds {
                let bounds = (bound(Pair::key(which, *from), *from_kind), bound(Pair::key(which, *to), *to_kind));
                check_range(&pair, which, bounds, &turns);
            }
        }
    }
}

fn bound(key: Vec<u8>, kind: u8) -> Bound<Vec<u8>> {
    match kind {
        0 => Bound::Included(key),
        1 => Bound::Excluded(key),
        _ => Bound::Unbounded,
    }
}

/// Reads a range from both ends, in turns.
fn check_range(pair: &Pair, which: usize, bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>), turns: &[bool]) {
    let is_in = |key: &Vec<u8>| {
        let above = match &bounds.0 {
            Bound::Included(from) => key >= from,
            Bound::Excluded(from) => key > from,
            Bound::Unbounded => true,
        };
        let below = match &bounds.1 {
            Bound::Included(to) => key <= to,
            Bound::Excluded(to) => key < to,
            Bound::Unbounded => true,
        };
        above && below
    };
    let mut expected = pair.maps[which].iter().filter(|(key, _)| is_in(key));
    let mut range = pair.store().snapshot().range(pair.keyspaces[which], bounds.clone()).unwrap();
    let mut turns = turns.iter().cycle();
    loop {
        let is_front = *turns.next().unwrap();
        let found = if is_front { range.next() } else { range.next_back() };
        let wanted = if is_front { expected.next() } else { expected.next_back() };
        assert_eq!(found.unwrap(), wanted.map(|(key, value)| (&key[..], &value[..])), "{bounds:?}");
        if wanted.is_none() {
            return;
        }
    }
}

#[test]
fn long_keys_and_values_come_back() {
    let (disk, store) = create(&small());
    let words = words(&store);
    let mut expected = Map::new();
    for length in [0, 1, 1000, 4095, 4096, 5000, 65_535, store::KEY_BYTES_MAX] {
        for value_length in [0, 1, 4000, 70_000] {
            let mut key = vec![b'k'; length];
            key.truncate(length.saturating_sub(8));
            key.extend_from_slice(&format!("{value_length:08}").as_bytes()[..length.min(8)]);
            expected.insert(key, vec![7; value_length]);
        }
    }
    for (key, value) in &expected {
        let mut batch = Batch::new();
        batch.put(words, key, value);
        store.commit(&batch, Durability::Os).unwrap();
    }
    check(&store.snapshot(), words, &expected);
    store.compact().unwrap();
    check(&store.snapshot(), words, &expected);
    drop(store);
    let snapshot = Store::open_read_only_on(shared(&disk)).unwrap();
    check(&snapshot, words, &expected);
}

#[test]
fn a_batch_longer_than_a_frame_is_one_batch() {
    let options = Options::default().maintenance(store::Maintenance::Inline);
    let (disk, store) = create(&options);
    let words = words(&store);
    let value = vec![1; 20 << 20];
    let mut batch = Batch::new();
    batch.put(words, "a", &value);
    batch.put(words, "b", &value);
    store.commit(&batch, Durability::Os).unwrap();
    drop(store);
    let store = Store::open_on(shared(&disk), options).unwrap();
    assert_eq!(store.get(words, "b").unwrap().unwrap().len(), value.len());
    store.flush().unwrap();
    assert_eq!(store.get(words, "a").unwrap().unwrap().len(), value.len());
}

/// Distributions that learned indexes are good and bad at, through the whole store.
#[test]
fn every_distribution_of_keys_is_found() {
    let mut random = Random(5);
    let clustered = |index: u64| ((index / 100) << 44) | ((index % 100) * 3);
    let steep = |index: u64| 1_u64.checked_shl((index % 64) as u32).unwrap_or(0) ^ (index / 64);
    let lists: [Vec<u64>; 5] = [
        (0..4000).collect(),
        (0..4000).map(|_| random.next()).collect(),
        (0..4000).map(clustered).collect(),
        (0..4000).map(steep).collect(),
        vec![0, 1, u64::MAX - 1, u64::MAX],
    ];
    for keys in lists {
        let (_, store) = create(&small().memtable_bytes(100_000).part_bytes(50_000));
        let numbers = numbers(&store);
        let mut expected = Map::new();
        for chunk in keys.chunks(100) {
            let mut batch = Batch::new();
            for key in chunk {
                batch.put(numbers, key.to_be_bytes(), key.to_le_bytes());
                expected.insert(key.to_be_bytes().to_vec(), key.to_le_bytes().to_vec());
            }
            store.commit(&batch, Durability::None).unwrap();
        }
        store.compact().unwrap();
        let snapshot = store.snapshot();
        check(&snapshot, numbers, &expected);
        for key in keys.iter().flat_map(|key| [key.wrapping_sub(1), key.wrapping_add(1)]) {
            let found = snapshot.get(numbers, key.to_be_bytes()).unwrap();
            assert_eq!(found.as_deref(), expected.get(&key.to_be_bytes()[..]).map(Vec::as_slice));
        }
    }
}
