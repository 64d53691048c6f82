//! What a memtable could be: the map of the standard library, a skip list, a gapped array with a model (after ALEX), all of the same keys.
//!
//! Only the maps are compared: keys are numbers, values the places of values. Inserts come in the order of the workload.

use super::engine::Done;
use super::field::{Clock, Figures};
use super::rows::{Keys, Values, Workload};
use super::{OURS, scaled};
use crate::row::Row;
use crate::{Plan, Rows};
use crossbeam_skiplist::SkipMap;
use std::collections::BTreeMap;

const ROWS: u64 = 300_000;
const ROUNDS: usize = 5;
/// How many slots a leaf of the gapped array has at first.
const LEAF_SLOTS: usize = 256;
/// A leaf is split when this many tenths of its slots are taken.
const FULL_TENTHS: usize = 8;

/// A map from keys to places.
trait Map {
    fn insert(&mut self, key: i64, place: u32);
    fn get(&self, key: i64) -> Option<u32>;
}

impl Map for BTreeMap<i64, u32> {
    fn insert(&mut self, key: i64, place: u32) {
        BTreeMap::insert(self, key, place);
    }

    fn get(&self, key: i64) -> Option<u32> {
        BTreeMap::get(self, &key).copied()
    }
}

impl Map for SkipMap<i64, u32> {
    fn insert(&mut self, key: i64, place: u32) {
        SkipMap::insert(self, key, place);
    }

    fn get(&self, key: i64) -> Option<u32> {
        SkipMap::get(self, &key).map(|entry| *entry.value())
    }
}

/// Sorted keys with gaps, in leaves with a line each. A gap repeats the entry after it, so that a leaf is always sorted.
struct Gapped {
    leaves: Vec<Leaf>,
    /// The first key of each leaf but the first, which begins with the least.
    firsts: Vec<i64>,
}

#[derive(Clone)]
struct Leaf {
    slots: Vec<(i64, u32)>,
    is_taken: Vec<bool>,
    count: usize,
    /// From a key to its slot.
    intercept: f64,
    slope: f64,
}

impl Leaf {
    /// Spreads entries, which ascend, over twice as many slots.
    fn of(entries: &[(i64, u32)]) -> Self {
        let count = entries.len();
        let capacity = (2 * count).max(LEAF_SLOTS);
        let end = (i64::MAX, u32::MAX);
        let (mut slots, mut is_taken) = (vec![end; capacity], vec![false; capacity]);
        for (index, entry) in entries.iter().enumerate() {
            let at = index * capacity / count;
            (slots[at], is_taken[at]) = (*entry, true);
        }
        for at in (0..capacity - 1).rev() {
            if !is_taken[at] {
                slots[at] = slots[at + 1];
            }
        }
        let (intercept, slope) = match entries {
            [first, .., last] => (first.0 as f64, capacity as f64 / (last.0 as f64 - first.0 as f64).max(1.0)),
            _ => (0.0, 0.0),
        };
        Self { slots, is_taken, count, intercept, slope }
    }

    /// The first slot whose key is not less: the model says where, and a search that doubles its steps goes on from there.
    fn seek(&self, key: i64) -> usize {
        let last = self.slots.len() - 1;
        let guess = (((key as f64 - self.intercept) * self.slope) as usize).min(last);
        let (mut low, mut high, mut step) = (guess, guess, 1);
        if self.slots[guess].0 < key {
            while high < last && self.slots[high].0 < key {
                (low, high, step) = (high + 1, (high + step).min(last), step * 2);
            }
            high = (high + 1).min(self.slots.len());
        } else {
            while low > 0 && self.slots[low - 1].0 >= key {
                (high, low, step) = (low, low.saturating_sub(step), step * 2);
            }
        }
        low + self.slots[low..high].partition_point(|slot| slot.0 < key)
    }

    fn insert(&mut self, key: i64, place: u32) {
        let at = self.seek(key);
        if let Some(slot) = self.slots.get_mut(at).filter(|slot| slot.0 == key) {
            slot.1 = place;
            return;
        }
        self.count += 1;
        // A gap on the left repeats what lies at `at`, and is the nearest.
        if at > 0 && !self.is_taken[at - 1] {
            (self.slots[at - 1], self.is_taken[at - 1]) = ((key, place), true);
            return;
        }
        let right = (at..self.slots.len()).find(|slot| !self.is_taken[*slot]);
        if let Some(gap) = right {
            self.slots.copy_within(at..gap, at + 1);
            (self.slots[at], self.is_taken[gap]) = ((key, place), true);
        } else {
            let gap = (0..at).rev().find(|slot| !self.is_taken[*slot]).expect("a leaf has gaps");
            self.slots.copy_within(gap + 1..at, gap);
            (self.slots[at - 1], self.is_taken[gap]) = ((key, place), true);
        }
    }

    fn entries(&self) -> Vec<(i64, u32)> {
        let taken = self.slots.iter().zip(&self.is_taken).filter(|(_, is_taken)| **is_taken);
        taken.map(|(slot, _)| *slot).collect()
    }
}

impl Default for Gapped {
    fn default() -> Self {
        Self { leaves: vec![Leaf::of(&[])], firsts: Vec::new() }
    }
}

impl Map for Gapped {
    fn insert(&mut self, key: i64, place: u32) {
        let index = self.firsts.partition_point(|first| *first <= key);
        let leaf = &mut self.leaves[index];
        leaf.insert(key, place);
        if leaf.count * 10 < leaf.slots.len() * FULL_TENTHS {
            return;
        }
        let entries = leaf.entries();
        let (low, high) = entries.split_at(entries.len() / 2);
        self.leaves[index] = Leaf::of(low);
        self.leaves.insert(index + 1, Leaf::of(high));
        self.firsts.insert(index, high[0].0);
    }

    fn get(&self, key: i64) -> Option<u32> {
        let leaf = &self.leaves[self.firsts.partition_point(|first| *first <= key)];
        leaf.slots.get(leaf.seek(key)).filter(|slot| slot.0 == key).map(|slot| slot.1)
    }
}

/// A kind of map: its name, and an empty one.
type Candidate = (&'static str, fn() -> Box<dyn Map>);

const CANDIDATES: [Candidate; 3] = [
    ("BTreeMap, which ours is", || Box::new(BTreeMap::new())),
    ("crossbeam-skiplist 0.1.3", || Box::new(SkipMap::new())),
    ("gapped array with a model", || Box::new(Gapped::default())),
];

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for keys in Keys::ALL {
        rows.extend(compared(plan, keys)?);
    }
    Ok(rows)
}

fn compared(plan: &Plan, keys: Keys) -> Rows {
    let workload = Workload::new(keys, Values::Hundred, scaled(plan, ROWS));
    let (mut inserts, mut gets): (Figures, Figures) = (vec![Vec::new(); 3], vec![Vec::new(); 3]);
    for _ in 0..plan.rounds(ROUNDS) {
        let mut sums = Vec::new();
        for (index, (_, create)) in CANDIDATES.iter().enumerate() {
            let (time, map) = Clock::Thread.time(|| Ok(filled(create(), &workload)))?;
            inserts[index].push(time);
            let (time, sum) = Clock::Thread.time(|| sum(&*map, &workload))?;
            gets[index].push(time);
            sums.push(sum);
        }
        if sums.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err("the maps hold different things".into());
        }
    }
    let mut rows = of_figures(plan, keys, "insert", workload.keys.len(), &inserts);
    rows.extend(of_figures(plan, keys, "get", workload.hits.len(), &gets));
    Ok(rows)
}

fn filled(mut map: Box<dyn Map>, workload: &Workload) -> Box<dyn Map> {
    workload.keys.iter().enumerate().for_each(|(place, key)| map.insert(*key, place as u32));
    map
}

fn sum(map: &dyn Map, workload: &Workload) -> Done<u64> {
    workload.hits.iter().try_fold(0, |sum, key| Ok(sum + u64::from(map.get(*key).ok_or("a key is gone")?)))
}

fn of_figures(plan: &Plan, keys: Keys, what: &str, n: usize, figures: &Figures) -> Vec<Row> {
    let contest = super::field::Contest {
        name: format!("a memtable's {what}, {}, 300K", keys.name()),
        n: n as u64,
        rounds: plan.rounds(ROUNDS),
        clock: Clock::Thread,
        note: "maps alone, from numbers to numbers; ours is that of the standard library",
        must: |_| None,
    };
    let kinds: Vec<_> = CANDIDATES.iter().map(|(name, _)| super::Kind { name, ..OURS }).collect();
    super::field::rows(&kinds, &contest, figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gapped_array_is_a_map() {
        for keys in Keys::ALL {
            let workload = Workload::new(keys, Values::Hundred, 20_000);
            let (mut gapped, mut map) = (Gapped::default(), BTreeMap::new());
            for (place, key) in workload.keys.iter().chain(&workload.hits[..5000]).enumerate() {
                gapped.insert(*key, place as u32);
                Map::insert(&mut map, *key, place as u32);
            }
            for key in workload.keys.iter().chain(&workload.misses) {
                assert_eq!(gapped.get(*key), Map::get(&map, *key), "{keys:?}");
            }
        }
    }
}
