//! Any batches give what redb gives, another engine of the same kind: keys with gaps, with equal heads, the least and the greatest, and
//! distributions that learned indexes are worst at.

use crate::history::{Random, create, shared, small};
use journal::Durability;
use proptest::collection::vec;
use proptest::prelude::*;
use redb::backends::InMemoryBackend;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use std::ops::Bound;
use store::{Batch, Compression, KeyShape, Keyspace, Snapshot, Store};

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");

/// How the keys of a case are made of numbers.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Far apart, and the least and the greatest key among them.
    Gaps,
    /// Sixteen bytes of which the first eight are one of three.
    EqualHeads,
    /// Powers of two: a line is off by half of all blocks.
    Steep,
    /// Steps of one, but for a few that are huge.
    Stairs,
    /// Any bytes, of any length, many of them the beginnings of others.
    Beginnings,
}

impl Shape {
    fn of(self) -> KeyShape {
        match self {
            Self::EqualHeads => KeyShape::Fixed(16),
            Self::Beginnings => KeyShape::Bytes,
            _ => KeyShape::Fixed(8),
        }
    }

    fn key(self, number: u64) -> Vec<u8> {
        match self {
            Self::Gaps if number < 2 => [[0; 8], [0xff; 8]][number as usize].to_vec(),
            Self::Gaps => (number * 0x0123_4567_89ab).to_be_bytes().to_vec(),
            Self::EqualHeads => [(number % 3).to_be_bytes(), (number / 3).to_be_bytes()].concat(),
            Self::Steep => ((1_u64 << (number % 64)) | (number / 64)).to_be_bytes().to_vec(),
            Self::Stairs => (((number / 97) << 50) | (number % 97)).to_be_bytes().to_vec(),
            Self::Beginnings => {
                let mut random = Random(number / 7);
                (0..random.below(40) + number % 7).map(|_| b'a' + random.below(2) as u8).collect()
            }
        }
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    prop::sample::select(vec![Shape::Gaps, Shape::EqualHeads, Shape::Steep, Shape::Stairs, Shape::Beginnings])
}

/// Changes: a key's number, and the length of a value or a deletion.
fn batches() -> impl Strategy<Value = Vec<Vec<(u64, Option<u8>)>>> {
    vec(vec((0..900_u64, prop::option::weighted(0.8, any::<u8>())), 1..60), 10..40)
}

/// A store and its peer, which hold the same rows.
struct Both {
    store: Store,
    keyspace: Keyspace,
    database: Database,
    shape: Shape,
}

impl Both {
    fn new(shape: Shape, compression: Compression) -> Self {
        let (_, store) = create(&small());
        let keyspace = store.keyspace_with("rows", shape.of(), compression).unwrap();
        let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
        Self { store, keyspace, database, shape }
    }

    fn commit(&self, changes: &[(u64, Option<u8>)], round: usize) {
        let mut batch = Batch::new();
        let transaction = self.database.begin_write().unwrap();
        let mut table = transaction.open_table(TABLE).unwrap();
        for (number, length) in changes {
            let key = self.shape.key(*number);
            if let Some(length) = length {
                let value = vec![round as u8; usize::from(*length)];
                batch.put(self.keyspace, &key, &value);
                table.insert(&key[..], &value[..]).unwrap();
            } else {
                batch.delete(self.keyspace, &key);
                table.remove(&key[..]).unwrap();
            }
        }
        drop(table);
        transaction.commit().unwrap();
        self.store.commit(&batch, Durability::None).unwrap();
    }

    /// All of a range, and each key by itself.
    fn check(&self, snapshot: &Snapshot, from: u64, to: u64) {
        let (from, to) = (self.shape.key(from.min(to)), self.shape.key(from.max(to)));
        if from > to {
            return;
        }
        let transaction = self.database.begin_read().unwrap();
        let table = transaction.open_table(TABLE).unwrap();
        let mut theirs = table.range::<&[u8]>((Bound::Included(&from[..]), Bound::Excluded(&to[..]))).unwrap();
        let mut ours = snapshot.range::<&[u8]>(self.keyspace, &from[..]..&to[..]).unwrap();
        loop {
            let (our, their) = (ours.next().unwrap(), theirs.next().map(Result::unwrap));
            let Some((key, value)) = their else { return assert_eq!(our, None) };
            assert_eq!(our, Some((key.value(), value.value())));
            let found = snapshot.get(self.keyspace, key.value()).unwrap();
            assert_eq!(found.as_deref(), Some(value.value()));
        }
    }

    fn check_all(&self) {
        let snapshot = self.store.snapshot();
        let transaction = self.database.begin_read().unwrap();
        let table = transaction.open_table(TABLE).unwrap();
        for number in 0..1000 {
            let key = self.shape.key(number);
            let (ours, theirs) = (snapshot.get(self.keyspace, &key).unwrap(), table.get(&key[..]).unwrap());
            assert_eq!(ours.as_deref(), theirs.as_ref().map(|value| value.value()), "{key:?}");
        }
        let mut count = 0;
        let (mut ours, mut theirs) = (snapshot.all(self.keyspace).unwrap(), table.iter().unwrap());
        while let Some(their) = theirs.next_back() {
            let (key, value) = their.unwrap();
            assert_eq!(ours.next_back().unwrap(), Some((key.value(), value.value())));
            count += 1;
        }
        assert_eq!((ours.next_back().unwrap(), snapshot.count::<&[u8]>(self.keyspace, ..).unwrap()), (None, count));
        assert!(snapshot.verify().is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_batches_give_what_redb_gives(
        shape in shape(),
        is_compressed in any::<bool>(),
        batches in batches(),
        ranges in vec((0..900_u64, 0..900_u64), 1..10),
    ) {
        let both = Both::new(shape, if is_compressed { Compression::Lz4 } else { Compression::None });
        for (round, changes) in batches.iter().enumerate() {
            both.commit(changes, round);
        }
        let snapshot = both.store.snapshot();
        ranges.iter().for_each(|(from, to)| both.check(&snapshot, *from, *to));
        both.check_all();
        both.store.compact().unwrap();
        both.check_all();
    }
}

/// A compressed keyspace holds the same, in fewer bytes, and goes on when it is opened again without being told.
#[test]
fn a_compressed_keyspace_is_smaller_and_says_the_same() {
    let (disk, store) = create(&small().memtable_bytes(200_000).part_bytes(100_000));
    let bytes = |compression, name: &str| {
        let keyspace = store.keyspace_with(name, KeyShape::Bytes, compression).unwrap();
        let mut batch = Batch::new();
        for number in 0..2000_u32 {
            batch.put(keyspace, format!("key {number:06}"), format!("a value like many others, number {number}"));
        }
        store.commit(&batch, Durability::None).unwrap();
        store.compact().unwrap();
        let stats = store.snapshot().stats().unwrap();
        let of = stats.keyspaces.iter().find(|of| of.name == name).unwrap();
        assert_eq!(of.compression, compression);
        of.runs().map(|run| run.bytes).sum::<u64>()
    };
    let (plain, packed) = (bytes(Compression::None, "plain"), bytes(Compression::Lz4, "packed"));
    assert!(packed * 5 < plain * 3, "{packed} of {plain}");
    let contents = |snapshot: &Snapshot, name: &str| {
        let keyspace = snapshot.keyspace(name).unwrap();
        crate::history::read(snapshot, keyspace).unwrap()
    };
    let expected = contents(&store.snapshot(), "plain");
    assert_eq!(contents(&store.snapshot(), "packed"), expected);
    let backup = journal::simulated::SimulatedDisk::new();
    store.snapshot().backup_to(&backup).unwrap();
    drop(store);
    for disk in [&disk, &backup] {
        let store = Store::open_on(shared(disk), small()).unwrap();
        let keyspace = store.keyspace("packed", KeyShape::Bytes).unwrap();
        store.commit(&crate::history::put(keyspace, "key 000000", "new"), Durability::None).unwrap();
        store.compact().unwrap();
        let snapshot = store.snapshot();
        assert_eq!(snapshot.stats().unwrap().keyspaces[1].compression, Compression::Lz4);
        assert_eq!(snapshot.get(keyspace, "key 000000").unwrap().as_deref(), Some(&b"new"[..]));
        assert_eq!(contents(&snapshot, "packed").len(), expected.len());
        assert!(snapshot.verify().is_empty());
    }
}
