//! Rows by what stands in some of their columns.

use super::tuples::TupleSet;
use rustc_hash::FxHashMap;

const NONE: u32 = u32::MAX;

/// Places by keys, which are the numbers of some columns.
pub(super) enum Keys {
    /// There is one key.
    Only(u32),
    /// By a number.
    Number(Vec<u32>),
    /// By several.
    Numbers(FxHashMap<Box<[u32]>, u32>),
}

impl Keys {
    pub(super) fn new(width: usize) -> Self {
        match width {
            0 => Self::Only(NONE),
            1 => Self::Number(Vec::new()),
            _ => Self::Numbers(FxHashMap::default()),
        }
    }

    #[inline]
    pub(super) fn get(&self, key: &[u32]) -> Option<u32> {
        let place = match self {
            Self::Only(place) => *place,
            Self::Number(places) => places.get(key[0] as usize).copied().unwrap_or(NONE),
            Self::Numbers(places) => places.get(key).copied().unwrap_or(NONE),
        };
        (place != NONE).then_some(place)
    }

    pub(super) fn set(&mut self, key: &[u32], place: u32) {
        match self {
            Self::Only(only) => *only = place,
            Self::Number(places) => {
                if key[0] as usize >= places.len() {
                    places.resize(key[0] as usize + 1, NONE);
                }
                places[key[0] as usize] = place;
            }
            Self::Numbers(places) => _ = places.insert(key.into(), place),
        }
    }
}

/// The rows of a predicate that can be seen, by some of their columns.
pub(super) struct Index {
    /// The columns of keys, and the others.
    pub(super) keyed: Vec<usize>,
    pub(super) others: Vec<usize>,
    keys: Keys,
    lists: Vec<List>,
    /// How many rows were taken in, and how often.
    taken: usize,
    round: u32,
}

/// The rows of a key: their other columns, in order.
#[derive(Default)]
pub(super) struct List {
    pub(super) numbers: Vec<u32>,
    pub(super) count: usize,
    /// Those from here on were new in this round.
    new_from: usize,
    round: u32,
}

impl Index {
    pub(super) fn new(width: usize, keyed: Vec<usize>) -> Self {
        let others = (0..width).filter(|column| !keyed.contains(column)).collect();
        Self { keys: Keys::new(keyed.len()), keyed, others, lists: Vec::new(), taken: 0, round: 0 }
    }

    /// Takes in the rows that were found since the last time: they are the new ones now.
    pub(super) fn take(&mut self, rows: &TupleSet) {
        self.round += 1;
        let (mut key, from) = (Vec::new(), self.taken);
        for place in from..rows.len() {
            let row = rows.get(place);
            key.clear();
            key.extend(self.keyed.iter().map(|&column| row[column]));
            let list = self.keys.get(&key).unwrap_or_else(|| {
                self.keys.set(&key, self.lists.len() as u32);
                self.lists.push(List::default());
                self.lists.len() as u32 - 1
            });
            let list = &mut self.lists[list as usize];
            if list.round != self.round {
                (list.round, list.new_from) = (self.round, list.count);
            }
            list.numbers.extend(self.others.iter().map(|&column| row[column]));
            list.count += 1;
        }
        self.taken = rows.len();
    }

    #[inline]
    pub(super) fn find(&self, key: &[u32]) -> Option<u32> {
        self.keys.get(key)
    }

    #[inline]
    pub(super) fn list(&self, place: u32) -> &List {
        &self.lists[place as usize]
    }

    /// Which rows of a list are new in this round.
    #[inline]
    pub(super) fn new_from(&self, place: u32) -> usize {
        let list = &self.lists[place as usize];
        if list.round == self.round { list.new_from } else { list.count }
    }

    pub(super) fn bytes(&self) -> usize {
        self.taken * self.others.len() * size_of::<u32>() + self.lists.len() * size_of::<List>()
    }
}
